/*
 * What comes of a connect, and what of the ways in which a client learns of it or gives up: each errno for what it is.
 */
#include "suite.h"
#include "flow_rig.h"
#include <stddef.h>
#include <stdio.h>
#include <sys/un.h>

#define REQUEST "GET / HTTP/1.1\r\nHost: whatever.test\r\n\r\n"

static struct server server;
static struct provider *acme;
static int fd, peer;
static char local_path[64]; /* each run has its own */

static void set_up(void)
{
    char rules[128];
    snprintf(local_path, sizeof local_path, "/tmp/prebreak-test-%d", (int)getpid());
    snprintf(rules, sizeof rules, "acme 127.0.0.0/8; local unix:%s", local_path);
    rig_start(rules);
    server = rig_server();
    acme = rig_provider(&server, NULL);
}

static void dial(void)
{
    fd = rig_dial(&server, &peer);
}

static uint64_t failures(enum prebreak_kind kind)
{
    return rig_view(acme).failures[kind];
}

/* ---- connect's own word ------------------------------------------------------------------------------------------- */

/* Asked for, and not made: what connect would have said comes from the tests. */
static uint64_t ask(void)
{
    uint64_t mark;
    fd = rig_socket(0);
    ck_assert(connect_ask(fd, (struct sockaddr *)&server.at, sizeof server.at, NULL, &mark));
    return mark;
}

static void told(uint64_t mark, int error)
{
    errno = error;
    ck_assert_int_eq(connect_told(fd, mark, -1), -1);
    ck_assert_int_eq(errno, error);
    rig_close(fd);
}

static const int peers_errors[] = {ECONNREFUSED, ETIMEDOUT, ECONNRESET, ECONNABORTED, EHOSTUNREACH};
static const int own_errors[] = {ENETUNREACH, EADDRNOTAVAIL, EAFNOSUPPORT, EACCES, EPERM,  EMFILE,
                                 ENFILE,      ENOBUFS,       ENOMEM,       EINVAL, EBADF,  ENOTSOCK,
                                 EADDRINUSE,  ENETDOWN,      EFAULT,       EIO,    ENOSYS, EPROTOTYPE};

START_TEST(what_the_network_says_after_a_while_is_held_against_the_provider)
{
    uint64_t mark = ask();
    rig_age(fd, SECOND_NS);
    told(mark, peers_errors[_i]);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_CONNECT), 1);
}
END_TEST

START_TEST(trouble_of_our_own_is_held_against_nobody)
{
    uint64_t mark = ask();
    rig_age(fd, SECOND_NS);
    told(mark, own_errors[_i]);
    rig_counts(acme, 0, 0, 1);
}
END_TEST

START_TEST(no_route_at_once_is_our_own_routing_tables_word)
{
    /* The clock that tells may tick in between: then once more. */
    for (int i = 0; i < 50 && rig_view(acme).outcome[PREBREAK_NEUTRAL] == 0; i++) {
        uint64_t mark = ask();
        flow_at((unsigned)(mark & FD_FLOW))->opened = process_now();
        told(mark, EHOSTUNREACH);
    }
    ck_assert_uint_eq(rig_view(acme).outcome[PREBREAK_NEUTRAL], 1);
}
END_TEST

START_TEST(connect_that_a_signal_broke_into_goes_on)
{
    uint64_t mark = ask();
    errno = EINTR;
    ck_assert_int_eq(connect_told(fd, mark, -1), -1);
    rig_counts(acme, 0, 0, 0);
    rig_close(fd); /* before the kernel had begun, as far as it knows here: nothing was heard of it */
    ck_assert_uint_eq(rig_view(acme).outcome[PREBREAK_OK], 0);
}
END_TEST

/* ---- learning of it otherwise ------------------------------------------------------------------------------------- */

/* On its way, and nobody knows more. */
static void pend(void)
{
    fd = rig_socket(SOCK_NONBLOCK);
    ck_assert_int_eq(rig_connect(fd, &server), -1);
    ck_assert_int_eq(errno, EINPROGRESS);
}

START_TEST(no_error_says_nothing_while_it_is_under_way)
{
    pend();
    connect_error_read(fd, fd_mark(fd), 0);
    rig_counts(acme, 0, 0, 0);
    connect_error_read(fd, fd_mark(fd), ECONNREFUSED);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(nothing_to_read_says_nothing_while_it_is_under_way)
{
    pend();
    char byte;
    struct iovec iov = {&byte, 1};
    errno = EAGAIN;
    traffic_received(fd, fd_mark(fd), &iov, 1, 0, -1);
    rig_counts(acme, 0, 0, 0);
    errno = ECONNREFUSED; /* and this is how some learn of it */
    traffic_received(fd, fd_mark(fd), &iov, 1, 0, -1);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_CONNECT), 1);
}
END_TEST

START_TEST(second_connect_tells_what_became_of_the_first)
{
    pend();
    uint64_t mark;
    ck_assert(connect_ask(fd, (struct sockaddr *)&server.at, sizeof server.at, NULL, &mark));
    told(mark, ECONNREFUSED);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(attempt_given_up_soon_is_nobodys_failure_and_after_a_wait_timed_out)
{
    struct sockaddr_in nowhere = {.sin_family = AF_INET, .sin_port = server.at.sin_port};
    inet_pton(AF_INET, "127.0.0.9", &nowhere.sin_addr);
    for (int wait = 0; wait < 2; wait++) {
        /* A full queue of a listener: the kernel drops what comes. */
        int listener = real_socket(AF_INET, SOCK_STREAM, 0);
        socklen_t length = sizeof nowhere;
        ck_assert_int_eq(bind(listener, (struct sockaddr *)&nowhere, length), 0);
        ck_assert_int_eq(listen(listener, 0), 0);
        int fillers[3];
        for (int i = 0; i < 3; i++) {
            fillers[i] = real_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            real_connect(fillers[i], (struct sockaddr *)&nowhere, length);
        }
        uint64_t mark;
        fd = rig_socket(SOCK_NONBLOCK);
        ck_assert(connect_ask(fd, (struct sockaddr *)&nowhere, length, NULL, &mark));
        connect_told(fd, mark, real_connect(fd, (struct sockaddr *)&nowhere, length));
        if (wait) {
            rig_age(fd, 2 * SECOND_NS);
        }
        rig_close(fd);
        rig_counts(acme, 0, wait, 1);
        for (int i = 0; i < 3; i++) {
            real_close(fillers[i]);
        }
        real_close(listener);
    }
    ck_assert_uint_eq(failures(PREBREAK_KIND_TIMEOUT), 1);
}
END_TEST

/* ---- established, and given up ------------------------------------------------------------------------------------ */

START_TEST(time_limit_of_a_blocking_read_that_runs_out_is_a_time_out)
{
    dial();
    rig_say(fd, REQUEST);
    struct timeval limit = {.tv_usec = 1000};
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    rig_counts(acme, 0, 0, 0); /* too soon to mean it */
    rig_age(fd, 2 * SECOND_NS);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_TIMEOUT), 1);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(nothing_to_read_without_waiting_is_no_time_out)
{
    dial();
    rig_say(fd, REQUEST);
    rig_age(fd, 2 * SECOND_NS);
    ck_assert_int_eq(rig_receive(fd, MSG_DONTWAIT), -1);
    rig_counts(acme, 0, 0, 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    ck_assert_int_eq(rig_receive(fd, 0), -1);
    rig_counts(acme, 0, 0, 0);
}
END_TEST

START_TEST(broken_pipe_of_who_shut_it_down_is_nobodys_failure)
{
    dial();
    rig_say(fd, REQUEST);
    traffic_shutdown(fd, fd_mark(fd), SHUT_WR);
    ck_assert_int_eq(real_shutdown(fd, SHUT_WR), 0);
    ck_assert_int_eq(rig_say(fd, "more"), -1);
    ck_assert_int_eq(errno, EPIPE);
    rig_counts(acme, 0, 0, 1);
}
END_TEST

START_TEST(broken_pipe_of_who_did_not_is_a_reset)
{
    dial();
    rig_say(fd, REQUEST);
    errno = EPIPE;
    traffic_sent(fd, fd_mark(fd), NULL, 0, -1);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_RESET), 1);
}
END_TEST

START_TEST(exit_gives_up_what_was_waited_for)
{
    dial();
    rig_say(fd, REQUEST);
    int first = fd;
    dial();
    rig_say(fd, REQUEST);
    rig_age(fd, 2 * SECOND_NS);
    flow_at_exit();
    rig_counts(acme, 0, 1, 1);
    ck_assert_uint_eq(failures(PREBREAK_KIND_TIMEOUT), 1);
    real_close(first);
}
END_TEST

/* ---- unix sockets ------------------------------------------------------------------------------------------------- */

static int connect_unix(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    uint64_t mark;
    strcpy(at.sun_path, path);
    fd = descriptor_made(real_socket(AF_UNIX, SOCK_STREAM, 0), AF_UNIX, SOCK_STREAM);
    ck_assert(connect_ask(fd, (struct sockaddr *)&at, sizeof at, NULL, &mark));
    int result = connect_told(fd, mark, real_connect(fd, (struct sockaddr *)&at, sizeof at));
    ck_assert_int_eq(fd_mark(fd) != 0, mark != 0 && result == 0);
    rig_close(fd);
    return result;
}

START_TEST(unix_socket_is_a_call_only_where_a_rule_names_its_path)
{
    struct provider *local = provider_of(&(struct rules_target){.unix_path = local_path});
    unlink(local_path);
    ck_assert_int_eq(connect_unix(local_path), -1);
    rig_counts(local, 0, 1, 0);
    ck_assert_int_eq(connect_unix("/tmp/prebreak-test-nobody"), -1);

    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, local_path, sizeof local_path);
    int listener = real_socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(connect_unix(local_path), 0);
    unlink(local_path);
    rig_counts(local, 1, 1, 0);
}
END_TEST

#define EACH(tcase, test, table) tcase_add_loop_test(tcase, test, 0, (int)(sizeof table / sizeof *table))

int main(void)
{
    Suite *suite = suite_create("connecting");
    TCase *tcase = tcase_create("connecting");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    EACH(tcase, what_the_network_says_after_a_while_is_held_against_the_provider, peers_errors);
    EACH(tcase, trouble_of_our_own_is_held_against_nobody, own_errors);
    const TTest *tests[] = {
        no_route_at_once_is_our_own_routing_tables_word,
        connect_that_a_signal_broke_into_goes_on,
        no_error_says_nothing_while_it_is_under_way,
        nothing_to_read_says_nothing_while_it_is_under_way,
        second_connect_tells_what_became_of_the_first,
        attempt_given_up_soon_is_nobodys_failure_and_after_a_wait_timed_out,
        time_limit_of_a_blocking_read_that_runs_out_is_a_time_out,
        nothing_to_read_without_waiting_is_no_time_out,
        broken_pipe_of_who_shut_it_down_is_nobodys_failure,
        broken_pipe_of_who_did_not_is_a_reset,
        exit_gives_up_what_was_waited_for,
        unix_socket_is_a_call_only_where_a_rule_names_its_path,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
