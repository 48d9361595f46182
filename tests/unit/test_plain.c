/*
 * Connections that a TLS library tells the plaintext of, against real sockets on loopback: what the library would write
 * there stands for ciphertext here, and is read by nobody.
 */
#include "suite.h"
#include "track/tls/plain.h"
#include "flow_rig.h"
#include "tls_rig.h"
#include "track/tls/ties.h"

#define REQUEST "GET / HTTP/1.1\r\nHost: acme.test\r\n\r\n"
#define GOOD    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define BAD     "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"
#define ENDLESS "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsome"
#define EVENTS  "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\ndata: some\n\n"

/* Of the ClientHello that is made by hand. */
static const uint8_t mine[] = "0123456789abcdef0123456789abcdef", other[] = "0123456789abcdef0123456789abcdeX";

static struct server server;
static struct provider *acme;
static int fd, peer;
static uint64_t mark;

static void set_up(void)
{
    rig_start("inner inner.test; acme 127.0.0.0/8");
    server = rig_server();
    acme = rig_provider(&server, NULL);
}

static void greet(const char *name)
{
    static struct bytes message, records, extensions;
    extensions.length = 0;
    if (name != NULL) {
        put_name(&extensions, name);
    }
    make_message(&message, 1, name != NULL ? &extensions : NULL);
    make_records(&records, &message, 16384);
    fd = rig_dial(&server, &peer);
    mark = fd_mark(fd);
    ck_assert_int_eq(rig_send(fd, records.at, records.length), (ssize_t)records.length);
}

/* A connection whose handshake is over, and known to be. */
static void shake(void)
{
    greet(NULL);
    rig_answer(peer, "\x16\3\3");
    rig_receive(fd, 0);
    ck_assert(plain_begin(mark, mine));
}

static void ask(const char *text)
{
    plain_ask(mark, text, strlen(text));
    rig_say(fd, "~~");
    plain_sent(mark, text, strlen(text));
}

static void hear(const char *text)
{
    rig_answer(peer, "~~");
    rig_receive(fd, 0);
    plain_received(mark, text, strlen(text));
}

static uint64_t refused_by_trip;

static void trip(void)
{
    while (rig_view(acme).phase != PREBREAK_OPEN) {
        struct call call;
        if (call_admit(&call, acme)) {
            call_failed(&call, PREBREAK_KIND_CONNECT);
        }
    }
    refused_by_trip = rig_view(acme).total_refused;
}

/* Calls refused, not counting those that it took to trip. */
static uint64_t refused(void)
{
    return rig_view(acme).total_refused - refused_by_trip;
}

/* ---- whose connection --------------------------------------------------------------------------------------------- */

START_TEST(connection_is_found_by_the_random_that_it_greeted_with)
{
    greet(NULL);
    unsigned at = 0;
    ck_assert_uint_eq(tls_hello_next(mine, &at), mark);
    at = 0;
    ck_assert_uint_eq(tls_hello_next(other, &at), 0);
    ck_assert(!plain_begin(mark, other));
    ck_assert(plain_begin(mark, mine));
}
END_TEST

START_TEST(connection_is_taken_over_once)
{
    shake();
    ck_assert(!plain_begin(mark, mine));
}
END_TEST

START_TEST(connection_that_is_closed_is_found_no_more)
{
    greet(NULL);
    rig_close(fd);
    unsigned at = 0;
    ck_assert_uint_eq(tls_hello_next(mine, &at), 0);
    ck_assert(!plain_begin(mark, mine));
}
END_TEST

START_TEST(many_greetings_do_not_hide_the_last)
{
    for (int i = 0; i < 20; i++) {
        greet(NULL);
        unsigned at = 0;
        uint64_t found = tls_hello_next(mine, &at);
        while (found != 0 && found != mark) {
            found = tls_hello_next(mine, &at);
        }
        ck_assert_uint_eq(found, mark);
        rig_close(fd);
        real_close(peer);
    }
}
END_TEST

/* ---- calls -------------------------------------------------------------------------------------------------------- */

START_TEST(every_request_in_the_clear_is_a_call)
{
    shake();
    ask(REQUEST);
    hear(BAD);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_STATUS], 1);
    ask(REQUEST);
    hear(GOOD);
    rig_counts(acme, 1, 1, 0);
    rig_close(fd);
    rig_counts(acme, 1, 1, 0);
}
END_TEST

START_TEST(what_moves_on_the_wire_is_no_answer)
{
    shake();
    ask(REQUEST);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(real_send(peer, GOOD, strlen(GOOD), 0), (ssize_t)strlen(GOOD));
        rig_receive(fd, 0);
    }
    rig_counts(acme, 0, 0, 0);
}
END_TEST

START_TEST(bytes_that_the_library_took_are_read_once)
{
    shake();
    plain_ask(mark, REQUEST, strlen(REQUEST));
    plain_took(mark, REQUEST, strlen(REQUEST));
    plain_ask(mark, REQUEST, strlen(REQUEST));
    plain_sent(mark, NULL, strlen(REQUEST));
    rig_say(fd, "~~");
    hear(GOOD);
    ask(REQUEST);
    hear(GOOD);
    rig_counts(acme, 2, 0, 0);
}
END_TEST

START_TEST(bytes_that_were_looked_at_and_not_sent_are_read_once)
{
    shake();
    for (int tries = 0; tries < 3; tries++) {
        plain_ask(mark, REQUEST, strlen(REQUEST));
    }
    for (size_t at = 0; at < strlen(REQUEST); at++) {
        plain_sent(mark, REQUEST + at, 1);
    }
    rig_say(fd, "~~");
    hear(BAD);
    ask(REQUEST);
    hear(GOOD);
    rig_counts(acme, 1, 1, 0);
}
END_TEST

START_TEST(request_that_the_server_turned_down_as_early_is_the_same_call_again)
{
    shake();
    plain_early(mark);
    ask(REQUEST);
    plain_shaken(mark, false);
    ask(REQUEST);
    hear(GOOD);
    rig_counts(acme, 1, 0, 0);
    ask(REQUEST);
    hear(GOOD);
    rig_counts(acme, 2, 0, 0);
}
END_TEST

START_TEST(connection_goes_by_the_name_that_it_greeted_with)
{
    struct provider *inner = rig_provider(&server, "inner.test");
    greet("inner.test");
    rig_answer(peer, "\x16\3\3");
    rig_receive(fd, 0);
    ck_assert(plain_begin(mark, mine));
    ask(REQUEST);
    hear(GOOD);
    ask(REQUEST);
    hear(BAD);
    rig_counts(inner, 1, 1, 0);
    rig_counts(acme, 0, 0, 1);
}
END_TEST

/* ---- refusing ----------------------------------------------------------------------------------------------------- */

START_TEST(refused_request_fails_at_the_next_write_below)
{
    shake();
    ask(REQUEST);
    hear(GOOD);
    trip();
    plain_ask(mark, REQUEST, strlen(REQUEST));
    errno = 0;
    ck_assert_int_eq(rig_say(fd, "~~"), -1);
    ck_assert_int_eq(errno, ECONNRESET);
    char byte;
    ck_assert_int_eq(real_recv(peer, &byte, 1, MSG_DONTWAIT), -1); /* not a byte came through */
    ck_assert_int_eq(real_recv(fd, &byte, 1, 0), 0);               /* and who reads is told at once */
    ck_assert_int_eq(rig_say(fd, "~~"), -1);
    ck_assert_uint_eq(refused(), 1);
    rig_close(fd);
}
END_TEST

START_TEST(library_that_keeps_its_bytes_finds_the_connection_refused_when_they_are_sent)
{
    shake();
    ask(REQUEST);
    hear(GOOD);
    trip();
    plain_ask(mark, REQUEST, strlen(REQUEST));
    plain_sent(mark, REQUEST, strlen(REQUEST)); /* into memory */
    ck_assert_uint_eq(refused(), 1);
    ck_assert_int_eq(rig_say(fd, "~~"), -1);
    ck_assert_int_eq(errno, ECONNRESET);
    ck_assert_uint_eq(refused(), 1);
}
END_TEST

START_TEST(refusal_outlives_an_end_that_is_read_meanwhile)
{
    shake();
    ask(REQUEST);
    hear(GOOD);
    trip();
    plain_ask(mark, REQUEST, strlen(REQUEST));
    real_shutdown(peer, SHUT_WR);
    ck_assert_int_eq(rig_receive(fd, 0), 0);
    plain_closed(mark);
    ck_assert_int_eq(rig_say(fd, "~~"), -1);
}
END_TEST

START_TEST(request_behind_one_that_is_not_answered_is_let_through)
{
    shake();
    ask(REQUEST);
    trip();
    ask(REQUEST);
    ck_assert_uint_eq(refused(), 0);
}
END_TEST

/* ---- ends --------------------------------------------------------------------------------------------------------- */

START_TEST(handshake_without_a_request_is_a_connection_never_used)
{
    shake();
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(certificate_that_the_client_leaves_for_is_a_failure_of_tls)
{
    shake();
    plain_untrusted(mark);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_TLS], 1);
}
END_TEST

START_TEST(certificate_that_the_client_puts_up_with_is_none)
{
    shake();
    plain_untrusted(mark);
    ask(REQUEST);
    hear(GOOD);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(looking_for_what_the_server_may_say_by_itself_is_no_waiting)
{
    shake();
    ck_assert_int_eq(rig_receive(fd, MSG_DONTWAIT), -1);
    plain_waits(mark);
    rig_age(fd, 10 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(answer_that_does_not_come_timed_out)
{
    shake();
    ask(REQUEST);
    ck_assert_int_eq(rig_receive(fd, MSG_DONTWAIT), -1);
    plain_waits(mark);
    rig_age(fd, 2 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_TIMEOUT], 1);
}
END_TEST

START_TEST(reset_waits_for_what_the_library_still_has)
{
    shake();
    ask(REQUEST);
    rig_answer(peer, "~~");
    rig_receive(fd, 0);
    rig_reset(peer);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    plain_received(mark, GOOD, strlen(GOOD));
    plain_broken(mark, false);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(reset_before_the_answer_failed)
{
    shake();
    ask(REQUEST);
    rig_reset(peer);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    rig_counts(acme, 0, 0, 0);
    plain_broken(mark, false);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_RESET], 1);
}
END_TEST

START_TEST(reset_that_nobody_asks_the_library_about_failed_when_the_connection_is_closed)
{
    shake();
    ask(REQUEST);
    rig_reset(peer);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_RESET], 1);
}
END_TEST

START_TEST(answer_until_the_end_is_whole_with_a_goodbye)
{
    shake();
    ask(REQUEST);
    hear(ENDLESS);
    rig_counts(acme, 0, 0, 0);
    plain_closed(mark);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(answer_until_the_end_is_cut_without_a_goodbye)
{
    shake();
    ask(REQUEST);
    hear(ENDLESS);
    real_close(peer);
    ck_assert_int_eq(rig_receive(fd, 0), 0);
    plain_broken(mark, false);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_RESET], 1);
}
END_TEST

START_TEST(library_that_says_it_waits_is_asked_why_once_the_wire_has_ended)
{
    shake();
    ask(REQUEST);
    ck_assert_int_eq(rig_receive(fd, MSG_DONTWAIT), -1);
    ck_assert(!plain_waits(mark));
    rig_reset(peer);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    ck_assert(plain_waits(mark));
}
END_TEST

START_TEST(goodbye_that_finds_nobody_is_not_what_broke_the_connection)
{
    shake();
    ask(REQUEST);
    rig_reset(peer);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    plain_finishing(mark);
    ck_assert_int_eq(rig_say(fd, "~~"), -1);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_RESET], 1);
}
END_TEST

/* A library may be told to take the end of the connection for a goodbye (Python's and PHP's are). */
START_TEST(event_stream_until_the_end_is_cut_where_the_end_is_taken_for_a_goodbye)
{
    for (int torn = 0; torn < 2; torn++) {
        shake();
        ask(REQUEST);
        hear(EVENTS);
        if (torn) {
            real_close(peer);
            ck_assert_int_eq(rig_receive(fd, 0), 0);
        }
        plain_closed(mark);
        rig_close(fd);
        rig_counts(acme, 1, (uint64_t)torn, 0);
        ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_STREAM], torn);
    }
}
END_TEST

START_TEST(nothing_read_for_no_reason_is_no_end)
{
    shake();
    ask(REQUEST);
    plain_broken(mark, false);
    hear(GOOD);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(alert_before_any_answer_is_a_failure_of_tls)
{
    shake();
    ask(REQUEST);
    plain_broken(mark, true);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_TLS], 1);
}
END_TEST

START_TEST(goodbye_on_both_sides_of_a_connection_never_used_is_ok)
{
    shake();
    plain_finishing(mark);
    real_close(peer);
    ck_assert_int_eq(rig_receive(fd, 0), 0);
    plain_closed(mark);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(kept_connection_that_the_server_ended_while_idle_is_neutral)
{
    shake();
    ask(REQUEST);
    hear(GOOD);
    real_close(peer);
    plain_ask(mark, REQUEST, strlen(REQUEST));
    plain_sent(mark, REQUEST, strlen(REQUEST));
    ck_assert_int_eq(rig_receive(fd, 0), 0);
    plain_broken(mark, false);
    rig_counts(acme, 1, 0, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plain");
    TCase *tcase = tcase_create("plain");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    const TTest *tests[] = {
        connection_is_found_by_the_random_that_it_greeted_with,
        connection_is_taken_over_once,
        connection_that_is_closed_is_found_no_more,
        many_greetings_do_not_hide_the_last,
        every_request_in_the_clear_is_a_call,
        what_moves_on_the_wire_is_no_answer,
        bytes_that_the_library_took_are_read_once,
        bytes_that_were_looked_at_and_not_sent_are_read_once,
        request_that_the_server_turned_down_as_early_is_the_same_call_again,
        connection_goes_by_the_name_that_it_greeted_with,
        refused_request_fails_at_the_next_write_below,
        library_that_keeps_its_bytes_finds_the_connection_refused_when_they_are_sent,
        refusal_outlives_an_end_that_is_read_meanwhile,
        request_behind_one_that_is_not_answered_is_let_through,
        handshake_without_a_request_is_a_connection_never_used,
        certificate_that_the_client_leaves_for_is_a_failure_of_tls,
        certificate_that_the_client_puts_up_with_is_none,
        looking_for_what_the_server_may_say_by_itself_is_no_waiting,
        answer_that_does_not_come_timed_out,
        reset_waits_for_what_the_library_still_has,
        reset_before_the_answer_failed,
        reset_that_nobody_asks_the_library_about_failed_when_the_connection_is_closed,
        answer_until_the_end_is_whole_with_a_goodbye,
        answer_until_the_end_is_cut_without_a_goodbye,
        library_that_says_it_waits_is_asked_why_once_the_wire_has_ended,
        goodbye_that_finds_nobody_is_not_what_broke_the_connection,
        event_stream_until_the_end_is_cut_where_the_end_is_taken_for_a_goodbye,
        nothing_read_for_no_reason_is_no_end,
        alert_before_any_answer_is_a_failure_of_tls,
        goodbye_on_both_sides_of_a_connection_never_used_is_ok,
        kept_connection_that_the_server_ended_while_idle_is_neutral,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
