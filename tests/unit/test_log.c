/* The log: where lines go, and that neither signals nor waits come of it. Each test is a process of its own. */
#include "suite.h"
#include "track/log.h"

#include "real/real.h"
#include "track/config.h"
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/un.h>

static char directory[] = "/tmp/prebreak-log-XXXXXX";
static char file[64];
static char content[8192];

static void setup(void)
{
    real_init();
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/log", directory);
    unsetenv("PREBREAK_LOG_FORMAT");
    unsetenv("PREBREAK_MODE");
    unsetenv("PREBREAK_CONFIG");
    unsetenv("PREBREAK_PROVIDERS");
}

static void teardown(void)
{
    unlink(file);
    rmdir(directory);
}

static void begin(const char *log)
{
    setenv("PREBREAK_LOG", log, 1);
    ck_assert(config_init());
    log_init();
}

/* One event of a known text. */
static void say(const char *text)
{
    struct state nobody = {.pid = 4711};
    struct event event;
    event_begin(&event, &nobody, EVENT_STATE, NULL);
    snprintf(event.text, sizeof event.text, "%s", text);
    log_event(NULL, &event);
}

static const char *read_fd(int fd)
{
    ssize_t length = read(fd, content, sizeof content - 1);
    content[length > 0 ? length : 0] = '\0';
    return content;
}

static const char *read_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    const char *text = fd < 0 ? "" : read_fd(fd);
    if (fd >= 0) {
        close(fd);
    }
    return text;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

START_TEST(a_file_gets_one_line_an_event)
{
    begin(file);
    say("one");
    say("two");
    const char *text = read_file(file);
    ck_assert_ptr_nonnull(strstr(text, " level=warn event=state pid=4711 "));
    ck_assert_ptr_nonnull(strstr(text, " text=one\n"));
    ck_assert_ptr_nonnull(strstr(text, " text=two\n"));
    struct stat st;
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
}
END_TEST

START_TEST(a_file_may_be_json)
{
    setenv("PREBREAK_LOG_FORMAT", "json", 1);
    begin(file);
    say("one");
    ck_assert_int_eq(read_file(file)[0], '{');
}
END_TEST

START_TEST(a_file_that_was_moved_away_is_begun_anew)
{
    char moved[80];
    snprintf(moved, sizeof moved, "%s.1", file);
    begin(file);
    say("one");
    ck_assert_int_eq(rename(file, moved), 0);
    say("two");
    ck_assert_ptr_null(strstr(read_file(file), "one"));
    ck_assert_ptr_nonnull(strstr(read_file(file), "two"));
    unlink(moved);
}
END_TEST

/* How many events of the region say this, and all of the last one's text. */
static unsigned told(struct state *state, const char *what, char *last)
{
    struct event event;
    unsigned count = 0;
    for (uint64_t after = 0; event_next(state, after, &event); after = event.sequence) {
        if (strstr(event.text, what) != NULL) {
            strcpy(last, event.text);
            count++;
        }
    }
    return count;
}

START_TEST(a_file_that_cannot_be_written_is_told_in_the_region_once)
{
    static struct state state;
    char text[sizeof((struct event){0}.text)];
    char expected[160];
    char *path = _i == 0 ? strcat(file, ".d/log") : directory;
    state_open(&state, "private", STATE_CREATE);
    ck_assert_ptr_nonnull(state.region);
    begin(path);
    log_region(&state);
    for (int i = 0; i < 5; i++) {
        say("one");
    }
    ck_assert_uint_eq(told(&state, "PREBREAK_LOG", text), 1);
    snprintf(expected, sizeof expected, "PREBREAK_LOG: %s: %s", _i == 0 ? "no such directory" : "not a regular file",
             path);
    ck_assert_str_eq(text, expected);
}
END_TEST

START_TEST(a_file_that_can_be_written_is_told_nobody)
{
    static struct state state;
    char text[sizeof((struct event){0}.text)];
    state_open(&state, "private", STATE_CREATE);
    begin(file);
    log_region(&state);
    say("one");
    ck_assert_uint_eq(told(&state, "", text), 0);
}
END_TEST

START_TEST(a_link_is_not_followed)
{
    char victim[80];
    snprintf(victim, sizeof victim, "%s.victim", file);
    close(open(victim, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(symlink(victim, file), 0);
    begin(file);
    say("one");
    ck_assert_str_eq(read_file(victim), "");
    unlink(victim);
}
END_TEST

START_TEST(what_is_no_file_gets_nothing)
{
    ck_assert_int_eq(mkfifo(file, 0600), 0);
    int reader = open(file, O_RDONLY | O_NONBLOCK);
    begin(file);
    say("one");
    ck_assert_str_eq(read_fd(reader), "");
    close(reader);
    say("nobody reads"); /* and does not wait for a reader */
}
END_TEST

START_TEST(a_low_descriptor_is_not_written_to)
{
    begin(file);
    close(0);
    say("one");
    ck_assert_str_eq(read_file(file), "");
}
END_TEST

START_TEST(a_file_at_its_limit_raises_no_signal)
{
    begin(file);
    signal(SIGXFSZ, SIG_DFL);
    struct rlimit before;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    sigset_t pending;
    setrlimit(RLIMIT_FSIZE, &none); /* nothing is asserted under it: Check's own messages are files, too */
    say("one");
    sigpending(&pending);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert(!sigismember(&pending, SIGXFSZ));
    ck_assert_str_eq(read_file(file), "");
}
END_TEST

START_TEST(the_programs_own_signals_stay)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGPIPE);
    begin(file);
    say("one");
    sigset_t after;
    ck_assert_int_eq(sigpending(&after), 0);
    ck_assert(sigismember(&after, SIGPIPE));
    sigprocmask(SIG_BLOCK, NULL, &after);
    ck_assert(sigismember(&after, SIGPIPE) && !sigismember(&after, SIGXFSZ) && !sigismember(&after, SIGTTOU));
}
END_TEST

/* ---- stderr ------------------------------------------------------------------------------------------------------- */

static int ends[2];

static void stderr_is_a_pipe(void)
{
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[1], 2), 2);
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

START_TEST(stderr_gets_lines)
{
    stderr_is_a_pipe();
    begin("stderr");
    say("one");
    ck_assert_ptr_nonnull(strstr(read_fd(ends[0]), " text=one\n"));
}
END_TEST

START_TEST(stderr_that_has_become_another_file_gets_nothing)
{
    stderr_is_a_pipe();
    begin("stderr");
    int other = open(file, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_eq(dup2(other, 2), 2);
    say("one");
    ck_assert_str_eq(read_file(file), "");
}
END_TEST

START_TEST(stderr_closed_at_the_start_gets_nothing_later)
{
    close(2);
    begin("stderr");
    int other = open(file, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_eq(dup2(other, 2), 2);
    say("one");
    ck_assert_str_eq(read_file(file), "");
}
END_TEST

START_TEST(stderr_without_a_reader_raises_no_signal)
{
    stderr_is_a_pipe();
    begin("stderr");
    signal(SIGPIPE, SIG_DFL);
    close(ends[0]);
    say("one");
}
END_TEST

START_TEST(a_full_stderr_is_not_waited_for)
{
    stderr_is_a_pipe();
    begin("stderr");
    fcntl(2, F_SETFL, O_NONBLOCK);
    while (write(2, content, 4096) > 0) {
    }
    fcntl(2, F_SETFL, 0);
    say("one"); /* would never return */
}
END_TEST

/* ---- syslog ------------------------------------------------------------------------------------------------------- */

START_TEST(syslog_gets_a_datagram)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0) {
        return;
    }
    (void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (mount("none", "/dev", "tmpfs", 0, NULL) != 0) {
        return;
    }
    begin("syslog");
    say("nobody listens");
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    int daemon = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(daemon, (const struct sockaddr *)&address, sizeof address), 0);
    say("one");
    const char *text = read_fd(daemon);
    ck_assert_ptr_nonnull(strstr(text, "<28>prebreak[4711]: ts="));
    ck_assert_ptr_nonnull(strstr(text, " text=one"));
    ck_assert_ptr_null(strchr(text, '\n'));
    for (unsigned i = 0; i < 2000; i++) {
        say("a full queue is not waited for");
    }
}
END_TEST

/* ---- quiet -------------------------------------------------------------------------------------------------------- */

START_TEST(off_says_nothing_anywhere)
{
    stderr_is_a_pipe();
    setenv("PREBREAK_MODE", "enforc", 1);
    setenv("PREBREAK_PROVIDERS", "bad!", 1);
    begin("off");
    config_start();
    say("one");
    ck_assert_str_eq(read_fd(ends[0]), "");
}
END_TEST

START_TEST(complaints_go_where_the_log_points)
{
    setenv("PREBREAK_MODE", "enforc", 1);
    begin(file);
    config_start();
    const char *text = read_file(file);
    ck_assert_ptr_nonnull(strstr(text, "event=config "));
    ck_assert_ptr_nonnull(strstr(text, "text=\"PREBREAK_MODE: found 'enforc', expected enforce, observe or off"));
}
END_TEST

START_TEST(complaints_go_to_a_terminal_where_there_is_no_log)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        return;
    }
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    ck_assert_int_eq(dup2(terminal, 2), 2);
    setenv("PREBREAK_MODE", "enforc", 1);
    begin("off");
    config_start();
    ck_assert_ptr_nonnull(strstr(read_fd(master), "prebreak: PREBREAK_MODE: found 'enforc', expected enforce"));
}
END_TEST

START_TEST(nothing_is_logged_once_stopped)
{
    begin(file);
    log_stop();
    say("one");
    ck_assert_int_eq(access(file, F_OK), -1);
}
END_TEST

START_TEST(errno_and_descriptors_are_left_as_they_were)
{
    int next = dup(0);
    close(next);
    begin(file);
    errno = 77;
    say("one");
    ck_assert_int_eq(errno, 77);
    ck_assert_int_eq(unlink(file), 0);
    ck_assert_int_eq(rmdir(directory), 0);
    errno = 77;
    say("nowhere to go");
    ck_assert_int_eq(errno, 77);
    ck_assert_int_eq(dup(0), next);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_file_gets_one_line_an_event);
    tcase_add_test(tests, a_file_may_be_json);
    tcase_add_test(tests, a_file_that_was_moved_away_is_begun_anew);
    tcase_add_loop_test(tests, a_file_that_cannot_be_written_is_told_in_the_region_once, 0, 2);
    tcase_add_test(tests, a_file_that_can_be_written_is_told_nobody);
    tcase_add_test(tests, a_link_is_not_followed);
    tcase_add_test(tests, what_is_no_file_gets_nothing);
    tcase_add_test(tests, a_low_descriptor_is_not_written_to);
    tcase_add_test(tests, a_file_at_its_limit_raises_no_signal);
    tcase_add_test(tests, the_programs_own_signals_stay);
    tcase_add_test(tests, stderr_gets_lines);
    tcase_add_test(tests, stderr_that_has_become_another_file_gets_nothing);
    tcase_add_test(tests, stderr_closed_at_the_start_gets_nothing_later);
    tcase_add_test(tests, stderr_without_a_reader_raises_no_signal);
    tcase_add_test(tests, a_full_stderr_is_not_waited_for);
    tcase_add_test(tests, syslog_gets_a_datagram);
    tcase_add_test(tests, off_says_nothing_anywhere);
    tcase_add_test(tests, complaints_go_where_the_log_points);
    tcase_add_test(tests, complaints_go_to_a_terminal_where_there_is_no_log);
    tcase_add_test(tests, nothing_is_logged_once_stopped);
    tcase_add_test(tests, errno_and_descriptors_are_left_as_they_were);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
