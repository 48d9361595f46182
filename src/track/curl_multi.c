#include "track/curl_multi.h"

#include "track/curl_finish.h"
#include "track/curl_members.h"
#include "track/curl_watch.h"
#include "track/layer.h"
#include "track/names.h"
#include "track/process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/* Whose real function is meant: libcurl's own if it calls itself, or the multi handle's, or else the caller's. */
static const struct curl_api *api_for(const struct curl_api *own, const struct curl_multi *multi)
{
    return own != NULL || multi == NULL ? own : multi->api;
}

/* NULL: unknown, or libcurl calls itself, which is its own affair. */
static struct curl_multi *find(const struct curl_api *own, const CURLM *multi)
{
    return own == NULL ? curl_multi_find(multi) : NULL;
}

/* ---- a member's end ----------------------------------------------------------------------------------------------- */

/* What libcurl says may be left from an earlier transfer of the handle; then the hooks below have seen it too. */
static int connect_error(const struct curl_handle *handle, CURL *easy, CURLcode code)
{
    const struct curl_member *member = &handle->member;

    if (code != CURLE_COULDNT_CONNECT) {
        return 0;
    }
    long error = curl_ask_number(handle, easy, CURLINFO_OS_ERRNO);

    return error != member->error || error == member->multi->error ? (int)error : 0;
}

/* Its message came: to us, or to the program, for whom it is put right. It is in libcurl's memory: seen by all who read it. */
static void completed(struct curl_handle *handle, CURL *easy, CURLMsg *message)
{
    CURLcode code = message->data.result;

    switch ((enum curl_part)handle->member.part) {
    case CURL_PART_REFUSED:
        curl_gate_reopen(handle, easy);
        message->data.result = curl_gate_result(handle, code);
        break;
    case CURL_PART_CALL:
        curl_handle_under_way(handle, 0);
        curl_finish(handle, easy, code, connect_error(handle, easy, code));
        curl_watch_end(handle, easy);
        message->data.result = curl_hops_result(handle, code);
        break;
    case CURL_PART_BELOW:
    case CURL_PART_OVER:
        break;
    }
    curl_member_over(handle);
}

static uint64_t progress_of(const struct curl_handle *handle, CURL *easy)
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

/* It is a member no longer; with a call under way, it was given up. */
static void gone(struct curl_handle *handle, CURL *easy)
{
    struct curl_member *member = &handle->member;
    uint64_t now = process_now();

    if (member->part == CURL_PART_REFUSED) {
        curl_gate_reopen(handle, easy);
    } else if (member->part == CURL_PART_CALL) {
        uint64_t moved = progress_of(handle, easy) != member->progress ? member->multi->heard : member->moved;

        curl_handle_under_way(handle, 0);
        curl_finish_given_up(handle, easy, member->started, now > moved ? now - moved : 0);
        curl_watch_end(handle, easy);
    }
    curl_member_leave(handle);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

/*
 * Takes the messages that wait in libcurl, and keeps them for the program: for transfers that are taken back without
 * anybody having read how they ended. Not beside strangers: only what we know we can keep.
 */
static void take_messages(struct curl_multi *multi, CURLM *real)
{
    while (multi->strangers == 0) {
        int left = 0;
        CURLMsg *message = multi->api->multi_info_read(real, &left);
        struct curl_handle *handle = message != NULL ? curl_handle_find(message->easy_handle) : NULL;

        if (message == NULL) {
            return;
        }
        if (handle == NULL || handle->member.multi != multi || message->msg != CURLMSG_DONE) {
            multi->stray = message; /* one that a server pushed */
            multi->strangers++;
            return;
        }
        completed(handle, message->easy_handle, message);
        curl_member_keep(handle, message);
    }
}

static CURLMsg *kept_message(struct curl_multi *multi)
{
    CURLMsg *message = curl_member_message(multi);

    if (message == NULL) {
        message = multi->stray;
        multi->stray = NULL;
    }
    return message;
}

CURLMsg *curl_multi_message(CURLM *multi, int *left, const void *caller)
{
    const struct curl_api *own = curl_api_at(caller);
    struct curl_multi *record = find(own, multi);
    __typeof__(curl_multi_info_read) *real = CURL_REAL(multi_info_read, api_for(own, record), caller);

    if (real == NULL || record == NULL) {
        return real != NULL ? real(multi, left) : NULL;
    }
    record->reads = true;
    if (record->unread != 0 || record->stray != NULL) {
        take_messages(record, multi); /* so that it is known how many there are */
        CURLMsg *kept = kept_message(record);

        if (left != NULL) {
            *left = curl_member_messages(record) + (record->stray != NULL ? 1 : 0);
        }
        return kept;
    }
    CURLMsg *message = real(multi, left);
    struct curl_handle *handle =
        message != NULL && message->msg == CURLMSG_DONE ? curl_handle_find(message->easy_handle) : NULL;

    if (handle != NULL && handle->member.multi == record) {
        completed(handle, message->easy_handle, message);
    }
    return message;
}

/* ---- joining and leaving ------------------------------------------------------------------------------------------ */

CURLM *curl_multi_made(const void *caller)
{
    const struct curl_api *own = curl_api_at(caller);
    __typeof__(curl_multi_init) *real = CURL_REAL(multi_init, own, caller);
    CURLM *multi = real != NULL ? real() : NULL;

    if (multi != NULL && own == NULL && process_acts) {
        const struct curl_api *api = curl_api_beside(real);

        if (api != NULL) {
            (void)curl_multi_add(multi, api);
        }
    }
    return multi;
}

/* Admits or refuses the transfer that is to begin on the handle. */
static void begin(struct curl_multi *multi, struct curl_handle *handle, CURL *easy)
{
    enum curl_part part = CURL_PART_BELOW;

    switch (curl_gate(handle)) {
    case CURL_ADMITTED:
        part = CURL_PART_CALL;
        call_rest(&handle->call); /* it may be queued behind others, for as long as these take */
        curl_handle_under_way(handle, handle->pending.hash);
        break;
    case CURL_REFUSED:
        part = curl_gate_close(handle, easy) ? CURL_PART_REFUSED : CURL_PART_OVER;
        break;
    case CURL_UNDECIDED:
    case CURL_NOT_OURS:
        break;
    }
    if (multi->members == 0) {
        multi->looked = multi->heard = process_now();
    }
    curl_member_join(handle, multi, part);
    if (part == CURL_PART_CALL) {
        handle->member.error = curl_ask_number(handle, easy, CURLINFO_OS_ERRNO);
        handle->member.lookup = curl_ask_offset(handle, easy, CURLINFO_NAMELOOKUP_TIME_T);
        handle->member.progress = progress_of(handle, easy);
        handle->member.moved = process_now();
        curl_watch_begin(handle, easy);
    }
}

/* libcurl does not take it. */
static void withdraw(struct curl_handle *handle, CURL *easy)
{
    curl_watch_clear(handle, easy);
    handle->refused = 0;
    curl_handle_under_way(handle, 0);
    call_neutral(&handle->call);
    curl_member_leave(handle);
}

static CURLMcode join_unknown(struct curl_multi *multi, CURLMcode code)
{
    multi->strangers += code == CURLM_OK;
    return code;
}

CURLMcode curl_multi_joined(CURLM *multi, CURL *easy, const void *caller, const void *frame)
{
    const struct curl_api *own = curl_api_at(caller);
    struct curl_multi *record = find(own, multi);
    struct curl_handle *handle = record != NULL ? curl_handle_find(easy) : NULL;
    __typeof__(curl_multi_add_handle) *real = CURL_REAL(multi_add_handle, api_for(own, record), caller);

    if (real == NULL || record == NULL) {
        return real != NULL ? real(multi, easy) : CURLM_INTERNAL_ERROR;
    }
    if (handle == NULL || handle->api != record->api) {
        return join_unknown(record, real(multi, easy));
    }
    const struct layer *layer = layer_current(frame);

    if (handle->member.multi != NULL || (layer != NULL && layer->call == &handle->call)) {
        return real(multi, easy); /* it is in use: libcurl will say so */
    }
    curl_watch_clear(handle, easy);
    handle->refused = 0;
    layer_forget(&handle->call);
    call_neutral(&handle->call); /* of a transfer that was jumped out of */
    bool within = layer != NULL && layer->context == record;
    /* In a callback libcurl may have objections, and will not begin at once; else what it says is known beforehand. */
    CURLMcode code = within ? real(multi, easy) : CURLM_OK;

    if (code == CURLM_OK) {
        begin(record, handle, easy);
        code = within ? code : real(multi, easy);
        if (code != CURLM_OK) {
            withdraw(handle, easy);
        }
    }
    return code;
}

/* While it is still a member: did it end, unknown to anybody? */
static void before_it_goes(const struct curl_handle *handle)
{
    const struct curl_member *member = &handle->member;
    CURLM *multi = curl_multi_handle(member->multi);

    if (member->part == CURL_PART_CALL || member->part == CURL_PART_REFUSED) {
        take_messages(member->multi, multi);
    }
}

CURLMcode curl_multi_left(CURLM *multi, CURL *easy, const void *caller)
{
    const struct curl_api *own = curl_api_at(caller);
    struct curl_multi *record = find(own, multi);
    struct curl_handle *handle = record != NULL ? curl_handle_find(easy) : NULL;
    __typeof__(curl_multi_remove_handle) *real = CURL_REAL(multi_remove_handle, api_for(own, record), caller);

    if (real == NULL || record == NULL) {
        return real != NULL ? real(multi, easy) : CURLM_INTERNAL_ERROR;
    }
    bool member = handle != NULL && handle->member.multi == record;

    if (member) {
        before_it_goes(handle);
    }
    CURLMcode code = real(multi, easy);

    if (code == CURLM_OK && member) {
        gone(handle, easy);
    } else if (code == CURLM_OK && handle == NULL && record->strangers > 0) {
        record->strangers--;
    }
    return code;
}

void curl_multi_abandon(struct curl_handle *handle, CURL *easy)
{
    if (handle->member.multi != NULL) {
        before_it_goes(handle);
        gone(handle, easy);
    }
}

CURLMcode curl_multi_freed(CURLM *multi, const void *caller)
{
    const struct curl_api *own = curl_api_at(caller);
    struct curl_multi *record = find(own, multi);
    __typeof__(curl_multi_cleanup) *real = CURL_REAL(multi_cleanup, api_for(own, record), caller);

    if (record != NULL) {
        for (struct curl_handle *one = curl_handle_at(record->first); one != NULL;
             one = curl_handle_at(record->first)) {
            curl_multi_abandon(one, curl_handle_easy(one));
        }
        curl_multi_remove(multi); /* first: once it is freed, another thread may get one of the same address */
    }
    return real != NULL ? real(multi) : CURLM_INTERNAL_ERROR;
}

/* ---- looking at them ---------------------------------------------------------------------------------------------- */

#define LOOKS 16              /* at those that may have begun, each time */
#define EVERY (SECOND_NS / 4) /* at all: well within the second in which a sign of life is to be passed on */

/* What a transfer has to show: that it is queued no longer, and that something of it moved. */
static void look_at(struct curl_handle *handle)
{
    struct curl_member *member = &handle->member;
    CURL *easy = curl_handle_easy(handle);

    if (member->part != CURL_PART_CALL) {
        return;
    }
    if (!member->started) {
        uint64_t lookup = curl_ask_offset(handle, easy, CURLINFO_NAMELOOKUP_TIME_T);

        if (lookup == 0 || lookup == member->lookup) {
            return;
        }
        curl_member_started(handle);
        call_wake(&handle->call);
    }
    uint64_t progress = progress_of(handle, easy);

    if (progress != member->progress) {
        member->progress = progress;
        member->moved = member->multi->heard; /* or before that */
        call_heard(&handle->call);
    }
}

/* At all of them now and then; at those that have not started at every turn, some at a time. */
static void look(struct curl_multi *multi, CURLM *real, bool heard)
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
            take_messages(multi, real); /* nobody else will, and what has ended must not look as if it hung */
        }
        process_tick();
    }
}

/* ---- driving ------------------------------------------------------------------------------------------------------ */

static bool goes_to(const struct curl_target *target, const struct address *address)
{
    struct in_addr in4;
    const uint8_t *bytes = address->bytes;

    if (inet_pton(AF_INET, target->host, &in4) == 1) {
        return memcmp(bytes + 12, &in4, sizeof in4) == 0;
    }
    return names_has(address, target->host);
}

/*
 * Is this connect a call's, or that of a transfer which is left to the hooks below? Where there are both the names of the
 * address tell; what they do not tell (a proxy, an address that the program gave) is taken for a call's, so that none is
 * ever counted twice.
 */
static int decide(struct layer *layer, const struct address *address)
{
    const struct curl_multi *multi = layer->context;
    bool below = false;

    if (multi->calls == 0) {
        return LAYER_BELOW;
    }
    if (multi->below + multi->strangers == 0) {
        return 0;
    }
    if (address == NULL) {
        return LAYER_BELOW;
    }
    const struct curl_handle *one = curl_handle_at(multi->first);

    for (uint32_t i = 0; i < multi->members; i++, one = curl_member_next(one)) {
        bool meant = one->pending.port == address->port && goes_to(&one->pending, address);

        if (meant && one->member.part == CURL_PART_CALL) {
            return 0;
        }
        below = below || (meant && one->member.part == CURL_PART_BELOW);
    }
    return below ? LAYER_BELOW : 0;
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

static void leave(struct curl_multi *multi, CURLM *real, const void *frame)
{
    int saved = errno;
    struct layer_news news = layer_leave(frame);

    multi->error = news.error != 0 ? news.error : multi->error;
    look(multi, real, news.heard);
    errno = saved;
}

/* One driving call. `call` is that of the real function, or what stands for its failure. */
#define DRIVE(function, call)                                                                                          \
    const struct curl_api *own = curl_api_at(caller);                                                                  \
    struct curl_multi *record = find(own, multi);                                                                      \
    __typeof__(curl_##function) *real = CURL_REAL(function, api_for(own, record), caller);                             \
                                                                                                                       \
    if (real == NULL) {                                                                                                \
        return CURLM_INTERNAL_ERROR;                                                                                   \
    }                                                                                                                  \
    bool entered = enter(record, frame);                                                                               \
    CURLMcode code = call;                                                                                             \
                                                                                                                       \
    if (entered) {                                                                                                     \
        leave(record, multi, frame);                                                                                   \
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
