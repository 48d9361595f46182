#include "rules/pattern.h"

#include <arpa/inet.h>
#include <string.h>

#define HOST_MAX  253
#define UNIX_MAX  107 /* sun_path without its NUL */
#define V4_PREFIX 96  /* bits before the address in ::ffff:a.b.c.d */

static const uint8_t v4_mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* ---- hosts ----------------------------------------------------------------------------------------------------- */

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool rules_fold_host(const char *host, size_t length, char *buffer, size_t size)
{
    if (length > 0 && host[length - 1] == '.') {
        length--;
    }
    if (length == 0 || length > HOST_MAX || length >= size) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        char c = fold(host[i]);
        if (!is_host_char(c)) {
            return false;
        }
        buffer[i] = c;
    }
    buffer[length] = '\0';
    return true;
}

/* Where a host stops being one: a foreign character or an empty label. Its length: it is sound. */
static size_t host_fault(struct span host)
{
    for (size_t i = 0; i < host.length; i++) {
        if (!is_host_char(fold(host.at[i])) || (host.at[i] == '.' && (i == 0 || host.at[i - 1] == '.'))) {
            return i;
        }
    }
    return host.length;
}

/* Nothing but figures and dots: meant as an address, never a name. */
static bool is_figures(struct span span)
{
    for (size_t i = 0; i < span.length; i++) {
        if (span.at[i] != '.' && (span.at[i] < '0' || span.at[i] > '9')) {
            return false;
        }
    }
    return true;
}

/* ---- addresses ------------------------------------------------------------------------------------------------- */

static bool address_v4(struct span span, uint8_t address[16])
{
    char text[INET_ADDRSTRLEN];
    if (span.length >= sizeof text) {
        return false;
    }
    memcpy(text, span.at, span.length);
    text[span.length] = '\0';
    uint8_t bytes[4];
    if (strlen(text) != span.length || inet_pton(AF_INET, text, bytes) != 1) {
        return false;
    }
    memcpy(address, v4_mapped, sizeof v4_mapped);
    memcpy(address + sizeof v4_mapped, bytes, sizeof bytes);
    return true;
}

static bool address_v6(struct span span, uint8_t address[16])
{
    char text[INET6_ADDRSTRLEN];
    if (span.length >= sizeof text) {
        return false;
    }
    memcpy(text, span.at, span.length);
    text[span.length] = '\0';
    uint8_t bytes[16];
    if (strlen(text) != span.length || inet_pton(AF_INET6, text, bytes) != 1) {
        return false;
    }
    memcpy(address, bytes, sizeof bytes);
    return true;
}

bool pattern_address(const char *host, size_t length, uint8_t address[16])
{
    if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
        return address_v6((struct span){host + 1, length - 2}, address);
    }
    struct span span = {host, length};
    if (memchr(host, ':', length) != NULL) {
        return address_v6(span, address);
    }
    /* names are told from addresses by their last character, without a closer look */
    return length > 0 && host[length - 1] >= '0' && host[length - 1] <= '9' && address_v4(span, address);
}

/* "10.0.0.0/8" or "fd00::/8" without its brackets, or a single address; with the bits beyond the network cleared. */
static const char *parse_network(struct span span, bool v6, struct pattern_parsed *parsed, size_t *at)
{
    size_t slash = 0;
    while (slash < span.length && span.at[slash] != '/') {
        slash++;
    }
    struct span address = {span.at, slash};
    if (!(v6 ? address_v6(address, parsed->address) : address_v4(address, parsed->address))) {
        return v6 ? "an IPv6 address in the brackets" : "an IPv4 address, four numbers from 0 to 255";
    }
    parsed->kind = PATTERN_ADDRESS;
    parsed->bits = 128;
    if (slash == span.length) {
        return NULL;
    }
    uint64_t bits;
    if (!value_count(span_from(span, slash + 1), &bits) || bits > (v6 ? 128 : 32)) {
        *at += slash + 1;
        return v6 ? "a length of the network from 0 to 128" : "a length of the network from 0 to 32";
    }
    parsed->bits = (uint8_t)(v6 ? bits : V4_PREFIX + bits);
    for (unsigned bit = parsed->bits; bit < 128; bit++) {
        parsed->address[bit / 8] &= (uint8_t) ~(0x80u >> (bit % 8));
    }
    return NULL;
}

/* ---- patterns -------------------------------------------------------------------------------------------------- */

static const char *parse_port(struct span span, struct pattern_parsed *parsed)
{
    uint64_t port;
    if (!value_count(span, &port) || port == 0 || port > UINT16_MAX) {
        return "a port from 1 to 65535";
    }
    parsed->port = (uint16_t)port;
    return NULL;
}

static const char *parse_unix(struct span span, struct pattern_parsed *parsed, size_t *at)
{
    *at = strlen("unix:");
    parsed->kind = PATTERN_UNIX;
    parsed->text = span_from(span, *at);
    if (parsed->text.length == 0 || parsed->text.length > UNIX_MAX || parsed->text.at[0] != '/') {
        return "an absolute path of at most 107 bytes";
    }
    for (size_t i = 0; i < parsed->text.length; i++) {
        if (parsed->text.at[i] <= ' ' || parsed->text.at[i] > '~') {
            *at += i;
            return "a path of plain characters";
        }
    }
    return NULL;
}

static const char *parse_bracketed(struct span span, struct pattern_parsed *parsed, size_t *at)
{
    const char *close = memchr(span.at, ']', span.length);
    if (close == NULL) {
        return "a closing ']' behind the IPv6 address";
    }
    size_t end = (size_t)(close - span.at);
    *at = 1;
    const char *expected = parse_network((struct span){span.at + 1, end - 1}, true, parsed, at);
    if (expected != NULL || end + 1 == span.length) {
        return expected;
    }
    *at = end + 1;
    if (span.at[*at] != ':') {
        return "':' and a port, or nothing";
    }
    ++*at;
    return parse_port(span_from(span, *at), parsed);
}

/* What stands before the port. */
static const char *parse_host(struct span host, struct pattern_parsed *parsed, size_t *at)
{
    if (span_is(host, "*")) {
        parsed->kind = PATTERN_ANY;
        return NULL;
    }
    if (memchr(host.at, '/', host.length) != NULL || is_figures(host)) {
        return parse_network(host, false, parsed, at);
    }
    parsed->kind = PATTERN_HOST;
    if (host.length > 2 && host.at[0] == '*' && host.at[1] == '.') {
        parsed->kind = PATTERN_SUFFIX;
        *at = 1;
        host = span_from(host, 1);
    }
    if (host.at[host.length - 1] == '.') {
        host.length--;
    }
    parsed->text = host;
    /* a suffix has its dot in front, which is no empty label */
    size_t skip = parsed->kind == PATTERN_SUFFIX ? 1 : 0;
    size_t fault = skip + host_fault(span_from(host, skip));
    if (fault < host.length) {
        *at += fault;
        return host.at[fault] == '*' ? "'*' alone, or before a suffix as in *.example.com"
               : host.at[fault] == '.'
                   ? "a name without empty labels"
                   : "a host, *.suffix, an address or unix:/path, of letters, figures and . _ - (others as xn--)";
    }
    if (host.length == skip || host.length > HOST_MAX) {
        return "a host of 1 to 253 characters";
    }
    return NULL;
}

const char *pattern_parse(struct span span, struct pattern_parsed *parsed, size_t *at)
{
    memset(parsed, 0, sizeof *parsed);
    *at = 0;
    if (span.length >= 5 && memcmp(span.at, "unix:", 5) == 0) {
        return parse_unix(span, parsed, at);
    }
    if (span.length > 0 && span.at[0] == '[') {
        return parse_bracketed(span, parsed, at);
    }
    struct span host = span;
    const char *colon = memchr(span.at, ':', span.length);
    if (colon != NULL) {
        size_t length = (size_t)(colon - span.at);
        struct span port = span_from(span, length + 1);
        if (memchr(port.at, ':', port.length) != NULL) {
            return "an IPv6 address in brackets: [::1] or [::1]:443";
        }
        const char *expected = parse_port(port, parsed);
        if (expected != NULL) {
            *at = length + 1;
            return expected;
        }
        host.length = length;
    }
    if (host.length == 0) {
        return "a host, *.suffix, an address or unix:/path";
    }
    return parse_host(host, parsed, at);
}
