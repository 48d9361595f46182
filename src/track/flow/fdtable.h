/*
 * Which file descriptors are connections that we follow: a sparse table of one word a descriptor, its pages mapped when a
 * descriptor in them is first noted. It is a hint: descriptors are closed behind our back (stdio, raw system calls), so
 * whoever acts on an entry checks first (flow.h). Descriptors beyond the table are not followed.
 *
 * All of it is handed to a forked child zeroed (process.c), so there nothing is followed: connections are the parent's.
 * Lock-free and async-signal-safe.
 */
#ifndef TRACK_FLOW_FDTABLE_H
#define TRACK_FLOW_FDTABLE_H

#include "track/flow/pool.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow;
struct tls_ties;

#define FD_PAGES     1024 /* of FD_PAGE entries: descriptors below a million */
#define FD_PAGE      1024
#define FLOW_CHUNKS  1024 /* of FLOW_CHUNK flows */
#define FLOW_CHUNK   32
#define FLOW_NUMBERS (FLOW_CHUNKS * FLOW_CHUNK)

#if defined(__x86_64__) || defined(__i386__)
#define FD_ALIGN 4096
#else
#define FD_ALIGN 65536 /* the largest page of the others */
#endif

struct fdtable {
    uint32_t alive;                  /* 1 in a process that has noted that it is one; 0: a fresh child */
    uint32_t made;                   /* flows that were ever used */
    uint64_t free;                   /* the list of unused ones: a tag in the high half, number + 1 in the low one */
    uint64_t *page[FD_PAGES];        /* atomic */
    struct flow *chunk[FLOW_CHUNKS]; /* atomic */
    struct tls_ties *ties;           /* atomic; see tls/ties.h */
    struct pool connections;         /* of HTTP/2; see streams.h */
    struct pool streams;             /* on those */
} __attribute__((aligned(FD_ALIGN)));

extern struct fdtable fdtable;

/*
 * A mark: what stands for a descriptor. Low 16 bits: number of its flow + 1, FD_UPPER, or 0; then what kind of socket it
 * is, if that was seen; the high half is the flow's generation.
 */
#define FD_FLOW   UINT64_C(0xffff)
#define FD_UPPER  UINT64_C(0xffff) /* belongs to a layer above sockets for its whole life */
#define FD_STREAM UINT64_C(0x10000)
#define FD_OTHER  UINT64_C(0x20000) /* a socket, but no stream */
#define FD_KIND   (FD_STREAM | FD_OTHER)

_Static_assert(FLOW_NUMBERS < FD_UPPER, "every flow has a number of its own");

/* The whole mark; 0: nothing is known. */
static inline uint64_t fd_look(int fd)
{
    unsigned index = (unsigned)fd / FD_PAGE;
    if (__builtin_expect(index >= FD_PAGES, 0)) {
        return 0;
    }
    const uint64_t *page = __atomic_load_n(&fdtable.page[index], __ATOMIC_ACQUIRE);
    if (__builtin_expect(page == 0, 1)) {
        return 0;
    }
    return __atomic_load_n(&page[(unsigned)fd % FD_PAGE], __ATOMIC_ACQUIRE);
}

/* The mark if this descriptor is followed, else 0: what every hook of reading and writing asks first. */
static inline uint64_t fd_mark(int fd)
{
    uint64_t mark = fd_look(fd);
    return __builtin_expect((mark & FD_FLOW) == 0, 1) ? 0 : mark;
}

/* Notes a mark. False: beyond the table, or no memory. */
bool fd_put(int fd, uint64_t mark);
/* Takes a mark away and returns it. */
uint64_t fd_take(int fd);
/* Replaces `from` by `to`; false: it was something else by then. */
bool fd_replace(int fd, uint64_t from, uint64_t to);

/* Calls `each` for every followed descriptor in first..last. */
void fd_each(unsigned first, unsigned last, void (*each)(int fd, uint64_t mark));

/*
 * Maps zeroed memory for good and publishes it at *place, if there is none yet; what another thread has put there meanwhile
 * is as good. NULL: none is to be had.
 */
void *fd_memory(void **place, size_t size);

/* Maps what the first descriptors and flows need: before a seccomp filter. */
void fdtable_prepare(void);
/* Forgets everything: in a forked child where the kernel does not. */
void fdtable_wipe(void);

/* The pool of flows. 0: none is left; numbers are from 1, and their memory is never given back. */
unsigned flow_take(void);
void flow_give_back(unsigned number);

#endif
