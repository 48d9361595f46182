#include "track/curl/members.h"

#include "track/curl/keys.h"

#include <string.h>

static uintptr_t keys[CURL_MULTIS]; /* 0 free */
static struct curl_multi records[CURL_MULTIS];

/* ---- multi handles ----------------------------------------------------------------------------------------------- */

struct curl_multi *curl_multi_find(const CURLM *multi)
{
    size_t place = multi != NULL ? curl_keys_find(keys, CURL_MULTIS, (uintptr_t)multi) : CURL_MULTIS;

    return place < CURL_MULTIS ? &records[place] : NULL;
}

CURLM *curl_multi_handle(const struct curl_multi *multi)
{
    return (CURLM *)__atomic_load_n(&keys[multi - records], __ATOMIC_RELAXED); /* NOLINT: it was one */
}

struct curl_multi *curl_multi_add(const CURLM *multi, const struct curl_api *api)
{
    curl_multi_remove(multi); /* one of this address that was freed unseen */
    size_t place = curl_keys_take(keys, CURL_MULTIS, (uintptr_t)multi);

    if (place == CURL_MULTIS) {
        return NULL;
    }
    memset(&records[place], 0, sizeof records[place]);
    records[place].api = api;
    return &records[place];
}

void curl_multi_remove(const CURLM *multi)
{
    struct curl_multi *record = curl_multi_find(multi);

    if (record == NULL) {
        return;
    }
    for (struct curl_handle *one = curl_handle_at(record->first); one != NULL; one = curl_handle_at(record->first)) {
        curl_member_leave(one);
    }
    __atomic_store_n(&keys[record - records], 0, __ATOMIC_RELEASE);
}

/* ---- their members ----------------------------------------------------------------------------------------------- */

void curl_member_join(struct curl_handle *handle, struct curl_multi *multi, enum curl_part part)
{
    struct curl_handle *first = curl_handle_at(multi->first);
    uint16_t number = curl_handle_number(handle);

    handle->member = (struct curl_member){.multi = multi, .next = number, .previous = number, .part = (uint8_t)part};
    if (first != NULL) { /* the last one, before the first */
        handle->member.next = multi->first;
        handle->member.previous = first->member.previous;
        curl_handle_at(first->member.previous)->member.next = number;
        first->member.previous = number;
    } else {
        multi->first = number;
    }
    multi->members++;
    multi->calls += part == CURL_PART_CALL;
    multi->waiting += part == CURL_PART_CALL;
    multi->hopping += part == CURL_PART_CALL && handle->options.follow;
    multi->below += part == CURL_PART_BELOW;
    handle->member.hopping = part == CURL_PART_CALL && handle->options.follow;
}

void curl_member_started(struct curl_handle *handle)
{
    struct curl_member *member = &handle->member;

    member->multi->waiting -= member->part == CURL_PART_CALL && !member->started;
    member->started = true;
}

void curl_member_over(struct curl_handle *handle)
{
    struct curl_member *member = &handle->member;

    if (member->multi != NULL) {
        curl_member_started(handle);
        member->multi->calls -= member->part == CURL_PART_CALL;
        member->multi->hopping -= member->hopping;
        member->hopping = false;
        member->multi->below -= member->part == CURL_PART_BELOW;
        member->part = CURL_PART_OVER;
    }
}

struct curl_handle *curl_member_next(const struct curl_handle *handle)
{
    return curl_handle_at(handle->member.next);
}

/* ---- their messages ---------------------------------------------------------------------------------------------- */

void curl_member_keep(struct curl_handle *handle, CURLMsg *message)
{
    struct curl_multi *multi = handle->member.multi;
    uint16_t number = curl_handle_number(handle);
    struct curl_handle *last = curl_handle_at(multi->unread_last);

    handle->member.message = message;
    handle->member.later = 0;
    if (last != NULL) {
        last->member.later = number;
    } else {
        multi->unread = number;
    }
    multi->unread_last = number;
}

/* Takes out the one after `before` (NULL: the first). */
static CURLMsg *take_out(struct curl_multi *multi, struct curl_handle *before, struct curl_handle *handle)
{
    CURLMsg *message = handle->member.message;
    uint16_t later = handle->member.later;

    if (before != NULL) {
        before->member.later = later;
    } else {
        multi->unread = later;
    }
    if (later == 0) {
        multi->unread_last = before != NULL ? curl_handle_number(before) : 0;
    }
    handle->member.message = NULL;
    handle->member.later = 0;
    return message;
}

CURLMsg *curl_member_message(struct curl_multi *multi)
{
    struct curl_handle *first = curl_handle_at(multi->unread);

    return first != NULL ? take_out(multi, NULL, first) : NULL;
}

int curl_member_messages(const struct curl_multi *multi)
{
    int count = 0;

    for (const struct curl_handle *one = curl_handle_at(multi->unread); one != NULL;
         one = curl_handle_at(one->member.later)) {
        count++;
    }
    return count;
}

void curl_member_forget_stray(const CURL *easy)
{
    for (size_t i = 0; i < CURL_MULTIS; i++) {
        struct curl_multi *multi = &records[i];
        const CURLMsg *stray = __atomic_load_n(&keys[i], __ATOMIC_ACQUIRE) != 0 ? multi->stray : NULL;

        if (stray != NULL && stray->easy_handle == easy) {
            multi->stray = NULL;
        }
    }
}

static void forget_message(struct curl_handle *handle)
{
    struct curl_multi *multi = handle->member.multi;
    struct curl_handle *before = NULL;

    for (struct curl_handle *one = curl_handle_at(multi->unread); one != NULL;
         one = curl_handle_at(one->member.later)) {
        if (one == handle) {
            (void)take_out(multi, before, one);
            return;
        }
        before = one;
    }
}

void curl_member_leave(struct curl_handle *handle)
{
    struct curl_member *member = &handle->member;
    struct curl_multi *multi = member->multi;

    if (multi == NULL) {
        return;
    }
    if (member->message != NULL) {
        forget_message(handle);
    }
    curl_member_over(handle);
    uint16_t number = curl_handle_number(handle);

    if (member->next == number) {
        multi->first = 0;
    } else {
        curl_handle_at(member->previous)->member.next = member->next;
        curl_handle_at(member->next)->member.previous = member->previous;
        multi->first = multi->first == number ? member->next : multi->first;
    }
    multi->members--;
    *member = (struct curl_member){.multi = NULL};
}
