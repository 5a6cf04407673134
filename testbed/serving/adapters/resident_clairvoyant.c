// SPDX-License-Identifier: Apache-2.0
//
// resident_clairvoyant: knows all uses: Belady's MIN. Who is used again last makes room, and that may be the adapter that is used
// now: then it stays where it is, and its f16 weights are dropped after this use. No policy that makes adapters hot when they are
// used finds more of them hot. `fixed` begins with hot ones, and `ranked` makes some hot that nobody asked for; both could.
//
// A score is how soon the adapter's next use comes, from 0 (never again). Uses are at different positions, so scores differ, but
// for those that are never used again: of these any one may go.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

struct seer {
    struct tb_places places;
    uint32_t *next;             // of a use: that of the same adapter after it; the number of uses: none
    struct tb_rank *score;      // of an adapter
    uint32_t now, count;
};

static void seer_close(void *state)
{
    struct seer *seer = state;
    if (!seer)
        return;
    tb_places_close(&seer->places);
    free(seer->next);
    free(seer->score);
    free(seer);
}

static int seer_open(void **state, const struct locus_adapter_policy_config *config)
{
    struct seer *seer = calloc(1, sizeof *seer);
    *state = NULL;
    if (!seer)
        return -ENOMEM;
    int error = tb_places_open(&seer->places, config);
    seer->score = calloc(config->adapters, sizeof *seer->score);
    if (error || !seer->score) {
        seer_close(seer);
        return -ENOMEM;
    }
    *state = seer;
    return 0;
}

int tb_resident_foresee(void *state, const struct tb_adapter_use uses[], uint32_t count)
{
    struct seer *seer = state;
    uint32_t adapters = seer->places.adapters, *later = malloc(adapters * sizeof *later); // the next use, seen from the end
    seer->next = malloc((count + (size_t)1) * sizeof *seer->next);
    seer->count = count;
    int error = later && seer->next ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < adapters && !error; i++)
        later[i] = count;
    for (uint32_t i = count; i > 0 && !error; i--) {
        seer->next[i - 1] = later[uses[i - 1].adapter];
        later[uses[i - 1].adapter] = i - 1;
    }
    free(later);
    return error;
}

static void seer_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct seer *seer = state;
    (void)now_ns;
    seer->score[adapter].rank = seer->count - seer->next[seer->now++];
    tb_places_used(&seer->places, seer->score, adapter);
}

const struct locus_adapter_policy tb_resident_clairvoyant = {
    .name = "clairvoyant",
    .summary = "knows the future: who is used again last makes room",
    .open = seer_open,
    .close = seer_close,
    .use = seer_use,
    .place = tb_places_place,
    .moved = tb_places_moved,
    .due_ns = tb_places_never,
};
