/*
 * Addresses of the internet: one form for both families. Pure.
 */
#ifndef TRACK_NAMES_ADDRESS_H
#define TRACK_NAMES_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* 16 bytes, IPv4 as ::ffff:a.b.c.d, and a port in host order. */
struct address {
    uint8_t bytes[16];
    uint16_t port;
};

/* False: neither IPv4 nor IPv6, or too short. */
bool address_read(const struct sockaddr *sockaddr, size_t length, struct address *address);
/* Reachable from anywhere: not loopback, private, link-local, shared, multicast or reserved. */
bool address_public(const struct address *address);
/* Is this text an address in figures rather than a name? */
bool address_in_figures(const char *host);

#endif
