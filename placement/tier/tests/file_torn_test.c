// SPDX-License-Identifier: Apache-2.0
//
// file: what a loss of power or a fault of the device can leave in a file, made by hand, and what open finds in it.
//
// The file has key 1 as old version and then as new one, and then key 2. So a header that is there again is an old one whose
// erasure was lost. Key 2's store is the last, so nothing says that it was acknowledged, and its bytes are looked at.
#include "placement/tier/tests/file_test.h"

#define UNITS 32u
#define LENGTH (2u * 4096 + 77)

union block {
    struct file_header header;
    char bytes[FILE_BLOCK];
};

struct torn {
    struct place place;
    struct locus_tier_file_config config;
    char *old, *new, *last, *got;
    union block header_old, header_new, header_last; // as they were written
};

static uint64_t unit_at(uint32_t unit)
{
    return file_units_offset(UNITS, UNIT_OF_FILE) + (uint64_t)unit * UNIT_OF_FILE;
}

static uint32_t unit_of(const union block *block)
{
    return block->header.runs[0][0];
}

static void torn_new(struct torn *t)
{
    *t = (struct torn){.place = place_new()};
    t->config = config_of(&t->place, UNITS, UNIT_OF_FILE);
    t->old = bytes_new(LENGTH, 1), t->new = bytes_new(LENGTH, 2), t->last = bytes_new(LENGTH, 3), t->got = bytes_new(LENGTH, 4);
    struct locus_tier *tier = file_open(&t->config);
    must_store(tier, 1, t->old, LENGTH);
    block_read(&t->place, file_header_offset(0), &t->header_old);
    must_store(tier, 1, t->new, LENGTH);
    block_read(&t->place, file_header_offset(3), &t->header_new);
    must_store(tier, 2, t->last, LENGTH);
    block_read(&t->place, file_header_offset(0), &t->header_last);
    locus_tier_close(tier);
    cr_assert_eq(t->header_old.header.sequence, 1);
    cr_assert_eq(t->header_new.header.sequence, 2);
    cr_assert_eq(t->header_last.header.sequence, 3);
    cr_assert_eq(t->header_last.header.acknowledged, 2);
}

static void torn_end(struct torn *t)
{
    place_end(&t->place);
    free(t->old), free(t->new), free(t->last), free(t->got);
}

// Opens and expects: the bytes of either key or NULL, and how many headers were torn and outdated. Then stores into all that is
// free, and opens again, to see that nothing returns.
static void assert_found(struct torn *t, const char *first, const char *second, uint64_t torn, uint64_t outdated)
{
    const char *expected[] = {first, second};
    for (int again = 0; again < 2; again++) {
        struct locus_tier *tier = file_open(&t->config);
        struct locus_tier_file_granted granted = granted_of(tier);
        cr_assert_eq(granted.torn, again ? 0 : torn, "%d torn", (int)granted.torn);
        cr_assert_eq(granted.outdated, again ? 0 : outdated, "%d outdated", (int)granted.outdated);
        for (uint64_t key = 1; key <= 2; key++) {
            cr_assert_eq(locus_tier_find(tier, locus_id_of(key), NULL), expected[key - 1] ? 0 : -ENOENT, "key %d", (int)key);
            if (!expected[key - 1])
                continue;
            must_load(tier, key, t->got, LENGTH);
            cr_assert_eq(memcmp(t->got, expected[key - 1], LENGTH), 0);
        }
        for (uint64_t key = 100; !again && stats_of(tier).units_free; key++)
            must_store(tier, key, t->got, 1);
        cr_assert_eq(stats_of(tier).objects, UNITS - 2 * ((first != NULL) + (second != NULL)));
        locus_tier_close(tier);
    }
}

Test(file_torn, a_file_as_it_should_be)
{
    struct torn t;
    torn_new(&t);
    assert_found(&t, t.new, t.last, 0, 0);
    torn_end(&t);
}

// The first `bytes` of a header reached the device, over zeros or over another header.
Test(file_torn, a_header_that_was_written_in_part_is_no_object)
{
    static const size_t bytes[] = {16, 24, 40, 64, 80, 512};
    for (size_t i = 0; i < 12; i++) {
        struct torn t;
        torn_new(&t);
        union block block = i < 6 ? (union block){0} : t.header_old;
        memcpy(&block, &t.header_last, bytes[i % 6]);
        bool all_of_it = memcmp(&block, &t.header_last, sizeof block) == 0; // what is behind the runs is zeros in both
        block_write(&t.place, file_header_offset(0), &block);
        assert_found(&t, t.new, all_of_it ? t.last : NULL, !all_of_it, 0);
        torn_end(&t);
    }
}

Test(file_torn, a_header_whose_bits_have_changed_is_no_object)
{
    for (size_t bit = 0; bit < FILE_BLOCK * 8; bit += 1 + bit / 3) {
        struct torn t;
        torn_new(&t);
        union block block = t.header_last;
        block.bytes[bit / 8] ^= (char)(1 << bit % 8);
        block_write(&t.place, file_header_offset(0), &block);
        assert_found(&t, t.new, NULL, 1, 0);
        torn_end(&t);
    }
}

// Of the last store only some blocks reached the device: the first, the last, none.
Test(file_torn, bytes_that_were_written_in_part_are_no_object)
{
    for (uint32_t lost = 0; lost < 4; lost++) {
        struct torn t;
        union block nothing = {0};
        torn_new(&t);
        for (uint32_t unit = 0; unit < 3; unit++)
            if (lost == 3 || lost == unit)
                block_write(&t.place, unit_at(unit), &nothing);
        assert_found(&t, t.new, NULL, 1, 0);
        torn_end(&t);
    }
}

// A change within a compressed object that zstd may not see, and a length that is not what comes out.
Test(file_torn, a_compressed_object_that_has_changed_is_refused_by_the_load)
{
    struct torn t;
    union block block, good;
    torn_new(&t);
    t.config.zstd_level = 1;
    for (uint32_t i = 0; i < LENGTH; i++)
        t.old[i] = (char)(i % 251 ? 7 : t.new[i]);
    struct locus_tier *tier = file_open(&t.config);
    must_store(tier, 3, t.old, LENGTH);
    must_store(tier, 4, t.last, 1);
    cr_assert_lt(stats_of(tier).bytes_held, 2 * LENGTH + FILE_BLOCK, "it is compressed");
    locus_tier_close(tier);
    block_read(&t.place, unit_at(6), &good);
    uint64_t held = good.header.magic; // not a header: its first bytes are those of a frame of zstd
    cr_assert_eq((uint32_t)held, 0xfd2fb528);
    for (uint32_t at = 0; at < 60; at++) {
        block = good;
        block.bytes[at] ^= 1;
        block_write(&t.place, unit_at(6), &block);
        tier = file_open(&t.config);
        cr_assert_eq(load(tier, 3, t.got, LENGTH), -EBADMSG, "byte %u", at);
        cr_assert_eq(stats_of(tier).refused_checksum, 1);
        locus_tier_close(tier);
    }
    block_write(&t.place, unit_at(6), &good);
    block_read(&t.place, file_header_offset(6), &block);
    block.header.bytes++;
    block.header.checksum = file_block_checksum(&block, &block.header.checksum);
    block_write(&t.place, file_header_offset(6), &block);
    char *more = malloc(LENGTH + 1);
    tier = file_open(&t.config);
    cr_assert_eq(load(tier, 3, more, LENGTH + 1), -EBADMSG);
    locus_tier_close(tier);
    free(more);
    torn_end(&t);
}

// Nobody reads the bytes of what is known to be acknowledged: they were durable. If they change later, the load says so.
Test(file_torn, bytes_that_changed_after_they_were_acknowledged_are_refused_by_the_load)
{
    struct torn t;
    union block block;
    torn_new(&t);
    block_read(&t.place, unit_at(unit_of(&t.header_new)), &block);
    block.bytes[100] ^= 1;
    block_write(&t.place, unit_at(unit_of(&t.header_new)), &block);
    struct locus_tier *tier = file_open(&t.config);
    cr_assert_eq(granted_of(tier).torn, 0);
    cr_assert_eq(granted_of(tier).read_whole, 1);
    cr_assert_eq(load(tier, 1, t.got, LENGTH), -EBADMSG);
    must_load(tier, 2, t.got, LENGTH);
    locus_tier_close(tier);
    torn_end(&t);
}

// Key 2 never was, so the old bytes of key 1 are there, too: the erasure of its header was lost with the power.
static void without_last(struct torn *t)
{
    struct locus_tier *tier;
    *t = (struct torn){.place = place_new()};
    t->config = config_of(&t->place, UNITS, UNIT_OF_FILE);
    t->old = bytes_new(LENGTH, 1), t->new = bytes_new(LENGTH, 2), t->last = bytes_new(LENGTH, 3), t->got = bytes_new(LENGTH, 4);
    tier = file_open(&t->config);
    must_store(tier, 1, t->old, LENGTH);
    block_read(&t->place, file_header_offset(0), &t->header_old);
    must_store(tier, 1, t->new, LENGTH);
    block_read(&t->place, file_header_offset(3), &t->header_new);
    locus_tier_close(tier);
    block_write(&t->place, file_header_offset(0), &t->header_old);
}

Test(file_torn, of_two_whole_versions_the_newer_is_found_and_the_older_erased)
{
    struct torn t;
    without_last(&t);
    assert_found(&t, t.new, NULL, 0, 1);
    torn_end(&t);
}

// The numbers go on where they were: what is stored after a restart is newer than all before.
Test(file_torn, of_two_whole_versions_the_one_after_a_restart_is_the_newer)
{
    struct torn t;
    without_last(&t);
    union block nothing = {0};
    block_write(&t.place, file_header_offset(3), &nothing);
    struct locus_tier *tier = file_open(&t.config);
    must_store(tier, 1, t.last, LENGTH);
    locus_tier_close(tier);
    block_write(&t.place, file_header_offset(0), &t.header_old);
    assert_found(&t, t.last, NULL, 0, 1);
    torn_end(&t);
}

Test(file_torn, if_the_newer_version_is_torn_the_older_is_found)
{
    for (int bytes = 0; bytes < 2; bytes++) {
        struct torn t;
        union block block;
        without_last(&t);
        uint64_t at = bytes ? unit_at(5) : file_header_offset(3);
        block_read(&t.place, at, &block);
        block.bytes[40] ^= 1;
        block_write(&t.place, at, &block);
        assert_found(&t, t.old, NULL, 1, 0);
        torn_end(&t);
    }
}

// Unit 3 is of the new version of key 1. The header says that an object once began in unit 10 and went on there: an older version
// of key 1, whose erasure was lost; or another key's, which no order of writes leaves, but a fault may.
Test(file_torn, a_header_whose_units_are_another_objects_takes_none_of_them)
{
    for (uint64_t key = 1; key < 10; key += 8) {
        struct torn t;
        torn_new(&t);
        union block block = t.header_old;
        block.header.key = locus_id_of(key);
        block.header.runs_count = 2;
        block.header.runs[0][0] = 10, block.header.runs[0][1] = 1;
        block.header.runs[1][0] = 3, block.header.runs[1][1] = 2;
        block.header.checksum = file_block_checksum(&block, &block.header.checksum);
        block_write(&t.place, file_header_offset(10), &block);
        assert_found(&t, t.new, t.last, key == 9, key == 1);
        torn_end(&t);
    }
}

Test(file_torn, a_sound_header_at_another_place_or_of_another_file_or_with_impossible_units_is_no_object)
{
    for (int k = 0; k < 14; k++) {
        struct torn t;
        torn_new(&t);
        bool acknowledged = k >= 7; // then no bytes are read that would show it
        union block block = acknowledged ? t.header_new : t.header_last;
        int i = k % 7;
        uint32_t home = unit_of(&block), at = i == 0 ? 20 : home;
        if (i == 1)
            block.header.id++;
        else if (i == 2)
            block.header.runs[0][1] = UNITS + 1;
        else if (i == 3)
            block.header.runs_count = FILE_RUNS_MAX + 1;
        else if (i == 4)
            block.header.held = block.header.bytes = 5 * 4096;
        else if (i == 5)
            block.header.runs_count = 0;
        else if (i == 6)
            block.header.version = FILE_VERSION + 1;
        block.header.checksum = file_block_checksum(&block, &block.header.checksum);
        block_write(&t.place, file_header_offset(at), &block);
        assert_found(&t, i == 0 || !acknowledged ? t.new : NULL, i == 0 || acknowledged ? t.last : NULL, 1, 0);
        torn_end(&t);
    }
}

// A store that is under way when the next is written: the number up to which all were acknowledged stays below it.
Test(file_torn, no_header_calls_a_store_acknowledged_that_is_under_way)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 256, UNIT_OF_FILE);
    config.depth = 8;
    struct locus_tier *tier = file_open(&config);
    static struct waited waited[64];
    char *bytes = bytes_new(64 * 4096, 1);
    for (uint32_t i = 0; i < 64; i++)
        cr_assert_eq(locus_tier_store(tier, locus_id_of(i), bytes + i * 4096, 4096, op_of(&waited[i])), 0);
    for (uint32_t done = 0; done < 64;)
        done += locus_tier_poll(tier, 1000000000);
    locus_tier_close(tier);
    bool lagged = false;
    for (uint32_t unit = 0; unit < 64; unit++) {
        union block block;
        block_read(&place, file_header_offset(unit), &block);
        cr_assert_lt(block.header.acknowledged, block.header.sequence);
        lagged |= block.header.acknowledged + 1 < block.header.sequence;
    }
    cr_assert(lagged, "stores were under way beside each other");
    place_end(&place);
    free(bytes);
}
