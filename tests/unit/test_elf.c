/* What objects say of themselves: real ones of the system and the test's own, and the same cut and spoilt. */
#include "suite.h"
#include "protocol/elf.h"
#include "protocol/ldcache.h"
#include "real/real.h"

#include <check.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *bytes;
static size_t length;

static void read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    length = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(length);
    ck_assert_uint_eq(fread(bytes, 1, length, file), length);
    fclose(file);
}

/* Where the loader has found an object. */
static void read_object(const char *name)
{
    struct link_map *map = dlopen(name, RTLD_LAZY);
    ck_assert_ptr_nonnull(map);
    read_file(map->l_name);
}

static void teardown(void)
{
    free(bytes);
}

START_TEST(names_that_an_object_defines_are_found_and_those_it_calls_are_not)
{
    struct elf elf;
    read_object("libcurl.so.4");
    ck_assert_int_eq(elf_open(&elf, bytes, length, real_machine()), ELF_READ);
    ck_assert_int_eq(elf_defines(&elf, "curl_easy_perform"), ELF_VERSIONED);
    ck_assert_int_eq(elf_defines(&elf, "connect"), ELF_UNDEFINED);
    ck_assert_int_eq(elf_defines(&elf, "curl_easy_perfor"), ELF_UNDEFINED);
    ck_assert_int_eq(elf_defines(&elf, ""), ELF_UNDEFINED);
}
END_TEST

/* Every name, against the loader's own answer. */
START_TEST(every_name_of_a_library_is_found)
{
    static const char *const names[] = {"deflate",     "inflate",  "crc32",      "adler32",      "gzopen",
                                        "zlibVersion", "compress", "uncompress", "inflateInit_", "deflateInit2_",
                                        "no_such",     "malloc",   "memcpy"};
    struct elf elf;
    void *handle = dlopen("libz.so.1", RTLD_LAZY);
    read_object("libz.so.1");
    ck_assert_int_eq(elf_open(&elf, bytes, length, real_machine()), ELF_READ);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool there = real_beside(names[i], dlsym(handle, "deflate")) != NULL;
        ck_assert_msg((elf_defines(&elf, names[i]) != ELF_UNDEFINED) == there, "%s", names[i]);
    }
}
END_TEST

START_TEST(needed_objects_are_told)
{
    struct elf elf;
    uint64_t at = 0;
    bool ssl = false;
    read_object("libcurl.so.4");
    ck_assert_int_eq(elf_open(&elf, bytes, length, real_machine()), ELF_READ);
    for (const char *name = elf_next(&elf, DT_NEEDED, &at); name != NULL; name = elf_next(&elf, DT_NEEDED, &at)) {
        ck_assert_ptr_nonnull(strstr(name, ".so"));
        ssl = ssl || strncmp(name, "libssl.so", 9) == 0;
    }
    ck_assert(ssl);
}
END_TEST

START_TEST(object_of_another_machine_is_foreign_and_anything_else_unreadable)
{
    struct elf elf;
    read_object("libz.so.1");
    ck_assert_int_eq(elf_open(&elf, bytes, length, (uint16_t)(real_machine() + 1)), ELF_FOREIGN);
    bytes[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
    ck_assert_int_eq(elf_open(&elf, bytes, length, real_machine()), ELF_FOREIGN);
    bytes[0] = 'x';
    ck_assert_int_eq(elf_open(&elf, bytes, length, real_machine()), ELF_UNREADABLE);
    ck_assert_int_eq(elf_open(&elf, bytes, 0, real_machine()), ELF_UNREADABLE);
}
END_TEST

static void ask_everything(void)
{
    struct elf elf;
    /* A copy of exactly this size, so that a byte too far is found. */
    uint8_t *copy = malloc(length + 1);
    memcpy(copy, bytes, length);
    if (elf_open(&elf, copy, length, real_machine()) == ELF_READ) {
        (void)elf_defines(&elf, "deflate");
        (void)elf_defines(&elf, "connect");
        for (uint64_t at = 0; elf_next(&elf, DT_NEEDED, &at) != NULL;) {
        }
    }
    free(copy);
}

START_TEST(object_cut_anywhere_or_with_any_word_spoilt_does_no_harm)
{
    read_object("libz.so.1");
    size_t whole = length;
    for (length = 0; length < whole; length += length < 1024 ? 7 : 4093) {
        ask_everything();
    }
    length = whole;
    struct elf elf;
    ck_assert_int_eq(elf_open(&elf, bytes, length, real_machine()), ELF_READ);
    uint64_t ends = elf.buckets + 64;
    /* Headers, hash table, the first symbols; and the dynamic section */
    for (uint64_t at = 0; at + 4 < length; at = at == ends / 4 * 4 ? elf.dynamic / 4 * 4 : at + 4) {
        if (at >= elf.dynamic + elf.dynamic_count * sizeof(ElfW(Dyn))) {
            break;
        }
        uint8_t saved[4];
        memcpy(saved, bytes + at, 4);
        memset(bytes + at, 0xff, 4);
        ask_everything();
        memset(bytes + at, 0, 4);
        ask_everything();
        memcpy(bytes + at, saved, 4);
    }
}
END_TEST

/* ---- the loader's cache --------------------------------------------------------------------------------------------- */

START_TEST(cache_tells_where_a_library_lies)
{
    bool found = false;
    struct link_map *map = dlopen("libz.so.1", RTLD_LAZY);
    read_file("/etc/ld.so.cache");
    uint32_t at = 0;
    for (const char *path = ldcache_next(bytes, length, "libz.so.1", &at); path != NULL;
         path = ldcache_next(bytes, length, "libz.so.1", &at)) {
        found = found || strcmp(path, map->l_name) == 0;
    }
    ck_assert(found);
    at = 0;
    ck_assert_ptr_null(ldcache_next(bytes, length, "no-such.so.1", &at));
}
END_TEST

START_TEST(cache_that_is_cut_or_spoilt_does_no_harm)
{
    read_file("/etc/ld.so.cache");
    for (size_t cut = 0; cut < length; cut += cut < 200 ? 1 : 997) {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        for (uint32_t at = 0; ldcache_next(copy, cut, "libz.so.1", &at) != NULL;) {
        }
        free(copy);
    }
    memset(bytes + 48, 0xff, length - 48);
    uint32_t at = 0;
    ck_assert_ptr_null(ldcache_next(bytes, length, "libz.so.1", &at));
    bytes[0] = 'x';
    at = 0;
    ck_assert_ptr_null(ldcache_next(bytes, length, "libz.so.1", &at));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        names_that_an_object_defines_are_found_and_those_it_calls_are_not,
        every_name_of_a_library_is_found,
        needed_objects_are_told,
        object_of_another_machine_is_foreign_and_anything_else_unreadable,
        object_cut_anywhere_or_with_any_word_spoilt_does_no_harm,
        cache_tells_where_a_library_lies,
        cache_that_is_cut_or_spoilt_does_no_harm,
    };
    Suite *suite = suite_create("elf");
    TCase *tcase = tcase_create("elf");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
