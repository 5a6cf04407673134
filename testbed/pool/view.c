// SPDX-License-Identifier: Apache-2.0
//
// view: from what was looked at to a document; see view.h.
#include "testbed/pool/view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAP_COLUMNS 64u
#define LEFT_SHOWN 16u          // arbitrary: a screen has the table and the answer
#define MAP_PAGES_MAX 2048u     // a larger map is no longer seen at a glance

// --- the look ------------------------------------------------------------------------------------------------------------------

static int range_keep(void *context, const struct locus_range_info *info)
{
    struct tb_pool_look *look = context;
    look->ranges[look->ranges_count++] = *info;
    return 0;
}

// Each row has a page at least, so there are never more rows than pages.
int tb_pool_look(const struct locus_pages *pages, struct tb_pool_look *out)
{
    struct locus_pages_stats stats;
    locus_pages_stats(pages, &stats);
    out->ranges_count = 0;
    out->ranges = calloc(stats.pages, sizeof *out->ranges);
    if (!out->ranges)
        return -ENOMEM;
    locus_pages_each(pages, range_keep, out);
    out->left_count = locus_pages_evictions(pages, out->left, LOCUS_PAGES_EVICTIONS);
    return 0;
}

void tb_pool_look_close(struct tb_pool_look *look)
{
    free(look->ranges);
    look->ranges = NULL;
}

// --- the page table ------------------------------------------------------------------------------------------------------------

static struct tb_value time_since(uint64_t now_ns, uint64_t then_ns)
{
    return tb_number(now_ns > then_ns ? (double)(now_ns - then_ns) : 0);
}

static bool is_free(const struct locus_range_info *info)
{
    return info->range == LOCUS_RANGE_NONE || info->state == LOCUS_RANGE_FREE;
}

static const char *state_shown(const struct locus_range_info *info)
{
    return !is_free(info) ? tb_state_name(info->state) : info->in_magazine ? "in a magazine" : "free";
}

static void ranges_add(struct tb_doc *doc, const struct tb_pool_look *look)
{
    const struct tb_column columns[] = {{.key = "first"},     {.key = "pages"},
                                        {.key = "state"},     {.key = "in_magazine"},
                                        {.key = "kind"},      {.key = "owner"},
                                        {.key = "pins"},      {.key = "idle_ns"},
                                        {.key = "pinned_ns"}, {0}};
    struct tb_table *table = tb_doc_table(doc, "ranges", NULL, columns);
    uint64_t now_ns = look->audit.now_ns;
    for (uint32_t i = 0; i < look->ranges_count; i++) {
        const struct locus_range_info *info = &look->ranges[i];
        bool used = !is_free(info);
        tb_table_add(table, TB_ROW_PLAIN, tb_count(info->first), tb_count(info->pages), tb_text_value(tb_state_name(info->state)),
                     tb_flag(info->in_magazine), used ? tb_text_value(tb_kind_name(info->kind)) : tb_none(NULL),
                     used ? tb_count(info->owner) : tb_none(NULL), used ? tb_count(info->pins) : tb_none(NULL),
                     used ? time_since(now_ns, info->last_use_ns) : tb_none(NULL),
                     info->pinned_since_ns ? time_since(now_ns, info->pinned_since_ns) : tb_none(NULL));
    }
}

static bool joins(const struct locus_range_info *a, const struct locus_range_info *b)
{
    if (is_free(a) || is_free(b))
        return is_free(a) && is_free(b) && a->in_magazine == b->in_magazine;
    return a->kind == b->kind && a->state == b->state && a->pins == 0 && b->pins == 0;
}

static void run_add(struct tb_table *table, const struct tb_pool_look *look, uint32_t begin, uint32_t end)
{
    const struct locus_range_info *info = &look->ranges[begin];
    uint64_t now_ns = look->audit.now_ns, used_ns = 0;
    uint32_t pages = 0;
    char owner[40], overdue[40] = "";
    for (uint32_t i = begin; i < end; i++) {
        pages += look->ranges[i].pages;
        used_ns = look->ranges[i].last_use_ns > used_ns ? look->ranges[i].last_use_ns : used_ns;
    }
    if (is_free(info)) {
        tb_table_add(table, TB_ROW_ASIDE, tb_count(info->first), tb_count(pages), tb_text_value(state_shown(info)));
        return;
    }
    snprintf(owner, sizeof owner, end - begin == 1 ? "%llu" : "%llu and %u more", (unsigned long long)info->owner, end - begin - 1);
    bool late = info->pinned_since_ns && now_ns - info->pinned_since_ns >= look->audit.overdue_ns;
    snprintf(overdue, sizeof overdue, "%s%s", state_shown(info), late ? ", pin overdue" : "");
    tb_table_add(table, info->pins ? TB_ROW_OURS : TB_ROW_PLAIN, tb_count(info->first), tb_count(pages), tb_text_value(overdue),
                 tb_text_value(tb_kind_name(info->kind)), tb_text_value(owner), tb_count(info->pins), time_since(now_ns, used_ns),
                 info->pinned_since_ns ? time_since(now_ns, info->pinned_since_ns) : tb_none(NULL));
}

static void runs_add(struct tb_doc *doc, const struct tb_pool_look *look)
{
    const struct tb_column columns[] = {{.title = "first\npage"},
                                        {.title = "pages"},
                                        {.title = "state"},
                                        {.title = "kind"},
                                        {.title = "owner"},
                                        {.title = "pins"},
                                        {.title = "idle", .unit = TB_AS_TIME},
                                        {.title = "pinned\nfor", .unit = TB_AS_TIME},
                                        {0}};
    struct tb_table *table = tb_doc_table(doc, NULL, "Runs of pages, by address; '>': pinned", columns);
    for (uint32_t begin = 0, end; begin < look->ranges_count; begin = end) {
        for (end = begin + 1; end < look->ranges_count && joins(&look->ranges[begin], &look->ranges[end]); end++)
            ;
        run_add(table, look, begin, end);
    }
}

// A character for each page.
static void map_add(struct tb_doc *doc, const struct tb_pool_look *look)
{
    static const char idle[] = "kasv", pinned[] = "KASV";
    char text[MAP_PAGES_MAX + MAP_PAGES_MAX / MAP_COLUMNS + 2];
    size_t used = 0;
    uint32_t page = 0;
    if (look->audit.stats.pages > MAP_PAGES_MAX)
        return;
    for (uint32_t i = 0; i < look->ranges_count; i++)
        for (uint32_t j = 0; j < look->ranges[i].pages && page < MAP_PAGES_MAX; j++, page++) {
            const struct locus_range_info *info = &look->ranges[i];
            if (page > 0 && page % MAP_COLUMNS == 0)
                text[used++] = '\n';
            text[used++] = is_free(info) ? (info->in_magazine ? ',' : '.') : (info->pins ? pinned : idle)[info->kind];
        }
    text[used] = '\0';
    tb_doc_say(doc, NULL,
               "Page by page: k KV, a adapter, s scratch, v activation, in capitals while pinned; . free, and , free in "
               "a thread's magazine.");
    tb_doc_code(doc, NULL, text);
}

static void left_row(struct tb_table *table, const struct tb_pool_look *look, uint32_t i)
{
    const struct locus_pages_eviction *left = &look->left[i];
    tb_table_add(table, TB_ROW_PLAIN, time_since(look->audit.now_ns, left->at_ns), tb_text_value(tb_kind_name(left->kind)),
                 tb_count(left->owner), tb_count(left->first), tb_count(left->pages), tb_text_value(tb_reason_name(left->reason)),
                 tb_number((double)left->idle_ns), tb_number(left->score));
}

static void left_add(struct tb_doc *doc, const struct tb_pool_look *look)
{
    struct tb_column columns[] = {
        {"ago_ns", NULL, TB_AS_TIME, false},  {"kind", NULL, TB_AS_IS, false},  {"owner", NULL, TB_AS_IS, false},
        {"first", NULL, TB_AS_IS, false},     {"pages", NULL, TB_AS_IS, false}, {"reason", NULL, TB_AS_IS, false},
        {"idle_ns", NULL, TB_AS_TIME, false}, {"score", NULL, TB_AS_IS, false}, {0}};
    static const char *const titles[] = {"ago", "kind", "owner", "first\npage", "pages", "why", "idle", "score"};
    struct tb_table *table = tb_doc_table(doc, "left", NULL, columns);
    for (uint32_t i = 0; i < look->left_count; i++)
        left_row(table, look, i);
    if (look->left_count == 0) {
        tb_doc_say(doc, NULL, "Nothing was evicted.");
        return;
    }
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        columns[i].key = NULL;
        columns[i].title = titles[i];
    }
    table = tb_doc_table(doc, NULL, "What left lately, newest first", columns);
    for (uint32_t i = 0; i < look->left_count && i < LEFT_SHOWN; i++)
        left_row(table, look, i);
    tb_table_note(table,
                  "room: an allocation found none; watermark: too much was in use; asked: the engine asked for room. Of all "
                  "that nobody pinned, what had the lowest score left first. --json has the last %u.",
                  LOCUS_PAGES_EVICTIONS);
}

// --- counts --------------------------------------------------------------------------------------------------------------------

static void use_add(struct tb_doc *doc, const struct tb_pool_audit *audit)
{
    const struct locus_pages_stats *stats = &audit->stats;
    tb_doc_fact(doc, "pages", "pages", TB_AS_IS, tb_count(stats->pages));
    tb_doc_fact(doc, "page_bytes", "bytes of a page", TB_AS_BYTES, tb_count(audit->page_bytes));
    tb_doc_fact(doc, "utilization", "in use", TB_AS_SHARE, tb_number(tb_audit_utilization(audit)));
    tb_doc_fact(doc, "pages_free", "pages free", TB_AS_IS, tb_count(stats->pages_free));
    tb_doc_fact(doc, "pages_in_magazines", "of these in magazines", TB_AS_IS, tb_count(stats->pages_in_magazines));
    tb_doc_fact(doc, "pages_largest", "longest free stretch", TB_AS_IS, tb_count(stats->pages_largest));
    tb_doc_fact(doc, "fragmentation", "stretch / free (1: whole)", TB_AS_IS, tb_number(tb_audit_contiguity(audit)));
    tb_doc_fact(doc, "pages_pinned", "pages pinned", TB_AS_IS, tb_count(stats->pages_pinned));
    tb_doc_fact(doc, "pages_peak", "most pages in use", TB_AS_IS, tb_count(stats->pages_peak));
    tb_doc_fact(doc, "ranges_in_use", "ranges", TB_AS_IS, tb_count(stats->ranges));
    tb_doc_fact(doc, "draining", "on the way down", TB_AS_IS, tb_flag(stats->draining));
    tb_doc_fact(doc, "pins_overdue", "pins overdue", TB_AS_IS, tb_count(audit->overdue));
    tb_doc_fact(doc, "now_ns", "the arena's clock", TB_AS_TIME, tb_number((double)audit->now_ns));
}

static void counts_add(struct tb_doc *doc, const struct tb_pool_audit *audit)
{
    const struct locus_pages_stats *stats = &audit->stats;
    const struct tb_engine_counts *engine = &audit->engine;
    tb_doc_fact(doc, "ranges_allocated", "ranges allocated", TB_AS_IS, tb_count(stats->ranges_allocated));
    tb_doc_fact(doc, "ranges_freed", "ranges freed", TB_AS_IS, tb_count(stats->ranges_freed));
    tb_doc_fact(doc, "leave_refused", "evictions refused", TB_AS_IS, tb_count(stats->evict_refused));
    tb_doc_fact(doc, "thrashed", "wanted again within 1 s", TB_AS_IS, tb_count(stats->thrashed));
    tb_doc_fact(doc, "room_waits", "waits for an eviction", TB_AS_IS, tb_count(stats->room_waits));
    tb_doc_fact(doc, "refused_no_room", "allocations without room", TB_AS_IS, tb_count(engine->refused[TB_REFUSED_NO_ROOM]));
    tb_doc_fact(doc, "refused_on_its_way", "allocations asked again", TB_AS_IS, tb_count(engine->refused[TB_REFUSED_ON_ITS_WAY]));
    tb_doc_fact(doc, "pins", "pins", TB_AS_IS, tb_count(engine->pins));
    tb_doc_fact(doc, "pin_retries", "pins asked again", TB_AS_IS, tb_count(engine->pin_retries));
    tb_doc_fact(doc, "pins_refused", "pins undone", TB_AS_IS, tb_count(stats->pins_refused));
    tb_doc_fact(doc, "sets_reaped", "sets rolled back for the dead", TB_AS_IS, tb_count(stats->sets_reaped));
}

static void kinds_add(struct tb_doc *doc, const struct tb_pool_audit *audit)
{
    const struct tb_column columns[] = {{"kind", "kind", TB_AS_IS, false},
                                        {"pages", "pages\nin use", TB_AS_IS, false},
                                        {"ranges_evicted.room", "ranges\nfor room", TB_AS_IS, false},
                                        {"ranges_evicted.watermark", "by\nwatermark", TB_AS_IS, false},
                                        {"ranges_evicted.asked", "asked", TB_AS_IS, false},
                                        {"pages_evicted.room", "pages\nfor room", TB_AS_IS, false},
                                        {"pages_evicted.watermark", "by\nwatermark", TB_AS_IS, false},
                                        {"pages_evicted.asked", "asked", TB_AS_IS, false},
                                        {"found", "found", TB_AS_IS, false},
                                        {"missed", "missed", TB_AS_IS, false},
                                        {"hit_rate", "hit\nrate", TB_AS_SHARE, false},
                                        {0}};
    struct tb_table *table = tb_doc_table(doc, "kinds", "By kind: in use, evicted, and looked for by the engine", columns);
    for (uint32_t kind = 0; kind < LOCUS_PAGES_KINDS; kind++) {
        tb_table_add(table, TB_ROW_PLAIN, tb_text_value(tb_kind_name(kind)), tb_count(audit->stats.pages_of[kind]));
        for (uint32_t reason = 0; reason < LOCUS_EVICT_REASONS; reason++)
            tb_table_put(table, tb_count(audit->stats.ranges_evicted[kind][reason]));
        for (uint32_t reason = 0; reason < LOCUS_EVICT_REASONS; reason++)
            tb_table_put(table, tb_count(audit->stats.pages_evicted[kind][reason]));
        tb_table_put(table, tb_count(audit->engine.found[kind]));
        tb_table_put(table, tb_count(audit->engine.missed[kind]));
        tb_table_put(table, tb_number(tb_audit_hit_rate(audit, kind)));
    }
}

// --- latency -------------------------------------------------------------------------------------------------------------------

static void latency_row(struct tb_table *table, const char *what, const struct tb_latency *latency)
{
    bool any = latency->count > 0;
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value(what), tb_count(latency->count),
                 tb_number(tb_latency_quantile_ns(latency, 0.5)), tb_number(tb_latency_quantile_ns(latency, 0.99)),
                 tb_number(tb_latency_quantile_ns(latency, 0.999)), any ? tb_number((double)latency->max_ns) : tb_none(NULL),
                 any ? tb_number((double)latency->sum_ns / (double)latency->count) : tb_none(NULL));
    for (uint32_t i = 0; i <= TB_LATENCY_BOUNDS; i++)
        tb_table_put(table, tb_count(latency->counts[i]));
}

static void latency_add(struct tb_doc *doc, const struct tb_pool_audit *audit, uint64_t clock_ns)
{
    const struct tb_column columns[] = {
        {"of", "allocations", TB_AS_IS, false},        {"count", "number", TB_AS_IS, false},
        {"p50_ns", "p50", TB_AS_TIME, false},          {"p99_ns", "p99", TB_AS_TIME, false},
        {"p999_ns", "p99.9", TB_AS_TIME, false},       {"max_ns", "slowest", TB_AS_TIME, false},
        {"mean_ns", "mean", TB_AS_TIME, false},        {"histogram.to_100ns", NULL, TB_AS_IS, false},
        {"histogram.to_1us", NULL, TB_AS_IS, false},   {"histogram.to_10us", NULL, TB_AS_IS, false},
        {"histogram.to_100us", NULL, TB_AS_IS, false}, {"histogram.to_1ms", NULL, TB_AS_IS, false},
        {"histogram.more", NULL, TB_AS_IS, false},     {0}};
    struct tb_table *table = tb_doc_table(doc, "latency", "How long allocations took", columns);
    latency_row(table, "of one page", &audit->engine.allocate_page);
    latency_row(table, "all", &audit->engine.allocate);
    tb_table_note(table,
                  "With the evictions that they made, without what the storm itself did with contents that left, and without "
                  "the %llu ns that two readings of the clock take here.",
                  (unsigned long long)clock_ns);
}

// --- the storm -----------------------------------------------------------------------------------------------------------------

bool tb_storm_held(const struct tb_storm_report *storm)
{
    return storm->damaged == 0 && storm->pins_lost == 0 && storm->error == 0;
}

static void storm_add(struct tb_doc *doc, const struct tb_pool_shown *shown)
{
    const struct tb_storm_report *storm = shown->storm;
    tb_doc_heading(doc, 2, "storm", "The storm");
    tb_doc_fact(doc, "threads", "threads", TB_AS_IS, tb_count(shown->threads));
    tb_doc_fact(doc, "seed", "seed", TB_AS_IS, tb_count(shown->seed));
    tb_doc_fact(doc, "virtual_ns", "virtual time", TB_AS_TIME, tb_number((double)storm->now_ns));
    tb_doc_fact(doc, "took_s", "seconds that it took", TB_AS_IS, tb_number(storm->took_s));
    tb_doc_fact(doc, "objects", "objects", TB_AS_IS, tb_count(storm->objects));
    tb_doc_fact(doc, "object_pages", "their pages", TB_AS_IS, tb_count(storm->object_pages));
    tb_doc_fact(doc, "calls", "calls of the arena", TB_AS_IS, tb_count(storm->calls));
    tb_doc_fact(doc, "checks", "checks of contents", TB_AS_IS, tb_count(storm->checks));
    tb_doc_fact(doc, "damaged", "contents damaged", TB_AS_IS, tb_count(storm->damaged));
    tb_doc_fact(doc, "pins_lost", "pins lost", TB_AS_IS, tb_count(storm->pins_lost));
    tb_doc_fact(doc, "held", NULL, TB_AS_IS, tb_flag(tb_storm_held(storm)));
    if (tb_storm_held(storm))
        tb_doc_answer(doc, "answer",
                      "The pool held: %llu calls by %u threads that wanted %.2f times its pages, for %.0f s of virtual "
                      "time. No thread was stuck, no pin was lost, and contents were right in all %llu checks.",
                      (unsigned long long)storm->calls, shown->threads,
                      (double)storm->object_pages / (double)shown->look->audit.stats.pages, (double)storm->now_ns / 1e9,
                      (unsigned long long)storm->checks);
    else
        tb_doc_answer(doc, "answer", "THE POOL FAILED: contents damaged %llu times, pins lost %llu times, first: %s.",
                      (unsigned long long)storm->damaged, (unsigned long long)storm->pins_lost, storm->first);
}

static void config_add(struct tb_doc *doc, const struct tb_pool_shown *shown)
{
    const struct tb_pool_config *config = shown->config;
    tb_doc_heading(doc, 2, "config", "Configuration");
    tb_doc_fact(doc, "file", "file", TB_AS_IS,
                shown->config_path ? tb_text_value(shown->config_path) : tb_none("none: the defaults"));
    bool huge = config->pages.page == LOCUS_PAGE_THP;
    tb_doc_fact(doc, "memory", "made of", TB_AS_IS,
                tb_text_value(huge ? "huge pages where the kernel finds them" : "pages of 4 KiB"));
    tb_doc_fact(doc, "fit", "fit", TB_AS_IS, tb_text_value(config->pages.first_fit ? "first_fit" : "best_fit"));
    tb_doc_fact(doc, "magazine_pages", "pages of a magazine", TB_AS_IS, tb_count(config->pages.magazine_pages));
    tb_doc_fact(doc, "score", "who leaves first", TB_AS_IS, tb_text_value(config->pages.score->name));
    tb_doc_say(doc, NULL, "%s: %s", config->pages.score->name, config->pages.score->summary);
    tb_doc_fact(doc, "high_watermark", "high watermark", TB_AS_SHARE, tb_number(config->pages.high_permille / 1000.0));
    tb_doc_fact(doc, "low_watermark", "low watermark", TB_AS_SHARE, tb_number(config->pages.low_permille / 1000.0));
    tb_doc_fact(doc, "pin_overdue_ns", "a pin is overdue after", TB_AS_TIME, tb_number((double)config->pin_overdue_ns));
    tb_doc_fact(doc, "pin_timeout_ns", "a pin is tried for", TB_AS_TIME, tb_number((double)config->pin_timeout_ns));
}

struct tb_doc *tb_pool_doc(json_t *head, const struct tb_pool_shown *shown)
{
    const struct tb_pool_look *look = shown->look;
    struct tb_doc *doc = tb_doc_open(head);
    if (!doc)
        return NULL;
    tb_doc_heading(doc, 1, NULL, "Unified pool of pages");
    config_add(doc, shown);
    tb_doc_heading(doc, 2, "table", shown->rested ? "Page table, after the storm" : "Page table");
    map_add(doc, look);
    runs_add(doc, look);
    ranges_add(doc, look);
    left_add(doc, look);
    tb_doc_heading(doc, 2, "audit", "Audit");
    use_add(doc, &look->audit);
    if (shown->storm) {
        counts_add(doc, &look->audit);
        kinds_add(doc, &look->audit);
        latency_add(doc, &look->audit, shown->storm->clock_ns);
        storm_add(doc, shown);
    }
    return doc;
}
