/*
 * Processes: which pid namespace this one is in, who is alive, and who has enrolled.
 */
#include "real/real.h"
#include "state/internal.h"
#include "state/words.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

uint32_t process_namespace(void)
{
    struct stat status;
    uint64_t inode; /* ino_t is shorter in a process of 32 bits */

    if (real_stat("/proc/self/ns/pid", &status) != 0) {
        return 0;
    }
    inode = status.st_ino;
    return (uint32_t)state_hash(0, &inode, sizeof inode);
}

/* ---- /proc/PID/stat --------------------------------------------------------------------------------------------- */

enum { STAT_STATE = 3, STAT_THREADS = 20, STAT_START = 22 }; /* fields, counted from 1 as in proc(5) */
enum { STAT_BYTES = 640 };                                   /* they end long before that */

static bool digits(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    int count = 0;

    for (; text[count] >= '0' && text[count] <= '9' && count < 18; count++) {
        value = value * 10 + (uint64_t)(text[count] - '0');
    }
    *number = value;
    return count > 0;
}

/* The field, given where field 2, the name in brackets, ends; "" if there is none. */
static const char *field(const char *name_end, int number)
{
    const char *at = name_end;

    for (int i = 2; i < number && at; i++) {
        at = strchr(at + 1, ' ');
    }
    return at ? at + 1 : "";
}

/* Does /proc show our own pid namespace? It may be mounted for another. */
static bool proc_is_ours(void)
{
    char own[24];
    uint64_t pid;
    ssize_t length = real_readlink("/proc/self", own, sizeof own - 1);

    if (length <= 0) {
        return false;
    }
    own[length] = '\0';
    return digits(own, &pid) && pid == (uint64_t)getpid();
}

/* Reads a process's file into text[STAT_BYTES]; the end of its name, NULL: nothing could be read. */
static const char *read_stat(uint32_t pid, char *text)
{
    char path[40];
    size_t at = text_append(path, sizeof path, 0, "/proc/");
    ssize_t length;
    int fd;

    at = text_append_number(path, sizeof path, at, pid, 10);
    text_append(path, sizeof path, at, "/stat");
    fd = real_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    length = real_read(fd, text, STAT_BYTES - 1);
    real_close(fd);
    if (length <= 0) {
        return NULL;
    }
    text[length] = '\0';
    return strrchr(text, ')'); /* the name may hold brackets and spaces itself */
}

/* ---- alive ------------------------------------------------------------------------------------------------------ */

bool process_alive(uint32_t pid, uint64_t started)
{
    char text[STAT_BYTES];
    const char *name_end;
    uint64_t ticks, threads, hertz = getauxval(AT_CLKTCK);
    char what;

    if (pid == 0 || pid > INT32_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH)) {
        return false;
    }
    name_end = proc_is_ours() ? read_stat(pid, text) : NULL;
    if (!name_end) {
        return true;
    }
    what = *field(name_end, STAT_STATE);
    if (!digits(field(name_end, STAT_THREADS), &threads) || !digits(field(name_end, STAT_START), &ticks)) {
        return true;
    }
    /* Dead and not yet waited for; but a process whose first thread has ended looks so too, while others run. */
    if (what == 'X' || (what == 'Z' && threads <= 1)) {
        return false;
    }
    hertz = hertz ? hertz : 100;
    return ticks / hertz * NS_PER_S + ticks % hertz * NS_PER_S / hertz <= started;
}

/* ---- who is here ------------------------------------------------------------------------------------------------ */

#define ENROL_TRIES 16

static uint64_t process_word(const struct state *state)
{
    return (uint64_t)state->pid_ns << 32 | state->pid;
}

/* Nobody who can be seen from here to live any more. */
static bool abandoned(const struct state *state, const struct prebreak_process *process, uint64_t word)
{
    return word >> 32 == state->pid_ns && !process_alive((uint32_t)word, word_load(&process->since));
}

static struct prebreak_process *place_of(struct state *state, int attempt)
{
    return &state->region->process[(state->pid + (uint32_t)attempt) % PREBREAK_PROCESSES];
}

/* Puts this process where `from` stands. */
static bool enter(struct state *state, struct prebreak_process *process, uint64_t from)
{
    if (!word_change(&process->pid, from, process_word(state))) {
        return false;
    }
    word_store(&process->since, clock_ns(CLOCK_BOOTTIME));
    return true;
}

void state_enrol(struct state *state)
{
    int saved = errno;

    if (!state->region) {
        return;
    }
    /* A free place, or the one that this pid has had; only when there is none, one of a dead process. */
    for (int i = 0; i < ENROL_TRIES; i++) {
        struct prebreak_process *process = place_of(state, i);
        uint64_t word = word_load(&process->pid);
        if ((word == 0 || word == process_word(state)) && enter(state, process, word)) {
            return; /* without a system call so far */
        }
    }
    for (int i = 0; i < ENROL_TRIES; i++) {
        struct prebreak_process *process = place_of(state, i);
        uint64_t word = word_load(&process->pid);
        if (abandoned(state, process, word) && enter(state, process, word)) {
            break;
        }
    }
    errno = saved;
}

uint32_t state_processes(struct state *state)
{
    uint32_t alive = 0;
    int saved = errno;

    for (int i = 0; state->region && i < PREBREAK_PROCESSES; i++) {
        struct prebreak_process *process = &state->region->process[i];
        uint64_t word = word_load(&process->pid);
        if (word == 0 || word >> 32 != state->pid_ns) {
            continue;
        }
        if (abandoned(state, process, word)) {
            word_change(&process->pid, word, 0);
        } else {
            alive++;
        }
    }
    errno = saved;
    return alive;
}
