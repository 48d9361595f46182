/*
 * Descriptors that are copied, handed on, closed behind everybody's back and used again, by all the means there are. What
 * is said must be the same with prebreak and without.
 *
 *   descriptors             everything at once; the connections are its own
 *   descriptors vfork PORT  a child of vfork mixes up what a datagram socket and a stream are, another uses the number of
 *                           a connection again, a third ends as a whole process does; then two calls on that connection
 *   descriptors inherited OURS THEIRS   one exchange over these two
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static struct sockaddr_in listening;
static int listener;

static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

static void check(bool so, const char *what)
{
    if (!so) {
        printf("NOT SO: %s (%s)\n", what, strerror(errno));
    }
}
#define CHECK(condition) check(condition, #condition)

struct pair {
    int ours, theirs;
};

static struct pair pair(void)
{
    struct pair made = {socket(AF_INET, SOCK_STREAM, 0), -1};
    CHECK(connect(made.ours, (struct sockaddr *)&listening, sizeof listening) == 0);
    made.theirs = accept(listener, NULL, NULL);
    return made;
}

/* One exchange over it, both sides ours. */
static void exchange(int ours, int theirs)
{
    char bytes[200];
    CHECK(send(ours, request, sizeof request - 1, MSG_NOSIGNAL) == sizeof request - 1);
    CHECK(read(theirs, bytes, sizeof bytes) == sizeof request - 1);
    CHECK(write(theirs, answer, sizeof answer - 1) == sizeof answer - 1);
    CHECK(recv(ours, bytes, sizeof bytes, 0) == sizeof answer - 1 && memcmp(bytes, answer, sizeof answer - 1) == 0);
}

static void ended_well(pid_t child)
{
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static void copies(void)
{
    struct pair made = pair();
    int copy[] = {dup(made.ours), dup2(made.ours, 200), dup3(made.ours, 201, O_CLOEXEC), fcntl(made.ours, F_DUPFD, 202),
                  fcntl(made.ours, F_DUPFD_CLOEXEC, 203)};
    close(made.ours);
    for (size_t i = 0; i < sizeof copy / sizeof *copy; i++) {
        exchange(copy[i], made.theirs);
        CHECK(close(copy[i]) == 0);
    }
    char byte;
    CHECK(read(made.theirs, &byte, 1) == 0);
    close(made.theirs);
    /* Over one that is in use, and over itself. */
    struct pair one = pair();
    struct pair two = pair();
    CHECK(dup2(one.ours, two.ours) == two.ours);
    CHECK(read(two.theirs, &byte, 1) == 0);
    exchange(two.ours, one.theirs);
    CHECK(dup2(two.ours, two.ours) == two.ours);
    exchange(one.ours, one.theirs);
    close(one.ours);
    close(two.ours);
    close(one.theirs);
    close(two.theirs);
}

/* ---- the number is a file's now ----------------------------------------------------------------------------------- */

/* Closed so that no library could see it. */
static void close_unseen(int fd)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_close), "D"(fd) : "rcx", "r11", "memory");
#else
    syscall(SYS_close, fd);
#endif
}

static void file_in_its_place(bool asked)
{
    struct pair made = pair();
    if (asked) {
        exchange(made.ours, made.theirs);
    }
    close_unseen(made.ours);
    char name[] = "file-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd == made.ours);
    unlink(name);
    for (int i = 0; i < 10; i++) {
        CHECK(write(fd, request, sizeof request - 1) == sizeof request - 1);
    }
    struct stat status;
    CHECK(fstat(fd, &status) == 0 && status.st_size == 10 * (off_t)(sizeof request - 1));
    char bytes[sizeof request - 1];
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK(read(fd, bytes, sizeof bytes) == sizeof bytes && memcmp(bytes, request, sizeof bytes) == 0);
    CHECK(close(fd) == 0);
    close(made.theirs);
}

/* ---- children ----------------------------------------------------------------------------------------------------- */

static void children(void)
{
    struct pair made = pair();
    pid_t child = fork();
    if (child == 0) {
        exchange(made.ours, made.theirs);
        close(made.ours);
        struct pair own = pair();
        exchange(own.ours, own.theirs);
        exit(0);
    }
    ended_well(child);
    exchange(made.ours, made.theirs);

    child = vfork();
    if (child == 0) {
        dup2(made.theirs, made.ours);
        close(made.theirs);
        close_range(3, ~0U, 0);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    ended_well(child);
    exchange(made.ours, made.theirs);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, made.ours, 7);
    posix_spawn_file_actions_addclose(&actions, made.ours);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    CHECK(posix_spawn(&child, "/bin/true", &actions, NULL, (char *[]){(char[]){"true"}, NULL}, environ) == 0);
    ended_well(child);
    CHECK(system("true") == 0);
    exchange(made.ours, made.theirs);

    /* What a program inherits over exec it uses as ever. */
    child = fork();
    if (child == 0) {
        char ours[20], theirs[20];
        snprintf(ours, sizeof ours, "%d", made.ours);
        snprintf(theirs, sizeof theirs, "%d", made.theirs);
        execl("/proc/self/exe", "descriptors", "inherited", ours, theirs, (char *)NULL);
        _exit(1);
    }
    ended_well(child);
    exchange(made.ours, made.theirs);

    /* A raw clone that shares nothing, as container runtimes make it. */
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        struct pair own = pair();
        exchange(own.ours, own.theirs);
        _exit(0);
    }
    ended_well(child);
    exchange(made.ours, made.theirs);
    CHECK(close(made.ours) == 0 && close(made.theirs) == 0);
}

/* ---- gone into the background --------------------------------------------------------------------------------------- */

/* Twice forked, with a session of its own, and as daemon() does it: the connection is used by who is left. */
static void background(void)
{
    struct pair made = pair();
    int status[2];
    CHECK(pipe(status) == 0);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            exchange(made.ours, made.theirs);
            struct pair own = pair();
            exchange(own.ours, own.theirs);
            if (daemon(1, 1) != 0) {
                _exit(1);
            }
            exchange(made.ours, made.theirs);
            exchange(own.ours, own.theirs);
            own = pair();
            exchange(own.ours, own.theirs);
            _exit(write(status[1], "x", 1) == 1 ? 0 : 1);
        }
        waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    ended_well(child);
    close(status[1]);
    char byte;
    CHECK(read(status[0], &byte, 1) == 1);
    close(status[0]);
    exchange(made.ours, made.theirs);
    close(made.ours);
    close(made.theirs);
}

/* Many children, by vfork and otherwise, around a connection in use. */
static void many_children(void)
{
    struct pair made = pair();
    for (int i = 0; i < 20; i++) {
        pid_t child = vfork();
        if (child == 0) {
            close(made.ours);
            dup2(made.theirs, made.ours);
            close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
            closefrom(3);
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        ended_well(child);
        exchange(made.ours, made.theirs);
    }
    FILE *stream = popen("true", "r");
    CHECK(stream != NULL && pclose(stream) == 0);
    exchange(made.ours, made.theirs);
    close(made.ours);
    close(made.theirs);
}

/* ---- handed on ------------------------------------------------------------------------------------------------------ */

union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

/* A copy of a descriptor, by a message to oneself. */
static int passed(int fd)
{
    int ways[2], copy = -1;
    char byte = 'x';
    union control control = {
        .head = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec iov = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0 && sendmsg(ways[0], &message, 0) == 1);
    memset(&control, 0, sizeof control);
    message.msg_controllen = sizeof control;
    CHECK(recvmsg(ways[1], &message, MSG_CMSG_CLOEXEC) == 1);
    memcpy(&copy, CMSG_DATA(&control.head), sizeof copy);
    close(ways[0]);
    close(ways[1]);
    return copy;
}

static void handed_on(void)
{
    struct pair made = pair();
    exchange(made.ours, made.theirs);
    int copy = passed(made.ours);
    exchange(copy, made.theirs);
    exchange(made.ours, made.theirs); /* its sender keeps it */
    CHECK(close(made.ours) == 0);     /* and closes it */
    exchange(copy, made.theirs);
    CHECK(close(copy) == 0);
    char byte;
    CHECK(read(made.theirs, &byte, 1) == 0);
    close(made.theirs);
}

static int stranger(void *with)
{
    struct pair *made = with;
    exchange(made->ours, made->theirs);
    dup2(made->theirs, made->ours);
    close(made->theirs);
    _exit(0);
}

/* Shares memory, and not the descriptors. */
static void cloned(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    struct pair made = pair();
    ended_well(clone(stranger, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &made));
    exchange(made.ours, made.theirs);
    close(made.ours);
    close(made.theirs);
}

/* ---- whole ranges ------------------------------------------------------------------------------------------------- */

static void ranges(void)
{
    struct pair made[20];
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 20; i++) {
            made[i] = pair();
        }
        CHECK(close_range((unsigned)made[0].ours, (unsigned)made[9].theirs, 0) == 0);
        exchange(made[10].ours, made[10].theirs);
        closefrom(listener + 1);
        struct pair own = pair();
        exchange(own.ours, own.theirs);
        exit(0);
    }
    ended_well(child);
}

/* One thread takes leave of the others' descriptors, and closes all that it has. */
static void *leaving(void *unused)
{
    (void)unused;
    CHECK(close_range(3, ~0U, CLOSE_RANGE_UNSHARE) == 0);
    int fd = open("/dev/null", O_RDWR);
    for (int i = 0; i < 10; i++) {
        CHECK(write(fd, request, sizeof request - 1) == sizeof request - 1);
    }
    CHECK(fd == 3 && close(fd) == 0);
    return NULL;
}

static void parted(void)
{
    struct pair made = pair();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, leaving, NULL) == 0);
    pthread_join(thread, NULL);
    exchange(made.ours, made.theirs);
    CHECK(close(made.ours) == 0 && close(made.theirs) == 0);
    made = pair();
    exchange(made.ours, made.theirs);
    CHECK(close(made.ours) == 0 && close(made.theirs) == 0);
}

/* ---- high numbers ------------------------------------------------------------------------------------------------- */

static void high(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    const struct rlimit before = limit, million = {1 << 20, 1 << 20};
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    setrlimit(RLIMIT_NOFILE, &million); /* if this is root */
    struct pair made = pair();
    const int places[] = {1023, 1024, 65535, 65536, (1 << 20) - 1, 1 << 20, (1 << 30) - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int fd = dup2(made.ours, places[i]);
        if (fd >= 0) {
            exchange(fd, made.theirs);
            close(fd);
        }
    }
    exchange(made.ours, made.theirs);
    close(made.ours);
    close(made.theirs);
    setrlimit(RLIMIT_NOFILE, &before);
}

/* ---- threads on the same numbers ---------------------------------------------------------------------------------- */

static int racing;

static void *race(void *unused)
{
    (void)unused;
    unsigned seed = (unsigned)(uintptr_t)&seed;
    while (__atomic_load_n(&racing, __ATOMIC_RELAXED)) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fd, (struct sockaddr *)&listening, sizeof listening);
        send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
        char byte;
        recv(fd, &byte, 1, 0);
        /* Somebody else's number, sometimes: 300 to 307 belong to all the threads. */
        int place = 300 + rand_r(&seed) % 8;
        dup2(fd, place);
        send(place, "x", 1, MSG_NOSIGNAL);
        close(fd);
        if (rand_r(&seed) % 4 == 0) {
            close_unseen(dup2(listener, place));
        }
    }
    return NULL;
}

static void *answering(void *unused)
{
    (void)unused;
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0 && __atomic_load_n(&racing, __ATOMIC_RELAXED)) {
        close(fd);
    }
    close(fd);
    return NULL;
}

static void races(void)
{
    pthread_t threads[3];
    pthread_t server;
    __atomic_store_n(&racing, 1, __ATOMIC_RELAXED);
    pthread_create(&server, NULL, answering, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, race, NULL);
    }
    usleep(700000);
    __atomic_store_n(&racing, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    shutdown(listener, SHUT_RD); /* its accept ends */
    pthread_join(server, NULL);
}

static int after_vfork(in_port_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int stream = socket(AF_INET, SOCK_STREAM, 0);
    int datagram = socket(AF_INET, SOCK_DGRAM, 0);
    char bytes[1000];
    pid_t child = vfork();
    if (child == 0) {
        int copy = dup(datagram);
        dup2(stream, datagram);
        dup2(copy, stream);
        _exit(0);
    }
    ended_well(child);
    CHECK(connect(datagram, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(connect(stream, (struct sockaddr *)&address, sizeof address) == 0);
    child = vfork();
    if (child == 0) {
        close(stream);
        _exit(socket(AF_INET, SOCK_DGRAM, 0) != stream);
    }
    ended_well(child);
    child = vfork();
    if (child == 0) {
        exit(0);
    }
    ended_well(child);
    for (int i = 0; i < 2; i++) {
        CHECK(send(stream, request, sizeof request - 1, 0) == sizeof request - 1);
        CHECK(recv(stream, bytes, sizeof bytes, 0) > 0);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 3) {
        exchange(atoi(argv[2]), atoi(argv[3]));
        return 0;
    }
    if (argc > 2) {
        return after_vfork((in_port_t)atoi(argv[2]));
    }
    socklen_t length = sizeof listening;
    signal(SIGPIPE, SIG_IGN);
    alarm(60);
    listening = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&listening, sizeof listening) != 0 || listen(listener, 1000) != 0 ||
        getsockname(listener, (struct sockaddr *)&listening, &length) != 0) {
        return 70;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; i < 20; i++) {
        copies();
        file_in_its_place(false);
        file_in_its_place(true);
        children();
        cloned();
        ranges();
        handed_on();
    }
    background();
    many_children();
    high();
    parted();
    puts("descriptors are what they were");
    races();
    puts("and threads may race");
    return 0;
}
