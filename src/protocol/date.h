/*
 * Dates as headers have them, to seconds since 1970. Pure and async-signal-safe.
 */
#ifndef PROTOCOL_DATE_H
#define PROTOCOL_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An HTTP-date in any of its three forms (IMF-fixdate, RFC 850, asctime). False: it is none. */
bool date_http(const char *text, size_t length, int64_t *seconds);

/* A date and time of RFC 3339; *ms is the fraction of a second, rounded up (1000 at most). False: it is none. */
bool date_rfc3339(const char *text, size_t length, int64_t *seconds, uint32_t *ms);

#endif
