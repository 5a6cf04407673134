// SPDX-License-Identifier: Apache-2.0
//
// traces: 64 requests that arrive, prefill 16 blocks each, decode one block a step and leave, some early.
//
// steady-decode, burst-storm and long-tail equal those of LOCUS-EVAL v1, operation for operation. The order of their walk is part
// of the definition (tb_build_requests), and gives the published peaks (1344, 1537, 4168). v2 adds two that v1's author asked for
// or could not run:
//
// long-tail-cancels   a long tail with cancels: every other request of 512 steps stops early, request i
//                     after 8 i steps (64, 192, 320, 448). So tables of very different sizes come home during the tail.
// burst-queued        the burst in a pool that is too small: 512 blocks for 64 requests that want 2688. A request enters
//                     when all blocks that it will ever need are free. The next request waits for frees that are under
//                     way, so a pool that cannot wait fails here.
#include "testbed/workload/workload.h"

#define REQUESTS 64u
#define PREFILL_BLOCKS 16u
#define CANCEL_STEPS 8u // decode steps of a request that is cancelled early
#define LONG_STEPS 512u
#define POOL_BLOCKS 8192u
#define POOL_BLOCKS_QUEUED 512u // arbitrary: a fifth of the demand, and five times the largest request

static uint32_t steps_mixed(uint32_t request)
{
    return request % 4 == 0 ? CANCEL_STEPS : 16 + request % 3 * 16;
}

static uint32_t steps_long_tail(uint32_t request)
{
    return request % 8 == 0 ? LONG_STEPS : 16;
}

static uint32_t steps_long_tail_cancels(uint32_t request)
{
    return request % 16 == 8 ? CANCEL_STEPS * request : steps_long_tail(request);
}

static int build(struct tb_builder *builder, uint64_t *ticks, uint32_t arrivals, uint32_t reserve_blocks,
                 uint32_t (*steps)(uint32_t))
{
    const struct tb_requests requests = {REQUESTS, PREFILL_BLOCKS, arrivals, reserve_blocks, steps};
    return tb_build_requests(builder, &requests, ticks);
}

static int build_steady(struct tb_builder *builder, uint64_t *ticks)
{
    return build(builder, ticks, 4, 0, steps_mixed);
}

static int build_burst(struct tb_builder *builder, uint64_t *ticks)
{
    return build(builder, ticks, REQUESTS, 0, steps_mixed);
}

static int build_long_tail(struct tb_builder *builder, uint64_t *ticks)
{
    return build(builder, ticks, 4, 0, steps_long_tail);
}

static int build_long_tail_cancels(struct tb_builder *builder, uint64_t *ticks)
{
    return build(builder, ticks, 4, 0, steps_long_tail_cancels);
}

static int build_burst_queued(struct tb_builder *builder, uint64_t *ticks)
{
    return build(builder, ticks, REQUESTS, POOL_BLOCKS_QUEUED, steps_mixed);
}

static const struct tb_workload steady = {"steady-decode", "4 requests a step, decoding 8 to 48 steps", 1, POOL_BLOCKS,
                                          build_steady};
TB_WORKLOAD(steady);

static const struct tb_workload burst = {"burst-storm", "the same 64 requests, all at once", 1, POOL_BLOCKS, build_burst};
TB_WORKLOAD(burst);

static const struct tb_workload long_tail = {"long-tail", "every eighth request decodes 512 steps, the others 16", 1, POOL_BLOCKS,
                                             build_long_tail};
TB_WORKLOAD(long_tail);

static const struct tb_workload cancels = {"long-tail-cancels", "the long tail, half of its long requests cancelled on the way", 2,
                                           POOL_BLOCKS, build_long_tail_cancels};
TB_WORKLOAD(cancels);

static const struct tb_workload queued = {"burst-queued", "the burst in a pool of 512 blocks: requests queue, takes wait", 2,
                                          POOL_BLOCKS_QUEUED, build_burst_queued};
TB_WORKLOAD(queued);
