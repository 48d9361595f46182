/*
 * Finding what we remember of libcurl's handles: fixed arrays of their addresses, in which each has a few places where it
 * may stand. Finding, taking and giving back need no lock; a key is given back by storing 0. Pure.
 */
#ifndef TRACK_CURL_KEYS_H
#define TRACK_CURL_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* How many places a key may be in. None is ever skipped in a search, so giving one back leaves no trace. */
#define CURL_KEYS_WINDOW 32

/* The place of a key; `count`, the number of places, if it has none. */
size_t curl_keys_find(const uintptr_t *keys, size_t count, uintptr_t key);
/* A place for a key that has none yet, taken; `count`: all that it may have are taken. */
size_t curl_keys_take(uintptr_t *keys, size_t count, uintptr_t key);

#endif
