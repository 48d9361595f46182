/*
 * One blocking call, written so that every system call after the marker but its own few is somebody else's: the
 * scenario makes those fail one after the other and looks whether this program notices.
 *
 *   torture PORT     two calls at once, and a third after more than a second, when everything is looked at again
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Runs before the constructors of every library. */
static void mark(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    (void)environment;
    getpgid(0);
}
__attribute__((section(".preinit_array"), used)) static void (*const marker)(int, char **, char **) = mark;

static void say(const char *what)
{
    if (write(STDOUT_FILENO, what, strlen(what)) < 0) {
        _exit(2);
    }
}

static void call(in_port_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static const char request[] = "GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n";
    char answer[512];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        say("connect failed\n");
    } else if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) != sizeof request - 1) {
        say("send failed\n");
    } else if (recv(fd, answer, sizeof answer, 0) < 12) {
        say("recv failed\n");
    } else {
        answer[12] = '\n';
        answer[13] = '\0';
        say(answer);
    }
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 64;
    }
    in_port_t port = (in_port_t)atoi(argv[1]);
    call(port);
    call(port);
    nanosleep(&(struct timespec){1, 100000000}, NULL);
    call(port);
    return 0;
}
