/*
 * A connection of which a preload does not see everything.
 *
 *   behind PORT child|passed|raw          one request, then after a line of input another one, and then a write by somebody
 *                                         else: a child, who was handed a copy over a unix socket, a bare system call
 *   behind PORT syscall|asm|passed-away idle|refused
 *                                         one request, after a line of input (`refused`) another one, and after a second
 *                                         line the descriptor goes by other means than close(), and its number becomes a
 *                                         file's
 *   behind PORT outstanding               a request whose connection goes while its answer is to come; after a line of
 *                                         input other requests, until the input ends
 *   behind PORT bare|half-ring|ring|unread [stay]
 *                                         a request whose answer is read by a bare system call, by io_uring (`ring`: and
 *                                         written so), or by nobody; closed a while later, or (`stay`) kept open while
 *                                         other requests are made, one a line of input
 *   behind PORT give                      a request whose answer is read by a child that the connection is passed to
 *
 * Says what came of each step. A signal would kill it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char request[] = "GET / HTTP/1.1\r\nHost: acme.test\r\n\r\n";

static void say(const char *what, bool well)
{
    printf("%s %s\n", what, well ? "well" : strerrorname_np(errno));
}

static void wait_line(void)
{
    char line[10];
    if (fgets(line, sizeof line, stdin) == NULL) {
        exit(1);
    }
}

static int dial(const char *port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((in_port_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        exit(1);
    }
    return fd;
}

static void ask(int fd)
{
    char answer[1000];
    bool sent = send(fd, request, sizeof request - 1, 0) == sizeof request - 1;
    say("request", sent && recv(fd, answer, sizeof answer, 0) > 12);
}

/* ---- past libc ---------------------------------------------------------------------------------------------------- */

static long bare(long number, long a, long b, long c)
{
    long result;
#if defined(__x86_64__)
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    if (result < 0) {
        errno = (int)-result;
        result = -1;
    }
#else
    result = syscall(number, a, b, c);
#endif
    return result;
}

/* One operation by io_uring, waited for; a ring of its own. */
static ssize_t by_ring(int operation, int fd, const void *bytes, size_t length)
{
    struct io_uring_params parameters;
    memset(&parameters, 0, sizeof parameters);
    int ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
    if (ring < 0) {
        exit(77); /* none here */
    }
    size_t rings = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned) + parameters.cq_off.cqes +
                   parameters.cq_entries * sizeof(struct io_uring_cqe);
    char *queues = mmap(NULL, rings, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry =
        mmap(NULL, parameters.sq_entries * sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (!(parameters.features & IORING_FEAT_SINGLE_MMAP) || queues == MAP_FAILED || (void *)entry == MAP_FAILED) {
        exit(77);
    }
    *entry = (struct io_uring_sqe){
        .opcode = (unsigned char)operation, .fd = fd, .addr = (unsigned long)bytes, .len = (unsigned)length};
    ((unsigned *)(void *)(queues + parameters.sq_off.array))[0] = 0;
    __atomic_store_n((unsigned *)(void *)(queues + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) {
        exit(77);
    }
    ssize_t result = ((struct io_uring_cqe *)(void *)(queues + parameters.cq_off.cqes))->res;
    munmap(entry, parameters.sq_entries * sizeof *entry);
    munmap(queues, rings);
    close(ring);
    return result;
}

/* ---- handing over ------------------------------------------------------------------------------------------------- */

union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

static void hand_over(int way, int fd)
{
    union control control;
    char byte = 'x';
    struct iovec iov = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memset(&control, 0, sizeof control);
    control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    if (sendmsg(way, &message, 0) != 1) {
        exit(1);
    }
}

static int take_over(int way)
{
    union control control;
    char byte;
    int fd;
    struct iovec iov = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(way, &message, 0) != 1) {
        exit(1);
    }
    memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
    return fd;
}

/* ---- who else writes ---------------------------------------------------------------------------------------------- */

static bool child_writes(pid_t child, int way)
{
    int status;
    if (write(way, "x", 1) != 1 || waitpid(child, &status, 0) != child) {
        return false;
    }
    errno = WIFSIGNALED(status) ? EINTR : 0;
    return status == 0;
}

static void others_write(const char *port, const char *how)
{
    int fd = dial(port), ways[2];
    ask(fd);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ways) != 0) {
        exit(1);
    }
    pid_t child = -1;
    int copy = -1;
    if (strcmp(how, "child") == 0) {
        fflush(stdout);
        child = fork();
        if (child == 0) {
            char byte;
            _exit(read(ways[1], &byte, 1) == 1 && write(fd, "x", 1) == 1 ? 0 : 1);
        }
    } else if (strcmp(how, "passed") == 0) {
        hand_over(ways[0], fd);
        copy = take_over(ways[1]);
    }
    wait_line();
    ask(fd);
    if (child != -1) {
        say("child", child_writes(child, ways[0]));
    } else if (copy != -1) {
        say("passed", write(copy, "x", 1) == 1);
    } else {
        say("raw", bare(SYS_write, fd, (long)"x", 1) == 1);
    }
}

/* ---- a file in its place ------------------------------------------------------------------------------------------ */

/* By everything that writes, to a file whose number was a connection's. */
static bool fill(int fd)
{
    const size_t length = sizeof request - 1;
    ssize_t whole = (ssize_t)length;
    struct iovec iov[2] = {{(char *)(size_t)request, 10}, {(char *)(size_t)request + 10, length - 10}};
    int ends[2], source = open("source", O_RDWR | O_CREAT, 0600);
    bool well = source >= 0 && pipe(ends) == 0 && bare(SYS_write, source, (long)request, whole) == whole;
    well = write(fd, request, length) == whole && well;
    well = writev(fd, iov, 2) == whole && well;
    well = lseek(source, 0, SEEK_SET) == 0 && sendfile(fd, source, NULL, length) == whole && well;
    well = write(ends[1], request, length) == whole && splice(ends[0], NULL, fd, NULL, length, 0) == whole && well;
    well = dprintf(fd, "%s", request) == whole && well;
    well = send(fd, request, length, 0) == -1 && errno == ENOTSOCK && well;
    return well && close(source) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0;
}

static void number_becomes_a_files(const char *port, const char *how, bool refused)
{
    int fd = dial(port), ways[2];
    ask(fd);
    wait_line();
    if (refused) {
        ask(fd);
    }
    wait_line();
    if (strcmp(how, "asm") == 0) {
        bare(SYS_close, fd, 0, 0);
    } else if (strcmp(how, "syscall") == 0) {
        syscall(SYS_close, fd);
    } else {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ways) != 0) {
            exit(1);
        }
        hand_over(ways[0], fd);
        bare(SYS_close, fd, 0, 0);
    }
    /* Not by open(), which may look at the number that it hands out. */
    bool same = bare(SYS_open, (long)"file", O_RDWR | O_CREAT | O_TRUNC, 0600) == fd;
    say("number", same);
    say("written", fill(fd));
    struct stat status;
    char bytes[5 * (sizeof request - 1)];
    bool whole =
        fstat(fd, &status) == 0 && status.st_size == sizeof bytes && pread(fd, bytes, sizeof bytes, 0) == sizeof bytes;
    for (size_t i = 0; whole && i < 5; i++) {
        whole = memcmp(bytes + i * (sizeof request - 1), request, sizeof request - 1) == 0;
    }
    say("file", whole);
    say("close", close(fd) == 0);
}

static void answer_still_to_come(const char *port)
{
    int fd = dial(port);
    say("sent", send(fd, request, sizeof request - 1, 0) == sizeof request - 1);
    bare(SYS_close, fd, 0, 0);
    for (char line[10]; fgets(line, sizeof line, stdin) != NULL;) {
        /* Above the number that was the connection's: that goes on to be what it is taken for */
        int keep = (int)bare(SYS_dup, 0, 0, 0), other = dial(port);
        ask(other);
        close(other);
        bare(SYS_close, keep, 0, 0);
    }
}

static void not_listened(const char *port, const char *how, bool stay)
{
    int fd = dial(port);
    char answer[1000];
    if (strcmp(how, "ring") == 0) {
        say("sent", by_ring(IORING_OP_SEND, fd, request, sizeof request - 1) == sizeof request - 1);
    } else {
        say("sent", send(fd, request, sizeof request - 1, 0) == sizeof request - 1);
    }
    if (strcmp(how, "bare") == 0) {
        say("read", bare(SYS_read, fd, (long)answer, sizeof answer) > 12);
    } else if (strcmp(how, "unread") != 0) {
        say("read", by_ring(IORING_OP_RECV, fd, answer, sizeof answer) > 12);
    }
    for (char line[10]; fgets(line, sizeof line, stdin) != NULL;) {
        int other = stay ? dial(port) : -1;
        if (stay) {
            ask(other);
            close(other);
        }
    }
    say("close", close(fd) == 0);
}

static void give(const char *port)
{
    int fd = dial(port), ways[2], status;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ways) != 0) {
        exit(1);
    }
    pid_t child = fork();
    if (child == 0) {
        char answer[1000];
        close(fd);
        int given = take_over(ways[1]);
        _exit(recv(given, answer, sizeof answer, 0) > 12 ? 0 : 1);
    }
    say("sent", send(fd, request, sizeof request - 1, 0) == sizeof request - 1);
    wait_line();
    hand_over(ways[0], fd);
    close(fd);
    say("answered", waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **words)
{
    if (count < 3) {
        return 64;
    }
    signal(SIGPIPE, SIG_DFL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool others = strcmp(words[2], "child") == 0 || strcmp(words[2], "passed") == 0 || strcmp(words[2], "raw") == 0;
    if (others) {
        others_write(words[1], words[2]);
    } else if (strcmp(words[2], "outstanding") == 0) {
        answer_still_to_come(words[1]);
    } else if (strcmp(words[2], "bare") == 0 || strcmp(words[2], "unread") == 0 || strcmp(words[2], "ring") == 0 ||
               strcmp(words[2], "half-ring") == 0) {
        not_listened(words[1], words[2], count > 3);
    } else if (strcmp(words[2], "give") == 0) {
        give(words[1]);
    } else {
        number_becomes_a_files(words[1], words[2], strcmp(words[count - 1], "refused") == 0);
    }
    return 0;
}
