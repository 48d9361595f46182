/*
 * What the parts of the HTTP/2 parser share: http2.c walks the frames, http2_fields.c knows what header fields mean.
 */
#ifndef PROTOCOL_HTTP2_INNER_H
#define PROTOCOL_HTTP2_INNER_H

#include "protocol/http2.h"

/* Which of the fields that matter is this? 0: none. */
uint8_t http2_field(const char *name, size_t length);

/* Nothing was told yet. */
void http2_facts_begin(struct http2_facts *facts);
/* A field. */
void http2_facts_take(struct http2_facts *facts, uint8_t field, const char *value, size_t length);
/* There are no more. */
void http2_facts_end(struct http2_facts *facts);

#endif
