#include "protocol/body.h"

#include <string.h>

_Static_assert((int)BODY_LIFE == (int)SSE_LIFE && (int)BODY_DONE == (int)SSE_DONE && (int)BODY_ERROR == (int)SSE_ERROR,
               "a stream's news is told as it is");

void body_begin(struct body *body, unsigned status, bool event_stream, bool encoded)
{
    body->reader = BODY_UNREAD;
    body->stream = event_stream && status >= 200 && status < 300;
    if (encoded) {
        return;
    }
    if (body->stream) {
        body->reader = BODY_EVENTS;
        memset(&body->sse, 0, sizeof body->sse);
    } else if (status == 429) {
        body->reader = BODY_QUOTA_SOUGHT;
        memset(&body->quota, 0, sizeof body->quota);
    }
}

unsigned body_feed(struct body *body, const uint8_t *bytes, size_t length)
{
    unsigned news = BODY_NOTHING;

    if (body->reader == BODY_EVENTS) {
        news = sse_feed(&body->sse, bytes, length);
        if ((news & (SSE_DONE | SSE_ERROR)) != 0) {
            body->reader = BODY_UNREAD;
        }
    } else if (body->reader == BODY_QUOTA_SOUGHT) {
        enum quota_news found = quota_feed(&body->quota, bytes, length);

        news = found == QUOTA_OUT ? BODY_QUOTA : BODY_NOTHING;
        if (found != QUOTA_MORE) {
            body->reader = BODY_UNREAD;
        }
    }
    return news;
}

unsigned body_end(struct body *body)
{
    unsigned news = body->reader == BODY_EVENTS ? sse_end(&body->sse) & ~(unsigned)SSE_LIFE : BODY_NOTHING;

    body->reader = BODY_UNREAD;
    return news;
}
