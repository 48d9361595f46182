/*
 * Descriptors that go or are copied.
 */
#include "hooks/hook.h"
#include "track/flow/descriptors.h"
#include "track/flow/fdtable.h"
#include "track/flow/flow.h"
#include <stdarg.h>
#include <sys/prctl.h>

HOOK int close(int fd)
{
    descriptor_closing(fd);
    return real_close(fd);
}

HOOK int dup(int fd)
{
    return descriptor_copied(fd, real_dup(fd));
}

HOOK int dup2(int from, int to)
{
    return descriptor_copied(from, real_dup2(from, to));
}

HOOK int dup3(int from, int to, int flags)
{
    return descriptor_copied(from, real_dup3(from, to, flags));
}

static int controlled(int fd, int command, int result)
{
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? descriptor_copied(fd, result) : result;
}

HOOK int fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *rest = va_arg(list, void *);
    va_end(list);
    return controlled(fd, command, real_fcntl(fd, command, rest));
}

HOOK int fcntl64(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *rest = va_arg(list, void *);
    va_end(list);
    return controlled(fd, command, real_fcntl64(fd, command, rest));
}

#if REAL_TIME64
HOOK int __fcntl_time64(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *rest = va_arg(list, void *);
    va_end(list);
    return controlled(fd, command, real___fcntl_time64(fd, command, rest));
}
#endif

HOOK int close_range(unsigned first, unsigned last, int flags)
{
    descriptors_closing(first, last, (unsigned)flags);
    return real_close_range(first, last, flags);
}

HOOK void closefrom(int first)
{
    descriptors_closing(first < 0 ? 0 : (unsigned)first, UINT32_MAX, 0);
    real_closefrom(first);
}

HOOK int fclose(FILE *stream)
{
    descriptor_stream_closing(stream);
    return real_fclose(stream);
}

HOOK FILE *freopen(const char *restrict path, const char *restrict mode, FILE *restrict stream)
{
    descriptor_stream_closing(stream);
    return real_freopen(path, mode, stream);
}

HOOK FILE *freopen64(const char *restrict path, const char *restrict mode, FILE *restrict stream)
{
    descriptor_stream_closing(stream);
    return real_freopen64(path, mode, stream);
}

HOOK FILE *fdopen(int fd, const char *mode)
{
    FILE *stream = real_fdopen(fd, mode);
    uint64_t mark = fd_mark(fd);
    if (mark != 0 && stream != NULL) {
        traffic_unseen(fd, mark);
    }
    return stream;
}

HOOK long syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    descriptor_raw_call(number, a, b, c);
    return real_syscall(number, a, b, c, d, e, f);
}

HOOK int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    descriptor_raw_call(SYS_prctl, option, (long)a, (long)b);
    return real_prctl(option, a, b, c, d);
}

extern __typeof__(close) __close HOOK_ALIAS(close);
extern __typeof__(dup2) __dup2 HOOK_ALIAS(dup2) __attribute__((nothrow, leaf));
extern __typeof__(fcntl) __fcntl HOOK_ALIAS(fcntl);
extern __typeof__(fclose) _IO_fclose HOOK_ALIAS(fclose);
extern __typeof__(fdopen) _IO_fdopen HOOK_ALIAS(fdopen) __attribute__((nothrow, leaf, malloc));
