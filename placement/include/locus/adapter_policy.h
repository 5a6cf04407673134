// SPDX-License-Identifier: Apache-2.0
//
// adapter_policy: in which tier an adapter that nobody uses should wait. A policy is a table of functions; one file each in
// placement/adapter/policies/.
//
// A policy knows adapters by number, their uses, and a clock that the caller drives. It holds no memory of theirs and moves
// nothing: it has an opinion, the adapter's *place*, and the caller acts on it (adapter.h on memory and tiers, a simulation on
// costs alone). What is in use needs its f16 weights whatever its place is: the caller brings them back for that time, and
// carries out the move when the last user has gone.
//
//     place(a): the price of this use -> use(a) -> moved() until false: what the use, or the time since the last call, has changed
//
// Places: at most `hot` adapters are HOT and `warm` WARM at a time. At first all are COLD, but for policies that say otherwise,
// and moved() reports those. Each policy ranks the adapters; its file says how, exactly enough to write an equal one:
//
//     HOT     the first `hot` in rank of those that the policy admits to it        f16 weights, ready
//     WARM    the next `warm` of those that it admits to it                        int8, in memory
//     COLD    all others                                                           in a file
//
// Time: ns of any clock. Each call's now_ns is at least the one before; a lower one counts as the one before.
// Threads: one at a time. A state may move to another thread.
// Memory: allocated by open(), freed by close(): 48 bytes an adapter, and what a policy's file adds.
// Cost: O(log adapters) for each call, expected (a treap whose shape follows from the numbers). A change by time costs as much, in
// the call that finds it due.
// Deterministic: equal calls have equal answers.
#ifndef LOCUS_ADAPTER_POLICY_H
#define LOCUS_ADAPTER_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_ADAPTER_NONE UINT32_MAX

enum locus_adapter_place { LOCUS_ADAPTER_COLD, LOCUS_ADAPTER_WARM, LOCUS_ADAPTER_HOT };

struct locus_adapter_policy_config {
    size_t size;                // sizeof(struct locus_adapter_policy_config)
    uint32_t adapters;          // numbers 0 .. adapters - 1; 1 to 2^28
    uint32_t hot, warm;         // at most so many; 0 is allowed. Seed 002 has 100 and 1,000
    const uint64_t *cost_ns;    // [adapters], copied: what bringing one back costs. NULL: all the same. For policies that weigh it
    uint64_t window_ns;         // 0: 60 s. Only `seed` looks at this
    uint32_t uses;              // 0: 10; at most 1,000. ... and at this
};

struct locus_adapter_policy_move {
    uint32_t adapter;
    enum locus_adapter_place from, to; // never the same
};

struct locus_adapter_policy {
    const char *name;           // "lru"
    const char *summary;        // one line
    // 0, -EINVAL, -ENOMEM or -E2BIG (version.h). *state is NULL after an error.
    int (*open)(void **state, const struct locus_adapter_policy_config *config);
    void (*close)(void *state); // close(NULL) is allowed
    void (*use)(void *state, uint64_t now_ns, uint32_t adapter);
    enum locus_adapter_place (*place)(void *state, uint64_t now_ns, uint32_t adapter);
    // The next adapter whose place is another one than moved() reported last (COLD at first). Who went there and back in the
    // meantime is not reported. False: there is none, and *out is as it was. So each adapter is reported once at most until false.
    bool (*moved)(void *state, uint64_t now_ns, struct locus_adapter_policy_move *out);
    // Before this no place changes by time alone; UINT64_MAX: none ever does. For a simulation's next event. After a demote(), or
    // where room is short, none may change then either.
    uint64_t (*due_ns)(void *state);
    // Room is short: who leaves `place` (HOT or WARM) first. `after`: LOCUS_ADAPTER_NONE, or the answer before this one, which
    // cannot go (it is in use). LOCUS_ADAPTER_NONE: nobody else is there.
    uint32_t (*victim)(void *state, uint64_t now_ns, enum locus_adapter_place place, uint32_t after);
    // The caller has no room for it there: until its next use its place is below what it is now, and time may lower it further.
    // Another adapter may rise to the free place. Of a COLD one: nothing.
    void (*demote)(void *state, uint64_t now_ns, uint32_t adapter);
    // It is unloaded: COLD, and as if it had never been used. (A later adapter may have its number.)
    void (*forget)(void *state, uint64_t now_ns, uint32_t adapter);
};

// The policies of the library by number, in no meaningful order; NULL: there is none with this number or this name.
const struct locus_adapter_policy *locus_adapter_policy_at(uint32_t i);
const struct locus_adapter_policy *locus_adapter_policy_find(const char *name);

extern const struct locus_adapter_policy locus_adapter_policy_seed, locus_adapter_policy_lru;

const char *locus_adapter_place_name(enum locus_adapter_place place); // "hot", "warm", "cold"

#ifdef __cplusplus
}
#endif

#endif
