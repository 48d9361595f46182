#include "rules/lexer.h"

#include <string.h>

static bool ends_rule(char c)
{
    return c == ';' || c == '\n';
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || ends_rule(c);
}

void lexer_begin(struct lexer *lexer, struct span text, bool lines)
{
    *lexer = (struct lexer){.text = text, .lines = lines};
    lexer->number = lines ? 1 : 0;
    if (text.length >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark, as some editors write */
        lexer->at = 3;
    }
}

/* The end of the rule that begins at lexer->at; moves on behind its comment and separator. */
static size_t scan(struct lexer *lexer, bool *newline)
{
    struct span text = lexer->text;
    size_t i = lexer->at;
    while (i < text.length && !ends_rule(text.at[i]) &&
           !(text.at[i] == '#' && (i == lexer->at || is_blank(text.at[i - 1])))) {
        i++;
    }
    size_t end = i;
    if (i < text.length && text.at[i] == '#') {
        const char *line_end = memchr(text.at + i, '\n', text.length - i);
        i = line_end == NULL ? text.length : (size_t)(line_end - text.at);
    }
    *newline = i < text.length && text.at[i] == '\n';
    lexer->at = i < text.length ? i + 1 : text.length;
    return end;
}

bool lexer_next(struct lexer *lexer, struct piece *piece)
{
    while (lexer->at < lexer->text.length) {
        size_t start = lexer->at;
        size_t line = lexer->line;
        bool newline;
        size_t end = scan(lexer, &newline);
        uint32_t number = lexer->number;
        if (newline && lexer->lines) {
            lexer->number++;
            lexer->line = lexer->at;
        }
        while (start < end && is_blank(lexer->text.at[start])) {
            start++;
        }
        while (end > start && is_blank(lexer->text.at[end - 1])) {
            end--;
        }
        if (start == end) {
            continue;
        }
        piece->span = (struct span){lexer->text.at + start, end - start};
        piece->origin = lexer->text.at + (lexer->lines ? line : start);
        piece->number = lexer->lines ? number : ++lexer->number;
        return true;
    }
    return false;
}

bool lexer_word(struct span *rest, struct span *word)
{
    size_t start = 0;
    while (start < rest->length && is_blank(rest->at[start])) {
        start++;
    }
    size_t end = start;
    while (end < rest->length && !is_blank(rest->at[end])) {
        end++;
    }
    *word = (struct span){rest->at + start, end - start};
    *rest = span_from(*rest, end);
    return word->length > 0;
}
