/*
 * Text cut into rules, and rules into words. Any byte may come; nothing is copied. Private to src/rules.
 */
#ifndef RULES_LEXER_H
#define RULES_LEXER_H

#include "rules/value.h"

/* One rule as it stands in its text. */
struct piece {
    struct span span;   /* without blanks around it and without a comment */
    const char *origin; /* from where columns count: the rule's first byte, or in a file its line's */
    uint32_t number;    /* of the rule, or in a file of the line */
};

struct lexer {
    struct span text;
    bool lines; /* a file: numbers are those of lines */
    size_t at, line;
    uint32_t number;
};

void lexer_begin(struct lexer *lexer, struct span text, bool lines);
/* The next rule that is not empty. Rules end at `;` or a newline; `#` first or after a blank begins a comment. */
bool lexer_next(struct lexer *lexer, struct piece *piece);

/* Takes the next word off the front of *rest. Words are separated by blanks, `;` and newlines. */
bool lexer_word(struct span *rest, struct span *word);

#endif
