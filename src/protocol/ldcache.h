/*
 * The dynamic loader's cache, /etc/ld.so.cache: where the objects of a name lie. The format of glibc 2.2 and later; every
 * offset in it is checked. Pure.
 */
#ifndef PROTOCOL_LDCACHE_H
#define PROTOCOL_LDCACHE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The path of the next object of this name, of whatever machine; *at begins at 0. NULL: there is no other, or this is no
 * such cache.
 */
const char *ldcache_next(const void *bytes, size_t length, const char *name, uint32_t *at);

#endif
