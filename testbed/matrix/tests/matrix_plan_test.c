// SPDX-License-Identifier: Apache-2.0
//
// matrix plan: which cells follow from the shape of machines that nobody here owns, how many threads, and how much memory.
#include "testbed/matrix/matrix.h"

#include "topo/tests/tree.h"
#include "topo/topo.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

// 48 KiB, 1 MiB, 32 MiB, of which the package has two.
static const struct tb_matrix_caches caches = {.bytes = {48 << 10, 1 << 20, 32 << 20}, .last_bytes = 64 << 20};

static struct locus_topo *topo;
static struct tb_matrix matrix;
static char text[4096];

// Sources that lie beside a test are found from where it was compiled.
static const char *fixture(const char *folder, const char *name)
{
    static char path[512];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s/%s/%s", (int)(slash - __FILE__), __FILE__, folder, name);
    return path;
}

static void plan_kinds(const char *source, bool full, int first, int last)
{
    struct tb_matrix_config config = {.full = full, .seed = 1};
    char why[256] = "";
    for (int kind = first; kind <= last; kind++)
        config.kinds[kind] = true;
    cr_assert_eq(locus_topo_open(&topo, source, why, sizeof why), 0, "%s", why);
    cr_assert_eq(tb_matrix_plan(&matrix, topo, &caches, &config), 0);
}

static void end(void)
{
    tb_matrix_close(&matrix);
    locus_topo_close(topo);
}

// "0>1 x4" for each cell: initiator, memory, "->target" and threads where there are some. A cell that cannot be asked has a "-".
static const char *cells_of(enum tb_matrix_kind kind)
{
    char *at = text;
    text[0] = 0;
    for (size_t i = 0; i < matrix.cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix.cells[i];
        if (cell->kind != kind)
            continue;
        at += sprintf(at, "%s%d>%d", at == text ? "" : " ", cell->initiator, cell->memory);
        if (cell->target >= 0)
            at += sprintf(at, "->%d", cell->target);
        if (cell->threads > 1)
            at += sprintf(at, "x%u", cell->threads);
        cr_assert_eq(cell->state == TB_MATRIX_PLANNED, cell->bytes_planned > 0);
        cr_assert_eq(cell->state == TB_MATRIX_UNMEASURABLE, cell->why[0] != 0);
        if (cell->state == TB_MATRIX_UNMEASURABLE)
            at += sprintf(at, "-");
    }
    return text;
}

static const struct tb_matrix_cell *cell_at(enum tb_matrix_kind kind, size_t index)
{
    for (size_t i = 0; i < matrix.cells_count; i++)
        if (matrix.cells[i].kind == kind && index-- == 0)
            return &matrix.cells[i];
    cr_assert_fail("no such cell");
    return NULL;
}

static void expect(enum tb_matrix_kind kind, const char *cells)
{
    cr_assert_str_eq(cells_of(kind), cells, "kind %d: \"%s\", expected \"%s\"", kind, text, cells);
}

Test(matrix_plan, asks_two_sockets_about_every_pair)
{
    plan_kinds("pack:2 [numa(memory=64GB)] core:6 pu:2", true, 0, TB_MATRIX_KINDS - 1);
    expect(TB_MATRIX_LATENCY, "0>0 0>1 1>0 1>1");
    expect(TB_MATRIX_READ, "0>0 0>0x2 0>0x4 0>0x8 0>0x12 0>1 0>1x2 0>1x4 0>1x8 0>1x12 "
                           "1>0 1>0x2 1>0x4 1>0x8 1>0x12 1>1 1>1x2 1>1x4 1>1x8 1>1x12");
    expect(TB_MATRIX_MIGRATION, "0>0->1 1>1->0");
    expect(TB_MATRIX_LINE, "0>0->0x2 0>0->1x2 0>1->0x2 0>1->1x2 1>0->1x2 1>1->1x2");
    expect(TB_MATRIX_PUSH, "0>0 0>1 1>0 1>1");
    expect(TB_MATRIX_DRAIN, "0>0 0>1 1>0 1>1");
    cr_assert_eq(matrix.config.rounds, 9);
    cr_assert_null(matrix.emulated, "a description is no guest");
    end();
}

Test(matrix_plan, is_short_when_asked_for_little)
{
    plan_kinds("pack:2 [numa(memory=64GB)] core:6 pu:2", false, 0, TB_MATRIX_KINDS - 1);
    expect(TB_MATRIX_NT_WRITE, "0>0 0>0x12 0>1 0>1x12 1>0 1>0x12 1>1 1>1x12");
    expect(TB_MATRIX_LOADED, "0>0x12 0>0x12 0>0x12 0>1x12 0>1x12 0>1x12 1>0x12 1>0x12 1>0x12 1>1x12 1>1x12 1>1x12");
    expect(TB_MATRIX_WORKING_SET, "0>0 0>0 0>0 0>0 1>1 1>1 1>1 1>1");
    expect(TB_MATRIX_LINE, "0>0->0x2 0>0->1x2 0>1->1x2 1>1->1x2");
    cr_assert_eq(cell_at(TB_MATRIX_WORKING_SET, 0)->working_set_bytes, 24 << 10);
    cr_assert_eq(cell_at(TB_MATRIX_WORKING_SET, 1)->working_set_bytes, 512 << 10);
    cr_assert_eq(cell_at(TB_MATRIX_WORKING_SET, 2)->working_set_bytes, 16 << 20);
    cr_assert_eq(cell_at(TB_MATRIX_WORKING_SET, 3)->working_set_bytes, 128 << 20);
    end();
}

Test(matrix_plan, gives_memory_only_nodes_columns_and_no_rows)
{
    plan_kinds(fixture("../../../topo/tests/fixtures", "tiers.xml"), false, 0, TB_MATRIX_KINDS - 1);
    expect(TB_MATRIX_LATENCY, "1>0 1>1 1>2 1>3 2>0 2>1 2>2 2>3");
    expect(TB_MATRIX_WRITE, "1>0 1>0x2 1>1 1>1x2 1>2 1>2x2 1>3 1>3x2 2>0 2>0x2 2>1 2>1x2 2>2 2>2x2 2>3 2>3x2");
    expect(TB_MATRIX_MIGRATION, "1>0->1 1>0->2 1>0->3 1>1->0 1>1->2 1>1->3 2>2->0 2>2->1 2>2->3 1>3->0 1>3->1 1>3->2");
    expect(TB_MATRIX_PUSH, "1>0 1>1 1>2 1>3 2>0 2>1 2>2 2>3");
    end();
}

Test(matrix_plan, keeps_sparse_numbers)
{
    plan_kinds(fixture("../../../topo/tests/fixtures", "sparse.xml"), true, 0, TB_MATRIX_KINDS - 1);
    expect(TB_MATRIX_LATENCY, "4>4 4>5 5>4 5>5");
    expect(TB_MATRIX_COPY, "4>4 4>4x2 4>4x4 4>5 4>5x2 4>5x4 5>4 5>4x2 5>4x4 5>5 5>5x2 5>5x4");
    expect(TB_MATRIX_MIGRATION, "4>4->5 5>5->4");
    end();
}

Test(matrix_plan, gives_a_node_without_memory_a_row_and_no_column)
{
    plan_kinds(fixture("../../tests/fixtures", "cpu_only.xml"), false, 0, TB_MATRIX_KINDS - 1);
    expect(TB_MATRIX_LATENCY, "0>0 1>0");
    expect(TB_MATRIX_WORKING_SET, "0>0 0>0 0>0 0>0 1>0 1>0 1>0 1>0");
    expect(TB_MATRIX_LINE, "0>0->0x2 0>0->1x2 1>0->1x2");
    expect(TB_MATRIX_MIGRATION, "0>0-");
    end();
}

Test(matrix_plan, says_what_one_node_and_one_cpu_cannot)
{
    plan_kinds("[numa(memory=64GB)] core:1 pu:1", true, 0, TB_MATRIX_KINDS - 1);
    expect(TB_MATRIX_LATENCY, "0>0");
    expect(TB_MATRIX_READ, "0>0");
    expect(TB_MATRIX_LOADED, "0>0-");
    expect(TB_MATRIX_LINE, "0>0->0x2-");
    expect(TB_MATRIX_MIGRATION, "0>0-");
    cr_assert_str_eq(cell_at(TB_MATRIX_LOADED, 0)->why,
                     "node 0 has one CPU that this process may use: nobody is left to make the load");
    cr_assert_str_eq(cell_at(TB_MATRIX_LINE, 0)->why, "node 0 has one CPU that this process may use: a line goes between two");
    cr_assert_str_eq(cell_at(TB_MATRIX_MIGRATION, 0)->why,
                     "migration goes between two nodes with memory, and this machine has node 0 alone");
    end();
}

Test(matrix_plan, reaches_four_times_past_the_caches)
{
    plan_kinds("[numa(memory=64GB)] core:4 pu:1", false, 0, TB_MATRIX_KINDS - 1);
    cr_assert_eq(cell_at(TB_MATRIX_LATENCY, 0)->working_set_bytes, 128 * MIB, "one CPU's cache, four times");
    cr_assert_eq(cell_at(TB_MATRIX_READ, 0)->working_set_bytes, 256 * MIB, "the package's caches, four times");
    cr_assert_eq(cell_at(TB_MATRIX_READ, 1)->working_set_bytes, 64 * MIB, "by each of four threads");
    cr_assert_eq(cell_at(TB_MATRIX_LOADED, 0)->working_set_bytes, 128 * MIB);
    cr_assert_eq(cell_at(TB_MATRIX_LOADED, 0)->reader_bytes, 256 * MIB / 3 / 4096 * 4096);
    end();
}

Test(matrix_plan, moves_whole_lines_of_equal_parts)
{
    static const unsigned parts[] = {[TB_MATRIX_READ] = 1,         [TB_MATRIX_WRITE] = 1,        [TB_MATRIX_COPY] = 2,
                                     [TB_MATRIX_READ3_WRITE1] = 4, [TB_MATRIX_READ2_WRITE1] = 3, [TB_MATRIX_NT_WRITE] = 1};
    plan_kinds("[numa(memory=64GB)] core:7 pu:1", true, TB_MATRIX_READ, TB_MATRIX_NT_WRITE);
    for (size_t i = 0; i < matrix.cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix.cells[i];
        uint64_t pass = cell->working_set_bytes / 64 / parts[cell->kind] * parts[cell->kind] * 64;
        cr_assert_eq(cell->bytes_planned % (matrix.config.rounds * cell->threads * pass), 0, "whole passes of cell %zu", i);
        cr_assert_gt(cell->bytes_planned, matrix.config.rounds * cell->threads * (384 * MIB));
    }
    end();
}

Test(matrix_plan, shrinks_to_half_of_what_a_small_node_has)
{
    plan_kinds("[numa(memory=256MB)] core:2 pu:1", false, 0, TB_MATRIX_KINDS - 1);
    uint64_t walked = cell_at(TB_MATRIX_LATENCY, 0)->working_set_bytes;
    cr_assert(walked > 120000000 && walked <= 128000000, "%llu", (unsigned long long)walked);
    expect(TB_MATRIX_READ, "0>0- 0>0x2-");
    cr_assert_str_eq(cell_at(TB_MATRIX_READ, 0)->why,
                     "node 0 has 244 MiB free, of which half would be used, and 128 MiB are needed to reach past the caches");
    end();
}

Test(matrix_plan, says_the_figures_of_a_node_that_is_too_small)
{
    plan_kinds("[numa(memory=64MB)] core:2 pu:1", true, 0, TB_MATRIX_KINDS - 1);
    expect(TB_MATRIX_LATENCY, "0>0-");
    expect(TB_MATRIX_LOADED, "0>0x2- 0>0x2- 0>0x2- 0>0x2- 0>0x2- 0>0x2- 0>0x2- 0>0x2- 0>0x2- 0>0x2- 0>0x2-");
    cr_assert_str_eq(cell_at(TB_MATRIX_LATENCY, 0)->why,
                     "node 0 has 61 MiB free, of which half would be used, and 64 MiB are needed to reach past the caches");
    cr_assert_eq(cell_at(TB_MATRIX_WORKING_SET, 0)->state, TB_MATRIX_PLANNED, "what fits into the caches fits there, too");
    cr_assert_eq(cell_at(TB_MATRIX_PUSH, 0)->state, TB_MATRIX_PLANNED);
    end();
}

Test(matrix_plan, steps_twice_an_octave_over_the_whole_curve)
{
    plan_kinds("[numa(memory=64GB)] core:2 pu:1", true, TB_MATRIX_WORKING_SET, TB_MATRIX_WORKING_SET);
    cr_assert_eq(matrix.cells[0].working_set_bytes, 8 << 10);
    for (size_t i = 1; i < matrix.cells_count; i++) {
        double step = (double)matrix.cells[i].working_set_bytes / (double)matrix.cells[i - 1].working_set_bytes;
        cr_assert(step > 1.3 && step <= 1.5, "%g at %zu", step, i);
    }
    cr_assert_eq(matrix.cells[matrix.cells_count - 1].working_set_bytes, 256 * MIB);
    end();
}

Test(matrix_plan, asks_only_for_the_kinds_that_are_wanted)
{
    plan_kinds("pack:2 [numa(memory=64GB)] core:2 pu:1", false, TB_MATRIX_COPY, TB_MATRIX_COPY);
    cr_assert_eq(matrix.cells_count, 8);
    expect(TB_MATRIX_COPY, "0>0 0>0x2 0>1 0>1x2 1>0 1>0x2 1>1 1>1x2");
    end();
}

Test(matrix_plan, refuses_too_many_rounds)
{
    struct tb_matrix_config config = {.rounds = TB_MATRIX_ROUNDS_MAX + 1};
    cr_assert_eq(locus_topo_open(&topo, "[numa(memory=1GB)] core:1 pu:1", NULL, 0), 0);
    cr_assert_eq(tb_matrix_plan(&matrix, topo, &caches, &config), -EINVAL);
    cr_assert_eq(tb_matrix_run(&matrix, topo, NULL, NULL), -EINVAL, "a description cannot be measured");
    locus_topo_close(topo);
}

// --- caches --------------------------------------------------------------------------------------------------------------------

static void tree_cache(unsigned index, const char *level, const char *type, const char *size, const char *cpus)
{
    const char *names[] = {"level", "type", "size", "shared_cpu_list"}, *words[] = {level, type, size, cpus};
    char path[128];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu3/cache/index%u/%s", index, names[i]);
        tree_file(path, words[i]);
    }
}

Test(matrix_caches, counts_the_last_level_of_the_whole_package, .init = tree_open, .fini = tree_close)
{
    struct tb_matrix_caches found;
    tree_cache(0, "1\n", "Data\n", "48K\n", "3,67\n");
    tree_cache(1, "1\n", "Instruction\n", "32K\n", "3,67\n");
    tree_cache(2, "2\n", "Unified\n", "2048K\n", "3,67\n");
    tree_cache(3, "3\n", "Unified\n", "32768K\n", "0-7,64-71\n");
    tree_file("/sys/devices/system/cpu/cpu3/topology/package_cpus_list", "0-127\n");
    tb_matrix_caches_read(tree_root, 3, &found);
    cr_assert(found.bytes[0] == 48 << 10 && found.bytes[1] == 2 << 20 && found.bytes[2] == 32 << 20 && found.bytes[3] == 0);
    cr_assert_eq(found.last_bytes, 8 * 32 * MIB, "eight core complexes");
}

Test(matrix_caches, knows_nothing_where_nothing_is_said, .init = tree_open, .fini = tree_close)
{
    struct tb_matrix_caches found;
    tb_matrix_caches_read(tree_root, 3, &found);
    cr_assert(found.bytes[0] == 0 && found.bytes[3] == 0 && found.last_bytes == 0);
}
