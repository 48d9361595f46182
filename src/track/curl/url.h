/*
 * Where a transfer goes, as its own libcurl reads the URL: the name that is the provider's, whatever proxy or address the
 * transfer takes on its way.
 */
#ifndef TRACK_CURL_URL_H
#define TRACK_CURL_URL_H

#include "track/curl/api.h"
#include <stdbool.h>
#include <stdint.h>

#define CURL_HOST 256

struct curl_target {
    uint64_t hash;        /* of host (curl_host_hash) */
    char host[CURL_HOST]; /* lower case, no trailing dot; an address in figures, IPv6 in brackets; "" none */
    uint16_t port;        /* the scheme's default if the URL has none */
    bool http;            /* answers have a status as HTTP has it */
};

/* Never 0. */
uint64_t curl_host_hash(const char *host);

/* False, and no host: it is no URL, has no host (file:), or one that is neither a name nor an address. NULL is none. */
bool curl_target_of_text(const struct curl_api *api, const char *url, struct curl_target *target);
bool curl_target_of_parts(const struct curl_api *api, CURLU *parts, struct curl_target *target);

#endif
