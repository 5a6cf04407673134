// SPDX-License-Identifier: Apache-2.0
//
// audit: adds up what the threads counted, asks the arena, and knows what things are called; see audit.h.
#include "testbed/pool/audit.h"

#include <math.h>
#include <string.h>

static uint64_t counted(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void tb_counts_join(struct tb_engine_counts *sum, const struct tb_engine_counts *part)
{
    for (uint32_t i = 0; i < LOCUS_PAGES_KINDS; i++) {
        sum->found[i] += counted(&part->found[i]);
        sum->missed[i] += counted(&part->missed[i]);
    }
    sum->pins += counted(&part->pins);
    sum->pin_retries += counted(&part->pin_retries);
    for (uint32_t i = 0; i < TB_REFUSALS; i++)
        sum->refused[i] += counted(&part->refused[i]);
    tb_latency_join(&sum->allocate, &part->allocate);
    tb_latency_join(&sum->allocate_page, &part->allocate_page);
}

void tb_pool_audit(const struct locus_pages *pages, const struct tb_pool_config *config, uint64_t now_ns,
                   const struct tb_engine_counts *const parts[], uint32_t parts_count, struct tb_pool_audit *out)
{
    *out = (struct tb_pool_audit){
        .page_bytes = config->pages.page_bytes,
        .now_ns = now_ns,
        .high_permille = config->pages.high_permille,
        .low_permille = config->pages.low_permille,
        .overdue_ns = config->pin_overdue_ns,
    };
    locus_pages_stats(pages, &out->stats);
    out->overdue = locus_pages_overdue(pages, config->pin_overdue_ns, NULL, NULL);
    for (uint32_t i = 0; i < parts_count; i++)
        tb_counts_join(&out->engine, parts[i]);
}

double tb_audit_utilization(const struct tb_pool_audit *audit)
{
    return (double)(audit->stats.pages - audit->stats.pages_free) / (double)audit->stats.pages;
}

// Counts are each as of some moment, so the longest stretch may have been longer than what is free by now.
double tb_audit_contiguity(const struct tb_pool_audit *audit)
{
    const struct locus_pages_stats *stats = &audit->stats;
    uint32_t outside = stats->pages_free > stats->pages_in_magazines ? stats->pages_free - stats->pages_in_magazines : 0;
    return outside == 0 ? (double)NAN : fmin(1, (double)stats->pages_largest / (double)outside);
}

double tb_audit_hit_rate(const struct tb_pool_audit *audit, enum locus_pages_kind kind)
{
    double found = (double)audit->engine.found[kind], all = found + (double)audit->engine.missed[kind];
    return all > 0 ? found / all : (double)NAN;
}

// --- names ---------------------------------------------------------------------------------------------------------------------

const char *tb_kind_name(enum locus_pages_kind kind)
{
    static const char *const names[LOCUS_PAGES_KINDS] = {[LOCUS_PAGES_KV] = "kv",
                                                         [LOCUS_PAGES_ADAPTER] = "adapter",
                                                         [LOCUS_PAGES_SCRATCH] = "scratch",
                                                         [LOCUS_PAGES_ACTIVATION] = "activation"};
    return names[kind];
}

const char *tb_reason_name(enum locus_evict_reason reason)
{
    static const char *const names[LOCUS_EVICT_REASONS] = {
        [LOCUS_EVICTED_FOR_ROOM] = "room", [LOCUS_EVICTED_BY_WATERMARK] = "watermark", [LOCUS_EVICTED_ON_REQUEST] = "asked"};
    return names[reason];
}

const char *tb_state_name(enum locus_range_state state)
{
    static const char *const names[] = {[LOCUS_RANGE_FREE] = "free",
                                        [LOCUS_RANGE_PREPARED] = "prepared",
                                        [LOCUS_RANGE_RESIDENT] = "resident",
                                        [LOCUS_RANGE_EVICTING] = "leaving",
                                        [LOCUS_RANGE_DOOMED] = "doomed"};
    return names[state];
}

const char *tb_refusal_name(enum tb_refusal refusal)
{
    static const char *const names[TB_REFUSALS] = {[TB_REFUSED_NO_ROOM] = "no_room", [TB_REFUSED_ON_ITS_WAY] = "on_its_way"};
    return names[refusal];
}
