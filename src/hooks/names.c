/*
 * Names resolved to addresses.
 */
#include "hooks/hook.h"
#include "track/names/dns.h"
#include "track/names/resolve.h"

HOOK int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
                     struct addrinfo **restrict result)
{
    int error = real_getaddrinfo(node, service, hints, result);
    if (error == 0) {
        resolve_told(node, hints, *result);
    } else {
        dns_failed(node, service, hints != NULL ? hints->ai_flags : 0, error);
    }
    return error;
}

HOOK struct hostent *gethostbyname(const char *name)
{
    struct hostent *host = real_gethostbyname(name);
    resolve_host_told(name, host, &h_errno);
    return host;
}

HOOK struct hostent *gethostbyname2(const char *name, int family)
{
    struct hostent *host = real_gethostbyname2(name, family);
    resolve_host_told(name, host, &h_errno);
    return host;
}

HOOK int gethostbyname_r(const char *restrict name, struct hostent *restrict ret, char *restrict buf, size_t len,
                         struct hostent **restrict result, int *restrict error)
{
    int failed = real_gethostbyname_r(name, ret, buf, len, result, error);
    resolve_host_told(name, failed == 0 ? *result : NULL, error);
    return failed;
}

HOOK int gethostbyname2_r(const char *restrict name, int family, struct hostent *restrict ret, char *restrict buf,
                          size_t len, struct hostent **restrict result, int *restrict error)
{
    int failed = real_gethostbyname2_r(name, family, ret, buf, len, result, error);
    resolve_host_told(name, failed == 0 ? *result : NULL, error);
    return failed;
}

HOOK int getaddrinfo_a(int mode, struct gaicb *list[restrict], int count, struct sigevent *restrict event)
{
    int error = real_getaddrinfo_a(mode, list, count, event);
    if (mode == GAI_WAIT) {
        resolve_list_told(list, count);
    }
    return error;
}

/* Of a look-up in the background this is how a program learns that it came to something. */
HOOK int gai_error(struct gaicb *request)
{
    int error = real_gai_error(request);
    if (error == 0) {
        resolve_told(request->ar_name, request->ar_request, request->ar_result);
    }
    return error;
}
