// SPDX-License-Identifier: Apache-2.0
//
// adapter_stress: one owner of adapters, and threads that take its pages from it. The arena is shared with ranges of others, which
// evict what nobody pins and write over it at once; some evictions take their time, and some fail. Whoever holds an adapter finds
// the version that it acquired, whole, until it releases it. At the end no pin, page or warm copy is left.
//
//     adapter_stress [seconds [seed]]
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "locus/adapter.h"
#include "locus/int8.h"
#include "locus/pages.h"
#include "locus/pages_evict.h"
#include "locus/pages_report.h"
#include "locus/tier.h"
#include "placement/base/tests/stress.h"

#define PAGES 12u
#define ADAPTERS 12u
#define HOLDS 4u
#define TAKERS 3u
#define WEIGHTS 4096u
#define SAVED 4u

struct thread {
    pthread_t id;
    uint64_t random;
};

struct held {
    struct locus_adapter_hold hold; // version NULL: a free place
    uint16_t exact, kept;       // what all its weights are: as they were loaded, or as int8 keeps them
};

static struct stress stress;
static struct locus_pages *pages;
static struct locus_tier *cold, *warm;
static struct locus_adapters *adapters;
static _Atomic bool closing;
static _Atomic uint32_t left;   // ranges so far
static _Atomic locus_range saved[SAVED]; // told to leave, and not yet gone
static uint16_t exact[ADAPTERS], kept[ADAPTERS]; // of the newest version. The owner's
static struct held held[HOLDS]; // the owner's
static uint64_t now_ns, random_state; // the owner's

static int leave(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    (void)context, (void)kind, (void)owner, (void)memory, (void)bytes;
    if (atomic_load(&closing) || atomic_fetch_add(&left, 1) % 4 != 0)
        return 0;
    for (unsigned i = 0; i < SAVED; i++) {
        locus_range none = LOCUS_RANGE_NONE;
        if (atomic_compare_exchange_strong(&saved[i], &none, range))
            return 1;
    }
    return -EIO;
}

static void save_ends(unsigned i, int result)
{
    locus_range range = atomic_exchange(&saved[i], LOCUS_RANGE_NONE);
    if (range != LOCUS_RANGE_NONE)
        STRESS_EXPECT(locus_pages_evict_done(pages, range, result) == 0);
}

static void take(struct thread *me)
{
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 1 + stress_random(&me->random, 2)};
    locus_range range;
    if (locus_pages_alloc(pages, NULL, &ask, &range) != 0)
        return;
    memset(locus_pages_address(pages, range), 0xff, WEIGHTS * sizeof(uint16_t));
    STRESS_EXPECT(locus_pages_unpin(pages, range) == 0);
    if (stress_random(&me->random, 2))
        locus_pages_free(pages, NULL, range); // -ESTALE: it was evicted
}

static _Atomic bool over; // relaxed: written by the owner, read by the takers; the join orders the rest

static void *taker(void *argument)
{
    struct thread *me = argument;
    while (!atomic_load_explicit(&over, memory_order_relaxed))
        for (unsigned i = 0; i < 64; i++)
            if (stress_random(&me->random, 2))
                take(me);
            else
                save_ends(stress_random(&me->random, SAVED), stress_random(&me->random, 4) ? 0 : -EIO);
    return NULL;
}

// --- the owner ------------------------------------------------------------------------------------------------------------------

static void load(uint32_t number)
{
    static uint16_t weights[WEIGHTS];
    static char stored[WEIGHTS / LOCUS_INT8_GROUP * LOCUS_INT8_GROUP_BYTES];
    uint16_t one = (uint16_t)(0x3000 + stress_random(&random_state, 0x800));
    for (uint32_t i = 0; i < WEIGHTS; i++)
        weights[i] = one;
    STRESS_EXPECT(locus_adapters_load(adapters, now_ns, number, weights, sizeof weights) == 0);
    exact[number] = one;
    STRESS_EXPECT(locus_int8_from_f16(stored, weights, WEIGHTS) == 0 && locus_int8_to_f16(weights, stored, WEIGHTS) == 0);
    kept[number] = weights[0];
}

static void check(const struct held *one)
{
    const uint16_t *weights = one->hold.weights;
    STRESS_EXPECT(one->hold.bytes == WEIGHTS * sizeof *weights);
    STRESS_EXPECT(weights[0] == one->exact || weights[0] == one->kept);
    for (uint32_t i = 1; i < WEIGHTS; i++)
        STRESS_EXPECT(weights[i] == weights[0]);
}

static void acquire(struct held *one, uint32_t number)
{
    int error = locus_adapters_acquire(adapters, now_ns, number, &one->hold);
    STRESS_EXPECT(error == 0 || error == -EAGAIN || error == -ENOMEM || error == -ENOENT);
    if (error == -EAGAIN && stress_random(&random_state, 2))
        STRESS_EXPECT(locus_adapters_cancel(adapters, now_ns, number) == 0);
    if (error)
        return;
    one->exact = exact[number];
    one->kept = kept[number];
    check(one);
}

static void release(struct held *one)
{
    check(one);
    locus_adapters_release(adapters, now_ns, &one->hold);
    STRESS_EXPECT(!one->hold.version);
}

static void own(void)
{
    uint32_t number = stress_random(&random_state, ADAPTERS), what = stress_random(&random_state, 32);
    struct held *one = &held[stress_random(&random_state, HOLDS)];
    int error = 0;
    now_ns++;
    if (what == 0)
        load(number);
    else if (what == 1 && stress_random(&random_state, 4) == 0)
        error = locus_adapters_unload(adapters, now_ns, number);
    else if (what < 4)
        error = locus_adapters_prefetch(adapters, now_ns, number);
    else if (what < 8)
        error = locus_adapters_cancel(adapters, now_ns, number);
    else if (what < 12)
        locus_adapters_poll(adapters, now_ns, 0);
    else if (one->hold.version)
        release(one);
    else
        acquire(one, number);
    STRESS_EXPECT(error == 0 || error == -ENOENT || error == -ENOMEM);
}

static void all_open(void)
{
    struct locus_pages_config arena = {
        .size = sizeof arena, .page_bytes = 512u << 10, .pages = PAGES, .policy = LOCUS_POLICY_FIRST_TOUCH, .evict = leave};
    struct locus_tier_far_config far = {.size = sizeof far, .bytes = 8u << 20, .node = LOCUS_NODE_ANY};
    STRESS_EXPECT(locus_pages_open(&pages, &arena) == 0);
    STRESS_EXPECT(locus_tier_far_open(&cold, &far) == 0);
    STRESS_EXPECT(locus_tier_int8_open(&warm, &far) == 0);
    struct locus_adapters_config config = {.size = sizeof config, .pages = pages, .cold = cold, .warm = warm};
    config.policy_config =
        (struct locus_adapter_policy_config){.size = sizeof config.policy_config, .adapters = ADAPTERS, .hot = 3, .warm = 4};
    STRESS_EXPECT(locus_adapters_open(&adapters, &config) == 0);
    for (uint32_t number = 0; number < ADAPTERS; number++)
        load(number);
}

static bool each_way_was_taken(void)
{
    struct locus_adapters_stats stats;
    locus_adapters_stats(adapters, &stats);
    return stats.found_pages > 0 && stats.brought_warm > 0 && stats.brought_cold > 0 && stats.demoted > 0;
}

// A slow machine has another minute until it has gone each way.
static bool goes_on(void)
{
    double now_s = stress_now_s();
    return now_s < stress.end_s || (now_s < stress.end_s + 60 && !each_way_was_taken());
}

static void all_close(void)
{
    struct locus_adapters_stats stats;
    struct locus_pages_stats left_over;
    struct locus_tier_stats copies;
    closing = true;
    for (unsigned i = 0; i < SAVED; i++)
        save_ends(i, 0);
    for (unsigned i = 0; i < HOLDS; i++)
        if (held[i].hold.version)
            release(&held[i]);
    locus_adapters_stats(adapters, &stats);
    STRESS_EXPECT(stats.holds == 0 && stats.versions <= ADAPTERS);
    STRESS_EXPECT(each_way_was_taken());
    printf("%llu found, %llu from warm, %llu from cold, %llu demoted\n", (unsigned long long)stats.found_pages,
           (unsigned long long)stats.brought_warm, (unsigned long long)stats.brought_cold, (unsigned long long)stats.demoted);
    STRESS_EXPECT(locus_adapters_close(adapters) == 0);
    locus_tier_stats(warm, &copies);
    STRESS_EXPECT(copies.objects == 0);
    locus_pages_evict(pages, LOCUS_PAGES_KV, PAGES); // -ENOMEM: there were not so many
    locus_pages_stats(pages, &left_over);
    STRESS_EXPECT(left_over.ranges == 0 && left_over.pages_free == PAGES);
    locus_tier_close(warm);
    locus_tier_close(cold);
    STRESS_EXPECT(locus_pages_close(pages) == 0);
}

int main(int argc, char **argv)
{
    struct thread threads[TAKERS];
    stress = stress_begin(argc, argv);
    random_state = stress_fork(stress.seed, TAKERS);
    all_open();
    for (unsigned i = 0; i < TAKERS; i++) {
        threads[i] = (struct thread){.random = stress_fork(stress.seed, i)};
        STRESS_EXPECT(pthread_create(&threads[i].id, NULL, taker, &threads[i]) == 0);
    }
    while (goes_on())
        for (unsigned i = 0; i < 16; i++)
            own();
    atomic_store_explicit(&over, true, memory_order_relaxed);
    for (unsigned i = 0; i < TAKERS; i++)
        pthread_join(threads[i].id, NULL);
    all_close();
    return 0;
}
