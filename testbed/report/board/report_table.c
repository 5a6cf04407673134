// SPDX-License-Identifier: Apache-2.0
//
// report_table: the scoreboard for people, within 80 columns of ASCII.
//
// One table for each cell, fastest first. `>` marks locus, so that colour is never needed to find it. A row that is noisy keeps its
// place, its time and its footprint, but has no ratio, as none would hold (noise.c). Below the ranking stand, without rank: the A/A
// controls, what is INVALID and why, and the harness, which measures the testbed and no allocator. Under each table stands which
// malloc was the best, how small a difference that cell could have shown, and what the doctor has against this host.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "testbed/report/board/board.h"
#include "testbed/report/board/report.h"

#define BOLD "\033[1m"
#define RED "\033[31m"
#define RESET "\033[0m"

enum { WIDTH_NAME_MIN = 8, WIDTH_REST = 60, WIDTH_MARK = 2, WIDTH_RATIO = 18, WIDTH_BENCH = 19 }; // a line is mark, name, rest

struct table {
    FILE *out;
    const struct tb_campaign *campaign;
    uint32_t cell;
    const struct tb_board *board;
    struct tb_report_style style;
    struct tb_unit unit;
    int name_width;
};

static int name_width(const struct tb_board *board, struct tb_report_style style)
{
    size_t longest = strlen("locus-backpressure"), most = WIDTH_NAME_MIN;
    if (style.columns > WIDTH_MARK + WIDTH_NAME_MIN + WIDTH_REST)
        most = (size_t)(style.columns - WIDTH_MARK - WIDTH_REST);
    for (uint32_t i = 0; i < board->count; i++) {
        char name[128];
        tb_text_arm(&board->row[i], name, sizeof name);
        longest = strlen(name) > longest ? strlen(name) : longest;
    }
    return (int)(longest < most ? longest : most);
}

static struct tb_unit board_unit(const struct tb_campaign *campaign, const struct tb_board *board)
{
    double smallest = INFINITY, largest = 0;
    for (uint32_t i = 0; i < board->count; i++) {
        double ns = board->row[i].ns_median;
        if (!campaign->bench && board->place[i] <= TB_PLACE_CONTROL && ns > 0) {
            smallest = fmin(smallest, ns);
            largest = fmax(largest, ns);
        }
    }
    return largest > 0 ? tb_text_unit(smallest, largest) : (struct tb_unit){.name = "ns", .ns = 1, .decimals = 1};
}

static const char *colour(const struct table *table, const char *code)
{
    return table->style.colour ? code : "";
}

static void print_name(const struct table *table, uint32_t i)
{
    char name[128];
    const struct tb_row *row = &table->board->row[i];
    tb_text_arm(row, name, sizeof name);
    tb_text_shorten(name, (size_t)table->name_width);
    bool ours = strcmp(row->arm->label, "locus") == 0;
    fprintf(table->out, "%s%s%-*s%s", ours ? colour(table, BOLD) : "", ours ? "> " : "  ", table->name_width, name,
            ours ? colour(table, RESET) : "");
}

// "1.96x [1.94, 1.99]", or what keeps it from being said; of a wide interval only the interval is.
static const char *told_text(char *out, size_t size, enum tb_told told, const struct tb_ratio *ratio)
{
    char low[16], high[16];
    if (told == TB_TOLD_ABSENT)
        snprintf(out, size, "-");
    else if (told != TB_TOLD_NOISY)
        tb_text_interval(out, size, ratio);
    else if (tb_interval_wide(ratio) && ratio->high < 999.5)
        snprintf(out, size, "noisy [%s, %s]", tb_text_ratio(low, ratio->low), tb_text_ratio(high, ratio->high));
    else
        snprintf(out, size, "noisy");
    return out;
}

static void print_number(FILE *out, int width, bool known, double value, const char *(*format)(char *, double))
{
    char text[16] = "-";
    if (known && isfinite(value))
        format(text, value);
    fprintf(out, "%*s", width, text);
}

static void print_time(const struct table *table, double ns)
{
    double value = ns / table->unit.ns;
    if (table->unit.decimals == TB_DIGITS)
        print_number(table->out, 6, true, value, tb_text_number);
    else
        fprintf(table->out, "%6.*f", table->unit.decimals, value);
    fprintf(table->out, " %-2s", table->unit.name);
}

static void print_spread(const struct table *table, const struct tb_row *row)
{
    double percent = 100 * row->ns_mad / row->ns_median;
    if (percent < 9999)
        fprintf(table->out, "%5.*f %%", percent < 99.95, percent);
    else
        fprintf(table->out, "%7s", "-");
}

// A noisy row says why, one beside a noisy row that there is nothing to say.
static void print_ratios(const struct table *table, uint32_t i)
{
    static const char *const noises[] = {[TB_NOISE_WAITED] = "noisy: waited", [TB_NOISE_SPREAD] = "noisy: spread"};
    const struct tb_campaign *campaign = table->campaign;
    const struct tb_row *row = &table->board->row[i];
    int arm = (int)table->board->arm[i], best = table->board->best.arm, base = tb_campaign_arm(campaign, "mimalloc");
    enum tb_noise noise = tb_noise_of(row, TB_LAP);
    struct tb_ratio ratio;
    char text[64] = "-", number[16] = "-";
    if (noise)
        snprintf(text, sizeof text, "%s", noises[noise]);
    else if (table->board->best.rival < 0 && arm == best)
        snprintf(text, sizeof text, "the best");
    else if (table->board->best.rival < 0)
        told_text(text, sizeof text, tb_pair_tell(campaign, table->cell, best, TB_LAP, arm, TB_LAP, &ratio), &ratio);
    enum tb_told told = tb_pair_tell(campaign, table->cell, base, TB_LAP, arm, TB_LAP, &ratio);
    if (told == TB_TOLD_NOISY && !noise && tb_interval_wide(&ratio))
        snprintf(number, sizeof number, "noisy");
    else if (told >= TB_TOLD_BLIND || told == TB_TOLD_FEW)
        tb_text_ratio(number, ratio.estimate);
    fprintf(table->out, "  %-*s%8s", WIDTH_RATIO, text, number);
    told = tb_pair_tell(campaign, table->cell, arm, TB_LAP, tb_floor(campaign), TB_LAP, &ratio);
    print_number(table->out, 6, told >= TB_TOLD_BLIND || told == TB_TOLD_FEW, ratio.estimate, tb_text_ratio);
}

static void print_ranked(const struct table *table, uint32_t i)
{
    const struct tb_row *row = &table->board->row[i];
    print_name(table, i);
    print_time(table, row->ns_median);
    print_spread(table, row);
    print_ratios(table, i);
    print_number(table->out, 5, true, row->outstanding_ratio, tb_text_ratio);
    print_number(table->out, 5, true, row->distinct_ratio, tb_text_ratio);
    fputc('\n', table->out);
}

static void print_control(const struct table *table, uint32_t i)
{
    const struct tb_row *row = &table->board->row[i];
    const struct tb_ratio *twin = &table->board->vs_twin[i];
    print_name(table, i);
    print_time(table, row->ns_median);
    print_spread(table, row);
    if (row->has_vs_aa && twin->bounded)
        fprintf(table->out, "  A/A control %.3fx [%.3f, %.3f]\n", twin->estimate, twin->low, twin->high);
    else
        fprintf(table->out, "  A/A control\n");
}

static void print_harness(const struct table *table, uint32_t i)
{
    const struct tb_row *row = &table->board->row[i];
    print_name(table, i);
    print_number(table->out, 6, true, row->ns_median / table->unit.ns, tb_text_number);
    fprintf(table->out, " %-2s", table->unit.name);
    print_spread(table, row);
    fprintf(table->out, "  (harness only)\n");
}

static void print_invalid(const struct table *table, uint32_t i)
{
    char why[256];
    int indent = WIDTH_MARK + table->name_width + 2;
    tb_text_clean(table->board->row[i].invalid, true, why, sizeof why);
    print_name(table, i);
    fprintf(table->out, "  %sINVALID:%s ", colour(table, RED), colour(table, RESET));
    tb_text_wrap(table->out, table->style.columns, indent + (int)strlen("INVALID: "), indent, why);
}

static void print_laps(const struct table *table)
{
    FILE *out = table->out;
    int indent = WIDTH_MARK + table->name_width;
    fprintf(out, "%*s%9s%7s  %-*s%6s%12s\n", indent, "", "median ", "spread", WIDTH_RATIO + 6, "times faster than", "over",
            "blocks/peak");
    fprintf(out, "%*s%9s%7s  %-*s%8s%6s%5s%5s\n", indent, "", "", "", WIDTH_RATIO, "the best malloc", "mimalloc", "floor", "held",
            "ever");
    for (uint32_t i = 0; i < table->board->count; i++) {
        switch (table->board->place[i]) {
        case TB_PLACE_RANKED: print_ranked(table, i); break;
        case TB_PLACE_CONTROL: print_control(table, i); break;
        case TB_PLACE_INVALID: print_invalid(table, i); break;
        case TB_PLACE_HARNESS: print_harness(table, i); break;
        }
    }
}

// Pushes have no counterpart among the mallocs.
static const int bench_ratios[] = {TB_BENCH_ALLOC, TB_BENCH_BULK, TB_BENCH_FREE};
enum { BENCH_RATIOS = sizeof bench_ratios / sizeof *bench_ratios };

static void print_bench_times(const struct table *table)
{
    static const char *const remarks[] = {[TB_PLACE_CONTROL] = "  A/A control", [TB_PLACE_HARNESS] = "  (harness only)"};
    fprintf(table->out, "%*s", WIDTH_MARK + table->name_width, "");
    for (int op = 0; op < TB_BENCH_COUNT; op++)
        fprintf(table->out, "%10s", tb_bench_name(op));
    fprintf(table->out, "\n");
    for (uint32_t i = 0; i < table->board->count; i++) {
        enum tb_place place = table->board->place[i];
        if (place == TB_PLACE_INVALID) {
            print_invalid(table, i);
            continue;
        }
        print_name(table, i);
        for (int op = 0; op < TB_BENCH_COUNT; op++)
            print_number(table->out, 10, table->board->row[i].bench_ns[op] > 0, table->board->row[i].bench_ns[op], tb_text_number);
        fprintf(table->out, "%s\n", remarks[place] ? remarks[place] : "");
    }
}

// A ratio to the same operation of another arm, three digits of it. An interval of leading zeros has no room, and is in the JSON.
static const char *bench_text(char *out, size_t size, enum tb_told told, const struct tb_ratio *ratio)
{
    char estimate[16], low[16], high[16];
    if (told < TB_TOLD_BLIND)
        return told_text(out, size, told, ratio);
    tb_text_significant(estimate, ratio->estimate);
    if (ratio->low < 0.0995 || ratio->high >= 999.5)
        snprintf(out, size, "%sx", estimate);
    else
        snprintf(out, size, "%sx [%s, %s]", estimate, tb_text_ratio(low, ratio->low), tb_text_ratio(high, ratio->high));
    return out;
}

static void print_bench_row(const struct table *table, uint32_t i, const int reference[])
{
    print_name(table, i);
    for (size_t o = 0; o < BENCH_RATIOS; o++) {
        struct tb_ratio ratio;
        char text[64];
        int op = bench_ratios[o], counterpart = tb_bench_counterpart[op], arm = (int)table->board->arm[i];
        enum tb_told told = tb_pair_tell(table->campaign, table->cell, reference[o], counterpart, arm, op, &ratio);
        bool itself = reference[o] == arm && counterpart == op;
        fprintf(table->out, " %-*s", o + 1 < BENCH_RATIOS ? WIDTH_BENCH : 0,
                itself ? "1.00x" : bench_text(text, sizeof text, told, &ratio));
    }
    fputc('\n', table->out);
}

static void print_bench_ratios(const struct table *table, const char *title, const int reference[])
{
    fprintf(table->out, "\n  times faster than %s (bulk: than its alloc)\n%*s", title, WIDTH_MARK + table->name_width, "");
    for (size_t o = 0; o < BENCH_RATIOS; o++)
        fprintf(table->out, " %-*s", o + 1 < BENCH_RATIOS ? WIDTH_BENCH : 0, tb_bench_name(bench_ratios[o]));
    fputc('\n', table->out);
    for (uint32_t i = 0; i < table->board->count; i++)
        if (table->board->place[i] == TB_PLACE_RANKED)
            print_bench_row(table, i, reference);
}

// Each operation has a best malloc of its own.
static void print_bench(const struct table *table)
{
    int base[BENCH_RATIOS], best[BENCH_RATIOS];
    print_bench_times(table);
    for (size_t o = 0; o < BENCH_RATIOS; o++) {
        struct tb_fastest fastest = tb_best_malloc(table->campaign, table->cell, tb_bench_counterpart[bench_ratios[o]]);
        best[o] = fastest.rival < 0 ? fastest.arm : -1;
        base[o] = tb_campaign_arm(table->campaign, "mimalloc");
    }
    print_bench_ratios(table, "the best malloc", best);
    print_bench_ratios(table, "mimalloc", base);
}

// --- below a table ---

static void print_line(const struct table *table, const char *text)
{
    fprintf(table->out, "  ");
    tb_text_wrap(table->out, table->style.columns, 2, 2, text);
}

static const char *arm_name(const struct table *table, int arm, char *out, size_t size)
{
    struct tb_row row;
    tb_campaign_row(table->campaign, table->cell, (uint32_t)arm, &row);
    tb_text_arm(&row, out, size);
    return out;
}

static void print_best(const struct table *table, int op)
{
    char name[128], of[32] = "", text[256];
    struct tb_fastest best = tb_best_malloc(table->campaign, table->cell, op);
    if (op != TB_LAP)
        snprintf(of, sizeof of, " at %s", tb_bench_name(op));
    if (best.rival >= 0)
        snprintf(text, sizeof text, "Which malloc is the best%s cannot be told: %s is noisy.", of,
                 arm_name(table, best.rival, name, sizeof name));
    else if (best.arm >= 0)
        snprintf(text, sizeof text, "The best malloc%s: %s.", of, arm_name(table, best.arm, name, sizeof name));
    else
        return;
    print_line(table, text);
}

static void print_foot(const struct table *table)
{
    struct tb_words words = {0};
    fputc('\n', table->out);
    if (table->campaign->bench) {
        print_best(table, TB_BENCH_ALLOC);
        print_best(table, TB_BENCH_FREE);
    } else {
        print_best(table, TB_LAP);
    }
    tb_say_resolution(&words, table->campaign, table->cell, table->cell + 1);
    print_line(table, words.text);
    if (table->campaign->unfit) {
        fprintf(table->out, "  %s", colour(table, RED));
        tb_text_wrap(table->out, table->style.columns, 2, 2, table->campaign->unfit);
        fputs(colour(table, RESET), table->out);
    }
}

static void print_cell(FILE *out, const struct tb_campaign *campaign, uint32_t cell, struct tb_report_style style)
{
    struct tb_board board;
    char where[128], how[192], head[336];
    tb_board(campaign, cell, &board);
    struct table table = {out, campaign, cell, &board, style, board_unit(campaign, &board), name_width(&board, style)};
    tb_text_cell(campaign, cell, where, sizeof where);
    tb_text_settings(campaign, how, sizeof how);
    snprintf(head, sizeof head, "%s, %s", where, how);
    fprintf(out, "\n");
    tb_text_wrap(out, style.columns, 0, 0, head);
    fprintf(out, "\n");
    if (campaign->bench)
        print_bench(&table);
    else
        print_laps(&table);
    print_foot(&table);
}

#define NOISY "Noisy: its processes waited for a CPU, or its rounds lie so far apart that no ratio of it would hold. "

int tb_report_table(FILE *stream, const struct tb_campaign *campaign, struct tb_report_style style)
{
    static const char laps[] = "A lap's time: median over the rounds, each a fresh process. Spread: median absolute deviation. "
                               "Held: most blocks out at once, ever: different blocks used, both over the theoretical peak. " NOISY
                               "What failed a gate is INVALID.";
    static const char bench[] = "Nanoseconds per block (push: per request): median over the rounds, each a fresh process. " NOISY;
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc < 0)
        return rc;
    tb_text_wrap(text.stream, style.columns, 0, 0, campaign->bench ? bench : laps);
    for (uint32_t cell = 0; cell < campaign->cells_count; cell++)
        print_cell(text.stream, campaign, cell, style);
    return tb_text_close(&text, stream, 0);
}
