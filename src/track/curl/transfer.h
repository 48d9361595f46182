/*
 * One transfer on a known handle: admission, libcurl's own run, outcome; or a refusal that libcurl makes itself.
 */
#ifndef TRACK_CURL_TRANSFER_H
#define TRACK_CURL_TRANSFER_H

#include "track/curl/handle.h"

/* curl_easy_perform on it. errno is as libcurl left it. */
CURLcode curl_transfer(struct curl_handle *handle, CURL *easy, const void *frame);

#endif
