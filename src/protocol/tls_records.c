#include "protocol/tls_inner.h"

#include <string.h>

/*
 * TLS 1.3 hides what a record holds, but not its length: one byte for the inner type and, with every cipher in use, 16
 * for the tag. An alert has two bytes of its own. A NewSessionTicket has at least 18 (RFC 8446 section 4.6.1), so what
 * is shorter is none.
 */
#define HIDDEN       17
#define ALERT_LENGTH (2 + HIDDEN)
/* One byte behind a header of four. The server's is not told from an answer as short as that, which is more likely. */
#define KEY_UPDATE_LENGTH (4 + 1 + HIDDEN)
#define TICKET_MIN        (18 + HIDDEN)
/* One that carries a chain of client certificates has some KiB. */
#define TICKET_MAX 8192
/* A Finished has a header of four and a hash, SHA-256 or SHA-384. */
#define FINISHED_LENGTH(length) ((length) == 4 + 32 + HIDDEN || (length) == 4 + 48 + HIDDEN)
/* A client that has certificates sends two more records before it, or all in one. */
#define FRONT_MAX 2
/* A server that sends more tickets than this at once has not been seen: two are usual, four the most. */
#define TICKETS_MAX 8

#define FATAL 2

void tls_records_begin(struct tls_records *records)
{
    memset(records, 0, sizeof *records);
    tls_walk_begin(&records->walk);
}

/* ---- what a record's header tells ----------------------------------------------------------------------------- */

static unsigned client_data13(struct tls_records *records, uint16_t length)
{
    bool first = !records->client_data;

    if (length == ALERT_LENGTH) {
        return first ? TLS_REJECTED : TLS_NOTHING; /* a close_notify looks like a request but for its length */
    }
    records->client_data = true;
    if (!records->finished && records->front <= FRONT_MAX && FINISHED_LENGTH(length)) {
        records->finished = true;
        return first ? TLS_SECURED : TLS_NOTHING;
    }
    if (records->finished && length == KEY_UPDATE_LENGTH) {
        return TLS_NOTHING;
    }
    records->front += records->front <= FRONT_MAX ? 1 : 0;
    if (first) {
        return TLS_SECURED;
    }
    records->requested = true;
    records->run_mixed = records->run_after;
    return TLS_REQUEST;
}

static unsigned client_data(struct tls_records *records, uint16_t length)
{
    bool first = !records->client_data;

    if (!records->server_hello) {
        records->early = true;
    }
    if (records->tls13 && !records->early) {
        return client_data13(records, length);
    }
    records->client_data = true;
    return first ? TLS_SECURED | TLS_REQUEST : TLS_REQUEST;
}

/* Of TLS 1.3, after the client's Finished. */
static unsigned ticket_or_answer(struct tls_records *records, uint16_t length)
{
    if (length <= ALERT_LENGTH) {
        return TLS_MAYBE;
    }
    if (!records->run_over && length >= TICKET_MIN && length <= TICKET_MAX && records->run < TICKETS_MAX &&
        (records->run == 0 || length == records->ticket)) {
        records->run++;
        records->ticket = length;
        records->run_after = records->requested;
        records->ticketed = !records->run_mixed && (records->run > 1 || length == records->known);
        return records->ticketed ? TLS_TICKETS : TLS_MAYBE;
    }
    records->run_over = true;
    return TLS_ANSWER;
}

static unsigned server_data(struct tls_records *records, uint16_t length)
{
    if (!records->client_data) {
        return TLS_NOTHING; /* its handshake */
    }
    if (records->early) {
        return TLS_MAYBE;
    }
    return records->tls13 ? ticket_or_answer(records, length) : TLS_ANSWER;
}

static unsigned change_cipher(struct tls_records *records, struct tls_direction *direction)
{
    direction->changed = true;
    /* In TLS 1.3 they mean nothing. */
    return records->client.changed && records->server.changed && !records->tls13 ? TLS_SECURED : TLS_NOTHING;
}

/* ---- walking records ------------------------------------------------------------------------------------------ */

static unsigned strange(struct tls_records *records)
{
    records->strange = true;
    return TLS_STRANGE;
}

/* Of the record whose header is complete. */
static uint16_t record_length(const struct tls_direction *direction)
{
    return (uint16_t)(direction->header[3] << 8 | direction->header[4]);
}

static bool is_type(uint8_t byte)
{
    return byte >= TLS_CHANGE_CIPHER && byte <= TLS_HEARTBEAT;
}

#define MAJOR 3 /* of every version's number */

static unsigned header_done(struct tls_records *records, struct tls_direction *direction)
{
    bool from_client = direction == &records->client;
    uint16_t length = record_length(direction);

    direction->left = length;
    if (length == 0) {
        direction->have = 0;
    }
    if (length > TLS_CIPHER_MAX) {
        return strange(records);
    }
    switch (direction->header[0]) {
    case TLS_CHANGE_CIPHER:
        return change_cipher(records, direction);
    case TLS_DATA:
        return from_client ? client_data(records, length) : server_data(records, length);
    default:
        return TLS_NOTHING;
    }
}

static unsigned header_feed(struct tls_records *records, struct tls_direction *direction, uint8_t byte)
{
    direction->header[direction->have++] = byte;
    switch (direction->have) {
    case 1:
        return is_type(byte) ? TLS_NOTHING : strange(records);
    case 2:
        return byte == MAJOR ? TLS_NOTHING : strange(records);
    case sizeof direction->header:
        return header_done(records, direction);
    default:
        return TLS_NOTHING;
    }
}

/* A header that is all there, as nearly all are. False: byte by byte. */
static bool header_take(struct tls_direction *direction, const uint8_t *bytes, size_t length)
{
    if (direction->have != 0 || length < sizeof direction->header || !is_type(bytes[0]) || bytes[1] != MAJOR) {
        return false;
    }
    memcpy(direction->header, bytes, sizeof direction->header);
    direction->have = sizeof direction->header;
    return true;
}

/* The ServerHello is the server's first handshake message. */
static unsigned server_hello_feed(struct tls_records *records, uint8_t byte)
{
    records->server_hello = tls_walk_feed(&records->walk, NULL, byte);
    if (!records->server_hello) {
        return TLS_NOTHING;
    }
    if (tls_walk_bad(&records->walk)) {
        return strange(records);
    }
    records->tls13 = records->walk.tls13;
    records->alpn_seen = records->walk.h2 || records->walk.other;
    records->h2_chosen = records->walk.h2;
    return TLS_NOTHING;
}

/* A byte of a payload that may be read: a hello, or an alert in the clear. */
static unsigned payload_feed(struct tls_records *records, struct tls_direction *direction, uint8_t byte)
{
    bool from_client = direction == &records->client;
    uint8_t type = direction->header[0];

    if (type == TLS_ALERTS && byte == FATAL) {
        return from_client ? TLS_REJECTED : TLS_ALERT;
    }
    return type == TLS_HANDSHAKE && !from_client && !records->server_hello ? server_hello_feed(records, byte)
                                                                           : TLS_NOTHING;
}

/* How many bytes of the payload under way can be passed over unread, of `length`. */
static size_t unread(const struct tls_records *records, const struct tls_direction *direction, size_t length)
{
    bool from_client = direction == &records->client;
    uint8_t type = direction->header[0];
    /* of an alert, the first of two bytes is its level; where it is hidden it is longer */
    bool alert = type == TLS_ALERTS && !records->client_data && record_length(direction) == 2 && direction->left == 2;
    bool hello = type == TLS_HANDSHAKE && !from_client && !records->server_hello;

    if (alert || hello) {
        return 0;
    }
    return length < direction->left ? length : direction->left;
}

unsigned tls_records_feed(struct tls_records *records, bool from_client, const uint8_t *bytes, size_t length)
{
    struct tls_direction *direction = from_client ? &records->client : &records->server;
    unsigned sights = TLS_NOTHING;

    for (size_t at = 0; at < length && !records->strange;) {
        if (header_take(direction, bytes + at, length - at)) {
            sights |= header_done(records, direction);
            at += sizeof direction->header;
            continue;
        }
        if (direction->have < sizeof direction->header) {
            sights |= header_feed(records, direction, bytes[at++]);
            continue;
        }
        size_t many = unread(records, direction, length - at);

        if (many == 0) {
            sights |= payload_feed(records, direction, bytes[at]);
            many = 1;
        }
        at += many;
        direction->left = (uint16_t)(direction->left - many);
        if (direction->left == 0) {
            direction->have = 0;
        }
    }
    return records->strange ? sights | TLS_STRANGE : sights;
}

bool tls_records_pass(struct tls_records *records, bool from_client, size_t length)
{
    struct tls_direction *direction = from_client ? &records->client : &records->server;

    if (records->strange || direction->have != sizeof direction->header || direction->header[0] != TLS_DATA ||
        length >= direction->left) {
        return false;
    }
    direction->left = (uint16_t)(direction->left - length);
    return true;
}

void tls_records_went_on(struct tls_records *records)
{
    records->run_over = true;
}

/* ---- HTTP/2 --------------------------------------------------------------------------------------------------- */

enum tls_h2 tls_h2(const struct tls_hello *hello, const struct tls_records *records)
{
    if (hello->opaque || records->strange) {
        return TLS_H2_NO;
    }
    if (!hello->done) {
        return TLS_H2_MAYBE;
    }
    if (!hello->h2_offered) {
        return TLS_H2_NO;
    }
    if (!hello->alpn_other) {
        return TLS_H2_YES;
    }
    if (!records->server_hello || records->tls13) {
        return TLS_H2_MAYBE;
    }
    return records->h2_chosen ? TLS_H2_YES : TLS_H2_NO;
}
