/*
 * HTTP/2 (RFC 9113) seen in passing: the frames of one direction of a connection in, in any pieces, facts out: which stream
 * was asked for and by what name, what it was answered, how it ended. One parser for each direction, about 9 KiB, a plain
 * value. Both have to be fed everything: header blocks are followed by their tables (hpack.h), of which no field may be
 * missed.
 *
 * What is malformed, and what goes beyond the limits of hpack.h, turns the parser opaque for good.
 *
 * Pure and async-signal-safe.
 */
#ifndef PROTOCOL_HTTP2_H
#define PROTOCOL_HTTP2_H

#include "protocol/hpack.h"
#include "protocol/retry.h"

/* What a client says first, before any frame. */
#define HTTP2_PREFACE 24
extern const uint8_t http2_preface[HTTP2_PREFACE];

/* Do these bytes, the first that a server says, begin with the SETTINGS frame that it has to say first? */
#define HTTP2_HEAD 9 /* bytes of a frame before its payload: fewer cannot tell */
bool http2_greets(const uint8_t *bytes, size_t length);

enum http2_event {
    HTTP2_MORE,     /* all bytes taken, nothing to tell */
    HTTP2_HEADERS,  /* a header block is complete: stream, ends, facts */
    HTTP2_DATA,     /* part of a body: stream, data and length */
    HTTP2_END,      /* with that, a stream's body is complete: stream */
    HTTP2_RESET,    /* RST_STREAM: stream, code */
    HTTP2_GOAWAY,   /* stream: the last one that is or will be processed; code */
    HTTP2_SETTINGS, /* table_size, frame_size: what the other side may do from now on. Tell its parser: http2_allow() */
    HTTP2_OPAQUE    /* not HTTP/2, or too much: stop asking */
};

/* Error codes that say something of a call. */
enum http2_code { HTTP2_NO_ERROR = 0, HTTP2_REFUSED_STREAM = 7, HTTP2_CANCEL = 8, HTTP2_1_1_REQUIRED = 13 };

#define HTTP2_HOST 254
#define HTTP2_NONE (-1) /* of a gRPC status: none, or none that is known */

/* Of one header block: of a request, an answer (1xx too), or trailers. A field that comes twice counts as not given. */
struct http2_facts {
    uint16_t status;     /* 0: none */
    uint16_t port;       /* as given; 0 none */
    bool connect;        /* the method is CONNECT */
    bool event_stream;   /* content-type text/event-stream */
    bool encoded;        /* a content-encoding other than identity */
    bool grpc;           /* content-type application/grpc */
    int8_t grpc_status;  /* 0..16, or HTTP2_NONE */
    uint8_t seen, twice; /* fields, a bit each */
    struct retry retry;  /* when the provider asks to be called again */
    char host
        [HTTP2_HOST]; /* of :authority, else of host: folded, no port, no trailing dot; "" none, or not [a-z0-9._-] */
};

struct http2 {
    /* the event's */
    uint32_t stream;
    uint32_t code;
    uint32_t table_size, frame_size;
    bool ends; /* HTTP2_HEADERS: nothing follows on this stream */
    const uint8_t *data;
    size_t length;
    /* the parser's own */
    uint8_t state;
    uint8_t type, flags; /* of the frame */
    uint8_t padding;
    uint8_t have, want; /* bytes of word */
    bool begun;         /* the first frame has come */
    bool server;
    uint8_t word[HTTP2_HEAD]; /* the fixed part that is being read */
    uint32_t left;            /* of the payload */
    uint32_t limit;           /* of a payload */
    uint32_t block;           /* the stream whose header block goes on in the next frame; 0 none */
    bool block_ends;          /* and that it ends the stream */
    bool block_promised;      /* and that it is of a request that nobody made */
    struct http2_facts facts;
    struct hpack hpack;
};

/* Behind the client's preface, or at the server's first byte. */
void http2_begin(struct http2 *parser, bool server);

/* Takes bytes up to and including the next event; *taken says how many. Feed the rest, even if that is nothing, until
 * nothing or HTTP2_OPAQUE is told. */
enum http2_event http2_feed(struct http2 *parser, const uint8_t *bytes, size_t length, size_t *taken);

/* What the other direction's HTTP2_SETTINGS allows this one: 0 where nothing was said. */
void http2_allow(struct http2 *parser, uint32_t table_size, uint32_t frame_size);

/* How many of the bytes to come are somebody's data, whatever they are. */
size_t http2_passing(const struct http2 *parser);

#endif
