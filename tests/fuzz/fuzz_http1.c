/*
 * HTTP/1: the first byte says whose bytes follow (bit 0: answers; bits 1 and 2: to which method). Whatever they are,
 * they mean the same whole and byte by byte, and no fact is one that the header rules out.
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

/* Feeds in steps of `step` bytes; tells the first EVENTS events. */
static size_t run(struct http1 *parser, const uint8_t *bytes, size_t length, size_t step, bool answer,
                  struct told *told)
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
        memset(&first, 0xa5, sizeof first); /* nothing may be taken from what was there */
        if (answer) {
            http1_answer_begin(&first, (enum http1_method)(data[0] >> 1 & 3));
        } else {
            http1_request_begin(&first);
        }
        second = first;
        size_t count = run(&first, data + 1, size - 1, size, answer, whole);

        must(count == run(&second, data + 1, size - 1, steps[i], answer, pieces));
        for (size_t j = 0; j < count; j++) {
            must(whole[j].event == pieces[j].event && whole[j].offset == pieces[j].offset);
            must(memcmp(&whole[j].facts, &pieces[j].facts, sizeof whole[j].facts) == 0);
        }
        /* The word is scratch: of a line that came whole, it was never filled. */
        must(memcmp(&first, &second, offsetof(struct http1, word)) == 0);
    }
    int64_t seconds = -1;

    must(date_http((const char *)data, size, &seconds) == (seconds >= 0));
    return 0;
}
