/*
 * See tls.h: what both libraries have in common.
 */
#include "track/tls/tls.h"
#include "track/flow/flow.h"
#include "track/tls/plain.h"
#include "track/tls/inner.h"

/* A jump out of the library leaves it behind; then the object is silent for good, and its connection judged at its end. */
static _Thread_local const void *silent;

void tls_silence(const struct tls_use *use)
{
    silent = use->object;
}

void tls_end_silence(void)
{
    silent = NULL;
}

bool tls_is_silent(const void *object)
{
    return __builtin_expect(silent != NULL, 0) && silent == object;
}

uint64_t tls_alive(uint64_t tie)
{
    return flow_of(TLS_MARK(tie)) != NULL ? TLS_MARK(tie) : 0;
}

uint64_t tls_find(const uint8_t random[TLS_RANDOM])
{
    unsigned at = 0;
    uint64_t mark = tls_hello_next(random, &at);
    while (mark != 0 && !plain_begin(mark, random)) {
        mark = tls_hello_next(random, &at);
    }
    return mark;
}

void tls_settle(struct tls_use *use, const uint8_t random[TLS_RANDOM])
{
    uint64_t mark = tls_find(random);
    if (mark == 0) {
        mark = tls_alive(tls_tie(use->object)); /* a handshake anew within the connection that it has */
    }
    use->mark = mark;
    use->settled = true;
    (void)tls_tie_set(use->object, TLS_TIE(mark != 0 ? mark : TLS_NONE, use->real->number));
}

void tls_ask(const struct tls_use *use, const void *bytes, size_t length)
{
    if (use->mark != 0 && bytes != NULL && length > 0) {
        plain_ask(use->mark, bytes, length);
    }
}

void tls_finishing(const struct tls_use *use)
{
    if (use->mark != 0) {
        plain_finishing(use->mark);
    }
}
