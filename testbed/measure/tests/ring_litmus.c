// SPDX-License-Identifier: Apache-2.0
//
// R1/R2 and W1/W2: a worker sees the table as the owner sent it, and an owner that sees the worker idle sees the table as the
// worker left it. Odd runs spin, even runs sleep. Each pair is the only edge in its direction: with futex a worker's `asleep`
// (S2) also reaches the owner, but only with the next send, when the data has been read already. In each turn the request is
// finished for another contender (tb_crew_assign): the same two pairs order the plain stores of that.
#include "placement/base/tests/litmus.h"
#include "testbed/measure/dispatch.h"

#define TURNS 3u

static struct locus_table *table;
static unsigned finished;
static unsigned turns[2];

static void finish(void *context, uint32_t worker, struct locus_table *sent)
{
    litmus_expect(context == &turns[finished % 2], "the request is finished for the contender whose turn it is");
    litmus_expect(worker == 0 && sent == table, "the message is whole");
    litmus_expect(sent->tag == finished + 1, "the table is as the owner sent it");
    sent->count = ++finished;
}

// Odd turns wait until the worker sleeps, so that both ways into a message are used.
static void run_once(enum tb_dispatch dispatch)
{
    struct tb_crew crew;
    litmus_expect(tb_crew_start(&crew, 1, dispatch, finish, &turns[0]) == 0, "a worker starts");
    struct tb_worker *worker = &crew.workers[0];
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (unsigned spin = 1; dispatch == TB_DISPATCH_FUTEX && turn % 2; spin++) {
            if (atomic_load_explicit(&worker->asleep, memory_order_relaxed))
                break;
            litmus_pause(spin);
        }
        tb_crew_assign(&crew, finish, &turns[finished % 2]);
        table->tag++;
        tb_worker_send(worker, table);
        for (unsigned spin = 1; !tb_worker_idle(worker); spin++)
            litmus_pause(spin);
        litmus_expect(table->count == table->tag, "an idle worker has finished");
    }
    tb_crew_stop(&crew);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, 1));
    litmus_expect(table && locus_table_init(table, 1, 1, 1) == 0, "a table is laid out");
    for (unsigned run = 1; run <= runs; run++)
        run_once(run % 2 ? TB_DISPATCH_SPIN : TB_DISPATCH_FUTEX);
    free(table);
    printf("%u runs\n", runs);
    return 0;
}
