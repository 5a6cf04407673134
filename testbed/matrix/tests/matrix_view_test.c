// SPDX-License-Identifier: Apache-2.0
//
// matrix_view: the page, the JSON and the CSV of matrices whose figures are known, and that an emulated one shows none of them.
// Pages are compared with files (golden/), values are read from the JSON.
#include <errno.h>
#include <math.h>

#include "testbed/base/tests/golden.h"
#include "testbed/base/tests/json_says.h"
#include "testbed/doc/emit.h"
#include "testbed/matrix/tests/matrix_machines.h"
#include "testbed/matrix/view/view.h"

#define GOLDEN(name) "testbed/matrix/tests/golden/" name ".txt"

static struct matrix_fixture f;
static const struct tb_report_style plain = {false, 80}, coloured = {true, 80};
enum form { TEXT, CSV, SVG };

// What a view writes; the test frees it.
static char *written(const struct tb_matrix *matrix, enum form form, struct tb_report_style style)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    struct tb_doc *doc = tb_matrix_doc(NULL, matrix, NULL, NULL);
    cr_assert(stream && doc);
    cr_assert_eq(form == TEXT  ? tb_emit_text(stream, doc, style)
                 : form == CSV ? tb_emit_csv(stream, doc, "cells")
                               : tb_emit_svg(stream, doc),
                 0);
    fclose(stream);
    tb_doc_close(doc);
    return text;
}

static json_t *json_of(const struct tb_matrix *matrix)
{
    struct tb_doc *doc = tb_matrix_doc(NULL, matrix, NULL, NULL);
    json_t *root = tb_doc_as_json(doc);
    cr_assert(root);
    tb_doc_close(doc);
    return root;
}

static void page_is(const char *path, const struct tb_matrix *matrix)
{
    char *text = written(matrix, TEXT, plain);
    golden(path, text);
    free(text);
}

#define HAS(text, part) cr_assert(strstr(text, part), "no '%s' in:\n%s", part, text)
#define LACKS(text, part) cr_assert(!strstr(text, part), "'%s' in:\n%s", part, text)

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

static struct tb_matrix *without_memory(void)
{
    matrix_fixture_open(&f, 7);
    matrix_fixture_pair(&f, 3, 0, 120, 30e9);
    matrix_fixture_pair(&f, 3, 1, 180, 30e9);
    return &f.matrix;
}

static struct tb_matrix *part_measured(void)
{
    matrix_fixture_many(&f, 4, 4, 0.02);
    matrix_fixture_refuse(&f.cells[0], TB_MATRIX_INVALID, "lost pages");
    return &f.matrix;
}

static struct tb_matrix *two_latencies(unsigned rounds, double far_ns, double noise)
{
    matrix_fixture_open(&f, rounds);
    matrix_fixture_cell(&f, TB_MATRIX_LATENCY, 0, 0, 1, 100);
    struct tb_matrix_cell *far = matrix_fixture_cell(&f, TB_MATRIX_LATENCY, 0, 1, 1, far_ns);
    if (noise > 0)
        spread(far, noise);
    return &f.matrix;
}

static struct tb_matrix *without_latencies(void)
{
    struct tb_matrix *matrix = matrix_fixture_two(&f);
    for (size_t i = 0; i < matrix->cells_count; i++)
        if (f.cells[i].kind == TB_MATRIX_LATENCY)
            matrix_fixture_refuse(&f.cells[i], TB_MATRIX_INVALID, "lost pages");
    return matrix;
}

static struct tb_matrix *slow_initiator(void)
{
    matrix_fixture_open(&f, 7);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            matrix_fixture_cell(&f, TB_MATRIX_LATENCY, i, j, 1, i ? 120 : 100);
    return &f.matrix;
}

static struct tb_matrix *verdict_machine(unsigned which)
{
    switch (which) {
    case 0: return matrix_fixture_one(&f);
    case 1: return matrix_fixture_two(&f);
    case 2: return matrix_fixture_cxl(&f); // memory without CPUs is the furthest
    case 3: return without_memory();       // a node without memory is compared with its nearest
    case 4: return matrix_fixture_many(&f, 4, 4, 0.02); // within five percent is flat however sure the difference
    case 5: return matrix_fixture_many(&f, 4, 4, 0.06); // and six are not
    case 6: return part_measured();
    case 7: return two_latencies(7, 110, 0.5); // noise that could be all is not an answer
    case 8: return two_latencies(2, 200, 0);   // few rounds have no interval
    case 9: return without_latencies();
    case 10: return slow_initiator();
    default: return matrix_fixture_emulate(matrix_fixture_two(&f));
    }
}

Test(matrix_verdict, follows_from_the_latencies)
{
    static const struct {
        const char *answer;
        double ratio;
        int flat;
    } wanted[] = {{"flat", 1, 1},    {"differs", 1.7376, 0}, {"differs", 4.084, 0}, {"differs", 1.5, 0},
                  {"flat", 1.02, 1}, {"differs", 1.06, 0},   {"flat", 1.02, 1},     {"cannot be told", NAN, -1},
                  {"differs", 2, 0}, {"not known", NAN, -1}, {"differs", 1.2, 0},   {"emulated: no timing", NAN, -1}};
    char sentences[8192] = "";
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct tb_matrix *matrix = verdict_machine(i);
        size_t used = strlen(sentences);
        json_t *root = json_of(matrix), *verdict = json_object_get(root, "verdict");
        if (isfinite(wanted[i].ratio))
            CLOSE(number_at(json_object_get(verdict, "slowest_over_fastest"), "estimate"), wanted[i].ratio, 0.005);
        SAYS(verdict, "answer", wanted[i].answer);
        SAYS(verdict, "sentence", sentence(matrix));
        cr_assert_eq(json_is_boolean(json_object_get(verdict, "flat")), wanted[i].flat >= 0);
        cr_assert_eq(json_is_true(json_object_get(verdict, "flat")), wanted[i].flat == 1);
        json_decref(root);
        snprintf(sentences + used, sizeof sentences - used, "%s\n", sentence(matrix));
    }
    golden(GOLDEN("verdicts"), sentences);
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

Test(matrix_text, one_node_has_its_figures_in_lines_and_the_caches_where_they_end)
{
    page_is(GOLDEN("one"), matrix_fixture_one(&f));
}

Test(matrix_text, two_nodes_have_tables_with_intervals)
{
    page_is(GOLDEN("two"), matrix_fixture_two(&f));
}

Test(matrix_text, many_nodes_come_in_blocks_and_none_is_left_out)
{
    page_is(GOLDEN("eight"), matrix_fixture_many(&f, 0, 8, 1.1));
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

Test(matrix_text, a_coloured_page_has_the_same_words)
{
    char *text = written(matrix_fixture_two(&f), TEXT, plain), *colours = written(matrix_fixture_two(&f), TEXT, coloured),
         *to = colours;
    cr_assert(strchr(colours, '\033') && !strchr(text, '\033'));
    for (const char *from = colours; *from;) {
        from += *from == '\033' ? strcspn(from, "m") + 1 : 0;
        if (*from && *from != '\033')
            *to++ = *from++;
    }
    *to = '\0';
    cr_assert_str_eq(colours, text);
    free(text);
    free(colours);
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
    page_is(GOLDEN("missing"), matrix);
}

Test(matrix_text, says_when_pages_were_not_where_they_should_be)
{
    struct tb_matrix *matrix = matrix_fixture_one(&f);
    f.cells[0].placement.pages_there = 65500;
    f.cells[1].placement.verified = false;
    f.cells[2].placement.granted = LOCUS_POLICY_FIRST_TOUCH;
    f.cells[3].placement.page_bytes = 4096;
    page_is(GOLDEN("misplaced"), matrix);
    json_t *root = json_of(matrix), *placement = json_object_get(root, "placement");
    CLOSE(number_at(placement, "pages") - number_at(placement, "pages_there"), 36, 0);
    CLOSE(number_at(placement, "cells") - number_at(placement, "cells_verified"), 1, 0);
    CLOSE(number_at(placement, "cells_of_another_policy"), 1, 0);
    json_decref(root);
}

Test(matrix_text, a_plan_says_what_would_be_measured)
{
    struct tb_matrix *matrix = matrix_fixture_one(&f);
    matrix->took_ns = 0;
    for (size_t i = 0; i < matrix->cells_count; i++)
        if (f.cells[i].state == TB_MATRIX_MEASURED)
            f.cells[i].state = TB_MATRIX_PLANNED;
    page_is(GOLDEN("plan"), matrix);
    json_t *root = json_of(matrix);
    cr_assert(json_is_null(json_object_get(root, "verdict")) && json_is_null(json_object_get(root, "took_ns")));
    json_decref(root);
}

Test(matrix_svg, maps_and_curves_are_drawn)
{
    char *svg = written(matrix_fixture_two(&f), SVG, plain);
    HAS(svg, "Idle latency of a load");
    HAS(svg, "class=\"tile\"");
    HAS(svg, "data-line=\"node 0 on memory 1\"");
    HAS(svg, "L2 1 MiB ends");
    free(svg);
}

// --- emulated ------------------------------------------------------------------------------------------------------------------

Test(matrix_emulated, the_page_has_pages_and_bytes_and_no_time)
{
    char *text = written(matrix_fixture_emulate(matrix_fixture_two(&f)), TEXT, coloured);
    page_is(GOLDEN("emulated"), &f.matrix);
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
            HAS(line, ",emulated,,,,,,,,,4096000,4096000,,bind,bind,");
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
    HAS(csv, "\nlatency,ns,0,0,,1,,268435456,,measured,,,,,,,,,4096000,4096000,,bind,");
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
    static const char first[] = "\nlatency,ns,0,0,,1,,268435456,,measured,,1,";
    double sample = 0, median = 0;
    size_t measured = matrix->cells_count - 1, lines = 0;
    snprintf(f.cells[measured].why, TB_MATRIX_WHY, "one node, \"alone\"");
    char *csv = written(matrix, CSV, plain);
    for (const char *line = csv; *line; line = strchr(line, '\n') + 1, lines++)
        cr_assert_eq(fields(line), 28, "line %zu has %zu fields", lines, fields(line));
    cr_assert_eq(lines, 1 + 7 * measured + 1);
    HAS(csv, first);
    cr_expect_eq(sscanf(strstr(csv, first) + strlen(first), "%lf,%lf,", &sample, &median), 2);
    cr_expect(sample == f.cells[0].sample[0] && median == f.cells[0].value.estimate, "nothing is rounded");
    HAS(csv, ",unmeasurable,\"one node, \"\"alone\"\"\",,,,,,,,,,,,,,,,,\n");
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
}
