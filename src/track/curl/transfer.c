#include "track/curl/transfer.h"

#include "track/curl/finish.h"
#include "track/curl/watch.h"
#include "track/layer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static CURLcode refuse(struct curl_handle *handle, CURL *easy, const void *frame)
{
    CURLcode code = CURLE_UNSUPPORTED_PROTOCOL;

    if (curl_gate_close(handle, easy)) {
        bool entered = layer_enter(NULL, frame, &handle->api->range);

        code = handle->api->easy_perform(easy);
        if (entered) {
            (void)layer_leave(frame);
        }
        curl_gate_reopen(handle, easy);
    }
    return curl_gate_result(handle, code);
}

/* ---- deciding at a connect --------------------------------------------------------------------------------------- */

/*
 * Rules that go by address come before the one that fits the name (`- 127.0.0.0/8; * *`): whose call it is shows when
 * libcurl connects. A refusal then is that connect's, and libcurl's own failure of the transfer.
 */
static void decide_late(struct curl_handle *handle, const uint8_t *address)
{
    handle->decided = provider_of(&(struct rules_target){
        .host = handle->pending.host,
        .port = handle->pending.port,
        .address = address,
    });
    handle->decision = CURL_NOT_OURS;
    if (handle->decided != NULL) {
        handle->decision = call_admit(&handle->call, handle->decided) ? CURL_ADMITTED : CURL_REFUSED;
    }
    memcpy(handle->address, address, sizeof handle->address);
    handle->known = true;
}

static int decide(struct layer *layer, const struct address *address)
{
    if (layer->call == NULL || address == NULL) {
        return 0;
    }
    struct curl_handle *handle = (struct curl_handle *)((char *)layer->call - offsetof(struct curl_handle, call));

    (void)curl_hops_ask(handle, curl_handle_easy(handle), address->bytes);
    if (handle->decision == CURL_UNDECIDED) {
        decide_late(handle, address->bytes);
    }
    if (handle->decision == CURL_ADMITTED) {
        layer_decided(layer);
    }
    return handle->decision == CURL_REFUSED ? handle->decided->settings.refuse_errno : 0;
}

/* ---- the transfer ------------------------------------------------------------------------------------------------ */

/* libcurl's own run, with the layers below kept quiet. */
static CURLcode run(struct curl_handle *handle, CURL *easy, const void *frame)
{
    if (!layer_enter(&handle->call, frame, &handle->api->range)) {
        call_neutral(&handle->call);
        return handle->api->easy_perform(easy);
    }
    if (handle->decision == CURL_UNDECIDED) {
        handle->known = false;
    }
    layer_defer(decide, NULL);
    curl_handle_under_way(handle, handle->pending.hash);
    curl_watch_begin(handle, easy);
    CURLcode code = handle->api->easy_perform(easy);
    int saved = errno;
    int error = layer_leave(frame).error;

    curl_handle_under_way(handle, 0);
    if (code == CURLE_COULDNT_CONNECT && error == 0) { /* what the hooks below saw is of this transfer for sure */
        error = (int)curl_ask_number(handle, easy, CURLINFO_OS_ERRNO);
    }
    curl_finish(handle, easy, code, error);
    curl_watch_end(handle, easy);
    if (handle->decision == CURL_REFUSED && code == CURLE_COULDNT_CONNECT) {
        curl_gate_explain(handle);
    }
    code = curl_hops_result(handle, code);
    errno = saved;
    return code;
}

CURLcode curl_transfer(struct curl_handle *handle, CURL *easy, const void *frame)
{
    if (handle->member.multi != NULL) {
        return handle->api->easy_perform(easy); /* refuses: it stands in a multi handle */
    }
    curl_watch_clear(handle, easy);
    handle->refused = 0;
    (void)layer_current(frame);
    layer_forget(&handle->call);
    call_neutral(&handle->call); /* of a transfer that was jumped out of, or whose thread is gone */
    switch (curl_gate(handle)) {
    case CURL_NOT_OURS:
        break;
    case CURL_REFUSED:
        return refuse(handle, easy, frame);
    case CURL_UNDECIDED:
    case CURL_ADMITTED:
        return run(handle, easy, frame);
    }
    return handle->api->easy_perform(easy);
}
