/* prebreak explain: which rule a call falls under, with which settings, and what would become of it now. */
#include "breaker/breaker.h"
#include "cli/cli.h"
#include "cli/explain_target.h"
#include "cli/regions.h"
#include "report/report.h"
#include "report/text.h"
#include "rules/rules.h"
#include "track/config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char help_text[] =
    "usage: prebreak [-u USER | --all] explain HOST[:PORT]\n"
    "\n"
    "Says which rule a call to HOST falls under, what its provider is called, with which settings, and what would\n"
    "become of the call now. Rules are read from the same variables and file as a protected program reads them, so\n"
    "give it the program's PREBREAK_* variables; what is wrong with them is said on stderr.\n"
    "\n"
    "HOST is a name, an address ([...] around IPv6), a URL or unix:/PATH. Without PORT it is 443. A name is looked up\n"
    "only where a rule that goes by addresses comes first. Init, sshd, sudo, package managers, compilers and such are\n"
    "never touched unless PREBREAK_ONLY names them.\n"
    "\n"
    "examples:\n"
    "  prebreak explain api.openai.com\n"
    "  PREBREAK_CONFIG=/etc/prebreak/rules prebreak -u www-data explain 10.1.2.3:5432\n"
    "\n"
    "exit status: 0, also where no rule matches; 64 bad usage, 69 a region that cannot be used, 77 no permission\n"
    "\n"
    "settings, and the policies that read them where not all do:\n";

#define LABEL "%-9s "
#define WIDTH 100

static void field(const char *label, const char *text)
{
    printf(LABEL "%s\n", label, text);
}

/* Words, broken where the line is full. */
static void words(const char *label, char *text)
{
    size_t column = 0;
    char *rest = text;
    printf(LABEL, label);
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
        if (column > 0 && column + 1 + strlen(word) > WIDTH) {
            printf("\n" LABEL, "");
            column = 0;
        }
        printf("%s%s", column > 0 ? " " : "", word);
        column += strlen(word) + (column > 0);
    }
    putchar('\n');
}

// ---- the rule --------------------------------------------------------------------------------------------------

static bool show_rule(const struct rules *rules, const struct rules_match *match)
{
    uint32_t number;
    size_t size = rules_print(rules, match->rule, NULL, 0) + 1;
    char *text = malloc(size);
    if (text == NULL) {
        return false;
    }
    rules_print(rules, match->rule, text, size);
    switch (rules_where(rules, match->rule, &number)) {
    case RULES_BUILTIN:
        printf(LABEL "built in, for neither PREBREAK_PROVIDERS nor PREBREAK_CONFIG is set: %s\n", "rule", text);
        break;
    case RULES_PROVIDERS:
        printf(LABEL "PREBREAK_PROVIDERS, rule %u: %s\n", "rule", number, text);
        break;
    case RULES_CONFIG:
        printf(LABEL "%s, line %u: %s\n", "rule", config_path(), number, text);
        break;
    }
    free(text);
    printf(LABEL "%s\n", "matches", match->pattern);
    return true;
}

static void show_settings(const struct rules_settings *settings)
{
    char text[2048];
    if (settings->api != RULES_API_GENERIC) {
        int length = snprintf(text, sizeof(text), "api=%s: ", rules_api_name(settings->api));
        rules_print_api(settings, text + length, sizeof(text) - (size_t)length);
        words("preset", text);
    }
    rules_print_settings(settings, text, sizeof(text));
    words("settings", text);
}

// ---- what would become of a call -------------------------------------------------------------------------------

/* Rounded away from 0 % and from 100 %, which say something else than nearly so. */
static unsigned percent(double share)
{
    unsigned rounded = (unsigned)(share * 100 + 0.5);
    if (rounded == 0 && share > 0) {
        return 1;
    }
    return rounded >= 100 && share < 1 ? 99 : rounded;
}

struct call {
    enum prebreak_mode mode;
    const struct rules_match *match;
    const struct breaker_view *view; /* NULL: no call has been seen */
    uint64_t now;
};

/* The decision in the policy's eyes, before mode and enforced share. */
static double refusal_chance(const struct breaker_view *view)
{
    switch (view->phase) {
    case PREBREAK_HELD_OPEN:
    case PREBREAK_PAUSED:
        return 1;
    case PREBREAK_CLOSED:
    case PREBREAK_HELD_CLOSED:
        return 0;
    default:
        return view->drop;
    }
}

static void show_decision(const struct call *call)
{
    double chance = call->view == NULL ? 0 : refusal_chance(call->view);
    bool probes = call->view != NULL && call->view->phase == PREBREAK_OPEN;
    double enforced = chance * call->match->settings->enforce / UINT16_MAX;
    if (call->mode == PREBREAK_MODE_OFF) {
        field("a call", "passes and is not looked at");
    } else if (chance == 0) {
        field("a call", "passes");
    } else if (call->mode == PREBREAK_MODE_OBSERVE) {
        printf(LABEL "passes; enforcing would refuse %u%% of them\n", "a call", percent(chance));
    } else if (enforced >= 1) {
        field("a call", probes ? "is refused, unless it is a probe" : "is refused");
    } else {
        printf(LABEL "is refused in %u%% of cases\n", "a call", percent(enforced));
    }
}

static void show_phase(const struct call *call)
{
    char span[TEXT_TIME];
    const struct breaker_view *view = call->view;
    if (view == NULL) {
        field("now", "closed: this provider has not been called with these settings");
        return;
    }
    printf(LABEL "%s", "now", breaker_phase_name(view->phase));
    if (view->since != 0 && view->since <= call->now) {
        printf(" for %s", text_span(call->now - view->since, span, sizeof(span)));
    }
    printf(", drop %u%%", percent(view->drop));
    if (view->retry_in != 0) {
        printf(", next probe in %s", text_span(view->retry_in, span, sizeof(span)));
    }
    printf("; window: %llu ok, %llu failed, %llu refused\n", (unsigned long long)view->ok,
           (unsigned long long)view->failed, (unsigned long long)view->refused);
}

/* Why it is so. */
static const char *mode_reason(enum prebreak_mode operators)
{
    const char *own = getenv("PREBREAK_MODE");
    if (config_off() != NULL) {
        return config_off();
    }
    if (config_mode() == PREBREAK_MODE_OFF) {
        return own != NULL && strcmp(own, "off") == 0 ? "PREBREAK_MODE" : "PREBREAK_ONLY or PREBREAK_EXCEPT is bad";
    }
    if (operators != PREBREAK_MODE_ENV && (operators != PREBREAK_MODE_ENFORCE || config_may_enforce())) {
        return "the operator's word, prebreak mode";
    }
    if (!config_may_enforce()) {
        return "a rule that restrains could not be understood";
    }
    return own != NULL ? "PREBREAK_MODE" : "the default";
}

// ---- the region ------------------------------------------------------------------------------------------------

static uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Settings are one and the same where their bytes are: a slot's identity is a hash of these. */
static bool same_bytes(const void *one, const void *other, size_t size)
{
    return memcmp(one, other, size) == 0;
}

/* The breaker of this name and these settings, without making one. */
static bool find_breaker(struct state *state, const struct rules_match *match, struct prebreak_settings *settings,
                         struct breaker *breaker)
{
    for (int slot = 0; slot < PREBREAK_SLOTS; slot++) {
        char name[PREBREAK_NAME];
        if (state_name(state, slot, name) && strcmp(name, match->name) == 0 &&
            state_breaker(state, slot, NULL, settings, breaker) &&
            same_bytes(settings, &match->settings->breaker, sizeof(*settings))) {
            return true;
        }
    }
    return false;
}

static void show_now(struct state *state, const struct rules_match *match)
{
    struct prebreak_settings settings;
    struct breaker breaker;
    struct breaker_view view = {.phase = PREBREAK_CLOSED};
    struct call call = {.match = match, .now = clock_now()};
    enum prebreak_mode operators = state != NULL ? state_mode(state) : PREBREAK_MODE_ENV;
    enum prebreak_phase hold = state != NULL ? state_held(state, match->name, call.now) : PREBREAK_CLOSED;
    if (state != NULL && find_breaker(state, match, &settings, &breaker)) {
        breaker_view(&breaker, call.now, hold, &view);
        call.view = &view;
    } else if (hold != PREBREAK_CLOSED) {
        view.phase = hold;
        view.drop = hold == PREBREAK_HELD_OPEN;
        call.view = &view;
    }
    call.mode = config_mode_under(operators);
    printf(LABEL "%s (%s)\n", "mode", report_mode_name(call.mode), mode_reason(operators));
    show_phase(&call);
    show_decision(&call);
}

static int show_region(const char *path, void *context)
{
    struct state state;
    int code = 0;
    enum state_trouble trouble = state_open(&state, path, STATE_EXISTING);
    if (regions_all()) {
        char printable[TEXT_NAME];
        field("region", text_printable(state.path, printable, sizeof(printable)));
    }
    if (trouble == STATE_SOUND) {
        show_now(&state, context);
    } else if (trouble == STATE_ABSENT || trouble == STATE_PRIVATE) {
        show_now(NULL, context);
    } else {
        code = regions_complain(&state);
    }
    state_close(&state);
    return code;
}

// ---- help

/* The text above, and the table of settings. */
static int help(void)
{
    struct rules_setting setting;
    cli_help(help_text);
    for (unsigned i = 0; rules_setting_at(i, &setting); i++) {
        const char *separator = "  (";
        printf("  %-14s %s", setting.name, setting.what);
        for (unsigned policy = 0; policy < PREBREAK_POLICIES; policy++) {
            if (setting.policies != (1u << PREBREAK_POLICIES) - 1 && ((setting.policies >> policy) & 1) != 0) {
                printf("%s%s", separator, breaker_policy_name((enum prebreak_policy)policy));
                separator = ", ";
            }
        }
        puts(*separator == ',' ? ")" : "");
    }
    return 0;
}

// ---- the whole -------------------------------------------------------------------------------------------------

static void told(enum config_news news, const char *text)
{
    if (news == CONFIG_COMPLAINT) {
        cli_fail(0, "%s", text);
    }
}

static int explain(const struct explain_target *target)
{
    uint32_t generation;
    struct rules_match match;
    char resolved[EXPLAIN_TEXT];
    (void)config_init();
    config_listen(told);
    config_start();
    const struct rules *rules = config_rules(&generation);
    if (rules == NULL) {
        return cli_fail(1, "out of memory");
    }
    explain_match(rules, target, &match, resolved, sizeof(resolved));
    field("target", target->text);
    if (resolved[0] != '\0') {
        field("address", resolved);
    }
    if (match.rule < 0) {
        field("rule", "none matches");
        field("a call", "passes and is not looked at");
        return 0;
    }
    if (!show_rule(rules, &match)) {
        return cli_fail(1, "out of memory");
    }
    if (match.never) {
        field("a call", "passes and is not looked at, as the rule says");
        return 0;
    }
    field("provider", match.name);
    show_settings(match.settings);
    return regions_each_path(show_region, &match);
}

int command_explain(int argc, char **argv)
{
    struct explain_target target;
    if (cli_wants_help(argc, argv)) {
        return help();
    }
    int first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
    if (argc - first != 1) {
        return cli_usage("explain", "expected one HOST[:PORT]");
    }
    if (!explain_target_parse(argv[first], &target)) {
        return cli_usage("explain", "found '%s', expected HOST[:PORT], [IPv6]:PORT, a URL or unix:/PATH", argv[first]);
    }
    return explain(&target);
}
