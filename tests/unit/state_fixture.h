/*
 * For the tests of src/state/: a directory of one test's own, paths in it, and settings. Check runs each test in a
 * process of its own, so that what one of them maps or limits is nothing to the next.
 */
#ifndef STATE_FIXTURE_H
#define STATE_FIXTURE_H

#include "suite.h"

#include "real/real.h"
#include "state/state.h"
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define HOUR   UINT64_C(3600000000000)
#define NOW    (100 * HOUR)
#define NOBODY 65534

static char suite_directory[40]; /* goes with all that is in it, also when a test fails or dies */
static char directory[64];
static char region_path[128];
static struct prebreak_settings defaults;

static inline void fixture_begin(void)
{
    real_init();
    snprintf(directory, sizeof directory, "%s/XXXXXX", suite_directory);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(region_path, sizeof region_path, "%s/region", directory);
    breaker_settings_default(PREBREAK_SRE, &defaults);
}

static inline int fixture_remove(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static inline void fixture_end(void)
{
    nftw(directory, fixture_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* How many files the directory holds. */
static inline int fixture_files(void)
{
    DIR *open = opendir(directory);
    int count = 0;

    ck_assert_ptr_nonnull(open);
    for (struct dirent *entry = readdir(open); entry; entry = readdir(open)) {
        count += entry->d_name[0] != '.';
    }
    closedir(open);
    return count;
}

/* Writes over a file at an offset, as somebody with an editor would. */
static inline void fixture_poke(const char *path, size_t at, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, size, (off_t)at), (ssize_t)size);
    close(fd);
}

static inline uint64_t fixture_peek(const char *path, size_t at)
{
    uint64_t word = 0;
    int fd = open(path, O_RDONLY);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &word, sizeof word, (off_t)at), (ssize_t)sizeof word);
    close(fd);
    return word;
}

/* The same numbers in every run. */
static inline uint64_t fixture_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Waits for a child; its exit status, or 128 + the signal that it died of. */
static inline int fixture_wait(pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Is this a state with which everything works? */
static inline void fixture_works(struct state *state)
{
    struct prebreak_settings copy;
    struct breaker breaker;
    char name[PREBREAK_NAME];
    int slot = state_slot(state, "openai", &defaults, false, NOW);

    ck_assert_ptr_nonnull(state->region);
    ck_assert_int_ge(slot, 0);
    ck_assert(state_breaker(state, slot, NULL, &copy, &breaker));
    ck_assert_mem_eq(&copy, &defaults, sizeof copy);
    ck_assert(state_name(state, slot, name));
    ck_assert_str_eq(name, "openai");
    ck_assert(state_hold(state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert_int_eq(state_held(state, "openai", NOW), PREBREAK_HELD_OPEN);
    ck_assert(state_release(state, "openai"));
    state_enrol(state);
    ck_assert_uint_ge(state_processes(state), 1);
}

static inline int fixture_run(Suite *suite)
{
    strcpy(suite_directory, "/dev/shm/prebreak-test-XXXXXX"); /* where the region is by default */
    if (!mkdtemp(suite_directory)) {
        strcpy(suite_directory, "/tmp/prebreak-test-XXXXXX");
        if (!mkdtemp(suite_directory)) {
            perror(suite_directory);
            return EXIT_FAILURE;
        }
    }
    chmod(suite_directory, 0711); /* for a test that becomes somebody else */
    int result = suite_run(suite);
    nftw(suite_directory, fixture_remove, 8, FTW_DEPTH | FTW_PHYS);
    return result;
}

#endif
