#include "track/curl/multi.h"

#include "track/curl/finish.h"
#include "track/curl/multi_inner.h"
#include "track/curl/watch.h"
#include "track/layer.h"
#include "track/process.h"

/* ---- joining and leaving ----------------------------------------------------------------------------------------- */

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
        handle->member.times = curl_multi_times(handle, easy);
        handle->member.progress = curl_multi_progress(handle, easy);
        handle->member.added = handle->member.moved = process_now();
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
    struct curl_multi *record = curl_multi_known(own, multi);
    struct curl_handle *handle = record != NULL ? curl_handle_find(easy) : NULL;
    __typeof__(curl_multi_add_handle) *real = CURL_REAL(multi_add_handle, curl_multi_api(own, record), caller);

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

/* It is a member no longer; with a call under way, it was given up. */
static void gone(struct curl_handle *handle, CURL *easy)
{
    struct curl_member *member = &handle->member;
    uint64_t now = process_now();

    if (member->part == CURL_PART_REFUSED) {
        curl_gate_reopen(handle, easy);
    } else if (member->part == CURL_PART_CALL) {
        uint64_t moved = curl_multi_progress(handle, easy) != member->progress ? member->multi->heard : member->moved;

        curl_handle_under_way(handle, 0);
        if (member->multi->strangers > 0 && member->started &&
            curl_ask_number(handle, easy, CURLINFO_RESPONSE_CODE) >= 200) {
            curl_finish(handle, easy, CURLE_OK,
                        0); /* its message may lie in libcurl: the status is all that is known */
        }
        curl_finish_given_up(handle, easy, member->started, now > moved ? now - moved : 0);
        curl_watch_end(handle, easy);
    }
    curl_member_leave(handle);
}

/* While it is still a member: did it end, unknown to anybody? */
static void before_it_goes(const struct curl_handle *handle)
{
    const struct curl_member *member = &handle->member;

    if (member->part == CURL_PART_CALL || member->part == CURL_PART_REFUSED) {
        curl_multi_take_messages(member->multi);
    }
}

CURLMcode curl_multi_left(CURLM *multi, CURL *easy, const void *caller)
{
    const struct curl_api *own = curl_api_at(caller);
    struct curl_multi *record = curl_multi_known(own, multi);
    struct curl_handle *handle = record != NULL ? curl_handle_find(easy) : NULL;
    __typeof__(curl_multi_remove_handle) *real = CURL_REAL(multi_remove_handle, curl_multi_api(own, record), caller);

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
    } else if (code == CURLM_OK && handle == NULL) {
        curl_multi_strange_goes(easy);
        record->strangers -= record->strangers > 0;
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
    struct curl_multi *record = curl_multi_known(own, multi);
    __typeof__(curl_multi_cleanup) *real = CURL_REAL(multi_cleanup, curl_multi_api(own, record), caller);

    if (record != NULL) {
        for (struct curl_handle *one = curl_handle_at(record->first); one != NULL;
             one = curl_handle_at(record->first)) {
            curl_multi_abandon(one, curl_handle_easy(one));
        }
        curl_multi_remove(multi); /* first: once it is freed, another thread may get one of the same address */
    }
    return real != NULL ? real(multi) : CURLM_INTERNAL_ERROR;
}
