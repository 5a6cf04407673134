// SPDX-License-Identifier: Apache-2.0
//
// The edges of tier/ and of tiers below a prefix cache (edges.h).
#include "placement/domain/tests/edges.h"

#include <stdio.h>
#include <unistd.h>

#define TIER_BYTES (UINT64_C(1) << 20)
#define UNIT_BYTES 4096u

static int last_result;

static void done(struct locus_tier_op *op, int result)
{
    (void)op;
    last_result = result;
}

static struct locus_tier_far_config far_usual(void)
{
    return (struct locus_tier_far_config){.size = sizeof(struct locus_tier_far_config),
                                          .bytes = TIER_BYTES,
                                          .unit_bytes = UNIT_BYTES,
                                          .node = LOCUS_NODE_ANY};
}

typedef int far_open_fn(struct locus_tier **out, const struct locus_tier_far_config *config);

static void far_tried(far_open_fn *open, struct locus_tier_far_config config)
{
    struct locus_tier *tier = NULL;
    char why[200] = "";
    config.why = why;
    config.why_bytes = sizeof why;
    int error = open(&tier, &config);
    ONE_OF(error, 0, -EINVAL, -ENOMEM, -ENOSYS, -EPERM);
    cr_assert(!error == (tier != NULL) && (!error || *why || config.size != sizeof config));
    locus_tier_close(tier);
}

Test(edges, a_tier_in_memory_of_any_size_is_opened_or_refused)
{
    far_open_fn *const opens[] = {locus_tier_far_open, locus_tier_int8_open};
    for (unsigned i = 0; i < 2; i++) {
        EACH(uint64_t, value, edges64)
        {
            struct locus_tier_far_config config = far_usual();
            config.bytes = value;
            config.node = value > TIER_BYTES ? INT_MAX : LOCUS_NODE_ANY; // so that what is possible is not filled with pages
            far_tried(opens[i], config);
            config = far_usual();
            config.unit_bytes = (uint32_t)value;
            far_tried(opens[i], config);
            config = far_usual();
            config.size = value;
            if (value <= sizeof config || value > 4096) // else the caller says that it has so many
                far_tried(opens[i], config);
        }
        EACH(int, node, edges_int)
        {
            struct locus_tier_far_config config = far_usual();
            config.node = node;
            far_tried(opens[i], config);
            config = far_usual();
            config.page = (enum locus_page)node;
            far_tried(opens[i], config);
        }
    }
}

static int count_each(void *context, struct locus_id key, uint64_t bytes)
{
    (void)key;
    (void)bytes;
    ++*(unsigned *)context;
    return 0;
}

static unsigned objects_of(const struct locus_tier *tier)
{
    unsigned objects = 0;
    cr_assert_eq(locus_tier_each(tier, count_each, &objects), 0);
    return objects;
}

static bool same(const struct locus_tier *tier, const struct locus_tier_stats *before)
{
    struct locus_tier_stats now;
    locus_tier_stats(tier, &now);
    now.refused_room = before->refused_room;
    return memcmp(&now, before, sizeof now) == 0;
}

// A second piece of any length, and no piece at all.
static void pieces_tried(struct locus_tier *tier, bool numbers)
{
    static uint16_t object[2048];
    struct locus_tier_op op = {.done = done};
    struct locus_tier_stats before;
    locus_tier_stats(tier, &before);
    EACH(uint64_t, length, edges64)
    {
        const struct locus_piece pieces[] = {{object, 1024}, {object + 512, length}};
        const struct locus_id key = {{length, 1}};
        bool wrong = length == 0 || (numbers && length % 2), endless = length + 1024 < length;
        cr_assert_eq(locus_tier_loadv(tier, key, pieces, 2, &op), wrong ? -EINVAL : endless ? -EFBIG : -ENOENT);
        cr_assert_eq(locus_tier_loadv(tier, key, pieces, 0, &op), -EINVAL);
        cr_assert_eq(locus_tier_storev(tier, key, pieces, 0, &op), -EINVAL);
        if (!wrong && length <= sizeof object - 1024)
            continue;
        int error = locus_tier_storev(tier, key, pieces, 2, &op);
        if (wrong)
            cr_assert_eq(error, -EINVAL);
        else
            ONE_OF(error, -EFBIG, -ENOSPC);
        cr_assert(same(tier, &before));
    }
}

// Keys and bytes of any value; all that is stored is dropped again.
static void objects_tried(struct locus_tier *tier, bool numbers)
{
    static uint16_t object[2048];
    struct locus_tier_op op = {.done = done};
    struct locus_tier_stats before, now;
    uint64_t bytes;
    EACH(uint64_t, number, edges64)
    {
        const struct locus_id key = {{number, ~number}};
        locus_tier_stats(tier, &before);
        cr_assert_eq(locus_tier_find(tier, key, &bytes), -ENOENT);
        cr_assert_eq(locus_tier_drop(tier, key, &op), -ENOENT);
        EACH(uint64_t, length, edges64)
        {
            bool odd = numbers && length % 2, there = length && length <= sizeof object;
            cr_assert_eq(locus_tier_load(tier, key, object, length, &op), odd ? -EINVAL : -ENOENT);
            if (there && !odd)
                continue;
            int error = locus_tier_store(tier, key, object, length, &op);
            if (length == 0 || odd)
                cr_assert_eq(error, -EINVAL);
            else
                ONE_OF(error, -EFBIG, -ENOSPC);
            cr_assert(same(tier, &before));
        }
        op.done = done;
        cr_assert_eq(locus_tier_store(tier, key, object, 2048, &op), 0);
        locus_tier_poll(tier, UINT64_MAX);
        cr_assert(last_result == 0 && locus_tier_find(tier, key, NULL) == 0 && objects_of(tier) == 1);
        EACH(uint64_t, room, edges64)
        {
            int error = locus_tier_load(tier, key, object, room, &op);
            cr_assert_eq(error, numbers && room % 2 ? -EINVAL : room < 2048 ? -EMSGSIZE : 0);
            locus_tier_poll(tier, error ? 0 : UINT64_MAX);
        }
        cr_assert_eq(locus_tier_drop(tier, key, &op), 0);
        locus_tier_poll(tier, UINT64_MAX);
        locus_tier_stats(tier, &now);
        cr_assert(now.units_free == before.units_free && now.objects == 0 && now.bytes == 0);
    }
    uint64_t secret[2];
    ONE_OF(locus_tier_file_secret(tier, secret), 0, -EINVAL);
    cr_assert_eq(locus_tier_check(tier), 0);
    cr_assert_str_eq(locus_tier_why(tier), "");
    EACH(uint64_t, wait_ns, edges64)
    {
        cr_assert_eq(locus_tier_poll(tier, wait_ns), 0, "nothing is under way, so nobody waits");
    }
}

Test(edges, objects_of_any_key_and_size_in_memory)
{
    struct locus_tier_far_config config = far_usual();
    struct locus_tier_file_granted granted;
    struct locus_tier *tier;
    cr_assert_eq(locus_tier_far_open(&tier, &config), 0);
    cr_assert_not_null(locus_tier_region(tier));
    cr_assert_eq(locus_tier_file_granted(tier, &granted), -EINVAL);
    objects_tried(tier, false);
    pieces_tried(tier, false);
    locus_tier_close(tier);
    cr_assert_eq(locus_tier_int8_open(&tier, &config), 0);
    objects_tried(tier, true);
    pieces_tried(tier, true);
    locus_tier_close(tier);
}

static void path_get(char path[64])
{
    const char *given = getenv("LOCUS_TEST_FOLDER");
    snprintf(path, 64, "%s/edges.XXXXXX", given ? given : access("/var/tmp", W_OK) ? "/tmp" : "/var/tmp");
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
    unlink(path);
}

Test(edges, a_tier_in_a_file_of_any_size_is_opened_or_refused)
{
    char path[64], why[200];
    struct locus_tier *tier;
    path_get(path);
    EACH(uint64_t, value, edges64)
    for (unsigned field = 0; field < 7; field++) {
        struct locus_tier_file_config config = {.size = sizeof config, .path = path, .bytes = TIER_BYTES, .unit_bytes = UNIT_BYTES};
        config.why = why;
        config.why_bytes = sizeof why;
        if (field == 0)
            config.bytes = value;
        else if (field == 1)
            config.unit_bytes = (uint32_t)value;
        else if (field == 2)
            config.depth = (uint32_t)value;
        else if (field == 3)
            config.zstd_level = (int)(uint32_t)value;
        else if (field == 4)
            config.zstd_bytes_max = (uint32_t)value, config.zstd_level = 1;
        else if (field == 5)
            config.memory = why, config.memory_bytes = value;
        else if (value <= sizeof config || value > 4096) // else the caller says that it has so many
            config.size = value;
        if (field == 0 && value > UINT32_MAX / 16 && value < UINT64_C(1) << 60)
            continue; // the file system may have room for it
        int error = locus_tier_file_open(&tier, &config);
        ONE_OF(error, 0, -EINVAL, -ENOENT, -ENOMEM, -ENOSPC, -E2BIG, -EFBIG);
        cr_assert(error || !*why);
        locus_tier_close(error ? NULL : tier);
        unlink(path);
    }
}

Test(edges, objects_of_any_key_and_size_in_a_file)
{
    char path[64];
    struct locus_tier *tier;
    struct locus_tier_file_granted granted;
    path_get(path);
    struct locus_tier_file_config config = {.size = sizeof config, .path = path, .bytes = TIER_BYTES, .unit_bytes = UNIT_BYTES};
    cr_assert_eq(locus_tier_file_open(&tier, &config), 0);
    cr_assert_eq(locus_tier_file_granted(tier, &granted), 0);
    cr_assert_null(locus_tier_region(tier));
    objects_tried(tier, false);
    pieces_tried(tier, false);
    locus_tier_close(tier);
    unlink(path);
}

Test(edges, int8_numbers_of_any_count)
{
    uint16_t from[70] = {0}, to[70];
    char stored[2 * LOCUS_INT8_GROUP_BYTES];
    EACH(uint64_t, count, edges64)
    {
        if (count <= SIZE_MAX / 2)
            cr_assert(locus_int8_bytes(count) == ((unsigned __int128)count + 63) / 64 * LOCUS_INT8_GROUP_BYTES);
    }
    for (size_t count = 0; count <= 70; count++) {
        cr_assert_eq(locus_int8_from_f16(stored, from, count), 0);
        cr_assert_eq(locus_int8_to_f16(to, stored, count), 0);
        cr_assert_eq(locus_int8_to_f16_streamed(to, stored, count), 0);
    }
}

Test(edges, a_sink_policy_sends_an_object_of_any_numbers_to_a_tier_that_holds_it)
{
    EACH(uint64_t, bytes, edges64)
    EACH(uint64_t, latency_ns, edges64)
    EACH(uint64_t, rate, edges64)
    {
        const struct locus_demote_tier tiers[2] = {
            {.bytes = UINT64_MAX, .bytes_free = latency_ns, .latency_ns = latency_ns, .bytes_per_s = rate},
            {.bytes = bytes, .bytes_free = bytes, .latency_ns = rate, .bytes_per_s = bytes}};
        uint64_t load_ns = locus_demote_load_ns(&tiers[0], bytes);
        long double exact_ns = (long double)latency_ns + (long double)bytes * 1e9L / (long double)rate;
        cr_assert(load_ns >= latency_ns);
        cr_assert(rate == 0 || exact_ns >= 0x1p64L ? load_ns == UINT64_MAX : (long double)load_ns <= exact_ns * 1.000001L + 1);
        EACH(uint32_t, at, edges32)
        {
            struct locus_demote_object object = {
                .bytes = bytes, .idle_ns = rate, .uses = latency_ns, .compute_ns = bytes, .at = at, .exact = at % 2};
            for (uint32_t i = 0; locus_demote_at(i); i++) {
                uint32_t to = locus_demote_at(i)->to(&object, tiers, 2);
                cr_assert(to == LOCUS_DEMOTE_DROP || (to < 2 && (at == UINT32_MAX || to > at) && tiers[to].bytes >= bytes));
            }
            cr_assert_eq(locus_demote_next(&object, tiers, 0, at, true), LOCUS_DEMOTE_DROP);
            cr_assert_eq(locus_demote_next(&object, tiers, 2, 2 + at % 9, false), LOCUS_DEMOTE_DROP);
        }
    }
}

static void connector_tried(struct locus_tier *tier, struct locus_offload_config config, bool possible)
{
    struct locus_offload *connector = NULL;
    struct locus_offload_stats stats;
    struct locus_offload_ops table;
    config.tier[0] = tier;
    int error = locus_offload_open(&connector, &config);
    cr_assert_eq(error, possible ? 0 : -EINVAL);
    if (error)
        return;
    locus_offload_connector(connector, &table);
    locus_offload_stats(connector, &stats);
    cr_assert(stats.blocks[0] == 0 && table.store && table.tag == config.tag);
    cr_assert_eq(locus_offload_poll(connector, NULL, UINT64_MAX), 0);
    cr_assert_eq(locus_offload_close(connector), 0);
}

Test(edges, tiers_below_a_cache_of_any_numbers_are_opened_or_refused)
{
    struct locus_tier_far_config far = far_usual();
    const struct locus_offload_config usual = {.size = sizeof usual, .blocks = {4}, .block_bytes = 1024};
    struct locus_tier *tier;
    cr_assert_eq(locus_tier_far_open(&tier, &far), 0);
    EACH(uint64_t, value, edges64)
    {
        struct locus_offload_config config = usual;
        config.block_bytes = value;
        bool wraps = (unsigned __int128)value * 4 > UINT64_MAX || value >= SIZE_MAX / 65 - 4096;
        connector_tried(tier, config, value && !wraps);
        config = usual;
        config.copies = (uint32_t)value;
        connector_tried(tier, config, (uint32_t)value <= 64);
        config = usual;
        config.blocks[1] = (uint32_t)value;
        connector_tried(tier, config, (uint32_t)value == 0);
        config = usual;
        config.tag = config.compute_ns = config.latency_ns[0] = config.bytes_per_s[0] = value;
        connector_tried(tier, config, true);
        config = usual;
        config.blocks[0] = (uint32_t)value;
        if (config.blocks[0] <= 64 || config.blocks[0] >= UINT32_MAX / 8) // others would take gigabytes
            connector_tried(tier, config, config.blocks[0] && config.blocks[0] <= 64);
    }
    locus_tier_close(tier);
}
