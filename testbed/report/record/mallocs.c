// SPDX-License-Identifier: Apache-2.0
//
// mallocs: see mallocs.h. Each figure is the one at its address (judge/address.h).
#include "testbed/report/record/mallocs.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/address.h"
#include "testbed/judge/shown.h"
#include "testbed/record/store.h"

#define OURS "locus"
#define FLOOR "oracle"

struct best {
    const char *malloc;         // borrowed from the view
    struct tb_addressed ours, floor; // the malloc's time over theirs
};

// The time of arm `over` over that of arm `under`.
static int compare(const struct tb_log_view *view, const char *cell, const char *over, const char *under, struct tb_addressed *out,
                   char *why, size_t why_bytes)
{
    struct tb_address address = {.stat = TB_STAT_HL_RATIO, .metric = "time_ns"};
    snprintf(address.cell, sizeof address.cell, "%s", cell);
    snprintf(address.over, sizeof address.over, "%s", over);
    snprintf(address.under, sizeof address.under, "%s", under);
    return tb_address_measure(view, &address, out, why, why_bytes);
}

static int find_best(const struct tb_log_view *view, const char *cell, struct best *out, char *why, size_t why_bytes)
{
    const json_t *arm;
    size_t i;
    *out = (struct best){.ours.estimate = INFINITY};
    json_array_foreach (tb_member(view->header, "arms"), i, arm) {
        struct tb_addressed ratio;
        if (strcmp(tb_member_text(arm, "role"), "malloc"))
            continue;
        int rc = compare(view, cell, tb_member_text(arm, "key"), OURS, &ratio, why, why_bytes);
        if (rc)
            return rc;
        if (ratio.estimate < out->ours.estimate)
            *out = (struct best){.malloc = tb_member_text(arm, "key"), .ours = ratio};
    }
    if (!out->malloc) {
        snprintf(why, why_bytes, "%s: no malloc was measured in %s", view->path, cell);
        return -ENODATA;
    }
    return compare(view, cell, out->malloc, FLOOR, &out->floor, why, why_bytes);
}

// The name of an arm, without what a postulate added.
static const char *name_of(const struct tb_log_view *view, const char *key, char out[80])
{
    const json_t *arm;
    size_t i;
    json_array_foreach (tb_member(view->header, "arms"), i, arm)
        if (strcmp(tb_member_text(arm, "key"), key) == 0)
            snprintf(out, 80, "%.*s", (int)strcspn(tb_member_text(arm, "name"), "%"), tb_member_text(arm, "name"));
    return out;
}

static struct tb_value value_of(const struct tb_addressed *ratio)
{
    return tb_interval_of(ratio->estimate, ratio->low, ratio->high, TB_CONFIDENCE);
}

static const struct tb_column columns[] = {
    {NULL, "workload, best malloc", TB_AS_IS, false},
    {"cell", NULL, TB_AS_IS, false},
    {"malloc", NULL, TB_AS_IS, false},
    {"times_faster", "times as fast as\nthe best malloc", TB_AS_RATIO, true},
    {"floor", "the floor", TB_AS_RATIO, false},
    {0},
};

int tb_mallocs_put(struct tb_doc *doc, const struct tb_log_view *view, const char *record, const char *pattern, char *why,
                   size_t why_bytes)
{
    char title[256], host[64], cell[160], name[80] = "", label[256];
    struct tb_table *table = NULL;
    tb_store_host_of(view->path, host, sizeof host);
    snprintf(title, sizeof title, "locus in record %s, %s, %s (upright line: the floor, no allocator)", record, host, pattern);
    for (size_t i = 0; i < tb_cells_count(view); i++) {
        struct best best;
        tb_cell_label(view, i, cell, sizeof cell);
        if (fnmatch(pattern, cell, 0))
            continue;
        int rc = find_best(view, cell, &best, why, why_bytes);
        if (rc)
            return rc;
        if (!table)
            table = tb_doc_table(doc, "mallocs", title, columns);
        name_of(view, best.malloc, name);
        snprintf(label, sizeof label, "%.*s, %s", (int)strcspn(cell, "/"), cell, name);
        tb_table_add(table, TB_ROW_PLAIN, tb_text_value(label), tb_text_value(cell), tb_text_value(name),
                     tb_marked(value_of(&best.ours), best.floor.estimate), value_of(&best.floor));
    }
    if (!table)
        snprintf(why, why_bytes, "%s: it has no cell '%s'", view->path, pattern);
    return table ? 0 : -ENODATA;
}
