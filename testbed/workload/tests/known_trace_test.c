// SPDX-License-Identifier: Apache-2.0
//
// known_trace: a named trace is found, is replayed as by `locus replay`, and a missing one is reported with the remedy.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/workload/known_trace.h"
#include "topo/tests/tree.h"

TestSuite(known_trace, .init = tree_open, .fini = tree_close);

static const char azure[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2023-11-16 18:15:46.0000000,40,20\n"
                            "2023-11-16 18:15:46.1000000,16,1\n";

Test(known_trace, the_sample_is_the_projects_own)
{
    struct tb_schedule *named = NULL, *replayed = NULL;
    struct tb_trace *trace = NULL;
    struct tb_why why = {""};
    char path[256];
    cr_assert(tb_known_trace("sample"));
    cr_assert_eq(tb_known_trace_path("sample", path, sizeof path), 0);
    cr_assert_str_eq(path, "testbed/workload/sample.csv");
    cr_assert_eq(tb_known_trace_schedule("sample", &named, &why), 0, "%s", why.text);
    cr_expect_str_eq(named->name, "sample");
    const struct tb_replay_config config = {.tokens_per_block = 16, .pool_blocks = 8192, .tick_ns = 50000000, .speedup = 1};
    cr_assert_eq(tb_trace_load(path, NULL, &trace, &why), 0, "%s", why.text);
    cr_assert_eq(tb_schedule_replay(trace, &config, &replayed, &why), 0, "%s", why.text);
    cr_expect_eq(named->pool_blocks, 8192);
    cr_expect_eq(named->bytes, replayed->bytes);
    cr_expect_eq(memcmp(tb_schedule_ops(named), tb_schedule_ops(replayed), named->ops_count * sizeof(struct tb_op)), 0);
    tb_trace_close(trace);
    free(replayed);
    free(named);
}

Test(known_trace, the_others_are_in_the_folder_that_is_named)
{
    static const char *const names[][2] = {{"azure-conv", "AzureLLMInferenceTrace_conv.csv"},
                                           {"azure-code", "AzureLLMInferenceTrace_code.csv"},
                                           {"mooncake", "conversation_trace.jsonl"}};
    setenv("LOCUS_TRACES", tree_root, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512], expected[512];
        snprintf(expected, sizeof expected, "%s/%s", tree_root, names[i][1]);
        cr_assert_eq(tb_known_trace_path(names[i][0], path, sizeof path), 0);
        cr_expect_str_eq(path, expected);
        cr_expect_eq(tb_known_trace_path(names[i][0], path, 8), -ENAMETOOLONG);
    }
    setenv("LOCUS_TRACES", "", 1);
    char path[512];
    cr_assert_eq(tb_known_trace_path("mooncake", path, sizeof path), 0);
    cr_expect_str_eq(path, "../shared/traces/conversation_trace.jsonl");
}

Test(known_trace, is_missed_and_then_found)
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    char text[256];
    setenv("LOCUS_TRACES", tree_root, 1);
    cr_assert(tb_known_trace_missing("azure-conv", text, sizeof text));
    cr_expect(strncmp(text, "there is no azure-conv: set LOCUS_TRACES to the folder that has AzureLLM", 72) == 0, "%s", text);
    cr_expect_eq(tb_known_trace_schedule("azure-conv", &schedule, &why), -ENOENT);
    cr_expect_str_eq(why.text, text);
    cr_expect_null(schedule);
    tree_file("/AzureLLMInferenceTrace_conv.csv", azure);
    cr_assert_not(tb_known_trace_missing("azure-conv", text, sizeof text));
    cr_assert_eq(tb_known_trace_schedule("azure-conv", &schedule, &why), 0, "%s", why.text);
    cr_expect_str_eq(schedule->name, "azure-conv");
    cr_expect_eq(schedule->requests_per_lap, 2);
    cr_expect_eq(schedule->blocks_per_lap, 4 + 2); // ceil(60 / 16), ceil(17 / 16)
    free(schedule);
}

Test(known_trace, a_broken_one_is_no_missing_one)
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    char text[256];
    setenv("LOCUS_TRACES", tree_root, 1);
    tree_file("/conversation_trace.jsonl", "{\"timestamp\": 0}\n");
    cr_expect_not(tb_known_trace_missing("mooncake", text, sizeof text));
    cr_expect_eq(tb_known_trace_schedule("mooncake", &schedule, &why), -EINVAL);
    cr_expect_not_null(strstr(why.text, "conversation_trace.jsonl:1:"), "%s", why.text);
}

Test(known_trace, other_names_are_none)
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    char text[256];
    cr_expect_not(tb_known_trace("steady-decode"));
    cr_expect_not(tb_known_trace(""));
    cr_expect_eq(tb_known_trace_path("azure", text, sizeof text), -ENOENT);
    cr_expect_eq(tb_known_trace_schedule("azure", &schedule, &why), -ENOENT);
    cr_expect_str_eq(why.text, "there is no trace named azure");
    const char *const names[] = {"sample", "azure-conv", "azure-code", "mooncake"};
    for (unsigned i = 0; i < 4; i++)
        cr_expect(tb_known_trace(names[i]), "%s", names[i]);
}
