/* See regions.h. */
#include "cli/regions.h"
#include "cli/cli.h"
#include "report/report.h"
#include "report/text.h"
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIRECTORY "/dev/shm"
#define PREFIX    "prebreak-"
#define WHAT      160 /* bytes of what is wrong with one */

static const char *chosen_user;
static bool chosen_all;

void regions_choose(const char *user, bool all)
{
    chosen_user = user;
    chosen_all = all;
}

bool regions_all(void)
{
    return chosen_all;
}

static int complain(const char *path, enum state_trouble trouble, const char *what)
{
    char printable[TEXT_NAME];
    const char *remedy = report_remedy(trouble);
    int code = trouble == STATE_FORBIDDEN ? EX_NOPERM : EX_UNAVAILABLE;
    return cli_fail(code, "%s: %s%s%s", text_printable(path, printable, sizeof(printable)), what,
                    remedy != NULL ? "; " : "", remedy != NULL ? remedy : "");
}

int regions_complain(const struct state *state)
{
    char what[WHAT];
    return complain(state->path, state->trouble, state_trouble_say(state, what, sizeof(what)));
}

int regions_complain_of(const char *path, enum state_trouble trouble)
{
    return complain(path, trouble, state_trouble_text(trouble));
}

// ---- as whom --------------------------------------------------------------------------------------------------------

static bool number_of(const char *text, uid_t *uid)
{
    char *end;
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*end != '\0' || errno != 0 || value >= UINT32_MAX) {
        return false;
    }
    *uid = (uid_t)value;
    return true;
}

/* The user of this name or number. False: there is none, which is told. */
static bool find_user(const char *user, uid_t *uid, gid_t *gid)
{
    const struct passwd *entry = getpwnam(user);
    if (entry == NULL && number_of(user, uid)) {
        entry = getpwuid(*uid);
        *gid = entry != NULL ? entry->pw_gid : (gid_t)*uid;
        return true;
    }
    if (entry == NULL) {
        (void)cli_fail(EX_USAGE, "no user '%s', expected a name or a number after -u", user);
        return false;
    }
    *uid = entry->pw_uid;
    *gid = entry->pw_gid;
    return true;
}

static int become(uid_t uid, gid_t gid)
{
    if (geteuid() == uid) {
        return 0;
    }
    if (setegid(gid) != 0 || seteuid(uid) != 0) {
        return cli_fail(EX_NOPERM, "may not look at the region of uid %u: only root may look at other users'",
                        (unsigned)uid);
    }
    return 0;
}

static void come_back(uid_t uid, gid_t gid)
{
    if (geteuid() != uid && (seteuid(uid) != 0 || setegid(gid) != 0)) {
        abort(); /* nothing may go on as somebody whom it was not meant for */
    }
}

/* Acts as this user on that user's region. */
static int as_user(uid_t uid, gid_t gid, regions_path_act *act, void *context)
{
    uid_t own_uid = geteuid();
    gid_t own_gid = getegid();
    char path[STATE_PATH];
    snprintf(path, sizeof(path), DIRECTORY "/" PREFIX "%u", (unsigned)uid);
    int code = become(uid, gid);
    if (code == 0) {
        code = act(path, context);
    }
    come_back(own_uid, own_gid);
    return code;
}

// ---- everybody's ----------------------------------------------------------------------------------------------------

static int is_region(const struct dirent *entry)
{
    uid_t uid;
    return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 && number_of(entry->d_name + strlen(PREFIX), &uid);
}

static int act_on_entry(const struct dirent *entry, regions_path_act *act, void *context)
{
    const char *number = entry->d_name + strlen(PREFIX);
    uid_t uid;
    gid_t gid;
    return find_user(number, &uid, &gid) ? as_user(uid, gid, act, context) : EX_USAGE;
}

static int everybody(regions_path_act *act, void *context)
{
    struct dirent **entries;
    int worst = 0;
    if (geteuid() != 0) {
        return cli_fail(EX_NOPERM, "--all: only root may look at other users' regions");
    }
    int count = scandir(DIRECTORY, &entries, is_region, versionsort);
    if (count < 0) {
        return cli_fail(EX_UNAVAILABLE, "cannot read " DIRECTORY ": %s", strerror(errno));
    }
    if (count == 0) {
        worst = cli_fail(EX_UNAVAILABLE, "no region in " DIRECTORY "; the first protected program makes one");
    }
    for (int i = 0; i < count; i++) {
        int code = act_on_entry(entries[i], act, context);
        worst = code > worst ? code : worst;
        free(entries[i]);
    }
    free(entries);
    return worst;
}

// ---- each -----------------------------------------------------------------------------------------------------------

int regions_each_path(regions_path_act *act, void *context)
{
    if (chosen_all) {
        return everybody(act, context);
    }
    if (chosen_user != NULL) {
        uid_t uid;
        gid_t gid;
        return find_user(chosen_user, &uid, &gid) ? as_user(uid, gid, act, context) : EX_USAGE;
    }
    return act(getenv("PREBREAK_STATE"), context);
}

struct mapped_act {
    regions_act *act;
    void *context;
};

static int act_mapped(const char *path, void *context)
{
    const struct mapped_act *mapped = context;
    struct state state;
    enum state_trouble trouble = state_open(&state, path, STATE_EXISTING);
    if (trouble != STATE_SOUND) {
        int code = regions_complain(&state);
        state_close(&state);
        return code;
    }
    int code = mapped->act(&state, mapped->context);
    state_close(&state);
    return code;
}

int regions_each(regions_act *act, void *context)
{
    struct mapped_act mapped = {act, context};
    return regions_each_path(act_mapped, &mapped);
}
