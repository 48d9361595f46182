/*
 * What the body of an answer says (protocol/body.h), read as libcurl hands it to the program: event streams that fail after
 * their status was good, and the 429 of an account that is out of quota. A write callback of ours looks at the bytes and
 * calls the program's own, whose word is passed on as it is: what was not taken (a pause, an error) was not read either.
 *
 * It is there only where the program has a write callback and headers do not come to it; else bodies are not read.
 */
#ifndef TRACK_CURL_BODY_H
#define TRACK_CURL_BODY_H

#include "track/curl/handle.h"

/* A transfer begins, or is over. */
void curl_body_watch(struct curl_handle *handle, CURL *easy);
void curl_body_unwatch(struct curl_handle *handle, CURL *easy);
/* The program changed one of the options that it depends on: it is put back, or goes. */
void curl_body_changed(struct curl_handle *handle, CURL *easy);
/* libcurl goes on with a further request: another body may come. */
void curl_body_hop(struct curl_handle *handle);

/* The program takes nothing for the time being: the silence is its own. Or it does again. */
void curl_body_paused(struct curl_handle *handle);
void curl_body_resumed(struct curl_handle *handle);

/* The body is complete. False: it says that the call failed, which is over by that. */
bool curl_body_end(struct curl_handle *handle);
/* Is the answer an event stream, and has it begun? */
bool curl_body_streams(const struct curl_handle *handle, CURL *easy);

#endif
