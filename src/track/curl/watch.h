/*
 * What of ours is set on a handle beside the program's own options: for a refusal (gate.h), and for as long as a
 * transfer is watched (hops.h, body.h).
 */
#ifndef TRACK_CURL_WATCH_H
#define TRACK_CURL_WATCH_H

#include "track/curl/body.h"
#include "track/curl/gate.h"
#include "track/curl/hops.h"

/* A transfer that is to be watched begins. */
static inline void curl_watch_begin(struct curl_handle *handle, CURL *easy)
{
    curl_hops_watch(handle, easy);
    curl_body_watch(handle, easy);
}

/* It is over. */
static inline void curl_watch_end(struct curl_handle *handle, CURL *easy)
{
    curl_hops_unwatch(handle, easy);
    curl_body_unwatch(handle, easy);
}

/* Everything is the program's own again: also what a transfer that was jumped out of has left. */
static inline void curl_watch_clear(struct curl_handle *handle, CURL *easy)
{
    curl_gate_reopen(handle, easy);
    curl_watch_end(handle, easy);
}

/* The program changed one of the options that ours stand for. */
static inline void curl_watch_changed(struct curl_handle *handle, CURL *easy)
{
    curl_gate_changed(handle, easy);
    curl_hops_changed(handle, easy);
    curl_body_changed(handle, easy);
}

#endif
