// SPDX-License-Identifier: Apache-2.0
//
// V1/V2: the owner sees a table in the ring as the worker left it. Each run goes round the ring more than twice, so that both
// parities are used. The check that holds the worker back when the ring is full is relaxed, and every table travels once: the
// pair is the only edge.
#include <string.h>

#include "placement/base/tests/litmus.h"
#include "testbed/contenders/spsc.h"

#define TABLES 20u // not a multiple of the ring

static struct tb_spsc *ring;
static struct locus_table *tables[TABLES];
static _Atomic unsigned arrived, taken;
static uint64_t slots;

static void *worker_main(void *argument)
{
    (void)argument;
    litmus_start(&arrived, 2);
    for (unsigned i = 0; i < TABLES; i++) {
        for (unsigned spin = 1; i - atomic_load_explicit(&taken, memory_order_relaxed) >= slots; spin++)
            litmus_pause(spin);
        tables[i]->tag = i + 1;
        tb_spsc_push(ring, tables[i]);
    }
    return NULL;
}

static void run_once(void)
{
    memset(ring, 0, tb_spsc_bytes(slots));
    tb_spsc_init(ring, slots);
    for (unsigned i = 0; i < TABLES; i++)
        tables[i]->tag = 0;
    atomic_store_explicit(&arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&taken, 0, memory_order_relaxed);
    pthread_t worker = litmus_thread(worker_main, NULL);
    litmus_start(&arrived, 2);
    for (unsigned i = 0; i < TABLES; i++) {
        struct locus_table *table;
        for (unsigned spin = 1; !(table = tb_spsc_take(ring)); spin++)
            litmus_pause(spin);
        litmus_expect(table == tables[i], "tables come out whole and in order");
        litmus_expect(table->tag == i + 1, "the table is as the worker left it");
        atomic_store_explicit(&taken, i + 1, memory_order_relaxed);
    }
    litmus_expect(!tb_spsc_take(ring), "nothing is left");
    pthread_join(worker, NULL);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    slots = tb_spsc_slots(1);
    ring = aligned_alloc(LOCUS_CACHE_LINE, tb_spsc_bytes(slots));
    litmus_expect(ring && slots < TABLES, "a ring that is smaller than what travels through it");
    for (unsigned i = 0; i < TABLES; i++) {
        tables[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, 1));
        litmus_expect(tables[i] && locus_table_init(tables[i], 1, 1, 1) == 0, "a table is laid out");
    }
    for (unsigned run = 1; run <= runs; run++)
        run_once();
    for (unsigned i = 0; i < TABLES; i++)
        free(tables[i]);
    free(ring);
    printf("%u runs\n", runs);
    return 0;
}
