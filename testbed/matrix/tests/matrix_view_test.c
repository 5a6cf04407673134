// SPDX-License-Identifier: Apache-2.0
//
// matrix_view: the page, the JSON and the CSV of matrices whose figures are known, and that an emulated one shows none of them.
#include <errno.h>
#include <math.h>

#include "testbed/base/tests/json_says.h"
#include "testbed/matrix/tests/matrix_machines.h"
#include "testbed/matrix/view/view.h"

static struct matrix_fixture f;
static const struct tb_report_style plain = {false, 80}, coloured = {true, 80};
enum form { TEXT, JSON, CSV };

// What a view writes; the test frees it.
static char *written(const struct tb_matrix *matrix, enum form form, struct tb_report_style style)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert(stream);
    int rc = form == TEXT   ? tb_matrix_text(stream, matrix, NULL, style)
             : form == JSON ? tb_matrix_json(stream, NULL, matrix, NULL, "matrix")
                            : tb_matrix_csv(stream, matrix);
    cr_assert_eq(rc, 0);
    fclose(stream);
    return text;
}

static json_t *json_of(const struct tb_matrix *matrix)
{
    char *text = written(matrix, JSON, plain);
    json_error_t error;
    json_t *root = json_loads(text, 0, &error);
    cr_assert(root, "line %d: %s", error.line, error.text);
    free(text);
    return root;
}

#define HAS(text, part) cr_assert(strstr(text, part), "no '%s' in:\n%s", part, text)
#define LACKS(text, part) cr_assert(!strstr(text, part), "'%s' in:\n%s", part, text)

static void ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    cr_assert(length >= wanted && strcmp(text + length - wanted, end) == 0, "not the end '%s' of:\n%s", end, text);
}

static const char *sentence(const struct tb_matrix *matrix)
{
    static struct tb_matrix_verdict verdict;
    tb_matrix_verdict(matrix, &verdict);
    return verdict.sentence.text;
}

// Spreads a cell's samples, and with them its interval, by a share of its median.
static void spread(struct tb_matrix_cell *cell, double share)
{
    double value = cell->value.estimate;
    for (unsigned round = 0; round < cell->samples; round++)
        cell->sample[round] = value * (1 + share * (round % 2 ? -1 : 1) * (0.5 + round / (2.0 * cell->samples)));
    cr_assert_eq(tb_median_sign(cell->sample, cell->samples, 0.95, &cell->value), 0);
}

// --- the answer ----------------------------------------------------------------------------------------------------------------

Test(matrix_verdict, one_node_is_flat)
{
    double ratio;
    struct tb_matrix *matrix = matrix_fixture_one(&f);
    cr_assert_eq(tb_matrix_flat(matrix, &ratio), 1);
    CLOSE(ratio, 1, 0);
    cr_assert_str_eq(sentence(matrix), "flat: one node");
}

Test(matrix_verdict, names_the_far_node_and_by_how_much)
{
    double ratio;
    struct tb_matrix *matrix = matrix_fixture_two(&f);
    cr_assert_eq(tb_matrix_flat(matrix, &ratio), 0);
    CLOSE(ratio, 140.4 / 80.8, 0.005);
    HAS(sentence(matrix), " is 1.74 times as far from node ");
    HAS(sentence(matrix), " as its own memory [1.74, 1.74]; reading from it is 3.30 times as slow");
}

Test(matrix_verdict, memory_without_cpus_is_the_furthest)
{
    struct tb_matrix *matrix = matrix_fixture_cxl(&f);
    HAS(sentence(matrix), "node 2 is 4.08 times as far from node 1 as its own memory");
    HAS(sentence(matrix), "reading from it is 7.54 times as slow; it is the furthest of 4, and the nearest of them is 1.74 times");
}

Test(matrix_verdict, a_node_without_memory_is_compared_with_its_nearest)
{
    matrix_fixture_open(&f, 7);
    matrix_fixture_pair(&f, 3, 0, 120, 30e9);
    matrix_fixture_pair(&f, 3, 1, 180, 30e9);
    HAS(sentence(&f.matrix), "node 1 is 1.50 times as far from node 3 as its nearest memory, node 0");
    HAS(sentence(&f.matrix), "reading from it is as fast");
}

Test(matrix_verdict, within_five_percent_is_flat_however_sure_the_difference)
{
    struct tb_matrix *matrix = matrix_fixture_many(&f, 4, 4, 0.02);
    cr_assert_eq(tb_matrix_flat(matrix, NULL), 1);
    HAS(sentence(matrix), "flat: all 4 nodes within 5 %; the slowest pair is 1.02 times the fastest [1.02, 1.02]");
    cr_assert_eq(tb_matrix_flat(matrix_fixture_many(&f, 4, 4, 0.06), NULL), 0, "and six are not");
}

Test(matrix_verdict, a_flat_machine_of_which_a_part_was_measured_says_so)
{
    struct tb_matrix *matrix = matrix_fixture_many(&f, 4, 4, 0.02);
    matrix_fixture_refuse(&f.cells[0], TB_MATRIX_INVALID, "lost pages");
    HAS(sentence(matrix), "flat: the 15 pairs of nodes that were measured, of 16, are within 5 %");
}

Test(matrix_verdict, noise_that_could_be_all_is_not_an_answer)
{
    matrix_fixture_open(&f, 7);
    matrix_fixture_cell(&f, TB_MATRIX_LATENCY, 0, 0, 1, 100);
    spread(matrix_fixture_cell(&f, TB_MATRIX_LATENCY, 0, 1, 1, 110), 0.5);
    cr_assert_eq(tb_matrix_flat(&f.matrix, NULL), -1);
    HAS(sentence(&f.matrix), "cannot be told");
    HAS(sentence(&f.matrix), "more rounds would tell");
}

Test(matrix_verdict, few_rounds_have_no_interval_and_say_so)
{
    matrix_fixture_open(&f, 2);
    matrix_fixture_cell(&f, TB_MATRIX_LATENCY, 0, 0, 1, 100);
    matrix_fixture_cell(&f, TB_MATRIX_LATENCY, 0, 1, 1, 200);
    cr_assert_eq(tb_matrix_flat(&f.matrix, NULL), 0);
    HAS(sentence(&f.matrix), "2.00 times as far from node 0 as its own memory (too few rounds for an interval)");
}

Test(matrix_verdict, without_latencies_nothing_is_known)
{
    double ratio;
    struct tb_matrix *matrix = matrix_fixture_two(&f);
    for (size_t i = 0; i < matrix->cells_count; i++)
        if (f.cells[i].kind == TB_MATRIX_LATENCY)
            matrix_fixture_refuse(&f.cells[i], TB_MATRIX_INVALID, "lost pages");
    cr_assert_eq(tb_matrix_flat(matrix, &ratio), -1);
    cr_assert(isnan(ratio));
    HAS(sentence(matrix), "not known: no idle latency was measured");
}

Test(matrix_verdict, an_initiator_that_is_slower_than_another_is_no_far_node)
{
    matrix_fixture_open(&f, 7);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            matrix_fixture_cell(&f, TB_MATRIX_LATENCY, i, j, 1, i ? 120 : 100);
    HAS(sentence(&f.matrix), "no node is far, but loads take node 1 1.20 times as long as node 0 [1.20, 1.20]");
}

Test(matrix_verdict, emulated_is_no_timing)
{
    struct tb_matrix *matrix = matrix_fixture_emulate(matrix_fixture_two(&f));
    double ratio;
    cr_assert_str_eq(sentence(matrix), "emulated: no timing");
    cr_assert_eq(tb_matrix_flat(matrix, &ratio), -1);
    cr_assert(isnan(ratio));
}

Test(matrix_verdict, a_ratio_of_cells_that_lost_rounds_comes_from_both_intervals)
{
    struct tb_ratio ratio;
    matrix_fixture_open(&f, 9);
    struct tb_matrix_cell *under = matrix_fixture_cell(&f, TB_MATRIX_LATENCY, 0, 0, 1, 100);
    struct tb_matrix_cell *over = matrix_fixture_cell(&f, TB_MATRIX_LATENCY, 0, 1, 1, 150);
    over->samples = 8;
    cr_assert(tb_matrix_ratio(&f.matrix, over, under, &ratio));
    CLOSE(ratio.estimate, over->value.estimate / under->value.estimate, 1e-12);
    CLOSE(ratio.low, over->value.low / under->value.high, 1e-12);
    CLOSE(ratio.high, over->value.high / under->value.low, 1e-12);
}

// --- the page ------------------------------------------------------------------------------------------------------------------

Test(matrix_text, shows_values_ratios_and_intervals_and_the_answer_last)
{
    char *text = written(matrix_fixture_two(&f), TEXT, plain);
    HAS(text, "  node 0    80.8  1.00x       140  1.74x\n           [80.7, 80.9]     [140, 141]\n");
    HAS(text, "  node 1    34.3  3.30x       113  1.00x\n");
    HAS(text, "     0      1    16     34.3     20.6     27.4     30.9     29.1     24.0\n");
    HAS(text, "  from 0              -      3.31  1.00x\n");
    HAS(text, "\n  0 to 1     113  2.30x       113  2.30x\n");
    HAS(text, "7471104 of 7471104 pages verified on their nodes, bound, 2 MiB pages\n");
    ends_with(text, "; reading\n  from it is 3.30 times as slow\n");
    LACKS(text, "\033");
    LACKS(text, "measured:");
    free(text);
}

Test(matrix_text, names_the_caches_where_they_end)
{
    char *text = written(matrix_fixture_one(&f), TEXT, plain);
    const char *l1 = strstr(text, "  -- L1 48 KiB ends\n"), *l2 = strstr(text, "  -- L2 1 MiB ends\n");
    const char *l3 = strstr(text, "  -- L3 32 MiB ends\n");
    cr_assert(l1 && l2 && l3, "%s", text);
    cr_assert(strstr(text, "  32 KiB ") < l1 && l1 < strstr(text, " 128 KiB "));
    cr_assert(strstr(text, " 512 KiB ") < l2 && l2 < strstr(text, "   2 MiB "));
    cr_assert(strstr(text, "  32 MiB ") < l3 && l3 < strstr(text, "  64 MiB "), "a set that just fits is inside");
    ends_with(text, "flat: one node\n");
    free(text);
}

static void fits(const char *text, const char *what)
{
    size_t column = 0;
    for (const char *c = text; *c; c++) {
        cr_assert(*c == '\n' || (*c >= ' ' && *c < 127), "%s: not ASCII", what);
        cr_assert(!(*c == '\n' && c > text && c[-1] == ' '), "%s: a blank before the end of a line", what);
        column = *c == '\n' ? 0 : column + 1;
        cr_assert_leq(column, 80, "%s: a line of more than 80 columns, before:\n%.200s", what, c);
    }
}

Test(matrix_text, fits_eighty_columns_whatever_the_machine)
{
    struct {
        const char *what;
        char *text;
    } pages[] = {{"one node", written(matrix_fixture_one(&f), TEXT, plain)},
                 {"two", written(matrix_fixture_two(&f), TEXT, plain)},
                 {"CXL", written(matrix_fixture_cxl(&f), TEXT, plain)},
                 {"four, sparse", written(matrix_fixture_many(&f, 4, 4, 0.02), TEXT, plain)},
                 {"eight", written(matrix_fixture_many(&f, 0, 8, 1.1), TEXT, plain)},
                 {"sixteen, of four digits", written(matrix_fixture_many(&f, 1000, 16, 90), TEXT, plain)},
                 {"emulated", written(matrix_fixture_emulate(matrix_fixture_many(&f, 0, 8, 1)), TEXT, plain)}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        fits(pages[i].text, pages[i].what);
        free(pages[i].text);
    }
}

Test(matrix_text, many_nodes_come_in_blocks_and_none_is_left_out)
{
    char *text = written(matrix_fixture_many(&f, 0, 8, 1.1), TEXT, plain);
    HAS(text, "           memory 0     memory 1     memory 2     memory 3     memory 4\n");
    HAS(text, "           memory 5     memory 6     memory 7\n");
    HAS(text, "  node 0     179  1.79x   194  1.94x   210  2.10x\n");
    HAS(text, "  the widest interval is +-0.1 % of its median\n");
    HAS(text, "  and 48 rows more: --json, --csv\n");
    HAS(text, "  and 56 pairs of nodes more: --json, --csv\n");
    free(text);
}

Test(matrix_text, colour_only_when_asked_and_never_alone)
{
    char *text = written(matrix_fixture_two(&f), TEXT, coloured);
    HAS(text, "\033[48;5;209;38;5;16m  140  1.74x\033[0m");
    HAS(text, "\033[48;5;88;38;5;231m 34.3  3.30x\033[0m");
    HAS(text, "\033[48;5;230;38;5;16m 80.8  1.00x\033[0m");
    free(text);
}

Test(matrix_text, what_is_missing_stands_there_with_its_reason_once)
{
    struct tb_matrix *matrix = matrix_fixture_two(&f);
    size_t refused = 0;
    for (size_t i = 0; i < matrix->cells_count; i++) {
        if (f.cells[i].kind == TB_MATRIX_NT_WRITE || f.cells[i].kind == TB_MATRIX_COPY)
            matrix_fixture_refuse(&f.cells[i], TB_MATRIX_UNMEASURABLE, "this CPU has no such store");
        if (f.cells[i].kind == TB_MATRIX_LATENCY && refused++ == 1)
            matrix_fixture_refuse(&f.cells[i], TB_MATRIX_INVALID, "12 of 65536 pages are on node 0\033[31m");
    }
    char *text = written(matrix, TEXT, plain);
    HAS(text, "not measured:\n  copy (8 cells), nt-write (8 cells): this CPU has no such store\n");
    HAS(text, "INVALID, not used above:\n  latency 0->1: 12 of 65536 pages are on node 0?[31m\n");
    HAS(text, "  node 0    80.8  1.00x          INVALID\n");
    HAS(text, "     0      0    16      113     67.9        -      102     96.1        -\n");
    cr_assert(strstr(text, "this CPU") == strstr(strstr(text, "not measured"), "this CPU"));
    free(text);
}

Test(matrix_text, says_when_pages_were_not_where_they_should_be)
{
    struct tb_matrix *matrix = matrix_fixture_one(&f);
    f.cells[0].placement.pages_there = 65500;
    f.cells[1].placement.verified = false;
    f.cells[2].placement.granted = LOCUS_POLICY_FIRST_TOUCH;
    f.cells[3].placement.page_bytes = 4096;
    char *text = written(matrix, TEXT, plain);
    HAS(text, "2424796 of 2424832 pages verified on their nodes (and of 1 cells none could be");
    HAS(text, " under several policies (1 of 38 cells asked for another one), 2 MiB");
    HAS(text, " pages in 37 cells, 4 KiB pages in 1 cell\n");
    free(text);
}

Test(matrix_text, a_plan_says_what_would_be_measured)
{
    struct tb_matrix *matrix = matrix_fixture_one(&f);
    matrix->took_ns = 0;
    for (size_t i = 0; i < matrix->cells_count; i++)
        if (f.cells[i].state == TB_MATRIX_MEASURED)
            f.cells[i].state = TB_MATRIX_PLANNED;
    char *text = written(matrix, TEXT, plain);
    HAS(text, "  read              2  256 MiB  1 to 16 CPUs\n");
    HAS(text, "  working-set      14  8 KiB to 2 GiB\n");
    HAS(text, "cannot be measured:\n  migration 0->0: there is one node");
    LACKS(text, "80.8");
    LACKS(text, "flat");
    LACKS(text, "verified");
    free(text);
    json_t *root = json_of(matrix);
    cr_assert(json_is_null(json_object_get(root, "verdict")) && json_is_null(json_object_get(root, "took_ns")));
    json_decref(root);
}

// --- emulated ------------------------------------------------------------------------------------------------------------------

Test(matrix_emulated, the_page_has_pages_and_bytes_and_no_time)
{
    char *text = written(matrix_fixture_emulate(matrix_fixture_two(&f)), TEXT, coloured);
    cr_assert_eq(strncmp(text, "EMULATED (n2): ", 15), 0);
    HAS(text, "  latency           4         4       262144 of 262144             16384000\n");
    ends_with(text, "7471104 of 7471104 pages verified on their nodes, bound, 2 MiB pages\nemulated: no timing\n");
    static const char *const times[] = {"80.8", "140",  "34.3", "113 ", "x ",  "x\n", " ns",
                                        "GB/s", "12 s", "12.3", "flat", "far", "#"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        LACKS(text, times[i]);
    free(text);
}

Test(matrix_emulated, neither_json_nor_csv_has_a_time_a_ratio_or_a_rank)
{
    struct tb_matrix *matrix = matrix_fixture_emulate(matrix_fixture_two(&f));
    json_t *root = json_of(matrix), *verdict = json_object_get(root, "verdict"), *cell;
    size_t i;
    SAYS(root, "emulated", "n2");
    SAYS(verdict, "answer", "emulated: no timing");
    cr_assert(json_is_null(json_object_get(verdict, "flat")));
    cr_assert(json_is_null(json_object_get(verdict, "slowest_over_fastest")));
    cr_assert(json_is_null(json_object_get(root, "took_ns")));
    cr_assert_eq(json_array_size(json_object_get(root, "cells")), matrix->cells_count);
    json_array_foreach (json_object_get(root, "cells"), i, cell) {
        SAYS(cell, "state", "emulated");
        cr_assert(json_is_null(json_object_get(cell, "value")) && json_is_null(json_object_get(cell, "time_ns")));
        cr_assert(json_is_null(json_object_get(cell, "loaded_bytes_per_s")));
        cr_assert_eq(json_array_size(json_object_get(cell, "samples")), 0);
        CLOSE(number_at(json_object_get(cell, "placement"), "pages_there"), 65536, 0);
    }
    json_decref(root);
    char *csv = written(matrix, CSV, plain), *rest = NULL;
    size_t lines = 0;
    LACKS(csv, "987654321");
    for (char *line = strtok_r(csv, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++)
        if (lines > 0)
            HAS(line, ",emulated,,,,,4096000,4096000,,bind,bind,");
    cr_assert_eq(lines, matrix->cells_count + 1);
    free(csv);
}

Test(matrix_emulated, a_cell_that_claims_to_be_measured_is_not_believed)
{
    struct tb_matrix *matrix = matrix_fixture_two(&f);
    matrix->emulated = "n2";
    json_t *root = json_of(matrix), *cell = json_array_get(json_object_get(root, "cells"), 0);
    cr_assert(json_is_null(json_object_get(cell, "value")));
    cr_assert_eq(json_array_size(json_object_get(cell, "samples")), 0);
    json_decref(root);
    char *csv = written(matrix, CSV, plain), *text = written(matrix, TEXT, plain);
    HAS(csv, "\nlatency,ns,0,0,,1,,268435456,,measured,,,,,4096000,4096000,,bind,");
    LACKS(text, "80.8");
    free(csv);
    free(text);
}

// --- JSON and CSV --------------------------------------------------------------------------------------------------------------

Test(matrix_json, has_every_cell_sample_and_setting)
{
    struct tb_matrix *matrix = matrix_fixture_one(&f);
    json_t *root = json_of(matrix), *cells = json_object_get(root, "cells"), *cell = json_array_get(cells, 0);
    cr_assert_eq(json_array_size(cells), matrix->cells_count);
    SAYS(cell, "kind", "latency");
    SAYS(cell, "unit", "ns");
    CLOSE(number_at(json_object_get(cell, "value"), "median"), f.cells[0].value.estimate, 0);
    CLOSE(number_at(json_object_get(cell, "value"), "high"), f.cells[0].value.high, 0);
    cr_assert_eq(json_array_size(json_object_get(cell, "samples")), 7);
    for (size_t i = 0; i < 7; i++)
        CLOSE(json_number_value(json_array_get(json_object_get(cell, "samples"), i)), f.cells[0].sample[i], 0);
    SAYS(json_object_get(cell, "placement"), "granted", "bind");
    CLOSE(number_at(json_object_get(root, "config"), "seed"), 41, 0);
    cr_assert_eq(json_array_size(json_object_get(json_object_get(root, "config"), "kinds")), TB_MATRIX_KINDS);
    CLOSE(json_number_value(json_array_get(json_object_get(json_object_get(root, "caches"), "level_bytes"), 2)), 33554432, 0);
    SAYS(json_object_get(root, "verdict"), "answer", "flat");
    cell = json_array_get(cells, matrix->cells_count - 1);
    SAYS(cell, "state", "unmeasurable");
    WHY_HAS(cell, "nowhere to go");
    cr_assert(json_is_null(json_object_get(cell, "value")) && json_is_null(json_object_get(cell, "bytes_moved")));
    json_decref(root);
}

Test(matrix_json, an_invalid_cell_keeps_its_samples_and_has_no_median)
{
    struct tb_matrix *matrix = matrix_fixture_two(&f);
    matrix_fixture_refuse(&f.cells[0], TB_MATRIX_INVALID, "bytes");
    json_t *root = json_of(matrix), *cell = json_array_get(json_object_get(root, "cells"), 0);
    cr_assert(json_is_null(json_object_get(cell, "value")));
    cr_assert_eq(json_array_size(json_object_get(cell, "samples")), 7);
    json_decref(root);
}

Test(matrix_json, says_by_how_much_nodes_differ)
{
    json_t *root = json_of(matrix_fixture_two(&f)), *verdict = json_object_get(root, "verdict");
    SAYS(verdict, "answer", "differs");
    cr_assert(json_is_false(json_object_get(verdict, "flat")));
    CLOSE(number_at(json_object_get(verdict, "slowest_over_fastest"), "estimate"), 140.4 / 80.8, 0.005);
    json_decref(root);
}

// Fields of a line, by RFC 4180.
static size_t fields(const char *line)
{
    size_t count = 1;
    bool quoted = false;
    for (; *line && (*line != '\n' || quoted); line++) {
        quoted ^= *line == '"';
        count += *line == ',' && !quoted;
    }
    return count;
}

Test(matrix_csv, has_a_line_for_each_sample_and_for_what_has_none)
{
    struct tb_matrix *matrix = matrix_fixture_one(&f);
    char first[128];
    size_t measured = matrix->cells_count - 1, lines = 0;
    snprintf(f.cells[measured].why, TB_MATRIX_WHY, "one node, \"alone\"");
    char *csv = written(matrix, CSV, plain);
    for (const char *line = csv; *line; line = strchr(line, '\n') + 1, lines++)
        cr_assert_eq(fields(line), 25, "line %zu has %zu fields", lines, fields(line));
    cr_assert_eq(lines, 1 + 7 * measured + 1);
    snprintf(first, sizeof first, "\nlatency,ns,0,0,,1,,268435456,,measured,,1,%.17g,,", f.cells[0].sample[0]);
    HAS(csv, first);
    HAS(csv, ",unmeasurable,\"one node, \"\"alone\"\"\",,,,,,,,,,,,,,41\n");
    free(csv);
}

Test(matrix_names, every_kind_has_one_and_no_two_the_same)
{
    for (int a = 0; a < TB_MATRIX_KINDS; a++) {
        cr_assert_str_neq(tb_matrix_kind_name((enum tb_matrix_kind)a), "unknown");
        cr_assert(strcmp(tb_matrix_kind_unit((enum tb_matrix_kind)a), "ns") == 0 ||
                  strcmp(tb_matrix_kind_unit((enum tb_matrix_kind)a), "bytes/s") == 0);
        for (int b = 0; b < a; b++)
            cr_assert_str_neq(tb_matrix_kind_name((enum tb_matrix_kind)a), tb_matrix_kind_name((enum tb_matrix_kind)b));
    }
    cr_assert_str_eq(tb_matrix_kind_name(TB_MATRIX_KINDS), "unknown");
}

Test(matrix_text, a_full_disk_is_an_error_in_every_form)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        cr_skip_test("needs /dev/full");
    struct tb_matrix *matrix = matrix_fixture_one(&f);
    cr_assert_eq(tb_matrix_text(full, matrix, NULL, plain), -ENOSPC);
    cr_assert_eq(tb_matrix_json(full, NULL, matrix, NULL, "matrix"), -ENOSPC);
    cr_assert_eq(tb_matrix_csv(full, matrix), -ENOSPC);
    fclose(full);
}
