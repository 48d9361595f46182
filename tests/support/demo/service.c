/*
 * A service with a few workers: each caller gets one, which runs curl and is free again when that ends.
 */
#include "demo.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Starts a program whose stdout, and stdin if asked for, are pipes of ours. */
static pid_t start(const char *const *words, const char *const *environment, int *input, int *output)
{
    int in[2] = {-1, -1}, out[2];
    if ((input && pipe2(in, O_CLOEXEC) != 0) || pipe2(out, O_CLOEXEC) != 0) {
        die("pipe");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (input) {
        posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    } else {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0); /* the picture's */
    }
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    pid_t pid;
    errno = posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words,
                         (char *const *)(uintptr_t)environment);
    if (errno != 0) {
        die(words[0]);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    *output = out[0];
    if (input) {
        close(in[0]);
        *input = in[1];
    }
    return pid;
}

/* ---- its provider ---------------------------------------------------------------------------------------------------- */

static void tell(struct service *service, const char *command, char *answer, int size)
{
    dprintf(service->tell, "%s\n", command);
    if (!fgets(answer, size, service->answer) || strstr(answer, "\"error\"")) {
        die(command);
    }
}

void service_start(struct service *service, const char *build)
{
    char program[4096], line[256];
    int output;
    snprintf(program, sizeof program, "%s/support/provider", build);
    const char *words[] = {program, NULL};
    service->provider = start(words, (const char *const *)environ, &service->tell, &output);
    service->answer = fdopen(output, "r");
    if (!service->answer || !fgets(line, sizeof line, service->answer) ||
        sscanf(line, "{\"port\":%u}", &service->port) != 1) {
        die(program);
    }
}

void service_act(struct service *service, const struct act *act)
{
    char command[256], answer[256];
    snprintf(command, sizeof command, "set * %s", act->script);
    tell(service, command, answer, sizeof answer);
    snprintf(command, sizeof command, "listener * %s", act->listener);
    tell(service, command, answer, sizeof answer);
    if (strcmp(act->listener, "refuse") == 0) {
        /* It died: what was open is reset. */
        tell(service, "sever all", answer, sizeof answer);
    }
}

unsigned long service_provider_count(struct service *service)
{
    char answer[8192];
    unsigned long connections, requests = 0;
    tell(service, "report", answer, sizeof answer);
    sscanf(answer, "{\"connections\":%lu,\"requests\":%lu", &connections, &requests);
    return requests;
}

/* ---- its workers ----------------------------------------------------------------------------------------------------- */

void service_caller(struct service *service, unsigned ms)
{
    if (service->calls < CALLS_MAX) {
        service->call[service->calls++] = (struct call){.came = ms, .how = WAITING, .output = -1};
    }
}

static void begin(struct service *service, struct call *call, unsigned ms)
{
    char url[64], preload[4200] = "LD_PRELOAD=", state[4200] = "PREBREAK_STATE=";
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", service->port);
    const char *words[] = {"curl",
                           "-q",
                           "-s",
                           "--noproxy",
                           "*",
                           "--max-time",
                           MAX_TIME,
                           "-o",
                           "/dev/null",
                           "-w",
                           "%{http_code} %{errormsg}",
                           url,
                           NULL};
    char path[4096] = "PATH=";
    strncat(path, getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin", sizeof path - 6);
    const char *environment[] = {path, NULL, NULL, NULL};
    if (service->preload) {
        strncat(preload, service->preload, sizeof preload - 12);
        strncat(state, service->state, sizeof state - 16);
        environment[1] = preload;
        environment[2] = state;
    }
    call->pid = start(words, environment, NULL, &call->output);
    call->began = ms;
    call->how = CALLING;
    service->running++;
}

void service_work(struct service *service, unsigned ms)
{
    while (service->running < WORKERS && service->begun < service->calls) {
        begin(service, &service->call[service->begun++], ms);
    }
}

unsigned service_polled(const struct service *service, struct pollfd *polled, struct call **calls)
{
    unsigned count = 0;
    for (unsigned i = 0; i < service->begun; i++) {
        const struct call *call = &service->call[i];
        if (call->how == CALLING) {
            polled[count] = (struct pollfd){.fd = call->output, .events = POLLIN};
            calls[count++] = (struct call *)(uintptr_t)call;
        }
    }
    return count;
}

void service_heard(struct service *service, struct call *call, unsigned ms)
{
    ssize_t got = read(call->output, call->said + call->said_length, sizeof call->said - 1 - call->said_length);
    if (got > 0) {
        call->said_length += (size_t)got;
        return;
    }
    close(call->output);
    call->output = -1;
    waitpid(call->pid, NULL, 0);
    service->running--;
    call->ended = ms;
    bool answered = strncmp(call->said, "200", 3) == 0;
    call->how = answered ? ANSWERED : strstr(call->said, "prebreak:") ? REFUSED : FAILED;
}

bool service_busy(const struct service *service)
{
    return service->running > 0 || service->begun < service->calls;
}

void service_stop(struct service *service)
{
    close(service->tell);
    fclose(service->answer);
    waitpid(service->provider, NULL, 0);
}
