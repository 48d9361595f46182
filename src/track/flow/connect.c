/*
 * See flow.h: what happens at connect. Who is called is told by the address and the names that this process resolved to
 * it; whether the call may go out is asked here, unless the names belong to several providers: then the first request
 * tells (traffic.c).
 */
#include "real/real.h"
#include "track/flow/fdtable.h"
#include "track/flow/flow.h"
#include "track/layer.h"
#include "track/process.h"
#include "track/names/target.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

/* ---- what is connected, and where to ----------------------------------------------------------------------------- */

/* A stream socket? What socket() was seen to make needs no question. */
static bool is_stream(int fd, uint64_t mark)
{
    if ((mark & FD_KIND) != 0) {
        return (mark & FD_STREAM) != 0;
    }
    int type = 0;
    socklen_t length = sizeof type;
    return !process_confined() && real_getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

static uint64_t cookie_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    if (process_confined() || real_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0) {
        return 0;
    }
    return cookie;
}

/* A unix socket's provider, if a rule names its path; `target` of everything else. */
static bool unix_target(const struct sockaddr *addr, socklen_t length, struct target *target)
{
    struct sockaddr_un address = {.sun_family = AF_UNSPEC};
    size_t path = length - offsetof(struct sockaddr_un, sun_path);
    if (length <= offsetof(struct sockaddr_un, sun_path) || length > sizeof address || !provider_has_unix()) {
        return false;
    }
    memcpy(&address, addr, length);
    char text[sizeof address.sun_path + 1] = {0};
    memcpy(text, address.sun_path, path);
    memset(target, 0, offsetof(struct target, host));
    target->host[0] = '\0';
    target->provider = text[0] == '/' ? provider_of(&(struct rules_target){.unix_path = text}) : NULL;
    return target->provider != NULL;
}

/* False: a connect to there is none of our business. */
static bool find_target(const struct sockaddr *addr, socklen_t length, struct target *target)
{
    if (addr->sa_family == AF_UNIX) {
        return unix_target(addr, length, target);
    }
    struct address address;
    if (!address_read(addr, length, &address)) {
        return false;
    }
    target_of(&address, target);
    return true;
}

/* ---- an earlier connect on the same descriptor ------------------------------------------------------------------- */

/*
 * A second connect while one is pending asks "done yet?", and on an established one fails by itself: both are left alone.
 * True: nothing is known of the descriptor any more, a new attempt may begin.
 */
static bool begins_anew(int fd, uint64_t mark, sa_family_t family)
{
    struct flow *flow = flow_lock(mark);
    bool over = true;
    bool other = false;
    if (flow != NULL) {
        over = flow->stage == FLOW_ENDED || family == AF_UNSPEC;
        other = !over && !flow_is(flow, fd, false);
        flow_unlock(flow);
    }
    if (!over && !other) {
        return false;
    }
    if (!process_is_own() || !fd_replace(fd, mark, mark & FD_KIND)) {
        return false;
    }
    if (other) {
        flow_forget(mark);
    } else {
        flow_drop(mark, fd);
    }
    return true;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* Decides, alone or as one of a series of addresses. False: refused. */
static bool admit(struct flow *flow, const struct target *target)
{
    uint64_t now = flow->opened;
    switch (target->host[0] != '\0' ? attempt_begin(target->host, &flow->address, flow->provider, now, &flow->attempt)
                                    : ATTEMPT_ALONE) {
    case ATTEMPT_PASS:
        return true;
    case ATTEMPT_REFUSED:
        flow->attempt.number = 0;
        return false;
    case ATTEMPT_FIRST: {
        bool admitted = call_admit(&flow->call, flow->provider);
        attempt_decided(&flow->attempt, admitted, &flow->call, now);
        return admitted;
    }
    case ATTEMPT_CROWDED:
        flow->crowded = true;
        return call_admit(&flow->call, flow->provider);
    default:
        return call_admit(&flow->call, flow->provider);
    }
}

static bool refused(struct flow *flow, uint64_t mark)
{
    int error = flow->provider->settings.refuse_errno;
    flow->attempt.number = 0;
    flow->stage = FLOW_ENDED;
    flow_unlock(flow);
    flow_forget(mark);
    errno = error;
    return false;
}

static bool begin(int fd, uint64_t kind, const struct target *target, uint64_t *mark)
{
    struct flow *flow = flow_new(mark);
    if (flow == NULL) {
        *mark = 0;
        return true;
    }
    exchange_begin(&flow->exchange);
    flow->address = target->address;
    flow->provider = target->provider;
    flow->undecided = target->undecided;
    flow->opened = flow->moved = process_now();
    if (flow->provider != NULL && !flow->undecided && !admit(flow, target)) {
        return refused(flow, *mark);
    }
    flow->cookie = cookie_of(fd);
    *mark |= kind;
    bool noted = fd_put(fd, *mark);
    flow_unlock(flow);
    if (!noted) {
        flow_forget(*mark);
        *mark = 0;
    }
    return true;
}

/* A layer above is at work, and says whether the connection is its own and may be made: as layer_ask(). */
static int ask_upper(int fd, struct layer *layer, const struct sockaddr *addr, socklen_t length)
{
    struct address address;
    int answer = layer_ask(layer, address_read(addr, length, &address) ? &address : NULL);
    if (answer == 0) {
        fd_put(fd, FD_UPPER | FD_STREAM);
    }
    return answer;
}

bool connect_has_address(const struct msghdr *msg)
{
    return process_acts && process_readable(msg, sizeof *msg) && msg->msg_name != NULL;
}

bool connect_ask(int fd, const struct sockaddr *addr, socklen_t length, const void *caller, uint64_t *mark)
{
    *mark = 0;
    if (!process_acts || fd < 0 || addr == NULL || length < sizeof addr->sa_family ||
        length > sizeof(struct sockaddr_storage)) {
        return true;
    }
    uint64_t found = fd_look(fd);
    if ((found & FD_KIND) == FD_OTHER || (found & FD_FLOW) == FD_UPPER) {
        return true;
    }
    int saved = errno;
    struct layer *layer = layer_current(__builtin_frame_address(0));
    bool in = layer != NULL && layer_covers(layer, caller);
    if (!process_readable(addr, length)) {
        return true;
    }
    if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6 && addr->sa_family != AF_UNIX &&
        addr->sa_family != AF_UNSPEC) {
        return true;
    }
    if ((found & FD_FLOW) != 0) {
        if (!begins_anew(fd, found, addr->sa_family)) {
            *mark = found;
            return true;
        }
        found &= FD_KIND;
    }
    bool pass = true;
    struct target target;
    if (addr->sa_family != AF_UNSPEC && is_stream(fd, found)) {
        int answer = in ? ask_upper(fd, layer, addr, length) : LAYER_BELOW;
        if (answer != LAYER_BELOW) {
            pass = answer == 0;
            errno = answer;
        } else if (provider_any() && find_target(addr, length, &target)) {
            pass = begin(fd, FD_STREAM, &target, mark);
        }
    }
    if (pass) {
        errno = saved;
    }
    return pass;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* A layer above is told what went wrong below it. */
static void tell_layer(int error)
{
    struct layer *layer = layer_current(__builtin_frame_address(0));
    if (layer != NULL) {
        layer_failed(layer, error);
    }
}

int connect_told(int fd, uint64_t mark, int result)
{
    int error = errno;
    if (mark == 0) {
        if (result != 0 && process_acts) {
            tell_layer(error);
        }
        return result;
    }
    struct flow *flow = flow_lock(mark);
    if (flow == NULL) {
        return result;
    }
    if (result == 0 || error == EISCONN) {
        flow_established(flow);
    } else if (error != EINPROGRESS && error != EALREADY && error != EINTR && error != EAGAIN) {
        bool at_once = process_now() == flow->opened;
        flow_not_established(flow, error, at_once);
    } else {
        flow->pending = true;
    }
    flow_leave(flow, fd, mark);
    errno = error;
    return result;
}

void connect_error_read(int fd, uint64_t mark, int error)
{
    if ((mark & FD_FLOW) == FD_UPPER) {
        tell_layer(error);
        return;
    }
    int saved = errno;
    struct flow *flow = flow_lock(mark);
    if (flow == NULL) {
        return;
    }
    if (error != 0) {
        flow_broken(flow, fd, error);
    } else if (flow->stage == FLOW_CONNECTING && !flow_greets(flow)) {
        /* No proof that it is there (the kernel may still be at it), but whoever reads it waits for nothing now. */
        call_rest(&flow->call);
    }
    flow_leave(flow, fd, mark);
    errno = saved;
}
