// SPDX-License-Identifier: Apache-2.0
//
// batcher_seed: the seed's rule (002, 9.3): adapters by their number of waiting requests, most first; each gives all that it has,
// or all that still fit.
//
// Its sort keeps the order of equals, which is that of a dictionary: the order in which adapters had their first request ever. So
// of adapters with one request each, the one that came into the service last is always the last.

#include "testbed/serving/adapters/batcher.h"
#include "testbed/serving/adapters/pending.h"

struct seed {
    struct tb_pending pending;
    uint32_t *order;            // the adapters in the order of their first request
    uint32_t *key;              // of an adapter: where it stands there, from 1; 0: nowhere
    uint32_t known, slots;
    struct place {
        uint32_t count, key, adapter;
    } * sorted;
};

static void seed_close(void *state)
{
    struct seed *seed = state;
    if (!seed)
        return;
    tb_pending_close(&seed->pending);
    free(seed->order);
    free(seed->key);
    free(seed->sorted);
    free(seed);
}

static int seed_open(void **state, uint32_t adapters, uint32_t requests, uint32_t slots)
{
    struct seed *seed = *state = calloc(1, sizeof *seed);
    if (!seed)
        return -ENOMEM;
    seed->slots = slots;
    seed->order = malloc(adapters * sizeof *seed->order);
    seed->key = calloc(adapters, sizeof *seed->key);
    seed->sorted = malloc(adapters * sizeof *seed->sorted);
    int error = tb_pending_open(&seed->pending, adapters, requests);
    return seed->order && seed->key && seed->sorted ? error : -ENOMEM;
}

static void seed_add(void *state, uint32_t request, uint32_t adapter)
{
    struct seed *seed = state;
    if (seed->key[adapter] == 0) {
        seed->order[seed->known] = adapter;
        seed->key[adapter] = ++seed->known;
    }
    tb_pending_add(&seed->pending, request, adapter);
}

static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : (x->key > y->key) - (x->key < y->key);
}

static uint32_t seed_form(void *state, uint32_t batch[])
{
    struct seed *seed = state;
    uint32_t places = 0, count = 0;
    for (uint32_t i = 0; i < seed->known; i++) {
        uint32_t adapter = seed->order[i];
        if (seed->pending.queue[adapter].count)
            seed->sorted[places++] = (struct place){seed->pending.queue[adapter].count, i, adapter};
    }
    qsort(seed->sorted, places, sizeof *seed->sorted, compare);
    for (uint32_t i = 0; i < places; i++)
        for (uint32_t n = 0; n < seed->sorted[i].count && count < seed->slots; n++)
            batch[count++] = tb_pending_take(&seed->pending, seed->sorted[i].adapter);
    return count;
}

const struct tb_batcher tb_batcher_seed = {
    .name = "seed",
    .summary = "the seed's: the adapter with the most requests first",
    .open = seed_open,
    .close = seed_close,
    .add = seed_add,
    .form = seed_form,
};
