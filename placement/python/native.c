// SPDX-License-Identifier: Apache-2.0
//
// native: what the extension has beside the library's own calls. native.py compiles it.
#include "locus/locus.h"

#include <errno.h>
#include <stdlib.h>

struct locus_py_op { // an operation that carries a handle to its Python object
    struct locus_tier_op op;
    void *handle;
};

struct one {
    struct locus_tier_op op; // first
    int32_t *result;
    uint32_t *left;
};

static void one_done(struct locus_tier_op *op, int result)
{
    struct one *one = (struct one *)op;
    *one->result = result;
    --*one->left;
}

static int one_begin(struct locus_tier *tier, uint32_t kind, const struct locus_id *id, const struct locus_piece *pieces,
                     uint32_t count, struct locus_tier_op *op)
{
    if (kind == 0)
        return locus_tier_storev(tier, *id, pieces, count, op);
    return kind == 1 ? locus_tier_loadv(tier, *id, pieces, count, op) : locus_tier_drop(tier, *id, op);
}

// Many operations of a kind (0: store, 1: load, 2: drop), and waits for all: one call, so one release of the GIL. `pieces` has
// pieces_each of each object. results[i] is 0 or an error. 0, or -ENOMEM: none has begun.
int locus_py_many(struct locus_tier *tier, uint32_t kind, const struct locus_id ids[], uint32_t count,
                  const struct locus_piece pieces[], uint32_t pieces_each, int32_t results[])
{
    struct one *all = malloc((count + !count) * sizeof *all);
    uint32_t left = count;
    if (!all)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        all[i] = (struct one){.op.done = one_done, .result = &results[i], .left = &left};
        int error = one_begin(tier, kind, &ids[i], pieces + (size_t)i * pieces_each, pieces_each, &all[i].op);
        if (error)
            one_done(&all[i].op, error);
    }
    while (left > 0)
        locus_tier_poll(tier, 1000000000);
    free(all);
    return 0;
}

struct listed {
    struct locus_id *out;
    uint64_t count, room;
};

static int listed_one(void *context, struct locus_id key, uint64_t bytes)
{
    struct listed *listed = context;
    (void)bytes;
    if (listed->count < listed->room)
        listed->out[listed->count] = key;
    listed->count++;
    return 0;
}

// The keys of a tier's objects; how many there are, of which out[] has the first `room`.
uint64_t locus_py_keys(const struct locus_tier *tier, struct locus_id out[], uint64_t room)
{
    struct listed listed = {.out = out, .room = room};
    locus_tier_each(tier, listed_one, &listed);
    return listed.count;
}
