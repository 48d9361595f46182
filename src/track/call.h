/*
 * The life of one call, from admission to outcome: what every layer (socket, TLS, curl) shares. A call belongs to the
 * highest layer that sees it.
 *
 * A struct call is its owner's memory; zeroed, no call is under way. Nothing here takes a lock, allocates or changes
 * errno; all of it is async-signal-safe. A call that a fork carried into a child is the parent's: there nothing happens.
 */
#ifndef TRACK_CALL_H
#define TRACK_CALL_H

#include "protocol/retry.h"
#include "track/provider.h"

struct call {
    struct provider *provider; /* NULL: no call is under way */
    struct breaker_call ticket;
    uint32_t forks;      /* process_forks() when it was admitted */
    uint64_t first_byte; /* ns from the request to the first answer byte; 0: none yet */
    uint64_t event;      /* ns: of an event stream, the last sign of life; 0: it is none */
};

/* May a call to this provider go out? False: refused (told as an event once per process and generation). */
bool call_admit(struct call *call, struct provider *provider);
/* One that cannot be refused any more (another call is under way on its connection): it goes out, and is counted. */
void call_pass(struct call *call, struct provider *provider);
/* A byte of it moved. Of an event stream that says nothing. */
void call_heard(struct call *call);
/*
 * Its answer has begun and is an event stream: it is under way until that ends, or has been silent for `stall`. Then
 * call_event() is its sign of life.
 */
void call_stream(struct call *call);
void call_event(struct call *call);
/* Has the event stream been silent for `stall`? False where it is off, and for calls that are none. */
bool call_stalled(const struct call *call);
/*
 * Nothing is outstanding for the time being (a connection that was opened and not used yet): silence is nobody's fault
 * and is not watched, until call_wake().
 */
void call_rest(struct call *call);
void call_wake(struct call *call);
/* The first byte of its answer came, `latency` ns after the request: for the histogram and for `slow`. Once. */
void call_first_byte(struct call *call, uint64_t latency);

/* It ended: provider becomes NULL. Does nothing when no call is under way. */
void call_end(struct call *call, const struct breaker_end *end);
void call_neutral(struct call *call);
void call_failed(struct call *call, enum prebreak_kind kind);
/* An answer came; too late by the provider's `slow`, and it counts as failed or is told, as the rule has it. */
void call_ok(struct call *call);
/*
 * An HTTP status in the clear: ok, failed or neutral as the provider's rules have it. retry: what its head says of when to
 * come again; NULL: that is not known.
 */
void call_status(struct call *call, unsigned status, const struct retry *retry);
/*
 * A status of 429 whose body says that the account is out of quota: the same, but if it is failed its kind is quota, and an
 * event tells it.
 */
void call_quota(struct call *call, unsigned status, const struct retry *retry);
/* An answer of gRPC, by its grpc-status. 8 (exhausted) is what 429 is: `429=neutral` makes it neutral. */
void call_grpc(struct call *call, unsigned grpc_status);
/* Would call_status() make this one anything but ok? Then nothing after the status can change the outcome. */
bool call_status_decides(const struct call *call, unsigned status);

/* "prebreak: openai is open (drop 97%, retry in 1s)" into buffer: for an application's error buffer. */
void call_refusal_text(const struct provider *provider, char *buffer, unsigned long size);

#endif
