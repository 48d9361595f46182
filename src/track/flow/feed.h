/*
 * The bytes of a connection, fed to its exchange by whoever moves them, and what becomes of its calls by that: a request
 * begins, says whom it is for, is gated, and is answered. All with the flow locked; async-signal-safe.
 */
#ifndef TRACK_FLOW_FEED_H
#define TRACK_FLOW_FEED_H

#include "track/flow/flow.h"

/*
 * Is what is about to be written to be looked at? What was read before it was written, and could not be written then, is
 * most of what is tried again: of HTTP/2, behind that other streams may begin.
 */
static inline bool feed_wants(const struct flow *flow)
{
    return (flow->ahead == 0 || exchange_framed(&flow->exchange, true)) && exchange_wants_request(&flow->exchange);
}

/*
 * What is about to be written, where it may begin a request or say whom it is for: reads some of it, and remembers how
 * much (flow->ahead). No vectors: it is not to be seen. False: it is for somebody who is not to be called now.
 */
bool feed_ahead(struct flow *flow, const struct iovec *iov, size_t count);
/*
 * The first `written` bytes of these were written; what was read before is not read again. Where bytes say nothing they
 * begin no turn now, unless `turn`: who was let through without a look added to a request, which another thread may have
 * read the answer to since.
 */
void feed_written(struct flow *flow, const struct iovec *iov, size_t count, size_t written, bool turn);
/* The first `read` bytes of these were read. */
void feed_read(struct flow *flow, const struct iovec *iov, size_t count, size_t read);

/*
 * The call under way is for this provider (NULL: nobody's), perhaps another than was thought. False: it is refused there;
 * late: what is written already is not.
 */
bool feed_move(struct flow *flow, struct provider *provider, bool late);

#endif
