/*
 * An event stream (text/event-stream, as the HTML standard has it) seen in passing: does it live, did it say that it is
 * complete, did it say that it failed? An event fails the stream that is named `error`, or whose data is a JSON object with a
 * member `error` that is an object with something in it, or a string that is not empty. [DONE] (OpenAI) and message_stop
 * (Anthropic) complete it. Any other event with data is life, but for those named ping.
 *
 * Pure and async-signal-safe; zeroed, a reader stands before a stream.
 */
#ifndef PROTOCOL_SSE_H
#define PROTOCOL_SSE_H

#include "protocol/json.h"

#define SSE_WORD 16 /* bytes of a field's name or an event's that are kept */

enum sse_news { SSE_NOTHING = 0, SSE_LIFE = 1, SSE_DONE = 2, SSE_ERROR = 4 };

struct sse {
    uint8_t state;
    uint8_t mark;        /* bytes of a byte order mark that may have begun */
    bool carriage;       /* the byte before was CR: a LF belongs to it */
    bool data;           /* this event has data */
    uint8_t done;        /* bytes of [DONE] that its data is so far; beyond: it is something else */
    uint8_t error;       /* its data's member `error` */
    uint8_t word_length; /* of word; SSE_WORD + 1 when it did not fit */
    uint8_t name_length; /* of name, the same */
    char word[SSE_WORD]; /* the field's name being read */
    char name[SSE_WORD]; /* the event's */
    struct json json;
};

/* The next bytes. enum sse_news, several at once; after SSE_DONE or SSE_ERROR there will be no more. */
unsigned sse_feed(struct sse *sse, const uint8_t *bytes, size_t length);

/* The stream ended in peace: what of its last event, if no blank line came after it? */
unsigned sse_end(struct sse *sse);

#endif
