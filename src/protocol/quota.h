/*
 * The first KiB of a 429's body: is the account out of quota (nothing will get through until somebody pays), or is this a
 * rate limit like any other? Told by the words that providers have for it in their error object; what is not one of
 * these, no JSON, or further behind, is a rate limit.
 *
 * Pure and async-signal-safe; zeroed, a reader stands before a body.
 */
#ifndef PROTOCOL_QUOTA_H
#define PROTOCOL_QUOTA_H

#include "protocol/json.h"

#define QUOTA_MOST 1024 /* bytes that are read */

struct quota {
    uint16_t read;
    struct json json;
};

enum quota_news { QUOTA_MORE, QUOTA_OUT, QUOTA_NOT };

/* The next bytes. After anything but QUOTA_MORE, feed no more. */
enum quota_news quota_feed(struct quota *quota, const uint8_t *bytes, size_t length);

#endif
