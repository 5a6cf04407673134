// SPDX-License-Identifier: Apache-2.0
//
// unified_adapter: compression of an adapter in place, as in the unified pool's listing (seeds/README.md), in every interleaving.
//
// The compressor replaces an adapter's weights and then its precision, and drops the old weights, whoever reads them: that it looks
// at the last use is no lock. The listing's language would ask for an exclusive borrow, which a shared pool cannot give. So a
// reader takes 8-bit weights for 16-bit ones, or reads weights that were dropped.
//
// Repaired: a version of an adapter never changes. The compressor makes another one and swaps which is current; the old one serves
// its holders until the last release. A reader that pinned a version which is not live any more looks again for the current one.
#include "placement/base/tests/interleave.h"

enum precision { FP16, INT8 };
static const char *const precisions[] = {"16-bit", "8-bit"};

enum wrong { MIXED = 1, DROPPED, TWICE };
static const char *const wrongs[] = {NULL, "weights of one precision are read as the other",
                                     "weights are read after they were dropped", "dropped twice"};

struct adapter_with {
    bool keeps; // the listing with weights that stay in memory, to show the other fault
};

// Weights 0 are the 16-bit ones, weights 1 the 8-bit ones.
struct all {
    uint8_t weights, precision, used;
    uint8_t dropped[2]; // how often
    uint8_t at[3];
    uint8_t seen[3], seen_precision[3];
    uint8_t wrong;
};

static void begin(const void *argument, void *state)
{
    (void)argument;
    (void)state;
}

static bool step_listing_reader(struct all *all, unsigned me)
{
    switch (all->at[me]++) {
    case 0:
        all->used = 1;
        interleave_say("says that it uses the adapter");
        break;
    case 1:
        all->seen_precision[me] = all->precision;
        interleave_say("reads the precision: %s weights", precisions[all->precision]);
        break;
    case 2:
        all->seen[me] = all->weights;
        interleave_say("reads where the weights are: the %s ones", precisions[all->weights]);
        break;
    case 3:
        interleave_say("reads the %s weights as %s ones", precisions[all->seen[me]], precisions[all->seen_precision[me]]);
        if (all->dropped[all->seen[me]])
            all->wrong = DROPPED;
        else if (all->seen[me] != all->seen_precision[me])
            all->wrong = MIXED;
        break;
    default: all->at[me] = 4; return false;
    }
    return true;
}

static bool step_listing_compressor(const struct adapter_with *with, struct all *all, unsigned me)
{
    switch (all->at[me]++) {
    case 0:
        interleave_say("looks whether the adapter was used lately: %s", all->used ? "yes" : "no");
        if (all->used)
            all->at[me] = 3;
        break;
    case 1:
        all->weights = INT8;
        all->dropped[FP16] = !with->keeps;
        interleave_say("puts 8-bit weights in the place of the 16-bit ones%s", with->keeps ? "" : ", which are dropped");
        break;
    case 2:
        all->precision = INT8;
        interleave_say("writes the precision: 8-bit");
        break;
    default: all->at[me] = 3; return false;
    }
    return true;
}

static enum interleave_step step(const void *argument, void *state, unsigned thread)
{
    bool went = thread == 0 ? step_listing_reader(state, 0) : step_listing_compressor(argument, state, thread);
    return went ? INTERLEAVE_WENT : INTERLEAVE_ENDED;
}

static const char *wrong(const void *argument, const void *state, bool all_ended)
{
    (void)argument;
    (void)all_ended;
    return wrongs[((const struct all *)state)->wrong];
}

// --- repaired ------------------------------------------------------------------------------------------------------------------

enum state { LIVE, DOOMED, GONE };
static const char *const states[] = {"live", "doomed", "gone"};

// One word per version: pins and state. `split`: the swap looks and then writes.
struct version {
    uint8_t pins, state;
};

struct repaired_with {
    bool split;
};

struct repaired {
    uint8_t current;
    struct version versions[2];
    uint8_t at[3], seen[3], dropped[2];
    struct version was[3];
    uint8_t wrong, unused;
};

static void drop(struct repaired *all, unsigned version)
{
    if (all->dropped[version]++)
        all->wrong = TWICE;
    all->versions[version].state = GONE;
}

// Who takes the last pin off a doomed version drops it, unless somebody has done so already.
static void step_release(struct repaired *all, unsigned me)
{
    struct version *version = &all->versions[all->seen[me]];
    bool drops = version->state == DOOMED && version->pins == 0;
    if (drops)
        drop(all, all->seen[me]);
    interleave_say("%s version %u", drops ? "drops" : "leaves to others", all->seen[me]);
}

static bool step_repaired_reader(struct repaired *all, unsigned me)
{
    struct version *version = &all->versions[all->seen[me]];
    switch (all->at[me]++) {
    case 0:
        all->seen[me] = all->current;
        interleave_say("reads which version is current: %u", all->current);
        break;
    case 1:
        all->was[me] = *version;
        version->pins += 1;
        interleave_say("adds a pin, version %u was %s with %u", all->seen[me], states[version->state], version->pins - 1);
        if (all->was[me].state != LIVE)
            all->at[me] = 5;
        break;
    case 2:
        interleave_say("reads the weights of version %u", all->seen[me]);
        if (all->dropped[all->seen[me]])
            all->wrong = DROPPED;
        break;
    case 3:
    case 5: {
        bool again = all->at[me] == 6;
        all->was[me] = *version;
        version->pins -= 1;
        interleave_say("takes its pin off, version %u was %s with %u", all->seen[me], states[version->state], version->pins + 1);
        bool last = all->was[me].pins == 1 && all->was[me].state == DOOMED;
        all->at[me] = last ? (again ? 6 : 7) : (again ? 0 : 8);
        break;
    }
    case 6:
        step_release(all, me);
        all->at[me] = 0;
        break;
    case 7: step_release(all, me); break;
    default: all->at[me] = 8; return false;
    }
    return true;
}

static bool step_repaired_compressor(const struct repaired_with *with, struct repaired *all, unsigned me)
{
    struct version *old = &all->versions[FP16];
    switch (all->at[me]++) {
    case 0:
        all->current = INT8;
        interleave_say("makes version 1 current, which nobody has seen before");
        break;
    case 1:
        all->was[me] = *old;
        if (with->split) {
            interleave_say("looks at version 0: %u pins", old->pins);
            break;
        }
        all->at[me] = 3;
        // fall through
    case 2:
        if (all->was[me].pins)
            old->state = DOOMED;
        else
            drop(all, FP16);
        interleave_say("%s version 0", all->was[me].pins ? "dooms" : "drops");
        all->at[me] = 3;
        break;
    default: all->at[me] = 3; return false;
    }
    return true;
}

static enum interleave_step repaired_step(const void *argument, void *state, unsigned thread)
{
    bool went = thread < 2 ? step_repaired_reader(state, thread) : step_repaired_compressor(argument, state, thread);
    return went ? INTERLEAVE_WENT : INTERLEAVE_ENDED;
}

static const char *repaired_wrong(const void *argument, const void *state, bool all_ended)
{
    const struct repaired *all = state;
    (void)argument;
    if (!all->wrong && all_ended && !all->dropped[FP16])
        return "the old version is never dropped";
    return wrongs[all->wrong];
}

int main(void)
{
    static const struct adapter_with drops = {false}, keeps = {true};
    static const struct repaired_with whole = {false}, split = {true};
    static const struct interleave_model
        dropped = {"listing: compression beside a reader", &drops, 2, sizeof(struct all), begin, step, wrong},
        mixed = {"listing, nothing is dropped", &keeps, 2, sizeof(struct all), begin, step, wrong},
        sound = {"repaired: a swap beside two readers", &whole, 3, sizeof(struct repaired), begin, repaired_step, repaired_wrong},
        broken = {
            "broken: the swap looks and then writes", &split, 3, sizeof(struct repaired), begin, repaired_step, repaired_wrong};
    interleave_expect_fault(&dropped, wrongs[DROPPED]);
    interleave_expect_fault(&mixed, wrongs[MIXED]);
    interleave_expect_none(&sound);
    interleave_expect_fault(&broken, wrongs[DROPPED]);
    return 0;
}
