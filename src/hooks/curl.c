/*
 * libcurl's easy and multi interface.
 */
#include "hooks/hook.h"
#include "track/curl/curl.h"
#include "track/curl/multi.h"

#include <stdarg.h>

#define CALLER __builtin_return_address(0)
#define FRAME  __builtin_frame_address(0)

HOOK CURL *curl_easy_init(void)
{
    return curl_made(CALLER);
}

HOOK CURL *curl_easy_duphandle(CURL *easy)
{
    return curl_copied(easy, CALLER);
}

HOOK void curl_easy_reset(CURL *easy)
{
    curl_reset_options(easy, CALLER);
}

HOOK void curl_easy_cleanup(CURL *easy)
{
    curl_freed(easy, CALLER);
}

HOOK CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    enum curl_type type = curl_type_of(option);
    union curl_value value;
    va_list list;

    va_start(list, option);
    if (type == CURL_TYPE_NUMBER) {
        value.number = va_arg(list, long);
    } else if (type == CURL_TYPE_OFFSET) {
        value.offset = va_arg(list, curl_off_t);
    } else {
        value.pointer = va_arg(list, void *);
    }
    va_end(list);
    return curl_set(easy, option, value, CALLER);
}

HOOK CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
    va_list list;

    va_start(list, info);
    void *value = va_arg(list, void *);

    va_end(list);
    return curl_get(easy, info, value, CALLER);
}

HOOK CURLcode curl_easy_pause(CURL *easy, int mask)
{
    return curl_paused(easy, mask, CALLER);
}

HOOK CURLcode curl_easy_perform(CURL *easy)
{
    return curl_perform(easy, CALLER, FRAME);
}

HOOK CURLM *curl_multi_init(void)
{
    return curl_multi_made(CALLER);
}

HOOK CURLMcode curl_multi_cleanup(CURLM *multi)
{
    return curl_multi_freed(multi, CALLER);
}

HOOK CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy)
{
    return curl_multi_joined(multi, easy, CALLER, FRAME);
}

HOOK CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy)
{
    return curl_multi_left(multi, easy, CALLER);
}

HOOK CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
    return curl_multi_message(multi, left, CALLER);
}

HOOK CURLMcode curl_multi_perform(CURLM *multi, int *running)
{
    return curl_multi_performed(multi, running, CALLER, FRAME);
}

HOOK CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t socket, int events, int *running)
{
    return curl_multi_acted(multi, socket, events, running, CALLER, FRAME);
}

HOOK CURLMcode curl_multi_socket(CURLM *multi, curl_socket_t socket, int *running)
{
    return curl_multi_acted_on(multi, socket, running, CALLER, FRAME);
}

HOOK CURLMcode curl_multi_socket_all(CURLM *multi, int *running)
{
    return curl_multi_acted_on_all(multi, running, CALLER, FRAME);
}
