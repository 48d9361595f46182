/*
 * Which names this process has resolved to which addresses: a fixed table, filled by getaddrinfo and the gethostbyname
 * family, asked at connect. Up to four names are kept for an address, the calling thread's latest first.
 *
 * A reader never waits: what is being written just now is not found. Lock-free; async-signal-safe.
 */
#ifndef TRACK_NAMES_NAMES_H
#define TRACK_NAMES_NAMES_H

#include "track/names/address.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_HOST        254 /* bytes of a name with its NUL */
#define NAMES_PER_ADDRESS 4
#define NAMES_ADDRESSES   16 /* of one name that are remembered */

/* A name (as the program gave it) was resolved to these addresses. Figures and what is no name are not noted. */
void names_resolved(const char *name, const struct address *addresses, size_t count);

/*
 * How many names an address has; the one at `index` is copied out if there is one. The first (0) is the calling thread's
 * latest one, if any of them is.
 */
size_t names_of(const struct address *address, size_t index, char host[NAMES_HOST]);

/* Was this name resolved to this address? */
bool names_has(const struct address *address, const char *host);

/*
 * How many addresses did this name resolve to last? 0: unknown. Their hashes (names_address_hash) into `hashes`.
 */
size_t names_addresses(const char *host, uint32_t hashes[NAMES_ADDRESSES]);
uint32_t names_address_hash(const struct address *address);

/* Maps the tables: before a seccomp filter. */
void names_prepare(void);

#endif
