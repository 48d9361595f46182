/*
 * How a curl transfer ended, as a table: CURLcode in, outcome out. Pure.
 */
#ifndef TRACK_CURL_OUTCOME_H
#define TRACK_CURL_OUTCOME_H

#include <prebreak/region.h>
#include <stdbool.h>

/* What is known when a transfer is over. What its code does not ask for need not be filled in. */
struct curl_facts {
    int code;        /* CURLcode */
    unsigned status; /* of the answer, HTTP only; 0 none */
    bool redirected; /* it took more than one hop */
    bool elsewhere;  /* it was redirected to another host: ours answered, and has no part in what came then */
    int error;       /* errno of connecting, as far as known; 0 none. For 7 */
    bool resolved;   /* the name was resolved (or was an address). For 28 */
    bool connected;  /* a connection was made. For 28 */
    bool dns_failed; /* the resolver said that it is the provider's doing. For 6 */
    unsigned tunnel; /* status of a proxy's answer to CONNECT; 0 none. For 56 */
};

struct curl_outcome {
    enum prebreak_outcome outcome;
    enum prebreak_kind kind; /* of a failure */
    bool by_status;     /* the status says it, as the provider's rules have it; the outcome is ok unless they object */
    bool unless_status; /* the outcome holds unless the rules make of the status anything but ok */
};

struct curl_outcome curl_outcome(const struct curl_facts *facts);

#endif
