/*
 * The libcurls of this process: a program and its modules may use several (OpenSSL's and GnuTLS's, a bundled one), and a
 * handle belongs to the one that made it.
 */
#ifndef TRACK_CURL_API_H
#define TRACK_CURL_API_H

#include "real/real.h"

#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>
/* Macros of these names would check, or replace, what is declared and called here. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

/* The functions of one of them. The last ones are newer than the oldest libcurl that can be met, and may be NULL. */
struct curl_api {
    struct real_range range; /* where it lies */
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_setopt) *easy_setopt;
    __typeof__(curl_easy_perform) *easy_perform;
    __typeof__(curl_easy_getinfo) *easy_getinfo;
    __typeof__(curl_easy_reset) *easy_reset;
    __typeof__(curl_easy_duphandle) *easy_duphandle;
    __typeof__(curl_easy_cleanup) *easy_cleanup;
    __typeof__(curl_free) *free;
    __typeof__(curl_url) *url;
    __typeof__(curl_url_cleanup) *url_cleanup;
    __typeof__(curl_url_set) *url_set;
    __typeof__(curl_url_get) *url_get;
    __typeof__(curl_easy_header) *easy_header;
};

/*
 * The one whose curl_easy_init this is; never freed. NULL: it lacks something that we cannot do without, or there are too
 * many. Asks the dynamic loader once for each; no lock of ours.
 */
const struct curl_api *curl_api_of(__typeof__(curl_easy_init) *easy_init);

#endif
