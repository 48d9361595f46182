#include "track/curl/curl.h"

#include "real/real.h"
#include "track/curl/multi.h"
#include "track/curl/watch.h"
#include "track/curl/transfer.h"
#include "track/process.h"

#include <string.h>

/* ---- which libcurl ----------------------------------------------------------------------------------------------- */

#define REAL(function, handle, caller) CURL_REAL(function, (handle) != NULL ? (handle)->api : NULL, caller)

/* Does libcurl call itself? Then the handle is its own affair: it frees it unseen. */
static bool is_libcurl(const struct curl_api *api, const void *caller)
{
    return (uintptr_t)caller >= api->range.from && (uintptr_t)caller < api->range.to;
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

CURL *curl_made(const void *caller)
{
    const struct curl_handle *none = NULL;
    __typeof__(curl_easy_init) *real = REAL(easy_init, none, caller);
    CURL *easy = real != NULL ? real() : NULL;

    if (easy == NULL || !process_acts) {
        return easy;
    }
    const struct curl_api *api = curl_api_of(real);

    if (api != NULL && !is_libcurl(api, caller)) {
        (void)curl_handle_add(easy, api);
    }
    return easy;
}

CURL *curl_copied(CURL *easy, const void *caller)
{
    struct curl_handle *handle = curl_handle_find(easy);
    __typeof__(curl_easy_duphandle) *real = REAL(easy_duphandle, handle, caller);

    if (handle == NULL) {
        return real != NULL ? real(easy) : NULL;
    }
    bool closed = handle->closed, hops = handle->hops.watched, body = handle->body.watched;

    curl_watch_clear(handle, easy); /* what the copy gets is the program's own */
    CURL *copy = handle->api->easy_duphandle(easy);

    if (closed && handle->member.part == CURL_PART_REFUSED) {
        (void)curl_gate_close(handle, easy); /* it is still to be failed */
    }
    handle->hops.watched = hops;
    handle->body.watched = body;
    curl_watch_changed(handle, easy);
    if (copy == NULL || is_libcurl(handle->api, caller)) {
        return copy;
    }
    struct curl_handle *added = curl_handle_add(copy, handle->api);

    if (added != NULL) {
        added->options = handle->options;
    }
    return copy;
}

void curl_reset_options(CURL *easy, const void *caller)
{
    struct curl_handle *handle = curl_handle_find(easy);
    __typeof__(curl_easy_reset) *real = REAL(easy_reset, handle, caller);

    if (real != NULL) {
        real(easy);
    }
    if (handle != NULL) {
        memset(&handle->options, 0, sizeof handle->options);
        handle->refused = 0;
        handle->closed = false;
        handle->hops.watched = handle->body.watched = false;
    }
}

void curl_freed(CURL *easy, const void *caller)
{
    struct curl_handle *handle = curl_handle_find(easy);
    __typeof__(curl_easy_cleanup) *real = REAL(easy_cleanup, handle, caller);

    /* First: once it is freed, another thread may get one of the same address. */
    if (handle != NULL) {
        curl_multi_abandon(handle, easy);
        curl_handle_remove(easy);
    } else {
        curl_multi_strange_goes(easy);
    }
    if (real != NULL) {
        real(easy);
    }
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

enum curl_type curl_type_of(CURLoption option)
{
    if ((int)option < CURLOPTTYPE_OBJECTPOINT) {
        return CURL_TYPE_NUMBER;
    }
    return (int)option >= CURLOPTTYPE_OFF_T && (int)option < CURLOPTTYPE_BLOB ? CURL_TYPE_OFFSET : CURL_TYPE_POINTER;
}

static void keep_protocols(struct curl_options *options, const char *text)
{
    size_t length = text != NULL ? strlen(text) : sizeof options->protocols_text;

    options->protocols = CURL_PROTOCOLS_UNKNOWN;
    if (length < sizeof options->protocols_text) {
        memcpy(options->protocols_text, text, length + 1);
        options->protocols = CURL_PROTOCOLS_TEXT;
    }
}

/* libcurl took the option: what we go by changes with it. True: something of ours may stand in its place. */
static bool keep_option(struct curl_options *options, CURLoption option, union curl_value value)
{
    switch (option) {
    case CURLOPT_CURLU:
        options->parts = value.pointer;
        return false;
    case CURLOPT_PORT:
        options->port = value.number >= 0 && value.number <= UINT16_MAX ? (uint16_t)value.number : 0;
        return false;
    case CURLOPT_FOLLOWLOCATION:
        options->follow = value.number != 0;
        return false;
    case CURLOPT_UNIX_SOCKET_PATH:
    case CURLOPT_ABSTRACT_UNIX_SOCKET:
        options->unix_socket = value.pointer != NULL;
        return false;
    case CURLOPT_ACCEPT_ENCODING:
        options->decodes = value.pointer != NULL;
        return false;
    case CURLOPT_HTTP_CONTENT_DECODING:
        options->raw = value.number == 0;
        return false;
    case CURLOPT_PROTOCOLS:
        options->protocols = CURL_PROTOCOLS_MASK;
        options->protocols_mask = value.number;
        return true;
    case CURLOPT_PROTOCOLS_STR:
        keep_protocols(options, value.pointer);
        return true;
    case CURLOPT_ERRORBUFFER:
        options->error_buffer = value.pointer;
        return true;
    case CURLOPT_PREREQFUNCTION:
        memcpy(&options->prereq, &value.pointer, sizeof options->prereq);
        return true;
    case CURLOPT_PREREQDATA:
        options->prereq_data = value.pointer;
        return true;
    case CURLOPT_WRITEFUNCTION:
        memcpy(&options->write, &value.pointer, sizeof options->write);
        return true;
    case CURLOPT_WRITEDATA:
        options->write_data = value.pointer;
        options->write_data_set = true;
        return true;
    case CURLOPT_HEADERFUNCTION:
        options->header_write = value.pointer != NULL;
        return true;
    case CURLOPT_HEADERDATA:
        options->header_data = value.pointer;
        return true;
    case CURLOPT_HEADER:
        options->header_in_body = value.number != 0;
        return true;
    default:
        return false;
    }
}

CURLcode curl_set(CURL *easy, CURLoption option, union curl_value value, const void *caller)
{
    struct curl_handle *handle = curl_handle_find(easy);
    __typeof__(curl_easy_setopt) *real = REAL(easy_setopt, handle, caller);
    enum curl_type type = curl_type_of(option);

    if (real == NULL) {
        return CURLE_FAILED_INIT;
    }
    CURLcode code = type == CURL_TYPE_NUMBER   ? real(easy, option, value.number)
                    : type == CURL_TYPE_OFFSET ? real(easy, option, value.offset)
                                               : real(easy, option, value.pointer);

    if (handle != NULL && code == CURLE_OK) {
        if (option == CURLOPT_URL) {
            (void)curl_target_of_text(handle->api, value.pointer, &handle->options.target);
        } else if (keep_option(&handle->options, option, value)) {
            curl_watch_changed(handle, easy);
        }
    }
    return code;
}

CURLcode curl_get(CURL *easy, CURLINFO info, void *value, const void *caller)
{
    struct curl_handle *handle = curl_handle_find(easy);
    __typeof__(curl_easy_getinfo) *real = REAL(easy_getinfo, handle, caller);
    CURLcode code = real != NULL ? real(easy, info, value) : CURLE_FAILED_INIT;

    /* A refused transfer looks like one that was refused: `curl --retry-connrefused` asks for this one. */
    if (handle != NULL && handle->refused != 0 && info == CURLINFO_OS_ERRNO && code == CURLE_OK && value != NULL) {
        *(long *)value = handle->refused;
    }
    return code;
}

CURLcode curl_paused(CURL *easy, int mask, const void *caller)
{
    struct curl_handle *handle = curl_api_at(caller) == NULL ? curl_handle_find(easy) : NULL;
    __typeof__(curl_easy_pause) *real = REAL(easy_pause, handle, caller);

    if (real == NULL || handle == NULL) {
        return real != NULL ? real(easy, mask) : CURLE_FAILED_INIT;
    }
    if (mask == CURLPAUSE_CONT) {
        curl_body_resumed(handle); /* first: what waits comes at once, and the program may pause again */
    }
    CURLcode code = real(easy, mask);

    if (mask != CURLPAUSE_CONT && code == CURLE_OK) {
        curl_body_paused(handle);
    }
    return code;
}

/* ---- transfers --------------------------------------------------------------------------------------------------- */

CURLcode curl_perform(CURL *easy, const void *caller, const void *frame)
{
    struct curl_handle *handle = curl_handle_find(easy);

    if (handle != NULL) {
        return curl_transfer(handle, easy, frame);
    }
    __typeof__(curl_easy_perform) *real = REAL(easy_perform, handle, caller);

    return real != NULL ? real(easy) : CURLE_FAILED_INIT;
}

bool curl_told_dns(const char *host, bool failed)
{
    return curl_handle_tell_dns(host, failed ? CURL_DNS_FAILED : CURL_DNS_OURS);
}
