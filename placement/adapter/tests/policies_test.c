// SPDX-License-Identifier: Apache-2.0
//
// policies: each one says what a naive twin says, which is written from its definition with arrays and sorts; and all policies
// keep the contract.
#include "locus/adapter_policy.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "placement/adapter/order.h"
#include "placement/base/tests/sanitized.h"

enum { ADAPTERS = 24, USES_KEPT = 4096, STEPS = 6000, POLICIES = 2 };
#define WINDOW_NS 1000u
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
    unsigned uses;              // since open() or forget()
    uint64_t used_ns[USES_KEPT];
    uint64_t turn;
    enum locus_adapter_place limit; // demote()'s; HOT: none
    enum locus_adapter_place place;
};

struct twin {
    const char *name;
    struct locus_adapter_policy_config config;
    uint64_t now_ns, turns;
    struct twin_adapter adapters[ADAPTERS];
    uint32_t order[ADAPTERS];   // best first
};

static enum locus_adapter_place twin_admits(const struct twin *twin, const struct twin_adapter *adapter)
{
    unsigned counting = 0;
    if (strcmp(twin->name, "seed") == 0)
        for (unsigned i = 0; i < adapter->uses; i++)
            counting += twin->now_ns < adapter->used_ns[i] + twin->config.window_ns;
    else
        counting = adapter->uses ? twin->config.uses : 0;
    enum locus_adapter_place admits = counting >= twin->config.uses ? HOT : counting ? WARM : COLD;
    return admits < adapter->limit ? admits : adapter->limit;
}

static bool twin_better(const struct twin *twin, const struct twin_adapter *a, const struct twin_adapter *b)
{
    enum locus_adapter_place x = twin_admits(twin, a), y = twin_admits(twin, b);
    return x != y ? x > y : a->turn > b->turn;
}

static void twin_place_all(struct twin *twin)
{
    uint32_t hot = 0, warm = 0;
    for (uint32_t i = 0; i < ADAPTERS; i++) {
        uint32_t at = i;
        for (; at > 0 && twin_better(twin, &twin->adapters[i], &twin->adapters[twin->order[at - 1]]); at--)
            twin->order[at] = twin->order[at - 1];
        twin->order[at] = i;
    }
    for (uint32_t i = 0; i < ADAPTERS; i++) {
        struct twin_adapter *adapter = &twin->adapters[twin->order[i]];
        enum locus_adapter_place admits = twin_admits(twin, adapter);
        adapter->place = COLD;
        if (admits == HOT && hot < twin->config.hot)
            hot++, adapter->place = HOT;
        else if (admits != COLD && warm < twin->config.warm)
            warm++, adapter->place = WARM;
    }
}

static void twin_use(struct twin *twin, uint32_t number)
{
    struct twin_adapter *adapter = &twin->adapters[number];
    cr_assert_lt(adapter->uses, USES_KEPT);
    adapter->used_ns[adapter->uses++] = twin->now_ns;
    adapter->limit = HOT;
    adapter->turn = ++twin->turns;
    twin_place_all(twin);
}

static void twin_open(struct twin *twin, const char *name, const struct locus_adapter_policy_config *config)
{
    memset(twin, 0, sizeof *twin);
    twin->name = name;
    twin->config = *config;
    for (uint32_t i = 0; i < ADAPTERS; i++)
        twin->adapters[i].limit = HOT;
    twin_place_all(twin);
}

static void twin_demote(struct twin *twin, uint32_t number)
{
    if (twin->adapters[number].place != COLD)
        twin->adapters[number].limit = twin->adapters[number].place - 1;
    twin_place_all(twin);
}

static void twin_forget(struct twin *twin, uint32_t number)
{
    twin->adapters[number].uses = 0;
    twin_place_all(twin);
}

// --- policies beside their twins ------------------------------------------------------------------------------------------------

struct world {
    const struct locus_adapter_policy *ops;
    void *state;
    struct twin twin;
    enum locus_adapter_place told[ADAPTERS];
};

static void world_open(struct world *world, const struct locus_adapter_policy *ops,
                       const struct locus_adapter_policy_config *config)
{
    world->ops = ops;
    cr_assert_eq(ops->open(&world->state, config), 0);
    twin_open(&world->twin, ops->name, config);
    memset(world->told, 0, sizeof world->told);
}

// All that moved() says, and nobody twice.
static void moves_take(struct world *world)
{
    struct locus_adapter_policy_move move;
    bool seen[ADAPTERS] = {false};
    while (world->ops->moved(world->state, world->twin.now_ns, &move)) {
        cr_assert_lt(move.adapter, ADAPTERS);
        cr_assert_not(seen[move.adapter]);
        seen[move.adapter] = true;
        cr_assert_neq(move.from, move.to);
        cr_assert_eq(move.from, world->told[move.adapter]);
        world->told[move.adapter] = move.to;
    }
}

static void victims_compare(struct world *world, enum locus_adapter_place place)
{
    uint32_t victim = LOCUS_ADAPTER_NONE;
    for (uint32_t i = ADAPTERS; i-- > 0;) {
        if (world->twin.adapters[world->twin.order[i]].place != place)
            continue;
        victim = world->ops->victim(world->state, world->twin.now_ns, place, victim);
        cr_assert_eq(victim, world->twin.order[i], "%s: %u leaves, not %u", world->ops->name, victim, world->twin.order[i]);
    }
    cr_assert_eq(world->ops->victim(world->state, world->twin.now_ns, place, victim), LOCUS_ADAPTER_NONE);
}

static void world_compare(struct world *world, bool moves)
{
    uint32_t count[3] = {0};
    twin_place_all(&world->twin);
    for (uint32_t i = 0; i < ADAPTERS; i++) {
        enum locus_adapter_place place = world->ops->place(world->state, world->twin.now_ns, i);
        cr_assert_eq(place, world->twin.adapters[i].place, "%s: %u is %s", world->ops->name, i, locus_adapter_place_name(place));
        count[place]++;
    }
    cr_assert(count[HOT] <= world->twin.config.hot && count[WARM] <= world->twin.config.warm);
    victims_compare(world, HOT);
    victims_compare(world, WARM);
    if (!moves)
        return;
    moves_take(world);
    for (uint32_t i = 0; i < ADAPTERS; i++)
        cr_assert_eq(world->told[i], world->twin.adapters[i].place, "%s: %u is told wrong", world->ops->name, i);
}

static void world_step(struct world *world)
{
    uint32_t adapter = draw(1 + draw(ADAPTERS)), what = draw(20);
    world->twin.now_ns += draw(3) ? draw(40) : 0;
    twin_place_all(&world->twin);
    if (what == 0) {
        world->ops->forget(world->state, world->twin.now_ns, adapter);
        twin_forget(&world->twin, adapter);
    } else if (what <= 2) {
        world->ops->demote(world->state, world->twin.now_ns, adapter);
        twin_demote(&world->twin, adapter);
    } else if (what == 3 && draw(40) == 0) {
        world->twin.now_ns += WINDOW_NS;
    } else if (world->twin.adapters[adapter].uses < USES_KEPT) {
        world->ops->use(world->state, world->twin.now_ns, adapter);
        twin_use(&world->twin, adapter);
    }
}

static const struct locus_adapter_policy_config budgets[] = {
    {.hot = 4, .warm = 8},        {.hot = 0, .warm = 5},        {.hot = 5, .warm = 0}, {.hot = 1, .warm = 1},
    {.hot = ADAPTERS, .warm = 1}, {.hot = 3, .warm = ADAPTERS}, {.hot = 0, .warm = 0}, {.hot = UINT32_MAX, .warm = UINT32_MAX},
};

Test(residency, every_policy_says_what_its_twin_says, .timeout = 120)
{
    static struct world world;
    for (uint32_t p = 0; locus_adapter_policy_at(p); p++)
        for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) {
            struct locus_adapter_policy_config config = budgets[b];
            config.size = sizeof config;
            config.adapters = ADAPTERS;
            config.window_ns = WINDOW_NS;
            config.uses = 1 + (uint32_t)b % 4;
            world_open(&world, locus_adapter_policy_at(p), &config);
            world_compare(&world, true);
            for (unsigned step = 0; step < STEPS / 8; step++) {
                world_step(&world);
                world_compare(&world, draw(3) == 0);
            }
            world.ops->close(world.state);
        }
}

Test(residency, seed_changes_a_place_exactly_when_it_said, .timeout = 60)
{
    static struct world world;
    struct locus_adapter_policy_config config = {
        .size = sizeof config, .adapters = ADAPTERS, .hot = 4, .warm = 8, .window_ns = WINDOW_NS, .uses = 3};
    struct locus_adapter_policy_move move;
    world_open(&world, &locus_adapter_policy_seed, &config);
    cr_expect_eq(world.ops->due_ns(world.state), UINT64_MAX);
    for (unsigned step = 0; step < STEPS; step++) {
        world_step(&world);
        moves_take(&world);
        uint64_t due_ns = world.ops->due_ns(world.state);
        if (draw(4) || due_ns == UINT64_MAX)
            continue;
        cr_assert_gt(due_ns, world.twin.now_ns);
        cr_assert_not(world.ops->moved(world.state, due_ns - 1, &move));
        world.twin.now_ns = due_ns;
        world_compare(&world, true);
        cr_assert_gt(world.ops->due_ns(world.state), due_ns);
    }
    world.ops->close(world.state);
}

Test(residency, the_rule_of_the_seed_is_ten_uses_in_sixty_seconds, .timeout = 60)
{
    void *state;
    const uint64_t s = 1000000000;
    const struct locus_adapter_policy *ops = locus_adapter_policy_find("seed");
    struct locus_adapter_policy_config config = {.size = sizeof config, .adapters = 2, .hot = 100, .warm = 1000};
    cr_assert_eq(ops->open(&state, &config), 0);
    cr_expect_eq(ops->place(state, 0, 1), COLD);
    for (unsigned i = 1; i <= 10; i++) {
        ops->use(state, i * s, 1);
        cr_expect_eq(ops->place(state, i * s, 1), i < 10 ? WARM : HOT);
    }
    cr_expect_eq(ops->due_ns(state), 61 * s);
    cr_expect_eq(ops->place(state, 61 * s - 1, 1), HOT);
    cr_expect_eq(ops->place(state, 61 * s, 1), WARM);
    cr_expect_eq(ops->due_ns(state), 70 * s);
    cr_expect_eq(ops->place(state, 60 * s, 1), WARM, "a clock that goes back stands still");
    cr_expect_eq(ops->place(state, 70 * s - 1, 1), WARM);
    cr_expect_eq(ops->place(state, 70 * s, 1), COLD);
    cr_expect_eq(ops->due_ns(state), UINT64_MAX);
    cr_expect_eq(ops->place(state, 70 * s, 0), COLD);
    ops->use(state, UINT64_MAX - s, 0);
    cr_expect_eq(ops->place(state, UINT64_MAX, 0), WARM, "the clock ends before the minute does");
    ops->close(state);
}

Test(residency, policies_are_found_by_name_and_number)
{
    uint32_t count = 0;
    for (; locus_adapter_policy_at(count); count++)
        cr_expect_eq(locus_adapter_policy_find(locus_adapter_policy_at(count)->name), locus_adapter_policy_at(count));
    cr_expect_eq(count, POLICIES);
    cr_expect_null(locus_adapter_policy_find("none"));
    cr_expect_str_eq(locus_adapter_place_name(HOT), "hot");
    cr_expect_str_eq(locus_adapter_place_name(WARM), "warm");
    cr_expect_str_eq(locus_adapter_place_name(COLD), "cold");
}

Test(residency, configs_that_cannot_be_are_refused)
{
    struct {
        struct locus_adapter_policy_config known;
        uint64_t later;
    } later = {.known = {.size = sizeof later, .adapters = 1}, .later = 1};
    const struct locus_adapter_policy_config refused[] = {
        {.size = sizeof *refused},
        {.size = sizeof *refused, .adapters = (1u << 28) + 1},
        {.size = sizeof *refused, .adapters = 1, .uses = 1001},
        {.size = 1, .adapters = 1},
    };
    for (uint32_t p = 0; locus_adapter_policy_at(p); p++) {
        void *state = &later;
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            cr_expect_eq(locus_adapter_policy_at(p)->open(&state, &refused[i]), -EINVAL);
        cr_expect_null(state);
        cr_expect_eq(locus_adapter_policy_at(p)->open(&state, &later.known), -E2BIG);
        later.later = 0;
        cr_expect_eq(locus_adapter_policy_at(p)->open(&state, &later.known), 0);
        later.later = 1;
        locus_adapter_policy_at(p)->close(state);
        locus_adapter_policy_at(p)->close(NULL);
    }
}

#ifndef SANITIZED // its own memory does not fit below the limit
static size_t address_space_bytes(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

// Each of its arrays is a mapping of its own, so with more room one more of them can be had.
Test(residency, every_lack_of_memory_is_said_and_all_is_given_back)
{
    struct locus_adapter_policy_config config = {.size = sizeof config, .adapters = 200000, .hot = 1, .warm = 1};
    struct rlimit limit;
    mallopt(M_MMAP_THRESHOLD, 65536);
    for (uint32_t p = 0; locus_adapter_policy_at(p); p++) {
        void *state;
        unsigned failures = 0;
        size_t room = 0, mapped = mallinfo2().hblkhd;
        for (int error = -ENOMEM; error; room += 160000) {
            cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
            rlim_t before = limit.rlim_cur;
            limit.rlim_cur = address_space_bytes() + room;
            cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
            error = locus_adapter_policy_at(p)->open(&state, &config);
            limit.rlim_cur = before;
            cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
            cr_assert(error == 0 || (error == -ENOMEM && !state), "%s: %d", locus_adapter_policy_at(p)->name, error);
            failures += error != 0;
            cr_assert(error == 0 || mallinfo2().hblkhd == mapped, "%s: not all is given back", locus_adapter_policy_at(p)->name);
        }
        cr_expect_gt(failures, 20);
        locus_adapter_policy_at(p)->close(state);
        cr_expect_eq(mallinfo2().hblkhd, mapped);
    }
}
#endif

// --- order ----------------------------------------------------------------------------------------------------------------------

static void order_check(const struct order *order, const bool *in, const struct order_key *key, uint32_t numbers)
{
    uint32_t count = 0, before = ORDER_NONE;
    for (uint32_t i = 0; i < numbers; i++) {
        count += in[i];
        cr_assert_eq(order->in[i], in[i]);
    }
    for (uint32_t at = order->end[0]; at != ORDER_NONE; before = at, at = order->nodes[at].beside[1], count--) {
        cr_assert(in[at] && order->nodes[at].beside[0] == before);
        cr_assert(before == ORDER_NONE || key[before].major < key[at].major ||
                  (key[before].major == key[at].major && key[before].minor < key[at].minor));
    }
    cr_assert_eq(order->end[1], before);
    cr_assert_eq(count, 0);
}

// Keys and priorities allow one shape only, so it does not matter what came and went.
static void order_check_shape(const struct order *order, const bool *in, const struct order_key *key, uint32_t numbers)
{
    struct order fresh;
    cr_assert_eq(order_open(&fresh, numbers), 0);
    for (uint32_t i = 0; i < numbers; i++)
        if (in[i])
            order_add(&fresh, i, key[i]);
    cr_assert_eq(order->root, fresh.root);
    for (uint32_t i = 0; i < numbers; i++)
        cr_assert(!in[i] || memcmp(&order->nodes[i], &fresh.nodes[i], sizeof fresh.nodes[i]) == 0);
    order_close(&fresh);
}

Test(residency, order_keeps_numbers_sorted)
{
    enum { NUMBERS = 50 };
    struct order order;
    struct order_key key[NUMBERS];
    bool in[NUMBERS] = {false};
    cr_assert_eq(order_open(&order, NUMBERS), 0);
    for (uint32_t step = 0; step < 20000; step++) {
        uint32_t i = draw(NUMBERS);
        if (in[i]) {
            order_drop(&order, i);
        } else {
            key[i] = (struct order_key){draw(10), step};
            order_add(&order, i, key[i]);
        }
        in[i] = !in[i];
        order_check(&order, in, key, NUMBERS);
        if (step % 100 == 0)
            order_check_shape(&order, in, key, NUMBERS);
    }
    order_close(&order);
}

// 2 ln(65,536) = 22 on average, for the worst kind of keys for a tree without rotations.
Test(residency, order_is_flat_for_sorted_keys)
{
    enum { NUMBERS = 65536 };
    struct order order;
    uint32_t most = 0;
    cr_assert_eq(order_open(&order, NUMBERS), 0);
    for (uint32_t i = 0; i < NUMBERS; i++)
        order_add(&order, i, (struct order_key){0, i});
    for (uint32_t i = 0; i < NUMBERS; i++) {
        uint32_t depth = 0;
        for (uint32_t at = i; at != order.root && depth < 1000; at = order.nodes[at].parent)
            depth++;
        most = depth > most ? depth : most;
    }
    cr_expect_lt(most, 60, "%u deep", most);
    order_close(&order);
}
