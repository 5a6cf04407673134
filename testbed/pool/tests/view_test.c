// SPDX-License-Identifier: Apache-2.0
//
// The page table as programs and people get it, of an arena whose ranges are known; old pins; what left and why.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/doc/emit.h"
#include "testbed/pool/view.h"

static struct tb_pool_config config;
static struct locus_pages *pages;
static struct tb_pool_look look;
static struct tb_storm_report storm;

static locus_range allocate(enum locus_pages_kind kind, uint32_t count, uint64_t owner, bool pinned)
{
    const struct locus_pages_request ask = {.kind = kind, .pages = count, .owner = owner};
    locus_range range;
    cr_assert_eq(locus_pages_alloc(pages, NULL, &ask, &range), 0);
    if (!pinned)
        cr_assert_eq(locus_pages_unpin(pages, range), 0);
    return range;
}

// 0-1 KV of 1, 2 KV of 2, 3-5 an adapter, pinned since 1 s, 6-7 free; at 40 s.
static void arena_make(void)
{
    config = tb_pool_config_defaults;
    config.pages.size = sizeof config.pages;
    config.pages.page_bytes = 512 << 10;
    config.pages.pages = 8;
    config.pages.page = LOCUS_PAGE_4K;
    config.pages.high_permille = config.pages.low_permille = 0;
    cr_assert_eq(locus_pages_open(&pages, &config.pages), 0);
    locus_pages_set_time(pages, 1000000000);
    allocate(LOCUS_PAGES_KV, 2, 1, false);
    allocate(LOCUS_PAGES_KV, 1, 2, false);
    allocate(LOCUS_PAGES_ADAPTER, 3, 3, true);
    locus_pages_set_time(pages, 40000000000);
}

static struct tb_doc *document(bool stormy)
{
    tb_pool_audit(pages, &config, 40000000000, NULL, 0, &look.audit);
    cr_assert_eq(tb_pool_look(pages, &look), 0);
    const struct tb_pool_shown shown = {.config = &config, .look = &look, .storm = stormy ? &storm : NULL, .threads = 1};
    struct tb_doc *doc = tb_pool_doc(NULL, &shown);
    cr_assert_not_null(doc);
    return doc;
}

static const json_t *at(const json_t *json, const char *table, size_t i, const char *key)
{
    return json_object_get(json_array_get(tb_member(json, table), i), key);
}

Test(view, programs_get_every_range_and_the_audit)
{
    arena_make();
    struct tb_doc *doc = document(false);
    json_t *json = tb_doc_as_json(doc);
    cr_assert_eq(json_array_size(tb_member(json, "table.ranges")), 4);
    cr_assert_eq(json_integer_value(at(json, "table.ranges", 2, "first")), 3);
    cr_assert_eq(json_integer_value(at(json, "table.ranges", 2, "pages")), 3);
    cr_assert_eq(json_integer_value(at(json, "table.ranges", 2, "owner")), 3);
    cr_assert_eq(json_integer_value(at(json, "table.ranges", 2, "pins")), 1);
    cr_assert_str_eq(json_string_value(at(json, "table.ranges", 2, "kind")), "adapter");
    cr_assert_eq(json_number_value(at(json, "table.ranges", 2, "pinned_ns")), 39e9);
    cr_assert(json_is_null(at(json, "table.ranges", 1, "pinned_ns")));
    cr_assert_str_eq(json_string_value(at(json, "table.ranges", 3, "state")), "free");
    cr_assert(json_is_null(at(json, "table.ranges", 3, "owner")));
    cr_assert_eq(tb_member_number(json, "audit.utilization"), 0.75);
    cr_assert_eq(tb_member_number(json, "audit.fragmentation"), 1);
    cr_assert_eq(tb_member_number(json, "audit.pins_overdue"), 1);
    cr_assert_null(tb_member(json, "storm"), "nothing was run");
    json_decref(json);
    tb_doc_close(doc);
    tb_pool_look_close(&look);
}

static void text_has(struct tb_doc *doc, const char *const parts[])
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(tb_emit_text(stream, doc, (struct tb_report_style){.columns = 100}), 0);
    fclose(stream);
    for (; *parts; parts++)
        cr_assert(strstr(text, *parts), "no '%s' in:\n%s", *parts, text);
    free(text);
}

Test(view, people_get_a_map_and_runs)
{
    arena_make();
    struct tb_doc *doc = document(false);
    text_has(doc, (const char *const[]){"kkkAAA..\n", "1 and 1 more", "pin overdue", "Nothing was evicted.", NULL});
    tb_doc_close(doc);
    tb_pool_look_close(&look);
}

Test(view, neighbours_that_are_pinned_are_rows_of_their_own)
{
    arena_make();
    allocate(LOCUS_PAGES_ADAPTER, 1, 77, true); // after another one that is pinned
    struct tb_doc *doc = document(false);
    text_has(doc, (const char *const[]){"kkkAAAA.\n", "adapter  77", NULL});
    tb_doc_close(doc);
    tb_pool_look_close(&look);
}

Test(view, what_left_is_there_with_its_reason)
{
    arena_make();
    cr_assert_eq(locus_pages_evict(pages, LOCUS_PAGES_KV, 3), 0);
    allocate(LOCUS_PAGES_SCRATCH, 3, 9, false);
    struct tb_doc *doc = document(false);
    json_t *json = tb_doc_as_json(doc);
    size_t left = json_array_size(tb_member(json, "table.left"));
    cr_assert(left >= 1 && left <= 2, "%zu", left);
    cr_assert_str_eq(json_string_value(at(json, "table.left", left - 1, "kind")), "kv");
    cr_assert_str_eq(json_string_value(at(json, "table.left", left - 1, "reason")), "asked");
    cr_assert_eq(json_number_value(at(json, "table.left", left - 1, "idle_ns")), 39e9);
    text_has(doc, (const char *const[]){"What left lately", "asked", NULL});
    json_decref(json);
    tb_doc_close(doc);
    tb_pool_look_close(&look);
}

Test(view, a_storm_that_failed_is_not_told_as_one_that_held)
{
    arena_make();
    storm = (struct tb_storm_report){.calls = 5, .checks = 7, .now_ns = 1000000000};
    cr_assert(tb_storm_held(&storm));
    struct tb_doc *doc = document(true);
    text_has(doc, (const char *const[]){"The pool held: 5 calls", NULL});
    tb_doc_close(doc);
    tb_pool_look_close(&look);
    const struct tb_storm_report bad[] = {{.damaged = 1, .first = "why"}, {.pins_lost = 2, .first = "why"}, {.error = -EINVAL}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        storm = bad[i];
        cr_assert(!tb_storm_held(&storm));
        doc = document(true);
        text_has(doc, (const char *const[]){"THE POOL FAILED", NULL});
        json_t *json = tb_doc_as_json(doc);
        cr_assert(json_is_false(tb_member(json, "storm.held")));
        json_decref(json);
        tb_doc_close(doc);
        tb_pool_look_close(&look);
    }
}
