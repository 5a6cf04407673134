// SPDX-License-Identifier: Apache-2.0
//
// pages_stress: threads of every duty on one arena that is too small for them. Each range is filled with its owner's mark by who
// allocated it, and checked by all who pin it, by who evicts it, and by who frees it. So a range that is handed out twice, or that
// goes while it is pinned, shows, and the sanitizers see each hand-over as accesses to plain memory. At the end the books balance.
//
//     pages_stress [seconds [seed [threads [calls]]]]      `calls`: stops after so many, whatever the time
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "locus/pages.h"
#include "locus/pages_evict.h"
#include "locus/pages_report.h"
#include "placement/base/tests/stress.h"

#define PAGES 64u
#define SHELVES 48u             // handles that everybody sees: more than fit
#define THREADS_MAX 16u
#define PAGE_BYTES (UINT64_C(512) << 10)

struct shelf {
    _Atomic locus_range range;
};

static struct locus_pages *pages;
static struct shelf shelves[SHELVES];
static struct stress stress;
static uint64_t calls_most = UINT64_MAX;
static _Atomic bool closing;
static _Atomic uint64_t calls_made, clock_ns;
static _Atomic locus_range leaving_later[THREADS_MAX * 4];

struct thread {
    pthread_t id;
    uint64_t random, calls;
};

// The first word of each page and the last one of the range.
static void mark(locus_range range, uint64_t owner)
{
    char *memory = locus_pages_address(pages, range);
    uint64_t bytes = locus_pages_bytes(pages, range);
    for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
        memcpy(memory + at, &owner, sizeof owner);
    memcpy(memory + bytes - sizeof owner, &owner, sizeof owner);
}

// Returns the mark, which must be one and the same in the whole range.
static uint64_t marked(const char *memory, uint64_t bytes)
{
    uint64_t first, other;
    memcpy(&first, memory, sizeof first);
    for (uint64_t at = PAGE_BYTES; at < bytes; at += PAGE_BYTES) {
        memcpy(&other, memory + at, sizeof other);
        STRESS_EXPECT(other == first);
    }
    memcpy(&other, memory + bytes - sizeof other, sizeof other);
    STRESS_EXPECT(other == first);
    return first;
}

// One in four says that the contents are still being saved, one in sixteen that they must stay.
static int leave(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    static _Atomic bool one;
    (void)context;
    STRESS_EXPECT(!atomic_exchange(&one, true)); // one evictor at a time
    STRESS_EXPECT(marked(memory, bytes) == owner);
    one = false;
    STRESS_EXPECT(owner % LOCUS_PAGES_KINDS == (unsigned)kind);
    if (closing)
        return 0;
    if (owner / 4 % 16 == 7)
        return -EIO;
    if (owner / 4 % 4 != 2)
        return 0;
    for (unsigned i = 0; i < THREADS_MAX * 4; i++) {
        locus_range none = LOCUS_RANGE_NONE;
        if (atomic_compare_exchange_strong(&leaving_later[i], &none, range))
            return 1;
    }
    return 0;
}

static void saved(struct thread *me)
{
    locus_range range = atomic_exchange(&leaving_later[stress_random(&me->random, THREADS_MAX * 4)], 0);
    if (range)
        STRESS_EXPECT(locus_pages_evict_done(pages, range, stress_random(&me->random, 8) ? 0 : -EIO) == 0);
}

static struct locus_pages_request ask_of(struct thread *me)
{
    uint64_t owner = ++me->calls * 64 + stress_random(&me->random, 64);
    static const uint32_t lengths[] = {1, 1, 1, 1, 2, 3, 7, 13};
    return (struct locus_pages_request){
        .kind = (enum locus_pages_kind)(owner % LOCUS_PAGES_KINDS),
        .pages = lengths[stress_random(&me->random, 8)],
        .owner = owner,
        .first_fit = stress_random(&me->random, 4) == 0,
        .no_evict = stress_random(&me->random, 8) == 0,
    };
}

static void drop(struct locus_magazine *magazine, locus_range range)
{
    int error = range ? locus_pages_free(pages, magazine, range) : 0;
    STRESS_EXPECT(error == 0 || error == -ESTALE || error == -EPERM); // there, evicted, or of a set that is prepared
}

static void put(struct thread *me, struct locus_magazine *magazine, locus_range range)
{
    struct shelf *shelf = &shelves[stress_random(&me->random, SHELVES)];
    drop(magazine, atomic_exchange_explicit(&shelf->range, range, memory_order_acq_rel));
}

static void allocate(struct thread *me, struct locus_magazine *magazine)
{
    struct locus_pages_request ask = ask_of(me);
    locus_range range;
    int error = locus_pages_alloc(pages, magazine, &ask, &range);
    STRESS_EXPECT(error == 0 || error == -ENOMEM || error == -EAGAIN);
    if (error)
        return;
    mark(range, ask.owner);
    STRESS_EXPECT(locus_pages_unpin(pages, range) == 0);
    put(me, magazine, range);
}

static void read_some(struct thread *me)
{
    locus_range range = atomic_load_explicit(&shelves[stress_random(&me->random, SHELVES)].range, memory_order_acquire);
    LOCUS_PINNED struct locus_pin pin = {0};
    if (!range)
        return;
    int error = locus_pin_take(&pin, pages, range);
    STRESS_EXPECT(error == 0 || error == -ESTALE || error == -EBUSY || error == -EAGAIN);
    if (error)
        return;
    uint64_t owner = marked(locus_pages_address(pages, range), locus_pages_bytes(pages, range));
    if (stress_random(&me->random, 32) == 0)
        drop(NULL, range); // freed while pinned: it ends with this scope
    STRESS_EXPECT(owner == marked(locus_pages_address(pages, range), locus_pages_bytes(pages, range)));
}

static void two_phases(struct thread *me)
{
    struct locus_pages_request asks[3];
    locus_range ranges[3];
    struct locus_pages_set *set;
    for (unsigned i = 0; i < 3; i++) {
        asks[i] = ask_of(me);
        asks[i].pages = 1 + stress_random(&me->random, 3);
    }
    int error = locus_pages_set_prepare(&set, pages, asks, 3, ranges);
    STRESS_EXPECT(error == 0 || error == -ENOMEM || error == -EAGAIN || error == -EBUSY);
    if (error)
        return;
    for (unsigned i = 0; i < 3; i++)
        mark(ranges[i], asks[i].owner);
    put(me, NULL, ranges[0]); // others try to pin it from now on
    if (stress_random(&me->random, 4) == 0) {
        locus_pages_set_rollback(set);
        return;
    }
    locus_pages_set_commit(set);
    for (unsigned i = 0; i < 3; i++) {
        int unpinned = locus_pages_unpin(pages, ranges[i]);
        STRESS_EXPECT(unpinned == 0);
        if (i > 0)
            put(me, NULL, ranges[i]);
    }
}

static void *thread_main(void *argument)
{
    struct thread *me = argument;
    struct locus_magazine *magazine;
    STRESS_EXPECT(locus_magazine_open(&magazine, pages) == 0);
    while (stress_now_s() < stress.end_s && atomic_fetch_add(&calls_made, 64) < calls_most)
        for (unsigned i = 0; i < 64; i++) {
            uint32_t what = stress_random(&me->random, 64);
            if (what == 0)
                two_phases(me);
            else if (what == 1)
                locus_pages_evict(pages, LOCUS_PAGES_KV, 1 + stress_random(&me->random, 8));
            else if (what < 4)
                saved(me);
            else if (what < 16)
                allocate(me, magazine);
            else if (what == 16)
                put(me, magazine, LOCUS_RANGE_NONE);
            else if (what == 17)
                locus_pages_set_time(pages, atomic_fetch_add_explicit(&clock_ns, 1, memory_order_relaxed));
            else
                read_some(me);
        }
    locus_magazine_close(magazine);
    return NULL;
}

static void arena_open(void)
{
    struct locus_pages_config config = {
        .size = sizeof config,
        .page_bytes = PAGE_BYTES,
        .pages = PAGES,
        .page = LOCUS_PAGE_4K,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .score = locus_score_at((uint32_t)(stress.seed / 16 % 4)),
        .high_permille = 900,
        .low_permille = 800,
        .split = stress.seed / 64 % 2 ? LOCUS_SPLIT_ENDS : LOCUS_SPLIT_NONE,
        .evict = leave,
        .sets = 8,
    };
    STRESS_EXPECT(locus_pages_open(&pages, &config) == 0);
}

// Nothing is pinned, all pages come back, and each range that was allocated was freed or evicted, once.
static void settle(void)
{
    struct locus_pages_stats stats;
    uint64_t evicted = 0;
    closing = true;
    for (unsigned i = 0; i < THREADS_MAX * 4; i++)
        if (leaving_later[i])
            STRESS_EXPECT(locus_pages_evict_done(pages, leaving_later[i], 0) == 0);
    locus_pages_stats(pages, &stats);
    STRESS_EXPECT(stats.pages_pinned == 0);
    for (unsigned i = 0; i < SHELVES; i++)
        drop(NULL, shelves[i].range);
    STRESS_EXPECT(locus_pages_evict(pages, LOCUS_PAGES_KV, PAGES) == 0);
    locus_pages_stats(pages, &stats);
    STRESS_EXPECT(stats.ranges == 0 && stats.pages_free == PAGES && stats.pages_largest == PAGES);
    for (unsigned i = 0; i < LOCUS_PAGES_KINDS; i++)
        for (unsigned j = 0; j < LOCUS_EVICT_REASONS; j++)
            evicted += stats.ranges_evicted[i][j];
    STRESS_EXPECT(stats.ranges_allocated == stats.ranges_freed + evicted);
    printf("%llu calls, %llu ranges, %llu evicted, %llu freed, %llu refused pins, %llu waits\n", (unsigned long long)calls_made,
           (unsigned long long)stats.ranges_allocated, (unsigned long long)evicted, (unsigned long long)stats.ranges_freed,
           (unsigned long long)stats.pins_refused, (unsigned long long)stats.room_waits);
    STRESS_EXPECT(evicted > 0 && stats.ranges_freed > 0);
    STRESS_EXPECT(locus_pages_close(pages) == 0);
}

int main(int argc, char **argv)
{
    struct thread threads[THREADS_MAX];
    stress = stress_begin(argc, argv);
    unsigned count = argc > 3 ? (unsigned)atoi(argv[3]) : 2 + (unsigned)(stress.seed % (THREADS_MAX - 1));
    if (argc > 4)
        calls_most = strtoull(argv[4], NULL, 10);
    STRESS_EXPECT(count >= 1 && count <= THREADS_MAX);
    arena_open();
    for (unsigned i = 0; i < count; i++) {
        threads[i] = (struct thread){.random = stress_fork(stress.seed, i)};
        STRESS_EXPECT(pthread_create(&threads[i].id, NULL, thread_main, &threads[i]) == 0);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i].id, NULL);
    settle();
    return 0;
}
