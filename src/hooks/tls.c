/*
 * The TLS libraries, in the clear.
 */
#include "hooks/hook.h"
#include "track/tls/tls.h"
#include "track/tls/ties.h"

#define CALLER __builtin_return_address(0)

/* ---- OpenSSL ----------------------------------------------------------------------------------------------------- */

HOOK int SSL_connect(SSL *ssl)
{
    struct tls_use use = tls_openssl_use(ssl, CALLER);
    return tls_openssl_shaken(&use, tls_enter(use.real)->SSL_connect(ssl));
}

HOOK int SSL_do_handshake(SSL *ssl)
{
    struct tls_use use = tls_openssl_use(ssl, CALLER);
    return tls_openssl_shaken(&use, use.real->SSL_do_handshake(ssl));
}

HOOK int SSL_write(SSL *ssl, const void *buf, int num)
{
    struct tls_use use = tls_openssl_use(ssl, CALLER);
    tls_ask(&use, buf, num > 0 ? (size_t)num : 0);
    return tls_openssl_wrote(&use, buf, NULL, use.real->SSL_write(ssl, buf, num));
}

HOOK int SSL_write_ex(SSL *ssl, const void *buf, size_t num, size_t *written)
{
    struct tls_use use = tls_openssl_use(ssl, CALLER);
    tls_ask(&use, buf, num);
    return tls_openssl_wrote(&use, buf, written, use.real->SSL_write_ex(ssl, buf, num, written));
}

/* It writes by SSL_write_ex. */
HOOK int SSL_write_early_data(SSL *ssl, const void *buf, size_t num, size_t *written)
{
    struct tls_use use = tls_openssl_use(ssl, CALLER);
    tls_silence(&use);
    return tls_openssl_early(&use, buf, written, use.real->SSL_write_early_data(ssl, buf, num, written));
}

HOOK int SSL_read(SSL *ssl, void *buf, int num)
{
    struct tls_use use = tls_openssl_use(ssl, CALLER);
    return tls_openssl_read(&use, buf, NULL, use.real->SSL_read(ssl, buf, num));
}

HOOK int SSL_read_ex(SSL *ssl, void *buf, size_t num, size_t *count)
{
    struct tls_use use = tls_openssl_use(ssl, CALLER);
    return tls_openssl_read(&use, buf, count, use.real->SSL_read_ex(ssl, buf, num, count));
}

HOOK long SSL_get_verify_result(const SSL *ssl)
{
    struct tls_use use = tls_openssl_use((SSL *)(uintptr_t)ssl, CALLER);
    return tls_openssl_verified(&use, use.real->SSL_get_verify_result(ssl));
}

HOOK int SSL_shutdown(SSL *ssl)
{
    struct tls_use use = tls_openssl_use(ssl, CALLER);
    tls_finishing(&use);
    return use.real->SSL_shutdown(ssl);
}

HOOK int SSL_clear(SSL *ssl)
{
    const struct tls_library *real = tls_openssl(CALLER, ssl);
    tls_tie_forget(ssl);
    return real->SSL_clear(ssl);
}

HOOK void SSL_free(SSL *ssl)
{
    const struct tls_library *real = tls_openssl(CALLER, ssl);
    tls_tie_forget(ssl);
    real->SSL_free(ssl);
}

/* ---- GnuTLS ------------------------------------------------------------------------------------------------------ */

HOOK int gnutls_init(gnutls_session_t *session, unsigned flags)
{
    struct tls_use use = tls_gnutls_use(NULL, CALLER);
    int result = use.real->gnutls_init(session, flags);
    return result == 0 ? tls_gnutls_made(&use, *session, flags) : result;
}

HOOK int gnutls_handshake(gnutls_session_t session)
{
    struct tls_use use = tls_gnutls_use(session, CALLER);
    return tls_gnutls_shaken(&use, use.real->gnutls_handshake(session));
}

HOOK ssize_t gnutls_record_send(gnutls_session_t session, const void *data, size_t size)
{
    struct tls_use use = tls_gnutls_use(session, CALLER);
    tls_ask(&use, data, size);
    return tls_gnutls_wrote(&use, data, size, tls_enter(use.real)->gnutls_record_send(session, data, size));
}

HOOK ssize_t gnutls_record_send2(gnutls_session_t session, const void *data, size_t size, size_t pad, unsigned flags)
{
    struct tls_use use = tls_gnutls_use(session, CALLER);
    if (tls_calls_itself(use.real, CALLER)) { /* from gnutls_record_send */
        return use.real->gnutls_record_send2(session, data, size, pad, flags);
    }
    tls_ask(&use, data, size);
    return tls_gnutls_wrote(&use, data, size, use.real->gnutls_record_send2(session, data, size, pad, flags));
}

/* It sends, by gnutls_record_send, what was handed to that before. */
HOOK int gnutls_record_uncork(gnutls_session_t session, unsigned flags)
{
    struct tls_use use = tls_gnutls_use(session, CALLER);
    tls_silence(&use);
    return tls_gnutls_uncorked(&use, use.real->gnutls_record_uncork(session, flags));
}

HOOK ssize_t gnutls_record_recv(gnutls_session_t session, void *data, size_t size)
{
    struct tls_use use = tls_gnutls_use(session, CALLER);
    return tls_gnutls_read(&use, data, size, use.real->gnutls_record_recv(session, data, size));
}

HOOK ssize_t gnutls_record_recv_seq(gnutls_session_t session, void *data, size_t size, unsigned char *seq)
{
    struct tls_use use = tls_gnutls_use(session, CALLER);
    return tls_gnutls_read(&use, data, size, use.real->gnutls_record_recv_seq(session, data, size, seq));
}

HOOK int gnutls_certificate_verify_peers2(gnutls_session_t session, unsigned *status)
{
    struct tls_use use = tls_gnutls_use(session, CALLER);
    return tls_gnutls_verified(&use, status, use.real->gnutls_certificate_verify_peers2(session, status));
}

HOOK int gnutls_certificate_verify_peers3(gnutls_session_t session, const char *name, unsigned *status)
{
    struct tls_use use = tls_gnutls_use(session, CALLER);
    return tls_gnutls_verified(&use, status, use.real->gnutls_certificate_verify_peers3(session, name, status));
}

HOOK int gnutls_bye(gnutls_session_t session, gnutls_close_request_t how)
{
    struct tls_use use = tls_gnutls_use(session, CALLER);
    tls_finishing(&use);
    return use.real->gnutls_bye(session, how);
}

HOOK void gnutls_deinit(gnutls_session_t session)
{
    const struct tls_library *real = tls_gnutls(CALLER, session);
    tls_tie_forget(session);
    real->gnutls_deinit(session);
}
