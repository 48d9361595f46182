#include "suite.h"
#include "hpack_rig.h"

/* ---- RFC 7541 appendix C ------------------------------------------------------------------------------------------ */

static const struct example {
    const char *section;
    uint32_t capacity;
    struct {
        const char *hex, *fields;
        uint32_t size; /* of the table afterwards */
    } blocks[3];
} examples[] = {
    {"C.2.1",
     4096,
     {
         {"400a637573746f6d2d6b65790d637573746f6d2d686561646572", "custom-key: custom-header\n", 55},
     }},
    {"C.2.2",
     4096,
     {
         {"040c2f73616d706c652f70617468", ":path: /sample/path\n", 0},
     }},
    {"C.2.3",
     4096,
     {
         {"100870617373776f726406736563726574", "password: secret\n", 0},
     }},
    {"C.2.4",
     4096,
     {
         {"82", ":method: GET\n", 0},
     }},
    {"C.3",
     4096,
     {
         {"828684410f7777772e6578616d706c652e636f6d",
          ":method: GET\n"
          ":scheme: http\n"
          ":path: /\n"
          ":authority: www.example.com\n",
          57},
         {"828684be58086e6f2d6361636865",
          ":method: GET\n"
          ":scheme: http\n"
          ":path: /\n"
          ":authority: www.example.com\n"
          "cache-control: no-cache\n",
          110},
         {"828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
          ":method: GET\n"
          ":scheme: https\n"
          ":path: /index.html\n"
          ":authority: www.example.com\n"
          "custom-key: custom-value\n",
          164},
     }},
    {"C.4",
     4096,
     {
         {"828684418cf1e3c2e5f23a6ba0ab90f4ff",
          ":method: GET\n"
          ":scheme: http\n"
          ":path: /\n"
          ":authority: www.example.com\n",
          57},
         {"828684be5886a8eb10649cbf",
          ":method: GET\n"
          ":scheme: http\n"
          ":path: /\n"
          ":authority: www.example.com\n"
          "cache-control: no-cache\n",
          110},
         {"828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
          ":method: GET\n"
          ":scheme: https\n"
          ":path: /index.html\n"
          ":authority: www.example.com\n"
          "custom-key: custom-value\n",
          164},
     }},
    {"C.5",
     256,
     {
         {"4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e17687474"
          "70733a2f2f7777772e6578616d706c652e636f6d",
          ":status: 302\n"
          "cache-control: private\n"
          "date: Mon, 21 Oct 2013 20:13:21 GMT\n"
          "location: https://www.example.com\n",
          222},
         {"4803333037c1c0bf",
          ":status: 307\n"
          "cache-control: private\n"
          "date: Mon, 21 Oct 2013 20:13:21 GMT\n"
          "location: https://www.example.com\n",
          222},
         {"88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a"
          "4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
          ":status: 200\n"
          "cache-control: private\n"
          "date: Mon, 21 Oct 2013 20:13:22 GMT\n"
          "location: https://www.example.com\n"
          "content-encoding: gzip\n"
          "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n",
          215},
     }},
    {"C.6",
     256,
     {
         {"488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae"
          "82ae43d3",
          ":status: 302\n"
          "cache-control: private\n"
          "date: Mon, 21 Oct 2013 20:13:21 GMT\n"
          "location: https://www.example.com\n",
          222},
         {"4883640effc1c0bf",
          ":status: 307\n"
          "cache-control: private\n"
          "date: Mon, 21 Oct 2013 20:13:21 GMT\n"
          "location: https://www.example.com\n",
          222},
         {"88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960"
          "d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
          ":status: 200\n"
          "cache-control: private\n"
          "date: Mon, 21 Oct 2013 20:13:22 GMT\n"
          "location: https://www.example.com\n"
          "content-encoding: gzip\n"
          "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n",
          215},
     }},
};

static void run_example(const struct example *example, size_t piece)
{
    struct hpack hpack;

    hpack_begin(&hpack, name_of);
    hpack_table_resize(&hpack, example->capacity);
    for (size_t i = 0; i < COUNT(example->blocks) && example->blocks[i].hex != NULL; i++) {
        uint8_t bytes[512];
        char text[1024] = "";
        size_t length = from_hex(example->blocks[i].hex, bytes);

        ck_assert_int_eq(feed(&hpack, bytes, length, piece, text, sizeof text), HPACK_MORE);
        ck_assert(hpack_block_end(&hpack));
        ck_assert_str_eq(text, example->blocks[i].fields);
        ck_assert_uint_eq(hpack.size, example->blocks[i].size);
    }
}

START_TEST(examples_of_the_rfc_say_what_the_rfc_says)
{
    run_example(&examples[_i], SIZE_MAX);
}
END_TEST

START_TEST(examples_of_the_rfc_say_the_same_in_pieces_of_any_size)
{
    for (size_t piece = 1; piece < 24; piece++) {
        run_example(&examples[_i], piece);
    }
}
END_TEST

START_TEST(numbers_of_the_rfc_are_read_as_sizes_of_the_table)
{
    struct hpack hpack;

    hpack_begin(&hpack, name_of);
    ck_assert_int_eq(feed_hex(&hpack, "2a"), HPACK_MORE); /* section C.1.1 */
    ck_assert_uint_eq(hpack.capacity, 10);
    ck_assert_int_eq(feed_hex(&hpack, "3f9a0a"), HPACK_MORE); /* section C.1.2 */
    ck_assert_uint_eq(hpack.capacity, 1337);
}
END_TEST

/* ---- the table ---------------------------------------------------------------------------------------------------- */

START_TEST(entry_larger_than_the_table_empties_it)
{
    struct hpack hpack;

    hpack_begin(&hpack, name_of);
    ck_assert_int_eq(feed_hex(&hpack, "3f0f"), HPACK_MORE); /* a table of 46 bytes */
    ck_assert_uint_eq(hpack.capacity, 46);
    ck_assert_int_eq(feed_hex(&hpack,
                              "400761626364656667"
                              "0761626364656667"), /* 7 + 7 + 32: just fits */
                     HPACK_MORE);
    ck_assert_uint_eq(hpack.count, 1);
    ck_assert_int_eq(feed_hex(&hpack,
                              "400761626364656667"
                              "086162636465666768"),
                     HPACK_MORE);
    ck_assert_uint_eq(hpack.count, 0);
    ck_assert_uint_eq(hpack.size, 0);
}
END_TEST

START_TEST(name_of_an_entry_that_has_to_leave_for_its_own_copy_is_still_known)
{
    struct hpack hpack;
    uint8_t bytes[64];
    char text[256] = "";

    hpack_begin(&hpack, name_of);
    ck_assert_int_eq(feed_hex(&hpack, "3f0f"), HPACK_MORE);
    ck_assert_int_eq(feed_hex(&hpack,
                              "4002616201"
                              "31"),
                     HPACK_MORE);
    size_t length = from_hex("7e0c313233343536373839303132", bytes);

    ck_assert_int_eq(feed(&hpack, bytes, length, 1, text, sizeof text), HPACK_MORE);
    ck_assert_str_eq(text, "ab: 123456789012\n");
    ck_assert_uint_eq(hpack.count, 1);
    ck_assert_uint_eq(hpack.size, 2 + 12 + 32);
}
END_TEST

START_TEST(size_grows_only_as_far_as_was_allowed)
{
    struct hpack hpack;

    hpack_begin(&hpack, name_of);
    ck_assert_int_eq(feed_hex(&hpack, "3fe11f"), HPACK_MORE); /* 4096 */
    hpack_allow(&hpack, 8192);
    ck_assert_int_eq(feed_hex(&hpack, "3fe13f"), HPACK_MORE); /* 8192 */
    ck_assert_uint_eq(hpack.capacity, 8192);
    ck_assert_int_eq(feed_hex(&hpack, "3fe23f"), HPACK_BAD); /* 8193 */
    ck_assert_int_eq(feed_hex(&hpack, "82"), HPACK_BAD);
}
END_TEST

START_TEST(size_is_updated_at_the_beginning_of_a_block_only)
{
    struct hpack hpack;

    hpack_begin(&hpack, name_of);
    ck_assert_int_eq(feed_hex(&hpack, "202a82"), HPACK_MORE); /* twice, even */
    ck_assert_int_eq(feed_hex(&hpack, "2a"), HPACK_BAD);
    hpack_begin(&hpack, name_of);
    ck_assert_int_eq(feed_hex(&hpack, "82"), HPACK_MORE);
    ck_assert(hpack_block_end(&hpack));
    ck_assert_int_eq(feed_hex(&hpack, "2a"), HPACK_MORE);
}
END_TEST

/* Entries of one byte each way, in a table that has room for more of them than are kept. */
START_TEST(more_entries_than_there_is_room_for_end_it)
{
    struct hpack hpack;

    hpack_begin(&hpack, name_of);
    hpack_allow(&hpack, 65536);
    ck_assert_int_eq(feed_hex(&hpack, "3fe1ff03"), HPACK_MORE); /* 65536 */
    for (unsigned i = 0; i < HPACK_ENTRIES; i++) {
        ck_assert_int_eq(feed_hex(&hpack, "4001610162"), HPACK_MORE);
    }
    ck_assert_int_eq(feed_hex(&hpack, "4001610162"), HPACK_BAD);
}
END_TEST

static uint8_t nobody_asks(const char *name, size_t length)
{
    (void)name;
    (void)length;
    return 0;
}

START_TEST(field_that_nobody_asks_for_counts_in_the_table_all_the_same)
{
    struct hpack hpack;

    hpack_begin(&hpack, nobody_asks);
    ck_assert_int_eq(feed_hex(&hpack, examples[5].blocks[0].hex), HPACK_MORE);
    ck_assert_uint_eq(hpack.size, examples[5].blocks[0].size);
    ck_assert_uint_eq(hpack.text_used, 0);
}
END_TEST

START_TEST(value_too_long_to_be_kept_is_not_told_and_counts_all_the_same)
{
    struct hpack hpack;
    uint8_t bytes[512] = {0x41, 0x7f, 0x82, 0x01}; /* :authority, of 257 bytes */
    char text[1024] = "";

    hpack_begin(&hpack, name_of);
    memset(bytes + 4, 'a', 257);
    bytes[261] = 0xbe; /* once more, from the table */
    ck_assert_int_eq(feed(&hpack, bytes, 262, 7, text, sizeof text), HPACK_MORE);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(hpack.size, 10 + 257 + 32);
}
END_TEST

/* ---- malformed ---------------------------------------------------------------------------------------------------- */

static const char *const malformed[] = {
    "80",                 /* index 0 */
    "be",                 /* an index that the table does not reach */
    "7e0161",             /* a name that it does not reach */
    "ffffffffffff7f",     /* a number too large */
    "ff8080808080808000", /* a number too long */
    "00017f7fffffffff7f", /* a length too large */
    "00816100",           /* padding of a code that is not ones */
    "0082ffff0161",       /* padding of a byte and more */
    "0084ffffffff0161",   /* the symbol that ends a string */
    "0085fffffffffc0161", /* the same, with something behind it */
};

START_TEST(malformed_blocks_end_it_for_good)
{
    struct hpack hpack;
    uint8_t bytes[64];
    char text[256] = "";
    size_t length = from_hex(malformed[_i], bytes);

    hpack_begin(&hpack, name_of);
    ck_assert_int_eq(feed_hex(&hpack, malformed[_i]), HPACK_BAD);
    ck_assert_int_eq(feed_hex(&hpack, "82"), HPACK_BAD);
    hpack_begin(&hpack, name_of);
    ck_assert_int_eq(feed(&hpack, bytes, length, 1, text, sizeof text), HPACK_BAD);
}
END_TEST

START_TEST(block_that_ends_within_a_field_is_malformed)
{
    const char *whole = examples[6].blocks[0].hex;
    uint8_t bytes[512];
    size_t length = from_hex(whole, bytes);

    for (size_t cut = 1; cut < length; cut++) {
        struct hpack hpack;
        char text[1024] = "", again[1024] = "";

        hpack_begin(&hpack, name_of);
        ck_assert_int_eq(feed(&hpack, bytes, cut, SIZE_MAX, text, sizeof text), HPACK_MORE);
        bool between = hpack_block_end(&hpack);

        hpack_begin(&hpack, name_of);
        /* Between fields only if what follows is read by itself. */
        ck_assert_int_eq(feed(&hpack, bytes, cut, 1, again, sizeof again), HPACK_MORE);
        ck_assert_int_eq(hpack_block_end(&hpack), between);
        ck_assert_str_eq(text, again);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        numbers_of_the_rfc_are_read_as_sizes_of_the_table,
        entry_larger_than_the_table_empties_it,
        name_of_an_entry_that_has_to_leave_for_its_own_copy_is_still_known,
        size_grows_only_as_far_as_was_allowed,
        size_is_updated_at_the_beginning_of_a_block_only,
        more_entries_than_there_is_room_for_end_it,
        field_that_nobody_asks_for_counts_in_the_table_all_the_same,
        value_too_long_to_be_kept_is_not_told_and_counts_all_the_same,
        block_that_ends_within_a_field_is_malformed,
    };
    Suite *suite = suite_create("hpack");
    TCase *tcase = tcase_create("hpack");

    tcase_add_loop_test(tcase, examples_of_the_rfc_say_what_the_rfc_says, 0, (int)COUNT(examples));
    tcase_add_loop_test(tcase, examples_of_the_rfc_say_the_same_in_pieces_of_any_size, 0, (int)COUNT(examples));
    tcase_add_loop_test(tcase, malformed_blocks_end_it_for_good, 0, (int)COUNT(malformed));
    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
