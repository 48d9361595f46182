/*
 * The rules under any bytes. The input is the three texts, separated by 0xff: PROVIDERS, CONFIG, DEFAULTS; an empty one
 * is not set.
 *
 * Held here, besides memory being left alone: parsing is the same twice over; every name, pattern and text that comes out
 * ends in a NUL within its size; settings stay within the breaker's limits and survive being printed and parsed; and a
 * file cut short takes in no target under another rule than the whole file does.
 */
#include "breaker/breaker.h"
#include "rules/rules.h"

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

static unsigned complained;

static void complain(void *context, const struct rules_error *error)
{
    (void)context;
    complained++;
    CHECK(error->source != NULL && error->column >= 1 && strlen(error->text) > 0 && strlen(error->text) < 256);
    for (const char *at = error->text; *at != '\0'; at++) {
        CHECK(*at >= ' ' && *at <= '~');
    }
}

static const struct {
    const char *host;
    uint8_t address[16];
    uint16_t port;
    const char *unix_path;
} targets[] = {
    {"api.openai.com", {0}, 443, NULL},
    {"x", {0}, 80, NULL},
    {NULL, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3}, 8080, NULL},
    {"a.b", {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 443, NULL},
    {NULL, {0}, 0, "/run/x.sock"},
};
#define TARGETS (sizeof targets / sizeof *targets)

static void match(const struct rules *rules, size_t i, struct rules_match *found)
{
    struct rules_target target = {targets[i].host, targets[i].address, targets[i].port, targets[i].unix_path};
    if (targets[i].unix_path != NULL) {
        target.address = NULL;
    }
    memset(found, 0, sizeof *found);
    bool taken = rules_match(rules, &target, found);
    CHECK(taken == (found->rule >= 0 && !found->never));
    CHECK(memchr(found->name, '\0', sizeof found->name) != NULL);
}

static void check_settings(const struct rules_settings *settings)
{
    char text[2048];
    struct rules_settings again;
    CHECK(breaker_settings_sound(&settings->breaker));
    size_t length = rules_print_settings(settings, text, sizeof text);
    if (length < sizeof text) {
        CHECK(rules_parse_settings(text, length, &again, complain, NULL));
        CHECK(again.breaker.policy == settings->breaker.policy && again.refuse_errno == settings->refuse_errno);
        CHECK(memcmp(&again.fail, &settings->fail, sizeof again.fail) == 0);
        CHECK(again.breaker.window == settings->breaker.window);
        CHECK(again.slow == settings->slow && again.slow_times == settings->slow_times);
        CHECK(again.api == settings->api && again.pause_by == settings->pause_by);
        CHECK(again.slow_enforce == settings->slow_enforce);
    }
}

static void check_rules(const struct rules *rules, const char *memory)
{
    char text[64];
    CHECK(rules_size(rules) <= RULES_MEMORY && rules_count(rules) <= RULES_MAX);
    for (uint32_t i = 0; i < rules_count(rules); i++) {
        uint32_t number;
        (void)rules_where(rules, (int)i, &number);
        (void)rules_print(rules, (int)i, text, sizeof text);
        CHECK(memchr(text, '\0', sizeof text) != NULL);
    }
    for (size_t i = 0; i < TARGETS; i++) {
        struct rules_match found;
        match(rules, i, &found);
        if (found.rule >= 0) {
            CHECK((uint32_t)found.rule < rules_count(rules));
            CHECK(found.pattern > memory && found.pattern + strlen(found.pattern) < memory + rules_size(rules));
            check_settings(found.settings);
        }
    }
}

/* Half the file: what it takes in, the whole file takes in under the same name, or was not to be touched by it. */
static void check_cut(const struct rules *rules, const struct rules_text *text)
{
    static char memory[RULES_MEMORY] __attribute__((aligned(16)));
    struct rules_text cut = *text;
    if (text->config == NULL || rules_restrained(rules)) {
        return;
    }
    cut.config_length = text->config_length / 2;
    struct rules *half = rules_parse(&cut, memory, sizeof memory, NULL, NULL);
    CHECK(half != NULL);
    for (size_t i = 0; i < TARGETS; i++) {
        struct rules_match ours;
        struct rules_match theirs;
        match(rules, i, &ours);
        match(half, i, &theirs);
        CHECK(theirs.rule < 0 || (theirs.rule == ours.rule && strcmp(theirs.name, ours.name) == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char first[RULES_MEMORY] __attribute__((aligned(16)));
    static char second[RULES_MEMORY] __attribute__((aligned(16)));
    const char *part[3] = {NULL, NULL, NULL};
    size_t length[3] = {0, 0, 0};
    const uint8_t *at = data;
    for (size_t i = 0; i < 3 && at != NULL; i++) {
        size_t left = size - (size_t)(at - data);
        const uint8_t *end = left > 0 ? memchr(at, 0xff, left) : NULL;
        length[i] = end == NULL ? left : (size_t)(end - at);
        part[i] = length[i] == 0 ? NULL : (const char *)at;
        at = end == NULL ? NULL : end + 1;
    }
    struct rules_text text = {part[0], part[1], part[2], length[0], length[1], length[2], NULL};
    complained = 0;
    struct rules *rules = rules_parse(&text, first, sizeof first, complain, NULL);
    unsigned before = complained;
    CHECK(rules != NULL);
    check_rules(rules, first);
    complained = 0;
    struct rules *again = rules_parse(&text, second, sizeof second, complain, NULL);
    CHECK(again != NULL && complained == before && rules_size(again) == rules_size(rules));
    check_cut(rules, &text);

    char folded[64];
    uint64_t ns;
    (void)rules_fold_host((const char *)data, size, folded, sizeof folded);
    (void)rules_parse_duration((const char *)data, size, &ns);
    char globs[256];
    size_t shown = size < sizeof globs - 1 ? size : sizeof globs - 1;
    memcpy(globs, data, shown);
    globs[shown] = '\0';
    (void)rules_globs_sound(globs);
    (void)rules_globs_match(globs, "php-fpm8.2");
    return 0;
}
