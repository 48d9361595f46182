/*
 * See resolve.h.
 */
#include "track/names/resolve.h"
#include "real/real.h"
#include "track/names/dns.h"
#include "track/names/names.h"
#include "track/process.h"
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

void resolve_told(const char *node, const struct addrinfo *hints, const struct addrinfo *result)
{
    if (!process_acts || node == NULL || (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)) {
        return;
    }
    int saved = errno;
    struct address addresses[NAMES_ADDRESSES];
    size_t count = 0;
    for (; result != NULL && count < NAMES_ADDRESSES; result = result->ai_next) {
        if (result->ai_addr != NULL && address_read(result->ai_addr, result->ai_addrlen, &addresses[count])) {
            count++;
        }
    }
    names_resolved(node, addresses, count);
    dns_resolved(node);
    errno = saved;
}

static bool read_host(const struct hostent *host, const char *bytes, struct address *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (host->h_addrtype == AF_INET && host->h_length == 4) {
        memcpy(&in.sin_addr, bytes, 4);
        return address_read((const struct sockaddr *)&in, sizeof in, address);
    }
    if (host->h_addrtype == AF_INET6 && host->h_length == 16) {
        memcpy(&in6.sin6_addr, bytes, 16);
        return address_read((const struct sockaddr *)&in6, sizeof in6, address);
    }
    return false;
}

/* What getaddrinfo would have said. */
static int error_of(int h_error)
{
    return h_error == TRY_AGAIN ? EAI_AGAIN : h_error == NO_RECOVERY ? EAI_FAIL : EAI_NONAME;
}

void resolve_host_told(const char *name, const struct hostent *host, const int *error)
{
    if (host == NULL && error != NULL) {
        dns_failed(name, NULL, 0, error_of(*error));
    }
    if (!process_acts || name == NULL || host == NULL) {
        return;
    }
    int saved = errno;
    struct address addresses[NAMES_ADDRESSES];
    size_t count = 0;
    for (char **bytes = host->h_addr_list; *bytes != NULL && count < NAMES_ADDRESSES; bytes++) {
        if (read_host(host, *bytes, &addresses[count])) {
            count++;
        }
    }
    names_resolved(name, addresses, count);
    dns_resolved(name);
    errno = saved;
}

void resolve_list_told(struct gaicb *const *list, int count)
{
    for (int i = 0; process_acts && i < count; i++) {
        const struct gaicb *request = list[i];
        int error = request != NULL ? real_gai_error(list[i]) : EAI_INPROGRESS;
        if (error == 0) {
            resolve_told(request->ar_name, request->ar_request, request->ar_result);
        } else if (error != EAI_INPROGRESS) {
            int flags = request->ar_request != NULL ? request->ar_request->ai_flags : 0;
            dns_failed(request->ar_name, request->ar_service, flags, error);
        }
    }
}
