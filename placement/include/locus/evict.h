// SPDX-License-Identifier: Apache-2.0
//
// evict: which cached block is evicted from a prefix cache first. A policy is a table of functions; one file each in
// placement/evict/.
//
// A cache (prefix.h, or a model of one) tells the policy about every request and every block, and asks for a victim when it needs
// room. Blocks are numbers below `blocks`; ids are what the engine calls their contents. An id names a block's contents together
// with everything before them, so an id has always the same parent. Policies compare ids and never interpret them.
//
//     request(ids) -> hit(found) ... miss(not found) ... -> victim() -> remove() ... -> insert(fresh) / insert(again) ...
//
// A block is *cached* from insert() until hit() or remove(). Only cached blocks can be victims. Between hit() and the next insert()
// requests use the block, and the policy still remembers it: its place in a queue, how often it was used.
//
// The policy ranks. It is the cache that never lets a block go before the cached blocks below it: if the victim has some, the
// cache takes the deepest one of them instead.
//
// Threads: owner context, as all of a cache. A state may move to another thread together with its cache.
// Memory: allocated by open(), bounded by `blocks`, freed by close(). Each policy's file says how many bytes a block costs.
// Cost: each file states it; no policy needs more than O(log blocks) for an operation on a block, amortized.
// Deterministic: equal calls have equal answers. No policy reads a clock or draws a random number.
#ifndef LOCUS_EVICT_H
#define LOCUS_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "id.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_EVICT_NONE UINT32_MAX // no block: a chain's first one has this parent

struct locus_evict_ops {
    const char *name;           // "lru"
    const char *summary;        // one line
    // State for blocks 0 .. blocks - 1, all empty; 0 < blocks < LOCUS_EVICT_NONE / 8. 0, -EINVAL (blocks) or -ENOMEM.
    int (*open)(void **state, uint32_t blocks);
    void (*close)(void *state); // close(NULL) is allowed
    // A request's whole chain of ids, before the blocks that it finds are taken. May be NULL. now_ns never decreases.
    void (*request)(void *state, uint64_t now_ns, const struct locus_id ids[], uint32_t count);
    // The request did not find `id`, for which room is wanted next. May be NULL. (A policy with a memory of what has left
    // adapts here: before the victim is chosen, and long before the contents are there to be cached.)
    void (*miss)(void *state, struct locus_id id);
    void (*hit)(void *state, uint32_t block); // a request found this cached block
    // The last reference came home. `fresh`: its contents are new to the cache; otherwise it was hit before, and id and parent
    // are those of the first time. `parent`: the block above it, cached now or before; LOCUS_EVICT_NONE: a chain's first block, or
    // the block above it has left, or was never cached so far.
    void (*insert)(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh);
    uint32_t (*victim)(void *state); // a cached block, or LOCUS_EVICT_NONE if none is cached. A second call returns the same one
    void (*remove)(void *state, uint32_t block); // a cached block was evicted: the victim, or one below it
};

// The policies of the library by number, in no meaningful order; NULL: there is none with this number or this name.
const struct locus_evict_ops *locus_evict_at(uint32_t i);
const struct locus_evict_ops *locus_evict_find(const char *name);

extern const struct locus_evict_ops locus_evict_chain, locus_evict_lru;

// Puts a policy on the list of the library, or of the program that is linked with liblocus.a. (A cache also accepts a table that
// is on no list.) The linker keeps the list; `used` and `retain` keep a pointer that nothing refers to.
#define LOCUS_EVICT(variable)                                                                                                      \
    static const struct locus_evict_ops *const variable##_entry __attribute__((used, retain, section("locus_evicts"))) = &(variable)

#ifdef __cplusplus
}
#endif

#endif
