/*
 * prebreak run: sets the variables that the library reads, adds the library to LD_PRELOAD, and becomes the program.
 *
 * A mistake on the command line starts nothing: whoever typed it is there to read the line. What stands in the
 * environment or in a file of rules is the library's to judge, which complains and goes on.
 */
#include "cli/cli.h"
#include "cli/library.h"
#include "rules/rules.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANNOT_EXECUTE 126
#define NOT_FOUND      127

static const char help_text[] =
    "usage: prebreak run [-m MODE] [-p RULE]... [-c FILE] [--] PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs PROGRAM with a circuit breaker per provider. The program is not changed;\n"
    "libprebreak.so is added to LD_PRELOAD after what stands there, and found beside\n"
    "this command, in a build tree as when installed.\n"
    "\n"
    "  -m, --mode MODE      enforce (default), observe (decide and count, refuse\n"
    "                       nothing) or off\n"
    "  -p, --provider RULE  which host is which provider: NAME PATTERN...\n"
    "                       [setting=value...]; may be given several times. The\n"
    "                       first rule that matches wins: these come in the order\n"
    "                       given, then those that stand in PREBREAK_PROVIDERS, then\n"
    "                       those of the file\n"
    "  -c, --config FILE    more rules, one on each line; read again when it changes\n"
    "\n"
    "A 32-bit program needs a 32-bit build of the library, installed under the same\n"
    "prefix; without one its dynamic linker says so, and it runs unprotected.\n"
    "\n"
    "Without any rule every host is a provider of its own. PREBREAK_STATE,\n"
    "PREBREAK_LOG and the other variables reach the program as they are.\n"
    "Init, sshd, sudo, package managers, compilers and their like are never touched\n"
    "unless PREBREAK_ONLY names them.\n"
    "\n"
    "examples:\n"
    "  prebreak run curl https://api.example.com/v1/models\n"
    "  prebreak run -m observe -p 'openai api.openai.com' -p '* *' php report.php\n"
    "  prebreak run -c /etc/prebreak/rules -- /usr/sbin/php-fpm8.2 -F\n"
    "\n"
    "exit status: the program's own; 126 it cannot be executed, 127 it is not there,\n"
    "64 bad usage, 78 a RULE is not understood, 1 no library\n";

static const struct option long_options[] = {
    {"mode", required_argument, NULL, 'm'},
    {"provider", required_argument, NULL, 'p'},
    {"config", required_argument, NULL, 'c'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

// ---- the variables --------------------------------------------------------------------------------------------------

static int no_memory(void)
{
    return cli_fail(1, "out of memory");
}

static int set_mode(const char *mode)
{
    static const char *const modes[] = {"enforce", "observe", "off"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(mode, modes[i]) == 0) {
            return setenv("PREBREAK_MODE", mode, 1) == 0 ? 0 : no_memory();
        }
    }
    return cli_usage("run", "unknown mode '%s', expected enforce, observe or off", mode);
}

/*
 * The program may change its directory: it gets the whole path. A file that is not there now may be there later, and a
 * program that ran yesterday must not stay down for it: a line, and on we go, as the library does.
 */
static int set_config(const char *file)
{
    char *directory = file[0] != '/' ? getcwd(NULL, 0) : NULL;
    char *path = NULL;
    if (access(file, R_OK) != 0) {
        (void)cli_fail(0, "run: cannot read the rules in '%s': %s", file, strerror(errno));
    }
    if (asprintf(&path, "%s%s%s", directory != NULL ? directory : "", directory != NULL ? "/" : "", file) < 0) {
        path = NULL;
    }
    bool done = path != NULL && setenv("PREBREAK_CONFIG", path, 1) == 0;
    free(directory);
    free(path);
    return done ? 0 : no_memory();
}

/* Appends "text" and what separates it from what is there. False: no memory; *list stays the caller's. */
static bool append(char **list, const char *separator, const char *text)
{
    const char *before = *list != NULL ? *list : "";
    char *longer = NULL;
    if (asprintf(&longer, "%s%s%s", before, before[0] != '\0' ? separator : "", text) < 0) {
        return false;
    }
    free(*list);
    *list = longer;
    return true;
}

/* A complaint about what was typed. */
static void complain(void *context, const struct rules_error *error)
{
    bool *complained = context;
    if (error->rule != 0) {
        (void)cli_fail(0, "run: rule %u given with -p, column %u: %s", error->rule, error->column, error->text);
    } else if (!*complained) { /* else it was said already why there is none */
        (void)cli_fail(0, "run: -p: %s", error->text);
    }
    *complained = true;
}

/* Are the rules of the command line understood? */
static int check_rules(const char *rules)
{
    static unsigned char memory[RULES_MEMORY] __attribute__((aligned(16)));
    struct rules_text text = {.providers = rules, .providers_length = strlen(rules)};
    bool complained = false;
    if (rules_parse(&text, memory, sizeof(memory), complain, &complained) == NULL) {
        return cli_fail(EX_CONFIG, "run: the rules given with -p are too many");
    }
    return complained ? EX_CONFIG : 0;
}

/* First match wins, so what was said last and nearest, on the command line, stands before the environment's. */
static int set_providers(char **rules)
{
    const char *inherited = getenv("PREBREAK_PROVIDERS");
    if (inherited != NULL && inherited[0] != '\0' && !append(rules, "; ", inherited)) {
        return no_memory();
    }
    return setenv("PREBREAK_PROVIDERS", *rules, 1) == 0 ? 0 : no_memory();
}

// ---- the preload ----------------------------------------------------------------------------------------------------

static bool listed(const char *list, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = strstr(list, path); at != NULL; at = strstr(at + 1, path)) {
        bool begins = at == list || strchr(": ", at[-1]) != NULL;
        bool ends = at[length] == '\0' || strchr(": ", at[length]) != NULL;
        if (begins && ends) {
            return true;
        }
    }
    return false;
}

static int set_preload(void)
{
    char path[PATH_MAX];
    const char *trouble = library_find(path, sizeof(path));
    if (trouble != NULL) {
        return cli_fail(1, "run: %s", trouble);
    }
    const char *inherited = getenv("LD_PRELOAD");
    if (inherited != NULL && listed(inherited, path)) {
        return 0;
    }
    char *list = inherited != NULL ? strdup(inherited) : NULL;
    bool done = (inherited == NULL || list != NULL) && append(&list, ":", path) && setenv("LD_PRELOAD", list, 1) == 0;
    free(list);
    return done ? 0 : no_memory();
}

// ---- the subcommand -------------------------------------------------------------------------------------------------

/* Reads the options and sets what they say. *program becomes the index of the program's name, 0 when only help was
 * asked. */
static int take_options(int argc, char **argv, char **rules, int *program)
{
    int code = 0;
    int option;
    opterr = 0;
    while (code == 0 && (option = getopt_long(argc, argv, "+:m:p:c:h", long_options, NULL)) != -1) {
        switch (option) {
        case 'm':
            code = set_mode(optarg);
            break;
        case 'p':
            code = append(rules, "; ", optarg) ? 0 : no_memory();
            break;
        case 'c':
            code = set_config(optarg);
            break;
        case 'h':
            *program = 0;
            return cli_help(help_text);
        default:
            return cli_bad_option(argv, option, "-m MODE, -p RULE, -c FILE or --help");
        }
    }
    if (code == 0 && optind >= argc) {
        return cli_usage("run", "expected a PROGRAM to run");
    }
    *program = optind;
    return code;
}

int command_run(int argc, char **argv)
{
    char *rules = NULL;
    int program = 0;
    int code = take_options(argc, argv, &rules, &program);
    if (code == 0 && rules != NULL && program != 0) {
        code = check_rules(rules);
        code = code == 0 ? set_providers(&rules) : code;
    }
    free(rules);
    if (code != 0 || program == 0) {
        return code;
    }
    code = set_preload();
    if (code != 0) {
        return code;
    }
    execvp(argv[program], argv + program);
    code = errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
    return cli_fail(code, "run: cannot run '%s': %s", argv[program], strerror(errno));
}
