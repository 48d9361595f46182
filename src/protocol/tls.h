/*
 * TLS seen from outside: the ClientHello (server name, ALPN, client random), the ServerHello's version and ALPN, and
 * the headers of records after them. Never a key, never a decrypted byte. Incremental to the byte; a hello may come in
 * pieces and span records.
 *
 * Pure and async-signal-safe. Malformed input turns a parser opaque for good.
 */
#ifndef PROTOCOL_TLS_H
#define PROTOCOL_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_NAME   254
#define TLS_RANDOM 32

#define TLS_FIRST_BYTE 0x16 /* of a ClientHello's record */

/* ---- hellos --------------------------------------------------------------------------------------------------- */

/* Walks one hello message, of either side, byte by byte. The parser's own, but for what it found. */
struct tls_walk {
    uint32_t number;    /* an integer being read */
    uint32_t left;      /* bytes of the message to come */
    uint16_t section;   /* bytes of the part being read to come */
    uint16_t extension; /* type of the one being read */
    uint16_t item;      /* bytes of a list's member to come */
    uint8_t state, have;
    uint8_t seen;   /* extensions met, one bit each */
    bool match;     /* the ALPN member being read is h2 so far */
    bool h2, other; /* ALPN: h2, something else */
    bool tls13;     /* of a ServerHello: the version it chose */
};

struct tls_hello {
    bool done;           /* the whole hello was read: the fields below are final */
    bool opaque;         /* not a ClientHello: the fields below are worth nothing */
    bool h2_offered;     /* ALPN offers h2 */
    bool alpn_other;     /* ALPN offers something else than h2 as well */
    char name[TLS_NAME]; /* server name, folded to lower case, no trailing dot; "" none, or not [a-z0-9._-] */
    uint8_t random[TLS_RANDOM];
    /* the parser's own */
    struct tls_walk walk;
    uint8_t header[5], header_have;
    uint16_t record_left;
    uint8_t name_length;
    uint8_t names; /* server names met */
    bool name_bad;
};

void tls_hello_begin(struct tls_hello *hello);

/* Bytes that the client writes, from the first on. Returns hello->done || hello->opaque; feeding on is harmless. */
bool tls_hello_feed(struct tls_hello *hello, const uint8_t *bytes, size_t length);

/* ---- records -------------------------------------------------------------------------------------------------- */

/*
 * Records of one connection, both directions from the first byte on: what is a request turn, what is an answer, what is
 * housekeeping. Only application data (0x17) counts; server records before the client's first 0x17 are its handshake.
 * In TLS 1.3 the client's first 0x17 (its Finished) is skipped, and the server's leading run of equal-length ones after
 * it may be session tickets: one may be an answer as well, two of a length are tickets, and so is one that is as long as
 * this server's are known to be (who resumes a session is given but one). Alerts and the client's key updates are 0x17
 * there too, told by their lengths.
 */
enum tls_sight {
    TLS_NOTHING = 0,
    TLS_REQUEST = 1,   /* application data of the client's */
    TLS_ANSWER = 2,    /* application data of the server's that answers */
    TLS_MAYBE = 4,     /* of the server's: a ticket, an alert or an answer, nobody can tell */
    TLS_ALERT = 8,     /* the server broke the handshake off */
    TLS_REJECTED = 16, /* the client broke the handshake off: a certificate that it does not trust */
    TLS_SECURED = 32,  /* the client finished its handshake or sent data: the handshake is over as far as can be seen */
    TLS_STRANGE = 64,  /* not TLS after all, for good */
    TLS_TICKETS = 128  /* of the server's: what may have been answers were tickets */
};

/* The parser's own. */
struct tls_direction {
    uint8_t header[5], have;
    bool changed;  /* its ChangeCipherSpec was seen */
    uint16_t left; /* bytes of its payload to come */
};

struct tls_records {
    bool tls13;      /* the server chose TLS 1.3 */
    bool alpn_seen;  /* the server named a protocol in the clear (TLS 1.2) */
    bool h2_chosen;  /* and it is h2 */
    bool strange;    /* not TLS */
    bool ticketed;   /* the server's leading run was of tickets, for sure */
    uint16_t known;  /* the caller's: how long this server's tickets are known to be; 0: unknown */
    uint16_t ticket; /* how long the records of that run are */
    /* the parser's own */
    bool client_data;  /* the client's first 0x17 was seen */
    bool early;        /* it came before the server said a word: early data, the server's part cannot be told apart */
    bool requested;    /* the client has sent data of its own */
    bool run_after;    /* some of the server's leading run came after that */
    bool run_mixed;    /* and the client has sent more since: as if it had been answered */
    bool run_over;     /* the server's leading run has ended */
    bool server_hello; /* was read to its end, or given up */
    bool finished;     /* so was its Finished, of TLS 1.3 */
    uint8_t front;     /* its 0x17 records before that */
    uint8_t run;       /* records in it */
    struct tls_direction client, server;
    struct tls_walk walk; /* of the ServerHello */
};

void tls_records_begin(struct tls_records *records);

/* Bytes in one direction; returns the union of what was seen in them (enum tls_sight). */
unsigned tls_records_feed(struct tls_records *records, bool from_client, const uint8_t *bytes, size_t length);

/* Are the next `length` bytes in the middle of a record of application data? Then they are taken, unread. */
bool tls_records_pass(struct tls_records *records, bool from_client, size_t length);

/* The client went on as if it had been answered: no tickets can come any more. */
void tls_records_went_on(struct tls_records *records);

/* ---- HTTP/2 --------------------------------------------------------------------------------------------------- */

enum tls_h2 {
    TLS_H2_NO,    /* not offered, or the server chose something else */
    TLS_H2_MAYBE, /* offered beside others, and the choice cannot be seen (TLS 1.3, or not made yet) */
    TLS_H2_YES    /* chosen, or nothing else was offered */
};
enum tls_h2 tls_h2(const struct tls_hello *hello, const struct tls_records *records);

#endif
