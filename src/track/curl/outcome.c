#include "track/curl/outcome.h"

#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>
#include <errno.h>
#include <stddef.h>

enum how {
    OURS = 0, /* trouble of our own side, or of what was asked for: neutral, unless a status came that says more */
    ANSWERED, /* the provider answered, and the status or the code says what */
    BROKE,    /* failed, kind in the row */
    RESOLVE,
    CONNECT,
    GAVE_UP,
    RECEIVE
};

/* What is not listed is OURS: an unknown code never condemns anybody. */
static const struct {
    unsigned char how, kind;
} codes[] = {
    [CURLE_OK] = {ANSWERED, 0},
    [CURLE_COULDNT_RESOLVE_HOST] = {RESOLVE, 0},
    [CURLE_COULDNT_CONNECT] = {CONNECT, 0},
    [CURLE_REMOTE_ACCESS_DENIED] = {ANSWERED, 0},
    [CURLE_FTP_ACCEPT_TIMEOUT] = {BROKE, PREBREAK_KIND_TIMEOUT},
    [CURLE_HTTP2] = {BROKE, PREBREAK_KIND_RESET},
    [CURLE_PARTIAL_FILE] = {BROKE, PREBREAK_KIND_RESET},
    [CURLE_FTP_COULDNT_RETR_FILE] = {ANSWERED, 0},
    [CURLE_QUOTE_ERROR] = {ANSWERED, 0},
    [CURLE_HTTP_RETURNED_ERROR] = {ANSWERED, 0},
    [CURLE_UPLOAD_FAILED] = {ANSWERED, 0},
    [CURLE_OPERATION_TIMEDOUT] = {GAVE_UP, 0},
    [CURLE_RANGE_ERROR] = {ANSWERED, 0},
    [CURLE_SSL_CONNECT_ERROR] = {BROKE, PREBREAK_KIND_TLS},
    [CURLE_TOO_MANY_REDIRECTS] = {ANSWERED, 0},
    [CURLE_GOT_NOTHING] = {BROKE, PREBREAK_KIND_RESET},
    [CURLE_SEND_ERROR] = {BROKE, PREBREAK_KIND_RESET},
    [CURLE_RECV_ERROR] = {RECEIVE, 0},
    [CURLE_PEER_FAILED_VERIFICATION] = {BROKE, PREBREAK_KIND_TLS},
    [CURLE_BAD_CONTENT_ENCODING] = {ANSWERED, 0},
    [CURLE_USE_SSL_FAILED] = {BROKE, PREBREAK_KIND_TLS},
    [CURLE_LOGIN_DENIED] = {ANSWERED, 0},
    [CURLE_TFTP_NOTFOUND] = {ANSWERED, 0},
    [CURLE_TFTP_PERM] = {ANSWERED, 0},
    [CURLE_REMOTE_DISK_FULL] = {ANSWERED, 0},
    [CURLE_REMOTE_FILE_EXISTS] = {ANSWERED, 0},
    [CURLE_REMOTE_FILE_NOT_FOUND] = {ANSWERED, 0},
    [CURLE_SSL_ISSUER_ERROR] = {BROKE, PREBREAK_KIND_TLS},
    [CURLE_SSL_PINNEDPUBKEYNOTMATCH] = {BROKE, PREBREAK_KIND_TLS},
    [CURLE_SSL_INVALIDCERTSTATUS] = {BROKE, PREBREAK_KIND_TLS},
    [CURLE_HTTP2_STREAM] = {BROKE, PREBREAK_KIND_RESET},
    [CURLE_HTTP3] = {BROKE, PREBREAK_KIND_RESET},
    [CURLE_QUIC_CONNECT_ERROR] = {BROKE, PREBREAK_KIND_CONNECT},
};

/* What says of a failed connect that it was our own network or our own limits (OUTCOMES: neutral). */
static bool is_ours(int error)
{
    static const int ours[] = {0,      ENETUNREACH, EADDRNOTAVAIL, EADDRINUSE, EAFNOSUPPORT,
                               EACCES, EPERM,       EMFILE,        ENFILE,     ENOBUFS,
                               ENOMEM, EINTR,       EINVAL,        ENETDOWN,   EPROTONOSUPPORT};

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (error == ours[i]) {
            return true;
        }
    }
    return false;
}

static struct curl_outcome neutral(void)
{
    return (struct curl_outcome){.outcome = PREBREAK_NEUTRAL, .unless_status = true};
}

static struct curl_outcome failed(enum prebreak_kind kind)
{
    return (struct curl_outcome){.outcome = PREBREAK_FAILED, .kind = kind, .unless_status = true};
}

static struct curl_outcome gave_up(const struct curl_facts *facts)
{
    if (facts->connected) {
        return failed(PREBREAK_KIND_TIMEOUT);
    }
    /* A resolver that does not answer is our network's; an address that does not is the provider's. */
    return facts->resolved ? failed(PREBREAK_KIND_CONNECT) : neutral();
}

/* A proxy that says that it cannot reach the provider is believed; that it does not let us through is our own matter. */
static struct curl_outcome receive(const struct curl_facts *facts)
{
    if (facts->tunnel < 300) {
        return failed(PREBREAK_KIND_RESET);
    }
    return facts->tunnel >= 500 ? failed(PREBREAK_KIND_CONNECT) : neutral();
}

struct curl_outcome curl_outcome(const struct curl_facts *facts)
{
    size_t code = (size_t)facts->code;
    bool known = facts->code >= 0 && code < sizeof codes / sizeof codes[0];

    if (facts->elsewhere) {
        return (struct curl_outcome){.outcome = PREBREAK_OK};
    }
    switch (known ? (enum how)codes[code].how : OURS) {
    case ANSWERED:
        return (struct curl_outcome){.outcome = PREBREAK_OK, .by_status = facts->status != 0};
    case BROKE:
        return failed((enum prebreak_kind)codes[code].kind);
    case RESOLVE:
        return facts->dns_failed ? failed(PREBREAK_KIND_DNS) : neutral();
    case CONNECT:
        return is_ours(facts->error) ? neutral() : failed(PREBREAK_KIND_CONNECT);
    case GAVE_UP:
        return gave_up(facts);
    case RECEIVE:
        return receive(facts);
    case OURS:
        break;
    }
    return neutral();
}
