// SPDX-License-Identifier: Apache-2.0
//
// compare_text: a comparison for people, 80 columns.

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/board/board.h"
#include "testbed/report/hosts/compare.h"

#define VALUE_COLUMNS 26 // two of them and a name of 24 fit

static struct tb_unit unit_of(const json_t *cell)
{
    double smallest = INFINITY, largest = 0;
    const json_t *arm, *median;
    size_t i, j;
    json_array_foreach (tb_member(cell, "arms"), i, arm) {
        json_array_foreach (tb_member(arm, "medians_ns"), j, median) {
            if (json_is_number(median)) {
                smallest = fmin(smallest, json_number_value(median));
                largest = fmax(largest, json_number_value(median));
            }
        }
    }
    return tb_text_unit(isfinite(smallest) ? smallest : 1, largest);
}

static const char *median_text(const json_t *arm, size_t run, const struct tb_unit *unit, char *out)
{
    const json_t *median = json_array_get(tb_member(arm, "medians_ns"), run);
    if (json_is_number(median))
        tb_text_number(out, json_number_value(median) / unit->ns);
    else
        snprintf(out, 16, "-");
    return out;
}

static void counts_text(const json_t *arm, FILE *out)
{
    static const char *const counts[][2] = {{"remote_touch_ratio", "remote touches"},
                                            {"wandered_ratio", "wandered"},
                                            {"abroad_free_ratio", "freed abroad"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const json_t *pair = json_object_get(tb_member(arm, "counts"), counts[i][0]);
        char text[2][16] = {"-", "-"};
        bool any = false;
        for (size_t run = 0; run < 2; run++) {
            const json_t *value = json_array_get(pair, run);
            any |= json_is_number(value);
            if (json_is_number(value))
                snprintf(text[run], sizeof text[run], "%.4f", json_number_value(value));
        }
        if (any)
            fprintf(out, "    %-22s %9s %9s   worst round, counted\n", counts[i][1], text[0], text[1]);
    }
}

static void arm_text(const json_t *arm, bool timed, const struct tb_unit *unit, FILE *out)
{
    char name[224], first[16], second[16];
    tb_text_clean(tb_member_text(arm, "name"), true, name, sizeof name);
    tb_text_shorten(name, 24);
    fprintf(out, "  %-24s %9s %9s   ", name, median_text(arm, 0, unit, first), median_text(arm, 1, unit, second));
    double estimate = tb_member_number(arm, "ratio.estimate"), confidence = tb_member_number(arm, "ratio.confidence");
    if (!timed)
        fprintf(out, "no times\n");
    else if (isnan(estimate))
        fprintf(out, "no valid sample\n");
    else if (isnan(confidence))
        fprintf(out, "%.3f  too few rounds\n", estimate);
    else
        fprintf(out, "%.3f [%.3f, %.3f]  %.1f %%\n", estimate, tb_member_number(arm, "ratio.low"),
                tb_member_number(arm, "ratio.high"), 100 * confidence);
}

static void value_text(const json_t *value, char *out, size_t bytes)
{
    if (!value || json_is_null(value))
        snprintf(out, bytes, "-");
    else if (json_is_object(value))
        snprintf(out, bytes, "(%zu members)", json_object_size(value));
    else if (json_is_string(value) && json_string_length(value) > 1000)
        snprintf(out, bytes, "(%zu bytes)", json_string_length(value)); // hwloc's XML
    else if (json_is_string(value))
        tb_text_clean(json_string_value(value), true, out, bytes);
    else if (json_is_number(value))
        snprintf(out, bytes, "%.15g", json_number_value(value));
    else
        snprintf(out, bytes, "%s", json_is_true(value) ? "true" : "false");
}

static void differences_text(const json_t *comparison, FILE *out)
{
    const json_t *differences = tb_member(comparison, "differences"), *entry;
    size_t i;
    if (json_array_size(differences) == 0) {
        fprintf(out, "\nNothing else differs.\n");
        return;
    }
    fprintf(out, "\n%-24s  %-*s  %s\n", "what else differs", VALUE_COLUMNS, "run 1", "run 2");
    json_array_foreach (differences, i, entry) {
        char what[512], values[2][1024];
        tb_text_clean(tb_member_text(entry, "what"), true, what, sizeof what);
        tb_text_shorten(what, 24);
        for (size_t run = 0; run < 2; run++) {
            value_text(json_array_get(tb_member(entry, "values"), run), values[run], sizeof values[run]);
            tb_text_shorten(values[run], VALUE_COLUMNS);
        }
        fprintf(out, "%-24s  %-*s  %s\n", what, VALUE_COLUMNS, values[0], values[1]);
    }
}

static void only_text(const json_t *comparison, FILE *out)
{
    for (size_t run = 0; run < 2; run++) {
        const json_t *names = json_array_get(tb_member(comparison, "only"), run), *name;
        size_t i;
        char clean[256];
        if (json_array_size(names) == 0)
            continue;
        fprintf(out, "\nonly in run %zu:", run + 1);
        json_array_foreach (names, i, name) {
            tb_text_clean(json_string_value(name), true, clean, sizeof clean);
            fprintf(out, " %s", clean);
        }
        fputc('\n', out);
    }
}

void tb_compare_text(const json_t *comparison, FILE *out)
{
    const json_t *cells = tb_member(comparison, "cells"), *cell, *arm;
    bool timed = true;
    size_t i, j;
    for (size_t run = 0; run < 2; run++) {
        const json_t *object = json_array_get(tb_member(comparison, "runs"), run);
        char id[64], host[128], kind[32], verdict[64];
        fprintf(out, "run %zu  %s  on %s, %s: %s\n", run + 1, tb_member_show(object, "run", id, sizeof id),
                tb_member_show(object, "host", host, sizeof host), tb_member_show(object, "kind", kind, sizeof kind),
                tb_member_show(object, "verdict", verdict, sizeof verdict));
        if (!*tb_member_text(object, "emulated"))
            continue;
        timed = false;
        fprintf(out, "       made in an emulated guest (%s): counts, no times\n",
                tb_member_show(object, "emulated", host, sizeof host));
    }
    json_array_foreach (cells, i, cell) {
        struct tb_unit unit = unit_of(cell);
        char head[128], name[81];
        snprintf(head, sizeof head, "%s, %s", tb_member_show(cell, "cell", name, sizeof name), unit.name);
        fprintf(out, "\n%-26s %9s %9s   run 2 / run 1\n", head, "run 1", "run 2");
        json_array_foreach (tb_member(cell, "arms"), j, arm) {
            arm_text(arm, timed, &unit, out);
            counts_text(arm, out);
        }
        if (j == 0)
            fprintf(out, "  no contender is in both\n");
    }
    if (i == 0)
        fprintf(out, "\nThe runs have no cell in common.\n");
    only_text(comparison, out);
    differences_text(comparison, out);
    fprintf(out,
            "\nMedians; ratio: %s.\n"
            "The interval says how the samples of both runs scatter, not what changed between\n"
            "the runs. To compare contenders, run them in one campaign.\n",
            tb_member_text(comparison, "method"));
}
