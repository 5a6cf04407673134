// SPDX-License-Identifier: Apache-2.0
//
// find_run: by id, by its end, by path, and what is said when there is none, or more than one.
#include <criterion/criterion.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/judge/tests/record_fixture.h"
#include "testbed/record/find_run.h"

#define A "0002-20261121T101500Z-a1b2c3"
#define A_PATH "logs/bm1/0002-glibc-churn/20261121T101500Z-a1b2c3.jsonl"

static char why[1024], path[4096], folder[] = "/tmp/find-run-test-XXXXXX";

static void touch(const char *name)
{
    FILE *file = fopen(name, "w");
    cr_assert(file && fclose(file) == 0, "%s", name);
}

static void enter(void)
{
    cr_assert(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    cr_assert_eq(system("mkdir -p logs/bm1/0002-glibc-churn logs/bm2/0003-x build/logs/bm1/0002-glibc-churn"), 0);
    touch(A_PATH);
    touch("build/logs/bm1/0002-glibc-churn/20261121T101600Z-ffffff.jsonl");
    touch("logs/bm2/0003-x/20261121T101500Z-000000.jsonl");
    touch("build/logs/bm1/0002-glibc-churn/20261121T101500Z-000000.jsonl");
}

static void leave(void)
{
    cr_assert_eq(tb_child_remove(folder), 0);
}

#define FINDS(name, expected)                                                                                                      \
    do {                                                                                                                           \
        cr_assert_eq(tb_find_run(name, path, sizeof path, why, sizeof why), 0, "%s", why);                                         \
        cr_assert_str_eq(path, expected);                                                                                          \
    } while (0)

#define FAILS(name, error, reason)                                                                                                 \
    do {                                                                                                                           \
        cr_assert_eq(tb_find_run(name, path, sizeof path, why, sizeof why), error);                                                \
        cr_assert(strstr(why, reason), "%s", why);                                                                                 \
    } while (0)

Test(find_run, by_id_by_its_end_and_by_path, .init = enter, .fini = leave)
{
    char absolute[4200];
    FINDS(A, A_PATH);
    FINDS("a1b2c3", A_PATH);
    FINDS("ffffff", "build/logs/bm1/0002-glibc-churn/20261121T101600Z-ffffff.jsonl");
    FINDS("./logs/../" A_PATH, A_PATH);
    snprintf(absolute, sizeof absolute, "%s/%s", folder, A_PATH);
    FINDS(absolute, A_PATH);
    FINDS("0003-20261121T101500Z-000000", "logs/bm2/0003-x/20261121T101500Z-000000.jsonl");
}

Test(find_run, says_what_is_wrong_with_a_name, .init = enter, .fini = leave)
{
    FAILS("000000", -EEXIST, "2 logs have this name");
    FAILS("123456", -ENOENT, "no run 123456");
    FAILS("0004-20261121T101500Z-a1b2c3", -ENOENT, "no run 0004");
    FAILS("nonsense", -ENOENT, "neither a run");
    FAILS("logs/none.jsonl", -ENOENT, "logs/none.jsonl: No such file");
    FAILS("logs", -EINVAL, "not a file");
    FAILS("*", -ENOENT, "neither a run");
}

Test(find_run, host_is_the_folder_below_logs)
{
    char host[64];
    tb_find_run_host(A_PATH, host, sizeof host);
    cr_assert_str_eq(host, "bm1");
    tb_find_run_host("/x/build/logs/bm-2/0002-a/b.jsonl", host, sizeof host);
    cr_assert_str_eq(host, "bm-2");
    tb_find_run_host("a/b.jsonl", host, sizeof host);
    cr_assert_str_eq(host, "unknown");
    tb_find_run_host("x/y/z/b.jsonl", host, sizeof host);
    cr_assert_str_eq(host, "unknown");
    tb_find_run_host("", host, sizeof host);
    cr_assert_str_eq(host, "unknown");
}

Test(find_run, loads_only_what_is_whole, .init = enter, .fini = leave)
{
    struct tb_log_view view;
    struct record_fixture fixture = {.root = "logs",
                                     .host = "bm3",
                                     .kind = "official",
                                     .run = "0002-20261121T101500Z-abcdef",
                                     .commit = FIXTURE_COMMIT,
                                     .dirty = "no",
                                     .factor = 1,
                                     .rounds = 6,
                                     .invalid_round = -1};
    cr_assert_eq(record_fixture_make(&fixture, path, sizeof path), 0);
    cr_assert_eq(tb_find_run_load("abcdef", &view, why, sizeof why), 0, "%s", why);
    tb_log_view_close(&view);
    cr_assert_eq(system("sed -i 's/\"round\":3/\"round\":4/' logs/bm3/*/*.jsonl"), 0);
    cr_assert_eq(tb_find_run_load("abcdef", &view, why, sizeof why), -EINVAL);
    cr_assert(strstr(why, "abcdef.jsonl:20: ") && strstr(why, "locus verify"), "%s", why);
    fixture.run = "0002-20261121T101500Z-abcde0";
    fixture.no_seal = true;
    cr_assert_eq(record_fixture_make(&fixture, path, sizeof path), 0);
    cr_assert_eq(tb_find_run_load("abcde0", &view, why, sizeof why), -EINVAL);
    cr_assert(strstr(why, "has no seal"), "%s", why);
}
