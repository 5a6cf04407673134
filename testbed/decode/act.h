// SPDX-License-Identifier: Apache-2.0
//
// act: what a step does with the blocks: NAME@ACT makes an arm of it. Some leave a part of a step out, and show what it costs by
// the difference; some are floors, which read as many bytes and compute less; some copy K and V into memory of their own first; and
// some leave it all to another process.
#ifndef TB_ACT_H
#define TB_ACT_H

#include "testbed/decode/attend.h"

struct tb_step_new {            // of a sequence that was extended
    uint32_t slot;
    uint64_t serial;            // of the sequence: the next one in its slot has another
    uint32_t begin;             // position of the first token whose K and V are new
};

// K of a token in a layer, [kv_heads][head_dim]; V lies v_bytes behind it.
typedef const char *tb_step_row_fn(const void *rows, uint64_t serial, uint32_t layer, uint32_t position);

struct tb_step_layer {          // what is read in one layer of one step
    struct tb_attention *attention;
    struct tb_team *team;
    uint32_t layer;
    const struct tb_sequence *sequences; // that were extended
    const struct tb_step_new *fresh; // [count]
    tb_step_row_fn *row;
    const void *rows;
    size_t v_bytes;
    uint32_t count;
    const float *q;
    float *out;
};

struct tb_act_sizes {           // of what an act must have room for
    const struct tb_cache *cache;
    const struct tb_kernel *kernel;
    struct tb_team *team;
    uint32_t slots;
    size_t live_bytes;          // K and V of all sequences at once
    uint32_t tokens_max;        // of one of them
    uint32_t batch;             // sequences in one step
    char *why;                  // of open(): what this host lacks, in words
    size_t why_bytes;           // may be 0
};

struct tb_act {
    const char *name, *summary;
    bool appends;               // false: no K and V are written
    bool attends;               // its results are those of attention
    bool floor;                 // nothing that attends can be faster
    bool copies;                // attends in memory of its own, of which no one else knows the node
    uint32_t roundoffs;         // its results may differ so far from contiguous memory's (below); 0: they have the same bits
    // What the driver does otherwise (measure/driver.h), on one node. What a lap leaves out of it follows after the lap, untimed.
    bool drains_late;           // nothing is drained in a lap
    bool frees_late;            // nor is anything retired, and sent home
    bool touches_first;         // before each timed lap, a pool gives the kernel its pages back
    int (*open)(const struct tb_act_sizes *sizes, void **own); // NULL: own is NULL. 0 or -errno
    void (*close)(void *own);
    void (*read)(void *own, const struct tb_step_layer *layer); // NULL: nothing is read
    uint64_t (*rows)(const void *own); // tb_attended_rows() of attention that is its own; NULL: it has none
    const char *(*kernel)(const void *own); // by which it attends; NULL: tb_kernel_at(0)
    const char *(*failed)(const void *own); // why it has given no results since, or NULL; NULL: it cannot fail
};

// Attention that sums in another order, and rounds to K's type in between, has other bits. Are the numbers of each head as close as
// can be expected, relative to the largest of them? `roundoffs` of the type (2^-24 of f32, 2^-11 of f16, 2^-8 of bf16) are allowed
// for what is rounded to it, and one of f32 for each token, since sums are of floats. A token that is left out of many may be less:
// that is what tb_act's rows() is for.
bool tb_act_close(const struct tb_cache *cache, uint32_t roundoffs, uint32_t tokens, const float *ours, const float *theirs);

// Is there a Python that can import PyTorch, for torch-cat? Starts one. `found` says why not.
bool tb_act_torch_here(char *found, size_t bytes);

const struct tb_act *tb_act_at(size_t i); // NULL after the last; the first is attention itself
const struct tb_act *tb_act_find(const char *name);

#endif
