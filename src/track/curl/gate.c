#include "track/curl/gate.h"

/* ---- whose transfer ---------------------------------------------------------------------------------------------- */

/* False: it has no host, or goes to a path. Into handle->pending, which otherwise stays. */
static bool find_target(struct curl_handle *handle)
{
    const struct curl_options *options = &handle->options;
    const struct curl_target *target = &options->target;
    struct curl_target room;

    if (options->unix_socket || options->protocols == CURL_PROTOCOLS_UNKNOWN) {
        return false;
    }
    if (options->parts != NULL) { /* the program may have changed what is in it: asked each time */
        target = curl_target_of_parts(handle->api, options->parts, &room) ? &room : NULL;
    }
    if (target == NULL || target->host[0] == '\0') {
        return false;
    }
    uint16_t port = options->port != 0 ? options->port : target->port;

    /* The address that the last transfer to the same place was decided by: this one goes there too. */
    handle->known = handle->known && handle->pending.hash == target->hash && handle->pending.port == port;
    handle->pending = *target;
    handle->pending.port = port;
    return true;
}

enum curl_decision curl_gate(struct curl_handle *handle)
{
    handle->decision = CURL_NOT_OURS;
    handle->decided = NULL;
    if (!find_target(handle)) {
        return CURL_NOT_OURS;
    }
    const struct rules_target whose = {
        .host = handle->pending.host,
        .port = handle->pending.port,
        .address = handle->known ? handle->address : NULL,
    };

    handle->decided = provider_of(&whose);
    if (handle->decided != NULL) {
        handle->decision = call_admit(&handle->call, handle->decided) ? CURL_ADMITTED : CURL_REFUSED;
    } else if (provider_undecided(&whose)) {
        handle->decision = CURL_UNDECIDED;
    }
    return handle->decision;
}

bool curl_gate_is_same(const struct curl_handle *handle, const struct curl_target *target)
{
    /* A port that the program gave stands in no URL. */
    return handle->pending.hash == target->hash && (handle->pending.port == target->port || handle->options.port != 0);
}

/* ---- refusing ---------------------------------------------------------------------------------------------------- */

static CURLcode put_protocols(const struct curl_handle *handle, CURL *easy)
{
    const struct curl_options *options = &handle->options;

    switch ((enum curl_protocols)options->protocols) {
    case CURL_PROTOCOLS_TEXT:
        return handle->api->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, options->protocols_text);
    case CURL_PROTOCOLS_MASK:
        return handle->api->easy_setopt(easy, CURLOPT_PROTOCOLS, options->protocols_mask);
    case CURL_PROTOCOLS_DEFAULT:
    case CURL_PROTOCOLS_UNKNOWN:
        break;
    }
    return handle->api->easy_setopt(easy, CURLOPT_PROTOCOLS, (long)CURLPROTO_ALL);
}

void curl_gate_explain(struct curl_handle *handle)
{
    handle->refused = handle->decided->settings.refuse_errno;
    if (handle->options.error_buffer != NULL) {
        call_refusal_text(handle->decided, handle->options.error_buffer, CURL_ERROR_SIZE);
    }
}

static bool put_ours(struct curl_handle *handle, CURL *easy)
{
    __typeof__(curl_easy_setopt) *set = handle->api->easy_setopt;

    return set(easy, CURLOPT_PROTOCOLS, (long)CURLPROTO_FILE) == CURLE_OK &&
           (handle->options.error_buffer == NULL || set(easy, CURLOPT_ERRORBUFFER, (char *)NULL) == CURLE_OK);
}

void curl_gate_reopen(struct curl_handle *handle, CURL *easy)
{
    if (handle->closed) {
        bool open = put_protocols(handle, easy) == CURLE_OK;

        if (handle->options.error_buffer != NULL) {
            open &= handle->api->easy_setopt(easy, CURLOPT_ERRORBUFFER, handle->options.error_buffer) == CURLE_OK;
        }
        handle->closed = !open;
    }
}

bool curl_gate_close(struct curl_handle *handle, CURL *easy)
{
    handle->closed = true;
    if (!put_ours(handle, easy)) {
        curl_gate_reopen(handle, easy);
        return false;
    }
    curl_gate_explain(handle);
    return true;
}

void curl_gate_changed(struct curl_handle *handle, CURL *easy)
{
    if (!handle->closed) {
        return;
    }
    if (handle->member.part == CURL_PART_REFUSED) {
        (void)put_ours(handle, easy);
    } else {
        curl_gate_reopen(handle, easy);
    }
}

CURLcode curl_gate_result(struct curl_handle *handle, CURLcode code)
{
    if (code != CURLE_UNSUPPORTED_PROTOCOL) {
        handle->refused = 0;
        return code; /* libcurl had another objection: a bad URL stays one */
    }
    curl_gate_explain(handle);
    return CURLE_COULDNT_CONNECT;
}
