/*
 * See library.h.
 */
#include "track/tls/library.h"
#include "real/real.h"
#include "track/tls/ties.h"
#include <stddef.h>
#include <string.h>

/* ---- functions that are missing ---------------------------------------------------------------------------------- */

static void do_nothing(void)
{
}

static int fail_zero(void)
{
    return 0;
}

static int fail_negative(void)
{
    return -1;
}

static long fail_verify(void)
{
    return X509_V_ERR_UNSPECIFIED;
}

static int fail_gnutls(void)
{
    return GNUTLS_E_INTERNAL_ERROR;
}

static ssize_t fail_record(void)
{
    return GNUTLS_E_INTERNAL_ERROR;
}

/* ---- the two kinds ----------------------------------------------------------------------------------------------- */

/* What is called in place of one that the library lacks; NULL: it is ours to ask, and then we do not. */
struct function {
    const char *name;
    size_t offset;
    void (*missing)(void);
};

/* clang-format off */
#define ROW(name, missing) {#name, offsetof(struct tls_library, name), (void (*)(void))(missing)}
/* clang-format on */
#define NEVER_CALLED(name) ROW(name, NULL)
#define COUNT(list)        (sizeof(list) / sizeof *(list))
#define LIBRARIES          8

static const struct function openssl_functions[] = {
    ROW(SSL_free, do_nothing),
    ROW(SSL_clear, fail_zero),
    ROW(SSL_connect, fail_negative),
    ROW(SSL_do_handshake, fail_negative),
    ROW(SSL_read, fail_negative),
    ROW(SSL_read_ex, fail_zero),
    ROW(SSL_write, fail_negative),
    ROW(SSL_write_ex, fail_zero),
    ROW(SSL_write_early_data, fail_zero),
    ROW(SSL_shutdown, fail_negative),
    ROW(SSL_get_verify_result, fail_verify),
    ROW(SSL_get_early_data_status, fail_zero),
    NEVER_CALLED(SSL_is_server),
    NEVER_CALLED(SSL_is_init_finished),
    NEVER_CALLED(SSL_get_client_random),
    NEVER_CALLED(SSL_want),
    NEVER_CALLED(SSL_get_error),
};

static const struct function gnutls_functions[] = {
    ROW(gnutls_init, fail_gnutls),
    ROW(gnutls_deinit, do_nothing),
    ROW(gnutls_handshake, fail_gnutls),
    ROW(gnutls_record_send, fail_record),
    ROW(gnutls_record_send2, fail_record),
    ROW(gnutls_record_uncork, fail_gnutls),
    ROW(gnutls_record_recv, fail_record),
    ROW(gnutls_record_recv_seq, fail_record),
    ROW(gnutls_bye, fail_gnutls),
    ROW(gnutls_certificate_verify_peers2, fail_gnutls),
    ROW(gnutls_certificate_verify_peers3, fail_gnutls),
    NEVER_CALLED(gnutls_session_get_random),
    NEVER_CALLED(gnutls_error_is_fatal),
};

struct kind {
    const struct function *functions;
    size_t count;
    const char *sonames[3]; /* where it is looked for as a last resort */
    struct {
        const void *anchor; /* its first function; of what stands for no library at all, this kind itself */
        bool ready;
        struct tls_library library;
    } libraries[LIBRARIES];
};

static struct kind openssl = {
    .functions = openssl_functions, .count = COUNT(openssl_functions), .sonames = {"libssl.so.3", "libssl.so.1.1"}};
static struct kind gnutls = {
    .functions = gnutls_functions, .count = COUNT(gnutls_functions), .sonames = {"libgnutls.so.30"}};

/* Whoever else fills it at the same time writes the same. */
static void fill(const struct kind *kind, const void *anchor, struct tls_library *library)
{
    struct real_range range = anchor != kind ? real_range_of(anchor) : (struct real_range){0, 0};
    bool complete = true;
    __atomic_store_n(&library->from, range.from, __ATOMIC_RELAXED);
    __atomic_store_n(&library->to, range.to, __ATOMIC_RELAXED);
    for (size_t i = 0; i < kind->count; i++) {
        const struct function *function = &kind->functions[i];
        void *found = anchor != kind ? real_beside(function->name, anchor) : NULL;
        complete = complete && (found != NULL || function->missing != NULL);
        if (found == NULL) {
            memcpy(&found, &function->missing, sizeof found);
        }
        __atomic_store_n((void **)((char *)library + function->offset), found, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&library->complete, complete, __ATOMIC_RELAXED);
}

/* The one of this anchor. NULL: there are too many. */
static const struct tls_library *library_at(struct kind *kind, const void *anchor)
{
    for (size_t i = 0; i < LIBRARIES; i++) {
        const void *other = NULL;
        if (!__atomic_compare_exchange_n(&kind->libraries[i].anchor, &other, anchor, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE) &&
            other != anchor) {
            continue;
        }
        struct tls_library *library = &kind->libraries[i].library;
        if (!__atomic_load_n(&kind->libraries[i].ready, __ATOMIC_ACQUIRE)) {
            fill(kind, anchor, library);
            __atomic_store_n(&library->number, (uint8_t)(i + 1), __ATOMIC_RELAXED);
            __atomic_store_n(&kind->libraries[i].ready, true, __ATOMIC_RELEASE);
        }
        return library;
    }
    return NULL;
}

/* By the number that a library has; NULL: that is none, or the one that stands for none. */
static const struct tls_library *library_number(const struct kind *kind, unsigned number)
{
    if (number == 0 || number > LIBRARIES || !__atomic_load_n(&kind->libraries[number - 1].ready, __ATOMIC_ACQUIRE)) {
        return NULL;
    }
    return kind->libraries[number - 1].anchor != kind ? &kind->libraries[number - 1].library : NULL;
}

/* ---- libraries that call themselves ------------------------------------------------------------------------------ */

static _Thread_local const struct tls_library *entered;

const struct tls_library *tls_enter(const struct tls_library *library)
{
    entered = library;
    return library;
}

bool tls_calls_itself(const struct tls_library *library, const void *caller)
{
    return real_is_own(caller) || ((uintptr_t)caller >= library->from && (uintptr_t)caller < library->to);
}

/* ---- the caller's ------------------------------------------------------------------------------------------------ */

/* The only one that is loaded; NULL: there are several, or none. */
static const void *only_anchor(const struct kind *kind)
{
    const void *only = NULL;
    for (unsigned i = 1; i <= LIBRARIES; i++) {
        const void *anchor = library_number(kind, i) != NULL ? kind->libraries[i - 1].anchor : NULL;
        if (anchor != NULL && only != NULL) {
            return NULL;
        }
        only = anchor != NULL ? anchor : only;
    }
    for (size_t i = 0; kind->sonames[i] != NULL; i++) {
        const void *anchor = real_in_file(kind->sonames[i], kind->functions[0].name);
        if (anchor != NULL && only != NULL && anchor != only) {
            return NULL;
        }
        only = anchor != NULL ? anchor : only;
    }
    return only;
}

static const struct tls_library *find(struct kind *kind, const void *caller, const void *object)
{
    const void *anchor = real_by_caller(kind->functions[0].name, caller);
    if (anchor == NULL) {
        const struct tls_library *known = library_number(kind, TLS_LIBRARY(tls_tie(object)));
        if (known != NULL) {
            return known;
        }
        anchor = only_anchor(kind);
    }
    const struct tls_library *library = library_at(kind, anchor != NULL ? anchor : kind);
    /* A process with so many libraries that each is one more than we can keep apart does not exist. */
    return library != NULL ? library : &kind->libraries[0].library;
}

/* ---- remembered, for each place that calls ----------------------------------------------------------------------- */

#define SITES       256
#define SITE_PLACES 8

/*
 * A place stays for good; what it calls holds until an object is unloaded, since another one may come to lie there. Both
 * are told by one word: the unloads so far, and the number of the library.
 */
static struct {
    const void *caller;
    uint64_t word;
} sites[SITES];

static uint64_t word_of(uint32_t unloads, unsigned number)
{
    return (uint64_t)unloads << 8 | number;
}

static const struct tls_library *library_of(struct kind *kind, const void *caller, const void *object)
{
    if (real_is_own(caller) && entered != NULL) {
        return entered;
    }
    uint32_t unloads = real_unloads();
    size_t first = (size_t)((uint64_t)(uintptr_t)caller * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SITES;
    size_t free = SITES;
    for (size_t i = 0; i < SITE_PLACES; i++) {
        size_t site = (first + i) % SITES;
        const void *there = __atomic_load_n(&sites[site].caller, __ATOMIC_ACQUIRE);
        if (there == caller) {
            uint64_t word = __atomic_load_n(&sites[site].word, __ATOMIC_ACQUIRE);
            if (__builtin_expect(word >> 8 == unloads && (word & 0xff) != 0, 1)) {
                return &kind->libraries[(word & 0xff) - 1].library;
            }
            free = site;
            break;
        }
        if (there == NULL) {
            free = site;
            break;
        }
    }
    const struct tls_library *library = find(kind, caller, object);
    const void *none = NULL;
    /* What a caller cannot tell by itself is not remembered: another object may be another library's. */
    if (free < SITES && real_by_caller(kind->functions[0].name, caller) != NULL &&
        (__atomic_compare_exchange_n(&sites[free].caller, &none, caller, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
         none == caller)) {
        __atomic_store_n(&sites[free].word, word_of(unloads, library->number), __ATOMIC_RELEASE);
    }
    return library;
}

const struct tls_library *tls_openssl(const void *caller, const void *object)
{
    return library_of(&openssl, caller, object);
}

const struct tls_library *tls_gnutls(const void *caller, const void *object)
{
    return library_of(&gnutls, caller, object);
}
