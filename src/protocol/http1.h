/*
 * HTTP/1.0 and 1.1 seen in passing: bytes of one direction in, facts out. Incremental to the byte, no allocation,
 * nothing kept of a message but the facts below. One parser for each direction of a connection; what the answer's
 * framing needs to know of its request (HEAD, CONNECT) is handed over by the caller.
 *
 * A parser is a plain value: to see what a write would bring, feed a copy of it.
 *
 * What is malformed never becomes a fact. A start line that is not HTTP/1 turns the parser opaque at once. A head whose
 * framing cannot be trusted (two lengths, a length that is no number, a length beside an encoding, a line that is no
 * header) still tells its status or method, with an empty host, and turns the parser opaque right after. Opaque is for
 * good.
 *
 * Pure and async-signal-safe.
 */
#ifndef PROTOCOL_HTTP1_H
#define PROTOCOL_HTTP1_H

#include "protocol/retry.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP1_HOST 254

enum http1_method { HTTP1_OTHER, HTTP1_GET, HTTP1_HEAD, HTTP1_CONNECT };

enum http1_event {
    HTTP1_MORE,      /* all bytes taken, nothing to tell */
    HTTP1_BEGIN,     /* request: its first byte is next (whether it is HTTP is not known yet);
                        answer: its status is known and final (not 1xx): facts.status is valid */
    HTTP1_HEAD_DONE, /* the head is complete: all facts are valid until the next message begins */
    HTTP1_BODY,      /* asked for by http1_want_body(): bytes of the body are next, see http1_take_body() */
    HTTP1_END,       /* the message is complete */
    HTTP1_OPAQUE     /* not HTTP/1, or from here on something else (tunnel, upgrade, doubtful framing): stop asking */
};

/* A header that may come once and comes twice is not believed: it counts as not given. */
struct http1_facts {
    enum http1_method method; /* request */
    bool absolute;            /* request: host and port come from an absolute URI or a CONNECT line, not from Host: */
    bool keep_alive;          /* the connection may carry another message */
    bool event_stream;        /* answer: content-type text/event-stream */
    bool encoded;             /* answer: content-encoding other than identity; a doubtful one too */
    bool until_close;         /* answer: its body ends with the connection */
    uint16_t port;            /* request: as given, or an absolute URI's default; 0 none given */
    uint16_t status;          /* answer: 100..999; 1xx are passed over and never told, but for 101 */
    char host[HTTP1_HOST];    /* request: folded to lower case, no port, no trailing dot; "" none, or not [a-z0-9._-] */
    struct retry retry;       /* answer: when to come again, if the status is one that may say so (retry_status()) */
};

struct http1 {
    /* the parser's own */
    uint64_t left; /* bytes of body or chunk to come; while a head is read, its Content-Length */
    uint16_t seen; /* header fields met in this head: bit n once, bit 8 + n twice */
    uint16_t flags;
    uint8_t state;
    uint8_t field;   /* whose line is being read */
    uint8_t length;  /* of word; of a host, bytes so far */
    uint8_t request; /* answer: the method that it answers */
    uint8_t retry;   /* of HTTP1_FIELD_RETRY: which one */
    struct http1_facts facts;
    char word[48]; /* the name, value or list member being read, folded to lower case */
};

void http1_request_begin(struct http1 *parser);

/* An answer to a request of this method: 1xx answers before it are part of it. */
void http1_answer_begin(struct http1 *parser, enum http1_method method);

/*
 * Takes bytes up to and including the next event; *taken says how many. Go on feeding the rest, even if that is
 * nothing, until the event is HTTP1_MORE or HTTP1_OPAQUE: a message without a body ends with no byte of its own. After
 * HTTP1_END a request parser stands at the start of the next request; for the next answer call http1_answer_begin() (or
 * it answers a GET).
 *
 *   do {
 *       event = http1_feed(&parser, bytes, length, &taken);
 *       bytes += taken, length -= taken;
 *       ...
 *   } while (event != HTTP1_MORE && event != HTTP1_OPAQUE);
 */
enum http1_event http1_feed(struct http1 *parser, const uint8_t *bytes, size_t length, size_t *taken);

/*
 * The body of the message under way is to be seen, or not any more: from then on http1_feed() stops before each stretch of
 * it with HTTP1_BODY, its framing taken away. http1_take_body() then takes what there is of that stretch, at least one of
 * the next `length` bytes (which is not 0), and says how many.
 */
void http1_want_body(struct http1 *parser, bool wanted);
size_t http1_take_body(struct http1 *parser, size_t length);

/* Are the next `length` bytes in the middle of a body, with more of it to come? Then they are taken, unread. */
bool http1_pass(struct http1 *parser, size_t length);

/* Between messages: none is under way (not even a 1xx), and it is not opaque. The next byte begins one. */
bool http1_idle(const struct http1 *parser);

/* It is opaque for want of a start line of HTTP/1, but that was one of another version (HTTP/2's preface is). */
bool http1_other_version(const struct http1 *parser);

/*
 * The connection ended in peace. Is nothing missing: idle, or in a body that ends so, or opaque (then nobody can tell)?
 * False: a message was cut short.
 */
bool http1_closed(const struct http1 *parser);

/*
 * The requests on one connection whose answers are not complete: their methods, in order. `count` of them; when more
 * than HTTP1_PIPELINE are under way the oldest are remembered and `lost` is set: treat the connection as opaque.
 */
#define HTTP1_PIPELINE 32
struct http1_pipeline {
    uint64_t methods;
    uint8_t count;
    bool lost;
};
void http1_pipeline_push(struct http1_pipeline *pipeline, enum http1_method method);
/* The oldest, taken away; HTTP1_GET if there is none (an answer nobody asked for, such as a 408 to an idle client). */
enum http1_method http1_pipeline_pop(struct http1_pipeline *pipeline);
#endif
