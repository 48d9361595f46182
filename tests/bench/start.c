/*
 * What a process costs to start: spawns a command COUNT times and prints the median microseconds from spawn to exit and
 * the median KiB that it has resident as it exits. START_PRELOAD becomes the children's LD_PRELOAD; this program itself
 * stays as it is.
 *
 *   start COUNT COMMAND [ARGUMENT...]
 */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESIDENT_ROUNDS 31

// Microseconds from spawn to exit; negative if that fails.
static double took(char **command)
{
    pid_t pid;
    int status;
    uint64_t begun = bench_now();
    errno = posix_spawn(&pid, command[0], NULL, NULL, command, environ);
    if (errno != 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        return -1;
    }
    return (double)(bench_now() - begun) / 1000;
}

// By its page tables: the counters that wait4() and /proc/PID/status show are off by what each processor keeps back.
static double rss_of(pid_t pid)
{
    char path[64], line[256];
    long kib = -1;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && kib < 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Rss:", 4) == 0) {
            kib = strtol(line + 4, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return (double)kib;
}

// KiB resident, read as the process is about to exit; negative if it cannot be traced.
static double resident(char **command)
{
    int status;
    double kib = -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
            execv(command[0], command);
        }
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)) != 0) {
        return -1;
    }
    while (ptrace(PTRACE_CONT, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
            kib = rss_of(pid);
        }
    }
    return kib;
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[1]) : 0;
    double *times = count > 0 ? calloc((size_t)count, sizeof *times) : NULL, kib[RESIDENT_ROUNDS];
    bool good = times != NULL;
    if (!good) {
        fprintf(stderr, "usage: start COUNT COMMAND [ARGUMENT...]\n");
        return 64;
    }
    const char *preload = getenv("START_PRELOAD");
    if (preload != NULL) {
        setenv("LD_PRELOAD", preload, 1);
    }
    for (int i = 0; good && i < count; i++) {
        times[i] = took(argv + 2);
        good = times[i] >= 0;
    }
    for (int i = 0; good && i < RESIDENT_ROUNDS; i++) {
        kib[i] = resident(argv + 2);
        good = kib[i] >= 0;
    }
    if (!good) {
        perror(argv[2]);
        return 1;
    }
    printf("%.1f %.0f\n", bench_median(times, count), bench_median(kib, RESIDENT_ROUNDS));
    free(times);
    return 0;
}
