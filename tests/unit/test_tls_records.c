#include "suite.h"
#include "tls_rig.h"

/* ---- real sessions ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *server_name;
    bool tls13;
    enum tls_h2 h2;
    const char *sights;
} sessions[] = {
    {"curl13", "api.example.com", true, TLS_H2_MAYBE, " c: s: c:s c:R s:m s:t s:A s:m c:"},
    {"curl13-no-tickets", "api.example.com", true, TLS_H2_MAYBE, " c: s: c:s c:R s:m c:"},
    {"curl13-retry", "api.example.com", true, TLS_H2_MAYBE, " c: s: c: s: c:s c:R s:m s:t s:A s:m c:"},
    {"curl13-rejects", "api.example.com", true, TLS_H2_MAYBE, " c: s: c:x"},
    {"curl13-needs-cert", "api.example.com", true, TLS_H2_MAYBE, " c: s: c:s c:R s:m"},
    {"curl12", "api.example.com", false, TLS_H2_NO, " c: s: c: s:s c:sR s:A c:"},
    {"curl12-rejects", "api.example.com", false, TLS_H2_NO, " c: s: c:x"},
    {"curl12-needs-cert", "api.example.com", false, TLS_H2_NO, " c: s: c: s:alert"},
    {"curl-version-alert", "api.example.com", false, TLS_H2_MAYBE, " c: s:alert"},
    {"openssl13", "api.example.com", true, TLS_H2_NO, " c: s: c:s s:mt c:R s:Am c:"},
    {"openssl13-h2", "api.example.com", true, TLS_H2_YES, " c: s: c:s s:mt c:R s:Am c:"},
    {"openssl12", "api.example.com", false, TLS_H2_NO, " c: s: c: s:s c:sR s:A c:"},
    {"gnutls13", "api.example.com", true, TLS_H2_NO, " c: s: c: c:s s:m s:t c:R s:A s:m"},
    {"gnutls12", "api.example.com", false, TLS_H2_NO, " c: s: c: s:s c:sR s:A"},
    {"python13", "api.example.com", true, TLS_H2_NO, " c: s: c:s s:m c:R s:t s:A s:m"},
    {"python13-rejects", "api.example.com", true, TLS_H2_NO, " c: s: c:x"},
    {"wget13", "localhost", true, TLS_H2_NO, " c: s: c: c:s s:mt c:R s:Am"},
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

START_TEST(two_of_a_length_are_tickets_one_may_be_an_answer_and_what_differs_is)
{
    struct tls_records records;

    shake_hands(&records, true);
    ck_assert_uint_eq(feed_record(&records, true, 23, 100), TLS_REQUEST);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_MAYBE);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_TICKETS);
    ck_assert_uint_eq(feed_record(&records, false, 23, 251), TLS_ANSWER);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_ANSWER);
}
END_TEST

START_TEST(run_does_not_last_for_ever)
{
    struct tls_records records;
    unsigned sight = TLS_TICKETS;
    int many = 0;

    shake_hands(&records, true);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_MAYBE);
    for (; sight == TLS_TICKETS && many < 100; many++) {
        sight = feed_record(&records, false, 23, 250);
    }
    ck_assert_uint_eq(sight, TLS_ANSWER);
    ck_assert_int_eq(many, 8);
}
END_TEST

START_TEST(answers_of_one_length_are_not_taken_for_tickets_when_the_client_goes_on_between)
{
    struct tls_records records;

    shake_hands(&records, true);
    for (int i = 0; i < 8; i++) {
        ck_assert_uint_eq(feed_record(&records, true, 23, 100), TLS_REQUEST);
        ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_MAYBE);
    }
    ck_assert_uint_eq(feed_record(&records, true, 23, 100), TLS_REQUEST);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_ANSWER);
    /* as soon as it is known that the client was answered, there are no tickets any more */
    shake_hands(&records, true);
    feed_record(&records, true, 23, 100);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_MAYBE);
    tls_records_went_on(&records);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_ANSWER);
}
END_TEST

START_TEST(one_record_as_long_as_tickets_are_known_to_be_is_a_ticket)
{
    struct tls_records records;

    shake_hands(&records, true);
    records.known = 250;
    feed_record(&records, true, 23, 100);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_TICKETS);
    ck_assert_uint_eq(feed_record(&records, false, 23, 251), TLS_ANSWER);

    shake_hands(&records, true);
    records.known = 251;
    feed_record(&records, true, 23, 100);
    ck_assert_uint_eq(feed_record(&records, false, 23, 250), TLS_MAYBE);
    ck_assert(!records.ticketed);
}
END_TEST

START_TEST(client_that_changes_its_keys_asks_for_nothing)
{
    struct tls_records records;

    shake_hands(&records, true);
    ck_assert_uint_eq(feed_record(&records, true, 23, 22), TLS_NOTHING);
    ck_assert_uint_eq(feed_record(&records, true, 23, 23), TLS_REQUEST);
    ck_assert_uint_eq(feed_record(&records, true, 23, 22), TLS_NOTHING);
    shake_hands(&records, false); /* where they are no data */
    ck_assert_uint_eq(feed_record(&records, true, 23, 22), TLS_SECURED | TLS_REQUEST);
}
END_TEST

START_TEST(middle_of_a_record_is_passed_over_and_its_end_is_not)
{
    for (int from_client = 0; from_client < 2; from_client++) {
        struct tls_records records;

        shake_hands(&records, true);
        tls_records_feed(&records, from_client, (const uint8_t *)"\x17\3\3\1", 4);
        ck_assert(!tls_records_pass(&records, from_client, 1));
        tls_records_feed(&records, from_client, (const uint8_t *)"\0", 1); /* 256 bytes */
        ck_assert(!tls_records_pass(&records, !from_client, 1));
        ck_assert(!tls_records_pass(&records, from_client, 256));
        ck_assert(tls_records_pass(&records, from_client, 255));
        ck_assert(!tls_records_pass(&records, from_client, 1));
        uint8_t last = 0;
        ck_assert_uint_eq(tls_records_feed(&records, from_client, &last, 1), TLS_NOTHING);
        ck_assert(!tls_records_pass(&records, from_client, 1));
    }
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
        two_of_a_length_are_tickets_one_may_be_an_answer_and_what_differs_is,
        run_does_not_last_for_ever,
        answers_of_one_length_are_not_taken_for_tickets_when_the_client_goes_on_between,
        one_record_as_long_as_tickets_are_known_to_be_is_a_ticket,
        client_that_changes_its_keys_asks_for_nothing,
        middle_of_a_record_is_passed_over_and_its_end_is_not,
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
    Suite *suite = suite_create("tls records");
    TCase *tcase = tcase_create("tls records");

    tcase_add_loop_test(tcase, real_sessions_show_name_version_requests_and_answers, 0, (int)COUNT(sessions));
    tcase_add_loop_test(tcase, real_sessions_look_the_same_however_their_bytes_come, 0, (int)COUNT(sessions));
    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
