/*
 * Descriptors that come, go and are copied: keeps the table of followed ones (fdtable.h) true to what the program does.
 *
 * A child of vfork runs in our memory and closes and copies descriptors of its own: nothing of ours changes then, which
 * costs one getpid, asked only when something followed would change. Leaves errno alone; async-signal-safe.
 */
#ifndef TRACK_FLOW_DESCRIPTORS_H
#define TRACK_FLOW_DESCRIPTORS_H

#include <stdio.h>
#include <sys/socket.h>

/* socket() gave this number, with this type; -1: it failed with errno. Returns it. */
int descriptor_made(int fd, int domain, int type);
/* Something else did (accept). */
int descriptor_came(int fd);
/* It is about to be closed. */
void descriptor_closing(int fd);
/* The same for a whole range, as close_range() has it. */
void descriptors_closing(unsigned first, unsigned last, unsigned flags);
/* `to` is a copy of `from` now, whatever it was before. Returns it; negative: nothing was copied. */
int descriptor_copied(int from, int to);

/* Descriptors that went along with a message: somebody else has them now. And those that came with one: they are new. */
void descriptors_handed_over(const struct msghdr *msg);
void descriptors_handed_out(const struct msghdr *msg);

/* After messages went out or came in. Return result, errno untouched. */
static inline ssize_t descriptors_sent(const struct msghdr *msg, ssize_t result)
{
    if (result >= 0 && msg->msg_controllen > 0) {
        descriptors_handed_over(msg);
    }
    return result;
}

static inline ssize_t descriptors_received(const struct msghdr *msg, ssize_t result)
{
    if (result >= 0 && msg->msg_controllen > 0) {
        descriptors_handed_out(msg);
    }
    return result;
}

static inline int descriptors_sent_messages(const struct mmsghdr *msgs, int result)
{
    for (int i = 0; i < result; i++) {
        (void)descriptors_sent(&msgs[i].msg_hdr, 0);
    }
    return result;
}

static inline int descriptors_received_messages(const struct mmsghdr *msgs, int result)
{
    for (int i = 0; i < result; i++) {
        (void)descriptors_received(&msgs[i].msg_hdr, 0);
    }
    return result;
}

/*
 * Once a second, before silence is held against anybody: of those whose answer is nearly overdue, which were closed where
 * nobody saw it, and which has the peer spoken on?
 */
void descriptors_look(void);

/* A stream is about to be closed. NULL is the real call's business. */
void descriptor_stream_closing(FILE *stream);
/* A raw system call is about to be made: closing goes there too, and so does a seccomp filter. */
void descriptor_raw_call(long number, long a, long b, long c);

#endif
