// SPDX-License-Identifier: Apache-2.0
//
// idset (private): a set of CPU or node numbers as the operating system gives them.
//
// A fixed bitmap, because every user needs it within one function only: it is on the stack, cannot leak, and has the memory
// layout that sched_setaffinity(2) and get_mempolicy(2) expect. 8192 is the largest CONFIG_NR_CPUS that Linux offers on x86-64
// (MAXSMP); node numbers end at 1023 there. A number beyond that is an error, not a reason to allocate.
#ifndef TOPO_IDSET_H
#define TOPO_IDSET_H

#include <stdbool.h>
#include <stddef.h>

#define TOPO_ID_MAX 8192u      // numbers in a set are 0 .. TOPO_ID_MAX - 1
#define TOPO_ID_WORD_BITS (8u * (unsigned)sizeof(unsigned long))

struct topo_idset {
    unsigned long words[TOPO_ID_MAX / (8u * sizeof(unsigned long))];
};

static inline bool topo_idset_has(const struct topo_idset *set, unsigned id)
{
    return id < TOPO_ID_MAX && (set->words[id / TOPO_ID_WORD_BITS] >> (id % TOPO_ID_WORD_BITS) & 1ul) != 0;
}

// pre: id < TOPO_ID_MAX.
static inline void topo_idset_add(struct topo_idset *set, unsigned id)
{
    set->words[id / TOPO_ID_WORD_BITS] |= 1ul << (id % TOPO_ID_WORD_BITS);
}

// Intersects `set` with `other`.
static inline void topo_idset_intersect(struct topo_idset *set, const struct topo_idset *other)
{
    for (size_t word = 0; word < sizeof(set->words) / sizeof(set->words[0]); word++)
        set->words[word] &= other->words[word];
}

static inline void topo_idset_unite(struct topo_idset *set, const struct topo_idset *other)
{
    for (size_t word = 0; word < sizeof(set->words) / sizeof(set->words[0]); word++)
        set->words[word] |= other->words[word];
}

static inline unsigned topo_idset_count(const struct topo_idset *set)
{
    unsigned count = 0;
    for (size_t word = 0; word < sizeof(set->words) / sizeof(set->words[0]); word++)
        count += (unsigned)__builtin_popcountl(set->words[word]);
    return count;
}

#endif
