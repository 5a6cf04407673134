// SPDX-License-Identifier: Apache-2.0
//
// file: a ring that the kernel lets us make and then denies: from the begin, or at any moment after, with transfers under way and
// in the queue. By a filter of system calls, which stays, so each case is a child's.
#include "placement/tier/tests/file_faulty.h"

#include <limits.h>

#include "placement/memory/tests/region_child.h"

enum { KEYS = 24, LENGTH = 3 * 4096 + 7, OPS = 3 * KEYS };

enum moment { BEFORE_OPEN, WITH_NONE_UNDER_WAY, WITH_BYTES_UNDER_WAY, WITH_BYTES_QUEUED, WITH_CHAINS_QUEUED, MOMENTS };

struct denial {
    enum moment moment;
    int error;
};

static struct waited ops[OPS];
static int started;

static struct locus_tier_op *op_next(void)
{
    return op_of(&ops[started++]);
}

// All that was started has ended well, and once, and no poll took ten seconds for nothing.
static bool all_end(struct locus_tier *tier)
{
    uint32_t ended = 0, delivered = 1;
    for (; delivered && ended < (uint32_t)started; ended += delivered)
        delivered = locus_tier_poll(tier, UINT64_C(10000000000));
    for (int i = 0; i < started; i++)
        if (ops[i].calls != 1 || ops[i].result)
            return false;
    started = 0;
    return locus_tier_poll(tier, 0) == 0;
}

static bool stores_begin(struct locus_tier *tier, const char *bytes, uint64_t first, uint64_t end)
{
    for (uint64_t key = first; key < end; key++)
        if (locus_tier_store(tier, locus_id_of(key), bytes + key * LENGTH, LENGTH, op_next()))
            return false;
    return true;
}

static bool holds(struct locus_tier *tier, const char *bytes, char *got)
{
    memset(got, 0, KEYS * LENGTH);
    for (uint64_t key = 0; key < KEYS; key++)
        if (locus_tier_load(tier, locus_id_of(key), got + key * LENGTH, LENGTH, op_next()))
            return false;
    return all_end(tier) && memcmp(got, bytes, KEYS * LENGTH) == 0;
}

// What a ring has to do when it is denied.
static bool prepare(struct locus_tier *tier, enum moment moment, const char *bytes)
{
    if (moment == WITH_BYTES_QUEUED)
        ring_fault.refusals = 1000000;
    if (moment >= WITH_BYTES_UNDER_WAY && !stores_begin(tier, bytes, 0, KEYS / 2))
        return false;
    if (moment == WITH_CHAINS_QUEUED) {
        ring_fault.refusals = 1000000;
        for (int i = 0; i < 5; i++)
            locus_tier_poll(tier, 2000000);
    }
    ring_fault.refusals = 0;
    return true;
}

static int denied(void *context)
{
    const struct denial *denial = context;
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 16 * KEYS, UNIT_OF_FILE);
    struct locus_tier_file_granted granted;
    struct locus_tier *tier = NULL;
    char *old = bytes_new(KEYS * LENGTH, 1), *new = bytes_new(KEYS * LENGTH, 2), *got = bytes_new(KEYS * LENGTH, 3);
    int failed = 0;
    if (denial->moment == BEFORE_OPEN && !forbid(SYS_io_uring_enter, ANY_THIRD, denial->error))
        return CANNOT;
    if (locus_tier_file_open(&tier, &config) || locus_tier_file_granted(tier, &granted))
        return 3;
    failed = granted.io_uring == (denial->moment == BEFORE_OPEN);
    if (!stores_begin(tier, old, 0, KEYS) || !all_end(tier) || !prepare(tier, denial->moment, new))
        return 4;
    if (denial->moment != BEFORE_OPEN && !forbid(SYS_io_uring_enter, ANY_THIRD, denial->error))
        return CANNOT;
    uint64_t rest = denial->moment >= WITH_BYTES_UNDER_WAY ? KEYS / 2 : 0;
    fault_at(FAULT_SYNC, INT_MAX, INT_MAX, -EIO); // counts them: a chain in the queue as it is offered, and as it is done
    if (!stores_begin(tier, new, rest, KEYS) || !all_end(tier))
        return 5;
    failed |= denial->moment == WITH_CHAINS_QUEUED && fault.seen <= KEYS;
    failed |= !holds(tier, new, got) || locus_tier_file_granted(tier, &granted);
    failed |= granted.io_uring || granted.io_uring_errno != denial->error || granted.registered_buffers || *locus_tier_why(tier);
    locus_tier_close(tier);
    while (locus_tier_file_open(&tier, &config) == -EBUSY)
        usleep(5000);
    failed |= !tier || !holds(tier, new, got) || stats_of(tier).objects != KEYS;
    if (tier && (locus_tier_file_granted(tier, &granted) || granted.torn + granted.outdated))
        failed = 1;
    locus_tier_close(tier);
    place_end(&place);
    return failed ? 6 : 0;
}

Test(file_ring, a_ring_that_cannot_be_entered_is_replaced_by_plain_calls_at_any_moment_and_nothing_is_lost_or_delivered_twice,
     .timeout = 120)
{
    static const int errors[] = {EPERM, ENOSYS, EAGAIN};
    for (int moment = 0; moment < MOMENTS; moment++)
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
            struct denial denial = {(enum moment)moment, errors[i]};
            int status = in_child(denied, &denial);
            if (status == CANNOT)
                cr_skip_test("seccomp filters are not available here");
            cr_assert_eq(status, 0, "moment %d, %s: the child ended with %d", moment, strerror(errors[i]), status);
        }
}

static int close_denied(void *context)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 16 * KEYS, UNIT_OF_FILE);
    struct locus_tier *tier;
    char *bytes = bytes_new(KEYS * LENGTH, 1), *got = bytes_new(KEYS * LENGTH, 3);
    if (locus_tier_file_open(&tier, &config) || !stores_begin(tier, bytes, 0, KEYS))
        return 3;
    if (!forbid(SYS_io_uring_enter, ANY_THIRD, *(int *)context))
        return CANNOT;
    locus_tier_close(tier);
    for (int i = 0; i < KEYS; i++)
        if (ops[i].calls != 1 || ops[i].result)
            return 4;
    started = 0;
    while (locus_tier_file_open(&tier, &config) == -EBUSY)
        usleep(5000);
    int failed = !holds(tier, bytes, got);
    locus_tier_close(tier);
    place_end(&place);
    return failed ? 5 : 0;
}

Test(file_ring, a_tier_whose_ring_is_denied_is_closed_with_all_that_is_under_way)
{
    each_error(close_denied, EACCES, ENOSYS);
}

static int register_denied(void *context)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 16 * KEYS, UNIT_OF_FILE);
    struct locus_tier_file_granted granted;
    struct locus_tier *tier;
    char *bytes = bytes_new(KEYS * LENGTH, 1), *got = bytes_new(KEYS * LENGTH, 3);
    config.memory = bytes;
    config.memory_bytes = KEYS * LENGTH;
    if (!forbid(SYS_io_uring_register, ANY_THIRD, *(int *)context))
        return CANNOT;
    if (locus_tier_file_open(&tier, &config) || locus_tier_file_granted(tier, &granted))
        return 3;
    bool said = granted.io_uring && !granted.registered_buffers && !granted.registered_memory &&
                granted.registered_errno == *(int *)context;
    int failed = !said || !stores_begin(tier, bytes, 0, KEYS) || !all_end(tier) || !holds(tier, bytes, got);
    locus_tier_close(tier);
    place_end(&place);
    return failed ? 4 : 0;
}

Test(file_ring, a_ring_that_may_register_nothing_is_used_without)
{
    each_error(register_denied, EPERM, EACCES);
}
