// SPDX-License-Identifier: Apache-2.0
//
// contenders_library: the contenders that change one thing about the library, and that they change exactly that.
#include "testbed/contenders/tests/contenders_play.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed/contenders/spsc.h"
#include "testbed/measure/driver.h"
#include "testbed/workload/workload.h"

#define HUGE_BYTES ((uintptr_t)2 << 20)

static void play_begin(struct play *play, const char *name)
{
    const struct tb_contender *contender = tb_contender_find(name);
    cr_assert_not_null(contender, "%s", name);
    cr_assert(play_open(play, contender, POOL_BLOCKS), "%s", name);
}

static void play_home(struct play *play, uint32_t slot)
{
    play_retire(play, slot);
    play->ops->finish(play->context, 0, play->tables[slot]);
    play->ops->drain(play->context);
}

// --- the pool ------------------------------------------------------------------------------------------------------------------

// The address of the block that leaves after one that has just come home, and that one's.
static bool reuses_at_once(const char *name)
{
    struct play play;
    play_begin(&play, name);
    cr_assert_eq(play_take(&play, 0, 1), 0);
    void *first = play_address(&play, 0, 0);
    play_home(&play, 0);
    cr_assert_eq(play_take(&play, 0, 1), 0);
    bool same = play_address(&play, 0, 0) == first;
    play_home(&play, 0);
    play_close(&play);
    return same;
}

Test(contenders_library, only_fifo_lets_a_warm_block_wait)
{
    cr_expect(reuses_at_once("locus"));
    cr_expect_not(reuses_at_once("locus-fifo"));
    cr_expect(reuses_at_once("locus-heap"));
    cr_expect(reuses_at_once("locus-spsc"));
}

// Blocks that follow their neighbour, of 16 that one table takes one by one beside another.
static uint32_t neighbours_of(const char *name)
{
    struct play play;
    uint32_t neighbours = 0;
    play_begin(&play, name);
    for (int turn = 0; turn < 2; turn++) { // in memory that was used before
        for (uint32_t i = 0; i < 16; i++)
            cr_assert(play_take(&play, 0, 1) == 0 && play_take(&play, 1, 1) == 0);
        neighbours = 0;
        for (uint32_t i = 1; i < 16; i++)
            neighbours += (char *)play_address(&play, 0, i) - (char *)play_address(&play, 0, i - 1) == BLOCK_BYTES;
        play_home(&play, 0);
        play_home(&play, 1);
    }
    play_close(&play);
    return neighbours;
}

Test(contenders_library, runs_are_in_order_like_ascending_and_a_stack_is_not)
{
    cr_expect_eq(neighbours_of("locus-ascending"), 15);
    cr_expect_eq(neighbours_of("locus-runs"), 15);
    cr_expect_eq(neighbours_of("locus"), 0, "the other table has every other block");
    cr_expect_leq(neighbours_of("locus-shuffled"), 2);
}

// At rest, where the library puts its stack in order.
Test(contenders_library, a_shuffled_stack_stays_shuffled)
{
    struct play play;
    uint32_t neighbours = 0;
    play_begin(&play, "locus-shuffled");
    for (int turn = 0; turn < 5; turn++) {
        cr_assert_eq(play_take(&play, 0, POOL_BLOCKS), 0, "all of the pool");
        cr_assert_eq(play_take(&play, 1, 1), -ENOMEM, "and no more");
        for (uint32_t i = 1; i < POOL_BLOCKS; i++)
            neighbours += (char *)play_address(&play, 0, i) - (char *)play_address(&play, 0, i - 1) == BLOCK_BYTES;
        play_home(&play, 0);
    }
    cr_expect_leq(neighbours, 5 * POOL_BLOCKS / 8, "%u", neighbours);
    play_close(&play);
}

// Bytes from one block to the next.
static ptrdiff_t stride_of(const char *name)
{
    struct play play;
    play_begin(&play, name);
    cr_assert_eq(play_take(&play, 0, 3), 0);
    ptrdiff_t stride = (char *)play_address(&play, 0, 1) - (char *)play_address(&play, 0, 0);
    play_home(&play, 0);
    play_close(&play);
    return stride;
}

Test(contenders_library, colour_is_one_cache_line_for_the_pool_and_for_its_floor)
{
    cr_expect_eq(stride_of("locus"), BLOCK_BYTES);
    cr_expect_eq(stride_of("oracle"), BLOCK_BYTES);
    cr_expect_eq(stride_of("locus-coloured"), BLOCK_BYTES + LOCUS_CACHE_LINE);
    cr_expect_eq(stride_of("locus-inline-coloured"), BLOCK_BYTES + LOCUS_CACHE_LINE);
    cr_expect_eq(stride_of("oracle-coloured"), BLOCK_BYTES + LOCUS_CACHE_LINE);
}

static bool is_resident(const char *name)
{
    struct play play;
    unsigned char present = 0;
    play_begin(&play, name);
    cr_assert_eq(play_take(&play, 0, 1), 0);
    uintptr_t address = (uintptr_t)play_address(&play, 0, 0), page = (uintptr_t)sysconf(_SC_PAGESIZE);
    cr_assert_eq(mincore((void *)(address / page * page), page, &present), 0);
    play_home(&play, 0);
    play_close(&play);
    return present & 1;
}

Test(contenders_library, only_unpopulated_has_no_page_before_the_first_touch)
{
    cr_expect(is_resident("locus"));
    cr_expect(is_resident("locus-4k"));
    cr_expect(is_resident("locus-heap"));
    cr_expect_not(is_resident("locus-unpopulated"));
}

// Whether the mapping of this address has a flag of /proc/self/smaps: "hg" huge pages advised, "nh" advised against.
static bool is_flagged(const void *address, const char *flag)
{
    char line[512];
    unsigned long begin, end;
    bool here = false, flagged = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            here = begin <= (uintptr_t)address && (uintptr_t)address < end;
        if (here && strncmp(line, "VmFlags:", 8) == 0)
            flagged = strstr(line, flag) != NULL;
    }
    fclose(file);
    return flagged;
}

static void expect_flag(const char *name, const char *flag)
{
    struct play play;
    play_begin(&play, name);
    cr_assert_eq(play_take(&play, 0, 1), 0);
    cr_expect(is_flagged(play_address(&play, 0, 0), flag), "%s is not '%s'", name, flag);
    play_home(&play, 0);
    play_close(&play);
}

Test(contenders_library, pages_are_of_the_kind_asked_for)
{
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK))
        cr_skip_test("this kernel has no transparent huge pages");
    expect_flag("locus", " hg");
    expect_flag("locus-4k", " nh");
}

Test(contenders_library, reserved_huge_pages_are_there_or_are_asked_for_in_words)
{
    const struct tb_ops *ops = tb_contender_find("locus-2m")->driver->ops;
    struct tb_schedule *schedule = small_schedule(1024);
    char why[192] = "";
    void *context = NULL;
    struct tb_setup setup = {
        .schedule = schedule, .block_bytes = BLOCK_BYTES, .pool_blocks = 1024, .workers = 1, .why = why, .why_bytes = sizeof why};
    int error = ops->open(&setup, &context);
    if (error) {
        cr_expect_eq(error, -ENOMEM);
        cr_expect_eq(strncmp(why, "needs 2 reserved huge pages of 2 MiB, ", 38), 0, "%s", why);
        cr_expect_not_null(strstr(why, "sysctl vm.nr_hugepages="), "%s", why);
    } else {
        cr_expect_eq((uintptr_t)ops->address(context, ops->alloc(context)) % HUGE_BYTES, 0);
    }
    ops->close(context);
    free(schedule);
}

// --- drains and caps -----------------------------------------------------------------------------------------------------------

// A contender whose workers are slow, so that blocks are late.
static const struct tb_ops *under;
static long late_ns;

static int slow_open(const struct tb_setup *setup, void **out)
{
    return under->open(setup, out);
}

static void slow_close(void *context)
{
    under->close(context);
}

static int slow_take(void *context, struct locus_table *table, uint32_t count)
{
    return under->take(context, table, count);
}

static void *slow_address(void *context, locus_block block)
{
    return under->address(context, block);
}

static int slow_retire(void *context, struct locus_table *table)
{
    return under->retire(context, table);
}

static void slow_finish(void *context, uint32_t worker, struct locus_table *table)
{
    if (late_ns)
        nanosleep(&(struct timespec){.tv_nsec = late_ns}, NULL);
    under->finish(context, worker, table);
}

static void slow_drain(void *context)
{
    under->drain(context);
}

static void slow_step(void *context)
{
    under->step ? under->step(context) : under->drain(context);
}

static uint64_t slow_freed(void *context)
{
    return under->freed(context);
}

static void slow_audit(void *context, struct tb_audit *out)
{
    under->audit(context, out);
}

static const struct tb_ops slow_ops = {
    .open = slow_open,
    .close = slow_close,
    .take = slow_take,
    .address = slow_address,
    .retire = slow_retire,
    .finish = slow_finish,
    .drain = slow_drain,
    .step = slow_step,
    .freed = slow_freed,
    .audit = slow_audit,
};
TB_DRIVER(slow_ops);
static const struct tb_contender slow = {.name = "slow", .summary = "a contender with slow workers", .driver = &slow_ops_driver};

// One timed lap and the probe laps, on burst-storm. finish_ns: how long a worker is at it; 0: inline.
static struct tb_sample sample_of(const char *name, long finish_ns, uint32_t *peak)
{
    static struct tb_job job;
    struct tb_schedule *schedule;
    cr_assert_eq(tb_workload_schedule("burst-storm", &schedule), 0);
    under = tb_contender_find(name)->driver->ops;
    late_ns = finish_ns;
    job = (struct tb_job){
        .touch = TB_TOUCH_FULL,
        .dispatch = finish_ns ? TB_DISPATCH_FUTEX : TB_DISPATCH_INLINE,
        .workers = 2,
        .laps = 1,
        .block_bytes = 256,
    };
    cr_assert_eq(tb_engine_run(&job, &slow, schedule), 0, "%s", name);
    cr_expect(job.sample.valid, "%s: %s", name, job.sample.invalid);
    *peak = schedule->blocks_peak;
    free(schedule);
    return job.sample;
}

// Workers are late only if the owner was not held up for longer than they take: on a busy machine they take more.
#define LATE_MOST_NS 12800000L

static uint32_t cap_of(uint32_t peak, uint32_t percent)
{
    return (peak * percent + 99) / 100;
}

static void expect_a_cap_holds(const char *name, uint32_t percent)
{
    struct tb_sample sample = {0};
    for (long ns = 100000; ns <= LATE_MOST_NS && !sample.waits; ns *= 2) {
        uint32_t peak;
        sample = sample_of(name, ns, &peak);
        cr_expect_leq(sample.outstanding_high, cap_of(peak, percent), "%s: %u", name, sample.outstanding_high);
        cr_expect_leq(sample.distinct, cap_of(peak, percent), "%s: %u", name, sample.distinct);
    }
    cr_expect_gt(sample.waits, 0, "%s", name);
}

Test(contenders_library, a_cap_holds_with_slow_workers, .timeout = 60)
{
    uint32_t peak = 0, high = 0;
    for (long ns = 100000; ns <= LATE_MOST_NS && (!high || high <= cap_of(peak, 125)); ns *= 2)
        high = sample_of("locus", ns, &peak).outstanding_high;
    cr_expect_gt(high, cap_of(peak, 125), "without a cap nothing is exceeded, so this test shows nothing");
    expect_a_cap_holds("locus-cap-100", 100);
    expect_a_cap_holds("locus-cap-105", 105);
    expect_a_cap_holds("locus-cap-125", 125);
    cr_expect_eq(sample_of("locus-cap-100", 0, &peak).outstanding_high, peak);
}

Test(contenders_library, lazy_holds_more_than_a_drain_in_every_step, .timeout = 60)
{
    uint32_t peak;
    uint32_t lazy = sample_of("locus-lazy", 0, &peak).outstanding_high;
    uint32_t usual = sample_of("locus", 0, &peak).outstanding_high;
    uint32_t growth = sample_of("locus-growth", 0, &peak).outstanding_high;
    cr_expect_gt(lazy, usual);
    cr_expect_geq(usual, growth);
    cr_expect_eq(growth, peak, "with inline workers all that is free is home when growth drains");
}

// --- ways home -----------------------------------------------------------------------------------------------------------------

Test(contenders_library, a_ring_keeps_the_order_through_both_parities)
{
    uint64_t slots = tb_spsc_slots(1);
    struct tb_spsc *ring = aligned_alloc(LOCUS_CACHE_LINE, tb_spsc_bytes(slots));
    struct locus_table *table[3];
    memset(ring, 0, tb_spsc_bytes(slots));
    tb_spsc_init(ring, slots);
    for (int i = 0; i < 3; i++)
        table[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, 1));
    for (uint64_t turn = 0; turn < 5 * slots; turn++) {
        cr_assert_null(tb_spsc_take(ring), "something old at turn %lu", turn);
        for (int i = 0; i < 3; i++)
            tb_spsc_push(ring, table[i]);
        for (int i = 0; i < 3; i++)
            cr_assert_eq(tb_spsc_take(ring), table[i], "turn %lu", turn);
    }
    for (int i = 0; i < 3; i++)
        free(table[i]);
    free(ring);
}

Test(contenders_library, a_ring_has_room_for_all_tables_and_whole_lines)
{
    static const uint64_t tables[] = {1, 8, 9, 64, 65, 1000};
    static const uint64_t slots[] = {8, 8, 16, 64, 128, 1024};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        cr_expect_eq(tb_spsc_slots(tables[i]), slots[i]);
        cr_expect_eq(tb_spsc_bytes(slots[i]) % LOCUS_CACHE_LINE, 0);
    }
}

// The worker checks the table, as locus_table_push() does, or the owner does when it arrives.
Test(contenders_library, a_table_that_was_not_declared_does_not_leave)
{
    static const char *const names[] = {"locus",      "locus-mailbox", "locus-treiber",  "locus-generations", "locus-bare",
                                        "locus-spsc", "locus-lfstack", "locus-wfcqueue", "locus-ckstack"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct play play;
        struct tb_audit audit = {0};
        if (!tb_contender_find(names[i]))
            continue; // optional, and not built in
        play_begin(&play, names[i]);
        cr_assert_eq(play_take(&play, 0, 2), 0);
        play.ops->finish(play.context, 0, play.tables[0]);
        play.ops->drain(play.context);
        cr_expect_eq(play.ops->freed(play.context), 0, "%s", names[i]);
        play_home(&play, 0);
        if (strcmp(names[i], "locus") == 0) { // it counts what should not have come
            play.ops->audit(play.context, &audit);
            cr_expect(audit.refused == 1 && audit.not_home == 0 && audit.drained == play.retired);
            cr_expect(audit.allocated == play.taken && audit.freed == play.taken && play.ops->freed(play.context) == play.taken);
            cr_expect(play.tables[0]->count == 0 && play.tables[0]->state == LOCUS_TABLE_LIVE);
        } else {
            expect_home(&play, 0);
        }
        play_close(&play);
    }
}

// --- pools that do less --------------------------------------------------------------------------------------------------------

static bool is_held(const struct play *play, uint32_t slot)
{
    return play->tables[slot]->count && play->tables[slot]->state == LOCUS_TABLE_LIVE;
}

// Where the blocks are, from the pool's first byte, in the order in which they leave. In this history the pool is now shallow and
// now deep, tables come home singly and several at once, and all of them do after many steps, or after few.
static void history_of(const char *name, uint32_t steps, ptrdiff_t left[], uint32_t *count)
{
    struct play play;
    uint32_t random = 1, deep = 4;
    char *base = NULL;
    play_begin(&play, name);
    *count = 0;
    for (uint32_t step = 0; step < steps; step++) {
        random = random * 1664525u + 1013904223u;
        uint32_t slot = random >> 30, first = play.tables[slot]->count, want = 1 + (random >> 20) % deep;
        if (random >> 10 & 1 && play_take(&play, slot, want) == 0) {
            for (uint32_t i = first; i < play.tables[slot]->count; i++) {
                base = base ? base : (char *)play_address(&play, slot, i); // the lowest leaves first
                left[(*count)++] = (char *)play_address(&play, slot, i) - base;
            }
        } else if (is_held(&play, slot)) {
            play_retire(&play, slot);
            play.ops->finish(play.context, 0, play.tables[slot]);
            if (random >> 9 & 1)
                play.ops->drain(play.context);
        }
        if (step % 64 != 0 && step % 101 != 0)
            continue;
        deep = 2 + step % 7;
        for (slot = 0; slot < TABLES; slot++)
            if (is_held(&play, slot))
                play_home(&play, slot);
        play.ops->drain(play.context);
    }
    play_close(&play);
}

Test(contenders_library, pools_that_do_less_hand_out_the_same_blocks)
{
    static const char *const names[] = {"locus-generations", "locus-bare"};
    static ptrdiff_t expected[16384], left[16384];
    uint32_t expected_count, count;
    history_of("locus-treiber", 2000, expected, &expected_count);
    cr_assert_gt(expected_count, 2000);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        history_of(names[i], 2000, left, &count);
        cr_assert_eq(count, expected_count, "%s: %u blocks instead of %u", names[i], count, expected_count);
        for (uint32_t b = 0; b < count; b++)
            cr_assert_eq(left[b], expected[b], "%s: block %u is at %td instead of %td", names[i], b, left[b], expected[b]);
    }
}

static struct tb_audit audit_of(const struct play *play)
{
    struct tb_audit audit = {0};
    play->ops->audit(play->context, &audit);
    return audit;
}

Test(contenders_library, bare_misses_the_block_that_another_was_freed_for)
{
    struct play play;
    play_begin(&play, "locus-bare");
    cr_assert_eq(play_take(&play, 0, 5), 0);
    cr_assert_eq(play_take(&play, 1, 1), 0);
    play.tables[0]->blocks[1] = play.tables[0]->blocks[0];
    play_home(&play, 0);
    cr_expect_eq(audit_of(&play).refused, 0, "it cannot know");
    cr_expect_eq(audit_of(&play).not_home, 2, "the one that is out, and the lost one");
    play_home(&play, 1);
    expect_home(&play, 0); // putting the stack in order mends it
    play_close(&play);
}

Test(contenders_library, bare_takes_back_no_more_than_is_out)
{
    struct play play;
    play_begin(&play, "locus-bare");
    cr_assert_eq(play_take(&play, 0, 2), 0);
    play_retire(&play, 0);
    play.tables[0]->blocks[2] = play.tables[0]->blocks[0];
    play.tables[0]->count = 3;
    play.ops->finish(play.context, 0, play.tables[0]);
    play.ops->drain(play.context);
    cr_expect_eq(audit_of(&play).refused, 1);
    cr_expect_eq(audit_of(&play).not_home, 0);
    play_close(&play);
}

Test(contenders_library, what_is_not_built_in_names_its_package)
{
    for (const struct tb_optional *optional = tb_optionals; optional->name; optional++) {
        struct tb_arm arm;
        char why[256] = "";
        int error = tb_arm_parse(optional->name, &arm, why, sizeof why);
        if (tb_contender_find(optional->name)) {
            cr_expect_eq(error, 0, "%s: %s", optional->name, why);
            continue;
        }
        cr_expect_eq(error, -ENODEV, "%s", optional->name);
        cr_expect(strstr(why, optional->name) && strstr(why, optional->package) && strstr(why, "make"), "%s", why);
    }
}
