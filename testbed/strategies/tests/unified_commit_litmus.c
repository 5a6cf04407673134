// SPDX-License-Identifier: Apache-2.0
//
// unified_commit: the two phases of the unified pool's listing (seeds/README.md), in every interleaving.
//
// commit() orders its stores and then shows one page after the other, so a reader finds the first and not the second: no fence
// makes two stores one. rollback() does not look at the handle's phase, so it frees pages that were committed and are read.
//
// Repaired: pages_word.h. All pages of a set refer to one word, which one store commits; and only PREPARED pages are rolled back.
#include "testbed/strategies/tests/pages_word.h"

#define TABLE 2u // pages of the set

struct commit_with {
    bool rolls_back; // the holder, after its commit
};

struct commit_all {
    uint8_t visible[TABLE], freed;
    uint8_t at[2], got; // got: bits, pages that the reader has found
    uint8_t missed;     // it found one, and then another not
    uint8_t unused;
};

static void commit_begin(const void *argument, void *state)
{
    (void)argument;
    (void)state;
}

static bool step_holder(const struct commit_with *with, struct commit_all *all)
{
    unsigned at = all->at[0]++;
    if (at == 0) {
        interleave_say("orders its stores");
    } else if (at <= TABLE) {
        all->visible[at - 1] = 1;
        interleave_say("shows page %u", at - 1);
    } else if (at == TABLE + 1 && with->rolls_back) {
        all->freed = 1;
        interleave_say("rolls back: frees the pages");
    } else {
        all->at[0]--;
        return false;
    }
    return true;
}

// Looks up the pages of the set in their order, and holds what it has found until the end.
static bool step_reader(struct commit_all *all)
{
    unsigned at = all->at[1];
    if (at == TABLE)
        return false;
    interleave_say("looks page %u up: %s", at, all->visible[at] ? "there it is" : "none");
    all->missed |= all->got && !all->visible[at];
    all->got |= (uint8_t)(all->visible[at] << at);
    all->at[1]++;
    return true;
}

static enum interleave_step commit_step(const void *argument, void *state, unsigned thread)
{
    bool went = thread == 0 ? step_holder(argument, state) : step_reader(state);
    return went ? INTERLEAVE_WENT : INTERLEAVE_ENDED;
}

static const char *commit_wrong(const void *argument, const void *state, bool all_ended)
{
    const struct commit_with *with = argument;
    const struct commit_all *all = state;
    (void)all_ended;
    if (all->freed && all->got)
        return "a freed page is found";
    return all->missed && !with->rolls_back ? wrongs[HALF] : NULL;
}

int main(void)
{
    static const struct commit_with commits = {false}, rolls_back = {true};
    static const struct interleave_model commit = {"listing: commit beside a reader",
                                                   &commits,
                                                   2,
                                                   sizeof(struct commit_all),
                                                   commit_begin,
                                                   commit_step,
                                                   commit_wrong},
                                         roll_back = {"listing: roll-back after a commit",
                                                      &rolls_back,
                                                      2,
                                                      sizeof(struct commit_all),
                                                      commit_begin,
                                                      commit_step,
                                                      commit_wrong};
    static const struct scene one_store = {.name = "repaired: commit beside two readers",
                                           .word = {IS_PREPARED, IS_PREPARED},
                                           .whole = true,
                                           .calls = {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}},
                                                     {{PIN, 0}, {PIN, 1}, {UNPIN, 0}, {UNPIN, 1}},
                                                     {{PIN, 1}, {PIN, 0}, {UNPIN, 1}, {UNPIN, 0}}}},
                              too_late = {.name = "repaired: roll-back after a commit",
                                          .word = {IS_PREPARED, IS_PREPARED},
                                          .whole = true,
                                          .calls = {{{COMMIT, 0}, {SETTLE, 0}, {SETTLE, 1}, {ROLL_BACK, 0}, {ROLL_BACK, 1}},
                                                    {{PIN, 0}, {PIN, 1}, {UNPIN, 0}, {UNPIN, 1}}}};
    interleave_expect_fault(&commit, wrongs[HALF]);
    interleave_expect_fault(&roll_back, "a freed page is found");
    expect_sound(&one_store);
    expect_sound(&too_late);
    return 0;
}
