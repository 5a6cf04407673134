// SPDX-License-Identifier: Apache-2.0
//
// keep: the words of its cells, what it refuses, and that it counts what the model of a cache counts.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/serving/keep.h"

static struct tb_scenario *scenario_open(const char *name)
{
    struct tb_scenario *scenario = NULL;
    struct tb_why why;
    cr_assert_eq(tb_scenario_open(name, 0, &scenario, &why), 0, "%s", why.text);
    return scenario;
}

Test(keep, a_cell_says_its_words_once)
{
    struct tb_serving_settings settings = {0};
    char text[64];
    cr_expect(tb_keep_setting(&settings, "1000b"));
    cr_expect(tb_keep_setting(&settings, "tree"));
    cr_expect(tb_keep_setting(&settings, "first200"));
    cr_expect_not(tb_keep_setting(&settings, "3000b"));
    cr_expect_not(tb_keep_setting(&settings, "tree"));
    cr_expect_not(tb_keep_setting(&settings, "first300"));
    tb_keep_settings_text(&settings, text, sizeof text);
    cr_expect_str_eq(text, "keep/1000b/tree/first200");
    static const char *const bad[] = {
        "0b", "b", "-1b", "1000", "1000t", "67108865b", "18446744073709551617b", "first", "first0", "first4294967296", "trees", ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        settings = (struct tb_serving_settings){0};
        cr_expect_not(tb_keep_setting(&settings, bad[i]), "'%s'", bad[i]);
        cr_expect_eq(settings.kept_blocks + settings.requests, 0, "'%s'", bad[i]);
    }
    cr_expect(tb_keep_setting(&settings, "67108864b"));
}

Test(keep, each_policy_has_a_name_and_the_one_that_knows_the_future_is_the_last)
{
    uint32_t count = 0;
    for (; tb_policy_at(count); count++)
        cr_expect_eq(tb_policy_find(tb_policy_at(count)->name), tb_policy_at(count));
    cr_expect_geq(count, 7);
    cr_expect_eq(tb_policy_at(count - 1), &tb_clairvoyant);
    cr_expect_null(tb_policy_at(count + 1));
    cr_expect_null(tb_policy_find("lruu"));
}

Test(keep, needs_ids_and_a_size)
{
    struct tb_scenario *turns = scenario_open("turns"), *beam = scenario_open("beam");
    struct tb_serving_settings settings = {0};
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    cr_expect_eq(tb_keep_plan(turns, "turns", &settings, &schedule, &why), -EINVAL);
    cr_expect(strstr(why.text, "turns/keep/1000b"), "%s", why.text);
    settings.kept_blocks = 100;
    cr_expect_eq(tb_keep_plan(beam, "beam", &settings, &schedule, &why), -EINVAL);
    cr_expect(strstr(why.text, "no ids"), "%s", why.text);
    cr_expect_eq(tb_keep_plan(turns, "turns", &settings, &schedule, &why), 0);
    cr_expect_eq(schedule->pool_blocks, 100);
    free(schedule);
    tb_scenario_close(turns);
    tb_scenario_close(beam);
}

// From the plan, as a measured process does it, against the model asked directly.
static void same_as_the_model(const char *name, const struct tb_serving_settings *settings, const struct locus_evict_ops *policy)
{
    struct tb_scenario *made = scenario_open(name), read;
    struct tb_schedule *schedule = NULL;
    struct tb_why why;
    struct tb_served served = {0};
    struct tb_id_cache_result result;
    const struct tb_id_cache_config config = {policy, settings->kept_blocks, settings->tree};
    struct tb_id_request *requests = calloc(made->count, sizeof *requests);
    uint64_t references = 0;
    for (size_t i = 0; i < made->count; i++) {
        requests[i].arrival_ns = made->requests[i].arrival_ns;
        requests[i].ids = made->ids + made->requests[i].ids_first;
        references += requests[i].count = made->requests[i].ids_count;
    }
    cr_assert_eq(tb_id_cache_run(requests, made->count, &config, &result), 0);
    cr_assert_eq(tb_keep_plan(made, name, settings, &schedule, &why), 0);
    const struct tb_serving_plan *plan = tb_serving_plan_read(schedule, &read);
    cr_assert_eq(tb_keep(&read, &plan->settings, policy, &served), 0);
    cr_expect_eq(plan->scenario_hash, tb_scenario_hash(made));
    cr_expect_eq(references, made->ids_count);
    cr_expect_eq(served.requests, made->count);
    cr_expect_gt(served.hit_ratio, 0);
    cr_expect_eq(served.hit_ratio, (double)result.hits / (double)references, "%s", policy->name);
    free(requests);
    free(schedule);
    tb_scenario_close(made);
}

Test(keep, counts_what_the_model_counts)
{
    for (uint32_t i = 0; tb_policy_at(i); i++) {
        same_as_the_model("turns", &(struct tb_serving_settings){.kept_blocks = 3000}, tb_policy_at(i));
        same_as_the_model("few-shot", &(struct tb_serving_settings){.kept_blocks = 1000, .tree = true}, tb_policy_at(i));
    }
}
