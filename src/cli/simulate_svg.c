/*
 * One picture: a row for each scenario, in it a panel for each policy. A panel shows over time what callers asked for,
 * what went out, what ended well and what was refused, and under it the drop ratio; the trouble is shaded.
 */
#include "cli/simulate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define LEFT    64.0  /* of the first panel */
#define TOP     92.0  /* of the first row */
#define NARROW  270.0 /* a panel, where there are many */
#define WIDE    640.0 /* all of a row's, where there are few */
#define GAP     44.0
#define TITLE   46.0 /* above a row's plots */
#define RATES   130.0
#define BETWEEN 18.0
#define DROPS   40.0
#define FOOT    44.0 /* below a row's plots: the time axis */
#define ROW     (TITLE + RATES + BETWEEN + DROPS + FOOT)

#define DROP_COLOUR "#8250a8"

/* ---- what is drawn ---------------------------------------------------------------------------------------------- */

/* Where it is drawn, and how wide its panels are. */
struct sheet {
    FILE *file;
    double width;
};

struct line {
    const char *name, *colour, *dash;
    double width;
};

enum { LINE_OFFERED, LINE_SENT, LINE_OK, LINE_REFUSED, LINES };

static const struct line lines[LINES] = {
    [LINE_OFFERED] = {"offered", "#9a9a9a", "none", 3.2},
    [LINE_SENT] = {"sent", "#0072b2", "none", 1.6},
    [LINE_OK] = {"ok", "#009e73", "none", 1.6},
    [LINE_REFUSED] = {"refused", "#d55e00", "4 2", 1.6},
};

static double bin_rate(const struct sim_run *run, uint32_t bin, int line)
{
    const struct sim_bin *counts = &run->bin[bin];
    const uint32_t calls[LINES] = {counts->offered, counts->sent, counts->ok, counts->refused};
    return calls[line] / ((double)run->bin_width / SIM_SECOND);
}

static double run_seconds(const struct sim_run *run)
{
    return (double)(run->begun[SIM_STAGES] - run->begun[0]) / SIM_SECOND;
}

/* The least number of these steps that is not less: their quarters are round too. */
static double round_up(double value)
{
    static const double steps[] = {1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10};
    const size_t last = sizeof steps / sizeof *steps - 1;
    double power = pow(10, floor(log10(value)));
    size_t step = 0;
    while (step < last && steps[step] * power < value) {
        step++;
    }
    return steps[step] * power;
}

/* The distance of marks on an axis of this length: five to ten of them. */
static double mark_every(double length)
{
    double power = pow(10, floor(log10(length))), parts = length / power;
    return power * (parts > 5 ? 1 : parts > 2.5 ? 0.5 : parts > 2 ? 0.25 : 0.2);
}

/* The top of a row's rate axis: one for all its panels. */
static double row_peak(const struct sim_grid *grid, size_t row)
{
    double peak = 0;
    for (size_t column = 0; column < grid->columns; column++) {
        const struct sim_run *run = &grid->result[row * grid->columns + column].run;
        for (uint32_t bin = 0; bin < run->bins; bin++) {
            for (int line = 0; line < LINES; line++) {
                peak = fmax(peak, bin_rate(run, bin, line));
            }
        }
    }
    return peak > 0 ? round_up(peak * 1.02) : 1;
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

/* Text as XML wants it; what is not printable ASCII becomes a question mark. */
static void put_text(const struct sheet *sheet, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", sheet->file);
            break;
        case '<':
            fputs("&lt;", sheet->file);
            break;
        case '>':
            fputs("&gt;", sheet->file);
            break;
        default:
            fputc(*text >= ' ' && *text <= '~' ? *text : '?', sheet->file);
        }
    }
}

static void put_label(const struct sheet *sheet, double x, double y, const char *style, const char *text)
{
    fprintf(sheet->file, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style);
    put_text(sheet, text);
    fputs("</text>\n", sheet->file);
}

static void put_number(const struct sheet *sheet, double x, double y, const char *style, double number)
{
    fprintf(sheet->file, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%.6g</text>\n", x, y, style, number);
}

static void put_rule(const struct sheet *sheet, double x1, double y1, double x2, double y2, const char *style)
{
    fprintf(sheet->file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2,
            style);
}

/* The frame of one plot, with a line and a number at 0, half and all of `top`. */
static void put_frame(const struct sheet *sheet, double x, double y, double height, double top, int parts)
{
    for (int i = 0; i <= parts; i++) {
        double level = y + height - height * i / parts;
        put_rule(sheet, x, level, x + sheet->width, level, i == 0 ? "axis" : "grid");
        put_number(sheet, x - 6, level + 3.5, "y", top * i / parts);
    }
}

static void put_time_axis(const struct sheet *sheet, const struct sim_run *run, double x, double y)
{
    const bool minutes = run_seconds(run) > 600;
    const double unit = minutes ? 60 : 1, all = run_seconds(run) / unit, step = mark_every(all);
    for (int mark = 0; step * mark <= all * 1.0001; mark++) {
        double tick = step * mark, place = x + sheet->width * tick / all;
        put_rule(sheet, place, y, place, y + 4, "axis");
        put_number(sheet, place, y + 15, "x", tick);
    }
    put_label(sheet, x + sheet->width / 2, y + 29, "x", minutes ? "minutes" : "seconds");
}

static void put_trouble(const struct sheet *sheet, const struct sim_run *run, double x, double y, double height)
{
    const struct sim_stage *stage = &run->scenario->stage[1];
    const double second = sheet->width / run_seconds(run), period = stage->period > 0 ? stage->period : stage->seconds;
    const double lasts = stage->period > 0 ? stage->down : stage->seconds, begins = run->scenario->stage[0].seconds;
    for (int times = 0; begins > 0 && times * period < stage->seconds; times++) {
        fprintf(sheet->file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"trouble\"/>\n",
                x + second * (begins + times * period), y, second * lasts, height);
    }
}

static void put_rates(const struct sheet *sheet, const struct sim_run *run, double x, double y, double peak)
{
    for (int line = 0; line < LINES; line++) {
        fprintf(sheet->file,
                "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" stroke-dasharray=\"%s\" points=\"",
                lines[line].colour, lines[line].width, lines[line].dash);
        for (uint32_t bin = 0; bin < run->bins; bin++) {
            fprintf(sheet->file, "%.1f,%.1f ", x + sheet->width * (bin + 0.5) / run->bins,
                    y + RATES * (1 - bin_rate(run, bin, line) / peak));
        }
        fputs("\"/>\n", sheet->file);
    }
}

static void put_drops(const struct sheet *sheet, const struct sim_run *run, double x, double y)
{
    fprintf(sheet->file, "<polygon fill=\"%s\" fill-opacity=\"0.75\" points=\"%.1f,%.1f ", DROP_COLOUR, x, y + DROPS);
    for (uint32_t bin = 0; bin < run->bins; bin++) {
        double level = y + DROPS * (1 - run->bin[bin].drop);
        fprintf(sheet->file, "%.1f,%.1f %.1f,%.1f ", x + sheet->width * bin / run->bins, level,
                x + sheet->width * (bin + 1.0) / run->bins, level);
    }
    fprintf(sheet->file, "%.1f,%.1f\"/>\n", x + sheet->width, y + DROPS);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void put_panel(const struct sheet *sheet, const struct sim_grid *grid, size_t row, size_t column, double peak)
{
    const struct sim_run *run = &grid->result[row * grid->columns + column].run;
    const double x = LEFT + (double)column * (sheet->width + GAP), top = TOP + (double)row * ROW;
    const double rates = top + TITLE, drops = rates + RATES + BETWEEN;

    put_label(sheet, x, rates - 8, "policy", grid->policy[column]);
    put_trouble(sheet, run, x, rates, RATES + BETWEEN + DROPS);
    put_frame(sheet, x, rates, RATES, peak, 4);
    put_frame(sheet, x, drops, DROPS, 1, 2);
    put_drops(sheet, run, x, drops);
    put_rates(sheet, run, x, rates, peak);
    put_time_axis(sheet, run, x, drops + DROPS);
    if (column == 0) {
        fprintf(sheet->file, "<text transform=\"translate(%.1f,%.1f) rotate(-90)\" class=\"x\">calls a second</text>\n",
                x - 46, rates + RATES / 2);
        fprintf(sheet->file, "<text transform=\"translate(%.1f,%.1f) rotate(-90)\" class=\"x\">drop</text>\n", x - 46,
                drops + DROPS / 2);
    }
}

static void put_legend(const struct sheet *sheet)
{
    for (int line = 0; line < LINES; line++) {
        double x = LEFT + 100 * line;
        fprintf(sheet->file,
                "<line x1=\"%.1f\" y1=\"62\" x2=\"%.1f\" y2=\"62\" stroke=\"%s\" stroke-width=\"%.1f\" "
                "stroke-dasharray=\"%s\"/>\n",
                x, x + 26, lines[line].colour, lines[line].width, lines[line].dash);
        put_label(sheet, x + 32, 66, "legend", lines[line].name);
    }
    const double x = LEFT + 100 * LINES;
    fprintf(sheet->file, "<rect x=\"%.1f\" y=\"56\" width=\"26\" height=\"12\" fill=\"%s\" fill-opacity=\"0.75\"/>\n",
            x, DROP_COLOUR);
    put_label(sheet, x + 32, 66, "legend", "drop ratio");
    fprintf(sheet->file, "<rect x=\"%.1f\" y=\"56\" width=\"26\" height=\"12\" class=\"trouble\"/>\n", x + 120);
    put_label(sheet, x + 152, 66, "legend", "the trouble");
}

static void put_head(const struct sheet *sheet, double width, double height)
{
    fprintf(sheet->file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\">\n"
            "<style>"
            ".title{font-size:18px;font-weight:bold}"
            ".scenario{font-size:14px;font-weight:bold}"
            ".policy{font-size:12px;fill:#333}"
            ".legend{font-size:12px}"
            ".x{font-size:10px;fill:#555;text-anchor:middle}"
            ".y{font-size:10px;fill:#555;text-anchor:end}"
            ".axis{stroke:#555;stroke-width:1}"
            ".grid{stroke:#ddd;stroke-width:1}"
            ".trouble{fill:#fbe3c8}"
            "</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, height, width, height);
}

bool sim_svg(const struct sim_grid *grid, const char *path)
{
    const double columns = (double)grid->columns, rows = (double)grid->rows;
    const struct sheet open = {fopen(path, "w"), fmax(NARROW, WIDE / columns)}, *sheet = &open;
    if (sheet->file == NULL) {
        return false;
    }
    put_head(sheet, fmax(LEFT + columns * (sheet->width + GAP), 760), TOP + rows * ROW);
    put_label(sheet, LEFT, 34, "title", "prebreak simulate: what callers asked for and what came of it");
    put_legend(sheet);
    for (size_t row = 0; row < grid->rows; row++) {
        const double peak = row_peak(grid, row), top = TOP + (double)row * ROW;
        fprintf(sheet->file, "<text x=\"%.1f\" y=\"%.1f\" class=\"policy\"><tspan class=\"scenario\">", LEFT, top + 16);
        put_text(sheet, grid->scenario[row]->name);
        fputs("</tspan>  ", sheet->file);
        put_text(sheet, grid->scenario[row]->about);
        fputs("</text>\n", sheet->file);
        for (size_t column = 0; column < grid->columns; column++) {
            put_panel(sheet, grid, row, column, peak);
        }
    }
    fputs("</svg>\n", sheet->file);
    bool whole = !ferror(sheet->file);
    int cause = errno;
    if (fclose(sheet->file) != 0) {
        return false;
    }
    errno = cause;
    return whole;
}
