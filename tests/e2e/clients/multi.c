/*
 * A program of libcurl's multi interface: all URLs at once, driven in a way of its choice. It knows nothing of prebreak.
 *
 *   multi HOW [OPTION...] URL...
 *     HOW        wait, poll, fdset: curl_multi_perform in between; busy: that alone; epoll: curl_multi_socket_action;
 *                socket, all: its forerunners curl_multi_socket and curl_multi_socket_all, by epoll too
 *     rounds=N   everything so many times, with the same handles;  line: waits for a line on stdin before each further round
 *     host=N     connections to a host at a time;  total=N: to all
 *     timeout=MS  follow  connect-only  resolve=HOST:PORT:ADDRESS
 *     http2      streams of one connection, over TLS; the certificate is not looked at
 *     unread     never asks for messages: says what it finds when a transfer is taken back, when all are over
 *     remove=MS  takes all back after so long;  cleanup=MS: frees the easy handles instead;  drop=MS: the multi handle
 *     thread     adds in one thread, and drives in another
 *     dup        adds duplicates of the handles, made after these stood in a multi handle
 *     share      all share their connections, also with an easy transfer to each URL before
 *     nested     each write callback makes an easy transfer to the same URL, and tries to add another to the multi handle
 *     stranger   makes the first handle by a function of libcurl's that it looks up itself
 *     late       reads messages only when nothing runs any more
 *
 * Says NUMBER CODE STATUS OS_ERRNO and the error buffer of each transfer as its message comes (CODE - without one).
 */
/* link with: -lcurl -lpthread */
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#undef curl_multi_socket

#define TRANSFERS 256

static struct transfer {
    CURL *easy;
    char error[CURL_ERROR_SIZE];
    bool inside;
} transfers[TRANSFERS];

static CURLM *multi;
static int count, running, poller = -1;
static long timer = -1; /* ms, as libcurl wants it */
static const char *how;
static struct curl_slist *addresses;
static CURLSH *shared;

static struct {
    int rounds, remove, cleanup, drop;
    bool line, unread, thread, dup, late, share, nested;
} options = {.rounds = 1, .remove = -1, .cleanup = -1, .drop = -1};

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static size_t swallow(char *bytes, size_t size, size_t number, void *unused)
{
    (void)bytes, (void)unused;
    return size * number;
}

static CURL *another(struct transfer *transfer, curl_write_callback write)
{
    CURL *easy = curl_easy_duphandle(transfer->easy);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
    return easy;
}

static size_t nest(char *bytes, size_t size, size_t number, void *context)
{
    CURL *easy = another(context, swallow);
    (void)bytes;
    printf("nested %d %d\n", curl_easy_perform(easy), curl_multi_add_handle(multi, easy));
    curl_easy_cleanup(easy);
    return size * number;
}

/* ---- what it says --------------------------------------------------------------------------------------------------- */

static void say(struct transfer *transfer, const char *code)
{
    long status = 0, number = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &number);
    printf("%d %s %ld %ld %s\n", (int)(transfer - transfers), code, status, number, transfer->error);
    fflush(stdout);
}

static void take_back(struct transfer *transfer)
{
    if (transfer->inside) {
        curl_multi_remove_handle(multi, transfer->easy);
        transfer->inside = false;
    }
}

static void read_messages(void)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        struct transfer *transfer = NULL;
        char code[16];
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        snprintf(code, sizeof code, "%d", message->data.result);
        take_back(transfer);
        say(transfer, code);
    }
}

/* ---- how it is driven ----------------------------------------------------------------------------------------------- */

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *known)
{
    struct epoll_event event = {.data.fd = socket};
    (void)easy, (void)context, (void)known;
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(poller, EPOLL_CTL_DEL, socket, &event);
    } else if (epoll_ctl(poller, EPOLL_CTL_MOD, socket, &event) != 0) {
        epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event);
    }
    return 0;
}

static int on_timer(CURLM *of, long ms, void *context)
{
    (void)of, (void)context;
    timer = ms < 0 ? -1 : now() + ms;
    return 0;
}

static void act(curl_socket_t socket, int events)
{
    if (strcmp(how, "all") == 0) {
        curl_multi_socket_all(multi, &running);
    } else if (strcmp(how, "socket") == 0) {
        curl_multi_socket(multi, socket, &running);
    } else {
        curl_multi_socket_action(multi, socket, events, &running);
    }
}

static void turn_by_events(void)
{
    struct epoll_event events[16];
    long wait = timer < 0 ? 50 : timer - now();
    int ready = epoll_wait(poller, events, 16, wait < 0 ? 0 : wait > 50 ? 50 : (int)wait);
    for (int i = 0; i < ready; i++) {
        act(events[i].data.fd, (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0));
    }
    if (timer >= 0 && timer <= now()) {
        timer = -1;
        act(CURL_SOCKET_TIMEOUT, 0);
    }
}

static void wait_by_fdset(void)
{
    fd_set in, out, error;
    int highest = -1;
    struct timeval wait = {.tv_usec = 20000};
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_ZERO(&error);
    curl_multi_fdset(multi, &in, &out, &error, &highest);
    select(highest + 1, &in, &out, &error, &wait);
}

static void turn(void)
{
    if (poller >= 0) {
        turn_by_events();
        return;
    }
    curl_multi_perform(multi, &running);
    if (running == 0 || strcmp(how, "busy") == 0) {
        return;
    }
    if (strcmp(how, "fdset") == 0) {
        wait_by_fdset();
    } else if (strcmp(how, "poll") == 0) {
        curl_multi_poll(multi, NULL, 0, 20, NULL);
    } else {
        curl_multi_wait(multi, NULL, 0, 20, NULL);
    }
}

/* ---- a round -------------------------------------------------------------------------------------------------------- */

static void *drive(void *unused)
{
    long begun = now();
    running = count;
    do {
        turn();
        if (!options.unread && (!options.late || running == 0)) {
            read_messages();
        }
        long took = now() - begun;
        if ((options.remove >= 0 && took >= options.remove) || (options.cleanup >= 0 && took >= options.cleanup) ||
            (options.drop >= 0 && took >= options.drop)) {
            break;
        }
    } while (running > 0);
    return unused;
}

static void add(struct transfer *transfer)
{
    transfer->error[0] = '\0';
    if (options.dup) {
        CURL *copy = curl_easy_duphandle(transfer->easy);
        curl_multi_add_handle(multi, transfer->easy); /* so that the copy is of one that may be refused */
        curl_easy_cleanup(curl_easy_duphandle(transfer->easy));
        curl_multi_remove_handle(multi, transfer->easy);
        curl_easy_cleanup(transfer->easy);
        transfer->easy = copy;
    }
    if (options.share) {
        CURL *easy = another(transfer, swallow);
        curl_easy_perform(easy);
        curl_easy_cleanup(easy);
    }
    curl_multi_add_handle(multi, transfer->easy);
    transfer->inside = true;
}

static void one_round(void)
{
    pthread_t thread;
    for (int i = 0; i < count; i++) {
        add(&transfers[i]);
    }
    if (options.thread && pthread_create(&thread, NULL, drive, NULL) == 0) {
        pthread_join(thread, NULL);
    } else {
        drive(NULL);
    }
    for (int i = 0; i < count; i++) {
        struct transfer *transfer = &transfers[i];
        if (options.cleanup >= 0) {
            curl_easy_cleanup(transfer->easy);
            transfer->easy = NULL;
        } else if (options.drop < 0 && transfer->inside) {
            take_back(transfer);
            say(transfer, "-");
        }
    }
}

/* ---- options -------------------------------------------------------------------------------------------------------- */

static void begin(void)
{
    static const char *const by_events[] = {"epoll", "socket", "all"};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    for (unsigned i = 0; i < sizeof by_events / sizeof *by_events; i++) {
        if (strcmp(how, by_events[i]) == 0) {
            poller = epoll_create1(EPOLL_CLOEXEC);
            curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
            curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
        }
    }
}

static CURL *strange(void)
{
    void *library = dlopen("libcurl.so.4", RTLD_NOW);
    union {
        void *object;
        CURL *(*init)(void);
    } found = {dlsym(library, "curl_easy_init")};
    return found.init();
}

static void make(const char *url, bool stranger)
{
    struct transfer *transfer = &transfers[count++];
    transfer->easy = stranger ? strange() : curl_easy_init();
    curl_easy_setopt(transfer->easy, CURLOPT_URL, url);
    curl_easy_setopt(transfer->easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(transfer->easy, CURLOPT_RESOLVE, addresses);
}

#define EACH(option, value)                                                                                            \
    for (int each = 0; each < count; each++) {                                                                         \
        curl_easy_setopt(transfers[each].easy, option, value);                                                         \
    }

static void set(const char *name, long value, const char *text)
{
    if (strcmp(name, "rounds") == 0) {
        options.rounds = (int)value;
    } else if (strcmp(name, "remove") == 0) {
        options.remove = (int)value;
    } else if (strcmp(name, "cleanup") == 0) {
        options.cleanup = (int)value;
    } else if (strcmp(name, "drop") == 0) {
        options.drop = (int)value;
    } else if (strcmp(name, "line") == 0) {
        options.line = true;
    } else if (strcmp(name, "unread") == 0) {
        options.unread = true;
    } else if (strcmp(name, "thread") == 0) {
        options.thread = true;
    } else if (strcmp(name, "dup") == 0) {
        options.dup = true;
    } else if (strcmp(name, "share") == 0) {
        options.share = true;
        shared = curl_share_init();
        curl_share_setopt(shared, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
        EACH(CURLOPT_SHARE, shared)
    } else if (strcmp(name, "nested") == 0) {
        for (int i = 0; i < count; i++) {
            curl_easy_setopt(transfers[i].easy, CURLOPT_WRITEFUNCTION, nest);
            curl_easy_setopt(transfers[i].easy, CURLOPT_WRITEDATA, &transfers[i]);
        }
    } else if (strcmp(name, "stranger") == 0) {
        return; /* it was made so */
    } else if (strcmp(name, "late") == 0) {
        options.late = true;
    } else if (strcmp(name, "host") == 0) {
        curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, value);
    } else if (strcmp(name, "total") == 0) {
        curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, value);
    } else if (strcmp(name, "timeout") == 0) {
        EACH(CURLOPT_TIMEOUT_MS, value)
    } else if (strcmp(name, "follow") == 0) {
        EACH(CURLOPT_FOLLOWLOCATION, 1L)
    } else if (strcmp(name, "http2") == 0) {
        EACH(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS)
        EACH(CURLOPT_SSL_VERIFYPEER, 0L)
        EACH(CURLOPT_SSL_VERIFYHOST, 0L)
        EACH(CURLOPT_PIPEWAIT, 1L)
    } else if (strcmp(name, "connect-only") == 0) {
        EACH(CURLOPT_CONNECT_ONLY, 1L)
    } else if (strcmp(name, "resolve") == 0) {
        addresses = curl_slist_append(addresses, text);
        EACH(CURLOPT_RESOLVE, addresses)
    } else {
        fprintf(stderr, "multi: %s\n", name);
        exit(64);
    }
}

int main(int argc, char **argv)
{
    bool stranger = false;
    how = argc > 1 ? argv[1] : "wait";
    begin();
    for (int i = 2; i < argc && count < TRANSFERS; i++) {
        stranger = stranger || strcmp(argv[i], "stranger") == 0;
        if (strstr(argv[i], "://") != NULL) {
            make(argv[i], stranger && count == 0);
        }
    }
    for (int i = 2; i < argc; i++) {
        if (strstr(argv[i], "://") == NULL) {
            char *value = strchr(argv[i], '=');
            if (value != NULL) {
                *value++ = '\0';
            }
            set(argv[i], value != NULL ? strtol(value, NULL, 10) : 0, value);
        }
    }
    for (int i = 0; i < options.rounds; i++) {
        char line[16];
        if (i > 0 && options.line && fgets(line, sizeof line, stdin) == NULL) {
            return 1;
        }
        one_round();
    }
    curl_multi_cleanup(multi);
    for (int i = 0; i < count; i++) {
        curl_easy_cleanup(transfers[i].easy);
    }
    curl_share_cleanup(shared);
    curl_slist_free_all(addresses);
    curl_global_cleanup();
    return 0;
}
