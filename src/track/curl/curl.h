/*
 * Curl transfers: one curl_easy_perform is one call, whatever connections, retries and addresses it takes (the multi
 * interface's transfers: multi.h). These are the hooks of libcurl without their names; each answers as libcurl's own
 * function does.
 *
 * `caller` is the return address of the hook: it says which libcurl is meant where the handle does not. Only what the
 * program itself makes is known; a transfer on an unknown handle is left to the hooks of the layers below.
 */
#ifndef TRACK_CURL_CURL_H
#define TRACK_CURL_CURL_H

#include "track/curl/api.h"
#include <stdbool.h>
#include <stdint.h>

/* An option's value, of whichever type the option has. */
union curl_value {
    long number;
    void *pointer;
    curl_off_t offset;
};

CURL *curl_made(const void *caller);
CURL *curl_copied(CURL *easy, const void *caller);
void curl_reset_options(CURL *easy, const void *caller);
void curl_freed(CURL *easy, const void *caller);

/* What kind of value an option takes: for the hook to read it from its arguments. */
enum curl_type { CURL_TYPE_NUMBER, CURL_TYPE_POINTER, CURL_TYPE_OFFSET };
enum curl_type curl_type_of(CURLoption option);
CURLcode curl_set(CURL *easy, CURLoption option, union curl_value value, const void *caller);

CURLcode curl_get(CURL *easy, CURLINFO info, void *value, const void *caller);

CURLcode curl_paused(CURL *easy, int mask, const void *caller);

/* frame: of the hook, for the guard of the layers. */
CURLcode curl_perform(CURL *easy, const void *caller, const void *frame);

/*
 * The resolver could not resolve a name: is a transfer to it under way in this process, which will tell it itself?
 * (libcurl resolves in a thread of its own.) failed: it is the provider's fault, not our network's (OUTCOMES, dns).
 */
bool curl_told_dns(const char *host, bool failed);

#endif
