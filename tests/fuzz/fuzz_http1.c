/*
 * HTTP/1: the first byte says whose bytes follow (bit 0: answers; bits 1 and 2: to which method). Whatever they are,
 * they mean the same whole and byte by byte, and no fact is one that the header rules out; and the same if bodies are asked
 * for, which then are the same bytes in whatever pieces they come.
 */
#include "protocol/date.h"
#include "protocol/http1.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS 4096

struct told {
    enum http1_event event;
    size_t offset;
    struct http1_facts facts;
};

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_facts(const struct http1_facts *facts, bool answer)
{
    size_t length = strnlen(facts->host, sizeof facts->host);

    must(length < sizeof facts->host);
    for (size_t i = 0; i < length; i++) {
        must(strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", facts->host[i]) != NULL);
    }
    must(!(facts->until_close && facts->keep_alive));
    must(!answer || facts->status == 101 || (facts->status >= 200 && facts->status <= 999));
    must(length > 0 || facts->port == 0);
}

/* Takes the body bytes that are next into a hash of all of them. */
static size_t take_body(struct http1 *parser, const uint8_t *bytes, size_t length, uint64_t *hash)
{
    size_t taken = http1_take_body(parser, length);

    must(taken > 0 && taken <= length);
    for (size_t i = 0; i < taken; i++) {
        *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001b3) + 1;
    }
    return taken;
}

/* Feeds in steps of `step` bytes; tells the first EVENTS events. body: NULL, or a hash of the bodies, which are asked for. */
static size_t run(struct http1 *parser, const uint8_t *bytes, size_t length, size_t step, bool answer,
                  struct told *told, uint64_t *body)
{
    size_t count = 0, offset = 0;
    enum http1_event event = HTTP1_MORE;

    for (size_t at = 0; at < length && event != HTTP1_OPAQUE; at += step) {
        size_t left = length - at < step ? length - at : step;

        do {
            size_t taken = 0;

            event = http1_feed(parser, bytes + offset, left, &taken);
            must(taken <= left);
            must(event != HTTP1_MORE || taken == left);
            offset += taken;
            left -= taken;
            if (event == HTTP1_BODY) {
                must(body != NULL);
                taken = take_body(parser, bytes + offset, left, body);
                offset += taken;
                left -= taken;
                continue;
            }
            if (event == HTTP1_HEAD_DONE && body != NULL) {
                http1_want_body(parser, true);
            }
            if (event != HTTP1_MORE && count < EVENTS) {
                told[count].event = event;
                told[count].offset = offset;
                told[count].facts = parser->facts;
                if (event == HTTP1_HEAD_DONE) {
                    check_facts(&parser->facts, answer);
                }
                count++;
            }
        } while (event != HTTP1_MORE && event != HTTP1_OPAQUE);
    }
    return count;
}

static void begin(struct http1 *parser, uint8_t how)
{
    memset(parser, 0xa5, sizeof *parser); /* nothing may be taken from what was there */
    if ((how & 1) != 0) {
        http1_answer_begin(parser, (enum http1_method)(how >> 1 & 3));
    } else {
        http1_request_begin(parser);
    }
}

static void compare(const struct told *one, const struct told *other, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        must(one[i].event == other[i].event && one[i].offset == other[i].offset);
        must(memcmp(&one[i].facts, &other[i].facts, sizeof one[i].facts) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct told whole[EVENTS], pieces[EVENTS];
    struct http1 first, second;

    if (size == 0) {
        return 0;
    }
    bool answer = (data[0] & 1) != 0;
    const size_t steps[] = {1, 2 + data[0] / 8};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        uint64_t bodies = 0, bodies_in_pieces = 0;

        begin(&first, data[0]);
        second = first;
        size_t count = run(&first, data + 1, size - 1, size, answer, whole, NULL);

        must(count == run(&second, data + 1, size - 1, steps[i], answer, pieces, NULL));
        compare(whole, pieces, count);
        /* The word is scratch: of a line that came whole, it was never filled. */
        must(memcmp(&first, &second, offsetof(struct http1, word)) == 0);
        begin(&first, data[0]);
        second = first;
        must(count == run(&first, data + 1, size - 1, size, answer, pieces, &bodies));
        compare(whole, pieces, count);
        must(count == run(&second, data + 1, size - 1, steps[i], answer, pieces, &bodies_in_pieces));
        compare(whole, pieces, count);
        must(bodies == bodies_in_pieces);
    }
    int64_t seconds = -1;

    must(date_http((const char *)data, size, &seconds) == (seconds >= 0));
    return 0;
}
