#include "protocol/tls.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- sessions that real programs had with `openssl s_server`, and what must be seen of them ------------------- */

/*
 * tests/fuzz/seeds/tls/NAME, captured on loopback: pieces of one byte direction (0: the client's), two bytes length,
 * and as many bytes. Long answers were shortened to 300 bytes.
 */
struct session {
    uint8_t bytes[16384];
    size_t length;
};

static void session_load(struct session *session, const char *name)
{
    char path[200];

    snprintf(path, sizeof path, "tests/fuzz/seeds/tls/%s", name);
    FILE *file = fopen(path, "rb");

    ck_assert_msg(file != NULL, "%s: run from the top of the source tree", path);
    session->length = fread(session->bytes, 1, sizeof session->bytes, file);
    fclose(file);
    ck_assert_uint_gt(session->length, 3);
}

/* The next piece; NULL: none is left. */
static const uint8_t *session_piece(const struct session *session, size_t *at, bool *from_client, size_t *length)
{
    if (*at + 3 > session->length) {
        return NULL;
    }
    const uint8_t *piece = session->bytes + *at;

    *from_client = piece[0] == 0;
    *length = (size_t)(piece[1] << 8 | piece[2]);
    ck_assert_uint_le(*at + 3 + *length, session->length);
    *at += 3 + *length;
    return piece + 3;
}

static void tell(char *text, size_t size, bool from_client, unsigned sights)
{
    static const struct {
        unsigned sight;
        const char *letter;
    } letters[] = {{TLS_SECURED, "s"},   {TLS_REQUEST, "R"},  {TLS_ANSWER, "A"}, {TLS_MAYBE, "m"},
                   {TLS_ALERT, "alert"}, {TLS_REJECTED, "x"}, {TLS_STRANGE, "?"}};

    strncat(text, from_client ? " c:" : " s:", size - strlen(text) - 1);
    for (size_t i = 0; i < COUNT(letters); i++) {
        if ((sights & letters[i].sight) != 0) {
            strncat(text, letters[i].letter, size - strlen(text) - 1);
        }
    }
}

enum how { WHOLE, IN_TWO, BYTEWISE };

/* Feeds one piece in memory of its own, in one, in two at `split`, or byte by byte. */
static unsigned feed(struct tls_records *records, bool from_client, const uint8_t *piece, size_t length, enum how how,
                     size_t split)
{
    size_t step = how == WHOLE ? length : how == IN_TWO ? split % (length + 1) : 1;
    unsigned sights = 0;

    for (size_t at = 0; at < length;) {
        size_t many = step == 0 || length - at < step ? length - at : step;
        uint8_t *copy = malloc(many);

        memcpy(copy, piece + at, many);
        sights |= tls_records_feed(records, from_client, copy, many);
        free(copy);
        at += many;
        step = how == IN_TWO ? length : step;
    }
    return sights;
}

static void run(const struct session *session, enum how how, size_t split, char *text, size_t size,
                struct tls_hello *hello, struct tls_records *records)
{
    const uint8_t *piece;
    bool from_client;
    size_t at = 0, length;

    memset(hello, 0xa5, sizeof *hello);
    memset(records, 0xa5, sizeof *records);
    tls_hello_begin(hello);
    tls_records_begin(records);
    text[0] = '\0';
    while ((piece = session_piece(session, &at, &from_client, &length)) != NULL) {
        for (size_t i = 0; from_client && i < length; i += how == BYTEWISE ? 1 : length) {
            tls_hello_feed(hello, piece + i, how == BYTEWISE ? 1 : length);
        }
        tell(text, size, from_client, feed(records, from_client, piece, length, how, split));
    }
}

static const struct {
    const char *name, *server_name;
    bool tls13;
    enum tls_h2 h2;
    const char *sights;
} sessions[] = {
    {"curl13", "api.example.com", true, TLS_H2_MAYBE, " c: s: c:s c:R s:m s:m s:A s:m c:"},
    {"curl13-no-tickets", "api.example.com", true, TLS_H2_MAYBE, " c: s: c:s c:R s:m c:"},
    {"curl13-retry", "api.example.com", true, TLS_H2_MAYBE, " c: s: c: s: c:s c:R s:m s:m s:A s:m c:"},
    {"curl13-rejects", "api.example.com", true, TLS_H2_MAYBE, " c: s: c:x"},
    {"curl13-needs-cert", "api.example.com", true, TLS_H2_MAYBE, " c: s: c:s c:R s:m"},
    {"curl12", "api.example.com", false, TLS_H2_NO, " c: s: c: s:s c:sR s:A c:"},
    {"curl12-rejects", "api.example.com", false, TLS_H2_NO, " c: s: c:x"},
    {"curl12-needs-cert", "api.example.com", false, TLS_H2_NO, " c: s: c: s:alert"},
    {"curl-version-alert", "api.example.com", false, TLS_H2_MAYBE, " c: s:alert"},
    {"openssl13", "api.example.com", true, TLS_H2_NO, " c: s: c:s s:m c:R s:Am c:"},
    {"openssl13-h2", "api.example.com", true, TLS_H2_YES, " c: s: c:s s:m c:R s:Am c:"},
    {"openssl12", "api.example.com", false, TLS_H2_NO, " c: s: c: s:s c:sR s:A c:"},
    {"gnutls13", "api.example.com", true, TLS_H2_NO, " c: s: c: c:s s:m s:m c:R s:A s:m"},
    {"gnutls12", "api.example.com", false, TLS_H2_NO, " c: s: c: s:s c:sR s:A"},
    {"python13", "api.example.com", true, TLS_H2_NO, " c: s: c:s s:m c:R s:m s:A s:m"},
    {"python13-rejects", "api.example.com", true, TLS_H2_NO, " c: s: c:x"},
    {"wget13", "localhost", true, TLS_H2_NO, " c: s: c: c:s s:m c:R s:Am"},
};

START_TEST(real_sessions_show_name_version_requests_and_answers)
{
    struct session session;
    struct tls_hello hello;
    struct tls_records records;
    char text[1024];

    session_load(&session, sessions[_i].name);
    run(&session, WHOLE, 0, text, sizeof text, &hello, &records);
    ck_assert_msg(strcmp(text, sessions[_i].sights) == 0, "%s: got %s\nwant %s", sessions[_i].name, text,
                  sessions[_i].sights);
    ck_assert(hello.done && !hello.opaque);
    ck_assert_str_eq(hello.name, sessions[_i].server_name);
    ck_assert_mem_eq(hello.random, session.bytes + 3 + 11, TLS_RANDOM);
    ck_assert_int_eq(records.tls13, sessions[_i].tls13);
    ck_assert_int_eq(tls_h2(&hello, &records), sessions[_i].h2);
}
END_TEST

START_TEST(real_sessions_look_the_same_however_their_bytes_come)
{
    struct session session;
    struct tls_hello hello, hello_bytewise;
    struct tls_records records, other;
    char whole[1024], text[1024];

    session_load(&session, sessions[_i].name);
    run(&session, WHOLE, 0, whole, sizeof whole, &hello, &records);
    run(&session, BYTEWISE, 0, text, sizeof text, &hello_bytewise, &other);
    ck_assert_str_eq(text, whole);
    ck_assert_mem_eq(&records, &other, sizeof records);
    ck_assert_mem_eq(&hello, &hello_bytewise, sizeof hello);
    for (size_t split = 1; split < 1200; split++) {
        run(&session, IN_TWO, split, text, sizeof text, &hello_bytewise, &other);
        ck_assert_msg(strcmp(text, whole) == 0, "split at %zu: %s, whole %s", split, text, whole);
        ck_assert_mem_eq(&records, &other, sizeof records);
    }
}
END_TEST

/* ---- hellos made by hand -------------------------------------------------------------------------------------- */

struct bytes {
    uint8_t at[70000];
    size_t length;
};

static void put(struct bytes *bytes, const void *from, size_t length)
{
    ck_assert_uint_le(bytes->length + length, sizeof bytes->at);
    memcpy(bytes->at + bytes->length, from, length);
    bytes->length += length;
}

static void put_number(struct bytes *bytes, size_t number, int width)
{
    while (width-- > 0) {
        put(bytes, &(uint8_t){(uint8_t)(number >> (8 * width))}, 1);
    }
}

static void put_extension(struct bytes *bytes, uint16_t type, const void *body, size_t length)
{
    put_number(bytes, type, 2);
    put_number(bytes, length, 2);
    put(bytes, body, length);
}

static void put_name(struct bytes *bytes, const char *name)
{
    size_t length = strlen(name);

    put_number(bytes, 0, 2);
    put_number(bytes, length + 5, 2);
    put_number(bytes, length + 3, 2);
    put_number(bytes, 0, 1);
    put_number(bytes, length, 2);
    put(bytes, name, length);
}

/* A handshake message around a hello with these extensions (NULL: not even their length). */
static void make_message(struct bytes *message, uint8_t type, const struct bytes *extensions)
{
    size_t front = type == 1 ? 2 + 32 + 1 + 2 + 2 + 1 + 1 : 2 + 32 + 1 + 3;

    message->length = 0;
    put_number(message, type, 1);
    put_number(message, front + (extensions != NULL ? 2 + extensions->length : 0), 3);
    put_number(message, 0x0303, 2);
    put(message, "0123456789abcdef0123456789abcdef", 32);
    put_number(message, 0, 1);
    if (type == 1) {
        put(message, "\0\2\x13\1\1\0", 6);
    } else {
        put(message, "\x13\1\0", 3);
    }
    if (extensions != NULL) {
        put_number(message, extensions->length, 2);
        put(message, extensions->at, extensions->length);
    }
}

/* It in records of at most `most` bytes. */
static void make_records(struct bytes *records, const struct bytes *message, size_t most)
{
    records->length = 0;
    for (size_t at = 0; at < message->length;) {
        size_t length = message->length - at < most ? message->length - at : most;

        put(records, "\x16\3\1", 3);
        put_number(records, length, 2);
        put(records, message->at + at, length);
        at += length;
    }
}

/* Feeds them whole, byte by byte and split at every byte; all must agree. The result stays in *hello. */
static void feed_hello(struct tls_hello *hello, const struct bytes *bytes)
{
    struct tls_hello other;

    tls_hello_begin(hello);
    tls_hello_feed(hello, bytes->at, bytes->length);
    for (size_t split = 0; split <= bytes->length; split++) {
        tls_hello_begin(&other);
        tls_hello_feed(&other, bytes->at, split);
        bool over = tls_hello_feed(&other, bytes->at + split, bytes->length - split);

        ck_assert_int_eq(over, other.done || other.opaque);
        ck_assert_mem_eq(&other, hello, sizeof other);
    }
    tls_hello_begin(&other);
    for (size_t i = 0; i < bytes->length; i++) {
        tls_hello_feed(&other, bytes->at + i, 1);
    }
    ck_assert_mem_eq(&other, hello, sizeof other);
}

static void feed_extensions(struct tls_hello *hello, const struct bytes *extensions)
{
    static struct bytes message, records;

    make_message(&message, 1, extensions);
    make_records(&records, &message, 16384);
    feed_hello(hello, &records);
}

static void feed_name(struct tls_hello *hello, const char *name)
{
    struct bytes extensions = {.length = 0};

    put_name(&extensions, name);
    feed_extensions(hello, &extensions);
}

START_TEST(name_is_folded_and_loses_its_last_dot)
{
    struct tls_hello hello;

    feed_name(&hello, "API.Example.COM.");
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "api.example.com");
    ck_assert_mem_eq(hello.random, "0123456789abcdef0123456789abcdef", TLS_RANDOM);
}
END_TEST

START_TEST(what_is_no_name_is_none_and_the_hello_good)
{
    static const char *const names[] = {"a b", "a/b", "\xc3\xa9.fr", "[::1]", "a:1", "a\nb", "."};
    struct tls_hello hello;
    char name[300];

    for (size_t i = 0; i < COUNT(names); i++) {
        feed_name(&hello, names[i]);
        ck_assert_msg(hello.done && hello.name[0] == '\0', "%s", names[i]);
    }
    memset(name, 'a', sizeof name);
    name[253] = '\0';
    feed_name(&hello, name);
    ck_assert_str_eq(hello.name, name);
    name[253] = 'a';
    name[254] = '\0';
    feed_name(&hello, name);
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "");
}
END_TEST

START_TEST(hello_without_extensions_or_name_has_no_name)
{
    struct bytes extensions = {.length = 0};
    struct tls_hello hello;

    feed_extensions(&hello, NULL);
    ck_assert(hello.done && !hello.h2_offered && !hello.alpn_other);
    ck_assert_str_eq(hello.name, "");

    feed_extensions(&hello, &extensions);
    ck_assert(hello.done);

    put_extension(&extensions, 0x0a0a, "", 0);
    put_extension(&extensions, 21, "\0\0\0", 3);
    feed_extensions(&hello, &extensions);
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "");
}
END_TEST

START_TEST(name_comes_from_the_one_host_name_in_the_list)
{
    struct bytes extensions = {.length = 0};
    struct tls_hello hello;

    put_extension(&extensions, 0, "\0\x0a\7\0\3xyz\0\0\1a", 12);
    feed_extensions(&hello, &extensions);
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "a");

    extensions.length = 0;
    put_extension(&extensions, 0, "\0\x08\0\0\1b\0\0\1a", 10);
    feed_extensions(&hello, &extensions);
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "");
}
END_TEST

START_TEST(alpn_tells_h2_from_others)
{
    static const struct {
        const char *list;
        size_t length;
        bool h2, other;
    } lists[] = {
        {"\0\3\2h2", 5, true, false},
        {"\0\x0c\2h2\x8http/1.1", 14, true, true},
        {"\0\x0c\x8http/1.1\2h2", 14, true, true},
        {"\0\x09\x8http/1.1", 11, false, true},
        {"\0\4\3h2c", 6, false, true},
        {"\0\3\2hx", 5, false, true},
        {"\0\2\1h", 4, false, true},
        {"\0\3\2xh", 5, false, true},
    };
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct bytes extensions = {.length = 0};
        struct tls_hello hello;

        put_extension(&extensions, 16, lists[i].list, lists[i].length);
        put_name(&extensions, "a");
        feed_extensions(&hello, &extensions);
        ck_assert_msg(hello.done && hello.h2_offered == lists[i].h2 && hello.alpn_other == lists[i].other, "%zu", i);
        ck_assert_str_eq(hello.name, "a");
    }
}
END_TEST

START_TEST(hello_may_span_many_records)
{
    struct bytes extensions = {.length = 0}, message, records;
    struct tls_hello hello;

    put_name(&extensions, "a.example");
    put_extension(&extensions, 21, message.at, 2000);
    make_message(&message, 1, &extensions);
    for (size_t most = 1; most < 100; most += 7) {
        make_records(&records, &message, most);
        tls_hello_begin(&hello);
        ck_assert(tls_hello_feed(&hello, records.at, records.length));
        ck_assert(hello.done);
        ck_assert_str_eq(hello.name, "a.example");
    }
}
END_TEST

START_TEST(hello_cut_short_is_neither_done_nor_opaque)
{
    struct bytes extensions = {.length = 0}, message, records;
    struct tls_hello hello;

    put_name(&extensions, "a.example");
    make_message(&message, 1, &extensions);
    make_records(&records, &message, 16384);
    for (size_t length = 0; length < records.length; length++) {
        tls_hello_begin(&hello);
        ck_assert(!tls_hello_feed(&hello, records.at, length));
        ck_assert(!hello.done && !hello.opaque);
    }
}
END_TEST

START_TEST(what_follows_the_hello_changes_nothing)
{
    struct session session;
    struct tls_hello first, later;
    struct tls_records records;
    char text[1024];

    session_load(&session, "curl13");
    run(&session, WHOLE, 0, text, sizeof text, &first, &records);
    later = first;
    ck_assert(tls_hello_feed(&later, (const uint8_t *)"GET / HTTP/1.1\r\n\r\n", 18));
    ck_assert_mem_eq(&first, &later, sizeof first);
}
END_TEST

START_TEST(what_is_no_hello_is_opaque_without_a_name)
{
    static const struct {
        const char *bytes;
        size_t length;
    } strangers[] = {
        {"GET / HTTP/1.1\r\n", 16},
        {"\x80\x2e\1\0\2\0\x15", 7},        /* an SSL 2 hello */
        {"\x16\2\0\0\5\1", 6},              /* SSL 2 in a record */
        {"\x16\3\1\0\0\x16\3\1", 8},        /* an empty record */
        {"\x16\3\1\x40\1\1", 6},            /* a record too long */
        {"\x16\3\1\0\5\2\0\0\x40\3", 10},   /* a ServerHello */
        {"\x16\3\1\0\5\1\0\0\x25\3", 10},   /* too short */
        {"\x16\3\1\0\5\1\1\0\0\3", 10},     /* too long */
        {"\x16\3\1\0\6\1\0\0\x40\2\0", 11}, /* an odd version */
        {"\x17\3\3\0\5hello", 10},
        {"\x15\3\3\0\2\2\x28", 7},
    };
    for (size_t i = 0; i < COUNT(strangers); i++) {
        struct bytes bytes = {.length = 0};
        struct tls_hello hello;

        put(&bytes, strangers[i].bytes, strangers[i].length);
        feed_hello(&hello, &bytes);
        ck_assert_msg(hello.opaque && !hello.done && hello.name[0] == '\0', "%zu", i);
    }
}
END_TEST

START_TEST(extensions_that_do_not_add_up_make_it_opaque)
{
    static const struct {
        const char *bytes;
        size_t length;
    } bad[] = {
        {"\0\0\0\0", 4},                                /* a name of nothing */
        {"\0\0\0\1\0", 5},                              /* half a length */
        {"\0\0\0\6\0\4\0\0\1a\0", 11},                  /* a byte behind the list */
        {"\0\0\0\6\0\5\0\0\1a", 10},                    /* a list longer than its extension */
        {"\0\0\0\6\0\4\0\0\2a", 10},                    /* a name longer than its list */
        {"\0\0\0\5\0\3\0\0\0", 9},                      /* an empty name */
        {"\0\0\0\2\0\0", 6},                            /* an empty list */
        {"\0\0\0\3\0\1\0", 7},                          /* a type and no more */
        {"\0\0\0\4\0\2\0\0", 8},                        /* a type and half a length */
        {"\0\x10\0\3\0\1\0", 7},                        /* an empty protocol */
        {"\0\x10\0\5\0\3\3h2", 9},                      /* a protocol longer than its list */
        {"\0\x0a\0\4\0", 5},                            /* an extension longer than the rest */
        {"\0\x0a\0\1\0\xff", 6},                        /* half a type */
        {"\0\0\0\6\0\4\0\0\1a\0\0\0\6\0\4\0\0\1b", 20}, /* twice */
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bytes extensions = {.length = 0};
        struct tls_hello hello;

        put(&extensions, bad[i].bytes, bad[i].length);
        feed_extensions(&hello, &extensions);
        ck_assert_msg(hello.opaque && !hello.done && hello.name[0] == '\0', "%zu", i);
    }
}
END_TEST

START_TEST(lengths_of_the_hello_that_do_not_add_up_make_it_opaque)
{
    struct bytes extensions = {.length = 0}, message, records;
    struct tls_hello hello;

    put_name(&extensions, "a");
    /* session, ciphers and its odd half, compressions, extensions */
    static const struct {
        size_t at;
        uint8_t value;
    } changes[] = {{38, 33}, {38, 32}, {39, 0xff}, {40, 1}, {40, 0}, {43, 0}, {43, 0xff}, {45, 1}, {46, 9}, {46, 11}};

    for (size_t i = 0; i < COUNT(changes); i++) {
        make_message(&message, 1, &extensions);
        ck_assert_uint_ne(message.at[changes[i].at], changes[i].value);
        message.at[changes[i].at] = changes[i].value;
        make_records(&records, &message, 16384);
        feed_hello(&hello, &records);
        ck_assert_msg(hello.opaque && !hello.done, "%zu", i);
    }
}
END_TEST

/* ---- records made by hand ------------------------------------------------------------------------------------- */

/* A record of zeros. */
static unsigned feed_record(struct tls_records *records, bool from_client, uint8_t type, size_t length)
{
    static uint8_t bytes[5 + 20000];

    memcpy(bytes, (uint8_t[]){type, 3, 3, (uint8_t)(length >> 8), (uint8_t)length}, 5);
    return tls_records_feed(records, from_client, bytes, 5 + length);
}

/* Up to the client's Finished, or in TLS 1.2 to the server's. */
static void shake_hands(struct tls_records *records, bool tls13)
{
    struct bytes extensions = {.length = 0}, message, bytes;

    tls_records_begin(records);
    make_message(&message, 1, NULL);
    make_records(&bytes, &message, 16384);
    ck_assert_uint_eq(tls_records_feed(records, true, bytes.at, bytes.length), TLS_NOTHING);
    if (tls13) {
        put_extension(&extensions, 43, "\3\4", 2);
    }
    make_message(&message, 2, &extensions);
    make_records(&bytes, &message, 16384);
    ck_assert_uint_eq(tls_records_feed(records, false, bytes.at, bytes.length), TLS_NOTHING);
    ck_assert_int_eq(records->tls13, tls13);
    if (tls13) {
        ck_assert_uint_eq(feed_record(records, false, 23, 900), TLS_NOTHING);
        ck_assert_uint_eq(feed_record(records, true, 23, 53), TLS_SECURED);
    } else {
        ck_assert_uint_eq(feed_record(records, true, 20, 1), TLS_NOTHING);
        ck_assert_uint_eq(feed_record(records, true, 22, 40), TLS_NOTHING);
        ck_assert_uint_eq(feed_record(records, false, 20, 1), TLS_SECURED);
        ck_assert_uint_eq(feed_record(records, false, 22, 40), TLS_NOTHING);
    }
}

START_TEST(leading_run_of_equal_lengths_may_be_tickets_and_what_differs_answers)
{
    struct tls_records records;

    shake_hands(&records, true);
    ck_assert_uint_eq(feed_record(&records, true, 23, 100), TLS_REQUEST);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_MAYBE);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_MAYBE);
    ck_assert_uint_eq(feed_record(&records, false, 23, 251), TLS_ANSWER);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_ANSWER);
}
END_TEST

START_TEST(run_does_not_last_for_ever)
{
    struct tls_records records;
    unsigned sight = TLS_MAYBE;
    int many = 0;

    shake_hands(&records, true);
    for (; sight == TLS_MAYBE && many < 100; many++) {
        sight = feed_record(&records, false, 23, 250);
    }
    ck_assert_uint_eq(sight, TLS_ANSWER);
    ck_assert_int_eq(many, 9);
}
END_TEST

START_TEST(record_too_short_or_too_long_for_a_ticket_answers)
{
    struct tls_records records;

    shake_hands(&records, true);
    ck_assert_uint_eq(feed_record(&records, false, 23, 22), TLS_ANSWER); /* redis: +OK */
    shake_hands(&records, true);
    ck_assert_uint_eq(feed_record(&records, false, 23, 16401), TLS_ANSWER);
}
END_TEST

START_TEST(record_as_long_as_an_alert_is_neither_request_nor_answer)
{
    struct tls_records records;

    shake_hands(&records, true);
    ck_assert_uint_eq(feed_record(&records, true, 23, 19), TLS_NOTHING);
    ck_assert_uint_eq(feed_record(&records, false, 23, 19), TLS_MAYBE);
    ck_assert_uint_eq(feed_record(&records, false, 23, 100), TLS_MAYBE);
    ck_assert_uint_eq(feed_record(&records, false, 23, 101), TLS_ANSWER);
    ck_assert_uint_eq(feed_record(&records, false, 23, 19), TLS_MAYBE);
}
END_TEST

START_TEST(client_that_sends_certificates_has_its_finished_later)
{
    struct bytes extensions = {.length = 0}, message, bytes;
    struct tls_records records;

    tls_records_begin(&records);
    put_extension(&extensions, 43, "\3\4", 2);
    make_message(&message, 2, &extensions);
    make_records(&bytes, &message, 16384);
    tls_records_feed(&records, false, bytes.at, bytes.length);
    ck_assert_uint_eq(feed_record(&records, true, 23, 25), TLS_SECURED);
    ck_assert_uint_eq(feed_record(&records, true, 23, 69), TLS_NOTHING);
    ck_assert_uint_eq(feed_record(&records, true, 23, 69), TLS_REQUEST);
}
END_TEST

START_TEST(in_tls12_every_data_record_counts_and_alerts_do_not)
{
    struct tls_records records;

    shake_hands(&records, false);
    ck_assert_uint_eq(feed_record(&records, true, 23, 19), TLS_SECURED | TLS_REQUEST);
    ck_assert_uint_eq(feed_record(&records, false, 22, 200), TLS_NOTHING);
    ck_assert_uint_eq(feed_record(&records, false, 23, 19), TLS_ANSWER);
    ck_assert_uint_eq(feed_record(&records, false, 23, 19), TLS_ANSWER);
    ck_assert_uint_eq(feed_record(&records, false, 21, 26), TLS_NOTHING);
    ck_assert_uint_eq(feed_record(&records, true, 21, 26), TLS_NOTHING);
}
END_TEST

START_TEST(early_data_leaves_the_server_undecided)
{
    struct tls_records records;

    tls_records_begin(&records);
    ck_assert_uint_eq(feed_record(&records, true, 23, 100), TLS_SECURED | TLS_REQUEST);
    ck_assert_uint_eq(feed_record(&records, false, 23, 900), TLS_MAYBE);
    ck_assert_uint_eq(feed_record(&records, true, 23, 53), TLS_REQUEST);
    ck_assert_uint_eq(feed_record(&records, false, 23, 901), TLS_MAYBE);
}
END_TEST

START_TEST(only_fatal_alerts_in_the_handshake_break_it_off)
{
    struct tls_records records;

    tls_records_begin(&records);
    ck_assert_uint_eq(tls_records_feed(&records, false, (const uint8_t *)"\x15\3\3\0\2\1\x70", 7), TLS_NOTHING);
    ck_assert_uint_eq(tls_records_feed(&records, false, (const uint8_t *)"\x15\3\3\0\2\2\x02", 7), TLS_ALERT);
    tls_records_begin(&records);
    ck_assert_uint_eq(tls_records_feed(&records, true, (const uint8_t *)"\x15\3\3\0\2\1\2", 7), TLS_NOTHING);
    ck_assert_uint_eq(tls_records_feed(&records, true, (const uint8_t *)"\x15\3\3\0\2\2\x30", 7), TLS_REJECTED);
    /* one that is hidden is longer, and what stands where in it means nothing */
    tls_records_begin(&records);
    ck_assert_uint_eq(tls_records_feed(&records, true, (const uint8_t *)"\x15\3\3\0\3\0", 6), TLS_NOTHING);
    ck_assert_uint_eq(tls_records_feed(&records, true, (const uint8_t *)"\2\2", 2), TLS_NOTHING);
    shake_hands(&records, false);
    feed_record(&records, true, 23, 100);
    ck_assert_uint_eq(tls_records_feed(&records, false, (const uint8_t *)"\x15\3\3\0\2\2\x02", 7), TLS_NOTHING);
}
END_TEST

START_TEST(alert_hidden_in_place_of_finished_is_the_clients_rejection)
{
    struct bytes extensions = {.length = 0}, message, bytes;
    struct tls_records records;

    tls_records_begin(&records);
    put_extension(&extensions, 43, "\3\4", 2);
    make_message(&message, 2, &extensions);
    make_records(&bytes, &message, 16384);
    tls_records_feed(&records, false, bytes.at, bytes.length);
    ck_assert_uint_eq(feed_record(&records, true, 23, 19), TLS_REJECTED);
}
END_TEST

START_TEST(what_is_no_tls_is_strange_for_good)
{
    static const struct {
        const char *bytes;
        size_t length;
        bool from_client;
    } strangers[] = {
        {"GET /", 5, true},          {"220 hi", 6, false},           {"\x16\2", 2, false},
        {"\x17\3\3\x48\1", 5, true}, {"\x16\3\3\0\2\1\0", 7, false}, /* no ServerHello */
    };
    for (size_t i = 0; i < COUNT(strangers); i++) {
        struct tls_records records;

        tls_records_begin(&records);
        ck_assert_uint_eq(tls_records_feed(&records, strangers[i].from_client, (const uint8_t *)strangers[i].bytes,
                                           strangers[i].length),
                          TLS_STRANGE);
        ck_assert(records.strange);
        ck_assert_uint_eq(feed_record(&records, true, 23, 50), TLS_STRANGE);
    }
}
END_TEST

START_TEST(empty_records_are_passed_over)
{
    struct tls_records records;

    shake_hands(&records, false);
    ck_assert_uint_eq(feed_record(&records, false, 22, 0), TLS_NOTHING);
    ck_assert_uint_eq(feed_record(&records, true, 23, 30), TLS_SECURED | TLS_REQUEST);
}
END_TEST

START_TEST(server_names_its_protocol_in_tls12_only)
{
    struct session session;
    struct tls_hello hello;
    struct tls_records records;
    struct bytes extensions = {.length = 0}, message, bytes;
    char text[1024];

    session_load(&session, "curl12"); /* offers both */
    run(&session, WHOLE, 0, text, sizeof text, &hello, &records);
    ck_assert(records.alpn_seen && !records.h2_chosen);

    tls_records_begin(&records);
    put_extension(&extensions, 16, "\0\3\2h2", 5);
    make_message(&message, 2, &extensions);
    make_records(&bytes, &message, 16384);
    ck_assert_int_eq(tls_h2(&hello, &records), TLS_H2_MAYBE);
    tls_records_feed(&records, false, bytes.at, bytes.length);
    ck_assert(records.alpn_seen && records.h2_chosen);
    ck_assert_int_eq(tls_h2(&hello, &records), TLS_H2_YES);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        name_is_folded_and_loses_its_last_dot,
        what_is_no_name_is_none_and_the_hello_good,
        hello_without_extensions_or_name_has_no_name,
        name_comes_from_the_one_host_name_in_the_list,
        alpn_tells_h2_from_others,
        hello_may_span_many_records,
        hello_cut_short_is_neither_done_nor_opaque,
        what_follows_the_hello_changes_nothing,
        what_is_no_hello_is_opaque_without_a_name,
        extensions_that_do_not_add_up_make_it_opaque,
        lengths_of_the_hello_that_do_not_add_up_make_it_opaque,
        leading_run_of_equal_lengths_may_be_tickets_and_what_differs_answers,
        run_does_not_last_for_ever,
        record_too_short_or_too_long_for_a_ticket_answers,
        record_as_long_as_an_alert_is_neither_request_nor_answer,
        client_that_sends_certificates_has_its_finished_later,
        in_tls12_every_data_record_counts_and_alerts_do_not,
        early_data_leaves_the_server_undecided,
        only_fatal_alerts_in_the_handshake_break_it_off,
        alert_hidden_in_place_of_finished_is_the_clients_rejection,
        what_is_no_tls_is_strange_for_good,
        empty_records_are_passed_over,
        server_names_its_protocol_in_tls12_only,
    };
    Suite *suite = suite_create("tls");
    TCase *tcase = tcase_create("tls");

    tcase_add_loop_test(tcase, real_sessions_show_name_version_requests_and_answers, 0, (int)COUNT(sessions));
    tcase_add_loop_test(tcase, real_sessions_look_the_same_however_their_bytes_come, 0, (int)COUNT(sessions));
    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
