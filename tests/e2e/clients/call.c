/*
 * A plain HTTP client as legacy programs have it: getaddrinfo, each address in turn, one request, one answer. It knows
 * nothing of prebreak.
 *
 *   call [option...] HOST PORT
 *     --how blocking|poll|again   blocking connect; non-blocking, then poll and SO_ERROR; non-blocking, then a second
 *                                 connect to ask whether it is done
 *     --path PATH   --calls N (0: for ever)   --threads N (each makes that many)   --pause MS (between calls)
 *     --keep        all calls of a thread on one connection, as long as it lasts
 *     --timeout MS  of each wait (poll: of the connect too); without it the client waits for ever
 *     --wait        each thread makes a call for each line that comes on stdin, until it ends (with one thread)
 *
 * One line a call: the status, or what failed and how: `connect ECONNREFUSED`, `send ECONNRESET`, `recv EOF`. The exit
 * status is 0 if the last call was answered, else 1.
 */
/* link with: -lpthread */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum how { BLOCKING, POLL, AGAIN };

static const char *host, *port, *path = "/";
static enum how how = BLOCKING;
static int calls = 1, threads = 1, pause_ms, timeout_ms = -1;
static bool keep, wait_line;

/* libnss-wrapper, which the tests' names come from, is not made for threads. */
static pthread_mutex_t resolver = PTHREAD_MUTEX_INITIALIZER;

/* What failed, and how; errno 0: the end of the stream. */
struct failure {
    const char *what;
    int error;
};

static bool failed(struct failure *f, const char *what, int error)
{
    *f = (struct failure){what, error};
    return false;
}

static bool ready(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n = poll(&p, 1, timeout_ms);
    if (n == 0) {
        errno = ETIMEDOUT;
    }
    return n > 0;
}

static int connect_one(int fd, const struct addrinfo *a)
{
    if (how == BLOCKING) {
        if (timeout_ms > 0) {
            struct timeval t = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
            setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
        }
        return connect(fd, a->ai_addr, a->ai_addrlen);
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS || !ready(fd, POLLOUT)) {
        return -1;
    }
    if (how == AGAIN) {
        return connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EISCONN ? 0 : -1;
    }
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    errno = error;
    return error ? -1 : 0;
}

static int dial(struct failure *f)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    pthread_mutex_lock(&resolver);
    int rc = getaddrinfo(host, port, &hints, &list);
    pthread_mutex_unlock(&resolver);
    if (rc != 0) {
        failed(f, gai_strerror(rc), 0);
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
        if (connect_one(fd, a) != 0) {
            failed(f, "connect", errno);
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

/* Reads into a buffer that has room; false at the end or when it failed. */
static bool read_some(int fd, char *buffer, size_t room, size_t *got, struct failure *f)
{
    for (;;) {
        if (how != BLOCKING && !ready(fd, POLLIN)) {
            return failed(f, "recv", errno);
        }
        ssize_t count = recv(fd, buffer, room, 0);
        if (count > 0) {
            *got = (size_t)count;
            return true;
        }
        if (count == 0 || errno != EAGAIN || how == BLOCKING) {
            return failed(f, "recv", count < 0 ? errno : 0);
        }
    }
}

/* Reads one answer with its body; its status, or 0. */
static int answer(int fd, struct failure *f)
{
    char head[4096], *end = NULL;
    size_t have = 0, got = 0;
    while (!end) {
        if (!read_some(fd, head + have, sizeof head - 1 - have, &got, f)) {
            return 0;
        }
        have += got;
        head[have] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    int status = 0;
    sscanf(head, "HTTP/1.1 %d", &status);
    const char *length = strcasestr(head, "\r\ncontent-length:");
    size_t left = length ? strtoul(length + 17, NULL, 10) : 0, here = have - (size_t)(end + 4 - head);
    for (left -= here < left ? here : left; left > 0; left -= got) {
        if (!read_some(fd, head, left < sizeof head ? left : sizeof head, &got, f)) {
            return 0;
        }
    }
    return status;
}

static int call(int *fd, struct failure *f)
{
    if (*fd < 0) {
        *fd = dial(f);
    }
    if (*fd < 0) {
        return 0;
    }
    char request[1024];
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s:%s\r\n%s\r\n", path, host, port,
                          keep ? "" : "Connection: close\r\n");
    int status = 0;
    if (send(*fd, request, (size_t)length, MSG_NOSIGNAL) != length) {
        failed(f, "send", errno);
    } else {
        status = answer(*fd, f);
    }
    if (!keep || !status) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

static void *caller(void *unused)
{
    (void)unused;
    int fd = -1, status = 0;
    char line[16];
    for (int i = 0; wait_line ? fgets(line, sizeof line, stdin) != NULL : calls == 0 || i < calls; i++) {
        struct failure f = {0};
        status = call(&fd, &f);
        if (status) {
            printf("%d\n", status);
        } else {
            printf("%s %s\n", f.what, f.error ? strerrorname_np(f.error) : "EOF");
        }
        if (pause_ms) {
            nanosleep(&(struct timespec){pause_ms / 1000, pause_ms % 1000 * 1000000L}, NULL);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return status ? (void *)1 : NULL;
}

static int usage(void)
{
    fprintf(stderr, "call [option...] HOST PORT\n");
    return 64;
}

int main(int argc, char **argv)
{
    static const char *const hows[] = {"blocking", "poll", "again"};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *option = argv[i] + 2;
        if (strcmp(option, "keep") == 0 || strcmp(option, "wait") == 0) {
            *(option[0] == 'k' ? &keep : &wait_line) = true;
            continue;
        }
        const char *value = ++i < argc ? argv[i] : "";
        if (strcmp(option, "how") == 0) {
            while (how <= AGAIN && strcmp(hows[how], value) != 0) {
                how++;
            }
        } else if (strcmp(option, "path") == 0) {
            path = value;
        } else {
            int *number = strcmp(option, "calls") == 0     ? &calls
                          : strcmp(option, "threads") == 0 ? &threads
                          : strcmp(option, "pause") == 0   ? &pause_ms
                          : strcmp(option, "timeout") == 0 ? &timeout_ms
                                                           : NULL;
            if (!number) {
                return usage();
            }
            *number = atoi(value);
        }
    }
    if (argc - i != 2 || how > AGAIN || threads < 1 || threads > 256) {
        return usage();
    }
    host = argv[i];
    port = argv[i + 1];
    setvbuf(stdout, NULL, _IOLBF, 0);

    pthread_t thread[256];
    void *answered = NULL, *all = (void *)1;
    for (int n = 1; n < threads; n++) {
        pthread_create(&thread[n], NULL, caller, NULL);
    }
    all = caller(NULL);
    for (int n = 1; n < threads; n++) {
        pthread_join(thread[n], &answered);
        all = answered ? all : NULL;
    }
    return all ? 0 : 1;
}
