/*
 * HTTP/2: pieces of one byte direction (bit 0: the server's), two bytes length, and as many bytes, as the seeds were
 * captured. Whatever they are, they mean the same whole and byte by byte, and the tables of the header blocks are sound.
 */
#include "protocol/http2.h"

#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* All that was told, as a number. */
struct told {
    uint64_t hash;
    bool opaque;
};

static void note(struct told *told, uint64_t value)
{
    told->hash = (told->hash ^ value) * UINT64_C(0x100000001b3);
}

static void check_facts(const struct http2_facts *facts)
{
    size_t length = strnlen(facts->host, sizeof facts->host);

    must(length < sizeof facts->host);
    for (size_t i = 0; i < length; i++) {
        must(strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", facts->host[i]) != NULL);
    }
    must(facts->status == 0 || (facts->status >= 100 && facts->status <= 999));
    must(facts->grpc_status >= HTTP2_NONE && facts->grpc_status <= 16);
}

static void check_table(const struct hpack *hpack)
{
    uint32_t size = 0, texts = 0;

    must(hpack->size <= hpack->capacity && hpack->capacity <= hpack->limit);
    must(hpack->count <= HPACK_ENTRIES && hpack->text_used <= HPACK_TEXTS);
    for (unsigned age = 0; age < hpack->count; age++) {
        const struct hpack_entry *entry = &hpack->entries[(hpack->newest + HPACK_ENTRIES - age) % HPACK_ENTRIES];

        size += entry->size;
        texts += entry->length == HPACK_CUT ? 0 : entry->length;
    }
    must(size == hpack->size && texts == hpack->text_used);
}

static void hear(struct told *told, const struct http2 *parser, enum http2_event event)
{
    note(told, event);
    note(told, parser->stream);
    switch (event) {
    case HTTP2_HEADERS:
        check_facts(&parser->facts);
        note(told, parser->ends);
        note(told, parser->facts.status);
        note(told, (uint64_t)parser->facts.grpc_status);
        note(told, strlen(parser->facts.host) << 16 | parser->facts.port);
        note(told, retry_after(&parser->facts.retry, RETRY_BY_ALL, 0));
        break;
    case HTTP2_RESET:
    case HTTP2_GOAWAY:
        note(told, parser->code);
        break;
    case HTTP2_SETTINGS:
        note(told, parser->table_size);
        note(told, parser->frame_size);
        break;
    default:
        break;
    }
}

/* What is told of bodies depends on the pieces: their bytes one by one do not. */
static void hear_data(struct told *told, const struct http2 *parser)
{
    for (size_t i = 0; i < parser->length; i++) {
        note(told, parser->data[i] + 256u);
    }
}

static void feed(struct told *told, struct http2 *parser, struct http2 *other, const uint8_t *bytes, size_t length)
{
    enum http2_event event;

    do {
        size_t taken;

        event = http2_feed(parser, bytes, length, &taken);
        must(taken <= length);
        bytes += taken;
        length -= taken;
        if (event == HTTP2_DATA) {
            hear_data(told, parser);
        } else if (event == HTTP2_OPAQUE) {
            told->opaque = true;
            return;
        } else if (event != HTTP2_MORE) {
            hear(told, parser, event);
        }
        if (event == HTTP2_SETTINGS) {
            http2_allow(other, parser->table_size, parser->frame_size);
        }
    } while (event != HTTP2_MORE);
    must(length == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http2 whole[2], bytewise[2];
    struct told told = {0, false}, told_bytewise = {0, false};

    for (int side = 0; side < 2; side++) {
        http2_begin(&whole[side], side == 1);
        http2_begin(&bytewise[side], side == 1);
    }
    while (size > 3) {
        int side = data[0] & 1;
        size_t length = (size_t)(data[1] << 8 | data[2]);

        length = length < size - 3 ? length : size - 3;
        feed(&told, &whole[side], &whole[1 - side], data + 3, length);
        for (size_t i = 0; i < length; i++) {
            feed(&told_bytewise, &bytewise[side], &bytewise[1 - side], data + 3 + i, 1);
        }
        must(told.hash == told_bytewise.hash && told.opaque == told_bytewise.opaque);
        must(told.opaque || http2_passing(&whole[side]) == http2_passing(&bytewise[side]));
        data += 3 + length;
        size -= 3 + length;
    }
    for (int side = 0; side < 2; side++) {
        check_table(&whole[side].hpack);
        check_table(&bytewise[side].hpack);
    }
    return 0;
}
