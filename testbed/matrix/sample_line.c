// SPDX-License-Identifier: Apache-2.0
//
// Samples of a line that goes to and fro: the initiator's thread writes an odd number, the target's waits for it and writes the
// next even one. Half of such a trip is the time until a written line is seen by the other. Only the median of many batches is
// kept: an interrupt between two CPUs costs a thousand trips.
//
// The wait is a bare loop, without the pause that spinning code should have: on some CPUs a pause is longer than the transfer. It
// gives its CPU away when it waits for very long, as it does where CPUs are emulated or shared.
#include "testbed/matrix/attempt.h"

#include <sched.h>
#include <stdlib.h>

#include "testbed/loops/gang.h"

#define LOOKS_BEFORE_YIELD (1u << 12) // some microseconds
#define LINE_REGION_BYTES 4096u

struct trips {
    _Atomic uint64_t *line;
    uint64_t trips;             // of each batch
    double batch_ns[TB_ATTEMPT_BATCHES];
};

static void wait_for(_Atomic uint64_t *line, uint64_t number)
{
    for (unsigned looks = 1; atomic_load_explicit(line, memory_order_acquire) != number; looks++)
        if (looks % LOOKS_BEFORE_YIELD == 0)
            sched_yield();
}

static void clear(void *context, unsigned who)
{
    struct trips *trips = context;
    if (who == 0)
        atomic_store(trips->line, 0);
}

static void hand_over(void *context, unsigned who)
{
    struct trips *trips = context;
    uint64_t number = 0;
    for (unsigned batch = 0; batch < TB_ATTEMPT_BATCHES; batch++) {
        uint64_t start = tb_gang_now_ns();
        for (uint64_t trip = 0; trip < trips->trips; trip++, number += 2) {
            if (who == 0) {
                atomic_store_explicit(trips->line, number + 1, memory_order_release);
                wait_for(trips->line, number + 2);
            } else {
                wait_for(trips->line, number + 1);
                atomic_store_explicit(trips->line, number + 2, memory_order_release);
            }
        }
        if (who == 0)
            trips->batch_ns[batch] = (double)(tb_gang_now_ns() - start);
    }
}

static void open_line(struct tb_attempt *attempt)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    if (cell->initiator == cell->target)
        tb_attempt_cpus(attempt, cell->initiator, 2);
    else if (tb_attempt_cpus(attempt, cell->initiator, 1))
        tb_attempt_cpus(attempt, cell->target, 1);
    tb_attempt_span(attempt, 0, TB_SPAN_PAGES, cell->memory, LINE_REGION_BYTES);
}

static void measure(struct tb_attempt *attempt)
{
    struct trips trips = {.line = locus_region_base(attempt->span[0]->region),
                          .trips = attempt->bytes / (2 * TB_LINE_BYTES * TB_ATTEMPT_BATCHES)};
    struct tb_gang_job job = {.prepare = clear, .work = hand_over, .context = &trips};
    if (!tb_attempt_gang(attempt, &job))
        return;
    attempt->bytes_moved = atomic_load(trips.line) * TB_LINE_BYTES;
    attempt->value = tb_median(trips.batch_ns, TB_ATTEMPT_BATCHES) / (2.0 * (double)trips.trips);
}

const struct tb_attempt_ops tb_attempt_line = {.open = open_line, .measure = measure};
