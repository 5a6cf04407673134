// SPDX-License-Identifier: Apache-2.0
//
// resident: the policies of residency that a simulation may have: those of the library (locus/adapter_policy.h), and two
// that are no use to an engine:
//
//     ranked        ranks every 60 seconds, as the seed does; the library's `frequency` does it at each use
//     clairvoyant   knows all uses, a bound: it is never ranked with the others
//
// A simulation calls place(), use(), moved() and due_ns(), so these two have no more.
#ifndef TB_RESIDENT_H
#define TB_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "locus/adapter_policy.h"
#include "testbed/serving/adapters/settings.h"

const struct locus_adapter_policy *tb_resident_at(uint32_t i); // clairvoyant is the last one; NULL after it
const struct locus_adapter_policy *tb_resident_find(const char *name); // NULL: there is none

extern const struct locus_adapter_policy tb_resident_ranked, tb_resident_clairvoyant;

// Tells a state of tb_resident_clairvoyant all uses, before the first one. 0 or -ENOMEM.
int tb_resident_foresee(void *state, const struct tb_adapter_use uses[], uint32_t count);

// --- what these two are made of ------------------------------------------------------------------------------------------------

struct tb_places {
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
bool tb_places_moved(struct tb_places *places, struct locus_adapter_policy_move *out);

#endif
