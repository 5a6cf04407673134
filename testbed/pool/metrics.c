// SPDX-License-Identifier: Apache-2.0
//
// metrics: a family each with its head, then its samples; see metrics.h.
#include "testbed/pool/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "testbed/base/file.h"

struct writer {
    FILE *out;
    enum tb_metrics_form form;
};

enum type { TYPE_GAUGE, TYPE_COUNTER, TYPE_HISTOGRAM };

// Of a counter the name is without "_total". `unit` is the end of the name, or NULL.
static void family(const struct writer *writer, enum type type, const char *name, const char *unit, const char *help)
{
    static const char *const types[] = {"gauge", "counter", "histogram"};
    bool open = writer->form == TB_METRICS_OPEN;
    const char *end = type == TYPE_COUNTER && !open ? "_total" : ""; // the older format names a family as its samples
    fprintf(writer->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, end, help, name, end, types[type]);
    if (unit && open)
        fprintf(writer->out, "# UNIT %s %s\n", name, unit);
}

// The fewest digits that are read back as the same number.
static void number(const struct writer *writer, double value)
{
    char text[40] = "NaN";
    for (int digits = 15; !isnan(value) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fprintf(writer->out, "%s\n", text);
}

static void gauge(const struct writer *writer, const char *name, const char *unit, double value, const char *help)
{
    family(writer, TYPE_GAUGE, name, unit, help);
    fprintf(writer->out, "%s ", name);
    number(writer, value);
}

static void counter(const struct writer *writer, const char *name, uint64_t value, const char *help)
{
    family(writer, TYPE_COUNTER, name, NULL, help);
    fprintf(writer->out, "%s_total %llu\n", name, (unsigned long long)value);
}

// --- the families --------------------------------------------------------------------------------------------------------------

static void pages_write(const struct writer *writer, const struct tb_pool_audit *audit)
{
    const struct locus_pages_stats *stats = &audit->stats;
    gauge(writer, "locus_pool_page_size_bytes", "bytes", (double)audit->page_bytes, "Bytes of a page.");
    gauge(writer, "locus_pool_pages", NULL, stats->pages, "Pages of the arena.");
    gauge(writer, "locus_pool_pages_free", NULL, stats->pages_free, "Free pages, with those in magazines.");
    gauge(writer, "locus_pool_pages_in_magazines", NULL, stats->pages_in_magazines, "Free pages in the magazines of threads.");
    gauge(writer, "locus_pool_pages_largest", NULL, stats->pages_largest, "Pages of the longest free stretch.");
    gauge(writer, "locus_pool_pages_pinned", NULL, stats->pages_pinned, "Pages of ranges that somebody pins.");
    gauge(writer, "locus_pool_pages_peak", NULL, stats->pages_peak, "Most pages in use so far, with those in magazines.");
    gauge(writer, "locus_pool_ranges", NULL, stats->ranges, "Ranges in use.");
    family(writer, TYPE_GAUGE, "locus_pool_kind_pages", NULL, "Pages in use, by kind.");
    for (uint32_t kind = 0; kind < LOCUS_PAGES_KINDS; kind++)
        fprintf(writer->out, "locus_pool_kind_pages{kind=\"%s\"} %u\n", tb_kind_name(kind), stats->pages_of[kind]);
    gauge(writer, "locus_pool_utilization_ratio", "ratio", tb_audit_utilization(audit), "Pages in use, of all pages.");
    gauge(writer, "locus_pool_fragmentation_ratio", "ratio", tb_audit_contiguity(audit),
          "Longest free stretch, of the free pages that are in no magazine. 1: not fragmented.");
    if (audit->high_permille > 0) {
        gauge(writer, "locus_pool_high_watermark_ratio", "ratio", audit->high_permille / 1000.0, "The arena begins to evict here.");
        gauge(writer, "locus_pool_low_watermark_ratio", "ratio", audit->low_permille / 1000.0, "And goes on down to here.");
    }
    gauge(writer, "locus_pool_draining", NULL, stats->draining, "1: on the way from the high watermark down to the low one.");
    gauge(writer, "locus_pool_engine_time_seconds", "seconds", (double)audit->now_ns / 1e9, "The arena's clock.");
}

static void evicted_write(const struct writer *writer, const char *name, const char *help,
                          const uint64_t counts[LOCUS_PAGES_KINDS][LOCUS_EVICT_REASONS])
{
    family(writer, TYPE_COUNTER, name, NULL, help);
    for (uint32_t kind = 0; kind < LOCUS_PAGES_KINDS; kind++)
        for (uint32_t reason = 0; reason < LOCUS_EVICT_REASONS; reason++)
            fprintf(writer->out, "%s_total{kind=\"%s\",reason=\"%s\"} %llu\n", name, tb_kind_name(kind), tb_reason_name(reason),
                    (unsigned long long)counts[kind][reason]);
}

static void ranges_write(const struct writer *writer, const struct tb_pool_audit *audit)
{
    const struct locus_pages_stats *stats = &audit->stats;
    counter(writer, "locus_pool_ranges_allocated", stats->ranges_allocated, "Ranges allocated.");
    counter(writer, "locus_pool_ranges_freed", stats->ranges_freed, "Ranges freed by a call.");
    evicted_write(writer, "locus_pool_ranges_evicted", "Ranges evicted, by kind and reason.", stats->ranges_evicted);
    evicted_write(writer, "locus_pool_pages_evicted", "Pages of evicted ranges, by kind and reason.", stats->pages_evicted);
    counter(writer, "locus_pool_leave_refused", stats->evict_refused, "Evictions that the owner of the contents refused.");
    counter(writer, "locus_pool_thrashed", stats->thrashed,
            "Allocations for an owner and kind that was evicted within the last second of the arena's clock. A lower bound.");
    counter(writer, "locus_pool_room_waits", stats->room_waits, "Allocations that waited for another thread's eviction.");
    counter(writer, "locus_pool_sets_reaped", stats->sets_reaped,
            "Prepared sets that were rolled back because their thread ended.");
    family(writer, TYPE_COUNTER, "locus_pool_allocations_refused", NULL,
           "Allocations that failed: no_room, or on_its_way while contents are being saved.");
    for (uint32_t i = 0; i < TB_REFUSALS; i++)
        fprintf(writer->out, "locus_pool_allocations_refused_total{reason=\"%s\"} %llu\n", tb_refusal_name(i),
                (unsigned long long)audit->engine.refused[i]);
}

static void pins_write(const struct writer *writer, const struct tb_pool_audit *audit)
{
    counter(writer, "locus_pool_pins", audit->engine.pins, "Pins that the engine asked for.");
    counter(writer, "locus_pool_pin_retries", audit->engine.pin_retries,
            "Pins asked for again, because the range was leaving or not yet visible.");
    counter(writer, "locus_pool_pins_refused", audit->stats.pins_refused,
            "Pins undone, because the range was gone, leaving or not yet visible.");
    gauge(writer, "locus_pool_pins_overdue", NULL, audit->overdue, "Ranges that were not without a pin for too long.");
    gauge(writer, "locus_pool_pin_overdue_seconds", "seconds", (double)audit->overdue_ns / 1e9, "From this age a pin is overdue.");
    family(writer, TYPE_COUNTER, "locus_pool_lookups", NULL, "Contents that the engine looked for, by kind and outcome.");
    for (uint32_t kind = 0; kind < LOCUS_PAGES_KINDS; kind++)
        fprintf(writer->out,
                "locus_pool_lookups_total{kind=\"%s\",outcome=\"hit\"} %llu\n"
                "locus_pool_lookups_total{kind=\"%s\",outcome=\"miss\"} %llu\n",
                tb_kind_name(kind), (unsigned long long)audit->engine.found[kind], tb_kind_name(kind),
                (unsigned long long)audit->engine.missed[kind]);
}

// As Prometheus' own libraries print them: 1e-07, 1e-06, 1e-05, 0.0001, 0.001.
static void latency_write(const struct writer *writer, const char *name, const struct tb_latency *latency, const char *help)
{
    uint64_t below = 0;
    family(writer, TYPE_HISTOGRAM, name, "seconds", help);
    for (uint32_t i = 0; i < TB_LATENCY_BOUNDS; i++) {
        below += latency->counts[i];
        fprintf(writer->out, "%s_bucket{le=\"%g\"} %llu\n", name, tb_latency_bound_s[i], (unsigned long long)below);
    }
    fprintf(writer->out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum ", name, (unsigned long long)latency->count, name);
    number(writer, (double)latency->sum_ns / 1e9);
    fprintf(writer->out, "%s_count %llu\n", name, (unsigned long long)latency->count);
}

int tb_metrics_write(FILE *out, const struct tb_pool_audit *audit, enum tb_metrics_form form)
{
    const struct writer writer = {out, form};
    errno = 0;
    pages_write(&writer, audit);
    ranges_write(&writer, audit);
    pins_write(&writer, audit);
    latency_write(&writer, "locus_pool_allocation_latency_seconds", &audit->engine.allocate,
                  "Time of an allocation, with the evictions that it made, without the clock's cost.");
    if (form == TB_METRICS_OPEN)
        fputs("# EOF\n", out);
    if (fflush(out) == 0 && !ferror(out))
        return 0;
    return errno ? -errno : -EIO;
}

static int open_write(FILE *stream, const void *what)
{
    return tb_metrics_write(stream, what, TB_METRICS_OPEN);
}

static int text_write(FILE *stream, const void *what)
{
    return tb_metrics_write(stream, what, TB_METRICS_TEXT);
}

int tb_metrics_file(const char *path, const struct tb_pool_audit *audit)
{
    size_t length = strlen(path);
    bool text = length >= 5 && strcmp(path + length - 5, ".prom") == 0;
    return tb_output_write(path, text ? text_write : open_write, audit);
}

// --- which form? ---------------------------------------------------------------------------------------------------------------

const char *tb_metrics_type(enum tb_metrics_form form)
{
    return form == TB_METRICS_OPEN ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                   : "text/plain; version=0.0.4; charset=utf-8";
}

// One entry of the list, "text/plain;version=0.0.4;q=0.5": is it of this type, and how much is it wanted?
static bool entry_is(const char *entry, size_t bytes, const char *type, double *wanted)
{
    size_t length = strlen(type);
    if (bytes < length || strncasecmp(entry, type, length) != 0 || (bytes > length && !strchr("; \t", entry[length])))
        return false;
    *wanted = 1;
    for (size_t i = length; i + 2 < bytes; i++)
        if (strchr("; \t", entry[i]) && (entry[i + 1] == 'q' || entry[i + 1] == 'Q') && entry[i + 2] == '=')
            *wanted = strtod(entry + i + 3, NULL);
    return true;
}

enum tb_metrics_form tb_metrics_accepted(const char *accept)
{
    double open = 0, text = 0, wanted;
    for (const char *at = accept ? accept : ""; *at;) {
        at += strspn(at, ", \t");
        size_t bytes = strcspn(at, ",");
        if (entry_is(at, bytes, "application/openmetrics-text", &wanted))
            open = fmax(open, wanted);
        else if (entry_is(at, bytes, "text/plain", &wanted))
            text = fmax(text, wanted);
        at += bytes;
    }
    return open > 0 && open >= text ? TB_METRICS_OPEN : TB_METRICS_TEXT;
}
