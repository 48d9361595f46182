/*
 * What a shared object says of itself before it is loaded: which names it defines, which objects it needs and where it looks
 * for them. Read from the bytes of its file, as far as the dynamic loader would read them; every offset in them is checked.
 * Pure, nothing is allocated. Objects without a GNU hash table are not read.
 */
#ifndef PROTOCOL_ELF_H
#define PROTOCOL_ELF_H

#include <stddef.h>
#include <stdint.h>

/* Private to elf.c. All are offsets into the file, or counts. */
struct elf {
    const uint8_t *bytes;
    uint64_t length;
    uint64_t headers, header_count;
    uint64_t dynamic, dynamic_count;
    uint64_t strings, strings_length;
    uint64_t symbols, versions; /* versions: 0 none */
    uint64_t bloom, buckets, chains;
    uint32_t bloom_count, bloom_shift, bucket_count, first_symbol;
};

/* Of another machine, class or byte order than ours: the loader goes on to look for another file of that name. */
enum elf_state { ELF_READ, ELF_FOREIGN, ELF_UNREADABLE };

/* machine: the e_machine of objects that can be loaded here. *elf lasts as long as the bytes do. */
enum elf_state elf_open(struct elf *elf, const void *bytes, size_t length, uint16_t machine);

/* Defined without a version (the object is likely to have been built with a copy of its own), or with one. */
enum elf_definition { ELF_UNDEFINED, ELF_PLAIN, ELF_VERSIONED };
enum elf_definition elf_defines(const struct elf *elf, const char *name);

/* The next text of this tag (DT_NEEDED, DT_RPATH, DT_RUNPATH); *at begins at 0. NULL: there is no other. */
const char *elf_next(const struct elf *elf, int64_t tag, uint64_t *at);

#endif
