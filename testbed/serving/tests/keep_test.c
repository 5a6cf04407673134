// SPDX-License-Identifier: Apache-2.0
//
// keep: the words of its cells, what it refuses, and that it counts what the model of a cache counts.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "placement/base/tests/sanitized.h"
#include "testbed/serving/keep.h"

static struct tb_scenario *scenario_open(const char *name)
{
    struct tb_scenario *scenario = NULL;
    struct tb_why why;
    cr_assert_eq(tb_scenario_open(name, 0, NULL, &scenario, &why), 0, "%s", why.text);
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

Test(keep, a_cell_says_its_tiers_and_prices_once)
{
    struct tb_serving_settings settings = {0}, again = {0};
    static const char *const words[] = {"3000b",  "far7000b",   "file200000b", "alike",    "GPT-2",    "far12.5gbs",
                                        "far2us", "file2.5gbs", "file80us",    "token7us", "first6000"};
    char text[192], twice[192];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        cr_expect(tb_keep_setting(&settings, words[i]), "%s", words[i]);
        cr_expect_not(tb_keep_setting(&settings, words[i]), "%s, again", words[i]);
    }
    tb_keep_settings_text(&settings, text, sizeof text);
    cr_expect_str_eq(text, "keep/3000b/far7000b/file200000b/alike/GPT-2/far12.5gbs/far2us/file2.5gbs/file80us/token7us/first6000");
    for (char *rest = NULL, *word = strtok_r(strcpy(twice, text + strlen("keep/")), "/", &rest); word;
         word = strtok_r(NULL, "/", &rest))
        cr_expect(tb_keep_setting(&again, word), "%s", word);
    tb_keep_settings_text(&again, twice, sizeof twice);
    cr_expect_str_eq(twice, text, "read again it is the same");
    static const char *const bad[] = {"far0b",   "far67108865b", "fars7b",   "far7",      "far0gbs", "far-1gbs", "file1e9gbs",
                                      "file0us", "file",         "token0us", "token7gbs", "token",   "alikes"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(tb_keep_setting(&(struct tb_serving_settings){0}, bad[i]), "'%s'", bad[i]);
}

Test(keep, prices_without_a_tier_are_refused)
{
    struct tb_scenario *turns = scenario_open("turns");
    struct tb_schedule *schedule = NULL;
    static const struct {
        struct tb_serving_settings settings;
        const char *why;
    } cases[] = {
        {{.kept_blocks = 9, .far.gbs = 3}, "far7000b"},  {{.kept_blocks = 9, .far.blocks = 3, .file.us = 3}, "file200000b"},
        {{.kept_blocks = 9, .token_us = 3}, "has none"}, {{.kept_blocks = 9, .alike = true}, "has none"},
        {{.far.blocks = 9}, "turns/keep/1000b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tb_why why = {""};
        cr_expect_eq(tb_keep_plan(turns, "turns", &cases[i].settings, &schedule, &why), -EINVAL);
        cr_expect(strstr(why.text, cases[i].why), "%s", why.text);
    }
    tb_scenario_close(turns);
}

// 16 tokens of 32 KiB.
Test(keep, a_price_is_the_latency_and_the_bytes)
{
    struct tb_scenario *turns = scenario_open("turns");
    struct tb_keep_prices prices = tb_keep_prices(turns, &(struct tb_serving_settings){.far.blocks = 1, .file.blocks = 1});
    cr_expect_eq(prices.block_bytes, 524288);
    cr_expect_float_eq(prices.token_ns, 1240000, 1e-9);
    cr_expect_float_eq(prices.far_ns, 1000 + 524288 / 30., 1e-6);
    cr_expect_float_eq(prices.file_ns, 100000 + 524288 / 3., 1e-6);
    prices = tb_keep_prices(turns, &(struct tb_serving_settings){.file = {1, 16.777216, 7}, .shape = "GPT-2", .token_us = 2.5});
    cr_expect_eq(prices.block_bytes, 16 * 36864);
    cr_expect_float_eq(prices.token_ns, 2500, 1e-9);
    cr_expect_float_eq(prices.file_ns, 7000 + 16 * 36864 / 16.777216, 1e-6);
    tb_scenario_close(turns);
}

Test(keep, tiers_are_counted_and_priced)
{
    struct tb_scenario *turns = scenario_open("turns");
    struct tb_serving_settings settings = {.kept_blocks = 500, .far.blocks = 800, .file.blocks = 900000};
    struct tb_served served, one;
    struct tb_tiered tiers, none;
    cr_assert_eq(tb_keep(turns, &settings, &locus_evict_lru, &served, &tiers), 0);
    struct tb_keep_prices prices = tb_keep_prices(turns, &settings);
    cr_assert_eq(tb_keep(turns, &(struct tb_serving_settings){.kept_blocks = 901300}, &locus_evict_lru, &one, &none), 0);
    cr_expect_eq(none.hits + none.near_hits + none.far_bytes, 0);
    cr_expect_eq(served.hit_ratio, one.hit_ratio);
    cr_expect_eq(tiers.hits, tiers.near_hits + tiers.far_hits + tiers.file_hits);
    cr_expect(tiers.near_hits && tiers.far_hits && tiers.file_hits);
    cr_expect_float_eq(tiers.near_hit_ratio + tiers.far_hit_ratio + tiers.file_hit_ratio, served.hit_ratio, 1e-12);
    cr_expect_eq(tiers.lost, 0);
    cr_expect_eq(tiers.far_bytes, (tiers.far_sunk + tiers.far_hits + tiers.file_sunk) * prices.block_bytes);
    cr_expect_eq(tiers.file_bytes, (tiers.file_sunk + tiers.file_hits) * prices.block_bytes);
    cr_expect_float_eq(tiers.file_even_ns * 16 * (double)tiers.file_hits, // what is saved at this price is what all moves take
                       prices.file_ns * (double)(tiers.file_hits + tiers.file_sunk), 1);
    settings.file.blocks = 0;
    cr_assert_eq(tb_keep(turns, &settings, &locus_evict_lru, &served, &tiers), 0);
    cr_expect_eq(tiers.file_hits + tiers.file_sunk + tiers.file_bytes, 0);
    cr_expect_gt(tiers.lost, 0);
    cr_expect(tiers.file_even_ns != tiers.file_even_ns, "no hits, no price");
    cr_expect_eq(tiers.far_bytes, (tiers.far_sunk + tiers.far_hits) * prices.block_bytes, "what is lost is not read");
    tb_scenario_close(turns);
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
    struct tb_tiered tiers;
    struct tb_id_cache_result result;
    const struct tb_id_cache_config config = {.ops = policy, .blocks = settings->kept_blocks, .tree = settings->tree};
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
    cr_assert_eq(tb_keep(&read, &plan->settings, policy, &served, &tiers), 0);
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
#ifndef SANITIZED // takes six seconds there, and goes the same ways
        same_as_the_model("turns", &(struct tb_serving_settings){.kept_blocks = 3000}, tb_policy_at(i));
#endif
        same_as_the_model("few-shot", &(struct tb_serving_settings){.kept_blocks = 1000, .tree = true}, tb_policy_at(i));
    }
}
