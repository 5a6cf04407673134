// SPDX-License-Identifier: Apache-2.0
//
// file: what goes into a file comes out of it, at every size, address and depth, and after a restart.
#include "placement/tier/tests/file_test.h"

#include "locus/tier.h"

#include "placement/memory/tests/region_child.h"

#define MANY 200u

Test(file, gives_back_what_was_stored_at_every_length_address_and_engine)
{
    static const uint64_t lengths[] = {1, 4095, 4096, 4097, 12288, 300000, 1u << 20};
    char *memory = bytes_new(2u << 20, 1), *got = bytes_new(2u << 20, 2);
    for (int way = 0; way < 8; way++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 600, UNIT_OF_FILE);
        config.no_io_uring = way & 1;
        config.memory = way & 2 ? memory : NULL;
        config.memory_bytes = way & 2 ? 2u << 20 : 0;
        struct locus_tier *tier = file_open(&config);
        uint64_t shift = way & 4 ? 3 : 0;
        cr_assert_eq(granted_of(tier).io_uring, !(way & 1));
        cr_assert_eq(granted_of(tier).registered_memory, way == 2 || way == 6);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            memset(got, 0x5a, 2u << 20);
            must_store(tier, i, memory + shift + 4096 * i, lengths[i]);
            must_load(tier, i, got + shift, 2u << 20);
            cr_assert_eq(memcmp(got + shift, memory + shift + 4096 * i, lengths[i]), 0, "way %d, length %zu", way, i);
            cr_assert_eq(got[shift + lengths[i]], 0x5a, "bytes behind the object stay");
        }
        cr_assert_eq(stats_of(tier).objects, 7);
        locus_tier_close(tier);
        place_end(&place);
    }
    free(memory);
    free(got);
}

Test(file, a_restart_finds_all_that_was_acknowledged_and_nothing_that_was_dropped_or_replaced)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 300, UNIT_OF_FILE);
    struct locus_tier *tier = file_open(&config);
    cr_assert(granted_of(tier).made);
    char *given = bytes_new(MANY * 4096, 3), got[3 * 4096];
    for (uint64_t key = 0; key < 80; key++)
        must_store(tier, key, given + key * 4096, 1 + key * 100);
    for (uint64_t key = 0; key < 80; key += 4)
        must_drop(tier, key);
    for (uint64_t key = 1; key < 80; key += 4)
        must_store(tier, key, given + key * 8192 % (150 * 4096), 2 * 4096);
    locus_tier_close(tier);
    config.bytes = 0;
    config.unit_bytes = 0;
    tier = file_open(&config);
    struct locus_tier_file_granted granted = granted_of(tier);
    cr_assert(!granted.made);
    cr_assert_eq(granted.torn + granted.outdated, 0);
    cr_assert_leq(granted.read_whole, 1, "only the last store is not known to be acknowledged");
    cr_assert_eq(stats_of(tier).objects, 60);
    for (uint64_t key = 0; key < 80; key++) {
        uint64_t bytes = 0;
        int found = locus_tier_find(tier, locus_id_of(key), &bytes);
        cr_assert_eq(found, key % 4 == 0 ? -ENOENT : 0);
        if (found)
            continue;
        cr_assert_eq(bytes, key % 4 == 1 ? 2 * 4096 : 1 + key * 100);
        must_load(tier, key, got, sizeof got);
        cr_assert_eq(memcmp(got, given + (key % 4 == 1 ? key * 8192 % (150 * 4096) : key * 4096), bytes), 0);
    }
    locus_tier_close(tier);
    place_end(&place);
    free(given);
}

static void all_at_once(uint32_t depth, bool plain)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 4 * MANY, UNIT_OF_FILE);
    config.depth = depth;
    config.no_io_uring = plain;
    struct locus_tier *tier = file_open(&config);
    static struct waited waited[MANY];
    char *given = bytes_new((MANY + 10) * 4096, depth), *got = bytes_new(MANY * 3 * 4096, 1);
    for (uint32_t i = 0; i < MANY; i++)
        cr_assert_eq(locus_tier_store(tier, locus_id_of(i), given + i * 4096, 2 * 4096 + i, op_of(&waited[i])), 0);
    cr_assert_eq(locus_tier_store(tier, locus_id_of(MANY - 1), given, 1, &waited[0].op), -EBUSY);
    cr_assert_eq(locus_tier_drop(tier, locus_id_of(MANY - 1), &waited[0].op), -EBUSY);
    uint32_t delivered = 0;
    while (delivered < MANY)
        delivered += locus_tier_poll(tier, UINT64_MAX);
    cr_assert_eq(locus_tier_poll(tier, UINT64_MAX), 0, "nothing is under way, so nothing is waited for");
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(waited[i].calls, 1);
        cr_assert_eq(waited[i].result, 0);
        cr_assert_eq(locus_tier_load(tier, locus_id_of(i), got + i * 3 * 4096, 3 * 4096, op_of(&waited[i])), 0);
    }
    locus_tier_close(tier); // which waits
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(waited[i].calls, 1);
        cr_assert_eq(waited[i].result, 0);
        cr_assert_eq(memcmp(got + i * 3 * 4096, given + i * 4096, 2 * 4096 + i), 0);
    }
    place_end(&place);
    free(given);
    free(got);
}

Test(file, more_operations_than_its_depth_wait_and_all_complete)
{
    static const uint32_t depths[] = {1, 3, 16, 64};
    for (size_t i = 0; i < 4; i++)
        all_at_once(depths[i], false);
    all_at_once(4, true);
}

Test(file, a_load_that_was_started_before_a_store_or_a_drop_gets_the_old_object)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    struct locus_tier *tier = file_open(&config);
    char *old = bytes_new(8 * 4096, 1), *new = bytes_new(8 * 4096, 2), *got = bytes_new(8 * 4096, 3),
         *other = bytes_new(8 * 4096, 4);
    struct waited before, store_op, beside, drop_op;
    must_store(tier, 1, old, 8 * 4096);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(1), got, 8 * 4096, op_of(&before)), 0);
    cr_assert_eq(locus_tier_store(tier, locus_id_of(1), new, 8 * 4096, op_of(&store_op)), 0);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(1), other, 8 * 4096, op_of(&beside)), 0);
    while (!before.calls || !store_op.calls || !beside.calls)
        locus_tier_poll(tier, 1000000000);
    cr_assert_eq(before.result | store_op.result | beside.result, 0);
    cr_assert_eq(memcmp(got, old, 8 * 4096), 0);
    cr_assert_eq(memcmp(other, old, 8 * 4096), 0);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(1), got, 8 * 4096, op_of(&before)), 0);
    cr_assert_eq(locus_tier_drop(tier, locus_id_of(1), op_of(&drop_op)), 0);
    cr_assert_eq(locus_tier_find(tier, locus_id_of(1), NULL), -ENOENT);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(1), other, 8 * 4096, op_of(&beside)), -ENOENT);
    cr_assert_eq(locus_tier_store(tier, locus_id_of(1), old, 4096, op_of(&store_op)), -EBUSY);
    while (!before.calls || !drop_op.calls)
        locus_tier_poll(tier, 1000000000);
    cr_assert_eq(before.result | drop_op.result, 0);
    cr_assert_eq(memcmp(got, new, 8 * 4096), 0);
    cr_assert_eq(stats_of(tier).units_free, 64);
    locus_tier_close(tier);
    place_end(&place);
    free(old), free(new), free(got), free(other);
}

static struct {
    struct locus_tier *tier;
    struct waited store;
    char *bytes;
} on_drop;

static void dropped(struct locus_tier_op *op, int result)
{
    (void)op;
    cr_assert_eq(result, 0);
    cr_assert_eq(stats_of(on_drop.tier).units_free, 20);
    cr_assert_eq(locus_tier_store(on_drop.tier, locus_id_of(999), on_drop.bytes, 20 * 4096, op_of(&on_drop.store)), 0);
}

// Each unit of the object is a run, so its load needs three rounds of transfers. Without a ring the order is always the same: the
// drop ends after the first, and then a store takes all units that are free.
Test(file, units_of_a_dropped_object_are_nobody_elses_while_it_is_read)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 44, UNIT_OF_FILE);
    config.no_io_uring = true;
    struct locus_tier *tier = on_drop.tier = file_open(&config);
    char *old = bytes_new(12 * 4096, 1), *got = bytes_new(12 * 4096, 2);
    struct waited load_op;
    struct locus_tier_op drop_op = {.done = dropped};
    on_drop.bytes = bytes_new(20 * 4096, 3);
    for (uint64_t key = 0; key < 24; key++)
        must_store(tier, key, old, 1);
    for (uint64_t key = 0; key < 24; key += 2)
        must_drop(tier, key);
    must_store(tier, 100, old, 12 * 4096);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(100), got, 12 * 4096, op_of(&load_op)), 0);
    cr_assert_eq(locus_tier_drop(tier, locus_id_of(100), &drop_op), 0);
    while (!load_op.calls || !on_drop.store.calls)
        locus_tier_poll(tier, 1000000000);
    cr_assert_eq(load_op.result, 0);
    cr_assert_eq(memcmp(got, old, 12 * 4096), 0);
    cr_assert_eq(on_drop.store.result, 0);
    cr_assert_eq(stats_of(tier).units_free, 12);
    locus_tier_close(tier);
    place_end(&place);
    free(old), free(got), free(on_drop.bytes);
}

Test(file, zstd_is_used_where_it_saves_a_block_and_a_tenth)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 1200, UNIT_OF_FILE);
    config.zstd_level = 3;
    struct locus_tier *tier = file_open(&config);
    enum { LONG = 400000, RUNS = 3 };
    char *zeros = bytes_new(LONG, 1), *noise = bytes_new(LONG, 2), *got = malloc(2u << 20), *half = bytes_new(LONG, 3);
    memset(zeros, 7, LONG);
    memset(half, 7, LONG / 12); // saves a block, but no tenth
    must_store(tier, 1, zeros, LONG);
    cr_assert_eq(stats_of(tier).units_free, 1199, "an object of equal bytes takes a unit");
    cr_assert_lt(stats_of(tier).bytes_held, 4096);
    must_store(tier, 2, noise, LONG);
    cr_assert_geq(stats_of(tier).bytes_held, LONG);
    must_store(tier, 3, half, LONG);
    cr_assert_eq(stats_of(tier).bytes, 3 * LONG);
    cr_assert_geq(stats_of(tier).bytes_held, 2 * LONG);
    must_store(tier, 4, zeros + 1, 4096); // in one block already
    char *large = calloc(1, 2u << 20);
    must_store(tier, 5, large, 1500000); // more than zstd_bytes_max
    cr_assert_geq(stats_of(tier).bytes_held, 2 * LONG + 4096 + 1500000);
    locus_tier_close(tier);
    config.zstd_level = 0; // reading needs no setting, and no buffer of the former size
    tier = file_open(&config);
    const char *given[] = {zeros, noise, half};
    for (uint64_t key = 1; key <= RUNS; key++) {
        must_load(tier, key, got, LONG);
        cr_assert_eq(memcmp(got, given[key - 1], LONG), 0);
    }
    must_load(tier, 5, got, 2u << 20);
    cr_assert_eq(memcmp(got, large, 1500000), 0);
    locus_tier_close(tier);
    place_end(&place);
    free(zeros), free(noise), free(half), free(got), free(large);
}

// In a child, because a seccomp filter stays. (An assertion that fails there stops the harness.)
static int without_ring(void *error)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    char got[9000];
    if (!forbid(SYS_io_uring_setup, ANY_THIRD, *(int *)error))
        return CANNOT;
    struct locus_tier *tier;
    struct locus_tier_file_granted granted;
    if (locus_tier_file_open(&tier, &config) || locus_tier_file_granted(tier, &granted))
        return 3;
    if (granted.io_uring || granted.io_uring_errno != *(int *)error || granted.registered_buffers)
        return 3;
    char *given = bytes_new(9000, 5);
    if (store(tier, 1, given, 9000) || load(tier, 1, got, 9000) || store(tier, 2, given, 5000) || drop(tier, 1))
        return 3;
    locus_tier_close(tier);
    if (locus_tier_file_open(&tier, &config))
        return 3;
    int failed = memcmp(got, given, 9000) || locus_tier_find(tier, locus_id_of(1), NULL) != -ENOENT ||
                 locus_tier_find(tier, locus_id_of(2), NULL);
    locus_tier_close(tier);
    place_end(&place);
    return failed ? 4 : 0;
}

Test(file, without_io_uring_it_works_by_plain_calls_and_says_so)
{
    each_error(without_ring, ENOSYS, EPERM);
}

Test(file, random_calls_and_restarts_agree_with_a_model)
{
    enum { KEYS = 24, ROUNDS = 1500, UNITS = 64 };
    static char model[KEYS][4 * UNIT_OF_FILE], from[4 * UNIT_OF_FILE], got[4 * UNIT_OF_FILE];
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, UNITS, UNIT_OF_FILE);
    config.zstd_level = 1;
    struct locus_tier *tier = file_open(&config);
    uint64_t lengths[KEYS] = {0}, state = 20251127;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t key = random_next(&state) % KEYS, length = 1 + random_next(&state) % sizeof from;
        switch (random_next(&state) % 8) {
        case 0:
        case 1:
        case 2:
            for (uint64_t i = 0; i < length; i++)
                from[i] = (char)(random_next(&state) % (round % 2 ? 4 : 256));
            int error = store(tier, key, from, length);
            cr_assert(error == 0 || error == -ENOSPC);
            if (!error)
                memcpy(model[key], from, lengths[key] = length);
            break;
        case 3:
            cr_assert_eq(drop(tier, key), lengths[key] ? 0 : -ENOENT);
            lengths[key] = 0;
            break;
        case 4:
            if (random_next(&state) % 16)
                break;
            locus_tier_close(tier);
            config.no_io_uring = random_next(&state) % 2;
            tier = file_open(&config);
            cr_assert_eq(granted_of(tier).torn + granted_of(tier).outdated, 0);
            break;
        default:
            cr_assert_eq(load(tier, key, got, sizeof got), lengths[key] ? 0 : -ENOENT);
            cr_assert(!lengths[key] || memcmp(got, model[key], lengths[key]) == 0);
        }
    }
    locus_tier_close(tier);
    place_end(&place);
}

Test(file, keys_keep_both_words_over_a_restart)
{
    static const struct locus_id keys[] = {{{7, 0}}, {{0, 7}}, {{7, 7}}, {{7, UINT64_C(1) << 63}}};
    enum { COUNT = sizeof keys / sizeof *keys };
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 16, UNIT_OF_FILE);
    struct locus_tier *tier = file_open(&config);
    struct waited w;
    for (char i = 0; i < COUNT; i++)
        cr_assert_eq(outcome(tier, &w, locus_tier_store(tier, keys[(int)i], &i, 1, op_of(&w))), 0);
    locus_tier_close(tier);
    tier = file_open(&config);
    cr_assert_eq(stats_of(tier).objects, COUNT);
    cr_assert_eq(granted_of(tier).outdated, 0, "none is another's newer version");
    for (char i = 0, got; i < COUNT; i++) {
        cr_assert_eq(outcome(tier, &w, locus_tier_load(tier, keys[(int)i], &got, 1, op_of(&w))), 0);
        cr_assert_eq(got, i);
    }
    locus_tier_close(tier);
    place_end(&place);
}

Test(file, a_file_keeps_a_secret_that_no_other_file_has)
{
    struct place place[] = {place_new(), place_new()};
    uint64_t secret[2][2], again[2];
    for (int i = 0; i < 2; i++) {
        struct locus_tier_file_config config = config_of(&place[i], 16, UNIT_OF_FILE);
        for (int opens = 0; opens < 2; opens++) {
            struct locus_tier *tier = file_open(&config);
            cr_assert_eq(locus_tier_file_secret(tier, opens ? again : secret[i]), 0);
            locus_tier_close(tier);
        }
        cr_assert_eq(memcmp(again, secret[i], sizeof again), 0);
        cr_assert(secret[i][0] && secret[i][1] && secret[i][0] != secret[i][1], "random");
        place_end(&place[i]);
    }
    cr_assert(secret[0][0] != secret[1][0] && secret[0][1] != secret[1][1]);
    struct locus_tier_far_config far = {.size = sizeof far, .bytes = 1 << 16, .node = LOCUS_NODE_ANY};
    struct locus_tier *tier;
    cr_assert_eq(locus_tier_far_open(&tier, &far), 0);
    cr_assert_eq(locus_tier_file_secret(tier, again), -EINVAL);
    locus_tier_close(tier);
}
