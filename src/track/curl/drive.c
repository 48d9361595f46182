#include "track/curl/multi.h"

#include "track/curl/finish.h"
#include "track/curl/hops.h"
#include "track/curl/multi_inner.h"
#include "track/layer.h"
#include "track/names/names.h"
#include "track/process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/* ---- looking at them --------------------------------------------------------------------------------------------- */

#define LOOKS 16              /* at those that may have begun, each time */
#define EVERY (SECOND_NS / 4) /* at all: well within the second in which a sign of life is to be passed on */

uint64_t curl_multi_times(const struct curl_handle *handle, CURL *easy)
{
    static const CURLINFO times[] = {CURLINFO_CONNECT_TIME_T, CURLINFO_PRETRANSFER_TIME_T, CURLINFO_TOTAL_TIME_T};
    uint64_t sum = curl_ask_offset(handle, easy, CURLINFO_NAMELOOKUP_TIME_T);

    for (size_t i = 0; sum != 0 && i < sizeof times / sizeof times[0]; i++) {
        sum = sum * 1000003 + curl_ask_offset(handle, easy, times[i]);
    }
    return sum;
}

uint64_t curl_multi_progress(const struct curl_handle *handle, CURL *easy)
{
    static const CURLINFO sizes[] = {CURLINFO_SIZE_DOWNLOAD_T, CURLINFO_SIZE_UPLOAD_T, CURLINFO_CONNECT_TIME_T,
                                     CURLINFO_APPCONNECT_TIME_T, CURLINFO_PRETRANSFER_TIME_T};
    long heads =
        curl_ask_number(handle, easy, CURLINFO_HEADER_SIZE) + curl_ask_number(handle, easy, CURLINFO_REQUEST_SIZE);
    uint64_t sum = (uint64_t)heads;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        sum += curl_ask_offset(handle, easy, sizes[i]);
    }
    return sum;
}

/* What a transfer has to show: that it is queued no longer, and that something of it moved. */
static void look_at(struct curl_handle *handle)
{
    struct curl_member *member = &handle->member;
    CURL *easy = curl_handle_easy(handle);

    if (member->part != CURL_PART_CALL) {
        return;
    }
    if (!member->started) {
        uint64_t times = curl_multi_times(handle, easy);

        if (times == 0 || times == member->times) {
            return;
        }
        curl_member_started(handle);
        member->began = process_now();
        call_wake(&handle->call);
    }
    uint64_t progress = curl_multi_progress(handle, easy);

    if (progress != member->progress) {
        member->progress = progress;
        member->moved = member->multi->heard; /* or before that */
        call_heard(&handle->call);
    }
}

/* At all of them now and then; at those that have not started at every turn, some at a time. */
static void look(struct curl_multi *multi, bool heard)
{
    uint64_t now = process_now();
    bool all = now - multi->looked >= EVERY;

    multi->heard = heard ? now : multi->heard;
    uint32_t count = all ? multi->members : multi->waiting == 0 ? 0 : LOOKS;

    for (uint32_t i = 0; i < count && i < multi->members; i++) {
        struct curl_handle *one = curl_handle_at(multi->first);

        if (all || !one->member.started) {
            look_at(one);
        }
        multi->first = one->member.next;
    }
    if (all) {
        multi->looked = now;
        if (!multi->reads) {
            curl_multi_take_messages(multi); /* nobody else will, and what has ended must not look as if it hung */
        }
        process_tick();
    }
}

/* ---- driving ----------------------------------------------------------------------------------------------------- */

static bool goes_to(const struct curl_target *target, const struct address *address)
{
    struct in_addr in4;
    const uint8_t *bytes = address->bytes;

    if (target->port != address->port) {
        return false;
    }
    if (inet_pton(AF_INET, target->host, &in4) == 1) {
        return memcmp(bytes + 12, &in4, sizeof in4) == 0;
    }
    return names_has(address, target->host);
}

/* Who in a multi handle may be connecting to an address. */
struct suspects {
    bool call;    /* a transfer that may go there */
    bool below;   /* one that is left to the hooks below */
    bool hop;     /* one that is redirected there, and was not asked, or was refused */
    bool unknown; /* one of which nobody knows where it goes */
};

static void suspect(const struct curl_handle *one, const struct address *address, struct suspects *found)
{
    uint32_t hashes[NAMES_ADDRESSES];
    struct curl_target next;
    bool call = one->member.part == CURL_PART_CALL;

    if (!call && one->member.part != CURL_PART_BELOW) {
        return;
    }
    bool hops = call && curl_hops_next(one, curl_handle_easy(one), &next);
    const struct curl_target *target = hops ? &next : &one->pending;

    if (!goes_to(target, address)) {
        bool known = address_in_figures(target->host) || names_addresses(target->host, hashes) > 0;

        found->unknown = found->unknown || (call && !known);
    } else if (hops || one->hops.refused) {
        found->hop = true;
    } else {
        found->call = found->call || call;
        found->below = found->below || !call;
    }
}

static struct suspects find_suspects(const struct curl_multi *multi, const struct address *address)
{
    struct suspects found = {.call = false};
    const struct curl_handle *one = curl_handle_at(multi->first);

    for (uint32_t i = 0; i < multi->members; i++, one = curl_member_next(one)) {
        suspect(one, address, &found);
    }
    return found;
}

/*
 * All that are redirected to this address are asked, since nobody knows which of them it is that connects. Only if all are
 * refused the connect is: who was refused beside one that was not is stopped before its request.
 */
static int ask_hops(const struct curl_multi *multi, const struct address *address)
{
    struct curl_handle *one = curl_handle_at(multi->first);
    int refusal = 0;
    bool pass = false;

    for (uint32_t i = 0; i < multi->members; i++, one = curl_member_next(one)) {
        struct curl_target next;
        CURL *easy = curl_handle_easy(one);
        bool hops = one->member.part == CURL_PART_CALL && curl_hops_next(one, easy, &next);

        if (!goes_to(hops ? &next : &one->pending, address) || one->member.part != CURL_PART_CALL) {
            continue;
        }
        if (curl_hops_ask(one, easy, address->bytes)) {
            pass = true;
        } else {
            refusal = one->decided->settings.refuse_errno;
        }
    }
    return pass ? 0 : refusal;
}

/*
 * Is this connect a call's, or that of a transfer which is left to the hooks below? Where there are both the names of the
 * address tell; what they do not tell (a proxy, an address that the program gave) is taken for a call's, so that none is
 * ever counted twice.
 */
static int decide(struct layer *layer, const struct address *address)
{
    const struct curl_multi *multi = layer->context;

    if (multi->calls == 0) {
        return LAYER_BELOW;
    }
    if (address == NULL) {
        return multi->below + multi->strangers == 0 ? 0 : LAYER_BELOW;
    }
    if (multi->below + multi->strangers + multi->hopping == 0) {
        return 0;
    }
    struct suspects found = find_suspects(multi, address);

    if (found.call) {
        return 0;
    }
    if (found.below) {
        return LAYER_BELOW;
    }
    return found.hop && !found.unknown ? ask_hops(multi, address) : 0;
}

/* True: to be followed by leave(). */
static bool enter(struct curl_multi *multi, const void *frame)
{
    if (multi == NULL || !layer_enter(NULL, frame, &multi->api->range)) {
        return false;
    }
    layer_defer(decide, multi);
    return true;
}

static void leave(struct curl_multi *multi, const void *frame)
{
    int saved = errno;
    struct layer_news news = layer_leave(frame);

    multi->error = news.error != 0 ? news.error : multi->error;
    look(multi, news.heard);
    errno = saved;
}

/* One driving call. `call` is that of the real function, or what stands for its failure. */
#define DRIVE(function, call)                                                                                          \
    const struct curl_api *own = curl_api_at(caller);                                                                  \
    struct curl_multi *record = curl_multi_known(own, multi);                                                          \
    __typeof__(curl_##function) *real = CURL_REAL(function, curl_multi_api(own, record), caller);                      \
                                                                                                                       \
    if (real == NULL) {                                                                                                \
        return CURLM_INTERNAL_ERROR;                                                                                   \
    }                                                                                                                  \
    bool entered = enter(record, frame);                                                                               \
    CURLMcode code = call;                                                                                             \
                                                                                                                       \
    if (entered) {                                                                                                     \
        leave(record, frame);                                                                                          \
    }                                                                                                                  \
    return code

CURLMcode curl_multi_performed(CURLM *multi, int *running, const void *caller, const void *frame)
{
    DRIVE(multi_perform, real(multi, running));
}

CURLMcode curl_multi_acted(CURLM *multi, curl_socket_t socket, int events, int *running, const void *caller,
                           const void *frame)
{
    DRIVE(multi_socket_action, real(multi, socket, events, running));
}

CURLMcode curl_multi_acted_on(CURLM *multi, curl_socket_t socket, int *running, const void *caller, const void *frame)
{
    DRIVE(multi_socket, real(multi, socket, running));
}

CURLMcode curl_multi_acted_on_all(CURLM *multi, int *running, const void *caller, const void *frame)
{
    DRIVE(multi_socket_all, real(multi, running));
}
