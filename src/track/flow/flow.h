/*
 * A connection that is followed, from connect to close: which provider it goes to, the call that is under way on it, and
 * what its bytes have said so far. connect.c begins one, traffic.c feeds it, flow.c ends it.
 *
 * Descriptors point to flows by marks (fdtable.h); several may point to one (dup). A flow is changed under a try-lock
 * that is held for our own work only, never over a real call. Who does not get it soon (a signal handler that interrupted
 * the holder, at once; a thread whose sibling lost its processor while it had it, after some milliseconds) goes on without: then bytes have gone by unseen, the flow
 * is marked as missed, and whoever comes next ends its call as neutral and stops reading it.
 */
#ifndef TRACK_FLOW_FLOW_H
#define TRACK_FLOW_FLOW_H

#include "track/flow/attempt.h"
#include "track/call.h"
#include "track/exchange/exchange.h"
#include "track/flow/fdtable.h"
#include "track/names/names.h"
#include "track/process.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/single_threaded.h>

enum flow_stage {
    FLOW_CONNECTING, /* as far as is known */
    FLOW_OPEN,       /* established */
    FLOW_DOOMED,     /* refused in the clear (plain.h), and not shut down yet: what is written next fails */
    FLOW_CONDEMNED,  /* refused after it was established, and shut down: what is written fails */
    FLOW_ENDED       /* failed, at its end, or not to be judged any more */
};

#define FLOW_GONE_END (-1) /* in peace, as far as the wire tells */

#define HEDGE_NS UINT64_C(1000000000) /* what is abandoned earlier after the last byte says nothing */

/* What every byte that moves looks at stands first, in as few cache lines as it can. */
struct flow {
    uint32_t busy;       /* 0: free; else who changes it */
    uint32_t missed;     /* something went by unseen */
    uint32_t generation; /* of its use: what a mark must say */
    bool look;           /* what is written next has to be looked at first */
    bool look_plain;     /* what a TLS library is given next has to be (plain.h) */
    uint32_t abandoned;  /* descriptors that let go while it was busy */
    uint32_t next;       /* of the list of unused ones */
    uint32_t holders;    /* descriptors that point to it; it and all below is empty when a flow begins */
    uint8_t stage;       /* enum flow_stage */
    bool undecided;      /* its address has names of several providers: gated at its first request */
    bool receiving;      /* the client has tried to read since the last request began */
    bool drained;        /* and has read all there was */
    bool crowded;        /* one address of several, and nobody knows what becomes of the others */
    bool pending;        /* connect came back, and said that it goes on */
    bool finished_out;   /* the client has shut its side down, or said goodbye */
    bool greeted;        /* its ClientHello was noted */
    bool named;          /* and said whom it is for */
    bool plain;          /* read in the clear, not on the wire: see plain.h */
    bool early;          /* and what the client said so far may still be turned down by the server */
    bool untrusted;      /* and the client knows no good of its certificate */
    uint32_t bytes_read; /* since it was opened, modulo its range */
    uint32_t ahead;      /* bytes that were read before they were written, and are still to be written */
    uint64_t moved;      /* ns: the last byte, or the connect */
    struct call call;
    struct exchange exchange;
    uint32_t number;  /* in the pool */
    uint32_t streams; /* of HTTP/2, 0: none; see streams.h */
    uint64_t cookie;  /* of the socket; 0: unknown */
    uint64_t opened;  /* ns: when connect was called, then when it was found established */
    uint64_t began;   /* ns: the request under way */
    struct address address;
    int16_t gone; /* its end was read on the wire: errno, or FLOW_GONE_END; 0: it was not */
    struct attempt attempt;
    struct provider *provider; /* as far as it is known; NULL: not to be touched */
} __attribute__((aligned(64)));

/* ---- marks and locks (flow.c) ------------------------------------------------------------------------------------ */

/* NULL: no such number was ever taken in this process. */
static inline struct flow *flow_at(unsigned number)
{
    unsigned index = number - 1;
    if (index >= FLOW_NUMBERS) {
        return NULL;
    }
    struct flow *chunk = __atomic_load_n(&fdtable.chunk[index / FLOW_CHUNK], __ATOMIC_ACQUIRE);
    return chunk != NULL ? &chunk[index % FLOW_CHUNK] : NULL;
}

/* Not locked: for what can be told by a glance. NULL: it is gone, or a layer above has the connection. */
static inline struct flow *flow_of(uint64_t mark)
{
    struct flow *flow = flow_at((unsigned)(mark & FD_FLOW)); /* FD_UPPER is no flow's number */
    return flow != NULL && __atomic_load_n(&flow->generation, __ATOMIC_RELAXED) == mark >> 32 ? flow : NULL;
}

/* Is what the client writes next to be looked at first? */
static inline bool flow_looks(uint64_t mark)
{
    const struct flow *flow = flow_of(mark);
    return flow != NULL && __atomic_load_n(&flow->look, __ATOMIC_RELAXED);
}

/* This thread, for `busy`: never 0. */
static inline uint32_t flow_self(void)
{
    return (uint32_t)(process_thread() >> 4) | 1;
}

/*
 * As long as there is one thread, only a signal handler can come between, and it gives back what it takes before it
 * returns: then no locked instruction is needed.
 */
static inline bool flow_try(struct flow *flow)
{
    uint32_t idle = 0;
    if (!__libc_single_threaded) {
        return __atomic_compare_exchange_n(&flow->busy, &idle, flow_self(), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    }
    bool free = __atomic_load_n(&flow->busy, __ATOMIC_RELAXED) == 0;
    if (free) {
        __atomic_store_n(&flow->busy, flow_self(), __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    return free;
}

/* For flow_lock() and flow_unlock() alone: what is not as usual. */
bool flow_wait(struct flow *flow);
struct flow *flow_check(struct flow *flow, uint64_t mark);
void flow_let_go(struct flow *flow);

/* The flow of a mark, locked; NULL: it is gone, or somebody else has it. */
static inline struct flow *flow_lock(uint64_t mark)
{
    struct flow *flow = flow_of(mark);
    if (flow == NULL || (!flow_try(flow) && !flow_wait(flow))) {
        return NULL;
    }
    bool usual = flow->generation == mark >> 32 && __atomic_load_n(&flow->missed, __ATOMIC_RELAXED) == 0;
    return __builtin_expect(usual, 1) ? flow : flow_check(flow, mark);
}

static inline void flow_unlock(struct flow *flow)
{
    if (__builtin_expect(__atomic_load_n(&flow->abandoned, __ATOMIC_RELAXED) == 0, 1)) {
        if (__libc_single_threaded) {
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
            __atomic_store_n(&flow->busy, 0, __ATOMIC_RELAXED);
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
        } else {
            __atomic_store_n(&flow->busy, 0, __ATOMIC_SEQ_CST);
        }
        if (__builtin_expect(__atomic_load_n(&flow->abandoned, __ATOMIC_SEQ_CST) == 0, 1) || !flow_try(flow)) {
            return;
        }
    }
    flow_let_go(flow);
}

/* What stands for it. */
uint64_t flow_mark(const struct flow *flow);
/* Notes whether what is written next has to be looked at: after its exchange or stage has moved. */
void flow_note_look(struct flow *flow);
/* Unlocks; a descriptor whose flow has nothing more to tell is not followed any longer. */
void flow_leave(struct flow *flow, int fd, uint64_t mark);
/* A new one, locked, held by one descriptor; *mark is what is to be put into the table. NULL: none is to be had. */
struct flow *flow_new(uint64_t *mark);

/* One descriptor more, or less, points to it. The last one ends it as the client's closing does; fd is -1 if the
 * descriptor is closed already. */
void flow_hold(uint64_t mark);
void flow_drop(uint64_t mark, int fd);
/* A descriptor's number was handed out anew: what its mark said is gone, and nobody saw how. */
void flow_forget(uint64_t mark);

/* ---- what the kernel says (socket.c), each a system call ------------------------------------------------------ */

/* Is this descriptor still that socket? True where nobody can tell, and `sure` is false. */
bool flow_is(const struct flow *flow, int fd, bool sure);
/* Has it not begun to connect (or failed to already)? */
bool flow_is_unopened(const struct flow *flow, int fd);
/* Is it that socket, and has nothing come from the peer but what was read? Else silence is not its fault. */
bool flow_is_silent(const struct flow *flow, int fd);
/* The state of a connection; 0: cannot be told. */
unsigned flow_kernel_state(int fd);
#define FLOW_KERNEL_SYN_SENT 2
#define FLOW_KERNEL_CLOSED   7

/* ---- what happened to it (flow.c, given_up.c); all with the flow locked ------------------------------------------ */

/* Is this a server that speaks first, so that a client that has not said anything waits for it? */
bool flow_greets(const struct flow *flow);
/* The connect came to something. */
void flow_established(struct flow *flow);
void flow_not_established(struct flow *flow, int error, bool at_once);
/* An established connection broke with this error. */
void flow_broken(struct flow *flow, int fd, int error);
/* The peer ended it in peace. */
void flow_at_end(struct flow *flow, int fd);
/* The client gave it up: close, shutdown, an exit. fd -1: cannot be asked any more. */
void flow_given_up(struct flow *flow, int fd);
/* News of an answer (enum exchange_news, several at once) from its exchange (answer.c). */
void flow_answer(struct flow *flow, unsigned news);
/* Is a call under way on it? */
bool flow_under_way(const struct flow *flow);
/* The call under way was answered, with whatever status its answer has. */
void flow_answered(struct flow *flow);
/* Does that status say how the call under way ended, whatever becomes of the rest of the answer? */
bool flow_decided(const struct flow *flow);
/* Is the answer under way an event stream? */
bool flow_streams(const struct flow *flow);
/* Its address is dead, or silent. */
void flow_fail_connecting(struct flow *flow, enum prebreak_kind kind);
/* The call under way failed. */
void flow_fail(struct flow *flow, enum prebreak_kind kind);
/* Requests of a pipeline that will not be answered on this connection: calls asked for, of which nothing is known. */
void flow_void(struct flow *flow, uint32_t requests);
/* Nothing that comes can be judged any more: the call under way is neutral. */
void flow_lost(struct flow *flow);

/* Before the process ends: what is under way is given up. */
void flow_at_exit(void);

struct msghdr;

/* ---- connecting (connect.c) -------------------------------------------------------------------------------------- */

/*
 * Before the real connect: false is a refusal, with errno set. *mark is for connect_told(). caller: the hook's return
 * address, which says whether a layer above is at work (layer_covers).
 */
bool connect_ask(int fd, const struct sockaddr *addr, socklen_t length, const void *caller, uint64_t *mark);
/* Can this message be read, and does it say where to? */
bool connect_has_address(const struct msghdr *msg);
/* After it; returns the result, errno as the real call left it. */
int connect_told(int fd, uint64_t mark, int result);
/* What the program read by SO_ERROR. */
void connect_error_read(int fd, uint64_t mark, int error);

/* ---- bytes (traffic.c) ------------------------------------------------------------------------------------------- */

struct iovec;

/* Before the real call writes: false is a refusal, with errno set. No vectors: what is written is not to be seen. */
bool traffic_ask(int fd, uint64_t mark, const struct iovec *iov, size_t count);
/* After it wrote `result` bytes of them (-1: errno). Returns result, errno untouched. */
ssize_t traffic_sent(int fd, uint64_t mark, const struct iovec *iov, size_t count, ssize_t result);
/* After the real call read; `wanted`: bytes that there was room for; flags as recv has them. */
ssize_t traffic_received(int fd, uint64_t mark, const struct iovec *iov, size_t count, int flags, ssize_t result);
/* The same for buffers, vectors and messages as the program handed them over (message.c). */
struct msghdr;
bool traffic_ask_first(int fd, uint64_t mark, const void *bytes, size_t length);
static inline bool traffic_ask_bytes(int fd, uint64_t mark, const void *bytes, size_t length)
{
    return !flow_looks(mark) || traffic_ask_first(fd, mark, bytes, length);
}
ssize_t traffic_sent_bytes(int fd, uint64_t mark, const void *bytes, size_t length, ssize_t result);
ssize_t traffic_received_bytes(int fd, uint64_t mark, void *bytes, size_t length, int flags, ssize_t result);
bool traffic_ask_vector(int fd, uint64_t mark, const struct iovec *iov, int count);
bool traffic_ask_message(int fd, uint64_t mark, const struct msghdr *msg);
ssize_t traffic_sent_vector(int fd, uint64_t mark, const struct iovec *iov, int count, ssize_t result);
ssize_t traffic_sent_message(int fd, uint64_t mark, const struct msghdr *msg, ssize_t result);
ssize_t traffic_received_message(int fd, uint64_t mark, const struct msghdr *msg, int flags, ssize_t result);
ssize_t traffic_received_vector(int fd, uint64_t mark, const struct iovec *iov, int count, ssize_t result);
/* The same for several messages at once. */
struct mmsghdr;
bool traffic_ask_messages(int fd, uint64_t mark, const struct mmsghdr *msgs, unsigned count);
int traffic_sent_messages(int fd, uint64_t mark, const struct mmsghdr *msgs, int result);
int traffic_received_messages(int fd, uint64_t mark, const struct mmsghdr *msgs, int flags, int result);
/*
 * After a call that moved bytes which are not seen, from or to another descriptor, which may be the one that failed.
 * wanted: bytes that there was room for. Return result, errno untouched.
 */
ssize_t traffic_sent_unseen(int fd, uint64_t mark, ssize_t result);
ssize_t traffic_received_unseen(int fd, uint64_t mark, size_t wanted, ssize_t result);
/* The client is about to shut a side down. */
void traffic_shutdown(int fd, uint64_t mark, int how);
/* The program reads and writes by other means from here on (stdio). */
void traffic_unseen(int fd, uint64_t mark);

#endif
