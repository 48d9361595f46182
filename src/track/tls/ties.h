/*
 * Which connection a TLS object talks over. What both sides know is the client random: the connection saw it go by in the
 * ClientHello, the object tells its own. Neither descriptors nor BIOs need to be known, so it holds for any transport.
 *
 * Two fixed tables: of ClientHellos seen, and of objects in use. Either may forget (they are full, or a fork came between):
 * then the object's connection is seen from outside only. Lock-free and async-signal-safe.
 */
#ifndef TRACK_TLS_TIES_H
#define TRACK_TLS_TIES_H

#include "protocol/tls.h"
#include <stdbool.h>
#include <stdint.h>

/* ---- ClientHellos ------------------------------------------------------------------------------------------------ */

/* Was any seen in this process? */
bool tls_hello_any(void);
/* The connection of this mark sent a ClientHello. */
void tls_hello_note(const uint8_t random[TLS_RANDOM], uint64_t mark);
/* Connections that may be the one: start with *at = 0, until 0 comes. Which of them it is, their flow knows. */
uint64_t tls_hello_next(const uint8_t random[TLS_RANDOM], unsigned *at);

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/*
 * What is known of an object: the mark of its connection, if any, and in between the number of its library. Its flow is 0
 * as long as nobody has looked, FD_UPPER if it has none that is followed.
 */
#define TLS_LIBRARY(tie)              ((uint8_t)((tie) >> 24))
#define TLS_TIE(mark, library_number) ((mark) | (uint64_t)(library_number) << 24)
#define TLS_MARK(tie)                 ((tie) & ~UINT64_C(0xff000000))

/* 0: unknown. */
uint64_t tls_tie(const void *object);
/* False: there is no room. */
bool tls_tie_set(const void *object, uint64_t tie);
/* It is gone, or begins anew. */
void tls_tie_forget(const void *object);

/* Maps what both tables need: before a seccomp filter. */
void tls_ties_prepare(void);

#endif
