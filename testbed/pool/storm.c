// SPDX-License-Identifier: Apache-2.0
//
// storm: the arena, the objects and the threads, and who waits for them; see storm.h.
#include "testbed/pool/storm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testbed/pool/storm_internal.h"
#include "testbed/stats/random.h"

#define TICK_NS 100000000
#define STUCK_TICKS 600u        // a minute: far above what a loaded machine or a sanitizer needs for one step

// --- objects -------------------------------------------------------------------------------------------------------------------

// Few of them large. A size is at most a sixteenth of the arena, so that a stretch can always be found between pins.
static void object_make(struct object *object, uint64_t nth, uint32_t arena_pages, uint64_t *random)
{
    static const uint8_t kinds[10] = {LOCUS_PAGES_KV,      LOCUS_PAGES_KV,        LOCUS_PAGES_KV,      LOCUS_PAGES_KV,
                                      LOCUS_PAGES_ADAPTER, LOCUS_PAGES_ADAPTER,   LOCUS_PAGES_ADAPTER, LOCUS_PAGES_SCRATCH,
                                      LOCUS_PAGES_SCRATCH, LOCUS_PAGES_ACTIVATION};
    static const uint32_t largest[LOCUS_PAGES_KINDS] = {
        [LOCUS_PAGES_KV] = 64, [LOCUS_PAGES_ADAPTER] = 8, [LOCUS_PAGES_SCRATCH] = 4, [LOCUS_PAGES_ACTIVATION] = 16};
    static const uint64_t page_cost_ns[LOCUS_PAGES_KINDS] = {[LOCUS_PAGES_KV] = 10000000,
                                                             [LOCUS_PAGES_ADAPTER] = 1000000,
                                                             [LOCUS_PAGES_SCRATCH] = 1000,
                                                             [LOCUS_PAGES_ACTIVATION] = 100000};
    enum locus_pages_kind kind = kinds[tb_random_next(random) % 10];
    uint32_t most = largest[kind] < arena_pages / 16 ? largest[kind] : arena_pages / 16;
    uint64_t a = tb_random_next(random) % (most ? most : 1), b = tb_random_next(random) % (most ? most : 1);
    object->kind = kind;
    object->pages = 1 + (uint32_t)(most ? a * b / most : 0);
    object->owner = nth + 1;
    object->cost_ns = object->pages * page_cost_ns[kind];
}

static int objects_make(struct tb_storm *storm)
{
    uint32_t arena_pages = storm->config.pages.pages;
    uint64_t random = storm->storm.seed, wanted = (uint64_t)arena_pages * TB_STORM_LOAD_PERCENT / 100;
    storm->objects = calloc(wanted + 1, sizeof *storm->objects); // each has a page at least
    if (!storm->objects)
        return -ENOMEM;
    for (; storm->object_pages < wanted; storm->objects_count++) {
        struct object *object = &storm->objects[storm->objects_count];
        object_make(object, storm->objects_count, arena_pages, &random);
        storm->object_pages += object->pages;
    }
    return 0;
}

// --- open and close ------------------------------------------------------------------------------------------------------------

static int workers_open(struct tb_storm *storm)
{
    bool zones = storm->config.pages.split == LOCUS_SPLIT_ZONES;
    uint64_t random = storm->storm.seed ^ UINT64_C(0x5851f42d4c957f2d);
    storm->workers = aligned_alloc(64, storm->storm.threads * sizeof *storm->workers);
    if (!storm->workers)
        return -ENOMEM;
    memset(storm->workers, 0, storm->storm.threads * sizeof *storm->workers);
    int error = 0;
    for (uint32_t i = 0; !error && i < storm->storm.threads; i++) {
        struct worker *worker = &storm->workers[i];
        worker->storm = storm;
        worker->random = tb_random_next(&random);
        error = zones ? 0 : locus_magazine_open(&worker->magazine, storm->pages);
    }
    return error;
}

int tb_storm_open(struct tb_storm **out, const struct tb_pool_config *config, const struct tb_storm_config *storm_config, char *why,
                  size_t why_bytes)
{
    struct tb_storm *storm = calloc(1, sizeof *storm);
    if (!storm) {
        snprintf(why, why_bytes, "out of memory");
        return -ENOMEM;
    }
    storm->config = *config;
    storm->storm = *storm_config;
    pthread_mutex_init(&storm->saves_lock, NULL);
    pthread_mutex_init(&storm->wrong_lock, NULL);
    struct locus_pages_config *pages = &storm->config.pages;
    pages->size = sizeof *pages;
    pages->evict = tb_storm_leave;
    pages->context = storm;
    int error = locus_pages_open(&storm->pages, pages);
    if (error) {
        locus_pages_why(pages, error, why, why_bytes);
    } else {
        error = objects_make(storm);
        if (!error)
            error = workers_open(storm);
        if (error)
            snprintf(why, why_bytes, "%s", strerror(-error));
    }
    storm->clock_ns = tb_latency_clock_ns();
    if (error)
        tb_storm_close(storm);
    else
        *out = storm;
    return error;
}

static void holds_end(struct tb_storm *storm)
{
    for (uint32_t i = 0; storm->workers && i < storm->storm.threads; i++) {
        struct worker *worker = &storm->workers[i];
        tb_storm_as(worker);
        while (worker->holds_count > 0)
            tb_storm_release(worker, worker->holds_count - 1);
        while (storm->saves_count > 0)
            tb_storm_save_end(worker);
        locus_magazine_close(worker->magazine);
        worker->magazine = NULL;
    }
}

void tb_storm_close(struct tb_storm *storm)
{
    if (!storm)
        return;
    holds_end(storm);
    locus_pages_close(storm->pages);
    pthread_mutex_destroy(&storm->saves_lock);
    pthread_mutex_destroy(&storm->wrong_lock);
    free(storm->objects);
    free(storm->workers);
    free(storm);
}

// --- run -----------------------------------------------------------------------------------------------------------------------

void tb_storm_stop(struct tb_storm *storm)
{
    atomic_store_explicit(&storm->stop, true, memory_order_relaxed);
}

static uint64_t steps_sum(const struct tb_storm *storm)
{
    uint64_t steps = 0;
    for (uint32_t i = 0; i < storm->storm.threads; i++)
        steps += __atomic_load_n(&storm->workers[i].steps, __ATOMIC_RELAXED);
    return steps;
}

static int wait_for_all(struct tb_storm *storm)
{
    const struct timespec tick = {.tv_nsec = TICK_NS};
    uint64_t steps = 0;
    for (uint32_t still = 0; atomic_load_explicit(&storm->running, memory_order_acquire) > 0; still++) { // R2
        nanosleep(&tick, NULL);
        if (storm->storm.tick)
            storm->storm.tick(storm->storm.context, atomic_load_explicit(&storm->now_ns, memory_order_relaxed));
        if (steps_sum(storm) != steps)
            still = 0;
        steps = steps_sum(storm);
        if (still >= STUCK_TICKS)
            return -EDEADLK;
    }
    return 0;
}

int tb_storm_run(struct tb_storm *storm)
{
    int error = 0;
    uint64_t start_ns = tb_latency_now_ns();
    atomic_store_explicit(&storm->running, storm->storm.threads, memory_order_relaxed);
    for (uint32_t i = 0; i < storm->storm.threads; i++) {
        struct worker *worker = &storm->workers[i];
        if (!error)
            error = -pthread_create(&worker->thread, NULL, tb_storm_work, worker);
        worker->started = !error;
        if (error) {
            atomic_fetch_sub_explicit(&storm->running, 1, memory_order_relaxed);
            tb_storm_stop(storm);
        }
    }
    int waited = wait_for_all(storm);
    storm->took_s = (double)(tb_latency_now_ns() - start_ns) / 1e9;
    if (waited)
        return waited;
    for (uint32_t i = 0; i < storm->storm.threads; i++)
        if (storm->workers[i].started)
            pthread_join(storm->workers[i].thread, NULL);
    return error;
}

void tb_storm_rest(struct tb_storm *storm)
{
    uint64_t random = storm->storm.seed;
    holds_end(storm);
    for (uint64_t i = 0; i < storm->objects_count; i++) {
        struct object *object = &storm->objects[i];
        locus_range range = atomic_load_explicit(&object->range, memory_order_relaxed); // no other thread is left
        if (range != LOCUS_RANGE_NONE && (object->kind >= LOCUS_PAGES_SCRATCH || tb_random_next(&random) % 2))
            tb_storm_object_free(storm->workers, object, range);
    }
}

// --- what is told --------------------------------------------------------------------------------------------------------------

void tb_storm_audit(void *context, struct tb_pool_audit *out)
{
    const struct tb_storm *storm = context;
    const struct tb_engine_counts *parts[TB_STORM_THREADS_MAX];
    for (uint32_t i = 0; i < storm->storm.threads; i++)
        parts[i] = &storm->workers[i].counts;
    tb_pool_audit(storm->pages, &storm->config, atomic_load_explicit(&storm->now_ns, memory_order_relaxed), parts,
                  storm->storm.threads, out);
}

void tb_storm_report(const struct tb_storm *storm, struct tb_storm_report *out)
{
    *out = (struct tb_storm_report){
        .now_ns = atomic_load_explicit(&storm->now_ns, memory_order_relaxed),
        .steps = steps_sum(storm),
        .damaged = storm->damaged,
        .pins_lost = storm->pins_lost,
        .objects = storm->objects_count,
        .object_pages = storm->object_pages,
        .clock_ns = storm->clock_ns,
        .took_s = storm->took_s,
        .error = atomic_load_explicit(&storm->error, memory_order_relaxed),
    };
    for (uint32_t i = 0; i < storm->storm.threads; i++) {
        out->calls += storm->workers[i].calls;
        out->checks += storm->workers[i].checks;
    }
    memcpy(out->first, storm->first, sizeof out->first);
}

const struct locus_pages *tb_storm_pages(const struct tb_storm *storm)
{
    return storm->pages;
}
