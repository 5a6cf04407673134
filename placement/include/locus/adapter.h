// SPDX-License-Identifier: Apache-2.0
//
// adapter: LoRA weights that thousands of requests share: in pages while somebody uses them, and in tiers while nobody does.
//
//     load -> [prefetch ->] acquire (-EAGAIN: poll, and ask again) -> read -> release ... load again: the next version ... unload
//                           or cancel: the request that waited was cancelled
//
// An adapter is a number and f16 weights; what they mean, rank and layout, is the caller's. It is in up to three places:
//
//     cold    the tier that holds all adapters, a file as a rule (tier_file.h). Its copy is the adapter: it is made by load, and
//             outlives the process. A later open finds it there.
//     warm    a tier in memory, int8 as a rule (tier.h). A copy, so it may be lossy, and it may be refused.
//     pages   a range of kind LOCUS_PAGES_ADAPTER (pages.h), owner: the number; pinned once for each holder, and once for a
//             prefetch. A copy, too: the arena may evict it while nobody pins it, and nothing is lost.
//
// Where one waits is the policy's opinion (adapter_policy.h): when its last holder has gone, or its place has changed, a HOT one
// stays in its pages, a WARM one is demoted to the warm tier, and a COLD one leaves both. An adapter that is in use or prefetched
// stays where it is. If its place rises without a use, nothing moves until the next use.
//
// A prefetch is pending from the call of that name, or from an acquire that says -EAGAIN, until the next acquire that says 0 or an
// error, a cancel, or a load or unload of the number. Until then what has been brought stays pinned, so that no other prefetch
// evicts it; for others that room is not there. At most one prefetch is pending for each adapter, so a request that was cancelled
// must cancel it.
//
// Versions. A load of a number that is there makes a new version. Holders keep the one that they acquired, in its memory, until
// they release it; whoever acquires after load returned gets the new one. A version without holders that is not the newest, or is
// unloaded, leaves all places. So for a while both are in memory.
//
// Threads: one owner makes all calls, the owner of both tiers; the arena may be shared with anybody. Another thread may take over
// if something orders it after the first. Who reads the weights of a hold may be any thread.
// Time: ns of the engine's clock, as adapter_policy.h.
#ifndef LOCUS_ADAPTER_H
#define LOCUS_ADAPTER_H

#include "adapter_policy.h"
#include "pages.h"
#include "tier.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_adapters;

struct locus_adapters_config {
    size_t size;                // sizeof(struct locus_adapters_config)
    struct locus_pages *pages;  // all three outlive the adapters
    struct locus_tier *cold;
    struct locus_tier *warm;    // NULL: WARM is as COLD
    const struct locus_adapter_policy *policy; // NULL: lru
    struct locus_adapter_policy_config policy_config; // its cost_ns is copied
};

// Finds the adapters that the cold tier has: of each number the newest version, the older ones are dropped. Its keys are ours:
// locus_id_of(number << 32 | version), so a tier is either cold or warm. 0, -EINVAL (no arena or no cold tier, or the warm one is
// the cold one; an object whose number is too great, or whose key is none of ours), -ENOMEM, -E2BIG (version.h), or as the policy's
// open().
int locus_adapters_open(struct locus_adapters **out, const struct locus_adapters_config *config);

// -EBUSY: somebody holds an adapter; nothing changes. Otherwise ends all prefetches, waits for what is under way, and gives back
// pages and warm copies. NULL is allowed.
int locus_adapters_close(struct locus_adapters *adapters);

// Copies `bytes` of f16 weights to the cold tier, and returns when they are safe there, as that tier defines it; so it takes its
// time. 0; -EINVAL: no such number, or no even number of bytes; -EOVERFLOW: the 2^32nd version; -ENOMEM;
// or the error of the store. Then the adapter is as it was.
int locus_adapters_load(struct locus_adapters *adapters, uint64_t now_ns, uint32_t adapter, const void *weights, uint64_t bytes);

// Drops all its versions from the cold tier, and returns when that is done: a restart does not find it. So it takes its time. Its
// history goes, too. Holders keep it until they release it. 0; -ENOENT; or the error of the drop. Then the adapter is as it was.
int locus_adapters_unload(struct locus_adapters *adapters, uint64_t now_ns, uint32_t adapter);

struct locus_adapter_hold {
    const void *weights;        // f16, as they were loaded, or as int8 has kept them; on a page
    uint64_t bytes;
    struct locus_adapter_version *version; // from here on ours
};

// A use, in the sense of the policy. 0: *hold is valid until its release. -EAGAIN: the weights are on their way: poll, and ask
// again. -ENOENT; or why they could not be brought back: the error of locus_pages_alloc() (-ENOMEM: holders and prefetches have all
// the room) or of the cold tier's load. The next call tries again.
int locus_adapters_acquire(struct locus_adapters *adapters, uint64_t now_ns, uint32_t adapter, struct locus_adapter_hold *hold);
void locus_adapters_release(struct locus_adapters *adapters, uint64_t now_ns, struct locus_adapter_hold *hold);

// For a request that waits: begins to bring the weights. 0: they are there, on their way, or wait for room that is on its way; poll
// goes on with it. No use. Errors: as acquire.
int locus_adapters_prefetch(struct locus_adapters *adapters, uint64_t now_ns, uint32_t adapter);

// A request that waited will not acquire (it was cancelled): the prefetch ends, with its pin. Whoever else waits asks again. 0, or
// -ENOENT: nothing is prefetched.
int locus_adapters_cancel(struct locus_adapters *adapters, uint64_t now_ns, uint32_t adapter);

// Takes what the tiers have completed, waiting up to wait_ns for the cold one, and acts on what the policy says now.
void locus_adapters_poll(struct locus_adapters *adapters, uint64_t now_ns, uint64_t wait_ns);

struct locus_adapters_stats {
    uint64_t found_pages;       // acquires that found the weights in their pages, left there or prefetched
    uint64_t brought_warm, brought_cold; // loads into pages
    uint64_t demoted;           // stores to the warm tier
    uint64_t demote_refused;    // stores that it refused: for want of room, or because a weight is infinite or NaN
    uint64_t warm_failed;       // loads from it that failed; the cold copy was taken
    uint32_t versions;          // now, with those that only holders keep
    uint32_t holds;             // now
};
void locus_adapters_stats(const struct locus_adapters *adapters, struct locus_adapters_stats *out);

// Where the newest version is. False: it is nowhere.
struct locus_adapter_where {
    bool pages, warm, moving;   // pages: as far as is known; the arena may have evicted it
    uint32_t holders;
    enum locus_adapter_place place; // the policy's
};
bool locus_adapters_where(struct locus_adapters *adapters, uint64_t now_ns, uint32_t adapter, struct locus_adapter_where *out);

#ifdef __cplusplus
}
#endif

#endif
