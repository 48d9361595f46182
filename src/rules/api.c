#include "rules/api.h"

#include <string.h>

struct row {
    const char *setting;
    const char *value; /* as it would stand in a rule */
};

/*
 * What all of them have in common, and why:
 *
 * fail, neutral: of the 4xx only those that tell of the service and not of the request. 5xx takes in 529. 401, 402, 403
 *     and a 400 for spent money are one account's trouble: refusing everybody would not end it.
 * 429=auto: their limits are counted by model, deployment or project, of which one host serves many: while some calls
 *     get through, the others' wait is not theirs. Only where nothing gets through is the time that they name obeyed.
 * hang=2m: an answer that is not streamed is silent until the model is done, for a minute and more.
 * stall=2m: so is a stream between two events while the model reasons.
 * slow: none. A first byte comes when the whole answer is ready or when it begins, as the caller asked, and after
 *     seconds or minutes by model: no time fits all. slow=5x tells a change.
 * pause_max: none. Limits by the minute are full again within it, which is the default; longer ones (a day, a month) are
 *     no reason to trust a wait that long.
 */

/* ---- OpenAI -------------------------------------------------------------------------------------------------------- */

static const struct row openai[] = {
    /*
     * 500 and 503 (overloaded, slow down) are the service's, 429 is a limit or spent money, which the body tells apart:
     * https://developers.openai.com/api/docs/guides/error-codes. Their own clients take 408 and 409 for passing too:
     * https://github.com/openai/openai-python#retries
     */
    {"fail", "5xx,408,425,429,!501,!505"},
    {"neutral", "409,499"},
    /* By organization, project and model: https://developers.openai.com/api/docs/guides/rate-limits */
    {"429", "auto"},
    /* Retry-After, and x-ratelimit-reset-requests and -tokens: https://developers.openai.com/api/docs/guides/rate-limits */
    {"pause_by", "retry-after,x-ratelimit"},
    /* Ten minutes is what their clients wait: https://github.com/openai/openai-python#timeouts */
    {"hang", "2m"},
    /* Reasoning comes before the first words: https://developers.openai.com/api/docs/guides/streaming-responses */
    {"stall", "2m"},
    {NULL, NULL},
};

/* ---- Anthropic ----------------------------------------------------------------------------------------------------- */

static const struct row anthropic[] = {
    /* 500 api_error, 504 timeout_error, 529 overloaded_error: https://platform.claude.com/docs/en/api/errors */
    {"fail", "5xx,408,425,429,!501,!505"},
    /* 409 conflict_error is about the state of a resource: https://platform.claude.com/docs/en/api/errors */
    {"neutral", "409,499"},
    /* Pooled by class of models: https://platform.claude.com/docs/en/api/rate-limits */
    {"429", "auto"},
    /* retry-after, and anthropic-ratelimit-*-reset: https://platform.claude.com/docs/en/api/rate-limits */
    {"pause_by", "retry-after,anthropic-ratelimit"},
    /* Up to ten minutes without streaming: https://platform.claude.com/docs/en/api/errors (long requests) */
    {"hang", "2m"},
    /* Only pings while a model thinks: https://platform.claude.com/docs/en/build-with-claude/streaming */
    {"stall", "2m"},
    {NULL, NULL},
};

/* ---- Azure OpenAI -------------------------------------------------------------------------------------------------- */

static const struct row azure_openai[] = {
    /* As OpenAI's; 429 is also the service's own lack of room: https://learn.microsoft.com/azure/foundry/openai/how-to/quota */
    {"fail", "5xx,408,425,429,!501,!505"},
    {"neutral", "409,499"},
    /* By deployment, over 1 or 10 seconds: https://learn.microsoft.com/azure/foundry/openai/how-to/quota */
    {"429", "auto"},
    /* retry-after-ms and retry-after: https://learn.microsoft.com/azure/foundry/openai/how-to/quota */
    {"pause_by", "retry-after"},
    /* As OpenAI's: the same models, https://learn.microsoft.com/azure/foundry/openai/how-to/reasoning */
    {"hang", "2m"},
    {"stall", "2m"},
    {NULL, NULL},
};

/* ---- Gemini -------------------------------------------------------------------------------------------------------- */

static const struct row gemini[] = {
    /* 500 INTERNAL, 503 UNAVAILABLE, 504 DEADLINE_EXCEEDED: https://ai.google.dev/gemini-api/docs/troubleshooting */
    {"fail", "5xx,408,425,429,!501,!505"},
    /* 499 CANCELLED by the caller: https://ai.google.dev/gemini-api/docs/troubleshooting */
    {"neutral", "409,499"},
    /* RESOURCE_EXHAUSTED, by project and model: https://ai.google.dev/gemini-api/docs/rate-limits */
    {"429", "auto"},
    /* No header of their own: how long to wait stands in the body, https://ai.google.dev/gemini-api/docs/rate-limits */
    {"pause_by", "retry-after"},
    /* Thinking comes first: https://ai.google.dev/gemini-api/docs/thinking */
    {"hang", "2m"},
    {"stall", "2m"},
    {NULL, NULL},
};

/* ---- Amazon Bedrock ------------------------------------------------------------------------------------------------ */

static const struct row bedrock[] = {
    /*
     * 408 ModelTimeoutException, 424 ModelErrorException and ModelStreamErrorException (the model failed), 429
     * ThrottlingException and ModelNotReadyException, 500, 503:
     * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
     */
    {"fail", "5xx,408,424,425,429,!501,!505"},
    /* https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html */
    {"neutral", "409,499"},
    /* By model and region: https://docs.aws.amazon.com/bedrock/latest/userguide/quotas.html */
    {"429", "auto"},
    /* No header is documented: https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html */
    {"pause_by", "retry-after"},
    /* Large models take more than a minute: https://repost.aws/knowledge-center/bedrock-large-model-read-timeouts */
    {"hang", "2m"},
    /*
     * No stall: their streams are application/vnd.amazon.eventstream, which is not read,
     * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
     */
    {NULL, NULL},
};

/* ---- all of them --------------------------------------------------------------------------------------------------- */

static const struct row generic[] = {{NULL, NULL}}; /* the defaults */

static const struct row *const presets[RULES_APIS] = {
    [RULES_API_GENERIC] = generic,           [RULES_API_OPENAI] = openai, [RULES_API_ANTHROPIC] = anthropic,
    [RULES_API_AZURE_OPENAI] = azure_openai, [RULES_API_GEMINI] = gemini, [RULES_API_BEDROCK] = bedrock,
};

const struct setting_word api_words[] = {
    {"generic", RULES_API_GENERIC},
    {"openai", RULES_API_OPENAI},
    {"anthropic", RULES_API_ANTHROPIC},
    {"azure-openai", RULES_API_AZURE_OPENAI},
    {"gemini", RULES_API_GEMINI},
    {"bedrock", RULES_API_BEDROCK},
    {NULL, 0},
};

bool api_named(struct span name, enum rules_api *api)
{
    for (const struct setting_word *word = api_words; word->name != NULL; word++) {
        if (span_is(name, word->name)) {
            *api = (enum rules_api)word->value;
            return true;
        }
    }
    return false;
}

static struct span whole(const char *text)
{
    return (struct span){text, strlen(text)};
}

static const struct row *rows_of(enum rules_api api)
{
    return presets[(unsigned)api < RULES_APIS ? api : RULES_API_GENERIC];
}

void api_apply(enum rules_api api, struct rules_settings *settings)
{
    uint64_t given = 0;
    for (const struct row *row = rows_of(api); row->setting != NULL; row++) {
        bool read;
        const struct setting *setting =
            setting_find(whole(row->setting), (enum prebreak_policy)settings->breaker.policy, &read);
        if (read && setting_set(setting, whole(row->value), settings)) {
            given |= UINT64_C(1) << setting_index(setting);
        }
    }
    settings->api = api;
    setting_settle(settings, given);
}

/* ---- for explain --------------------------------------------------------------------------------------------------- */

#define VALUE 128 /* bytes of a value as text */

/* Does this setting hold what the preset says? Apart from its caller's frame, to keep each within bounds. */
static __attribute__((noinline)) bool holds(const struct setting *setting, const struct rules_settings *settings)
{
    struct rules_settings preset;
    char ours[VALUE];
    char theirs[VALUE];
    struct text text;
    setting_defaults((enum prebreak_policy)settings->breaker.policy, &preset);
    api_apply(settings->api, &preset);
    text_begin(&text, ours, sizeof ours);
    setting_print(setting, settings, &text);
    text_begin(&text, theirs, sizeof theirs);
    setting_print(setting, &preset, &text);
    return strcmp(ours, theirs) == 0;
}

size_t rules_print_api(const struct rules_settings *settings, char *buffer, size_t size)
{
    struct text text;
    text_begin(&text, buffer, size);
    for (const struct row *row = rows_of(settings->api); row->setting != NULL; row++) {
        bool read;
        const struct setting *setting =
            setting_find(whole(row->setting), (enum prebreak_policy)settings->breaker.policy, &read);
        if (read && holds(setting, settings)) {
            text_add(&text, text.length > 0 ? " " : "");
            text_add(&text, row->setting);
            text_add(&text, "=");
            setting_print(setting, settings, &text);
        }
    }
    return text.length;
}

const char *rules_api_name(enum rules_api api)
{
    for (const struct setting_word *word = api_words; word->name != NULL; word++) {
        if (word->value == (unsigned)api) {
            return word->name;
        }
    }
    return "generic";
}
