// SPDX-License-Identifier: Apache-2.0
//
// pages_word: no interleaving breaks the protocol of a range of pages (pages_word.h), in the scenes below; and each way to break
// the protocol is found in one of them.
#include "testbed/strategies/tests/pages_word.h"

// --- scenes --------------------------------------------------------------------------------------------------------------------

// Handles have generation 0, until the thread allocates.
static const struct scene scenes[] = {
    {"two readers, one free", {IS_RESIDENT}, false, false, {{{PIN, 0}, {UNPIN, 0}}, {{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}}},
    {"two frees of one range, a reader", {IS_RESIDENT}, false, false, {{{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}, {{FREE_IT, 0}}}},
    {"a reader, a free, an eviction", {IS_RESIDENT}, false, false, {{{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}, {{EVICT, 0}}}},
    {"a reader, a free, an eviction that fails",
     {IS_RESIDENT},
     false,
     false,
     {{{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}, {{EVICT_BACK, 0}}}},
    {"two evictions, a reader", {IS_RESIDENT}, false, false, {{{PIN, 0}, {UNPIN, 0}}, {{EVICT, 0}}, {{EVICT_BACK, 0}, {EVICT, 0}}}},
    {"a reader with an old handle, the range is freed and used again, and evicted",
     {IS_RESIDENT},
     false,
     false,
     {{{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}, {ALLOCATE, 0}, {PIN, 0}, {UNPIN, 0}, {FREE_IT, 0}}, {{EVICT, 0}}}},
    {"the same with a second old handle",
     {IS_RESIDENT},
     false,
     false,
     {{{PIN, 0}, {UNPIN, 0}, {PIN, 0}, {UNPIN, 0}},
      {{FREE_IT, 0}, {ALLOCATE, 0}, {PIN, 0}, {UNPIN, 0}, {FREE_IT, 0}},
      {{PIN, 0}, {UNPIN, 0}}}},
    {"the range is doomed twice",
     {IS_RESIDENT},
     false,
     false,
     {{{PIN, 0}, {UNPIN, 0}}, {{PIN, 0}, {FREE_IT, 0}, {UNPIN, 0}}, {{ALLOCATE, 0}, {PIN, 0}, {FREE_IT, 0}, {UNPIN, 0}}}},
    {"a set is committed before readers in both orders",
     {IS_PREPARED, IS_PREPARED},
     true,
     false,
     {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}, {REUSE, 0}},
      {{PIN, 0}, {PIN, 1}, {UNPIN, 0}, {UNPIN, 1}},
      {{PIN, 1}, {PIN, 0}, {UNPIN, 1}, {UNPIN, 0}}}},
    {"a range of a committed set is freed at once",
     {IS_PREPARED, IS_PREPARED},
     false,
     false,
     {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}, {REUSE, 0}}, {{FREE_IT, 0}, {FREE_IT, 1}}, {{PIN, 0}, {UNPIN, 0}}}},
    {"a range of a committed set is evicted at once",
     {IS_PREPARED, IS_PREPARED},
     false,
     false,
     {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}, {REUSE, 0}}, {{EVICT, 0}, {EVICT, 0}}, {{PIN, 0}, {UNPIN, 0}}}},
    {"a set is rolled back, and its word commits another set",
     {IS_PREPARED, 0},
     false,
     true,
     {{{ROLL_BACK, 0}, {REUSE, 0}, {PREPARE, 1}, {COMMIT, 0}, {SETTLE, 1}, {REUSE, 0}},
      {{PIN, 0}, {UNPIN, 0}, {PIN, 1}, {UNPIN, 1}},
      {{PIN, 0}, {UNPIN, 0}}}},
    {"a set is rolled back, and its pages are prepared again and committed",
     {IS_PREPARED, 0},
     false,
     false,
     {{{ROLL_BACK, 0}, {REUSE, 0}, {PREPARE, 0}, {COMMIT, 0}, {SETTLE, 0}, {FREE_IT, 0}},
      {{PIN, 0}, {UNPIN, 0}},
      {{PIN, 0}, {UNPIN, 0}}}},
    {"a reaper takes the holder for dead",
     {IS_PREPARED, IS_PREPARED},
     true,
     false,
     {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}},
      {{REAP, 0}, {ROLL_BACK, 0}, {ROLL_BACK, 1}},
      {{PIN, 0}, {PIN, 1}, {UNPIN, 0}, {UNPIN, 1}}}},
};

// The word of a set used again too early: these must be found to be wrong.
static const struct scene early[] = {
    {"the word of a committed set is used again before its ranges are resident",
     {IS_PREPARED, IS_PREPARED},
     true,
     false,
     {{{COMMIT, 0}, {REUSE, 0}, {SETTLE, 0}, {SETTLE, 1}}, {{PIN, 0}, {PIN, 1}, {UNPIN, 0}, {UNPIN, 1}}}},
    {"the word of a set is used again before its ranges are rolled back",
     {IS_PREPARED, 0},
     false,
     true,
     {{{REUSE, 0}, {PREPARE, 1}, {COMMIT, 0}, {ROLL_BACK, 0}, {SETTLE, 1}, {REUSE, 0}}, {{PIN, 0}, {UNPIN, 0}}}},
};

// Each with a scene that shows it, and what is wrong then.
static const struct {
    unsigned broken, scene;
    const char *what, *name;
} breaks[] = {
    {SPLIT_PIN, 0, "a pin is not counted", "pin is a read and a write"},
    {SPLIT_UNPIN, 0, "a pin is not counted", "unpin is a read and a write"},
    {SPLIT_FREE, 0, "freed while it is read", "free is a look and a write"},
    {SPLIT_EVICT, 2, "a pin is not counted", "evict is a look and a write"},
    {SPLIT_EVICT_END, 2, "a pin is left", "the end of an eviction is a look and a write"},
    {SPLIT_ALLOCATE, 5, "a pin is not counted", "allocate is a look and a write"},
    {SPLIT_SETTLE, 8, "a pin is not counted", "a committed range becomes resident by a look and a write"},
    {SPLIT_ROLL_BACK, 13, "a pin is left", "roll-back is a look and a write"},
    {CHECK_BEFORE_PIN, 0, "pinned after it was freed", "pin looks first, and not at what it got back"},
    {PIN_ANY_GENERATION, 5, "freed while it is read", "pin does not look at the generation"},
    {SAME_GENERATION, 5, "freed while it is read", "a freed range keeps its generation"},
    {RELEASE_UNASKED, 0, "released twice", "whoever takes the last pin off releases, and none fails"},
    {RELEASE_BY_LAST_ONLY, 0, "never released", "a transient pin does not release"},
    {FREE_IGNORES_PINS, 0, "freed while it is read", "free does not look at the pins"},
    {EVICT_IGNORES_PINS, 4, "freed while it is read", "evict does not look at the pins"},
    {EVICT_END_LOSES_PINS, 2, "a pin is left", "an eviction ends without pins"},
    {EVICT_END_IGNORES_FREE, 3, "pinned after it was freed", "an eviction ends without a look at the state"},
    {EVICT_WITHOUT_PIN, 2, "freed while it is read", "the evictor has no pin"},
    {ALLOCATE_LOSES_PINS, 5, "a pin is not counted", "allocate loses transient pins"},
    {PIN_PREPARED, 11, "seen without a commit", "pin does not look at the set"},
    {COMMIT_EACH, 8, "half of a set is seen", "commit shows one range after the other"},
    {COMMIT_BY_STORE, 13, "half of a set is seen", "commit is a write although there is a reaper"},
    {LOOK_ONCE, 8, "half of a set is seen", "pin believes the set without a second look at the range"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        expect_sound(&scenes[i]);
    const char *const early_wrongs[] = {wrongs[HALF], wrongs[UNCOMMITTED]};
    for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
        struct with with = {.scene = &early[i]};
        struct interleave_model model = model_of(&with);
        interleave_expect_fault(&model, early_wrongs[i]);
    }
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        struct with with = {.scene = &scenes[breaks[i].scene], .broken = breaks[i].broken};
        struct interleave_model model = model_of(&with);
        printf("broken: %s\n", breaks[i].name);
        interleave_expect_fault(&model, breaks[i].what);
    }
    return 0;
}
