/*
 *   demo --build DIR
 *
 * Healthy, 503, hanging, refusing, healthy: what callers of a stock curl live through, without prebreak and with it.
 */
#include "demo.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct act acts[] = {
    {5, "healthy", "latency=30", "open"}, {7, "answers 503", "latency=30 status=503", "open"},
    {9, "hangs", "action=hang", "open"},  {5, "refuses", "", "refuse"},
    {9, "healthy", "latency=30", "open"},
};
const unsigned act_count = sizeof acts / sizeof acts[0];

unsigned act_begin(unsigned act)
{
    unsigned seconds = 0;
    for (unsigned i = 0; i < act; i++) {
        seconds += acts[i].seconds;
    }
    return seconds * 1000;
}

static char directory[] = "/tmp/prebreak-demo-XXXXXX";
static char state[64];

static void clean(void)
{
    unlink(state);
    rmdir(directory);
}

/* The providers and the curls go by themselves: they are of the same terminal, and their pipes close. */
static void interrupted(int number)
{
    clean();
    _exit(128 + number);
}

void die(const char *what)
{
    fprintf(stderr, "demo: %s: %s\n", what, strerror(errno));
    exit(1);
}

static unsigned ms_since(const struct timespec *start)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned)((t.tv_sec - start->tv_sec) * 1000 + (t.tv_nsec - start->tv_nsec) / 1000000);
}

/* Sleeps until something comes from a curl, or for so long. */
static void listen_to(struct service *services, const struct timespec *start, int timeout)
{
    struct pollfd polled[2 * WORKERS];
    struct call *calls[2 * WORKERS];
    unsigned first = service_polled(&services[0], polled, calls);
    unsigned count = first + service_polled(&services[1], polled + first, calls + first);
    if (poll(polled, count, timeout) <= 0) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (polled[i].revents) {
            service_heard(&services[i >= first], calls[i], ms_since(start));
        }
    }
}

static void perform(struct service *services)
{
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    unsigned act = 0, came = 0, end = act_begin(act_count), drawn = 0, ms;
    while (ms = ms_since(&start), ms < end || service_busy(&services[0]) || service_busy(&services[1])) {
        for (; act < act_count && ms >= act_begin(act); act++) {
            service_act(&services[0], &acts[act]);
            service_act(&services[1], &acts[act]);
        }
        for (; came * 1000 / RATE <= ms && ms < end; came++) {
            service_caller(&services[0], ms);
            service_caller(&services[1], ms);
        }
        service_work(&services[0], ms);
        service_work(&services[1], ms);
        if (ms >= drawn + 200) {
            picture_live(services, ms < end ? ms : end);
            drawn = ms;
        }
        listen_to(services, &start, 10);
    }
}

int main(int argc, char **argv)
{
    static struct service services[2] = {{.name = "without prebreak"}, {.name = "with prebreak"}};
    char build[PATH_MAX], library[PATH_MAX + 32];
    if (argc != 3 || strcmp(argv[1], "--build") != 0 || !realpath(argv[2], build)) {
        fprintf(stderr, "demo --build DIR\n");
        return 64;
    }
    snprintf(library, sizeof library, "%s/libprebreak.so", build);
    if (access(library, R_OK) != 0) {
        die(library);
    }
    signal(SIGPIPE, SIG_IGN);
    if (!mkdtemp(directory)) {
        die(directory);
    }
    snprintf(state, sizeof state, "%s/state", directory);
    atexit(clean);
    signal(SIGINT, interrupted);
    signal(SIGTERM, interrupted);
    services[1].preload = library;
    services[1].state = state;

    unsigned long counted[2];
    for (int i = 0; i < 2; i++) {
        service_start(&services[i], build);
    }
    picture_start(services);
    perform(services);
    for (int i = 0; i < 2; i++) {
        counted[i] = service_provider_count(&services[i]);
    }
    picture_end(services, counted);
    for (int i = 0; i < 2; i++) {
        service_stop(&services[i]);
    }
    return 0;
}
