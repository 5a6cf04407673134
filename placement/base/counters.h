// SPDX-License-Identifier: Apache-2.0
//
// counters: an owner counts, and any thread may read the counters while it works.
//
// A counter has one writer, the holder of the owner's role, so counting is a plain load and a relaxed store, without a locked
// operation. A reader sees each counter as of some moment, but not all as of the same moment. Relaxed suffices: nobody concludes
// from a counter that anything else has happened.
//
// Counters have cache lines of their own, so that a reader shares no line that a grow or a drain works on. Two figures are
// exceptions: free blocks and blocks in flight are read where the owner keeps them. A page of their own for the counters was
// slower: it cost three percent of a drain.
#ifndef LOCUS_COUNTERS_H
#define LOCUS_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#define COUNTERS_ALIGN_BYTES 128 // two lines, which some processors fetch together

// Owner context. Builtins instead of _Atomic, so that the structs of the public headers can be the storage.
static inline void counter_add(uint64_t *counter, uint64_t more)
{
    __atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

static inline void counter_set(uint64_t *counter, uint64_t now)
{
    __atomic_store_n(counter, now, __ATOMIC_RELAXED);
}

// Any thread.
static inline uint64_t counter_read(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

// A struct of nothing but counters.
static inline void counters_read(void *out, const void *counters, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
        ((uint64_t *)out)[i] = counter_read((const uint64_t *)counters + i);
}

#endif
