/* What a process is told: variables, the file of rules as it changes, off files. Each test is a process of its own. */
#include "suite.h"
#include "track/config.h"

#include "real/real.h"
#include "rules/programs.h"
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>

static char directory[] = "/tmp/prebreak-config-XXXXXX";
static char file[64];
static unsigned complaints, readings, offs;
static char last[512];

static void told(enum config_news news, const char *text)
{
    complaints += news == CONFIG_COMPLAINT;
    readings += news == CONFIG_RULES;
    offs += news == CONFIG_OFF;
    snprintf(last, sizeof last, "%s", text);
}

static void setup(void)
{
    static const char *const names[] = {"MODE", "PROVIDERS",  "CONFIG", "DEFAULTS", "STATE",
                                        "LOG",  "LOG_FORMAT", "ONLY",   "EXCEPT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[32];
        snprintf(name, sizeof name, "PREBREAK_%s", names[i]);
        unsetenv(name);
    }
    real_init();
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/rules", directory);
}

static void teardown(void)
{
    unlink(file);
    rmdir(directory);
}

/* A new file in the place of the old one, as careful writers do. */
static void write_file(const char *text)
{
    char fresh[80];
    snprintf(fresh, sizeof fresh, "%s.new", file);
    FILE *out = fopen(fresh, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
    ck_assert_int_eq(rename(fresh, file), 0);
}

static bool start(void)
{
    bool acts = config_init();
    config_listen(told);
    config_start();
    return acts;
}

static const char *name_of(const char *host)
{
    static struct rules_match match;
    struct rules_target target = {.host = host, .port = 443};
    uint32_t generation;
    const struct rules *rules = config_rules(&generation);
    return rules != NULL && rules_match(rules, &target, &match) ? match.name : "(none)";
}

static uint32_t generation(void)
{
    uint32_t number = 0;
    (void)config_rules(&number);
    return number;
}

/* ---- variables ---------------------------------------------------------------------------------------------------- */

START_TEST(without_variables_everything_is_touched_and_enforced)
{
    ck_assert(start());
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_ENFORCE);
    ck_assert(config_may_enforce());
    ck_assert_str_eq(name_of("h"), "h");
    ck_assert_ptr_null(config_state());
    ck_assert_uint_eq(complaints, 0);
    ck_assert_uint_eq(generation(), 1);
}
END_TEST

START_TEST(nothing_is_in_force_before_the_start)
{
    uint32_t number;
    ck_assert(config_init());
    ck_assert_ptr_null(config_rules(&number));
    ck_assert_int_ne(config_mode(), PREBREAK_MODE_ENFORCE);
}
END_TEST

START_TEST(the_variables_are_copied)
{
    setenv("PREBREAK_PROVIDERS", "n h", 1);
    setenv("PREBREAK_STATE", "/tmp/x", 1);
    ck_assert(config_init());
    char *value = getenv("PREBREAK_PROVIDERS");
    memset(value, '!', strlen(value)); /* as setproctitle() does */
    value = getenv("PREBREAK_STATE");
    memset(value, '!', strlen(value));
    config_start();
    ck_assert_str_eq(name_of("h"), "n");
    ck_assert_str_eq(config_state(), "/tmp/x");
}
END_TEST

START_TEST(a_misspelt_mode_observes)
{
    static const char *const bad[] = {"enforc", "Observe", "", "on", "offf"};
    setenv("PREBREAK_MODE", bad[_i], 1);
    ck_assert(start());
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_OBSERVE);
    ck_assert_uint_eq(complaints, 1);
    ck_assert_ptr_nonnull(strstr(last, "PREBREAK_MODE: found '"));
}
END_TEST

START_TEST(mode_off_touches_nothing)
{
    setenv("PREBREAK_MODE", "off", 1);
    ck_assert(!start());
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_OFF);
}
END_TEST

START_TEST(only_and_except_go_by_the_programs_name)
{
    static const struct {
        const char *only, *except;
        bool acts;
    } cases[] = {
        {"php*", NULL, false}, {"test_config", NULL, true}, {"php* test_*", NULL, true},
        {NULL, "php*", true},  {NULL, "*_config", false},   {"test_*", "test_config", false},
    };
    if (cases[_i].only != NULL) {
        setenv("PREBREAK_ONLY", cases[_i].only, 1);
    }
    if (cases[_i].except != NULL) {
        setenv("PREBREAK_EXCEPT", cases[_i].except, 1);
    }
    ck_assert(config_init() == cases[_i].acts);
}
END_TEST

/* The name as the program was called, the one the kernel knows being the test's own, or the other way round. */
START_TEST(programs_never_touched_are_named_by_only_or_stay_so)
{
    static const struct {
        const char *name, *only, *except;
        bool acts;
    } cases[] = {
        {"make", NULL, NULL, false},
        {"make", "make", NULL, true},
        {"make", "php* m*", NULL, true},
        {"make", "php*", NULL, false},
        {"make", "make", "make", false},
        {"sshd", NULL, "php*", false},
        {"systemd-udevd", NULL, NULL, false},
        {"x86_64-linux-gnu-gcc-12", NULL, NULL, false},
        {"bash", NULL, NULL, true},
        {"sh", NULL, NULL, true},
        {"makers", NULL, NULL, true},
        {"php-fpm8.2", NULL, NULL, true},
        {"docker-entrypoint.sh", NULL, NULL, true},
    };
    for (size_t kernels = 0; kernels < 2; kernels++) {
        char name[64];
        snprintf(name, sizeof name, "%s", kernels ? "other" : cases[_i].name);
        program_invocation_short_name = name;
        ck_assert_int_eq(prctl(PR_SET_NAME, kernels ? cases[_i].name : "other", 0, 0, 0), 0);
        if (cases[_i].only != NULL) {
            setenv("PREBREAK_ONLY", cases[_i].only, 1);
        }
        if (cases[_i].except != NULL) {
            setenv("PREBREAK_EXCEPT", cases[_i].except, 1);
        }
        if (kernels == 0 || strlen(cases[_i].name) < 16) {
            ck_assert_msg(config_init() == cases[_i].acts, "%s, %zu", name, kernels);
        }
    }
}
END_TEST

START_TEST(program_of_a_common_name_is_known_by_its_path)
{
    ck_assert_ptr_nonnull(rules_program_spared("http", "/usr/lib/apt/methods/http"));
    ck_assert_ptr_null(rules_program_spared("http", "/usr/bin/http"));
    ck_assert_ptr_null(rules_program_spared("http", NULL));
}
END_TEST

START_TEST(bad_globs_act_nowhere_and_are_complained_of)
{
    static const char *const names[] = {"PREBREAK_ONLY", "PREBREAK_EXCEPT"};
    static const char *const values[] = {"[php", ""};
    setenv(names[_i / 2], values[_i % 2], 1);
    (void)start();
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_OFF);
    ck_assert_uint_eq(complaints, 1);
    ck_assert_ptr_nonnull(strstr(last, names[_i / 2]));
}
END_TEST

START_TEST(a_restraint_that_cannot_be_read_observes_and_no_operator_can_say_otherwise)
{
    setenv("PREBREAK_PROVIDERS", "- 10.0.0.0/99; * *", 1);
    ck_assert(start());
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_OBSERVE);
    ck_assert(!config_may_enforce());
    ck_assert_str_eq(last,
                     "PREBREAK_PROVIDERS, rule 1, column 12: found '10.0.0.0/99', expected a length of the "
                     "network from 0 to 32");
}
END_TEST

START_TEST(the_log_is_one_of_four_places)
{
    static const struct {
        const char *value;
        enum config_log log;
        unsigned complaints;
    } cases[] = {
        {NULL, CONFIG_LOG_OFF, 0},        {"off", CONFIG_LOG_OFF, 0},       {"", CONFIG_LOG_OFF, 0},
        {"stderr", CONFIG_LOG_STDERR, 0}, {"syslog", CONFIG_LOG_SYSLOG, 0}, {"/var/log/x", CONFIG_LOG_FILE, 0},
        {"./x", CONFIG_LOG_FILE, 0},      {"sterr", CONFIG_LOG_OFF, 1},
    };
    const char *path;
    if (cases[_i].value != NULL) {
        setenv("PREBREAK_LOG", cases[_i].value, 1);
    }
    ck_assert(start());
    ck_assert_int_eq(config_log(&path), cases[_i].log);
    ck_assert(cases[_i].log != CONFIG_LOG_FILE || path[0] == '/');
    ck_assert_uint_eq(complaints, cases[_i].complaints);
}
END_TEST

START_TEST(a_path_is_relative_to_where_the_program_began)
{
    write_file("n h\n");
    ck_assert_int_eq(chdir(directory), 0);
    setenv("PREBREAK_CONFIG", "rules", 1);
    setenv("PREBREAK_STATE", "region", 1);
    ck_assert(config_init());
    ck_assert_int_eq(chdir("/"), 0);
    config_start();
    ck_assert_str_eq(name_of("h"), "n");
    char region[256];
    snprintf(region, sizeof region, "%s/region", directory);
    ck_assert_str_eq(config_state(), region);
}
END_TEST

START_TEST(a_private_state_is_no_path)
{
    setenv("PREBREAK_STATE", "private", 1);
    ck_assert(config_init());
    ck_assert_str_eq(config_state(), "private");
}
END_TEST

/* ---- the file ----------------------------------------------------------------------------------------------------- */

START_TEST(the_file_is_followed)
{
    write_file("a x\n");
    setenv("PREBREAK_CONFIG", file, 1);
    ck_assert(start());
    ck_assert_str_eq(name_of("x"), "a");
    ck_assert_str_eq(name_of("y"), "(none)");
    write_file("b x y\n");
    config_look();
    ck_assert_str_eq(name_of("x"), "b");
    ck_assert_str_eq(name_of("y"), "b");
    ck_assert_uint_eq(generation(), 2);
    ck_assert_uint_eq(readings, 1);
    ck_assert_uint_eq(complaints, 0);
}
END_TEST

START_TEST(old_rules_stay_where_they_are)
{
    write_file("a x\n");
    setenv("PREBREAK_CONFIG", file, 1);
    ck_assert(start());
    uint32_t number;
    const struct rules *old = config_rules(&number);
    write_file("b y\n");
    config_look();
    struct rules_match match;
    struct rules_target target = {.host = "x", .port = 443};
    ck_assert(rules_match(old, &target, &match));
    ck_assert_str_eq(match.name, "a");
}
END_TEST

START_TEST(a_file_that_says_the_same_changes_nothing)
{
    write_file("a x\n");
    setenv("PREBREAK_CONFIG", file, 1);
    ck_assert(start());
    for (unsigned i = 0; i < 3; i++) {
        write_file("a x\n");
        config_look();
    }
    ck_assert_uint_eq(generation(), 1);
    ck_assert_uint_eq(readings, 0);
}
END_TEST

/* What may become of a file that was good. */
static void vanish(void)
{
    ck_assert_int_eq(unlink(file), 0);
}
static void turn_empty(void)
{
    ck_assert_int_eq(truncate(file, 0), 0);
}
static void turn_blank(void)
{
    write_file("\n  \n\n");
}
static void turn_half(void)
{
    write_file("- 10.0.0.0");
}
static void turn_directory(void)
{
    vanish();
    ck_assert_int_eq(mkdir(file, 0700), 0);
}
static void turn_pipe(void)
{
    vanish();
    ck_assert_int_eq(mkfifo(file, 0600), 0);
}
static void turn_huge(void)
{
    ck_assert_int_eq(truncate(file, RULES_TEXT_MAX + 1), 0);
}
static void turn_loop(void)
{
    vanish();
    ck_assert_int_eq(symlink(file, file), 0);
}
static void (*const spoil[])(void) = {vanish,         turn_empty, turn_blank, turn_half,
                                      turn_directory, turn_pipe,  turn_huge,  turn_loop};

START_TEST(a_file_gone_bad_keeps_the_last_good_rules_and_is_complained_of_once)
{
    write_file("- x\na *\n");
    setenv("PREBREAK_CONFIG", file, 1);
    ck_assert(start());
    spoil[_i]();
    config_look();
    config_look();
    config_look();
    ck_assert_str_eq(name_of("x"), "(none)");
    ck_assert_str_eq(name_of("y"), "a");
    ck_assert_uint_eq(complaints, 1);
    ck_assert_ptr_nonnull(strstr(last, "; keeping the rules read before"));
    ck_assert_uint_eq(generation(), 1);
    if (_i == 4) {
        rmdir(file);
    }
}
END_TEST

START_TEST(a_bad_file_at_the_start_leaves_the_variables)
{
    setenv("PREBREAK_PROVIDERS", "n h", 1);
    setenv("PREBREAK_CONFIG", file, 1);
    ck_assert(start());
    ck_assert_str_eq(name_of("h"), "n");
    ck_assert_str_eq(name_of("other"), "(none)");
    ck_assert_ptr_nonnull(strstr(last, "no such file; going without it"));
    write_file("m other\n");
    config_look();
    ck_assert_str_eq(name_of("other"), "m");
}
END_TEST

START_TEST(without_its_file_nothing_is_touched)
{
    setenv("PREBREAK_CONFIG", file, 1);
    ck_assert(start());
    ck_assert_str_eq(name_of("h"), "(none)");
}
END_TEST

START_TEST(a_file_half_written_touches_only_less)
{
    static const char *const half[] = {"a x enforce=10%\nb ", "a x enforce=10%\nb *", "a x enforce=1", "a x\n- *.exam"};
    write_file("a x enforce=10%\nb *.example\n");
    setenv("PREBREAK_CONFIG", file, 1);
    ck_assert(start());
    write_file(half[_i]);
    config_look();
    ck_assert_str_eq(name_of("other"), "(none)");
    write_file("a x enforce=10%\nb *.example\n");
    config_look();
    ck_assert_str_eq(name_of("q.example"), "b");
}
END_TEST

START_TEST(a_restraint_in_the_file_comes_and_goes_with_it)
{
    write_file("- 10.0.0.0/99\n* *\n");
    setenv("PREBREAK_CONFIG", file, 1);
    ck_assert(start());
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_OBSERVE);
    write_file("- 10.0.0.0/9\n* *\n");
    config_look();
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_ENFORCE);
}
END_TEST

START_TEST(errno_and_descriptors_are_left_as_they_were)
{
    write_file("a x\n");
    setenv("PREBREAK_CONFIG", file, 1);
    int next = dup(0);
    close(next);
    errno = 77;
    ck_assert(config_init());
    config_start();
    vanish();
    config_look();
    ck_assert_int_eq(errno, 77);
    ck_assert_int_eq(dup(0), next);
}
END_TEST

/* ---- off files ---------------------------------------------------------------------------------------------------- */

/* A /run of our own, where we are root if we may. False: not on this machine. */
static bool own_run(void)
{
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return false;
    }
    (void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    return mount("none", "/run", "tmpfs", 0, NULL) == 0 && mkdir("/run/prebreak", 0755) == 0;
}

START_TEST(an_off_file_of_roots_passes_everything_while_it_is_there)
{
    if (geteuid() != 0 || !own_run()) {
        return;
    }
    ck_assert(start());
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_ENFORCE);
    int fd = open("/run/prebreak/off", O_CREAT | O_WRONLY, 0600);
    close(fd);
    config_look();
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_OFF);
    ck_assert_str_eq(config_off(), "/run/prebreak/off");
    ck_assert_int_eq(chown("/run/prebreak/off", 1, 1), 0); /* somebody else's does not count */
    config_look();
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_ENFORCE);
    ck_assert_int_eq(chown("/run/prebreak/off", 0, 0), 0);
    config_look();
    config_look();
    unlink("/run/prebreak/off");
    config_look();
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_ENFORCE);
    ck_assert_uint_eq(offs, 4);
    ck_assert_str_eq(last, "/run/prebreak/off is gone: acting again");
}
END_TEST

START_TEST(an_off_file_counts_from_the_first_call)
{
    if (geteuid() != 0 || !own_run()) {
        return;
    }
    int fd = open("/run/prebreak/off", O_CREAT | O_WRONLY, 0600);
    close(fd);
    ck_assert(start());
    ck_assert_int_eq(config_mode(), PREBREAK_MODE_OFF);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tests = tcase_create("config");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, without_variables_everything_is_touched_and_enforced);
    tcase_add_test(tests, nothing_is_in_force_before_the_start);
    tcase_add_test(tests, the_variables_are_copied);
    tcase_add_loop_test(tests, a_misspelt_mode_observes, 0, 5);
    tcase_add_test(tests, mode_off_touches_nothing);
    tcase_add_loop_test(tests, only_and_except_go_by_the_programs_name, 0, 6);
    tcase_add_loop_test(tests, programs_never_touched_are_named_by_only_or_stay_so, 0, 13);
    tcase_add_test(tests, program_of_a_common_name_is_known_by_its_path);
    tcase_add_loop_test(tests, bad_globs_act_nowhere_and_are_complained_of, 0, 4);
    tcase_add_test(tests, a_restraint_that_cannot_be_read_observes_and_no_operator_can_say_otherwise);
    tcase_add_loop_test(tests, the_log_is_one_of_four_places, 0, 8);
    tcase_add_test(tests, a_path_is_relative_to_where_the_program_began);
    tcase_add_test(tests, a_private_state_is_no_path);
    tcase_add_test(tests, the_file_is_followed);
    tcase_add_test(tests, old_rules_stay_where_they_are);
    tcase_add_test(tests, a_file_that_says_the_same_changes_nothing);
    tcase_add_loop_test(tests, a_file_gone_bad_keeps_the_last_good_rules_and_is_complained_of_once, 0,
                        sizeof spoil / sizeof *spoil);
    tcase_add_test(tests, a_bad_file_at_the_start_leaves_the_variables);
    tcase_add_test(tests, without_its_file_nothing_is_touched);
    tcase_add_loop_test(tests, a_file_half_written_touches_only_less, 0, 4);
    tcase_add_test(tests, a_restraint_in_the_file_comes_and_goes_with_it);
    tcase_add_test(tests, errno_and_descriptors_are_left_as_they_were);
    tcase_add_test(tests, an_off_file_of_roots_passes_everything_while_it_is_there);
    tcase_add_test(tests, an_off_file_counts_from_the_first_call);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
