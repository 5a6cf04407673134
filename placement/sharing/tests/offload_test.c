// SPDX-License-Identifier: Apache-2.0
//
// offload: blocks go to tiers in memory and in real files, and come back with the very same bytes; and each way in which
// that can fail.
#include "locus/offload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "locus/tier.h"
#include "locus/tier_file.h"
#include "placement/sharing/tests/offloaded_test.h"

enum { BYTES = TOKENS * TOKEN_BYTES, UNIT = 4096, ROOM = 64, MEMORY = 0, FILED = 1 };

struct below {
    struct locus_tier *tier[2];
    struct locus_offload *offload;
    char folder[80], path[96];
    const struct locus_prefix_key *key; // of the cache; NULL: a drawn one
};

static struct locus_tier *memory_new(uint64_t units)
{
    struct locus_tier *tier = NULL;
    const struct locus_tier_far_config config = {.size = sizeof config,
                                                 .bytes = units * UNIT,
                                                 .unit_bytes = UNIT,
                                                 .node = LOCUS_NODE_ANY};
    cr_assert_eq(locus_tier_far_open(&tier, &config), 0);
    return tier;
}

// The file of an earlier one, if there is one; a ring that has just been closed may hold it for a moment.
static struct locus_tier *file_new(struct below *below, bool no_io_uring)
{
    struct locus_tier *tier = NULL;
    const char *given = getenv("LOCUS_TEST_FOLDER"), *base = given ? given : access("/var/tmp", W_OK) ? "/tmp" : "/var/tmp";
    int error = -EBUSY;
    if (!below->folder[0]) {
        snprintf(below->folder, sizeof below->folder, "%s/offload-XXXXXX", base);
        cr_assert(mkdtemp(below->folder));
        snprintf(below->path, sizeof below->path, "%s/file", below->folder);
    }
    const struct locus_tier_file_config config = {.size = sizeof config,
                                                  .path = below->path,
                                                  .bytes = (2 * 2 * ROOM + 1) * UNIT,
                                                  .unit_bytes = UNIT,
                                                  .no_io_uring = no_io_uring};
    for (int i = 0; i < 400 && error == -EBUSY; i++) {
        error = locus_tier_file_open(&tier, &config);
        if (error == -EBUSY)
            usleep(5000);
    }
    cr_assert_eq(error, 0, "%d", error);
    return tier;
}

static void file_end(const struct below *below)
{
    unlink(below->path);
    rmdir(below->folder);
}

static void offload_open(struct world *world, struct below *below, const struct locus_offload_config *wanted, uint32_t blocks)
{
    struct locus_offload_config config = *wanted;
    struct locus_offload_ops table;
    config.tier[0] = below->tier[0];
    config.tier[1] = below->tier[1];
    config.block_bytes = BYTES;
    config.tag = 77;
    cr_assert_eq(locus_offload_open(&below->offload, &config), 0);
    locus_offload_connector(below->offload, &table);
    world_open(world, blocks, true);
    const struct locus_prefix_config prefix = {.size = sizeof prefix, .owner = world->owner, .offload = &table, .key = below->key};
    cr_assert_eq(locus_prefix_open(&world->prefix, &prefix), 0);
}

// All that was started is done.
static void settle(struct world *world, struct below *below)
{
    for (int i = 0; i < 1000 && offloaded_of(world).blocks_offloading; i++)
        locus_offload_poll(below->offload, world->prefix, 10000000);
    cr_assert_eq(offloaded_of(world).blocks_offloading, 0);
}

// Nothing is under way in a tier, drops included.
static void quiet(const struct below *below)
{
    for (int i = 0; i < 2; i++)
        while (below->tier[i] && locus_tier_poll(below->tier[i], 1000000000))
            ;
}

static void offload_close(struct world *world, struct below *below)
{
    settle(world, below);
    world_close(world);
    cr_assert_eq(locus_offload_close(below->offload), 0);
    locus_tier_close(below->tier[0]);
    locus_tier_close(below->tier[1]);
    below->tier[0] = below->tier[1] = NULL;
}

static struct locus_offload_stats below_of(const struct below *below)
{
    struct locus_offload_stats stats;
    locus_offload_stats(below->offload, &stats);
    return stats;
}

static uint64_t stores_of(const struct locus_tier *tier)
{
    struct locus_tier_stats stats;
    locus_tier_stats(tier, &stats);
    return stats.stores;
}

static uint32_t looked(const struct world *world, uint64_t first, uint32_t count)
{
    return locus_prefix_load_probe(world->prefix, prompt(first), count, world->tables[4]);
}

// Into each kind of tier, by store() and by start(), and back while the file still writes and when it has written.
static void out_and_back(int kind, bool no_io_uring, bool started, bool waits)
{
    struct world world;
    struct below below = {0};
    below.tier[0] = kind == MEMORY ? memory_new(ROOM) : file_new(&below, no_io_uring);
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {ROOM}}, 8);
    kept(&world, 10, 6, 'a');
    if (started)
        cr_assert_eq(locus_prefix_offload_start(world.prefix, 6), kind == MEMORY ? 0 : 6);
    cr_assert_eq(offloaded_of(&world).blocks_offloading, started && kind == FILED ? 6 : 0);
    if (waits)
        settle(&world, &below);
    locus_prefix_evict(world.prefix, UINT32_MAX);
    cr_assert_eq(matched(&world, 1, 10, 7), 0);
    cr_assert_eq(looked(&world, 10, 7), 6);
    settle(&world, &below);
    cr_assert_eq(loaded(&world, 1, 10, 7), 6);
    holds(&world, 1, 0, 6 * TOKENS, 'a');
    cr_assert_eq(offloaded_of(&world).blocks_offloaded, 6);
    cr_assert_eq(looked(&world, 10, 7), 0, "it is in one place");
    released(&world, 1);
    locus_prefix_evict(world.prefix, UINT32_MAX);
    cr_assert_eq(below_of(&below).blocks[0], 6);
    cr_assert_eq(below_of(&below).spares[0], 0);
    written(&world, 0, 0, 8 * TOKENS, 'x');
    released(&world, 0);
    cr_assert_eq(loaded(&world, 2, 10, 7), 6, "again");
    holds(&world, 2, 0, 6 * TOKENS, 'a');
    released(&world, 2);
    settle(&world, &below);
    cr_assert_leq(stores_of(below.tier[0]), 6, "what the tier still has is not written again");
    cr_assert_eq(below_of(&below).blocks_lost, 0);
    offload_close(&world, &below);
    file_end(&below);
}

Test(offload, a_block_comes_back_from_memory_with_the_same_bytes)
{
    out_and_back(MEMORY, false, false, false);
    out_and_back(MEMORY, false, true, false);
}

Test(offload, a_block_comes_back_from_a_file_with_the_same_bytes)
{
    for (int way = 0; way < 8; way++)
        out_and_back(FILED, way & 4, way & 2, way & 1);
}

Test(offload, what_a_file_still_writes_is_there_already)
{
    struct world world;
    struct below below = {0};
    below.tier[0] = file_new(&below, false);
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {ROOM}}, 8);
    kept(&world, 10, 6, 'a');
    cr_assert_eq(locus_prefix_offload_start(world.prefix, 2), 2);
    cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 4);
    cr_assert_eq(below_of(&below).blocks[0], 6);
    cr_assert_eq(stores_of(below.tier[0]), 0, "nobody has asked the file yet");
    written(&world, 0, 0, 6 * TOKENS, 'x');
    released(&world, 0);
    cr_assert_eq(loaded(&world, 1, 10, 6), 6);
    holds(&world, 1, 0, 6 * TOKENS, 'a');
    cr_assert_eq(locus_prefix_close(world.prefix), -EBUSY);
    cr_assert_eq(locus_offload_close(below.offload), -EBUSY);
    released(&world, 1);
    cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 6, "before the first stores are done");
    settle(&world, &below);
    cr_assert_eq(loaded(&world, 1, 10, 6), 6);
    holds(&world, 1, 0, 6 * TOKENS, 'a');
    released(&world, 1);
    offload_close(&world, &below);
    file_end(&below);
}

Test(offload, what_came_first_passes_to_the_second_tier_and_then_is_lost)
{
    for (int kind = MEMORY; kind <= FILED; kind++) {
        struct world world;
        struct below below = {0};
        below.tier[0] = memory_new(ROOM);
        below.tier[1] = kind == MEMORY ? memory_new(ROOM) : file_new(&below, false);
        offload_open(&world, &below, &(struct locus_offload_config){.blocks = {4, 6}}, 8);
        for (uint64_t i = 0; i < 12; i++) {
            kept(&world, 10 * (i + 1), 1, (char)('a' + i));
            cr_assert_eq(locus_prefix_evict(world.prefix, 1), 1);
            quiet(&below);
        }
        const struct locus_offload_stats now = below_of(&below);
        cr_assert(now.blocks[0] == 4 && now.blocks[1] == 6 && now.blocks_demoted == 8 && now.blocks_lost == 2);
        for (uint64_t i = 0; i < 12; i++) {
            cr_assert_eq(loaded(&world, 1, 10 * (i + 1), 1), i >= 2, "block %d", (int)i);
            if (i >= 2)
                holds(&world, 1, 0, TOKENS, (char)('a' + i));
            released(&world, 1);
            quiet(&below);
        }
        for (int i = 0; i < 8; i++) {
            cr_assert_eq(locus_prefix_evict(world.prefix, 1), 1);
            quiet(&below);
        }
        cr_assert_eq(below_of(&below).blocks_lost, 2, "spares leave first");
        cr_assert_eq(below_of(&below).blocks[0], 4, "what leaves again begins with the first tier");
        offload_close(&world, &below);
        file_end(&below);
    }
}

// One block that is offloaded now.
static void offload_one(struct world *world, struct below *below, uint64_t id, char value)
{
    kept(world, id, 1, value);
    cr_assert_eq(locus_prefix_evict(world->prefix, UINT32_MAX), 1);
    quiet(below);
}

Test(offload, a_spare_leaves_first)
{
    struct world world;
    struct below below = {.tier = {memory_new(ROOM)}};
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {2}}, 8);
    offload_one(&world, &below, 10, 'a');
    offload_one(&world, &below, 20, 'b');
    cr_assert_eq(loaded(&world, 1, 20, 1), 1);
    cr_assert_eq(below_of(&below).spares[0], 1);
    offload_one(&world, &below, 30, 'c');
    cr_assert_eq(below_of(&below).blocks[0], 2);
    cr_assert_eq(below_of(&below).blocks_lost, 0);
    cr_assert_eq(looked(&world, 10, 1), 1);
    cr_assert_eq(looked(&world, 20, 1), 0);
    released(&world, 1);
    offload_close(&world, &below);
}

Test(offload, what_leaves_again_begins_with_the_first_tier)
{
    struct world world;
    struct below below = {.tier = {memory_new(ROOM)}};
    below.tier[1] = file_new(&below, false);
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {1, 4}}, 8);
    offload_one(&world, &below, 10, 'a');
    offload_one(&world, &below, 20, 'b');
    cr_assert_eq(below_of(&below).blocks_demoted, 1);
    cr_assert_eq(loaded(&world, 1, 10, 1), 1);
    cr_assert_eq(below_of(&below).spares[1], 1);
    released(&world, 1);
    cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 1);
    quiet(&below);
    cr_assert_eq(below_of(&below).blocks_demoted, 2, "the other one made room for it");
    cr_assert_eq(below_of(&below).spares[1], 0);
    cr_assert_eq(below_of(&below).blocks_lost, 0);
    cr_assert_eq(loaded(&world, 1, 10, 1), 1);
    holds(&world, 1, 0, TOKENS, 'a');
    released(&world, 1);
    offload_close(&world, &below);
    file_end(&below);
}

Test(offload, a_full_tier_loses_the_block_and_nothing_else)
{
    struct world world;
    struct below below = {.tier = {memory_new(2)}}; // it was reserved more than it has
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {ROOM}}, 4);
    kept(&world, 10, 4, 'a');
    written(&world, 0, 0, 4 * TOKENS, 'b');
    cr_assert_eq(offloaded_of(&world).blocks_offloaded, 2);
    cr_assert_eq(offloaded_of(&world).blocks_lost, 2);
    holds(&world, 0, 0, 4 * TOKENS, 'b');
    released(&world, 0);
    cr_assert_eq(loaded(&world, 1, 10, 4), 0, "the end sank first, and the beginning was lost");
    written(&world, 1, 0, 4 * TOKENS, 'a');
    cr_assert_eq(locus_prefix_publish(world.prefix, prompt(10), NULL, 4, world.tables[1]), 4);
    cr_assert_eq(below_of(&below).spares[0], 2);
    released(&world, 1);
    offload_close(&world, &below);
}

Test(offload, a_store_waits_for_no_file)
{
    struct world world;
    struct below below = {0};
    below.tier[0] = file_new(&below, false);
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {ROOM}, .copies = 3}, 8);
    kept(&world, 10, 6, 'a');
    cr_assert_eq(locus_prefix_evict(world.prefix, 6), 6);
    cr_assert_eq(offloaded_of(&world).blocks_offloaded, 3, "a buffer each");
    cr_assert_eq(offloaded_of(&world).blocks_lost, 3);
    quiet(&below);
    kept(&world, 20, 2, 'b');
    cr_assert_eq(locus_prefix_evict(world.prefix, 2), 2);
    cr_assert_eq(offloaded_of(&world).blocks_offloaded, 5, "they can be used again");
    cr_assert_eq(loaded(&world, 1, 20, 2), 2);
    holds(&world, 1, 0, 2 * TOKENS, 'b');
    released(&world, 1);
    offload_close(&world, &below);
    file_end(&below);
}

// Changes a byte of every copy of a block in the file.
static void damage(const struct below *below, const void *block)
{
    static char file[(2 * 2 * ROOM + 1) * UNIT];
    int fd = open(below->path, O_RDWR | O_CLOEXEC), changed = 0;
    cr_assert_eq(pread(fd, file, sizeof file, 0), (ssize_t)sizeof file);
    for (size_t at = 0; at < sizeof file; at += UNIT)
        if (memcmp(file + at, block, BYTES) == 0) {
            file[at] ^= 1;
            cr_assert_eq(pwrite(fd, file + at, UNIT, (off_t)at), UNIT);
            changed++;
        }
    cr_assert_eq(changed, 1);
    cr_assert_eq(fsync(fd), 0);
    close(fd);
}

Test(offload, what_a_file_cannot_read_is_computed_again)
{
    struct world world;
    struct below below = {0};
    char third[BYTES];
    below.tier[0] = file_new(&below, false);
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {ROOM}}, 8);
    kept(&world, 10, 6, 'a');
    cr_assert_eq(matched(&world, 0, 10, 3), 3);
    memcpy(third, locus_pool_address(world.pool, world.tables[0]->blocks[2]), BYTES);
    released(&world, 0);
    cr_assert_eq(locus_prefix_offload_start(world.prefix, 6), 6);
    settle(&world, &below);
    damage(&below, third);
    cr_assert_eq(loaded(&world, 1, 10, 6), 2);
    holds(&world, 1, 0, 2 * TOKENS, 'a');
    cr_assert_eq(offloaded_of(&world).blocks_load_failed, 4);
    cr_assert_eq(below_of(&below).blocks_lost, 1);
    quiet(&below);
    written(&world, 1, 2 * TOKENS, 4 * TOKENS, 'a');
    cr_assert_eq(locus_prefix_publish(world.prefix, prompt(10), NULL, 6, world.tables[1]), 4);
    released(&world, 1);
    cr_assert_eq(locus_prefix_offload_start(world.prefix, 6), 6);
    settle(&world, &below);
    cr_assert_eq(stores_of(below.tier[0]), 7, "the one that could not be read is written again");
    cr_assert_eq(loaded(&world, 2, 10, 6), 6);
    holds(&world, 2, 0, 6 * TOKENS, 'a');
    released(&world, 2);
    offload_close(&world, &below);
    file_end(&below);
}

Test(offload, a_restart_finds_the_blocks_of_a_file)
{
    struct world world;
    struct below below = {0};
    struct locus_offload *none = NULL;
    below.tier[0] = file_new(&below, false);
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {ROOM}}, 8);
    kept(&world, 10, 6, 'a');
    locus_prefix_offload_start(world.prefix, 6);
    offload_close(&world, &below);
    below.tier[0] = file_new(&below, false);
    struct locus_offload_config config = {.tier = {below.tier[0]}, .blocks = {5}, .block_bytes = BYTES};
    cr_assert_eq(locus_offload_open(&none, &config), -EINVAL, "more than it may hold");
    config.blocks[0] = ROOM;
    config.block_bytes = BYTES / 2;
    cr_assert_eq(locus_offload_open(&none, &config), -EINVAL, "other blocks");
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {ROOM}}, 8);
    cr_assert_eq(loaded(&world, 1, 10, 8), 6);
    holds(&world, 1, 0, 6 * TOKENS, 'a');
    released(&world, 1);
    offload_close(&world, &below);
    file_end(&below);
}

// A prompt's ids by this run's cache, whose blocks are stored in the file (the first run) or looked for there.
static uint32_t run_with_secret(struct below *below, bool first, bool secret)
{
    static const uint32_t tokens[6 * TOKENS] = {1, 2, 3};
    const struct locus_id none = {{0, 0}};
    struct world world;
    struct locus_prefix_key key;
    struct locus_id ids[6];
    uint32_t found;
    below->tier[0] = file_new(below, false);
    cr_assert_eq(locus_tier_file_secret(below->tier[0], key.word), 0);
    below->key = secret ? &key : NULL;
    offload_open(&world, below, &(struct locus_offload_config){.blocks = {ROOM}}, 8);
    cr_assert_eq(locus_prefix_ids(locus_prefix_key_of(world.prefix), none, tokens, 6 * TOKENS, TOKENS, 0, ids), 6);
    found = locus_prefix_load_probe(world.prefix, ids, 6, world.tables[0]);
    if (first) {
        written(&world, 0, 0, 6 * TOKENS, 'a');
        cr_assert_eq(locus_prefix_publish(world.prefix, ids, NULL, 6, world.tables[0]), 6);
        released(&world, 0);
        cr_assert_eq(locus_prefix_offload_start(world.prefix, 6), 6);
    } else if (found) {
        cr_assert_eq(locus_prefix_load(world.prefix, ids, NULL, 6, world.tables[0]), found);
        holds(&world, 0, 0, found * TOKENS, 'a');
        released(&world, 0);
    }
    offload_close(&world, below);
    return found;
}

Test(offload, a_restart_makes_the_same_ids_by_the_secret_of_the_file_and_others_without_it)
{
    struct below below = {0};
    cr_assert_eq(run_with_secret(&below, true, true), 0);
    cr_expect_eq(run_with_secret(&below, false, false), 0, "a cache with a key of its own");
    cr_expect_eq(run_with_secret(&below, false, true), 6);
    file_end(&below);
}

Test(offload, wrong_calls_are_refused)
{
    struct locus_offload *none = NULL;
    struct below below = {.tier = {memory_new(4)}};
    below.tier[1] = file_new(&below, true);
    const struct locus_offload_config right = {.tier = {below.tier[0], below.tier[1]}, .blocks = {1, 1}, .block_bytes = BYTES};
    struct locus_offload_config config = right;
    struct locus_offload_ops table;
    cr_assert_eq(locus_offload_open(&none, &config), 0);
    locus_offload_connector(none, &table);
    cr_assert_eq(table.store(table.context, id_of(1), id_of(0), &config, BYTES - 1), -EINVAL);
    cr_assert_eq(table.start(table.context, id_of(1), id_of(0), &config, BYTES - 1, 1), -EINVAL);
    cr_assert_eq(locus_offload_close(none), 0);
    cr_assert_eq(locus_offload_close(NULL), 0);
    config.tier[0] = NULL;
    cr_assert_eq(locus_offload_open(&none, &config), -EINVAL);
    config = right;
    config.tier[0] = below.tier[1];
    cr_assert_eq(locus_offload_open(&none, &config), -EINVAL, "one tier twice");
    config.tier[1] = below.tier[0];
    cr_assert_eq(locus_offload_open(&none, &config), -EINVAL, "a file before memory");
    config = right;
    config.blocks[1] = 0;
    cr_assert_eq(locus_offload_open(&none, &config), -EINVAL);
    config = right;
    config.block_bytes = 0;
    cr_assert_eq(locus_offload_open(&none, &config), -EINVAL);
    config = right;
    config.copies = 65;
    cr_assert_eq(locus_offload_open(&none, &config), -EINVAL);
    locus_tier_close(below.tier[0]);
    locus_tier_close(below.tier[1]);
    file_end(&below);
}

Test(offload, a_block_that_comes_again_before_its_drop_is_done_is_stored_after_it)
{
    for (int way = 0; way < 4; way++) {
        const bool started = way & 1;
        struct world world;
        struct below below = {0};
        below.tier[0] = file_new(&below, way & 2);
        offload_open(&world, &below, &(struct locus_offload_config){.blocks = {2}}, 8);
        offload_one(&world, &below, 10, 'a');
        offload_one(&world, &below, 20, 'b');
        kept(&world, 30, 1, 'c');
        cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 1, "pushes the first one out");
        kept(&world, 10, 1, 'A');
        if (started)
            cr_assert_eq(locus_prefix_offload_start(world.prefix, 1), 1);
        else
            cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 1);
        cr_assert_eq(stores_of(below.tier[0]), 2, "the file still drops it");
        cr_assert_eq(looked(&world, 10, 1), 1);
        cr_assert_eq(loaded(&world, 1, 10, 1), 1);
        holds(&world, 1, 0, TOKENS, 'A');
        released(&world, 1);
        settle(&world, &below);
        quiet(&below);
        cr_assert_eq(stores_of(below.tier[0]), 4);
        cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 1);
        cr_assert_eq(stores_of(below.tier[0]), 4, "it is there");
        cr_assert_eq(loaded(&world, 1, 10, 1), 1);
        holds(&world, 1, 0, TOKENS, 'A');
        cr_assert_eq(offloaded_of(&world).blocks_lost, 0);
        released(&world, 1);
        offload_close(&world, &below);
        file_end(&below);
    }
}

// A policy that says what it is told, and remembers what it was asked.
static struct {
    uint32_t answer;
    struct locus_demote_object object;
    struct locus_demote_tier tier[2];
} oracle;

static uint32_t oracle_to(const struct locus_demote_object *object, const struct locus_demote_tier tiers[], uint32_t count)
{
    oracle.object = *object;
    memcpy(oracle.tier, tiers, count * sizeof *tiers);
    return oracle.answer;
}

static const struct locus_demote_ops oracle_ops = {.name = "oracle", .to = oracle_to};

Test(offload, a_policy_says_which_tier_a_block_goes_to)
{
    struct world world;
    struct below below = {.tier = {memory_new(ROOM)}};
    below.tier[1] = file_new(&below, false);
    offload_open(&world, &below,
                 &(struct locus_offload_config){.blocks = {2, 4},
                                                .policy = &oracle_ops,
                                                .latency_ns = {100, 20000},
                                                .bytes_per_s = {5000000000, 0},
                                                .compute_ns = 77},
                 8);
    oracle.answer = 1;
    offload_one(&world, &below, 10, 'a');
    cr_assert(oracle.object.at == UINT32_MAX && oracle.object.bytes == BYTES && oracle.object.compute_ns == 77);
    cr_assert(oracle.tier[0].latency_ns == 100 && oracle.tier[0].bytes_per_s == 5000000000);
    cr_assert_eq(oracle.tier[0].bytes_free, 2 * BYTES);
    cr_assert(oracle.tier[1].latency_ns == 20000 && oracle.tier[1].bytes_per_s == UINT64_MAX && oracle.tier[1].bytes == 4 * BYTES);
    cr_assert_eq(below_of(&below).blocks[1], 1, "past the first");
    oracle.answer = 0;
    offload_one(&world, &below, 20, 'b');
    cr_assert_eq(oracle.tier[1].bytes_free, 3 * BYTES);
    offload_one(&world, &below, 30, 'c');
    cr_assert_eq(below_of(&below).blocks[0], 2);
    cr_assert_eq(loaded(&world, 1, 20, 1), 1);
    released(&world, 1);
    cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 1, "it is there still, and the newest now");
    offload_one(&world, &below, 40, 'd');
    cr_assert_eq(oracle.object.at, 0, "where shall the oldest one go? Nowhere: that is no tier below");
    cr_assert_gt(oracle.object.idle_ns, 0);
    cr_assert_eq(below_of(&below).blocks_demoted, 0);
    cr_assert_eq(below_of(&below).blocks_lost, 1);
    cr_assert_eq(looked(&world, 30, 1), 0);
    offload_close(&world, &below);
    file_end(&below);
}

Test(offload, a_spare_counts_as_room_and_a_load_as_a_use)
{
    struct world world;
    struct below below = {.tier = {memory_new(ROOM), memory_new(ROOM)}};
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {1, 4}, .policy = &oracle_ops}, 8);
    oracle.answer = 0;
    offload_one(&world, &below, 10, 'a');
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(loaded(&world, 1, 10, 1), 1);
        released(&world, 1);
        oracle.answer = LOCUS_DEMOTE_DROP;
        cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 1, "it is there, so nothing is written");
        cr_assert_eq(oracle.tier[0].bytes_free, BYTES);
        cr_assert_eq(looked(&world, 10, 1), 1);
    }
    oracle.answer = 1;
    cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 0);
    kept(&world, 20, 1, 'b');
    oracle.answer = 0;
    cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 1);
    cr_assert_eq(oracle.object.uses, 3);
    cr_assert_eq(below_of(&below).blocks_lost, 1);
    oracle.answer = LOCUS_DEMOTE_DROP;
    kept(&world, 30, 1, 'c');
    cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 1);
    cr_assert_eq(offloaded_of(&world).blocks_lost, 1, "not worth its room");
    cr_assert_eq(below_of(&below).blocks[0], 1);
    offload_close(&world, &below);
}

Test(offload, what_a_policy_keeps_from_the_last_tier_is_not_started)
{
    struct world world;
    struct below below = {.tier = {memory_new(ROOM)}};
    below.tier[1] = file_new(&below, false);
    offload_open(&world, &below, &(struct locus_offload_config){.blocks = {4, 4}, .policy = &oracle_ops}, 8);
    kept(&world, 10, 2, 'a');
    oracle.answer = 0;
    cr_assert_eq(locus_prefix_offload_start(world.prefix, 2), 0);
    oracle.answer = 1;
    cr_assert_eq(locus_prefix_offload_start(world.prefix, 2), 2);
    offload_close(&world, &below);
    file_end(&below);
}

// Prompts of a small tree: each block's contents are its id's, whatever leaves and comes back by whichever way.
static uint64_t walk(uint32_t near, uint32_t memory, uint32_t file)
{
    struct world world;
    struct below below = {0};
    uint64_t found = 0;
    below.tier[0] = memory ? memory_new(ROOM) : file_new(&below, true);
    below.tier[1] = memory && file ? file_new(&below, true) : NULL;
    const struct locus_offload_config config = {.blocks = {memory ? memory : file, memory ? file : 0}, .copies = 2};
    offload_open(&world, &below, &config, near);
    srand(near + memory + file);
    for (int i = 0; i < 2000; i++) {
        uint64_t numbers[6];
        uint32_t length = 1 + (uint32_t)rand() % 6, node = 0;
        for (uint32_t k = 0; k < length; k++, node = 2 * node + 1 + (uint32_t)(rand() % 3 == 0))
            numbers[k] = 1 + node;
        struct locus_table *table = world.tables[0];
        cr_assert_geq(locus_prefix_match(world.prefix, (uint64_t)i + 1, ids_of(numbers, length), NULL, length, table), 0);
        int64_t raised_now = locus_prefix_load(world.prefix, ids_of(numbers, length), NULL, length, table);
        uint32_t there = table->count;
        cr_assert(raised_now >= 0 || raised_now == -ENOMEM);
        for (uint32_t k = 0; k < there; k++)
            cr_assert_eq(*token_at(&world, table, k * TOKENS, 0), (char)numbers[k]);
        settle(&world, &below); // what is started is out
        cr_assert_eq(locus_owner_write(world.owner, table, there * TOKENS, (length - there) * TOKENS, PLANES), 0);
        for (uint32_t k = there; k < length; k++)
            memset(token_at(&world, table, k * TOKENS, 0), (char)numbers[k], BYTES);
        cr_assert_geq(locus_prefix_publish(world.prefix, ids_of(numbers, length), NULL, length, table), 0);
        released(&world, 0);
        locus_prefix_offload_start(world.prefix, (uint32_t)rand() % 3);
        if (rand() % 2)
            locus_offload_poll(below.offload, world.prefix, 0);
        found += there;
        const struct locus_offload_stats now = below_of(&below);
        cr_assert_leq(now.blocks[0] + now.spares[0], config.blocks[0]);
        cr_assert_leq(now.blocks[1] + now.spares[1], config.blocks[1]);
    }
    offload_close(&world, &below);
    file_end(&below);
    return found;
}

Test(offload, no_prompt_ever_finds_what_is_not_its_own)
{
    const uint64_t small = walk(8, 4, 0), filed = walk(8, 0, 4), two = walk(8, 4, 8), large = walk(8, 40, 60);
    cr_expect_gt(two, small);
    cr_expect_gt(two, filed);
    cr_expect_gt(large, two);
}
