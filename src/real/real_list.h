/*
 * The functions of libc that prebreak wraps or needs: adding one is adding a row.
 *
 *   FIXED(return, name, (parameters), (arguments))
 *   VARIADIC(return, name, (named parameters), last named one, type of the rest, (arguments))
 *
 * No include guard: real.h and real.c read it with different meanings of the two words. Types are checked against libc's
 * own headers (real.c); what no header declares (the fortified variants) is declared in real.h.
 */

/* ---- connections -------------------------------------------------------------------------------------------------- */

FIXED(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
FIXED(int, connect, (int fd, const struct sockaddr *addr, socklen_t len), (fd, addr, len))
FIXED(int, accept, (int fd, struct sockaddr *addr, socklen_t *len), (fd, addr, len))
FIXED(int, accept4, (int fd, struct sockaddr *addr, socklen_t *len, int flags), (fd, addr, len, flags))
FIXED(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *len), (fd, level, name, value, len))
FIXED(int, shutdown, (int fd, int how), (fd, how))

/* ---- bytes out ---------------------------------------------------------------------------------------------------- */

FIXED(ssize_t, send, (int fd, const void *buf, size_t len, int flags), (fd, buf, len, flags))
FIXED(ssize_t, sendto,
      (int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr, socklen_t addr_len),
      (fd, buf, len, flags, addr, addr_len))
FIXED(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags), (fd, msg, flags))
FIXED(int, sendmmsg, (int fd, struct mmsghdr *msgs, unsigned count, int flags), (fd, msgs, count, flags))
FIXED(ssize_t, write, (int fd, const void *buf, size_t len), (fd, buf, len))
FIXED(ssize_t, writev, (int fd, const struct iovec *iov, int count), (fd, iov, count))
FIXED(ssize_t, pwritev2, (int fd, const struct iovec *iov, int count, off_t offset, int flags),
      (fd, iov, count, offset, flags))
FIXED(ssize_t, pwritev64v2, (int fd, const struct iovec *iov, int count, off64_t offset, int flags),
      (fd, iov, count, offset, flags))
FIXED(int, __vdprintf_chk, (int fd, int flag, const char *format, va_list list), (fd, flag, format, list))
FIXED(ssize_t, sendfile, (int out, int in, off_t *offset, size_t count), (out, in, offset, count))
FIXED(ssize_t, sendfile64, (int out, int in, off64_t *offset, size_t count), (out, in, offset, count))
FIXED(ssize_t, splice, (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t len, unsigned flags),
      (in, in_offset, out, out_offset, len, flags))

/* ---- bytes in ----------------------------------------------------------------------------------------------------- */

FIXED(ssize_t, recv, (int fd, void *buf, size_t len, int flags), (fd, buf, len, flags))
FIXED(ssize_t, recvfrom, (int fd, void *buf, size_t len, int flags, struct sockaddr *addr, socklen_t *addr_len),
      (fd, buf, len, flags, addr, addr_len))
FIXED(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags), (fd, msg, flags))
FIXED(int, recvmmsg, (int fd, struct mmsghdr *msgs, unsigned count, int flags, struct timespec *timeout),
      (fd, msgs, count, flags, timeout))
FIXED(ssize_t, read, (int fd, void *buf, size_t len), (fd, buf, len))
FIXED(ssize_t, readv, (int fd, const struct iovec *iov, int count), (fd, iov, count))
FIXED(ssize_t, __read_chk, (int fd, void *buf, size_t len, size_t room), (fd, buf, len, room))
FIXED(ssize_t, __recv_chk, (int fd, void *buf, size_t len, size_t room, int flags), (fd, buf, len, room, flags))
FIXED(ssize_t, __recvfrom_chk,
      (int fd, void *buf, size_t len, size_t room, int flags, struct sockaddr *addr, socklen_t *addr_len),
      (fd, buf, len, room, flags, addr, addr_len))

FIXED(ssize_t, preadv2, (int fd, const struct iovec *iov, int count, off_t offset, int flags),
      (fd, iov, count, offset, flags))
FIXED(ssize_t, preadv64v2, (int fd, const struct iovec *iov, int count, off64_t offset, int flags),
      (fd, iov, count, offset, flags))

/* ---- descriptors -------------------------------------------------------------------------------------------------- */

FIXED(int, close, (int fd), (fd))
FIXED(int, dup, (int fd), (fd))
FIXED(int, dup2, (int from, int to), (from, to))
FIXED(int, dup3, (int from, int to, int flags), (from, to, flags))
VARIADIC(int, fcntl, (int fd, int command, ...), command, void *, (fd, command, rest))
VARIADIC(int, fcntl64, (int fd, int command, ...), command, void *, (fd, command, rest))
FIXED(int, close_range, (unsigned first, unsigned last, int flags), (first, last, flags))
FIXED(void, closefrom, (int first), (first))
FIXED(int, fclose, (FILE * stream), (stream))
FIXED(FILE *, freopen, (const char *path, const char *mode, FILE *stream), (path, mode, stream))
FIXED(FILE *, freopen64, (const char *path, const char *mode, FILE *stream), (path, mode, stream))
FIXED(FILE *, fdopen, (int fd, const char *mode), (fd, mode))

#if REAL_TIME64
FIXED(int, __getsockopt64, (int fd, int level, int name, void *value, socklen_t *len), (fd, level, name, value, len))
VARIADIC(int, __fcntl_time64, (int fd, int command, ...), command, void *, (fd, command, rest))
FIXED(ssize_t, __recvmsg64, (int fd, struct msghdr *msg, int flags), (fd, msg, flags))
FIXED(int, __recvmmsg64, (int fd, struct mmsghdr *msgs, unsigned count, int flags, void *timeout),
      (fd, msgs, count, flags, timeout))
#endif

/* ---- names -------------------------------------------------------------------------------------------------------- */

FIXED(int, getaddrinfo, (const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result),
      (node, service, hints, result))
FIXED(struct hostent *, gethostbyname, (const char *name), (name))
FIXED(struct hostent *, gethostbyname2, (const char *name, int family), (name, family))
FIXED(int, gethostbyname_r,
      (const char *name, struct hostent *ret, char *buf, size_t len, struct hostent **result, int *error),
      (name, ret, buf, len, result, error))
FIXED(int, gethostbyname2_r,
      (const char *name, int family, struct hostent *ret, char *buf, size_t len, struct hostent **result, int *error),
      (name, family, ret, buf, len, result, error))
FIXED(int, getaddrinfo_a, (int mode, struct gaicb *list[], int count, struct sigevent *event),
      (mode, list, count, event))
FIXED(int, gai_error, (struct gaicb * request), (request))

/* ---- objects ------------------------------------------------------------------------------------------------------ */

FIXED(int, dlclose, (void *handle), (handle))

/* ---- what state and log need, never hooked ------------------------------------------------------------------------ */

VARIADIC(int, open, (const char *path, int flags, ...), flags, unsigned, (path, flags, rest))
FIXED(ssize_t, pread, (int fd, void *buf, size_t len, off_t offset), (fd, buf, len, offset))
FIXED(ssize_t, pwrite, (int fd, const void *buf, size_t len, off_t offset), (fd, buf, len, offset))
FIXED(int, fallocate, (int fd, int mode, off_t offset, off_t len), (fd, mode, offset, len))
FIXED(int, fstat, (int fd, struct stat *st), (fd, st))
FIXED(int, stat, (const char *path, struct stat *st), (path, st))
FIXED(int, lstat, (const char *path, struct stat *st), (path, st))
FIXED(int, link, (const char *from, const char *to), (from, to))
FIXED(int, linkat, (int from_fd, const char *from, int to_fd, const char *to, int flags),
      (from_fd, from, to_fd, to, flags))
FIXED(int, unlink, (const char *path), (path))
FIXED(int, rename, (const char *from, const char *to), (from, to))
FIXED(ssize_t, readlink, (const char *path, char *buf, size_t len), (path, buf, len))
FIXED(int, fchmod, (int fd, mode_t mode), (fd, mode))
FIXED(int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
FIXED(void *, mmap, (void *addr, size_t len, int protection, int flags, int fd, off_t offset),
      (addr, len, protection, flags, fd, offset))
FIXED(int, munmap, (void *addr, size_t len), (addr, len))
FIXED(int, madvise, (void *addr, size_t len, int advice), (addr, len, advice))
FIXED(int, clock_gettime, (clockid_t clock, struct timespec *time), (clock, time))
