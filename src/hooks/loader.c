/*
 * Objects loaded while the program runs.
 */
#include "hooks/hook.h"
#include "track/plugin.h"

REAL_JUMPS HOOK void *dlopen(const char *path, int flags)
{
    int loader_flags = plugin_flags(path, flags, __builtin_return_address(0));
    REAL_JUMP return real_dlopen(path, loader_flags);
}

HOOK int dlclose(void *handle)
{
    int result = real_dlclose(handle);
    real_unloaded();
    return result;
}
