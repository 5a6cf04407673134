// SPDX-License-Identifier: Apache-2.0
//
// demote: which tier an object goes to when it has to leave the one where it is. A policy is a table of functions; one file each in
// placement/tier/demote/.
//
// The caller has its tiers in an array, from the nearest down, and keeps the objects' ages and uses. It describes both as they are
// at the moment; a policy answers, and neither moves bytes nor remembers anything, so it can be asked what it would do.
//
//     asks to(object, tiers) -> a tier below, then stores there and drops above; or LOCUS_DEMOTE_DROP: it is not worth its room
//     the tier that it names is full -> the caller makes room in it by asking to() for that tier's own oldest object, or drops
//
// What a policy may take into account beyond room is in the descriptions: what a load costs, by latency and bandwidth as the caller
// has measured them, and what computing the object again costs.
//
// Threads: any; policies have no state. Cost: O(tiers). Deterministic.
#ifndef LOCUS_DEMOTE_H
#define LOCUS_DEMOTE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_DEMOTE_DROP UINT32_MAX

struct locus_demote_object {
    uint64_t bytes;
    uint64_t idle_ns;           // since its last use
    uint64_t uses;              // so far
    uint64_t compute_ns;        // to have it again without a load; 0: not known, never drop it for its price
    uint32_t at;                // the tier that it leaves, by number; UINT32_MAX: it is in none
    bool exact;                 // int8 would not do
};

struct locus_demote_tier {
    uint64_t bytes, bytes_free; // as for an object that is stored there as it is
    uint64_t latency_ns;        // of a load, however short
    uint64_t bytes_per_s;       // of a long one, > 0
    bool lossy;                 // int8
};

struct locus_demote_ops {
    const char *name;           // "order"
    const char *summary;        // one line
    // A tier below object->at whose `bytes` the object fits into, not lossy for an exact one; or LOCUS_DEMOTE_DROP.
    uint32_t (*to)(const struct locus_demote_object *object, const struct locus_demote_tier tiers[], uint32_t count);
};

// The policies of the library by number, in no meaningful order; NULL: there is none with this number or this name.
const struct locus_demote_ops *locus_demote_at(uint32_t i);
const struct locus_demote_ops *locus_demote_find(const char *name);

extern const struct locus_demote_ops locus_demote_order;

// The next tier from `from` on that may hold the object, with room for it now if `now`; LOCUS_DEMOTE_DROP: none. For policies.
uint32_t locus_demote_next(const struct locus_demote_object *object, const struct locus_demote_tier tiers[], uint32_t count,
                           uint32_t from, bool now);

// What a load of so many bytes costs; UINT64_MAX: longer than that can say, or bytes_per_s is 0.
uint64_t locus_demote_load_ns(const struct locus_demote_tier *tier, uint64_t bytes);

// Puts a policy on the list of the library, or of the program that is linked with liblocus.a, as LOCUS_EVICT does (evict.h).
#define LOCUS_DEMOTE(variable)                                                                                                     \
    static const struct locus_demote_ops *const variable##_entry __attribute__((used, retain, section("locus_demotions"))) =       \
        &(variable)

#ifdef __cplusplus
}
#endif

#endif
