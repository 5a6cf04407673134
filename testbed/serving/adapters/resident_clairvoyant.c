// SPDX-License-Identifier: Apache-2.0
//
// resident_clairvoyant: knows all uses: Belady's MIN. Who is used again last makes room, and that may be the adapter that is used
// now: then it stays where it is, and its f16 weights are dropped after this use. No policy that makes adapters hot when they are
// used finds more of them hot; ranked brings some unasked, and could.
//
// A score is how soon the adapter's next use comes, from 0 (never again). Uses are at different positions, so scores differ, but for
// those that are never used again: of these any one may go.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

struct seer {
    struct tb_places *places;
    uint32_t *next;             // of a use: that of the same adapter after it; the number of uses: none
    uint64_t *score;            // of an adapter
    uint32_t now, count;
};

static void seer_close(void *state)
{
    struct seer *seer = state;
    if (!seer)
        return;
    free(seer->next);
    free(seer->score);
    free(seer);
}

static int seer_open(void **state, const struct tb_resident_setup *setup)
{
    struct seer *seer = *state = calloc(1, sizeof *seer);
    uint32_t *later = malloc(setup->adapters * sizeof *later); // an adapter's next use, seen from the end
    int error = seer && later ? 0 : -ENOMEM;
    if (!error) {
        seer->places = setup->places;
        seer->count = setup->count;
        seer->next = malloc((setup->count + (size_t)1) * sizeof *seer->next);
        seer->score = calloc(setup->adapters, sizeof *seer->score);
        error = seer->next && seer->score ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; i < setup->adapters && !error; i++)
        later[i] = setup->count;
    for (uint32_t i = setup->count; i > 0 && !error; i--) {
        seer->next[i - 1] = later[setup->uses[i - 1].adapter];
        later[setup->uses[i - 1].adapter] = i - 1;
    }
    free(later);
    return error;
}

// Is there room, or somebody who is used later?
static bool worth(const struct seer *seer, uint32_t adapter, enum tb_tier tier)
{
    const struct tb_places *places = seer->places;
    return places->count[tier] < places->most[tier] ||
           seer->score[tb_places_least(places, tier, seer->score)] < seer->score[adapter];
}

static void seer_use(void *state, uint32_t adapter, uint64_t now_ns)
{
    struct seer *seer = state;
    seer->score[adapter] = seer->count - seer->next[seer->now++];
    if (seer->places->tier[adapter] != TB_TIER_HOT && worth(seer, adapter, TB_TIER_HOT))
        tb_places_bring(seer->places, adapter, TB_TIER_HOT, seer->score, now_ns);
    else if (seer->places->tier[adapter] == TB_TIER_COLD && worth(seer, adapter, TB_TIER_WARM))
        tb_places_bring(seer->places, adapter, TB_TIER_WARM, seer->score, now_ns);
}

const struct tb_resident tb_resident_clairvoyant = {
    .name = "clairvoyant",
    .summary = "knows the future: who is used again last makes room",
    .foresees = true,
    .open = seer_open,
    .close = seer_close,
    .use = seer_use,
};
