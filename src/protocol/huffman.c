/*
 * See huffman.h. The code is canonical: the codes of one length are consecutive numbers, in the order of their symbols, and
 * none of them is the beginning of a longer one. So a length, its first code and how many there are say it all.
 */
#include "protocol/huffman.h"

/* All bytes, by the length of their code and then by the code. */
static const uint8_t symbols[256] = {
    48,  49,  50,  97,  99,  101, 105, 111, 115, 116, 32,  37,  45,  46,  47,  51,  52,  53,  54,  55,  56,  57,
    61,  65,  95,  98,  100, 102, 103, 104, 108, 109, 110, 112, 114, 117, 58,  66,  67,  68,  69,  70,  71,  72,
    73,  74,  75,  76,  77,  78,  79,  80,  81,  82,  83,  84,  85,  86,  87,  89,  106, 107, 113, 118, 119, 120,
    121, 122, 38,  42,  44,  59,  88,  90,  33,  34,  40,  41,  63,  39,  43,  124, 35,  62,  0,   36,  64,  91,
    93,  126, 94,  125, 60,  96,  123, 92,  195, 208, 128, 130, 131, 162, 184, 194, 224, 226, 153, 161, 167, 172,
    176, 177, 179, 209, 216, 217, 227, 229, 230, 129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170,
    173, 178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233, 1,   135, 137, 138, 139, 140, 141, 143, 147,
    149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180, 182, 183, 188, 191, 197, 231, 239, 9,   142,
    144, 145, 148, 159, 171, 206, 215, 225, 236, 237, 199, 207, 234, 235, 192, 193, 200, 201, 202, 205, 210, 213,
    218, 219, 238, 240, 242, 243, 255, 203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250,
    251, 252, 253, 254, 2,   3,   4,   5,   6,   7,   8,   11,  12,  14,  15,  16,  17,  18,  19,  20,  21,  23,
    24,  25,  26,  27,  28,  29,  30,  31,  127, 220, 249, 10,  13,  22};

/* The last has one code more, all ones: the end of a string, which may not be written. */
static const struct length {
    uint8_t bits;
    uint8_t count;
    uint16_t at; /* of its first symbol */
    uint32_t first;
} lengths[] = {{5, 10, 0, 0x0},         {6, 26, 10, 0x14},        {7, 32, 36, 0x5c},        {8, 6, 68, 0xf8},
               {10, 5, 74, 0x3f8},      {11, 3, 79, 0x7fa},       {12, 2, 82, 0xffa},       {13, 6, 84, 0x1ff8},
               {14, 2, 90, 0x3ffc},     {15, 3, 92, 0x7ffc},      {19, 3, 95, 0x7fff0},     {20, 8, 98, 0xfffe6},
               {21, 13, 106, 0x1fffdc}, {22, 26, 119, 0x3fffd2},  {23, 29, 145, 0x7fffd8},  {24, 12, 174, 0xffffea},
               {25, 4, 186, 0x1ffffec}, {26, 15, 190, 0x3ffffe0}, {27, 19, 205, 0x7ffffde}, {28, 29, 224, 0xfffffe2},
               {30, 3, 253, 0x3ffffffc}};

#define LENGTHS (sizeof lengths / sizeof lengths[0])
#define LONGEST 30

#define SHORT_MOST 8 /* bits of the codes of four lengths: nearly all of what is ever written */
#define SHORTS     4

/* Which of those lengths a code has, by its first eight bits (0: none of them), zeros behind it if there are fewer. */
#define X2(n)   n, n
#define X8(n)   X2(n), X2(n), X2(n), X2(n)
#define X16(n)  X8(n), X8(n)
#define X64(n)  X16(n), X16(n), X16(n), X16(n)
#define SHORT_5 X64(1), X16(1)                /* 10 codes, 8 times each */
#define SHORT_6 X64(2), X16(2), X16(2), X8(2) /* 26, 4 times each */
#define SHORT_7 X64(3)                        /* 32, twice each */
#define SHORT_8 X2(4), X2(4), X2(4)           /* 6 */
static const uint8_t shorts[256] = {SHORT_5, SHORT_6, SHORT_7, SHORT_8};

/* The symbol whose code is next, a long one; false: it is not complete yet, or there is none. */
static bool take_long(struct huffman *huffman, uint8_t *symbol)
{
    for (size_t i = SHORTS; i < LENGTHS && lengths[i].bits <= huffman->count; i++) {
        uint8_t rest = (uint8_t)(huffman->count - lengths[i].bits);
        uint32_t code = (uint32_t)(huffman->bits >> rest) - lengths[i].first;

        if (code < lengths[i].count) {
            huffman->bits &= (UINT64_C(1) << rest) - 1;
            huffman->count = rest;
            *symbol = symbols[lengths[i].at + code];
            return true;
        }
    }
    return false;
}

static inline bool take(struct huffman *huffman, uint8_t *symbol)
{
    unsigned count = huffman->count;
    uint64_t next = count < SHORT_MOST ? huffman->bits << (SHORT_MOST - count) : huffman->bits >> (count - SHORT_MOST);
    uint8_t which = shorts[(uint8_t)next];

    if (which == 0) {
        return take_long(huffman, symbol);
    }
    const struct length *length = &lengths[which - 1];

    if (length->bits > count) {
        return false;
    }
    count -= length->bits;
    *symbol = symbols[length->at + (uint8_t)(huffman->bits >> count) - length->first];
    huffman->bits &= (UINT64_C(1) << count) - 1;
    huffman->count = (uint8_t)count;
    return true;
}

int huffman_feed(struct huffman *huffman, uint8_t byte, uint8_t out[HUFFMAN_MOST])
{
    int count = 0;

    huffman->bits = huffman->bits << 8 | byte;
    huffman->count += 8;
    while (count < HUFFMAN_MOST && take(huffman, &out[count])) {
        count++;
    }
    return huffman->count < LONGEST ? count : -1;
}

bool huffman_ends(const struct huffman *huffman)
{
    return huffman->count < 8 && huffman->bits == (UINT64_C(1) << huffman->count) - 1;
}
