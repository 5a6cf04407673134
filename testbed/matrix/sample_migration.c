// SPDX-License-Identifier: Apache-2.0
//
// Samples of migration: one call of move_pages takes base pages from `memory` to `target`, a CPU of the initiator calls. Where the
// pages came to lie is asked afterwards, and only those that arrived count; then they go back, out of the time.
//
// The pages are bound to `memory`, which does not hinder an explicit move.
#include "testbed/matrix/attempt.h"

#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/loops/gang.h"

#define PAGE_BYTES 4096u

struct move {
    unsigned long pages;
    void **address;             // [pages]; in one block with the next three
    int *to, *back, *status;
    uint64_t arrived, returned;
    int error, error_back;
};

static int move_to(struct move *move, const int nodes[])
{
    return move_pages(0, move->pages, move->address, nodes, move->status, MPOL_MF_MOVE) < 0 ? -errno : 0;
}

static uint64_t count_on(struct move *move, const int nodes[])
{
    uint64_t count = 0;
    if (move_pages(0, move->pages, move->address, NULL, move->status, 0))
        return 0;
    for (unsigned long i = 0; i < move->pages; i++)
        count += move->status[i] == nodes[i];
    return count;
}

static void there(void *context, unsigned who)
{
    (void)who;
    struct move *move = context;
    move->error = move_to(move, move->to);
}

static void and_back(void *context, unsigned who)
{
    (void)who;
    struct move *move = context;
    move->arrived = count_on(move, move->to);
    move->error_back = move_to(move, move->back);
    move->returned = count_on(move, move->back);
}

static bool prepare(struct move *move, char *base, uint64_t bytes, int memory, int target)
{
    move->pages = bytes / PAGE_BYTES;
    move->address = malloc(move->pages * (sizeof *move->address + 3 * sizeof(int)));
    if (!move->address)
        return false;
    move->to = (int *)(move->address + move->pages);
    move->back = move->to + move->pages;
    move->status = move->back + move->pages;
    for (unsigned long i = 0; i < move->pages; i++) {
        move->address[i] = base + i * PAGE_BYTES;
        move->to[i] = target;
        move->back[i] = memory;
    }
    return true;
}

static void say_why(struct tb_attempt *attempt, int error)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    const char *cause = strerror(-error);
    switch (error) {
    case -EPERM: cause = "move_pages is forbidden (EPERM), as a container's seccomp profile does: give it CAP_SYS_NICE"; break;
    case -ENOSYS: cause = "this kernel has no move_pages (ENOSYS)"; break;
    case -ENODEV: cause = "a node has no memory any more: it went offline (ENODEV)"; break;
    case -EACCES: cause = "the target lies outside this process's cpuset (EACCES)"; break;
    case -ENOMEM: cause = "the target is full (ENOMEM)"; break;
    default: break;
    }
    tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "no pages go from node %d to node %d: %s", cell->memory, cell->target, cause);
}

static void open_migration(struct tb_attempt *attempt)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    if (tb_attempt_cpus(attempt, cell->initiator, 1))
        tb_attempt_span(attempt, 0, TB_SPAN_PAGES, cell->memory, cell->working_set_bytes);
}

static void judge(struct tb_attempt *attempt, const struct move *move)
{
    attempt->bytes_moved = move->arrived * PAGE_BYTES;
    attempt->value = (double)attempt->bytes_moved * 1e9 / (double)attempt->time_ns;
    if (move->error)
        say_why(attempt, move->error);
    else if (move->arrived < move->pages)
        tb_attempt_fail(attempt, TB_MATRIX_INVALID, "of %lu pages of node %d %lu did not arrive on node %d", move->pages,
                        attempt->cell->memory, (unsigned long)(move->pages - move->arrived), attempt->cell->target);
    else if (move->error_back || move->returned < move->pages)
        tb_attempt_fail(attempt, TB_MATRIX_INVALID, "of %lu pages %lu did not come back to node %d", move->pages,
                        (unsigned long)(move->pages - move->returned), attempt->cell->memory);
}

static void measure(struct tb_attempt *attempt)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    struct move move = {0};
    struct tb_gang_job job = {.work = there, .check = and_back, .context = &move};
    if (!prepare(&move, locus_region_base(attempt->span[0]->region), attempt->bytes, cell->memory, cell->target))
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "out of memory");
    else if (tb_attempt_gang(attempt, &job))
        judge(attempt, &move);
    free(move.address);
}

const struct tb_attempt_ops tb_attempt_migration = {.open = open_migration, .measure = measure};
