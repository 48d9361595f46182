#include "track/curl/handle.h"

#include "real/real.h"
#include "track/curl/keys.h"
#include "track/curl/members.h"
#include "track/process.h"

#include <string.h>

static struct curl_table {
    uintptr_t keys[CURL_HANDLES]; /* 0 free */
    struct curl_handle records[CURL_HANDLES];
} * table;

/* Transfers under way, so that the resolver's hook need not look through the table for nothing. */
static uint32_t under_way;

/* Pages come as they are used: a program with three handles has two or three. */
static struct curl_table *table_get(void)
{
    struct curl_table *now = __atomic_load_n(&table, __ATOMIC_ACQUIRE);

    if (now != NULL || process_confined()) {
        return now;
    }
    struct curl_table *fresh =
        real_mmap(NULL, sizeof *fresh, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (fresh == MAP_FAILED) {
        return NULL;
    }
    if (!__atomic_compare_exchange_n(&table, &now, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        real_munmap(fresh, sizeof *fresh);
        return now;
    }
    return fresh;
}

struct curl_handle *curl_handle_find(const CURL *easy)
{
    struct curl_table *now = __atomic_load_n(&table, __ATOMIC_ACQUIRE);

    if (now == NULL || easy == NULL) {
        return NULL;
    }
    size_t place = curl_keys_find(now->keys, CURL_HANDLES, (uintptr_t)easy);

    return place < CURL_HANDLES ? &now->records[place] : NULL;
}

static void clear(struct curl_handle *handle)
{
    curl_member_leave(handle);
    call_neutral(&handle->call);
    curl_handle_under_way(handle, 0);
    handle->api = NULL;
    memset(&handle->options, 0, sizeof handle->options);
    memset(&handle->pending, 0, sizeof handle->pending);
    handle->decision = CURL_UNDECIDED;
    handle->decided = NULL;
    handle->known = false;
    handle->refused = 0;
    handle->closed = false;
    memset(&handle->hops, 0, sizeof handle->hops);
    memset(&handle->body, 0, sizeof handle->body);
}

struct curl_handle *curl_handle_add(const CURL *easy, const struct curl_api *api)
{
    struct curl_table *now = table_get();
    uintptr_t key = (uintptr_t)easy;

    if (now == NULL) {
        return NULL;
    }
    curl_handle_remove(easy); /* one of this address that was freed unseen */
    size_t place = curl_keys_take(now->keys, CURL_HANDLES, key);

    if (place == CURL_HANDLES) {
        return NULL;
    }
    now->records[place].api = api;
    return &now->records[place];
}

uint16_t curl_handle_number(const struct curl_handle *handle)
{
    return (uint16_t)(handle - table->records + 1);
}

struct curl_handle *curl_handle_at(uint16_t number)
{
    struct curl_table *now = __atomic_load_n(&table, __ATOMIC_ACQUIRE);

    return now != NULL && number >= 1 && number <= CURL_HANDLES ? &now->records[number - 1] : NULL;
}

CURL *curl_handle_easy(const struct curl_handle *handle)
{
    return (CURL *)__atomic_load_n(&table->keys[handle - table->records], __ATOMIC_RELAXED); /* NOLINT: it was one */
}

void curl_handle_remove(const CURL *easy)
{
    struct curl_handle *handle = curl_handle_find(easy);

    if (handle != NULL) {
        clear(handle);
        __atomic_store_n(&table->keys[handle - table->records], 0, __ATOMIC_RELEASE);
    }
}

/* ---- what the resolver says -------------------------------------------------------------------------------------- */

void curl_handle_under_way(struct curl_handle *handle, uint64_t host)
{
    bool was = handle->host != 0 && handle->forks == process_forks();

    if (host == 0) {
        __atomic_store_n(&handle->host, 0, __ATOMIC_RELAXED);
        if (was) {
            __atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
        }
        return;
    }
    __atomic_store_n(&handle->forks, process_forks(), __ATOMIC_RELAXED);
    __atomic_store_n(&handle->dns, CURL_DNS_FINE, __ATOMIC_RELAXED);
    __atomic_store_n(&handle->host, host, __ATOMIC_RELEASE);
    if (!was) {
        __atomic_fetch_add(&under_way, 1, __ATOMIC_RELEASE);
    }
}

bool curl_handle_tell_dns(const char *host, enum curl_dns dns)
{
    struct curl_table *now = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    uint64_t hash = curl_host_hash(host);
    bool told = false;

    if (now == NULL || __atomic_load_n(&under_way, __ATOMIC_ACQUIRE) == 0) {
        return false;
    }
    for (size_t i = 0; i < CURL_HANDLES; i++) {
        struct curl_handle *handle = &now->records[i];

        /* Only what is in use is looked into: the rest of the table has no pages. */
        if (__atomic_load_n(&now->keys[i], __ATOMIC_ACQUIRE) != 0 &&
            __atomic_load_n(&handle->host, __ATOMIC_ACQUIRE) == hash &&
            __atomic_load_n(&handle->forks, __ATOMIC_RELAXED) == process_forks()) {
            __atomic_store_n(&handle->dns, (uint32_t)dns, __ATOMIC_RELAXED);
            told = true;
        }
    }
    return told;
}
