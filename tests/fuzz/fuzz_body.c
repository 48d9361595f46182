/*
 * Bodies: the first byte says which (bit 0: an event stream, else that of a 429) and, above it, in what pieces the rest
 * comes. Whatever it is, it says the same whole, in those pieces and byte by byte; and once it has said all, no more.
 */
#include "protocol/body.h"

#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* What all of it says, in pieces of so many bytes. */
static unsigned run(struct body *body, bool stream, const uint8_t *data, size_t size, size_t piece)
{
    unsigned news = BODY_NOTHING;

    memset(body, 0xa5, sizeof *body); /* nothing may be taken from what was there */
    body_begin(body, stream ? 200 : 429, stream, false);
    must(body_wants(body) && body->stream == stream);
    for (size_t at = 0; at < size && body_wants(body); at += piece) {
        news |= body_feed(body, data + at, piece < size - at ? piece : size - at);
    }
    must(body_wants(body) || (news & (BODY_DONE | BODY_ERROR | BODY_QUOTA)) != 0 || (!stream && size >= QUOTA_MOST));
    news |= body_end(body);
    must(!body_wants(body) && body_feed(body, data, size) == BODY_NOTHING && body_end(body) == BODY_NOTHING);
    must((news & BODY_DONE) == 0 || (news & BODY_ERROR) == 0);
    must((news & (stream ? BODY_QUOTA : BODY_LIFE | BODY_DONE | BODY_ERROR)) == 0);
    return news;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct body body;

    if (size == 0) {
        return 0;
    }
    bool stream = (data[0] & 1) != 0;
    size_t piece = 2 + (data[0] >> 1);
    unsigned whole = run(&body, stream, data + 1, size - 1, size);

    must(whole == run(&body, stream, data + 1, size - 1, 1));
    must(whole == run(&body, stream, data + 1, size - 1, piece));
    return 0;
}
