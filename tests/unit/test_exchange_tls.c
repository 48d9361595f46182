/*
 * TLS seen from outside, from its first byte on or after a few words in the clear: what is a call and what is none,
 * however the bytes come.
 */
#include "suite.h"
#include "tls_rig.h"
#include "track/exchange/exchange.h"

static struct exchange exchange;

/* ---- bytes, fed in one, in two at every place, and one by one ----------------------------------------------------- */

static size_t split; /* 0: whole; SIZE_MAX: byte by byte */

static unsigned feed_some(bool from_client, const uint8_t *bytes, size_t length)
{
    unsigned all = 0, news;
    if (exchange_pass(&exchange, from_client, length)) {
        return EXCHANGE_NOTHING;
    }
    do {
        size_t taken = 0;
        news = from_client ? exchange_sent(&exchange, bytes, length, &taken)
                           : exchange_received(&exchange, bytes, length, &taken);
        ck_assert_uint_le(taken, length);
        bytes += taken;
        length -= taken;
        all |= news;
    } while (news != EXCHANGE_NOTHING || length > 0);
    return all;
}

static unsigned say(bool from_client, const uint8_t *bytes, size_t length)
{
    size_t first = split == 0 ? length : split == SIZE_MAX ? 1 : split % length;
    unsigned all = 0;
    for (size_t at = 0; at < length;) {
        size_t some = at == 0 && first > 0 ? first : split == SIZE_MAX ? 1 : length - at;
        all |= feed_some(from_client, bytes + at, some);
        at += some;
    }
    return all;
}

#define client(bytes, length) say(true, (const uint8_t *)(bytes), length)
#define server(bytes, length) say(false, (const uint8_t *)(bytes), length)

/* A record of zeros. */
static unsigned record(bool from_client, uint8_t type, size_t length)
{
    static uint8_t bytes[5 + 20000];

    memcpy(bytes, (uint8_t[]){type, 3, 3, (uint8_t)(length >> 8), (uint8_t)length}, 5);
    return say(from_client, bytes, 5 + length);
}

#define DATA  23
#define SHORT 30 /* too short for a ticket */

static unsigned client_data(size_t length)
{
    return record(true, DATA, length);
}

static unsigned server_data(size_t length)
{
    return record(false, DATA, length);
}

enum offer { NOTHING, HTTP1, HTTP2_TOO };

static unsigned client_hello(enum offer offer)
{
    struct bytes extensions = {.length = 0}, message, bytes;

    put_name(&extensions, "db.acme.test");
    if (offer == HTTP1) {
        put_extension(&extensions, 16, "\0\011\010http/1.1", 11);
    } else if (offer == HTTP2_TOO) {
        put_extension(&extensions, 16, "\0\014\2h2\010http/1.1", 14);
    }
    make_message(&message, 1, &extensions);
    make_records(&bytes, &message, 16384);
    return client(bytes.at, bytes.length);
}

static unsigned server_hello(bool tls13)
{
    struct bytes extensions = {.length = 0}, message, bytes;

    if (tls13) {
        put_extension(&extensions, 43, "\3\4", 2);
    }
    make_message(&message, 2, &extensions);
    make_records(&bytes, &message, 16384);
    return server(bytes.at, bytes.length);
}

/* All of the handshake behind the ClientHello. */
static void shake_hands(bool tls13)
{
    ck_assert_uint_eq(server_hello(tls13), EXCHANGE_NOTHING);
    if (tls13) {
        ck_assert_uint_eq(server_data(900), EXCHANGE_NOTHING);
        ck_assert_uint_eq(client_data(53), EXCHANGE_NOTHING);
    } else {
        record(true, 20, 1);
        record(true, 22, 40);
        record(false, 20, 1);
        record(false, 22, 40);
    }
    ck_assert(!exchange_waiting(&exchange));
}

#define ANSWERED (EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED)

/* Each test runs for so many ways to cut its bytes: more than there are in a hello. */
#define CUTS 97

static void given(int which)
{
    split = which == CUTS - 1 ? SIZE_MAX : (size_t)which;
    exchange_begin(&exchange);
}

/* What MySQL's client says before its ClientHello: a header of four bytes, and 32. */
static const uint8_t wants_tls[36] = {32, 0, 0, 1, 0x85, 0xae};

/* ---- turns -------------------------------------------------------------------------------------------------------- */

static void take_turns(void)
{
    for (int i = 0; i < 3; i++) {
        ck_assert(exchange_wants_request(&exchange));
        ck_assert_uint_eq(client_data(100), EXCHANGE_REQUEST);
        ck_assert_uint_eq(client_data(2000), EXCHANGE_NOTHING);
        ck_assert(exchange_owed(&exchange));
        ck_assert_uint_eq(server_data(301), ANSWERED);
        ck_assert_uint_eq(server_data(3000), EXCHANGE_NOTHING);
    }
}

START_TEST(handshake_and_first_answer_are_one_call_and_later_turns_are_calls)
{
    for (int tls13 = 0; tls13 < 2; tls13++) {
        given(_i);
        ck_assert_uint_eq(client_hello(NOTHING), EXCHANGE_REQUEST | EXCHANGE_NAME);
        shake_hands(tls13);
        ck_assert_uint_eq(client_data(100), EXCHANGE_NOTHING);
        ck_assert(exchange_owed(&exchange));
        ck_assert_uint_eq(server_data(SHORT), ANSWERED);
        take_turns();
        ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_IDLE);
    }
}
END_TEST

START_TEST(alerts_key_updates_and_tickets_are_neither_requests_nor_answers)
{
    given(_i);
    client_hello(NOTHING);
    shake_hands(true);
    client_data(100);
    (void)server_data(250);
    ck_assert(!exchange_owed(&exchange)); /* one may be an answer */
    (void)server_data(250);
    ck_assert(exchange_owed(&exchange)); /* two are tickets */
    ck_assert_uint_eq(server_data(251), ANSWERED);
    ck_assert_uint_eq(client_data(22), EXCHANGE_NOTHING);
    ck_assert_uint_eq(server_data(250), EXCHANGE_NOTHING);
    ck_assert_uint_eq(client_data(19), EXCHANGE_NOTHING);
    ck_assert(!exchange_waiting(&exchange));

    given(_i);
    client_hello(NOTHING);
    shake_hands(false);
    client_data(100);
    ck_assert_uint_eq(record(false, 22, 200), EXCHANGE_NOTHING);
    ck_assert_uint_eq(server_data(30), ANSWERED);
    ck_assert_uint_eq(record(true, 21, 26), EXCHANGE_NOTHING);
    ck_assert(!exchange_waiting(&exchange));
}
END_TEST

START_TEST(one_connection_shows_how_long_tickets_are_and_another_is_told)
{
    given(_i);
    client_hello(NOTHING);
    shake_hands(true);
    client_data(100);
    server_data(250);
    ck_assert_uint_eq(exchange_tickets(&exchange), 0);
    server_data(250);
    ck_assert_uint_eq(exchange_tickets(&exchange), 250);
    given(_i);
    exchange.ticket = 250;
    client_hello(NOTHING);
    shake_hands(true);
    client_data(100);
    ck_assert_uint_eq(server_data(250), EXCHANGE_NOTHING); /* who resumes a session is given one */
    ck_assert(exchange_owed(&exchange));
    ck_assert_uint_eq(server_data(301), ANSWERED);
}
END_TEST

START_TEST(connection_that_asked_for_nothing_after_the_handshake_waits_for_nothing)
{
    for (int tls13 = 0; tls13 < 2; tls13++) {
        given(_i);
        client_hello(NOTHING);
        ck_assert(exchange_owed(&exchange));
        ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_CUT);
        shake_hands(tls13);
        ck_assert(!exchange_owed(&exchange));
        ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_IDLE);
        if (tls13) {
            ck_assert_uint_eq(server_data(250), EXCHANGE_NOTHING); /* tickets come while nobody asks */
            ck_assert_uint_eq(server_data(250), EXCHANGE_NOTHING);
        }
        client_data(100);
        ck_assert(exchange_owed(&exchange));
        ck_assert_uint_eq(server_data(301), ANSWERED);
    }
}
END_TEST

START_TEST(what_may_have_been_an_answer_was_one_if_the_client_goes_on)
{
    given(_i);
    client_hello(NOTHING);
    shake_hands(true);
    client_data(100);
    ck_assert_uint_eq(server_data(250), EXCHANGE_MAYBE);
    ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_AMBIGUOUS);
    ck_assert_uint_eq(exchange_went_on(&exchange), ANSWERED);
    ck_assert(!exchange.over);
    ck_assert_uint_eq(client_data(100), EXCHANGE_REQUEST);
    ck_assert_uint_eq(server_data(250), ANSWERED);
}
END_TEST

START_TEST(server_that_speaks_first_within_tls_ends_the_first_call)
{
    given(_i);
    client_hello(NOTHING);
    shake_hands(true);
    server_data(250);
    server_data(250);
    ck_assert_uint_eq(server_data(70), ANSWERED); /* 220 mail.test ESMTP */
    take_turns();
}
END_TEST

#define SECOND UINT64_C(1000000000)

START_TEST(steps_of_a_handshake_are_no_requests_that_overlap)
{
    given(_i);
    server("greeting", 8);
    client(wants_tls, sizeof wants_tls);
    client_hello(NOTHING);
    exchange_after_silence(&exchange, true, 1);
    shake_hands(true);
    exchange_after_silence(&exchange, true, 1);
    client_data(100);
    ck_assert_uint_eq(exchange.doubt, 0);
    exchange_after_silence(&exchange, true, 1);
    client_data(100);
    ck_assert_uint_gt(exchange.doubt, 0);
}
END_TEST

START_TEST(server_that_speaks_unasked_owes_no_answer_but_http_pauses_within_answers)
{
    static const struct {
        enum offer offer;
        uint64_t silence;
        bool owed;
    } cases[] = {
        {NOTHING, SECOND / 2, true}, {NOTHING, SECOND, false}, {HTTP1, 29 * SECOND, true}, {HTTP1, 30 * SECOND, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        given(_i);
        client_hello(cases[i].offer);
        shake_hands(true);
        client_data(100);
        server_data(SHORT);
        exchange_after_silence(&exchange, false, cases[i].silence);
        server_data(300);
        ck_assert_uint_eq(client_data(100), EXCHANGE_REQUEST);
        ck_assert_int_eq(exchange_owed(&exchange), cases[i].owed);
    }
}
END_TEST

START_TEST(connection_that_may_be_http2_is_one_call)
{
    given(_i);
    client_hello(HTTP2_TOO);
    shake_hands(true);
    client_data(100);
    server_data(250);
    server_data(250);
    ck_assert(exchange_owed(&exchange)); /* HTTP/2 would have begun with its settings */
    ck_assert_uint_eq(server_data(301), ANSWERED);
    ck_assert(exchange.over);
    ck_assert_uint_eq(client_data(100), EXCHANGE_NOTHING);

    given(_i); /* where the server's choice can be seen, and is another */
    client_hello(HTTP2_TOO);
    shake_hands(false);
    client_data(100);
    ck_assert_uint_eq(server_data(301), ANSWERED);
    take_turns();
}
END_TEST

/* ---- after words in the clear --------------------------------------------------------------------------------------- */

static void secured_turns(void)
{
    shake_hands(true);
    client_data(100);
    ck_assert_uint_eq(server_data(SHORT), ANSWERED);
    take_turns();
}

START_TEST(postgresql_asks_for_tls_and_then_begins_it)
{
    given(_i);
    ck_assert_uint_eq(client("\0\0\0\010\004\322\026\057", 8), EXCHANGE_REQUEST);
    ck_assert_uint_eq(server("S", 1), ANSWERED);
    ck_assert_uint_eq(client_hello(NOTHING), EXCHANGE_REQUEST | EXCHANGE_NAME);
    secured_turns();
    ck_assert_uint_eq(exchange.completed, 5);
}
END_TEST

START_TEST(turn_begun_unread_may_turn_out_to_be_a_client_hello)
{
    given(_i);
    client("\0\0\0\010\004\322\026\057", 8);
    server("S", 1);
    ck_assert_uint_eq(exchange_turn(&exchange), EXCHANGE_REQUEST);
    ck_assert_uint_eq(client_hello(NOTHING), EXCHANGE_NAME);
    secured_turns();
}
END_TEST

START_TEST(mail_server_is_asked_for_tls_in_words)
{
    given(_i);
    ck_assert_uint_eq(server("220 mail.test ESMTP\r\n", 21), ANSWERED);
    ck_assert_uint_eq(client("EHLO me\r\n", 9), EXCHANGE_REQUEST);
    ck_assert_uint_eq(server("250 STARTTLS\r\n", 14), ANSWERED);
    ck_assert_uint_eq(client("STARTTLS\r\n", 10), EXCHANGE_REQUEST);
    ck_assert_uint_eq(server("220 Go ahead\r\n", 14), ANSWERED);
    ck_assert_uint_eq(client_hello(NOTHING), EXCHANGE_REQUEST | EXCHANGE_NAME);
    secured_turns();
}
END_TEST

START_TEST(mysql_has_its_client_hello_follow_without_waiting)
{
    given(_i);
    ck_assert_uint_eq(server("greeting", 8), ANSWERED);
    ck_assert_uint_eq(client(wants_tls, sizeof wants_tls), EXCHANGE_REQUEST);
    ck_assert_uint_eq(client_hello(NOTHING), EXCHANGE_NAME);
    secured_turns();
    ck_assert_uint_eq(exchange.completed, 5);
}
END_TEST

START_TEST(handshake_that_is_broken_off_is_so_after_words_in_the_clear_too)
{
    given(_i);
    server("greeting", 8);
    client(wants_tls, sizeof wants_tls);
    client_hello(NOTHING);
    ck_assert_uint_eq(server("\x15\3\3\0\2\2\x28", 7), EXCHANGE_BROKEN_OFF);
}
END_TEST

START_TEST(what_only_begins_like_a_client_hello_is_a_turn_like_any_other)
{
    /* Packets of MySQL's: three bytes of length, a number, and a command. */
    static const uint8_t packets[][24] = {
        {0x16, 3, 0, 0, 3, 'S', 'E', 'L', 'E', 'C', 'T'}, {0x16, 3, 1, 0, 3, 'S', 'E', 'L', 'E', 'C', 'T'}, {0x16}};
    for (size_t i = 0; i < COUNT(packets); i++) {
        given(_i);
        server("greeting", 8);
        ck_assert_uint_eq(client(packets[i], sizeof packets[i]), EXCHANGE_REQUEST);
        ck_assert_uint_eq(server("\7\0\0\1\0\0\0\2\0\0\0", 11), ANSWERED);
        ck_assert_uint_eq(server("more", 4), EXCHANGE_NOTHING);
        ck_assert_uint_eq(client("\5\0\0\0\3hello", 10), EXCHANGE_REQUEST);
        ck_assert_uint_eq(server("\7\0\0\1\0\0\0\2\0\0\0", 11), ANSWERED);
        ck_assert(!exchange.over);
    }
}
END_TEST

START_TEST(tunnel_leads_to_whom_it_was_asked_for_whatever_name_is_within)
{
    static const char request[] = "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n";
    static const char answer[] = "HTTP/1.1 200 Connected\r\n\r\n";

    given(_i);
    client(request, sizeof request - 1);
    ck_assert_uint_eq(server(answer, sizeof answer - 1) & EXCHANGE_ANSWERED, 0);
    ck_assert_uint_eq(client_hello(NOTHING), EXCHANGE_REQUEST);
    secured_turns();
    ck_assert_uint_eq(exchange.completed, 4);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        handshake_and_first_answer_are_one_call_and_later_turns_are_calls,
        alerts_key_updates_and_tickets_are_neither_requests_nor_answers,
        one_connection_shows_how_long_tickets_are_and_another_is_told,
        connection_that_asked_for_nothing_after_the_handshake_waits_for_nothing,
        what_may_have_been_an_answer_was_one_if_the_client_goes_on,
        server_that_speaks_first_within_tls_ends_the_first_call,
        steps_of_a_handshake_are_no_requests_that_overlap,
        server_that_speaks_unasked_owes_no_answer_but_http_pauses_within_answers,
        connection_that_may_be_http2_is_one_call,
        postgresql_asks_for_tls_and_then_begins_it,
        turn_begun_unread_may_turn_out_to_be_a_client_hello,
        mail_server_is_asked_for_tls_in_words,
        mysql_has_its_client_hello_follow_without_waiting,
        handshake_that_is_broken_off_is_so_after_words_in_the_clear_too,
        what_only_begins_like_a_client_hello_is_a_turn_like_any_other,
        tunnel_leads_to_whom_it_was_asked_for_whatever_name_is_within,
    };
    Suite *suite = suite_create("exchange over tls");
    TCase *tcase = tcase_create("exchange over tls");

    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_loop_test(tcase, tests[i], 0, CUTS);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
