// SPDX-License-Identifier: Apache-2.0
//
// station (many nodes): the scheduler's thread. See station.h.
//
// The order of laps differs from that on one node (engine.c): the counted laps come first, because a malloc drifts from its first
// lap on; warm-up, timed and metered laps follow.
//
// A failed station stops taking and retiring, but passes all gates and serves until the end, because the others wait for it.

#include "testbed/measure/nodes/station.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "locus/lane.h"
#include "testbed/counters/window.h"
#include "testbed/measure/engine.h"
#include "testbed/stats/stats.h"
#include "topo/pin.h"

#define POLLS_PER_YIELD 64u // as in placement/blocks/owner.c

static void fail(struct tb_station *self, const char *failed_to, int error)
{
    if (!error || self->error)
        return;
    self->error = error;
    self->failed_to = failed_to;
}

// --- work ----------------------------------------------------------------------------------------------------------------------

// The byte written into a block: never 0, and different for blocks of a request, for neighbours, and for stations, which run the
// same requests.
static uint64_t tag(const struct tb_station *self, uint32_t slot, uint32_t place)
{
    return ((uint64_t)self->number << 60) + ((uint64_t)slot << 32) + place + 1;
}

static unsigned char fill(const struct tb_station *self, uint32_t slot)
{
    return (unsigned char)((slot + self->number * 31) % 255 + 1);
}

static void touch(struct tb_station *self, void *block, uint32_t slot, uint32_t place)
{
    const struct tb_job *job = self->run->job;
    if (job->fault == TB_FAULT_SKIP_TOUCH)
        return;
    if (job->touch == TB_TOUCH_LINE)
        tb_locality_touch(block, job->block_bytes, tag(self, slot, place));
    else
        memset(block, fill(self, slot), job->block_bytes);
    self->touched_bytes += job->block_bytes;
}

static bool intact(const struct tb_station *self, const void *block, uint32_t slot, uint32_t place)
{
    const struct tb_job *job = self->run->job;
    const unsigned char *byte = block;
    if (job->touch == TB_TOUCH_LINE)
        return tb_locality_touched(block, job->block_bytes, tag(self, slot, place));
    return byte[0] == fill(self, slot) && memcmp(byte, byte + 1, job->block_bytes - 1) == 0; // all equal the first
}

static void serve(struct tb_station *self)
{
    struct tb_nodes_run *run = self->run;
    if (run->job->dispatch == TB_DISPATCH_INLINE)
        tb_node_worker_serve(&self->workers[0]);
    run->ops->drain(run->context, self->number);
}

static void wait_a_little(uint32_t *polls)
{
    if (++*polls % POLLS_PER_YIELD == 0)
        sched_yield(); // another thread may need this CPU
    else
        locus_cpu_relax();
}

// Waits for blocks on their way. If they do not come, their worker is dead.
static int take_waiting(struct tb_station *self, struct locus_table *table, uint32_t count)
{
    struct tb_nodes_run *run = self->run;
    uint64_t start_ns = tb_now_ns();
    uint32_t polls = 0;
    int error;
    do {
        serve(self);
        wait_a_little(&polls);
        error = run->ops->take(run->context, self->number, table, count);
    } while (error == -EAGAIN && tb_now_ns() - start_ns < run->patience_ns);
    return error == -EAGAIN ? -ETIMEDOUT : error;
}

static void decode_take(struct tb_station *self, uint32_t slot, const struct locus_table *table, uint32_t first)
{
    struct tb_nodes_run *run = self->run;
    for (uint32_t i = 0, count = table->count - first; i < count; i++)
        tb_step_take(self->decode.step, slot, i, count, run->ops->address(run->context, table->blocks[first + i]));
    if (run->counting)
        tb_books_taken(&self->books, table, first);
}

static void bytes_note(void *context, bool written, char *at, size_t bytes)
{
    struct tb_station *self = context;
    tb_books_bytes(&self->books, written, at, bytes);
}

// What a model does with the blocks. In counted laps it is checked and watched.
static void op_decode(struct tb_station *self, struct tb_op op)
{
    if (op.kind == TB_OP_EXTEND) {
        tb_step_extend(self->decode.step, op.slot, op.count);
        return;
    }
    tb_step_watch(self->decode.step, self->run->counting ? bytes_note : NULL, self);
    tb_step_run(self->decode.step, self->run->counting);
}

static void op_take(struct tb_station *self, struct tb_op op)
{
    struct tb_nodes_run *run = self->run;
    struct locus_table *table = self->tables[op.slot];
    uint32_t first = table->count;
    int error = run->ops->take(run->context, self->number, table, op.count);
    if (error == -EAGAIN)
        error = take_waiting(self, table, op.count);
    fail(self, "take blocks", error);
    if (error)
        return;
    self->taken += op.count;
    if (self->decode.step) {
        decode_take(self, op.slot, table, first);
        return;
    }
    for (uint32_t i = first; i < table->count; i++)
        touch(self, run->ops->address(run->context, table->blocks[i]), op.slot, i);
    if (run->counting)
        tb_books_written(&self->books, table, first);
}

// The given share of each hundred requests crosses, evenly spread: a request crosses whenever the sum of shares passes 100.
static struct tb_station *destination(struct tb_station *self)
{
    struct tb_nodes_run *run = self->run;
    self->cross_turn += run->job->cross_percent;
    if (self->cross_turn < 100 || run->count == 1)
        return self;
    self->cross_turn -= 100;
    self->away_turn = self->away_turn % (run->count - 1) + 1;
    return &run->stations[(self->number + self->away_turn) % run->count];
}

// The injected faults. True: this request is never sent.
static bool fault(struct tb_station *self, struct locus_table *table)
{
    if (!self->fault_armed)
        return false;
    self->fault_armed = false;
    if (self->run->job->fault == TB_FAULT_DOUBLE_FREE && table->count > 1)
        table->blocks[1] = table->blocks[0];
    return self->run->job->fault == TB_FAULT_DROP_CHUNK;
}

static void op_retire(struct tb_station *self, struct tb_op op)
{
    struct tb_nodes_run *run = self->run;
    struct locus_table *table = self->tables[op.slot];
    if (self->decode.step)
        tb_step_retire(self->decode.step, op.slot);
    for (uint32_t i = 0; run->counting && !self->decode.step && i < table->count; i++)
        self->damaged += !intact(self, run->ops->address(run->context, table->blocks[i]), op.slot, i);
    int error = run->ops->retire(run->context, self->number, table);
    fail(self, "retire a request", error);
    if (error)
        return;
    self->retired++;
    if (fault(self, table))
        return;
    struct tb_station *to = destination(self);
    struct tb_parcel *parcel = &self->parcels[op.slot];
    *parcel = (struct tb_parcel){.table = table, .from = self};
    self->dispatched++;
    uint32_t *turn = &self->worker_turn[to->number]; // one per station, or each worker would get only one kind of request
    *turn = (*turn + 1) % run->workers;
    tb_node_worker_send(&to->workers[*turn], parcel, run->job->dispatch == TB_DISPATCH_FUTEX);
}

static void op_drain(struct tb_station *self)
{
    struct tb_nodes_run *run = self->run;
    uint64_t moved = 0;
    serve(self);
    self->drains++;
    if (run->ops->repair && self->drains % run->steps_per_repair == 0)
        fail(self, "repair", run->ops->repair(run->context, self->number, &moved));
    self->repaired += moved;
    if (run->counting && self->drains % run->steps_per_point == 0)
        tb_books_step(&self->books);
}

static void run_span(struct tb_station *self, const struct tb_span *span)
{
    const struct tb_op *op = tb_schedule_ops(self->run->schedule) + span->begin;
    const struct tb_op *end = tb_schedule_ops(self->run->schedule) + span->end;
    for (; op < end && !self->error; op++) {
        if (op->kind == TB_OP_DRAIN)
            op_drain(self);
        else if (op->kind == TB_OP_TAKE)
            op_take(self, *op);
        else if (op->kind == TB_OP_RETIRE)
            op_retire(self, *op);
        else if (self->decode.step)
            op_decode(self, *op);
    }
}

// --- laps ----------------------------------------------------------------------------------------------------------------------

static void gate(struct tb_station *self)
{
    struct tb_nodes_run *run = self->run;
    uint64_t all = ++self->gates * run->count;
    uint32_t polls = 0;
    atomic_fetch_add_explicit(&run->arrived, 1, memory_order_release); // G1
    while (atomic_load_explicit(&run->arrived, memory_order_acquire) < all) { // G2
        if (self->entered)
            serve(self);
        wait_a_little(&polls);
    }
}

// Counts the finished requests, and of these, those whose blocks are home.
static uint64_t progress(struct tb_station *self, uint64_t *home)
{
    struct tb_nodes_run *run = self->run;
    uint64_t finished = atomic_load_explicit(&self->finished, memory_order_acquire); // F2
    *home = run->ops->home ? run->ops->home(run->context, self->number) : finished;
    return finished;
}

// Waits until everything sent is home. It gives up only once: lost requests would be waited for in every lap.
static void settle(struct tb_station *self)
{
    uint64_t seen = 0, since_ns = tb_now_ns(), home;
    uint32_t polls = 0;
    while (!self->gave_up) {
        uint64_t finished = progress(self, &home);
        if (finished == self->dispatched && home == self->dispatched)
            return;
        serve(self);
        wait_a_little(&polls);
        if (finished + home != seen)
            since_ns = tb_now_ns();
        else if (polls % POLLS_PER_YIELD == 0)
            self->gave_up = tb_now_ns() - since_ns > self->run->patience_ns;
        seen = finished + home;
    }
    fail(self, "bring every request home", -ETIMEDOUT);
}

static double lap(struct tb_station *self, const struct tb_span *span, uint64_t delay_ns)
{
    gate(self);
    uint64_t start_ns = tb_now_ns();
    run_span(self, span);
    for (uint64_t from_ns = tb_now_ns(); delay_ns && tb_now_ns() - from_ns < delay_ns;)
        locus_cpu_relax();
    settle(self);
    gate(self);
    return (double)(tb_now_ns() - start_ns);
}

static void timed_laps(struct tb_station *self, uint64_t *at)
{
    struct tb_job *job = self->run->job;
    double warmup_ns = 0, ns;
    uint64_t delay_ns = 0;
    for (uint32_t i = 0; i < job->laps_warmup; i++) {
        ns = lap(self, tb_schedule_lap(self->run->schedule, (*at)++), 0);
        warmup_ns = i == 0 || ns < warmup_ns ? ns : warmup_ns;
    }
    if (self->number == 0 && job->fault == TB_FAULT_DELAY)
        delay_ns = (uint64_t)(warmup_ns * job->fault_percent / 100);
    for (uint32_t i = 0; i < job->laps; i++) {
        self->fault_armed = self->number == 0 && i + 1 == job->laps;
        ns = lap(self, tb_schedule_lap(self->run->schedule, (*at)++), delay_ns);
        if (self->number == 0)
            job->lap_ns[i] = ns;
    }
}

// Station 0 counts for all. It opens and starts the counters while the others wait at the next lap's gate: nothing is counted
// before, and from then on every thread switch takes longer.
static void metered_laps(struct tb_station *self, uint64_t *at)
{
    struct tb_job *job = self->run->job;
    struct tb_counters *counters = NULL;
    double ns[TB_LAPS_MAX];
    if (self->number == 0 && job->laps_metered > 0)
        tb_counters_open(&counters, &job->counters, job->counters_on); // if memory runs out, nothing is counted
    tb_counters_start(counters);
    for (uint32_t i = 0; i < job->laps_metered; i++)
        ns[i] = lap(self, tb_schedule_lap(self->run->schedule, (*at)++), 0);
    tb_counters_stop(counters);
    tb_counters_read(counters, job->sample.counters);
    tb_counters_close(counters);
    if (self->number == 0 && job->laps_metered > 0)
        job->sample.metered_lap_ns = tb_median(ns, job->laps_metered);
}

// Station 0 tells the plugin while the others wait at the next gate: it has one place for what it is told.
static void count_begin(struct tb_nodes_run *run)
{
    run->counting = true;
    if (!run->job->window)
        return;
    for (uint32_t s = 0; s < run->count; s++) {
        const struct locus_region *region = run->ops->region ? run->ops->region(run->context, s) : NULL;
        if (region)
            tb_window_open(run->job->window + s, locus_region_base(region), locus_region_bytes(region));
    }
    tb_mark_begin();
}

static void count_end(struct tb_nodes_run *run)
{
    run->counting = false;
    if (!run->job->window)
        return;
    tb_mark_end();
    for (uint32_t s = 0; s < run->count; s++)
        tb_window_close(run->job->window + s);
}

static void all_laps(struct tb_station *self)
{
    struct tb_nodes_run *run = self->run;
    uint64_t at = 0;
    lap(self, &run->schedule->prologue, 0);
    if (self->number == 0)
        count_begin(run);
    for (uint32_t i = 0; i < run->job->laps_counted; i++)
        lap(self, tb_schedule_lap(run->schedule, at++), 0);
    tb_books_step(&self->books);
    if (self->number == 0)
        count_end(run);
    timed_laps(self, &at);
    self->laps = at;
    if (run->job->fault == TB_FAULT_DROP_CHUNK) // its table is lost, but would be needed again
        return;
    metered_laps(self, &at);
    while (at % run->schedule->laps_count) // the epilogue expects the slots as after whole rotations
        lap(self, tb_schedule_lap(run->schedule, at++), 0);
    lap(self, &run->schedule->epilogue, 0);
    self->laps = at;
    self->ended = true;
}

// --- the thread ----------------------------------------------------------------------------------------------------------------

// On the station's own node, because its thread touches them first.
static int tables_open(struct tb_station *self)
{
    const struct tb_schedule *schedule = self->run->schedule;
    const uint32_t *capacity = tb_schedule_capacity(schedule);
    uint32_t homes = self->run->count;
    size_t bytes = 0;
    for (uint32_t i = 0; i < schedule->slots; i++)
        bytes += locus_table_bytes(homes, capacity[i]);
    self->tables = calloc(schedule->slots, sizeof *self->tables);
    self->parcels = calloc(schedule->slots, sizeof *self->parcels);
    self->tables_memory = aligned_alloc(LOCUS_CACHE_LINE, bytes);
    if (!self->tables || !self->parcels || !self->tables_memory)
        return -ENOMEM;
    char *memory = self->tables_memory;
    for (uint32_t i = 0; i < schedule->slots; i++) {
        int error = locus_table_init(memory, homes, capacity[i], 1);
        if (error)
            return error;
        self->tables[i] = (struct locus_table *)(void *)memory;
        memory += locus_table_bytes(homes, capacity[i]);
    }
    return 0;
}

void *tb_station_main(void *argument)
{
    struct tb_station *self = argument;
    struct tb_nodes_run *run = self->run;
    char why[160];
    int error = self->cpu >= 0 ? locus_pin_cpu(self->cpu) : locus_pin_node(self->node);
    if (!error)
        error = tables_open(self);
    if (!error && run->job->touch == TB_TOUCH_DECODE)
        error = tb_team_open(&self->team, 1, NULL);
    if (!error)
        error = tb_decode_open(&self->decode, run->job, run->schedule, self->team, why, sizeof why);
    if (!error && run->ops->enter)
        error = run->ops->enter(run->context, self->number);
    fail(self, "begin", error);
    self->entered = !error;
    gate(self); // after it we know whether all could begin
    for (uint32_t i = 0; i < run->count; i++)
        error = error ? error : run->stations[i].error;
    if (!error)
        all_laps(self);
    if (self->entered && run->ops->leave)
        run->ops->leave(run->context, self->number);
    return NULL;
}
