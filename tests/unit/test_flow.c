/*
 * How connections are judged, from connect to close: against real sockets on loopback.
 */
#include "suite.h"
#include "flow_rig.h"

#define REQUEST "GET / HTTP/1.1\r\nHost: whatever.test\r\n\r\n"
#define GOOD    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define BAD     "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"

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

/* ---- connecting --------------------------------------------------------------------------------------------------- */

START_TEST(refused_connect_failed)
{
    real_close(server.fd);
    fd = rig_socket(0);
    ck_assert_int_eq(rig_connect(fd, &server), -1);
    ck_assert_int_eq(errno, ECONNREFUSED);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_CONNECT], 1);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(refused_connect_that_does_not_block_failed_once_it_is_asked)
{
    real_close(server.fd);
    fd = rig_socket(SOCK_NONBLOCK);
    if (rig_connect(fd, &server) == -1 && errno == EINPROGRESS) {
        int error = 0;
        socklen_t length = sizeof error;
        ck_assert_int_eq(real_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
        connect_error_read(fd, fd_mark(fd), error);
    }
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(connection_never_used_and_closed_in_peace_is_ok)
{
    dial();
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(pending_connection_closed_in_peace_is_ok_if_it_was_there)
{
    fd = rig_socket(SOCK_NONBLOCK);
    ck_assert_int_eq(rig_connect(fd, &server), -1);
    peer = real_accept(server.fd, NULL, NULL);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(second_connect_is_the_same_attempt)
{
    fd = rig_socket(SOCK_NONBLOCK);
    ck_assert_int_eq(rig_connect(fd, &server), -1);
    ck_assert_int_eq(errno, EINPROGRESS);
    peer = real_accept(server.fd, NULL, NULL);
    ck_assert_int_eq(rig_connect(fd, &server), 0);
    ck_assert_uint_eq(rig_view(acme).outcome[PREBREAK_OK], 0);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(datagram_connect_is_no_call)
{
    fd = descriptor_made(real_socket(AF_INET, SOCK_DGRAM, 0), AF_INET, SOCK_DGRAM);
    ck_assert_int_eq(rig_connect(fd, &server), 0);
    ck_assert_uint_eq(fd_mark(fd), 0);
    rig_counts(acme, 0, 0, 0);
}
END_TEST

START_TEST(datagram_connect_is_no_call_even_if_its_socket_was_not_seen)
{
    fd = real_socket(AF_INET, SOCK_DGRAM, 0);
    ck_assert_int_eq(rig_connect(fd, &server), 0);
    ck_assert_uint_eq(fd_mark(fd), 0);
}
END_TEST

/* ---- the first exchange ------------------------------------------------------------------------------------------- */

START_TEST(good_answer_is_ok_once_it_is_complete)
{
    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    ck_assert_int_gt(rig_receive(fd, 0), 0);
    rig_counts(acme, 0, 0, 0);
    real_send(peer, "k", 1, 0);
    ck_assert_int_eq(rig_receive(fd, 0), 1);
    rig_counts(acme, 1, 0, 0);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(failing_status_failed)
{
    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, BAD);
    rig_receive(fd, 0);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_STATUS], 1);
}
END_TEST

START_TEST(every_request_on_a_kept_connection_is_a_call)
{
    dial();
    const char *const answers[] = {GOOD, BAD, GOOD, BAD};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_gt(rig_say(fd, REQUEST), 0);
        rig_answer(peer, answers[i]);
        ck_assert_int_gt(rig_receive(fd, 0), 0);
    }
    rig_counts(acme, 2, 2, 0);
    rig_close(fd);
    rig_counts(acme, 2, 2, 0);
}
END_TEST

START_TEST(every_request_of_a_pipeline_is_a_call_with_its_own_outcome)
{
    dial();
    rig_say(fd, REQUEST REQUEST REQUEST);
    rig_answer(peer, GOOD BAD GOOD);
    rig_receive(fd, 0);
    rig_counts(acme, 2, 1, 0);
    /* Two outstanding at a reset: the first was waited for in vain, of the one behind it nothing is known */
    rig_say(fd, REQUEST REQUEST);
    rig_age(fd, 2 * SECOND_NS);
    rig_reset(peer);
    rig_receive(fd, 0);
    rig_counts(acme, 2, 2, 1);
    rig_close(fd);
    rig_counts(acme, 2, 2, 1);
}
END_TEST

START_TEST(requests_of_a_pipeline_behind_a_last_answer_are_neutral)
{
    dial();
    rig_say(fd, REQUEST REQUEST REQUEST);
    rig_answer(peer, GOOD "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    rig_receive(fd, 0);
    rig_counts(acme, 2, 0, 1);
    rig_close(fd);
    rig_counts(acme, 2, 0, 1);
}
END_TEST

START_TEST(answer_read_byte_by_byte_and_request_written_so_say_the_same)
{
    dial();
    for (const char *byte = REQUEST; *byte != '\0'; byte++) {
        ck_assert_int_eq(rig_send(fd, byte, 1), 1);
    }
    rig_answer(peer, BAD);
    char byte;
    struct iovec iov = {&byte, 1};
    for (size_t i = 0; i < strlen(BAD); i++) {
        uint64_t mark = fd_mark(fd);
        ssize_t result = real_recv(fd, &byte, 1, 0);
        traffic_received(fd, mark, &iov, 1, 0, result);
    }
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(peeked_bytes_are_not_taken_for_read)
{
    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, GOOD);
    rig_receive(fd, MSG_PEEK);
    rig_receive(fd, MSG_PEEK);
    rig_counts(acme, 0, 0, 0);
    rig_receive(fd, 0);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(reset_after_the_request_failed)
{
    dial();
    rig_say(fd, REQUEST);
    rig_reset(peer);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    ck_assert_int_eq(errno, ECONNRESET);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_RESET], 1);
}
END_TEST

START_TEST(reset_that_is_read_before_the_writer_is_back_is_no_failure_to_connect)
{
    fd = rig_socket(SOCK_NONBLOCK);
    ck_assert_int_eq(rig_connect(fd, &server), -1);
    peer = real_accept(server.fd, NULL, NULL);
    /* One thread writes the request, and is held up before it can tell; another reads. */
    struct iovec iov = {(void *)(uintptr_t)REQUEST, strlen(REQUEST)};
    ck_assert(traffic_ask(fd, fd_mark(fd), &iov, 1));
    ck_assert_int_gt(real_send(fd, REQUEST, strlen(REQUEST), MSG_NOSIGNAL), 0);
    rig_reset(peer);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_RESET], 1);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(end_before_the_answer_failed_also_when_it_was_peeked_at)
{
    dial();
    rig_say(fd, REQUEST);
    char buffer[256];
    real_recv(peer, buffer, sizeof buffer, 0);
    real_close(peer);
    ck_assert_int_eq(rig_receive(fd, MSG_PEEK), 0);
    rig_counts(acme, 0, 1, 0);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(kept_connection_that_the_peer_closed_while_idle_is_neutral)
{
    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, GOOD);
    rig_receive(fd, 0);
    real_close(peer);
    rig_say(fd, REQUEST);
    rig_receive(fd, 0);
    rig_counts(acme, 1, 0, 1);
}
END_TEST

START_TEST(zero_bytes_asked_for_are_no_end)
{
    dial();
    rig_say(fd, REQUEST);
    char none;
    struct iovec iov = {&none, 0};
    traffic_received(fd, fd_mark(fd), &iov, 1, 0, 0);
    rig_answer(peer, GOOD);
    rig_receive(fd, 0);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

/* ---- given up ----------------------------------------------------------------------------------------------------- */

START_TEST(request_abandoned_soon_is_neutral)
{
    dial();
    rig_say(fd, REQUEST);
    rig_close(fd);
    rig_counts(acme, 0, 0, 1);
}
END_TEST

START_TEST(request_abandoned_after_a_wait_timed_out)
{
    dial();
    rig_say(fd, REQUEST);
    rig_age(fd, 2 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(rig_view(acme).failures[PREBREAK_KIND_TIMEOUT], 1);
}
END_TEST

START_TEST(answer_whose_rest_is_not_wanted_was_an_answer)
{
    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nenough");
    rig_receive(fd, 0);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);

    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnever the rest");
    rig_receive(fd, 0);
    rig_age(fd, 2 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 1, 1, 0);

    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, "HTTP/1.1 200 OK\r\nContent-");
    rig_receive(fd, 0);
    rig_close(fd);
    rig_counts(acme, 1, 1, 1);
}
END_TEST

START_TEST(shutdown_and_dup2_give_up_too)
{
    dial();
    rig_say(fd, REQUEST);
    rig_age(fd, 2 * SECOND_NS);
    traffic_shutdown(fd, fd_mark(fd), SHUT_RDWR);
    rig_counts(acme, 0, 1, 0);

    dial();
    rig_say(fd, REQUEST);
    rig_age(fd, 2 * SECOND_NS);
    int null = real_open("/dev/null", O_RDONLY);
    descriptor_copied(null, real_dup2(null, fd));
    rig_counts(acme, 0, 2, 0);
    ck_assert_uint_eq(fd_mark(fd), 0);
}
END_TEST

START_TEST(last_copy_of_a_descriptor_gives_up)
{
    dial();
    rig_say(fd, REQUEST);
    rig_age(fd, 2 * SECOND_NS);
    int copy = descriptor_copied(fd, real_dup(fd));
    rig_close(fd);
    rig_counts(acme, 0, 0, 0);
    rig_close(copy);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(answer_is_told_by_a_copy_as_well)
{
    dial();
    rig_say(fd, REQUEST);
    int copy = descriptor_copied(fd, real_dup(fd));
    rig_close(fd);
    rig_answer(peer, BAD);
    rig_receive(copy, 0);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(silent_log_receiver_is_not_blamed)
{
    dial();
    rig_say(fd, "<13>something happened\n");
    rig_age(fd, 60 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 0, 0, 1);
}
END_TEST

START_TEST(body_left_unread_after_a_good_head_is_no_time_out)
{
    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
    char head[39];
    struct iovec iov = {head, sizeof head};
    ssize_t result = real_recv(fd, head, sizeof head, 0);
    traffic_received(fd, fd_mark(fd), &iov, 1, 0, result);
    rig_age(fd, 10 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 0, 0, 1);
}
END_TEST

START_TEST(number_handed_out_anew_is_forgotten_without_a_word)
{
    dial();
    rig_say(fd, REQUEST);
    rig_age(fd, 10 * SECOND_NS);
    real_close(fd); /* unseen */
    int next = rig_socket(0);
    ck_assert_int_eq(next, fd);
    rig_counts(acme, 0, 0, 1);
    ck_assert_uint_eq(fd_mark(next), 0);
}
END_TEST

START_TEST(failure_on_what_is_another_socket_by_now_is_not_charged)
{
    dial();
    rig_say(fd, REQUEST);
    int other = real_socket(AF_INET, SOCK_STREAM, 0);
    real_dup2(other, fd); /* unseen */
    rig_receive(fd, 0);
    rig_counts(acme, 0, 0, 1);
}
END_TEST

/* ---- refused ------------------------------------------------------------------------------------------------------ */

/* Opens the breaker: by ten failures, or on a slow machine by as many more as outweigh the success before them. */
static void trip(struct provider *provider)
{
    for (unsigned i = 0; i < 5000000 && rig_view(provider).phase != PREBREAK_OPEN; i++) {
        struct call call;
        if (call_admit(&call, provider)) {
            call_failed(&call, PREBREAK_KIND_CONNECT);
        }
    }
    ck_assert_int_eq(rig_view(provider).phase, PREBREAK_OPEN);
}

START_TEST(connect_is_refused_at_once_and_reaches_nobody)
{
    trip(acme);
    fd = rig_socket(0);
    ck_assert_int_eq(rig_connect(fd, &server), -1);
    ck_assert_int_eq(errno, ECONNREFUSED);
    ck_assert_uint_eq(fd_mark(fd), 0);
    fcntl(server.fd, F_SETFL, O_NONBLOCK);
    ck_assert_int_eq(real_accept(server.fd, NULL, NULL), -1);
}
END_TEST

START_TEST(next_request_on_a_kept_connection_is_refused_by_a_real_shutdown)
{
    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, GOOD);
    rig_receive(fd, 0);
    trip(acme);
    ck_assert_int_eq(rig_say(fd, REQUEST), -1);
    ck_assert_int_eq(errno, ECONNRESET);
    /* Who reads is told at once. */
    char byte;
    ck_assert_int_eq(real_recv(fd, &byte, 1, 0), 0);
    /* And so it stays, without a signal; nor is there one for who writes where nobody sees it. */
    ck_assert_int_eq(rig_say(fd, "x"), -1);
    ck_assert_int_eq(errno, ECONNRESET);
    ck_assert_int_eq(real_send(fd, "x", 1, 0), 1);
    ck_assert_int_eq(real_recv(peer, &byte, 1, 0), 1);
}
END_TEST

START_TEST(request_is_not_refused_on_what_is_another_socket_by_now)
{
    dial();
    rig_say(fd, REQUEST);
    rig_answer(peer, GOOD);
    rig_receive(fd, 0);
    trip(acme);
    int pipes[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pipes), 0);
    real_dup2(pipes[0], fd); /* unseen */
    ck_assert_int_eq(rig_say(fd, REQUEST), (ssize_t)strlen(REQUEST));
}
END_TEST

START_TEST(answer_outstanding_is_not_cut_off)
{
    dial();
    rig_say(fd, REQUEST);
    trip(acme);
    ck_assert_int_gt(rig_say(fd, REQUEST), 0);
    rig_answer(peer, GOOD);
    ck_assert_int_gt(rig_receive(fd, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flow");
    TCase *tcase = tcase_create("flow");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    const TTest *tests[] = {
        refused_connect_failed,
        refused_connect_that_does_not_block_failed_once_it_is_asked,
        connection_never_used_and_closed_in_peace_is_ok,
        pending_connection_closed_in_peace_is_ok_if_it_was_there,
        second_connect_is_the_same_attempt,
        datagram_connect_is_no_call,
        datagram_connect_is_no_call_even_if_its_socket_was_not_seen,
        good_answer_is_ok_once_it_is_complete,
        failing_status_failed,
        every_request_on_a_kept_connection_is_a_call,
        every_request_of_a_pipeline_is_a_call_with_its_own_outcome,
        requests_of_a_pipeline_behind_a_last_answer_are_neutral,
        answer_read_byte_by_byte_and_request_written_so_say_the_same,
        peeked_bytes_are_not_taken_for_read,
        reset_after_the_request_failed,
        reset_that_is_read_before_the_writer_is_back_is_no_failure_to_connect,
        end_before_the_answer_failed_also_when_it_was_peeked_at,
        kept_connection_that_the_peer_closed_while_idle_is_neutral,
        zero_bytes_asked_for_are_no_end,
        request_abandoned_soon_is_neutral,
        request_abandoned_after_a_wait_timed_out,
        answer_whose_rest_is_not_wanted_was_an_answer,
        shutdown_and_dup2_give_up_too,
        last_copy_of_a_descriptor_gives_up,
        answer_is_told_by_a_copy_as_well,
        silent_log_receiver_is_not_blamed,
        body_left_unread_after_a_good_head_is_no_time_out,
        number_handed_out_anew_is_forgotten_without_a_word,
        failure_on_what_is_another_socket_by_now_is_not_charged,
        connect_is_refused_at_once_and_reaches_nobody,
        next_request_on_a_kept_connection_is_refused_by_a_real_shutdown,
        request_is_not_refused_on_what_is_another_socket_by_now,
        answer_outstanding_is_not_cut_off,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
