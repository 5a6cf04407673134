// SPDX-License-Identifier: Apache-2.0
//
// html_fixture: a folder with runs that never were (record_fixture.h), the pages that are made of them, and its tags read back.
#ifndef TB_HTML_FIXTURE_H
#define TB_HTML_FIXTURE_H

#include <criterion/criterion.h>
#include <ctype.h>
#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/json.h"
#include "testbed/judge/tests/record_fixture.h"
#include "testbed/report/page/page.h"

static char folder[64], *page;
static size_t page_bytes;
static struct tb_store store;

static const struct record_fixture usual = {.root = "logs",
                                            .host = "bm1",
                                            .kind = "official",
                                            .run = "0002-20261121T101500Z-a1b2c3",
                                            .commit = FIXTURE_COMMIT,
                                            .dirty = "no",
                                            .seed = 1,
                                            .factor = 1,
                                            .rounds = 20,
                                            .invalid_round = -1};

static inline void enter_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/locus-html-XXXXXX");
    cr_assert(mkdtemp(folder) && chdir(folder) == 0);
}

static inline int remove_one(const char *name, const struct stat *about, int flag, struct FTW *where)
{
    (void)about, (void)flag, (void)where;
    return remove(name);
}

static inline void leave_folder(void)
{
    free(page);
    tb_store_close(&store);
    cr_assert(chdir("/") == 0);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void make_run(struct record_fixture fixture)
{
    char path[256];
    cr_assert_eq(record_fixture_make(&fixture, path, sizeof path), 0);
}

static inline void make_page(void)
{
    cr_assert_eq(tb_store_add(&store, "logs"), 0);
    const struct tb_page index = {.store = &store, .folder = "report"};
    FILE *out = open_memstream(&page, &page_bytes);
    cr_assert_eq(tb_page_index(out, &index), 0);
    fclose(out);
}

// `page` is the page of that run from now on.
static inline void turn_to(size_t run)
{
    free(page);
    FILE *out = open_memstream(&page, &page_bytes);
    cr_assert(out && run < store.runs_count);
    cr_assert_eq(tb_page_run(out, &store.runs[run]), 0);
    fclose(out);
}

static inline void turn_to_scoreboard(void)
{
    free(page);
    FILE *out = open_memstream(&page, &page_bytes);
    cr_assert_eq(tb_page_scoreboard(out, &(struct tb_page){.store = &store, .folder = "report"}), 0);
    fclose(out);
}

#endif
