// SPDX-License-Identifier: Apache-2.0
//
// open: an arena's memory and table, from the kernel; its zones and sets, from malloc. See pages_open.h.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pages_internal.h"
#include "placement/base/config.h"
#include "placement/memory/region_internal.h"

#define PAGE_BYTES_DEFAULT (UINT64_C(2) << 20)
#define PAGE_BYTES_MIN (UINT64_C(512) << 10)
#define PAGE_BYTES_MAX (UINT64_C(4) << 20)
#define MAGAZINE_DEFAULT 16u
#define SETS_DEFAULT 64u
#define SETS_MAX 65536u
#define GONE_MIN 256u            // evictions that may still turn out to be thrash: powers of two, arbitrary
#define GONE_MAX 65536u

// NULL: possible; else what is not.
static const char *refused(const struct locus_pages_config *config)
{
    uint64_t sum = 0, bytes = config->page_bytes;
    for (unsigned i = 0; i < LOCUS_PAGES_KINDS; i++)
        sum += config->zone_pages[i];
    if (bytes < PAGE_BYTES_MIN || bytes > PAGE_BYTES_MAX || (bytes & (bytes - 1)))
        return "page_bytes is not 512 KiB, 1, 2 or 4 MiB";
    if (config->pages == 0 || config->pages > LOCUS_PAGES_MAX)
        return "pages is not in 1 .. 2^24";
    if (config->page == LOCUS_PAGE_1G || (config->page == LOCUS_PAGE_2M && bytes < PAGE_BYTES_DEFAULT))
        return "the hugetlb pages are larger than page_bytes";
    if (config->magazine_pages > LOCUS_MAGAZINE_MAX)
        return "magazine_pages is above 64";
    if ((unsigned)config->split > LOCUS_SPLIT_ZONES)
        return "split is not a known one";
    if (config->split == LOCUS_SPLIT_ZONES && sum != config->pages)
        return "the sum of zone_pages is not pages";
    if (config->low_permille > config->high_permille || config->high_permille > 1000)
        return "the watermarks are not 0 <= low <= high <= 1000";
    if (config->low_permille == config->high_permille && config->high_permille > 0)
        return "the watermarks are equal, which leaves no band between them";
    if (config->sets > SETS_MAX)
        return "sets is above 65536";
    return NULL;
}

static int config_read(struct locus_pages_config *own, const struct locus_pages_config *given)
{
    int error = config_take(own, sizeof *own, given);
    if (error)
        return error;
    own->page_bytes = own->page_bytes ? own->page_bytes : PAGE_BYTES_DEFAULT;
    own->magazine_pages = own->magazine_pages ? own->magazine_pages : MAGAZINE_DEFAULT;
    own->sets = own->sets ? own->sets : SETS_DEFAULT;
    own->score = own->score ? own->score : &locus_score_lru;
    return refused(own) ? -EINVAL : 0;
}

static struct locus_region_config memory_config(const struct locus_pages_config *config)
{
    return (struct locus_region_config){
        .bytes = config->pages * config->page_bytes,
        .memory_class = LOCUS_CLASS_KV_CACHE,
        .page = config->page,
        .policy = config->policy,
        .node = config->node,
        .populate = config->populate,
    };
}

// Written at once, so it is populated: there must be room for it.
static struct locus_region_config table_config(const struct locus_pages_config *config)
{
    bool placed = config->policy == LOCUS_POLICY_BIND || config->policy == LOCUS_POLICY_BY_NODE;
    return (struct locus_region_config){
        .bytes = config->pages * sizeof(struct page),
        .memory_class = LOCUS_CLASS_METADATA,
        .page = LOCUS_PAGE_4K,
        .policy = placed ? config->policy : LOCUS_POLICY_FIRST_TOUCH,
        .node = config->node,
        .populate = true,
    };
}

void locus_pages_why(const struct locus_pages_config *config, int error, char *why, size_t why_bytes)
{
    struct locus_pages_config own;
    int taken = config_take(&own, sizeof own, config);
    const char *not_possible = taken ? config_why(taken) : config_read(&own, config) ? refused(&own) : NULL;
    if (not_possible) {
        snprintf(why, why_bytes, "%s", not_possible);
        return;
    }
    struct locus_region_config memory = memory_config(&own), table = table_config(&own);
    if (region_config_fault(&memory) && abs(error) == EINVAL)
        snprintf(why, why_bytes, "%s", region_config_fault(&memory));
    else if (!region_cause(&memory, 0, error, why, why_bytes) && !region_cause(&table, memory.bytes, error, why, why_bytes))
        region_unknown_cause(&memory, error, why, why_bytes);
}

static int memory_open(struct locus_pages *pages)
{
    struct locus_region_config memory = memory_config(&pages->config);
    struct locus_region_config table = table_config(&pages->config);
    int error = locus_region_open(&pages->region, &memory);
    if (!error)
        error = locus_region_open(&pages->table_region, &table);
    if (error)
        return error;
    pages->memory = locus_region_base(pages->region);
    pages->table = locus_region_base(pages->table_region);
    for (uint32_t i = 0; i < pages->config.pages; i++)
        pages->table[i].word = 1; // FREE, of the first generation
    return 0;
}

static int zones_open(struct locus_pages *pages)
{
    bool one = pages->config.split != LOCUS_SPLIT_ZONES;
    unsigned count = one ? 1 : LOCUS_PAGES_KINDS;
    pages->zones = aligned_alloc(ZONE_ALIGN_BYTES, count * sizeof *pages->zones);
    if (!pages->zones)
        return -ENOMEM;
    uint32_t first = 0;
    for (int error = 0; pages->zones_count < count;) {
        uint32_t length = one ? pages->config.pages : pages->config.zone_pages[pages->zones_count];
        error = zone_open(&pages->zones[pages->zones_count++], pages->table, first, length);
        if (error)
            return error;
        first += length;
    }
    return 0;
}

static int gone_open(struct locus_pages *pages)
{
    uint32_t places = GONE_MIN;
    while (places < 2 * pages->config.pages && places < GONE_MAX)
        places *= 2;
    pages->gone = calloc(places, sizeof *pages->gone);
    pages->gone_mask = places - 1;
    return pages->gone ? 0 : -ENOMEM;
}

static void release(struct locus_pages *pages)
{
    sets_close(pages);
    for (unsigned i = 0; i < pages->zones_count; i++)
        zone_close(&pages->zones[i]);
    free(pages->zones);
    free(pages->gone);
    locus_region_close(pages->table_region);
    locus_region_close(pages->region);
    pthread_cond_destroy(&pages->freed);
    pthread_mutex_destroy(&pages->room);
    pthread_mutex_destroy(&pages->magazines_lock);
    pthread_mutex_destroy(&pages->log);
    free(pages);
}

int locus_pages_open(struct locus_pages **out, const struct locus_pages_config *config)
{
    struct locus_pages_config own;
    *out = NULL;
    int error = config_read(&own, config);
    if (error)
        return error;
    struct locus_pages *pages = calloc(1, sizeof *pages);
    if (!pages)
        return -ENOMEM;
    pages->config = own;
    pages->page_shift = (unsigned)__builtin_ctzll(own.page_bytes);
    pthread_mutex_init(&pages->room, NULL);
    pthread_mutex_init(&pages->magazines_lock, NULL);
    pthread_mutex_init(&pages->log, NULL);
    pthread_cond_init(&pages->freed, NULL);
    error = memory_open(pages);
    if (!error)
        error = zones_open(pages);
    if (!error)
        error = gone_open(pages);
    if (!error)
        error = sets_open(pages);
    if (error) {
        release(pages);
        return error;
    }
    *out = pages;
    return 0;
}

static int in_use(void *context, const struct locus_range_info *info)
{
    (void)context;
    return info->state == LOCUS_RANGE_PREPARED || info->pins > 0 ? -EBUSY : 0;
}

int locus_pages_close(struct locus_pages *pages)
{
    int error = 0;
    if (!pages)
        return 0;
    error = pages->magazines ? -EBUSY : locus_pages_each(pages, in_use, NULL);
    if (!error)
        release(pages);
    return error;
}

const struct locus_region *locus_pages_region(const struct locus_pages *pages)
{
    return pages->region;
}

uint64_t locus_pages_page_bytes(const struct locus_pages *pages)
{
    return pages->config.page_bytes;
}

void locus_pages_set_time(struct locus_pages *pages, uint64_t now_ns)
{
    uint64_t then_ns = now_of(pages);
    while (then_ns < now_ns &&
           !atomic_compare_exchange_weak_explicit(&pages->now_ns, &then_ns, now_ns, memory_order_relaxed, memory_order_relaxed))
        ;
}
