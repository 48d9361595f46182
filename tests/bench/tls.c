/*
 * What reading along in a TLS library costs: writes or reads within a body of an HTTP exchange, by turns through the name
 * that the program is linked to, which a preload may have taken over, and through the library's own function. Prints the
 * nanoseconds of both: "LIBRARY LINKED". What moves on the socket below is the same for both.
 *
 *   tls read|write BYTES
 *
 * link with: -lssl -lcrypto
 */
#include "bench.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURNS 2001

struct side {
    __typeof__(SSL_read) *read;
    __typeof__(SSL_write) *write;
};

static const struct side linked = {SSL_read, SSL_write};
static struct side library;
static char buffer[16384];

static const char upload[] = "POST / HTTP/1.1\r\nHost: bench\r\nContent-Length: 1000000000000000\r\n\r\n";
static const char get[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";
static const char download[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000\r\n\r\n";

static bool find_library(void)
{
    void *handle = dlopen("libssl.so.3", RTLD_LAZY | RTLD_NOLOAD);
    handle = handle != NULL ? handle : dlopen("libssl.so.1.1", RTLD_LAZY | RTLD_NOLOAD);
    *(void **)&library.read = handle != NULL ? dlsym(handle, "SSL_read") : NULL;
    *(void **)&library.write = handle != NULL ? dlsym(handle, "SSL_write") : NULL;
    return library.read != NULL && library.write != NULL;
}

// Without certificates: who it is does not matter here.
static SSL *session(const SSL_METHOD *method, int fd)
{
    SSL_CTX *context = SSL_CTX_new(method);
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_dh_auto(context, 1);
    SSL_CTX_set_cipher_list(context, "ADH-AES128-GCM-SHA256");
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    return ssl;
}

// Either talks without end or listens without end.
static void be_peer(int listener, size_t size, bool talks)
{
    SSL *ssl = session(TLS_server_method(), accept(listener, NULL, NULL));
    bool good = SSL_accept(ssl) == 1 && SSL_read(ssl, buffer, sizeof buffer) > 0;
    good = good && (!talks || SSL_write(ssl, download, sizeof download - 1) > 0);
    while (good) {
        good = talks ? SSL_write(ssl, buffer, (int)size) > 0 : SSL_read(ssl, buffer, sizeof buffer) > 0;
    }
}

static SSL *connected(size_t size, bool reads)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &length) != 0) {
        return NULL;
    }
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_peer(listener, size, reads);
        _exit(0);
    }
    close(listener);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, length) != 0) {
        return NULL;
    }
    SSL *ssl = session(TLS_client_method(), fd);
    const char *request = reads ? get : upload;
    bool good = SSL_connect(ssl) == 1 && SSL_write(ssl, request, (int)strlen(request)) > 0 &&
                (!reads || SSL_read(ssl, buffer, sizeof download - 1) == sizeof download - 1);
    return good ? ssl : NULL;
}

static double turn(const struct side *by, SSL *ssl, size_t size, bool reads)
{
    uint64_t begun = bench_now();
    for (int call = 0; call < 10; call++) {
        int moved = reads ? by->read(ssl, buffer, (int)size) : by->write(ssl, buffer, (int)size);
        if (moved != (int)size) {
            return -1;
        }
    }
    return (double)(bench_now() - begun) / 10;
}

int main(int argc, char **argv)
{
    static double took[2][TURNS];
    const struct side *sides[] = {&library, &linked};
    size_t size = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    bool reads = argc == 3 && strcmp(argv[1], "read") == 0;
    if (size == 0 || size > sizeof buffer) {
        fprintf(stderr, "usage: tls read|write BYTES\n");
        return 64;
    }
    SSL *ssl = find_library() ? connected(size, reads) : NULL;
    bool good = ssl != NULL;
    for (int i = 0; good && i < TURNS; i++) {
        int first = i % 2; // who goes first changes too
        took[first][i] = turn(sides[first], ssl, size, reads);
        took[1 - first][i] = turn(sides[1 - first], ssl, size, reads);
        good = took[0][i] >= 0 && took[1][i] >= 0;
    }
    if (!good) {
        perror("tls");
        return 1;
    }
    printf("%.1f %.1f\n", bench_median(took[0], TURNS), bench_median(took[1], TURNS));
    return 0;
}
