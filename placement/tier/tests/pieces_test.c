// SPDX-License-Identifier: Apache-2.0
//
// pieces: an object is the same, in however many pieces its bytes lie on either side.
#include "placement/tier/tests/file_test.h"

#include "locus/int8.h"
#include "locus/tier.h"

enum { MOST = 24, GAP = 4096, ROOM = 600000 };

struct pieces {
    struct locus_piece piece[MOST];
    uint32_t count;
};

// Cuts `bytes` into pieces in `memory`, with gaps: all of a multiple of `step` bytes but the last, from a multiple of `align` on.
static struct pieces cut(char *memory, uint64_t bytes, uint64_t step, uint64_t align, uint64_t *state)
{
    struct pieces pieces = {.count = 0};
    char *at = memory;
    for (uint64_t left = bytes; left > 0; pieces.count++) {
        uint64_t length = step * (1 + random_next(state) % (1 + bytes / step / 4));
        if (length > left || pieces.count == MOST - 1)
            length = left;
        pieces.piece[pieces.count] = (struct locus_piece){.memory = at, .bytes = length};
        at += (length + GAP + align - 1) / align * align;
        left -= length;
    }
    return pieces;
}

static void fill(const struct pieces *pieces, const char *from)
{
    for (uint32_t i = 0; i < pieces->count; from += pieces->piece[i++].bytes)
        memcpy(pieces->piece[i].memory, from, pieces->piece[i].bytes);
}

static bool has(const struct pieces *pieces, const char *wanted, uint64_t bytes)
{
    for (uint32_t i = 0; i < pieces->count && bytes > 0; i++) {
        uint64_t length = pieces->piece[i].bytes < bytes ? pieces->piece[i].bytes : bytes;
        if (memcmp(pieces->piece[i].memory, wanted, length))
            return false;
        wanted += length;
        bytes -= length;
    }
    return bytes == 0;
}

static int storev(struct locus_tier *tier, uint64_t key, const struct pieces *from)
{
    struct waited w;
    return outcome(tier, &w, locus_tier_storev(tier, locus_id_of(key), from->piece, from->count, op_of(&w)));
}

static int loadv(struct locus_tier *tier, uint64_t key, const struct pieces *to)
{
    struct waited w;
    return outcome(tier, &w, locus_tier_loadv(tier, locus_id_of(key), to->piece, to->count, op_of(&w)));
}

// Stored in one piece or several, and loaded in others: the same bytes, and none beside them.
static void agrees(struct locus_tier *tier, uint64_t step, uint64_t align, uint64_t shift)
{
    char *given = bytes_new(ROOM, 3), *from = aligned_alloc(4096, 3 * ROOM / 4096 * 4096),
         *to = aligned_alloc(4096, 3 * ROOM / 4096 * 4096);
    uint64_t state = step + align + shift;
    for (uint64_t key = 0; key < 40; key++) {
        uint64_t bytes = 1 + random_next(&state) % (key % 2 ? 9000 : ROOM / 2), more = random_next(&state) % 3 * 5000;
        struct pieces here = cut(from + shift, bytes, step, align, &state),
                      there = cut(to + shift, bytes + more, step, align, &state);
        memset(to, 0x5a, 3 * ROOM / 4096 * 4096);
        fill(&here, given + key);
        cr_assert_eq(key % 4 ? storev(tier, key, &here) : store(tier, key, given + key, bytes), 0);
        if (key % 4 == 1) {
            must_load(tier, key, to, bytes);
            cr_assert_eq(memcmp(to, given + key, bytes), 0);
        } else {
            cr_assert_eq(loadv(tier, key, &there), 0);
            cr_assert(has(&there, given + key, bytes), "%llu bytes, steps of %llu", (unsigned long long)bytes,
                      (unsigned long long)step);
        }
        for (uint32_t i = 0; i < there.count; i++)
            cr_assert_eq(((char *)there.piece[i].memory)[there.piece[i].bytes + (key % 4 == 1 ? bytes : 0)], 0x5a);
        must_drop(tier, key);
    }
    cr_assert_eq(stats_of(tier).units_free, stats_of(tier).units);
    free(given), free(from), free(to);
}

Test(pieces, of_any_length_and_address_make_one_object_in_memory)
{
    struct locus_tier_far_config config = {.bytes = ROOM, .unit_bytes = 4096, .node = LOCUS_NODE_ANY};
    for (int unchecked = 0; unchecked < 2; unchecked++) {
        struct locus_tier *tier;
        config.unchecked = unchecked;
        cr_assert_eq(locus_tier_far_open(&tier, &config), 0);
        agrees(tier, 1, 1, 1);
        agrees(tier, 4096, 4096, 0);
        locus_tier_close(tier);
    }
}

Test(pieces, of_a_file_go_past_the_page_cache_or_through_a_buffer)
{
    for (int way = 0; way < 2; way++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 200, UNIT_OF_FILE);
        config.no_io_uring = way;
        struct locus_tier *tier = file_open(&config);
        agrees(tier, 4096, 4096, 0);
        agrees(tier, 4096, 4096, 512);
        agrees(tier, 100, 4096, 0);
        locus_tier_close(tier);
        place_end(&place);
    }
}

Test(pieces, are_not_compressed_and_a_compressed_object_is_loaded_into_one)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 200, UNIT_OF_FILE);
    config.zstd_level = 3;
    struct locus_tier *tier = file_open(&config);
    char *zeros = calloc(1, 65536);
    struct pieces two = {{{zeros, 32768}, {zeros + 32768, 32768}}, 2};
    cr_assert_eq(storev(tier, 1, &two), 0);
    cr_assert_eq(stats_of(tier).bytes_held, 65536);
    must_store(tier, 2, zeros, 65536);
    cr_assert_lt(stats_of(tier).bytes_held, 65536 + 4096);
    cr_assert_eq(loadv(tier, 2, &two), -EINVAL);
    must_load(tier, 2, zeros, 65536);
    cr_assert_eq(loadv(tier, 1, &two), 0);
    locus_tier_close(tier);
    place_end(&place);
    free(zeros);
}

Test(pieces, of_numbers_are_whole_groups_and_the_int8_is_the_same)
{
    struct locus_tier_far_config config = {.bytes = ROOM, .unit_bytes = 4096, .node = LOCUS_NODE_ANY};
    enum { COUNT = 10007 };
    static uint16_t given[COUNT], whole[COUNT], got[2 * COUNT];
    struct locus_tier *tier;
    uint64_t state = 5;
    cr_assert_eq(locus_tier_int8_open(&tier, &config), 0);
    for (size_t i = 0; i < COUNT; i++)
        given[i] = (uint16_t)(random_next(&state) % 0x3c00);
    must_store(tier, 1, given, sizeof given);
    must_load(tier, 1, whole, sizeof whole);
    for (uint64_t key = 2; key < 12; key++) {
        struct pieces here = cut((char *)got, sizeof given, LOCUS_INT8_GROUP * 2, 2, &state);
        for (uint32_t i = 0, at = 0; i < here.count; at += here.piece[i++].bytes / 2)
            here.piece[i].memory = given + at;
        cr_assert_eq(storev(tier, key, &here), 0);
        must_load(tier, key, got, sizeof given);
        cr_assert_eq(memcmp(got, whole, sizeof whole), 0);
        for (uint32_t i = 0, at = 0; i < here.count; at += here.piece[i++].bytes / 2)
            here.piece[i].memory = got + at;
        memset(got, 0, sizeof got);
        cr_assert_eq(loadv(tier, 1, &here), 0);
        cr_assert_eq(memcmp(got, whole, sizeof whole), 0);
    }
    struct pieces odd = {{{given, 130}, {given + 65, 128}}, 2};
    cr_assert_eq(storev(tier, 20, &odd), -EINVAL, "a group would lie in two pieces");
    cr_assert_eq(loadv(tier, 1, &odd), -EINVAL);
    locus_tier_close(tier);
}

Test(pieces, that_are_none_or_empty_are_refused)
{
    struct locus_tier_far_config config = {.bytes = ROOM, .unit_bytes = 4096, .node = LOCUS_NODE_ANY};
    struct locus_tier *tier;
    char bytes[64] = {0};
    struct pieces none = {.count = 0}, empty = {{{bytes, 8}, {bytes, 0}}, 2}, endless = {{{bytes, 8}, {bytes, SIZE_MAX}}, 2};
    cr_assert_eq(locus_tier_far_open(&tier, &config), 0);
    must_store(tier, 1, bytes, 64);
    cr_assert_eq(storev(tier, 2, &none), -EINVAL);
    cr_assert_eq(storev(tier, 2, &empty), -EINVAL);
    cr_assert_eq(storev(tier, 2, &endless), -EFBIG);
    cr_assert_eq(loadv(tier, 1, &none), -EINVAL);
    cr_assert_eq(loadv(tier, 1, &empty), -EINVAL);
    struct pieces few = {{{bytes, 8}, {bytes + 8, 8}}, 2};
    cr_assert_eq(loadv(tier, 1, &few), -EMSGSIZE);
    cr_assert_eq(stats_of(tier).objects, 1);
    locus_tier_close(tier);
}
