// SPDX-License-Identifier: Apache-2.0
//
// report: what is there, what left, and who holds a pin for long. See pages_report.h.
//
// A walk goes from range to range by their lengths, which change only under the zone's lock. All else of a range may change while
// it is looked at, and is as of some moment.
#include "locus/pages_report.h"

#include <string.h>

#include "pages_internal.h"

static struct locus_range_info info_of(const struct locus_pages *pages, uint32_t at)
{
    const struct page *page = &pages->table[at];
    uint64_t word = word_read(&page->word);
    bool used = word_state(word) != LOCUS_RANGE_FREE;
    return (struct locus_range_info){
        .range = used ? range_of(at, word_generation(word)) : LOCUS_RANGE_NONE,
        .first = at,
        .pages = RELAXED_LOAD(page->pages),
        .state = word_state(word),
        .kind = (enum locus_pages_kind)RELAXED_LOAD(page->kind),
        .pins = used ? word_pins(word) : 0,
        .in_magazine = !used && RELAXED_LOAD(page->in_magazine),
        .owner = RELAXED_LOAD(page->owner),
        .last_use_ns = RELAXED_LOAD(page->last_use_ns),
        .pinned_since_ns = word_pins(word) ? RELAXED_LOAD(page->pinned_since_ns) : 0,
    };
}

int locus_pages_each(const struct locus_pages *pages, int (*each)(void *context, const struct locus_range_info *info),
                     void *context)
{
    int result = 0;
    for (unsigned i = 0; i < pages->zones_count && !result; i++) {
        struct zone *zone = &pages->zones[i];
        pthread_mutex_lock(&zone->lock);
        for (uint32_t at = zone->first; !result && at < zone->first + zone->pages;) {
            struct locus_range_info info = info_of(pages, at);
            result = each(context, &info);
            at += info.pages;
        }
        pthread_mutex_unlock(&zone->lock);
    }
    return result;
}

struct overdue {
    uint64_t before_ns;
    uint32_t count;
    void (*each)(void *context, const struct locus_range_info *info);
    void *context;
};

static int overdue_each(void *context, const struct locus_range_info *info)
{
    struct overdue *overdue = context;
    if (info->pins == 0 || info->pinned_since_ns > overdue->before_ns)
        return 0;
    overdue->count++;
    if (overdue->each)
        overdue->each(overdue->context, info);
    return 0;
}

uint32_t locus_pages_overdue(const struct locus_pages *pages, uint64_t held_ns,
                             void (*each)(void *context, const struct locus_range_info *info), void *context)
{
    uint64_t now_ns = now_of(pages);
    struct overdue overdue = {now_ns - held_ns, 0, each, context};
    if (now_ns >= held_ns)
        locus_pages_each(pages, overdue_each, &overdue);
    return overdue.count;
}

static int stats_each(void *context, const struct locus_range_info *info)
{
    struct locus_pages_stats *stats = context;
    if (info->state == LOCUS_RANGE_FREE) {
        stats->pages_free += info->pages;
        stats->pages_in_magazines += info->in_magazine ? info->pages : 0;
        return 0;
    }
    stats->ranges++;
    stats->pages_of[info->kind] += info->pages;
    stats->pages_pinned += info->pins ? info->pages : 0;
    return 0;
}

void locus_pages_stats(const struct locus_pages *pages, struct locus_pages_stats *out)
{
    struct locus_pages *own = (struct locus_pages *)pages; // for its locks
    *out = (struct locus_pages_stats){
        .pages = pages->config.pages,
        .pages_peak = pages->pages_peak,
        .draining = pages->draining,
        .ranges_allocated = pages->ranges_allocated,
        .ranges_freed = pages->ranges_freed,
        .evict_refused = pages->evict_refused,
        .thrashed = pages->thrashed,
        .pins_refused = pages->pins_refused,
        .room_waits = pages->room_waits,
        .sets_reaped = pages->sets_reaped,
    };
    for (unsigned i = 0; i < LOCUS_PAGES_KINDS; i++)
        for (unsigned j = 0; j < LOCUS_EVICT_REASONS; j++) {
            out->ranges_evicted[i][j] = pages->ranges_evicted[i][j];
            out->pages_evicted[i][j] = pages->pages_evicted[i][j];
        }
    locus_pages_each(pages, stats_each, out);
    for (unsigned i = 0; i < pages->zones_count; i++) {
        uint32_t largest = zone_largest(&pages->zones[i]);
        out->pages_largest = largest > out->pages_largest ? largest : out->pages_largest;
    }
    pthread_mutex_lock(&own->magazines_lock);
    for (const struct locus_magazine *magazine = pages->magazines; magazine; magazine = magazine->next) {
        out->ranges_allocated += counter_read(&magazine->allocated);
        out->ranges_freed += counter_read(&magazine->freed);
    }
    pthread_mutex_unlock(&own->magazines_lock);
}

// --- what left -----------------------------------------------------------------------------------------------------------------

// A place for each owner and kind; a later eviction may take it from an earlier one.
static struct gone *gone_of(struct locus_pages *pages, uint64_t owner, enum locus_pages_kind kind)
{
    uint64_t hash = (owner * LOCUS_PAGES_KINDS + (unsigned)kind) * UINT64_C(0x9E3779B97F4A7C15); // Fibonacci (Knuth, 6.4)
    return &pages->gone[hash >> 32 & pages->gone_mask];
}

void log_eviction(struct locus_pages *pages, const struct locus_pages_eviction *eviction)
{
    pthread_mutex_lock(&pages->log);
    pages->evictions[pages->evictions_count++ % LOCUS_PAGES_EVICTIONS] = *eviction;
    *gone_of(pages, eviction->owner, eviction->kind) =
        (struct gone){.owner = eviction->owner, .at_ns = eviction->at_ns, .kind = (uint8_t)eviction->kind, .used = true};
    pthread_mutex_unlock(&pages->log);
    uint64_t at_ns = eviction->at_ns, until_ns = at_ns < UINT64_MAX - THRASH_NS ? at_ns + THRASH_NS : UINT64_MAX;
    atomic_store_explicit(&pages->evicted_until_ns, until_ns, memory_order_relaxed);
}

bool log_thrash(struct locus_pages *pages, const struct locus_pages_request *ask)
{
    uint64_t now_ns = now_of(pages);
    pthread_mutex_lock(&pages->log);
    struct gone *gone = gone_of(pages, ask->owner, ask->kind);
    bool thrash = gone->used && gone->owner == ask->owner && gone->kind == ask->kind && now_ns - gone->at_ns < THRASH_NS;
    if (thrash)
        gone->used = false; // it is back: the next eviction of it counts anew
    pthread_mutex_unlock(&pages->log);
    return thrash;
}

uint32_t locus_pages_evictions(const struct locus_pages *pages, struct locus_pages_eviction out[], uint32_t count)
{
    struct locus_pages *own = (struct locus_pages *)pages; // for its lock
    uint32_t taken = 0;
    pthread_mutex_lock(&own->log);
    for (; taken < count && taken < LOCUS_PAGES_EVICTIONS && taken < pages->evictions_count; taken++)
        out[taken] = pages->evictions[(pages->evictions_count - 1 - taken) % LOCUS_PAGES_EVICTIONS];
    pthread_mutex_unlock(&own->log);
    return taken;
}
