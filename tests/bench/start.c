/*
 * What a process costs to start: spawns a command COUNT times and prints the median microseconds from spawn to exit and the
 * largest resident set in KiB. START_PRELOAD becomes the children's LD_PRELOAD; this program itself stays as it is.
 *
 *   start COUNT COMMAND [ARGUMENT...]
 */
#include "bench.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[1]) : 0;
    double *took = count > 0 ? calloc((size_t)count, sizeof *took) : NULL;
    if (took == NULL) {
        fprintf(stderr, "usage: start COUNT COMMAND [ARGUMENT...]\n");
        return 64;
    }
    const char *preload = getenv("START_PRELOAD");
    if (preload != NULL) {
        setenv("LD_PRELOAD", preload, 1);
    }
    long resident = 0;
    for (int i = 0; i < count; i++) {
        pid_t pid;
        int status;
        struct rusage usage;
        uint64_t begun = bench_now();
        errno = posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ);
        if (errno != 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
            perror(argv[2]);
            return 1;
        }
        took[i] = (double)(bench_now() - begun) / 1000;
        resident = usage.ru_maxrss > resident ? usage.ru_maxrss : resident;
    }
    printf("%.1f %ld\n", bench_median(took, count), resident);
    free(took);
    return 0;
}
