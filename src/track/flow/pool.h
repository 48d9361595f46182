/*
 * Records of one kind, taken and given back by number: mapped in chunks when they are first needed, and never given back
 * to the system. Numbers are from 1; what a record holds when it is taken is what it held when it was given back.
 *
 * The head of a pool is part of what a forked child is handed zeroed (fdtable.h): there, all of them are to be had anew.
 * Lock-free and async-signal-safe.
 */
#ifndef TRACK_FLOW_POOL_H
#define TRACK_FLOW_POOL_H

#include <stddef.h>
#include <stdint.h>

#define POOL_CHUNKS 512

struct pool {
    uint32_t made;            /* records that were ever used */
    uint64_t free;            /* the list of unused ones: a tag in the high half, a number in the low one */
    void *chunk[POOL_CHUNKS]; /* atomic */
};

/* Each record begins with this, the pool's own. */
struct pooled {
    uint32_t next; /* of the list of unused ones */
};

/* What is in a pool; constant. */
struct pool_kind {
    size_t size;    /* bytes of a record */
    uint32_t chunk; /* records in one mapping */
};

/* 0: none is to be had. */
uint32_t pool_take(struct pool *pool, const struct pool_kind *kind);
void pool_give_back(struct pool *pool, const struct pool_kind *kind, uint32_t number);
/* NULL: no such number was ever taken in this process. */
void *pool_at(const struct pool *pool, const struct pool_kind *kind, uint32_t number);

/* Maps the first chunk: before a seccomp filter. */
void pool_prepare(struct pool *pool, const struct pool_kind *kind);

#endif
