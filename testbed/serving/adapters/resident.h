// SPDX-License-Identifier: Apache-2.0
//
// resident: the policies of residency that a simulation may have: those of the library (locus/adapter_policy.h), and those that
// are here to be compared with them:
//
//     frequency     counts uses
//     cost          counts uses, and weighs them by price and by how long ago they were
//     fixed         knows the popularity, where numbers go by it
//     ranked        ranks every 60 seconds, as the seed does; `frequency` does it at each use
//     clairvoyant   knows all uses, a bound: it is never ranked with the others
//
// A simulation calls place(), use(), moved() and due_ns(), so these have no more.
#ifndef TB_RESIDENT_H
#define TB_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "locus/adapter_policy.h"
#include "testbed/serving/adapters/settings.h"

const struct locus_adapter_policy *tb_resident_at(uint32_t i); // clairvoyant is the last one; NULL after it
const struct locus_adapter_policy *tb_resident_find(const char *name); // NULL: there is none

extern const struct locus_adapter_policy tb_resident_frequency, tb_resident_cost, tb_resident_fixed, tb_resident_ranked,
    tb_resident_clairvoyant;

// Tells a state of tb_resident_clairvoyant all uses, before the first one. 0 or -ENOMEM.
int tb_resident_foresee(void *state, const struct tb_adapter_use uses[], uint32_t count);

// --- what these are made of ------------------------------------------------------------------------------------------------

struct tb_places {              // the first member of each policy's state
    uint32_t adapters;
    uint8_t *place;             // of an adapter
    uint32_t *at;               // of an adapter in the list of its place
    uint32_t *list[3];          // who is HOT, who is WARM
    uint32_t count[3], most[3];
    struct locus_adapter_policy_move *moves; // that were not reported yet
    uint32_t moves_first, moves_end;
};

// 0 or -ENOMEM; close it in both cases. Everybody is COLD.
int tb_places_open(struct tb_places *places, const struct locus_adapter_policy_config *config);
void tb_places_close(struct tb_places *places);

// pre: between two calls of tb_places_moved() until false an adapter moves twice at most.
void tb_places_move(struct tb_places *places, uint32_t adapter, enum locus_adapter_place to);

struct tb_rank {
    uint64_t rank, turn;        // of equal ranks, the higher turn is above
};

// A use has changed the rank of `adapter` (ranks: [adapters]). It goes to the best place that has room, or somebody who ranks
// lower: the lowest of these goes one place down, and so on. Without such a place it stays, and nobody else rises. Returns who left
// HOT, or LOCUS_ADAPTER_NONE.
uint32_t tb_places_used(struct tb_places *places, const struct tb_rank ranks[], uint32_t adapter);

// Members of a policy's table, for those in which nothing changes by time.
enum locus_adapter_place tb_places_place(void *state, uint64_t now_ns, uint32_t adapter);
bool tb_places_moved(void *state, uint64_t now_ns, struct locus_adapter_policy_move *out);
uint64_t tb_places_never(void *state);

#endif
