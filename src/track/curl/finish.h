/*
 * After a curl transfer: how its call ended, by all that libcurl can be asked.
 */
#ifndef TRACK_CURL_FINISH_H
#define TRACK_CURL_FINISH_H

#include "track/curl/handle.h"

/*
 * The transfer on the handle ended with this code, and its call, if one is under way, with it. error: errno of connecting, as
 * far as it is known; 0: it is not. Asked for with CURLE_COULDNT_CONNECT.
 */
void curl_finish(struct curl_handle *handle, CURL *easy, CURLcode code, int error);
/*
 * An answer has come, and libcurl goes on with a further request: to the same host, whose call goes on (all that is told is
 * the time until the answer began); or to another one, and the call is over.
 */
void curl_tell_first_byte(struct curl_handle *handle, CURL *easy);
void curl_finish_hop(struct curl_handle *handle, CURL *easy);
/*
 * The program took the transfer back before it was over. A byte of it moved `idle` ns ago; or it never began, and says
 * nothing.
 */
void curl_finish_given_up(struct curl_handle *handle, CURL *easy, bool began, uint64_t idle);

/* What getinfo answers; 0 and "" if it does not. */
long curl_ask_number(const struct curl_handle *handle, CURL *easy, CURLINFO info);
uint64_t curl_ask_offset(const struct curl_handle *handle, CURL *easy, CURLINFO info);
const char *curl_ask_text(const struct curl_handle *handle, CURL *easy, CURLINFO info);

#endif
