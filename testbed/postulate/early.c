// SPDX-License-Identifier: Apache-2.0
//
// early: what the first 31 postulates do not say themselves. They were filed when `question`, `suite` and `laps_counted` were not
// yet keys of the front matter, and what is filed is never edited. No later postulate belongs here.
#include "testbed/postulate/postulate_parts.h"

#include <stdio.h>
#include <string.h>

static const struct early {
    const char *name;
    uint64_t suite, laps_counted;
    const char *question;
} early[] = {
    {"0001-first-on-every-workload", 0, 0, "Is locus first of all contenders on each workload, at one byte and at full touch?"},
    {"0002-churn-against-glibc", 0, 0,
     "On Linux, how much does glibc's malloc lose to locus on churn when every block is written in full?"},
    {"0003-overshoot-is-a-race", 0, 0,
     "Is the burst overshoot a race with the workers' wake-up, and not a matter of how often the owner drains?"},
    {"0004-colour-for-bytes", 0, 0, "What does a cache line between blocks gain at one byte, and what does it cost at full touch?"},
    {"0005-writes-stay-local", 0, 2,
     "Does steering every free home keep every write on its own node, however many requests finish on another one?"},
    {"0006-an-hour-of-a-service", 0, 1, "Over an hour of a recorded service, whose blocks stay on the node that writes them?"},
    {"0007-mallocs-wander", 0, 10,
     "When half of the requests finish on another node, which mallocs hand blocks of one node to the scheduler of another?"},
    {"0008-policies-by-page", 0, 2, "Which policies keep the writes local, and what share of them is remote under the others?"},
    {"0009-borrowing", 0, 2, "When one node runs out of blocks, does borrowing keep it going, and do all borrowed blocks go home?"},
    {"0010-cross-node-write-touch", 0, 1,
     "How much longer does a lap take when every block lies on another node than the scheduler that writes it?"},
    {"0011-push-across-nodes", 0, 1,
     "How much longer does a lap take when every request finishes on another node, and is pushed home from there?"},
    {"0012-policies-on-a-service", 0, 1,
     "On a recorded service, which policies keep the writes local, and what share is remote under the others?"},
    {"0013-shared-queue-under-threads", 0, 0,
     "What makes a shared bounded queue slow, the batch in which it is drained or the number of its producers?"},
    {"0014-sharded-queues", 0, 0,
     "How much of a shared queue's time is its producers' contention, which a queue for each of them removes?"},
    {"0015-whole-chunks", 0, 0, "What does it save to send a finished request as one chunk instead of handle by handle?"},
    {"0016-mixed-lifetimes", 0, 0,
     "On requests of mixed lifetimes, how much faster are sharded chunks than one shared queue of handles?"},
    {"0017-mallocs-on-mixed-lifetimes", 0, 0,
     "On requests of mixed lifetimes, where do general-purpose mallocs stand between a good and a bad way home?"},
    {"0018-chunks-inside-the-pool", 0, 0,
     "Does it pay to keep finished requests whole inside the pool, for the next one that wants as many blocks?"},
    {"0019-mailbox-against-chunk-queue", 0, 0,
     "Is a mailbox without a capacity faster than a bounded queue of chunks, and steadier?"},
    {"0020-last-home-first-out", 0, 0, "What is it worth to reuse the block first that came home last?"},
    {"0021-mapped-against-heap", 0, 0, "What do one mapped region and its page size gain over a heap block for each block?"},
    {"0022-first-faults", 0, 0, "What does the first use of memory cost that was not faulted in beforehand, and who pays it?"},
    {"0023-v2-touch", 2, 0,
     "LOCUS-EVAL v2: who is first on which workload when nothing, one byte or the whole of a block is written?"},
    {"0024-v2-workers", 2, 0, "LOCUS-EVAL v2: how do the contenders stand with sleeping workers, 1 to 8 of them, and without any?"},
    {"0025-v2-drain-cadence", 2, 0,
     "LOCUS-EVAL v2: what do draining less, draining on growth and waiting do to velocity and to the footprint?"},
    {"0026-v2-block-sizes", 2, 0, "LOCUS-EVAL v2: up to which block size does it matter which allocator hands the block out?"},
    {"0027-v2-large-blocks", 2, 0, "LOCUS-EVAL v2: what do mallocs do with blocks of half a megabyte and more?"},
    {"0028-v2-recorded-traces", 2, 0, "LOCUS-EVAL v2: how much of the suite's margins is left on traces of real services?"},
    {"0029-exhausted-pool", 2, 0,
     "When a pool is too small for a burst, does every contender wait, drain and end with exact counts?"},
    {"0030-scaling", 2, 0, "How do the contenders scale when every worker has a CPU of its own, up to 15 of them?"},
    {"0031-goals", 2, 0, "Does this library reach the goals that were set from what is physically possible?"},
};

// Gates, from before a prediction could be filed as one. A pool of 1.00 times the peak holds at most 1.00; bound pages are where
// they were bound; who may hold no more waits.
static const char *const gates[] = {"0003/P2", "0005/P1", "0005/P2", "0005/P3", "0005/P4", "0005/P5", "0005/P6",
                                    "0006/P1", "0006/P2", "0008/P1", "0008/P2", "0008/P3", "0008/P4", "0008/P7",
                                    "0009/P1", "0009/P5", "0009/P6", "0012/P1", "0012/P2", "0012/P3", "0012/P4",
                                    "0012/P7", "0023/P4", "0025/P3", "0025/P4", "0029/P3", "0029/P4", "0031/P14"};

bool tb_early_gate(const char *postulate, const char *prediction)
{
    char name[32];
    snprintf(name, sizeof name, "%s/%s", postulate, prediction);
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++)
        if (strcmp(gates[i], name) == 0)
            return true;
    return false;
}

void tb_postulate_early(struct tb_postulate *postulate)
{
    char name[sizeof postulate->id + sizeof postulate->slug];
    snprintf(name, sizeof name, "%s-%s", postulate->id, postulate->slug);
    for (const struct early *known = early; known < early + sizeof early / sizeof *early; known++) {
        if (strcmp(known->name, name) != 0)
            continue;
        snprintf(postulate->question, sizeof postulate->question, "%s", known->question);
        postulate->suite = known->suite;
        postulate->laps_counted = known->laps_counted;
    }
}
