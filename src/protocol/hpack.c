#include "protocol/hpack_inner.h"

#include <string.h>

enum state {
    S_FIELD,  /* the first byte of a field, or of an update of the table's size */
    S_NUMBER, /* the rest of its number: an index, or a size */
    S_NAME_LENGTH,
    S_NAME_LENGTH_REST,
    S_NAME,
    S_VALUE_LENGTH,
    S_VALUE_LENGTH_REST,
    S_VALUE,
    S_BAD
};

enum kind { INDEXED, INSERTED, PASSING, RESIZED };

/* How a field may begin, by its first byte: the first row that fits (RFC 7541 section 6). */
static const struct beginning {
    uint8_t bit;    /* set, and none before it */
    uint8_t prefix; /* what of the byte is a number */
    uint8_t kind;
} beginnings[] = {
    {0x80, 0x7f, INDEXED}, {0x40, 0x3f, INSERTED},
    {0x20, 0x1f, RESIZED}, {0x10, 0x0f, PASSING}, /* never to be indexed */
    {0x00, 0x0f, PASSING},
};

void hpack_begin(struct hpack *hpack, hpack_asker *ask)
{
    memset(hpack, 0, offsetof(struct hpack, value));
    memset(hpack->rows, HPACK_UNASKED, sizeof hpack->rows);
    hpack->ask = ask;
    hpack->capacity = hpack->limit = HPACK_DEFAULT;
}

void hpack_allow(struct hpack *hpack, uint32_t size)
{
    hpack->limit = size > hpack->limit ? size : hpack->limit;
}

bool hpack_block_end(struct hpack *hpack)
{
    hpack->begun = false;
    return hpack->state == S_FIELD;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

/* The first byte's part of a number; true: that is all of it. */
static bool number_begin(struct hpack *hpack, uint8_t byte, uint8_t prefix)
{
    hpack->number = byte & prefix;
    hpack->shift = 0;
    return hpack->number < prefix;
}

enum number { NUMBER_MORE, NUMBER_DONE, NUMBER_BAD };

#define SHIFT_MOST 21 /* 28 bits and the prefix: no string or table is as large */

static enum number number_feed(struct hpack *hpack, uint8_t byte)
{
    if (hpack->shift > SHIFT_MOST) {
        return NUMBER_BAD;
    }
    hpack->number += (uint32_t)(byte & 0x7f) << hpack->shift;
    hpack->shift += 7;
    return (byte & 0x80) != 0 ? NUMBER_MORE : NUMBER_DONE;
}

/* ---- strings ------------------------------------------------------------------------------------------------------ */

/* A byte of the name or the value, decoded. */
static void put(struct hpack *hpack, uint32_t *length, uint8_t byte)
{
    if (*length < HPACK_VALUE) {
        hpack->value[*length] = (char)byte;
    }
    ++*length;
}

/* Does anybody want to know this value, or the table how long it is? */
static bool is_wanted(const struct hpack *hpack)
{
    return hpack->state == S_NAME || hpack->field != 0 || hpack->kind == INSERTED;
}

static bool string_feed(struct hpack *hpack, const uint8_t *bytes, size_t count)
{
    uint32_t *length = hpack->state == S_NAME ? &hpack->name_length : &hpack->value_length;
    uint8_t symbols[HUFFMAN_MOST];

    if (!is_wanted(hpack)) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (!hpack->coded) {
            put(hpack, length, bytes[i]);
            continue;
        }
        int found = huffman_feed(&hpack->huffman, bytes[i], symbols);

        if (found < 0) {
            return false;
        }
        for (int j = 0; j < found; j++) {
            put(hpack, length, symbols[j]);
        }
    }
    return true;
}

static bool string_ends(const struct hpack *hpack)
{
    return !hpack->coded || huffman_ends(&hpack->huffman);
}

/* ---- fields ------------------------------------------------------------------------------------------------------- */

/* It is complete. Is it one that was asked for? */
static enum hpack_event tell(const struct hpack *hpack)
{
    return hpack->field != 0 && hpack->length != HPACK_CUT ? HPACK_FIELD : HPACK_MORE;
}

static enum hpack_event bad(struct hpack *hpack)
{
    hpack->state = S_BAD;
    return HPACK_BAD;
}

static enum hpack_event value_end(struct hpack *hpack)
{
    if (!string_ends(hpack)) {
        return bad(hpack);
    }
    hpack->length = hpack->value_length <= HPACK_VALUE ? (uint16_t)hpack->value_length : HPACK_CUT;
    if (hpack->kind == INSERTED && !hpack_table_insert(hpack)) {
        return bad(hpack);
    }
    hpack->state = S_FIELD;
    return tell(hpack);
}

static enum hpack_event name_end(struct hpack *hpack)
{
    if (!string_ends(hpack)) {
        return bad(hpack);
    }
    hpack->field = hpack->name_length <= HPACK_VALUE ? hpack->ask(hpack->value, hpack->name_length) : 0;
    hpack->state = S_VALUE_LENGTH;
    return HPACK_MORE;
}

/* The number of its first bytes is known: an index, 0 for a name of its own, or the table's size. */
static enum hpack_event numbered(struct hpack *hpack)
{
    hpack->name_length = hpack->value_length = 0;
    if (hpack->kind == RESIZED) {
        if (hpack->begun || hpack->number > hpack->limit) {
            return bad(hpack);
        }
        hpack_table_resize(hpack, hpack->number);
        hpack->state = S_FIELD;
        return HPACK_MORE;
    }
    hpack->begun = true;
    if (hpack->kind != INDEXED && hpack->number == 0) {
        hpack->state = S_NAME_LENGTH;
        return HPACK_MORE;
    }
    if (!hpack_table_name(hpack, hpack->number)) {
        return bad(hpack);
    }
    if (hpack->kind != INDEXED) {
        hpack->state = S_VALUE_LENGTH;
        return HPACK_MORE;
    }
    hpack->state = S_FIELD;
    if (hpack->field != 0) {
        hpack_table_value(hpack, hpack->number);
    }
    return tell(hpack);
}

static enum hpack_event begin(struct hpack *hpack, uint8_t byte)
{
    const struct beginning *beginning = beginnings;

    while ((byte & beginning->bit) != beginning->bit) {
        beginning++;
    }
    hpack->kind = beginning->kind;
    if (!number_begin(hpack, byte, beginning->prefix)) {
        hpack->state = S_NUMBER;
        return HPACK_MORE;
    }
    return numbered(hpack);
}

/* The length of a string is known. */
static enum hpack_event measured(struct hpack *hpack, bool name)
{
    hpack->state = name ? S_NAME : S_VALUE;
    hpack->left = hpack->number;
    hpack->huffman = (struct huffman){0, 0};
    if (hpack->left > 0) {
        return HPACK_MORE;
    }
    return name ? name_end(hpack) : value_end(hpack);
}

/* ---- bytes -------------------------------------------------------------------------------------------------------- */

/* One byte that is no part of a string. */
static enum hpack_event byte_feed(struct hpack *hpack, uint8_t byte)
{
    bool name = hpack->state == S_NAME_LENGTH || hpack->state == S_NAME_LENGTH_REST;
    enum number number;

    switch ((enum state)hpack->state) {
    case S_FIELD:
        return begin(hpack, byte);
    case S_NAME_LENGTH:
    case S_VALUE_LENGTH:
        hpack->coded = (byte & 0x80) != 0;
        if (number_begin(hpack, byte, 0x7f)) {
            return measured(hpack, name);
        }
        hpack->state = name ? S_NAME_LENGTH_REST : S_VALUE_LENGTH_REST;
        return HPACK_MORE;
    default:
        number = number_feed(hpack, byte);
        break;
    }
    if (number != NUMBER_DONE) {
        return number == NUMBER_BAD ? bad(hpack) : HPACK_MORE;
    }
    return hpack->state == S_NUMBER ? numbered(hpack) : measured(hpack, name);
}

enum hpack_event hpack_feed(struct hpack *hpack, const uint8_t *bytes, size_t length, size_t *taken)
{
    enum hpack_event event = hpack->state == S_BAD ? HPACK_BAD : HPACK_MORE;

    *taken = 0;
    while (event == HPACK_MORE && *taken < length) {
        bool name = hpack->state == S_NAME;

        if (!name && hpack->state != S_VALUE) {
            event = byte_feed(hpack, bytes[(*taken)++]);
            continue;
        }
        size_t step = length - *taken < hpack->left ? length - *taken : hpack->left;

        if (!string_feed(hpack, bytes + *taken, step)) {
            return bad(hpack);
        }
        *taken += step;
        hpack->left -= (uint32_t)step;
        if (hpack->left == 0) {
            event = name ? name_end(hpack) : value_end(hpack);
        }
    }
    return event;
}
