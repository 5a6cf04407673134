// SPDX-License-Identifier: Apache-2.0
//
// report_table: the scoreboard for people, within 80 columns of ASCII.
//
// One table for each cell, fastest first. `>` marks locus, so that colour is never needed to find it. Below the ranking stand,
// without rank: the A/A control, what is INVALID and why, and the harness, which measures the testbed and no allocator. Under
// each table stands how small a difference that cell could have shown.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "testbed/report.h"
#include "testbed/report_text.h"

#define BOLD "\033[1m"
#define RED "\033[31m"
#define RESET "\033[0m"

enum { WIDTH_NAME_MIN = 8, WIDTH_REST = 60, WIDTH_MARK = 2 }; // a line is mark, name, rest

struct tb_report_style tb_report_style(FILE *stream)
{
    struct tb_report_style style = {.colour = false, .columns = 80};
    int fd = fileno(stream);
    if (fd < 0 || !isatty(fd))
        return style;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    style.colour = !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
    struct winsize window;
    if (ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        style.columns = window.ws_col;
    return style;
}

struct table {
    FILE *out;
    const struct tb_campaign *campaign;
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

// "1.96x [1.94, 1.99]"
static void ratio_text(char *out, size_t size, const struct tb_ratio *ratio)
{
    char estimate[16], low[16], high[16];
    tb_text_ratio(estimate, ratio->estimate);
    if (!ratio->bounded)
        snprintf(out, size, "%sx (unbounded)", estimate);
    else if (ratio->high >= 999.5)
        snprintf(out, size, "%sx", estimate);
    else
        snprintf(out, size, "%sx [%s, %s]", estimate, tb_text_ratio(low, ratio->low), tb_text_ratio(high, ratio->high));
}

static void print_versus(const struct table *table, bool known, const struct tb_ratio *ratio, bool is_base)
{
    char text[64] = "-";
    if (known && is_base)
        snprintf(text, sizeof text, "1.00x");
    else if (known)
        ratio_text(text, sizeof text, ratio);
    fprintf(table->out, "%-18s", text);
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

static void print_ranked(const struct table *table, uint32_t i)
{
    const struct tb_row *row = &table->board->row[i];
    print_name(table, i);
    print_time(table, row->ns_median);
    print_spread(table, row);
    fprintf(table->out, "  ");
    print_versus(table, row->has_vs_base, &row->vs_base, strcmp(row->arm->label, "mimalloc") == 0);
    print_number(table->out, 6, row->has_vs_oracle, row->vs_oracle.estimate, tb_text_ratio);
    print_number(table->out, 6, true, row->outstanding_ratio, tb_text_ratio);
    print_number(table->out, 6, true, row->distinct_ratio, tb_text_ratio);
    fprintf(table->out, "%6s\n", "ok");
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
    fprintf(out, "%*s%9s%7s  %-18s%6s%12s\n", indent, "", "median ", "spread", "faster than", "over", "blocks/peak");
    fprintf(out, "%*s%9s%7s  %-18s%6s%6s%6s%6s\n", indent, "", "", "", "mimalloc", "oracle", "held", "ever", "gates");
    for (uint32_t i = 0; i < table->board->count; i++) {
        switch (table->board->place[i]) {
        case TB_PLACE_RANKED: print_ranked(table, i); break;
        case TB_PLACE_CONTROL: print_control(table, i); break;
        case TB_PLACE_INVALID: print_invalid(table, i); break;
        case TB_PLACE_HARNESS: print_harness(table, i); break;
        }
    }
}

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

static void print_bench_ratios(const struct table *table)
{
    static const int ops[] = {TB_BENCH_ALLOC, TB_BENCH_BULK, TB_BENCH_FREE};
    fprintf(table->out, "\n  times faster than mimalloc (bulk: than its alloc)\n%*s", WIDTH_MARK + table->name_width, "");
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        fprintf(table->out, "  %-*s", o < 2 ? 18 : 0, tb_bench_name(ops[o]));
    fprintf(table->out, "\n");
    for (uint32_t i = 0; i < table->board->count; i++) {
        const struct tb_row *row = &table->board->row[i];
        if (table->board->place[i] != TB_PLACE_RANKED)
            continue;
        print_name(table, i);
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
            char text[64] = "-";
            if (row->bench_vs_base[ops[o]].n > 0)
                ratio_text(text, sizeof text, &row->bench_vs_base[ops[o]]);
            fprintf(table->out, "  %-*s", o < 2 ? 18 : 0, text);
        }
        fprintf(table->out, "\n");
    }
}

static void print_resolution(const struct table *table, uint32_t cell)
{
    char percent[16], text[256];
    double resolution = tb_campaign_resolution(table->campaign, cell);
    if (resolution < 0)
        snprintf(text, sizeof text, "No A/A control ran here: how small a difference could be seen is not known.");
    else if (isinf(resolution))
        snprintf(text, sizeof text, "Too few rounds for a 95 %% interval: 6 are the least.");
    else
        snprintf(text, sizeof text, "Differences under %s %% cannot be seen on this machine (A/A).",
                 tb_text_percent_up(percent, resolution));
    fprintf(table->out, "  ");
    tb_text_wrap(table->out, table->style.columns, 2, 2, text);
}

static void print_cell(FILE *out, const struct tb_campaign *campaign, uint32_t cell, struct tb_report_style style)
{
    struct tb_board board;
    char where[128], how[192], head[336];
    tb_board(campaign, cell, &board);
    struct table table = {out, campaign, &board, style, board_unit(campaign, &board), name_width(&board, style)};
    tb_text_cell(campaign, cell, where, sizeof where);
    tb_text_settings(campaign, how, sizeof how);
    snprintf(head, sizeof head, "%s, %s", where, how);
    fprintf(out, "\n");
    tb_text_wrap(out, style.columns, 0, 0, head);
    fprintf(out, "\n");
    if (campaign->bench) {
        print_bench_times(&table);
        print_bench_ratios(&table);
    } else {
        print_laps(&table);
    }
    fprintf(out, "\n");
    print_resolution(&table, cell);
}

int tb_report_table(FILE *stream, const struct tb_campaign *campaign, struct tb_report_style style)
{
    static const char laps[] = "A lap's time: median over the rounds, each a fresh process. Spread: median absolute deviation. "
                               "Held: most blocks out at once, ever: different blocks used, both over the theoretical peak.";
    static const char bench[] = "Nanoseconds per block (push: per request): median over the rounds, each a fresh process.";
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc < 0)
        return rc;
    tb_text_wrap(text.stream, style.columns, 0, 0, campaign->bench ? bench : laps);
    for (uint32_t cell = 0; cell < campaign->cells_count; cell++)
        print_cell(text.stream, campaign, cell, style);
    return tb_text_close(&text, stream, 0);
}
