/*
 * Signal handlers that call, in the middle of calls; threads that are cancelled in calls, and jumps out of them. Each is
 * a way to leave a hook half done.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in listening;
static int listener;
static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/* ---- a server for all of it --------------------------------------------------------------------------------------- */

static void *serve_one(void *with)
{
    int fd = (int)(intptr_t)with;
    char bytes[512];
    while (recv(fd, bytes, sizeof bytes, 0) > 0) {
        if (send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    close(fd);
    return NULL;
}

static void *serve(void *unused)
{
    (void)unused;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        pthread_t thread;
        if (fd >= 0 && pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)fd) == 0) {
            pthread_detach(thread);
        } else {
            close(fd);
        }
    }
    return NULL;
}

static int call(void)
{
    char bytes[512];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int result = connect(fd, (struct sockaddr *)&listening, sizeof listening);
    if (result == 0 && send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == sizeof request - 1) {
        result = recv(fd, bytes, sizeof bytes, 0) == sizeof answer - 1 ? 0 : -1;
    }
    close(fd);
    return result;
}

/* ---- signals ------------------------------------------------------------------------------------------------------ */

static volatile sig_atomic_t handled;
static volatile sig_atomic_t shared = -1;

/* Calls, and writes to and closes what is under way outside. */
static void interrupt(int number)
{
    int saved = errno;
    (void)number;
    handled++;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(fd, (struct sockaddr *)&listening, sizeof listening);
    send(fd, request, sizeof request - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    int other = dup(fd);
    close(fd);
    close(other);
    if (shared >= 0 && handled % 2 == 0) {
        send(shared, request, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (handled % 4 == 0) {
            close(shared);
            shared = -1;
        }
    }
    errno = saved;
}

/* Only this thread is interrupted, so that the server serves. */
static void interrupted(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    struct sigevent to = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec often = {{0, 100000}, {0, 100000}};
    timer_t timer;
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigaction(SIGALRM, &action, NULL);
    timer_create(CLOCK_MONOTONIC, &to, &timer);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    timer_settime(timer, 0, &often, NULL);
    for (int i = 0; i < 300; i++) {
        if (i % 2 == 0) {
            call();
        } else {
            int fd = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(fd, (struct sockaddr *)&listening, sizeof listening) == 0) {
                shared = fd;
            }
            char bytes[50];
            for (int k = 0; k < 20 && shared >= 0; k++) {
                send(fd, request, sizeof request - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
                recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
            }
            shared = -1;
            close(fd);
        }
    }
    timer_delete(timer);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    puts(handled > 100 && call() == 0 ? "interrupted" : "NOT interrupted well");
}

/* ---- jumps -------------------------------------------------------------------------------------------------------- */

static sigjmp_buf outside;

static void jump(int number)
{
    (void)number;
    siglongjmp(outside, 1);
}

static void jumped(void)
{
    signal(SIGVTALRM, jump);
    volatile int good = 0;
    for (volatile int i = 0; i < 2000; i++) {
        if (sigsetjmp(outside, 1) == 0) {
            struct itimerval soon = {{0, 0}, {0, 10 + i % 300}};
            setitimer(ITIMER_VIRTUAL, &soon, NULL);
            for (int k = 0; k < 3; k++) {
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
                connect(fd, (struct sockaddr *)&listening, sizeof listening);
                send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
                close(fd);
            }
        }
        struct itimerval never = {{0, 0}, {0, 0}};
        setitimer(ITIMER_VIRTUAL, &never, NULL);
        if (i % 200 == 0) {
            good += call() == 0;
        }
    }
    puts(good > 0 ? "jumped out of" : "NOT jumped out of");
}

/* ---- cancellation ------------------------------------------------------------------------------------------------- */

static void *waits_for_ever(void *unused)
{
    (void)unused;
    char byte;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr *)&listening, sizeof listening);
    recv(fd, &byte, 1, 0);
    return NULL;
}

static void *connects_for_ever(void *unused)
{
    (void)unused;
    struct sockaddr_in nowhere = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc0000201)};
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        connect(fd, (struct sockaddr *)&nowhere, sizeof nowhere);
        close(fd);
    }
    return NULL;
}

static void cancelled(void)
{
    int good = 0;
    for (int i = 0; i < 60; i++) {
        pthread_t thread;
        void *result = NULL;
        pthread_create(&thread, NULL, i % 2 != 0 ? waits_for_ever : connects_for_ever, NULL);
        nanosleep(&(struct timespec){0, i * 50000}, NULL);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        good += result == PTHREAD_CANCELED && call() == 0;
    }
    puts(good == 60 ? "cancelled" : "NOT cancelled");
}

int main(void)
{
    socklen_t length = sizeof listening;
    pthread_t server;
    sigset_t all;
    setvbuf(stdout, NULL, _IONBF, 0);
    listening = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&listening, sizeof listening) != 0 || listen(listener, 1000) != 0 ||
        getsockname(listener, (struct sockaddr *)&listening, &length) != 0) {
        return 70;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_create(&server, NULL, serve, NULL);
    sigset_t jumps;
    sigemptyset(&jumps);
    sigaddset(&jumps, SIGVTALRM);
    pthread_sigmask(SIG_UNBLOCK, &jumps, NULL);
    interrupted();
    cancelled();
    jumped();
    puts("and back out of it");
    return 0;
}
