/*
 * What we remember of each easy handle that this process made: a fixed table, found by the handle's address. libcurl lets
 * one thread at a time use a handle, so a record has one user; finding, taking and giving back need no lock. A full table
 * means that further handles are not known, and are left to the hooks of the layers below.
 */
#ifndef TRACK_CURL_HANDLE_H
#define TRACK_CURL_HANDLE_H

#include "protocol/body.h"
#include "track/call.h"
#include "track/curl/url.h"

#define CURL_HANDLES   4096
#define CURL_PROTOCOLS 96

/* Which protocols the program allows: to be put back after a refusal. */
enum curl_protocols { CURL_PROTOCOLS_DEFAULT, CURL_PROTOCOLS_MASK, CURL_PROTOCOLS_TEXT, CURL_PROTOCOLS_UNKNOWN };

/* What the program set, and a reset forgets; a duplicate has it too. */
struct curl_options {
    struct curl_target target; /* of CURLOPT_URL */
    CURLU *parts;              /* CURLOPT_CURLU, which wins; the program's own */
    char *error_buffer;        /* CURLOPT_ERRORBUFFER, CURL_ERROR_SIZE bytes; the program's own */
    uint16_t port;             /* CURLOPT_PORT, 0 none */
    bool unix_socket;          /* the transfer goes to a path: no provider */
    bool follow;               /* CURLOPT_FOLLOWLOCATION */
    uint8_t protocols;         /* enum curl_protocols */
    long protocols_mask;
    char protocols_text[CURL_PROTOCOLS];
    curl_prereq_callback prereq; /* CURLOPT_PREREQFUNCTION, the program's own; NULL none */
    void *prereq_data;
    curl_write_callback write; /* CURLOPT_WRITEFUNCTION; NULL none */
    void *write_data;
    bool write_data_set;
    bool header_in_body; /* CURLOPT_HEADER */
    bool header_write;   /* there is a CURLOPT_HEADERFUNCTION */
    void *header_data;
    bool decodes; /* CURLOPT_ACCEPT_ENCODING */
    bool raw;     /* CURLOPT_HTTP_CONTENT_DECODING is off */
};

enum curl_decision {
    CURL_UNDECIDED, /* the provider depends on the address, which is not known yet */
    CURL_NOT_OURS,
    CURL_ADMITTED,
    CURL_REFUSED
};

/* Of the redirects of the transfer under way (hops.h). */
struct curl_hops {
    bool watched;    /* the pre-request callback is ours, not the program's */
    bool refused;    /* the last hop was */
    long count;      /* hops so far */
    uint64_t waited; /* us that all answers so far together took to begin */
};

/* Of the answer to it (body.h). */
struct curl_body {
    bool watched; /* the write callback is ours, not the program's */
    bool begun;
    bool paused; /* by the program */
    bool quota;  /* the body says that the account is out of quota */
    struct body body;
};

struct curl_multi;

/* What a transfer that stands in a multi handle is to us. */
enum curl_part {
    CURL_PART_OVER,    /* nothing any more: it has ended, or was never any of ours */
    CURL_PART_CALL,    /* a call, until its message or its removal */
    CURL_PART_REFUSED, /* libcurl is to fail it */
    CURL_PART_BELOW    /* left to the hooks of the layers below */
};

/* Of a transfer in a multi handle. Numbers are of handles (curl_handle_number). */
struct curl_member {
    struct curl_multi *multi; /* NULL: it stands in none, and all below says nothing */
    uint16_t next, previous;  /* of the multi's ring */
    uint16_t later;           /* whose message is to be read after this one's; 0 none */
    uint8_t part;             /* enum curl_part */
    bool hopping;             /* it follows redirects */
    bool started;             /* not queued any more; its silence is the provider's */
    long error;               /* OS_ERRNO when it was added, and may be that of an earlier transfer */
    uint64_t times;           /* what curl_multi_times() said when it was added, likewise */
    uint64_t progress;        /* a number that changes with each byte and step */
    uint64_t moved;           /* ns: when it was last seen to have changed, */
    uint64_t added, began;    /* when it was added, and seen to be queued no longer */
    CURLMsg *message;         /* taken from libcurl, and not read by the program yet */
};

struct curl_handle {
    const struct curl_api *api; /* whose it is */
    struct curl_options options;
    struct call call; /* of the transfer under way */
    uint64_t
        host; /* hash of that transfer's host, while it is under way; 0 none. Other threads read it, and the next two */
    uint32_t forks;              /* process_forks() when it began */
    uint32_t dns;                /* enum curl_dns: what the resolver said of that host */
    enum curl_decision decision; /* on that transfer */
    struct curl_target pending;  /* of that transfer */
    struct provider *decided;    /* whose it is, when it was admitted or refused */
    uint8_t address[16];         /* that it went to, so that a later one on the same connection is known; see `known` */
    bool known;
    int refused; /* errno of a refusal that was the handle's last transfer; 0: it was none */
    bool closed; /* its protocols and error buffer are ours, not the program's */
    struct curl_hops hops;
    struct curl_body body;
    struct curl_member member;
};

enum curl_dns { CURL_DNS_FINE, CURL_DNS_OURS, CURL_DNS_FAILED };

/* NULL: unknown. No system call, no lock. */
struct curl_handle *curl_handle_find(const CURL *easy);
/* For a handle that was just made; whatever stood under its address is gone. NULL: the table is full. */
struct curl_handle *curl_handle_add(const CURL *easy, const struct curl_api *api);
/* The handle is about to be freed. A call still under way (its transfer was jumped out of) ends neutral. */
void curl_handle_remove(const CURL *easy);

/* From 1; and back. NULL: there is no such number. */
uint16_t curl_handle_number(const struct curl_handle *handle);
struct curl_handle *curl_handle_at(uint16_t number);
/* The handle that it is the record of. */
CURL *curl_handle_easy(const struct curl_handle *handle);

/*
 * Every transfer under way to this host in this process is told what the resolver said. True if there is one. From any
 * thread.
 */
bool curl_handle_tell_dns(const char *host, enum curl_dns dns);

/* A transfer to the host of this hash begins, or (0) is over. */
void curl_handle_under_way(struct curl_handle *handle, uint64_t host);

#endif
