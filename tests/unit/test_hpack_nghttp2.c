/*
 * The decoder beside nghttp2's: fields at random, encoded by nghttp2 with its choice of table and code, read by both.
 *
 * link with: -lnghttp2
 */
#include "suite.h"
#include "hpack_rig.h"

#include <nghttp2/nghttp2.h>

/* ---- fields at random --------------------------------------------------------------------------------------------- */

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % below;
}

static const char *const field_names[] = {":status",
                                          ":authority",
                                          ":path",
                                          "content-type",
                                          "date",
                                          "retry-after",
                                          "set-cookie",
                                          "x-request-id",
                                          "grpc-status",
                                          "server",
                                          "via",
                                          "x-y",
                                          "vary",
                                          "location",
                                          "etag",
                                          "x-ratelimit-reset-requests",
                                          "a-name-that-nobody-has-ever-heard-of"};

#define FIELDS 12

struct block {
    nghttp2_nv fields[FIELDS];
    uint8_t values[FIELDS][400];
    size_t count;
    uint8_t bytes[FIELDS * 512];
    size_t length;
};

static void draw_block(struct block *block)
{
    block->count = 1 + draw(FIELDS);
    for (size_t i = 0; i < block->count; i++) {
        const char *name = field_names[draw(COUNT(field_names))];
        size_t length = draw(8) == 0 ? draw(400) : draw(30);
        bool text = draw(4) != 0;
        uint32_t few = draw(2) == 0 ? 3 : 90; /* some values come again */

        for (size_t at = 0; at < length; at++) {
            block->values[i][at] = (uint8_t)(text ? ' ' + draw(few) : draw(256));
        }
        block->fields[i] = (nghttp2_nv){(uint8_t *)(uintptr_t)name, block->values[i], strlen(name), length,
                                        draw(5) == 0 ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
    }
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

struct pair {
    nghttp2_hd_deflater *encoder;
    nghttp2_hd_inflater *theirs;
    struct hpack ours;
};

static void check_fields(struct pair *pair, const struct block *block)
{
    size_t at = 0;

    for (size_t i = 0; i < block->count; i++) {
        const nghttp2_nv *field = &block->fields[i];

        if (field->valuelen > HPACK_VALUE) {
            continue;
        }
        enum hpack_event event = HPACK_MORE;

        while (event == HPACK_MORE) {
            size_t step = 1 + draw(40), taken;

            ck_assert_uint_lt(at, block->length);
            step = step < block->length - at ? step : block->length - at;
            event = hpack_feed(&pair->ours, block->bytes + at, step, &taken);
            at += taken;
        }
        ck_assert_int_eq(event, HPACK_FIELD);
        ck_assert_uint_eq(pair->ours.length, field->valuelen);
        ck_assert_mem_eq(pair->ours.value, field->value, field->valuelen);
        ck_assert_str_eq(names[pair->ours.field].text, (const char *)field->name);
    }
    size_t taken;

    ck_assert_int_eq(hpack_feed(&pair->ours, block->bytes + at, block->length - at, &taken), HPACK_MORE);
    ck_assert(hpack_block_end(&pair->ours));
}

static void check_tables(const struct pair *pair)
{
    size_t count = nghttp2_hd_inflate_get_num_table_entries(pair->theirs) - 61;

    ck_assert_uint_eq(pair->ours.count, count);
    ck_assert_uint_eq(pair->ours.size, nghttp2_hd_inflate_get_dynamic_table_size(pair->theirs));
    for (size_t i = 0; i < count; i++) {
        const nghttp2_nv *theirs = nghttp2_hd_inflate_get_table_entry(pair->theirs, 62 + i);
        const struct hpack_entry *ours = &pair->ours.entries[(pair->ours.newest + HPACK_ENTRIES - i) % HPACK_ENTRIES];

        ck_assert_uint_eq(ours->name_length, theirs->namelen);
        ck_assert_uint_eq(ours->size, theirs->namelen + theirs->valuelen + 32);
        ck_assert_str_eq(names[ours->field].text, (const char *)theirs->name);
        ck_assert_int_eq(ours->length, theirs->valuelen > HPACK_VALUE ? HPACK_CUT : theirs->valuelen);
        for (size_t j = 0; ours->length != HPACK_CUT && j < ours->length; j++) {
            ck_assert_int_eq((uint8_t)pair->ours.texts[(ours->at + j) % HPACK_TEXTS], theirs->value[j]);
        }
    }
}

static void read_theirs(struct pair *pair, const struct block *block)
{
    const uint8_t *at = block->bytes;
    int flags = 0;

    while ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) {
        nghttp2_nv field;
        ssize_t taken =
            nghttp2_hd_inflate_hd2(pair->theirs, &field, &flags, at, (size_t)(block->bytes + block->length - at), 1);

        ck_assert_int_ge(taken, 0);
        at += taken;
    }
    nghttp2_hd_inflate_end_headers(pair->theirs);
}

/* The decoder's side allows another size, and says so in SETTINGS. */
static void resize(struct pair *pair)
{
    size_t size = draw(3) == 0 ? 0 : draw(4097);

    ck_assert_int_eq(nghttp2_hd_inflate_change_table_size(pair->theirs, size), 0);
    ck_assert_int_eq(nghttp2_hd_deflate_change_table_size(pair->encoder, size), 0);
    hpack_allow(&pair->ours, (uint32_t)size);
}

START_TEST(fields_and_tables_are_those_that_nghttp2_has)
{
    static struct block block;
    struct pair pair;

    seed = 2463534242u + (uint32_t)_i * 7919u;
    ck_assert_int_eq(nghttp2_hd_deflate_new(&pair.encoder, 4096), 0);
    ck_assert_int_eq(nghttp2_hd_inflate_new(&pair.theirs), 0);
    hpack_begin(&pair.ours, name_of);
    for (int i = 0; i < 300; i++) {
        if (draw(20) == 0) {
            resize(&pair);
        }
        draw_block(&block);
        ssize_t length =
            nghttp2_hd_deflate_hd(pair.encoder, block.bytes, sizeof block.bytes, block.fields, block.count);

        ck_assert_int_gt(length, 0);
        block.length = (size_t)length;
        read_theirs(&pair, &block);
        check_fields(&pair, &block);
        check_tables(&pair);
    }
    nghttp2_hd_deflate_del(pair.encoder);
    nghttp2_hd_inflate_del(pair.theirs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hpack beside nghttp2");
    TCase *tcase = tcase_create("hpack beside nghttp2");

    tcase_add_loop_test(tcase, fields_and_tables_are_those_that_nghttp2_has, 0, 20);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
