// SPDX-License-Identifier: Apache-2.0
//
// batches: what each batcher promises holds for every request, a batcher that breaks the contract is found out, the counts of small
// cases, and who starves under the seed's rule.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/serving/adapters/batches.h"

static struct tb_scenario *scenario_open(const char *name, size_t requests)
{
    struct tb_scenario *scenario = NULL;
    struct tb_why why;
    cr_assert_eq(tb_scenario_open(name, requests, NULL, &scenario, &why), 0, "%s", why.text);
    return scenario;
}

static struct tb_adapter_settings settings_of(struct tb_adapter_settings settings)
{
    tb_adapter_settings_fill(&settings);
    return settings;
}

static struct tb_batched run(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, const char *name)
{
    struct tb_batched out;
    struct tb_why why = {""};
    cr_assert_eq(tb_batches(scenario, settings, tb_batcher_find(name), &out, NULL, &why), 0, "%s", why.text);
    return out;
}

// --- what each promises --------------------------------------------------------------------------------------------------------

// An upper bound of a request's wait, by what it found when it arrived (batcher.h); of fifo exactly its wait.
static uint64_t bound(const char *name, const struct tb_adapter_settings *settings, uint64_t adapters,
                      const struct tb_batch_wait *wait)
{
    uint64_t slots = settings->batch, share = slots < 8 ? 1 : slots / 8;
    if (strcmp(name, "fifo") == 0)
        return wait->before / slots;
    if (strcmp(name, "oldest") == 0)
        return wait->before * share / slots;
    return ((wait->own + UINT64_C(1)) * adapters - 1) / slots;
}

static uint32_t adapters_used(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings)
{
    struct tb_adapter_use *uses;
    uint32_t count, used = 0;
    bool *seen = calloc(settings->adapters, sizeof *seen);
    cr_assert_eq(tb_adapter_uses(scenario, settings, &uses, &count), 0);
    for (uint32_t i = 0; i < count; i++) {
        used += !seen[uses[i].adapter];
        seen[uses[i].adapter] = true;
    }
    free(seen);
    free(uses);
    return used;
}

static void keeps_its_promise(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, const char *name)
{
    uint32_t count = (uint32_t)scenario->count * settings->times, adapters = adapters_used(scenario, settings);
    struct tb_batch_wait *waits = calloc(count, sizeof *waits);
    struct tb_batched out;
    struct tb_why why = {""};
    cr_assert_eq(tb_batches(scenario, settings, tb_batcher_find(name), &out, waits, &why), 0, "%s", why.text);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t most = bound(name, settings, adapters, &waits[i]);
        if (waits[i].wait == TB_BATCH_UNSERVED)
            continue;
        cr_assert_leq(waits[i].wait, most, "%s: request %u waited for %u batches", name, i, waits[i].wait);
        cr_assert(strcmp(name, "fifo") || waits[i].wait == most, "request %u", i);
    }
    free(waits);
}

Test(batches, no_request_waits_longer_than_its_batcher_promises)
{
    struct tb_scenario *poisson = scenario_open("poisson", 0), *few = scenario_open("poisson", 3000);
    static const char *const names[] = {"fifo", "robin", "oldest"};
    static const struct tb_adapter_settings rows[] = {{.load_percent = 80},
                                                      {.load_percent = 110},
                                                      {.load_percent = 400, .batch = 32},
                                                      {.load_percent = 200, .batch = 4},
                                                      {.load_percent = 130, .adapters = 200, .batch = 16, .again_percent = 60},
                                                      {.load_percent = 120, .batch = 1}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (size_t i = 0; i < 3; i++) {
            struct tb_adapter_settings settings = settings_of(rows[row]);
            keeps_its_promise(settings.batch < 8 ? few : poisson, &settings, names[i]);
        }
    tb_scenario_close(poisson);
    tb_scenario_close(few);
}

Test(batches, under_robin_nobody_starves_whatever_the_load)
{
    struct tb_scenario *poisson = scenario_open("poisson", 0);
    for (uint32_t load = 50; load <= 800; load *= 2) {
        struct tb_adapter_settings settings = settings_of((struct tb_adapter_settings){.load_percent = load, .batch = 64});
        struct tb_batched robin = run(poisson, &settings, "robin");
        cr_expect_eq(robin.starved_beyond, 9999 / 64);
        cr_expect_eq(robin.starved, 0);
        cr_expect_leq(robin.passed_over_max, robin.starved_beyond);
    }
    tb_scenario_close(poisson);
}

Test(batches, all_are_equally_fast)
{
    struct tb_scenario *poisson = scenario_open("poisson", 0);
    struct tb_adapter_settings settings = settings_of((struct tb_adapter_settings){.load_percent = 120, .batch = 64});
    struct tb_batched seed = run(poisson, &settings, "seed");
    for (uint32_t i = 0; tb_batcher_at(i); i++) {
        struct tb_batched other = run(poisson, &settings, tb_batcher_at(i)->name);
        cr_expect_eq(other.batched, seed.batched);
        cr_expect_eq(other.unserved, seed.unserved);
        cr_expect_eq(other.batched + other.unserved, poisson->count);
        cr_expect_eq(other.batch_fill, seed.batch_fill);
        cr_expect_eq(tb_batcher_find(tb_batcher_at(i)->name), tb_batcher_at(i));
    }
    cr_expect_null(tb_batcher_find("roundrobin"));
    tb_scenario_close(poisson);
}

Test(batches, the_rare_adapters_starve_under_the_seeds_rule_and_not_under_the_others)
{
    struct tb_scenario *poisson = scenario_open("poisson", 0);
    struct tb_adapter_settings settings =
        settings_of((struct tb_adapter_settings){.load_percent = 130, .adapters = 2000, .batch = 64});
    struct tb_batched seed = run(poisson, &settings, "seed"), robin = run(poisson, &settings, "robin");
    cr_expect_gt(seed.starved, 0);
    cr_expect_gt(seed.starved_rest_ratio, 0.1);
    cr_expect_gt(seed.wait_rest_p99, seed.wait_top10_p99);
    cr_expect_eq(robin.starved, 0);
    cr_expect_lt(robin.wait_rest_max, seed.wait_rest_max);
    cr_expect_geq(robin.wait_top10_p99, seed.wait_top10_p99);
    tb_scenario_close(poisson);
}

// --- small cases, by hand ------------------------------------------------------------------------------------------------------

// Requests 0, 1, ... of these adapters wait; each batch is compared with what the rule says.
static void forms(const char *name, uint32_t slots, const uint32_t adapters[], uint32_t count, const uint32_t expected[])
{
    const struct tb_batcher *batcher = tb_batcher_find(name);
    uint32_t batch[16], at = 0;
    void *state;
    cr_assert_eq(batcher->open(&state, 16, count, slots), 0);
    for (uint32_t i = 0; i < count; i++)
        batcher->add(state, i, adapters[i]);
    while (at < count) {
        uint32_t formed = batcher->form(state, batch), most = count - at < slots ? count - at : slots;
        cr_assert_eq(formed, most, "%s", name);
        for (uint32_t i = 0; i < formed; i++, at++)
            cr_expect_eq(batch[i], expected[at], "%s: %u. is %u", name, at, batch[i]);
    }
    cr_expect_eq(batcher->form(state, batch), 0);
    batcher->close(state);
}

Test(batches, each_rule_as_it_is_written)
{
    // Adapter 5 has one request, 7 has four, 3 has two, 9 has one.
    static const uint32_t adapters[] = {5, 7, 7, 3, 7, 3, 7, 9};
    forms("seed", 3, adapters, 8, (const uint32_t[]){1, 2, 4, 3, 5, 0, 6, 7}); // 7 has one left: after 5, before 9, as it came
    forms("fifo", 3, adapters, 8, (const uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7});
    forms("robin", 3, adapters, 8, (const uint32_t[]){0, 1, 3, 7, 2, 5, 4, 6});
    forms("oldest", 16, adapters, 8, (const uint32_t[]){0, 1, 2, 3, 5, 4, 6, 7}); // a share is two
}

// Equals stand in the order in which their adapters came first, so one that came later waits although it is older.
Test(batches, the_seeds_rule_prefers_whom_it_has_known_longest)
{
    const struct tb_batcher *seed = tb_batcher_find("seed");
    uint32_t batch[4];
    void *state;
    cr_assert_eq(seed->open(&state, 4, 8, 1), 0);
    seed->add(state, 0, 2);
    cr_assert_eq(seed->form(state, batch), 1);
    seed->add(state, 1, 3);
    for (uint32_t i = 2; i < 8; i++) { // adapter 3 waits, adapter 2 comes again and again
        seed->add(state, i, 2);
        cr_assert_eq(seed->form(state, batch), 1);
        cr_expect_eq(batch[0], i);
    }
    cr_expect_eq(seed->form(state, batch), 1);
    cr_expect_eq(batch[0], 1);
    seed->close(state);
}

// --- a contract that is broken -------------------------------------------------------------------------------------------------

static enum { TWICE, TOO_FEW, TOO_EARLY, OUT_OF_ORDER } fault;

static uint32_t faulty_form(void *state, uint32_t batch[])
{
    uint32_t count = tb_batcher_fifo.form(state, batch), swap = batch[0];
    if (fault == TOO_FEW)
        return count ? count - 1 : 0;
    if (fault == TWICE && count > 1)
        batch[count - 1] = batch[0];
    if (fault == TOO_EARLY && count)
        batch[0] += 1000;
    if (fault == OUT_OF_ORDER && count > 40) {
        batch[0] = batch[count - 1];
        batch[count - 1] = swap;
    }
    return count;
}

Test(batches, a_broken_contract_is_found_out)
{
    static const char *const says[] = {
        [TWICE] = "twice", [TOO_FEW] = "as wait or fit", [TOO_EARLY] = "has not arrived", [OUT_OF_ORDER] = "order of arrival"};
    struct tb_scenario *poisson = scenario_open("poisson", 2000);
    struct tb_adapter_settings settings =
        settings_of((struct tb_adapter_settings){.adapters = 101, .batch = 64, .load_percent = 300});
    for (int i = TWICE; i <= OUT_OF_ORDER; i++) {
        struct tb_batcher faulty = tb_batcher_fifo;
        struct tb_batched out;
        struct tb_why why = {""};
        fault = i;
        faulty.form = faulty_form;
        cr_expect_eq(tb_batches(poisson, &settings, &faulty, &out, NULL, &why), -EBADMSG, "%d", i);
        cr_expect(strstr(why.text, says[i]), "%s", why.text);
    }
    tb_scenario_close(poisson);
}

// --- the words of a cell -------------------------------------------------------------------------------------------------------

Test(batches, a_cell_says_its_words_once)
{
    static const char *const words[] = {"2000a", "batch64", "load80", "times3", "again60", "seed7", "first500"};
    static const char *const bad[] = {"a",        "0a",     "1048577a", "batch0",   "batch", "batch65537", "load0",
                                      "load1001", "times0", "again0",   "again100", "seed0", "seed",       "rank8",
                                      "100hot",   "10warm", "rate5",    "first0",   "",      "2000"};
    struct tb_adapter_settings settings = {0};
    uint32_t requests = 0;
    char text[96];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cr_expect(tb_adapter_setting(&settings, false, words[i], &requests), "%s", words[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cr_expect_not(tb_adapter_setting(&settings, false, words[i], &requests), "%s", words[i]);
    tb_adapter_settings_fill(&settings);
    tb_adapter_settings_text(&settings, false, requests, text, sizeof text);
    cr_expect_str_eq(text, "adapters/2000a/batch64/load80/times3/again60/seed7/first500");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        settings = (struct tb_adapter_settings){0};
        requests = 0;
        cr_expect_not(tb_adapter_setting(&settings, false, bad[i], &requests), "'%s'", bad[i]);
    }
    settings = settings_of((struct tb_adapter_settings){0});
    tb_adapter_settings_text(&settings, false, 0, text, sizeof text);
    cr_expect_str_eq(text, "adapters/10000a/batch256/load110/seed1");
}

Test(batches, a_scenario_that_cannot_be_looked_at_so_is_refused)
{
    struct tb_scenario *poisson = scenario_open("poisson", 0), *one = scenario_open("poisson", 1);
    struct tb_why why;
    struct tb_adapter_settings settings = settings_of((struct tb_adapter_settings){.adapters = 100});
    cr_expect_eq(tb_adapter_settings_check(poisson, "poisson", &settings, false, &why), -EINVAL);
    cr_expect(strstr(why.text, "100 adapters have no 101st"), "%s", why.text);
    settings = settings_of((struct tb_adapter_settings){.times = 10000});
    cr_expect_eq(tb_adapter_settings_check(poisson, "poisson", &settings, false, &why), -EINVAL);
    settings = settings_of((struct tb_adapter_settings){.times = 100, .batch = 1, .load_percent = 1});
    cr_expect_eq(tb_adapter_settings_check(poisson, "poisson", &settings, false, &why), -EINVAL);
    cr_expect(strstr(why.text, "batches of 1"), "%s", why.text);
    settings = settings_of((struct tb_adapter_settings){0});
    cr_expect_eq(tb_adapter_settings_check(one, "poisson", &settings, false, &why), -EINVAL);
    cr_expect_eq(tb_adapter_settings_check(poisson, "poisson", &settings, false, &why), 0);
    tb_scenario_close(poisson);
    tb_scenario_close(one);
}

// The arrivals twice: a repetition begins a mean gap after the last arrival, and the draws go on.
Test(batches, arrivals_come_again)
{
    struct tb_scenario *poisson = scenario_open("poisson", 100);
    struct tb_adapter_settings once = settings_of((struct tb_adapter_settings){0}),
                               twice = settings_of((struct tb_adapter_settings){.times = 2, .rate_per_s = 10});
    struct tb_adapter_use *a, *b;
    uint32_t count, differ = 0;
    cr_assert_eq(tb_adapter_uses(poisson, &once, &a, &count), 0);
    cr_expect_eq(count, 100);
    cr_assert_eq(tb_adapter_uses(poisson, &twice, &b, &count), 0);
    cr_expect_eq(count, 200);
    for (uint32_t i = 0; i < 100; i++) {
        cr_expect_eq(a[i].adapter, b[i].adapter);
        differ += b[i].adapter != b[100 + i].adapter;
        cr_expect(i == 0 || b[100 + i].arrival_ns >= b[99 + i].arrival_ns);
    }
    cr_expect_gt(differ, 50);
    cr_expect_eq(b[100].arrival_ns / 1000000, 10000); // 100 requests at 10 a second
    free(a);
    free(b);
    tb_scenario_close(poisson);
}
