// SPDX-License-Identifier: Apache-2.0
//
// report_plot: a whole drawing or none, whatever the labels hold and wherever it is to go.
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "testbed/measure/tests/campaign_fixture.h"
#include "testbed/report/board/report.h"

static struct fixture f;
static const struct fixture_arm usual[] = {
    {"mimalloc", 709000},
    {"locus", 361000},
    {"oracle", 358000},
    {"locus#2", 361000},
    {"null", 12000},
    {"locus-shared", 500000},
    {"malloc:/'<&>\"%{_}.so", 900000},
};
enum { SHARED = 5 };
static char folder[64], path[128];

static void open_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/locus-plot-XXXXXX");
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/it's here.svg", folder);
}

static int remove_one(const char *name, const struct stat *about, int flag, struct FTW *where)
{
    (void)about, (void)flag, (void)where;
    return remove(name);
}

static void close_folder(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static size_t files_in_folder(void)
{
    size_t count = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing));)
        count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

static char *read_file(const char *name)
{
    FILE *file = fopen(name, "r");
    cr_assert(file, "%s", name);
    char *text = calloc(1, 1 << 22);
    size_t bytes = fread(text, 1, (1 << 22) - 1, file);
    cr_assert(bytes > 0 && feof(file));
    fclose(file);
    return text;
}

static void plot_or_skip(const struct tb_campaign *campaign)
{
    int rc = tb_report_plot(path, campaign);
    if (rc == -ENOENT)
        cr_skip_test("needs gnuplot");
    cr_assert_eq(rc, 0, "%s", strerror(-rc));
}

static size_t occurrences(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        count++;
    return count;
}

TestSuite(report_plot, .init = open_folder, .fini = close_folder);

Test(report_plot, draws_every_round_of_every_valid_arm)
{
    struct tb_campaign *campaign = FIXTURE(f, usual, 12);
    campaign->cells_count = 3;
    fixture_invalidate(campaign, 1, SHARED, 0, "lost one");
    plot_or_skip(campaign);
    char *svg = read_file(path);
    cr_assert(strstr(svg, "<svg") && strstr(svg, "</svg>") && strstr(svg, "width=\"1000\""));
    cr_assert(strstr(svg, "steady-decode, full touch") && strstr(svg, "long-tail, full touch"));
    cr_assert(strstr(svg, "time per lap, us, log scale; left is faster"));
    cr_assert_eq(occurrences(svg, "INVALID"), 1);
    // Each dot is a shape put somewhere; so is the key beside each of the 7 names. Only the arm that is invalid in one cell has no
    // dots there.
    cr_assert_eq(occurrences(svg, "' transform='translate("), 3 * 7 * (12 + 1) - 12);
    free(svg);
}

Test(report_plot, labels_cannot_break_the_drawing)
{
    struct tb_campaign *campaign = FIXTURE(f, usual, 3);
    plot_or_skip(campaign);
    char *svg = read_file(path);
    cr_assert(strstr(svg, "malloc:/'&lt;&amp;") && strstr(svg, "\"%{_}.so"), "not escaped, or not as it is called");
    cr_assert(!strstr(svg, "'<&"));
    free(svg);
}

Test(report_plot, a_contender_looks_the_same_in_every_campaign)
{
    static const struct fixture_arm other[] = {{"glibc", 5000}, {"mimalloc", 4000}};
    struct tb_campaign *campaign = FIXTURE(f, other, 3);
    plot_or_skip(campaign);
    char *svg = read_file(path);
    cr_assert_eq(occurrences(svg, "'#gpPt8' transform"), 3 + 1, "mimalloc's filled triangles, and one as the key");
    cr_assert_eq(occurrences(svg, "color='rgb(213,  94,   0)'"), 3 + 1, "vermilion");
    free(svg);
}

Test(report_plot, a_bench_has_a_panel_for_each_operation_and_nothing_is_a_drawing_too)
{
    struct tb_campaign *campaign = FIXTURE(f, usual, 3);
    campaign->bench = true;
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++)
        for (uint32_t round = 0; round < 3; round++)
            tb_campaign_sample(campaign, 0, arm, round)->bench_ns[TB_BENCH_PUSH] = 0;
    plot_or_skip(campaign);
    char *svg = read_file(path);
    cr_assert(strstr(svg, "steady-decode: alloc") && strstr(svg, "steady-decode: push") && strstr(svg, "steady-decode: free"));
    free(svg);
}

Test(report_plot, leaves_nothing_but_the_drawing_and_replaces_the_old_one)
{
    struct tb_campaign *campaign = FIXTURE(f, usual, 3);
    plot_or_skip(campaign);
    plot_or_skip(campaign);
    cr_assert_eq(files_in_folder(), 1);
}

Test(report_plot, without_gnuplot_it_says_so_and_keeps_the_old_drawing)
{
    struct tb_campaign *campaign = FIXTURE(f, usual, 3);
    FILE *old = fopen(path, "w");
    fputs("old", old);
    fclose(old);
    setenv("PATH", folder, 1);
    cr_assert_eq(tb_report_plot(path, campaign), -ENOENT);
    char *text = read_file(path);
    cr_assert_str_eq(text, "old");
    cr_assert_eq(files_in_folder(), 1);
    free(text);
}

// A gnuplot that fails, and one that claims success and stops half-way.
Test(report_plot, half_a_drawing_is_never_put_in_place)
{
    static const char *const programs[] = {"#!/bin/sh\nexit 1\n",
                                           "#!/bin/sh\necho '<?xml version=\"1.0\"?><svg width=\"1000\">'\n"};
    struct tb_campaign *campaign = FIXTURE(f, usual, 3);
    char fake[128];
    snprintf(fake, sizeof fake, "%s/gnuplot", folder);
    setenv("PATH", folder, 1);
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(fake, "w");
        fputs(programs[i], file);
        fclose(file);
        cr_assert_eq(chmod(fake, 0755), 0);
        cr_assert_eq(tb_report_plot(path, campaign), -EIO);
        cr_assert_eq(files_in_folder(), 1, "only the fake gnuplot");
    }
}

Test(report_plot, a_path_that_cannot_be_written_is_an_error)
{
    struct tb_campaign *campaign = FIXTURE(f, usual, 3);
    plot_or_skip(campaign);
    cr_assert_eq(tb_report_plot("/nonexistent/folder/plot.svg", campaign), -ENOTDIR);
    cr_assert_eq(tb_report_plot(folder, campaign), -EISDIR);
    cr_assert_eq(files_in_folder(), 1);
}

// A pipe stands for all that is no regular file: a real device could be lost to a broken program that is run by root.
Test(report_plot, what_is_no_regular_file_is_written_to_and_not_replaced)
{
    struct tb_campaign *campaign = FIXTURE(f, usual, 3);
    struct stat about;
    cr_assert_eq(mkfifo(path, 0600), 0);
    int other = open(path, O_RDWR | O_NONBLOCK);
    cr_assert(other >= 0);
    plot_or_skip(campaign);
    cr_assert(stat(path, &about) == 0 && S_ISFIFO(about.st_mode));
    char head[6] = "";
    cr_assert_eq(read(other, head, 5), 5);
    cr_assert_str_eq(head, "<?xml");
    close(other);
}

// The same device as /dev/full, under a name that nobody would miss.
Test(report_plot, a_full_disk_is_an_error)
{
    struct tb_campaign *campaign = FIXTURE(f, usual, 3);
    if (mknod(path, S_IFCHR | 0600, makedev(1, 7)) != 0 || access(path, W_OK) != 0)
        cr_skip_test("needs the right to make a device node");
    int full = open(path, O_WRONLY);
    if (full < 0)
        cr_skip_test("needs a file system with device nodes");
    close(full);
    int rc = tb_report_plot(path, campaign);
    if (rc == -ENOENT)
        cr_skip_test("needs gnuplot");
    cr_assert_eq(rc, -ENOSPC);
}
