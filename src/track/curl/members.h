/*
 * What we remember of each multi handle that this process made, and of the transfers that stand in it: a fixed table, found
 * by the handle's address, each record with a ring of its transfers and a queue of their messages. libcurl lets one thread
 * at a time use a multi handle and all in it, so what is in a record needs no lock. No system call.
 */
#ifndef TRACK_CURL_MEMBERS_H
#define TRACK_CURL_MEMBERS_H

#include "track/curl/handle.h"

#define CURL_MULTIS 1024

struct curl_multi {
    const struct curl_api *api; /* whose it is */
    uint64_t looked;            /* ns: when all its transfers were looked at */
    uint64_t heard;             /* ns: when a byte of any of them last moved */
    CURLMsg *stray;             /* a stranger's message that we took from libcurl; NULL none */
    uint32_t members;           /* handles in the ring, of which */
    uint32_t calls;             /* are CURL_PART_CALL, */
    uint32_t waiting;           /* those of them that have not started, */
    uint32_t hopping;           /* those that follow redirects, */
    uint32_t below;             /* are CURL_PART_BELOW */
    uint32_t strangers; /* handles in it that we know nothing of: like those below, and their messages are not ours */
    int error;          /* errno of the last connect that failed in it */
    uint16_t first;     /* number of a handle in it: the ring begins anywhere; 0 none */
    uint16_t unread, unread_last;
    bool reads; /* the program has asked for messages */
};

/* NULL: unknown. */
struct curl_multi *curl_multi_find(const CURLM *multi);
/* The handle that it is the record of. */
CURLM *curl_multi_handle(const struct curl_multi *multi);
/* For one that was just made; whatever stood under its address is gone. NULL: the table is full. */
struct curl_multi *curl_multi_add(const CURLM *multi, const struct curl_api *api);
/* It is about to be freed: its members leave it. */
void curl_multi_remove(const CURLM *multi);

/* A transfer begins to be a member; it ends, and stays one; it is one no longer, and its message is gone. */
void curl_member_join(struct curl_handle *handle, struct curl_multi *multi, enum curl_part part);
void curl_member_over(struct curl_handle *handle);
void curl_member_leave(struct curl_handle *handle);
/* It was queued for a connection, and is no longer. */
void curl_member_started(struct curl_handle *handle);

/* The one after this in the ring of members; NULL is its own only neighbour. With `first` of the multi it begins. */
struct curl_handle *curl_member_next(const struct curl_handle *handle);

/* A stranger's handle leaves or goes: its message with it. */
void curl_member_forget_stray(const CURL *easy);

/* Keeps a member's message for the program; the oldest kept message of any, taken out; NULL none. */
void curl_member_keep(struct curl_handle *handle, CURLMsg *message);
CURLMsg *curl_member_message(struct curl_multi *multi);
/* How many are kept. */
int curl_member_messages(const struct curl_multi *multi);

#endif
