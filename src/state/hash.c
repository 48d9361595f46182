/*
 * SipHash-2-4 (Aumasson, Bernstein): names come off the wire, so that nobody who can choose them may choose where they
 * fall in a table.
 */
#include "state/state.h"
#include <endian.h>
#include <string.h>

static inline uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

/* Bytes as a little-endian number, so that a region's hashes are those of every machine that can read it. */
static inline uint64_t eight(const unsigned char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

static inline uint64_t fewer(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;

    for (size_t i = 0; i < count; i++) {
        word |= (uint64_t)bytes[i] << 8 * i;
    }
    return word;
}

uint64_t state_hash(uint64_t seed, const void *bytes, size_t length)
{
    const uint64_t key[2] = {seed, UINT64_C(0x707265627265616b)}; /* the seed is all that is secret */
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    const unsigned char *next = bytes;
    uint64_t hash;

    for (size_t left = length / 8; left > 0; left--, next += 8) {
        sip_word(v, eight(next));
    }
    sip_word(v, fewer(next, length % 8) | (uint64_t)length << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++) {
        sip_round(v);
    }
    hash = v[0] ^ v[1] ^ v[2] ^ v[3];
    return hash ? hash : 1;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

size_t state_name_sound(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-@:/[]";
    size_t length;

    if (!name) {
        return 0;
    }
    for (length = 0; length < PREBREAK_NAME && name[length]; length++) {
        if (!memchr(allowed, name[length], sizeof allowed - 1)) {
            return 0;
        }
    }
    return length < PREBREAK_NAME ? length : 0;
}
