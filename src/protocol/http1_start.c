#include "protocol/http1_inner.h"

#include <string.h>

/* ---- the request line ----------------------------------------------------------------------------------------- */

enum http1_method http1_method_of(const uint8_t *name, size_t length)
{
    static const struct {
        const char *name;
        uint8_t length;
        uint8_t method;
    } methods[] = {{"GET", 3, HTTP1_GET}, {"HEAD", 4, HTTP1_HEAD}, {"CONNECT", 7, HTTP1_CONNECT}};

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (methods[i].length == length && memcmp(methods[i].name, name, length) == 0) {
            return (enum http1_method)methods[i].method;
        }
    }
    return HTTP1_OTHER;
}

static enum http1_state method_feed(struct http1 *parser, uint8_t byte)
{
    if (http1_is(byte, HTTP1_C_TOKEN) && parser->length < HTTP1_METHOD) {
        parser->word[parser->length++] = (char)byte; /* not folded: methods are told apart by case */
        return HTTP1_S_METHOD;
    }
    if (byte != ' ' || parser->length == 0) {
        return HTTP1_S_OPAQUE;
    }
    parser->facts.method = http1_method_of((const uint8_t *)parser->word, parser->length);
    parser->length = 0;
    return HTTP1_S_TARGET;
}

static enum http1_state target_rest_feed(struct http1 *parser, uint8_t byte)
{
    if (byte == ' ') {
        parser->length = 0;
        return HTTP1_S_VERSION;
    }
    return http1_is(byte, HTTP1_C_TARGET) ? HTTP1_S_TARGET_REST : HTTP1_S_OPAQUE;
}

static enum http1_state authority_begin(struct http1 *parser)
{
    parser->facts.absolute = true;
    http1_host_begin(parser);
    return HTTP1_S_AUTHORITY;
}

static enum http1_state scheme_feed(struct http1 *parser, uint8_t byte)
{
    if (byte == ':') {
        return HTTP1_S_COLON;
    }
    if (http1_is(byte, HTTP1_C_TOKEN)) {
        http1_word_add(parser, byte);
        return HTTP1_S_SCHEME;
    }
    return target_rest_feed(parser, byte);
}

static enum http1_state target_feed(struct http1 *parser, uint8_t byte)
{
    if (!http1_is(byte, HTTP1_C_TARGET)) {
        return HTTP1_S_OPAQUE;
    }
    if (parser->facts.method == HTTP1_CONNECT) {
        (void)authority_begin(parser);
        http1_host_feed(parser, byte);
        return HTTP1_S_AUTHORITY;
    }
    return byte == '/' || byte == '*' ? HTTP1_S_TARGET_REST : scheme_feed(parser, byte);
}

static enum http1_state slash_feed(struct http1 *parser, uint8_t byte)
{
    static const struct {
        const char *name;
        uint16_t port;
    } schemes[] = {{"http", 80}, {"https", 443}, {"ftp", 21}};

    if (byte != '/') {
        return target_rest_feed(parser, byte);
    }
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (http1_word_is(parser, schemes[i].name)) {
            parser->left = schemes[i].port; /* the default, until the authority is read */
        }
    }
    return authority_begin(parser);
}

static enum http1_state authority_feed(struct http1 *parser, uint8_t byte)
{
    bool rest = byte == '/' || byte == '?' || byte == '#';

    if (byte == '@') {
        return authority_begin(parser); /* it was user and password */
    }
    if (rest && parser->facts.method == HTTP1_CONNECT) {
        parser->flags |= HTTP1_F_HOST_BAD;
    }
    if (byte == ' ' || rest) {
        http1_host_end(parser);
        if (parser->facts.port == 0 && parser->facts.host[0] != '\0') {
            parser->facts.port = (uint16_t)parser->left;
        }
        parser->left = 0;
        return target_rest_feed(parser, byte);
    }
    if (!http1_is(byte, HTTP1_C_TARGET)) {
        return HTTP1_S_OPAQUE;
    }
    http1_host_feed(parser, byte);
    return HTTP1_S_AUTHORITY;
}

/* ---- the version and the status line -------------------------------------------------------------------------- */

static enum http1_state version_feed(struct http1 *parser, uint8_t byte)
{
    static const char version[] = "HTTP/1.";

    if (parser->length < sizeof version - 1) {
        if (byte == (uint8_t)version[parser->length++]) {
            return HTTP1_S_VERSION;
        }
        parser->flags |= parser->length > sizeof "HTTP/" - 1 ? HTTP1_F_OTHER : 0;
        return HTTP1_S_OPAQUE;
    }
    if (byte < '0' || byte > '9') {
        return HTTP1_S_OPAQUE;
    }
    if (byte == '0') {
        parser->flags |= HTTP1_F_OLD;
    }
    parser->length = 0;
    return HTTP1_S_VERSION_END;
}

static enum http1_state status_feed(struct http1 *parser, uint8_t byte)
{
    if (parser->length < 3) {
        if (byte < '0' || byte > '9') {
            return HTTP1_S_OPAQUE;
        }
        parser->facts.status = (uint16_t)(parser->facts.status * 10 + (byte - '0'));
        parser->length++;
        return HTTP1_S_STATUS;
    }
    return byte == ' ' && parser->facts.status >= 100 ? HTTP1_S_REASON : HTTP1_S_OPAQUE;
}

/* ---- both ----------------------------------------------------------------------------------------------------- */

enum http1_state http1_start_feed(struct http1 *parser, uint8_t byte)
{
    switch ((enum http1_state)parser->state) {
    case HTTP1_S_METHOD:
        return method_feed(parser, byte);
    case HTTP1_S_TARGET:
        return target_feed(parser, byte);
    case HTTP1_S_SCHEME:
        return scheme_feed(parser, byte);
    case HTTP1_S_COLON:
        return byte == '/' ? HTTP1_S_SLASH : target_rest_feed(parser, byte);
    case HTTP1_S_SLASH:
        return slash_feed(parser, byte);
    case HTTP1_S_AUTHORITY:
        return authority_feed(parser, byte);
    case HTTP1_S_TARGET_REST:
        return target_rest_feed(parser, byte);
    case HTTP1_S_VERSION:
        return version_feed(parser, byte);
    case HTTP1_S_VERSION_END:
        return byte == ' ' && (parser->flags & HTTP1_F_ANSWER) != 0 ? HTTP1_S_STATUS : HTTP1_S_OPAQUE;
    case HTTP1_S_STATUS:
        return status_feed(parser, byte);
    default:
        return HTTP1_S_OPAQUE;
    }
}
