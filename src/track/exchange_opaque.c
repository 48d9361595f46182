/*
 * See exchange.h: a protocol that cannot be read. That bytes move, and which way, is all there is to go by.
 */
#include "track/exchange_inner.h"

bool exchange_opaque_pass(struct exchange *exchange, bool from_client)
{
    return from_client && exchange->asked > 0;
}

bool exchange_opaque_wants_request(const struct exchange *exchange)
{
    (void)exchange;
    return false;
}

unsigned exchange_opaque_sent(struct exchange *exchange, size_t length)
{
    return length > 0 && exchange->asked == 0 ? exchange_request_begins(exchange) : EXCHANGE_NOTHING;
}

unsigned exchange_opaque_received(struct exchange *exchange, size_t length)
{
    return length > 0 ? exchange_answered_and_over(exchange) : EXCHANGE_NOTHING;
}
