/*
 * See fdtable.h.
 */
#include "track/flow/fdtable.h"
#include "real/real.h"
#include "track/flow/flow.h"
#include "track/process.h"
#include "track/flow/streams.h"
#include "track/tls/ties.h"
#include <string.h>

struct fdtable fdtable;

/* ---- marks ------------------------------------------------------------------------------------------------------- */

void *fd_memory(void **place, size_t size)
{
    void *found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (found != NULL || process_confined()) {
        return found;
    }
    void *fresh = real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) {
        return NULL;
    }
    if (__atomic_compare_exchange_n(place, &found, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return fresh;
    }
    real_munmap(fresh, size);
    return found;
}

static uint64_t *entry(int fd)
{
    unsigned index = (unsigned)fd / FD_PAGE;
    if (index >= FD_PAGES) {
        return NULL;
    }
    uint64_t *page = __atomic_load_n(&fdtable.page[index], __ATOMIC_ACQUIRE);
    return page != NULL ? &page[(unsigned)fd % FD_PAGE] : NULL;
}

bool fd_put(int fd, uint64_t mark)
{
    unsigned index = (unsigned)fd / FD_PAGE;
    if (index >= FD_PAGES) {
        return false;
    }
    uint64_t *page = fd_memory((void **)&fdtable.page[index], FD_PAGE * sizeof *page);
    if (page == NULL) {
        return false;
    }
    __atomic_store_n(&page[(unsigned)fd % FD_PAGE], mark, __ATOMIC_RELEASE);
    return true;
}

uint64_t fd_take(int fd)
{
    uint64_t *mark = entry(fd);
    return mark != NULL ? __atomic_exchange_n(mark, 0, __ATOMIC_ACQ_REL) : 0;
}

bool fd_replace(int fd, uint64_t from, uint64_t to)
{
    uint64_t *mark = entry(fd);
    return mark != NULL && __atomic_compare_exchange_n(mark, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

REAL_RARE void fd_each(unsigned first, unsigned last, void (*each)(int fd, uint64_t mark))
{
    if (last >= FD_PAGES * FD_PAGE) {
        last = FD_PAGES * FD_PAGE - 1;
    }
    for (unsigned fd = first; fd <= last; fd++) {
        if (__atomic_load_n(&fdtable.page[fd / FD_PAGE], __ATOMIC_ACQUIRE) == NULL) {
            fd |= FD_PAGE - 1;
            continue;
        }
        uint64_t mark = fd_mark((int)fd);
        if (mark != 0) {
            each((int)fd, mark);
        }
    }
}

/* ---- flows ------------------------------------------------------------------------------------------------------- */

static unsigned flow_take_used(void)
{
    uint64_t head = __atomic_load_n(&fdtable.free, __ATOMIC_ACQUIRE);
    for (;;) {
        unsigned number = (uint32_t)head;
        const struct flow *flow = flow_at(number);
        if (flow == NULL) {
            return 0;
        }
        uint64_t next = ((head >> 32) + 1) << 32 | __atomic_load_n(&flow->next, __ATOMIC_RELAXED);
        if (__atomic_compare_exchange_n(&fdtable.free, &head, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            return number;
        }
    }
}

unsigned flow_take(void)
{
    unsigned number = flow_take_used();
    if (number != 0) {
        return number;
    }
    if (__atomic_load_n(&fdtable.made, __ATOMIC_RELAXED) >= FLOW_NUMBERS) {
        return 0;
    }
    unsigned index = __atomic_fetch_add(&fdtable.made, 1, __ATOMIC_RELAXED);
    if (index >= FLOW_NUMBERS) {
        return 0;
    }
    void **place = (void **)&fdtable.chunk[index / FLOW_CHUNK];
    return fd_memory(place, FLOW_CHUNK * sizeof(struct flow)) != NULL ? index + 1 : 0;
}

void flow_give_back(unsigned number)
{
    struct flow *flow = flow_at(number);
    uint64_t head = __atomic_load_n(&fdtable.free, __ATOMIC_ACQUIRE);
    uint64_t next;
    do {
        __atomic_store_n(&flow->next, (uint32_t)head, __ATOMIC_RELAXED);
        next = ((head >> 32) + 1) << 32 | number;
    } while (!__atomic_compare_exchange_n(&fdtable.free, &head, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

/* ---- whole ------------------------------------------------------------------------------------------------------- */

void fdtable_prepare(void)
{
    fd_memory((void **)&fdtable.page[0], FD_PAGE * sizeof(uint64_t));
    fd_memory((void **)&fdtable.chunk[0], FLOW_CHUNK * sizeof(struct flow));
    tls_ties_prepare();
    streams_prepare();
}

void fdtable_wipe(void)
{
    memset(&fdtable, 0, sizeof fdtable);
}
