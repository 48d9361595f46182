/*
 * Messages and vectors, several at once and in part: what of them was moved is what is counted.
 */
#include "suite.h"
#include "flow_rig.h"
#include <sys/mman.h>

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
    fd = rig_dial(&server, &peer);
}

/* A text as so many messages of one vector each. */
static unsigned messages_of(const char *text, struct mmsghdr *messages, struct iovec *vectors, unsigned count)
{
    size_t length = strlen(text);
    for (unsigned i = 0; i < count; i++) {
        size_t from = length * i / count;
        vectors[i] = (struct iovec){(char *)(uintptr_t)text + from, length * (i + 1) / count - from};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1}};
    }
    return count;
}

/* Sends as many of them as the kernel is said to take. */
static int send_some(struct mmsghdr *messages, unsigned count, unsigned taken)
{
    uint64_t mark = fd_mark(fd);
    ck_assert(traffic_ask_messages(fd, mark, messages, count));
    return traffic_sent_messages(fd, mark, messages, sendmmsg(fd, messages, taken, MSG_NOSIGNAL));
}

START_TEST(messages_of_which_the_kernel_takes_some_are_one_request_with_the_rest)
{
    struct mmsghdr messages[4];
    struct iovec vectors[4];
    unsigned count = messages_of(REQUEST, messages, vectors, 4);
    ck_assert_int_eq(send_some(messages, count, 2), 2);
    ck_assert_int_eq(send_some(messages + 2, count - 2, 1), 1);
    errno = EAGAIN; /* and it would have to wait for the last one */
    ck_assert_int_eq(traffic_sent_messages(fd, fd_mark(fd), messages + 3, -1), -1);
    ck_assert_int_eq(send_some(messages + 3, 1, 1), 1);
    rig_answer(peer, BAD);
    ck_assert_int_gt(rig_receive(fd, 0), 0);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(messages_before_one_that_cannot_be_read_are_read_and_an_error_after_them_counts)
{
    struct iovec vector = {(void *)8, 10};
    struct mmsghdr messages[2];
    struct iovec good;
    messages_of(REQUEST, messages, &good, 1);
    messages[1] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}};
    ck_assert_int_eq(send_some(messages, 2, 2), 1);
    rig_reset(peer);
    char byte;
    struct iovec in = {&byte, 1};
    struct mmsghdr read = {.msg_hdr = {.msg_iov = &in, .msg_iovlen = 1}};
    ck_assert_int_eq(traffic_received_messages(fd, fd_mark(fd), &read, 0, recvmmsg(fd, &read, 1, 0, NULL)), -1);
    ck_assert_int_eq(errno, ECONNRESET);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(answer_in_several_messages_and_its_end_is_one_answer)
{
    rig_say(fd, "GET / HTTP/1.0\r\n\r\n");
    rig_answer(peer, "HTTP/1.1 503 No\r\n\r\nall until the end");
    real_close(peer);
    char bytes[3][20];
    struct iovec vectors[3];
    struct mmsghdr messages[3];
    for (unsigned i = 0; i < 3; i++) {
        vectors[i] = (struct iovec){bytes[i], sizeof bytes[i]};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1}};
    }
    int count = recvmmsg(fd, messages, 3, 0, NULL);
    ck_assert_int_eq(count, 3);
    ck_assert_int_eq(traffic_received_messages(fd, fd_mark(fd), messages, 0, count), count);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(answer_that_is_thrown_away_unread_was_one)
{
    rig_say(fd, REQUEST);
    rig_answer(peer, GOOD);
    char bytes[100];
    struct iovec vector = {bytes, sizeof bytes};
    ssize_t result = real_recv(fd, bytes, sizeof bytes, MSG_TRUNC);
    ck_assert_int_eq(result, (ssize_t)strlen(GOOD));
    ck_assert_int_eq(traffic_received(fd, fd_mark(fd), &vector, 1, MSG_TRUNC, result), result);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(what_is_measured_noted_or_urgent_is_no_answer)
{
    rig_say(fd, REQUEST);
    const int flags[] = {MSG_PEEK | MSG_TRUNC, MSG_OOB, MSG_ERRQUEUE, MSG_PEEK | MSG_WAITALL};
    char bytes[] = GOOD;
    struct iovec vector = {bytes, sizeof bytes - 1};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        traffic_received(fd, fd_mark(fd), &vector, 1, flags[i], (ssize_t)sizeof bytes - 1);
    }
    rig_counts(acme, 0, 0, 0);
    rig_answer(peer, BAD);
    rig_receive(fd, MSG_WAITALL | MSG_DONTWAIT);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(body_that_goes_by_unseen_both_ways_leaves_the_connection_followed)
{
    for (int i = 0; i < 3; i++) {
        rig_say(fd, "POST / HTTP/1.1\r\nHost: whatever.test\r\nContent-Length: 1000\r\n\r\n");
        char bytes[1000] = {0};
        uint64_t mark = fd_mark(fd);
        ck_assert_uint_ne(mark, 0);
        ck_assert(traffic_ask(fd, mark, NULL, 0));
        traffic_sent_unseen(fd, mark, real_send(fd, bytes, 400, 0));
        traffic_sent_unseen(fd, mark, real_send(fd, bytes, 600, 0));
        rig_answer(peer, "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n");
        ck_assert_int_gt(rig_receive(fd, 0), 0);
        ck_assert_int_eq(real_send(peer, bytes, 300, 0), 300);
        traffic_received_unseen(fd, mark, 1000, real_recv(fd, bytes, 1000, 0));
        rig_counts(acme, (unsigned)i + 1, 0, 0);
    }
}
END_TEST

START_TEST(more_than_a_body_unseen_is_lost_and_charged_to_nobody)
{
    rig_say(fd, "POST / HTTP/1.1\r\nHost: whatever.test\r\nContent-Length: 10\r\n\r\n");
    char bytes[100] = {0};
    uint64_t mark = fd_mark(fd);
    traffic_sent_unseen(fd, mark, real_send(fd, bytes, 50, 0));
    rig_answer(peer, BAD);
    ck_assert_int_gt(rig_receive(fd, 0), 0);
    rig_counts(acme, 0, 1, 0);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(vectors_that_cannot_be_read_are_passed_on)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct mmsghdr message = {.msg_hdr = {.msg_iov = (struct iovec *)(void *)page, .msg_iovlen = 3}};
    ck_assert(traffic_ask_messages(fd, fd_mark(fd), &message, 1));
    ck_assert(traffic_ask_messages(fd, fd_mark(fd), (struct mmsghdr *)(void *)page, 1));
    ck_assert(traffic_ask_vector(fd, fd_mark(fd), (struct iovec *)(void *)page, 3));
    errno = EFAULT;
    ck_assert_int_eq(traffic_sent_vector(fd, fd_mark(fd), (struct iovec *)(void *)page, 3, -1), -1);
    rig_counts(acme, 0, 0, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("messages");
    TCase *tcase = tcase_create("messages");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    const TTest *tests[] = {
        messages_of_which_the_kernel_takes_some_are_one_request_with_the_rest,
        messages_before_one_that_cannot_be_read_are_read_and_an_error_after_them_counts,
        answer_in_several_messages_and_its_end_is_one_answer,
        answer_that_is_thrown_away_unread_was_one,
        what_is_measured_noted_or_urgent_is_no_answer,
        body_that_goes_by_unseen_both_ways_leaves_the_connection_followed,
        more_than_a_body_unseen_is_lost_and_charged_to_nobody,
        vectors_that_cannot_be_read_are_passed_on,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
