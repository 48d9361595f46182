/*
 * This process: whether it is to be touched at all, its clock, its random numbers, its region, and what has to be noticed
 * about it now and then - a fork, a new second, another region, another effective user, a seccomp filter.
 *
 * Nothing here takes a lock, allocates from the heap or changes errno.
 */
#ifndef TRACK_PROCESS_H
#define TRACK_PROCESS_H

#include "breaker/breaker.h"
#include "state/state.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECOND_NS UINT64_C(1000000000)

/*
 * False until the constructor has run, and for good where prebreak is not to act: every hook then is a plain
 * pass-through, and nothing is mapped.
 */
extern bool process_acts;

/* The constructor's part. */
void process_init(void);

/* CLOCK_MONOTONIC_COARSE, ns. */
uint64_t process_now(void);

/* A random number of this thread's; no system call. */
uint64_t process_random(void);

/* A hash that nobody outside of this process can foresee; never 0. */
uint64_t process_hash(const void *bytes, size_t length);

/* Who calls, and when; notices a fork. */
void process_caller(struct breaker_caller *who);

/* A number that tends to differ between threads and is the same for one: never 0. */
uint64_t process_thread(void);

/* How many forks lie between the process that was started and this one: what carries another number is the parent's. */
uint32_t process_forks(void);

/*
 * The region's state, mapped at the first call. NULL: none is to be had. It may become another one at any look; an old
 * one stays mapped.
 */
struct state *process_state(void);

/* The mode that counts now: the operator's word, or the environment's. */
enum prebreak_mode process_mode(const struct state *state);

/* Once a second and process, whoever comes first: configuration, off files, region, overdue calls. */
void process_look(const struct breaker_caller *who);
/* The same for who is about to ask something. */
void process_tick(void);

/*
 * Are we this process, and not a vfork child that runs in its memory? One system call: asked only before something that
 * is tracked would change.
 */
bool process_is_own(void);

/*
 * The program is about to put itself under a seccomp filter: everything is mapped now, and from here on no system call of
 * ours is made that the program does not make itself.
 */
void process_confine(void);
bool process_confined(void);

/*
 * Can these bytes (at most a page) be read without a fault? One system call for a page that was not asked about within
 * this second. Nothing is asked under a filter.
 */
bool process_readable(const void *bytes, size_t length);

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Zeroed memory that is never given back; aligned to 16. NULL: none. */
void *process_memory(size_t size);

#endif
