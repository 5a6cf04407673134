// SPDX-License-Identifier: Apache-2.0
//
// word: the word of a range, {pins 20, state 4, generation 40}, and every exchange on it. Not installed.
//
// A pin is added before anything is known, and what the word was then decides whether it holds. A pin that does not hold is taken
// back. In between it may be seen on any word, also on that of a free page, so nobody overwrites a word: allocation adds, and all
// other changes are compare-and-exchange that keep the pins of others. Pins are the highest bits: an unpin too many would wrap
// them, not borrow from the state.
//
// DOOMED with no pins becomes FREE by one exchange. It can fail only because of a passing pin, whose taking back tries again. So of
// all who bring the pins of a doomed range to zero, exactly one succeeds, and gives the pages back.
//
// Pairs. U1, the release of every unpin, with E1, the acquire of whoever ends or claims the range: what holders wrote is there for
// the one who saves it, or reuses its pages. Between the two other threads only add and subtract, so E1 reads from U1's release
// sequence; and whoever allocated the range has unpinned it too, so its length, kind and owner are there as well. S1, the release
// of an evictor whose range stays, with E1 again: what it has noted about the range. V1, the release that makes a PREPARED range
// RESIDENT, with V2, the acquire of a pin: who finds one range of a set finds its contents, and all others (C1 in set.c is before
// V1). A range that was allocated alone needs neither: its handle was handed over by other means.
#ifndef LOCUS_PAGES_WORD_H
#define LOCUS_PAGES_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "locus/pages_report.h"

#define WORD_GENERATION ((UINT64_C(1) << 40) - 1)
#define WORD_STATE_SHIFT 40
#define WORD_PIN (UINT64_C(1) << 44)

static inline uint64_t word_state_of(enum locus_range_state state)
{
    return (uint64_t)state << WORD_STATE_SHIFT;
}

static inline enum locus_range_state word_state(uint64_t word)
{
    return (enum locus_range_state)(word >> WORD_STATE_SHIFT & 15);
}

static inline uint32_t word_pins(uint64_t word)
{
    return (uint32_t)(word >> 44);
}

static inline uint64_t word_generation(uint64_t word)
{
    return word & WORD_GENERATION;
}

// The same pins, another state.
static inline uint64_t word_with(uint64_t word, enum locus_range_state state)
{
    return (word & ~word_state_of(15)) | word_state_of(state);
}

// FREE, of the next generation, with the pins that `word` has. 0 is no generation, or a handle could be LOCUS_RANGE_NONE.
static inline uint64_t word_ended(uint64_t word)
{
    uint64_t next = (word + 1) & WORD_GENERATION;
    return (word & ~(WORD_PIN - 1)) | word_state_of(LOCUS_RANGE_FREE) | (next ? next : 1);
}

static inline uint64_t word_read(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

// For the holder of a pin that may not hold.
static inline uint64_t word_look(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE); // V2
}

// The page is the caller's alone, and FREE. Returns the generation that begins.
static inline uint64_t word_begin(uint64_t *word, enum locus_range_state state)
{
    return word_generation(__atomic_fetch_add(word, WORD_PIN + word_state_of(state), __ATOMIC_RELAXED));
}

// Returns the word before.
static inline uint64_t word_pin(uint64_t *word)
{
    return __atomic_fetch_add(word, WORD_PIN, __ATOMIC_ACQUIRE); // V2
}

// DOOMED without pins -> FREE. True: by this call, and the pages are the caller's to give back.
static inline bool word_end_doomed(uint64_t *word, uint64_t generation)
{
    uint64_t doomed = word_state_of(LOCUS_RANGE_DOOMED) | generation;
    return __atomic_compare_exchange_n(word, &doomed, word_ended(doomed), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED); // E1
}

// True: the pages are the caller's to give back.
static inline bool word_unpin(uint64_t *word)
{
    uint64_t before = __atomic_fetch_sub(word, WORD_PIN, __ATOMIC_RELEASE); // U1
    return word_pins(before) == 1 && word_state(before) == LOCUS_RANGE_DOOMED && word_end_doomed(word, word_generation(before));
}

// From the word as it was read to another, if it is still that. False: `word` is what it is now.
static inline bool word_exchange(uint64_t *at, uint64_t *word, uint64_t desired)
{
    return __atomic_compare_exchange_n(at, word, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED); // E1, S1
}

// PREPARED, as the word was read, -> RESIDENT, if it is still the same.
static inline bool word_show(uint64_t *at, uint64_t *word)
{
    uint64_t shown = word_with(*word, LOCUS_RANGE_RESIDENT);
    return __atomic_compare_exchange_n(at, word, shown, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE); // V1; the failure: V2
}

#endif
