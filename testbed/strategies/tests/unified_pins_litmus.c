// SPDX-License-Identifier: Apache-2.0
//
// unified_pins: the pins of the unified pool's listing (seeds/README.md), in every interleaving. Its state and its count are two
// words.
//
// pin() looks at the state and then exchanges the count, so a page that is freed between the two is pinned. unpin() takes the
// last pin off and then writes UNPINNED, so a pin between the two is on a page that says UNPINNED. And a pin that expires after
// 30 s (max_pin_duration) takes memory from someone who still reads it, whose own unpin then takes off a pin that is not there.
//
// Repaired: pages_word.h, and a pin that lasts too long is reported.
#include "testbed/strategies/tests/pages_word.h"

enum page { PAGE_FREE, PAGE_UNPINNED, PAGE_PINNED };
static const char *const pages[] = {"FREE", "UNPINNED", "PINNED"};

enum role { NOBODY, READER, HOLDER, OWNER, EXPIRY }; // a HOLDER has a pin from the beginning; a READER pins first

enum fault { ANY, PINNED_FREE, SAYS_UNPINNED, TAKEN, READ_FREED, NEGATIVE };
static const char *const faults[] = {NULL,
                                     "pinned after it was freed",
                                     "pinned, and it says UNPINNED",
                                     "a pin was taken off that is held",
                                     "freed while it is read",
                                     "fewer than no pins"};

struct pins_with {
    enum role roles[3];
    enum fault only; // nothing else is looked for
    bool reports; // expiry reports, and takes nothing
};

struct pins_all {
    uint8_t status, count;
    uint8_t at[3], seen[3], holds[3];
    uint8_t expired, reported, unused;
};

static void pins_begin(const void *argument, void *state)
{
    const struct pins_with *with = argument;
    struct pins_all *all = state;
    for (unsigned i = 0; i < 3; i++) {
        all->holds[i] = with->roles[i] == HOLDER;
        all->count += all->holds[i];
        all->at[i] = with->roles[i] == HOLDER ? 4 : 0;
    }
    all->status = all->count ? PAGE_PINNED : PAGE_UNPINNED;
}

static void write_status(struct pins_all *all, enum page status)
{
    all->status = (uint8_t)status;
    interleave_say("writes %s", pages[status]);
}

// The listing's pin, a read of the memory, and the listing's unpin.
static void step_reader(struct pins_all *all, unsigned me)
{
    switch (all->at[me]++) {
    case 0:
        all->seen[me] = all->count;
        interleave_say("pin: reads the count: %u", all->count);
        break;
    case 1:
        interleave_say("pin: reads the state: %s", pages[all->status]);
        if (all->status == PAGE_FREE)
            all->at[me] = 9;
        break;
    case 2:
        interleave_say("pin: exchanges the count %u for %u%s", all->seen[me], all->seen[me] + 1,
                       all->count == all->seen[me] ? "" : ", and fails");
        if (all->count != all->seen[me]) {
            all->at[me] = 0;
            break;
        }
        all->count++;
        break;
    case 3:
        write_status(all, PAGE_PINNED);
        all->holds[me] = 1;
        break;
    case 4: interleave_say("reads the memory"); break;
    case 5:
        all->holds[me] = 0;
        all->seen[me] = all->count--;
        interleave_say("unpin: takes a pin off, there were %u", all->seen[me]);
        if (all->seen[me] != 1)
            all->at[me] = 9;
        break;
    default: write_status(all, PAGE_UNPINNED); all->at[me] = 9;
    }
}

// Frees the page if nobody has a pin, in one step: more than the listing does, so what is found is the fault of pin alone.
static void step_owner(struct pins_all *all, unsigned me)
{
    all->at[me] = 9;
    if (all->count || all->status != PAGE_UNPINNED)
        interleave_say("does not free: %u pins, %s", all->count, pages[all->status]);
    else
        write_status(all, PAGE_FREE);
}

// Thirty seconds have passed at any time that the explorer likes.
static void step_expiry(const struct pins_with *with, struct pins_all *all, unsigned me)
{
    if (all->at[me]++ == 0) {
        all->expired = all->count > 0;
        interleave_say("30 s later: finds %u pins", all->count);
        all->at[me] = all->expired ? all->at[me] : 9;
    } else if (with->reports) {
        all->reported = 1;
        all->at[me] = 9;
        interleave_say("reports the pin and its owner");
    } else if (all->at[me] == 2) {
        all->count--;
        interleave_say("takes the pin off: %u are left", all->count);
    } else {
        write_status(all, PAGE_UNPINNED);
        all->at[me] = 9;
    }
}

static enum interleave_step pins_step(const void *argument, void *state, unsigned thread)
{
    const struct pins_with *with = argument;
    struct pins_all *all = state;
    if (all->at[thread] == 9 || with->roles[thread] == NOBODY)
        return INTERLEAVE_ENDED;
    if (with->roles[thread] == OWNER)
        step_owner(all, thread);
    else if (with->roles[thread] == EXPIRY)
        step_expiry(with, all, thread);
    else
        step_reader(all, thread);
    return INTERLEAVE_WENT;
}

static const char *pins_wrong(const void *argument, const void *state, bool all_ended)
{
    const struct pins_with *with = argument;
    const struct pins_all *all = state;
    (void)all_ended;
    unsigned holders = 0;
    bool writes = false; // a thread is about to write PINNED
    for (unsigned i = 0; i < 3; i++) {
        holders += all->holds[i];
        writes |= all->at[i] == 3;
    }
    const bool is[] = {all->status == PAGE_FREE && all->count, all->status == PAGE_UNPINNED && holders && !writes,
                       all->count < holders, all->status == PAGE_FREE && holders, all->count > 3};
    for (unsigned i = 0; i < sizeof is / sizeof *is; i++)
        if (is[i] && (with->only == 0 || with->only == i + 1))
            return faults[i + 1];
    return NULL;
}

static struct interleave_model pins_model(const char *name, const struct pins_with *with)
{
    return (struct interleave_model){name, with, 3, sizeof(struct pins_all), pins_begin, pins_step, pins_wrong};
}

int main(void)
{
    static const struct {
        const char *name;
        struct pins_with with;
    } listing[] = {
        {"listing: pin beside a free", {.roles = {READER, OWNER}}},
        {"listing: unpin beside a pin", {.roles = {HOLDER, READER}}},
        {"listing: a pin expires", {.roles = {HOLDER, EXPIRY, OWNER}, .only = TAKEN}},
        {"listing: a pin expires, and its page is freed", {.roles = {HOLDER, EXPIRY, OWNER}, .only = READ_FREED}},
        {"listing: a pin expires, and its holder unpins", {.roles = {HOLDER, EXPIRY, OWNER}, .only = NEGATIVE}},
    };
    static const enum fault first[] = {PINNED_FREE, SAYS_UNPINNED, TAKEN, READ_FREED, NEGATIVE};
    for (size_t i = 0; i < sizeof listing / sizeof *listing; i++) {
        struct interleave_model model = pins_model(listing[i].name, &listing[i].with);
        interleave_expect_fault(&model, faults[first[i]]);
    }
    static const struct pins_with reports = {.roles = {HOLDER, EXPIRY, OWNER}, .reports = true};
    struct interleave_model report = pins_model("repaired: a long pin is reported", &reports);
    interleave_expect_none(&report);
    static const struct scene freed = {.name = "repaired: two pins beside a free",
                                       .word = {IS_RESIDENT},
                                       .calls = {{{PIN, 0}, {UNPIN, 0}}, {{FREE_IT, 0}}, {{PIN, 0}, {UNPIN, 0}}}},
                              evicted = {.name = "repaired: two pins beside an eviction",
                                         .word = {IS_RESIDENT},
                                         .calls = {{{PIN, 0}, {UNPIN, 0}}, {{EVICT, 0}}, {{PIN, 0}, {UNPIN, 0}}}};
    expect_sound(&freed);
    expect_sound(&evicted);
    return 0;
}
