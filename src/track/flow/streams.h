/*
 * HTTP/2 in the clear: one stream is one call. A stream cannot be taken out of what is written without breaking the headers
 * of all that follow (their tables), so one that is not to go out is refused with its whole connection, and only if no
 * other stream is in flight on that; else it passes, and counts as admitted. The call that was admitted when the connection
 * was opened is the first stream's.
 *
 * What has to be kept for a connection (the tables of its headers) and for its streams is too much for a flow: it is in
 * pools of some thousand connections and some ten thousand streams (pool.h). When those are all taken, or when what comes
 * is not HTTP/2, the flow is lost: its calls are neutral, and nothing more is read.
 *
 * All with the flow locked; async-signal-safe.
 */
#ifndef TRACK_FLOW_STREAMS_H
#define TRACK_FLOW_STREAMS_H

#include "track/flow/flow.h"

/*
 * Bytes that the client writes (late: has written) behind its preface. False: the stream that begins there is for somebody
 * who is not to be called now, and nothing more is read.
 */
bool streams_sent(struct flow *flow, const uint8_t *bytes, size_t length, bool late);
/* Bytes that were read. */
void streams_received(struct flow *flow, const uint8_t *bytes, size_t length);

/* How many of the client's next bytes are part of a body: they may be told unread, by any bytes. */
size_t streams_passing(const struct flow *flow);

/* Is a call under way on any of its streams? */
bool streams_under_way(const struct flow *flow);

/* What happened to the connection happened to them all; afterwards there are none. */
void streams_fail(struct flow *flow, enum prebreak_kind kind);
void streams_given_up(struct flow *flow);
void streams_lost(struct flow *flow);

/* Maps what the first of them need: before a seccomp filter. */
void streams_prepare(void);

#endif
