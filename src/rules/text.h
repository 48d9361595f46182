/*
 * Text built piece by piece into a buffer of fixed size, for messages and settings: what snprintf would do, but
 * async-signal-safe. What does not fit is cut; the length goes on counting.
 */
#ifndef RULES_TEXT_H
#define RULES_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
    char *buffer;
    size_t size;
    size_t length; /* of the whole text, also of what did not fit */
};

void text_begin(struct text *text, char *buffer, size_t size); /* the buffer holds a C string from here on */
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_add_number(struct text *text, uint64_t number);
/* A decimal fraction given in 1e-9, without needless zeros. */
void text_add_decimal(struct text *text, uint64_t billionths);
/* A time in ns, in the largest unit that shows it whole: 250ms, 10s, 60s, 5m. */
void text_add_duration(struct text *text, uint64_t ns);
/* In quotes, cut to what helps to find it, what is not plain ASCII replaced. */
void text_add_quoted(struct text *text, const char *bytes, size_t length);

#endif
