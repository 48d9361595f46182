/*
 * The layers: while a curl transfer runs its real function on this thread, what libcurl does with sockets is no call of its
 * own; it is evidence for the transfer's call.
 *
 * The guard must survive a longjmp over it (PHP's bailout, Perl's die): it holds the outer hook's frame address. The stack
 * grows down, so a hook at or above that frame proves that the outer hook is gone without having returned: its guard is
 * cleared and its call ends neutral. A hook that runs further down, or on another stack (a coroutine, an alternate signal
 * stack), proves nothing; so whoever would open a connection is also asked from where: what libcurl itself does not do
 * (a callback that asks a database) is not covered, guard or no guard.
 *
 * State is per thread. No locks, no system calls, async-signal-safe.
 */
#ifndef TRACK_LAYER_H
#define TRACK_LAYER_H

#include "real/real.h"
#include "track/names/address.h"
#include "track/call.h"
#include <stdint.h>

struct layer;

/*
 * May the layer's library connect to this address (NULL: no address of the internet)? 0, the errno of a refusal, or
 * LAYER_BELOW: the connection is none of the layer's, and whatever is to be said about it the hooks below say. Asked at each
 * of its connects. For a transfer whose provider depends on the address, decided at the first; for several transfers of
 * which not all are calls.
 */
#define LAYER_BELOW (-1)
typedef int layer_decider(struct layer *layer, const struct address *address);

struct layer {
    struct call *call; /* NULL: the layer is in, but its transfer is none of ours */
    uint64_t admitted; /* when that call was: a record that has been used again is another call */
    const void *frame;
    const struct real_range *library; /* whose layer it is; NULL or empty: unknown */
    layer_decider *decide;            /* NULL: nothing is left to decide */
    const void *context;              /* the decider's own */
    int error;  /* errno of the last thing that failed in connecting, as the socket hooks saw it; 0 none */
    bool heard; /* a byte moved */
};

/* How many are in. For layer_current() only. */
extern _Thread_local uint32_t layer_depth;
struct layer *layer_find(const void *frame);

/* The innermost layer that is in, seen from a hook with this frame; NULL: none, the hook is on its own. */
static inline struct layer *layer_current(const void *frame)
{
    return layer_depth == 0 ? NULL : layer_find(frame);
}

/* Does what this code (a hook's return address) does with sockets belong to the layer? */
bool layer_covers(const struct layer *layer, const void *caller);

/*
 * Enters, to be left by the same hook. A transfer within another one's callback is a layer of its own. False: too many
 * are in; do not leave. *library lasts as long as the process.
 */
bool layer_enter(struct call *call, const void *frame, const struct real_range *library);
/* The layer that was just entered does not know of every connect beforehand whose it is: it is asked. */
void layer_defer(layer_decider *decide, const void *context);
/* It was: the layer is at work for the call that was admitted. */
void layer_decided(struct layer *layer);
/* This call is over, whoever may still think that it is under way. */
void layer_forget(const struct call *call);
/* Leaves the layer that was entered with this frame, and what was left behind inside it. Returns what it was told. */
struct layer_news {
    int error;
    bool heard;
};
struct layer_news layer_leave(const void *frame);

/*
 * What a socket hook asks and tells the layer above it: whether it may connect (as layer_decider); a byte moved; socket(), connect() or
 * SO_ERROR said this errno (0 and EINPROGRESS are no errors, and change nothing).
 */
int layer_ask(struct layer *layer, const struct address *address);
void layer_heard(struct layer *layer);
void layer_failed(struct layer *layer, int error);

#endif
