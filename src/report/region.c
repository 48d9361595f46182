/*
 * `state`: where the region is, whether it is sound, how full it is; and the words for modes and for what ails a
 * region.
 */
#include "report/report.h"
#include "report/text.h"
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

// ---- words ----------------------------------------------------------------------------------------------------------

const char *report_mode_name(enum prebreak_mode mode)
{
    static const char *const names[PREBREAK_MODES] = {
        [PREBREAK_MODE_ENV] = "env",
        [PREBREAK_MODE_ENFORCE] = "enforce",
        [PREBREAK_MODE_OBSERVE] = "observe",
        [PREBREAK_MODE_OFF] = "off",
    };
    return (unsigned)mode < PREBREAK_MODES ? names[mode] : "env";
}

const char *report_remedy(enum state_trouble trouble)
{
    static const char recreate[] = "`prebreak state --recreate` puts a fresh one in its place";
    static const char *const remedies[STATE_TROUBLES] = {
        [STATE_PRIVATE] = "unset PREBREAK_STATE, or give it a path, so that processes share what they know",
        [STATE_ABSENT] = "the first protected program makes one; so does `prebreak state --recreate`",
        [STATE_FORBIDDEN] =
            "look at the permissions of the file and its directory, or ask as the user whose it is (-u)",
        [STATE_NOT_OURS] = "ask as the user whose it is (-u), or take the file away",
        [STATE_EXPOSED] = "`chmod 600` if nobody has meddled with it, or `prebreak state --recreate`",
        [STATE_NOT_A_FILE] = "take away what stands in its place",
        [STATE_SHORT] = recreate,
        [STATE_GARBAGE] = recreate,
        [STATE_OTHER_VERSION] = recreate,
        [STATE_OTHER_BOOT] = recreate,
        [STATE_FULL_DISK] = "make room on the filesystem or raise the limit on file sizes (ulimit -f)",
        [STATE_NO_MEMORY] = "raise the limit on memory (ulimit -v)",
    };
    return (unsigned)trouble < STATE_TROUBLES ? remedies[trouble] : NULL;
}

const char *report_off_file(void)
{
    static const char *const files[] = {"/etc/prebreak/off", "/run/prebreak/off"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct stat found;
        if (stat(files[i], &found) == 0 && found.st_uid == 0) {
            return files[i];
        }
    }
    return NULL;
}

// ---- how full -------------------------------------------------------------------------------------------------------

static uint64_t word(const prebreak_word *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static uint64_t slots_taken(struct state *state)
{
    uint64_t taken = 0;
    for (int slot = 0; slot < PREBREAK_SLOTS; slot++) {
        taken += word(&state->region->identity[slot]) != 0;
    }
    return taken;
}

static uint64_t calls_in_flight(struct state *state)
{
    uint64_t calls = 0;
    for (int place = 0; place < PREBREAK_INFLIGHT; place++) {
        calls += word(&state->region->inflight[place]) != 0;
    }
    return calls;
}

static uint64_t holds_set(struct state *state, uint64_t now)
{
    uint64_t holds = 0;
    for (int index = 0; index < PREBREAK_HOLDS; index++) {
        char name[PREBREAK_NAME];
        enum prebreak_phase phase;
        uint64_t until;
        holds += state_hold_at(state, index, now, name, &phase, &until);
    }
    return holds;
}

static uint64_t events_kept(struct state *state)
{
    struct event event;
    uint64_t kept = 0;
    uint64_t after = 0;
    while (kept < PREBREAK_EVENTS && event_next(state, after, &event)) {
        after = event.sequence;
        kept++;
    }
    return kept;
}

static void print_share(const char *what, uint64_t used, unsigned of, FILE *out)
{
    fprintf(out, "%-16s %6" PRIu64 " of %u\n", what, used, of);
}

void report_state(struct state *state, FILE *out)
{
    const struct prebreak_header *header = &state->region->header;
    struct timespec now;
    char path[TEXT_NAME];
    char created[TEXT_TIME];
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t monotonic = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;

    fprintf(out, "%-16s %s\n", "region", text_printable(state->path, path, sizeof(path)));
    fprintf(out, "%-16s sound, shared by the processes of uid %u\n", "condition", (unsigned)state->uid);
    if (state->versioned) {
        fprintf(out, "%-16s it stands at the path with .v%d added, beside a region of another version\n", "",
                PREBREAK_REGION_VERSION);
    }
    fprintf(out, "%-16s %s\n", "created", text_time(word(&header->created), created, sizeof(created)));
    fprintf(out, "%-16s version %d, %zu bytes\n", "layout", PREBREAK_REGION_VERSION, sizeof(struct prebreak_region));
    fprintf(out, "%-16s %s\n", "mode", report_mode_name(state_mode(state)));
    if (report_off_file() != NULL) {
        fprintf(out, "%-16s every process is switched off: %s exists\n", "", report_off_file());
    }
    print_share("providers", slots_taken(state), PREBREAK_SLOTS, out);
    print_share("  after hosts", word(&header->nameless), PREBREAK_SLOTS_NAMELESS, out);
    print_share("calls in flight", calls_in_flight(state), PREBREAK_INFLIGHT, out);
    print_share("holds", holds_set(state, monotonic), PREBREAK_HOLDS, out);
    print_share("processes", state_processes(state), PREBREAK_PROCESSES, out);
    print_share("events", events_kept(state), PREBREAK_EVENTS, out);
    fprintf(out, "%-16s %6" PRIu64 " calls passed because no slot was left\n", "table full", word(&header->table_full));
}
