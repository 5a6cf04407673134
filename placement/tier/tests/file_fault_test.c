// SPDX-License-Identifier: Apache-2.0
//
// file: each call that can fail, and what the tier says and keeps then.
#include "placement/tier/tests/file_faulty.h"

// --- opening -------------------------------------------------------------------------------------------------------------------

Test(file_fault, open_says_in_a_sentence_what_is_wrong_with_the_config)
{
    struct place place = place_new();
    struct locus_tier_file_config good = config_of(&place, 64, UNIT_OF_FILE), bad = good;
    bad.path = NULL;
    cr_assert_eq(open_fails(bad, "path"), -EINVAL);
    bad = good, bad.unit_bytes = 5000;
    cr_assert_eq(open_fails(bad, "power of two"), -EINVAL);
    bad = good, bad.depth = 65;
    cr_assert_eq(open_fails(bad, "depth"), -EINVAL);
    bad = good, bad.zstd_level = 20;
    cr_assert_eq(open_fails(bad, "zstd_level"), -EINVAL);
    bad = good, bad.zstd_bytes_max = 1u << 30;
    cr_assert_eq(open_fails(bad, "zstd_bytes_max"), -EINVAL);
    bad = good, bad.memory = &bad;
    cr_assert_eq(open_fails(bad, "memory_bytes"), -EINVAL);
    bad = good, bad.bytes = 8000;
    cr_assert_eq(open_fails(bad, "no units"), -EINVAL);
    unlink(place.path);
    bad = good, bad.bytes = 0;
    cr_assert_eq(open_fails(bad, "No such file"), -ENOENT);
    bad = good, bad.path = place_base();
    cr_assert_eq(open_fails(bad, "directory"), -EISDIR);
    place_end(&place);
}

Test(file_fault, a_full_disk_is_an_error_of_open_and_the_file_can_be_made_later)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    fault_at(FAULT_FALLOCATE, 1, 1, -ENOSPC);
    cr_assert_eq(open_fails(config, "No space left"), -ENOSPC);
    no_fault();
    struct locus_tier *tier = file_open(&config);
    must_store(tier, 1, "a", 1);
    locus_tier_close(tier);
    place_end(&place);
}

Test(file_fault, a_file_whose_making_was_interrupted_is_gone_on_with)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    locus_tier_close(file_open(&config));
    cr_assert_eq(truncate(place.path, FILE_BLOCK), 0);
    struct locus_tier *tier = file_open(&config);
    cr_assert(granted_of(tier).made);
    must_store(tier, 1, "a", 1);
    locus_tier_close(tier);
    place_end(&place);
}

Test(file_fault, other_files_other_versions_and_other_shapes_are_refused_by_name)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE), other;
    struct locus_tier *tier = file_open(&config);
    cr_assert_eq(open_fails(config, "another tier has it open"), -EBUSY);
    must_store(tier, 1, "a", 1);
    locus_tier_close(tier);
    other = config_of(&place, 65, UNIT_OF_FILE);
    cr_assert_eq(open_fails(other, "64 units of 4096 bytes"), -EINVAL);
    other = config, other.unit_bytes = 8192, other.bytes = 0;
    cr_assert_eq(open_fails(other, "64 units of 4096 bytes"), -EINVAL);
    union {
        struct file_first first;
        char bytes[FILE_BLOCK];
    } block, good;
    block_read(&place, 0, &good);
    block = good;
    block.first.version = FILE_VERSION + 1;
    block_write(&place, 0, &block);
    cr_assert_eq(open_fails(config, "version 3"), -EPROTO);
    block.first.version = 1; // whose keys had 64 bits
    block_write(&place, 0, &block);
    cr_assert_eq(open_fails(config, "version 1 of the format; this library knows version 2"), -EPROTO);
    block = good;
    block.first.secret[1]++;
    block_write(&place, 0, &block);
    cr_assert_eq(open_fails(config, "damaged: its first block"), -EINVAL);
    block = good;
    block.first.id++;
    block_write(&place, 0, &block);
    cr_assert_eq(open_fails(config, "damaged: its first block"), -EINVAL);
    memset(&block, 0, sizeof block);
    block_write(&place, 0, &block);
    cr_assert_eq(open_fails(config, "not the file of a tier"), -EINVAL);
    block_write(&place, 0, &good);
    struct stat status;
    cr_assert_eq(stat(place.path, &status), 0);
    cr_assert_eq(truncate(place.path, status.st_size - 4096), 0);
    cr_assert_eq(open_fails(config, "does not have the bytes"), -EINVAL);
    cr_assert_eq(truncate(place.path, status.st_size), 0);
    tier = file_open(&config);
    cr_assert_eq(locus_tier_find(tier, locus_id_of(1), NULL), 0, "none of the refusals has changed the file");
    locus_tier_close(tier);
    place_end(&place);
}

Test(file_fault, what_is_not_granted_is_said_and_the_tier_works)
{
    struct place place = place_new();
    char *given = bytes_new(9000, 1), got[9000];
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    config.memory = given;
    config.memory_bytes = 9000;
    for (int i = 0; i < 4; i++) {
        if (i == 0)
            fault_at(FAULT_DIRECT, 1, 1, -EINVAL);
        else if (i == 1)
            fault_at(FAULT_RING_INIT, 1, 2, -ENOMEM);
        else
            fault_at(FAULT_REGISTER, 1, i - 1, -ENOMEM);
        struct locus_tier *tier = file_open(&config);
        struct locus_tier_file_granted granted = granted_of(tier);
        no_fault();
        cr_assert_eq(granted.direct, i != 0);
        cr_assert_eq(granted.direct_errno, i == 0 ? EINVAL : 0);
        cr_assert_eq(granted.io_uring, i != 1);
        cr_assert_eq(granted.io_uring_errno, i == 1 ? ENOMEM : 0);
        cr_assert_eq(granted.registered_memory, i == 0);
        cr_assert_eq(granted.registered_buffers, i == 0 || i == 2);
        cr_assert_eq(granted.registered_errno, i >= 2 ? ENOMEM : 0);
        must_store(tier, 1, given, 9000);
        must_load(tier, 1, got, 9000);
        cr_assert_eq(memcmp(given, got, 9000), 0);
        locus_tier_close(tier);
    }
    place_end(&place);
    free(given);
}

// --- transfers -----------------------------------------------------------------------------------------------------------------

// One transfer of the bytes fails: the store does, the old object stays, the next store goes through. A store of OLD bytes has two
// transfers of bytes, as its units are one run, and then the header, the sync, and the zeros over the old header.
Test(file_fault, bytes_that_cannot_be_written_fail_their_store_and_nothing_else)
{
    for (int i = 0; i < 4; i++) {
        struct faulty f = faulty_new(i & 1);
        faulty_open(&f);
        must_store(f.tier, 1, f.old, OLD);
        fault_at(FAULT_WRITE, 1 + i / 2, 1 + i / 2, -ENOSPC);
        int error = store(f.tier, 1, f.new, OLD);
        cr_assert_eq(error, i & 1 ? -ENOSPC : -EBADF, "%d", error);
        no_fault();
        assert_holds(&f, 1, f.old);
        cr_assert_eq(stats_of(f.tier).failed, 1);
        cr_assert_eq(stats_of(f.tier).units_free, 60);
        cr_assert_str_eq(locus_tier_why(f.tier), "");
        must_store(f.tier, 1, f.new, OLD);
        assert_holds(&f, 1, f.new);
        faulty_end(&f);
    }
}

Test(file_fault, a_header_or_a_sync_that_fails_ends_all_stores_but_no_loads)
{
    for (int i = 0; i < 4; i++) {
        struct faulty f = faulty_new(i & 1);
        struct waited waited;
        faulty_open(&f);
        must_store(f.tier, 1, f.old, OLD);
        fault_at(i / 2 ? FAULT_SYNC : FAULT_WRITE, i / 2 ? 1 : 3, i / 2 ? 1 : 3, -EIO);
        int error = store(f.tier, 1, f.new, OLD);
        cr_assert_eq(error, i & 1 ? -EIO : -EBADF, "%d", error);
        no_fault();
        cr_assert(strstr(locus_tier_why(f.tier), i / 2 ? "a sync failed" : "a header could not be written"), "%s",
                  locus_tier_why(f.tier));
        cr_assert_eq(locus_tier_check(f.tier), -EIO);
        cr_assert_eq(locus_tier_store(f.tier, locus_id_of(2), f.new, OLD, op_of(&waited)), -EIO);
        cr_assert_eq(locus_tier_drop(f.tier, locus_id_of(1), op_of(&waited)), -EIO);
        assert_holds(&f, 1, f.old);
        locus_tier_close(f.tier);
        faulty_open(&f); // the old one, or the new one: whole
        must_load(f.tier, 1, f.got, OLD);
        cr_assert(memcmp(f.got, f.old, OLD) == 0 || memcmp(f.got, f.new, OLD) == 0);
        must_store(f.tier, 2, f.new, OLD);
        faulty_end(&f);
    }
}

Test(file_fault, zeros_that_cannot_be_written_over_the_old_header_leave_the_new_object)
{
    for (int plain = 0; plain < 2; plain++) {
        struct faulty f = faulty_new(plain);
        faulty_open(&f);
        must_store(f.tier, 1, f.old, OLD);
        fault_at(FAULT_WRITE, 4, 4, -EIO);
        must_store(f.tier, 1, f.new, OLD);
        no_fault();
        assert_holds(&f, 1, f.new);
        cr_assert(strstr(locus_tier_why(f.tier), "could not be erased"));
        locus_tier_close(f.tier);
        faulty_open(&f);
        cr_assert_eq(granted_of(f.tier).outdated, 1);
        assert_holds(&f, 1, f.new);
        must_drop(f.tier, 1);
        locus_tier_close(f.tier);
        faulty_open(&f);
        cr_assert_eq(locus_tier_find(f.tier, locus_id_of(1), NULL), -ENOENT, "neither of them comes back");
        faulty_end(&f);
    }
}

Test(file_fault, a_drop_that_fails_leaves_the_object)
{
    for (int i = 0; i < 4; i++) {
        struct faulty f = faulty_new(i & 1);
        faulty_open(&f);
        must_store(f.tier, 1, f.old, OLD);
        fault_at(i / 2 ? FAULT_SYNC : FAULT_WRITE, 1, 1, -EIO);
        cr_assert_eq(drop(f.tier, 1), i & 1 ? -EIO : -EBADF);
        no_fault();
        assert_holds(&f, 1, f.old);
        faulty_end(&f);
    }
}

static int ends;

static void ended_in_order(struct locus_tier_op *op, int result)
{
    struct waited *waited = (struct waited *)op;
    waited->calls = ++ends;
    waited->result = result;
}

// A store, and beside it another or a drop. The first sync fails; what a later one says is not known to be true.
Test(file_fault, a_sync_that_succeeds_after_another_has_failed_acknowledges_nothing)
{
    for (int i = 0; i < 4; i++) {
        struct faulty f = faulty_new(i & 1);
        struct waited one = {.op.done = ended_in_order}, other = one;
        f.config.depth = 2;
        faulty_open(&f);
        must_store(f.tier, 1, f.old, OLD);
        must_store(f.tier, 2, f.old, OLD);
        ends = 0;
        no_order();
        fault_at(FAULT_SYNC, 1, 1, -EIO);
        cr_assert_eq(locus_tier_store(f.tier, locus_id_of(1), f.new, OLD, &one.op), 0);
        struct locus_id key = locus_id_of(2);
        cr_assert_eq(i & 2 ? locus_tier_drop(f.tier, key, &other.op) : locus_tier_store(f.tier, key, f.new, OLD, &other.op), 0);
        for (int polls = 0; polls < 1000 && ends < 2; polls++)
            locus_tier_poll(f.tier, 10000000);
        no_fault();
        cr_assert_eq(ends, 2);
        const struct waited *last = one.calls == 2 ? &one : &other, *before = last == &one ? &other : &one;
        cr_assert_neq(last->result, 0);
        cr_assert(before->result != 0 || !(i & 1), "a ring may have synced it before");
        cr_assert(!(i & 1) || strchr(order, 's') == order + strlen(order) - 1, "no header is written after it: %s", order);
        assert_holds(&f, 1, one.result ? f.old : f.new);
        faulty_end(&f);
    }
}

static void assert_drop_is(struct faulty *f, uint64_t key, const char *expected)
{
    no_order();
    must_drop(f->tier, key);
    cr_assert_str_eq(order, expected);
}

// The device may keep the zeros over the later header and lose those over the older one, if no sync is between them: then the
// version before the last one would be back.
Test(file_fault, a_drop_makes_the_end_of_a_replaced_version_durable_before_it_erases_the_last)
{
    for (int plain = 0; plain < 2; plain++) {
        struct faulty f = faulty_new(plain);
        faulty_open(&f);
        for (uint64_t key = 1; key < 5; key++)
            must_store(f.tier, key, f.old, OLD);
        must_store(f.tier, 1, f.new, OLD);
        assert_drop_is(&f, 1, "sws");
        assert_drop_is(&f, 2, "ws");
        must_store(f.tier, 3, f.new, OLD);
        must_store(f.tier, 5, f.new, OLD); // its sync is after the zeros
        assert_drop_is(&f, 3, "ws");
        must_store(f.tier, 4, f.new, OLD);
        fault_at(FAULT_SYNC, 1, 1, -EIO);
        cr_assert_eq(drop(f.tier, 4), plain ? -EIO : -EBADF);
        no_fault();
        cr_assert(strstr(locus_tier_why(f.tier), "a sync failed"));
        assert_holds(&f, 4, f.new);
        locus_tier_close(f.tier);
        faulty_open(&f);
        assert_holds(&f, 4, f.new);
        faulty_end(&f);
    }
}

// The ring's own transfers are put off by the kernel alone, so this is about the calls.
Test(file_fault, what_the_kernel_puts_off_is_tried_again_but_not_for_ever)
{
    static const enum fault_call calls[] = {FAULT_WRITE, FAULT_WRITE, FAULT_WRITE, FAULT_SYNC}; // bytes, header, zeros, sync
    static const int nth[] = {1, 3, 4, 1};
    for (int i = 0; i < 8; i++) {
        struct faulty f = faulty_new(true);
        int error = i & 4 ? -EINTR : -EAGAIN;
        faulty_open(&f);
        must_store(f.tier, 1, f.old, OLD);
        fault_at(calls[i % 4], nth[i % 4], nth[i % 4] + 4, error);
        must_store(f.tier, 1, f.new, OLD);
        cr_assert_eq(fault.seen >= 6, true);
        no_fault();
        cr_assert_str_eq(locus_tier_why(f.tier), "");
        assert_holds(&f, 1, f.new);
        fault_at(calls[i % 4], nth[i % 4], 1000, error);
        int expected = i % 4 == 2 ? 0 : error; // without its zeros the new version is durable
        cr_assert_eq(store(f.tier, 1, f.old, OLD), expected);
        cr_assert_lt(fault.seen, 40);
        no_fault();
        cr_assert_eq(strlen(locus_tier_why(f.tier)) > 0, i % 4 != 0);
        assert_holds(&f, 1, expected ? f.new : f.old);
        faulty_end(&f);
    }
}

Test(file_fault, a_drop_or_a_load_that_the_kernel_puts_off_is_tried_again)
{
    for (int i = 0; i < 3; i++) {
        struct faulty f = faulty_new(true);
        faulty_open(&f);
        must_store(f.tier, 1, f.old, OLD);
        must_store(f.tier, 1, f.new, OLD);
        fault_at(i == 0 ? FAULT_READ : i == 1 ? FAULT_WRITE : FAULT_SYNC, 1, 3, -EAGAIN);
        assert_holds(&f, 1, f.new);
        must_drop(f.tier, 1);
        cr_assert_gt(fault.seen, 3);
        no_fault();
        locus_tier_close(f.tier);
        faulty_open(&f);
        cr_assert_eq(locus_tier_find(f.tier, locus_id_of(1), NULL), -ENOENT);
        faulty_end(&f);
    }
}

Test(file_fault, a_load_that_fails_leaves_the_object)
{
    for (int plain = 0; plain < 2; plain++) {
        struct faulty f = faulty_new(plain);
        faulty_open(&f);
        must_store(f.tier, 1, f.old, OLD);
        fault_at(FAULT_READ, 1, 2, -EIO);
        cr_assert_eq(load(f.tier, 1, f.got, OLD), plain ? -EIO : -EBADF);
        no_fault();
        assert_holds(&f, 1, f.old);
        cr_assert_eq(stats_of(f.tier).failed, 1);
        faulty_end(&f);
    }
}

Test(file_fault, short_transfers_are_gone_on_with_and_none_at_all_is_an_error)
{
    for (int i = 0; i < 8; i++) {
        struct faulty f = faulty_new(i & 1);
        faulty_open(&f);
        must_store(f.tier, 1, f.old, OLD);
        enum fault_call call = i & 2 ? FAULT_READ : FAULT_WRITE;
        int part = i & 1 ? 4096 + (i & 4 ? 100 : 0) : 4096 << (i / 4); // a ring is asked for whole blocks, so it moves whole ones
        fault_at(call, 1, 1, part);
        if (call == FAULT_WRITE)
            must_store(f.tier, 2, f.new, OLD);
        assert_holds(&f, 1, f.old);
        if (call == FAULT_WRITE)
            assert_holds(&f, 2, f.new);
        if (i & 1) {
            fault_at(call, 1, 1, 0);
            cr_assert_eq(call == FAULT_WRITE ? store(f.tier, 3, f.new, OLD) : load(f.tier, 1, f.got, OLD), -EIO);
        }
        faulty_end(&f);
    }
}

static char restart_why[200];

static void restart_reads(void *context, int *error)
{
    struct faulty *f = context;
    struct locus_tier *tier;
    struct locus_tier_file_config config = f->config;
    config.why = restart_why;
    config.why_bytes = sizeof restart_why;
    do
        *error = locus_tier_file_open(&tier, &config);
    while (*error == -EBUSY && usleep(5000) == 0);
    if (!*error)
        f->tier = tier;
    else
        cr_assert(strstr(restart_why, strerror(-*error)), "%s", restart_why);
}

Test(file_fault, an_open_that_cannot_read_or_write_says_so_and_loses_nothing)
{
    struct faulty f = faulty_new(false);
    faulty_open(&f);
    must_store(f.tier, 1, f.old, OLD);
    locus_tier_close(f.tier);
    for (int nth = 1;; nth++) { // the first block and three passes; 4 is the bytes of what is not known to be acknowledged
        int error;
        fault_at(FAULT_READ, nth, nth, nth == 4 ? -EACCES : -EIO);
        restart_reads(&f, &error);
        bool hit = fault.seen >= nth;
        no_fault();
        if (!hit) {
            cr_assert_eq(error, 0);
            cr_assert_eq(nth, 6);
            break;
        }
        cr_assert_eq(error, nth == 4 ? -EACCES : -EIO);
    }
    assert_holds(&f, 1, f.old);
    faulty_end(&f);
}

Test(file_fault, bytes_that_cannot_be_read_when_the_file_is_opened_fail_their_load_and_nothing_else)
{
    static const int errors[] = {-EIO, -ENODATA, -EILSEQ};
    for (int i = 0; i < 3; i++) {
        struct faulty f = faulty_new(true);
        faulty_open(&f);
        must_store(f.tier, 2, f.old, OLD);
        must_store(f.tier, 1, f.new, OLD); // the last one: not known to be acknowledged
        locus_tier_close(f.tier);
        fault_at(FAULT_READ, 4, 4, errors[i]);
        faulty_open(&f);
        cr_assert_eq(fault.seen, 5);
        cr_assert_eq(granted_of(f.tier).torn, 0);
        cr_assert_eq(granted_of(f.tier).read_whole, 1);
        fault_at(FAULT_READ, 1, 2, errors[i]);
        cr_assert_eq(load(f.tier, 1, f.got, OLD), errors[i]);
        no_fault();
        assert_holds(&f, 2, f.old);
        assert_holds(&f, 1, f.new);
        faulty_end(&f);
    }
}

// Beside the last store of a key, the version before it, as a kill leaves them: its header is written again. Which of the two is
// found, and is it the other that is removed?
static void older_beside(struct faulty *f, bool spoil_older, bool newer_first)
{
    char block[FILE_BLOCK];
    *f = faulty_new(true);
    faulty_open(f);
    if (newer_first)
        must_store(f->tier, 2, f->old, 1); // its unit is free when the new version comes
    must_store(f->tier, 1, f->old, OLD);
    uint32_t unit = newer_first;
    block_read(&f->place, file_header_offset(unit), block);
    if (newer_first)
        must_drop(f->tier, 2);
    must_store(f->tier, 1, f->new, OLD);
    locus_tier_close(f->tier);
    block_write(&f->place, file_header_offset(unit), block);
    memset(block, 1, sizeof block);
    if (spoil_older)
        block_write(&f->place, file_units_offset(64, UNIT_OF_FILE) + unit * UNIT_OF_FILE, block);
}

Test(file_fault, an_unreadable_version_that_may_not_have_been_acknowledged_gives_way_to_a_whole_older_one)
{
    for (int i = 0; i < 4; i++) {
        struct faulty f;
        bool spoiled = i & 1, newer_first = i & 2;
        older_beside(&f, spoiled, newer_first);
        fault_at(FAULT_READ, 4, 4, -EIO); // the first block, two passes over the headers, and the new bytes
        faulty_open(&f);
        no_fault();
        cr_assert_eq(granted_of(f.tier).torn, !spoiled, "case %d", i);
        cr_assert_eq(granted_of(f.tier).outdated, spoiled);
        cr_assert_eq(granted_of(f.tier).read_whole, 2);
        cr_assert_eq(stats_of(f.tier).objects, 1);
        assert_holds(&f, 1, spoiled ? f.new : f.old);
        locus_tier_close(f.tier);
        faulty_open(&f); // it stays with that, now that all can be read
        cr_assert_eq(granted_of(f.tier).torn + granted_of(f.tier).outdated, 0);
        assert_holds(&f, 1, spoiled ? f.new : f.old);
        faulty_end(&f);
    }
}

Test(file_fault, a_torn_header_that_cannot_be_erased_for_good_keeps_the_file_closed)
{
    struct faulty f = faulty_new(false);
    faulty_open(&f);
    must_store(f.tier, 1, f.old, OLD);
    locus_tier_close(f.tier);
    char block[FILE_BLOCK];
    memset(block, 1, sizeof block);
    block_write(&f.place, file_header_offset(20), block);
    for (int i = 0; i < 3; i++) {
        int error;
        fault_at(i == 2 ? FAULT_SYNC : FAULT_WRITE, i == 2 ? 2 : 1, 2, i == 1 ? 512 : -EIO);
        restart_reads(&f, &error);
        no_fault();
        cr_assert_eq(error, -EIO, "%d: %d", i, error);
        block_write(&f.place, file_header_offset(20), block);
    }
    faulty_open(&f);
    cr_assert_eq(granted_of(f.tier).torn, 1);
    assert_holds(&f, 1, f.old);
    faulty_end(&f);
}

// As a kill leaves it between the header of a new version and its sync: both versions are there, the new one in the device's cache.
Test(file_fault, open_syncs_what_it_reads_before_it_erases_anything_on_that_ground)
{
    struct faulty f = faulty_new(false);
    char block[FILE_BLOCK];
    faulty_open(&f);
    must_store(f.tier, 1, f.old, OLD);
    block_read(&f.place, file_header_offset(0), block);
    must_store(f.tier, 1, f.new, OLD);
    locus_tier_close(f.tier);
    block_write(&f.place, file_header_offset(0), block);
    int error;
    fault_at(FAULT_SYNC, 1, 1, -EIO);
    restart_reads(&f, &error);
    no_fault();
    cr_assert_eq(error, -EIO);
    cr_assert(strstr(restart_why, "cannot be synced"), "%s", restart_why);
    no_order();
    faulty_open(&f);
    cr_assert_str_eq(order, "sws");
    cr_assert_eq(granted_of(f.tier).outdated, 1);
    assert_holds(&f, 1, f.new);
    locus_tier_close(f.tier);
    no_order();
    faulty_open(&f);
    cr_assert_str_eq(order, "s", "nothing to erase, and still an object that may be in the cache alone");
    faulty_end(&f);
}
