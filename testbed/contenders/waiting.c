// SPDX-License-Identifier: Apache-2.0
//
// waiting: see waiting.h.

#include "testbed/contenders/waiting.h"

#include <errno.h>
#include <sched.h>

#include "locus/lane.h"
#include "testbed/measure/engine.h"

#define WAIT_NS UINT64_C(2000000000) // as for `locus`: any live worker is faster
#define DRAINS_PER_YIELD 64u         // arbitrary, as in placement/blocks/owner.c

__attribute__((cold)) int tb_wait_for(struct tb_wait *wait, uint32_t count)
{
    uint64_t start_ns = tb_now_ns();
    for (uint32_t drains = 1;; drains++) {
        wait->drain(wait->drain_context);
        wait->look(wait->look_context, wait);
        if (wait->free >= count)
            return 0;
        if (wait->free + wait->in_flight < count)
            return -ENOMEM;
        if (drains % DRAINS_PER_YIELD) {
            locus_cpu_relax();
            continue;
        }
        if (tb_now_ns() - start_ns > WAIT_NS)
            return -ETIMEDOUT;
        sched_yield();
    }
}
