// SPDX-License-Identifier: Apache-2.0
//
// audit: one look at an arena of pages (pages.h) and at what its engine has seen of it. All that is shown is one of these: the page
// of `locus pool`, its JSON, the file of metrics, each scrape. So whatever they say of one moment is equal.
//
// An arena counts what it does. What it cannot know its engine counts: how long allocations took, how often it looked for contents
// and found them, how often it had to try a pin again.
//
// Threads: an audit is a value. tb_pool_audit() may be called by any thread while the arena and its engine work.
#ifndef TB_POOL_AUDIT_H
#define TB_POOL_AUDIT_H

#include "locus/pages_report.h"
#include "testbed/pool/config.h"
#include "testbed/stats/latency.h"

enum tb_refusal { TB_REFUSED_NO_ROOM, TB_REFUSED_ON_ITS_WAY, TB_REFUSALS }; // -ENOMEM; -EAGAIN, asked for again

// An engine's own. Each counter has one writer; relaxed loads by others, as in latency.h.
struct tb_engine_counts {
    uint64_t found[LOCUS_PAGES_KINDS], missed[LOCUS_PAGES_KINDS]; // contents that it looked for
    uint64_t pins, pin_retries; // asked for; asked for again, because the range was leaving or not yet visible
    uint64_t refused[TB_REFUSALS];
    struct tb_latency allocate;  // every locus_pages_alloc()
    struct tb_latency allocate_page; // of them those of one page
};

struct tb_pool_audit {
    struct locus_pages_stats stats;
    struct tb_engine_counts engine;
    uint64_t page_bytes, now_ns;
    uint32_t high_permille, low_permille;
    uint64_t overdue_ns;
    uint32_t overdue;           // ranges with a pin that is older
};

void tb_counts_join(struct tb_engine_counts *sum, const struct tb_engine_counts *part);

// `parts`: of each of the engine's threads. `now_ns`: the arena's clock. It walks the arena once, for the old pins.
void tb_pool_audit(const struct locus_pages *pages, const struct tb_pool_config *config, uint64_t now_ns,
                   const struct tb_engine_counts *const parts[], uint32_t parts_count, struct tb_pool_audit *out);

double tb_audit_utilization(const struct tb_pool_audit *audit);
// The longest free stretch as a share of the free pages that are in no magazine; NAN: there are none.
double tb_audit_contiguity(const struct tb_pool_audit *audit);
// Of the contents that were looked for, the share that was there; NAN: none was looked for.
double tb_audit_hit_rate(const struct tb_pool_audit *audit, enum locus_pages_kind kind);

const char *tb_kind_name(enum locus_pages_kind kind);       // "kv"
const char *tb_reason_name(enum locus_evict_reason reason); // "room"
const char *tb_state_name(enum locus_range_state state);    // "resident"
const char *tb_refusal_name(enum tb_refusal refusal);       // "no_room"

#endif
