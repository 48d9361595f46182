/*
 * HTTP/1.0 and 1.1 seen in passing: bytes of one direction in, facts out. Incremental to the byte, no allocation, nothing
 * kept of a message but the facts below. One parser for each direction of a connection; what the answer's framing needs to
 * know of its request (HEAD, CONNECT) is handed over by the caller.
 *
 * Pure and async-signal-safe. Malformed input turns a parser opaque for good: it then reports nothing but that.
 */
#ifndef PROTOCOL_HTTP1_H
#define PROTOCOL_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP1_HOST 254

enum http1_method { HTTP1_OTHER, HTTP1_GET, HTTP1_HEAD, HTTP1_CONNECT };

enum http1_event {
    HTTP1_MORE,   /* all bytes taken, nothing to tell */
    HTTP1_BEGIN,  /* first byte of a message (request: before its bytes count as known to be HTTP) */
    HTTP1_HEAD_DONE, /* the head is complete: the facts are valid */
    HTTP1_END,    /* the message is complete */
    HTTP1_OPAQUE  /* not HTTP/1, or from here on something else (CONNECT, upgrade): stop asking */
};

struct http1_facts {
    enum http1_method method;  /* request */
    bool absolute;             /* request: host and port come from an absolute URI or a CONNECT line, not from Host: */
    char host[HTTP1_HOST];     /* request: folded to lower case, without port; "" none or not a name */
    uint16_t port;             /* request: 0 none given */
    unsigned status;           /* answer; 1xx answers are passed over and never told */
    bool keep_alive;           /* the connection may carry another message */
    bool event_stream;         /* answer: content-type text/event-stream */
    bool until_close;          /* answer: its body ends with the connection */
    uint32_t retry_after;      /* answer: Retry-After in seconds (saturated), 0 none */
    int64_t retry_date;        /* answer: Retry-After as an HTTP-date, seconds since 1970, 0 none */
    uint64_t retry_after_ms;   /* answer: retry-after-ms, 0 none */
};

struct http1 {
    struct http1_facts facts;
    uint64_t left;          /* bytes of body or chunk to come */
    uint8_t state, is_answer, flags, field;
    uint8_t matched;        /* of a header's name or value */
    uint16_t length;
    char word[64];          /* a header value that is being read */
};

void http1_request_begin(struct http1 *parser);
/* An answer to a request of this method. */
void http1_answer_begin(struct http1 *parser, enum http1_method method);

/*
 * Takes bytes up to and including the next event; *taken says how many. HTTP1_MORE: all of them. After HTTP1_END the parser
 * stands at the start of the next message (call http1_answer_begin again for an answer).
 */
enum http1_event http1_feed(struct http1 *parser, const uint8_t *bytes, size_t length, size_t *taken);

/* The connection ended: is a message that was under way complete by that (until-close body)? */
bool http1_closed(const struct http1 *parser);

/* Retry-After and friends, pure: seconds or HTTP-date. False: neither. */
bool http1_date(const char *text, size_t length, int64_t *seconds);

#endif
