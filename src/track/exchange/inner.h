/*
 * The protocols behind exchange.h, one file each: http1 (in the clear), tls (from outside), opaque (all else). Each takes
 * bytes of one side as exchange_sent() and exchange_received() do.
 */
#ifndef TRACK_EXCHANGE_INNER_H
#define TRACK_EXCHANGE_INNER_H

#include "track/exchange/exchange.h"

/* ---- what they share (exchange.c) -------------------------------------------------------------------------------- */

/* A request begins: news if no other is outstanding. */
unsigned exchange_request_begins(struct exchange *exchange);
/* The answer under way is complete. */
unsigned exchange_answered(struct exchange *exchange);
/* All that will be told: an answer came. */
unsigned exchange_answered_and_over(struct exchange *exchange);
/* Bytes of the client's belong to the turn under way. */
void exchange_note_written(struct exchange *exchange, size_t length);

/* ---- HTTP/1 (http1.c) -------------------------------------------------------------------------------------------- */

void exchange_http1_begin(struct exchange *exchange);
unsigned exchange_http1_sent(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken);
unsigned exchange_http1_received(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken);
bool exchange_http1_pass(struct exchange *exchange, bool from_client, size_t length);
bool exchange_http1_wants_request(const struct exchange *exchange);

/* ---- HTTP/2, until its first frame (http2.c) --------------------------------------------------------------------- */

/*
 * The first bytes of a client, or those that follow what may become HTTP/2's preface. True: they are taken, with these
 * news. False: they are nothing of the kind.
 */
bool exchange_http2_announced(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken,
                              unsigned *news);
/* The first bytes of a server that speaks first: are they HTTP/2? They are not taken. */
bool exchange_http2_greeted(struct exchange *exchange, const uint8_t *bytes, size_t length);
/* What is left of the preface. */
unsigned exchange_http2_sent(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken);

/* ---- TLS from outside (tls.c) ------------------------------------------------------------------------------------ */

void exchange_tls_begin(struct exchange *exchange);
bool exchange_tls_pass(struct exchange *exchange, bool from_client, size_t length);
unsigned exchange_tls_sent(struct exchange *exchange, const uint8_t *bytes, size_t length);
unsigned exchange_tls_received(struct exchange *exchange, const uint8_t *bytes, size_t length);
unsigned exchange_tls_went_on(struct exchange *exchange);
bool exchange_tls_wants_request(const struct exchange *exchange);

/* ---- anything else (opaque.c) ------------------------------------------------------------------------------------ */

unsigned exchange_opaque_sent(struct exchange *exchange, const uint8_t *bytes, size_t length);
unsigned exchange_opaque_received(struct exchange *exchange, size_t length);
bool exchange_opaque_pass(struct exchange *exchange, bool from_client);
bool exchange_opaque_wants_request(const struct exchange *exchange);

#endif
