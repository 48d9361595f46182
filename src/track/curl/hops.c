#include "track/curl/hops.h"

#include "track/curl/body.h"
#include "track/curl/finish.h"
#include "track/curl/gate.h"
#include "track/layer.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- the next hop ------------------------------------------------------------------------------------------------ */

/* libcurl tells in figures what it is connected to. */
static bool read_address(const char *text, uint8_t bytes[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct in_addr in4;
    struct in6_addr in6;

    if (text != NULL && inet_pton(AF_INET, text, &in4) == 1) {
        memcpy(bytes, mapped, sizeof mapped);
        memcpy(bytes + sizeof mapped, &in4, sizeof in4);
        return true;
    }
    if (text != NULL && inet_pton(AF_INET6, text, &in6) == 1) {
        memcpy(bytes, &in6, sizeof in6);
        return true;
    }
    return false;
}

/* address: NULL: unknown. False: refused. */
static bool admit(struct curl_handle *handle, const uint8_t *address)
{
    struct provider *provider = provider_of(&(struct rules_target){
        .host = handle->pending.host,
        .port = handle->pending.port,
        .address = address,
    });

    handle->known = address != NULL;
    if (handle->known) {
        memcpy(handle->address, address, sizeof handle->address);
    }
    handle->decided = provider;
    handle->decision = CURL_NOT_OURS;
    if (provider != NULL) {
        handle->decision = call_admit(&handle->call, provider) ? CURL_ADMITTED : CURL_REFUSED;
    }
    return handle->decision != CURL_REFUSED;
}

bool curl_hops_next(const struct curl_handle *handle, CURL *easy, struct curl_target *next)
{
    return handle->hops.watched && curl_ask_number(handle, easy, CURLINFO_REDIRECT_COUNT) != handle->hops.count &&
           curl_target_of_text(handle->api, curl_ask_text(handle, easy, CURLINFO_EFFECTIVE_URL), next);
}

bool curl_hops_ask(struct curl_handle *handle, CURL *easy, const uint8_t *address)
{
    struct curl_target next;

    if (!curl_hops_next(handle, easy, &next)) {
        return !handle->hops.refused;
    }
    handle->hops.count = curl_ask_number(handle, easy, CURLINFO_REDIRECT_COUNT);
    curl_body_hop(handle);
    if (curl_gate_is_same(handle, &next)) {
        curl_tell_first_byte(handle, easy); /* the same host goes on answering the same call */
        return true;
    }
    curl_finish_hop(handle, easy);
    handle->pending = next;
    handle->hops.refused = !admit(handle, address);
    return !handle->hops.refused;
}

static int before_request(void *context, char *ip, char *local_ip, int port, int local_port)
{
    struct curl_handle *handle = context;
    uint8_t address[16];

    if (handle->hops.watched &&
        !curl_hops_ask(handle, curl_handle_easy(handle), read_address(ip, address) ? address : NULL)) {
        return CURL_PREREQFUNC_ABORT;
    }
    struct layer *layer = layer_current(__builtin_frame_address(0));

    if (layer != NULL && layer->call == &handle->call) {
        layer_decided(layer);
    }
    curl_prereq_callback callback = handle->options.prereq;

    return callback != NULL ? callback(handle->options.prereq_data, ip, local_ip, port, local_port)
                            : CURL_PREREQFUNC_OK;
}

/* ---- watching ---------------------------------------------------------------------------------------------------- */

static bool put(const struct curl_handle *handle, CURL *easy, curl_prereq_callback callback, void *data)
{
    __typeof__(curl_easy_setopt) *set = handle->api->easy_setopt;

    return set(easy, CURLOPT_PREREQFUNCTION, callback) == CURLE_OK && set(easy, CURLOPT_PREREQDATA, data) == CURLE_OK;
}

void curl_hops_watch(struct curl_handle *handle, CURL *easy)
{
    curl_hops_unwatch(handle, easy);
    memset(&handle->hops, 0, sizeof handle->hops);
    handle->hops.watched = handle->options.follow && put(handle, easy, before_request, handle);
}

void curl_hops_unwatch(struct curl_handle *handle, CURL *easy)
{
    if (handle->hops.watched) {
        handle->hops.watched = !put(handle, easy, handle->options.prereq, handle->options.prereq_data);
    }
}

void curl_hops_changed(struct curl_handle *handle, CURL *easy)
{
    if (handle->hops.watched) {
        (void)put(handle, easy, before_request, handle);
    }
}

CURLcode curl_hops_result(struct curl_handle *handle, CURLcode code)
{
    if (!handle->hops.refused || (code != CURLE_ABORTED_BY_CALLBACK && code != CURLE_COULDNT_CONNECT)) {
        return code;
    }
    curl_gate_explain(handle);
    return CURLE_COULDNT_CONNECT;
}
