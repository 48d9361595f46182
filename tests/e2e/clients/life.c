/*
 * Calls in every hour of a process's life: before any library's constructor has run, in constructors, in main, in another
 * thread, at exit and after that; from memory of an allocator, and with an allocator's help in between.
 *
 *   life PORT
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static in_port_t port;

static void call(const char *when)
{
    static const char request[] = "GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n";
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char text[100];
    char *sent = malloc(sizeof request - 1);
    char *answer = malloc(13);
    memcpy(sent, request, sizeof request - 1);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int connected = connect(fd, (struct sockaddr *)&address, sizeof address);
    ssize_t length = -1;
    if (connected == 0 && send(fd, sent, sizeof request - 1, MSG_NOSIGNAL) > 0) {
        length = recv(fd, answer, 12, MSG_WAITALL);
    }
    answer[length < 0 ? 0 : length] = '\0';
    int copy = dup(fd);
    close(fd);
    close(copy);
    length = snprintf(text, sizeof text, "%s: %d %s\n", when, connected, answer);
    free(answer);
    free(sent);
    if (write(STDOUT_FILENO, text, (size_t)length) < 0) {
        _exit(70);
    }
}

static void first(int argc, char **argv, char **environment)
{
    (void)environment;
    port = (in_port_t)atoi(argv[argc - 1]);
    call("before all");
}
__attribute__((section(".preinit_array"), used)) static void (*const before_all)(int, char **, char **) = first;

__attribute__((constructor(101))) static void constructor(void)
{
    call("constructor");
}

__attribute__((destructor(101))) static void destructor(void)
{
    call("destructor");
}

static void at_exit(void)
{
    call("at exit");
}

static void *in_thread(void *unused)
{
    call("thread");
    return unused;
}

int main(void)
{
    pthread_t thread;
    atexit(at_exit);
    call("main");
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0) {
        return 70;
    }
    for (int i = 0; i < 10; i++) {
        call("again");
    }
    return 0;
}
