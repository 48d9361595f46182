#include "suite.h"
#include "tls_rig.h"

/* ---- hellos made by hand ---------------------------------------------------------------------------------------- */

/* Feeds them whole, byte by byte and split at every byte; all must agree. The result stays in *hello. */
static void feed_hello(struct tls_hello *hello, const struct bytes *bytes)
{
    struct tls_hello other;

    tls_hello_begin(hello);
    tls_hello_feed(hello, bytes->at, bytes->length);
    for (size_t split = 0; split <= bytes->length; split++) {
        tls_hello_begin(&other);
        tls_hello_feed(&other, bytes->at, split);
        bool over = tls_hello_feed(&other, bytes->at + split, bytes->length - split);

        ck_assert_int_eq(over, other.done || other.opaque);
        ck_assert_mem_eq(&other, hello, sizeof other);
    }
    tls_hello_begin(&other);
    for (size_t i = 0; i < bytes->length; i++) {
        tls_hello_feed(&other, bytes->at + i, 1);
    }
    ck_assert_mem_eq(&other, hello, sizeof other);
}

static void feed_extensions(struct tls_hello *hello, const struct bytes *extensions)
{
    static struct bytes message, records;

    make_message(&message, 1, extensions);
    make_records(&records, &message, 16384);
    feed_hello(hello, &records);
}

static void feed_name(struct tls_hello *hello, const char *name)
{
    struct bytes extensions = {.length = 0};

    put_name(&extensions, name);
    feed_extensions(hello, &extensions);
}

START_TEST(name_is_folded_and_loses_its_last_dot)
{
    struct tls_hello hello;

    feed_name(&hello, "API.Example.COM.");
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "api.example.com");
    ck_assert_mem_eq(hello.random, "0123456789abcdef0123456789abcdef", TLS_RANDOM);
}
END_TEST

START_TEST(what_is_no_name_is_none_and_the_hello_good)
{
    static const char *const names[] = {"a b", "a/b", "\xc3\xa9.fr", "[::1]", "a:1", "a\nb", "."};
    struct tls_hello hello;
    char name[300];

    for (size_t i = 0; i < COUNT(names); i++) {
        feed_name(&hello, names[i]);
        ck_assert_msg(hello.done && hello.name[0] == '\0', "%s", names[i]);
    }
    memset(name, 'a', sizeof name);
    name[253] = '\0';
    feed_name(&hello, name);
    ck_assert_str_eq(hello.name, name);
    name[253] = 'a';
    name[254] = '\0';
    feed_name(&hello, name);
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "");
}
END_TEST

START_TEST(hello_without_extensions_or_name_has_no_name)
{
    struct bytes extensions = {.length = 0};
    struct tls_hello hello;

    feed_extensions(&hello, NULL);
    ck_assert(hello.done && !hello.h2_offered && !hello.alpn_other);
    ck_assert_str_eq(hello.name, "");

    feed_extensions(&hello, &extensions);
    ck_assert(hello.done);

    put_extension(&extensions, 0x0a0a, "", 0);
    put_extension(&extensions, 21, "\0\0\0", 3);
    feed_extensions(&hello, &extensions);
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "");
}
END_TEST

START_TEST(name_comes_from_the_one_host_name_in_the_list)
{
    struct bytes extensions = {.length = 0};
    struct tls_hello hello;

    put_extension(&extensions, 0, "\0\x0a\7\0\3xyz\0\0\1a", 12);
    feed_extensions(&hello, &extensions);
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "a");

    extensions.length = 0;
    put_extension(&extensions, 0, "\0\x08\0\0\1b\0\0\1a", 10);
    feed_extensions(&hello, &extensions);
    ck_assert(hello.done);
    ck_assert_str_eq(hello.name, "");
}
END_TEST

START_TEST(alpn_tells_h2_from_others)
{
    static const struct {
        const char *list;
        size_t length;
        bool h2, other;
    } lists[] = {
        {"\0\3\2h2", 5, true, false},
        {"\0\x0c\2h2\x8http/1.1", 14, true, true},
        {"\0\x0c\x8http/1.1\2h2", 14, true, true},
        {"\0\x09\x8http/1.1", 11, false, true},
        {"\0\4\3h2c", 6, false, true},
        {"\0\3\2hx", 5, false, true},
        {"\0\2\1h", 4, false, true},
        {"\0\3\2xh", 5, false, true},
    };
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct bytes extensions = {.length = 0};
        struct tls_hello hello;

        put_extension(&extensions, 16, lists[i].list, lists[i].length);
        put_name(&extensions, "a");
        feed_extensions(&hello, &extensions);
        ck_assert_msg(hello.done && hello.h2_offered == lists[i].h2 && hello.alpn_other == lists[i].other, "%zu", i);
        ck_assert_str_eq(hello.name, "a");
    }
}
END_TEST

START_TEST(hello_may_span_many_records)
{
    struct bytes extensions = {.length = 0}, message, records;
    struct tls_hello hello;

    put_name(&extensions, "a.example");
    put_extension(&extensions, 21, message.at, 2000);
    make_message(&message, 1, &extensions);
    for (size_t most = 1; most < 100; most += 7) {
        make_records(&records, &message, most);
        tls_hello_begin(&hello);
        ck_assert(tls_hello_feed(&hello, records.at, records.length));
        ck_assert(hello.done);
        ck_assert_str_eq(hello.name, "a.example");
    }
}
END_TEST

START_TEST(hello_cut_short_is_neither_done_nor_opaque)
{
    struct bytes extensions = {.length = 0}, message, records;
    struct tls_hello hello;

    put_name(&extensions, "a.example");
    make_message(&message, 1, &extensions);
    make_records(&records, &message, 16384);
    for (size_t length = 0; length < records.length; length++) {
        tls_hello_begin(&hello);
        ck_assert(!tls_hello_feed(&hello, records.at, length));
        ck_assert(!hello.done && !hello.opaque);
    }
}
END_TEST

START_TEST(what_follows_the_hello_changes_nothing)
{
    struct session session;
    struct tls_hello first, later;
    struct tls_records records;
    char text[1024];

    session_load(&session, "curl13");
    run(&session, WHOLE, 0, text, sizeof text, &first, &records);
    later = first;
    ck_assert(tls_hello_feed(&later, (const uint8_t *)"GET / HTTP/1.1\r\n\r\n", 18));
    ck_assert_mem_eq(&first, &later, sizeof first);
}
END_TEST

START_TEST(what_is_no_hello_is_opaque_without_a_name)
{
    static const struct {
        const char *bytes;
        size_t length;
    } strangers[] = {
        {"GET / HTTP/1.1\r\n", 16},
        {"\x80\x2e\1\0\2\0\x15", 7},        /* an SSL 2 hello */
        {"\x16\2\0\0\5\1", 6},              /* SSL 2 in a record */
        {"\x16\3\1\0\0\x16\3\1", 8},        /* an empty record */
        {"\x16\3\1\x40\1\1", 6},            /* a record too long */
        {"\x16\3\1\0\5\2\0\0\x40\3", 10},   /* a ServerHello */
        {"\x16\3\1\0\5\1\0\0\x25\3", 10},   /* too short */
        {"\x16\3\1\0\5\1\1\0\0\3", 10},     /* too long */
        {"\x16\3\1\0\6\1\0\0\x40\2\0", 11}, /* an odd version */
        {"\x17\3\3\0\5hello", 10},
        {"\x15\3\3\0\2\2\x28", 7},
    };
    for (size_t i = 0; i < COUNT(strangers); i++) {
        struct bytes bytes = {.length = 0};
        struct tls_hello hello;

        put(&bytes, strangers[i].bytes, strangers[i].length);
        feed_hello(&hello, &bytes);
        ck_assert_msg(hello.opaque && !hello.done && hello.name[0] == '\0', "%zu", i);
    }
}
END_TEST

START_TEST(extensions_that_do_not_add_up_make_it_opaque)
{
    static const struct {
        const char *bytes;
        size_t length;
    } bad[] = {
        {"\0\0\0\0", 4},                                /* a name of nothing */
        {"\0\0\0\1\0", 5},                              /* half a length */
        {"\0\0\0\6\0\4\0\0\1a\0", 11},                  /* a byte behind the list */
        {"\0\0\0\6\0\5\0\0\1a", 10},                    /* a list longer than its extension */
        {"\0\0\0\6\0\4\0\0\2a", 10},                    /* a name longer than its list */
        {"\0\0\0\5\0\3\0\0\0", 9},                      /* an empty name */
        {"\0\0\0\2\0\0", 6},                            /* an empty list */
        {"\0\0\0\3\0\1\0", 7},                          /* a type and no more */
        {"\0\0\0\4\0\2\0\0", 8},                        /* a type and half a length */
        {"\0\x10\0\3\0\1\0", 7},                        /* an empty protocol */
        {"\0\x10\0\5\0\3\3h2", 9},                      /* a protocol longer than its list */
        {"\0\x0a\0\4\0", 5},                            /* an extension longer than the rest */
        {"\0\x0a\0\1\0\xff", 6},                        /* half a type */
        {"\0\0\0\6\0\4\0\0\1a\0\0\0\6\0\4\0\0\1b", 20}, /* twice */
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bytes extensions = {.length = 0};
        struct tls_hello hello;

        put(&extensions, bad[i].bytes, bad[i].length);
        feed_extensions(&hello, &extensions);
        ck_assert_msg(hello.opaque && !hello.done && hello.name[0] == '\0', "%zu", i);
    }
}
END_TEST

START_TEST(lengths_of_the_hello_that_do_not_add_up_make_it_opaque)
{
    struct bytes extensions = {.length = 0}, message, records;
    struct tls_hello hello;

    put_name(&extensions, "a");
    /* session, ciphers and its odd half, compressions, extensions */
    static const struct {
        size_t at;
        uint8_t value;
    } changes[] = {{38, 33}, {38, 32}, {39, 0xff}, {40, 1}, {40, 0}, {43, 0}, {43, 0xff}, {45, 1}, {46, 9}, {46, 11}};

    for (size_t i = 0; i < COUNT(changes); i++) {
        make_message(&message, 1, &extensions);
        ck_assert_uint_ne(message.at[changes[i].at], changes[i].value);
        message.at[changes[i].at] = changes[i].value;
        make_records(&records, &message, 16384);
        feed_hello(&hello, &records);
        ck_assert_msg(hello.opaque && !hello.done, "%zu", i);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        name_is_folded_and_loses_its_last_dot,
        what_is_no_name_is_none_and_the_hello_good,
        hello_without_extensions_or_name_has_no_name,
        name_comes_from_the_one_host_name_in_the_list,
        alpn_tells_h2_from_others,
        hello_may_span_many_records,
        hello_cut_short_is_neither_done_nor_opaque,
        what_follows_the_hello_changes_nothing,
        what_is_no_hello_is_opaque_without_a_name,
        extensions_that_do_not_add_up_make_it_opaque,
        lengths_of_the_hello_that_do_not_add_up_make_it_opaque,
    };
    Suite *suite = suite_create("tls hello");
    TCase *tcase = tcase_create("tls hello");

    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
