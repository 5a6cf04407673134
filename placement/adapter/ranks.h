// SPDX-License-Identifier: Apache-2.0
//
// ranks: who is hot, warm and cold when each adapter has a rank: what it is admitted to, and of equals, who was used last ranks
// higher. What the policies of the library have in common. Not installed.
//
// The invariant, which settle() restores after each change of a rank:
//
//     adapters in descending rank:   [ HOT, at most `hot` ][ WARM, at most `warm` ][ COLD ...    not in the order: COLD
//                                      all admitted to HOT    all that are left      no room
//
// and there is no one COLD while WARM has room, nor one that may be HOT below HOT while that has room. Who may be HOT ranks above
// all who may not, so both borders are one place in the order, and a change moves one adapter at most across each.
#ifndef LOCUS_ADAPTER_RANKS_H
#define LOCUS_ADAPTER_RANKS_H

#include "locus/adapter_policy.h"
#include "placement/adapter/order.h"

struct ranks {                  // the first member of each policy's state
    uint32_t adapters, hot, warm;
    uint32_t hot_count, warm_count;
    uint32_t hot_last, warm_last; // the lowest in rank; ORDER_NONE: nobody is there
    uint64_t turns;             // uses so far
    uint64_t now_ns;
    struct order order;
    unsigned char *place, *told; // of an adapter: now, and as moved() reported it last
    bool *queued;
    uint32_t *queue;            // whose place may have changed; a ring of `adapters`
    uint32_t queue_head, queue_count;
};

// Takes the caller's config into *config, with its defaults filled in, and opens. As open() of adapter_policy.h; close it in all
// cases.
int ranks_open(struct ranks *ranks, const struct locus_adapter_policy_config *given, struct locus_adapter_policy_config *config);
void ranks_close(struct ranks *ranks);

// A use. `admitted`: the best place that it may have. COLD: it is nowhere in the order.
void ranks_set(struct ranks *ranks, uint32_t adapter, enum locus_adapter_place admitted);
void ranks_admit(struct ranks *ranks, uint32_t adapter,
                 enum locus_adapter_place admitted); // when it was used stays. pre: it is in the order
enum locus_adapter_place ranks_admitted(const struct ranks *ranks, uint32_t adapter);

// Members of a policy's table, for those in which nothing changes by time.
enum locus_adapter_place ranks_place(void *state, uint64_t now_ns, uint32_t adapter);
bool ranks_moved(void *state, uint64_t now_ns, struct locus_adapter_policy_move *out);
uint64_t ranks_never(void *state);
uint32_t ranks_victim(void *state, uint64_t now_ns, enum locus_adapter_place place, uint32_t after);
void ranks_demote(void *state, uint64_t now_ns, uint32_t adapter);
void ranks_forget(void *state, uint64_t now_ns, uint32_t adapter);

#endif
