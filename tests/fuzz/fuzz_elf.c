/*
 * Objects as they lie on the disk, and the dynamic loader's cache: whatever the bytes are, nothing beyond them is read, all
 * texts end within them, and every question ends.
 */
#include "protocol/elf.h"
#include "protocol/ldcache.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static void ends_within(const char *text, const uint8_t *data, size_t size)
{
    const uint8_t *at = (const uint8_t *)text;

    if (at < data || at >= data + size || memchr(at, '\0', (size_t)(data + size - at)) == NULL) {
        abort();
    }
}

static void ask_object(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"connect", "curl_easy_perform", "plugin", "__read_chk", ""};
    static const int64_t tags[] = {DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME};
    struct elf elf;
    uint16_t machine = 0;

    if (size > 20) {
        memcpy(&machine, data + 18, sizeof machine);
    }
    if (elf_open(&elf, data, size, machine) != ELF_READ) {
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)elf_defines(&elf, names[i]);
    }
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        uint64_t at = 0;

        for (const char *text = elf_next(&elf, tags[i], &at); text != NULL; text = elf_next(&elf, tags[i], &at)) {
            ends_within(text, data, size);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t at = 0;

    ask_object(data, size);
    for (const char *path = ldcache_next(data, size, "libplugin.so.1", &at); path != NULL;
         path = ldcache_next(data, size, "libplugin.so.1", &at)) {
        ends_within(path, data, size);
    }
    return 0;
}
