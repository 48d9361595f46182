/*
 * HPACK (RFC 7541) seen in passing: the header blocks of one direction of an HTTP/2 connection in, in any pieces, fields
 * out. Every field is followed exactly, since each may change the dynamic table; kept are only the values of fields that
 * somebody asked for. One decoder for each direction; a plain value, about 8 KiB.
 *
 * What is malformed, and a table with more entries or longer values than there is room for (one of the default size always
 * fits), ends it for good: what follows could not be read.
 *
 * Pure and async-signal-safe.
 */
#ifndef PROTOCOL_HPACK_H
#define PROTOCOL_HPACK_H

#include "protocol/huffman.h"

#define HPACK_DEFAULT 4096 /* size of a dynamic table, unless a SETTINGS frame says otherwise */
#define HPACK_ROWS    62   /* of the static table, which counts from 1 */
#define HPACK_ENTRIES 256  /* of them, at most: of 32 bytes and more each */
#define HPACK_TEXTS   4096 /* bytes of values that are kept with them */
#define HPACK_VALUE   256  /* longer values are not kept; nor are names, they are not asked for */

/* Which field is this, for whoever reads them; 0: of no interest. Always the same, and never HPACK_UNASKED. */
#define HPACK_UNASKED 255
typedef uint8_t hpack_asker(const char *name, size_t length);

enum hpack_event {
    HPACK_MORE,  /* all bytes taken, nothing to tell */
    HPACK_FIELD, /* a field that was asked for is complete: field, value and length are valid until the next feed */
    HPACK_BAD    /* malformed, or too much: for good */
};

struct hpack_entry {
    uint32_t size;        /* as the table counts it: of its name and its value, and 32 */
    uint32_t name_length; /* of it */
    uint16_t at;          /* of its value in texts */
    uint16_t length;      /* of that; HPACK_CUT: it was too long to be kept */
    uint8_t field;
};
#define HPACK_CUT UINT16_MAX

struct hpack {
    hpack_asker *ask;
    /* the table */
    uint32_t size, capacity, limit;
    uint16_t count, newest; /* entries: a ring */
    uint16_t text_end, text_used;
    uint8_t rows[HPACK_ROWS]; /* which fields those of the static table are, as far as was asked */
    /* the field being read */
    uint8_t state;
    uint8_t kind;
    uint8_t shift; /* of the next seven bits of number */
    bool coded;    /* the string is Huffman's */
    bool begun;    /* a field of this block was read: its size is not updated any more */
    uint8_t field; /* as told */
    uint16_t length;
    uint32_t number;
    uint32_t left; /* bytes of the string to come */
    uint32_t name_length, value_length;
    struct huffman huffman;
    char value[HPACK_VALUE]; /* as told; the name while it is read */
    struct hpack_entry entries[HPACK_ENTRIES];
    char texts[HPACK_TEXTS]; /* a ring */
};

void hpack_begin(struct hpack *hpack, hpack_asker *ask);

/* The other side allows a table of this size (SETTINGS_HEADER_TABLE_SIZE): of all that it ever did, the largest counts. */
void hpack_allow(struct hpack *hpack, uint32_t size);

/*
 * The bytes of a header block, up to and including the next event; *taken says how many. Feed the rest until it is
 * HPACK_MORE or HPACK_BAD.
 */
enum hpack_event hpack_feed(struct hpack *hpack, const uint8_t *bytes, size_t length, size_t *taken);

/* The block ends here. False: in the middle of a field. */
bool hpack_block_end(struct hpack *hpack);

#endif
