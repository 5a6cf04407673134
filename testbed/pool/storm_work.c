// SPDX-License-Identifier: Apache-2.0
//
// storm_work: what a thread of a storm does in a step; see storm.h.
//
// It holds at most its part of a third of the arena, so that the threads together cannot pin it full: then no allocation waits for
// a pin that only ends when the allocation has ended.
#include <errno.h>
#include <sched.h>

#include "testbed/pool/storm_internal.h"
#include "testbed/stats/random.h"

#define STEP_NS 1000000u        // 1 ms on average; arbitrary: an hour is 3.6 million steps
#define ATTEMPTS 32u            // for room, before the object goes without this time

static uint64_t below(struct worker *worker, uint64_t limit)
{
    return tb_random_next(&worker->random) % limit;
}

static uint64_t clock_forward(struct worker *worker, uint64_t by_ns)
{
    uint64_t now_ns = atomic_fetch_add_explicit(&worker->storm->now_ns, by_ns, memory_order_relaxed) + by_ns;
    locus_pages_set_time(worker->storm->pages, now_ns);
    return now_ns;
}

// --- the end of a hold ---------------------------------------------------------------------------------------------------------

void tb_storm_object_free(struct worker *worker, struct object *object, locus_range range)
{
    struct tb_storm *storm = worker->storm;
    locus_range expected = range;
    if (!atomic_compare_exchange_strong_explicit(&object->range, &expected, LOCUS_RANGE_NONE, memory_order_relaxed,
                                                 memory_order_relaxed))
        return; // another thread found that it had gone, or freed it
    int rc = locus_pages_free(storm->pages, worker->magazine, range);
    tb_storm_bump(&worker->calls, 1);
    if (rc && rc != -ESTALE) // stale: evicted before
        tb_storm_wrong(storm, &storm->pins_lost, "a free of the range %llx was refused (%d)", (unsigned long long)range, -rc);
}

void tb_storm_release(struct worker *worker, uint32_t i)
{
    struct tb_storm *storm = worker->storm;
    struct hold hold = worker->holds[i];
    const struct object *object = hold.object;
    worker->holds[i] = worker->holds[--worker->holds_count];
    worker->pages_pinned -= object->pages;
    tb_storm_check(worker, locus_pages_address(storm->pages, hold.range), locus_pages_bytes(storm->pages, hold.range),
                   object->owner, hold.range, PLACES_SOME, "before its unpin");
    if (object->kind >= LOCUS_PAGES_SCRATCH && below(worker, 2) == 0)
        tb_storm_object_free(worker, hold.object, hold.range); // it ends with the last pin
    int rc = locus_pages_unpin(storm->pages, hold.range);
    tb_storm_bump(&worker->calls, 1);
    if (rc)
        tb_storm_wrong(storm, &storm->pins_lost, "the unpin of the range %llx of owner %llx was refused (%d)",
                       (unsigned long long)hold.range, (unsigned long long)object->owner, -rc);
}

static bool oldest_release(struct worker *worker)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < worker->holds_count; i++)
        if (worker->holds[i].until_ns < worker->holds[oldest].until_ns)
            oldest = i;
    if (worker->holds_count == 0)
        return false;
    tb_storm_release(worker, oldest);
    return true;
}

static void due_release(struct worker *worker, uint64_t now_ns)
{
    for (uint32_t i = worker->holds_count; i-- > 0;)
        if (worker->holds[i].until_ns <= now_ns)
            tb_storm_release(worker, i);
}

static void room_for_hold(struct worker *worker, uint32_t pages)
{
    uint32_t most = worker->storm->config.pages.pages / (3 * worker->storm->storm.threads);
    while ((worker->holds_count == HOLDS_MAX || worker->pages_pinned + pages > most) && oldest_release(worker))
        ;
}

static void hold_add(struct worker *worker, struct object *object, locus_range range, uint64_t now_ns)
{
    static const uint64_t longest_ns[LOCUS_PAGES_KINDS] = {
        [LOCUS_PAGES_KV] = 2000000000,
        [LOCUS_PAGES_ADAPTER] = 200000000,
        [LOCUS_PAGES_SCRATCH] = 5000000,
        [LOCUS_PAGES_ACTIVATION] = 20000000,
    };
    worker->holds[worker->holds_count++] = (struct hold){object, range, now_ns + 1 + below(worker, longest_ns[object->kind])};
    worker->pages_pinned += object->pages;
}

// --- the use of an object ------------------------------------------------------------------------------------------------------

// As an engine would: a range that is leaving, or not yet visible, is asked for again until the time-out.
static int pin(struct worker *worker, locus_range range)
{
    struct tb_storm *storm = worker->storm;
    for (uint64_t waited_ns = 0;; waited_ns += STEP_NS) {
        int rc = locus_pages_pin(storm->pages, range);
        tb_storm_bump(&worker->calls, 1);
        tb_storm_bump(&worker->counts.pins, 1);
        if ((rc != -EBUSY && rc != -EAGAIN) || waited_ns >= storm->config.pin_timeout_ns ||
            atomic_load_explicit(&storm->stop, memory_order_relaxed))
            return rc;
        tb_storm_bump(&worker->counts.pin_retries, 1);
        clock_forward(worker, STEP_NS);
        tb_storm_save_end(worker);
        sched_yield();
    }
}

static int allocate_once(struct worker *worker, const struct object *object, locus_range *out)
{
    struct tb_storm *storm = worker->storm;
    const struct locus_pages_request ask = {.kind = object->kind,
                                            .pages = object->pages,
                                            .owner = object->owner,
                                            .cost_ns = object->cost_ns};
    worker->leave_ns = 0;
    uint64_t start_ns = tb_latency_now_ns();
    int rc = locus_pages_alloc(storm->pages, worker->magazine, &ask, out);
    uint64_t took_ns = tb_latency_now_ns() - start_ns, own_ns = worker->leave_ns;
    tb_storm_bump(&worker->calls, 1);
    if (rc)
        return rc;
    took_ns = took_ns > own_ns ? took_ns - own_ns : 0;
    tb_latency_add(&worker->counts.allocate, took_ns, storm->clock_ns);
    if (object->pages == 1)
        tb_latency_add(&worker->counts.allocate_page, took_ns, storm->clock_ns);
    return 0;
}

// false: there is no room this time.
static bool allocate(struct worker *worker, const struct object *object, locus_range *out)
{
    struct tb_storm *storm = worker->storm;
    for (uint32_t i = 0; i < ATTEMPTS && !atomic_load_explicit(&storm->stop, memory_order_relaxed); i++) {
        int rc = allocate_once(worker, object, out);
        if (rc == 0)
            return true;
        if (rc == -EAGAIN) {
            tb_storm_bump(&worker->counts.refused[TB_REFUSED_ON_ITS_WAY], 1);
            tb_storm_save_end(worker);
            sched_yield();
        } else if (rc == -ENOMEM) {
            tb_storm_bump(&worker->counts.refused[TB_REFUSED_NO_ROOM], 1);
            if (!oldest_release(worker))
                return false;
        } else {
            tb_storm_wrong(storm, &(uint64_t){0}, "an allocation of %u pages failed (%d)", object->pages, -rc);
            atomic_store_explicit(&storm->error, rc, memory_order_relaxed);
            tb_storm_stop(storm);
        }
    }
    return false;
}

static void fetch(struct worker *worker, struct object *object, uint64_t now_ns)
{
    struct tb_storm *storm = worker->storm;
    locus_range range, none = LOCUS_RANGE_NONE;
    if (!allocate(worker, object, &range))
        return;
    tb_storm_fill(locus_pages_address(storm->pages, range), locus_pages_bytes(storm->pages, range), object->owner, range);
    hold_add(worker, object, range, now_ns);
    // O1
    if (atomic_compare_exchange_strong_explicit(&object->range, &none, range, memory_order_release, memory_order_relaxed))
        return;
    int rc = locus_pages_free(storm->pages, worker->magazine, range); // another thread was first; this one ends with its pin
    tb_storm_bump(&worker->calls, 1);
    if (rc)
        tb_storm_wrong(storm, &storm->pins_lost, "a free of the pinned range %llx was refused (%d)", (unsigned long long)range,
                       -rc);
    tb_storm_release(worker, worker->holds_count - 1);
}

static void use(struct worker *worker, struct object *object, uint64_t now_ns)
{
    struct tb_storm *storm = worker->storm;
    locus_range range = atomic_load_explicit(&object->range, memory_order_acquire); // O2
    room_for_hold(worker, object->pages);
    int rc = range == LOCUS_RANGE_NONE ? -ESTALE : pin(worker, range);
    tb_storm_bump(rc == 0 ? &worker->counts.found[object->kind] : &worker->counts.missed[object->kind], 1);
    if (rc == 0) {
        hold_add(worker, object, range, now_ns);
        tb_storm_check(worker, locus_pages_address(storm->pages, range), locus_pages_bytes(storm->pages, range), object->owner,
                       range, PLACES_SOME, "after a pin");
        return;
    }
    if (rc != -ESTALE)
        return; // it is still leaving
    if (range != LOCUS_RANGE_NONE)
        atomic_compare_exchange_strong_explicit(&object->range, &range, LOCUS_RANGE_NONE, memory_order_relaxed,
                                                memory_order_relaxed);
    fetch(worker, object, now_ns);
}

// The n-th object of `count` in order of popularity is chosen with a density that falls as 1 / sqrt(n).
static struct object *object_choose(struct worker *worker)
{
    double share = (double)(tb_random_next(&worker->random) >> 11) / 9007199254740992.0; // 2^53
    uint64_t count = worker->storm->objects_count, i = (uint64_t)(share * share * (double)count);
    return &worker->storm->objects[i < count ? i : count - 1];
}

static void step(struct worker *worker)
{
    uint64_t now_ns = clock_forward(worker, 1 + below(worker, 2 * STEP_NS));
    due_release(worker, now_ns);
    if (below(worker, 4) == 0)
        tb_storm_save_end(worker);
    use(worker, object_choose(worker), now_ns);
    tb_storm_bump(&worker->steps, 1);
}

static bool goes_on(const struct tb_storm *storm)
{
    return !atomic_load_explicit(&storm->stop, memory_order_relaxed) &&
           (storm->storm.for_ns == 0 || atomic_load_explicit(&storm->now_ns, memory_order_relaxed) < storm->storm.for_ns);
}

void *tb_storm_work(void *context)
{
    struct worker *worker = context;
    tb_storm_as(worker);
    while (goes_on(worker->storm))
        step(worker);
    atomic_fetch_sub_explicit(&worker->storm->running, 1, memory_order_release); // R1
    return NULL;
}
