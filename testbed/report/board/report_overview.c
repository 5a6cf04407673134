// SPDX-License-Identifier: Apache-2.0
//
// report_overview: one row for each workload: how long a lap takes on the floor, how much longer locus takes, and how much longer
// than locus the best malloc.
//
// It is of one touch mode, the one that means most of those that were run, and of several workloads: of a single one its own table
// says it all. What would not hold is "noisy", as in the tables.
#include <stdio.h>
#include <string.h>

#include "testbed/report/board/board.h"

enum { WIDTH_WORKLOAD_MAX = 17, WIDTH_RATIO = 18 };

struct overview {
    FILE *out;
    const struct tb_campaign *campaign;
    enum tb_touch touch;
    int locus, floor;
    int width; // of the workloads' names
};

static const char *workload_name(const struct tb_cell *cell)
{
    return cell->schedule ? cell->schedule->name : "";
}

static void print_ratio(const struct overview *overview, uint32_t cell, int over, int under)
{
    struct tb_ratio ratio;
    char text[64] = "-";
    enum tb_told told = tb_pair_tell(overview->campaign, cell, over, TB_LAP, under, TB_LAP, &ratio);
    if (told == TB_TOLD_FEW)
        snprintf(text, sizeof text, "too few rounds");
    else if (told == TB_TOLD_NOISY || told == TB_TOLD_BLIND)
        snprintf(text, sizeof text, "noisy");
    else if (told != TB_TOLD_ABSENT)
        tb_text_interval(text, sizeof text, &ratio);
    fprintf(overview->out, "  %-*s", WIDTH_RATIO, text);
}

static void print_floor(const struct overview *overview, uint32_t cell)
{
    struct tb_row row;
    char number[16], text[32] = "-";
    if (overview->floor >= 0) {
        tb_row_alone(overview->campaign, cell, (uint32_t)overview->floor, &row);
        struct tb_unit unit = tb_text_unit(row.ns_median, row.ns_median);
        if (!row.valid)
            snprintf(text, sizeof text, "INVALID");
        else if (row.noise)
            snprintf(text, sizeof text, "noisy");
        else
            snprintf(text, sizeof text, "%s %s", tb_text_number(number, row.ns_median / unit.ns), unit.name);
    }
    fprintf(overview->out, "%9s", text);
}

static void print_row(const struct overview *overview, uint32_t cell)
{
    char name[64], malloc_name[128] = "";
    struct tb_row row;
    struct tb_fastest best = tb_best_malloc(overview->campaign, cell, TB_LAP);
    tb_text_clean(workload_name(&overview->campaign->cells[cell]), true, name, sizeof name);
    tb_text_shorten(name, (size_t)overview->width);
    fprintf(overview->out, "  %-*s", overview->width, name);
    print_floor(overview, cell);
    print_ratio(overview, cell, overview->locus, overview->floor);
    if (best.rival >= 0) {
        fprintf(overview->out, "  noisy\n");
        return;
    }
    print_ratio(overview, cell, best.arm, overview->locus);
    if (best.arm >= 0) {
        tb_row_alone(overview->campaign, cell, (uint32_t)best.arm, &row);
        tb_text_arm(&row, malloc_name, sizeof malloc_name);
        tb_text_shorten(malloc_name, (size_t)(TB_SUMMARY_COLUMNS - 2 - overview->width - 9 - 2 * (2 + WIDTH_RATIO) - 2));
    }
    fprintf(overview->out, "  %s\n", malloc_name);
}

static uint32_t count_rows(struct overview *overview)
{
    uint32_t count = 0;
    overview->width = 0;
    for (uint32_t cell = 0; cell < overview->campaign->cells_count; cell++) {
        if (overview->campaign->cells[cell].touch != overview->touch)
            continue;
        int length = (int)strlen(workload_name(&overview->campaign->cells[cell]));
        overview->width = length > overview->width ? length : overview->width;
        count++;
    }
    overview->width = overview->width < WIDTH_WORKLOAD_MAX ? overview->width : WIDTH_WORKLOAD_MAX;
    return count;
}

void tb_report_overview(FILE *out, const struct tb_campaign *campaign)
{
    static const enum tb_touch order[] = {TB_TOUCH_FULL, TB_TOUCH_BYTE, TB_TOUCH_NONE};
    static const char *const titles[] = {
        [TB_TOUCH_NONE] = "no touch", [TB_TOUCH_BYTE] = "one byte", [TB_TOUCH_FULL] = "full touch"};
    struct overview overview = {.out = out,
                                .campaign = campaign,
                                .locus = tb_campaign_arm(campaign, "locus"),
                                .floor = tb_floor(campaign)};
    uint32_t rows = 0;
    for (size_t t = 0; t < sizeof order / sizeof *order && rows == 0; t++) {
        overview.touch = order[t];
        rows = count_rows(&overview);
    }
    if (campaign->bench || rows < 2 || overview.locus < 0)
        return;
    fprintf(out, "\n  %-*s%9s  %-*s  %s\n", overview.width, titles[overview.touch], "floor", WIDTH_RATIO, "locus over floor",
            "best malloc over locus");
    for (uint32_t cell = 0; cell < campaign->cells_count; cell++)
        if (campaign->cells[cell].touch == overview.touch)
            print_row(&overview, cell);
    fprintf(out, "\n");
}
