/*
 * Threads that share connections: nothing is left locked, held or in flight, whatever they do to each other.
 *
 * Not under ThreadSanitizer, which takes a descriptor closed by one thread and used by another for a race, and it is.
 */
#include "suite.h"
#include "flow_rig.h"
#include <pthread.h>
#include <sched.h>

#define REQUEST "GET / HTTP/1.1\r\nHost: whatever.test\r\n\r\n"
#define BAD     "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"

#ifndef __SANITIZE_THREAD__

static struct server server;
static struct provider *acme;

static void set_up(void)
{
    rig_start("acme 127.0.0.0/8");
    server = rig_server();
    acme = rig_provider(&server, NULL);
}

#define THREADS 4
#define SHARED  6

static int shared[SHARED];

/* What careless threads do to descriptors that they share: everything at once. */
static void *trample(void *seed)
{
    unsigned state = (unsigned)(uintptr_t)seed;
    for (unsigned i = 0; i < 3000; i++) {
        state = state * 1103515245 + 12345;
        int *which = &shared[(state >> 16) % SHARED];
        int victim = __atomic_load_n(which, __ATOMIC_RELAXED);
        switch ((state >> 8) % 6) {
        case 0: {
            int fresh = rig_socket(SOCK_NONBLOCK);
            rig_connect(fresh, &server);
            int old = __atomic_exchange_n(which, fresh, __ATOMIC_RELAXED);
            if (old >= 0) {
                rig_close(old);
            }
            break;
        }
        case 1:
            rig_say(victim, REQUEST);
            break;
        case 2:
            rig_receive(victim, MSG_DONTWAIT);
            break;
        case 3: {
            int copy = descriptor_copied(victim, real_dup(victim));
            if (copy >= 0) {
                rig_close(copy);
            }
            break;
        }
        case 4: {
            uint64_t mark = fd_mark(victim);
            if (mark != 0) {
                connect_error_read(victim, mark, state % 64 == 0 ? ECONNRESET : 0);
            }
            break;
        }
        default: {
            int other = real_accept4(server.fd, NULL, NULL, SOCK_NONBLOCK);
            if (other >= 0) {
                real_send(other, BAD, strlen(BAD), MSG_NOSIGNAL);
                real_close(other);
            }
            break;
        }
        }
    }
    return NULL;
}

START_TEST(threads_that_trample_on_the_same_descriptors_leave_nothing_behind)
{
    fcntl(server.fd, F_SETFL, O_NONBLOCK);
    memset(shared, -1, sizeof shared);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, trample, (void *)(i + 1)), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < SHARED; i++) {
        if (shared[i] >= 0) {
            rig_close(shared[i]);
        }
    }
    flow_at_exit();
    struct breaker_view view = rig_view(acme);
    ck_assert_uint_eq(view.inflight, 0);
    for (unsigned number = 1; flow_at(number) != NULL; number++) {
        ck_assert_uint_eq(flow_at(number)->busy, 0);
    }
}
END_TEST

/* Has a connection, and loses its processor again and again. */
static void *dawdle(void *held)
{
    uint64_t mark = *(uint64_t *)held;
    struct flow *flow = flow_lock(mark);
    __atomic_store_n((uint64_t *)held, 0, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < 2000; i++) {
        sched_yield();
    }
    flow_unlock(flow);
    return NULL;
}

START_TEST(thread_that_has_lost_its_processor_is_waited_for)
{
    int peer, fd = rig_dial(&server, &peer);
    uint64_t mark = fd_mark(fd), held = mark;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, dawdle, &held), 0);
    while (__atomic_load_n(&held, __ATOMIC_ACQUIRE) != 0) {
    }
    struct flow *flow = flow_lock(mark);
    ck_assert_ptr_nonnull(flow);
    ck_assert_int_eq(flow->stage, FLOW_OPEN); /* nothing went by unseen */
    flow_unlock(flow);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(handler_that_interrupts_the_holder_goes_on_without)
{
    int peer, fd = rig_dial(&server, &peer);
    struct flow *flow = flow_lock(fd_mark(fd));
    ck_assert_ptr_nonnull(flow);
    ck_assert_ptr_null(flow_lock(fd_mark(fd)));
    flow_unlock(flow);
    ck_assert_int_eq(rig_say(fd, REQUEST), (ssize_t)strlen(REQUEST));
    rig_counts(acme, 0, 0, 1);
}
END_TEST

#endif

int main(void)
{
    Suite *suite = suite_create("flow threads");
    TCase *tcase = tcase_create("flow threads");
#ifndef __SANITIZE_THREAD__
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, threads_that_trample_on_the_same_descriptors_leave_nothing_behind);
    tcase_add_test(tcase, thread_that_has_lost_its_processor_is_waited_for);
    tcase_add_test(tcase, handler_that_interrupts_the_holder_goes_on_without);
#endif
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
