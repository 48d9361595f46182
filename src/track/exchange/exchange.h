/*
 * What the bytes of one connection say: where a request begins and whom it is for, whether an answer came and what it
 * was. HTTP/1 in the clear is read message by message; TLS from outside (the ClientHello, then the headers of records);
 * of anything else only which way bytes move. There a request is a turn: what the client writes after it has read, and
 * the first byte that then comes is the answer. What the server says unasked is neither.
 *
 * Bytes are fed as they move, in any pieces, and news comes out one piece at a time. Pure and async-signal-safe: knows no
 * descriptor, no clock and no provider.
 */
#ifndef TRACK_EXCHANGE_EXCHANGE_H
#define TRACK_EXCHANGE_EXCHANGE_H

#include "protocol/body.h"
#include "protocol/http1.h"
#include "protocol/tls.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum exchange_protocol { EXCHANGE_UNKNOWN, EXCHANGE_HTTP1, EXCHANGE_HTTP2, EXCHANGE_TLS, EXCHANGE_OPAQUE };

enum exchange_news {
    EXCHANGE_NOTHING = 0,
    EXCHANGE_REQUEST = 1,     /* a request begins, and no other is outstanding */
    EXCHANGE_NAME = 2,        /* it says whom it is for: see exchange_name() */
    EXCHANGE_FIRST_BYTE = 4,  /* the first byte of an answer */
    EXCHANGE_STATUS = 8,      /* the head of an answer is complete: see exchange_answer() */
    EXCHANGE_ANSWERED = 16,   /* the answer is complete, or all that will ever be told of it */
    EXCHANGE_BROKEN_OFF = 32, /* the TLS handshake was broken off, by either side */
    EXCHANGE_MAYBE = 64,      /* what came after the request may have been its answer, and nobody can tell; or TLS: all
                                 hands are shaken, CONNECT: it has connected, and nothing was asked yet */
    EXCHANGE_NEXT = 128,      /* with ANSWERED: another request was written before that; it is the one under way now */
    EXCHANGE_NOT_YET = 256,   /* what may have been the answer was none */
    EXCHANGE_BODY = 0x10000,  /* times an enum body_news: what its body says, before an ANSWERED that comes with it */
    EXCHANGE_LIFE = EXCHANGE_BODY * BODY_LIFE,
    EXCHANGE_STREAM_DONE = EXCHANGE_BODY * BODY_DONE,
    EXCHANGE_STREAM_FAILED = EXCHANGE_BODY * BODY_ERROR,
    EXCHANGE_QUOTA = EXCHANGE_BODY * BODY_QUOTA
};

struct exchange {
    uint8_t protocol;   /* enum exchange_protocol */
    uint8_t preface;    /* bytes of HTTP/2's that the client has written */
    bool over;          /* what follows cannot be read: no further news will come */
    bool server_first;  /* the server spoke before the client did */
    uint32_t asked;     /* requests begun and not answered completely */
    uint32_t completed; /* answers complete */
    bool answering;     /* some of the answer to the oldest of them has come */
    bool head_told;     /* of that answer, its status was told */
    bool requests_lost; /* the client's bytes cannot be followed any more; the answer under way still is */
    bool ambiguous;     /* TLS: something came that may have been an answer */
    bool secured;       /* TLS: the handshake is over */
    bool requested;     /* TLS: and the client has written data of its own */
    bool tunnel;        /* it runs inside of HTTP/1: by CONNECT, or upgraded */
    bool upgraded;      /* HTTP/2: to that, so its first stream was asked for in HTTP/1 */
    bool single;        /* of a protocol in which both sides speak by themselves: one connection is one call */
    bool greets;        /* the server is known to speak first, and has not yet */
    bool late;          /* what is fed was let through before the answer came: it begins no turn */
    bool duplex;        /* the server was seen to speak unasked: its silence says nothing */
    uint8_t doubt;      /* turns for which an answer to something else may be outstanding */
    uint16_t ticket;    /* TLS: how long the server's session tickets are known to be; 0: unknown. The owner's to set */
    uint16_t written;   /* bytes of the turn under way, saturated */
    union {
        struct {
            struct http1 request, answer;
            struct http1_pipeline pipeline;
            struct body body; /* of the answer, once its head was told */
        } http;
        struct {
            struct tls_hello hello;
            struct tls_records records;
        } tls;
    };
};

void exchange_begin(struct exchange *exchange);

/*
 * Are the bytes that come next from this side frames of HTTP/2? Those are not for here but for streams.h, which keeps
 * `asked`, `completed` and `answering`.
 */
bool exchange_framed(const struct exchange *exchange, bool from_client);

/*
 * Bytes that the client wrote, or read: taken up to and including the next news; *taken says how many. Feed the rest, even
 * if that is nothing, until nothing is told and all is taken.
 */
unsigned exchange_sent(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken);
unsigned exchange_received(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken);

/*
 * Do the next `length` bytes of one side say nothing, whatever they are (most of all traffic: bodies, and what cannot be
 * read)? Then they are taken as if they had been fed.
 */
bool exchange_pass(struct exchange *exchange, bool from_client, size_t length);

/* Nothing has moved yet, and the server is known to be one that speaks first: that is owed. */
void exchange_await_greeting(struct exchange *exchange);

/* Bytes moved that nobody saw (sendfile, splice, stdio): what can still be told. */
void exchange_sent_unseen(struct exchange *exchange);
unsigned exchange_received_unseen(struct exchange *exchange);

/* The client goes on after something that may have been an answer: so it was. */
unsigned exchange_went_on(struct exchange *exchange);
/* A byte of one side moves, after `silence` ns in which none did. Before it is fed. */
void exchange_after_silence(struct exchange *exchange, bool from_client, uint64_t silence);

/* Can what the client writes next begin a request, or say whom the one under way is for? */
bool exchange_wants_request(const struct exchange *exchange);
/* Will what the client writes next begin a request, whatever it says? Then exchange_turn() begins it, unread. */
bool exchange_wants_turn(const struct exchange *exchange);
unsigned exchange_turn(struct exchange *exchange);
/* Is a request outstanding? */
bool exchange_waiting(const struct exchange *exchange);
/* And would it say something of the server if it kept silent now? */
bool exchange_owed(const struct exchange *exchange);

/* With EXCHANGE_NAME: who is asked for. */
struct exchange_name {
    const char *host;
    uint16_t port; /* 0: not said */
    enum {
        EXCHANGE_SAYS_TLS, /* the server name of a ClientHello */
        EXCHANGE_SAYS_URI, /* an absolute URI or a CONNECT line: what is behind a forward proxy */
        EXCHANGE_SAYS_HOST /* a Host: header, which may have been passed on from a visitor */
    } where;
};
void exchange_name(const struct exchange *exchange, struct exchange_name *name);

/* The client's random of a ClientHello that was read whole; NULL: there was none. */
const uint8_t *exchange_random(const struct exchange *exchange);

/* How long the session tickets were that this server has sent; 0: none was seen for sure. */
uint16_t exchange_tickets(const struct exchange *exchange);

/* With EXCHANGE_STATUS and later: the answer's facts; NULL if it is not HTTP in the clear. */
const struct http1_facts *exchange_answer(const struct exchange *exchange);

/* With EXCHANGE_STATUS and until it is complete: the reader of the answer's body; NULL: there is none. */
const struct body *exchange_body(const struct exchange *exchange);
/* The body of the answer ended in peace: what of it was still open (EXCHANGE_BODY times enum body_news). */
unsigned exchange_body_ended(struct exchange *exchange);

/* The peer ended the connection in peace. */
enum exchange_end {
    EXCHANGE_END_IDLE,     /* nothing was outstanding */
    EXCHANGE_END_COMPLETE, /* that was the end of the answer */
    EXCHANGE_END_CUT,      /* a request or an answer was cut short */
    EXCHANGE_END_AMBIGUOUS /* nobody can tell */
};
enum exchange_end exchange_ended(const struct exchange *exchange);

#endif
