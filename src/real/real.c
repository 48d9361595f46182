/*
 * Binding to the real libc: one pointer a function, each of which starts out at a stub that binds itself.
 *
 * Only names that the C library has are asked for: a dlsym that fails allocates its message, and an allocator that reads
 * a file in its own start-up would come back here. What the list holds exists in every glibc that can load this object at
 * all (it is linked against 2.34's dlsym).
 */
#include "real/real.h"
#include <dlfcn.h>
#include <stdarg.h>

/* A row whose parameters are not those of libc's header does not compile. */
#pragma GCC diagnostic error "-Wincompatible-pointer-types"

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* ---- stubs -------------------------------------------------------------------------------------------------------- */

/* Function pointers and object pointers are the same thing to dlsym; the union says so without a cast that warns. */
#define BIND(name)                                                                                                     \
    do {                                                                                                               \
        union {                                                                                                        \
            void *object;                                                                                              \
            __typeof__(real_##name) function;                                                                          \
        } bound = {.object = next(#name)};                                                                             \
        __atomic_store_n(&real_##name, bound.function, __ATOMIC_RELAXED);                                              \
    } while (0)

#define FIXED(type, name, parameters, arguments)                                                                       \
    static type first_##name parameters                                                                                \
    {                                                                                                                  \
        BIND(name);                                                                                                    \
        return real_##name arguments;                                                                                  \
    }                                                                                                                  \
    __typeof__(name) *real_##name = first_##name;

#define VARIADIC(type, name, parameters, last, rest_type, arguments)                                                   \
    static type first_##name parameters                                                                                \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, last);                                                                                          \
        rest_type rest = va_arg(list, rest_type);                                                                      \
        va_end(list);                                                                                                  \
        BIND(name);                                                                                                    \
        return real_##name arguments;                                                                                  \
    }                                                                                                                  \
    __typeof__(name) *real_##name = first_##name;

#include "real/real_list.h"
#undef FIXED
#undef VARIADIC

static long first_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    BIND(syscall);
    return real_syscall(number, a, b, c, d, e, f);
}
real_syscall_function *real_syscall = first_syscall;

static int first_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    BIND(prctl);
    return real_prctl(option, a, b, c, d);
}
real_prctl_function *real_prctl = first_prctl;

REAL_JUMPS static void *first_dlopen(const char *path, int flags)
{
    BIND(dlopen);
    REAL_JUMP return real_dlopen(path, flags);
}
__typeof__(dlopen) *real_dlopen = first_dlopen;

/* ---- all at once -------------------------------------------------------------------------------------------------- */

REAL_RARE void real_init(void)
{
#define FIXED(type, name, parameters, arguments)                     BIND(name);
#define VARIADIC(type, name, parameters, last, rest_type, arguments) BIND(name);
#include "real/real_list.h"
#undef FIXED
#undef VARIADIC
    BIND(syscall);
    BIND(prctl);
    BIND(dlopen);
}
