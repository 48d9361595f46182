/*
 * The server that clients/tls.c talks to, in threads of the same process: OpenSSL's on loopback. It counts what it served.
 */
#ifndef CLIENTS_TLS_SERVER_H
#define CLIENTS_TLS_SERVER_H

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};
static SSL_CTX *server;
static int served; // atomic

static void fail(const char *what)
{
    ERR_print_errors_fp(stderr);
    perror(what);
    exit(1);
}

// ---- the server -------------------------------------------------------------------------------------------------------

// A head of a request, perhaps begun in early data. False: there is none.
static bool read_head(SSL *ssl, char *head, size_t size, size_t have)
{
    head[have] = '\0';
    while (strstr(head, "\r\n\r\n") == NULL) {
        int got = have < size - 1 ? SSL_read(ssl, head + have, 1) : -1;
        if (got <= 0) {
            return false;
        }
        have += (size_t)got;
        head[have] = '\0';
    }
    return true;
}

static bool skip_body(SSL *ssl, const char *head)
{
    const char *length = strstr(head, "Content-Length: ");
    char buffer[16384];
    for (long left = length != NULL ? atol(length + 16) : 0; left > 0;) {
        int got = SSL_read(ssl, buffer, left < (long)sizeof buffer ? (int)left : (int)sizeof buffer);
        if (got <= 0) {
            return false;
        }
        left -= got;
    }
    return true;
}

// "/503" is answered so; "/close" and "/cut" until the connection ends, with and without a goodbye.
static bool answer(SSL *ssl, const char *head)
{
    char text[256];
    int status = atoi(strchr(head, '/') + 1);
    bool lasts = status != 0;
    __atomic_add_fetch(&served, 1, __ATOMIC_SEQ_CST);
    if (lasts) {
        snprintf(text, sizeof text, "HTTP/1.1 %d Said\r\nContent-Length: 5\r\n\r\nfine\n", status);
    } else {
        snprintf(text, sizeof text, "HTTP/1.1 200 Said\r\nConnection: close\r\n\r\nfine\n");
    }
    SSL_write(ssl, text, (int)strlen(text));
    if (strstr(head, "/close ") != NULL) {
        SSL_shutdown(ssl);
    }
    return lasts;
}

static void *serve(void *argument)
{
    char head[4096];
    size_t early = 0, got = 0;
    int fd = (int)(intptr_t)argument, state = SSL_READ_EARLY_DATA_ERROR;
    SSL *ssl = SSL_new(server);
    SSL_set_fd(ssl, fd);
    while (SSL_get_max_early_data(ssl) > 0 && early < sizeof head - 1 &&
           (state = SSL_read_early_data(ssl, head + early, sizeof head - 1 - early, &got)) !=
               SSL_READ_EARLY_DATA_FINISH) {
        if (state == SSL_READ_EARLY_DATA_ERROR) {
            break;
        }
        early += got;
    }
    if (SSL_accept(ssl) == 1) {
        while (read_head(ssl, head, sizeof head, early) && skip_body(ssl, head) && answer(ssl, head)) {
            early = 0;
        }
    }
    shutdown(fd, SHUT_WR);
    while (read(fd, head, sizeof head) > 0) {
    }
    SSL_free(ssl);
    close(fd);
    return NULL;
}

static void *accept_all(void *argument)
{
    int listener = (int)(intptr_t)argument;
    for (;;) {
        pthread_t thread;
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0) {
            pthread_detach(thread);
        }
    }
    return NULL;
}

static void start_server(const char *certificate, const char *key)
{
    pthread_t thread;
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_options(server, SSL_OP_ALLOW_CLIENT_RENEGOTIATION | SSL_OP_NO_ANTI_REPLAY);
    SSL_CTX_set_session_id_context(server, (const unsigned char *)"tls", 3);
    if (SSL_CTX_use_certificate_file(server, certificate, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(server, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_load_verify_locations(server, certificate, NULL) != 1 ||
        bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener) != 0) {
        fail("server");
    }
    pthread_detach(thread);
}

#endif
