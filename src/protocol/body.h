/*
 * What the body of an answer says, where that is more than its status said: the events of a text/event-stream, and in the
 * body of a 429 whether the account is out of quota. A struct body is fed the bytes of one body as they come, in any
 * pieces, after chunk framing and the like were removed. Everything else, and what is encoded, is not read.
 *
 * The order of a body: body_begin() when the head is complete; body_feed() while body_wants(); body_end() when the body is
 * complete by its protocol's own rules (not when it was cut off: of that its reader need not be told).
 *
 * Pure and async-signal-safe; a struct body is a plain value, and zeroed, one that is not read.
 */
#ifndef PROTOCOL_BODY_H
#define PROTOCOL_BODY_H

#include "protocol/quota.h"
#include "protocol/sse.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum body_news {
    BODY_NOTHING = 0,
    BODY_LIFE = 1,  /* an event with data that is no ping: the stream lives */
    BODY_DONE = 2,  /* the stream says itself that it is complete: [DONE], message_stop */
    BODY_ERROR = 4, /* the stream says that it failed */
    BODY_QUOTA = 8  /* the account is out of quota */
};

enum body_reader { BODY_UNREAD, BODY_EVENTS, BODY_QUOTA_SOUGHT };

struct body {
    uint8_t reader; /* enum body_reader; back to BODY_UNREAD when all has been told */
    bool stream;    /* it is an event stream, readable or not */
    union {
        struct sse sse;
        struct quota quota;
    };
};

/* event_stream: content-type text/event-stream; encoded: a content-encoding other than identity. */
void body_begin(struct body *body, unsigned status, bool event_stream, bool encoded);

/* Is it to be fed? False: nothing more will come of it. */
static inline bool body_wants(const struct body *body)
{
    return body->reader != BODY_UNREAD;
}

/* The next bytes, all of them; enum body_news, several at once. */
unsigned body_feed(struct body *body, const uint8_t *bytes, size_t length);

/* The body is complete. The same, of what was still open. */
unsigned body_end(struct body *body);

#endif
