/*
 * What the bytes of a connection are taken for: pieces of one direction (bit 0: the server's), two bytes length, and as many
 * bytes. Other bits of the first byte say what happens besides: pieces that may be passed over are (2), a silence before
 * (8), the client goes on (16), a turn begins unread (32), the writer is told late from here on, or in time again (64).
 * Whatever they are, reading them ends, takes no more than there is, and awaits nothing that is not outstanding.
 */
#include "track/exchange/exchange.h"

#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void ask(const struct exchange *exchange, unsigned news)
{
    struct exchange_name name;
    if ((news & EXCHANGE_NAME) != 0) {
        exchange_name(exchange, &name);
        must(strnlen(name.host, HTTP1_HOST) < HTTP1_HOST);
    }
    const struct http1_facts *answer = exchange_answer(exchange);
    must((news & EXCHANGE_STATUS) == 0 || (answer != NULL && answer->status >= 100));
    must(!exchange_owed(exchange) || exchange_waiting(exchange));
    must(!exchange_wants_turn(exchange) || exchange_wants_request(exchange));
    must(exchange_ended(exchange) <= EXCHANGE_END_AMBIGUOUS);
}

static void feed(struct exchange *exchange, bool from_client, const uint8_t *bytes, size_t length)
{
    size_t most = 4 * length + 16; /* news that one piece can bring */
    unsigned news;
    do {
        if (exchange_framed(exchange, from_client)) {
            return; /* HTTP/2 is read elsewhere */
        }
        size_t taken = 0;
        news = from_client ? exchange_sent(exchange, bytes, length, &taken)
                           : exchange_received(exchange, bytes, length, &taken);
        must(taken <= length && most-- > 0);
        bytes += taken;
        length -= taken;
        ask(exchange, news);
    } while (news != EXCHANGE_NOTHING || length > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exchange exchange;

    exchange_begin(&exchange);
    while (size > 3) {
        unsigned what = data[0];
        bool from_client = (what & 1) == 0;
        size_t length = (size_t)(data[1] << 8 | data[2]);

        length = length < size - 3 ? length : size - 3;
        if ((what & 8) != 0) {
            exchange_after_silence(&exchange, from_client, length * UINT64_C(100000000));
        }
        if ((what & 16) != 0) {
            ask(&exchange, exchange_went_on(&exchange));
        }
        if ((what & 32) != 0 && exchange_wants_turn(&exchange)) {
            must(exchange_turn(&exchange) == EXCHANGE_REQUEST);
        }
        exchange.late = exchange.late != ((what & 64) != 0);
        uint8_t *copy = malloc(length + 1);

        memcpy(copy, data + 3, length);
        if ((what & 2) == 0 || !exchange_pass(&exchange, from_client, length)) {
            feed(&exchange, from_client, copy, length);
        }
        free(copy);
        data += 3 + length;
        size -= 3 + length;
    }
    return 0;
}
