#include "protocol/elf.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>

/* ---- bytes, checked ----------------------------------------------------------------------------------------------- */

/* Files beyond this are not read: so no sum or product of what stands in one overflows 64 bits. */
#define LENGTH_MAX (UINT64_C(1) << 32)

static bool copy(const struct elf *elf, uint64_t at, void *to, size_t size)
{
    if (at > elf->length || size > elf->length - at) {
        return false;
    }
    memcpy(to, elf->bytes + at, size);
    return true;
}

static bool word(const struct elf *elf, uint64_t at, uint32_t *value)
{
    return copy(elf, at, value, sizeof *value);
}

/* A text of the string table; NULL: it does not end in there. */
static const char *text(const struct elf *elf, uint64_t offset)
{
    if (offset >= elf->strings_length) {
        return NULL;
    }
    const char *found = (const char *)elf->bytes + elf->strings + offset;
    return memchr(found, '\0', elf->strings_length - offset) != NULL ? found : NULL;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

#define OUR_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define OUR_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

static bool header_at(const struct elf *elf, uint64_t index, ElfW(Phdr) * header)
{
    return index < elf->header_count && copy(elf, elf->headers + index * sizeof *header, header, sizeof *header);
}

/* Where in the file what lies at this address in memory stands. False: nowhere. */
static bool offset_of(const struct elf *elf, uint64_t address, uint64_t *offset)
{
    ElfW(Phdr) header;
    for (uint64_t i = 0; header_at(elf, i, &header); i++) {
        if (header.p_type == PT_LOAD && address >= header.p_vaddr && address - header.p_vaddr < header.p_filesz &&
            header.p_offset < elf->length) {
            *offset = header.p_offset + (address - header.p_vaddr);
            return *offset < elf->length;
        }
    }
    return false;
}

static bool find_dynamic(struct elf *elf)
{
    ElfW(Phdr) header;
    for (uint64_t i = 0; header_at(elf, i, &header); i++) {
        if (header.p_type == PT_DYNAMIC) {
            elf->dynamic = header.p_offset;
            elf->dynamic_count = header.p_filesz / sizeof(ElfW(Dyn));
            return header.p_offset < elf->length;
        }
    }
    return false;
}

static bool entry_at(const struct elf *elf, uint64_t index, ElfW(Dyn) * entry)
{
    return index < elf->dynamic_count && copy(elf, elf->dynamic + index * sizeof *entry, entry, sizeof *entry) &&
           entry->d_tag != DT_NULL;
}

static bool value_of(const struct elf *elf, int64_t tag, uint64_t *value)
{
    ElfW(Dyn) entry;
    for (uint64_t i = 0; entry_at(elf, i, &entry); i++) {
        if (entry.d_tag == tag) {
            *value = entry.d_un.d_val;
            return true;
        }
    }
    return false;
}

static bool table_of(const struct elf *elf, int64_t tag, uint64_t *offset)
{
    uint64_t address;
    return value_of(elf, tag, &address) && offset_of(elf, address, offset);
}

static bool find_hash(struct elf *elf)
{
    uint64_t at;
    if (!table_of(elf, DT_GNU_HASH, &at) || !word(elf, at, &elf->bucket_count) ||
        !word(elf, at + 4, &elf->first_symbol) || !word(elf, at + 8, &elf->bloom_count) ||
        !word(elf, at + 12, &elf->bloom_shift)) {
        return false;
    }
    elf->bloom = at + 16;
    elf->buckets = elf->bloom + (uint64_t)elf->bloom_count * sizeof(ElfW(Addr));
    elf->chains = elf->buckets + (uint64_t)elf->bucket_count * 4;
    return elf->bucket_count > 0 && elf->bloom_count > 0 && elf->bloom_shift < 32;
}

enum elf_state elf_open(struct elf *elf, const void *bytes, size_t length, uint16_t machine)
{
    ElfW(Ehdr) header;
    *elf = (struct elf){.bytes = bytes, .length = length};
    if (length > LENGTH_MAX || !copy(elf, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return ELF_UNREADABLE;
    }
    if (header.e_ident[EI_CLASS] != OUR_CLASS || header.e_ident[EI_DATA] != OUR_ORDER || header.e_machine != machine) {
        return ELF_FOREIGN;
    }
    elf->headers = header.e_phoff;
    elf->header_count = header.e_phentsize == sizeof(ElfW(Phdr)) && header.e_phoff < length ? header.e_phnum : 0;
    bool found = find_dynamic(elf) && table_of(elf, DT_STRTAB, &elf->strings) &&
                 value_of(elf, DT_STRSZ, &elf->strings_length) && table_of(elf, DT_SYMTAB, &elf->symbols) &&
                 find_hash(elf);
    if (!found || elf->strings_length > elf->length - elf->strings) {
        return ELF_UNREADABLE;
    }
    (void)table_of(elf, DT_VERSYM, &elf->versions);
    return ELF_READ;
}

/* ---- names defined ------------------------------------------------------------------------------------------------ */

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++) {
        hash = hash * 33 + (unsigned char)*name;
    }
    return hash;
}

/* Can the name be there at all? Most are told by this. */
static bool in_bloom(const struct elf *elf, uint32_t hash)
{
    const uint32_t bits = 8 * sizeof(ElfW(Addr));
    ElfW(Addr) some = 0;
    if (!copy(elf, elf->bloom + (uint64_t)(hash / bits % elf->bloom_count) * sizeof some, &some, sizeof some)) {
        return true;
    }
    return (some >> hash % bits & some >> (hash >> elf->bloom_shift) % bits & 1) != 0;
}

static enum elf_definition definition(const struct elf *elf, uint64_t index, const char *name)
{
    ElfW(Sym) symbol;
    if (!copy(elf, elf->symbols + index * sizeof symbol, &symbol, sizeof symbol) || symbol.st_shndx == SHN_UNDEF) {
        return ELF_UNDEFINED;
    }
    const char *found = text(elf, symbol.st_name);
    if (found == NULL || strcmp(found, name) != 0) {
        return ELF_UNDEFINED;
    }
    uint16_t version = VER_NDX_GLOBAL;
    (void)(elf->versions != 0 && copy(elf, elf->versions + index * sizeof version, &version, sizeof version));
    return (version & 0x7fff) > VER_NDX_GLOBAL ? ELF_VERSIONED : ELF_PLAIN;
}

enum elf_definition elf_defines(const struct elf *elf, const char *name)
{
    uint32_t hash = hash_of(name), index, chained;
    if (!in_bloom(elf, hash) || !word(elf, elf->buckets + (uint64_t)(hash % elf->bucket_count) * 4, &index) ||
        index < elf->first_symbol) {
        return ELF_UNDEFINED;
    }
    for (uint64_t i = index; word(elf, elf->chains + (i - elf->first_symbol) * 4, &chained); i++) {
        enum elf_definition found = (chained | 1) == (hash | 1) ? definition(elf, i, name) : ELF_UNDEFINED;
        if (found != ELF_UNDEFINED || (chained & 1) != 0) {
            return found;
        }
    }
    return ELF_UNDEFINED;
}

/* ---- texts -------------------------------------------------------------------------------------------------------- */

const char *elf_next(const struct elf *elf, int64_t tag, uint64_t *at)
{
    ElfW(Dyn) entry;
    while (entry_at(elf, *at, &entry)) {
        ++*at;
        const char *found = entry.d_tag == tag ? text(elf, entry.d_un.d_val) : NULL;
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}
