#include "track/curl/body.h"

#include "track/curl/finish.h"
#include "track/process.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- what the body is -------------------------------------------------------------------------------------------- */

/* A type may be followed by parameters. */
static bool is_event_stream(const char *type)
{
    static const char name[] = "text/event-stream";
    size_t length = sizeof name - 1;

    return strncasecmp(type, name, length) == 0 && strchr("; \t", type[length]) != NULL;
}

/* Will what comes be something else than what the type says? libcurl decodes only when it was told to. */
static bool is_encoded(const struct curl_handle *handle, CURL *easy)
{
    const struct curl_options *options = &handle->options;
    struct curl_header *header;

    if (options->decodes && !options->raw) {
        return false;
    }
    if (handle->api->easy_header == NULL) { /* before 7.84 */
        return true;
    }
    return handle->api->easy_header(easy, "content-encoding", 0, CURLH_HEADER, -1, &header) == CURLHE_OK &&
           strcasecmp(header->value, "identity") != 0;
}

bool curl_body_streams(const struct curl_handle *handle, CURL *easy)
{
    if (handle->body.begun) {
        return handle->body.body.stream;
    }
    long status = handle->pending.http ? curl_ask_number(handle, easy, CURLINFO_RESPONSE_CODE) : 0;

    return status >= 200 && status < 300 && is_event_stream(curl_ask_text(handle, easy, CURLINFO_CONTENT_TYPE));
}

static void begin(struct curl_handle *handle, CURL *easy)
{
    long status = curl_ask_number(handle, easy, CURLINFO_RESPONSE_CODE);
    bool stream = is_event_stream(curl_ask_text(handle, easy, CURLINFO_CONTENT_TYPE));
    bool read = stream || status == 429;
    struct body *body = &handle->body.body;

    handle->body.begun = true;
    body_begin(body, status > 0 && status <= 999 ? (unsigned)status : 0, stream, read && is_encoded(handle, easy));
    if (body->stream && body_wants(body)) {
        curl_tell_first_byte(handle, easy);
        call_stream(&handle->call);
    }
}

/* ---- its bytes --------------------------------------------------------------------------------------------------- */

static void told(struct curl_handle *handle, unsigned news)
{
    if ((news & BODY_LIFE) != 0) {
        call_event(&handle->call);
    }
    if ((news & BODY_ERROR) != 0) {
        call_failed(&handle->call, PREBREAK_KIND_STREAM);
    } else if ((news & BODY_DONE) != 0) {
        call_ok(&handle->call);
    }
    handle->body.quota = handle->body.quota || (news & BODY_QUOTA) != 0;
}

void curl_body_paused(struct curl_handle *handle)
{
    handle->body.paused = true;
    call_rest(&handle->call);
}

void curl_body_resumed(struct curl_handle *handle)
{
    if (handle->body.paused) {
        handle->body.paused = false;
        call_wake(&handle->call);
        if (handle->body.body.stream && body_wants(&handle->body.body)) {
            call_stream(&handle->call);
        }
    }
}

static void *data_of(const struct curl_options *options)
{
    return options->write_data_set ? options->write_data : stdout; /* as libcurl has it */
}

/* Before the program's own, which may write into what it was given; and it counts if the program has taken it. */
static size_t read_body(struct curl_handle *handle, char *bytes, size_t size, size_t count)
{
    struct body next = handle->body.body;
    unsigned news = body_feed(&next, (const uint8_t *)bytes, size * count);
    size_t taken = handle->options.write(bytes, size, count, data_of(&handle->options));

    if (taken == size * count) {
        handle->body.body = next;
        told(handle, news);
        process_tick(); /* what has stalled is found by whoever comes by */
    }
    return taken;
}

static size_t write_body(char *bytes, size_t size, size_t count, void *context)
{
    struct curl_handle *handle = context;
    struct curl_body *watch = &handle->body;
    curl_write_callback write = handle->options.write;
    void *data = data_of(&handle->options);

    if (write == NULL) {
        return 0; /* cannot be: then we are not here */
    }
    if (!watch->watched || handle->call.provider == NULL) {
        return write(bytes, size, count, data);
    }
    if (!watch->begun) {
        begin(handle, curl_handle_easy(handle));
    }
    curl_body_resumed(handle);
    size_t taken = body_wants(&watch->body) ? read_body(handle, bytes, size, count) : write(bytes, size, count, data);

    if (taken == CURL_WRITEFUNC_PAUSE) {
        curl_body_paused(handle);
    }
    return taken;
}

bool curl_body_end(struct curl_handle *handle)
{
    if (handle->body.begun && (body_end(&handle->body.body) & BODY_ERROR) != 0) {
        call_failed(&handle->call, PREBREAK_KIND_STREAM);
        return false;
    }
    return true;
}

/* ---- watching ---------------------------------------------------------------------------------------------------- */

static bool put(const struct curl_handle *handle, CURL *easy, curl_write_callback write, void *data)
{
    __typeof__(curl_easy_setopt) *set = handle->api->easy_setopt;

    return set(easy, CURLOPT_WRITEFUNCTION, write) == CURLE_OK && set(easy, CURLOPT_WRITEDATA, data) == CURLE_OK;
}

/* Header lines come to the write callback too, when it is told to take them, or when they have no callback of their own. */
static bool can_watch(const struct curl_handle *handle)
{
    const struct curl_options *options = &handle->options;

    return options->write != NULL && handle->pending.http && !options->header_in_body &&
           (options->header_data == NULL || options->header_write);
}

void curl_body_watch(struct curl_handle *handle, CURL *easy)
{
    curl_body_unwatch(handle, easy);
    memset(&handle->body, 0, offsetof(struct curl_body, body));
    handle->body.body.reader = BODY_UNREAD;
    handle->body.body.stream = false;
    handle->body.watched = can_watch(handle) && put(handle, easy, write_body, handle);
}

void curl_body_unwatch(struct curl_handle *handle, CURL *easy)
{
    if (handle->body.watched) {
        (void)put(handle, easy, handle->options.write, data_of(&handle->options));
        handle->body.watched = false;
    }
}

void curl_body_changed(struct curl_handle *handle, CURL *easy)
{
    if (!handle->body.watched) {
        return;
    }
    if (can_watch(handle)) {
        (void)put(handle, easy, write_body, handle);
    } else {
        curl_body_unwatch(handle, easy);
    }
}

void curl_body_hop(struct curl_handle *handle)
{
    handle->body.begun = false;
}
