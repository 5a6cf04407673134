// SPDX-License-Identifier: Apache-2.0
//
// process: see process.h.
//
// The calling thread is one of the threads. Each has a CPU of its own if there are enough, and draws of its own, the same in every
// lap and for every way. A lap lasts from the first thread's begin to the last one's end; laps begin when all threads have arrived.

#include "testbed/measure/pins/process.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/lane.h"
#include "locus/pages.h"
#include "testbed/measure/watch.h"
#include "testbed/stats/random.h"
#include "testbed/workload/adapters/popularity.h"
#include "topo/pin.h"

#define FIELD(type, member, unit, kind, ratio, what) TB_SLOT(struct tb_pinned, type, member, unit, what),
#define TIME(type, member, unit, ratio, what) TB_SLOT(struct tb_pinned, type, member, unit, what),
const struct tb_slot tb_pinned_fields[] = {TB_PINNED_FIELDS(FIELD) TB_PIN_TIME_FIELDS(TIME) TB_SLOT_END};
#undef FIELD
#undef TIME

#define PAGE_BYTES (UINT64_C(512) << 10) // of address space; 4 KiB of each are touched
#define WORDS_APART 64u // ranges begin far apart, and their first words would compete for one set of a cache

struct run;

struct thread {
    _Alignas(64) struct tb_pins_hand hand;
    struct run *run;
    pthread_t thread;
    int cpu;                    // -1: none of its own
    uint64_t met;               // how often it has met the others
    uint64_t *begin_ns, *end_ns; // [timed laps]
    uint16_t draws[TB_PINS_PAIRS];
};

struct run {
    struct tb_job *job;
    const struct tb_pins_way *way;
    const struct tb_pins_plan *plan;
    struct tb_pins_world world;
    struct tb_popularity popularity;
    uint32_t *order;            // the range of each rank
    struct thread *threads;
    uint32_t count;
    bool pinned;
    uint64_t clock_ns;          // what reading the clock costs
    struct tb_watch watch;
    // Threads that arrived, of all meetings. M1 (acq_rel) in meet(), partner M2 (acquire) there: who goes on sees what all did.
    _Alignas(64) _Atomic uint64_t arrived;
    _Atomic bool stopped;       // a thread could not be started, so nobody may wait for it. Relaxed: it orders nothing
};

// --- the world -----------------------------------------------------------------------------------------------------------------

static uint64_t word_of(uint32_t range)
{
    uint64_t state = range;
    return tb_random_next(&state);
}

static int pages_open(struct run *run)
{
    struct locus_pages_config config = {.size = sizeof config,
                                        .page_bytes = PAGE_BYTES,
                                        .pages = run->world.ranges,
                                        .page = LOCUS_PAGE_4K,
                                        .policy = LOCUS_POLICY_FIRST_TOUCH};
    int error = locus_pages_open(&run->world.pages, &config);
    if (error)
        locus_pages_why(&config, error, run->job->sample.invalid, sizeof run->job->sample.invalid);
    return error;
}

// A page each, with a word in it, and unpinned.
static int ranges_make(struct tb_pins_world *world)
{
    int error = 0;
    for (uint32_t i = 0; i < world->ranges && !error; i++) {
        struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 1, .owner = i};
        error = locus_pages_alloc(world->pages, NULL, &ask, &world->range[i]);
        if (error)
            break;
        char *memory = locus_pages_address(world->pages, world->range[i]);
        uint64_t *word = (uint64_t *)(void *)(memory + i % WORDS_APART * 64);
        *word = word_of(i);
        world->word[i] = word;
        error = locus_pages_unpin(world->pages, world->range[i]);
    }
    return error;
}

static int world_open(struct run *run)
{
    struct tb_pins_world *world = &run->world;
    world->ranges = run->plan->settings.ranges;
    size_t slots_bytes = world->ranges * sizeof *world->slot;
    world->range = calloc(world->ranges, sizeof *world->range);
    world->word = calloc(world->ranges, sizeof *world->word);
    world->slot = aligned_alloc(_Alignof(union tb_pins_slot), slots_bytes);
    if (!world->range || !world->word || !world->slot)
        return -ENOMEM;
    memset(world->slot, 0, slots_bytes);
    int error = pages_open(run);
    if (!error)
        error = ranges_make(world);
    return !error && run->way->open ? run->way->open(world) : error;
}

static void world_close(struct tb_pins_world *world)
{
    locus_pages_close(world->pages);
    free(world->range);
    free(world->word);
    free(world->slot);
}

static int draws_open(struct run *run)
{
    uint64_t random = ~(uint64_t)run->plan->settings.seed; // not the threads'
    run->order = calloc(run->world.ranges, sizeof *run->order);
    if (!run->order)
        return -ENOMEM;
    tb_random_order(run->order, run->world.ranges, &random);
    return run->plan->zipf ? tb_popularity_open(&run->popularity, run->world.ranges) : 0;
}

// --- a thread ------------------------------------------------------------------------------------------------------------------

// By the thread itself, so that its pages are near it. Seeds are far apart, because random.h goes through one sequence by equal
// steps.
static void hand_make(struct thread *thread)
{
    struct run *run = thread->run;
    thread->hand = (struct tb_pins_hand){.world = &run->world, .draws = thread->draws, .clock_ns = run->clock_ns};
    uint64_t random = run->plan->settings.seed + ((uint64_t)(thread - run->threads) << 32);
    random = tb_random_next(&random);
    for (uint32_t i = 0; i < TB_PINS_PAIRS; i++)
        thread->draws[i] = (uint16_t)run->order[run->plan->zipf ? tb_popularity_draw(&run->popularity, &random)
                                                                : tb_random_next(&random) % run->world.ranges];
}

// False: it will not be.
static bool meet(struct thread *thread)
{
    struct run *run = thread->run;
    uint64_t all = ++thread->met * run->count;
    atomic_fetch_add_explicit(&run->arrived, 1, memory_order_acq_rel);           // M1
    while (atomic_load_explicit(&run->arrived, memory_order_acquire) < all) {    // M2
        if (atomic_load_explicit(&run->stopped, memory_order_relaxed))
            return false;
        if (run->pinned)
            locus_cpu_relax();
        else
            sched_yield();
    }
    return true;
}

// The first thread, which is the caller, watches the timed laps while the others wait for it.
static bool laps(struct thread *thread)
{
    struct run *run = thread->run;
    uint32_t warmup = run->job->laps_warmup, all = warmup + run->job->laps;
    bool watches = thread == run->threads;
    for (uint32_t lap = 0; lap < all; lap++) {
        if (watches && lap == warmup)
            tb_watch_start(&run->watch);
        if (!meet(thread))
            return false;
        uint64_t begin_ns = tb_latency_now_ns();
        run->way->lap(&thread->hand);
        uint64_t end_ns = tb_latency_now_ns();
        if (lap >= warmup) {
            thread->begin_ns[lap - warmup] = begin_ns;
            thread->end_ns[lap - warmup] = end_ns;
        }
        if (!meet(thread))
            return false;
    }
    return true;
}

static void *thread_main(void *argument)
{
    struct thread *thread = argument;
    struct run *run = thread->run;
    if (thread->cpu >= 0)
        locus_pin_cpu(thread->cpu);
    hand_make(thread);
    if (!laps(thread))
        return NULL;
    if (thread == run->threads && run->pinned) // threads that share CPUs wait for each other
        tb_watch_stop(&run->watch, &run->job->sample);
    if (meet(thread))
        run->way->lap_timed(&thread->hand);
    return NULL;
}

static int threads_open(struct run *run)
{
    static unsigned cpus[TB_WORKERS_MAX];
    unsigned cpus_count = 0;
    uint32_t wanted = run->plan->settings.threads;
    int error = locus_pin_allowed(cpus, TB_WORKERS_MAX, &cpus_count);
    run->threads = aligned_alloc(_Alignof(struct thread), wanted * sizeof *run->threads);
    if (error || !run->threads)
        return error ? error : -ENOMEM;
    run->clock_ns = tb_latency_clock_ns();
    run->pinned = wanted <= cpus_count;
    for (; run->count < wanted && !error; run->count++) {
        struct thread *thread = &run->threads[run->count];
        thread->run = run;
        thread->cpu = run->pinned ? (int)cpus[run->count] : -1;
        thread->met = 0;
        thread->begin_ns = calloc(run->job->laps, sizeof *thread->begin_ns);
        thread->end_ns = calloc(run->job->laps, sizeof *thread->end_ns);
        error = thread->begin_ns && thread->end_ns ? 0 : -ENOMEM;
    }
    return error;
}

static int threads_run(struct run *run)
{
    uint32_t started = 1;
    int error = 0;
    for (; started < run->count && !error; started += !error)
        error = -pthread_create(&run->threads[started].thread, NULL, thread_main, &run->threads[started]);
    if (error)
        atomic_store_explicit(&run->stopped, true, memory_order_relaxed);
    else
        thread_main(&run->threads[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(run->threads[i].thread, NULL);
    return error;
}

static void threads_close(struct run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        free(run->threads[i].begin_ns);
        free(run->threads[i].end_ns);
    }
    free(run->threads);
}

// --- the sample ----------------------------------------------------------------------------------------------------------------

static void invalid(struct run *run, const char *what, uint64_t is, uint64_t must)
{
    struct tb_sample *sample = &run->job->sample;
    if (is != must && !sample->invalid[0])
        snprintf(sample->invalid, sizeof sample->invalid, "%s: %llu, not %llu", what, (unsigned long long)is,
                 (unsigned long long)must);
}

// Does the way hold what it is asked to hold, and give it back?
static void probe(struct run *run)
{
    struct tb_pins_world *world = &run->world;
    uint64_t pinned = 0, unpinned = 0;
    for (uint32_t i = 0; i < world->ranges; i++)
        pinned += run->way->pin(world, i) == 0;
    invalid(run, "ranges that could be pinned, one by one", pinned, world->ranges);
    invalid(run, "ranges held with each pinned once", run->way->held(world), world->ranges);
    for (uint32_t i = 0; i < world->ranges; i++)
        unpinned += run->way->unpin(world, i) == 0;
    invalid(run, "pins that could be given back, one by one", unpinned, world->ranges);
    invalid(run, "ranges held with each given back", run->way->held(world), 0);
}

// Each thread has read the words that it drew, unless a pin was refused; and nobody holds anything.
static void books(struct run *run)
{
    struct tb_sample *sample = &run->job->sample;
    uint64_t laps_count = run->job->laps_warmup + run->job->laps + 1, asked = laps_count * TB_PINS_PAIRS * run->count, failed = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        const struct tb_pins_hand *hand = &run->threads[i].hand;
        uint64_t sum = 0;
        for (uint32_t d = 0; d < TB_PINS_PAIRS; d++)
            sum += word_of(hand->draws[d]);
        if (!hand->refused)
            invalid(run, "sum of the words that a thread read", hand->sum, laps_count * sum);
        sample->pinned.pins_refused += hand->refused;
        failed += hand->failed;
    }
    sample->touched_bytes = (asked - sample->pinned.pins_refused) * sizeof(uint64_t);
    sample->touched_bytes_expected = asked * sizeof(uint64_t);
    invalid(run, "pins that could not be given back", failed, 0);
    invalid(run, "ranges held after all laps", run->way->held(&run->world), 0);
}

// Lap by lap. Returns what each thread took itself, of all laps and threads.
static double laps_note(struct run *run, double out_ns[])
{
    double own_ns = 0;
    for (uint32_t lap = 0; lap < run->job->laps; lap++) {
        uint64_t begin_ns = UINT64_MAX, end_ns = 0;
        for (uint32_t i = 0; i < run->count; i++) {
            const struct thread *thread = &run->threads[i];
            uint64_t took_ns = thread->end_ns[lap] - thread->begin_ns[lap], clock_ns = run->clock_ns;
            begin_ns = thread->begin_ns[lap] < begin_ns ? thread->begin_ns[lap] : begin_ns;
            end_ns = thread->end_ns[lap] > end_ns ? thread->end_ns[lap] : end_ns;
            own_ns += took_ns > clock_ns ? (double)(took_ns - clock_ns) : 0;
        }
        out_ns[lap] = (double)(end_ns - begin_ns);
    }
    return own_ns;
}

static void figures(struct run *run)
{
    static struct tb_latency pin, unpin;
    struct tb_job *job = run->job;
    struct tb_sample *sample = &job->sample;
    struct tb_pinned *out = &sample->pinned;
    double own_ns = laps_note(run, job->lap_ns);
    tb_job_laps_sum(job);
    out->pairs_per_s = (double)TB_PINS_PAIRS * run->count * 1e9 / sample->lap_ns;
    out->pair_ns = own_ns / ((double)TB_PINS_PAIRS * run->count * job->laps);
    pin = unpin = (struct tb_latency){.count = 0};
    for (uint32_t i = 0; i < run->count; i++) {
        tb_latency_join(&pin, &run->threads[i].hand.pin);
        tb_latency_join(&unpin, &run->threads[i].hand.unpin);
    }
    out->pin_p50_ns = tb_latency_quantile_ns(&pin, 0.5);
    out->pin_p99_ns = tb_latency_quantile_ns(&pin, 0.99);
    out->unpin_p50_ns = tb_latency_quantile_ns(&unpin, 0.5);
    out->unpin_p99_ns = tb_latency_quantile_ns(&unpin, 0.99);
    sample->workers_pinned = run->pinned;
}

static int measure(struct run *run)
{
    int error = threads_open(run);
    if (!error)
        probe(run);
    if (error || run->job->sample.invalid[0])
        return error;
    error = threads_run(run);
    if (!error) {
        books(run);
        figures(run);
    }
    return error;
}

int tb_pins_run(struct tb_job *job, const struct tb_pins_way *way, const struct tb_schedule *schedule)
{
    struct run *run = aligned_alloc(_Alignof(struct run), sizeof *run);
    struct tb_sample *sample = &job->sample;
    if (!run)
        return -ENOMEM;
    *run = (struct run){.job = job, .way = way, .plan = tb_pins_plan(schedule)};
    int error = job->laps == 0 || job->laps > TB_LAPS_MAX || job->laps_warmup > TB_LAPS_MAX ? -EINVAL : world_open(run);
    if (!error)
        error = draws_open(run);
    if (!error)
        error = measure(run);
    threads_close(run);
    tb_popularity_close(&run->popularity);
    free(run->order);
    world_close(&run->world);
    free(run);
    sample->valid = !error && !sample->invalid[0];
    sample->ran = !error || sample->invalid[0];
    return sample->ran ? 0 : error;
}
