/*
 * See tls.h: GnuTLS. Which side a session is it does not tell: only those that were seen to be made for a client are looked
 * at.
 */
#include "track/tls/plain.h"
#include "track/process.h"
#include "track/tls/inner.h"
#include <errno.h>
#include <string.h>

/* The most that it takes at once. */
#define RECORD 16384

struct tls_use tls_gnutls_use(gnutls_session_t session, const void *caller)
{
    struct tls_use use = {.real = tls_gnutls(caller, session), .object = session, .mark = 0, .settled = true};
    if (session == NULL || !process_acts || tls_is_silent(session)) {
        return use;
    }
    use.mark = tls_alive(tls_tie(session));
    return use;
}

int tls_gnutls_made(const struct tls_use *use, gnutls_session_t session, unsigned flags)
{
    if (process_acts) {
        int saved = errno;
        tls_tie_forget(session);
        if ((flags & GNUTLS_CLIENT) != 0 && use->real->complete) {
            (void)tls_tie_set(session, TLS_TIE(0, use->real->number));
        }
        errno = saved;
    }
    return 0;
}

int tls_gnutls_shaken(struct tls_use *use, int result)
{
    if (result != 0 || !process_acts || tls_tie(use->object) == 0) {
        return result;
    }
    int saved = errno;
    gnutls_datum_t client = {NULL, 0}, server = {NULL, 0};
    use->real->gnutls_session_get_random((gnutls_session_t)(uintptr_t)use->object, &client, &server);
    if (client.data != NULL && client.size == TLS_RANDOM) {
        tls_settle(use, client.data);
    }
    errno = saved;
    return result;
}

/* A result that asks for another try, if it is one. */
static bool is_passing(const struct tls_use *use, ssize_t result)
{
    return result < 0 && use->real->gnutls_error_is_fatal((int)result) == 0;
}

ssize_t tls_gnutls_wrote(const struct tls_use *use, const void *bytes, size_t length, ssize_t result)
{
    if (use->mark == 0) {
        return result;
    }
    if (result > 0) {
        plain_sent(use->mark, bytes, (size_t)result);
    } else if (bytes != NULL && (result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED)) {
        plain_took(use->mark, bytes, length < RECORD ? length : RECORD);
    }
    return result;
}

int tls_gnutls_verified(const struct tls_use *use, const unsigned *status, int result)
{
    if (use->mark != 0 && result == 0 && *status != 0) {
        plain_untrusted(use->mark);
    }
    return result;
}

int tls_gnutls_uncorked(const struct tls_use *use, int result)
{
    (void)use;
    tls_end_silence();
    return result;
}

ssize_t tls_gnutls_read(const struct tls_use *use, const void *bytes, size_t wanted, ssize_t result)
{
    if (use->mark == 0 || wanted == 0) {
        return result;
    }
    if (result > 0) {
        plain_received(use->mark, bytes, (size_t)result);
    } else if (result == 0) {
        plain_closed(use->mark);
    } else if (is_passing(use, result)) {
        plain_waits(use->mark);
    } else {
        plain_broken(use->mark, true);
    }
    return result;
}
