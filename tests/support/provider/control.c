/*
 * Commands, one a line; each is answered with one line of JSON, {"error":"..."} if it made no sense.
 *
 *   set HOST key=value...    what requests with this Host meet from now on; HOST `*` is all that are not set by name.
 *                            What is not mentioned is as it is by default.
 *                            action=answer|hang|reset|eof|half|half-reset|drip|stream  status=503  body=BYTES  latency=MS
 *                            interval=MS  idle=MS  every=N  close=1  header=Name:value  text=JSON (no blanks)
 *                            of a stream: events=NAME,...  end=whole|cut|reset|silent|repeat  until_close=1
 *   listener ADDRESS open|refuse|blackhole|greet-reset    ADDRESS `*` is all
 *   sever busy|all           resets connections at once: those with a request outstanding, or all
 *   report                   {"connections":N,"requests":N,"abandoned":N,"answers":{"200":N},"hosts":{HOST:the same}}
 *   log                      one entry a request: [CLOCK_MONOTONIC in seconds, HOST, PATH, number of its connection]
 *   clear                    counts and log begin anew
 */
#include "provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOSTS    256
#define STATUSES (sizeof hosts[0].answers / sizeof hosts[0].answers[0])

static struct host hosts[HOSTS] = {{.name = "*", .scripted = true}};
static unsigned host_count = 1;

struct entry {
    uint64_t time, connection;
    unsigned host;
    char path[120];
};
static struct entry *entries;
static size_t entry_count, entry_room;

struct host *host_at(unsigned index)
{
    return &hosts[index];
}

unsigned host_find(const char *name)
{
    for (unsigned i = 0; i < host_count; i++) {
        if (strcasecmp(hosts[i].name, name) == 0) {
            return i;
        }
    }
    if (host_count == HOSTS) {
        return HOSTS - 1; /* stands for all that found no room */
    }
    snprintf(hosts[host_count].name, NAME, "%s", name);
    return host_count++;
}

struct host *host_script(unsigned index)
{
    return hosts[index].scripted ? &hosts[index] : &hosts[0];
}

void log_request(unsigned host, const char *path, uint64_t connection)
{
    if (entry_count == entry_room) {
        entry_room = entry_room ? entry_room * 2 : 1024;
        entries = realloc(entries, entry_room * sizeof *entries);
        if (!entries) {
            die("log");
        }
    }
    struct entry *entry = &entries[entry_count++];
    *entry = (struct entry){.time = now(), .host = host, .connection = connection};
    snprintf(entry->path, sizeof entry->path, "%s", path);
}

/* ---- answers
 * --------------------------------------------------------------------------------------------------------- */

static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < ' ' || byte >= 0x7f || byte == '"' || byte == '\\') {
            printf("\\u%04x", byte);
        } else {
            putchar(byte);
        }
    }
    putchar('"');
}

static void done(void)
{
    puts("{}");
}

static void complain(const char *what)
{
    printf("{\"error\":");
    print_string(what);
    puts("}");
}

static void print_counts(const struct host *host)
{
    printf("\"requests\":%llu,\"abandoned\":%llu,\"answers\":{", (unsigned long long)host->requests,
           (unsigned long long)host->abandoned);
    const char *comma = "";
    for (unsigned status = 0; status < STATUSES; status++) {
        if (host->answers[status]) {
            printf("%s\"%u\":%llu", comma, status, (unsigned long long)host->answers[status]);
            comma = ",";
        }
    }
    putchar('}');
}

static void report(char **rest)
{
    (void)rest;
    static struct host sum;
    memset(&sum, 0, sizeof sum);
    for (unsigned i = 0; i < host_count; i++) {
        sum.requests += hosts[i].requests;
        sum.abandoned += hosts[i].abandoned;
        for (unsigned status = 0; status < STATUSES; status++) {
            sum.answers[status] += hosts[i].answers[status];
        }
    }
    printf("{\"connections\":%llu,", (unsigned long long)connection_count());
    print_counts(&sum);
    printf(",\"hosts\":{");
    const char *comma = "";
    for (unsigned i = 1; i < host_count; i++) {
        printf("%s", comma);
        print_string(hosts[i].name);
        printf(":{");
        print_counts(&hosts[i]);
        putchar('}');
        comma = ",";
    }
    puts("}}");
}

static void print_log(char **rest)
{
    (void)rest;
    putchar('[');
    for (size_t i = 0; i < entry_count; i++) {
        printf("%s[%.6f,", i ? "," : "", (double)entries[i].time / 1e9);
        print_string(hosts[entries[i].host].name);
        putchar(',');
        print_string(entries[i].path);
        printf(",%llu]", (unsigned long long)entries[i].connection);
    }
    puts("]");
}

static void clear(char **rest)
{
    (void)rest;
    for (unsigned i = 0; i < host_count; i++) {
        hosts[i].requests = hosts[i].abandoned = 0;
        memset(hosts[i].answers, 0, sizeof hosts[i].answers);
    }
    entry_count = 0;
    connection_clear_count();
    done();
}

/* ---- scripts
 * --------------------------------------------------------------------------------------------------------- */

static const char *const action_names[ACTIONS] = {"answer", "hang",       "reset", "eof",
                                                  "half",   "half-reset", "drip",  "stream"};
static const char *const end_names[STREAM_ENDS] = {"whole", "cut", "reset", "silent", "repeat"};
static const char *const listening_names[LISTENINGS] = {"open", "refuse", "blackhole", "greet-reset"};

static int index_of(const char *const *names, int count, const char *name)
{
    for (int i = 0; name && i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static const struct number {
    const char *name;
    size_t offset;
} numbers[] = {
    {"status", offsetof(struct host, status)},   {"body", offsetof(struct host, body)},
    {"latency", offsetof(struct host, latency)}, {"interval", offsetof(struct host, interval)},
    {"idle", offsetof(struct host, idle)},       {"every", offsetof(struct host, every)},
    {"close", offsetof(struct host, close)},     {"until_close", offsetof(struct host, until_close)},
};

static bool set_one(struct host *script, const char *key, const char *value)
{
    if (strcmp(key, "action") == 0) {
        int action = index_of(action_names, ACTIONS, value);
        if (action < 0) {
            return false;
        }
        script->action = (enum action)action;
        return true;
    }
    if (strcmp(key, "end") == 0) {
        int end = index_of(end_names, STREAM_ENDS, value);
        script->end = end < 0 ? STREAM_WHOLE : (enum stream_end)end;
        return end >= 0;
    }
    if (strcmp(key, "events") == 0) {
        return stream_known(value) &&
               (size_t)snprintf(script->events, sizeof script->events, "%s", value) < sizeof script->events;
    }
    if (strcmp(key, "text") == 0) {
        return (size_t)snprintf(script->text, sizeof script->text, "%s", value) < sizeof script->text;
    }
    if (strcmp(key, "header") == 0) {
        size_t used = strlen(script->headers), room = sizeof script->headers - used;
        return (size_t)snprintf(script->headers + used, room, "%s\r\n", value) < room;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(key, numbers[i].name) == 0) {
            char *end;
            *(unsigned *)((char *)script + numbers[i].offset) = (unsigned)strtoul(value, &end, 10);
            return *value && !*end;
        }
    }
    return false;
}

static void set(char **rest)
{
    const char *name = strtok_r(NULL, " ", rest);
    struct host script = {.scripted = true, .interval = 100};
    for (char *word = strtok_r(NULL, " ", rest); word; word = strtok_r(NULL, " ", rest)) {
        char *value = strchr(word, '=');
        if (value) {
            *value++ = '\0';
        }
        if (!value || !set_one(&script, word, value)) {
            complain(word);
            return;
        }
    }
    if (!name) {
        complain("set: HOST expected");
        return;
    }
    struct host *host = &hosts[host_find(name)];
    memcpy(script.name, host->name, sizeof script.name);
    script.requests = host->requests;
    script.abandoned = host->abandoned;
    memcpy(script.answers, host->answers, sizeof script.answers);
    *host = script;
    done();
}

static void set_listener(char **rest)
{
    const char *address = strtok_r(NULL, " ", rest);
    int state = index_of(listening_names, LISTENINGS, strtok_r(NULL, " ", rest));
    if (!address || state < 0 || !listener_set(address, (enum listening)state)) {
        complain("listener: ADDRESS open|refuse|blackhole|greet-reset expected");
        return;
    }
    done();
}

static void sever(char **rest)
{
    static const char *const names[] = {[SEVER_ALL] = "all", [SEVER_BUSY] = "busy"};
    int which = index_of(names, 2, strtok_r(NULL, " ", rest));
    if (which < 0) {
        complain("sever: busy|all expected");
        return;
    }
    printf("{\"severed\":%u}\n", connection_sever((enum severed)which));
}

static const struct verb {
    const char *name;
    void (*obey)(char **rest);
} verbs[] = {
    {"set", set},       {"listener", set_listener}, {"sever", sever},
    {"report", report}, {"log", print_log},         {"clear", clear},
};

void control(char *line)
{
    char *rest;
    const char *name = strtok_r(line, " ", &rest);
    const struct verb *verb = NULL;
    for (size_t i = 0; name && i < sizeof verbs / sizeof verbs[0]; i++) {
        verb = strcmp(verbs[i].name, name) == 0 ? &verbs[i] : verb;
    }
    if (verb) {
        verb->obey(&rest);
    } else {
        complain(name ? name : "nothing asked");
    }
    fflush(stdout);
}
