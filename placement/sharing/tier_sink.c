// SPDX-License-Identifier: Apache-2.0
//
// tier_sink: which block is in which tier, and which stores and drops of a file are under way.
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

#include "tier_sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "ids.h"
#include "list.h"
#include "tier_far.h"
#include "tier_file.h"

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
    uint32_t uses;              // raised so often since it came
    uint64_t came_ns;           // to its tier
};

struct move {
    struct locus_tier_op op;    // first
    struct locus_tier_sink *sink;
    enum { IDLE, WAITS, UNDER_WAY, COMPLETE } state; // WAITS for a drop; COMPLETE: the cache has not heard of it
    uint32_t slot;              // of a store
    locus_block handle;         // of one that was started; else LOCUS_BLOCK_NONE
    void *buffer;               // of a copy
    int result;
};

struct locus_tier_sink {
    struct locus_tier_sink_config config;
    uint32_t tiers, count[2];   // of blocks, spares, and those whose store is under way
    struct locus_tier *file;    // the last tier; NULL: it is in memory
    struct ids ids;
    struct entry *entry;
    struct link *links;
    struct list list[2][LISTS];
    struct move copies[MOVES], started[MOVES], drops[MOVES];
    void *buffers, *passing;    // passing: what goes from tier to tier
    uint64_t blocks_passed, blocks_lost;
};

static struct move *idle(struct move moves[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (moves[i].state == IDLE)
            return &moves[i];
    return NULL;
}

static struct list *list_of(struct locus_tier_sink *sink, uint32_t slot)
{
    return &sink->list[sink->entry[slot].tier][sink->entry[slot].spare];
}

static void spare_set(struct locus_tier_sink *sink, uint32_t slot, bool spare)
{
    struct entry *entry = &sink->entry[slot];
    if (!entry->from)
        list_remove(list_of(sink, slot), sink->links, slot);
    entry->spare = spare;
    if (!entry->from)
        list_push(list_of(sink, slot), sink->links, slot);
}

// The tier for a block that leaves its own or, NONE, the cache. One that does not exist: none.
static uint32_t destination(const struct locus_tier_sink *sink, uint32_t slot)
{
    const struct locus_tier_sink_config *config = &sink->config;
    const struct entry *entry = slot == NONE ? NULL : &sink->entry[slot];
    struct locus_sink_tier tiers[2];
    if (!config->policy)
        return entry ? entry->tier + 1u : 0;
    for (uint32_t i = 0; i < sink->tiers; i++) {
        uint32_t room = config->blocks[i] - sink->count[i] + sink->list[i][SPARE].count;
        tiers[i] = (struct locus_sink_tier){.bytes = config->blocks[i] * (uint64_t)config->block_bytes,
                                            .bytes_free = room * (uint64_t)config->block_bytes,
                                            .latency_ns = config->latency_ns[i],
                                            .bytes_per_s = config->bytes_per_s[i] ? config->bytes_per_s[i] : UINT64_MAX};
    }
    const struct locus_sink_object object = {.bytes = config->block_bytes,
                                             .idle_ns = entry ? clock_now_ns() - entry->came_ns : 0,
                                             .uses = entry ? entry->uses : 0,
                                             .compute_ns = config->compute_ns,
                                             .at = entry ? entry->tier : UINT32_MAX};
    return config->policy->to(&object, tiers, sink->tiers);
}

// --- out of a tier -------------------------------------------------------------------------------------------------------------

static void offer_again(struct move moves[], struct locus_id id);

static void dropped(struct locus_tier_op *op, int result)
{
    struct move *move = (struct move *)op;
    (void)result; // a tier that takes no drops takes no stores either, so nobody wants the room
    move->state = IDLE;
    offer_again(move->sink->copies, op->key);
    offer_again(move->sink->started, op->key);
}

// pre: no store of it is under way. -EAGAIN: too many drops are. 0: it is gone, and its room is free, of a file a little later.
static int forget(struct locus_tier_sink *sink, uint32_t slot)
{
    struct move *move = idle(sink->drops, MOVES);
    uint8_t tier = sink->entry[slot].tier;
    if (!move)
        return -EAGAIN;
    move->op.done = dropped;
    move->state = UNDER_WAY;
    if (locus_tier_drop(sink->config.tier[tier], sink->ids.id[slot], &move->op))
        move->state = IDLE;
    list_remove(list_of(sink, slot), sink->links, slot);
    ids_drop(&sink->ids, slot);
    sink->count[tier]--;
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
static void read_begin(struct locus_tier_sink *sink, uint32_t slot, void *block, struct wait *wait, uint32_t *left)
{
    struct locus_tier *tier = sink->config.tier[sink->entry[slot].tier];
    *wait = (struct wait){.op.done = waited, .left = left};
    ++*left;
    int error = locus_tier_load(tier, sink->ids.id[slot], block, sink->config.block_bytes, &wait->op);
    if (error)
        waited(&wait->op, error);
}

// --- into a tier ---------------------------------------------------------------------------------------------------------------

static int put(struct locus_tier_sink *sink, uint8_t tier, struct locus_id id, const void *block);

// Room for one block more: what came first leaves, a spare if there is one.
static int room(struct locus_tier_sink *sink, uint8_t tier)
{
    const struct list *list = sink->list[tier];
    if (sink->count[tier] < sink->config.blocks[tier])
        return 0;
    bool spare = list[SPARE].count > 0;
    uint32_t slot = list[spare].oldest, left = 0;
    if (slot == NONE) // they are all on their way
        return -EAGAIN;
    struct locus_id id = sink->ids.id[slot];
    struct wait wait = {.result = -ENOENT};
    uint32_t to = spare ? LOCUS_SINK_DROP : destination(sink, slot);
    if (to > tier && to < sink->tiers)
        read_begin(sink, slot, sink->passing, &wait, &left);
    int error = forget(sink, slot);
    if (error)
        return error;
    bool passed = !wait.result && !put(sink, (uint8_t)to, id, sink->passing);
    sink->blocks_passed += passed;
    sink->blocks_lost += !passed && !spare;
    return 0;
}

static void stored(struct locus_tier_op *op, int result)
{
    struct move *move = (struct move *)op;
    struct locus_tier_sink *sink = move->sink;
    struct entry *entry = &sink->entry[move->slot];
    entry->from = NULL;
    if (result) {
        sink->count[entry->tier]--;
        sink->blocks_lost++;
        ids_drop(&sink->ids, move->slot);
    } else {
        list_push(list_of(sink, move->slot), sink->links, move->slot);
    }
    move->result = result;
    move->state = move->handle == LOCUS_BLOCK_NONE ? IDLE : COMPLETE;
}

static int offer(struct move *move)
{
    struct locus_tier_sink *sink = move->sink;
    const struct entry *entry = &sink->entry[move->slot];
    struct locus_tier *tier = sink->config.tier[entry->tier];
    move->state = UNDER_WAY;
    int error = locus_tier_store(tier, sink->ids.id[move->slot], entry->from, sink->config.block_bytes, &move->op);
    if (error != -EBUSY || tier != sink->file)
        return error;
    move->state = WAITS;
    return 0;
}

static void offer_again(struct move moves[], struct locus_id id)
{
    for (uint32_t i = 0; i < MOVES; i++) {
        struct move *move = &moves[i];
        int error = move->state == WAITS && locus_id_equal(move->sink->ids.id[move->slot], id) ? offer(move) : 0;
        if (error)
            stored(&move->op, error);
    }
}

// pre: there is room(), and no block with this id.
static int store_begin(struct move *move, uint8_t tier, struct locus_id id, const void *block)
{
    struct locus_tier_sink *sink = move->sink;
    move->op.done = stored;
    move->slot = ids_add(&sink->ids, id);
    sink->entry[move->slot] = (struct entry){.from = block, .tier = tier, .came_ns = clock_now_ns()};
    sink->count[tier]++;
    int error = offer(move);
    if (error) {
        sink->count[tier]--;
        ids_drop(&sink->ids, move->slot);
        move->state = IDLE;
    }
    return error;
}

// The block is the caller's again when this returns.
static int put(struct locus_tier_sink *sink, uint8_t tier, struct locus_id id, const void *block)
{
    struct move at_once = {.sink = sink};
    bool memory = sink->config.tier[tier] != sink->file;
    struct move *move = memory ? &at_once : idle(sink->copies, sink->config.copies);
    int error = move ? room(sink, tier) : -EAGAIN;
    if (error)
        return error;
    if (!memory)
        block = memcpy(move->buffer, block, sink->config.block_bytes);
    error = store_begin(move, tier, id, block);
    return error ? error : at_once.result;
}

// --- the sink ------------------------------------------------------------------------------------------------------------------

// A spare further down than where a block goes leaves first.
static int sink_store(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes)
{
    struct locus_tier_sink *sink = context;
    uint32_t slot = ids_find(&sink->ids, id);
    (void)parent;
    if (bytes != sink->config.block_bytes)
        return -EINVAL;
    const struct entry *entry = slot == NONE ? NULL : &sink->entry[slot];
    uint32_t to = destination(sink, NONE);
    bool leaves = entry && entry->tier > to && entry->spare && !entry->from && forget(sink, slot) == 0;
    if (!entry && to >= sink->tiers)
        return -ENOSPC;
    if (!entry || leaves)
        return put(sink, (uint8_t)to, id, block);
    spare_set(sink, slot, false);
    return 0;
}

static int sink_start(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes,
                      locus_block handle)
{
    struct locus_tier_sink *sink = context;
    struct move *move = idle(sink->started, MOVES);
    uint32_t slot = ids_find(&sink->ids, id);
    (void)parent;
    if (bytes != sink->config.block_bytes)
        return -EINVAL;
    if (!move)
        return -EAGAIN;
    move->handle = handle;
    if (slot != NONE) {
        spare_set(sink, slot, false);
        move->result = 0;
        move->state = COMPLETE;
        return 0;
    }
    uint8_t last = (uint8_t)(sink->tiers - 1);
    int error = sink->config.policy && destination(sink, NONE) != last ? -EAGAIN : room(sink, last);
    return error ? error : store_begin(move, last, id, block);
}

static bool has(const struct locus_tier_sink *sink, struct locus_id id, uint32_t *slot)
{
    *slot = ids_find(&sink->ids, id);
    return *slot != NONE && !sink->entry[*slot].spare;
}

static uint32_t sink_look(void *context, const struct locus_id ids[], uint32_t count)
{
    uint32_t found = 0, slot;
    while (found < count && has(context, ids[found], &slot))
        found++;
    return found;
}

static uint32_t sink_load(void *context, const struct locus_id ids[], void *const blocks[], uint32_t count, size_t bytes)
{
    struct locus_tier_sink *sink = context;
    struct wait wait[MOVES];
    uint32_t slot, asked = 0, left = 0, whole = 0;
    for (; asked < count && asked < MOVES && has(sink, ids[asked], &slot); asked++) {
        wait[asked] = (struct wait){.result = 0};
        if (sink->entry[slot].from)
            memcpy(blocks[asked], sink->entry[slot].from, bytes);
        else
            read_begin(sink, slot, blocks[asked], &wait[asked], &left);
    }
    while (left)
        locus_tier_poll(sink->file, LONG_NS);
    while (whole < asked && !wait[whole].result)
        sink->entry[ids_find(&sink->ids, ids[whole++])].uses++;
    for (uint32_t i = whole; i < asked; i++) {
        if (!wait[i].result)
            continue;
        while (forget(sink, ids_find(&sink->ids, ids[i])))
            locus_tier_poll(sink->file, LONG_NS);
        sink->blocks_lost++;
    }
    return whole;
}

static void sink_drop(void *context, struct locus_id id)
{
    struct locus_tier_sink *sink = context;
    uint32_t slot = ids_find(&sink->ids, id);
    if (slot != NONE)
        spare_set(sink, slot, true);
}

void locus_tier_sink_table(struct locus_tier_sink *sink, struct locus_prefix_sink *out)
{
    *out = (struct locus_prefix_sink){.size = sizeof *out,
                                      .context = sink,
                                      .store = sink_store,
                                      .start = sink->file ? sink_start : NULL,
                                      .look = sink_look,
                                      .load = sink_load,
                                      .drop = sink_drop,
                                      .tag = sink->config.tag};
}

uint32_t locus_tier_sink_poll(struct locus_tier_sink *sink, struct locus_prefix *prefix, uint64_t wait_ns)
{
    uint32_t reported = 0;
    for (uint32_t i = 0; i < MOVES; i++)
        if (sink->started[i].state == COMPLETE)
            wait_ns = 0;
    if (sink->file)
        locus_tier_poll(sink->file, wait_ns);
    for (uint32_t i = 0; i < MOVES; i++) {
        struct move *move = &sink->started[i];
        if (move->state != COMPLETE || locus_prefix_sink_done(prefix, move->handle, move->result))
            continue;
        move->state = IDLE;
        reported++;
    }
    return reported;
}

void locus_tier_sink_stats(const struct locus_tier_sink *sink, struct locus_tier_sink_stats *out)
{
    *out = (struct locus_tier_sink_stats){.blocks_passed = sink->blocks_passed, .blocks_lost = sink->blocks_lost};
    for (uint32_t i = 0; i < sink->tiers; i++) {
        out->spares[i] = sink->list[i][SPARE].count;
        out->blocks[i] = sink->count[i] - out->spares[i];
    }
}

// --- open and close ------------------------------------------------------------------------------------------------------------

struct finding {
    struct locus_tier_sink *sink;
    uint8_t tier;
};

static int found(void *context, struct locus_id id, uint64_t bytes)
{
    const struct finding *finding = context;
    struct locus_tier_sink *sink = finding->sink;
    uint32_t *count = &sink->count[finding->tier];
    if (bytes != sink->config.block_bytes || *count == sink->config.blocks[finding->tier] || ids_find(&sink->ids, id) != NONE)
        return -EINVAL;
    uint32_t slot = ids_add(&sink->ids, id);
    sink->entry[slot] = (struct entry){.tier = finding->tier, .came_ns = clock_now_ns()};
    list_push(list_of(sink, slot), sink->links, slot);
    ++*count;
    return 0;
}

// No tier's bytes, and no buffer's, are more than can be counted.
static bool bytes_fit(const struct locus_tier_sink_config *config)
{
    uint64_t bytes;
    return !__builtin_mul_overflow(config->blocks[0], config->block_bytes, &bytes) &&
           !__builtin_mul_overflow(config->blocks[1], config->block_bytes, &bytes) &&
           config->block_bytes < SIZE_MAX / (MOVES + 1) - ALIGN_BYTES;
}

static bool config_fits(const struct locus_tier_sink_config *config)
{
    const uint32_t *blocks = config->blocks;
    bool two = config->tier[1] != NULL;
    if (!bytes_fit(config))
        return false;
    return config->tier[0] && config->tier[0] != config->tier[1] && config->block_bytes && config->copies <= MOVES && blocks[0] &&
           blocks[0] < NONE / 8 && (blocks[1] > 0) == two && blocks[1] < NONE / 8 && (!two || locus_tier_region(config->tier[0]));
}

static int buffers_open(struct locus_tier_sink *sink)
{
    size_t bytes = (sink->config.block_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    uint32_t copies = sink->file ? sink->config.copies : 0;
    if (!copies && sink->tiers == 1)
        return 0;
    char *buffers = sink->buffers = aligned_alloc(ALIGN_BYTES, (copies + 1) * bytes);
    if (!buffers)
        return -ENOMEM;
    for (uint32_t i = 0; i < copies; i++)
        sink->copies[i].buffer = buffers + i * bytes;
    sink->passing = buffers + copies * bytes;
    return 0;
}

static int arrays_open(struct locus_tier_sink *sink)
{
    uint32_t slots = sink->config.blocks[0] + sink->config.blocks[1];
    for (uint32_t i = 0; i < MOVES; i++)
        sink->copies[i].sink = sink->started[i].sink = sink->drops[i].sink = sink;
    for (uint32_t i = 0; i < 2; i++)
        sink->list[i][FOUND] = sink->list[i][SPARE] = LIST_EMPTY;
    int error = ids_open(&sink->ids, slots);
    sink->entry = malloc(slots * sizeof *sink->entry);
    sink->links = malloc(slots * sizeof *sink->links);
    return error || !sink->entry || !sink->links ? -ENOMEM : buffers_open(sink);
}

static void sink_free(struct locus_tier_sink *sink)
{
    ids_close(&sink->ids);
    free(sink->entry);
    free(sink->links);
    free(sink->buffers);
    free(sink);
}

int locus_tier_sink_open(struct locus_tier_sink **out, const struct locus_tier_sink_config *given)
{
    struct locus_tier_sink_config config;
    int error = config_take(&config, sizeof config, given);
    if (error)
        return error;
    if (!config_fits(&config))
        return -EINVAL;
    struct locus_tier_sink *sink = calloc(1, sizeof *sink);
    if (!sink)
        return -ENOMEM;
    config.copies = config.copies ? config.copies : COPIES;
    sink->config = config;
    sink->tiers = config.tier[1] ? 2 : 1;
    sink->file = locus_tier_region(config.tier[sink->tiers - 1]) ? NULL : config.tier[sink->tiers - 1];
    error = arrays_open(sink);
    for (uint8_t i = 0; i < sink->tiers && !error; i++)
        error = locus_tier_each(config.tier[i], found, &(struct finding){sink, i});
    if (error) {
        sink_free(sink);
        return error;
    }
    *out = sink;
    return 0;
}

int locus_tier_sink_close(struct locus_tier_sink *sink)
{
    if (!sink)
        return 0;
    for (uint32_t i = 0; i < MOVES; i++)
        if (sink->started[i].state != IDLE)
            return -EBUSY;
    for (uint32_t i = 0; i < MOVES; i++)
        while (sink->copies[i].state != IDLE || sink->drops[i].state != IDLE)
            locus_tier_poll(sink->file, LONG_NS);
    sink_free(sink);
    return 0;
}
