/*
 * Whose call it is: names, several addresses of one name, several names of one address, and a fork in between.
 */
#include "suite.h"
#include "flow_rig.h"
#include <pthread.h>
#include <sys/wait.h>

#define GOOD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define BAD  "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"

static void set_up(void)
{
    rig_start("first first.test; second second.test; both *.both.test; - never.test; rest *");
}

static void resolve(const char *name, const struct server *one, const struct server *two)
{
    struct address addresses[2] = {one->address, two != NULL ? two->address : one->address};
    names_resolved(name, addresses, two != NULL ? 2 : 1);
}

/* Opens a breaker. */
static void trip(struct provider *provider)
{
    for (unsigned i = 0; i < 20; i++) {
        struct call call;
        if (call_admit(&call, provider)) {
            call_failed(&call, PREBREAK_KIND_CONNECT);
        }
    }
    ck_assert_int_eq(rig_view(provider).phase, PREBREAK_OPEN);
}

static void request(int fd, const char *host)
{
    char text[300];
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    rig_say(fd, text);
}

/* ---- several addresses of one name -------------------------------------------------------------------------------- */

/* Tries the addresses in turn as a simple client does; the descriptor, or -1. */
static int dial_all(const struct server *one, const struct server *two)
{
    int fd = rig_socket(0);
    if (rig_connect(fd, one) == 0) {
        return fd;
    }
    rig_close(fd);
    fd = rig_socket(0);
    if (rig_connect(fd, two) == 0) {
        return fd;
    }
    rig_close(fd);
    return -1;
}

/* Nobody listens on `dead`, which has the port of `live`. */
static void two_addresses(struct server *dead, struct server *live)
{
    *live = rig_server_on("127.0.0.3", 0);
    *dead = rig_server_on("127.0.0.2", ntohs(live->at.sin_port));
    real_close(dead->fd);
    resolve("first.test", dead, live);
}

START_TEST(dead_first_address_does_not_condemn_the_name)
{
    struct server dead, live;
    two_addresses(&dead, &live);
    struct provider *first = rig_provider(&live, "first.test");
    for (unsigned i = 0; i < 100; i++) {
        int fd = dial_all(&dead, &live);
        ck_assert_int_ge(fd, 0);
        int peer = real_accept(live.fd, NULL, NULL);
        request(fd, "first.test");
        rig_answer(peer, GOOD);
        rig_receive(fd, 0);
        rig_close(fd);
        real_close(peer);
    }
    rig_counts(first, 100, 0, 0);
    ck_assert_int_eq(rig_view(first).phase, PREBREAK_CLOSED);
}
END_TEST

START_TEST(name_whose_addresses_are_all_dead_fails_once_a_series)
{
    struct server dead, live;
    two_addresses(&dead, &live);
    real_close(live.fd);
    struct provider *first = rig_provider(&live, "first.test");
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq(dial_all(&dead, &live), -1);
    }
    rig_counts(first, 0, 5, 0);
}
END_TEST

START_TEST(next_address_inherits_a_refusal_and_draws_nothing)
{
    struct server dead, live;
    two_addresses(&dead, &live);
    struct provider *first = rig_provider(&live, "first.test");
    trip(first);
    uint64_t before = rig_view(first).total_refused;
    ck_assert_int_eq(dial_all(&dead, &live), -1);
    ck_assert_int_eq(errno, ECONNREFUSED);
    ck_assert_uint_eq(rig_view(first).total_refused, before + 1);
}
END_TEST

START_TEST(client_that_tries_one_address_only_is_told_of_in_the_end)
{
    struct server dead, live;
    two_addresses(&dead, &live);
    struct provider *first = rig_provider(&live, "first.test");
    int fd = rig_socket(0);
    ck_assert_int_eq(rig_connect(fd, &dead), -1);
    rig_close(fd);
    rig_counts(first, 0, 0, 0);
    attempt_sweep(process_now() + 3 * SECOND_NS);
    rig_counts(first, 0, 1, 0);
}
END_TEST

START_TEST(kept_connection_to_another_address_answers_for_a_dead_one)
{
    struct server dead, live;
    two_addresses(&dead, &live);
    struct provider *first = rig_provider(&live, "first.test");
    int peer, kept = rig_dial(&live, &peer);
    for (unsigned i = 0; i < 20; i++) {
        /* As nginx does: the addresses in turn, and what was kept of the good one. */
        int fd = rig_socket(0);
        ck_assert_int_eq(rig_connect(fd, &dead), -1);
        rig_close(fd);
        request(kept, "first.test");
        rig_answer(peer, GOOD);
        rig_receive(kept, 0);
    }
    attempt_sweep(process_now() + 3 * SECOND_NS);
    /* The very first request began with the connection, before anything had failed. */
    rig_counts(first, 20, 1, 0);
    rig_close(kept);
}
END_TEST

static void *lose(void *dead)
{
    int fd = rig_socket(0);
    ck_assert_int_eq(rig_connect(fd, dead), -1);
    rig_close(fd);
    return NULL;
}

START_TEST(dead_address_that_another_thread_tried_is_neutral_when_the_name_answers)
{
    struct server dead, live;
    two_addresses(&dead, &live);
    struct provider *first = rig_provider(&live, "first.test");
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, lose, &dead), 0);
    pthread_join(thread, NULL);
    int peer, fd = rig_dial(&live, &peer);
    request(fd, "first.test");
    rig_answer(peer, GOOD);
    rig_receive(fd, 0);
    attempt_sweep(process_now() + 3 * SECOND_NS);
    rig_counts(first, 1, 0, 1);
    rig_close(fd);
}
END_TEST

START_TEST(second_try_of_the_same_address_is_a_new_call)
{
    struct server dead, live;
    two_addresses(&dead, &live);
    struct provider *first = rig_provider(&live, "first.test");
    for (unsigned i = 0; i < 3; i++) {
        int fd = rig_socket(0);
        ck_assert_int_eq(rig_connect(fd, &dead), -1);
        rig_close(fd);
    }
    rig_counts(first, 0, 2, 0);
    attempt_sweep(UINT64_MAX);
    rig_counts(first, 0, 3, 0);
}
END_TEST

START_TEST(loser_of_a_race_of_addresses_counts_nothing)
{
    struct server one = rig_server_on("127.0.0.2", 0);
    struct server two = rig_server_on("127.0.0.3", ntohs(one.at.sin_port));
    resolve("first.test", &one, &two);
    struct provider *first = rig_provider(&one, "first.test");
    int loser = rig_socket(SOCK_NONBLOCK), winner = rig_socket(SOCK_NONBLOCK);
    ck_assert_int_eq(rig_connect(loser, &one), -1);
    ck_assert_int_eq(rig_connect(winner, &two), -1);
    int peer = real_accept(two.fd, NULL, NULL);
    rig_close(loser);
    rig_counts(first, 0, 0, 0);
    request(winner, "first.test");
    rig_answer(peer, BAD);
    rig_receive(winner, 0);
    rig_counts(first, 0, 1, 0);
}
END_TEST

/* ---- several names of one address --------------------------------------------------------------------------------- */

static struct server shared(void)
{
    struct server server = rig_server();
    resolve("first.test", &server, NULL);
    resolve("second.test", &server, NULL);
    return server;
}

START_TEST(two_names_on_one_address_are_two_providers)
{
    struct server server = shared();
    struct provider *first = rig_provider(&server, "first.test"), *second = rig_provider(&server, "second.test");
    const char *const hosts[] = {"first.test", "second.test"};
    for (unsigned i = 0; i < 20; i++) {
        int peer, fd = rig_dial(&server, &peer);
        request(fd, hosts[i % 2]);
        rig_answer(peer, i % 2 == 0 ? BAD : GOOD);
        rig_receive(fd, 0);
        rig_close(fd);
        real_close(peer);
    }
    rig_counts(first, 0, 10, 0);
    rig_counts(second, 10, 0, 0);
}
END_TEST

START_TEST(one_that_is_open_refuses_its_own_requests_and_no_other)
{
    struct server server = shared();
    struct provider *first = rig_provider(&server, "first.test");
    trip(first);
    int peer, fd = rig_dial(&server, &peer);
    request(fd, "second.test");
    rig_answer(peer, GOOD);
    ck_assert_int_gt(rig_receive(fd, 0), 0);
    rig_close(fd);

    fd = rig_dial(&server, &peer);
    ck_assert_int_eq(rig_say(fd, "GET / HTTP/1.1\r\nHost: first.test\r\n\r\n"), -1);
    ck_assert_int_eq(errno, ECONNRESET);
}
END_TEST

START_TEST(request_that_names_nobody_goes_to_the_threads_latest_name)
{
    struct server server = shared();
    int peer, fd = rig_dial(&server, &peer);
    rig_say(fd, "\x01question");
    rig_answer(peer, "answer");
    rig_receive(fd, 0);
    rig_counts(rig_provider(&server, "second.test"), 1, 0, 0);
}
END_TEST

START_TEST(connect_that_fails_is_told_of_the_latest_name)
{
    struct server server = shared();
    real_close(server.fd);
    int fd = rig_socket(0);
    ck_assert_int_eq(rig_connect(fd, &server), -1);
    rig_counts(rig_provider(&server, "second.test"), 0, 1, 0);
    rig_counts(rig_provider(&server, "first.test"), 0, 0, 0);
}
END_TEST

/* ---- better names ------------------------------------------------------------------------------------------------- */

START_TEST(visitors_host_header_is_not_believed)
{
    struct server server = rig_server();
    int peer, fd = rig_dial(&server, &peer);
    request(fd, "first.test");
    rig_answer(peer, BAD);
    rig_receive(fd, 0);
    rig_counts(rig_provider(&server, "first.test"), 0, 0, 0);
    rig_counts(rig_provider(&server, NULL), 0, 1, 0);
}
END_TEST

START_TEST(name_behind_a_forward_proxy_is_whom_the_call_is_for)
{
    struct server proxy = rig_server();
    int peer, fd = rig_dial(&proxy, &peer);
    rig_say(fd, "CONNECT first.test:443 HTTP/1.1\r\nHost: first.test:443\r\n\r\n");
    rig_answer(peer, "HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n");
    rig_receive(fd, 0);
    rig_counts(rig_provider(&proxy, NULL), 0, 0, 1);
    struct provider *first = provider_of(&(struct rules_target){.host = "first.test", .port = 443});
    rig_counts(first, 0, 1, 0);
}
END_TEST

START_TEST(name_that_is_never_to_be_touched_takes_the_call_away)
{
    struct server server = rig_server();
    struct address address = server.address;
    names_resolved("first.test", &address, 1);
    names_resolved("never.test", &address, 1);
    int peer, fd = rig_dial(&server, &peer);
    request(fd, "never.test");
    rig_answer(peer, BAD);
    rig_receive(fd, 0);
    rig_counts(rig_provider(&server, "first.test"), 0, 0, 0);
}
END_TEST

/* ---- forks -------------------------------------------------------------------------------------------------------- */

START_TEST(calls_of_a_parent_are_not_its_childs)
{
    struct server server = rig_server();
    struct provider *rest = rig_provider(&server, NULL);
    int peer, fd = rig_dial(&server, &peer);
    request(fd, "x");
    pid_t child = fork();
    if (child == 0) {
        bool followed = fd_mark(fd) != 0;
        rig_close(fd);
        flow_at_exit();
        _exit(followed ? 1 : 0);
    }
    int status;
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    rig_counts(rest, 0, 0, 0);
    rig_answer(peer, GOOD);
    rig_receive(fd, 0);
    rig_counts(rest, 1, 0, 0);
}
END_TEST

START_TEST(child_makes_calls_of_its_own)
{
    struct server server = rig_server();
    struct provider *rest = rig_provider(&server, NULL);
    int peer, fd = rig_dial(&server, &peer);
    pid_t child = fork();
    if (child == 0) {
        int mine = rig_dial(&server, &peer);
        request(mine, "x");
        rig_answer(peer, BAD);
        rig_receive(mine, 0);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    rig_counts(rest, 0, 1, 0);
    rig_close(fd);
    rig_counts(rest, 1, 1, 0);
}
END_TEST

START_TEST(draws_of_forked_siblings_differ)
{
    process_random();
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    uint64_t drawn[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct breaker_caller who;
            process_caller(&who);
            uint64_t draw = process_random();
            _exit(write(pipes[1], &draw, sizeof draw) == sizeof draw ? 0 : 1);
        }
        waitpid(child, NULL, 0);
        ck_assert_int_eq(read(pipes[0], &drawn[i], sizeof drawn[i]), sizeof drawn[i]);
    }
    ck_assert(drawn[0] != drawn[1]);
}
END_TEST

/* ---- another effective user --------------------------------------------------------------------------------------- */

START_TEST(user_changed_to_and_fro_meets_the_same_providers)
{
    struct address address = {.port = 80};
    struct rules_target target = {.host = "first.test", .address = address.bytes, .port = address.port};
    struct provider *met[2] = {NULL, NULL};
    char directory[] = "/tmp/prebreak-XXXXXX";
    char path[sizeof directory + 8];
    if (geteuid() != 0) {
        return;
    }
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/state", directory);
    setenv("PREBREAK_STATE", path, 1); /* root's own: the other user cannot reach it, and is private */
    process_init();
    for (unsigned second = 0; second < 40; second++) {
        ck_assert_int_eq(seteuid(second % 2 == 0 ? 0 : 65534), 0);
        struct breaker_caller later;
        process_caller(&later);
        later.now += (1 + second) * SECOND_NS;
        process_look(&later);
        struct provider *provider = provider_of(&target);
        ck_assert_ptr_nonnull(provider);
        ck_assert(second < 2 || provider == met[second % 2]);
        met[second % 2] = provider;
    }
    ck_assert_int_eq(seteuid(0), 0);
    unlink(path);
    rmdir(directory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("target");
    TCase *tcase = tcase_create("target");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    const TTest *tests[] = {
        dead_first_address_does_not_condemn_the_name,
        name_whose_addresses_are_all_dead_fails_once_a_series,
        next_address_inherits_a_refusal_and_draws_nothing,
        client_that_tries_one_address_only_is_told_of_in_the_end,
        kept_connection_to_another_address_answers_for_a_dead_one,
        dead_address_that_another_thread_tried_is_neutral_when_the_name_answers,
        second_try_of_the_same_address_is_a_new_call,
        loser_of_a_race_of_addresses_counts_nothing,
        two_names_on_one_address_are_two_providers,
        one_that_is_open_refuses_its_own_requests_and_no_other,
        request_that_names_nobody_goes_to_the_threads_latest_name,
        connect_that_fails_is_told_of_the_latest_name,
        visitors_host_header_is_not_believed,
        name_behind_a_forward_proxy_is_whom_the_call_is_for,
        name_that_is_never_to_be_touched_takes_the_call_away,
        calls_of_a_parent_are_not_its_childs,
        child_makes_calls_of_its_own,
        draws_of_forked_siblings_differ,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    tcase_add_test(tcase, user_changed_to_and_fro_meets_the_same_providers);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
