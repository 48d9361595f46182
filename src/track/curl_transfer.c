#include "track/curl_transfer.h"

#include "track/curl_outcome.h"
#include "track/layer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* ---- whose transfer ----------------------------------------------------------------------------------------------- */

/* NULL: it has no host, or goes to a path. `room` is for what the handle does not hold ready. */
static const struct curl_target *find_target(const struct curl_handle *handle, struct curl_target *room)
{
    const struct curl_options *options = &handle->options;
    const struct curl_target *target = &options->target;

    if (options->unix_socket) {
        return NULL;
    }
    if (options->parts != NULL) { /* the program may have changed what is in it: asked each time */
        target = curl_target_of_parts(handle->api, options->parts, room) ? room : NULL;
    }
    if (target == NULL || target->host[0] == '\0') {
        return NULL;
    }
    if (options->port != 0) {
        *room = *target;
        room->port = options->port;
        target = room;
    }
    return target;
}

static struct rules_target rules_target_of(const struct curl_handle *handle, const struct curl_target *target)
{
    /* The address that the last transfer to the same place was decided by: this one goes there too. */
    bool known = handle->known && handle->pending.port == target->port && handle->pending.hash == target->hash;

    return (struct rules_target){
        .host = target->host,
        .port = target->port,
        .address = known ? handle->address : NULL,
    };
}

/* ---- refusing ----------------------------------------------------------------------------------------------------- */

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

void curl_transfer_reopen(struct curl_handle *handle, CURL *easy)
{
    if (handle->closed) {
        handle->closed = put_protocols(handle, easy) != CURLE_OK;
    }
}

static void explain(const struct curl_handle *handle, const struct provider *provider)
{
    if (handle->options.error_buffer != NULL) {
        call_refusal_text(provider, handle->options.error_buffer, CURL_ERROR_SIZE);
    }
}

/*
 * libcurl itself fails the transfer, while it looks at the URL: before names, proxies, connections. So nothing of an
 * earlier transfer is left for getinfo to show, and no connection of the handle's is touched.
 */
static CURLcode refuse(struct curl_handle *handle, CURL *easy, const struct provider *provider, const void *frame)
{
    CURLcode code = CURLE_UNSUPPORTED_PROTOCOL;

    if (handle->api->easy_setopt(easy, CURLOPT_PROTOCOLS, (long)CURLPROTO_FILE) == CURLE_OK) {
        bool entered = layer_enter(NULL, frame, &handle->api->range);

        handle->closed = true;
        code = handle->api->easy_perform(easy);
        if (entered) {
            layer_leave(frame);
        }
        curl_transfer_reopen(handle, easy);
    }
    if (code != CURLE_UNSUPPORTED_PROTOCOL) {
        return code; /* libcurl had another objection: a bad URL stays one */
    }
    handle->refused = provider->settings.refuse_errno;
    explain(handle, provider);
    return CURLE_COULDNT_CONNECT;
}

/* ---- how it ended ------------------------------------------------------------------------------------------------- */

static long get_number(const struct curl_handle *handle, CURL *easy, CURLINFO info)
{
    long value = 0;

    return handle->api->easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static uint64_t get_offset(const struct curl_handle *handle, CURL *easy, CURLINFO info)
{
    curl_off_t value = 0;

    return handle->api->easy_getinfo(easy, info, &value) == CURLE_OK && value > 0 ? (uint64_t)value : 0;
}

static const char *get_text(const struct curl_handle *handle, CURL *easy, CURLINFO info)
{
    char *value = NULL;

    return handle->api->easy_getinfo(easy, info, &value) == CURLE_OK && value != NULL ? value : "";
}

static bool went_elsewhere(const struct curl_handle *handle, CURL *easy, const struct curl_target *target)
{
    struct curl_target last;

    const char *url = get_text(handle, easy, CURLINFO_EFFECTIVE_URL);

    return !curl_target_of_text(handle->api, url, &last) || last.hash != target->hash;
}

static struct curl_facts gather(struct curl_handle *handle, CURL *easy, const struct curl_target *target, CURLcode code,
                                int error)
{
    struct curl_facts facts = {.code = (int)code, .error = error};

    if (target->http) {
        long status = get_number(handle, easy, CURLINFO_RESPONSE_CODE);

        facts.status = status >= 200 && status <= 999 ? (unsigned)status : 0;
        facts.redirected = get_number(handle, easy, CURLINFO_REDIRECT_COUNT) > 0;
        facts.elsewhere = facts.redirected && went_elsewhere(handle, easy, target);
    }
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        facts.dns_failed = __atomic_load_n(&handle->dns, __ATOMIC_RELAXED) == CURL_DNS_FAILED;
        break;
    case CURLE_COULDNT_CONNECT:
        /* What libcurl says may be left from an earlier transfer: what the hooks below saw is better. */
        if (facts.error == 0) {
            facts.error = (int)get_number(handle, easy, CURLINFO_OS_ERRNO);
        }
        break;
    case CURLE_OPERATION_TIMEDOUT:
        facts.connected = get_text(handle, easy, CURLINFO_PRIMARY_IP)[0] != '\0';
        facts.resolved = get_offset(handle, easy, CURLINFO_NAMELOOKUP_TIME_T) > 0;
        break;
    case CURLE_RECV_ERROR:
        facts.tunnel = (unsigned)get_number(handle, easy, CURLINFO_HTTP_CONNECTCODE);
        break;
    default:
        break;
    }
    return facts;
}

/* When the provider asks to be called again, by the headers of the transfer's last answer. */
static void gather_retry(const struct curl_handle *handle, CURL *easy, unsigned status, struct retry *retry)
{
    struct curl_header *header;
    const char *name;

    retry_begin(retry);
    if (!retry_status(status)) {
        return;
    }
    if (handle->api->easy_header == NULL) { /* before 7.84 */
        retry_take_seconds(retry, get_offset(handle, easy, CURLINFO_RETRY_AFTER));
        return;
    }
    for (unsigned field = 1; (name = retry_field_name(field)) != NULL; field++) {
        if (handle->api->easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK) {
            for (size_t times = 0; times < header->amount && times < 2; times++) {
                retry_take(retry, field, header->value, strlen(header->value));
            }
        }
    }
}

/* From the end of the request to the first byte of its answer. */
static void tell_first_byte(struct curl_handle *handle, CURL *easy)
{
    uint64_t sent = get_offset(handle, easy, CURLINFO_PRETRANSFER_TIME_T);
    uint64_t answered = get_offset(handle, easy, CURLINFO_STARTTRANSFER_TIME_T);

    if (answered > sent) {
        call_first_byte(&handle->call, (answered - sent) * 1000);
    }
}

static void finish(struct curl_handle *handle, CURL *easy, const struct curl_target *target, CURLcode code, int error)
{
    struct curl_facts facts = gather(handle, easy, target, code, error);
    struct curl_outcome outcome = curl_outcome(&facts);

    if (!facts.redirected) { /* of several nobody knows */
        tell_first_byte(handle, easy);
    }
    if (outcome.by_status ||
        (outcome.unless_status && facts.status != 0 && call_status_decides(&handle->call, facts.status))) {
        struct retry retry;

        gather_retry(handle, easy, facts.status, &retry);
        call_status(&handle->call, facts.status, &retry);
    } else if (outcome.outcome == PREBREAK_OK) {
        call_ok(&handle->call);
    } else if (outcome.outcome == PREBREAK_FAILED) {
        call_failed(&handle->call, outcome.kind);
    } else {
        call_neutral(&handle->call);
    }
}

/* ---- deciding late ------------------------------------------------------------------------------------------------ */

/*
 * Rules that go by address come before the one that fits the name (`- 127.0.0.0/8; * *`): whose call it is shows when
 * libcurl connects. A refusal then is that connect's, and libcurl's own failure of the transfer.
 */
static int decide(struct layer *layer, const uint8_t *address)
{
    struct curl_handle *handle = (struct curl_handle *)((char *)layer->call - offsetof(struct curl_handle, call));

    if (handle->decision == CURL_UNDECIDED) {
        struct rules_target target = {
            .host = handle->pending.host,
            .port = handle->pending.port,
            .address = address,
        };

        handle->decided = provider_of(&target);
        if (handle->decided == NULL) {
            handle->decision = CURL_NOT_OURS;
        } else if (!call_admit(&handle->call, handle->decided)) {
            handle->decision = CURL_REFUSED;
        } else {
            handle->decision = CURL_ADMITTED;
            layer_decided(layer);
        }
        memcpy(handle->address, address, sizeof handle->address);
        handle->known = true;
    }
    return handle->decision == CURL_REFUSED ? handle->decided->settings.refuse_errno : 0;
}

/* ---- the transfer ------------------------------------------------------------------------------------------------- */

/* libcurl's own run, with the layers below kept quiet. */
static CURLcode run(struct curl_handle *handle, CURL *easy, const struct curl_target *target, const void *frame,
                    bool late)
{
    if (!layer_enter(&handle->call, frame, &handle->api->range)) {
        call_neutral(&handle->call);
        return handle->api->easy_perform(easy);
    }
    if (late) {
        handle->pending = *target;
        handle->decision = CURL_UNDECIDED;
        handle->known = false;
        layer_defer(decide);
    }
    curl_handle_under_way(handle, target->hash);
    CURLcode code = handle->api->easy_perform(easy);
    int saved = errno;
    int error = layer_leave(frame);

    curl_handle_under_way(handle, 0);
    if (!late || handle->decision == CURL_ADMITTED) {
        finish(handle, easy, target, code, error);
    } else if (handle->decision == CURL_REFUSED && code == CURLE_COULDNT_CONNECT) {
        explain(handle, handle->decided);
    }
    errno = saved;
    return code;
}

CURLcode curl_transfer(struct curl_handle *handle, CURL *easy, const void *frame)
{
    struct curl_target room;

    curl_transfer_reopen(handle, easy);
    handle->refused = 0;
    (void)layer_current(frame);
    layer_forget(&handle->call);
    call_neutral(&handle->call); /* of a transfer that was jumped out of, or whose thread is gone */
    const struct curl_target *target =
        handle->options.protocols != CURL_PROTOCOLS_UNKNOWN ? find_target(handle, &room) : NULL;

    if (target == NULL) {
        return handle->api->easy_perform(easy);
    }
    const struct rules_target whose = rules_target_of(handle, target);
    struct provider *provider = provider_of(&whose);

    if (provider == NULL && !provider_undecided(&whose)) {
        return handle->api->easy_perform(easy);
    }
    if (provider != NULL && !call_admit(&handle->call, provider)) {
        return refuse(handle, easy, provider, frame);
    }
    return run(handle, easy, target, frame, provider == NULL);
}
