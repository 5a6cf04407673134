// SPDX-License-Identifier: Apache-2.0
//
// memory: the far tier, and what it shares with int8.
//
// Checksums need no pass of their own. Of a small object a piece is summed, which brings it into the first cache, and copied from
// there. Of a large one each word is written as it is summed, past the caches, as memcpy does with large copies: else each line of
// the target is read before it is written.
#include "memory.h"

#include "locus/region.h"
#include "placement/base/config.h"

#include "topo/topo.h"

#include <stdlib.h>

#include "crc.h"

#define UNIT_BYTES_DEFAULT 65536u
#define UNIT_BYTES_MIN 4096u
#define UNIT_BYTES_MAX (2u << 20)
#define NO_MEMORY "no memory for the table of a tier"
#define PIECE_BYTES 12288u       // whole blocks of crc.c, and less than most first caches hold
#define LARGE_BYTES (512u << 10) // a share of the caches that the reader of an object would hardly find it in

static uint64_t far_units(const struct locus_tier *tier, uint64_t bytes, uint64_t *held)
{
    *held = bytes;
    return bytes / tier->unit_bytes + (bytes % tier->unit_bytes != 0);
}

static uint32_t copy_small(uint32_t checksum, void *to, const void *from, size_t bytes)
{
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        checksum = crc32c(checksum, (const char *)from + done, piece);
        memcpy((char *)to + done, (const char *)from + done, piece);
    }
    return checksum;
}

// Copies the object run by run, and returns its checksum, or 0 without checksums.
static uint32_t far_copy(struct memory *memory, const struct object *object, const struct locus_tier_op *op, bool in)
{
    bool large = object->bytes >= LARGE_BYTES;
    struct tier_cursor cursor = tier_cursor(op);
    uint32_t checksum = 0;
    uint64_t left = object->bytes;
    for (uint32_t unit = object->first, next; left > 0; unit = next) {
        uint64_t run = (uint64_t)objects_run(&memory->tier.objects, unit, &next) * memory->tier.unit_bytes, part;
        char *here = memory_unit(memory, unit);
        run = run < left ? run : left;
        left -= run;
        for (; run > 0; run -= part, here += part) {
            char *bytes = tier_run(&cursor, run, &part);
            if (memory->unchecked)
                memcpy(in ? here : bytes, in ? bytes : here, part);
            else
                checksum = (large ? crc32c_copy : copy_small)(checksum, in ? here : bytes, in ? bytes : here, part);
        }
    }
    return checksum;
}

static int far_store(struct locus_tier *tier, struct locus_tier_op *op)
{
    struct object *object = tier_object(tier, op);
    object->checksum = far_copy((struct memory *)tier, object, op, true);
    tier_store_done(tier, op, 0);
    return 0;
}

static int far_load(struct locus_tier *tier, struct locus_tier_op *op)
{
    const struct object *object = tier_object(tier, op);
    uint32_t checksum = far_copy((struct memory *)tier, object, op, false);
    tier_load_done(tier, op, checksum == object->checksum ? 0 : -EBADMSG);
    return 0;
}

int memory_drop(struct locus_tier *tier, struct locus_tier_op *op)
{
    tier_drop_done(tier, op, 0);
    return 0;
}

uint32_t memory_poll(struct locus_tier *tier, uint64_t wait_ns)
{
    (void)tier;
    (void)wait_ns;
    return 0;
}

// A node without memory is offline even if the kernel keeps its directory. A kernel that cannot tell where pages are is no reason
// to refuse: the answer is about the node then.
int memory_check(struct locus_tier *tier)
{
    struct memory *memory = (struct memory *)tier;
    struct locus_node_memory now = {0};
    struct locus_placement placement;
    if (tier->refuses || memory->node == LOCUS_NODE_ANY)
        return tier->refuses;
    int error = locus_node_memory_read(memory->node, &now);
    if (error && error != -ENODEV)
        return error;
    if (error || now.total_bytes == 0)
        tier_refuse(tier, -ENODEV, "node %d went offline: its objects can be loaded, but it takes no more", memory->node);
    else if (!locus_region_verify(memory->region, &placement) && placement.verified.pages_elsewhere)
        tier_refuse(tier, -ENODEV, "%llu of %llu pages are no longer on node %d: its objects can be loaded, but it takes no more",
                    (unsigned long long)placement.verified.pages_elsewhere, (unsigned long long)placement.verified.pages_present,
                    memory->node);
    return tier->refuses;
}

void memory_close(struct locus_tier *tier)
{
    struct memory *memory = (struct memory *)tier;
    objects_close(&tier->objects);
    locus_region_close(memory->region);
    free(memory);
}

static const struct tier_kind far_kind = {
    .units = far_units,
    .store = far_store,
    .load = far_load,
    .drop = memory_drop,
    .poll = memory_poll,
    .check = memory_check,
    .close = memory_close,
};

static const char *config_fault(const struct locus_tier_far_config *config)
{
    uint32_t unit = config->unit_bytes;
    if (unit < UNIT_BYTES_MIN || unit > UNIT_BYTES_MAX || (unit & (unit - 1)))
        return "unit_bytes is not a power of two from 4 KiB to 2 MiB";
    if (config->bytes == 0 || config->bytes > (uint64_t)OBJECTS_UNITS_MAX * unit)
        return "bytes is 0, or more than 2^30 units";
    return NULL;
}

static int region_get(struct memory *memory, const struct locus_tier_far_config *config, uint64_t units)
{
    const struct locus_region_config region = {
        .size = sizeof region,
        .bytes = units * config->unit_bytes,
        .page = config->page,
        .policy = LOCUS_POLICY_BY_NODE,
        .node = config->node,
        .populate = true,
    };
    int error = locus_region_open(&memory->region, &region);
    if (error && config->why && config->why_bytes)
        locus_region_why(&region, error, config->why, config->why_bytes);
    return error;
}

int memory_open(struct locus_tier **out, const struct locus_tier_far_config *given, const struct tier_kind *kind)
{
    struct locus_tier_far_config config;
    *out = NULL;
    int error = config_take(&config, sizeof config, given);
    if (error == -E2BIG)
        tier_say(given->why, given->why_bytes, "%s", config_why(error));
    if (error)
        return error;
    config.unit_bytes = config.unit_bytes ? config.unit_bytes : UNIT_BYTES_DEFAULT;
    const char *fault = config_fault(&config);
    if (fault) {
        tier_say(config.why, config.why_bytes, "%s", fault);
        return -EINVAL;
    }
    struct memory *memory = aligned_alloc(COUNTERS_ALIGN_BYTES, sizeof *memory);
    if (!memory) {
        tier_say(config.why, config.why_bytes, NO_MEMORY);
        return -ENOMEM;
    }
    memset(memory, 0, sizeof *memory);
    memory->node = config.node;
    memory->unchecked = config.unchecked;
    uint64_t units = (config.bytes + config.unit_bytes - 1) / config.unit_bytes;
    error = region_get(memory, &config, units); // first: a size that does not fit is refused before its table is written
    if (!error && (error = tier_init(&memory->tier, kind, units, config.unit_bytes)))
        tier_say(config.why, config.why_bytes, NO_MEMORY);
    if (error) {
        memory_close(&memory->tier);
        return error;
    }
    memory->base = locus_region_base(memory->region);
    *out = &memory->tier;
    return 0;
}

int locus_tier_far_open(struct locus_tier **out, const struct locus_tier_far_config *config)
{
    return memory_open(out, config, &far_kind);
}

const struct locus_region *locus_tier_region(const struct locus_tier *tier)
{
    return tier->kind->close == memory_close ? ((const struct memory *)tier)->region : NULL;
}
