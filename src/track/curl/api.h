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
#undef curl_multi_socket

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
    __typeof__(curl_easy_pause) *easy_pause;
    __typeof__(curl_free) *free;
    __typeof__(curl_url) *url;
    __typeof__(curl_url_cleanup) *url_cleanup;
    __typeof__(curl_url_set) *url_set;
    __typeof__(curl_url_get) *url_get;
    __typeof__(curl_multi_init) *multi_init;
    __typeof__(curl_multi_cleanup) *multi_cleanup;
    __typeof__(curl_multi_add_handle) *multi_add_handle;
    __typeof__(curl_multi_remove_handle) *multi_remove_handle;
    __typeof__(curl_multi_info_read) *multi_info_read;
    __typeof__(curl_multi_perform) *multi_perform;
    __typeof__(curl_multi_socket_action) *multi_socket_action;
    __typeof__(curl_multi_socket) *multi_socket;
    __typeof__(curl_multi_socket_all) *multi_socket_all;
    __typeof__(curl_easy_header) *easy_header;
};

/*
 * The one whose curl_easy_init this is; never freed. NULL: it lacks something that we cannot do without, or there are too
 * many. Asks the dynamic loader once for each; no lock of ours.
 */
const struct curl_api *curl_api_of(__typeof__(curl_easy_init) *easy_init);

/* The same by its curl_multi_init. */
const struct curl_api *curl_api_beside(__typeof__(curl_multi_init) *multi_init);

/* The one that this return address lies in: libcurl calls itself. NULL: none that is known. */
const struct curl_api *curl_api_at(const void *caller);

/*
 * The real function of the libcurl that `api` is, or else that the caller would have got. May be NULL. What the dynamic
 * loader gives is a pointer to an object; the union says so without a cast that warns.
 */
#define CURL_REAL(function, api, caller) ((api) != NULL ? (api)->function : CURL_BY_CALLER(function, caller).real)

#define CURL_BY_CALLER(name, caller)                                                                                   \
    ((union {                                                                                                          \
        void *object;                                                                                                  \
        __typeof__(curl_##name) *real;                                                                                 \
    }){.object = real_by_caller("curl_" #name, caller)})

#endif
