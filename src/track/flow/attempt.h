/*
 * One name tried over its addresses is one call: a connect to another address of the same name by the same thread, while
 * an attempt is pending or within two seconds of its failure or refusal, inherits that decision and counts nothing of its
 * own, and the last address tells the outcome. Here such a series is kept: its call, until one of its connections takes it
 * over or all have failed.
 *
 * Names with one address need none of this and have none. The series are a fixed number; when all are taken, a connect is
 * a call of its own, whose failure says nothing: an event loop that tries a hundred of a dead address at once would else
 * condemn a name whose next address answers. Lock-free (a series that somebody else is changing is passed by); async-signal-safe.
 */
#ifndef TRACK_FLOW_ATTEMPT_H
#define TRACK_FLOW_ATTEMPT_H

#include "track/call.h"
#include "track/names/names.h"

#define ATTEMPT_LINGER_NS UINT64_C(2000000000)

/* A reference to a series; number 0: none. */
struct attempt {
    uint32_t number, generation;
};

enum attempt_verdict {
    ATTEMPT_ALONE,   /* no series: decide, and keep the call with the connection */
    ATTEMPT_CROWDED, /* no series is to be had: the same, but that this address failed says nothing of the others */
    ATTEMPT_PASS,    /* goes out as part of a series that holds the call */
    ATTEMPT_REFUSED, /* the series was refused a moment ago */
    ATTEMPT_FIRST    /* a series was begun: decide, and tell it by attempt_decided() */
};

/* A connect of this thread to an address of `host` that belongs to this provider. */
enum attempt_verdict attempt_begin(const char *host, const struct address *address, const struct provider *provider,
                                   uint64_t now, struct attempt *attempt);
/* The series begun takes the call over (*call is emptied), or was refused. */
void attempt_decided(const struct attempt *attempt, bool admitted, struct call *call, uint64_t now);

/*
 * One of its connections is established: it takes the call over, unless another one has. What other threads lost a moment
 * ago on other addresses of the name (gRPC tries each from whatever thread is free) is neutral.
 */
void attempt_won(struct attempt *attempt, struct call *call);
/*
 * A request begins on a connection that was kept (proxies keep some to the good addresses of a name): it carries on the
 * series of this thread to this provider of which all that was tried failed a moment ago. True: *call is that series' call.
 */
bool attempt_resumed(const struct provider *provider, uint64_t now, struct call *call);
/*
 * One of its connections failed (`kind`), said nothing about the provider (neutral), or was established and closed unused
 * (ok). The last address tells.
 */
void attempt_lost(struct attempt *attempt, enum prebreak_outcome outcome, enum prebreak_kind kind, uint64_t now);

/* Once a second: ends the calls of series that failed and had no further address tried since. With `now` UINT64_MAX: of
 * all that failed, for the process ends. */
void attempt_sweep(uint64_t now);

#endif
