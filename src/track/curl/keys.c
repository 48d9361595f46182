#include "track/curl/keys.h"

#include <stdbool.h>

/* Handles are malloc's: their low bits say little. */
static size_t first_place(size_t count, uintptr_t key)
{
    return (size_t)((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % count;
}

size_t curl_keys_find(const uintptr_t *keys, size_t count, uintptr_t key)
{
    size_t first = first_place(count, key);

    for (size_t i = 0; i < CURL_KEYS_WINDOW; i++) {
        size_t place = (first + i) % count;

        if (__atomic_load_n(&keys[place], __ATOMIC_ACQUIRE) == key) {
            return place;
        }
    }
    return count;
}

size_t curl_keys_take(uintptr_t *keys, size_t count, uintptr_t key)
{
    size_t first = first_place(count, key);

    for (size_t i = 0; i < CURL_KEYS_WINDOW; i++) {
        size_t place = (first + i) % count;
        uintptr_t none = 0;

        if (__atomic_compare_exchange_n(&keys[place], &none, key, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            return place;
        }
    }
    return count;
}
