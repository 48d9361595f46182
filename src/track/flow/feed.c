/*
 * See feed.h.
 */
#include "track/flow/feed.h"
#include "track/process.h"
#include "track/flow/streams.h"
#include "track/names/target.h"
#include "track/tls/ties.h"

#define AHEAD      4096                /* bytes of one write that are read before it */
#define AHEAD_MOST (UINT32_C(1) << 20) /* of HTTP/2: an answer may be read while the write is not back yet */

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* What earlier connections to this provider have shown. */
static void remember(struct flow *flow)
{
    if (flow->provider != NULL) {
        flow->exchange.ticket = __atomic_load_n(&flow->provider->tickets, __ATOMIC_RELAXED);
    }
}

static void request_begins(struct flow *flow)
{
    flow->began = process_now();
    remember(flow);
    if (flow->began - flow->moved >= SECOND_NS) {
        flow->exchange.doubt = 0; /* nothing has moved, nothing is outstanding */
    }
    flow->receiving = flow->drained = false;
    if (flow->exchange.completed > 0) {
        flow->undecided = true; /* a call of its own, decided when it is known whom it is for */
    }
}

/*
 * The bytes gave a name. True: it may be believed, and *provider is whom it is for. Within a TLS connection to a server by
 * name a Host: says nothing new.
 */
static bool take_name(struct flow *flow, struct provider **provider)
{
    struct exchange_name name;
    exchange_name(&flow->exchange, &name);
    if (flow->named && name.where == EXCHANGE_SAYS_HOST) {
        *provider = flow->provider;
        return true;
    }
    bool believed = target_named(&flow->address, &name, provider);
    flow->named = flow->named || (believed && name.where == EXCHANGE_SAYS_TLS);
    return believed;
}

/* So that whoever finds the same random in a TLS object knows its connection. */
static void note_hello(struct flow *flow)
{
    const uint8_t *random = flow->greeted || flow->plain ? NULL : exchange_random(&flow->exchange);
    if (random != NULL) {
        flow->greeted = true;
        tls_hello_note(random, flow_mark(flow));
    }
}

/* Two threads that meet a provider at the same time may each have made an entry for it. */
static bool same_key(const struct provider *one, const struct provider *other)
{
    return one == other || (one != NULL && other != NULL && one->breaker.words == other->breaker.words);
}

/*
 * May the request go out? What is written already has; and where an answer to another may be outstanding, it would be cut
 * off by a refusal.
 */
static bool admit(struct flow *flow, bool late)
{
    if (flow->provider == NULL || attempt_resumed(flow->provider, process_now(), &flow->call)) {
        return true;
    }
    if (late || flow->exchange.doubt > 0) {
        call_pass(&flow->call, flow->provider);
        return true;
    }
    return call_admit(&flow->call, flow->provider);
}

/* Under another key it goes on as another call: what was begun under the old one says nothing of it. */
bool feed_move(struct flow *flow, struct provider *provider, bool late)
{
    if (!flow->undecided && same_key(provider, flow->provider)) {
        flow->provider = provider;
        flow->call.provider = flow->call.provider != NULL ? provider : NULL;
        return true;
    }
    call_neutral(&flow->call);
    flow->undecided = false;
    flow->provider = provider;
    remember(flow);
    return admit(flow, late);
}

/* Feeds what is written (late: already); false: the request is for somebody who is not to be called now. */
static bool feed_sent(struct flow *flow, const uint8_t *bytes, size_t length, bool late)
{
    bool pass = true;
    unsigned news;
    do {
        if (exchange_framed(&flow->exchange, true)) {
            return streams_sent(flow, bytes, length, late) && pass;
        }
        size_t taken;
        news = exchange_sent(&flow->exchange, bytes, length, &taken);
        bytes += taken;
        length -= taken;
        if ((news & EXCHANGE_REQUEST) != 0) {
            request_begins(flow);
        }
        struct provider *provider;
        if ((news & EXCHANGE_NAME) != 0 && take_name(flow, &provider)) {
            if (flow->exchange.asked == 1) {
                pass = feed_move(flow, provider, late) && pass;
            } else if (!same_key(provider, flow->provider)) {
                flow->exchange.requests_lost =
                    true; /* a pipeline to several: whose the later answers are is not kept */
            }
        }
        if ((news & EXCHANGE_BROKEN_OFF) != 0) {
            flow_fail(flow, PREBREAK_KIND_TLS);
        }
    } while (news != EXCHANGE_NOTHING || length > 0);
    note_hello(flow);
    return pass;
}

/* No better name can come any more: it is for whom the address said. */
static bool settle(struct flow *flow, bool late)
{
    if (!flow->undecided || flow->exchange.asked == 0 || exchange_wants_request(&flow->exchange)) {
        return true;
    }
    return feed_move(flow, flow->provider, late);
}

/* Is anything to be written? What cannot be seen is taken for something. */
static bool has_bytes(const struct iovec *iov, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (iov[i].iov_len > 0) {
            return true;
        }
    }
    return count == 0;
}

/* On a kept connection something is written that cannot be seen: what can it be but a request, like the one before? */
static bool begins_unseen(const struct flow *flow)
{
    const struct exchange *exchange = &flow->exchange;
    return flow->stage == FLOW_OPEN && flow->call.provider == NULL && exchange->protocol == EXCHANGE_HTTP1 &&
           exchange->completed > 0 && !exchange_waiting(exchange);
}

/*
 * Reads what is about to be written, a page at a time since it may not be readable. Of HTTP/2 all that is no body, of
 * everything else the beginning. False: that is enough.
 */
static bool ahead(struct flow *flow, const uint8_t *bytes, size_t length, bool *pass)
{
    while (length > 0) {
        bool framed = exchange_framed(&flow->exchange, true);
        size_t passing = framed ? streams_passing(flow) : 0;
        size_t part = passing > 0 ? passing : framed ? AHEAD : AHEAD - flow->ahead;
        part = part < length ? part : length;
        if (part == 0) {
            return false;
        }
        if (passing == 0 && !process_readable(bytes, part)) {
            return false; /* the real call will say so */
        }
        *pass = feed_sent(flow, bytes, part, false) && *pass;
        flow->ahead += (uint32_t)part;
        bytes += part;
        length -= part;
    }
    return true;
}

bool feed_ahead(struct flow *flow, const struct iovec *iov, size_t count)
{
    bool pass = true;
    if (count == 0 && begins_unseen(flow)) {
        request_begins(flow);
        return feed_move(flow, flow->provider, false);
    }
    if (exchange_wants_turn(&flow->exchange)) { /* its bytes would say nothing: they need not be looked at before */
        if (has_bytes(iov, count)) {
            (void)exchange_turn(&flow->exchange);
            request_begins(flow);
        }
        return settle(flow, false);
    }
    size_t left = AHEAD_MOST, known = flow->ahead;
    for (size_t i = 0; i < count && left > 0; i++) {
        size_t length = iov[i].iov_len < left ? iov[i].iov_len : left;
        size_t skipped = known < length ? known : length;
        left -= length;
        known -= skipped;
        if (!ahead(flow, (const uint8_t *)iov[i].iov_base + skipped, length - skipped, &pass)) {
            break;
        }
    }
    return settle(flow, false) && pass;
}

/* ---- written ----------------------------------------------------------------------------------------------------- */

void feed_written(struct flow *flow, const struct iovec *iov, size_t count, size_t written, bool turn)
{
    flow->exchange.late = !turn;
    for (size_t i = 0; i < count && written > 0; i++) {
        size_t length = iov[i].iov_len < written ? iov[i].iov_len : written;
        size_t known = flow->ahead < length ? flow->ahead : length;
        flow->ahead -= (uint32_t)known;
        written -= length;
        if (known < length) {
            (void)feed_sent(flow, (const uint8_t *)iov[i].iov_base + known, length - known, true);
        }
    }
    flow->exchange.late = false;
    (void)settle(flow, true);
}

/* ---- read -------------------------------------------------------------------------------------------------------- */

static void feed_received(struct flow *flow, const uint8_t *bytes, size_t length)
{
    unsigned news;
    do {
        if (exchange_framed(&flow->exchange, false)) {
            streams_received(flow, bytes, length);
            return;
        }
        size_t taken;
        news = exchange_received(&flow->exchange, bytes, length, &taken);
        bytes += taken;
        length -= taken;
        flow_answer(flow, news);
    } while (news != EXCHANGE_NOTHING || length > 0);
}

void feed_read(struct flow *flow, const struct iovec *iov, size_t count, size_t read)
{
    for (size_t i = 0; i < count && read > 0; i++) {
        size_t length = iov[i].iov_len < read ? iov[i].iov_len : read;
        feed_received(flow, iov[i].iov_base, length);
        read -= length;
    }
}
