// SPDX-License-Identifier: Apache-2.0
//
// workload: the list of workloads, which the linker makes, and the walk that most of them share.

#include "testbed/workload/workload.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "testbed/base/nearest.h"
#include "testbed/workload/batch.h"

extern const struct tb_workload *const __start_tb_workloads[];
extern const struct tb_workload *const __stop_tb_workloads[];

const struct tb_workload *tb_workload_at(size_t i)
{
    return i < (size_t)(__stop_tb_workloads - __start_tb_workloads) ? __start_tb_workloads[i] : NULL;
}

const struct tb_workload *tb_workload_find(const char *name)
{
    const struct tb_workload *workload = NULL;
    for (size_t i = 0; (workload = tb_workload_at(i)) != NULL; i++)
        if (strcmp(workload->name, name) == 0)
            return workload;
    return NULL;
}

bool tb_workload_known(const char *name)
{
    struct tb_batch batch;
    struct tb_why why;
    return tb_workload_find(name) || tb_batch_read(name, &batch, &why) == 0;
}

const char *tb_workload_meant(const char *name, char *out, size_t bytes)
{
    struct tb_nearest nearest = {.word = name};
    const struct tb_workload *workload = NULL;
    for (size_t i = 0; (workload = tb_workload_at(i)) != NULL; i++)
        tb_nearest_try(&nearest, workload->name);
    return tb_nearest_say(&nearest, "", out, bytes);
}

int tb_workload_schedule(const char *name, struct tb_schedule **out)
{
    const struct tb_workload *workload = tb_workload_find(name);
    struct tb_builder *builder = NULL;
    struct tb_why why;
    uint64_t ticks = 0;
    *out = NULL;
    if (!workload)
        return tb_batch_schedule(name, out, &why);
    int error = tb_builder_open(&builder);
    if (!error)
        error = workload->build(builder, &ticks);
    if (!error)
        error = tb_builder_pack(builder, name, workload->pool_blocks, out);
    if (!error) {
        (*out)->ticks = ticks;
        (*out)->version = workload->version;
    }
    tb_builder_close(builder);
    return error;
}

// --- requests ---

struct live {
    uint32_t slot; // the request's number: each has a slot of its own
    uint32_t steps_left;
};

struct walk {
    struct tb_builder *builder;
    const struct tb_requests *requests;
    struct live live[TB_REQUESTS_MAX];
    uint32_t count, arrived;
    uint32_t reserved_blocks;
};

static uint32_t need_blocks(const struct tb_requests *requests, uint32_t request)
{
    return requests->prefill_blocks + requests->steps(request);
}

static bool may_enter(const struct walk *walk)
{
    const struct tb_requests *requests = walk->requests;
    return walk->arrived < requests->count &&
           (!requests->reserve_blocks || walk->reserved_blocks + need_blocks(requests, walk->arrived) <= requests->reserve_blocks);
}

static void admit(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->requests->arrivals && may_enter(walk); i++, walk->arrived++) {
        walk->live[walk->count++] = (struct live){.slot = walk->arrived, .steps_left = walk->requests->steps(walk->arrived)};
        walk->reserved_blocks += need_blocks(walk->requests, walk->arrived);
        tb_builder_add(walk->builder, TB_OP_TAKE, walk->arrived, walk->requests->prefill_blocks);
    }
}

// Visits every live request once, in order of place.
static void step_all(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->count;) {
        struct live *live = &walk->live[i];
        tb_builder_add(walk->builder, live->steps_left ? TB_OP_TAKE : TB_OP_RETIRE, live->slot, 1);
        if (live->steps_left > 0) {
            live->steps_left--;
            i++;
        } else {
            walk->reserved_blocks -= need_blocks(walk->requests, live->slot);
            *live = walk->live[--walk->count];
        }
    }
}

int tb_build_requests(struct tb_builder *builder, const struct tb_requests *requests, uint64_t *ticks)
{
    struct walk walk = {.builder = builder, .requests = requests};
    if (requests->count > TB_REQUESTS_MAX)
        return -EINVAL;
    for (uint32_t i = 0; requests->reserve_blocks && i < requests->count; i++)
        if (need_blocks(requests, i) > requests->reserve_blocks)
            return -EINVAL; // would wait for ever
    tb_builder_mark_lap(builder);
    for (*ticks = 0; walk.arrived < requests->count || walk.count > 0; ++*ticks) {
        tb_builder_add(builder, TB_OP_DRAIN, 0, 0);
        admit(&walk);
        step_all(&walk);
        tb_builder_add(builder, TB_OP_DRAIN, 0, 0);
    }
    return tb_builder_mark_epilogue(builder);
}
