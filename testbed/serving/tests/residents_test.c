// SPDX-License-Identifier: Apache-2.0
//
// residents: the policies of residency that the testbed compares with the library's, each beside a naive twin, which is written
// from its definition with a sort of all adapters after each use.
#include <criterion/criterion.h>
#include <string.h>

#include "testbed/serving/adapters/resident.h"

enum { ADAPTERS = 24, STEPS = 1500 };
#define HOT LOCUS_ADAPTER_HOT
#define WARM LOCUS_ADAPTER_WARM
#define COLD LOCUS_ADAPTER_COLD

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

// --- twins ----------------------------------------------------------------------------------------------------------------------

struct twin_adapter {
    uint64_t uses, rank, turn;  // `cost`: uses since it was cold
    bool known;                 // it has a rank
    enum locus_adapter_place place;
};

struct twin {
    const char *name;
    struct locus_adapter_policy_config config;
    uint64_t turns, floor;
    struct twin_adapter adapters[ADAPTERS];
};

static bool twin_better(const struct twin_adapter *a, const struct twin_adapter *b)
{
    if (a->known != b->known)
        return a->known;
    return a->rank != b->rank ? a->rank > b->rank : a->turn > b->turn;
}

static void twin_place_all(struct twin *twin)
{
    uint32_t order[ADAPTERS];
    for (uint32_t i = 0; i < ADAPTERS; i++) {
        uint32_t at = i;
        for (; at > 0 && twin_better(&twin->adapters[i], &twin->adapters[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (uint32_t i = 0; i < ADAPTERS; i++)
        twin->adapters[order[i]].place = !twin->adapters[order[i]].known            ? COLD
                                         : i < twin->config.hot                     ? HOT
                                         : i - twin->config.hot < twin->config.warm ? WARM
                                                                                    : COLD;
}

static void twin_use(struct twin *twin, uint32_t number)
{
    struct twin_adapter *adapter = &twin->adapters[number];
    enum locus_adapter_place before[ADAPTERS];
    bool cost = strcmp(twin->name, "cost") == 0;
    if (strcmp(twin->name, "fixed") == 0)
        return;
    for (uint32_t i = 0; i < ADAPTERS; i++)
        before[i] = twin->adapters[i].place;
    if (cost && adapter->place == COLD)
        adapter->uses = 0;
    adapter->uses++;
    adapter->known = true;
    adapter->turn = ++twin->turns;
    adapter->rank = cost ? twin->floor + adapter->uses * (twin->config.cost_ns ? twin->config.cost_ns[number] : 1) : adapter->uses;
    twin_place_all(twin);
    for (uint32_t i = 0; cost && i < ADAPTERS; i++)
        if (before[i] == HOT && twin->adapters[i].place != HOT && twin->adapters[i].rank > twin->floor)
            twin->floor = twin->adapters[i].rank;
}

static void twin_open(struct twin *twin, const char *name, const struct locus_adapter_policy_config *config)
{
    *twin = (struct twin){.name = name, .config = *config};
    for (uint32_t i = 0; strcmp(name, "fixed") == 0 && i < ADAPTERS; i++) {
        twin->adapters[i].known = true;
        twin->adapters[i].rank = ADAPTERS - i;
    }
    twin_place_all(twin);
}

// --- policies beside their twins ------------------------------------------------------------------------------------------------

// All that moved() says: from where it was told last, to where its twin is.
static void moves_take(const struct locus_adapter_policy *ops, void *state, const struct twin *twin,
                       enum locus_adapter_place told[ADAPTERS])
{
    struct locus_adapter_policy_move move;
    while (ops->moved(state, 0, &move)) {
        cr_assert_lt(move.adapter, ADAPTERS);
        cr_assert_neq(move.from, move.to);
        cr_assert_eq(move.from, told[move.adapter]);
        told[move.adapter] = move.to;
    }
    for (uint32_t i = 0; i < ADAPTERS; i++) {
        cr_assert_eq(ops->place(state, 0, i), twin->adapters[i].place, "%s: %u is %s", ops->name, i,
                     locus_adapter_place_name(ops->place(state, 0, i)));
        cr_assert_eq(told[i], twin->adapters[i].place, "%s: %u is told wrong", ops->name, i);
    }
}

static void beside_its_twin(const struct locus_adapter_policy *ops, const struct locus_adapter_policy_config *config)
{
    static struct twin twin;
    enum locus_adapter_place told[ADAPTERS] = {COLD};
    void *state;
    cr_assert_eq(ops->open(&state, config), 0);
    twin_open(&twin, ops->name, config);
    moves_take(ops, state, &twin, told);
    for (unsigned step = 0; step < STEPS; step++) {
        uint32_t adapter = step % 500 < 250 ? draw(1 + draw(ADAPTERS)) : ADAPTERS - 1 - draw(1 + draw(ADAPTERS));
        ops->use(state, step, adapter);
        twin_use(&twin, adapter);
        moves_take(ops, state, &twin, told);
    }
    cr_expect_eq(ops->due_ns(state), UINT64_MAX);
    ops->close(state);
    ops->close(NULL);
}

Test(residents, each_policy_says_what_its_twin_says)
{
    static const char *const names[] = {"frequency", "cost", "fixed"};
    static const struct locus_adapter_policy_config budgets[] = {{.hot = 4, .warm = 8},        {.hot = 0, .warm = 5},
                                                                 {.hot = 5, .warm = 0},        {.hot = 1, .warm = 1},
                                                                 {.hot = ADAPTERS, .warm = 1}, {.hot = 3, .warm = ADAPTERS},
                                                                 {.hot = 0, .warm = 0},        {.hot = 2 * ADAPTERS}};
    uint64_t cost_ns[ADAPTERS];
    for (uint32_t i = 0; i < ADAPTERS; i++)
        cost_ns[i] = i % 5 ? 1 + draw(30) : i + 1;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) {
            struct locus_adapter_policy_config config = budgets[b];
            config.size = sizeof config;
            config.adapters = ADAPTERS;
            config.cost_ns = b % 2 ? NULL : cost_ns;
            beside_its_twin(tb_resident_find(names[n]), &config);
        }
}

// Prices are 1 to 2^32 - 1, and uses count up to 65,536.
Test(residents, cost_has_a_least_and_a_greatest_price_and_number_of_uses)
{
    enum { FREE, CHEAP, DEAR, USES_MOST = 65536 };
    static const uint64_t cost_ns[] = {[FREE] = 0, [CHEAP] = 1, [DEAR] = (UINT64_C(1) << 32) + 1};
    void *state;
    const struct locus_adapter_policy *ops = &tb_resident_cost;
    struct locus_adapter_policy_move move;
    struct locus_adapter_policy_config config = {.size = sizeof config, .adapters = 3, .hot = 1, .warm = 2, .cost_ns = cost_ns};
    cr_assert_eq(ops->open(&state, &config), 0);
    ops->use(state, 0, FREE);
    ops->use(state, 0, FREE);
    ops->use(state, 0, CHEAP);
    cr_expect_eq(ops->place(state, 0, FREE), HOT, "its second use weighs more than the first of what costs 1");
    for (unsigned i = 2; i < USES_MOST + 4; i++)
        ops->use(state, 0, FREE);
    for (unsigned i = 1; i < USES_MOST; i++) {
        cr_assert_eq(ops->place(state, 0, FREE), HOT);
        ops->use(state, 0, CHEAP);
    }
    cr_expect_eq(ops->place(state, 0, CHEAP), HOT, "of equal ranks, who was used last");
    while (ops->moved(state, 0, &move))
        ;
    ops->use(state, 0, DEAR);
    ops->use(state, 0, CHEAP);
    cr_expect_eq(ops->place(state, 0, DEAR), HOT);
    ops->close(state);
}
