// SPDX-License-Identifier: Apache-2.0
//
// Samples of the way home: a pool on `memory` with its owner beside it, and a thread of the initiator that sends requests home. In
// turns, so that each is timed alone: the owner fills and retires the tables; the pusher sends them all, which is PUSH; the
// owner drains them all, which is DRAIN, of blocks that the other's cache had last.
//
// The tables lie on the owner's node, too. The owner runs on the last CPU of its node, or of the nearest where it has none: beside
// the pusher's, if there are two.
#include "testbed/matrix/attempt.h"

#include <stdlib.h>

#include "locus/owner.h"
#include "testbed/loops/gang.h"

#define TABLES_MAX 256u
#define BLOCK_BYTES 64u         // nobody touches a block here

enum { OWNER, PUSHER, THREADS };

struct turn {
    struct tb_gang_meeting filled, pushed;
};

struct home {
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_route route;
    struct locus_table *table[TABLES_MAX];
    unsigned tables, turns;
    struct turn *turn;          // [turns]
    uint64_t push_ns, drain_ns, drained, refused;
};

static void own_turn(struct home *home, struct turn *turn)
{
    for (unsigned i = 0; i < home->tables; i++) {
        home->refused += locus_owner_grow(home->owner, home->table[i], TB_ATTEMPT_BLOCKS) != 0;
        home->refused += locus_owner_retire(home->owner, home->table[i]) != 0;
    }
    tb_gang_meet(&turn->filled, THREADS);
    tb_gang_meet(&turn->pushed, THREADS);
    uint64_t start = tb_gang_now_ns();
    home->drained += locus_owner_drain(home->owner);
    home->drain_ns += tb_gang_now_ns() - start;
    for (unsigned i = 0; i < home->tables; i++)
        home->refused += locus_owner_next_reclaimed(home->owner) == NULL;
}

static void push_turn(struct home *home, struct turn *turn)
{
    tb_gang_meet(&turn->filled, THREADS);
    uint64_t start = tb_gang_now_ns();
    for (unsigned i = 0; i < home->tables; i++)
        locus_table_push(&home->route, home->table[i]);
    home->push_ns += tb_gang_now_ns() - start;
    tb_gang_meet(&turn->pushed, THREADS);
}

static void work(void *context, unsigned who)
{
    struct home *home = context;
    if (who == OWNER && locus_owner_adopt(home->owner))
        home->refused++;
    for (unsigned i = 0; i < home->turns; i++) {
        if (who == OWNER)
            own_turn(home, &home->turn[i]);
        else
            push_turn(home, &home->turn[i]);
    }
    if (who == OWNER)
        locus_owner_leave(home->owner);
}

static int open_pool(struct home *home, int memory)
{
    struct locus_pool_config pool = {.size = sizeof pool,
                                     .blocks = home->tables * TB_ATTEMPT_BLOCKS,
                                     .block_bytes = BLOCK_BYTES,
                                     .policy = LOCUS_POLICY_BIND,
                                     .node = memory,
                                     .populate = true};
    int result = locus_pool_open(&home->pool, &pool);
    struct locus_owner_config owner = {.size = sizeof owner, .pool = home->pool, .lanes = 1};
    if (!result)
        result = locus_owner_open(&home->owner, &owner);
    return result ? result : locus_route_add(&home->route, home->owner, 0);
}

static int lay_tables(struct home *home, char *memory)
{
    size_t bytes = locus_table_bytes(1, TB_ATTEMPT_BLOCKS);
    int result = 0;
    for (unsigned i = 0; i < home->tables && !result; i++) {
        home->table[i] = (struct locus_table *)(void *)(memory + i * bytes);
        result = locus_table_init(home->table[i], 1, TB_ATTEMPT_BLOCKS, 16);
    }
    return result;
}

// The owner first: gang members are numbered in the order of the CPUs.
static bool take_cpus(struct tb_attempt *attempt, int owner_node, int pusher_node)
{
    const struct locus_topo_node *node = locus_topo_node(attempt->topo, owner_node);
    unsigned count = node ? tb_places_cpus_count(attempt->topo, node) : 0;
    if (!tb_attempt_cpus(attempt, owner_node, count > 0 ? count : 1))
        return false;
    attempt->cpus[0] = attempt->cpus[count - 1];
    attempt->cpus_count = 1;
    return tb_attempt_cpus(attempt, pusher_node, 1);
}

static void open_home(struct tb_attempt *attempt)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    struct home *home = calloc(1, sizeof *home);
    attempt->own = home;
    unsigned tables = (unsigned)(attempt->bytes / (TB_ATTEMPT_BLOCKS * sizeof(locus_block)));
    if (!home || !(home->turn = calloc(tables / TABLES_MAX + 1, sizeof *home->turn))) {
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "out of memory");
        return;
    }
    home->tables = tables < TABLES_MAX ? tables : TABLES_MAX;
    home->turns = tables / home->tables;
    if (!take_cpus(attempt, tb_places_nearest_cpus(attempt->topo, cell->memory), cell->initiator) ||
        !tb_attempt_span(attempt, 0, TB_SPAN_PAGES, cell->memory, home->tables * locus_table_bytes(1, TB_ATTEMPT_BLOCKS)))
        return;
    int result = open_pool(home, cell->memory);
    if (!result)
        result = lay_tables(home, locus_region_base(attempt->span[0]->region));
    if (result)
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "no pool opens on node %d: %s", cell->memory,
                        locus_policy_why(LOCUS_POLICY_BIND, result));
    else
        attempt->region[attempt->regions_count++] = (struct locus_region *)(uintptr_t)locus_pool_region(home->pool);
}

static void measure(struct tb_attempt *attempt)
{
    struct home *home = attempt->own;
    struct tb_gang_job job = {.work = work, .context = home};
    if (!tb_attempt_gang(attempt, &job))
        return;
    uint64_t pushes = (uint64_t)home->turns * home->tables;
    bool push = attempt->cell->kind == TB_MATRIX_PUSH;
    attempt->bytes_moved = home->drained * sizeof(locus_block);
    attempt->time_ns = push ? home->push_ns : home->drain_ns;
    attempt->value = (double)attempt->time_ns / (double)(push ? pushes : pushes * TB_ATTEMPT_BLOCKS);
    if (home->refused > 0)
        tb_attempt_fail(attempt, TB_MATRIX_INVALID, "%lu calls of the pool's owner failed", (unsigned long)home->refused);
}

static void close_home(struct tb_attempt *attempt)
{
    struct home *home = attempt->own;
    if (!home)
        return;
    locus_owner_close(home->owner);
    locus_pool_close(home->pool);
    free(home->turn);
    free(home);
}

const struct tb_attempt_ops tb_attempt_home = {.open = open_home, .measure = measure, .close = close_home};
