/*
 * What the resolver answered, noted in the table of names (names.h). Leaves errno alone.
 */
#ifndef TRACK_NAMES_RESOLVE_H
#define TRACK_NAMES_RESOLVE_H

#include <netdb.h>

/* getaddrinfo succeeded. */
void resolve_told(const char *node, const struct addrinfo *hints, const struct addrinfo *result);
/* One of the gethostbyname family did; host NULL: it did not, and *error is its h_errno, if the program asked for it. */
void resolve_host_told(const char *name, const struct hostent *host, const int *error);
/* getaddrinfo_a has waited for all of these. */
void resolve_list_told(struct gaicb *const *list, int count);

#endif
