/*
 * See address.h.
 */
#include "track/names/address.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

bool address_read(const struct sockaddr *sockaddr, size_t length, struct address *address)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    sa_family_t family;
    if (length < sizeof family) {
        return false;
    }
    memcpy(&family, &sockaddr->sa_family, sizeof family);
    if (family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in in;
        memcpy(&in, sockaddr, sizeof in);
        memcpy(address->bytes, mapped, sizeof mapped);
        memcpy(address->bytes + 12, &in.sin_addr, 4);
        address->port = ntohs(in.sin_port);
        return true;
    }
    if (family == AF_INET6 && length >= 24) { /* the scope may be missing */
        struct sockaddr_in6 in = {0};
        memcpy(&in, sockaddr, length < sizeof in ? length : sizeof in);
        memcpy(address->bytes, &in.sin6_addr, 16);
        address->port = ntohs(in.sin6_port);
        return true;
    }
    return false;
}

struct network {
    uint8_t prefix[16];
    uint8_t bits;
};

static const struct network not_public[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0}, 104},            /* this network */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10}, 104},           /* private */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 100, 64}, 106},      /* shared */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127}, 104},          /* loopback */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 169, 254}, 112},     /* link-local */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 172, 16}, 108},      /* private */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 0}, 120},    /* protocol assignments */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2}, 120},    /* documentation */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168}, 112},     /* private */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18}, 111},      /* benchmarks */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 51, 100}, 120}, /* documentation */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113}, 120},  /* documentation */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 224}, 99},           /* multicast and reserved */
};

static bool within(const uint8_t *address, const struct network *network)
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(address, network->prefix, whole) != 0) {
        return false;
    }
    return rest == 0 || (address[whole] ^ network->prefix[whole]) >> (8 - rest) == 0;
}

bool address_public(const struct address *address)
{
    static const struct network ipv4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
    static const struct network global = {{0x20}, 3}; /* 2000::/3 is all that is handed out */
    static const struct network documentation = {{0x20, 0x01, 0x0d, 0xb8}, 32};
    if (!within(address->bytes, &ipv4)) {
        return within(address->bytes, &global) && !within(address->bytes, &documentation);
    }
    for (size_t i = 0; i < sizeof not_public / sizeof not_public[0]; i++) {
        if (within(address->bytes, &not_public[i])) {
            return false;
        }
    }
    return true;
}

bool address_in_figures(const char *host)
{
    struct in_addr in4;
    struct in6_addr in6;
    if ((host[0] < '0' || host[0] > '9') && strchr(host, ':') == NULL) {
        return false; /* as nearly always, at a glance */
    }
    return inet_aton(host, &in4) != 0 || inet_pton(AF_INET6, host, &in6) == 1;
}
