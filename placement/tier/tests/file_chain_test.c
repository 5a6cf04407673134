// SPDX-License-Identifier: Apache-2.0
//
// file: header, sync and erasure are one chain, whatever the kernel takes of it and whatever it cancels.
#include "placement/tier/tests/file_faulty.h"

#include <time.h>

// A tier with the old version of key 1, opened anew to see what a restart finds.
static struct faulty chain_new(void)
{
    struct faulty f = faulty_new(false);
    faulty_open(&f);
    must_store(f.tier, 1, f.old, OLD);
    return f;
}

static void restart(struct faulty *f)
{
    no_fault();
    locus_tier_close(f->tier);
    faulty_open(f);
}

// A store that replaces has a chain of three, and so has a drop after it.
Test(file_chain, of_a_chain_that_is_taken_in_part_the_rest_is_offered_again)
{
    for (unsigned cut = 1; cut < 3; cut++) {
        struct faulty f = chain_new();
        no_order();
        ring_fault.cut = cut;
        must_store(f.tier, 1, f.new, OLD);
        cr_assert_str_eq(order, "wwwsw");
        cr_assert_eq(ring_fault.cut, 0);
        assert_holds(&f, 1, f.new);
        ring_fault.cut = cut;
        no_order();
        must_drop(f.tier, 1);
        cr_assert_str_eq(order, "sws");
        cr_assert_eq(ring_fault.cut, 0);
        cr_assert_str_eq(locus_tier_why(f.tier), "");
        restart(&f);
        cr_assert_eq(locus_tier_find(f.tier, locus_id_of(1), NULL), -ENOENT);
        cr_assert_eq(granted_of(f.tier).outdated, 0);
        faulty_end(&f);
    }
}

// The kernel takes the header alone, and it fails; or header and sync, and the sync fails. Were the rest a chain of its own, the
// old version would be erased.
Test(file_chain, of_a_chain_that_is_taken_in_part_and_fails_nothing_more_is_done)
{
    for (unsigned cut = 1; cut < 3; cut++) {
        struct faulty f = chain_new();
        no_order();
        ring_fault.cut = cut;
        fault_at(cut == 1 ? FAULT_WRITE : FAULT_SYNC, cut == 1 ? 3 : 1, 100, -EIO);
        cr_assert_eq(store(f.tier, 1, f.new, OLD), -EBADF);
        no_fault();
        cr_assert_str_eq(order, cut == 1 ? "www" : "wwws");
        cr_assert(strstr(locus_tier_why(f.tier), cut == 1 ? "a header could not be written" : "a sync failed"), "%s",
                  locus_tier_why(f.tier));
        assert_holds(&f, 1, f.old);
        char block[FILE_BLOCK] = {0}, nothing[FILE_BLOCK] = {0};
        block_read(&f.place, file_header_offset(0), block);
        cr_assert_neq(memcmp(block, nothing, sizeof block), 0, "the old version's header is there");
        if (cut == 1) {
            restart(&f);
            assert_holds(&f, 1, f.old);
        }
        faulty_end(&f);
    }
}

static uint64_t ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

Test(file_chain, what_the_kernel_does_not_take_is_offered_until_it_does)
{
    struct faulty f = chain_new();
    struct waited waited;
    uint64_t begin = ms();
    ring_fault.refusals = 20;
    cr_assert_eq(locus_tier_store(f.tier, locus_id_of(1), f.new, OLD, op_of(&waited)), 0);
    cr_assert_eq(locus_tier_poll(f.tier, UINT64_MAX), 1);
    cr_assert_eq(waited.result, 0);
    cr_assert_eq(ring_fault.refusals, 0);
    cr_assert_lt(ms() - begin, 5000);
    ring_fault.refusals = 1000000;
    cr_assert_eq(locus_tier_load(f.tier, locus_id_of(1), f.got, OLD, op_of(&waited)), 0);
    cr_assert_eq(locus_tier_poll(f.tier, 30000000), 0, "it does not wait for ever");
    ring_fault.refusals = 0;
    cr_assert_eq(outcome(f.tier, &waited, 0), 0);
    cr_assert_eq(memcmp(f.got, f.new, OLD), 0);
    faulty_end(&f);
}

enum { HEADER = 1 << 4, SYNC = 1 << 5, ERASE = 1 << 6, SYNC_BEFORE = 1 << 7 };

// Nobody knows then what is on the device, so a store of which header or sync was cancelled is not acknowledged, and no drop may
// follow that would leave the version before.
Test(file_chain, a_chain_that_is_cancelled_without_a_reason_ends_all_stores)
{
    static const unsigned tags[] = {HEADER | SYNC | ERASE, SYNC | ERASE, SYNC, HEADER, ERASE};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        struct faulty f = chain_new();
        struct waited waited;
        ring_fault = (struct ring_fault){.tags = tags[i], .times = 3, .result = -ECANCELED};
        cr_assert_eq(store(f.tier, 1, f.new, OLD), tags[i] == ERASE ? 0 : -EIO, "case %zu", i);
        no_fault();
        cr_assert(strstr(locus_tier_why(f.tier), "cancelled"), "case %zu: %s", i, locus_tier_why(f.tier));
        cr_assert_eq(locus_tier_store(f.tier, locus_id_of(2), f.new, OLD, op_of(&waited)), -EIO);
        cr_assert_eq(locus_tier_drop(f.tier, locus_id_of(1), op_of(&waited)), -EIO);
        assert_holds(&f, 1, tags[i] == ERASE ? f.new : f.old);
        faulty_end(&f);
    }
}

Test(file_chain, a_drop_that_is_cancelled_without_a_reason_leaves_the_object)
{
    static const unsigned tags[] = {SYNC_BEFORE | HEADER | SYNC, HEADER | SYNC, SYNC};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        struct faulty f = chain_new();
        must_store(f.tier, 1, f.new, OLD);
        ring_fault = (struct ring_fault){.tags = tags[i], .times = 3, .result = -ECANCELED};
        cr_assert_eq(drop(f.tier, 1), -EIO, "case %zu", i);
        no_fault();
        cr_assert(strstr(locus_tier_why(f.tier), "cancelled"), "case %zu: %s", i, locus_tier_why(f.tier));
        assert_holds(&f, 1, f.new);
        faulty_end(&f);
    }
}

// Two elements at once, in either order of their number; the chain goes on from the first, and not for ever.
Test(file_chain, elements_that_are_put_off_are_queued_again_from_the_first_of_them)
{
    static const unsigned tags[] = {HEADER | SYNC, HEADER | ERASE, SYNC | ERASE, HEADER, SYNC, ERASE};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        struct faulty f = chain_new();
        ring_fault = (struct ring_fault){.tags = tags[i], .times = 4, .result = -EAGAIN};
        must_store(f.tier, 1, f.new, OLD);
        cr_assert_eq(ring_fault.times, 0);
        cr_assert_str_eq(locus_tier_why(f.tier), "");
        ring_fault = (struct ring_fault){.tags = tags[i], .times = 1000, .result = -EAGAIN};
        cr_assert_eq(store(f.tier, 1, f.old, OLD), tags[i] == ERASE ? 0 : -EAGAIN, "case %zu", i);
        cr_assert_gt(ring_fault.times, 900);
        no_fault();
        cr_assert_gt(strlen(locus_tier_why(f.tier)), 0);
        faulty_end(&f);
    }
}

// The first sync that ends has failed; what the other says is not known to be true.
Test(file_chain, a_sync_that_ends_after_another_has_failed_acknowledges_nothing)
{
    struct faulty f = chain_new();
    struct waited one, other;
    ring_fault = (struct ring_fault){.tags = SYNC, .times = 1, .result = -EIO};
    cr_assert_eq(locus_tier_store(f.tier, locus_id_of(1), f.new, OLD, op_of(&one)), 0);
    cr_assert_eq(locus_tier_store(f.tier, locus_id_of(2), f.new, OLD, op_of(&other)), 0);
    for (int polls = 0; polls < 1000 && one.calls + other.calls < 2; polls++)
        locus_tier_poll(f.tier, 10000000);
    cr_assert_eq(one.result, -EIO);
    cr_assert_eq(other.result, -EIO);
    assert_holds(&f, 1, f.old);
    cr_assert_eq(locus_tier_find(f.tier, locus_id_of(2), NULL), -ENOENT);
    faulty_end(&f);
}

static int ends, last_result;

static void counted(struct locus_tier_op *op, int result)
{
    (void)op;
    ends++;
    last_result = result;
}

// One at a time: the store's sync fails, and the drops behind it cannot begin. Nothing is under way that a wait would end.
Test(file_chain, drops_that_cannot_begin_are_delivered_and_not_waited_for)
{
    struct faulty f = faulty_new(false);
    struct locus_tier_op ops[5];
    f.config.depth = 1;
    faulty_open(&f);
    for (uint64_t key = 1; key < 5; key++)
        must_store(f.tier, key, f.old, OLD);
    fault_at(FAULT_SYNC, 1, 1, -EIO);
    ops[0] = (struct locus_tier_op){.done = counted};
    cr_assert_eq(locus_tier_store(f.tier, locus_id_of(9), f.new, OLD, &ops[0]), 0);
    for (uint64_t key = 1; key < 5; key++) {
        ops[key] = (struct locus_tier_op){.done = counted};
        cr_assert_eq(locus_tier_drop(f.tier, locus_id_of(key), &ops[key]), 0);
    }
    uint64_t begin = ms();
    uint32_t delivered = 0;
    for (int polls = 0; polls < 5 && delivered < 5; polls++)
        delivered += locus_tier_poll(f.tier, UINT64_C(20000000000));
    cr_assert_lt(ms() - begin, 10000, "it waited with nothing under way");
    cr_assert_eq(delivered, 5);
    cr_assert_eq(ends, 5);
    cr_assert_eq(last_result, -EIO);
    no_fault();
    for (uint64_t key = 1; key < 5; key++)
        assert_holds(&f, key, f.old);
    faulty_end(&f);
}
