/*
 * TLS seen from outside: the ClientHello (server name, ALPN, client random) and the headers of records after it. Never a
 * key, never a decrypted byte. Incremental to the byte; a hello may come in pieces and span records.
 *
 * Pure and async-signal-safe. Malformed input turns a parser opaque for good.
 */
#ifndef PROTOCOL_TLS_H
#define PROTOCOL_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_NAME 254

struct tls_hello {
    bool done;              /* the whole hello was read: the fields below are final */
    bool opaque;            /* not a ClientHello */
    bool h2_offered;        /* ALPN offers h2 */
    char name[TLS_NAME];    /* server name, folded to lower case; "" none or not a name */
    uint8_t random[32];
    /* parser's own */
    uint8_t state, field;
    uint16_t record_left, extension, extension_left, list_left, name_length, index;
    uint32_t hello_left;
    uint8_t scratch[8];
};
void tls_hello_begin(struct tls_hello *hello);
/* Bytes that the client writes, from the first on. Returns hello->done || hello->opaque. */
bool tls_hello_feed(struct tls_hello *hello, const uint8_t *bytes, size_t length);

/*
 * Records of one connection, both directions: what is a request turn, what is an answer, what is housekeeping.
 * OUTCOMES: only application data (0x17) counts; server records before the client's first 0x17 are its handshake; in TLS
 * 1.3 the client's first 0x17 (Finished) is skipped, and the server's leading run of equal-length ones after it (tickets).
 */
enum tls_sight {
    TLS_NOTHING = 0,
    TLS_REQUEST = 1,    /* application data of the client's */
    TLS_ANSWER = 2,     /* application data of the server's that answers */
    TLS_MAYBE = 4,      /* of the server's, a ticket or an answer: nobody can tell */
    TLS_ALERT = 8,      /* of the server's, in the handshake: it failed */
    TLS_OPAQUE = 16     /* not TLS after all */
};
struct tls_direction {
    uint8_t header[5], have;
    uint16_t left;
};
struct tls_records {
    struct tls_direction client, server;
    bool client_data;     /* the client's first 0x17 was seen */
    bool tls13;           /* as far as it can be told from outside */
    bool h2_offered;      /* set by the caller from the hello */
    uint16_t ticket;      /* length of the server's leading run */
    uint16_t client_records, server_records;
};
void tls_records_begin(struct tls_records *records);
/* Bytes in one direction; the union of what was seen in them. */
unsigned tls_records_feed(struct tls_records *records, bool from_client, const uint8_t *bytes, size_t length);

#endif
