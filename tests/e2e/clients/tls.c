/*
 * Ways of using a TLS library that real clients have, one at a time, against a server in a thread of its own:
 *
 *   tls CASE CERTIFICATE KEY     prints a line for each request, its status or what went wrong, and "served N" last
 *
 * link with: -lssl -lcrypto -lgnutls -lpthread
 */
#include "tls_server.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define NAME "acme.test"
#define BODY (4u << 20)

static SSL_CTX *client;

// ---- a client ---------------------------------------------------------------------------------------------------------

static int dialled(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        fail("connect");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static SSL *made(int fd)
{
    SSL *ssl = SSL_new(client);
    SSL_set_fd(ssl, fd);
    SSL_set_tlsext_host_name(ssl, NAME);
    return ssl;
}

static SSL *shaken(void)
{
    SSL *ssl = made(dialled());
    if (SSL_connect(ssl) != 1) {
        fail("SSL_connect");
    }
    return ssl;
}

static void hang_up(SSL *ssl)
{
    int fd = SSL_get_fd(ssl);
    SSL_free(ssl);
    close(fd);
}

static const char *request(const char *path)
{
    static char text[256];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: " NAME "\r\n\r\n", path);
    return text;
}

static void ask(SSL *ssl, const char *path)
{
    const char *text = request(path);
    if (SSL_write(ssl, text, (int)strlen(text)) <= 0) {
        printf("not written\n");
    }
}

// What there is of an answer so far tells its status, once it is whole.
static bool told(const char *text)
{
    const char *body = strstr(text, "\r\n\r\nfine\n");
    if (body != NULL) {
        printf("%.3s\n", text + 9);
    }
    return body != NULL;
}

// The rest of an answer whose first bytes are there already.
static void hear_rest(SSL *ssl, char *text, size_t size, int piece)
{
    size_t have = strlen(text);
    while (!told(text)) {
        int room = (int)(size - 1 - have), got = SSL_read(ssl, text + have, piece < room ? piece : room);
        if (got <= 0) {
            printf("no answer: %d\n", SSL_get_error(ssl, got));
            return;
        }
        have += (size_t)got;
        text[have] = '\0';
    }
}

static void hear(SSL *ssl)
{
    char text[1024] = "";
    hear_rest(ssl, text, sizeof text, sizeof text);
}

static void call(SSL *ssl, const char *path)
{
    ask(ssl, path);
    hear(ssl);
}

// ---- cases ------------------------------------------------------------------------------------------------------------

static void kept(void)
{
    SSL *ssl = shaken();
    call(ssl, "/200");
    call(ssl, "/503");
    call(ssl, "/404");
    hang_up(ssl);
}

static void by_bytes(void)
{
    SSL *ssl = shaken();
    for (int i = 0; i < 2; i++) {
        char text[1024] = "";
        const char *words = request("/503");
        for (size_t at = 0; at < strlen(words); at++) {
            size_t written;
            if (SSL_write_ex(ssl, words + at, 1, &written) != 1) {
                fail("SSL_write_ex");
            }
        }
        hear_rest(ssl, text, sizeof text, 1);
    }
    hang_up(ssl);
}

static void peeking(void)
{
    SSL *ssl = shaken();
    char text[1024];
    ask(ssl, "/503");
    for (int i = 0; i < 3; i++) {
        SSL_peek(ssl, text, sizeof text);
    }
    hear(ssl);
    call(ssl, "/200");
    hang_up(ssl);
}

// The first write shakes hands.
static void implicit(void)
{
    SSL *ssl = made(dialled());
    SSL_set_connect_state(ssl);
    call(ssl, "/200");
    call(ssl, "/503");
    hang_up(ssl);
}

// One object, two connections.
static void cleared(void)
{
    SSL *ssl = shaken();
    call(ssl, "/200");
    SSL_shutdown(ssl);
    close(SSL_get_fd(ssl));
    SSL_clear(ssl);
    SSL_set_fd(ssl, dialled());
    if (SSL_connect(ssl) != 1) {
        fail("SSL_connect");
    }
    call(ssl, "/503");
    call(ssl, "/503");
    hang_up(ssl);
}

static void renegotiated(void)
{
    SSL_CTX_set_max_proto_version(client, TLS1_2_VERSION);
    SSL *ssl = shaken();
    call(ssl, "/200");
    if (SSL_renegotiate(ssl) != 1 || SSL_do_handshake(ssl) != 1) {
        fail("SSL_renegotiate");
    }
    call(ssl, "/503");
    hang_up(ssl);
}

static SSL_SESSION *ticket;

static int keep_ticket(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(ticket);
    ticket = session;
    return 1;
}

static void early_data(bool taken)
{
    SSL_CTX_set_max_early_data(server, 16384);
    SSL_CTX_set_session_cache_mode(client, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client, keep_ticket);
    SSL *ssl = shaken();
    call(ssl, "/200");
    SSL_shutdown(ssl); // or the session could not be resumed
    hang_up(ssl);
    if (!taken) {
        SSL_CTX_set_max_early_data(server, 0);
    }
    size_t written;
    const char *text = request("/503");
    ssl = made(dialled());
    SSL_set_session(ssl, ticket);
    if (SSL_write_early_data(ssl, text, strlen(text), &written) != 1 || SSL_connect(ssl) != 1) {
        fail("SSL_write_early_data");
    }
    if (SSL_get_early_data_status(ssl) == SSL_EARLY_DATA_ACCEPTED) {
        printf("taken\n");
        hear(ssl);
    } else {
        call(ssl, "/503");
    }
    call(ssl, "/200");
    hang_up(ssl);
}

static void early(void)
{
    early_data(true);
}

static void early_rejected(void)
{
    early_data(false);
}

// A server that wants to know who we are says so when we think that we are through.
static void unwelcome(void)
{
    SSL_CTX_set_verify(server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL *ssl = shaken();
    call(ssl, "/200");
    hang_up(ssl);
}

static void unused(void)
{
    SSL *ssl = shaken();
    char byte;
    SSL_shutdown(ssl);
    SSL_read(ssl, &byte, 1);
    hang_up(ssl);
}

static void until_end(const char *path)
{
    SSL *ssl = shaken();
    char text[1024];
    int got, last = 0;
    ask(ssl, path);
    while ((got = SSL_read(ssl, text, sizeof text)) > 0) {
        last = got;
    }
    printf("%s, then %d\n", last > 0 ? "some" : "none", SSL_get_error(ssl, got));
    hang_up(ssl);
}

static void until_goodbye(void)
{
    until_end("/close");
}

static void cut_off(void)
{
    until_end("/cut");
}

// A child goes on with its parent's connection.
static void forked(void)
{
    SSL *ssl = shaken();
    call(ssl, "/200");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        call(ssl, "/503");
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    SSL_set_quiet_shutdown(ssl, 1);
    hang_up(ssl);
}

static char upload[BODY + 256];

// Returns its length.
static size_t upload_prepared(void)
{
    memset(upload, 'x', sizeof upload);
    int head = sprintf(upload, "POST /503 HTTP/1.1\r\nHost: " NAME "\r\nContent-Length: %u\r\n\r\n", BODY);
    upload[head] = 'x';
    return (size_t)head + BODY;
}

static void make_narrow(int fd)
{
    int small = 4096;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

// A body that does not fit the socket: written as far as it goes, again and again.
static void piecewise(void)
{
    SSL *ssl = shaken();
    int fd = SSL_get_fd(ssl);
    make_narrow(fd);
    SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
    for (int i = 0; i < 2; i++) {
        size_t left = upload_prepared();
        for (const char *at = upload; left > 0;) {
            int written = SSL_write(ssl, at, (int)left);
            if (written <= 0 && SSL_get_error(ssl, written) != SSL_ERROR_WANT_WRITE) {
                fail("SSL_write");
            }
            if (written > 0) {
                at += written;
                left -= (size_t)written;
            } else {
                poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
            }
        }
        fcntl(fd, F_SETFL, 0);
        hear(ssl);
        fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    hang_up(ssl);
}

// What was in the queue of errors before is there after.
static void with_errors(void)
{
    SSL *ssl = shaken();
    char text[1024] = "";
    call(ssl, "/200"); // behind the server's tickets, whose reading would empty the queue
    ask(ssl, "/503");
    fcntl(SSL_get_fd(ssl), F_SETFL, O_NONBLOCK);
    ERR_put_error(ERR_LIB_USER, 0, 242, "here", 1);
    int got = SSL_read(ssl, text, sizeof text - 1); // nothing yet, most of the time
    text[got > 0 ? got : 0] = '\0';
    printf("%d\n", ERR_GET_REASON(ERR_peek_error()));
    ERR_clear_error();
    fcntl(SSL_get_fd(ssl), F_SETFL, 0);
    hear_rest(ssl, text, sizeof text, sizeof text);
    errno = 4242;
    ask(ssl, "/200");
    printf("%d\n", errno);
    hear(ssl);
    hang_up(ssl);
}

// ---- GnuTLS -----------------------------------------------------------------------------------------------------------

static gnutls_session_t gnutls_shaken(void)
{
    gnutls_session_t session;
    int fd = dialled();
    static gnutls_certificate_credentials_t credentials;
    gnutls_certificate_allocate_credentials(&credentials);
    gnutls_init(&session, GNUTLS_CLIENT);
    gnutls_set_default_priority(session);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_server_name_set(session, GNUTLS_NAME_DNS, NAME, strlen(NAME));
    gnutls_transport_set_int(session, fd);
    int result = gnutls_handshake(session);
    if (result != 0) {
        fprintf(stderr, "gnutls_handshake: %s\n", gnutls_strerror(result));
        exit(1);
    }
    return session;
}

static void gnutls_hear(gnutls_session_t session)
{
    char text[1024] = "";
    size_t have = 0;
    while (!told(text)) {
        ssize_t got = gnutls_record_recv(session, text + have, sizeof text - 1 - have);
        if (got == GNUTLS_E_AGAIN) {
            poll(&(struct pollfd){.fd = gnutls_transport_get_int(session), .events = POLLIN}, 1, -1);
        } else if (got <= 0) {
            printf("no answer: %s\n", gnutls_strerror((int)got));
            return;
        } else {
            have += (size_t)got;
            text[have] = '\0';
        }
    }
}

static void gnutls_call(gnutls_session_t session, const char *path)
{
    const char *text = request(path);
    gnutls_record_send(session, text, strlen(text));
    gnutls_hear(session);
}

static void gnutls_hang_up(gnutls_session_t session)
{
    int fd = gnutls_transport_get_int(session);
    gnutls_bye(session, GNUTLS_SHUT_WR);
    gnutls_deinit(session);
    close(fd);
}

static void gnutls_kept(void)
{
    gnutls_session_t session = gnutls_shaken();
    gnutls_call(session, "/200");
    gnutls_call(session, "/503");
    gnutls_hang_up(session);
}

static void gnutls_corked(void)
{
    gnutls_session_t session = gnutls_shaken();
    for (int i = 0; i < 2; i++) {
        const char *text = request("/503");
        gnutls_record_cork(session);
        for (size_t at = 0; at < strlen(text); at++) {
            gnutls_record_send(session, text + at, 1);
        }
        gnutls_record_uncork(session, GNUTLS_RECORD_WAIT);
        gnutls_hear(session);
    }
    gnutls_hang_up(session);
}

// What it could not send at once it is asked about without the bytes.
static void gnutls_piecewise(void)
{
    gnutls_session_t session = gnutls_shaken();
    int fd = gnutls_transport_get_int(session);
    make_narrow(fd);
    for (int i = 0; i < 2; i++) {
        size_t left = upload_prepared();
        for (const char *at = upload; left > 0;) {
            ssize_t sent = gnutls_record_send(session, at, left);
            while (sent == GNUTLS_E_AGAIN) {
                poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
                sent = gnutls_record_send(session, NULL, 0);
            }
            if (sent <= 0) {
                fprintf(stderr, "gnutls_record_send: %s\n", gnutls_strerror((int)sent));
                exit(1);
            }
            at += sent;
            left -= (size_t)sent;
        }
        gnutls_hear(session);
    }
    gnutls_hang_up(session);
}

// Both libraries by turns, each on a connection of its own.
static void both(void)
{
    gnutls_session_t session = gnutls_shaken();
    SSL *ssl = shaken();
    for (int i = 0; i < 2; i++) {
        gnutls_call(session, "/503");
        call(ssl, "/200");
    }
    hang_up(ssl);
    gnutls_hang_up(session);
}

// ---- which ------------------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"kept", kept},
    {"by-bytes", by_bytes},
    {"peeking", peeking},
    {"implicit", implicit},
    {"cleared", cleared},
    {"renegotiated", renegotiated},
    {"early", early},
    {"early-rejected", early_rejected},
    {"unwelcome", unwelcome},
    {"unused", unused},
    {"until-goodbye", until_goodbye},
    {"cut-off", cut_off},
    {"forked", forked},
    {"piecewise", piecewise},
    {"with-errors", with_errors},
    {"gnutls-kept", gnutls_kept},
    {"gnutls-corked", gnutls_corked},
    {"gnutls-piecewise", gnutls_piecewise},
    {"both", both},
};

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    client = SSL_CTX_new(TLS_client_method());
    for (size_t i = 0; argc == 4 && i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            start_server(argv[2], argv[3]);
            cases[i].run();
            printf("served %d\n", __atomic_load_n(&served, __ATOMIC_SEQ_CST));
            fflush(stdout);
            _exit(0); // and leave the server's threads where they are
        }
    }
    fprintf(stderr, "usage: tls CASE CERTIFICATE KEY\n");
    return 64;
}
