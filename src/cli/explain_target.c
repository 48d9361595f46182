/* See explain_target.h. */
#include "cli/explain_target.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_DEFAULT 443

// ---- from text -------------------------------------------------------------------------------------------------

static const struct {
    const char *scheme;
    uint16_t port;
} schemes[] = {{"https://", 443}, {"http://", 80}, {"wss://", 443}, {"ws://", 80}};

/* Cuts a URL down to its host and port; *port becomes its scheme's. */
static void strip_url(char *text, uint16_t *port)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t length = strlen(schemes[i].scheme);
        if (strncasecmp(text, schemes[i].scheme, length) == 0) {
            *port = schemes[i].port;
            memmove(text, text + length, strlen(text + length) + 1);
            text[strcspn(text, "/?#")] = '\0';
            char *at = strrchr(text, '@');
            if (at != NULL) {
                memmove(text, at + 1, strlen(at + 1) + 1);
            }
            return;
        }
    }
}

static bool parse_port(const char *text, uint16_t *port)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number == 0 || number > UINT16_MAX) {
        return false;
    }
    *port = (uint16_t)number;
    return true;
}

/* "[v6]", "[v6]:port" */
static bool parse_bracketed(char *text, struct explain_target *target)
{
    struct in6_addr address;
    char *close = strchr(text, ']');
    if (close == NULL || (close[1] != '\0' && (close[1] != ':' || !parse_port(close + 2, &target->port)))) {
        return false;
    }
    *close = '\0';
    if (inet_pton(AF_INET6, text + 1, &address) != 1) {
        return false;
    }
    snprintf(target->host, sizeof(target->host), "[%.250s]", text + 1);
    return true;
}

static bool parse_host(char *text, struct explain_target *target)
{
    struct in6_addr address;
    if (inet_pton(AF_INET6, text, &address) == 1) {
        snprintf(target->host, sizeof(target->host), "[%.250s]", text);
        return true;
    }
    char *colon = strchr(text, ':');
    if (colon != NULL) {
        *colon = '\0';
        if (!parse_port(colon + 1, &target->port)) {
            return false;
        }
    }
    return rules_fold_host(text, strlen(text), target->host, sizeof(target->host));
}

bool explain_target_parse(const char *text, struct explain_target *target)
{
    char copy[EXPLAIN_TEXT];
    memset(target, 0, sizeof(*target));
    target->port = PORT_DEFAULT;
    if (strlen(text) >= sizeof(copy) - sizeof(":65535")) {
        return false;
    }
    snprintf(copy, sizeof(copy), "%s", text);
    if (strncmp(copy, "unix:/", 6) == 0) {
        snprintf(target->unix_path, sizeof(target->unix_path), "%s", copy + 5);
        snprintf(target->text, sizeof(target->text), "%s", copy);
        return true;
    }
    strip_url(copy, &target->port);
    if (!(copy[0] == '[' ? parse_bracketed(copy, target) : parse_host(copy, target))) {
        return false;
    }
    snprintf(target->text, sizeof(target->text), "%.240s:%u", target->host, target->port);
    return true;
}

// ---- matching --------------------------------------------------------------------------------------------------

static void address_bytes(const struct addrinfo *info, uint8_t address[16])
{
    if (info->ai_family == AF_INET) {
        static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)info->ai_addr;
        memcpy(address, mapped, sizeof(mapped));
        memcpy(address + sizeof(mapped), &in->sin_addr, sizeof(in->sin_addr));
    } else {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)info->ai_addr;
        memcpy(address, &in6->sin6_addr, sizeof(in6->sin6_addr));
    }
}

/* With each address of the name: the first decides, the others are told of where they differ. */
static void match_addresses(const struct rules *rules, struct rules_target *target, const struct addrinfo *found,
                            struct rules_match *match, char *resolved, size_t size)
{
    unsigned others = 0;
    unsigned different = 0;
    for (const struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        uint8_t address[16];
        struct rules_match one;
        address_bytes(info, address);
        target->address = address;
        (void)rules_match(rules, target, &one);
        target->address = NULL;
        if (info == found) {
            *match = one;
            getnameinfo(info->ai_addr, info->ai_addrlen, resolved, (socklen_t)size, NULL, 0, NI_NUMERICHOST);
        } else {
            others++;
            different += one.rule != match->rule;
        }
    }
    size_t length = strlen(resolved);
    if (others > 0) {
        snprintf(resolved + length, size - length, " and %u more, of which %u fall under another rule", others,
                 different);
    }
}

void explain_match(const struct rules *rules, const struct explain_target *asked, struct rules_match *match,
                   char *resolved, size_t size)
{
    struct rules_target target = {.port = asked->port};
    resolved[0] = '\0';
    if (asked->host[0] == '\0') {
        target.unix_path = asked->unix_path;
        target.port = 0;
    } else {
        target.host = asked->host;
    }
    (void)rules_match(rules, &target, match);
    if (!match->undecided) {
        return;
    }
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(asked->host, NULL, &hints, &found) != 0) {
        snprintf(resolved, size, "not known; rules that go by addresses were passed over");
        return;
    }
    match_addresses(rules, &target, found, match, resolved, size);
    freeaddrinfo(found);
}
