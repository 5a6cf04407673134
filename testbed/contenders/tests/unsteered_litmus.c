// SPDX-License-Identifier: Apache-2.0
//
// U1/U2 (contenders/unsteered.c): once a request counts as home, the other station has put its blocks away, and the table is its
// own station's again.
#include "testbed/measure/tests/stations_fixture.h"

#define BLOCKS 3u

static const struct tb_nodes_ops *ops;
static void *context;
static _Atomic unsigned arrived, round_now;

static void *other_main(void *argument)
{
    (void)argument;
    litmus_start(&arrived, 2);
    for (unsigned spin = 1; ops->home(context, 0) != atomic_load_explicit(&round_now, memory_order_relaxed); spin++) {
        ops->drain(context, 1);
        litmus_pause(spin);
    }
    return NULL;
}

static void run_once(struct locus_table *table, unsigned run)
{
    atomic_store_explicit(&arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&round_now, run, memory_order_relaxed);
    pthread_t other = litmus_thread(other_main, NULL);
    litmus_expect(ops->take(context, 0, table, BLOCKS) == 0, "blocks are taken");
    litmus_start(&arrived, 2);
    ops->finish(context, 1, 1, table);
    for (unsigned spin = 1; ops->home(context, 0) != run; spin++)
        litmus_pause(spin);
    litmus_expect(table->count == 0, "a table that is home is empty");
    pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    const int nodes[] = {fixture_node(), fixture_node()};
    struct tb_schedule *schedule = fixture_schedule(2, 1);
    struct locus_nodes memory = {0};
    locus_nodes_add(&memory, nodes[0]);
    schedule->pool_blocks = runs * BLOCKS; // a block that was given away does not come back
    ops = tb_contender_find("unsteered")->nodes->ops;
    struct tb_nodes_setup setup = {
        .schedule = schedule, .block_bytes = 64, .nodes = nodes, .count = 2, .memory = &memory, .lanes = 2};
    int error = ops->open(&setup, &context);
    if (error == -EPERM || error == -ENOSYS) {
        printf("mbind is not available here: %s\n", strerror(-error));
        return 77;
    }
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(2, BLOCKS));
    litmus_expect(error == 0 && table && locus_table_init(table, 2, BLOCKS, 1) == 0, "it opens");
    for (unsigned run = 1; run <= runs; run++)
        run_once(table, run);
    ops->close(context);
    free(table);
    free(schedule);
    printf("%u runs\n", runs);
    return 0;
}
