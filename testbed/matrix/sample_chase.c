// SPDX-License-Identifier: Apache-2.0
//
// Samples of latency: one thread walks a cycle of lines. A walk begins where the last one ended, so a cycle that is longer than the
// caches is met cold every time; one that is shorter than the walk is walked once before, to be warm. The walk goes in stretches,
// and the sample is their median: on a machine that others use, too, the thread is put aside for milliseconds now and
// then, and a mean would count that as latency. The cell's time is that of all.
//
// LOADED: meanwhile the other CPUs of the node read slices of their own, with a pause after each line, until the walk is over.
// They begin before it and end after it; their bandwidth is what each read over its own time. Their sums are checked, too.
#include "testbed/matrix/attempt.h"

#include <inttypes.h>
#include <stdlib.h>

#include "testbed/loops/gang.h"

#define CHUNK_LINES 1024u       // 64 KiB between two looks at whether the walk is over: some microseconds

struct reader {
    const char *base;
    uint64_t lines, first;
    struct tb_moved moved;
    uint64_t expected, time_ns;
    char apart[64];
};

#define STRETCHES 32u           // of a walk: each some tenths of a millisecond

struct chase {
    struct tb_attempt *attempt;
    const struct tb_chase_line *from, *to;
    uint64_t lines, steps, time_ns;
    double step_ns[STRETCHES];
    struct reader *readers;     // [threads], the first one is not used; NULL: nobody reads
    atomic_uint reading;
    atomic_bool over;
};

static void warm(void *context, unsigned who)
{
    struct chase *chase = context;
    if (who == 0)
        chase->from = tb_chase_walk(chase->from, chase->lines <= chase->steps ? chase->lines : chase->steps / 16);
}

// Reads on over the slice, from the end to its beginning again.
static void read_chunk(const struct chase *chase, struct reader *reader, uint64_t *at)
{
    const struct tb_kernels *kernels = chase->attempt->kernels;
    uint64_t lines = reader->lines - *at < CHUNK_LINES ? reader->lines - *at : CHUNK_LINES;
    const char *from = reader->base + *at * TB_LINE_BYTES;
    unsigned delay = chase->attempt->cell->delay;
    struct tb_moved moved = delay ? kernels->read_slowly(from, lines, delay) : kernels->read(from, lines);
    reader->moved.bytes += moved.bytes;
    reader->moved.sum += moved.sum;
    reader->expected += tb_pattern_sum(lines, reader->first + *at, 1);
    *at = *at + lines < reader->lines ? *at + lines : 0;
}

static void read_on(struct chase *chase, struct reader *reader)
{
    uint64_t at = 0, start = tb_gang_now_ns();
    read_chunk(chase, reader, &at);
    atomic_fetch_add(&chase->reading, 1);
    while (!atomic_load_explicit(&chase->over, memory_order_relaxed))
        read_chunk(chase, reader, &at);
    reader->time_ns = tb_gang_now_ns() - start;
}

static void walk(void *context, unsigned who)
{
    struct chase *chase = context;
    unsigned turns = 0;
    if (who > 0) {
        read_on(chase, &chase->readers[who]);
        return;
    }
    while (chase->readers && atomic_load(&chase->reading) + 1 < chase->attempt->cpus_count)
        tb_gang_pause(&turns);
    uint64_t steps = chase->steps / STRETCHES, start = tb_gang_now_ns(), last = start;
    chase->to = chase->from;
    for (unsigned i = 0; i < STRETCHES; i++) {
        chase->to = tb_chase_walk(chase->to, steps);
        uint64_t now = tb_gang_now_ns();
        chase->step_ns[i] = (double)(now - last) / (double)steps;
        last = now;
    }
    chase->time_ns = last - start;
    atomic_store_explicit(&chase->over, true, memory_order_relaxed);
}

static void fill(void *context, unsigned who)
{
    struct chase *chase = context;
    if (who > 0)
        chase->attempt->kernels->write((void *)(uintptr_t)chase->readers[who].base, chase->readers[who].lines,
                                       chase->readers[who].first, 1);
    else
        warm(context, who);
}

static void judge(struct tb_attempt *attempt, struct chase *chase)
{
    uint64_t from = tb_chase_number(chase->from), to = tb_chase_number(chase->to);
    uint64_t walked = (to + chase->lines - from) % chase->lines;
    attempt->span[0]->at = chase->to;
    attempt->time_ns = chase->time_ns;
    attempt->value = tb_median(chase->step_ns, STRETCHES);
    attempt->bytes_moved = (chase->steps - chase->steps % chase->lines + walked) * TB_LINE_BYTES;
    for (unsigned who = 1; chase->readers && who < attempt->cpus_count; who++) {
        const struct reader *reader = &chase->readers[who];
        attempt->bandwidth += (double)reader->moved.bytes * 1e9 / (double)reader->time_ns;
        if (reader->moved.sum != reader->expected)
            tb_attempt_fail(attempt, TB_MATRIX_INVALID, "the sum over what CPU %d read is %" PRIx64 " and not %" PRIx64,
                            attempt->cpus[who], reader->moved.sum, reader->expected);
    }
}

static void open_chase(struct tb_attempt *attempt)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    if (tb_attempt_cpus(attempt, cell->initiator, 1))
        tb_attempt_span(attempt, 0, TB_SPAN_CHASE, cell->memory, cell->working_set_bytes);
}

static struct chase planned(struct tb_attempt *attempt)
{
    return (struct chase){.attempt = attempt,
                          .from = attempt->span[0]->at,
                          .lines = attempt->cell->working_set_bytes / TB_LINE_BYTES,
                          .steps = attempt->bytes / TB_LINE_BYTES};
}

static void measure_chase(struct tb_attempt *attempt)
{
    struct chase chase = planned(attempt);
    struct tb_gang_job job = {.prepare = warm, .work = walk, .context = &chase};
    if (tb_attempt_gang(attempt, &job))
        judge(attempt, &chase);
}

static void open_loaded(struct tb_attempt *attempt)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    if (tb_attempt_cpus(attempt, cell->initiator, cell->threads) &&
        tb_attempt_span(attempt, 0, TB_SPAN_CHASE, cell->memory, cell->working_set_bytes))
        tb_attempt_span(attempt, 1, TB_SPAN_STREAM, cell->memory, (cell->threads - 1) * cell->reader_bytes);
}

static void measure_loaded(struct tb_attempt *attempt)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    struct chase chase = planned(attempt);
    struct tb_gang_job job = {.prepare = fill, .work = walk, .context = &chase};
    chase.readers = calloc(cell->threads, sizeof *chase.readers);
    if (!chase.readers) {
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "out of memory");
        return;
    }
    for (unsigned who = 1; who < cell->threads; who++) {
        struct reader *reader = &chase.readers[who];
        reader->lines = cell->reader_bytes / TB_LINE_BYTES;
        reader->first = (who - 1) * reader->lines + 1;
        reader->base = (char *)locus_region_base(attempt->span[1]->region) + (who - 1) * reader->lines * TB_LINE_BYTES;
    }
    if (tb_attempt_gang(attempt, &job))
        judge(attempt, &chase);
    free(chase.readers);
}

const struct tb_attempt_ops tb_attempt_chase = {.open = open_chase, .measure = measure_chase};
const struct tb_attempt_ops tb_attempt_loaded = {.open = open_loaded, .measure = measure_loaded};
