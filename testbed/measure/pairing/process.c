// SPDX-License-Identifier: Apache-2.0
//
// process: see process.h.
//
// Who shares with whom is settled by the order of the arms: each joins the earliest process that has room for it. So whoever files
// a measurement knows it, and chance has no part in it.
#include "testbed/measure/pairing/process.h"

#include "testbed/measure/contender.h"
#include "testbed/stats/random.h"

// What a process has only once: its malloc, its environment, and what the contender says itself. Runs of many nodes and of
// strategies have another engine, and a bench has no laps.
static bool can_share(const struct tb_rounds *rounds, uint32_t cell, const struct tb_arm *arm)
{
    bool laps = !rounds->bench && !rounds->many_nodes && !tb_touch_has_own_arms(rounds->cells[cell].touch);
    return rounds->pair_laps && laps && !tb_arm_of_its_own(arm) && arm->contender->driver && arm->library[0] == '\0' &&
           !arm->contender->environment && !arm->contender->alone;
}

// Two arms that call the process's malloc would free into the same heap.
static bool fits(const struct tb_rounds *rounds, uint32_t cell, const uint32_t firsts[], uint32_t first, uint32_t arm)
{
    uint32_t count = 0, mallocs = rounds->arms[arm].contender->is_malloc;
    for (uint32_t i = first; i < arm; i++) {
        if (firsts[i] != first)
            continue;
        count++;
        mallocs += rounds->arms[i].contender->is_malloc;
    }
    return firsts[first] == first && count < TB_PROCESS_ARMS && mallocs <= 1 && can_share(rounds, cell, &rounds->arms[first]) &&
           tb_rounds_workers(rounds, cell, first) == tb_rounds_workers(rounds, cell, arm);
}

static void firsts_find(const struct tb_rounds *rounds, uint32_t cell, uint32_t firsts[TB_ARMS_MAX])
{
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
        uint32_t first = can_share(rounds, cell, &rounds->arms[arm]) ? 0 : arm;
        while (first < arm && !fits(rounds, cell, firsts, first, arm))
            first++;
        firsts[arm] = first;
    }
}

uint32_t tb_rounds_process(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    uint32_t firsts[TB_ARMS_MAX];
    firsts_find(rounds, cell, firsts);
    return firsts[arm];
}

bool tb_rounds_paired(const struct tb_rounds *rounds)
{
    for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
        for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
            if (tb_rounds_process(rounds, cell, arm) != arm)
                return true;
    return false;
}

static struct tb_process process_of(const uint32_t firsts[], uint32_t arms_count, uint32_t first)
{
    struct tb_process process = {.count = 0};
    for (uint32_t arm = first; arm < arms_count; arm++)
        if (firsts[arm] == first)
            process.arms[process.count++] = arm;
    return process;
}

// Those that are alone in their process follow each other, so that they are neighbours too.
static uint32_t paired_order(const struct tb_rounds *rounds, const uint32_t firsts[], uint64_t *random, struct tb_process out[])
{
    struct tb_process shared[TB_ARMS_MAX], alone[TB_ARMS_MAX];
    uint32_t shared_count = 0, alone_count = 0, order[TB_ARMS_MAX], inside[TB_ARMS_MAX], count = 0;
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
        struct tb_process process = process_of(firsts, rounds->arms_count, arm);
        if (process.count > 1)
            shared[shared_count++] = process;
        else if (process.count == 1)
            alone[alone_count++] = process;
    }
    uint32_t units = shared_count + (alone_count > 0);
    tb_random_order(order, units, random);
    tb_random_order(inside, alone_count, random);
    for (uint32_t i = 0; i < units; i++) {
        if (order[i] < shared_count)
            out[count++] = shared[order[i]];
        for (uint32_t j = 0; order[i] == shared_count && j < alone_count; j++)
            out[count++] = alone[inside[j]];
    }
    return count;
}

uint32_t tb_rounds_order(const struct tb_rounds *rounds, uint32_t cell, uint64_t *random, struct tb_process out[TB_ARMS_MAX])
{
    uint32_t each[TB_ARMS_MAX];
    if (rounds->pair_laps) {
        firsts_find(rounds, cell, each);
        return paired_order(rounds, each, random, out);
    }
    tb_random_order(each, rounds->arms_count, random);
    for (uint32_t i = 0; i < rounds->arms_count; i++)
        out[i] = (struct tb_process){.arms = {each[i]}, .count = 1};
    return rounds->arms_count;
}
