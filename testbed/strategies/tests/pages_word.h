// SPDX-License-Identifier: Apache-2.0
//
// pages_word: the protocol of a range of pages with one 64-bit word {pins, state, generation}, as steps for interleave.h.
//
// The protocol, as the listings of the unified pool should have had it (seeds/README.md has what they do instead):
//
//   pin      adds one pin and looks at the value that it got back: RESIDENT and the handle's generation, or it takes the pin off
//            again. A pin that is about to be taken off again is transient. It may be on any word at any time, so no exchange may
//            lose it, and none may wait for it.
//   unpin    takes one pin off. Who takes the last one off a DOOMED range releases it.
//   release  exchanges {DOOMED, no pins, its own generation} for {FREE, next generation}, and only who succeeds gives the pages
//            back. A transient pin may have made it fail; then its holder is the last one, and releases. Two may try: the last
//            holder, stopped before its exchange, and a transient pin that came and went meanwhile.
//   free     exchanges RESIDENT without pins for FREE and the next generation; RESIDENT with pins, and LEAVING, for DOOMED.
//   evict    exchanges RESIDENT without pins for LEAVING with the evictor's pin; then {LEAVING, pins} for {FREE, pins - 1, next
//            generation}, or back for {RESIDENT, pins - 1}. If it is DOOMED by then, the evictor unpins like everybody.
//   allocate exchanges FREE for RESIDENT, or for PREPARED, and keeps transient pins.
//   sets     a PREPARED range belongs to a set. One store of COMMITTED in the set's word shows all of them: who pins a PREPARED
//            range looks there, and then at the range once more; if the set was committed, it exchanges PREPARED for RESIDENT.
//            A set's word is used again only when none of its ranges is PREPARED. Roll-back exchanges {PREPARED, pins} for {FREE,
//            pins, next generation}.
//   reaper   who rolls back a set whose holder may still live exchanges OPEN for DROPPED first, and then commit is an exchange too.
#ifndef TB_TESTS_PAGES_WORD_H
#define TB_TESTS_PAGES_WORD_H

#include "placement/base/tests/interleave.h"

#define RANGES 2u
#define THREADS 3u
#define CALLS 6u

enum state { FREE, RESIDENT, PREPARED, LEAVING, DOOMED };
enum set { OPEN, COMMITTED, DROPPED };

enum op {
    NOTHING,
    PIN,
    UNPIN,
    FREE_IT,
    EVICT,      // the pages leave
    EVICT_BACK, // the copy fails, and they stay
    ALLOCATE,
    PREPARE,
    COMMIT,
    SETTLE,   // makes a committed range RESIDENT
    ROLL_BACK, // unless the set is committed
    REUSE,    // of the set's word
    REAP,     // a range of a set that has not been committed
};

// Ways to break it. Splits make two accesses of one exchange.
enum broken {
    SPLIT_PIN = 1 << 0,
    SPLIT_UNPIN = 1 << 1,
    SPLIT_FREE = 1 << 2,
    SPLIT_EVICT = 1 << 3,
    SPLIT_EVICT_END = 1 << 4,
    SPLIT_ALLOCATE = 1 << 5,
    SPLIT_SETTLE = 1 << 6,
    SPLIT_ROLL_BACK = 1 << 7,
    CHECK_BEFORE_PIN = 1 << 8,
    PIN_ANY_GENERATION = 1 << 9,
    SAME_GENERATION = 1 << 10, // a freed range keeps its generation
    RELEASE_UNASKED = 1 << 12, // whatever the state has become
    RELEASE_BY_LAST_ONLY = 1 << 13, // a transient pin that is taken off last does not release
    FREE_IGNORES_PINS = 1 << 14,
    EVICT_IGNORES_PINS = 1 << 15,
    EVICT_END_LOSES_PINS = 1 << 16,
    EVICT_END_IGNORES_FREE = 1 << 17,
    EVICT_WITHOUT_PIN = 1 << 18,
    ALLOCATE_LOSES_PINS = 1 << 19,
    PIN_PREPARED = 1 << 20, // without a look at the set
    COMMIT_EACH = 1 << 21,  // range by range
    COMMIT_BY_STORE = 1 << 22, // beside a reaper
    LOOK_ONCE = 1 << 23,       // pin does not look at the range again after it found the set not committed
};

#define UNIT (1u << 24) // one pin

static uint32_t word_of(uint32_t pins, enum state state, uint32_t generation)
{
    return pins << 24 | (uint32_t)state << 16 | generation;
}

static uint32_t pins(uint32_t word)
{
    return word >> 24;
}

static enum state state_of(uint32_t word)
{
    return (enum state)(word >> 16 & 0xff);
}

static uint32_t generation(uint32_t word)
{
    return word & 0xffff;
}

struct thread {
    uint32_t seen; // the value that it got back
    uint8_t call, at, half;
    uint8_t holds;        // bits: the ranges that it reads
    uint8_t life[RANGES]; // the generation of its handles
    uint8_t must;         // its pin began after somebody had seen a range of the set
    uint8_t committed;    // so its set was
    uint8_t born[RANGES]; // which use of the memory its handles are for, whatever the generation says
    uint8_t unused[2];
};

// `out`: the memory is somebody's, and not on the free list. `born`: how often it was taken from there.
// `freed`: the owner's free was accepted. `wrong`: see wrongs.
struct all {
    uint32_t word[RANGES];
    struct thread threads[THREADS];
    uint8_t set, shown, wrong, unused;
    uint8_t out[RANGES], born[RANGES], freed[RANGES], unused_too[2];
};

struct call {
    enum op op;
    uint8_t range;
};

struct scene {
    const char *name;
    uint32_t word[RANGES];
    bool whole, // the ranges are a set that nobody frees: whoever begins after one was seen sees each
        never;  // range 0 is never committed
    struct call calls[THREADS][CALLS];
    uint8_t next; // bits: the threads whose handles of range 0 are for its next use, after a free and an allocation
};

struct with {
    const struct scene *scene;
    unsigned broken;
};

enum { TWICE = 1, HALF, UNCOMMITTED, NOT_FREE, AFTER_FREE };
static const char *const wrongs[] = {NULL,
                                     "released twice",
                                     "half of a set is seen",
                                     "seen without a commit",
                                     "handed out though it is not free",
                                     "pinned after it was freed"};
static const char *const states[] = {"FREE", "RESIDENT", "PREPARED", "LEAVING", "DOOMED"};

#define SHOW "%s, %u pins, generation %u"
#define SHOWN(word) states[state_of(word)], pins(word), generation(word)

// --- one access to a word ------------------------------------------------------------------------------------------------------

enum result { FAILED, DONE, AGAIN };

// One step: the word is `from` and becomes `to`, or it is left alone. Split: the step that compares, then the step that stores.
static enum result exchange(struct all *all, struct thread *me, unsigned range, uint32_t from, uint32_t to, bool split)
{
    if (!me->half && all->word[range] != from) {
        interleave_say("exchanges range %u and fails: it is " SHOW, range, SHOWN(all->word[range]));
        return FAILED;
    }
    if (split && !me->half) {
        me->half = 1;
        interleave_say("compares range %u: " SHOW, range, SHOWN(from));
        return AGAIN;
    }
    me->half = 0;
    all->word[range] = to;
    interleave_say("makes range %u: " SHOW, range, SHOWN(to));
    return DONE;
}

// Adds to the word; `seen` is what it was.
static enum result add(struct all *all, struct thread *me, unsigned range, uint32_t add, bool split)
{
    if (!me->half)
        me->seen = all->word[range];
    if (split && !me->half) {
        me->half = 1;
        interleave_say("reads range %u: " SHOW, range, SHOWN(me->seen));
        return AGAIN;
    }
    me->half = 0;
    all->word[range] = me->seen + add;
    interleave_say("%s a pin, range %u was " SHOW, add == UNIT ? "adds" : "takes off", range, SHOWN(me->seen));
    return DONE;
}

static void look(const struct all *all, struct thread *me, unsigned range)
{
    me->seen = all->word[range];
    interleave_say("reads range %u: " SHOW, range, SHOWN(me->seen));
}

// --- calls, as steps -----------------------------------------------------------------------------------------------------------

enum at { START, TRY, SET, HELP, HELP_TRY, UNDO, RELEASE, GIVE_BACK, LEAVE, END_TRY };

static void next_call(struct thread *me)
{
    me->call++;
    me->at = START;
}

static uint32_t freed_word(const struct with *with, uint32_t pins_left, uint32_t word)
{
    return word_of(pins_left, FREE, generation(word) + !(with->broken & SAME_GENERATION));
}

static void take_handle(const struct all *all, struct thread *me, unsigned range)
{
    me->life[range] = (uint8_t)generation(me->seen);
    me->born[range] = all->born[range];
}

static void give_back(struct all *all, struct thread *me, unsigned range)
{
    if (!all->out[range])
        all->wrong = TWICE;
    all->out[range] = 0;
    interleave_say("gives the pages of range %u back", range);
    next_call(me);
}

static void pin_ends(const struct with *with, struct all *all, struct thread *me, unsigned range, bool pinned)
{
    if (!pinned) {
        if (me->must && with->scene->whole)
            all->wrong = HALF;
        return;
    }
    if (with->scene->never && range == 0)
        all->wrong = UNCOMMITTED;
    if (all->freed[range])
        all->wrong = AFTER_FREE;
    me->holds |= (uint8_t)(1 << range);
    all->shown = 1;
    next_call(me);
}

static bool may_pin(const struct with *with, const struct thread *me, unsigned range, enum state state)
{
    return state_of(me->seen) == state && (generation(me->seen) == me->life[range] || (with->broken & PIN_ANY_GENERATION));
}

// Takes a pin off, and releases if that is for this thread to do.
static void step_unpin(const struct with *with, struct all *all, struct thread *me, unsigned range, bool transient)
{
    if (me->at == UNDO) {
        me->holds &= (uint8_t) ~(1 << range);
        if (add(all, me, range, -UNIT, with->broken & SPLIT_UNPIN) == AGAIN)
            return;
        bool last = pins(me->seen) == 1 && state_of(me->seen) == DOOMED;
        if (last && !(transient && (with->broken & RELEASE_BY_LAST_ONLY)))
            me->at = RELEASE;
        else
            next_call(me);
    } else if (me->at == RELEASE) {
        uint32_t from = word_of(0, DOOMED, generation(me->seen));
        if (with->broken & RELEASE_UNASKED)
            from = all->word[range];
        if (exchange(all, me, range, from, freed_word(with, pins(from), from), false) == DONE)
            me->at = GIVE_BACK;
        else
            next_call(me);
    } else {
        give_back(all, me, range);
    }
}

// The pin of a range that was PREPARED, after a look at its set. The range is looked at once more even if the set is not
// committed: the range may have become RESIDENT, and the set's word another set's, between the two looks.
static void step_help(const struct with *with, struct all *all, struct thread *me, unsigned range)
{
    if (me->at == HELP) {
        look(all, me, range);
        me->at = HELP_TRY;
        if (may_pin(with, me, range, RESIDENT)) {
            pin_ends(with, all, me, range, true);
        } else if (!may_pin(with, me, range, PREPARED) || !me->committed) {
            pin_ends(with, all, me, range, false);
            me->at = UNDO;
        }
        return;
    }
    uint32_t to = word_of(pins(me->seen), RESIDENT, generation(me->seen));
    enum result result = exchange(all, me, range, me->seen, to, with->broken & SPLIT_SETTLE);
    if (result == DONE)
        pin_ends(with, all, me, range, true);
    else if (result == FAILED)
        me->at = HELP;
}

static void step_pin(const struct with *with, struct all *all, struct thread *me, unsigned range)
{
    if (me->at == START) {
        if (!me->half)
            me->must = all->shown;
        me->at = TRY;
        if (with->broken & CHECK_BEFORE_PIN) {
            look(all, me, range);
            if (!may_pin(with, me, range, RESIDENT))
                next_call(me);
            return;
        }
    }
    if (me->at == TRY) {
        if (add(all, me, range, UNIT, with->broken & SPLIT_PIN) == AGAIN)
            return;
        bool prepared = may_pin(with, me, range, PREPARED);
        if (may_pin(with, me, range, RESIDENT) || (with->broken & CHECK_BEFORE_PIN) ||
            (prepared && (with->broken & PIN_PREPARED))) {
            pin_ends(with, all, me, range, true);
        } else if (prepared && !(with->broken & COMMIT_EACH)) {
            me->at = SET;
        } else {
            pin_ends(with, all, me, range, false);
            me->at = UNDO;
        }
    } else if (me->at == SET) {
        interleave_say("reads the set: %s", all->set == COMMITTED ? "committed" : "not committed");
        me->committed = all->set == COMMITTED;
        me->at = HELP;
        if (!me->committed && (with->broken & LOOK_ONCE)) {
            pin_ends(with, all, me, range, false);
            me->at = UNDO;
        }
    } else if (me->at == HELP || me->at == HELP_TRY) {
        step_help(with, all, me, range);
    } else {
        step_unpin(with, all, me, range, true);
    }
}

// What a free makes of `seen`; `seen` itself if it is refused.
static uint32_t after_free(const struct with *with, const struct thread *me, unsigned range)
{
    uint32_t word = me->seen;
    if (generation(word) != me->life[range])
        return word;
    if (state_of(word) == RESIDENT && (!pins(word) || (with->broken & FREE_IGNORES_PINS)))
        return freed_word(with, pins(word), word);
    if (state_of(word) == RESIDENT || state_of(word) == LEAVING)
        return word_of(pins(word), DOOMED, generation(word));
    return word;
}

// A free of a PREPARED range comes too early unless its set is committed; then the range is settled first.
static void step_free(const struct with *with, struct all *all, struct thread *me, unsigned range)
{
    if (me->at == START) {
        look(all, me, range);
        me->at = TRY;
        if (state_of(me->seen) == PREPARED && generation(me->seen) == me->life[range])
            me->at = SET;
        else if (after_free(with, me, range) == me->seen)
            next_call(me);
    } else if (me->at == SET) {
        interleave_say("reads the set: %s", all->set == COMMITTED ? "committed" : "not committed");
        me->at = HELP_TRY;
        if (all->set != COMMITTED)
            next_call(me);
    } else if (me->at == HELP_TRY) {
        uint32_t to = word_of(pins(me->seen), RESIDENT, generation(me->seen));
        if (exchange(all, me, range, me->seen, to, with->broken & SPLIT_SETTLE) != AGAIN)
            me->at = START;
    } else if (me->at == TRY) {
        uint32_t to = after_free(with, me, range);
        enum result result = exchange(all, me, range, me->seen, to, with->broken & SPLIT_FREE);
        all->freed[range] |= result == DONE;
        if (result == FAILED)
            me->at = START;
        else if (result == DONE && state_of(to) == FREE)
            me->at = GIVE_BACK;
        else if (result == DONE)
            next_call(me);
    } else {
        give_back(all, me, range);
    }
}

static void evict_end(const struct with *with, struct all *all, struct thread *me, unsigned range, bool back)
{
    uint32_t left = pins(me->seen) - !(with->broken & EVICT_WITHOUT_PIN);
    if (with->broken & EVICT_END_LOSES_PINS)
        left = 0;
    uint32_t to = back ? word_of(left, RESIDENT, generation(me->seen)) : freed_word(with, left, me->seen);
    enum result result = exchange(all, me, range, me->seen, to, with->broken & SPLIT_EVICT_END);
    if (result == FAILED)
        me->at = LEAVE;
    if (result != DONE)
        return;
    me->holds &= (uint8_t) ~(1 << range);
    if (back)
        next_call(me);
    else
        me->at = GIVE_BACK;
}

static void step_evict(const struct with *with, struct all *all, struct thread *me, unsigned range, bool back)
{
    if (me->at == START) {
        look(all, me, range);
        me->at = TRY;
        if (state_of(me->seen) != RESIDENT || (pins(me->seen) && !(with->broken & EVICT_IGNORES_PINS)))
            next_call(me);
    } else if (me->at == TRY) {
        uint32_t own = !(with->broken & EVICT_WITHOUT_PIN);
        uint32_t to = word_of(pins(me->seen) + own, LEAVING, generation(me->seen));
        enum result result = exchange(all, me, range, me->seen, to, with->broken & SPLIT_EVICT);
        if (result == FAILED)
            next_call(me);
        if (result != DONE)
            return;
        me->at = LEAVE;
        me->holds |= (uint8_t)(1 << range);
        take_handle(all, me, range);
    } else if (me->at == LEAVE) {
        look(all, me, range); // the copy has been made
        if (with->broken & EVICT_WITHOUT_PIN)
            me->holds &= (uint8_t) ~(1 << range);
        me->at = END_TRY;
        if (state_of(me->seen) != LEAVING && !(with->broken & EVICT_END_IGNORES_FREE))
            me->at = with->broken & EVICT_WITHOUT_PIN ? RELEASE : UNDO;
    } else if (me->at == END_TRY) {
        evict_end(with, all, me, range, back);
    } else if (me->at == GIVE_BACK) {
        give_back(all, me, range);
    } else {
        step_unpin(with, all, me, range, false);
    }
}

static void step_allocate(const struct with *with, struct all *all, struct thread *me, unsigned range, enum state state)
{
    if (me->at == START) {
        interleave_say("looks for free pages: %s", all->out[range] ? "none" : "takes them");
        me->at = HELP;
        if (all->out[range])
            next_call(me);
        else
            all->born[range]++;
        all->freed[range] &= all->out[range];
        all->out[range] = 1;
    } else if (me->at == HELP) {
        look(all, me, range);
        if (state_of(me->seen) != FREE)
            all->wrong = NOT_FREE;
        me->at = TRY;
    } else {
        uint32_t kept = with->broken & ALLOCATE_LOSES_PINS ? 0 : pins(me->seen);
        enum result result =
            exchange(all, me, range, me->seen, word_of(kept, state, generation(me->seen)), with->broken & SPLIT_ALLOCATE);
        if (result == FAILED)
            me->at = HELP;
        if (result != DONE)
            return;
        take_handle(all, me, range);
        next_call(me);
    }
}

static void step_settle(const struct with *with, struct all *all, struct thread *me, unsigned range)
{
    if (me->at == START) {
        look(all, me, range);
        me->at = TRY;
        if (state_of(me->seen) != PREPARED || generation(me->seen) != me->life[range])
            next_call(me);
        return;
    }
    enum result result =
        exchange(all, me, range, me->seen, word_of(pins(me->seen), RESIDENT, generation(me->seen)), with->broken & SPLIT_SETTLE);
    if (result == FAILED)
        me->at = START;
    else if (result == DONE)
        next_call(me);
}

static void step_roll_back(const struct with *with, struct all *all, struct thread *me, unsigned range)
{
    if (me->at == START) {
        look(all, me, range);
        me->at = TRY;
        if (state_of(me->seen) != PREPARED || generation(me->seen) != me->life[range])
            next_call(me);
    } else if (me->at == TRY) {
        enum result result =
            exchange(all, me, range, me->seen, freed_word(with, pins(me->seen), me->seen), with->broken & SPLIT_ROLL_BACK);
        if (result != AGAIN)
            me->at = result == DONE ? GIVE_BACK : START;
    } else {
        give_back(all, me, range);
    }
}

// The set's word. A reaper that finds the set committed, and a holder that finds it dropped, end there.
static void step_set(const struct with *with, struct all *all, struct thread *me, enum op op)
{
    uint8_t to = op == COMMIT ? COMMITTED : op == REAP ? DROPPED : OPEN;
    bool stores = op == REUSE || (op == COMMIT && (with->broken & COMMIT_BY_STORE));
    if (stores || all->set == OPEN) {
        all->set = to;
        interleave_say("makes the set %s", op == COMMIT ? "committed" : op == REAP ? "dropped" : "open");
        next_call(me);
        return;
    }
    interleave_say("finds the set %s, and leaves it alone", all->set == COMMITTED ? "committed" : "dropped");
    me->call = CALLS;
}

// --- the model -----------------------------------------------------------------------------------------------------------------

static void begin(const void *argument, void *state)
{
    const struct with *with = argument;
    struct all *all = state;
    for (unsigned i = 0; i < RANGES; i++) {
        all->word[i] = with->scene->word[i];
        all->out[i] = state_of(all->word[i]) != FREE;
        for (unsigned thread = 0; thread < THREADS; thread++)
            all->threads[thread].born[i] = !all->out[i]; // the handle of a free range is for its first use
    }
    for (unsigned thread = 0; thread < THREADS; thread++)
        if (with->scene->next & 1 << thread) {
            all->threads[thread].life[0]++;
            all->threads[thread].born[0]++;
        }
}

static enum interleave_step step(const void *argument, void *state, unsigned thread)
{
    const struct with *with = argument;
    struct all *all = state;
    struct thread *me = &all->threads[thread];
    const struct call *call = &with->scene->calls[thread][me->call];
    while (me->call < CALLS && call->op == UNPIN && !me->at && !(me->holds & 1 << call->range)) {
        me->call++; // there is no pin to take off
        call++;
    }
    if (me->call >= CALLS || call->op == NOTHING)
        return INTERLEAVE_ENDED;
    switch (call->op) {
    case PIN: step_pin(with, all, me, call->range); break;
    case UNPIN:
        me->at = me->at == START ? UNDO : me->at;
        step_unpin(with, all, me, call->range, false);
        break;
    case FREE_IT: step_free(with, all, me, call->range); break;
    case EVICT: step_evict(with, all, me, call->range, false); break;
    case EVICT_BACK: step_evict(with, all, me, call->range, true); break;
    case ALLOCATE: step_allocate(with, all, me, call->range, RESIDENT); break;
    case PREPARE: step_allocate(with, all, me, call->range, PREPARED); break;
    case SETTLE: step_settle(with, all, me, call->range); break;
    case ROLL_BACK: step_roll_back(with, all, me, call->range); break;
    case COMMIT:
        if (with->broken & COMMIT_EACH) {
            interleave_say("orders its stores, and changes nothing");
            next_call(me);
            break;
        }
        step_set(with, all, me, call->op);
        break;
    default: step_set(with, all, me, call->op); break;
    }
    return INTERLEAVE_WENT;
}

static const char *wrong_range(const struct with *with, const struct all *all, unsigned range, bool all_ended)
{
    const uint32_t word = all->word[range];
    unsigned holders = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        const struct thread *thread = &all->threads[i];
        if (!(thread->holds & 1 << range))
            continue;
        holders++;
        if (!all->out[range] || state_of(word) == FREE || all->born[range] != thread->born[range])
            return "freed while it is read";
    }
    if (pins(word) < holders && !(with->broken & EVICT_WITHOUT_PIN))
        return "a pin is not counted";
    if (all_ended && pins(word))
        return "a pin is left";
    if (all_ended && (all->freed[range] & all->out[range]))
        return "never released";
    if (all_ended && (state_of(word) == DOOMED || state_of(word) == LEAVING || all->out[range] != (state_of(word) != FREE)))
        return "never released";
    return NULL;
}

static const char *wrong(const void *argument, const void *state, bool all_ended)
{
    const struct all *all = state;
    if (all->wrong)
        return wrongs[all->wrong];
    for (unsigned i = 0; i < RANGES; i++) {
        const char *what = wrong_range(argument, all, i, all_ended);
        if (what)
            return what;
    }
    return NULL;
}

static struct interleave_model model_of(const struct with *with)
{
    return (struct interleave_model){.name = with->scene->name,
                                     .with = with,
                                     .threads = THREADS,
                                     .state_bytes = sizeof(struct all),
                                     .begin = begin,
                                     .step = step,
                                     .wrong = wrong};
}

static inline void expect_sound(const struct scene *scene)
{
    struct with with = {.scene = scene};
    struct interleave_model model = model_of(&with);
    interleave_expect_none(&model);
}

#define IS_RESIDENT (1u << 16)
#define IS_PREPARED (2u << 16)

#endif
