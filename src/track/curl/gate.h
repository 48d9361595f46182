/*
 * Before a curl transfer, of the easy interface or of the multi: whose it is, and may it go out? And if not: how libcurl is
 * made to fail it by itself.
 */
#ifndef TRACK_CURL_GATE_H
#define TRACK_CURL_GATE_H

#include "track/curl/handle.h"

/*
 * Finds out whose the transfer is that is about to begin on the handle, and asks; what is found is in handle->pending,
 * ->decided and ->decision. CURL_ADMITTED: handle->call is under way.
 */
enum curl_decision curl_gate(struct curl_handle *handle);

/* Is this where the transfer under way is headed? */
bool curl_gate_is_same(const struct curl_handle *handle, const struct curl_target *target);

/*
 * libcurl itself will fail the transfer, while it looks at the URL: before names, proxies, connections. So nothing of an
 * earlier transfer is left for getinfo to show, and no connection is touched. The program's error buffer is out of its
 * reach until curl_gate_reopen(), and says why already. False: it cannot be made to.
 */
bool curl_gate_close(struct curl_handle *handle, CURL *easy);
/* The program changed what is closed: it is closed again (a transfer waits to be failed), or its own again. */
void curl_gate_changed(struct curl_handle *handle, CURL *easy);
/* Puts the program's options back, if ours are there: also after a refusal that was jumped out of. */
void curl_gate_reopen(struct curl_handle *handle, CURL *easy);
/* What the program is to be told of a closed transfer that ended with this code. */
CURLcode curl_gate_result(struct curl_handle *handle, CURLcode code);
/* A transfer that was refused looks it: its error buffer, and what OS_ERRNO answers. */
void curl_gate_explain(struct curl_handle *handle);

#endif
