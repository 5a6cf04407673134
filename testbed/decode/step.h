// SPDX-License-Identifier: Apache-2.0
//
// step: a decode step as an engine takes it, for one measured process of touch `decode`.
//
// A slot is a place for a sequence. Its block table is kept as addresses: a new block is appended to it. A step goes through the
// model's layers; in each it appends K and V of the new tokens of all sequences that were extended, and then reads. What it reads,
// and what it leaves out, is an *act* (act.h): attention over all tokens of each of these sequences, or less, to find out what a
// part of a step costs, or a floor.
//
// K and V come from a few rows that stay in the caches, as a projection's result would. Which row a token gets depends on its
// sequence, position and layer, so that a block with another sequence's tokens gives another result.
//
// Threads: the caller is the team's first; nothing here allocates after open.
#ifndef TB_STEP_H
#define TB_STEP_H

#include "testbed/decode/act.h"

struct tb_step_config {
    const struct tb_cache *cache;
    const struct tb_kernel *kernel;
    struct tb_team *team;
    const struct tb_act *act;
    uint32_t slots;
    const uint32_t *capacity;   // [slots] most blocks of each
    uint32_t batch;             // sequences in one step, at most
    uint32_t tokens_max;        // of one sequence
    uint64_t tokens_live;       // of all that are alive at once, at most
    char *why;                  // what an act that does not open says, as it is in tb_act_sizes
    size_t why_bytes;
};

struct tb_step_sums {
    uint64_t steps;
    uint64_t appended_bytes;    // K and V, all layers
    uint64_t attended_bytes;    // K and V that were read, once for all queries of a head
    uint64_t checked, wrong;    // sequences and layers whose result was compared with contiguous memory's, and differed
};

struct tb_step;

// cache, kernel, team and act outlive it. 0, -ENOMEM, or the act's error.
int tb_step_open(struct tb_step **out, const struct tb_step_config *config);
void tb_step_close(struct tb_step *step); // NULL is allowed

// The i-th block of a take of `count`, which is of all layers, or a multiple of them. They are dealt layer by layer: those that
// follow each other in the take follow each other in a layer, as they would if each layer had memory of its own.
void tb_step_take(struct tb_step *step, uint32_t slot, uint32_t i, uint32_t count, void *address);
void tb_step_extend(struct tb_step *step, uint32_t slot, uint32_t tokens);  // and it is in the next step
void tb_step_retire(struct tb_step *step, uint32_t slot);

// Counts a sequence's blocks that have a next one of the same layer (*followed), and those that end where it begins, or a cache
// line before at most (*adjacent): what attention reads in one stream.
void tb_step_adjacent(const struct tb_step *step, uint32_t slot, uint64_t *adjacent, uint64_t *followed);

// check: one sequence and layer of this step is attended again in contiguous memory, and must give the same bits, or as
// close ones as the act says. Slow.
void tb_step_run(struct tb_step *step, bool check);

// Who watches is told of each piece of K and V that a step has written or read, layer by layer, right after it. Untimed.
typedef void tb_step_watch_fn(void *context, bool written, char *at, size_t bytes);
void tb_step_watch(struct tb_step *step, tb_step_watch_fn *watch, void *context); // NULL: nobody

struct tb_step_sums tb_step_sums(const struct tb_step *step);
const char *tb_step_kernel(const struct tb_step *step); // by which it attends
const char *tb_step_failed(const struct tb_step *step); // NULL, or why the act has given no results since

#endif
