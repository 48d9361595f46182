/*
 * The real libc. Every function that prebreak wraps or needs is resolved once, here, and called through these pointers
 * from here only: nothing of prebreak ever calls its own exports.
 *
 *     ssize_t n = real_read(fd, buffer, sizeof buffer);
 *
 * real_init() runs first thing in the constructor. A pointer that is used before it (another library's constructor runs
 * earlier than ours) resolves itself at its first call, so no caller ever looks whether it may. Nothing here takes a lock
 * or allocates, and errno is left alone; all of it may be used in a signal handler and by any number of threads.
 */
#ifndef REAL_REAL_H
#define REAL_REAL_H

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Fortified variants: public symbols of libc that its headers declare only where they use them. */
ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, struct sockaddr *addr,
                       socklen_t *addr_len);
int __dprintf_chk(int fd, int flag, const char *format, ...) __attribute__((format(printf, 3, 4)));
int __vdprintf_chk(int fd, int flag, const char *format, va_list list) __attribute__((format(printf, 3, 0)));

/* Where time_t once had 32 bits, programs that are built for 64 call these; no header declares them for others. */
#define REAL_TIME64 (__TIMESIZE == 32)
#if REAL_TIME64
int __getsockopt64(int fd, int level, int name, void *value, socklen_t *len);
int __fcntl_time64(int fd, int command, ...);
ssize_t __recvmsg64(int fd, struct msghdr *msg, int flags);
int __recvmmsg64(int fd, struct mmsghdr *msgs, unsigned count, int flags, void *timeout);
#endif

/*
 * What runs as the process starts or ends, and hardly ever besides. The linker lays such functions side by side: of our
 * code, a process that never calls anybody has a corner resident, and not all of it.
 */
#define REAL_RARE __attribute__((cold))

/* real_NAME has exactly the type that libc's headers give NAME. */
#define FIXED(type, name, parameters, arguments)                extern __typeof__(name) *real_##name;
#define VARIADIC(type, name, parameters, last, rest, arguments) extern __typeof__(name) *real_##name;
#include "real/real_list.h"
#undef FIXED
#undef VARIADIC

/* syscall() takes any number of arguments: always six are passed on, unknown numbers verbatim. */
typedef long real_syscall_function(long number, long a, long b, long c, long d, long e, long f);
extern real_syscall_function *real_syscall;

/* Likewise, but for the number of its arguments. */
typedef int real_prctl_function(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
extern real_prctl_function *real_prctl;

/*
 * Must be jumped to by whoever stands in for it, so that it looks for libraries where its caller's object says
 * (hooks/loader.c). A jump: the frame is gone by then, so nothing in it may be pointed to or be checked at the end.
 */
#ifdef __clang__
#define REAL_JUMPS __attribute__((no_sanitize("all"), no_instrument_function, no_stack_protector))
#define REAL_JUMP  __attribute__((musttail))
#else
#define REAL_JUMPS                                                                                                     \
    __attribute__((optimize("O2", "omit-frame-pointer", "no-stack-protector", "optimize-sibling-calls"),               \
                   no_sanitize_address, no_sanitize_thread, no_sanitize_undefined, no_instrument_function))
#define REAL_JUMP
#endif
extern __typeof__(dlopen) *real_dlopen;

/* Resolves everything; idempotent. */
void real_init(void);

/*
 * A function of a second library (libcurl, libssl, libgnutls), by the object that calls us: `caller` is the hook's return
 * address, `name` lives for ever. NULL: cannot be told. The library is kept loaded for good. The first time for an object
 * takes the dynamic loader's lock and may allocate: for functions that do so themselves.
 */
void *real_by_caller(const char *name, const void *caller);

/* An object was unloaded, perhaps: what real_by_caller() remembers holds no longer. */
void real_unloaded(void);
/* How often so far: for what else is remembered of an object by its address. */
uint32_t real_unloads(void);

/* A function of the library that holds this one. NULL: it has none of that name. As real_by_caller, every time. */
void *real_beside(const char *name, const void *function);

/* A function of a library that is loaded under this file name, and is kept loaded then. NULL: there is none. Likewise. */
void *real_in_file(const char *file, const char *name);

/* Does this library itself hold it? */
bool real_is_own(const void *address);

/* Where the object that holds this address lies. from == to: cannot be told. */
struct real_range {
    uintptr_t from, to;
};
struct real_range real_range_of(const void *address);

/*
 * Does the object that holds this address define that name, for everybody to see? Leaves a message for dlerror() if
 * nobody does: for hooks of functions that set one themselves.
 */
bool real_defines(const void *address, const char *name);
/* Is an object loaded whose file has this name? */
bool real_is_loaded(const char *name);
/* The index'th name that this library exports (which are its hooks); NULL: there are no more. */
const char *real_export(size_t index);
/* The e_machine of objects that can be loaded here. */
uint16_t real_machine(void);

#endif
