/*
 * What answers mean to the calls on a connection beyond their first line: when to come again, event streams that fail after
 * they said 200, accounts out of quota, gRPC. Against real sockets on loopback.
 */
#include "suite.h"
#include "breaker/inflight.h"
#include "flow_rig.h"
#include "state/event.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define REQUEST      "GET / HTTP/1.1\r\nHost: whatever.test\r\n\r\n"
#define GOOD         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define CHUNKED      "Transfer-Encoding: chunked\r\n\r\n"
#define STREAM       "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
#define EVENT        "d\r\ndata: {\"a\":1}\r\n2\r\n\n\n\r\n"
#define LAST_CHUNK   "0\r\n\r\n"

static struct server server;
static struct provider *acme;
static int fd, peer;

static void set_up_with(const char *rules)
{
    rig_start(rules);
    server = rig_server();
    acme = rig_provider(&server, NULL);
    fd = rig_dial(&server, &peer);
}

static void set_up(void)
{
    set_up_with("acme 127.0.0.0/8");
}

static void ask(const char *answer)
{
    ck_assert_int_gt(rig_say(fd, REQUEST), 0);
    rig_answer(peer, answer);
    ck_assert_int_gt(rig_receive(fd, 0), 0);
}

static void more(const char *bytes)
{
    ck_assert_int_eq(real_send(peer, bytes, strlen(bytes), MSG_NOSIGNAL), (ssize_t)strlen(bytes));
    ck_assert_int_gt(rig_receive(fd, 0), 0);
}

static uint64_t failures(enum prebreak_kind kind)
{
    return rig_view(acme).failures[kind];
}

/* ---- when to come again ------------------------------------------------------------------------------------------- */

START_TEST(a_429_that_says_when_pauses_where_it_is_obeyed)
{
    static const char *const headers[] = {
        "Retry-After: 3",
        "retry-after-ms: 3000",
        "x-ratelimit-reset-tokens: 3s",
        "x-ratelimit-remaining-tokens: 0\r\nx-ratelimit-reset-tokens: 3s\r\nx-ratelimit-reset-requests: 20ms",
        "RateLimit-Reset: 3",
        "anthropic-ratelimit-tokens-reset: 2100-01-01T00:00:03Z\r\nDate: Fri, 01 Jan 2100 00:00:00 GMT",
    };
    set_up_with("acme 127.0.0.0/8 429=pause");
    for (size_t i = 0; i < COUNT(headers); i++) {
        char answer[300];
        snprintf(answer, sizeof answer, "HTTP/1.1 429 No\r\nContent-Length: 2\r\n%s\r\n\r\nno", headers[i]);
        ask(answer);
        ck_assert_int_eq(rig_view(acme).phase, PREBREAK_PAUSED);
        ck_assert_uint_eq(rig_view(acme).pauses, i + 1);
        ck_assert_uint_le(rig_view(acme).retry_in, 3 * SECOND_NS);
        ck_assert_uint_gt(rig_view(acme).retry_in, 2 * SECOND_NS);
        rig_counts(acme, 0, 0, i + 1);
        acme->breaker.words->pause_until = 0;
    }
}
END_TEST

START_TEST(a_503_that_says_when_is_obeyed_only_when_nothing_gets_through)
{
    set_up_with("acme 127.0.0.0/8 429=pause");
    ask("HTTP/1.1 503 No\r\nContent-Length: 0\r\nRetry-After: 3\r\n\r\n");
    rig_counts(acme, 0, 1, 0);
    ck_assert_int_eq(rig_view(acme).phase, PREBREAK_CLOSED);
}
END_TEST

START_TEST(a_429_among_good_answers_is_failed_and_pauses_nobody_by_default)
{
    set_up();
    ask(GOOD);
    ask("HTTP/1.1 429 No\r\nContent-Length: 2\r\nRetry-After: 30\r\n\r\nno");
    rig_counts(acme, 1, 1, 0);
    ck_assert_uint_eq(rig_view(acme).pauses, 0);
    ck_assert_int_eq(rig_view(acme).phase, PREBREAK_CLOSED);
}
END_TEST

START_TEST(only_headers_that_the_rule_believes_pause)
{
    set_up_with("acme 127.0.0.0/8 429=pause pause_by=retry-after");
    ask("HTTP/1.1 429 No\r\nContent-Length: 0\r\nx-ratelimit-reset: 3\r\n\r\n");
    rig_counts(acme, 0, 1, 0);
    ck_assert_int_eq(rig_view(acme).phase, PREBREAK_CLOSED);
}
END_TEST

START_TEST(a_529_failed_and_what_the_caller_did_wrong_did_not)
{
    set_up();
    ask("HTTP/1.1 529 Overloaded\r\nContent-Length: 0\r\n\r\n");
    rig_counts(acme, 0, 1, 0);
    ask("HTTP/1.1 400 Filtered\r\nContent-Length: 0\r\n\r\n");
    ask("HTTP/1.1 401 Who\r\nContent-Length: 0\r\n\r\n");
    ask("HTTP/1.1 402 Pay\r\nContent-Length: 0\r\n\r\n");
    ask("HTTP/1.1 404 What\r\nContent-Length: 0\r\n\r\n");
    rig_counts(acme, 4, 1, 0);
}
END_TEST

/* ---- event streams ------------------------------------------------------------------------------------------------ */

START_TEST(a_stream_is_a_call_until_it_ends)
{
    set_up();
    ask(STREAM CHUNKED EVENT);
    rig_counts(acme, 0, 0, 0);
    ck_assert_uint_eq(rig_view(acme).inflight, 1);
    more(EVENT EVENT);
    rig_counts(acme, 0, 0, 0);
    more(LAST_CHUNK);
    rig_counts(acme, 1, 0, 0);
    ask(GOOD);
    rig_counts(acme, 2, 0, 0);
}
END_TEST

START_TEST(a_stream_that_says_that_it_is_done_is_ok_at_once)
{
    set_up();
    ask(STREAM CHUNKED EVENT "e\r\ndata: [DONE]\n\n\r\n");
    rig_counts(acme, 1, 0, 0);
    rig_reset(peer);
    rig_receive(fd, 0);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(a_stream_that_says_that_it_failed_failed_and_its_connection_goes_on)
{
    set_up();
    ask(STREAM CHUNKED EVENT "e\r\nevent: error\n\n\r\n");
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STREAM), 1);
    more(EVENT LAST_CHUNK);
    ask(GOOD);
    ask(STREAM CHUNKED "1f\r\ndata: {\"error\":{\"message\":\"x\"}}\r\n2\r\n\n\n\r\n" LAST_CHUNK);
    rig_counts(acme, 1, 2, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STREAM), 2);
}
END_TEST

START_TEST(a_stream_that_is_cut_off_failed)
{
    static const char *const heads[] = {
        STREAM CHUNKED EVENT,
        STREAM "Content-Length: 999\r\n\r\ndata: x\n\n",
        STREAM "Content-Encoding: gzip\r\n" CHUNKED EVENT,
    };
    set_up();
    real_close(peer);
    rig_close(fd);
    for (size_t i = 0; i < 2 * COUNT(heads); i++) {
        fd = rig_dial(&server, &peer);
        ask(heads[i / 2]);
        if (i % 2 == 0) {
            rig_reset(peer);
        } else {
            real_close(peer);
        }
        rig_receive(fd, 0);
        rig_close(fd);
        ck_assert_uint_eq(failures(PREBREAK_KIND_STREAM), i + 1);
    }
    ck_assert_uint_eq(rig_view(acme).outcome[PREBREAK_FAILED], 2 * COUNT(heads));
}
END_TEST

START_TEST(a_stream_until_the_connection_ends_ends_well_unless_its_last_words_say_otherwise)
{
    set_up();
    ask(STREAM "\r\ndata: x\n\n");
    real_close(peer);
    ck_assert_int_eq(rig_receive(fd, 0), 0);
    rig_counts(acme, 1, 0, 0);
    rig_close(fd);
    fd = rig_dial(&server, &peer);
    ask(STREAM "\r\nevent: error\ndata: x");
    real_close(peer);
    ck_assert_int_eq(rig_receive(fd, 0), 0);
    rig_counts(acme, 1, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STREAM), 1);
    rig_close(fd);
}
END_TEST

START_TEST(who_leaves_a_stream_had_enough_or_waited_too_long_or_nobody_knows)
{
    static const struct {
        uint64_t silence;
        uint64_t ok, failed, neutral;
    } rows[] = {{0, 1, 0, 0}, {5 * SECOND_NS, 0, 0, 1}, {61 * SECOND_NS, 0, 1, 0}};
    set_up();
    real_close(peer);
    rig_close(fd);
    struct breaker_view before = rig_view(acme);
    for (size_t i = 0; i < COUNT(rows); i++) {
        fd = rig_dial(&server, &peer);
        ask(STREAM CHUNKED EVENT);
        rig_age(fd, rows[i].silence);
        more("8\r\n: ping\n\n\r\n");
        rig_close(fd);
        struct breaker_view after = rig_view(acme);
        ck_assert_uint_eq(after.outcome[PREBREAK_OK] - before.outcome[PREBREAK_OK], rows[i].ok);
        ck_assert_uint_eq(after.outcome[PREBREAK_FAILED] - before.outcome[PREBREAK_FAILED], rows[i].failed);
        ck_assert_uint_eq(after.outcome[PREBREAK_NEUTRAL] - before.outcome[PREBREAK_NEUTRAL], rows[i].neutral);
        before = after;
        real_close(peer);
    }
    ck_assert_uint_eq(failures(PREBREAK_KIND_STREAM), 1);
}
END_TEST

START_TEST(a_reset_that_the_client_learnt_of_without_a_read_is_one)
{
    set_up();
    ask(STREAM CHUNKED EVENT);
    rig_reset(peer);
    rig_close(fd);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STREAM), 1);
    fd = rig_dial(&server, &peer);
    ask("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nx");
    rig_reset(peer);
    rig_close(fd);
    ck_assert_uint_eq(failures(PREBREAK_KIND_RESET), 1);
    rig_counts(acme, 0, 2, 0);
}
END_TEST

/* A look at all calls, as somebody else takes it at that time; the first one notes that it looked. */
static void look_at(uint64_t now)
{
    struct breaker_caller who;
    process_caller(&who);
    who.now = now;
    state_look(acme->state, &who, NULL, NULL);
}

/* As if the last sign of life of the stream had been so long ago, in the table of calls too. */
static void age_stream(uint64_t ns)
{
    rig_age(fd, ns);
    struct flow *flow = flow_lock(fd_mark(fd));
    struct breaker_call *ticket = &flow->call.ticket;
    ticket->word = inflight_stream(acme->breaker.inflight, ticket->place, ticket->word, process_now() - ns);
    ck_assert_uint_ne(ticket->word, 0);
    flow_unlock(flow);
}

START_TEST(an_event_is_a_sign_of_life)
{
    set_up();
    ask(STREAM CHUNKED EVENT);
    uint64_t now = process_now();
    age_stream(5 * SECOND_NS);
    more(EVENT);
    look_at(now + 56 * SECOND_NS);
    look_at(now + 57 * SECOND_NS);
    rig_counts(acme, 0, 0, 0);
    more(LAST_CHUNK);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(a_stream_of_comments_alone_has_stalled_while_its_client_hangs)
{
    set_up();
    ask(STREAM CHUNKED EVENT);
    uint64_t now = process_now();
    age_stream(5 * SECOND_NS);
    more("8\r\n: ping\n\n\r\n");
    look_at(now + 53 * SECOND_NS);
    look_at(now + 54 * SECOND_NS);
    rig_counts(acme, 0, 0, 0);
    look_at(now + 56 * SECOND_NS);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STREAM), 1);
    /* And what comes later is not counted a second time */
    more(EVENT);
    more(": ");
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(a_stream_that_cannot_be_read_hangs_like_any_other_answer)
{
    set_up();
    ask(GOOD);
    ask(STREAM "Content-Encoding: gzip\r\n" CHUNKED EVENT);
    uint64_t now = process_now();
    look_at(now + 28 * SECOND_NS);
    look_at(now + 29 * SECOND_NS);
    rig_counts(acme, 1, 0, 0);
    look_at(now + 31 * SECOND_NS);
    rig_counts(acme, 1, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_HANG), 1);
}
END_TEST

/* ---- quota -------------------------------------------------------------------------------------------------------- */

#define LIMITED "HTTP/1.1 429 No\r\nContent-Length: 41\r\n\r\n"
#define QUOTA   "{\"error\":{\"code\":\"insufficient_quota\"}}  \n"
#define RATE    "{\"error\":{\"code\":\"rate_limit_exceeded\"}} \n"

static unsigned quota_events(void)
{
    struct event event;
    unsigned count = 0;
    for (uint64_t after = 0; event_next(acme->state, after, &event); after = event.sequence) {
        count += event.what == EVENT_QUOTA && strcmp(event.name, "acme") == 0;
    }
    return count;
}

START_TEST(a_429_is_what_its_body_says)
{
    set_up();
    ask(LIMITED);
    rig_counts(acme, 0, 0, 0);
    more(QUOTA);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_QUOTA), 1);
    ck_assert_uint_eq(quota_events(), 1);
    ask(LIMITED RATE);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STATUS), 1);
    ask(LIMITED QUOTA);
    ck_assert_uint_eq(failures(PREBREAK_KIND_QUOTA), 2);
    rig_counts(acme, 0, 3, 0);
    ck_assert_msg(quota_events() == 1, "told again in a minute");
}
END_TEST

START_TEST(a_429_whose_body_nobody_reads_is_a_429)
{
    set_up();
    ask(LIMITED);
    ck_assert_msg(rig_view(acme).inflight == 0, "nobody waits for it");
    rig_age(fd, 5 * SECOND_NS);
    rig_close(fd);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STATUS), 1);
    fd = rig_dial(&server, &peer);
    ask(LIMITED);
    rig_reset(peer);
    rig_receive(fd, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STATUS), 2);
    rig_close(fd);
    fd = rig_dial(&server, &peer);
    ask("HTTP/1.1 429 No\r\nContent-Encoding: gzip\r\nContent-Length: 41\r\n\r\n");
    ck_assert_uint_eq(failures(PREBREAK_KIND_STATUS), 3);
    rig_counts(acme, 0, 3, 0);
}
END_TEST

START_TEST(a_quota_is_neutral_where_429_is)
{
    set_up_with("acme 127.0.0.0/8 429=neutral");
    ask(LIMITED QUOTA);
    rig_counts(acme, 0, 0, 1);
    ck_assert_uint_eq(quota_events(), 1);
}
END_TEST

START_TEST(a_spent_quota_that_says_when_pauses_like_a_rate_limit)
{
    set_up_with("acme 127.0.0.0/8 429=pause");
    ask("HTTP/1.1 429 No\r\nContent-Length: 41\r\nRetry-After: 3\r\n\r\n" QUOTA);
    rig_counts(acme, 0, 0, 1);
    ck_assert_int_eq(rig_view(acme).phase, PREBREAK_PAUSED);
}
END_TEST

/* ---- gRPC --------------------------------------------------------------------------------------------------------- */

START_TEST(grpc_statuses_are_outcomes)
{
    set_up();
    real_close(peer);
    rig_close(fd);
    uint64_t ok = rig_view(acme).outcome[PREBREAK_OK], failed = 0;
    for (unsigned status = 0; status <= 17; status++) {
        struct call call;
        ck_assert(call_admit(&call, acme));
        call_grpc(&call, status);
        bool bad = status == 4 || status == 8 || status == 13 || status == 14 || status == 15;
        failed += bad;
        ok += !bad;
        ck_assert_msg(rig_view(acme).outcome[PREBREAK_FAILED] == failed, "%u", status);
        ck_assert_uint_eq(rig_view(acme).outcome[PREBREAK_OK], ok);
    }
    ck_assert_uint_eq(failures(PREBREAK_KIND_TIMEOUT), 1);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STATUS), 4);
}
END_TEST

START_TEST(an_exhausted_grpc_service_is_what_a_429_is)
{
    struct call call;
    set_up_with("acme 127.0.0.0/8 429=neutral");
    ck_assert(call_admit(&call, acme));
    call_grpc(&call, 8);
    rig_counts(acme, 0, 0, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("meaning");
    TCase *tcase = tcase_create("meaning");
    const TTest *tests[] = {
        a_429_that_says_when_pauses_where_it_is_obeyed,
        a_503_that_says_when_is_obeyed_only_when_nothing_gets_through,
        a_429_among_good_answers_is_failed_and_pauses_nobody_by_default,
        only_headers_that_the_rule_believes_pause,
        a_529_failed_and_what_the_caller_did_wrong_did_not,
        a_stream_is_a_call_until_it_ends,
        a_stream_that_says_that_it_is_done_is_ok_at_once,
        a_stream_that_says_that_it_failed_failed_and_its_connection_goes_on,
        a_stream_that_is_cut_off_failed,
        a_stream_until_the_connection_ends_ends_well_unless_its_last_words_say_otherwise,
        who_leaves_a_stream_had_enough_or_waited_too_long_or_nobody_knows,
        a_reset_that_the_client_learnt_of_without_a_read_is_one,
        an_event_is_a_sign_of_life,
        a_stream_of_comments_alone_has_stalled_while_its_client_hangs,
        a_stream_that_cannot_be_read_hangs_like_any_other_answer,
        a_429_is_what_its_body_says,
        a_429_whose_body_nobody_reads_is_a_429,
        a_quota_is_neutral_where_429_is,
        a_spent_quota_that_says_when_pauses_like_a_rate_limit,
        grpc_statuses_are_outcomes,
        an_exhausted_grpc_service_is_what_a_429_is,
    };
    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
