// SPDX-License-Identifier: Apache-2.0
//
// act: what a step does with the blocks: NAME@ACT makes an arm of it. Some leave a part of a step out, and show what it costs by
// the difference; some are floors, which read as many bytes and compute less.
#ifndef TB_ACT_H
#define TB_ACT_H

#include "testbed/decode/attend.h"

struct tb_step_layer {          // what is read in one layer of one step
    struct tb_attention *attention;
    struct tb_team *team;
    uint32_t layer;
    const struct tb_sequence *sequences; // that were extended
    uint32_t count;
    const float *q;
    float *out;
};

struct tb_act_sizes {           // of what an act must have room for
    const struct tb_cache *cache;
    size_t live_bytes;          // K and V of all sequences at once
    uint32_t tokens_max;        // of one of them
    uint32_t batch;             // sequences in one step
};

struct tb_act {
    const char *name, *summary;
    bool appends;               // false: no K and V are written
    bool attends;               // its results are those of attention
    bool floor;                 // nothing that attends can be faster
    int (*open)(const struct tb_act_sizes *sizes, void **own); // NULL: own is NULL. 0 or -ENOMEM
    void (*close)(void *own);
    void (*read)(void *own, const struct tb_step_layer *layer); // NULL: nothing is read
};

const struct tb_act *tb_act_at(size_t i); // NULL after the last; the first is attention itself
const struct tb_act *tb_act_find(const char *name);

#endif
