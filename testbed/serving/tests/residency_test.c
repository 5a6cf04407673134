// SPDX-License-Identifier: Apache-2.0
//
// residency: the model against counts made apart from it, each policy below the bound, the bound against every choice there is, and
// a policy that breaks its contract.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/serving/adapters/residency.h"
#include "testbed/serving/adapters/resident.h"

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

static struct tb_resided run(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, const char *name)
{
    struct tb_resided out;
    struct tb_why why = {""};
    cr_assert_eq(tb_residency(scenario, settings, tb_resident_find(name), &out, &why), 0, "%s", why.text);
    cr_expect_leq(out.hot_most, settings->hot, "%s", name);
    cr_expect(fabs(out.hot_ratio + out.warm_ratio + out.cold_ratio - 1) < 1e-12);
    return out;
}

// --- counted apart from the model ----------------------------------------------------------------------------------------------

struct counts {
    uint32_t hot, warm, cold, thrash;
};

static void counts_are(const struct tb_resided *out, const struct counts *counts)
{
    double uses = counts->hot + counts->warm + counts->cold;
    cr_expect_eq(out->uses, counts->hot + counts->warm + counts->cold);
    cr_expect_eq(out->hot_ratio, counts->hot / uses, "%g and not %u", out->hot_ratio * uses, counts->hot);
    cr_expect_eq(out->warm_ratio, counts->warm / uses, "%g and not %u", out->warm_ratio * uses, counts->warm);
    cr_expect_eq(out->thrash, counts->thrash);
}

// A list in the order of the last use: the first `hot` of it are hot, the next `warm` are warm.
static struct counts lru_counts(const struct tb_adapter_settings *settings, const struct tb_adapter_use uses[], uint32_t count)
{
    struct counts counts = {0};
    uint32_t *list = malloc(settings->adapters * sizeof *list), known = 0;
    uint64_t *left_ns = calloc(settings->adapters, sizeof *left_ns);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t adapter = uses[i].adapter, at = 0;
        while (at < known && list[at] != adapter)
            at++;
        bool found = at < known, hot = found && at < settings->hot;
        counts.hot += hot;
        counts.warm += found && !hot && at < settings->hot + settings->warm;
        counts.cold += !found || at >= settings->hot + settings->warm;
        counts.thrash += !hot && left_ns[adapter] && uses[i].arrival_ns - left_ns[adapter] <= 1000000000;
        known += !found;
        memmove(list + 1, list, at * sizeof *list);
        list[0] = adapter;
        if (!hot && known > settings->hot)
            left_ns[list[settings->hot]] = uses[i].arrival_ns;
    }
    free(list);
    free(left_ns);
    return counts;
}

// With room for all: the uses of the last 60 seconds, this one not among them.
static struct counts rule_counts(const struct tb_adapter_use uses[], uint32_t count)
{
    struct counts counts = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t before = 0;
        for (uint32_t j = i; j > 0 && uses[i].arrival_ns < uses[j - 1].arrival_ns + UINT64_C(60000000000); j--)
            before += uses[j - 1].adapter == uses[i].adapter;
        counts.hot += before >= 10;
        counts.warm += before >= 1 && before < 10;
        counts.cold += before == 0;
    }
    return counts;
}

Test(residency, lru_finds_what_a_list_in_the_order_of_use_finds)
{
    static const struct tb_adapter_settings rows[] = {{.hot = 1, .warm = 1},
                                                      {.hot = 3, .warm = 40, .again_percent = 60, .rate_per_s = 30},
                                                      {.hot = 100, .warm = 1000}};
    struct tb_scenario *poisson = scenario_open("poisson", 5000);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct tb_adapter_settings settings = settings_of(rows[row]);
        struct tb_adapter_use *uses;
        uint32_t count;
        cr_assert_eq(tb_adapter_uses(poisson, &settings, &uses, &count), 0);
        struct counts counts = lru_counts(&settings, uses, count);
        struct tb_resided out = run(poisson, &settings, "lru");
        counts_are(&out, &counts);
        cr_expect_gt(counts.hot, 0);
        cr_expect(row != 1 || counts.thrash > 0);
        free(uses);
    }
    tb_scenario_close(poisson);
}

Test(residency, the_seeds_rule_finds_hot_what_had_ten_uses_in_a_minute)
{
    struct tb_scenario *poisson = scenario_open("poisson", 5000);
    static const double rates[] = {0.1, 2, 20};
    for (size_t i = 0; i < 3; i++) {
        struct tb_adapter_settings settings =
            settings_of((struct tb_adapter_settings){.hot = 4000, .warm = 5000, .rate_per_s = rates[i]});
        struct tb_adapter_use *uses;
        uint32_t count;
        cr_assert_eq(tb_adapter_uses(poisson, &settings, &uses, &count), 0);
        struct counts counts = rule_counts(uses, count);
        struct tb_resided out = run(poisson, &settings, "seed");
        counts.thrash = (uint32_t)out.thrash;
        counts_are(&out, &counts);
        cr_expect(i == 0 ? counts.hot == 0 : counts.hot > 0, "%u", counts.hot);
        free(uses);
    }
    tb_scenario_close(poisson);
}

// At each ranking the first ones of all uses before it; between two, nothing changes.
Test(residency, ranked_finds_hot_who_had_most_uses_at_the_last_full_minute)
{
    struct tb_scenario *poisson = scenario_open("poisson", 3000);
    struct tb_adapter_settings settings =
        settings_of((struct tb_adapter_settings){.adapters = 150, .hot = 10, .warm = 20, .rate_per_s = 5});
    struct tb_resided out = run(poisson, &settings, "ranked");
    struct tb_adapter_use *uses;
    uint32_t count, seen[150] = {0}, at = 0, least = 0, most = 0;
    cr_assert_eq(tb_adapter_uses(poisson, &settings, &uses, &count), 0);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t ranked_ns = uses[i].arrival_ns / UINT64_C(60000000000) * UINT64_C(60000000000);
        for (; at < i && uses[at].arrival_ns < ranked_ns; at++)
            seen[uses[at].adapter]++;
        uint32_t above = 0, equal = 0, own = seen[uses[i].adapter];
        for (uint32_t adapter = 0; adapter < 150; adapter++) {
            above += seen[adapter] > own;
            equal += seen[adapter] == own;
        }
        least += own && above + equal <= 10; // who of equals is hot is not said
        most += own && above < 10;
    }
    cr_expect_gt(least, count / 5);
    cr_expect(out.hot_ratio >= (double)least / count && out.hot_ratio <= (double)most / count, "%g of %u to %u",
              out.hot_ratio * count, least, most);
    free(uses);
    tb_scenario_close(poisson);
}

// --- the bound -----------------------------------------------------------------------------------------------------------------

static uint32_t best_of(const struct tb_adapter_use uses[], uint32_t count, uint32_t a, uint32_t b)
{
    if (count == 0)
        return 0;
    uint32_t adapter = uses[0].adapter;
    if (adapter == a || adapter == b)
        return 1 + best_of(uses + 1, count - 1, a, b);
    uint32_t best = best_of(uses + 1, count - 1, a, b), first = best_of(uses + 1, count - 1, adapter, b),
             second = best_of(uses + 1, count - 1, a, adapter);
    best = first > best ? first : best;
    return second > best ? second : best;
}

Test(residency, nobody_could_find_more_hot_than_clairvoyant)
{
    struct tb_scenario *poisson = scenario_open("poisson", 14);
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct tb_adapter_settings settings =
            settings_of((struct tb_adapter_settings){.adapters = 101, .hot = 2, .warm = 2, .again_percent = 70, .seed = seed});
        struct tb_adapter_use *uses;
        uint32_t count;
        cr_assert_eq(tb_adapter_uses(poisson, &settings, &uses, &count), 0);
        uint32_t best = best_of(uses, count, UINT32_MAX, UINT32_MAX);
        struct tb_resided out = run(poisson, &settings, "clairvoyant");
        cr_expect_eq(lround(out.hot_ratio * count), best, "seed %u", seed);
        free(uses);
    }
    tb_scenario_close(poisson);
}

Test(residency, each_policy_has_a_name_and_finds_no_more_than_clairvoyant)
{
    struct tb_scenario *poisson = scenario_open("poisson", 0);
    for (uint32_t again = 0; again <= 80; again += 80) {
        struct tb_adapter_settings settings = settings_of((struct tb_adapter_settings){.rate_per_s = 20, .again_percent = again});
        struct tb_resided bound = run(poisson, &settings, "clairvoyant");
        uint32_t i = 0;
        for (; tb_resident_at(i); i++) {
            const char *name = tb_resident_at(i)->name;
            struct tb_resided out = run(poisson, &settings, name);
            cr_expect_eq(tb_resident_find(name), tb_resident_at(i));
            cr_expect_leq(out.hot_ratio, bound.hot_ratio + (double)settings.hot / (double)out.uses, "%s",
                          name); // fixed begins with some
            cr_expect(i == 0 || strcmp(name, tb_resident_at(i - 1)->name), "%s", name);
        }
        cr_expect_eq(i, 7);
        cr_expect_eq(tb_resident_at(i - 1), &tb_resident_clairvoyant);
    }
    cr_expect_null(tb_resident_find("lruu"));
    tb_scenario_close(poisson);
}

// --- bytes and times -----------------------------------------------------------------------------------------------------------

Test(residency, bytes_and_times_are_those_of_the_shape)
{
    struct tb_scenario *poisson = scenario_open("poisson", 0);
    cr_expect_eq(tb_adapter_f16_bytes(8), 13631488);
    cr_expect_eq(tb_adapter_back_ns(8, LOCUS_ADAPTER_HOT), 0);
    cr_expect_eq(tb_adapter_back_ns(8, LOCUS_ADAPTER_WARM), 1022361);
    cr_expect_eq(tb_adapter_back_ns(64, LOCUS_ADAPTER_COLD), 18175317 + 8178892);
    for (uint32_t rank = 8; rank <= 64; rank *= 8) {
        struct tb_adapter_settings settings = settings_of((struct tb_adapter_settings){.rank = rank});
        struct tb_resided out = run(poisson, &settings, "lru");
        double f16 = (double)tb_adapter_f16_bytes(rank), uses = (double)out.uses;
        cr_expect_eq(out.unasked, 0);
        cr_expect(fabs((double)out.f16_bytes - uses * (1 - out.hot_ratio) * f16) < f16 / 2);
        cr_expect(fabs((double)out.cold_bytes - uses * out.cold_ratio * f16 / 2) < f16 / 4);
        cr_expect_eq(out.f16_bytes - out.reloaded_bytes, out.used_adapters * tb_adapter_f16_bytes(rank));
        cr_expect(fabs(out.back_mean_ns - out.warm_ratio * (double)tb_adapter_back_ns(rank, LOCUS_ADAPTER_WARM) -
                       out.cold_ratio * (double)tb_adapter_back_ns(rank, LOCUS_ADAPTER_COLD)) < 1);
        cr_expect_eq(out.back_p50_ns, 0);
        cr_expect_eq(out.back_p99_ns, tb_adapter_back_ns(rank, LOCUS_ADAPTER_COLD));
    }
    // What fixed begins with is read, and nobody asked for it.
    struct tb_adapter_settings settings = settings_of((struct tb_adapter_settings){0});
    struct tb_resided fixed = run(poisson, &settings, "fixed");
    cr_expect_eq(fixed.unasked, 100);
    cr_expect_eq(fixed.int8_bytes, 0);
    tb_scenario_close(poisson);
}

// --- a contract that is broken -------------------------------------------------------------------------------------------------

static enum { ELSEWHERE, TOO_MANY, UNREPORTED, DUE_AGAIN } fault;
static uint32_t reported;

static int faulty_open(void **state, const struct locus_adapter_policy_config *config)
{
    (void)config;
    reported = 0;
    *state = &reported;
    return 0;
}

static void faulty_close(void *state)
{
    (void)state;
}

static void faulty_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    (void)state, (void)now_ns, (void)adapter;
}

static enum locus_adapter_place faulty_place(void *state, uint64_t now_ns, uint32_t adapter)
{
    (void)state, (void)now_ns, (void)adapter;
    return fault == UNREPORTED ? LOCUS_ADAPTER_HOT : LOCUS_ADAPTER_COLD;
}

static bool faulty_moved(void *state, uint64_t now_ns, struct locus_adapter_policy_move *out)
{
    (void)state, (void)now_ns;
    *out = (struct locus_adapter_policy_move){reported, LOCUS_ADAPTER_COLD, LOCUS_ADAPTER_HOT};
    if (fault == ELSEWHERE)
        out->from = LOCUS_ADAPTER_WARM;
    return (fault == ELSEWHERE || fault == TOO_MANY) && reported++ < 200;
}

static uint64_t faulty_due_ns(void *state)
{
    (void)state;
    return fault == DUE_AGAIN ? 0 : UINT64_MAX;
}

Test(residency, a_broken_contract_is_found_out)
{
    static const struct locus_adapter_policy faulty = {.name = "faulty",
                                                       .open = faulty_open,
                                                       .close = faulty_close,
                                                       .use = faulty_use,
                                                       .place = faulty_place,
                                                       .moved = faulty_moved,
                                                       .due_ns = faulty_due_ns};
    static const char *const says[] = {[ELSEWHERE] = "from where it is not",
                                       [TOO_MANY] = "more than there are places",
                                       [UNREPORTED] = "was not reported",
                                       [DUE_AGAIN] = "due again"};
    struct tb_scenario *poisson = scenario_open("poisson", 100);
    struct tb_adapter_settings settings = settings_of((struct tb_adapter_settings){0});
    for (int i = ELSEWHERE; i <= DUE_AGAIN; i++) {
        struct tb_resided out;
        struct tb_why why = {""};
        fault = i;
        cr_expect_eq(tb_residency(poisson, &settings, &faulty, &out, &why), -EBADMSG, "%d", i);
        cr_expect(strstr(why.text, says[i]), "%s", why.text);
    }
    tb_scenario_close(poisson);
}

// --- the words of a cell -------------------------------------------------------------------------------------------------------

Test(residency, a_cell_says_its_words_once)
{
    static const char *const words[] = {"2000a", "50hot", "500warm", "rank64", "rate0.5", "times3", "again60", "seed7", "first500"};
    static const char *const bad[] = {"hot",    "0hot",    "0warm",  "rank0",   "rank1025", "rate0",  "rate",
                                      "rate-1", "rate1e7", "rate5x", "ratenan", "batch64",  "load80", ""};
    struct tb_adapter_settings settings = {0};
    uint32_t requests = 0;
    char text[96];
    struct tb_why why;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cr_expect(tb_adapter_setting(&settings, true, words[i], &requests), "%s", words[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cr_expect_not(tb_adapter_setting(&settings, true, words[i], &requests), "%s", words[i]);
    tb_adapter_settings_fill(&settings);
    tb_adapter_settings_text(&settings, true, requests, text, sizeof text);
    cr_expect_str_eq(text, "residency/2000a/50hot/500warm/rank64/rate0.5/times3/again60/seed7/first500");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        settings = (struct tb_adapter_settings){0};
        cr_expect_not(tb_adapter_setting(&settings, true, bad[i], &requests), "'%s'", bad[i]);
    }
    struct tb_scenario *poisson = scenario_open("poisson", 100);
    settings = settings_of((struct tb_adapter_settings){.adapters = 1100});
    cr_expect_eq(tb_adapter_settings_check(poisson, "poisson", &settings, true, &why), -EINVAL);
    cr_expect(strstr(why.text, "leave no adapter cold"), "%s", why.text);
    tb_scenario_close(poisson);
}
