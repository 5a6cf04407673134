// SPDX-License-Identifier: Apache-2.0
//
// offload: which block is in which tier, and which stores and drops of a file are under way.
//
//     ids       a slot for each block
//     entry[]   by slot: its tier; a spare or not; what its store reads, while that is under way
//     list      of each tier, the blocks that can be found and the spares, oldest first. One whose store is under way is in none,
//               so it cannot leave
//
// A file refuses a store while it still drops the same id. The block then waits: dropped() offers it again.
//
// An operation of a file has a struct of its own until it is done. There are three kinds, each with a number of its own, so that
// none waits for another: copies have a buffer, started ones a block that the cache waits for, and drops neither.

#include "locus/offload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "locus/tier.h"
#include "locus/tier_file.h"
#include "placement/base/clock.h"
#include "placement/base/config.h"
#include "placement/evict/ids.h"
#include "placement/evict/list.h"

#define MOVES LOCUS_TIER_DEPTH_MAX // of each kind: a device that is kept busy needs no more
#define COPIES 16u                 // arbitrary
#define NONE LOCUS_EVICT_NONE
#define ALIGN_BYTES 4096u // a file transfers such memory without a buffer of its own
#define LONG_NS 1000000000u

enum { FOUND, SPARE, LISTS };

struct entry {
    const void *from;           // what its store reads; NULL: none is under way
    uint8_t tier;
    bool spare;
    uint32_t uses;              // loaded so often since it came
    uint64_t came_ns;           // to its tier
};

struct move {
    struct locus_tier_op op;    // first
    struct locus_offload *offload;
    enum { IDLE, WAITS, UNDER_WAY, COMPLETE } state; // WAITS for a drop; COMPLETE: the cache has not heard of it
    uint32_t slot;              // of a store
    locus_block handle;         // of one that was started; else LOCUS_BLOCK_NONE
    void *buffer;               // of a copy
    int result;
};

struct locus_offload {
    struct locus_offload_config config;
    uint32_t tiers, count[2];   // of blocks, spares, and those whose store is under way
    struct locus_tier *file;    // the last tier; NULL: it is in memory
    struct ids ids;
    struct entry *entry;
    struct link *links;
    struct list list[2][LISTS];
    struct move copies[MOVES], started[MOVES], drops[MOVES];
    void *buffers, *demoting;    // demoting: what goes from tier to tier
    uint64_t blocks_demoted, blocks_lost;
};

static struct move *idle(struct move moves[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (moves[i].state == IDLE)
            return &moves[i];
    return NULL;
}

static struct list *list_of(struct locus_offload *offload, uint32_t slot)
{
    return &offload->list[offload->entry[slot].tier][offload->entry[slot].spare];
}

static void spare_set(struct locus_offload *offload, uint32_t slot, bool spare)
{
    struct entry *entry = &offload->entry[slot];
    if (!entry->from)
        list_remove(list_of(offload, slot), offload->links, slot);
    entry->spare = spare;
    if (!entry->from)
        list_push(list_of(offload, slot), offload->links, slot);
}

// The tier for a block that leaves its own or, NONE, the cache. One that does not exist: none.
static uint32_t destination(const struct locus_offload *offload, uint32_t slot)
{
    const struct locus_offload_config *config = &offload->config;
    const struct entry *entry = slot == NONE ? NULL : &offload->entry[slot];
    struct locus_demote_tier tiers[2];
    if (!config->policy)
        return entry ? entry->tier + 1u : 0;
    for (uint32_t i = 0; i < offload->tiers; i++) {
        uint32_t room = config->blocks[i] - offload->count[i] + offload->list[i][SPARE].count;
        tiers[i] = (struct locus_demote_tier){.bytes = config->blocks[i] * (uint64_t)config->block_bytes,
                                              .bytes_free = room * (uint64_t)config->block_bytes,
                                              .latency_ns = config->latency_ns[i],
                                              .bytes_per_s = config->bytes_per_s[i] ? config->bytes_per_s[i] : UINT64_MAX};
    }
    const struct locus_demote_object object = {.bytes = config->block_bytes,
                                               .idle_ns = entry ? clock_now_ns() - entry->came_ns : 0,
                                               .uses = entry ? entry->uses : 0,
                                               .compute_ns = config->compute_ns,
                                               .at = entry ? entry->tier : UINT32_MAX};
    return config->policy->to(&object, tiers, offload->tiers);
}

// --- out of a tier -------------------------------------------------------------------------------------------------------------

static void offer_again(struct move moves[], struct locus_id id);

static void dropped(struct locus_tier_op *op, int result)
{
    struct move *move = (struct move *)op;
    (void)result; // a tier that takes no drops takes no stores either, so nobody wants the room
    move->state = IDLE;
    offer_again(move->offload->copies, op->key);
    offer_again(move->offload->started, op->key);
}

// pre: no store of it is under way. -EAGAIN: too many drops are. 0: it is gone, and its room is free, of a file a little later.
static int forget(struct locus_offload *offload, uint32_t slot)
{
    struct move *move = idle(offload->drops, MOVES);
    uint8_t tier = offload->entry[slot].tier;
    if (!move)
        return -EAGAIN;
    move->op.done = dropped;
    move->state = UNDER_WAY;
    if (locus_tier_drop(offload->config.tier[tier], offload->ids.id[slot], &move->op))
        move->state = IDLE;
    list_remove(list_of(offload, slot), offload->links, slot);
    ids_drop(&offload->ids, slot);
    offload->count[tier]--;
    return 0;
}

struct wait {
    struct locus_tier_op op;    // first
    uint32_t *left;             // how many are waited for
    int result;
};

static void waited(struct locus_tier_op *op, int result)
{
    struct wait *wait = (struct wait *)op;
    wait->result = result;
    --*wait->left;
}

// pre: no store of it is under way.
static void read_begin(struct locus_offload *offload, uint32_t slot, void *block, struct wait *wait, uint32_t *left)
{
    struct locus_tier *tier = offload->config.tier[offload->entry[slot].tier];
    *wait = (struct wait){.op.done = waited, .left = left};
    ++*left;
    int error = locus_tier_load(tier, offload->ids.id[slot], block, offload->config.block_bytes, &wait->op);
    if (error)
        waited(&wait->op, error);
}

// --- into a tier ---------------------------------------------------------------------------------------------------------------

static int put(struct locus_offload *offload, uint8_t tier, struct locus_id id, const void *block);

// Room for one block more: what came first leaves, a spare if there is one.
static int room(struct locus_offload *offload, uint8_t tier)
{
    const struct list *list = offload->list[tier];
    if (offload->count[tier] < offload->config.blocks[tier])
        return 0;
    bool spare = list[SPARE].count > 0;
    uint32_t slot = list[spare].oldest, left = 0;
    if (slot == NONE) // they are all on their way
        return -EAGAIN;
    struct locus_id id = offload->ids.id[slot];
    struct wait wait = {.result = -ENOENT};
    uint32_t to = spare ? LOCUS_DEMOTE_DROP : destination(offload, slot);
    if (to > tier && to < offload->tiers)
        read_begin(offload, slot, offload->demoting, &wait, &left);
    int error = forget(offload, slot);
    if (error)
        return error;
    bool demoted = !wait.result && !put(offload, (uint8_t)to, id, offload->demoting);
    offload->blocks_demoted += demoted;
    offload->blocks_lost += !demoted && !spare;
    return 0;
}

static void stored(struct locus_tier_op *op, int result)
{
    struct move *move = (struct move *)op;
    struct locus_offload *offload = move->offload;
    struct entry *entry = &offload->entry[move->slot];
    entry->from = NULL;
    if (result) {
        offload->count[entry->tier]--;
        offload->blocks_lost++;
        ids_drop(&offload->ids, move->slot);
    } else {
        list_push(list_of(offload, move->slot), offload->links, move->slot);
    }
    move->result = result;
    move->state = move->handle == LOCUS_BLOCK_NONE ? IDLE : COMPLETE;
}

static int offer(struct move *move)
{
    struct locus_offload *offload = move->offload;
    const struct entry *entry = &offload->entry[move->slot];
    struct locus_tier *tier = offload->config.tier[entry->tier];
    move->state = UNDER_WAY;
    int error = locus_tier_store(tier, offload->ids.id[move->slot], entry->from, offload->config.block_bytes, &move->op);
    if (error != -EBUSY || tier != offload->file)
        return error;
    move->state = WAITS;
    return 0;
}

static void offer_again(struct move moves[], struct locus_id id)
{
    for (uint32_t i = 0; i < MOVES; i++) {
        struct move *move = &moves[i];
        int error = move->state == WAITS && locus_id_equal(move->offload->ids.id[move->slot], id) ? offer(move) : 0;
        if (error)
            stored(&move->op, error);
    }
}

// pre: there is room(), and no block with this id.
static int store_begin(struct move *move, uint8_t tier, struct locus_id id, const void *block)
{
    struct locus_offload *offload = move->offload;
    move->op.done = stored;
    move->slot = ids_add(&offload->ids, id);
    offload->entry[move->slot] = (struct entry){.from = block, .tier = tier, .came_ns = clock_now_ns()};
    offload->count[tier]++;
    int error = offer(move);
    if (error) {
        offload->count[tier]--;
        ids_drop(&offload->ids, move->slot);
        move->state = IDLE;
    }
    return error;
}

// The block is the caller's again when this returns.
static int put(struct locus_offload *offload, uint8_t tier, struct locus_id id, const void *block)
{
    struct move at_once = {.offload = offload};
    bool memory = offload->config.tier[tier] != offload->file;
    struct move *move = memory ? &at_once : idle(offload->copies, offload->config.copies);
    int error = move ? room(offload, tier) : -EAGAIN;
    if (error)
        return error;
    if (!memory)
        block = memcpy(move->buffer, block, offload->config.block_bytes);
    error = store_begin(move, tier, id, block);
    return error ? error : at_once.result;
}

// --- the offload ---------------------------------------------------------------------------------------------------------------

// A spare further down than where a block goes leaves first.
static int connector_store(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes)
{
    struct locus_offload *offload = context;
    uint32_t slot = ids_find(&offload->ids, id);
    (void)parent;
    if (bytes != offload->config.block_bytes)
        return -EINVAL;
    const struct entry *entry = slot == NONE ? NULL : &offload->entry[slot];
    uint32_t to = destination(offload, NONE);
    bool leaves = entry && entry->tier > to && entry->spare && !entry->from && forget(offload, slot) == 0;
    if (!entry && to >= offload->tiers)
        return -ENOSPC;
    if (!entry || leaves)
        return put(offload, (uint8_t)to, id, block);
    spare_set(offload, slot, false);
    return 0;
}

static int connector_start(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes,
                           locus_block handle)
{
    struct locus_offload *offload = context;
    struct move *move = idle(offload->started, MOVES);
    uint32_t slot = ids_find(&offload->ids, id);
    (void)parent;
    if (bytes != offload->config.block_bytes)
        return -EINVAL;
    if (!move)
        return -EAGAIN;
    move->handle = handle;
    if (slot != NONE) {
        spare_set(offload, slot, false);
        move->result = 0;
        move->state = COMPLETE;
        return 0;
    }
    uint8_t last = (uint8_t)(offload->tiers - 1);
    int error = offload->config.policy && destination(offload, NONE) != last ? -EAGAIN : room(offload, last);
    return error ? error : store_begin(move, last, id, block);
}

static bool has(const struct locus_offload *offload, struct locus_id id, uint32_t *slot)
{
    *slot = ids_find(&offload->ids, id);
    return *slot != NONE && !offload->entry[*slot].spare;
}

static uint32_t connector_probe(void *context, const struct locus_id ids[], uint32_t count)
{
    uint32_t found = 0, slot;
    while (found < count && has(context, ids[found], &slot))
        found++;
    return found;
}

static uint32_t connector_load(void *context, const struct locus_id ids[], void *const blocks[], uint32_t count, size_t bytes)
{
    struct locus_offload *offload = context;
    struct wait wait[MOVES];
    uint32_t slot, asked = 0, left = 0, whole = 0;
    for (; asked < count && asked < MOVES && has(offload, ids[asked], &slot); asked++) {
        wait[asked] = (struct wait){.result = 0};
        if (offload->entry[slot].from)
            memcpy(blocks[asked], offload->entry[slot].from, bytes);
        else
            read_begin(offload, slot, blocks[asked], &wait[asked], &left);
    }
    while (left)
        locus_tier_poll(offload->file, LONG_NS);
    while (whole < asked && !wait[whole].result)
        offload->entry[ids_find(&offload->ids, ids[whole++])].uses++;
    for (uint32_t i = whole; i < asked; i++) {
        if (!wait[i].result)
            continue;
        while (forget(offload, ids_find(&offload->ids, ids[i])))
            locus_tier_poll(offload->file, LONG_NS);
        offload->blocks_lost++;
    }
    return whole;
}

static void connector_drop(void *context, struct locus_id id)
{
    struct locus_offload *offload = context;
    uint32_t slot = ids_find(&offload->ids, id);
    if (slot != NONE)
        spare_set(offload, slot, true);
}

void locus_offload_connector(struct locus_offload *offload, struct locus_offload_ops *out)
{
    *out = (struct locus_offload_ops){.size = sizeof *out,
                                      .context = offload,
                                      .store = connector_store,
                                      .start = offload->file ? connector_start : NULL,
                                      .probe = connector_probe,
                                      .load = connector_load,
                                      .drop = connector_drop,
                                      .tag = offload->config.tag};
}

uint32_t locus_offload_poll(struct locus_offload *offload, struct locus_prefix *prefix, uint64_t wait_ns)
{
    uint32_t reported = 0;
    for (uint32_t i = 0; i < MOVES; i++)
        if (offload->started[i].state == COMPLETE)
            wait_ns = 0;
    if (offload->file)
        locus_tier_poll(offload->file, wait_ns);
    for (uint32_t i = 0; i < MOVES; i++) {
        struct move *move = &offload->started[i];
        if (move->state != COMPLETE || locus_prefix_offload_done(prefix, move->handle, move->result))
            continue;
        move->state = IDLE;
        reported++;
    }
    return reported;
}

void locus_offload_stats(const struct locus_offload *offload, struct locus_offload_stats *out)
{
    *out = (struct locus_offload_stats){.blocks_demoted = offload->blocks_demoted, .blocks_lost = offload->blocks_lost};
    for (uint32_t i = 0; i < offload->tiers; i++) {
        out->spares[i] = offload->list[i][SPARE].count;
        out->blocks[i] = offload->count[i] - out->spares[i];
    }
}

// --- open and close ------------------------------------------------------------------------------------------------------------

struct finding {
    struct locus_offload *offload;
    uint8_t tier;
};

static int found(void *context, struct locus_id id, uint64_t bytes)
{
    const struct finding *finding = context;
    struct locus_offload *offload = finding->offload;
    uint32_t *count = &offload->count[finding->tier];
    if (bytes != offload->config.block_bytes || *count == offload->config.blocks[finding->tier] ||
        ids_find(&offload->ids, id) != NONE)
        return -EINVAL;
    uint32_t slot = ids_add(&offload->ids, id);
    offload->entry[slot] = (struct entry){.tier = finding->tier, .came_ns = clock_now_ns()};
    list_push(list_of(offload, slot), offload->links, slot);
    ++*count;
    return 0;
}

// No tier's bytes, and no buffer's, are more than can be counted.
static bool bytes_fit(const struct locus_offload_config *config)
{
    uint64_t bytes;
    return !__builtin_mul_overflow(config->blocks[0], config->block_bytes, &bytes) &&
           !__builtin_mul_overflow(config->blocks[1], config->block_bytes, &bytes) &&
           config->block_bytes < SIZE_MAX / (MOVES + 1) - ALIGN_BYTES;
}

static bool config_fits(const struct locus_offload_config *config)
{
    const uint32_t *blocks = config->blocks;
    bool two = config->tier[1] != NULL;
    if (!bytes_fit(config))
        return false;
    return config->tier[0] && config->tier[0] != config->tier[1] && config->block_bytes && config->copies <= MOVES && blocks[0] &&
           blocks[0] < NONE / 8 && (blocks[1] > 0) == two && blocks[1] < NONE / 8 && (!two || locus_tier_region(config->tier[0]));
}

static int buffers_open(struct locus_offload *offload)
{
    size_t bytes = (offload->config.block_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    uint32_t copies = offload->file ? offload->config.copies : 0;
    if (!copies && offload->tiers == 1)
        return 0;
    char *buffers = offload->buffers = aligned_alloc(ALIGN_BYTES, (copies + 1) * bytes);
    if (!buffers)
        return -ENOMEM;
    for (uint32_t i = 0; i < copies; i++)
        offload->copies[i].buffer = buffers + i * bytes;
    offload->demoting = buffers + copies * bytes;
    return 0;
}

static int arrays_open(struct locus_offload *offload)
{
    uint32_t slots = offload->config.blocks[0] + offload->config.blocks[1];
    for (uint32_t i = 0; i < MOVES; i++)
        offload->copies[i].offload = offload->started[i].offload = offload->drops[i].offload = offload;
    for (uint32_t i = 0; i < 2; i++)
        offload->list[i][FOUND] = offload->list[i][SPARE] = LIST_EMPTY;
    int error = ids_open(&offload->ids, slots);
    offload->entry = malloc(slots * sizeof *offload->entry);
    offload->links = malloc(slots * sizeof *offload->links);
    return error || !offload->entry || !offload->links ? -ENOMEM : buffers_open(offload);
}

static void offload_free(struct locus_offload *offload)
{
    ids_close(&offload->ids);
    free(offload->entry);
    free(offload->links);
    free(offload->buffers);
    free(offload);
}

int locus_offload_open(struct locus_offload **out, const struct locus_offload_config *given)
{
    struct locus_offload_config config;
    int error = config_take(&config, sizeof config, given);
    if (error)
        return error;
    if (!config_fits(&config))
        return -EINVAL;
    struct locus_offload *offload = calloc(1, sizeof *offload);
    if (!offload)
        return -ENOMEM;
    config.copies = config.copies ? config.copies : COPIES;
    offload->config = config;
    offload->tiers = config.tier[1] ? 2 : 1;
    offload->file = locus_tier_region(config.tier[offload->tiers - 1]) ? NULL : config.tier[offload->tiers - 1];
    error = arrays_open(offload);
    for (uint8_t i = 0; i < offload->tiers && !error; i++)
        error = locus_tier_each(config.tier[i], found, &(struct finding){offload, i});
    if (error) {
        offload_free(offload);
        return error;
    }
    *out = offload;
    return 0;
}

int locus_offload_close(struct locus_offload *offload)
{
    if (!offload)
        return 0;
    for (uint32_t i = 0; i < MOVES; i++)
        if (offload->started[i].state != IDLE)
            return -EBUSY;
    for (uint32_t i = 0; i < MOVES; i++)
        while (offload->copies[i].state != IDLE || offload->drops[i].state != IDLE)
            locus_tier_poll(offload->file, LONG_NS);
    offload_free(offload);
    return 0;
}
