// SPDX-License-Identifier: Apache-2.0
//
// matrix_plot: a whole drawing or none; and none of what has no times.
#include <errno.h>
#include <unistd.h>

#include "testbed/matrix/tests/matrix_machines.h"
#include "testbed/matrix/view/matrix_view.h"

static struct matrix_fixture f;
static char folder[64], path[128];

static void open_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/locus-matrix-XXXXXX");
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/matrix.svg", folder);
}

static void close_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static char *drawn(const struct tb_matrix *matrix)
{
    int rc = tb_matrix_plot(path, matrix);
    if (rc == -ENOENT)
        cr_skip_test("needs gnuplot");
    cr_assert_eq(rc, 0, "%s", strerror(-rc));
    char *text = calloc(1, 1 << 22);
    FILE *file = fopen(path, "r");
    cr_assert(file && fread(text, 1, (1 << 22) - 1, file) > 0);
    fclose(file);
    return text;
}

static size_t occurrences(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        count++;
    return count;
}

#define DRAWN(svg, times, what) cr_assert_eq(occurrences(svg, what), times, "%zu times %s", occurrences(svg, what), what)

TestSuite(matrix_plot, .init = open_folder, .fini = close_folder);

Test(matrix_plot, draws_maps_curves_and_where_the_caches_end)
{
    char *svg = drawn(matrix_fixture_two(&f));
    cr_assert(strstr(svg, "</svg>"));
    DRAWN(svg, 2, ">1.74x<");
    DRAWN(svg, 2, ">3.30x<");
    DRAWN(svg, 4, ">1.00x<");
    DRAWN(svg, 1, "Idle latency, ns<");
    DRAWN(svg, 1, "Read bandwidth of all CPUs of a node, GB/s<");
    DRAWN(svg, 1, ">bandwidth that they read, GB/s<");
    DRAWN(svg, 1, ">bytes walked over at random<");
    DRAWN(svg, 2, ">ns a load<");
    DRAWN(svg, 1, ">L1 48 KiB<");
    DRAWN(svg, 1, ">L2 1 MiB<");
    DRAWN(svg, 1, ">L3 32 MiB<");
    DRAWN(svg, 2, ">node 0, memory of 1<");
    free(svg);
}

Test(matrix_plot, one_node_has_curves_and_its_two_figures_in_words)
{
    char *svg = drawn(matrix_fixture_one(&f));
    cr_assert(strstr(svg, "flat: one node; idle latency 80.8 ns [80.7, 80.9]; all its CPUs read 113 GB/s"));
    DRAWN(svg, 0, "Idle latency, ns<");
    DRAWN(svg, 1, ">Latency while the other CPUs read<");
    free(svg);
}

Test(matrix_plot, sixteen_nodes_and_a_hole_are_a_drawing_too)
{
    struct tb_matrix *matrix = matrix_fixture_many(&f, 4, 16, 2);
    matrix_fixture_refuse(&f.cells[0], TB_MATRIX_INVALID, "it's lost");
    char *svg = drawn(matrix);
    DRAWN(svg, 1, ">INVALID<");
    DRAWN(svg, 0, ">3.00x<"); // figures only: the ratios would not fit
    free(svg);
}

Test(matrix_plot, emulated_has_nothing_to_draw_and_the_old_drawing_stays)
{
    FILE *old = fopen(path, "w");
    fputs("old", old);
    fclose(old);
    cr_assert_eq(tb_matrix_plot(path, matrix_fixture_emulate(matrix_fixture_two(&f))), -ENOTSUP);
    char text[8] = "";
    old = fopen(path, "r");
    cr_assert_eq(fread(text, 1, 7, old), 3);
    fclose(old);
}

Test(matrix_plot, what_was_not_measured_cannot_be_drawn)
{
    matrix_fixture_open(&f, 7);
    cr_assert_eq(tb_matrix_plot(path, &f.matrix), -EINVAL);
    matrix_fixture_cell(&f, TB_MATRIX_PUSH, 0, 0, 1, 20);
    cr_assert_eq(tb_matrix_plot(path, &f.matrix), -EINVAL);
    cr_assert(access(path, F_OK) != 0);
}

Test(matrix_plot, says_what_is_in_the_way)
{
    struct tb_matrix *matrix = matrix_fixture_two(&f);
    free(drawn(matrix));
    cr_assert_eq(tb_matrix_plot("/nonexistent/folder/matrix.svg", matrix), -ENOTDIR);
    setenv("PATH", folder, 1);
    cr_assert_eq(tb_matrix_plot(path, matrix), -ENOENT);
}
