/*
 * Small pieces of text: names made harmless, times and spans. All write into the caller's buffer and return it.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_NAME 1281 /* a name of PREBREAK_NAME bytes, each of them escaped, with NUL */
#define TEXT_TIME 32

/*
 * Everything that is not a printable ASCII character, and the backslash, becomes \xNN: bytes out of a region never
 * reach a terminal as they are. At most size - 1 bytes; an escape is whole or not there.
 */
char *text_printable(const char *text, char *buffer, size_t size);

/* CLOCK_REALTIME ns as RFC 3339 in UTC with milliseconds; TEXT_TIME bytes suffice. */
char *text_time(uint64_t realtime, char *buffer, size_t size);

/* A span as people say it, its two largest units: 250ms 10s 4m10s 3h05m 2d04h; TEXT_TIME bytes suffice. */
char *text_span(uint64_t ns, char *buffer, size_t size);

#endif
