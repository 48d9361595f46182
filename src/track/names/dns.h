/*
 * Names that do not resolve: the provider's fault, or our own network's? (OUTCOMES, dns.)
 *
 * A resolver that answers "this fails" blames the provider. One that does not answer does so only if it lately answered for
 * somebody else: when nothing resolves, it is we who are cut off. A name that does not exist is the caller's own matter.
 * Async-signal-safe, errno is left alone.
 */
#ifndef TRACK_NAMES_DNS_H
#define TRACK_NAMES_DNS_H

#include <stdbool.h>
#include <stdint.h>

/* A name was resolved. Names without a dot prove nothing about the network: they stand in a file. */
void dns_resolved(const char *name);

/*
 * A name was not: error is getaddrinfo's; service may be NULL, flags are the hints'. If that blames its provider, a call to
 * it failed, unless a transfer to it is under way and tells so itself.
 */
void dns_failed(const char *name, const char *service, int flags, int error);

/* Does this error, for this (folded) name, blame the provider? now: ns, as process_now(). */
bool dns_blames(const char *name, int error, uint64_t now);

#endif
