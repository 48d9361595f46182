/*
 * See streams.h.
 */
#include "track/flow/streams.h"
#include "track/flow/feed.h"
#include "track/process.h"
#include "track/flow/streams_table.h"
#include "track/names/target.h"
#include <string.h>

static struct streams *of(const struct flow *flow)
{
    return flow->streams != 0 ? streams_at(flow->streams) : NULL;
}

/*
 * A connection that was upgraded from HTTP/1: the answer to the request that asked for it is the first stream, of a call
 * that ended with its 101. What the client allows, it said in a header of that.
 */
static bool begin_upgraded(struct streams *streams)
{
    struct stream *stream = streams_add(streams, 1);
    streams->highest = 1;
    http2_allow(&streams->server, UINT32_MAX, UINT32_MAX);
    return stream != NULL;
}

/* The first bytes of either side. NULL: there is no room, and the flow is lost. */
static struct streams *begin(struct flow *flow)
{
    bool good = true;
    if (flow->streams == 0) {
        flow->streams = streams_take();
        good = flow->streams != 0 && (!flow->exchange.upgraded || begin_upgraded(of(flow)));
    }
    if (!good) {
        flow_lost(flow);
    }
    return of(flow);
}

/* What the flow knows of its exchange: the server's greeting is owed too, unless a stream is. */
static void note(struct flow *flow)
{
    const struct streams *streams = of(flow);
    if (streams != NULL) {
        bool owed = !streams->greeted && streams->highest == 0;
        flow->exchange.asked = streams->inflight + (owed ? 1 : 0);
    }
}

/* ---- how a stream was answered ----------------------------------------------------------------------------------- */

static void answered(struct stream *stream)
{
    if (stream->grpc && stream->grpc_status != HTTP2_NONE) {
        call_grpc(&stream->call, (unsigned)stream->grpc_status);
    } else if (stream->status != 0) {
        call_status(&stream->call, stream->status, &stream->retry);
    } else { /* malformed: the client will not take it for an answer either */
        call_neutral(&stream->call);
    }
}

/* Is its call under way, and does the status say how it ended, whatever becomes of the rest? */
static bool decided(const struct stream *stream)
{
    return stream->head && stream->call.provider != NULL && call_status_decides(&stream->call, stream->status);
}

static void body_told(struct stream *stream, unsigned news)
{
    if ((news & BODY_LIFE) != 0) {
        call_event(&stream->call);
    }
    if ((news & BODY_ERROR) != 0) {
        call_failed(&stream->call, PREBREAK_KIND_STREAM);
    } else if ((news & BODY_DONE) != 0) {
        call_ok(&stream->call);
    } else if ((news & BODY_QUOTA) != 0) {
        call_quota(&stream->call, stream->status, &stream->retry);
    }
}

/* What is outstanding after the head. */
static void head_told(struct stream *stream, const struct http2_facts *facts)
{
    stream->head = true;
    stream->status = facts->status;
    stream->grpc = facts->grpc;
    stream->retry = facts->retry;
    body_begin(&stream->body, facts->status, facts->event_stream, facts->encoded);
    bool tunnel = stream->connect && facts->status / 100 == 2; /* what follows is a conversation of its own */
    bool more = body_wants(&stream->body);
    if (tunnel || (decided(stream) && !more)) {
        answered(stream);
    } else if (decided(stream)) {
        call_rest(&stream->call);             /* the body may say more; it may also never be read */
    } else if (stream->body.stream && more) { /* of one that cannot be read, any byte is life */
        call_stream(&stream->call);
    }
}

/* ---- how it ended otherwise -------------------------------------------------------------------------------------- */

static bool has_events(const struct stream *stream)
{
    return stream->head && stream->body.stream;
}

/* The client wants no more of it: does it have what it wanted? */
static bool has_enough(const struct flow *flow, const struct stream *stream, uint64_t now)
{
    uint64_t heard = stream->call.event != 0 ? stream->call.event : stream->moved;
    if (decided(stream)) {
        return true;
    }
    if (has_events(stream)) {
        return !call_stalled(&stream->call) && now - heard < HEDGE_NS;
    }
    return stream->head && (now - stream->moved < HEDGE_NS || !flow->drained);
}

static void given_up(const struct flow *flow, struct stream *stream, uint64_t now)
{
    if (has_enough(flow, stream, now)) {
        answered(stream);
    } else if (has_events(stream) && call_stalled(&stream->call)) {
        call_failed(&stream->call, PREBREAK_KIND_STREAM);
    } else if (!has_events(stream) && now - stream->moved >= HEDGE_NS) {
        call_failed(&stream->call, PREBREAK_KIND_TIMEOUT);
    }
    call_neutral(&stream->call);
}

static void lost(struct stream *stream)
{
    if (decided(stream)) {
        answered(stream);
    }
    call_neutral(&stream->call);
}

static void failed(struct stream *stream, enum prebreak_kind kind)
{
    if (decided(stream)) {
        answered(stream);
    }
    call_failed(&stream->call, kind == PREBREAK_KIND_RESET && has_events(stream) ? PREBREAK_KIND_STREAM : kind);
}

/* The server wants no more of it. */
static void reset(struct stream *stream, uint32_t code)
{
    switch (code) {
    case HTTP2_REFUSED_STREAM: /* it was not looked at, and may be asked for again */
    case HTTP2_1_1_REQUIRED:
        lost(stream);
        break;
    case HTTP2_NO_ERROR:
        if (stream->head) { /* that is all, and nobody need send the rest of the request */
            answered(stream);
        }
        failed(stream, PREBREAK_KIND_RESET);
        break;
    default:
        failed(stream, PREBREAK_KIND_RESET);
        break;
    }
}

/* ---- what the client asks for ------------------------------------------------------------------------------------ */

/* Whom a stream is for, which may be another name than its connection's: one that this process found at this address. */
static struct provider *whom(const struct flow *flow, const struct http2_facts *facts)
{
    struct provider *provider;
    const struct exchange_name name = {facts->host, facts->port,
                                       facts->connect ? EXCHANGE_SAYS_URI : EXCHANGE_SAYS_HOST};
    if (facts->host[0] == '\0' || flow->exchange.tunnel ||
        (flow->named && !facts->connect && !names_has(&flow->address, facts->host))) {
        return flow->provider;
    }
    return target_named(&flow->address, &name, &provider) ? provider : flow->provider;
}

/* May it go out? If others are in flight it has to. */
static bool admit(struct stream *stream, struct provider *provider, bool alone)
{
    if (provider == NULL || attempt_resumed(provider, stream->began, &stream->call)) {
        return true;
    }
    if (!alone) {
        call_pass(&stream->call, provider);
        return true;
    }
    return call_admit(&stream->call, provider);
}

/* The call that was admitted with the connection is the first stream's. */
static bool admit_first(struct flow *flow, struct stream *stream, struct provider *provider, bool late)
{
    bool pass = feed_move(flow, provider, late);
    stream->call = flow->call;
    memset(&flow->call, 0, sizeof flow->call);
    return pass;
}

/* False: refused. */
static bool stream_begins(struct flow *flow, struct streams *streams, bool late)
{
    const struct http2 *client = &streams->client;
    bool first = streams->highest == 0, alone = streams->inflight == 0;
    struct stream *stream = client->stream % 2 != 0 ? streams_add(streams, client->stream) : NULL;
    if (stream == NULL) { /* a client's streams are odd; or there is no room */
        flow_lost(flow);
        return true;
    }
    streams->highest = client->stream;
    stream->connect = client->facts.connect;
    stream->began = stream->moved = process_now();
    if (alone) {
        flow->began = stream->began;
        flow->exchange.answering = false;
        flow->receiving = flow->drained = false;
    }
    struct provider *provider = whom(flow, &client->facts);
    bool pass = first ? admit_first(flow, stream, provider, late) : admit(stream, provider, alone && !late);
    call_wake(&stream->call);
    return pass;
}

static void moved(struct stream *stream)
{
    stream->moved = process_now();
    call_heard(&stream->call);
}

/* News of the client's bytes. False: refused. */
static bool told_sent(struct flow *flow, struct streams *streams, enum http2_event event, bool late)
{
    const struct http2 *client = &streams->client;
    if (event == HTTP2_HEADERS && client->stream > streams->highest) {
        return stream_begins(flow, streams, late);
    }
    if (event == HTTP2_SETTINGS) {
        http2_allow(&streams->server, client->table_size, client->frame_size);
    }
    if (event == HTTP2_OPAQUE) {
        flow_lost(flow);
    }
    bool of_stream = event == HTTP2_HEADERS || event == HTTP2_DATA || event == HTTP2_RESET;
    struct stream *stream = of_stream ? streams_find(streams, client->stream) : NULL;
    if (stream == NULL) {
        return true;
    }
    if (event == HTTP2_RESET) {
        given_up(flow, stream, process_now());
        streams_remove(streams, stream->id);
    } else {
        moved(stream);
    }
    return true;
}

bool streams_sent(struct flow *flow, const uint8_t *bytes, size_t length, bool late)
{
    struct streams *streams = begin(flow);
    enum http2_event event = HTTP2_MORE;
    bool pass = true;
    while (streams != NULL && pass && (event != HTTP2_MORE || length > 0)) {
        size_t taken;
        event = http2_feed(&streams->client, bytes, length, &taken);
        bytes += taken;
        length -= taken;
        pass = told_sent(flow, streams, event, late);
        streams = of(flow);
    }
    if (!pass) { /* with the whole connection */
        streams_lost(flow);
        flow->exchange.over = true;
    }
    note(flow);
    return pass;
}

size_t streams_passing(const struct flow *flow)
{
    const struct streams *streams = of(flow);
    return streams != NULL ? http2_passing(&streams->client) : 0;
}

/* ---- what the server answers ------------------------------------------------------------------------------------- */

/* The answer is complete. */
static void stream_ends(struct flow *flow, struct streams *streams, struct stream *stream)
{
    if (stream->head) {
        body_told(stream, body_end(&stream->body));
        answered(stream);
        flow->exchange.completed++;
    }
    lost(stream);
    streams_remove(streams, stream->id);
}

static void headers_told(struct flow *flow, struct streams *streams, struct stream *stream)
{
    const struct http2 *server = &streams->server;
    const struct http2_facts *facts = &server->facts;
    flow->exchange.answering = true;
    call_first_byte(&stream->call, stream->moved - stream->began);
    if (facts->grpc_status != HTTP2_NONE) {
        stream->grpc_status = facts->grpc_status;
    }
    bool interim = facts->status >= 100 && facts->status < 200;
    if (!stream->head && !interim) {
        head_told(stream, facts);
    }
    if (server->ends) {
        stream_ends(flow, streams, stream);
    }
}

/* What comes after this one will not be looked at; the client may ask somebody else. */
static void goes_away(struct flow *flow, struct streams *streams)
{
    struct streams_walk walk = {0, 0};
    for (struct stream *stream = streams_next(streams, &walk); stream != NULL; stream = streams_next(streams, &walk)) {
        if (stream->id > streams->server.stream) {
            lost(stream);
            streams_remove(streams, stream->id);
        }
    }
    call_neutral(&flow->call);
}

static void told_received_of(struct flow *flow, struct streams *streams, struct stream *stream, enum http2_event event)
{
    const struct http2 *server = &streams->server;
    moved(stream);
    switch (event) {
    case HTTP2_HEADERS:
        headers_told(flow, streams, stream);
        break;
    case HTTP2_DATA:
        if (stream->head && body_wants(&stream->body)) {
            body_told(stream, body_feed(&stream->body, server->data, server->length));
        }
        break;
    case HTTP2_END:
        stream_ends(flow, streams, stream);
        break;
    default:
        reset(stream, server->code);
        streams_remove(streams, stream->id);
        break;
    }
}

static void told_received(struct flow *flow, struct streams *streams, enum http2_event event)
{
    const struct http2 *server = &streams->server;
    struct stream *stream;
    switch (event) {
    case HTTP2_MORE:
        break;
    case HTTP2_SETTINGS:
        http2_allow(&streams->client, server->table_size, server->frame_size);
        break;
    case HTTP2_GOAWAY:
        goes_away(flow, streams);
        break;
    case HTTP2_OPAQUE:
        flow_lost(flow);
        break;
    default:
        stream = streams_find(streams, server->stream);
        if (stream != NULL) {
            told_received_of(flow, streams, stream, event);
        } else if (server->stream % 2 != 0 && server->stream > streams->highest) {
            flow_lost(flow); /* nobody has asked for that: the client's bytes were not all seen */
        }
        break;
    }
}

void streams_received(struct flow *flow, const uint8_t *bytes, size_t length)
{
    struct streams *streams = begin(flow);
    enum http2_event event = HTTP2_MORE;
    while (streams != NULL && (event != HTTP2_MORE || length > 0)) {
        size_t taken;
        streams->greeted = true;
        event = http2_feed(&streams->server, bytes, length, &taken);
        bytes += taken;
        length -= taken;
        told_received(flow, streams, event);
        streams = of(flow);
    }
    note(flow);
}

/* ---- what happens to them all ------------------------------------------------------------------------------------ */

bool streams_under_way(const struct flow *flow)
{
    const struct streams *streams = of(flow);
    struct streams_walk walk = {0, 0};
    if (streams == NULL || streams->inflight == 0) {
        return false;
    }
    for (struct stream *stream = streams_next(streams, &walk); stream != NULL; stream = streams_next(streams, &walk)) {
        if (stream->call.provider != NULL) {
            return true;
        }
    }
    return false;
}

static void give_back(struct flow *flow)
{
    if (flow->streams != 0) {
        streams_give_back(flow->streams);
        flow->streams = 0;
    }
}

void streams_fail(struct flow *flow, enum prebreak_kind kind)
{
    const struct streams *streams = of(flow);
    struct streams_walk walk = {0, 0};
    for (struct stream *stream = streams != NULL ? streams_next(streams, &walk) : NULL; stream != NULL;
         stream = streams_next(streams, &walk)) {
        failed(stream, kind);
    }
    give_back(flow);
}

void streams_given_up(struct flow *flow)
{
    const struct streams *streams = of(flow);
    struct streams_walk walk = {0, 0};
    for (struct stream *stream = streams != NULL ? streams_next(streams, &walk) : NULL; stream != NULL;
         stream = streams_next(streams, &walk)) {
        given_up(flow, stream, process_now());
    }
    give_back(flow);
}

void streams_lost(struct flow *flow)
{
    const struct streams *streams = of(flow);
    struct streams_walk walk = {0, 0};
    for (struct stream *stream = streams != NULL ? streams_next(streams, &walk) : NULL; stream != NULL;
         stream = streams_next(streams, &walk)) {
        lost(stream);
    }
    give_back(flow);
}
