/*
 * Extensions of PHP. PHP loads them with RTLD_DEEPBIND: what they and their libraries call is looked for among themselves
 * and in libc before it is looked for here, so that no preload sees any of it (the curl extension's libcurl, libpq,
 * libmemcached). Without the flag all of them come by here like everybody else.
 *
 * What the flag is for is that an object with copies of other libraries inside is not mixed up with those that are loaded.
 * So it stays wherever the object, or an object that is loaded for it, defines a name that we hook, and wherever that cannot
 * be told. A library of its own under libcurl's name and version is what we are after.
 */
#ifndef TRACK_PLUGIN_H
#define TRACK_PLUGIN_H

/*
 * The flags that a dlopen is to have. caller: the hook's return address. Opens and reads files, but only for PHP and that
 * flag; leaves errno alone.
 */
__attribute__((noinline)) int plugin_flags(const char *path, int flags, const void *caller);

#endif
