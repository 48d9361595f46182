/*
 * Addresses and the names that this process resolved to them.
 */
#include "suite.h"
#include "track/names/names.h"
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct address address(const char *text)
{
    struct address result;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(80)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
    bool read;
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
        read = address_read((const struct sockaddr *)&in, sizeof in, &result);
    } else {
        ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
        read = address_read((const struct sockaddr *)&in6, sizeof in6, &result);
    }
    ck_assert(read);
    return result;
}

static void resolved(const char *name, const char *to)
{
    struct address one = address(to);
    names_resolved(name, &one, 1);
}

static const char *name_at(const char *of, size_t index)
{
    static char host[NAMES_HOST];
    struct address one = address(of);
    return names_of(&one, index, host) > index ? host : "";
}

START_TEST(mapped_address_is_the_same_as_its_ipv4_one)
{
    struct address mapped = address("::ffff:10.1.2.3"), plain = address("10.1.2.3");
    ck_assert_mem_eq(mapped.bytes, plain.bytes, 16);
    ck_assert_uint_eq(plain.port, 80);
}
END_TEST

START_TEST(what_is_no_address_or_too_short_is_not_read)
{
    struct address result;
    struct sockaddr_in in = {.sin_family = AF_INET};
    ck_assert(!address_read((const struct sockaddr *)&in, 0, &result));
    ck_assert(!address_read((const struct sockaddr *)&in, 1, &result));
    ck_assert(!address_read((const struct sockaddr *)&in, sizeof in - 1, &result));
    in.sin_family = AF_INET6;
    ck_assert(!address_read((const struct sockaddr *)&in, sizeof in, &result));
    in.sin_family = AF_UNIX;
    ck_assert(!address_read((const struct sockaddr *)&in, sizeof in, &result));
}
END_TEST

static const struct {
    const char *text;
    bool is_public;
} kinds[] = {
    {"8.8.8.8", true},        {"10.255.0.1", false},  {"11.0.0.1", true},     {"127.0.0.1", false},
    {"172.15.0.1", true},     {"172.16.0.1", false},  {"172.31.9.9", false},  {"172.32.0.1", true},
    {"192.168.1.1", false},   {"169.254.1.1", false}, {"100.64.0.1", false},  {"100.128.0.1", true},
    {"224.0.0.1", false},     {"255.1.1.1", false},   {"0.0.0.0", false},     {"::1", false},
    {"fe80::1", false},       {"fd00::1", false},     {"2606:4700::1", true}, {"2001:db8::1", false},
    {"::ffff:8.8.8.8", true}, {"ff02::1", false},
};

START_TEST(public_addresses_are_told_from_others)
{
    struct address one = address(kinds[_i].text);
    ck_assert_msg(address_public(&one) == kinds[_i].is_public, "%s", kinds[_i].text);
}
END_TEST

START_TEST(name_is_found_by_its_address_folded)
{
    resolved("Api.Acme.Test.", "192.0.2.1");
    ck_assert_str_eq(name_at("192.0.2.1", 0), "api.acme.test");
    ck_assert_str_eq(name_at("192.0.2.2", 0), "");
    struct address one = address("::ffff:192.0.2.1");
    ck_assert(names_has(&one, "api.acme.test"));
    ck_assert(!names_has(&one, "other.test"));
}
END_TEST

START_TEST(figures_and_what_is_no_name_are_not_noted)
{
    const char *const not_names[] = {"192.0.2.9", "::1", "127.1", "", "a b", "bad/name", "x\x80y"};
    for (size_t i = 0; i < sizeof not_names / sizeof *not_names; i++) {
        resolved(not_names[i], "192.0.2.9");
    }
    char long_name[300];
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    resolved(long_name, "192.0.2.9");
    ck_assert_str_eq(name_at("192.0.2.9", 0), "");
}
END_TEST

START_TEST(four_names_are_kept_the_oldest_goes)
{
    const char *const names[] = {"a.test", "b.test", "c.test", "d.test", "e.test"};
    for (size_t i = 0; i < 5; i++) {
        resolved(names[i], "192.0.2.3");
    }
    char host[NAMES_HOST];
    struct address one = address("192.0.2.3");
    ck_assert_uint_eq(names_of(&one, 0, host), 4);
    ck_assert_str_eq(host, "e.test");
    ck_assert_str_eq(name_at("192.0.2.3", 3), "b.test");
    ck_assert(!names_has(&one, "a.test"));
}
END_TEST

static void *resolve_other(void *unused)
{
    (void)unused;
    resolved("other.test", "192.0.2.4");
    return NULL;
}

START_TEST(calling_threads_latest_name_comes_first)
{
    resolved("mine.test", "192.0.2.4");
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, resolve_other, NULL), 0);
    pthread_join(thread, NULL);
    ck_assert_str_eq(name_at("192.0.2.4", 0), "mine.test");
    ck_assert_str_eq(name_at("192.0.2.4", 1), "other.test");
    resolved("elsewhere.test", "192.0.2.5");
    ck_assert_str_eq(name_at("192.0.2.4", 0), "mine.test");
}
END_TEST

START_TEST(addresses_of_a_name_are_those_of_its_last_resolution)
{
    struct address two[] = {address("192.0.2.6"), address("2001:db8::6"), address("192.0.2.6")};
    names_resolved("two.test", two, 3);
    uint32_t hashes[NAMES_ADDRESSES];
    ck_assert_uint_eq(names_addresses("two.test", hashes), 2);
    ck_assert_uint_eq(hashes[0], names_address_hash(&two[0]));
    ck_assert_uint_eq(hashes[1], names_address_hash(&two[1]));
    names_resolved("two.test", two, 1);
    ck_assert_uint_eq(names_addresses("two.test", hashes), 1);
    ck_assert_uint_eq(names_addresses("unknown.test", hashes), 0);
}
END_TEST

START_TEST(more_addresses_than_fit_push_out_others_and_harm_nothing)
{
    for (unsigned i = 0; i < 5000; i++) {
        char name[32], to[32];
        snprintf(name, sizeof name, "n%u.test", i);
        snprintf(to, sizeof to, "198.18.%u.%u", i >> 8, i & 255);
        resolved(name, to);
        ck_assert_str_eq(name_at(to, 0), name);
    }
}
END_TEST

static bool stop;

static void *rewrite(void *unused)
{
    (void)unused;
    for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        resolved(i % 2 == 0 ? "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test" : "b.test", "192.0.2.7");
    }
    return NULL;
}

START_TEST(reader_beside_a_writer_sees_whole_names_or_none)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, rewrite, NULL), 0);
    for (unsigned i = 0; i < 100000; i++) {
        const char *host = name_at("192.0.2.7", 0);
        ck_assert(strcmp(host, "") == 0 || strcmp(host, "b.test") == 0 ||
                  strcmp(host, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test") == 0);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("names");
    TCase *tcase = tcase_create("names");
    tcase_add_test(tcase, mapped_address_is_the_same_as_its_ipv4_one);
    tcase_add_test(tcase, what_is_no_address_or_too_short_is_not_read);
    tcase_add_loop_test(tcase, public_addresses_are_told_from_others, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(tcase, name_is_found_by_its_address_folded);
    tcase_add_test(tcase, figures_and_what_is_no_name_are_not_noted);
    tcase_add_test(tcase, four_names_are_kept_the_oldest_goes);
    tcase_add_test(tcase, calling_threads_latest_name_comes_first);
    tcase_add_test(tcase, addresses_of_a_name_are_those_of_its_last_resolution);
    tcase_add_test(tcase, more_addresses_than_fit_push_out_others_and_harm_nothing);
    tcase_add_test(tcase, reader_beside_a_writer_sees_whole_names_or_none);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
