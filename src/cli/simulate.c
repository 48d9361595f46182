/*
 * prebreak simulate [--policy SETTINGS]... [--scenario NAME]... [--seed N] [--observe] [--csv | --svg FILE]
 */
#include "cli/cli.h"
#include "cli/simulate.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLICIES_MOST  16
#define SCENARIOS_MOST 64
#define NAME           "simulate"
#define RULE_BEFORE    "x * " /* settings stand in a rule */

struct policy {
    const char *label;
    struct rules_settings settings;
};

struct request {
    struct policy policy[POLICIES_MOST];
    size_t policies;
    const struct sim_scenario *scenario[SCENARIOS_MOST];
    size_t scenarios;
    uint64_t seed;
    bool observe, csv, help;
    const char *svg;
};

/* ---- arguments -------------------------------------------------------------------------------------------------- */

static const char help_text[] =
    "usage: prebreak simulate [--policy SETTINGS]... [--scenario NAME]... [--seed N] [--observe] [--csv | --svg FILE]\n"
    "\n"
    "Steps the breaker itself through trouble, and shows what each policy makes of it.\n"
    "\n"
    "  --policy SETTINGS  a policy and its parameters as in a rule; all five with their defaults if none is given\n"
    "  --scenario NAME    one of those below, or the part before a dash for several; all of them if none is given\n"
    "  --seed N           other callers and other answers (default 1); the same seed gives the same result\n"
    "  --observe          refuse nothing, count what enforcing would have refused\n"
    "  --csv              columns scenario,policy,measure,value; inf is never, nan does not apply\n"
    "  --svg FILE         a picture over time of the first of each scenario's runs\n"
    "\n"
    "examples:\n"
    "  prebreak simulate --policy policy=sre --policy 'policy=sre trip=5 window=5s' --scenario outage\n"
    "  prebreak simulate --scenario overload --scenario flapping --svg overload.svg\n"
    "\n"
    "exit status: 0 done, 1 FILE cannot be written, 64 bad usage\n"
    "\n"
    "scenarios:\n";

static int help(void)
{
    cli_help(help_text);
    for (size_t i = 0; i < sim_scenario_count; i++) {
        printf("  %-21s %s\n", sim_scenarios[i].name, sim_scenarios[i].about);
    }
    return 0;
}

/* The first complaint counts. */
struct complaint {
    uint32_t column;
    char text[256];
};

static void complain(void *context, const struct rules_error *error)
{
    struct complaint *complaint = context;
    if (complaint->text[0] == '\0') {
        const uint32_t before = sizeof RULE_BEFORE - 1;
        complaint->column = error->column > before ? error->column - before : 1;
        snprintf(complaint->text, sizeof complaint->text, "%s", error->text);
    }
}

/* Settings as they stand in a rule; false: the complaint says why. */
static bool read_settings(const char *text, struct rules_settings *settings, struct complaint *complaint)
{
    static _Alignas(16) unsigned char memory[RULES_MEMORY];
    const uint8_t address[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1};
    const struct rules_target target = {.host = "provider.example", .address = address, .port = 443};
    struct rules_match match;
    char rule[1024];

    *complaint = (struct complaint){0};
    int length = snprintf(rule, sizeof rule, RULE_BEFORE "%s", text);
    if (length >= (int)sizeof rule || strpbrk(text, ";\n") != NULL) {
        snprintf(complaint->text, sizeof complaint->text, "expected the settings of one rule");
        return false;
    }
    const struct rules_text source = {.providers = rule, .providers_length = (size_t)length};
    const struct rules *rules = rules_parse(&source, memory, sizeof memory, complain, complaint);
    if (rules == NULL || complaint->text[0] != '\0' || !rules_match(rules, &target, &match)) {
        complain(complaint, &(struct rules_error){.column = 1, .text = "expected the settings of one rule"});
        return false;
    }
    *settings = *match.settings;
    return true;
}

static int add_policy(struct request *request, const char *text)
{
    struct complaint complaint;
    if (request->policies == POLICIES_MOST) {
        return cli_usage(NAME, "expected at most %d policies", POLICIES_MOST);
    }
    struct policy *policy = &request->policy[request->policies++];
    policy->label = text;
    if (!read_settings(text, &policy->settings, &complaint)) {
        return cli_usage(NAME, "--policy, column %u: %s", complaint.column, complaint.text);
    }
    return 0;
}

static int unknown_scenario(const char *name)
{
    char names[2048];
    size_t length = 0;
    names[0] = '\0';
    for (size_t i = 0; i < sim_scenario_count; i++) {
        size_t needed = strlen(sim_scenarios[i].name) + 1;
        if (length + needed < sizeof names) {
            length += (size_t)snprintf(names + length, sizeof names - length, " %s", sim_scenarios[i].name);
        }
    }
    return cli_usage(NAME, "unknown scenario '%s', expected one of:%s", name, names);
}

static int add_scenarios(struct request *request, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < sim_scenario_count; i++) {
        if (!sim_scenario_is(&sim_scenarios[i], name)) {
            continue;
        }
        found = true;
        bool twice = false;
        for (size_t j = 0; j < request->scenarios; j++) {
            twice = twice || request->scenario[j] == &sim_scenarios[i];
        }
        if (!twice && request->scenarios < SCENARIOS_MOST) {
            request->scenario[request->scenarios++] = &sim_scenarios[i];
        }
    }
    return found ? 0 : unknown_scenario(name);
}

static int read_seed(struct request *request, const char *text)
{
    char *end;
    errno = 0;
    request->seed = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-') {
        return cli_usage(NAME, "seed '%s', expected a whole number", text);
    }
    return 0;
}

/* What was not asked for in particular is all there is. */
static int complete(struct request *request)
{
    static char names[PREBREAK_POLICIES][32];
    const bool all_scenarios = request->scenarios == 0, all_policies = request->policies == 0;
    for (size_t i = 0; all_scenarios && i < sim_scenario_count; i++) {
        request->scenario[request->scenarios++] = &sim_scenarios[i];
    }
    for (int policy = 0; all_policies && policy < PREBREAK_POLICIES; policy++) {
        snprintf(names[policy], sizeof names[policy], "policy=%s", breaker_policy_name((enum prebreak_policy)policy));
        int status = add_policy(request, names[policy]);
        if (status != 0) {
            return status;
        }
        request->policy[request->policies - 1].label += strlen("policy=");
    }
    return 0;
}

static int read_arguments(struct request *request, int argc, char **argv)
{
    enum { POLICY = 256, SCENARIO, SEED, OBSERVE, CSV, SVG };
    static const struct option options[] = {
        {"policy", required_argument, NULL, POLICY},
        {"scenario", required_argument, NULL, SCENARIO},
        {"seed", required_argument, NULL, SEED},
        {"observe", no_argument, NULL, OBSERVE},
        {"csv", no_argument, NULL, CSV},
        {"svg", required_argument, NULL, SVG},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int status = 0, option;
    optind = 0; /* glibc: afresh, whoever used it before */
    opterr = 0;
    while (status == 0 && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        switch (option) {
        case POLICY:
            status = add_policy(request, optarg);
            break;
        case SCENARIO:
            status = add_scenarios(request, optarg);
            break;
        case SEED:
            status = read_seed(request, optarg);
            break;
        case OBSERVE:
            request->observe = true;
            break;
        case CSV:
            request->csv = true;
            break;
        case SVG:
            request->svg = optarg;
            break;
        case 'h':
            request->help = true;
            return 0;
        default:
            return cli_bad_option(argv, option, "--policy, --scenario, --seed, --observe, --csv or --svg");
        }
    }
    if (status == 0 && optind < argc) {
        return cli_usage(NAME, "unexpected argument '%s'", argv[optind]);
    }
    if (status == 0 && request->csv && request->svg != NULL) {
        return cli_usage(NAME, "expected --csv or --svg, not both");
    }
    return status == 0 ? complete(request) : status;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

/* What of a scenario is told: in CSV the counts of every scenario as well. */
static uint32_t measures_told(const struct request *request, const struct sim_scenario *scenario)
{
    const uint32_t counts = SIM_BIT(SIM_WOULD_REFUSE_FAILED + 1) - 1;
    const uint32_t shadow = SIM_BIT(SIM_WOULD_REFUSE) | SIM_BIT(SIM_WOULD_REFUSE_OK) | SIM_BIT(SIM_WOULD_REFUSE_FAILED);
    return scenario->measures | (request->csv ? counts : request->observe ? shadow : 0);
}

static void print_field(const char *text)
{
    if (strpbrk(text, ",\"") == NULL) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            putchar('"');
        }
        putchar(*text);
    }
    putchar('"');
}

static void print_csv(const struct request *request, size_t row, const struct sim_result *results)
{
    const struct sim_scenario *scenario = request->scenario[row];
    const uint32_t told = measures_told(request, scenario);
    for (size_t column = 0; column < request->policies; column++) {
        for (int measure = 0; measure < SIM_MEASURES; measure++) {
            if (told & SIM_BIT(measure)) {
                printf("%s,", scenario->name);
                print_field(request->policy[column].label);
                printf(",%s,%.6g\n", sim_measures[measure].name, results[column].value[measure]);
            }
        }
    }
}

static int column_width(const struct policy *policy)
{
    int width = (int)strlen(policy->label);
    return width < 10 ? 10 : width;
}

static void print_value(const struct sim_measure *measure, double value, int width)
{
    char text[64];
    if (isnan(value)) {
        snprintf(text, sizeof text, "-");
    } else if (isinf(value)) {
        snprintf(text, sizeof text, "never");
    } else {
        snprintf(text, sizeof text, "%.*f", measure->digits, value * measure->scale);
    }
    printf("  %*s", width, text);
}

static void print_table(const struct request *request, size_t row, const struct sim_result *results)
{
    const struct sim_scenario *scenario = request->scenario[row];
    const uint32_t told = measures_told(request, scenario);
    printf("%s%-28s", row > 0 ? "\n" : "", scenario->name);
    for (size_t column = 0; column < request->policies; column++) {
        printf("  %*s", column_width(&request->policy[column]), request->policy[column].label);
    }
    printf("\n  %s\n", scenario->about);
    for (int measure = 0; measure < SIM_MEASURES; measure++) {
        if ((told & SIM_BIT(measure)) == 0) {
            continue;
        }
        printf("  %-26s", sim_measures[measure].title);
        for (size_t column = 0; column < request->policies; column++) {
            print_value(&sim_measures[measure], results[column].value[measure], column_width(&request->policy[column]));
        }
        putchar('\n');
    }
}

static int draw(const struct request *request, const struct sim_result *results)
{
    const char *names[POLICIES_MOST];
    for (size_t i = 0; i < request->policies; i++) {
        names[i] = request->policy[i].label;
    }
    const struct sim_grid grid = {request->scenario, request->scenarios, names, request->policies, results};
    if (!sim_svg(&grid, request->svg)) {
        return cli_fail(1, "simulate: cannot write '%s': %s", request->svg, strerror(errno));
    }
    return 0;
}

static int simulate(const struct request *request)
{
    struct sim_result *results = calloc(SCENARIOS_MOST * POLICIES_MOST, sizeof *results);
    int status = 0;
    if (results == NULL) {
        abort();
    }
    if (request->csv) {
        puts("scenario,policy,measure,value");
    }
    for (size_t row = 0; row < request->scenarios; row++) {
        struct sim_result *result = &results[row * request->policies];
        for (size_t column = 0; column < request->policies; column++) {
            sim_result(&result[column], request->scenario[row], &request->policy[column].settings, request->seed,
                       request->observe);
        }
        if (request->csv) {
            print_csv(request, row, result);
        } else if (request->svg == NULL) {
            print_table(request, row, result);
        }
    }
    if (request->svg != NULL) {
        status = draw(request, results);
    }
    free(results);
    return status;
}

int command_simulate(int argc, char **argv)
{
    static struct request request;
    request = (struct request){.seed = 1};
    int status = read_arguments(&request, argc, argv);
    if (status != 0) {
        return status;
    }
    return request.help ? help() : simulate(&request);
}
