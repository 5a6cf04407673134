// SPDX-License-Identifier: Apache-2.0
//
// memory: tiers in memory, and what all kinds answer alike.
#include "placement/tier/tests/tier_test.h"

#include "locus/tier.h"
#include "placement/tier/crc.h"

#include <math.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "placement/base/tests/sanitized.h"
#include "placement/memory/tests/region_child.h"

#define UNIT_OF_TIER 4096u

static struct locus_tier *far_of(uint64_t units, bool unchecked)
{
    struct locus_tier *tier;
    struct locus_tier_far_config config = {.size = sizeof config,
                                           .bytes = units * UNIT_OF_TIER,
                                           .unit_bytes = UNIT_OF_TIER,
                                           .node = LOCUS_NODE_ANY,
                                           .unchecked = unchecked};
    cr_assert_eq(locus_tier_far_open(&tier, &config), 0);
    return tier;
}

Test(memory, gives_back_what_was_stored_at_every_length)
{
    for (int unchecked = 0; unchecked < 2; unchecked++) {
        struct locus_tier *tier = far_of(200, unchecked);
        static const uint64_t lengths[] = {1, 7, 4095, 4096, 4097, 12288, 20000, 16 * 4096, 700001};
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            char *given = bytes_new(lengths[i], i), *got = calloc(1, lengths[i] + 1);
            uint64_t bytes;
            must_store(tier, i, given, lengths[i]);
            cr_assert_eq(locus_tier_find(tier, locus_id_of(i), &bytes), 0);
            cr_assert_eq(bytes, lengths[i]);
            must_load(tier, i, got, lengths[i] + 1);
            cr_assert_eq(memcmp(given, got, lengths[i]), 0);
            cr_assert_eq(got[lengths[i]], 0);
            must_drop(tier, i);
            cr_assert_eq(locus_tier_find(tier, locus_id_of(i), NULL), -ENOENT);
            free(given);
            free(got);
        }
        cr_assert_eq(stats_of(tier).units_free, 200);
        locus_tier_close(tier);
    }
}

Test(memory, a_replacement_needs_room_beside_the_old_and_leaves_it_otherwise)
{
    struct locus_tier *tier = far_of(4, false);
    char *old = bytes_new(3 * UNIT_OF_TIER, 1), *new = bytes_new(UNIT_OF_TIER, 2), got[3 * UNIT_OF_TIER];
    struct waited w;
    must_store(tier, 7, old, 3 * UNIT_OF_TIER);
    cr_assert_eq(locus_tier_store(tier, locus_id_of(7), old, 2 * UNIT_OF_TIER, op_of(&w)), -ENOSPC);
    cr_assert_eq(w.calls, 0);
    must_load(tier, 7, got, sizeof got);
    cr_assert_eq(memcmp(got, old, sizeof got), 0);
    must_store(tier, 7, new, UNIT_OF_TIER);
    must_load(tier, 7, got, sizeof got);
    cr_assert_eq(memcmp(got, new, UNIT_OF_TIER), 0);
    struct locus_tier_stats stats = stats_of(tier);
    cr_assert_eq(stats.units_free, 3);
    cr_assert_eq(stats.objects, 1);
    cr_assert_eq(stats.bytes, UNIT_OF_TIER);
    cr_assert_eq(stats.refused_room, 1);
    cr_assert_eq(stats.stores, 2);
    cr_assert_eq(stats.bytes_loaded, 4 * UNIT_OF_TIER);
    locus_tier_close(tier);
    free(old);
    free(new);
}

Test(memory, scattered_units_are_room_like_any_other)
{
    struct locus_tier *tier = far_of(192, false);
    char *small = bytes_new(UNIT_OF_TIER, 3), *large = bytes_new(96 * UNIT_OF_TIER, 4), *got = malloc(96 * UNIT_OF_TIER);
    for (uint64_t key = 0; key < 192; key++)
        must_store(tier, key, small, UNIT_OF_TIER);
    for (uint64_t key = 0; key < 192; key += 2)
        must_drop(tier, key);
    must_store(tier, 1000, large, 96 * UNIT_OF_TIER);
    must_load(tier, 1000, got, 96 * UNIT_OF_TIER);
    cr_assert_eq(memcmp(got, large, 96 * UNIT_OF_TIER), 0);
    for (uint64_t key = 1; key < 192; key += 2) {
        must_load(tier, key, got, UNIT_OF_TIER);
        cr_assert_eq(memcmp(got, small, UNIT_OF_TIER), 0);
    }
    cr_assert_eq(stats_of(tier).units_free, 0);
    locus_tier_close(tier);
    free(small);
    free(large);
    free(got);
}

Test(memory, refuses_each_misuse_by_its_error_and_does_not_begin)
{
    struct locus_tier *tier = far_of(4, false);
    char byte = 1, got[8];
    struct waited w;
    cr_assert_eq(locus_tier_store(tier, locus_id_of(1), &byte, 0, op_of(&w)), -EINVAL);
    cr_assert_eq(locus_tier_store(tier, locus_id_of(1), &byte, 4 * UNIT_OF_TIER + 1, op_of(&w)), -EFBIG);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(1), got, 8, op_of(&w)), -ENOENT);
    cr_assert_eq(locus_tier_drop(tier, locus_id_of(1), op_of(&w)), -ENOENT);
    must_store(tier, 1, "eight by", 8);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(1), got, 7, op_of(&w)), -EMSGSIZE);
    cr_assert_eq(w.calls, 0);
    cr_assert_eq(locus_tier_poll(tier, 0), 0);
    cr_assert_str_eq(locus_tier_why(tier), "");
    locus_tier_close(tier);
    locus_tier_close(NULL);
}

Test(memory, a_changed_byte_is_refused_by_its_checksum)
{
    static const uint64_t lengths[] = {1, 9000, 40000, 700001}; // within a piece, of several, past the caches
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint64_t length = lengths[i], refused = 0;
        struct locus_tier *tier = far_of(200, false);
        char *given = bytes_new(length, 5), *got = malloc(length), *held = locus_region_base(locus_tier_region(tier));
        struct waited w;
        must_store(tier, 1, given, length);
        for (uint64_t at = length - 1; at < length; at -= 7919) {
            held[at] ^= 1;
            cr_assert_eq(locus_tier_load(tier, locus_id_of(1), got, length, op_of(&w)), 0);
            cr_assert_eq(w.calls, 1);
            cr_assert_eq(w.result, -EBADMSG, "byte %d of %d", (int)at, (int)length);
            cr_assert_eq(stats_of(tier).refused_checksum, ++refused);
            cr_assert_eq(stats_of(tier).failed, refused);
            held[at] ^= 1;
        }
        must_load(tier, 1, got, length);
        locus_tier_close(tier);
        free(given);
        free(got);
    }
}

Test(memory, without_checksums_a_changed_byte_is_given_back_as_it_is)
{
    struct locus_tier *tier = far_of(4, true);
    char got[8];
    must_store(tier, 1, "eight by", 8);
    ((char *)locus_region_base(locus_tier_region(tier)))[0] = 'E';
    must_load(tier, 1, got, 8);
    cr_assert_eq(memcmp(got, "Eight by", 8), 0);
    locus_tier_close(tier);
}

Test(memory, has_whole_units_and_no_fewer_bytes_than_it_was_asked_for)
{
    struct locus_tier *tier;
    struct locus_tier_far_config config = {.bytes = 3 * UNIT_OF_TIER + 1, .unit_bytes = UNIT_OF_TIER, .node = LOCUS_NODE_ANY};
    cr_assert_eq(locus_tier_far_open(&tier, &config), 0);
    cr_assert_eq(stats_of(tier).units, 4);
    cr_assert_eq(stats_of(tier).unit_bytes, UNIT_OF_TIER);
    char *given = bytes_new(4 * UNIT_OF_TIER, 1);
    must_store(tier, 1, given, 4 * UNIT_OF_TIER);
    cr_assert_eq(stats_of(tier).units_free, 0);
    locus_tier_close(tier);
    free(given);
}

// Numbers as keys, ids, and what differs in one of the words alone.
Test(memory, keys_are_compared_with_both_words)
{
    static const struct locus_id keys[] = {{{0, 0}}, {{1, 0}}, {{0, 1}}, {{1, 1}}, {{UINT64_MAX, 1}}, {{1, UINT64_MAX}}};
    enum { COUNT = sizeof keys / sizeof *keys };
    struct locus_tier *tier = far_of(16, false);
    struct waited w;
    for (char i = 0; i < COUNT; i++)
        cr_assert_eq(outcome(tier, &w, locus_tier_store(tier, keys[(int)i], &i, 1, op_of(&w))), 0);
    cr_assert_eq(stats_of(tier).objects, COUNT);
    cr_assert_eq(outcome(tier, &w, locus_tier_drop(tier, keys[2], op_of(&w))), 0);
    for (char i = 0, got; i < COUNT; i++) {
        int error = outcome(tier, &w, locus_tier_load(tier, keys[(int)i], &got, 1, op_of(&w)));
        cr_assert_eq(error, i == 2 ? -ENOENT : 0);
        cr_assert(error || got == i);
    }
    cr_assert_eq(locus_tier_find(tier, (struct locus_id){{1, 2}}, NULL), -ENOENT);
    locus_tier_close(tier);
}

struct seen {
    int count;
    uint64_t keys, bytes;
    int stop_at;
};

static int see(void *context, struct locus_id key, uint64_t bytes)
{
    struct seen *seen = context;
    seen->keys += key.word[0];
    seen->bytes += bytes;
    return ++seen->count == seen->stop_at ? 77 : 0;
}

Test(memory, each_object_is_listed_once_until_the_caller_has_enough)
{
    struct locus_tier *tier = far_of(16, false);
    struct seen all = {0}, some = {.stop_at = 2};
    for (uint64_t key = 1; key <= 5; key++)
        must_store(tier, key, "eight by", key);
    must_store(tier, 2, "eight by", 8);
    must_drop(tier, 5);
    cr_assert_eq(locus_tier_each(tier, see, &all), 0);
    cr_assert_eq(all.count, 4);
    cr_assert_eq(all.keys, 1 + 2 + 3 + 4);
    cr_assert_eq(all.bytes, 1 + 8 + 3 + 4);
    cr_assert_eq(locus_tier_each(tier, see, &some), 77);
    cr_assert_eq(some.count, 2);
    locus_tier_close(tier);
}

Test(memory, open_says_in_a_sentence_what_is_wrong)
{
    static const struct {
        struct locus_tier_far_config config;
        int error;
        const char *word;
    } cases[] = {
        {{.bytes = 0, .node = LOCUS_NODE_ANY}, -EINVAL, "bytes"},
        {{.bytes = 65536, .unit_bytes = 5000, .node = LOCUS_NODE_ANY}, -EINVAL, "power of two"},
        {{.bytes = 65536, .unit_bytes = 4u << 20, .node = LOCUS_NODE_ANY}, -EINVAL, "power of two"},
        {{.bytes = 65536, .node = 1000}, -EINVAL, "1000"},
        {{.bytes = UINT64_C(1) << 45, .unit_bytes = 2u << 20, .node = 0}, -ENOMEM, "memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[200] = "";
        struct locus_tier *tier = (void *)1;
        struct locus_tier_far_config config = cases[i].config;
        config.why = why;
        config.why_bytes = sizeof why;
        int error = locus_tier_far_open(&tier, &config);
        if (error == -EPERM || error == -ENOSYS)
            continue; // no NUMA here: the region's own tests say so
        cr_assert_eq(error, cases[i].error, "case %zu: %d", i, error);
        cr_assert_null(tier);
        cr_assert(strstr(why, cases[i].word), "case %zu: %s", i, why);
    }
}

Test(memory, a_config_of_a_later_library_is_refused_by_name)
{
    struct {
        struct locus_tier_far_config config;
        char more[16];
    } later = {.config = {.size = sizeof later, .bytes = 65536, .node = LOCUS_NODE_ANY}, .more = {1}};
    char why[200] = "";
    struct locus_tier *tier = (void *)1;
    later.config.why = why;
    later.config.why_bytes = sizeof why;
    cr_assert_eq(locus_tier_far_open(&tier, &later.config), -E2BIG);
    cr_assert_null(tier);
    cr_assert(strstr(why, "later version of the library"), "%s", why);
    later.config.size = 3; // no struct's size, so nothing in it can be relied on
    strcpy(why, "as before");
    cr_assert_eq(locus_tier_far_open(&tier, &later.config), -EINVAL);
    cr_assert_str_eq(why, "as before");
}

// The region's 64 MiB fit into what the process may have, and the table of its 16,384 units, which follows, does not.
static int without_table(void *unused)
{
    char why[200] = "";
    unsigned long pages = 0;
    struct locus_tier *tier;
    struct locus_tier_far_config config = {
        .bytes = 64 << 20, .unit_bytes = UNIT_OF_TIER, .node = LOCUS_NODE_ANY, .why = why, .why_bytes = sizeof why};
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        return CANNOT;
    fclose(statm);
    (void)unused;
    for (rlim_t spare = 0; spare < 80 << 20; spare += 262144) { // what else the region takes is its own affair
        const struct rlimit limit = {pages * 4096 + spare, pages * 4096 + (100 << 20)};
        if (setrlimit(RLIMIT_DATA, &limit))
            return CANNOT;
        int error = locus_tier_far_open(&tier, &config);
        if (error == 0)
            return 3;
        if (error != -ENOMEM || !strstr(why, "memory"))
            return 4;
        if (strstr(why, "table"))
            return 0;
    }
    return 5;
}

Test(memory, a_table_that_does_not_fit_into_memory_is_refused_with_a_word)
{
#ifdef SANITIZED
    cr_skip_test("the sanitizer's own memory is beyond any limit");
#endif
    int status = in_child(without_table, NULL);
    if (status == CANNOT)
        cr_skip_test("the memory of a process cannot be limited here");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

// The node's meminfo is gone, as after its memory went offline. Runs in a child, for the mount. (An assertion that fails in a child
// of a test stops the harness.)
static int offline(void *folder)
{
    char path[64];
    struct locus_tier *tier;
    struct locus_tier_far_config config = {.bytes = 65536, .node = next_node(0, true)};
    char got[8];
    struct waited w;
    if (config.node == NODES || locus_tier_far_open(&tier, &config))
        return CANNOT;
    if (store(tier, 1, "eight by", 8) || locus_tier_check(tier))
        return 3;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d", config.node);
    if (!cover(path, folder))
        return CANNOT;
    if (locus_tier_check(tier) != -ENODEV || !strstr(locus_tier_why(tier), "went offline"))
        return 4;
    if (locus_tier_store(tier, locus_id_of(2), "eight by", 8, op_of(&w)) != -ENODEV ||
        locus_tier_drop(tier, locus_id_of(1), op_of(&w)) != -ENODEV)
        return 5;
    return load(tier, 1, got, 8) || memcmp(got, "eight by", 8) ? 6 : 0;
}

Test(memory, a_node_that_went_offline_gives_its_objects_and_takes_no_more)
{
    char folder[] = "/tmp/tier-XXXXXX";
    cr_assert(mkdtemp(folder));
    int status = in_child(offline, folder);
    rmdir(folder);
    if (status == CANNOT)
        cr_skip_test("cannot mount over the node's folder here");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

// The keys are random, as numbers one after the other lie each in a place of its own.
Test(memory, random_calls_agree_with_a_model)
{
    enum { KEYS = 40, ROUNDS = 20000 };
    struct locus_id keys[KEYS];
    struct locus_tier *tier = far_of(48, false);
    static char model[KEYS][4 * UNIT_OF_TIER], got[4 * UNIT_OF_TIER];
    uint64_t lengths[KEYS] = {0}, state = 88172645463325252u, held = 0;
    struct waited w;
    for (int i = 0; i < KEYS; i++)
        keys[i] = (struct locus_id){{random_next(&state), (uint64_t)i}};
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t key = random_next(&state) % KEYS, length = 1 + random_next(&state) % sizeof got;
        switch (random_next(&state) % 4) {
        case 0:
        case 1: {
            uint64_t units = (length + UNIT_OF_TIER - 1) / UNIT_OF_TIER, had = (lengths[key] + UNIT_OF_TIER - 1) / UNIT_OF_TIER;
            memset(got, (int)random_next(&state), length);
            got[length / 2] = (char)round;
            int error = locus_tier_store(tier, keys[key], got, length, op_of(&w));
            cr_assert_eq(error, held + units > 48 ? -ENOSPC : 0);
            if (!error) {
                memcpy(model[key], got, length);
                lengths[key] = length;
                held += units - had;
            }
            break;
        }
        case 2:
            cr_assert_eq(locus_tier_load(tier, keys[key], got, sizeof got, op_of(&w)), lengths[key] ? 0 : -ENOENT);
            cr_assert(!lengths[key] || (w.result == 0 && memcmp(got, model[key], lengths[key]) == 0));
            break;
        default:
            cr_assert_eq(locus_tier_drop(tier, keys[key], op_of(&w)), lengths[key] ? 0 : -ENOENT);
            held -= (lengths[key] + UNIT_OF_TIER - 1) / UNIT_OF_TIER;
            lengths[key] = 0;
        }
        cr_assert_eq(stats_of(tier).units_free, 48 - held);
    }
    locus_tier_close(tier);
}

Test(crc, agrees_with_the_published_values_and_the_tables_with_the_instruction)
{
    static unsigned char bytes[20000], copy[20000];
    cr_assert_eq(crc32c(0, "123456789", 9), 0xe3069283u); // the check value of CRC-32C in the catalogue of parametrised CRCs
    cr_assert_eq(crc32c(0, bytes, 32), 0x8a9136aau);      // 32 bytes of zeros, RFC 3720 B.4
    cr_assert_eq(crc32c(0, "", 0), 0);
    uint64_t state = 99;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)random_next(&state);
    for (int i = 0; i < 2000; i++) {
        size_t from = random_next(&state) % 100, cut = random_next(&state) % 9000, length = cut + random_next(&state) % 9000;
        uint32_t whole = crc32c_scalar(0, bytes + from, length);
        cr_assert_eq(crc32c(0, bytes + from, length), whole);
        cr_assert_eq(crc32c(crc32c(0, bytes + from, cut), bytes + from + cut, length - cut), whole);
        memset(copy, 0, sizeof copy);
        cr_assert_eq(crc32c_copy(0, copy + from / 3, bytes + from, length), whole);
        cr_assert_eq(memcmp(copy + from / 3, bytes + from, length), 0);
        cr_assert_eq(copy[from / 3 + length], 0);
    }
}

static double number_of(uint16_t half) // of a finite one
{
    int exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
    double magnitude = exponent ? ldexp(mantissa + 1024, exponent - 25) : ldexp(mantissa, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

Test(int8, gives_numbers_back_within_the_bound_and_a_second_time_exactly)
{
    enum { COUNT = 10007 };
    struct locus_tier *tier;
    struct locus_tier_far_config config = {.size = sizeof config,
                                           .bytes = 8 * UNIT_OF_TIER,
                                           .unit_bytes = UNIT_OF_TIER,
                                           .node = LOCUS_NODE_ANY};
    static uint16_t given[COUNT], got[COUNT], again[COUNT];
    uint64_t state = 7;
    struct waited w;
    cr_assert_eq(locus_tier_int8_open(&tier, &config), 0);
    for (size_t i = 0; i < COUNT; i++)
        given[i] = (uint16_t)(random_next(&state) % 0x3c00 | random_next(&state) % 2 << 15); // of magnitude below 1
    must_store(tier, 1, given, sizeof given);
    cr_assert_lt(stats_of(tier).bytes_held, sizeof given * 53 / 100);
    must_load(tier, 1, got, sizeof got);
    for (size_t i = 0; i < COUNT; i++) {
        double error = number_of(given[i]) - number_of(got[i]);
        cr_assert(error < 0.0045 && error > -0.0045, "number %zu", i);
    }
    must_store(tier, 1, got, sizeof got);
    must_load(tier, 1, again, sizeof again);
    cr_assert_eq(memcmp(got, again, sizeof got), 0);
    char *bytes = (char *)locus_region_base(locus_tier_region(tier));
    for (size_t i = 0; i < 8 * UNIT_OF_TIER; i++)
        bytes[i] ^= 1;
    cr_assert_eq(load(tier, 1, again, sizeof again), -EBADMSG);
    given[COUNT - 1] = 0x7c00; // infinite
    cr_assert_eq(locus_tier_store(tier, locus_id_of(2), given, sizeof given, op_of(&w)), -ERANGE);
    cr_assert_eq(locus_tier_store(tier, locus_id_of(2), given, 3, op_of(&w)), -EINVAL);
    cr_assert_eq(locus_tier_store(tier, locus_id_of(2), (char *)given + 1, 2, op_of(&w)), -EINVAL);
    cr_assert_eq(locus_tier_store(tier, locus_id_of(2), given, 1, op_of(&w)), -EINVAL);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(1), (char *)given + 1, sizeof given - 2, op_of(&w)), -EINVAL);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(1), given, sizeof given - 1, op_of(&w)), -EINVAL);
    cr_assert_eq(locus_tier_load(tier, locus_id_of(3), given, 1, op_of(&w)), -EINVAL, "whether the object is there or not");
    cr_assert_eq(locus_tier_load(tier, locus_id_of(1), given, sizeof given - 2, op_of(&w)), -EMSGSIZE);
    cr_assert_eq(w.calls, 0);
    cr_assert_eq(locus_tier_find(tier, locus_id_of(2), NULL), -ENOENT);
    cr_assert_eq(stats_of(tier).objects, 1);
    cr_assert_eq(stats_of(tier).units_free, 5);
    locus_tier_close(tier);
}

// In memory that is not checked, as a stray write leaves it.
Test(int8, a_stored_level_of_minus_128_is_refused)
{
    struct locus_tier_far_config config = {
        .size = sizeof config, .bytes = 1 << 16, .unit_bytes = UNIT_OF_TIER, .node = LOCUS_NODE_ANY, .unchecked = true};
    struct locus_tier *tier;
    uint16_t given[64], got[64] = {0};
    for (int i = 0; i < 64; i++)
        given[i] = 0x7bff;
    cr_assert_eq(locus_tier_int8_open(&tier, &config), 0);
    must_store(tier, 1, given, sizeof given);
    must_load(tier, 1, got, sizeof got);
    cr_assert_eq(memcmp(got, given, sizeof got), 0);
    ((char *)locus_region_base(locus_tier_region(tier)))[2 + 40] = -128;
    cr_assert_eq(load(tier, 1, got, sizeof got), -EBADMSG);
    for (int i = 0; i < 64; i++)
        cr_assert_lt(got[i] & 0x7fff, 0x7c00);
    locus_tier_close(tier);
}

// Sums and products of what a caller gives.
Test(memory, bytes_that_no_tier_has_are_refused)
{
    static const uint64_t bytes[] = {UINT64_C(1) << 62, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};
    static int (*const opens[])(struct locus_tier **, const struct locus_tier_far_config *) = {locus_tier_far_open,
                                                                                               locus_tier_int8_open};
    uint16_t numbers[4] = {0};
    struct waited w;
    for (int k = 0; k < 2; k++) {
        struct locus_tier_far_config config = {.size = sizeof config,
                                               .bytes = 1 << 16,
                                               .unit_bytes = UNIT_OF_TIER,
                                               .node = LOCUS_NODE_ANY};
        struct locus_tier *tier, *none = (void *)1;
        cr_assert_eq(opens[k](&tier, &config), 0);
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
            config.bytes = bytes[i];
            cr_assert_eq(opens[k](&none, &config), -EINVAL, "%zu", i);
            cr_assert_null(none);
            int odd = k && bytes[i] % 2;
            cr_assert_eq(locus_tier_store(tier, locus_id_of(1), numbers, bytes[i], op_of(&w)), odd ? -EINVAL : -EFBIG, "%zu", i);
            if (!odd)
                cr_assert_eq(locus_tier_load(tier, locus_id_of(1), numbers, bytes[i], op_of(&w)), -ENOENT);
        }
        cr_assert_eq(stats_of(tier).units_free, stats_of(tier).units);
        locus_tier_close(tier);
    }
}
