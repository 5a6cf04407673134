// SPDX-License-Identifier: Apache-2.0
//
// pages_word: no interleaving breaks the protocol of a range of pages (pages_word.h), in the scenes below; and each way to break
// the protocol is found in one of them. Then 200 scenes of three short scripts, or as many as the argument says (0: all).
#include "testbed/strategies/tests/pages_word.h"

// --- scenes --------------------------------------------------------------------------------------------------------------------

// Handles have generation 0, until the thread allocates.
static const struct scene scenes[] = {
    {.name = "two readers, one free",
     .word = {IS_RESIDENT},
     .calls = {{{PIN, 0}, {UNPIN, 0}}, {{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}}},
    {.name = "two frees of one range, a reader",
     .word = {IS_RESIDENT},
     .calls = {{{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}, {{FREE_IT, 0}}}},
    {.name = "a reader, a free, an eviction",
     .word = {IS_RESIDENT},
     .calls = {{{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}, {{EVICT, 0}}}},
    {.name = "a reader, a free, an eviction that fails",
     .word = {IS_RESIDENT},
     .calls = {{{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}, {{EVICT_BACK, 0}}}},
    {.name = "two evictions, a reader",
     .word = {IS_RESIDENT},
     .calls = {{{PIN, 0}, {UNPIN, 0}}, {{EVICT, 0}}, {{EVICT_BACK, 0}, {EVICT, 0}}}},
    {.name = "a reader with an old handle, the range is freed and used again, and evicted",
     .word = {IS_RESIDENT},
     .calls = {{{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}, {ALLOCATE, 0}, {PIN, 0}, {UNPIN, 0}, {FREE_IT, 0}}, {{EVICT, 0}}}},
    {.name = "the same with a second old handle",
     .word = {IS_RESIDENT},
     .calls = {{{PIN, 0}, {UNPIN, 0}, {PIN, 0}, {UNPIN, 0}},
               {{FREE_IT, 0}, {ALLOCATE, 0}, {PIN, 0}, {UNPIN, 0}, {FREE_IT, 0}},
               {{PIN, 0}, {UNPIN, 0}}}},
    {.name = "the range is doomed twice",
     .word = {IS_RESIDENT},
     .calls = {{{PIN, 0}, {UNPIN, 0}}, {{PIN, 0}, {FREE_IT, 0}, {UNPIN, 0}}, {{ALLOCATE, 0}, {PIN, 0}, {FREE_IT, 0}, {UNPIN, 0}}}},
    {.name = "a set is committed before readers in both orders",
     .word = {IS_PREPARED, IS_PREPARED},
     .whole = true,
     .calls = {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}, {REUSE, 0}},
               {{PIN, 0}, {PIN, 1}, {UNPIN, 0}, {UNPIN, 1}},
               {{PIN, 1}, {PIN, 0}, {UNPIN, 1}, {UNPIN, 0}}}},
    {.name = "a range of a committed set is freed at once",
     .word = {IS_PREPARED, IS_PREPARED},
     .calls = {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}, {REUSE, 0}}, {{FREE_IT, 0}, {FREE_IT, 1}}, {{PIN, 0}, {UNPIN, 0}}}},
    {.name = "a range of a committed set is evicted at once",
     .word = {IS_PREPARED, IS_PREPARED},
     .calls = {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}, {REUSE, 0}}, {{EVICT, 0}, {EVICT, 0}}, {{PIN, 0}, {UNPIN, 0}}}},
    {.name = "a set is rolled back, and its word commits another set",
     .word = {IS_PREPARED, 0},
     .never = true,
     .calls = {{{ROLL_BACK, 0}, {REUSE, 0}, {PREPARE, 1}, {COMMIT, 0}, {SETTLE, 1}, {REUSE, 0}},
               {{PIN, 0}, {UNPIN, 0}, {PIN, 1}, {UNPIN, 1}},
               {{PIN, 0}, {UNPIN, 0}}}},
    {.name = "a set is rolled back, and its pages are prepared again and committed",
     .word = {IS_PREPARED, 0},
     .calls = {{{ROLL_BACK, 0}, {REUSE, 0}, {PREPARE, 0}, {COMMIT, 0}, {SETTLE, 0}, {FREE_IT, 0}},
               {{PIN, 0}, {UNPIN, 0}},
               {{PIN, 0}, {UNPIN, 0}}}},
    {.name = "a reaper takes the holder for dead",
     .word = {IS_PREPARED, IS_PREPARED},
     .whole = true,
     .calls = {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}},
               {{REAP, 0}, {ROLL_BACK, 0}, {ROLL_BACK, 1}},
               {{PIN, 0}, {PIN, 1}, {UNPIN, 0}, {UNPIN, 1}}}},
};

// The word of a set used again too early: these must be found to be wrong.
static const struct scene early[] = {
    {.name = "the word of a committed set is used again before its ranges are resident",
     .word = {IS_PREPARED, IS_PREPARED},
     .whole = true,
     .calls = {{{COMMIT, 0}, {REUSE, 0}, {SETTLE, 0}, {SETTLE, 1}}, {{PIN, 0}, {PIN, 1}, {UNPIN, 0}, {UNPIN, 1}}}},
    {.name = "the word of a set is used again before its ranges are rolled back",
     .word = {IS_PREPARED, 0},
     .never = true,
     .calls = {{{REUSE, 0}, {PREPARE, 1}, {COMMIT, 0}, {ROLL_BACK, 0}, {SETTLE, 1}, {REUSE, 0}}, {{PIN, 0}, {UNPIN, 0}}}},
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

// --- every three short scripts -------------------------------------------------------------------------------------------------

#define PARTS 5u
#define SCRIPTS ((PARTS + 1) * (PARTS + 1)) // of one or two parts, as digits

// False: not a script, or one that another number stands for.
static bool script_of(unsigned number, struct call calls[CALLS])
{
    static const struct call parts[PARTS][2] = {
        {{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}, {{EVICT, 0}}, {{EVICT_BACK, 0}}, {{ALLOCATE, 0}}};
    unsigned count = 0;
    for (; number; number /= PARTS + 1) {
        const unsigned part = number % (PARTS + 1);
        if (part == 0)
            return false;
        for (unsigned i = 0; i < 2 && parts[part - 1][i].op != NOTHING; i++)
            calls[count++] = parts[part - 1][i];
    }
    return count > 0;
}

// Three threads with every three scripts, and handles for the range's first or next use: explores `runs` of these scenes, evenly
// chosen, or all if it is 0.
static void sweep(unsigned runs)
{
    unsigned scenes_seen = 0, explored = 0;
    unsigned long long states_seen = 0;
    const unsigned all_scenes = 30 * 31 * 32 / 6 * 8;
    for (unsigned number = 0; number < SCRIPTS * SCRIPTS * SCRIPTS * 8; number++) {
        const unsigned next = number % 8, a = number / 8 % SCRIPTS, b = number / 8 / SCRIPTS % SCRIPTS,
                       c = number / 8 / SCRIPTS / SCRIPTS;
        struct scene scene = {.name = "three scripts", .word = {IS_RESIDENT}, .next = (uint8_t)next};
        if (a < b || b < c || !script_of(a, scene.calls[0]) || !script_of(b, scene.calls[1]) || !script_of(c, scene.calls[2]))
            continue;
        scenes_seen++;
        if (runs && (uint64_t)scenes_seen * runs / all_scenes == (uint64_t)(scenes_seen - 1) * runs / all_scenes)
            continue;
        struct with with = {.scene = &scene};
        struct interleave_model model = model_of(&with);
        struct interleave_found found = interleave_explore(&model);
        states_seen += found.states;
        explored++;
        if (found.what)
            expect_sound(&scene); // tells it, and ends
    }
    printf("%u of %u scenes of three scripts: no fault in %llu states\n", explored, scenes_seen, states_seen);
    if (scenes_seen != all_scenes || explored != (runs && runs < all_scenes ? runs : all_scenes)) {
        fprintf(stderr, "scenes were left out\n");
        exit(1);
    }
}

int main(int argc, char **argv)
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
    sweep(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200);
    return 0;
}
