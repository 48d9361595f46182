/*
 * The Huffman code of HPACK (RFC 7541 appendix B), byte by byte: bytes in, symbols out as they are complete.
 *
 * Pure and async-signal-safe; a struct huffman is a plain value, and zeroed, it stands before a string.
 */
#ifndef PROTOCOL_HUFFMAN_H
#define PROTOCOL_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct huffman {
    uint64_t bits; /* those that belong to no symbol yet, the last one lowest */
    uint8_t count; /* of them */
};

#define HUFFMAN_MOST 2 /* symbols that may end with one byte: one that was begun, and one of the seven bits behind it */

/* Takes a byte; how many symbols it completed, put into *symbols. Negative: no code begins so (the end-of-string symbol). */
int huffman_feed(struct huffman *huffman, uint8_t byte, uint8_t symbols[HUFFMAN_MOST]);

/* The string ends here. Is what is left the padding that there may be: up to seven bits, all of them set? */
bool huffman_ends(const struct huffman *huffman);

#endif
