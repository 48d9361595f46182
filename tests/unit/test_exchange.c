/*
 * What the bytes of a connection are taken for: fed whole and byte by byte, and passed over where that is allowed, which
 * must all say the same.
 */
#include "suite.h"
#include "track/exchange/exchange.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct exchange exchange;
static bool passing; /* pieces that say nothing are passed over, unread */

/* The news of some bytes, or-ed together, fed in pieces of `step`. */
static unsigned feed(bool sent, const void *bytes, size_t length, size_t step)
{
    const uint8_t *at = bytes;
    unsigned all = 0;
    for (size_t done = 0; done < length; done += step) {
        size_t piece = length - done < step ? length - done : step;
        const uint8_t *from = at + done;
        unsigned news;
        if (passing && exchange_pass(&exchange, sent, piece)) {
            continue;
        }
        do {
            size_t taken = 0;
            news = sent ? exchange_sent(&exchange, from, piece, &taken)
                        : exchange_received(&exchange, from, piece, &taken);
            ck_assert_uint_le(taken, piece);
            from += taken;
            piece -= taken;
            all |= news;
        } while (news != EXCHANGE_NOTHING || piece > 0);
    }
    return all;
}

static size_t step;

static unsigned sent(const char *text)
{
    return feed(true, text, strlen(text), step);
}

static unsigned received(const char *text)
{
    return feed(false, text, strlen(text), step);
}

static const size_t steps[] = {1, 3, 4096};

#define STEPS (int)(sizeof steps / sizeof *steps)

/* Every test runs once for each size of piece, with and without passing over. */
static void given(int which)
{
    step = steps[which % STEPS];
    passing = which >= STEPS;
    exchange_begin(&exchange);
}

#define REQUEST "GET / HTTP/1.1\r\nHost: Acme.Test:8080\r\n\r\n"
#define ANSWER  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* A ClientHello of nothing but a server name. */
static size_t hello(uint8_t *out, const char *name)
{
    size_t length = strlen(name);
    uint8_t body[256] = {3, 3};
    size_t at = 34;
    const uint8_t middle[] = {0, 0, 2, 0x13, 1, 1, 0};
    memcpy(body + at, middle, sizeof middle);
    at += sizeof middle;
    const uint8_t head[] = {0, (uint8_t)(length + 9), 0, 0, 0, (uint8_t)(length + 5), 0, (uint8_t)(length + 3), 0,
                            0, (uint8_t)length};
    memcpy(body + at, head, sizeof head);
    at += sizeof head;
    memcpy(body + at, name, length);
    at += length;
    const uint8_t record[] = {0x16, 3, 1, 0, (uint8_t)(at + 4), 1, 0, 0, (uint8_t)at};
    memcpy(out, record, sizeof record);
    memcpy(out + sizeof record, body, at);
    return sizeof record + at;
}

/* ---- HTTP/1 ------------------------------------------------------------------------------------------------------- */

START_TEST(request_begins_and_names_its_host)
{
    given(_i);
    ck_assert(exchange_wants_request(&exchange));
    ck_assert_uint_eq(sent(REQUEST), EXCHANGE_REQUEST | EXCHANGE_NAME);
    struct exchange_name name;
    exchange_name(&exchange, &name);
    ck_assert_str_eq(name.host, "acme.test");
    ck_assert_uint_eq(name.port, 8080);
    ck_assert_int_eq(name.where, EXCHANGE_SAYS_HOST);
    ck_assert(exchange_waiting(&exchange));
    ck_assert(!exchange_wants_request(&exchange));
}
END_TEST

START_TEST(absolute_uri_is_known_as_such)
{
    given(_i);
    sent("GET http://api.test/x HTTP/1.1\r\nHost: proxy.test\r\n\r\n");
    struct exchange_name name;
    exchange_name(&exchange, &name);
    ck_assert_str_eq(name.host, "api.test");
    ck_assert_int_eq(name.where, EXCHANGE_SAYS_URI);
}
END_TEST

START_TEST(answer_tells_status_then_its_end_and_the_next_request_begins)
{
    given(_i);
    sent(REQUEST);
    ck_assert_uint_eq(received(ANSWER), EXCHANGE_FIRST_BYTE | EXCHANGE_STATUS | EXCHANGE_ANSWERED);
    ck_assert_uint_eq(exchange_answer(&exchange)->status, 200);
    ck_assert(!exchange_waiting(&exchange));
    ck_assert(!exchange.over);
    ck_assert_uint_eq(exchange.completed, 1);
    ck_assert(exchange_wants_request(&exchange));
    ck_assert_uint_eq(sent(REQUEST), EXCHANGE_REQUEST | EXCHANGE_NAME);
    ck_assert_uint_eq(received("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"),
                      EXCHANGE_FIRST_BYTE | EXCHANGE_STATUS | EXCHANGE_ANSWERED);
    ck_assert_uint_eq(exchange_answer(&exchange)->status, 503);
}
END_TEST

START_TEST(interim_answer_is_no_answer)
{
    given(_i);
    sent("PUT / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
    ck_assert_uint_eq(received("HTTP/1.1 100 Continue\r\n\r\n") & (EXCHANGE_STATUS | EXCHANGE_ANSWERED), 0);
    sent("x");
    ck_assert_uint_ne(received(ANSWER) & EXCHANGE_ANSWERED, 0);
}
END_TEST

START_TEST(body_of_a_head_answer_is_not_waited_for)
{
    given(_i);
    sent("HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    ck_assert_uint_ne(received("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n") & EXCHANGE_ANSWERED, 0);
}
END_TEST

START_TEST(body_until_close_is_complete_at_the_end_and_no_other_is)
{
    given(_i);
    sent(REQUEST);
    ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_CUT);
    received("HTTP/1.1 200 OK\r\n\r\nsome");
    ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_COMPLETE);

    given(_i);
    sent(REQUEST);
    received("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome");
    ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_CUT);
}
END_TEST

START_TEST(connection_that_is_not_kept_has_nothing_more_to_tell)
{
    given(_i);
    sent(REQUEST);
    ck_assert_uint_ne(received("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") & EXCHANGE_ANSWERED,
                      0);
    ck_assert(exchange.over);
    ck_assert_uint_eq(sent(REQUEST), EXCHANGE_NOTHING);
}
END_TEST

START_TEST(second_request_before_the_answer_is_next_when_that_has_come)
{
    given(_i);
    sent(REQUEST);
    ck_assert_uint_eq(sent(REQUEST) & EXCHANGE_REQUEST, 0);
    ck_assert_uint_eq(received(ANSWER) & (EXCHANGE_ANSWERED | EXCHANGE_NEXT), EXCHANGE_ANSWERED | EXCHANGE_NEXT);
    ck_assert(exchange_waiting(&exchange));
    ck_assert_uint_eq(received(ANSWER) & (EXCHANGE_ANSWERED | EXCHANGE_NEXT), EXCHANGE_ANSWERED);
    ck_assert(!exchange_waiting(&exchange));
    ck_assert_uint_ne(sent(REQUEST) & EXCHANGE_REQUEST, 0);
}
END_TEST

START_TEST(requests_behind_an_answer_that_closes_are_not_waited_for)
{
    given(_i);
    sent(REQUEST);
    sent(REQUEST);
    unsigned news = received("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    ck_assert_uint_eq(news & (EXCHANGE_ANSWERED | EXCHANGE_NEXT), EXCHANGE_ANSWERED);
    ck_assert(exchange.over);
    ck_assert_uint_eq(exchange.asked, 1);
}
END_TEST

START_TEST(tunnel_is_no_answer_but_a_connection_to_whom_it_leads)
{
    given(_i);
    sent("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n");
    ck_assert_uint_eq(received("HTTP/1.1 200 Connected\r\n\r\n"), EXCHANGE_STATUS | EXCHANGE_MAYBE);
    ck_assert(!exchange.over);
    ck_assert(!exchange_waiting(&exchange));
    ck_assert_uint_eq(exchange.completed, 0);
    /* of a protocol that cannot be read, */
    struct exchange before = exchange;
    ck_assert_uint_eq(sent("\x01question"), EXCHANGE_REQUEST);
    ck_assert_uint_eq(received("answer"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
    /* of HTTP, which is with whom the tunnel leads to, */
    exchange = before;
    ck_assert_uint_eq(sent(REQUEST), EXCHANGE_REQUEST);
    ck_assert_uint_eq(received(ANSWER), EXCHANGE_FIRST_BYTE | EXCHANGE_STATUS | EXCHANGE_ANSWERED);
    /* of a server that speaks first, which is an answer, */
    exchange = before;
    ck_assert_uint_eq(received("Hello"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
    ck_assert_uint_eq(sent("EHLO me\r\n"), EXCHANGE_REQUEST);
    ck_assert_uint_eq(received("250 OK\r\n"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
    /* or of TLS. */
    exchange = before;
    uint8_t bytes[300];
    ck_assert_uint_eq(feed(true, bytes, hello(bytes, "other.test"), step), EXCHANGE_REQUEST);
    ck_assert_int_eq(exchange.protocol, EXCHANGE_TLS);
    ck_assert_uint_eq(received("\x15\x03\x03\x01"), EXCHANGE_NOTHING);
}
END_TEST

START_TEST(tunnel_whose_client_did_not_wait_for_it_is_not_followed)
{
    given(_i);
    sent("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n");
    sent("\x16\x03\x01");
    ck_assert_uint_ne(received("HTTP/1.1 200 Connected\r\n\r\n") & EXCHANGE_ANSWERED, 0);
    ck_assert(exchange.over);
}
END_TEST

START_TEST(upgraded_connection_goes_on_in_turns_and_owes_no_answer)
{
    given(_i);
    sent("GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    ck_assert_uint_eq(received("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n\r\n\x81\x02hi"),
                      EXCHANGE_FIRST_BYTE | EXCHANGE_STATUS | EXCHANGE_ANSWERED);
    ck_assert_uint_eq(received("\x81\x02ho"), EXCHANGE_NOTHING);
    ck_assert_uint_eq(sent("\x81\x82maskhi"), EXCHANGE_REQUEST);
    ck_assert(exchange_waiting(&exchange));
    ck_assert(!exchange_owed(&exchange));
    ck_assert_uint_eq(received("\x81\x02hi"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
}
END_TEST

START_TEST(answer_to_a_request_that_nobody_saw_still_tells_its_status)
{
    given(_i);
    ck_assert_uint_ne(received("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n") & EXCHANGE_STATUS, 0);
    ck_assert_uint_eq(exchange_answer(&exchange)->status, 503);
    ck_assert(exchange.over);
}
END_TEST

START_TEST(body_that_went_by_unseen_leaves_the_answer_readable)
{
    given(_i);
    sent("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n");
    exchange_sent_unseen(&exchange);
    ck_assert_uint_ne(received(ANSWER) & EXCHANGE_ANSWERED, 0);
    ck_assert(exchange.over);
}
END_TEST

/* ---- anything else ------------------------------------------------------------------------------------------------ */

START_TEST(server_that_speaks_first_answers_with_its_first_byte)
{
    given(_i);
    ck_assert_uint_eq(received("220 mail.test ESMTP\r\n"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
    ck_assert(!exchange_waiting(&exchange));
    ck_assert_uint_eq(received("220 more of it\r\n"), EXCHANGE_NOTHING);
    ck_assert_uint_eq(sent("EHLO me.test\r\n"), EXCHANGE_REQUEST);
    ck_assert_uint_eq(received("250-mail.test\r\n250 OK\r\n"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
    ck_assert_uint_eq(exchange.completed, 2);
}
END_TEST

START_TEST(opaque_request_is_answered_by_any_byte)
{
    given(_i);
    ck_assert_uint_eq(sent("*1\r\n$4\r\nPING\r\n"), EXCHANGE_REQUEST);
    ck_assert(exchange_waiting(&exchange));
    ck_assert(exchange_owed(&exchange));
    ck_assert(!exchange_wants_request(&exchange));
    ck_assert_uint_eq(received("+PONG\r\n"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
    ck_assert(!exchange.over);
}
END_TEST

START_TEST(what_is_written_after_reading_is_a_turn_and_what_is_written_before_belongs_to_it)
{
    given(_i);
    for (uint32_t turn = 1; turn <= 3; turn++) {
        ck_assert(exchange_wants_request(&exchange));
        ck_assert_uint_eq(sent("\x02question, "), EXCHANGE_REQUEST);
        ck_assert_uint_eq(sent("the rest of it"), EXCHANGE_NOTHING);
        ck_assert(!exchange_wants_request(&exchange));
        ck_assert_uint_eq(received("answer, "), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
        ck_assert_uint_eq(received("the rest of it"), EXCHANGE_NOTHING);
        ck_assert_uint_eq(exchange.completed, turn);
        ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_IDLE);
    }
}
END_TEST

START_TEST(turn_begins_unread_once_the_protocol_is_known)
{
    given(_i);
    ck_assert(!exchange_wants_turn(&exchange));
    sent("\x02question");
    ck_assert(!exchange_wants_turn(&exchange));
    received("answer");
    ck_assert(exchange_wants_turn(&exchange));
    ck_assert_uint_eq(exchange_turn(&exchange), EXCHANGE_REQUEST);
    ck_assert_uint_eq(sent("\x02question"), EXCHANGE_NOTHING);
    ck_assert_uint_eq(received("answer"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
}
END_TEST

#define SECOND UINT64_C(1000000000)

START_TEST(server_that_speaks_unasked_owes_no_answer_from_then_on)
{
    given(_i);
    sent("\x02subscribe");
    exchange_after_silence(&exchange, false, 60 * SECOND); /* late, but asked for */
    received("subscribed");
    exchange_after_silence(&exchange, false, SECOND / 2); /* the rest of it */
    received("!");
    sent("\x02question");
    ck_assert(exchange_owed(&exchange));
    received("answer");
    exchange_after_silence(&exchange, false, SECOND);
    ck_assert_uint_eq(received("news"), EXCHANGE_NOTHING);
    ck_assert_uint_eq(sent("\x02ping"), EXCHANGE_REQUEST);
    ck_assert(exchange_waiting(&exchange));
    ck_assert(!exchange_owed(&exchange));
    ck_assert_uint_eq(received("pong"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
}
END_TEST

START_TEST(client_that_writes_again_while_an_answer_is_outstanding_leaves_a_doubt_for_a_while)
{
    given(_i);
    sent("\x02one");
    received("answer");
    (void)exchange_turn(&exchange);
    exchange_after_silence(&exchange, true, 1); /* before its first byte: nothing is outstanding yet */
    sent("\x02two");
    ck_assert_uint_eq(exchange.doubt, 0);
    exchange_after_silence(&exchange, true, 1);
    sent("\x02three");
    received("answer to two");
    ck_assert_uint_gt(exchange.doubt, 0);
    unsigned turns = 0;
    for (; exchange.doubt > 0 && turns < 100; turns++) {
        sent("\x02more");
        received("answer");
    }
    ck_assert_uint_ge(turns, 8);
    ck_assert_uint_lt(turns, 32);
}
END_TEST

START_TEST(what_only_looks_like_http_is_opaque)
{
    given(_i);
    ck_assert_uint_eq(sent("PING me\r\n\r\n"), EXCHANGE_REQUEST);
    ck_assert_uint_eq(received("PONG\r\n"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
    ck_assert_uint_eq(sent("PING me\r\n\r\n"), EXCHANGE_REQUEST);
    ck_assert_uint_eq(received("PONG\r\n"), EXCHANGE_FIRST_BYTE | EXCHANGE_ANSWERED);
}
END_TEST

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

START_TEST(http2_announces_itself)
{
    given(_i);
    ck_assert_uint_eq(sent(PREFACE), EXCHANGE_REQUEST);
    ck_assert(exchange_framed(&exchange, true));
    ck_assert(exchange_framed(&exchange, false));
    ck_assert(exchange_waiting(&exchange)); /* for the greeting */
    ck_assert(exchange_wants_request(&exchange));
}
END_TEST

START_TEST(what_only_begins_as_http2_does_is_http1)
{
    static const char *const requests[] = {"P / HTTP/1.1\r\n", "PRI * HTTP/1.1\r\n", "PROPFIND / HTTP/1.1\r\n"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        given(_i);
        ck_assert_uint_eq(sent(requests[i]), EXCHANGE_REQUEST);
        ck_assert_uint_eq(sent("Host: a.test\r\n\r\n"), EXCHANGE_NAME);
        ck_assert(!exchange_framed(&exchange, true));
        ck_assert_uint_eq(received(ANSWER), EXCHANGE_FIRST_BYTE | EXCHANGE_STATUS | EXCHANGE_ANSWERED);
    }
}
END_TEST

START_TEST(server_of_http2_may_greet_first)
{
    given(_i);
    const uint8_t settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    ck_assert_uint_eq(feed(false, settings, sizeof settings, sizeof settings), EXCHANGE_NOTHING);
    ck_assert(exchange_framed(&exchange, false));
    ck_assert(!exchange_framed(&exchange, true));
    ck_assert_uint_eq(sent(PREFACE), EXCHANGE_NOTHING); /* nothing is owed for that any more */
    ck_assert(exchange_framed(&exchange, true));
    given(_i);
    feed(false, settings, sizeof settings, sizeof settings);
    sent("PRI? no");
    ck_assert(exchange.over);
}
END_TEST

START_TEST(bytes_of_http2_that_go_by_unseen_end_it)
{
    given(_i);
    sent(PREFACE);
    exchange_sent_unseen(&exchange);
    ck_assert(exchange.over);
    given(_i);
    sent(PREFACE);
    ck_assert_uint_eq(exchange_received_unseen(&exchange), EXCHANGE_NOTHING);
    ck_assert(exchange.over);
}
END_TEST

START_TEST(connection_upgraded_to_http2_is_known_as_such)
{
    const uint8_t settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    for (int server_first = 0; server_first < 2; server_first++) {
        given(_i);
        sent("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
        received("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n\r\n");
        if (server_first) {
            feed(false, settings, sizeof settings, sizeof settings);
        }
        sent(PREFACE);
        ck_assert(exchange.upgraded);
        ck_assert(exchange_framed(&exchange, true));
        ck_assert(exchange_framed(&exchange, false));
    }
}
END_TEST

START_TEST(end_of_an_unused_connection_is_idle)
{
    given(_i);
    ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_IDLE);
}
END_TEST

START_TEST(end_after_an_opaque_request_is_a_cut)
{
    given(_i);
    sent("*1\r\n");
    ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_CUT);
}
END_TEST

/* ---- TLS ---------------------------------------------------------------------------------------------------------- */

START_TEST(client_hello_names_its_server)
{
    given(_i);
    uint8_t bytes[300];
    size_t length = hello(bytes, "api.acme.test");
    ck_assert_uint_eq(feed(true, bytes, length, step), EXCHANGE_REQUEST | EXCHANGE_NAME);
    struct exchange_name name;
    exchange_name(&exchange, &name);
    ck_assert_str_eq(name.host, "api.acme.test");
    ck_assert_int_eq(name.where, EXCHANGE_SAYS_TLS);
    ck_assert(exchange_waiting(&exchange));
}
END_TEST

START_TEST(alert_in_the_handshake_breaks_it_off)
{
    given(_i);
    uint8_t bytes[300];
    size_t length = hello(bytes, "api.acme.test");
    feed(true, bytes, length, step);
    const uint8_t alert[] = {0x15, 3, 3, 0, 2, 2, 40};
    ck_assert_uint_ne(feed(false, alert, sizeof alert, step) & EXCHANGE_BROKEN_OFF, 0);
}
END_TEST

START_TEST(handshake_of_the_server_is_no_answer)
{
    given(_i);
    uint8_t bytes[300];
    size_t length = hello(bytes, "api.acme.test");
    feed(true, bytes, length, step);
    uint8_t record[5 + 42] = {0x16, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3};
    record[5 + 4 + 35] = 0xc0; /* of a cipher suite */
    ck_assert_uint_eq(feed(false, record, sizeof record, step) & EXCHANGE_ANSWERED, 0);
    ck_assert_int_eq(exchange_ended(&exchange), EXCHANGE_END_CUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange");
    TCase *tcase = tcase_create("exchange");
    const TTest *tests[] = {
        request_begins_and_names_its_host,
        absolute_uri_is_known_as_such,
        answer_tells_status_then_its_end_and_the_next_request_begins,
        interim_answer_is_no_answer,
        body_of_a_head_answer_is_not_waited_for,
        body_until_close_is_complete_at_the_end_and_no_other_is,
        connection_that_is_not_kept_has_nothing_more_to_tell,
        second_request_before_the_answer_is_next_when_that_has_come,
        requests_behind_an_answer_that_closes_are_not_waited_for,
        tunnel_is_no_answer_but_a_connection_to_whom_it_leads,
        tunnel_whose_client_did_not_wait_for_it_is_not_followed,
        upgraded_connection_goes_on_in_turns_and_owes_no_answer,
        answer_to_a_request_that_nobody_saw_still_tells_its_status,
        body_that_went_by_unseen_leaves_the_answer_readable,
        server_that_speaks_first_answers_with_its_first_byte,
        opaque_request_is_answered_by_any_byte,
        what_is_written_after_reading_is_a_turn_and_what_is_written_before_belongs_to_it,
        turn_begins_unread_once_the_protocol_is_known,
        server_that_speaks_unasked_owes_no_answer_from_then_on,
        client_that_writes_again_while_an_answer_is_outstanding_leaves_a_doubt_for_a_while,
        http2_announces_itself,
        what_only_begins_as_http2_does_is_http1,
        server_of_http2_may_greet_first,
        bytes_of_http2_that_go_by_unseen_end_it,
        connection_upgraded_to_http2_is_known_as_such,
        what_only_looks_like_http_is_opaque,
        end_of_an_unused_connection_is_idle,
        end_after_an_opaque_request_is_a_cut,
        client_hello_names_its_server,
        alert_in_the_handshake_breaks_it_off,
        handshake_of_the_server_is_no_answer,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_loop_test(tcase, tests[i], 0, 2 * STEPS);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
