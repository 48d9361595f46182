#include "track/curl_api.h"

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
    {"curl_free", offsetof(struct curl_api, free), true},
    {"curl_url", offsetof(struct curl_api, url), true},
    {"curl_url_cleanup", offsetof(struct curl_api, url_cleanup), true},
    {"curl_url_set", offsetof(struct curl_api, url_set), true},
    {"curl_url_get", offsetof(struct curl_api, url_get), true},
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
