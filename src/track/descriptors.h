/*
 * Descriptors that come, go and are copied: keeps the table of followed ones (fdtable.h) true to what the program does.
 *
 * A child of vfork runs in our memory and closes and copies descriptors of its own: nothing of ours changes then, which
 * costs one getpid, asked only when something followed would change. Leaves errno alone; async-signal-safe.
 */
#ifndef TRACK_DESCRIPTORS_H
#define TRACK_DESCRIPTORS_H

#include <stdio.h>

/* socket() gave this number, with this type; -1: it failed with errno. Returns it. */
int descriptor_made(int fd, int domain, int type);
/* Something else did (accept). */
int descriptor_came(int fd);
/* It is about to be closed. */
void descriptor_closing(int fd);
void descriptors_closing(unsigned first, unsigned last);
/* `to` is a copy of `from` now, whatever it was before. Returns it; negative: nothing was copied. */
int descriptor_copied(int from, int to);

/* A stream is about to be closed. NULL is the real call's business. */
void descriptor_stream_closing(FILE *stream);
/* A raw system call is about to be made: closing goes there too, and so does a seccomp filter. */
void descriptor_raw_call(long number, long a, long b, long c);

#endif
