/*
 * Redirects that libcurl follows: a hop to another host is a call of its own, under its own key. It is asked for at the
 * hop's connect, if it can be told whose that is, or else by a pre-request callback, before its request goes out; by that
 * the call before it ends with the status that it got. A hop that is refused sends nothing, and ends the transfer as a
 * refused connection would; other transfers go on.
 *
 * A libcurl older than 7.80 has no such callback: there the whole transfer stays the first host's call.
 */
#ifndef TRACK_CURL_HOPS_H
#define TRACK_CURL_HOPS_H

#include "track/curl/handle.h"

/* A transfer begins: if redirects are to be followed, its hops are watched from now on. The program's own callback stays. */
void curl_hops_watch(struct curl_handle *handle, CURL *easy);
/* Puts the program's callback back, if ours is there. */
void curl_hops_unwatch(struct curl_handle *handle, CURL *easy);
/* The program set another callback, or its data: it is called by ours. */
void curl_hops_changed(struct curl_handle *handle, CURL *easy);
/* Does a hop come that was not asked for yet, and where to? */
bool curl_hops_next(const struct curl_handle *handle, CURL *easy, struct curl_target *next);
/*
 * Asks for it, if one does: before its connect, or else before its request. address: 16 bytes, NULL unknown. False: it is
 * refused, or the one before was.
 */
bool curl_hops_ask(struct curl_handle *handle, CURL *easy, const uint8_t *address);
/* What the program is to be told of a transfer that ended with this code. */
CURLcode curl_hops_result(struct curl_handle *handle, CURLcode code);

#endif
