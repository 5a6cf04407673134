// SPDX-License-Identifier: Apache-2.0
//
// store_find: a run by id, by its end, by path, and what is said when there is none, or more than one.
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/record/store.h"

#define A "0002-20261121T101500Z-a1b2c3"
#define A_PATH "logs/bm1/0002-glibc-churn/20261121T101500Z-a1b2c3.jsonl"

static char why[1024], path[4096], folder[] = "/tmp/store-find-test-XXXXXX";

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
        cr_assert_eq(tb_store_find(name, path, sizeof path, why, sizeof why), 0, "%s", why);                                       \
        cr_assert_str_eq(path, expected);                                                                                          \
    } while (0)

#define FAILS(name, error, reason)                                                                                                 \
    do {                                                                                                                           \
        cr_assert_eq(tb_store_find(name, path, sizeof path, why, sizeof why), error);                                              \
        cr_assert(strstr(why, reason), "%s", why);                                                                                 \
    } while (0)

Test(store_find, by_id_by_its_end_and_by_path, .init = enter, .fini = leave)
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

Test(store_find, says_what_is_wrong_with_a_name, .init = enter, .fini = leave)
{
    FAILS("000000", -EEXIST, "2 logs have this name");
    FAILS("123456", -ENOENT, "no run 123456");
    FAILS("0004-20261121T101500Z-a1b2c3", -ENOENT, "no run 0004");
    FAILS("nonsense", -ENOENT, "neither a run");
    FAILS("logs/none.jsonl", -ENOENT, "logs/none.jsonl: No such file");
    FAILS("logs", -EINVAL, "not a file");
    FAILS("*", -ENOENT, "neither a run");
}

Test(store_find, host_is_the_folder_below_logs)
{
    char host[64];
    tb_store_host_of(A_PATH, host, sizeof host);
    cr_assert_str_eq(host, "bm1");
    tb_store_host_of("/x/build/logs/bm-2/0002-a/b.jsonl", host, sizeof host);
    cr_assert_str_eq(host, "bm-2");
    tb_store_host_of("a/b.jsonl", host, sizeof host);
    cr_assert_str_eq(host, "unknown");
    tb_store_host_of("x/y/z/b.jsonl", host, sizeof host);
    cr_assert_str_eq(host, "unknown");
    tb_store_host_of("", host, sizeof host);
    cr_assert_str_eq(host, "unknown");
}

// A log as a run writes it, of a header, two samples and a summary.
static void write_log(const char *name, bool sealed)
{
    static const char *const lines[] = {"{\"t\":\"s\",\"round\":1}", "{\"t\":\"s\",\"round\":2}", "{\"t\":\"sum\"}"};
    json_t *header = json_pack("{s:s, s:i}", "t", "hdr", "v", 1);
    struct tb_log *log = NULL;
    struct tb_hash head;
    size_t count;
    cr_assert_eq(tb_log_create(&log, name, header), 0);
    json_decref(header);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        json_t *line = json_loads(lines[i], 0, NULL);
        cr_assert_eq(tb_log_add(log, line), 0);
        json_decref(line);
    }
    if (sealed)
        cr_assert_eq(tb_log_seal(log, "complete", NULL, &head, &count), 0);
    else
        cr_assert_eq(tb_log_flush(log), 0);
    if (!sealed)
        tb_log_abandon(log);
}

Test(store_find, loads_only_what_is_whole, .init = enter, .fini = leave)
{
    struct tb_log_view view;
    write_log("logs/bm3/0002-x/20261121T101500Z-abcdef.jsonl", true);
    cr_assert_eq(tb_store_load("abcdef", &view, why, sizeof why), 0, "%s", why);
    cr_assert_eq(view.samples_count, 2);
    tb_log_view_close(&view);
    cr_assert_eq(system("sed -i 's/\"round\":2/\"round\":3/' logs/bm3/*/*.jsonl"), 0);
    cr_assert_eq(tb_store_load("abcdef", &view, why, sizeof why), -EINVAL);
    cr_assert(strstr(why, "abcdef.jsonl:3: ") && strstr(why, "locus verify"), "%s", why);
    write_log("logs/bm3/0002-x/20261121T101500Z-abcde0.jsonl", false);
    cr_assert_eq(tb_store_load("abcde0", &view, why, sizeof why), -EINVAL);
    cr_assert(strstr(why, "has no seal"), "%s", why);
}
