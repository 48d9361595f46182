#include "protocol/http2_inner.h"

#include "protocol/http1_inner.h"

#include <string.h>

static char fold(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter | 0x20) : letter;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Does a value begin with this word, in any case, and end there or with one of `stops`? */
static bool begins(const char *value, size_t length, const char *word, const char *stops)
{
    size_t at = 0;

    for (; word[at] != '\0'; at++) {
        if (at == length || fold(value[at]) != word[at]) {
            return false;
        }
    }
    return at == length || strchr(stops, value[at]) != NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

static void take_method(struct http2_facts *facts, const char *value, size_t length)
{
    facts->connect = length == 7 && memcmp(value, "CONNECT", 7) == 0;
}

static void take_status(struct http2_facts *facts, const char *value, size_t length)
{
    if (length == 3 && value[0] >= '1' && is_digit(value[0]) && is_digit(value[1]) && is_digit(value[2])) {
        facts->status = (uint16_t)((value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0'));
    }
}

static void take_type(struct http2_facts *facts, const char *value, size_t length)
{
    facts->event_stream = begins(value, length, "text/event-stream", "; \t");
    facts->grpc = begins(value, length, "application/grpc", "+; \t"); /* not -web: its trailers are in the body */
}

static void take_encoding(struct http2_facts *facts, const char *value, size_t length)
{
    facts->encoded = !begins(value, length, "identity", " \t");
}

/* One of 0..16. */
static void take_grpc_status(struct http2_facts *facts, const char *value, size_t length)
{
    int number = 0;

    for (size_t i = 0; i < length; i++) {
        number = is_digit(value[i]) && number <= 16 ? number * 10 + (value[i] - '0') : 99;
    }
    facts->grpc_status = length > 0 && number <= 16 ? (int8_t)number : HTTP2_NONE;
}

/* Digits behind the colon; false: something else. */
static bool take_port(struct http2_facts *facts, const char *value, size_t length)
{
    uint32_t port = 0;

    for (size_t i = 0; i < length; i++) {
        port = is_digit(value[i]) ? port * 10 + (uint32_t)(value[i] - '0') : UINT16_MAX + 1;
        if (port > UINT16_MAX) {
            return false;
        }
    }
    facts->port = (uint16_t)port;
    return true;
}

static void take_host(struct http2_facts *facts, const char *value, size_t length)
{
    size_t at = 0;

    facts->port = 0;
    facts->host[0] = '\0';
    while (at < length && at < HTTP2_HOST - 1 && http1_is((uint8_t)value[at], HTTP1_C_HOST)) {
        facts->host[at] = fold(value[at]);
        at++;
    }
    bool good = at > 0 && (at == length || (value[at] == ':' && take_port(facts, value + at + 1, length - at - 1)));

    if (!good) {
        at = 0;
    } else if (facts->host[at - 1] == '.') {
        at--;
    }
    facts->host[at] = '\0';
}

/* ---- fields ------------------------------------------------------------------------------------------------------- */

enum field {
    FIELD_NONE,
    FIELD_METHOD,
    FIELD_AUTHORITY,
    FIELD_HOST,
    FIELD_STATUS,
    FIELD_TYPE,
    FIELD_ENCODING,
    FIELD_GRPC
};

static const struct row {
    const char *name;
    void (*take)(struct http2_facts *facts, const char *value, size_t length);
} rows[] = {
    [FIELD_NONE] = {"", NULL},
    [FIELD_METHOD] = {":method", take_method},
    [FIELD_AUTHORITY] = {":authority", take_host},
    [FIELD_HOST] = {"host", take_host},
    [FIELD_STATUS] = {":status", take_status},
    [FIELD_TYPE] = {"content-type", take_type},
    [FIELD_ENCODING] = {"content-encoding", take_encoding},
    [FIELD_GRPC] = {"grpc-status", take_grpc_status},
};

#define ROWS (sizeof rows / sizeof rows[0]) /* what is beyond are the fields of retry.h */

static bool is(const char *known, const char *name, size_t length)
{
    return strlen(known) == length && memcmp(known, name, length) == 0;
}

uint8_t http2_field(const char *name, size_t length)
{
    for (size_t i = 1; i < ROWS; i++) {
        if (is(rows[i].name, name, length)) {
            return (uint8_t)i;
        }
    }
    unsigned field = length > 0 && name[0] != ':' ? retry_field(name, length) : 0;

    return field != 0 ? (uint8_t)(ROWS - 1 + field) : FIELD_NONE;
}

static bool was(uint8_t fields, enum field field)
{
    return (fields & 1u << field) != 0;
}

void http2_facts_begin(struct http2_facts *facts)
{
    memset(facts, 0, offsetof(struct http2_facts, retry));
    facts->grpc_status = HTTP2_NONE;
    facts->host[0] = '\0';
    retry_begin(&facts->retry);
}

void http2_facts_take(struct http2_facts *facts, uint8_t field, const char *value, size_t length)
{
    if (field >= ROWS) { /* behind :status, as all that begins with a colon comes first */
        if (facts->status == 0 || retry_status(facts->status)) {
            retry_take(&facts->retry, field - (unsigned)(ROWS - 1), value, length);
        }
        return;
    }
    facts->twice |= was(facts->seen, field) ? (uint8_t)(1u << field) : 0;
    facts->seen |= (uint8_t)(1u << field);
    if (field == FIELD_HOST && was(facts->seen, FIELD_AUTHORITY)) {
        return; /* a copy for those who read HTTP/1 */
    }
    rows[field].take(facts, value, length);
}

void http2_facts_end(struct http2_facts *facts)
{
    bool authority = was(facts->seen, FIELD_AUTHORITY);

    if (was(facts->twice, FIELD_STATUS)) {
        facts->status = 0;
    }
    if (was(facts->twice, FIELD_TYPE)) {
        facts->event_stream = facts->grpc = false;
    }
    if (was(facts->twice, FIELD_GRPC)) {
        facts->grpc_status = HTTP2_NONE;
    }
    if (was(facts->twice, authority ? FIELD_AUTHORITY : FIELD_HOST)) {
        facts->host[0] = '\0';
        facts->port = 0;
    }
}
