/*
 * What the files of the multi interface share: multi.c (joining and leaving), messages.c (how transfers end),
 * drive.c (what happens in between).
 */
#ifndef TRACK_CURL_MULTI_INNER_H
#define TRACK_CURL_MULTI_INNER_H

#include "track/curl/members.h"

/* Whose real function is meant: libcurl's own if it calls itself, or the multi handle's; NULL: the caller's. */
static inline const struct curl_api *curl_multi_api(const struct curl_api *own, const struct curl_multi *multi)
{
    return own != NULL || multi == NULL ? own : multi->api;
}

/* NULL: unknown, or libcurl calls itself, which is its own affair. */
static inline struct curl_multi *curl_multi_known(const struct curl_api *own, const CURLM *multi)
{
    return own == NULL ? curl_multi_find(multi) : NULL;
}

/*
 * Takes the messages that wait in libcurl, and keeps them for the program: for transfers that are taken back without
 * anybody having read how they ended. Not beside strangers: only what we know we can keep.
 */
void curl_multi_take_messages(struct curl_multi *multi);

/* A number that is another one for each transfer; 0: what is to come is not connecting yet (libcurl's times stand at zero). */
uint64_t curl_multi_times(const struct curl_handle *handle, CURL *easy);

/* A number that changes with each byte and step of the transfer. */
uint64_t curl_multi_progress(const struct curl_handle *handle, CURL *easy);

#endif
