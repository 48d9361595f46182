#include "protocol/quota.h"

#include <string.h>

/* A member of the error object, or of what it is in, and what its string is, or begins with. */
static const struct {
    const char *key, *text;
    bool begins;
} words[] = {
    /* {"error":{"message":"You exceeded your current quota, ...","type":"insufficient_quota","code":"insufficient_quota"}}
       OpenAI's error codes, "429 - You exceeded your current quota"; Azure OpenAI and many others say the same. */
    {"type", "insufficient_quota", false},
    {"code", "insufficient_quota", false},
    /* OpenAI: the budget that the account set itself. */
    {"code", "billing_hard_limit_reached", false},
    /* {"error":{"type":"exceeded_current_quota_error","message":"..."}} Moonshot's error table, 429. */
    {"type", "exceeded_current_quota_error", false},
    /* {"type":"error","error":{"type":"billing_error","message":"..."}} Anthropic's errors: payment or billing. */
    {"type", "billing_error", false},
    /* Anthropic's spend limit, whatever type it comes with. */
    {"message", "You have reached your specified API usage limits", true},
    {"message", "You have reached your specified workspace API usage limits", true},
};

#define NESTED 2 /* {"error":{...}} */

static bool is_quota(const struct json *json)
{
    if (json->depth > NESTED || (json->objects & 1) == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i].text);

        if (json_key_is(json, words[i].key) &&
            (words[i].begins ? json->text_length >= length : json->text_length == length) &&
            memcmp(json->text, words[i].text, length) == 0) {
            return true;
        }
    }
    return false;
}

enum quota_news quota_feed(struct quota *quota, const uint8_t *bytes, size_t length)
{
    size_t left = (size_t)(QUOTA_MOST - quota->read);

    length = length < left ? length : left;
    quota->read = (uint16_t)(quota->read + length);
    while (length > 0) {
        enum json_event event;
        size_t taken = json_feed(&quota->json, bytes, length, &event);

        if (event == JSON_STRING && is_quota(&quota->json)) {
            return QUOTA_OUT;
        }
        bytes += taken;
        length -= taken;
    }
    return quota->read < QUOTA_MOST ? QUOTA_MORE : QUOTA_NOT;
}
