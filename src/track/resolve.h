/*
 * What the resolver answered, noted in the table of names (names.h). Leaves errno alone.
 */
#ifndef TRACK_RESOLVE_H
#define TRACK_RESOLVE_H

#include <netdb.h>

/* getaddrinfo succeeded. */
void resolve_told(const char *node, const struct addrinfo *hints, const struct addrinfo *result);
/* One of the gethostbyname family did; host may be NULL: it did not. */
void resolve_host_told(const char *name, const struct hostent *host);

#endif
