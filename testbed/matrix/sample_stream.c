// SPDX-License-Identifier: Apache-2.0
//
// Samples of bandwidth: each thread walks over a slice of its own of one span, `passes` times, all at once.
//
// What is checked: a slice is filled with a pattern whose sum is known, and a kernel that reads must find that sum in each pass.
// One that writes writes something else in each pass, and afterwards, out of the time, the sum of what it wrote must be that of
// the last. A line that was not touched would be missing in either.
//
// What is steady: before the time begins each thread makes the same pass once. So the caches are as full of written lines as
// the kernel leaves them, and what one write pushes out of them is what the next will have to.
#include "testbed/matrix/attempt.h"

#include <inttypes.h>
#include <stdlib.h>

#include "testbed/loops/gang.h"

// Words of one pass differ from those of the next by more than any line's number.
#define PASS_STEP (UINT64_C(1) << 40)

struct share {                  // a thread's
    char *base;
    uint64_t first;             // of its pattern
    struct tb_moved moved;
    uint64_t expected, found;   // sums
    char apart[64];             // from the next thread's
};

struct stream {
    struct tb_attempt *attempt;
    const struct tb_kernels *kernels;
    enum tb_matrix_kind kind;
    uint64_t lines;             // of a slice
    uint64_t part;              // lines of each source and of the target
    unsigned sources;           // 0: nothing is read
    uint64_t passes;
    struct share *shares;
};

static unsigned sources_of(enum tb_matrix_kind kind)
{
    switch (kind) {
    case TB_MATRIX_COPY: return 1;
    case TB_MATRIX_READ2_WRITE1: return 2;
    case TB_MATRIX_READ3_WRITE1: return 3;
    default: return 0;
    }
}

static char *target(const struct stream *stream, const struct share *share)
{
    return share->base + stream->sources * stream->part * TB_LINE_BYTES;
}

static struct tb_moved one_pass(const struct stream *stream, const struct share *share, uint64_t pass)
{
    const struct tb_kernels *kernels = stream->kernels;
    switch (stream->kind) {
    case TB_MATRIX_READ: return kernels->read(share->base, stream->lines);
    case TB_MATRIX_WRITE: return kernels->write(share->base, stream->lines, share->first + pass * PASS_STEP, 1);
    case TB_MATRIX_NT_WRITE: return kernels->nt_write(share->base, stream->lines, share->first + pass * PASS_STEP, 1);
    default: return kernels->mix[stream->sources - 1](target(stream, share), share->base, stream->part, pass * PASS_STEP);
    }
}

// For a kernel that only writes the first pass is the filling.
static void prepare(void *context, unsigned who)
{
    struct stream *stream = context;
    struct share *share = &stream->shares[who];
    if (stream->kind != TB_MATRIX_WRITE && stream->kind != TB_MATRIX_NT_WRITE)
        stream->kernels->write(share->base, stream->lines, share->first, 1);
    one_pass(stream, share, 0);
}

static void work(void *context, unsigned who)
{
    struct stream *stream = context;
    struct share *share = &stream->shares[who];
    struct tb_moved all = {0};
    for (uint64_t pass = 1; pass <= stream->passes; pass++) {
        struct tb_moved moved = one_pass(stream, share, pass);
        all.bytes += moved.bytes;
        all.sum += moved.sum;
    }
    share->moved = all;
}

static void check(void *context, unsigned who)
{
    struct stream *stream = context;
    struct share *share = &stream->shares[who];
    uint64_t salt = stream->passes * PASS_STEP, sources = stream->sources * stream->part;
    if (stream->kind == TB_MATRIX_READ) {
        share->found = share->moved.sum;
        share->expected = stream->passes * tb_pattern_sum(stream->lines, share->first, 1);
    } else if (stream->sources == 0) {
        share->found = stream->kernels->read(share->base, stream->lines).sum;
        share->expected = tb_pattern_sum(stream->lines, share->first + salt, 1);
    } else {
        share->found = stream->kernels->read(target(stream, share), stream->part).sum;
        share->expected = tb_pattern_sum(sources, share->first, 1) + stream->part * TB_LINE_WORDS * salt;
    }
}

static void open_stream(struct tb_attempt *attempt)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    if (tb_attempt_cpus(attempt, cell->initiator, cell->threads))
        tb_attempt_span(attempt, 0, TB_SPAN_STREAM, cell->memory, cell->threads * cell->working_set_bytes);
}

static void judge(struct tb_attempt *attempt, const struct stream *stream)
{
    for (unsigned who = 0; who < attempt->cpus_count; who++) {
        const struct share *share = &stream->shares[who];
        attempt->bytes_moved += share->moved.bytes;
        if (share->found != share->expected)
            tb_attempt_fail(attempt, TB_MATRIX_INVALID, "the sum over what CPU %d moved is %" PRIx64 " and not %" PRIx64,
                            attempt->cpus[who], share->found, share->expected);
    }
    attempt->value = (double)attempt->bytes_moved * 1e9 / (double)attempt->time_ns;
}

static void measure(struct tb_attempt *attempt)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    struct stream stream = {.attempt = attempt, .kernels = attempt->kernels, .kind = cell->kind, .sources = sources_of(cell->kind)};
    struct tb_gang_job job = {.prepare = prepare, .work = work, .check = check, .context = &stream};
    stream.lines = cell->working_set_bytes / TB_LINE_BYTES;
    stream.part = stream.lines / (stream.sources + 1);
    stream.passes = attempt->bytes / (cell->threads * stream.part * (stream.sources + 1) * TB_LINE_BYTES);
    stream.shares = calloc(cell->threads, sizeof *stream.shares);
    if (!stream.shares) {
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "out of memory");
        return;
    }
    for (unsigned who = 0; who < cell->threads; who++) {
        stream.shares[who].base = (char *)locus_region_base(attempt->span[0]->region) + who * stream.lines * TB_LINE_BYTES;
        stream.shares[who].first = who * stream.lines + 1;
    }
    if (tb_attempt_gang(attempt, &job))
        judge(attempt, &stream);
    free(stream.shares);
}

const struct tb_attempt_ops tb_attempt_stream = {.open = open_stream, .measure = measure};
