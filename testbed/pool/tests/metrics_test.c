// SPDX-License-Identifier: Apache-2.0
//
// Metrics as text, parsed back by the rules of the two formats: each number of an audit is there once, and nothing else is; and
// which form a scraper gets.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/file.h"
#include "testbed/pool/metrics.h"

static struct tb_pool_audit audit;
static char *text;
static size_t bytes;

static void audit_make(void)
{
    uint64_t next = 1000;
    audit.stats = (struct locus_pages_stats){.pages = 64,
                                             .pages_free = 16,
                                             .pages_in_magazines = 6,
                                             .pages_largest = 4,
                                             .pages_pinned = 11,
                                             .pages_peak = 63,
                                             .ranges = 17,
                                             .draining = true,
                                             .pages_of = {20, 13, 9, 6},
                                             .ranges_allocated = 501,
                                             .ranges_freed = 77,
                                             .evict_refused = 3,
                                             .thrashed = 19,
                                             .pins_refused = 23,
                                             .room_waits = 29,
                                             .sets_reaped = 2};
    for (uint32_t kind = 0; kind < LOCUS_PAGES_KINDS; kind++) {
        for (uint32_t reason = 0; reason < LOCUS_EVICT_REASONS; reason++) {
            audit.stats.ranges_evicted[kind][reason] = next++;
            audit.stats.pages_evicted[kind][reason] = next++;
        }
        audit.engine.found[kind] = next++;
        audit.engine.missed[kind] = next++;
    }
    audit.engine.pins = 4001;
    audit.engine.pin_retries = 41;
    audit.engine.refused[TB_REFUSED_NO_ROOM] = 43;
    audit.engine.refused[TB_REFUSED_ON_ITS_WAY] = 47;
    audit.page_bytes = 2 << 20;
    audit.now_ns = 12500000000;
    audit.high_permille = 900;
    audit.low_permille = 800;
    audit.overdue_ns = 30000000000;
    audit.overdue = 5;
    static const uint64_t took_ns[] = {50, 100, 900, 5000, 50000, 500000, 5000000};
    for (size_t i = 0; i < sizeof took_ns / sizeof *took_ns; i++)
        tb_latency_add(&audit.engine.allocate, took_ns[i], 0);
}

static void write_form(enum tb_metrics_form form)
{
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(tb_metrics_write(stream, &audit, form), 0);
    fclose(stream);
}

// The value of the one line that begins with this name and its labels.
static double value_of(const char *name)
{
    double value = -1;
    int found = 0;
    size_t length = strlen(name);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        if (strncmp(line, name, length) == 0 && line[length] == ' ') {
            value = strtod(line + length + 1, NULL);
            found++;
        }
    cr_assert_eq(found, 1, "%s is there %d times", name, found);
    return value;
}

Test(metrics, every_number_of_the_audit_is_there_once)
{
    audit_make();
    write_form(TB_METRICS_OPEN);
    static const struct {
        const char *name;
        double value;
    } wanted[] = {{"locus_pool_page_size_bytes", 2097152},
                  {"locus_pool_pages", 64},
                  {"locus_pool_pages_free", 16},
                  {"locus_pool_pages_in_magazines", 6},
                  {"locus_pool_pages_largest", 4},
                  {"locus_pool_pages_pinned", 11},
                  {"locus_pool_pages_peak", 63},
                  {"locus_pool_ranges", 17},
                  {"locus_pool_utilization_ratio", 0.75},
                  {"locus_pool_fragmentation_ratio", 0.4},
                  {"locus_pool_high_watermark_ratio", 0.9},
                  {"locus_pool_low_watermark_ratio", 0.8},
                  {"locus_pool_draining", 1},
                  {"locus_pool_engine_time_seconds", 12.5},
                  {"locus_pool_ranges_allocated_total", 501},
                  {"locus_pool_ranges_freed_total", 77},
                  {"locus_pool_leave_refused_total", 3},
                  {"locus_pool_thrashed_total", 19},
                  {"locus_pool_room_waits_total", 29},
                  {"locus_pool_sets_reaped_total", 2},
                  {"locus_pool_pins_total", 4001},
                  {"locus_pool_pin_retries_total", 41},
                  {"locus_pool_pins_refused_total", 23},
                  {"locus_pool_pins_overdue", 5},
                  {"locus_pool_pin_overdue_seconds", 30},
                  {"locus_pool_allocations_refused_total{reason=\"no_room\"}", 43},
                  {"locus_pool_allocations_refused_total{reason=\"on_its_way\"}", 47},
                  {"locus_pool_allocation_latency_seconds_bucket{le=\"1e-07\"}", 2},
                  {"locus_pool_allocation_latency_seconds_bucket{le=\"1e-06\"}", 3},
                  {"locus_pool_allocation_latency_seconds_bucket{le=\"1e-05\"}", 4},
                  {"locus_pool_allocation_latency_seconds_bucket{le=\"0.0001\"}", 5},
                  {"locus_pool_allocation_latency_seconds_bucket{le=\"0.001\"}", 6},
                  {"locus_pool_allocation_latency_seconds_bucket{le=\"+Inf\"}", 7},
                  {"locus_pool_allocation_latency_seconds_count", 7},
                  {"locus_pool_allocation_latency_seconds_sum", 0.00555605},
                  {"locus_pool_kind_pages{kind=\"kv\"}", 20},
                  {"locus_pool_kind_pages{kind=\"activation\"}", 6}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_assert_float_eq(value_of(wanted[i].name), wanted[i].value, 1e-12, "%s", wanted[i].name);
    for (uint32_t kind = 0; kind < LOCUS_PAGES_KINDS; kind++) {
        char name[120];
        for (uint32_t reason = 0; reason < LOCUS_EVICT_REASONS; reason++) {
            snprintf(name, sizeof name, "locus_pool_ranges_evicted_total{kind=\"%s\",reason=\"%s\"}", tb_kind_name(kind),
                     tb_reason_name(reason));
            cr_assert_eq(value_of(name), audit.stats.ranges_evicted[kind][reason]);
            snprintf(name, sizeof name, "locus_pool_pages_evicted_total{kind=\"%s\",reason=\"%s\"}", tb_kind_name(kind),
                     tb_reason_name(reason));
            cr_assert_eq(value_of(name), audit.stats.pages_evicted[kind][reason]);
        }
        snprintf(name, sizeof name, "locus_pool_lookups_total{kind=\"%s\",outcome=\"hit\"}", tb_kind_name(kind));
        cr_assert_eq(value_of(name), audit.engine.found[kind]);
        snprintf(name, sizeof name, "locus_pool_lookups_total{kind=\"%s\",outcome=\"miss\"}", tb_kind_name(kind));
        cr_assert_eq(value_of(name), audit.engine.missed[kind]);
    }
    free(text);
}

// Each sample follows its family's head, whose name it begins with; a counter's ends with _total; no family has two heads.
static void structure_check(enum tb_metrics_form form)
{
    char family[120] = "", type[20] = "", seen[8192] = " ";
    bool open = form == TB_METRICS_OPEN, ended = false;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        char name[120], kind[20], marked[124];
        size_t length = strcspn(line, "{ ");
        cr_assert(!ended, "something after # EOF");
        ended = strncmp(line, "# EOF\n", 6) == 0;
        if (sscanf(line, "# TYPE %79s %19s\n", name, kind) == 2) {
            snprintf(family, sizeof family, "%s", name);
            snprintf(type, sizeof type, "%s", kind);
            snprintf(marked, sizeof marked, " %s ", family);
            cr_assert_null(strstr(seen, marked), "two heads of %s", family);
            strcat(seen, marked + 1);
        } else if (sscanf(line, "# UNIT %79s %19s\n", name, kind) == 2) {
            cr_assert(open && strlen(name) > strlen(kind) && strcmp(name + strlen(name) - strlen(kind), kind) == 0, "%s", name);
        } else if (line[0] != '#') {
            snprintf(name, sizeof name, "%.*s", (int)length, line);
            cr_assert_eq(strncmp(name, family, strlen(family)), 0, "%s in the family %s", name, family);
            const char *rest = name + strlen(family);
            bool counter = strcmp(type, "counter") == 0, histogram = strcmp(type, "histogram") == 0;
            cr_assert(histogram || strcmp(rest, counter && open ? "_total" : "") == 0, "%s in the family %s", name, family);
            cr_assert(!counter || strcmp(name + length - 6, "_total") == 0, "%s", name);
        }
    }
    cr_assert_eq(ended, open);
}

Test(metrics, both_forms_keep_their_rules)
{
    audit_make();
    for (enum tb_metrics_form form = TB_METRICS_OPEN; form <= TB_METRICS_TEXT; form++) {
        write_form(form);
        structure_check(form);
        free(text);
    }
}

Test(metrics, what_there_is_not_is_not_a_number_and_watermarks_that_are_off_are_absent)
{
    audit_make();
    audit.stats.pages_in_magazines = audit.stats.pages_free;
    audit.high_permille = audit.low_permille = 0;
    write_form(TB_METRICS_OPEN);
    cr_assert(isnan(value_of("locus_pool_fragmentation_ratio")));
    cr_assert_not_null(strstr(text, "locus_pool_fragmentation_ratio NaN\n"));
    cr_assert_null(strstr(text, "watermark_ratio"));
    free(text);
}

Test(metrics, a_stretch_longer_than_what_is_free_by_now_is_all_of_it)
{
    audit_make();
    audit.stats.pages_largest = 30;
    cr_assert_eq(tb_audit_contiguity(&audit), 1);
}

Test(metrics, hit_rates_are_of_what_was_looked_for)
{
    audit_make();
    audit.engine.found[LOCUS_PAGES_KV] = 3;
    audit.engine.missed[LOCUS_PAGES_KV] = 1;
    audit.engine.found[LOCUS_PAGES_SCRATCH] = audit.engine.missed[LOCUS_PAGES_SCRATCH] = 0;
    cr_assert_eq(tb_audit_hit_rate(&audit, LOCUS_PAGES_KV), 0.75);
    cr_assert(isnan(tb_audit_hit_rate(&audit, LOCUS_PAGES_SCRATCH)));
}

Test(metrics, a_scraper_gets_what_it_asks_for)
{
    static const struct {
        const char *accept;
        enum tb_metrics_form form;
    } asked[] = {
        {NULL, TB_METRICS_TEXT},
        {"", TB_METRICS_TEXT},
        {"*/*", TB_METRICS_TEXT},
        {"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", TB_METRICS_TEXT},
        {"text/plain; version=0.0.4", TB_METRICS_TEXT},
        {"application/openmetrics-text", TB_METRICS_OPEN},
        {"application/openmetrics-text; version=1.0.0,application/openmetrics-text; version=0.0.1;q=0.75,"
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         TB_METRICS_OPEN}, // as Prometheus 2.42 asks
        {"Application/OpenMetrics-Text;q=0.5 , text/plain;q=0.4", TB_METRICS_OPEN},
        {"application/openmetrics-text;q=0.3, text/plain;q=0.4", TB_METRICS_TEXT},
        {"application/openmetrics-text;q=0", TB_METRICS_TEXT},
        {"application/openmetrics-text; q=0.0, */*", TB_METRICS_TEXT},
        {"application/openmetrics-textual", TB_METRICS_TEXT},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        cr_assert_eq(tb_metrics_accepted(asked[i].accept), asked[i].form, "%s", asked[i].accept);
}

Test(metrics, a_file_is_replaced_at_once_in_the_form_of_its_name)
{
    char folder[] = "/tmp/locus-metrics-XXXXXX", path[64];
    struct stat before, after;
    audit_make();
    cr_assert_not_null(mkdtemp(folder));
    for (int open = 0; open < 2; open++) {
        snprintf(path, sizeof path, "%s/%s", folder, open ? "pool.txt" : "pool.prom");
        cr_assert_eq(tb_file_create(path, "old\n"), 0);
        cr_assert_eq(stat(path, &before), 0);
        cr_assert_eq(tb_metrics_file(path, &audit), 0);
        cr_assert_eq(stat(path, &after), 0);
        cr_assert_neq(before.st_ino, after.st_ino, "written over the old one, which a collector may be reading");
        cr_assert_eq(tb_file_read(path, &text, &bytes), 0);
        cr_assert_eq(strstr(text, "# EOF\n") != NULL, open);
        cr_assert_not_null(strstr(text, open ? "# TYPE locus_pool_pins counter\n" : "# TYPE locus_pool_pins_total counter\n"));
        free(text);
        unlink(path);
    }
    rmdir(folder);
    cr_assert_eq(tb_metrics_file("/nowhere/pool.prom", &audit), -ENOTDIR);
}

Test(metrics, a_full_disk_is_an_error)
{
    audit_make();
    FILE *full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    cr_assert_eq(tb_metrics_write(full, &audit, TB_METRICS_OPEN), -ENOSPC);
    fclose(full);
}
