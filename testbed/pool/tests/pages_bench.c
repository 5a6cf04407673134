// SPDX-License-Identifier: Apache-2.0
//
// pages_bench: what the calls of an arena of pages cost. Started by `make bench-pages`.
//
//   pages_bench [ROUNDS [calls|pins|threads]]        60 rounds of all
//
//   calls    ns of each call alone, one thread, in batches between two readings of the clock, whose cost is subtracted
//   pins     pin and unpin by all CPUs, of ranges of which few are popular (Zipf), against a spin lock, a rwlock and a plain atomic
//            count around a table of the same size. Ratios are the other way's time over ours
//   threads  each call between two readings of the clock, by 1 to all CPUs: percentiles, on the CPU's own node and on the farthest
//
// Exit status: 0 all goals are met, 1 one is not shown, 2 cannot measure.
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "locus/pages.h"
#include "locus/pages_evict.h"
#include "locus/pages_report.h"
#include "testbed/stats/latency.h"
#include "testbed/stats/random.h"
#include "testbed/stats/tests/contest.h"
#include "topo/topo.h"

#define PAGES 4096u
#define BATCH 16u                // calls between two readings: a magazine of the default size
#define BATCHES 500u             // of each measurement
#define HUNDRED 100u
#define THREADS_MAX 256u

static uint32_t rounds = 60;
static struct locus_pages *pages;
static double clock_ns;

// Mapped but not touched: the calls do not touch it either.
static void world_open(int node)
{
    struct locus_pages_config config = {.size = sizeof config,
                                        .pages = PAGES,
                                        .page = LOCUS_PAGE_4K,
                                        .policy = node < 0 ? LOCUS_POLICY_FIRST_TOUCH : LOCUS_POLICY_BIND,
                                        .node = node};
    CONTEST_NEED(locus_pages_open(&pages, &config));
}

static locus_range allocated(struct locus_magazine *magazine, uint32_t count, uint64_t owner)
{
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = count, .owner = owner};
    locus_range range;
    CONTEST_NEED(locus_pages_alloc(pages, magazine, &ask, &range));
    return range;
}

static void let_go(struct locus_magazine *magazine, locus_range range)
{
    CONTEST_NEED(locus_pages_unpin(pages, range));
    CONTEST_NEED(locus_pages_free(pages, magazine, range));
}

// --- calls ----------------------------------------------------------------------------------------------------------------------

struct call {
    struct locus_magazine *magazine;
    uint32_t count;             // of pages
    locus_range ranges[BATCH];
};

// Half of the arena is in use, in pieces of 1 to 60 pages with holes of as many between them, and one hole is large.
static void scatter(void)
{
    static locus_range holes[PAGES];
    uint64_t random = 1;
    uint32_t count = 0, used = 0;
    while (used < PAGES / 2) {
        uint32_t length = 1 + (uint32_t)(tb_random_next(&random) % 60);
        locus_range range = allocated(NULL, length, 1);
        used += length;
        if (tb_random_next(&random) % 2)
            holes[count++] = range;
    }
    while (count > 0)
        let_go(NULL, holes[--count]);
}

static double per_call(double sum_ns)
{
    return (sum_ns - BATCHES * clock_ns) / (BATCHES * (double)BATCH);
}

static double allocate_measure(void *context)
{
    struct call *call = context;
    double sum_ns = 0;
    for (uint32_t i = 0; i < BATCHES; i++) {
        double begin_ns = contest_now_ns();
        for (uint32_t j = 0; j < BATCH; j++)
            call->ranges[j] = allocated(call->magazine, call->count, j);
        sum_ns += contest_now_ns() - begin_ns;
        for (uint32_t j = 0; j < BATCH; j++)
            let_go(call->magazine, call->ranges[j]);
    }
    return per_call(sum_ns);
}

static double free_measure(void *context)
{
    struct call *call = context;
    double sum_ns = 0;
    for (uint32_t i = 0; i < BATCHES; i++) {
        for (uint32_t j = 0; j < BATCH; j++) {
            call->ranges[j] = allocated(call->magazine, call->count, j);
            CONTEST_NEED(locus_pages_unpin(pages, call->ranges[j]));
        }
        double begin_ns = contest_now_ns();
        for (uint32_t j = 0; j < BATCH; j++)
            CONTEST_NEED(locus_pages_free(pages, call->magazine, call->ranges[j]));
        sum_ns += contest_now_ns() - begin_ns;
    }
    return per_call(sum_ns);
}

static double pin_or_unpin(struct call *call, bool unpin)
{
    double sum_ns = 0;
    for (uint32_t j = 0; j < BATCH; j++)
        CONTEST_NEED(locus_pages_unpin(pages, call->ranges[j] = allocated(NULL, 1, j)));
    for (uint32_t i = 0; i < BATCHES; i++) {
        double begin_ns = contest_now_ns();
        for (uint32_t j = 0; j < BATCH; j++)
            CONTEST_NEED(locus_pages_pin(pages, call->ranges[j]));
        double middle_ns = contest_now_ns();
        for (uint32_t j = 0; j < BATCH; j++)
            CONTEST_NEED(locus_pages_unpin(pages, call->ranges[j]));
        sum_ns += unpin ? contest_now_ns() - middle_ns : middle_ns - begin_ns;
    }
    for (uint32_t j = 0; j < BATCH; j++)
        CONTEST_NEED(locus_pages_free(pages, NULL, call->ranges[j]));
    return per_call(sum_ns);
}

static double pin_measure(void *context)
{
    return pin_or_unpin(context, false);
}

static double unpin_measure(void *context)
{
    return pin_or_unpin(context, true);
}

// Of an arena full of single pages that nobody pins: each allocation evicts the one that was used longest ago.
static double evict_measure(void *context)
{
    struct locus_pages *was = pages;
    double sum_ns = 0;
    uint64_t now_ns = 0;
    (void)context;
    world_open(-1);
    for (uint32_t i = 0; i < PAGES; i++) {
        locus_pages_set_time(pages, ++now_ns);
        CONTEST_NEED(locus_pages_unpin(pages, allocated(NULL, 1, i)));
    }
    for (uint32_t i = 0; i < BATCHES; i++) {
        double begin_ns = contest_now_ns();
        for (uint32_t j = 0; j < BATCH; j++) {
            locus_pages_set_time(pages, ++now_ns);
            CONTEST_NEED(locus_pages_unpin(pages, allocated(NULL, 1, now_ns)));
        }
        sum_ns += contest_now_ns() - begin_ns;
    }
    CONTEST_NEED(locus_pages_close(pages));
    pages = was;
    return per_call(sum_ns);
}

static bool calls_run(void)
{
    static struct call with, without, hundred;
    struct contest contest = {
        .title = "calls, one thread, ns each",
        .rounds = rounds,
        .arms = {{"allocate a page, magazine", allocate_measure, &with, CONTEST_NS_AT_MOST, 20},
                 {"allocate a page, arena", allocate_measure, &without, CONTEST_NONE, 0},
                 {"free a page, magazine", free_measure, &with, CONTEST_NONE, 0},
                 {"allocate 100 pages", allocate_measure, &hundred, CONTEST_NS_AT_MOST, 300},
                 {"free 100 pages", free_measure, &hundred, CONTEST_NONE, 0},
                 {"pin", pin_measure, &without, CONTEST_NS_AT_MOST, 10},
                 {"unpin", unpin_measure, &without, CONTEST_NS_AT_MOST, 10},
                 {"evict a page, and allocate it", evict_measure, NULL, CONTEST_NS_AT_MOST, 1000}},
        .arms_count = 8,
    };
    world_open(-1);
    scatter();
    with.count = without.count = 1;
    hundred.count = HUNDRED;
    CONTEST_NEED(locus_magazine_open(&with.magazine, pages));
    bool met = contest_run(&contest);
    locus_magazine_close(with.magazine);
    return met;
}

// --- pins -----------------------------------------------------------------------------------------------------------------------

#define ZIPF_RANGES 256u
#define ZIPF_DRAWS 8192u         // a power of two
#define PIN_PAIRS 40000u         // of each thread in each measurement

enum way { WAY_PAGES, WAY_COUNT, WAY_SPIN, WAY_RWLOCK };

static struct {
    locus_range ranges[ZIPF_RANGES];
    struct {
        _Alignas(64) _Atomic uint64_t pins;
        uint64_t last_use;
        pthread_spinlock_t spin;
        pthread_rwlock_t rwlock;
    } table[ZIPF_RANGES];
    uint16_t draws[ZIPF_DRAWS];
    unsigned threads;
    int cpus[THREADS_MAX];
    _Atomic unsigned arrived;
    _Atomic unsigned failed;
} pins;

// Popularity falls as one over the rank.
static void zipf_draw(void)
{
    double sum = 0, below[ZIPF_RANGES];
    uint64_t random = 5;
    for (uint32_t i = 0; i < ZIPF_RANGES; i++)
        below[i] = sum += 1.0 / (i + 1);
    for (uint32_t i = 0; i < ZIPF_DRAWS; i++) {
        double at = (double)(tb_random_next(&random) >> 11) * 0x1p-53 * sum;
        uint16_t rank = 0;
        while (below[rank] < at)
            rank++;
        pins.draws[i] = rank;
    }
}

// What all ways do: one more holder, the time of use, one holder less.
static void pair_of(enum way way, uint32_t i)
{
    switch (way) {
    case WAY_PAGES:
        if (locus_pages_pin(pages, pins.ranges[i]) || locus_pages_unpin(pages, pins.ranges[i]))
            atomic_fetch_add(&pins.failed, 1);
        return;
    case WAY_COUNT:
        atomic_fetch_add_explicit(&pins.table[i].pins, 1, memory_order_acquire);
        __atomic_store_n(&pins.table[i].last_use, 1, __ATOMIC_RELAXED);
        atomic_fetch_sub_explicit(&pins.table[i].pins, 1, memory_order_release);
        return;
    case WAY_SPIN:
        for (int more = 1; more >= -1; more -= 2) {
            pthread_spin_lock(&pins.table[i].spin);
            pins.table[i].pins = pins.table[i].pins + (uint64_t)more;
            pins.table[i].last_use = 1;
            pthread_spin_unlock(&pins.table[i].spin);
        }
        return;
    case WAY_RWLOCK:
        pthread_rwlock_rdlock(&pins.table[i].rwlock);
        __atomic_store_n(&pins.table[i].last_use, 1, __ATOMIC_RELAXED);
        pthread_rwlock_unlock(&pins.table[i].rwlock);
    }
}

struct pinner {
    enum way way;
    unsigned at;
    double took_ns;
};

static void pin_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *pinner_main(void *argument)
{
    struct pinner *me = argument;
    pin_to(pins.cpus[me->at]);
    atomic_fetch_add(&pins.arrived, 1);
    while (atomic_load(&pins.arrived) < pins.threads)
        ;
    double begin_ns = contest_now_ns();
    for (uint32_t i = 0; i < PIN_PAIRS; i++)
        pair_of(me->way, pins.draws[(i + me->at * 977) % ZIPF_DRAWS]);
    me->took_ns = contest_now_ns() - begin_ns;
    return NULL;
}

// ns for a pair, by all threads together.
static double pins_measure(void *context)
{
    struct pinner pinners[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    double longest_ns = 0;
    pins.arrived = 0;
    for (unsigned i = 0; i < pins.threads; i++) {
        pinners[i] = (struct pinner){*(enum way *)context, i, 0};
        CONTEST_NEED(pthread_create(&threads[i], NULL, pinner_main, &pinners[i]));
    }
    for (unsigned i = 0; i < pins.threads; i++) {
        pthread_join(threads[i], NULL);
        longest_ns = fmax(longest_ns, pinners[i].took_ns);
    }
    return longest_ns / ((double)PIN_PAIRS * pins.threads);
}

static void cpus_find(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE && pins.threads < THREADS_MAX; cpu++)
        if (CPU_ISSET((size_t)cpu, &set))
            pins.cpus[pins.threads++] = cpu;
}

static bool pins_run(void)
{
    static enum way ways[] = {WAY_PAGES, WAY_COUNT, WAY_SPIN, WAY_RWLOCK};
    char title[128];
    struct contest contest = {
        .title = title,
        .rounds = rounds,
        .arms = {{"pages", pins_measure, &ways[0], CONTEST_NONE, 0},
                 {"plain atomic count", pins_measure, &ways[1], CONTEST_RATIO_AT_LEAST, 1},
                 {"spin lock", pins_measure, &ways[2], CONTEST_RATIO_AT_LEAST, 1},
                 {"rwlock", pins_measure, &ways[3], CONTEST_RATIO_AT_LEAST, 1}},
        .arms_count = 4,
    };
    struct locus_pages_stats stats;
    snprintf(title, sizeof title, "pin and unpin by %u CPUs, Zipf over %u ranges, ns a pair", pins.threads, ZIPF_RANGES);
    zipf_draw();
    world_open(-1);
    for (uint32_t i = 0; i < ZIPF_RANGES; i++) {
        CONTEST_NEED(locus_pages_unpin(pages, pins.ranges[i] = allocated(NULL, 1, i)));
        pthread_spin_init(&pins.table[i].spin, PTHREAD_PROCESS_PRIVATE);
        pthread_rwlock_init(&pins.table[i].rwlock, NULL);
    }
    bool met = contest_run(&contest);
    locus_pages_stats(pages, &stats);
    CONTEST_NEED(locus_pages_close(pages));
    printf("  %llu pins refused, %u calls failed; a pin has no loop, so nothing is tried again\n",
           (unsigned long long)stats.pins_refused, (unsigned)pins.failed);
    return met && pins.failed == 0;
}

// --- threads --------------------------------------------------------------------------------------------------------------------

#define TIMED_CALLS 20000u       // of each kind and thread

enum timed { TIMED_ALLOCATE, TIMED_HUNDRED, TIMED_PIN, TIMED_UNPIN, TIMED_FREE, TIMED };
static const char *const timed_names[TIMED] = {"allocate a page", "allocate 100 pages", "pin", "unpin", "free a page"};

struct timer {
    struct tb_latency latency[TIMED];
    unsigned at;
};

static uint64_t reading_ns; // of tb_latency_now_ns()

#define CLOCKED(timer, what, call)                                                                                                 \
    do {                                                                                                                           \
        uint64_t begin_ns = tb_latency_now_ns();                                                                                   \
        int clocked_error = (call);                                                                                                \
        tb_latency_add(&(timer)->latency[what], tb_latency_now_ns() - begin_ns, reading_ns);                                       \
        CONTEST_NEED(clocked_error);                                                                                               \
    } while (0)

static void *timer_main(void *argument)
{
    struct timer *me = argument;
    struct locus_magazine *magazine;
    struct locus_pages_request one = {.kind = LOCUS_PAGES_KV, .pages = 1}, many = {.kind = LOCUS_PAGES_KV, .pages = HUNDRED};
    pin_to(pins.cpus[me->at]);
    CONTEST_NEED(locus_magazine_open(&magazine, pages));
    for (uint32_t i = 0; i < TIMED_CALLS; i++) {
        locus_range range;
        CLOCKED(me, TIMED_ALLOCATE, locus_pages_alloc(pages, magazine, &one, &range));
        CLOCKED(me, TIMED_PIN, locus_pages_pin(pages, range));
        CLOCKED(me, TIMED_UNPIN, locus_pages_unpin(pages, range));
        CONTEST_NEED(locus_pages_unpin(pages, range));
        CLOCKED(me, TIMED_FREE, locus_pages_free(pages, magazine, range));
        if (i % 8 == 0 && me->at * HUNDRED < PAGES / 4) { // more would not find room
            CLOCKED(me, TIMED_HUNDRED, locus_pages_alloc(pages, NULL, &many, &range));
            let_go(NULL, range);
        }
    }
    locus_magazine_close(magazine);
    return NULL;
}

static void table_print(unsigned count, const char *where)
{
    static struct timer timers[THREADS_MAX];
    static struct tb_latency sum;
    pthread_t threads[THREADS_MAX];
    memset(timers, 0, count * sizeof *timers);
    for (unsigned i = 0; i < count; i++) {
        timers[i].at = i;
        CONTEST_NEED(pthread_create(&threads[i], NULL, timer_main, &timers[i]));
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int what = 0; what < TIMED; what++) {
        memset(&sum, 0, sizeof sum);
        for (unsigned i = 0; i < count; i++)
            tb_latency_join(&sum, &timers[i].latency[what]);
        printf("  %3u  %-22s %-20s %7.0f %7.0f %7.0f\n", count, where, timed_names[what], tb_latency_quantile_ns(&sum, 0.5),
               tb_latency_quantile_ns(&sum, 0.99), tb_latency_quantile_ns(&sum, 0.999));
    }
}

static void threads_run(void)
{
    struct locus_topo *topo;
    char why[256], where[64];
    unsigned nodes = 0;
    reading_ns = tb_latency_clock_ns();
    printf("\neach call alone, the clock's %llu ns taken off\n", (unsigned long long)reading_ns);
    printf("  CPUs                         call                     p50     p99   p99.9\n");
    if (locus_topo_open(&topo, NULL, why, sizeof why)) {
        fprintf(stderr, "pages_bench: %s\n", why);
        exit(2);
    }
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count; i++)
        nodes += locus_topo_nodes(topo)[i].memory.total_bytes > 0;
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count; i++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[i];
        if (node->memory.total_bytes == 0)
            continue;
        snprintf(where, sizeof where, "table on node %d", node->os_index);
        world_open(nodes > 1 ? node->os_index : -1);
        scatter();
        for (unsigned count = 1; count < pins.threads; count *= 2)
            table_print(count, where);
        table_print(pins.threads, where);
    }
    if (nodes == 1)
        printf("  near against far memory: not measurable on this host, which has one node\n");
    locus_topo_close(topo);
}

int main(int argc, char **argv)
{
    const char *part = argc > 2 ? argv[2] : "";
    rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : rounds;
    if (rounds == 0 || rounds > CONTEST_ROUNDS_MAX) {
        fprintf(stderr, "usage: pages_bench [ROUNDS [calls|pins|threads]]\n");
        return 2;
    }
    bool met = true;
    cpus_find();
    clock_ns = (double)tb_latency_clock_ns();
    if (*part == '\0' || strcmp(part, "calls") == 0)
        met &= calls_run();
    if (*part == '\0' || strcmp(part, "pins") == 0)
        met &= pins_run();
    if (*part == '\0' || strcmp(part, "threads") == 0)
        threads_run();
    return met ? 0 : 1;
}
