// SPDX-License-Identifier: Apache-2.0
//
// One document in each form: what programs get as it is, what people get rounded, aligned and escaped.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/doc/emit.h"

static struct tb_doc *doc;
static char *bytes;
static size_t count;
static FILE *stream;

static void begin(void)
{
    doc = tb_doc_open(json_pack("{s:s}", "schema", "locus-test/1"));
    stream = open_memstream(&bytes, &count);
}

static void end(void)
{
    tb_doc_close(doc);
    fclose(stream);
    free(bytes);
}

TestSuite(doc, .init = begin, .fini = end);

static const struct tb_report_style plain = {.columns = 80};

static void example(void)
{
    static const struct tb_column columns[] = {
        {"arm", "arm", TB_AS_IS, false},
        {"time", "median", TB_AS_TIME, false},
        {"ratio", "times faster\nthan glibc", TB_AS_RATIO, true},
        {"peak", NULL, TB_AS_IS, false},
        {NULL, NULL, TB_AS_IS, false},
    };
    static const struct tb_ratio ratio = {.estimate = 1.6812, .low = 1.6401, .high = 1.7099, .confidence = 0.95, .bounded = true};
    tb_doc_heading(doc, 1, NULL, "A test");
    tb_doc_answer(doc, "answer", "locus is %s.", "ahead");
    struct tb_table *table = tb_doc_table(doc, "rows", "of 20 rounds", columns);
    tb_table_row(table, TB_ROW_OURS);
    tb_table_put(table, tb_text_value("locus"));
    tb_table_put(table, tb_number(219000));
    tb_table_put(table, tb_interval(&ratio));
    tb_table_put(table, tb_count(1043));
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value("a,\"b\"|<c>\x1b"));
    tb_table_put(table, tb_number(1630000));
    tb_table_put(table, tb_none("noisy"));
    tb_table_note(table, "a note");
    tb_doc_heading(doc, 2, "machine", "Machine");
    tb_doc_fact(doc, "cpus", "CPUs", TB_AS_IS, tb_count(2));
    tb_doc_fact(doc, "memory_bytes", "memory", TB_AS_BYTES, tb_count(UINT64_C(3) << 30));
}

Test(doc, text_is_aligned_rounded_and_clean)
{
    example();
    cr_assert_eq(tb_emit_text(stream, doc, plain), 0);
    cr_assert_str_eq(bytes, "A test\n"
                            "locus is ahead.\n"
                            "\n"
                            "of 20 rounds\n"
                            "                         times faster\n"
                            "  arm         median us  than glibc\n"
                            "> locus             219  1.68 [1.64, 1.71]\n"
                            "  a,\"b\"|<c>?       1630  noisy\n"
                            "  a note\n"
                            "\n"
                            "Machine\n"
                            "CPUs    2\n"
                            "memory  3.0 GiB\n");
}

Test(doc, json_has_the_values_by_their_keys)
{
    example();
    json_t *json = tb_doc_as_json(doc);
    cr_expect_str_eq(tb_member_text(json, "head.schema"), "locus-test/1");
    cr_expect_str_eq(tb_member_text(json, "answer"), "locus is ahead.");
    cr_expect_eq(tb_member_number(json, "machine.memory_bytes"), 0x3p30);
    const json_t *rows = tb_member(json, "rows"), *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
    cr_expect_eq(json_array_size(rows), 2);
    cr_expect_eq(tb_member_number(first, "time"), 219000);
    cr_expect_eq(tb_member_number(first, "ratio.low"), 1.6401);
    cr_expect_eq(tb_member_number(first, "ratio.confidence"), 0.95);
    cr_expect_eq(tb_member_number(first, "peak"), 1043);
    cr_expect(json_is_null(tb_member(second, "ratio")) && json_is_null(tb_member(second, "peak")));
    json_decref(json);
}

Test(doc, paragraphs_and_tables_of_one_key_are_an_array)
{
    static const struct tb_column columns[] = {{"n", "n", TB_AS_IS, false}, {NULL, NULL, TB_AS_IS, false}};
    tb_doc_say(doc, "notes", "one");
    tb_doc_say(doc, "notes", "two");
    tb_doc_say(doc, "notes", "three");
    for (unsigned i = 0; i < 2; i++) {
        struct tb_table *table = tb_doc_table(doc, "cells", NULL, columns);
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_count(i));
    }
    json_t *json = tb_doc_as_json(doc);
    cr_expect_eq(json_array_size(tb_member(json, "notes")), 3);
    cr_expect_eq(json_array_size(tb_member(json, "cells")), 2);
    json_decref(json);
}

Test(doc, csv_is_one_table_with_an_interval_in_three_columns)
{
    example();
    cr_assert_eq(tb_emit_csv(stream, doc, NULL), 0);
    cr_assert_str_eq(bytes, "arm,time,ratio,ratio_low,ratio_high,peak\n"
                            "locus,219000,1.6812,1.6401,1.7099,1043\n"
                            "\"a,\"\"b\"\"|<c>?\",1630000,,,,\n");
    cr_expect_eq(tb_emit_csv(stream, doc, "nothing"), -ENOENT);
}

Test(doc, csv_of_a_table_for_people_has_its_titles)
{
    static const struct tb_column columns[] = {{.title = "strategy"}, {.title = "in use\n"}, {.title = "thrown\nout"}, {0}};
    tb_doc_close(doc);
    doc = tb_doc_open(NULL);
    tb_doc_json(doc, "cells", json_array());
    struct tb_table *table = tb_doc_table(doc, NULL, "a trace", columns);
    tb_table_add(table, TB_ROW_OURS, tb_text_value("paged"), tb_number(0.0224), tb_count(7));
    cr_assert_eq(tb_emit_csv(stream, doc, NULL), 0);
    cr_assert_str_eq(bytes, "strategy,in_use,thrown_out\npaged,0.0224,7\n");
}

Test(doc, markdown_escapes_what_would_be_markup)
{
    example();
    cr_assert_eq(tb_emit_markdown(stream, doc), 0);
    cr_expect_not_null(strstr(bytes, "| a,\"b\"\\|\\<c\\>? | 1630 | noisy |\n"), "%s", bytes);
    cr_expect_not_null(strstr(bytes, "| **locus** | 219 | 1.68 [1.64, 1.71] |\n"), "%s", bytes);
}

Test(doc, a_wide_text_gives_way_and_figures_do_not)
{
    static const struct tb_column columns[] = {{"a", "a", TB_AS_IS, false},
                                               {"b", "b", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "rows", NULL, columns);
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value("a-name-that-is-much-longer-than-the-line-has-room-for-by-far-and-more-than-that"));
    tb_table_put(table, tb_count(1234567));
    cr_assert_eq(tb_emit_text(stream, doc, (struct tb_report_style){.columns = 40}), 0);
    const char *last = NULL;
    int lines = 0;
    for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        cr_expect_leq(strlen(line), 40, "%s", line);
        last = line;
    }
    cr_expect_leq(lines, 2);
    cr_expect_not_null(last);
    cr_expect_str_eq(last + strlen(last) - 9, "  1234567");
}

Test(doc, an_unbounded_interval_says_so_and_is_null_for_programs)
{
    tb_doc_fact(doc, "ratio", "ratio", TB_AS_RATIO, tb_interval_of(1.5, -INFINITY, INFINITY, 0.95));
    cr_assert_eq(tb_emit_text(stream, doc, plain), 0);
    cr_expect_str_eq(bytes, "ratio  1.50 [unbounded]\n");
    json_t *json = tb_doc_as_json(doc);
    cr_expect(json_is_null(tb_member(json, "ratio.low")));
    json_decref(json);
}

Test(doc, a_list_goes_on_in_the_next_line_of_its_column)
{
    static const struct tb_column columns[] = {{"cpus", "CPUs", TB_AS_IS, false},
                                               {"kind", "kind", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "nodes", NULL, columns);
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_ids("0-3,8,16-19,24-27"));
    tb_table_put(table, tb_text_value("DRAM"));
    cr_assert_eq(tb_emit_text(stream, doc, (struct tb_report_style){.columns = 18}), 0);
    cr_expect_str_eq(bytes, "CPUs          kind\n"
                            "0-3,8,16-19,  DRAM\n"
                            "24-27\n");
    json_t *json = tb_doc_as_json(doc);
    const json_t *cpus = tb_member(json_array_get(tb_member(json, "nodes"), 0), "cpus");
    cr_expect_eq(json_array_size(cpus), 13);
    cr_expect_eq(json_integer_value(json_array_get(cpus, 4)), 8);
    cr_expect_eq(json_integer_value(json_array_get(cpus, 12)), 27);
    json_decref(json);
}

static void heat_map(unsigned columns)
{
    struct tb_table *table = tb_doc_table(doc, NULL, "Latency", NULL);
    tb_table_column(table, (struct tb_column){.title = "node"});
    for (unsigned c = 0; c < columns; c++)
        tb_table_column(table, (struct tb_column){.title = "memory", .unit = TB_AS_TIME});
    tb_table_heat(table, true);
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_count(7));
    for (unsigned c = 0; c < columns; c++)
        tb_table_put(table, c == 1 ? tb_none("INVALID") : tb_interval_of(100 + 50 * c, 90, 300, 0.95));
}

Test(doc, a_heat_map_says_how_far_a_figure_is_from_the_best)
{
    heat_map(3);
    cr_assert_eq(tb_emit_text(stream, doc, plain), 0);
    cr_expect_str_eq(bytes, "Latency, ns\n"
                            "node  memory                memory   memory\n"
                            "   7  100  1.00x [90, 300]  INVALID  200  2.00x [90, 300]\n");
    rewind(stream);
    cr_assert_eq(tb_emit_text(stream, doc, (struct tb_report_style){true, 80}), 0);
    cr_expect_not_null(strstr(bytes, "\033[48;5;160;38;5;231m200  2.00x\033[0m"), "%s", bytes);
}

Test(doc, a_table_too_wide_for_the_line_comes_in_blocks_and_a_heat_map_without_intervals)
{
    heat_map(5);
    cr_assert_eq(tb_emit_text(stream, doc, (struct tb_report_style){.columns = 45}), 0);
    cr_expect_str_eq(bytes, "Latency, ns\n"
                            "node      memory  memory       memory\n"
                            "   7  100  1.00x  INVALID  200  2.00x\n"
                            "node      memory      memory\n"
                            "   7  250  2.50x  300  3.00x\n");
}

// The host is the same in all rows, and the figures tell nothing.
Test(doc, each_block_of_a_wide_table_begins_with_what_tells_its_rows_apart)
{
    tb_doc_close(doc);
    doc = tb_doc_open(NULL);
    struct tb_table *table = tb_doc_grid(doc, NULL, NULL, "=host|=run|=seconds|=what it was about|=verdict");
    for (uint64_t run = 1; run <= 2; run++)
        tb_table_add(table, TB_ROW_PLAIN, tb_text_value("milan"), tb_text_value(run == 1 ? "aaaaaa" : "bbbbbb"), tb_count(9),
                     tb_text_value("a long story"), tb_text_value(run == 1 ? "survived" : "falsified"));
    cr_assert_eq(tb_emit_text(stream, doc, (struct tb_report_style){.columns = 41}), 0);
    cr_expect_str_eq(bytes, "host   run     seconds  what it was about\n"
                            "milan  aaaaaa        9  a long story\n"
                            "milan  bbbbbb        9  a long story\n"
                            "host   run     verdict\n"
                            "milan  aaaaaa  survived\n"
                            "milan  bbbbbb  falsified\n");
}

Test(doc, members_of_members_and_a_line_for_each_sample)
{
    static const double samples[] = {1.5, 2.5};
    static const struct tb_column columns[] = {{"name", NULL, TB_AS_IS, false},
                                               {"samples", NULL, TB_AS_IS, false},
                                               {"pages.all", NULL, TB_AS_IS, false},
                                               {"pages.there", NULL, TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "rows", NULL, columns);
    for (unsigned i = 0; i < 2; i++) {
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(i ? "b" : "a"));
        tb_table_put(table, tb_samples(samples, i ? 0 : 2));
        tb_table_put(table, i ? tb_none(NULL) : tb_count(8));
    }
    cr_assert_eq(tb_emit_csv(stream, doc, "rows"), 0);
    cr_expect_str_eq(bytes, "name,samples_nth,samples,pages.all,pages.there\n"
                            "a,1,1.5,8,\n"
                            "a,2,2.5,8,\n"
                            "b,,,,\n");
    json_t *json = tb_doc_as_json(doc), *rows = json_object_get(json, "rows");
    cr_expect_eq(tb_member_number(json_array_get(rows, 0), "pages.all"), 8);
    cr_expect(json_is_null(tb_member(json_array_get(rows, 0), "pages.there")));
    cr_expect(json_is_null(json_object_get(json_array_get(rows, 1), "pages")));
    cr_expect_eq(json_array_size(json_object_get(json_array_get(rows, 1), "samples")), 0);
    json_decref(json);
    rewind(stream);
    cr_assert_eq(tb_emit_text(stream, doc, plain), 0);
    fflush(stream);
    cr_expect_eq(ftell(stream), 0, "a table for programs is not shown");
}

Test(doc, a_full_disk_is_an_error)
{
    FILE *full = fopen("/dev/full", "w");
    example();
    cr_expect_eq(tb_emit_text(full, doc, plain), -ENOSPC);
    cr_expect_eq(tb_emit_json(full, doc), -ENOSPC);
    cr_expect_eq(tb_emit_csv(full, doc, NULL), -ENOSPC);
    cr_expect_eq(tb_emit_markdown(full, doc), -ENOSPC);
    fclose(full);
}

// Each kind of argument, so that those behind a figure that is none are still the right ones.
Test(doc, a_figure_that_is_none_is_a_dash_in_sentences_and_notes)
{
    static const struct tb_column columns[] = {{"a", "a", TB_AS_IS, false}, {NULL, NULL, TB_AS_IS, false}};
    double none = NAN, much = INFINITY;
    tb_doc_say(doc, "said", "%.3f of %s, %5.1f%% [%g, %+.2e] %d %u %zu %llu %ld %c%.2s|%-4d|%*d|%.*s", none, "nan", 12.345, much,
               -much, -3, 4u, (size_t)5, 6ULL, -7L, 'c', "text", 8, 4, 9, 2, "text");
    struct tb_table *table = tb_doc_table(doc, "rows", "t", columns);
    tb_table_add(table, TB_ROW_PLAIN, tb_number(much));
    tb_table_note(table, "It takes %.2f times as long, and %.0f.", none, 17.0);
    cr_assert_eq(tb_emit_text(stream, doc, plain), 0);
    fflush(stream);
    cr_expect(strstr(bytes, "- of nan, 12.3% [-, -] -3 4 5 6 -7 cte|8 | 9|te"), "%s", bytes);
    cr_expect(strstr(bytes, "It takes - times as long, and 17."), "%s", bytes);
}
