#include "track/config.h"

#include "real/real.h"
#include "rules/programs.h"
#include "rules/text.h"
#include "track/config_file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

/* ---- the variables ----------------------------------------------------------------------------------------------- */

/* Both long texts and the short ones fit: the kernel takes no string of more than 128 KiB. */
#define ARENA (2 * RULES_TEXT_MAX + (16u << 10))

static struct {
    const char *mode, *only, *except, *providers, *defaults, *config, *state, *log, *log_format;
    bool bad_globs, lost; /* ONLY or EXCEPT not understood; a variable that did not fit */
    size_t used;
    char arena[ARENA];
} own; /* all zero: only what is used of it takes memory */

static enum prebreak_mode means = PREBREAK_MODE_ENFORCE; /* own.mode, as far as the variables go */

static config_told *told;

static char *room_for(size_t size)
{
    if (size > sizeof own.arena - own.used) {
        own.lost = true;
        return NULL;
    }
    char *place = own.arena + own.used;
    own.used += size;
    return place;
}

/* A variable's value, copied. NULL: not set. */
static const char *keep(const char *name)
{
    const char *value = getenv(name);
    size_t size = value == NULL ? 0 : strlen(value) + 1;
    char *copy = value == NULL ? NULL : room_for(size);
    return copy == NULL ? NULL : memcpy(copy, value, size);
}

static bool no_word(const char *value)
{
    (void)value;
    return false;
}

static bool word_of_log(const char *value)
{
    return strchr(value, '/') == NULL;
}

static bool word_of_state(const char *value)
{
    return strcmp(value, "private") == 0;
}

/* The same for a path: what is relative is so to where the program began. `is_word`: values that are none. */
static const char *keep_path(const char *name, bool (*is_word)(const char *value))
{
    const char *value = getenv(name);
    size_t length = value == NULL ? 0 : strlen(value);
    if (length == 0 || value[0] == '/' || is_word(value)) {
        return keep(name);
    }
    char *copy = room_for(4096 + length + 1);
    if (copy == NULL || real_syscall(SYS_getcwd, (long)copy, 4096, 0, 0, 0, 0) <= 0) {
        return copy == NULL ? NULL : memcpy(copy, value, length + 1);
    }
    size_t directory = strlen(copy);
    copy[directory] = '/';
    memcpy(copy + directory + 1, value, length + 1);
    return copy;
}

/* This program, by the name it was called and by the one the kernel knows; by the path it was executed as. */
struct program {
    const char *called, *path;
    char comm[16];
};

REAL_RARE static void know_program(struct program *program)
{
    program->called = program_invocation_short_name;
    program->path = (const char *)getauxval(AT_EXECFN);
    program->comm[0] = '\0';
    (void)real_syscall(SYS_prctl, PR_GET_NAME, (long)program->comm, 0, 0, 0, 0);
    program->comm[sizeof program->comm - 1] = '\0';
}

/* Is it among those that a list of globs means? */
static bool means_us(const struct program *program, const char *globs)
{
    return rules_globs_match(globs, program->called) || rules_globs_match(globs, program->comm);
}

/* What PREBREAK_ONLY names is meant, even if it is among those that are never touched unasked. */
REAL_RARE static bool is_elsewhere(void)
{
    struct program program;
    know_program(&program);
    if (own.except != NULL && means_us(&program, own.except)) {
        return true;
    }
    if (own.only != NULL) {
        return !means_us(&program, own.only);
    }
    return rules_program_spared(program.called, program.path) != NULL ||
           rules_program_spared(program.comm, program.path) != NULL;
}

REAL_RARE bool config_init(void)
{
    own.mode = keep("PREBREAK_MODE");
    own.only = keep("PREBREAK_ONLY");
    own.except = keep("PREBREAK_EXCEPT");
    own.state = keep_path("PREBREAK_STATE", word_of_state);
    own.log = keep_path("PREBREAK_LOG", word_of_log);
    own.log_format = keep("PREBREAK_LOG_FORMAT");
    own.config = keep_path("PREBREAK_CONFIG", no_word);
    own.defaults = keep("PREBREAK_DEFAULTS");
    own.providers = keep("PREBREAK_PROVIDERS");
    if (own.mode != NULL && !rules_parse_mode(own.mode, strlen(own.mode), &means)) {
        means = PREBREAK_MODE_OBSERVE;
    }
    own.bad_globs =
        (own.only != NULL && !rules_globs_sound(own.only)) || (own.except != NULL && !rules_globs_sound(own.except));
    if (own.bad_globs || own.lost) {
        means = PREBREAK_MODE_OFF;
        return true; /* for its complaint at the first call */
    }
    return means != PREBREAK_MODE_OFF && getauxval(AT_SECURE) == 0 && !is_elsewhere();
}

const char *config_state(void)
{
    return own.state;
}

REAL_RARE static bool log_is(const char *word)
{
    return own.log != NULL && strcmp(own.log, word) == 0;
}

/* False: not understood. */
REAL_RARE static bool log_means(enum config_log *log)
{
    bool file = own.log != NULL && strchr(own.log, '/') != NULL;
    *log = file               ? CONFIG_LOG_FILE
           : log_is("stderr") ? CONFIG_LOG_STDERR
           : log_is("syslog") ? CONFIG_LOG_SYSLOG
                              : CONFIG_LOG_OFF;
    return *log != CONFIG_LOG_OFF || own.log == NULL || log_is("off") || log_is("");
}

REAL_RARE enum config_log config_log(const char **path)
{
    enum config_log log;
    (void)log_means(&log);
    *path = own.log;
    return log;
}

REAL_RARE bool config_log_json(void)
{
    return own.log_format != NULL && strcmp(own.log_format, "json") == 0;
}

const char *config_path(void)
{
    return own.config;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

REAL_RARE void config_listen(config_told *listener)
{
    told = listener;
}

static void tell(enum config_news news, const char *text)
{
    if (told != NULL) {
        told(news, text);
    }
}

/* "NAME: found 'value', expected ..." */
static void complain_of(const char *name, const char *value, const char *expected)
{
    char buffer[256];
    struct text text;
    text_begin(&text, buffer, sizeof buffer);
    text_add(&text, name);
    text_add(&text, ": found ");
    text_add_quoted(&text, value, strlen(value));
    text_add(&text, ", expected ");
    text_add(&text, expected);
    tell(CONFIG_COMPLAINT, buffer);
}

static void complain_of_rule(void *context, const struct rules_error *error)
{
    (void)context;
    char buffer[512];
    struct text text;
    text_begin(&text, buffer, sizeof buffer);
    text_add(&text, error->source);
    if (error->rule > 0) {
        text_add(&text, error->source == own.config ? ", line " : ", rule ");
        text_add_number(&text, error->rule);
    }
    text_add(&text, ", column ");
    text_add_number(&text, error->column);
    text_add(&text, ": ");
    text_add(&text, error->text);
    tell(CONFIG_COMPLAINT, buffer);
}

static void complain_of_variables(void)
{
    enum prebreak_mode mode;
    if (own.mode != NULL && !rules_parse_mode(own.mode, strlen(own.mode), &mode)) {
        complain_of("PREBREAK_MODE", own.mode, "enforce, observe or off: only observing");
    }
    if (own.only != NULL && !rules_globs_sound(own.only)) {
        complain_of("PREBREAK_ONLY", own.only, "names with * ? [a-z], separated by blanks: not acting");
    }
    if (own.except != NULL && !rules_globs_sound(own.except)) {
        complain_of("PREBREAK_EXCEPT", own.except, "names with * ? [a-z], separated by blanks: not acting");
    }
    enum config_log log;
    if (!log_means(&log)) {
        complain_of("PREBREAK_LOG", own.log, "off, stderr, syslog or a path with a '/' in it: no log");
    }
    if (own.log_format != NULL && !config_log_json() && strcmp(own.log_format, "logfmt") != 0) {
        complain_of("PREBREAK_LOG_FORMAT", own.log_format, "logfmt or json: logfmt it is");
    }
    if (own.lost) {
        tell(CONFIG_COMPLAINT, "PREBREAK_*: more than 256 KiB in all: not acting");
    }
}

/* ---- rules in force ---------------------------------------------------------------------------------------------- */

/* A mapping of its own, never changed nor given back once it is published. */
struct published {
    const struct rules *rules;
    uint32_t generation;
    char memory[] __attribute__((aligned(16)));
};

static struct published *current; /* atomic */

static void forget(struct published *published, size_t from)
{
    size_t size = sizeof *published + RULES_MEMORY;
    size_t start = (from + 4095) & ~(size_t)4095;
    if (start < size) {
        real_munmap((char *)published + start, size - start);
    }
}

/* Parses the variables and this text of the file (NULL: there is no file in play) and puts them in force. */
static void publish(const char *config, size_t length)
{
    struct published *old = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    struct published *fresh = real_mmap(NULL, sizeof *fresh + RULES_MEMORY, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED) {
        return;
    }
    struct rules_text text = {.providers = own.providers,
                              .config = config,
                              .defaults = own.defaults,
                              .providers_length = own.providers == NULL ? 0 : strlen(own.providers),
                              .config_length = length,
                              .defaults_length = own.defaults == NULL ? 0 : strlen(own.defaults),
                              .config_path = own.config};
    struct rules *rules = rules_parse(&text, fresh->memory, RULES_MEMORY, complain_of_rule, NULL);
    size_t used = rules_size(rules);
    bool same = old != NULL && rules_size(old->rules) == used && memcmp(old->rules, rules, used) == 0;
    fresh->rules = rules;
    fresh->generation = old == NULL ? 1 : old->generation + 1;
    if (same || !__atomic_compare_exchange_n(&current, &old, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        forget(fresh, 0);
        return;
    }
    forget(fresh, sizeof *fresh + used);
    if (fresh->generation > 1) {
        tell(CONFIG_RULES, "the rules were read again");
    }
}

const struct rules *config_rules(uint32_t *generation)
{
    const struct published *published = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    if (published == NULL) {
        return NULL;
    }
    *generation = published->generation;
    return published->rules;
}

/* ---- the file of rules ------------------------------------------------------------------------------------------- */

static uint64_t tried; /* atomic: which state of the file was looked at last, whatever came of it */

/* What is wrong with the file, at the start or later. */
static void complain_of_file(const char *what)
{
    bool first = __atomic_load_n(&current, __ATOMIC_RELAXED) == NULL;
    char buffer[320];
    struct text text;
    text_begin(&text, buffer, sizeof buffer);
    text_add(&text, "PREBREAK_CONFIG ");
    text_add_quoted(&text, own.config, strlen(own.config));
    text_add(&text, ": ");
    text_add(&text, what);
    text_add(&text, first ? "; going without it" : "; keeping the rules read before");
    tell(CONFIG_COMPLAINT, buffer);
}

/* Reads the file if it is another one than was tried last. */
static void follow_file(void)
{
    uint64_t state = config_file_state(own.config);
    if (__atomic_load_n(&tried, __ATOMIC_RELAXED) == state) {
        return;
    }
    struct config_file file;
    const char *trouble = config_file_read(own.config, &file);
    if (trouble == config_file_unsteady) { /* somebody is writing: at the next look */
        return;
    }
    if (trouble != NULL) {
        complain_of_file(trouble);
    } else {
        publish(file.bytes, file.length);
        config_file_drop(&file);
    }
    /* Last: another thread that starts meanwhile must not take it for done, and go without the file. */
    __atomic_store_n(&tried, state, __ATOMIC_RELAXED);
}

/* ---- off files --------------------------------------------------------------------------------------------------- */

static const char *const off_files[] = {"/etc/prebreak/off", "/run/prebreak/off"};
static const char *off; /* atomic: the one that is there */

/* Only root's count: a directory that somebody else could write must not switch everybody off. */
static const char *find_off_file(void)
{
    for (size_t i = 0; i < sizeof off_files / sizeof *off_files; i++) {
        struct stat st;
        if (real_stat(off_files[i], &st) == 0 && st.st_uid == 0) {
            return off_files[i];
        }
    }
    return NULL;
}

static void follow_off_files(void)
{
    const char *found = find_off_file();
    const char *before = __atomic_exchange_n(&off, found, __ATOMIC_ACQ_REL);
    if ((found == NULL) == (before == NULL)) {
        return;
    }
    char buffer[128];
    struct text text;
    text_begin(&text, buffer, sizeof buffer);
    text_add(&text, found != NULL ? found : before);
    text_add(&text, found != NULL ? " is there: everything passes" : " is gone: acting again");
    tell(CONFIG_OFF, buffer);
}

const char *config_off(void)
{
    return __atomic_load_n(&off, __ATOMIC_ACQUIRE);
}

/* ---- start and look ---------------------------------------------------------------------------------------------- */

void config_start(void)
{
    if (__atomic_load_n(&current, __ATOMIC_ACQUIRE) != NULL) {
        return;
    }
    int saved = errno;
    follow_off_files();
    complain_of_variables();
    if (own.config != NULL) {
        follow_file();
    }
    if (__atomic_load_n(&current, __ATOMIC_ACQUIRE) == NULL) {
        publish(own.config == NULL ? NULL : "", 0);
    }
    errno = saved;
}

void config_look(void)
{
    int saved = errno;
    follow_off_files();
    if (own.config != NULL) {
        follow_file();
    }
    errno = saved;
}

bool config_may_enforce(void)
{
    const struct published *published = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    return published != NULL && !rules_restrained(published->rules);
}

enum prebreak_mode config_mode(void)
{
    if (means == PREBREAK_MODE_OFF || config_off() != NULL) {
        return PREBREAK_MODE_OFF;
    }
    return means == PREBREAK_MODE_ENFORCE && config_may_enforce() ? PREBREAK_MODE_ENFORCE : PREBREAK_MODE_OBSERVE;
}

enum prebreak_mode config_mode_under(enum prebreak_mode operators)
{
    enum prebreak_mode mode = config_mode();
    if (mode == PREBREAK_MODE_OFF || operators == PREBREAK_MODE_OFF) {
        return PREBREAK_MODE_OFF;
    }
    if (operators == PREBREAK_MODE_ENFORCE) {
        return config_may_enforce() ? PREBREAK_MODE_ENFORCE : PREBREAK_MODE_OBSERVE;
    }
    return operators == PREBREAK_MODE_OBSERVE ? PREBREAK_MODE_OBSERVE : mode;
}
