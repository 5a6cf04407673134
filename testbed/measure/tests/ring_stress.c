// SPDX-License-Identifier: Apache-2.0
//
// ring_stress SECONDS SEED: no request is lost, doubled or overtaken between owner and worker, and no wake-up is lost.
//
// A lost wake-up (S1/S2 in dispatch.h) is not a data race, so the litmus cannot see it: here the worker goes to sleep at about the
// time of the next send, again and again, and a worker that does not become idle is the failure. Even x86 delays a store behind
// a later load, so this needs no other machine. Now and then more is sent than the ring holds, so that it fills up and its
// parity turns. Before each turn the crew is assigned to one of two contenders (tb_crew_assign), and must finish in its name.
#include "placement/blocks/tests/stress.h"
#include "testbed/measure/dispatch.h"

#include <sched.h>

#include "locus/lane.h"

#define TABLES (TB_RING_SLOTS + 500u) // not a multiple of the ring
#define TURNS 20000u
#define PATIENCE_S 5.0 // arbitrary; no scheduler keeps a runnable thread waiting for so long
#define SPINS 4096u    // idle looks between two looks at the clock

static struct locus_table *tables[TABLES];
static uint64_t sent, finished;
static uint64_t finished_for[2];    // plain, as a contender's own counts are
static uint64_t *assigned = &finished_for[0]; // the owner's

// The tag is written by the owner, the count by the worker.
static void finish(void *context, uint32_t worker, struct locus_table *table)
{
    ++*(uint64_t *)context;
    STRESS_EXPECT(worker == 0 && table == tables[finished % TABLES]);
    STRESS_EXPECT(table->tag == ++finished);
    table->count = (uint32_t)table->tag;
}

static void finish_other(void *context, uint32_t worker, struct locus_table *table)
{
    STRESS_EXPECT(context == &finished_for[1]);
    finish(context, worker, table);
}

static void assign(struct tb_crew *crew, uint32_t to)
{
    assigned = &finished_for[to];
    tb_crew_assign(crew, to ? finish_other : finish, assigned);
}

static void wait_idle(struct tb_worker *worker)
{
    double start_s = 0;
    for (unsigned spin = 1; !tb_worker_idle(worker); spin++) {
        locus_cpu_relax();
        if (spin % SPINS)
            continue;
        double now_s = stress_now_s();
        start_s = start_s > 0 ? start_s : now_s;
        STRESS_EXPECT(now_s - start_s < PATIENCE_S); // it sleeps, and nobody will wake it
        sched_yield();
    }
}

static void send(struct tb_worker *worker)
{
    struct locus_table *table = tables[sent % TABLES];
    while (tb_worker_full(worker))
        sched_yield();
    STRESS_EXPECT(sent < TABLES || table->count == (uint32_t)table->tag);
    table->tag = ++sent;
    tb_worker_send(worker, table);
}

static void run_round(enum tb_dispatch dispatch, uint64_t random, double end_s)
{
    struct tb_crew crew;
    STRESS_EXPECT(tb_crew_start(&crew, 1, dispatch, finish, &finished_for[0]) == 0);
    for (unsigned turn = 0; turn < TURNS && (turn % 256 || stress_now_s() < end_s); turn++) {
        uint32_t burst = stress_random(&random, 2000) == 0 ? TABLES - 1 : 1 + stress_random(&random, 4) / 3;
        assign(&crew, stress_random(&random, 2));
        uint64_t before = *assigned;
        for (uint32_t i = 0; i < burst; i++)
            send(&crew.workers[0]);
        wait_idle(&crew.workers[0]);
        STRESS_EXPECT(finished == sent && *assigned == before + burst);
        for (uint32_t pause = stress_random(&random, 64); pause; pause--)
            locus_cpu_relax();
    }
    tb_crew_stop(&crew);
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    unsigned rounds = 0;
    for (unsigned i = 0; i < TABLES; i++)
        tables[i] = stress_table(1, 1);
    do {
        enum tb_dispatch dispatch = rounds % 4 == 3 ? TB_DISPATCH_SPIN : TB_DISPATCH_FUTEX;
        run_round(dispatch, stress_fork(stress.seed, rounds++), stress.end_s);
    } while (stress_now_s() < stress.end_s);
    for (unsigned i = 0; i < TABLES; i++)
        free(tables[i]);
    printf("%llu requests in %u rounds\n", (unsigned long long)sent, rounds);
    return 0;
}
