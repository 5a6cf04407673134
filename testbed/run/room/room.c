// SPDX-License-Identifier: Apache-2.0
//
// room: see room.h.

#include "testbed/run/room/room.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "locus/region.h"
#include "testbed/base/words.h"
#include "testbed/host/topology/topo_view.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/engines/plan.h"
#include "testbed/measure/nodes/ops.h"
#include "testbed/measure/pairing/process.h"
#include "topo/topo.h"

#define PAGE_BYTES UINT64_C(4096)
#define PAGE_TABLES 512u        // entries of a page of them: what is mapped costs one part in so many more
#define BYTES_PER_S 1e10

// What a process takes.
struct need {
    uint64_t all_bytes;         // in all
    uint64_t home_bytes;        // of them on each node with CPUs, where nothing may lie elsewhere
    uint32_t cell, arm, others; // `arm` and so many more at once
};

// --- what is needed -------------------------------------------------------------------------------------------------------------

// A product that is too large for 64 bits is larger than any memory.
static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool is_filled_beforehand(const struct tb_rounds *rounds, const struct tb_arm *arm)
{
    const struct tb_contender *contender = arm->contender;
    if (arm->library[0] || contender->is_malloc || contender->on_demand)
        return false;
    return !rounds->many_nodes || (contender->nodes && contender->nodes->policy != LOCUS_POLICY_FIRST_TOUCH);
}

// What a touch leaves of a block in memory that nothing filled beforehand.
static uint64_t touched_bytes(const struct tb_cell *cell, uint64_t block_bytes)
{
    bool whole = cell->touch == TB_TOUCH_FULL || cell->touch == TB_TOUCH_LINE || cell->touch == TB_TOUCH_DECODE;
    return whole || block_bytes < PAGE_BYTES ? block_bytes : cell->touch == TB_TOUCH_NONE ? 0 : PAGE_BYTES;
}

// One pool of an arm.
static uint64_t pool_bytes(const struct tb_rounds *rounds, uint32_t at, const struct tb_arm *arm)
{
    const struct tb_cell *cell = &rounds->cells[at];
    uint64_t block_bytes = tb_rounds_block_bytes(rounds, at);
    if (arm->contender->harness)
        return block_bytes;
    if (is_filled_beforehand(rounds, arm))
        return times(cell->pool_blocks ? cell->pool_blocks : cell->schedule->pool_blocks, block_bytes);
    return times(cell->schedule->blocks_peak, touched_bytes(cell, block_bytes));
}

static uint64_t engine_bytes(const struct tb_cell *cell)
{
    const struct tb_engines_plan *plan = tb_engines_plan(cell->schedule);
    const struct tb_engine_settings *settings = &plan->settings;
    uint64_t value_bytes = strcmp(settings->kv_type, "f32") == 0 ? 4 : 2;
    uint64_t steps = cell->laps + cell->laps_warmup;
    uint64_t tokens = settings->context_tokens ? settings->context_tokens : settings->prompt_tokens + steps;
    uint64_t token_bytes = times(2 * value_bytes * plan->model.layers, (uint64_t)plan->model.kv_heads * plan->model.head_dim);
    return plus(plan->model_bytes, times(times(tokens, settings->batch), token_bytes));
}

// Of the process whose first arm this is.
static struct need process_need(const struct tb_rounds *rounds, uint32_t cell, uint32_t first, uint64_t homes)
{
    struct need need = {.cell = cell, .arm = first};
    const struct tb_cell *at = &rounds->cells[cell];
    if (at->touch == TB_TOUCH_ENGINE)
        need.all_bytes = engine_bytes(at);
    if (tb_touch_has_own_arms(at->touch)) // the others decide in virtual time, and have no pool
        return need;
    for (uint32_t arm = first; arm < rounds->arms_count; arm++) {
        if (tb_rounds_process(rounds, cell, arm) != first)
            continue;
        uint64_t bytes = pool_bytes(rounds, cell, &rounds->arms[arm]);
        const struct tb_nodes_contender *nodes = rounds->arms[arm].contender->nodes;
        need.others += arm != first;
        need.all_bytes = plus(need.all_bytes, rounds->many_nodes ? times(bytes, homes) : bytes);
        if (rounds->many_nodes && nodes && locus_policy_strict(nodes->policy))
            need.home_bytes = plus(need.home_bytes, bytes);
    }
    return need;
}

// --- what is there --------------------------------------------------------------------------------------------------------------

int tb_room_host(struct tb_room_host *out)
{
    struct locus_topo *topo;
    int error = locus_topo_open(&topo, NULL, NULL, 0);
    if (error)
        return error;
    *out = (struct tb_room_host){.cgroup_bytes = UINT64_MAX};
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        if (!node->allowed || !locus_topo_node_by_default(node) || node->memory.total_bytes == 0)
            continue;
        locus_nodes_add(&out->nodes, node->os_index);
        if (node->cpus_allowed_count > 0)
            locus_nodes_add(&out->homes, node->os_index);
        if (locus_node_room_bytes(node->os_index, &out->free_bytes[node->os_index]))
            out->free_bytes[node->os_index] = UINT64_MAX;
    }
    locus_topo_close(topo);
    if (locus_cgroup_memory_room_bytes(&out->cgroup_bytes))
        out->cgroup_bytes = UINT64_MAX;
    return locus_nodes_count(&out->nodes) ? 0 : -ENODEV;
}

// The node with CPUs that has least.
static int scarcest(const struct tb_room_host *host)
{
    int least = locus_nodes_next(&host->homes, 0);
    for (int node = least; node >= 0; node = locus_nodes_next(&host->homes, node + 1))
        least = host->free_bytes[node] < host->free_bytes[least] ? node : least;
    return least;
}

static bool holds(uint64_t there_bytes, uint64_t needed_bytes)
{
    return there_bytes == UINT64_MAX || plus(needed_bytes, needed_bytes / PAGE_TABLES) <= there_bytes;
}

static uint64_t free_in_all(const struct tb_room_host *host)
{
    uint64_t all = 0;
    for (int node = locus_nodes_next(&host->nodes, 0); node >= 0; node = locus_nodes_next(&host->nodes, node + 1))
        all = plus(all, host->free_bytes[node]);
    return all;
}

enum lack { LACK_NOTHING, LACK_CGROUP, LACK_NODE, LACK_ALL };

static enum lack lack_of(const struct need *need, const struct tb_room_host *host)
{
    int least = need->home_bytes ? scarcest(host) : -1;
    if (!holds(host->cgroup_bytes, need->all_bytes))
        return LACK_CGROUP;
    if (least >= 0 && locus_nodes_count(&host->nodes) > 1 && !holds(host->free_bytes[least], need->home_bytes))
        return LACK_NODE;
    return holds(free_in_all(host), need->all_bytes) ? LACK_NOTHING : LACK_ALL;
}

// The largest process that this host cannot hold, or else the largest.
static struct need worst(const struct tb_rounds *rounds, const struct tb_room_host *host)
{
    struct need most = {0};
    bool refused = false;
    uint64_t homes = locus_nodes_count(&host->homes);
    for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
        for (uint32_t arm = 0; rounds->cells[cell].schedule && arm < rounds->arms_count; arm++) {
            if (tb_rounds_process(rounds, cell, arm) != arm)
                continue;
            struct need need = process_need(rounds, cell, arm, homes);
            bool lacks = lack_of(&need, host) != LACK_NOTHING;
            if (lacks == refused ? need.all_bytes > most.all_bytes : lacks)
                most = need;
            refused |= lacks;
        }
    return most;
}

// "node 0 has 22.6 GiB", "2 nodes together have 45 GiB", "its cgroup leaves 8 GiB": what refuses, or else what there is.
static void say_there(const struct need *need, enum lack lack, const struct tb_room_host *host, struct tb_words *words)
{
    uint64_t all = free_in_all(host);
    unsigned count = locus_nodes_count(&host->nodes);
    int least = lack == LACK_NODE ? scarcest(host) : -1;
    char there[32], each[32];
    if (lack == LACK_CGROUP)
        tb_say(words, ", its cgroup leaves %s", tb_topo_bytes(there, sizeof there, host->cgroup_bytes, true));
    else if (lack == LACK_NODE)
        tb_say(words, ", %s of it on each node, node %d has %s", tb_topo_bytes(each, sizeof each, need->home_bytes, true), least,
               tb_topo_bytes(there, sizeof there, host->free_bytes[least], true));
    else if (all == UINT64_MAX)
        tb_say(words, ", and the kernel does not say what is free");
    else if (count == 1)
        tb_say(words, ", node %d has %s", locus_nodes_next(&host->nodes, 0), tb_topo_bytes(there, sizeof there, all, true));
    else
        tb_say(words, ", %u nodes together have %s", count, tb_topo_bytes(there, sizeof there, all, true));
}

// --- both -----------------------------------------------------------------------------------------------------------------------

int tb_room_check(const struct tb_rounds *rounds, const struct tb_room_host *host, char *why, size_t why_bytes)
{
    struct need need = worst(rounds, host);
    enum lack lack = lack_of(&need, host);
    struct tb_words words = {0};
    char cell[128], bytes[32];
    why[0] = '\0';
    if (need.all_bytes == 0)
        return 0;
    if (rounds->cells[need.cell].name)
        snprintf(cell, sizeof cell, "%s", rounds->cells[need.cell].name);
    else
        tb_text_cell(rounds, need.cell, cell, sizeof cell);
    tb_say(&words, "needs %s (%s, arm %s", tb_topo_bytes(bytes, sizeof bytes, need.all_bytes, true), cell,
           rounds->arms[need.arm].label);
    if (need.others)
        tb_say(&words, " and %u more in one process", need.others);
    tb_say(&words, ")");
    say_there(&need, lack, host, &words);
    snprintf(why, why_bytes, "%s", words.text);
    return lack ? -E2BIG : 0;
}

int tb_room(const struct tb_rounds *rounds, char *why, size_t why_bytes)
{
    static struct tb_room_host host;
    why[0] = '\0';
    return tb_room_host(&host) ? 0 : tb_room_check(rounds, &host, why, why_bytes);
}

// --- time -----------------------------------------------------------------------------------------------------------------------

static double lap_bytes(const struct tb_rounds *rounds, uint32_t at)
{
    const struct tb_cell *cell = &rounds->cells[at];
    const struct tb_schedule *schedule = cell->schedule;
    double block_bytes = (double)tb_rounds_block_bytes(rounds, at);
    if (cell->touch == TB_TOUCH_FULL)
        return (double)schedule->blocks_per_lap * block_bytes;
    if (cell->touch != TB_TOUCH_DECODE || !schedule->block_tokens)
        return 0;
    return (double)schedule->attended_per_lap * schedule->blocks_per_group * block_bytes / schedule->block_tokens;
}

double tb_room_seconds(const struct tb_rounds *rounds)
{
    double bytes = 0;
    for (uint32_t at = 0; at < rounds->cells_count; at++) {
        const struct tb_cell *cell = &rounds->cells[at];
        uint32_t laps = cell->laps + cell->laps_warmup + cell->laps_clocked + cell->laps_counted;
        uint32_t writers = 0;
        for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
            writers += !tb_arm_of_its_own(&rounds->arms[arm]) && !rounds->arms[arm].contender->harness;
        if (cell->schedule)
            bytes += lap_bytes(rounds, at) * laps * writers * rounds->count;
    }
    return bytes / BYTES_PER_S;
}

const char *tb_room_time(double seconds, char *out, size_t bytes)
{
    out[0] = '\0';
    bool long_ = seconds >= 2 * 3600;
    if (seconds >= 60)
        snprintf(out, bytes, "about %.0f %s (%.1f TB at 10 GB/s)", seconds / (long_ ? 3600 : 60), long_ ? "h" : "min",
                 seconds * BYTES_PER_S / 1e12);
    return out;
}
