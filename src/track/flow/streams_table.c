/*
 * See streams_table.h.
 */
#include "track/flow/streams_table.h"
#include "track/flow/fdtable.h"
#include "track/flow/streams.h"
#include <string.h>

static const struct pool_kind connections = {sizeof(struct streams), 4};
static const struct pool_kind records = {sizeof(struct stream), 128};

void streams_prepare(void)
{
    pool_prepare(&fdtable.connections, &connections);
    pool_prepare(&fdtable.streams, &records);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

struct streams *streams_at(uint32_t number)
{
    return pool_at(&fdtable.connections, &connections, number);
}

uint32_t streams_take(void)
{
    uint32_t number = pool_take(&fdtable.connections, &connections);
    struct streams *streams = streams_at(number);
    if (streams == NULL) {
        return 0;
    }
    streams->highest = streams->inflight = 0;
    streams->greeted = false;
    memset(streams->first, 0, sizeof streams->first);
    http2_begin(&streams->client, false);
    http2_begin(&streams->server, true);
    return number;
}

void streams_give_back(uint32_t number)
{
    const struct streams *streams = streams_at(number);
    struct streams_walk walk = {0, 0};
    for (struct stream *stream = streams_next(streams, &walk); stream != NULL; stream = streams_next(streams, &walk)) {
        streams_remove(streams_at(number), stream->id);
    }
    pool_give_back(&fdtable.connections, &connections, number);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static struct stream *stream_at(uint32_t number)
{
    return pool_at(&fdtable.streams, &records, number);
}

/* A client's streams have odd numbers, and each the one after the last. */
static uint32_t hash_of(uint32_t id)
{
    return id / 2 % STREAMS_HASHES;
}

struct stream *streams_find(const struct streams *streams, uint32_t id)
{
    struct stream *stream = stream_at(streams->first[hash_of(id)]);
    while (stream != NULL && stream->id != id) {
        stream = stream_at(stream->next);
    }
    return stream;
}

struct stream *streams_add(struct streams *streams, uint32_t id)
{
    uint32_t number = pool_take(&fdtable.streams, &records);
    struct stream *stream = stream_at(number);
    if (stream == NULL) {
        return NULL;
    }
    uint32_t *first = &streams->first[hash_of(id)];
    memset(&stream->id, 0, sizeof *stream - offsetof(struct stream, id));
    stream->id = id;
    stream->grpc_status = HTTP2_NONE;
    stream->next = *first;
    *first = number;
    streams->inflight++;
    return stream;
}

void streams_remove(struct streams *streams, uint32_t id)
{
    uint32_t *link = &streams->first[hash_of(id)];
    for (struct stream *stream = stream_at(*link); stream != NULL; stream = stream_at(*link)) {
        if (stream->id == id) {
            uint32_t number = *link;
            *link = stream->next;
            streams->inflight--;
            pool_give_back(&fdtable.streams, &records, number);
            return;
        }
        link = &stream->next;
    }
}

struct stream *streams_next(const struct streams *streams, struct streams_walk *walk)
{
    uint32_t number = walk->number;
    while (number == 0 && walk->hash < STREAMS_HASHES) {
        number = streams->first[walk->hash++];
    }
    struct stream *stream = stream_at(number);
    walk->number = stream != NULL ? stream->next : 0;
    return stream;
}
