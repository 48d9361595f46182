/*
 * Connections whose protocol cannot be read, turn by turn: against real sockets on loopback.
 */
#include "suite.h"
#include "flow_rig.h"

static struct server server;
static struct provider *acme;
static int fd, peer;

static void set_up(void)
{
    rig_start("acme 127.0.0.0/8");
    server = rig_server();
    acme = rig_provider(&server, NULL);
}

static void dial(void)
{
    fd = rig_dial(&server, &peer);
}

/* One question and its answer. */
static void take_turn(void)
{
    ck_assert_int_gt(rig_say(fd, "\x01question"), 0);
    rig_answer(peer, "answer");
    ck_assert_int_gt(rig_receive(fd, 0), 0);
}

/* The server says something that nobody asked for. */
static void hear(const char *text)
{
    ck_assert_int_gt(real_send(peer, text, strlen(text), MSG_NOSIGNAL), 0);
    ck_assert_int_gt(rig_receive(fd, 0), 0);
}

/* Opens the breaker. */
static void trip(void)
{
    for (unsigned i = 0; i < 5000000 && rig_view(acme).phase != PREBREAK_OPEN; i++) {
        struct call call;
        if (call_admit(&call, acme)) {
            call_failed(&call, PREBREAK_KIND_CONNECT);
        }
    }
    ck_assert_int_eq(rig_view(acme).phase, PREBREAK_OPEN);
}

/* How many calls were judged since, besides. */
static struct breaker_view begin;

static void note(void)
{
    begin = rig_view(acme);
}

#define since(ok_, failed_, neutral_)                                                                                  \
    do {                                                                                                               \
        struct breaker_view now_ = rig_view(acme);                                                                     \
        ck_assert_uint_eq(now_.outcome[PREBREAK_OK] - begin.outcome[PREBREAK_OK], ok_);                                \
        ck_assert_uint_eq(now_.outcome[PREBREAK_FAILED] - begin.outcome[PREBREAK_FAILED], failed_);                    \
        ck_assert_uint_eq(now_.outcome[PREBREAK_NEUTRAL] - begin.outcome[PREBREAK_NEUTRAL], neutral_);                 \
    } while (0)

/* ---- what is a call ----------------------------------------------------------------------------------------------- */

START_TEST(every_turn_is_a_call)
{
    dial();
    for (unsigned i = 1; i <= 5; i++) {
        take_turn();
        rig_counts(acme, i, 0, 0);
    }
    rig_close(fd);
    rig_counts(acme, 5, 0, 0);
}
END_TEST

START_TEST(question_in_pieces_and_answer_in_pieces_are_one_call)
{
    dial();
    take_turn();
    rig_say(fd, "\x01que");
    rig_say(fd, "stion");
    rig_answer(peer, "ans");
    rig_receive(fd, 0);
    hear("wer");
    hear("!");
    rig_counts(acme, 2, 0, 0);
}
END_TEST

START_TEST(writer_that_is_told_after_the_answer_was_read_has_begun_no_other_turn)
{
    dial();
    take_turn();
    static const char first[] = "\x01que", rest[] = "stion";
    struct iovec one = {(void *)(uintptr_t)first, 4}, two = {(void *)(uintptr_t)rest, 5};
    /* One thread writes a question in two, and is held up each time before it can tell; another reads. */
    ck_assert(traffic_ask(fd, fd_mark(fd), &one, 1));
    ck_assert_int_eq(real_send(fd, first, 4, MSG_NOSIGNAL), 4);
    ck_assert(traffic_ask(fd, fd_mark(fd), &two, 1));
    ck_assert_int_eq(real_send(fd, rest, 5, MSG_NOSIGNAL), 5);
    rig_answer(peer, "answer");
    rig_receive(fd, 0);
    traffic_sent(fd, fd_mark(fd), &one, 1, 4);
    traffic_sent(fd, fd_mark(fd), &two, 1, 5);
    rig_counts(acme, 2, 0, 0);
    ck_assert_uint_eq(rig_view(acme).inflight, 0);
    take_turn();
    rig_counts(acme, 3, 0, 0);
}
END_TEST

START_TEST(greeting_of_the_server_ends_the_first_call_and_what_follows_are_turns)
{
    dial();
    hear("220 ready");
    rig_counts(acme, 1, 0, 0);
    take_turn();
    take_turn();
    rig_counts(acme, 3, 0, 0);
}
END_TEST

START_TEST(greeting_is_owed_by_a_server_that_is_known_to_greet)
{
    dial();
    rig_age(fd, 2 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0); /* never used, as far as is known */
    dial();
    hear("220 ready");
    rig_close(fd);
    rig_counts(acme, 2, 0, 0);
    /* From now on it is: its silence is watched, and is no peace. */
    dial();
    ck_assert_uint_eq(rig_view(acme).inflight, 1);
    rig_age(fd, 2 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 2, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_TIMEOUT], 1);
    /* Its end is none either. */
    dial();
    real_close(peer);
    ck_assert_int_eq(rig_receive(fd, 0), 0);
    rig_counts(acme, 2, 2, 0);
    dial();
    hear("220 ready");
    take_turn();
    rig_counts(acme, 4, 2, 0);
}
END_TEST

START_TEST(greeting_is_owed_also_where_connect_does_not_block)
{
    dial();
    hear("220 ready");
    fd = rig_socket(SOCK_NONBLOCK);
    ck_assert_int_eq(rig_connect(fd, &server), -1);
    peer = real_accept(server.fd, NULL, NULL);
    connect_error_read(fd, fd_mark(fd), 0);
    ck_assert_uint_eq(rig_view(acme).inflight, 1);
    rig_age(fd, 2 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 1, 1, 0);
}
END_TEST

START_TEST(server_that_lets_the_client_speak_first_owes_no_greeting_any_more)
{
    dial();
    hear("220 ready");
    dial();
    take_turn();
    rig_counts(acme, 2, 0, 0);
    dial();
    ck_assert_uint_eq(rig_view(acme).inflight, 0);
    rig_age(fd, 2 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 3, 0, 0);
}
END_TEST

START_TEST(news_that_nobody_asked_for_are_no_calls_and_their_end_is_no_error)
{
    dial();
    take_turn();
    for (int i = 0; i < 3; i++) {
        rig_age(fd, 60 * SECOND_NS);
        hear("news");
    }
    rig_counts(acme, 1, 0, 0);
    real_close(peer);
    ck_assert_int_eq(rig_receive(fd, 0), 0);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

/* ---- goodbyes and stale connections ------------------------------------------------------------------------------- */

START_TEST(goodbye_is_neutral)
{
    dial();
    take_turn();
    rig_say(fd, "X");
    rig_close(fd);
    rig_counts(acme, 1, 0, 1);
}
END_TEST

START_TEST(goodbye_is_neutral_also_when_the_server_closes_first)
{
    dial();
    take_turn();
    rig_say(fd, "X");
    char buffer[16];
    ck_assert_int_gt(real_recv(peer, buffer, sizeof buffer, 0), 0);
    real_close(peer);
    ck_assert_int_eq(rig_receive(fd, 0), 0);
    rig_close(fd);
    rig_counts(acme, 1, 0, 1);
}
END_TEST

START_TEST(connection_that_the_server_closed_while_it_was_idle_is_neutral_when_it_is_used_again)
{
    dial();
    take_turn();
    real_close(peer);
    rig_age(fd, 3600 * SECOND_NS);
    rig_say(fd, "\x01question");
    rig_receive(fd, 0);
    rig_counts(acme, 1, 0, 1);
}
END_TEST

START_TEST(connection_closed_while_idle_and_never_used_again_says_nothing)
{
    dial();
    take_turn();
    real_close(peer);
    rig_receive(fd, 0);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

/* ---- failures ----------------------------------------------------------------------------------------------------- */

START_TEST(end_after_a_while_within_a_turn_failed)
{
    dial();
    take_turn();
    rig_say(fd, "\x01question");
    rig_age(fd, 2 * SECOND_NS);
    rig_reset(peer);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    rig_counts(acme, 1, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_RESET], 1);
}
END_TEST

START_TEST(turn_given_up_after_a_wait_timed_out)
{
    dial();
    take_turn();
    rig_say(fd, "\x01question");
    rig_age(fd, 2 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 1, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_TIMEOUT], 1);
}
END_TEST

START_TEST(turn_given_up_on_a_connection_with_news_is_neutral)
{
    dial();
    take_turn();
    rig_age(fd, 60 * SECOND_NS);
    hear("news");
    rig_say(fd, "\x01thanks");
    rig_age(fd, 60 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 1, 0, 1);
}
END_TEST

/* ---- silence ------------------------------------------------------------------------------------------------------ */

START_TEST(silence_is_watched_while_an_answer_is_owed_and_not_else)
{
    dial();
    ck_assert_uint_eq(rig_view(acme).inflight, 0);
    take_turn();
    ck_assert_uint_eq(rig_view(acme).inflight, 0);
    rig_say(fd, "\x01question");
    ck_assert_uint_eq(rig_view(acme).inflight, 1);
    rig_answer(peer, "answer");
    rig_receive(fd, 0);
    ck_assert_uint_eq(rig_view(acme).inflight, 0);
    rig_age(fd, 60 * SECOND_NS);
    hear("news");
    rig_say(fd, "\x01thanks");
    ck_assert_uint_eq(rig_view(acme).inflight, 0);
}
END_TEST

/* ---- refusing ----------------------------------------------------------------------------------------------------- */

START_TEST(turn_is_refused_by_a_real_shutdown)
{
    dial();
    take_turn();
    trip();
    ck_assert_int_eq(rig_say(fd, "\x01question"), -1);
    ck_assert_int_eq(errno, ECONNRESET);
    char byte;
    ck_assert_int_eq(real_recv(fd, &byte, 1, 0), 0);
    ck_assert_int_eq(rig_say(fd, "again"), -1);
    ck_assert_int_eq(errno, ECONNRESET);
}
END_TEST

START_TEST(rest_of_a_question_is_not_refused)
{
    dial();
    take_turn();
    ck_assert_int_gt(rig_say(fd, "\x01que"), 0);
    trip();
    ck_assert_int_gt(rig_say(fd, "stion"), 0);
    rig_answer(peer, "answer");
    ck_assert_int_gt(rig_receive(fd, 0), 0);
}
END_TEST

START_TEST(turn_is_not_refused_while_an_answer_to_another_may_be_outstanding)
{
    dial();
    take_turn();
    rig_say(fd, "\x01one");
    rig_age(fd, 1);
    rig_say(fd, "\x01two");
    rig_answer(peer, "answer to one");
    rig_receive(fd, 0);
    trip();
    note();
    ck_assert_int_gt(rig_say(fd, "\x01three"), 0);
    rig_answer(peer, "answer to two");
    ck_assert_int_gt(rig_receive(fd, 0), 0);
    since(1, 0, 0);
    ck_assert_uint_eq(rig_view(acme).would_refuse_ok, 1);
    /* When nothing has moved for a while, nothing is outstanding. */
    rig_age(fd, 2 * SECOND_NS);
    ck_assert_int_eq(rig_say(fd, "\x01four"), -1);
}
END_TEST

START_TEST(turn_is_not_refused_on_what_is_another_socket_by_now)
{
    dial();
    take_turn();
    trip();
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    real_dup2(pair[0], fd); /* unseen */
    ck_assert_int_eq(rig_say(fd, "\x01question"), 9);
}
END_TEST

START_TEST(write_of_nothing_is_no_turn)
{
    dial();
    take_turn();
    trip();
    ck_assert_int_eq(rig_send(fd, "", 0), 0);
    note();
    rig_close(fd);
    since(0, 0, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("turns");
    TCase *tcase = tcase_create("turns");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    const TTest *tests[] = {
        every_turn_is_a_call,
        question_in_pieces_and_answer_in_pieces_are_one_call,
        writer_that_is_told_after_the_answer_was_read_has_begun_no_other_turn,
        greeting_of_the_server_ends_the_first_call_and_what_follows_are_turns,
        greeting_is_owed_by_a_server_that_is_known_to_greet,
        greeting_is_owed_also_where_connect_does_not_block,
        server_that_lets_the_client_speak_first_owes_no_greeting_any_more,
        news_that_nobody_asked_for_are_no_calls_and_their_end_is_no_error,
        goodbye_is_neutral,
        goodbye_is_neutral_also_when_the_server_closes_first,
        connection_that_the_server_closed_while_it_was_idle_is_neutral_when_it_is_used_again,
        connection_closed_while_idle_and_never_used_again_says_nothing,
        end_after_a_while_within_a_turn_failed,
        turn_given_up_after_a_wait_timed_out,
        turn_given_up_on_a_connection_with_news_is_neutral,
        silence_is_watched_while_an_answer_is_owed_and_not_else,
        turn_is_refused_by_a_real_shutdown,
        rest_of_a_question_is_not_refused,
        turn_is_not_refused_while_an_answer_to_another_may_be_outstanding,
        turn_is_not_refused_on_what_is_another_socket_by_now,
        write_of_nothing_is_no_turn,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
