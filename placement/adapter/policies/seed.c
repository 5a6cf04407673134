// SPDX-License-Identifier: Apache-2.0
//
// seed: the rule of seed 002: who was used ten times within the last minute is hot, who was used at all is warm.
//
// Definition. A use at t counts while now < t + window_ns. Who has `uses` uses that count is admitted to HOT, who has one to WARM,
// and all others are COLD, also if there is room. The seed's rule knows no limits; where more are admitted than `hot` or `warm`,
// who was used last ranks first, and who has no room in HOT is WARM. A demoted one is admitted to less until its next use.
//
// A use changes at two moments what an adapter is admitted to: when the oldest of its last `uses` ends to count, and when the last
// one does. The earlier one that is still to come is the adapter's key in a second order. 8 bytes for each of `uses` and 49 more
// for each adapter.

#include <errno.h>
#include <stdlib.h>

#include "placement/adapter/ranks.h"

struct seed {
    struct ranks ranks;
    uint64_t window_ns;
    uint32_t uses;
    struct order due;           // by the time of the next change
    uint64_t *used_ns;          // [adapters][uses]: a ring of the last uses
    uint64_t *count;            // of an adapter's uses so far
};

static void seed_close(void *state)
{
    struct seed *seed = state;
    if (!seed)
        return;
    ranks_close(&seed->ranks);
    order_close(&seed->due);
    free(seed->used_ns);
    free(seed->count);
    free(seed);
}

static int seed_prepare(struct seed *seed, const struct locus_adapter_policy_config *config)
{
    seed->window_ns = config->window_ns;
    seed->uses = config->uses;
    seed->used_ns = calloc((size_t)config->adapters * config->uses, sizeof *seed->used_ns);
    seed->count = calloc(config->adapters, sizeof *seed->count);
    int error = order_open(&seed->due, config->adapters);
    return seed->used_ns && seed->count ? error : -ENOMEM;
}

static int seed_open(void **state, const struct locus_adapter_policy_config *given)
{
    struct locus_adapter_policy_config config;
    struct seed *seed = calloc(1, sizeof *seed);
    *state = NULL;
    if (!seed)
        return -ENOMEM;
    int error = ranks_open(&seed->ranks, given, &config);
    if (!error)
        error = seed_prepare(seed, &config);
    if (error) {
        seed_close(seed);
        return error;
    }
    *state = seed;
    return 0;
}

// When the `ago`th last use ends to count (1: the last one); 0: there was none.
static uint64_t ends_ns(const struct seed *seed, uint32_t adapter, uint32_t ago)
{
    if (seed->count[adapter] < ago)
        return 0;
    uint64_t used_ns = seed->used_ns[(size_t)adapter * seed->uses + (seed->count[adapter] - ago) % seed->uses];
    return used_ns < UINT64_MAX - seed->window_ns ? used_ns + seed->window_ns : UINT64_MAX;
}

static enum locus_adapter_place rule(const struct seed *seed, uint32_t adapter)
{
    if (seed->ranks.now_ns < ends_ns(seed, adapter, seed->uses))
        return LOCUS_ADAPTER_HOT;
    return seed->ranks.now_ns < ends_ns(seed, adapter, 1) ? LOCUS_ADAPTER_WARM : LOCUS_ADAPTER_COLD;
}

// The next change of what the rule says; UINT64_MAX stands for a time that never comes.
static void due_set(struct seed *seed, uint32_t adapter)
{
    enum locus_adapter_place admitted = rule(seed, adapter);
    if (seed->due.in[adapter])
        order_drop(&seed->due, adapter);
    if (admitted == LOCUS_ADAPTER_COLD)
        return;
    uint64_t due_ns = ends_ns(seed, adapter, admitted == LOCUS_ADAPTER_HOT ? seed->uses : 1);
    if (due_ns < UINT64_MAX)
        order_add(&seed->due, adapter, (struct order_key){due_ns, adapter});
}

static void seed_advance(struct seed *seed, uint64_t now_ns)
{
    if (seed->ranks.now_ns < now_ns)
        seed->ranks.now_ns = now_ns;
    for (uint32_t adapter; (adapter = seed->due.end[0]) != ORDER_NONE;) {
        if (seed->due.nodes[adapter].key.major > seed->ranks.now_ns)
            return;
        enum locus_adapter_place admitted = rule(seed, adapter), before = ranks_admitted(&seed->ranks, adapter);
        if (admitted < before)
            ranks_admit(&seed->ranks, adapter, admitted);
        due_set(seed, adapter);
    }
}

static void seed_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct seed *seed = state;
    seed_advance(seed, now_ns);
    seed->used_ns[(size_t)adapter * seed->uses + seed->count[adapter]++ % seed->uses] = seed->ranks.now_ns;
    ranks_set(&seed->ranks, adapter, rule(seed, adapter));
    due_set(seed, adapter);
}

static enum locus_adapter_place seed_place(void *state, uint64_t now_ns, uint32_t adapter)
{
    seed_advance(state, now_ns);
    return ranks_place(state, now_ns, adapter);
}

static bool seed_moved(void *state, uint64_t now_ns, struct locus_adapter_policy_move *out)
{
    seed_advance(state, now_ns);
    return ranks_moved(state, now_ns, out);
}

static uint64_t seed_due_ns(void *state)
{
    const struct order *due = &((struct seed *)state)->due;
    return due->end[0] == ORDER_NONE ? UINT64_MAX : due->nodes[due->end[0]].key.major;
}

static uint32_t seed_victim(void *state, uint64_t now_ns, enum locus_adapter_place place, uint32_t after)
{
    seed_advance(state, now_ns);
    return ranks_victim(state, now_ns, place, after);
}

static void seed_demote(void *state, uint64_t now_ns, uint32_t adapter)
{
    seed_advance(state, now_ns);
    ranks_demote(state, now_ns, adapter);
}

static void seed_forget(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct seed *seed = state;
    seed_advance(seed, now_ns);
    seed->count[adapter] = 0;
    ranks_forget(state, now_ns, adapter);
    due_set(seed, adapter);
}

const struct locus_adapter_policy locus_adapter_policy_seed = {
    .name = "seed",
    .summary = "the rule of seed 002: ten uses within a minute are hot, one is warm",
    .open = seed_open,
    .close = seed_close,
    .use = seed_use,
    .place = seed_place,
    .moved = seed_moved,
    .due_ns = seed_due_ns,
    .victim = seed_victim,
    .demote = seed_demote,
    .forget = seed_forget,
};
