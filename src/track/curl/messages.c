#include "track/curl/multi.h"

#include "track/curl/finish.h"
#include "track/curl/multi_inner.h"
#include "track/curl/watch.h"
#include "track/process.h"

/* ---- a member's end ---------------------------------------------------------------------------------------------- */

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

/*
 * The time that the program allows counts from the adding on: one that had spent it in the queue, behind others, and ran
 * out of it as soon as its turn came says nothing of its provider.
 */
static bool hardly_began(const struct curl_member *member)
{
    uint64_t began = member->started ? member->began : process_now();

    return began - member->added >= SECOND_NS && process_now() - began < SECOND_NS;
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
        if (code == CURLE_OPERATION_TIMEDOUT && hardly_began(&handle->member)) {
            call_neutral(&handle->call);
        }
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

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Has there ever been one that is not a member's? */
static bool strays;

void curl_multi_take_messages(struct curl_multi *multi)
{
    CURLM *real = curl_multi_handle(multi);

    while (multi->strangers == 0) {
        int left = 0;
        CURLMsg *message = multi->api->multi_info_read(real, &left);
        struct curl_handle *handle = message != NULL ? curl_handle_find(message->easy_handle) : NULL;

        if (message == NULL) {
            return;
        }
        if (handle == NULL || handle->member.multi != multi || message->msg != CURLMSG_DONE) {
            multi->stray = message; /* one that a server pushed */
            __atomic_store_n(&strays, true, __ATOMIC_RELAXED);
            multi->strangers++;
            return;
        }
        completed(handle, message->easy_handle, message);
        curl_member_keep(handle, message);
    }
}

void curl_multi_strange_goes(const CURL *easy)
{
    if (__atomic_load_n(&strays, __ATOMIC_RELAXED) != 0) {
        curl_member_forget_stray(easy);
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
    struct curl_multi *record = curl_multi_known(own, multi);
    __typeof__(curl_multi_info_read) *real = CURL_REAL(multi_info_read, curl_multi_api(own, record), caller);

    if (real == NULL || record == NULL) {
        return real != NULL ? real(multi, left) : NULL;
    }
    record->reads = true;
    if (record->unread != 0 || record->stray != NULL) {
        curl_multi_take_messages(record); /* so that it is known how many there are */
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
