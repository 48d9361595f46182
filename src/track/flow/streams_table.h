/*
 * The records behind streams.h: of connections, and of the streams that are in flight on each. All of one connection under
 * its flow's lock.
 */
#ifndef TRACK_FLOW_STREAMS_TABLE_H
#define TRACK_FLOW_STREAMS_TABLE_H

#include "protocol/body.h"
#include "protocol/http2.h"
#include "track/call.h"
#include "track/flow/pool.h"

/* In flight: asked for, and not answered completely, reset or given up. */
struct stream {
    struct pooled pooled;
    uint32_t id;
    uint32_t next; /* of those with its hash */
    uint16_t status;
    bool head;          /* the head of its answer has come, and these are known: */
    bool grpc;          /* content-type application/grpc */
    bool connect;       /* it was asked for by CONNECT */
    int8_t grpc_status; /* or HTTP2_NONE */
    uint64_t began;     /* ns */
    uint64_t moved;     /* ns: its last frame, either way */
    struct call call;
    struct retry retry; /* with the head */
    struct body body;   /* with the head */
};

#define STREAMS_HASHES 512

struct streams {
    struct pooled pooled;
    uint32_t highest;  /* that the client has asked for */
    uint32_t inflight; /* streams */
    bool greeted;      /* the server has spoken */
    uint32_t first[STREAMS_HASHES];
    struct http2 client, server;
};

/* The connection of a number; a new one (0: none is to be had); it and all its streams are given back. */
struct streams *streams_at(uint32_t number);
uint32_t streams_take(void);
void streams_give_back(uint32_t number);

/* NULL: it is not in flight. */
struct stream *streams_find(const struct streams *streams, uint32_t id);
/* A new one, zeroed; NULL: none is to be had. */
struct stream *streams_add(struct streams *streams, uint32_t id);
void streams_remove(struct streams *streams, uint32_t id);

/* The next one in flight in no order of theirs; *at is 0 at first. It may be removed before the next is asked for. NULL: no
 * more. */
struct streams_walk {
    uint32_t hash, number;
};
struct stream *streams_next(const struct streams *streams, struct streams_walk *walk);

#endif
