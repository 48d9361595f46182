#include "track/log.h"

#include "real/real.h"
#include "rules/text.h"
#include "track/config.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>

static struct {
    enum config_log where;
    enum event_format format;
    const char *path;
    struct state *region; /* atomic */
    bool stopped;
    bool stderr_known; /* fd 2 was open at start */
    struct statx stderr_at;
} own;

/* ---- writing without a signal ------------------------------------------------------------------------------------ */

/* What a write may raise: a pipe without a reader, RLIMIT_FSIZE, a terminal that a background job may not write to. */
static const int raised[] = {SIGPIPE, SIGXFSZ, SIGTTOU};
#define RAISED (sizeof raised / sizeof *raised)

struct quiet {
    uint64_t before;  /* the thread's mask */
    uint64_t pending; /* what waited already, and is the program's */
};

static uint64_t bit_of(int signal)
{
    return UINT64_C(1) << (signal - 1);
}

/* System calls of their own: libc's would be a hook of another preload, or know signals that we do not. */
static void be_quiet(struct quiet *quiet)
{
    uint64_t set = 0;
    for (size_t i = 0; i < RAISED; i++) {
        set |= bit_of(raised[i]);
    }
    (void)real_syscall(SYS_rt_sigpending, (long)&quiet->pending, sizeof quiet->pending, 0, 0, 0, 0);
    (void)real_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, (long)&quiet->before, sizeof set, 0, 0);
}

/* Takes away what was raised meanwhile. */
static void be_loud(const struct quiet *quiet)
{
    const struct timespec now = {0, 0};
    uint64_t pending = 0;
    (void)real_syscall(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
    for (size_t i = 0; i < RAISED; i++) {
        uint64_t set = bit_of(raised[i]);
        if ((pending & set & ~quiet->pending) != 0) {
            (void)real_syscall(SYS_rt_sigtimedwait, (long)&set, 0, (long)&now, sizeof set, 0, 0);
        }
    }
    (void)real_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&quiet->before, 0, sizeof quiet->before, 0, 0);
}

/* Into a pipe without waiting, whoever else has filled it since we asked; older kernels know that for sockets only. */
static bool write_pipe(int fd, const char *line, size_t length)
{
    struct iovec part = {(void *)(uintptr_t)line, length};
    return real_syscall(SYS_pwritev2, fd, (long)&part, 1, -1, -1, RWF_NOWAIT) >= 0 || errno != EOPNOTSUPP;
}

static void write_quietly(int fd, const char *line, size_t length, bool pipe)
{
    struct quiet quiet = {0, 0};
    be_quiet(&quiet);
    if (!pipe || !write_pipe(fd, line, length)) {
        (void)!real_write(fd, line, length);
    }
    be_loud(&quiet);
}

/* ---- the places -------------------------------------------------------------------------------------------------- */

static const char no_file[] = "not a regular file";

/* Why a file could not be opened. */
static const char *open_trouble(int error)
{
    static const struct {
        int error;
        const char *text;
    } troubles[] = {
        {ENOENT, "no such directory"},
        {ENOTDIR, "no such directory"},
        {EACCES, "permission denied"},
        {EPERM, "permission denied"},
        {EROFS, "a read-only file system"},
        {ELOOP, no_file},
        {EISDIR, no_file},
        {ENXIO, no_file},
        {ENOSPC, "no space"},
        {EDQUOT, "no space"},
        {EMFILE, "no file descriptor"},
        {ENFILE, "no file descriptor"},
    };
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        if (troubles[i].error == error) {
            return troubles[i].text;
        }
    }
    return "cannot be opened";
}

/*
 * A file that is one: neither a link, nor a pipe or a device that somebody put there. Returns what was in the way, NULL:
 * nothing.
 */
static const char *to_file(const char *line, size_t length)
{
    struct stat st;
    int fd = real_open(own.path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0) {
        return open_trouble(errno);
    }
    bool regular = real_fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    /* a low number is one that the program closed: another thread may be writing to "its" stderr right now */
    if (regular && fd > 2) {
        write_quietly(fd, line, length, false);
    }
    real_close(fd);
    return regular ? NULL : no_file;
}

#define FILE_TOLD_NS UINT64_C(3600000000000)

/*
 * Where else could that be told than in the region? Once an hour for all processes: it is of no more use to the ring than
 * that. Apart from the line's frame, to keep each within bounds.
 */
static __attribute__((noinline)) void tell_of_file(const char *trouble)
{
    struct state *state = __atomic_load_n(&own.region, __ATOMIC_ACQUIRE);
    struct timespec clock;
    if (trouble == NULL || state == NULL || state->region == NULL) {
        return;
    }
    real_clock_gettime(CLOCK_MONOTONIC_COARSE, &clock);
    uint64_t now = (uint64_t)clock.tv_sec * UINT64_C(1000000000) + (uint64_t)clock.tv_nsec;
    prebreak_word *word = &state->region->header.log_told;
    uint64_t last = __atomic_load_n(word, __ATOMIC_RELAXED);
    bool due = last == 0 || last > now || now - last >= FILE_TOLD_NS;
    if (!due || !__atomic_compare_exchange_n(word, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        return;
    }
    struct event event;
    struct text text;
    event_begin(&event, state, EVENT_CONFIG, NULL);
    text_begin(&text, event.text, sizeof event.text);
    text_add(&text, "PREBREAK_LOG: ");
    text_add(&text, trouble);
    text_add(&text, ": ");
    text_add(&text, own.path); /* last: it may be cut */
    event_put(state, &event);
}

/*
 * What stands behind stderr. By the system call: libc's wrapper lies where nothing else of a start does, and its pages
 * would be a good part of what we add to a small process.
 */
REAL_RARE static bool stderr_is(struct statx *what)
{
    const unsigned wanted = STATX_TYPE | STATX_INO;
    return real_syscall(SYS_statx, 2, (long)"", AT_EMPTY_PATH, wanted, (long)what, 0) == 0 &&
           (what->stx_mask & wanted) == wanted;
}

/* Only while fd 2 is what it was when the program began, and takes bytes without waiting. */
static void to_stderr(const char *line, size_t length)
{
    struct statx now;
    struct pollfd ready = {.fd = 2, .events = POLLOUT};
    if (!own.stderr_known || !stderr_is(&now) || now.stx_dev_major != own.stderr_at.stx_dev_major ||
        now.stx_dev_minor != own.stderr_at.stx_dev_minor || now.stx_ino != own.stderr_at.stx_ino ||
        real_poll(&ready, 1, 0) != 1 || ready.revents != POLLOUT) {
        return;
    }
    if (S_ISSOCK(now.stx_mode)) {
        (void)!real_send(2, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        return;
    }
    write_quietly(2, line, length, S_ISFIFO(now.stx_mode));
}

#define FACILITY_DAEMON  (3 << 3)
#define SEVERITY_WARNING 4
#define SEVERITY_INFO    6

static void to_syslog(const struct event *event, const char *line, size_t length)
{
    static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    char head[48];
    struct text text;
    text_begin(&text, head, sizeof head);
    text_add(&text, "<");
    text_add_number(&text, FACILITY_DAEMON | (event_is_warning(event) ? SEVERITY_WARNING : SEVERITY_INFO));
    text_add(&text, ">prebreak[");
    text_add_number(&text, event->pid);
    text_add(&text, "]: ");
    struct iovec parts[] = {{head, text.length}, {(void *)(uintptr_t)line, length - 1}}; /* without the newline */
    struct msghdr message = {
        .msg_name = (void *)(uintptr_t)&address, .msg_namelen = sizeof address, .msg_iov = parts, .msg_iovlen = 2};
    int fd = real_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return;
    }
    (void)!real_sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    real_close(fd);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Apart from the line's frame, to keep each within bounds. */
static __attribute__((noinline)) void deliver(const struct event *event, const char *line, size_t length)
{
    switch (own.where) {
    case CONFIG_LOG_OFF:
        return;
    case CONFIG_LOG_STDERR:
        to_stderr(line, length);
        return;
    case CONFIG_LOG_SYSLOG:
        to_syslog(event, line, length);
        return;
    case CONFIG_LOG_FILE:
        tell_of_file(to_file(line, length));
        return;
    }
}

static __attribute__((noinline)) void write_event(const struct event *event)
{
    char line[EVENT_LINE];
    size_t length = event_format(event, own.format, line, sizeof line);
    if (length > 0) {
        deliver(event, line, length);
    }
}

void log_event(struct state *state, struct event *event)
{
    int saved = errno;
    if (state != NULL) {
        event_put(state, event);
    }
    if (own.where != CONFIG_LOG_OFF && !own.stopped) {
        write_event(event);
    }
    errno = saved;
}

/* ---- what config has to tell ------------------------------------------------------------------------------------- */

/* Without a log, a person at a terminal is told what is wrong; a program that reads our stderr never is. */
static __attribute__((noinline)) void to_terminal(const char *what)
{
    struct termios ignored;
    char line[600];
    struct text text;
    if (real_syscall(SYS_ioctl, 2, TCGETS, (long)&ignored, 0, 0, 0) != 0) {
        return;
    }
    text_begin(&text, line, sizeof line);
    text_add(&text, "prebreak: ");
    text_add(&text, what);
    text_add(&text, "\n");
    to_stderr(line, text.length < sizeof line ? text.length : sizeof line - 1);
}

static void tell(enum config_news news, const char *what)
{
    int saved = errno;
    /* at the start there is no region yet: one-shot programs would fill its ring with the same complaint */
    struct state *state = __atomic_load_n(&own.region, __ATOMIC_ACQUIRE);
    struct state nobody = {.pid = (uint32_t)real_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0)};
    struct event event;
    event_begin(&event, state != NULL ? state : &nobody, news == CONFIG_OFF ? EVENT_OFF : EVENT_CONFIG, NULL);
    struct text text;
    text_begin(&text, event.text, sizeof event.text);
    text_add(&text, what);
    log_event(state, &event);
    if (news == CONFIG_COMPLAINT && own.where == CONFIG_LOG_OFF && !own.stopped) {
        to_terminal(what);
    }
    errno = saved;
}

void log_region(struct state *state)
{
    __atomic_store_n(&own.region, state, __ATOMIC_RELEASE);
}

void log_stop(void)
{
    own.stopped = true;
}

REAL_RARE void log_init(void)
{
    own.where = config_log(&own.path);
    own.format = config_log_json() ? EVENT_JSON : EVENT_LOGFMT;
    own.stderr_known = stderr_is(&own.stderr_at);
    config_listen(tell);
}
