#include "track/curl/api.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define APIS 8

static const struct {
    const char *name;
    size_t offset;
    bool needed;
} functions[] = {
    {"curl_easy_setopt", offsetof(struct curl_api, easy_setopt), true},
    {"curl_easy_perform", offsetof(struct curl_api, easy_perform), true},
    {"curl_easy_getinfo", offsetof(struct curl_api, easy_getinfo), true},
    {"curl_easy_reset", offsetof(struct curl_api, easy_reset), true},
    {"curl_easy_duphandle", offsetof(struct curl_api, easy_duphandle), true},
    {"curl_easy_cleanup", offsetof(struct curl_api, easy_cleanup), true},
    {"curl_easy_pause", offsetof(struct curl_api, easy_pause), true},
    {"curl_free", offsetof(struct curl_api, free), true},
    {"curl_url", offsetof(struct curl_api, url), true},
    {"curl_url_cleanup", offsetof(struct curl_api, url_cleanup), true},
    {"curl_url_set", offsetof(struct curl_api, url_set), true},
    {"curl_url_get", offsetof(struct curl_api, url_get), true},
    {"curl_multi_init", offsetof(struct curl_api, multi_init), true},
    {"curl_multi_cleanup", offsetof(struct curl_api, multi_cleanup), true},
    {"curl_multi_add_handle", offsetof(struct curl_api, multi_add_handle), true},
    {"curl_multi_remove_handle", offsetof(struct curl_api, multi_remove_handle), true},
    {"curl_multi_info_read", offsetof(struct curl_api, multi_info_read), true},
    {"curl_multi_perform", offsetof(struct curl_api, multi_perform), true},
    {"curl_multi_socket_action", offsetof(struct curl_api, multi_socket_action), true},
    {"curl_multi_socket", offsetof(struct curl_api, multi_socket), false},
    {"curl_multi_socket_all", offsetof(struct curl_api, multi_socket_all), false},
    {"curl_easy_header", offsetof(struct curl_api, easy_header), false},
};

enum { FREE, TAKEN, GOOD, LACKING };

static struct {
    uint32_t state; /* written last */
    struct curl_api api;
} apis[APIS];

static bool fill(struct curl_api *api, __typeof__(curl_easy_init) *easy_init)
{
    union {
        __typeof__(curl_easy_init) *function;
        const void *object;
    } init = {.function = easy_init};
    bool complete = true;

    api->easy_init = easy_init;
    api->range = real_range_of(init.object);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = real_beside(functions[i].name, init.object);

        memcpy((char *)api + functions[i].offset, &function, sizeof function);
        complete = complete && (function != NULL || !functions[i].needed);
    }
    return complete;
}

const struct curl_api *curl_api_of(__typeof__(curl_easy_init) *easy_init)
{
    for (size_t i = 0; i < APIS; i++) {
        uint32_t state = __atomic_load_n(&apis[i].state, __ATOMIC_ACQUIRE);

        if (state >= GOOD && apis[i].api.easy_init == easy_init) {
            return state == GOOD ? &apis[i].api : NULL;
        }
        /* Two threads that come first together fill two places with the same: no harm. */
        if (state == FREE &&
            __atomic_compare_exchange_n(&apis[i].state, &state, TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            state = fill(&apis[i].api, easy_init) ? GOOD : LACKING;
            __atomic_store_n(&apis[i].state, state, __ATOMIC_RELEASE);
            return state == GOOD ? &apis[i].api : NULL;
        }
    }
    return NULL;
}

const struct curl_api *curl_api_beside(__typeof__(curl_multi_init) *multi_init)
{
    union {
        __typeof__(curl_multi_init) *function;
        const void *object;
    } here = {.function = multi_init};
    const struct curl_api *api = curl_api_at(here.object);

    if (api == NULL) {
        union {
            void *object;
            __typeof__(curl_easy_init) *function;
        } easy_init = {.object = real_beside("curl_easy_init", here.object)};

        api = easy_init.function != NULL ? curl_api_of(easy_init.function) : NULL;
    }
    return api;
}

const struct curl_api *curl_api_at(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;

    for (size_t i = 0; i < APIS && __atomic_load_n(&apis[i].state, __ATOMIC_ACQUIRE) != FREE; i++) {
        const struct curl_api *api = &apis[i].api;

        if (__atomic_load_n(&apis[i].state, __ATOMIC_ACQUIRE) == GOOD && at >= api->range.from && at < api->range.to) {
            return api;
        }
    }
    return NULL;
}
