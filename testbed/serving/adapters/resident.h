// SPDX-License-Identifier: Apache-2.0
//
// resident: which adapters are hot, warm and cold, as a small table of functions. To add one, add one file to this folder, and its
// table to the list in resident.c.
//
// hot: f16 in memory, ready. warm: int8 in memory. cold: int8 in a file. The places say who is where and how many fit; a policy
// moves adapters between them, when one is used or when time passes, and residency.h counts what that costs. A use of an adapter
// that is not hot makes its f16 weights, wherever they stay: a policy that leaves it warm has it made again at the next use.
//
// Adapters are numbers in an order that says nothing about how popular they are.
#ifndef TB_RESIDENT_H
#define TB_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "testbed/serving/adapters/settings.h"

enum tb_tier { TB_TIER_COLD, TB_TIER_WARM, TB_TIER_HOT, TB_TIERS };

struct tb_places {
    uint8_t *tier;              // of an adapter
    uint32_t *place;            // of an adapter in the list of its tier
    uint32_t *list[TB_TIERS];   // who is there; of cold nobody is listed
    uint32_t count[TB_TIERS], most[TB_TIERS];
    void (*moved)(void *context, uint32_t adapter, enum tb_tier from, enum tb_tier to, uint64_t now_ns);
    void *context;
};

// While a policy makes room there may be one more than fits; when it returns there may not.
void tb_places_move(struct tb_places *places, uint32_t adapter, enum tb_tier to, uint64_t now_ns);

// Whose score is the least there; scores differ. pre: somebody is.
uint32_t tb_places_least(const struct tb_places *places, enum tb_tier tier, const uint64_t score[]);

// If more are warm than fit, the least of them becomes cold.
void tb_places_trim(struct tb_places *places, const uint64_t score[], uint64_t now_ns);

// Makes the adapter hot, or warm if it is cold: the least of those that are hot becomes warm if there is no room, and the least of those that are
// warm becomes cold.
void tb_places_bring(struct tb_places *places, uint32_t adapter, enum tb_tier to, const uint64_t score[], uint64_t now_ns);

struct tb_resident_setup {
    struct tb_places *places;   // everybody is cold
    uint32_t adapters;
    const uint32_t *rank;       // of an adapter, from 0: how popular it is in truth; for static alone
    const struct tb_adapter_use *uses; // all of them; for clairvoyant alone
    uint32_t count;             // uses
};

struct tb_resident {
    const char *name;
    const char *summary;        // one line
    bool foresees;              // a bound, not a rival
    int (*open)(void **state, const struct tb_resident_setup *setup); // 0 or -ENOMEM; close it in both cases
    void (*close)(void *state);
    void (*advance)(void *state, uint64_t now_ns); // time has passed; NULL: nothing happens then
    void (*use)(void *state, uint32_t adapter, uint64_t now_ns); // after advance() to the same time
};

extern const struct tb_resident tb_resident_rule, tb_resident_ranked, tb_resident_static, tb_resident_lru, tb_resident_lfu,
    tb_resident_cost, tb_resident_clairvoyant;

const struct tb_resident *tb_resident_at(uint32_t i); // clairvoyant is the last one; NULL after it
const struct tb_resident *tb_resident_find(const char *name); // NULL: there is none

#endif
