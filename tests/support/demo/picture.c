/*
 * The picture: for each service a chart of how its callers fared, stacked by outcome, over two lines: what its provider
 * was sent, and how long the callers waited. Two columns a second. In colour and with blocks where the terminal has them;
 * else each outcome has a letter of its own.
 */
#include "measure.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LABEL  9  /* characters left of the charts */
#define ROWS   5  /* of a stacked chart */
#define TOP    20 /* calls a second at its top */
#define LEVELS 8
#define WIDTH  79 /* of the whole picture */
#define LINES  19

static const struct style {
    const char *colour, *ground, *block, *letter, *name;
} styles[HOWS] = {
    [ANSWERED] = {"\033[32m", "\033[42m", "█", "#", "answered"},
    [REFUSED] = {"\033[33m", "\033[43m", "░", ".", "refused at once"},
    [FAILED] = {"\033[31m", "\033[41m", "▓", "x", "failed"},
};
static const enum how stacked[] = {ANSWERED, REFUSED, FAILED};
#define STACKED (sizeof stacked / sizeof stacked[0])

static bool live, colour, utf8;
static unsigned drawn_lines;

static const char *paint(const char *code)
{
    return colour ? code : "";
}
#define PLAIN paint("\033[0m")
#define BOLD  paint("\033[1m")
#define DIM   paint("\033[2m")

void picture_start(const struct service *services)
{
    const char *term = getenv("TERM");
    struct winsize size;
    bool terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && term && strcmp(term, "dumb") != 0;
    live = terminal && size.ws_row > LINES && size.ws_col >= WIDTH;
    colour = terminal && !getenv("NO_COLOR");
    setlocale(LC_CTYPE, "");
    utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    printf("Two services call a provider each, and both providers go bad in the same way.\n");
    printf("A service has %d callers a second, and %d workers that run a stock curl, which\n", RATE, WORKERS);
    printf("waits %s s at the most:\n\n", MAX_TIME);
    for (int i = 0; i < 2; i++) {
        printf("  %s%-18s%s%scurl http://127.0.0.1:%u/\n", BOLD, services[i].name, PLAIN,
               services[i].preload ? "LD_PRELOAD=libprebreak.so " : "", services[i].port);
    }
    putchar('\n');
}

/* ---- drawing --------------------------------------------------------------------------------------------------------- */

static void line_end(void)
{
    printf("%s%s\n", PLAIN, live ? "\033[K" : "");
    drawn_lines++;
}

static void label(const char *text)
{
    printf("%s%*s %s", DIM, LABEL - 1, text, PLAIN);
}

/* One cell of a stacked chart: eight levels, of which each may belong to another outcome. */
static void cell(const struct column *column, unsigned row)
{
    unsigned level[STACKED], sum = 0;
    for (unsigned i = 0; i < STACKED; i++) {
        sum += column->count[stacked[i]];
        level[i] = sum * COLUMNS_A_SECOND * ROWS * LEVELS / TOP;
    }
    unsigned floor = row * LEVELS, share[STACKED];
    int bottom = -1, most = -1;
    for (unsigned i = 0; i < STACKED; i++) {
        unsigned from = i ? level[i - 1] : 0, low = from > floor ? from : floor;
        unsigned high = level[i] < floor + LEVELS ? level[i] : floor + LEVELS;
        share[i] = high > low ? high - low : 0;
        bottom = bottom < 0 && share[i] ? (int)i : bottom;
        most = share[i] && (most < 0 || share[i] > share[most]) ? (int)i : most;
    }
    if (bottom < 0) {
        putchar(' ');
        return;
    }
    if (!colour || !utf8) {
        unsigned filled = share[0] + share[1] + share[2];
        const struct style *style = &styles[stacked[most]];
        printf("%s%s%s", paint(style->colour),
               filled < LEVELS / 2 && row ? " "
               : utf8                     ? style->block
                                          : style->letter,
               PLAIN);
        return;
    }
    static const char *const eighths[] = {"", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const char *ground = "";
    for (unsigned i = (unsigned)bottom + 1; i < STACKED; i++) {
        ground = share[i] ? styles[stacked[i]].ground : ground;
    }
    printf("%s%s%s%s", ground, styles[stacked[bottom]].colour, eighths[share[bottom]], PLAIN);
}

/* Bars of 0 to 8. */
static void bar(unsigned level)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char letters[] = " .:-=+*%@";
    if (utf8) {
        fputs(blocks[level], stdout);
    } else {
        putchar(letters[level]);
    }
}

/* Waits by their magnitude: a step for each factor of about 2.3, from 30 ms to 10 s. */
static unsigned wait_level(unsigned ms)
{
    static const unsigned steps[] = {30, 70, 160, 370, 850, 1950, 4500, 10000};
    unsigned level = 0;
    while (level < LEVELS && ms >= steps[level]) {
        level++;
    }
    return ms && !level ? 1 : level;
}

static void acts_line(void)
{
    printf("%*s", LABEL, "");
    for (unsigned i = 0; i < act_count; i++) {
        int width = (int)acts[i].seconds * COLUMNS_A_SECOND - 1;
        printf("%s%s%s%-*.*s", DIM, utf8 ? "│" : "|", PLAIN, width, width, acts[i].title);
    }
    line_end();
}

static void service_lines(const struct service *service, unsigned ms)
{
    static struct column columns[COLUMNS];
    unsigned count = measure(service, ms, columns);
    struct sum sum = measure_sum(service);
    printf("%s%s%s%s  %u callers, %u calls sent, longest wait %.1f s", BOLD, service->name, PLAIN, DIM, service->calls,
           sum.sent, sum.longest / 1000.0);
    line_end();
    for (unsigned row = ROWS; row-- > 0;) {
        char mark[8] = "";
        if (row == ROWS - 1) {
            snprintf(mark, sizeof mark, "%d/s", TOP);
        }
        label(mark);
        for (unsigned c = 0; c < count; c++) {
            cell(&columns[c], row);
        }
        line_end();
    }
    label("sent");
    for (unsigned c = 0; c < count; c++) {
        unsigned level = (columns[c].sent * COLUMNS_A_SECOND * LEVELS + TOP - 1) / TOP;
        bar(level < LEVELS ? level : LEVELS);
    }
    line_end();
    label("waited");
    for (unsigned c = 0; c < count; c++) {
        printf("%s", paint(columns[c].waited >= 1000 ? "\033[31m" : ""));
        bar(wait_level(columns[c].waited));
        printf("%s", PLAIN);
    }
    line_end();
}

static void legend(void)
{
    printf("%*s", LABEL, "");
    for (unsigned i = 0; i < STACKED; i++) {
        const struct style *style = &styles[stacked[i]];
        printf("%s%s%s %s   ", paint(style->colour),
               colour && utf8 ? "█"
               : utf8         ? style->block
                              : style->letter,
               PLAIN, style->name);
    }
    printf("%swaited: median, log%s", DIM, PLAIN);
    line_end();
}

static void draw(const struct service *services, unsigned ms)
{
    acts_line();
    service_lines(&services[0], ms);
    line_end();
    service_lines(&services[1], ms);
    legend();
}

void picture_live(const struct service *services, unsigned ms)
{
    static unsigned told;
    if (!live) {
        for (; told < act_count && ms >= act_begin(told); told++) {
            printf("%3u s: the provider is %s%s\n", ms / 1000, told ? "now: " : "", acts[told].title);
        }
        fflush(stdout);
        return;
    }
    if (drawn_lines) {
        printf("\033[%uA\r", drawn_lines);
    }
    drawn_lines = 0;
    draw(services, ms);
    fflush(stdout);
}

/* ---- the end --------------------------------------------------------------------------------------------------------- */

static void seconds(long ms)
{
    if (ms < 0) {
        printf("%16s", "never");
    } else {
        printf("%14.1f s", (double)ms / 1000);
    }
}

static void row(const char *name, unsigned long without, unsigned long with)
{
    printf("  %-38s%16lu%16lu", name, without, with);
    line_end();
}

static void row_seconds(const char *name, long without, long with)
{
    printf("  %-38s", name);
    seconds(without);
    seconds(with);
    line_end();
}

void picture_end(const struct service *services, const unsigned long *counted)
{
    struct sum without = measure_sum(&services[0]), with = measure_sum(&services[1]);
    unsigned end = act_begin(act_count);
    picture_live(services, end);
    if (!live) {
        draw(services, end);
    }
    line_end();
    printf("%s  %-38s%16s%16s", BOLD, "", "without", "with prebreak");
    line_end();
    row("callers", services[0].calls, services[1].calls);
    row("answered", without.count[ANSWERED], with.count[ANSWERED]);
    row("failed", without.count[FAILED], with.count[FAILED]);
    row("refused at once by prebreak", without.count[REFUSED], with.count[REFUSED]);
    row("requests that the provider counted", counted[0], counted[1]);
    row_seconds("longest wait of a caller", without.longest, with.longest);
    row_seconds("waited by all callers together", without.all, with.all);
    row_seconds("isolated after going bad", measure_isolated(&services[0]), measure_isolated(&services[1]));
    row_seconds("answered again after recovering", measure_recovered(&services[0]), measure_recovered(&services[1]));
    fflush(stdout);
}
