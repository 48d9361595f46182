/*
 * See pool.h.
 */
#include "track/flow/pool.h"
#include "track/flow/fdtable.h"

void *pool_at(const struct pool *pool, const struct pool_kind *kind, uint32_t number)
{
    uint32_t index = number - 1;
    if (index >= POOL_CHUNKS * kind->chunk) {
        return NULL;
    }
    char *chunk = __atomic_load_n(&pool->chunk[index / kind->chunk], __ATOMIC_ACQUIRE);
    return chunk != NULL ? chunk + index % kind->chunk * kind->size : NULL;
}

static uint32_t take_used(struct pool *pool, const struct pool_kind *kind)
{
    uint64_t head = __atomic_load_n(&pool->free, __ATOMIC_ACQUIRE);
    for (;;) {
        const struct pooled *record = pool_at(pool, kind, (uint32_t)head);
        if (record == NULL) {
            return 0;
        }
        uint64_t next = ((head >> 32) + 1) << 32 | __atomic_load_n(&record->next, __ATOMIC_RELAXED);
        if (__atomic_compare_exchange_n(&pool->free, &head, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            return (uint32_t)head;
        }
    }
}

uint32_t pool_take(struct pool *pool, const struct pool_kind *kind)
{
    uint32_t number = take_used(pool, kind);
    if (number != 0 || __atomic_load_n(&pool->made, __ATOMIC_RELAXED) >= POOL_CHUNKS * kind->chunk) {
        return number;
    }
    uint32_t index = __atomic_fetch_add(&pool->made, 1, __ATOMIC_RELAXED);
    if (index >= POOL_CHUNKS * kind->chunk) {
        return 0;
    }
    return fd_memory(&pool->chunk[index / kind->chunk], kind->chunk * kind->size) != NULL ? index + 1 : 0;
}

void pool_give_back(struct pool *pool, const struct pool_kind *kind, uint32_t number)
{
    struct pooled *record = pool_at(pool, kind, number);
    uint64_t head = __atomic_load_n(&pool->free, __ATOMIC_ACQUIRE);
    uint64_t next;
    do {
        __atomic_store_n(&record->next, (uint32_t)head, __ATOMIC_RELAXED);
        next = ((head >> 32) + 1) << 32 | number;
    } while (!__atomic_compare_exchange_n(&pool->free, &head, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

void pool_prepare(struct pool *pool, const struct pool_kind *kind)
{
    fd_memory(&pool->chunk[0], kind->chunk * kind->size);
}
