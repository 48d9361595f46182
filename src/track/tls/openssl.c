/*
 * See tls.h: OpenSSL, and what goes by its name.
 */
#include "track/tls/plain.h"
#include "track/process.h"
#include "track/tls/inner.h"
#include <errno.h>

/* Has it become known by now whose connection it is? */
static void look(struct tls_use *use)
{
    uint8_t random[TLS_RANDOM];
    const struct tls_library *real = use->real;
    SSL *ssl = (SSL *)(uintptr_t)use->object;
    if (!real->complete || !tls_hello_any() || real->SSL_is_server(ssl) || !real->SSL_is_init_finished(ssl) ||
        real->SSL_get_client_random(ssl, random, sizeof random) != sizeof random) {
        return;
    }
    tls_settle(use, random);
}

struct tls_use tls_openssl_use(SSL *ssl, const void *caller)
{
    struct tls_use use = {.real = tls_openssl(caller, ssl), .object = ssl, .mark = 0, .settled = true};
    if (ssl == NULL || !process_acts || tls_is_silent(ssl)) {
        return use;
    }
    uint64_t tie = tls_tie(ssl);
    if ((tie & FD_FLOW) != TLS_NONE) {
        use.mark = tls_alive(tie);
        use.settled = use.mark != 0;
    }
    if (!use.settled) {
        look(&use);
    }
    return use;
}

/*
 * It failed, or has nothing yet. The reason is not asked for first: what an earlier failure has left in the thread's queue
 * of errors would be taken for it. But a read that the socket failed still says that it wants to read.
 */
static void failed(const struct tls_use *use, bool reading, int result)
{
    const struct tls_library *real = use->real;
    const SSL *ssl = use->object;
    int saved = errno;
    if (real->SSL_want(ssl) != SSL_NOTHING && !(reading && plain_waits(use->mark))) {
        errno = saved;
        return;
    }
    int reason = real->SSL_get_error(ssl, result);
    if (reason == SSL_ERROR_ZERO_RETURN && reading) {
        plain_closed(use->mark);
    } else if ((reason == SSL_ERROR_SSL || reason == SSL_ERROR_SYSCALL) && reading) {
        plain_broken(use->mark, reason == SSL_ERROR_SSL);
    }
    errno = saved;
}

int tls_openssl_shaken(struct tls_use *use, int result)
{
    if (use->object == NULL || !process_acts) {
        return result;
    }
    int saved = errno;
    if (result == 1) {
        look(use);
        if (use->mark != 0) {
            plain_shaken(use->mark, use->real->SSL_get_early_data_status(use->object) != SSL_EARLY_DATA_REJECTED);
        }
    } else if (use->mark != 0) {
        failed(use, true, result);
    }
    errno = saved;
    return result;
}

long tls_openssl_verified(const struct tls_use *use, long result)
{
    if (use->mark != 0 && result != X509_V_OK) {
        plain_untrusted(use->mark);
    }
    return result;
}

int tls_openssl_early(struct tls_use *use, const void *bytes, const size_t *moved, int result)
{
    tls_end_silence();
    if (result != 1 || !process_acts) {
        return result;
    }
    int saved = errno;
    uint8_t random[TLS_RANDOM];
    SSL *ssl = (SSL *)(uintptr_t)use->object;
    bool asked = use->mark == 0 && use->real->complete && tls_hello_any() &&
                 use->real->SSL_get_client_random(ssl, random, sizeof random) == sizeof random;
    if (asked) {
        use->mark = tls_find(random);
        (void)tls_tie_set(ssl, TLS_TIE(use->mark, use->real->number));
    }
    if (use->mark != 0) {
        plain_early(use->mark);
        plain_sent(use->mark, bytes, *moved);
    }
    errno = saved;
    return result;
}

/* Did it go well? Then whose connection it is may have come out in between: the handshake was part of it. */
static bool went_well(struct tls_use *use, int result)
{
    if (result > 0 && !use->settled) {
        int saved = errno;
        look(use);
        errno = saved;
    }
    return result > 0;
}

int tls_openssl_wrote(struct tls_use *use, const void *bytes, const size_t *moved, int result)
{
    if (!went_well(use, result)) {
        if (use->mark != 0) {
            failed(use, false, result);
        }
    } else if (use->mark != 0) {
        plain_sent(use->mark, bytes, moved != NULL ? *moved : (size_t)result);
    }
    return result;
}

int tls_openssl_read(struct tls_use *use, const void *bytes, const size_t *moved, int result)
{
    if (!went_well(use, result)) {
        if (use->mark != 0) {
            failed(use, true, result);
        }
    } else if (use->mark != 0) {
        plain_received(use->mark, bytes, moved != NULL ? *moved : (size_t)result);
    }
    return result;
}
