// SPDX-License-Identifier: Apache-2.0
//
// C1/C2: an owner that reads the count sees everything that the worker did before it counted the request. A lane has two counts,
// each with a pair of its own: odd runs wait for the requests, even runs for the blocks.
#include "placement/base/tests/litmus.h"
#include "testbed/contenders/counting.h"

#define BLOCKS 3u

static struct tb_lane_counts counts;
static unsigned freed; // the plain data that the pair orders
static _Atomic unsigned arrived;

static void *worker_main(void *argument)
{
    (void)argument;
    litmus_start(&arrived, 2);
    freed += BLOCKS;
    tb_lane_count(&counts, 0, BLOCKS);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    litmus_expect(tb_lane_counts_open(&counts, 1) == 0, "a lane opens");
    for (unsigned run = 1; run <= runs; run++) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        pthread_t worker = litmus_thread(worker_main, NULL);
        litmus_start(&arrived, 2);
        for (unsigned spin = 1;; spin++) {
            if (run % 2 ? tb_lane_counts_requests(&counts) == run : tb_lane_counts_blocks(&counts) == (uint64_t)run * BLOCKS)
                break;
            litmus_pause(spin);
        }
        litmus_expect(freed == run * BLOCKS, "what is counted is free");
        pthread_join(worker, NULL);
    }
    tb_lane_counts_close(&counts);
    printf("%u runs\n", runs);
    return 0;
}
