// SPDX-License-Identifier: Apache-2.0
//
// html_fixture: a folder with runs that never were (record_fixture.h), the page that is made of them, and its tags read back.
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
#include "testbed/report/page/html_page.h"

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
    FILE *out = open_memstream(&page, &page_bytes);
    cr_assert_eq(tb_html_page(out, &store), 0);
    fclose(out);
}

#endif
