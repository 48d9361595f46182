/*
 * libcurl's multi interface: a transfer is a call from curl_multi_add_handle to its message in curl_multi_info_read, or to
 * its removal, by whichever thread and function it is driven in between. These are the hooks of libcurl without their
 * names, as in curl.h.
 *
 * A refused transfer completes as any other would, with CURLE_COULDNT_CONNECT. A transfer that is no call (its handle is
 * unknown, or its provider depends on the address) is left to the hooks of the layers below, and stands beside others.
 */
#ifndef TRACK_CURL_MULTI_H
#define TRACK_CURL_MULTI_H

#include "track/curl/handle.h"

CURLM *curl_multi_made(const void *caller);
CURLMcode curl_multi_freed(CURLM *multi, const void *caller);

/* frame: of the hook, for the guard of the layers. */
CURLMcode curl_multi_joined(CURLM *multi, CURL *easy, const void *caller, const void *frame);
CURLMcode curl_multi_left(CURLM *multi, CURL *easy, const void *caller);
CURLMsg *curl_multi_message(CURLM *multi, int *left, const void *caller);

/* What drives all transfers of a multi handle: in it libcurl connects, writes and reads. */
CURLMcode curl_multi_performed(CURLM *multi, int *running, const void *caller, const void *frame);
CURLMcode curl_multi_acted(CURLM *multi, curl_socket_t socket, int events, int *running, const void *caller,
                           const void *frame);
CURLMcode curl_multi_acted_on(CURLM *multi, curl_socket_t socket, int *running, const void *caller, const void *frame);
CURLMcode curl_multi_acted_on_all(CURLM *multi, int *running, const void *caller, const void *frame);

/* The easy handle is about to be freed: by that it leaves the multi handle that it stands in, if it does. */
void curl_multi_abandon(struct curl_handle *handle, CURL *easy);
/* The same where the handle is unknown: a message of its transfer that we may have taken is not to be told any more. */
void curl_multi_strange_goes(const CURL *easy);

#endif
