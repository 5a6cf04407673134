// SPDX-License-Identifier: Apache-2.0
//
// view: the page table of an arena, what left it lately and why, and its audit (audit.h), as a document (doc/doc.h).
//
// For programs the table has every range. For people neighbours of one kind and state that nobody pins are one row: a run.
#ifndef TB_POOL_VIEW_H
#define TB_POOL_VIEW_H

#include <jansson.h>

#include "testbed/doc/doc.h"
#include "testbed/pool/audit.h"
#include "testbed/pool/storm.h"

struct tb_pool_look {
    struct tb_pool_audit audit; // the caller's, of the same moment
    struct locus_range_info *ranges; // with free stretches, by address
    uint32_t ranges_count;
    struct locus_pages_eviction left[LOCUS_PAGES_EVICTIONS]; // newest first
    uint32_t left_count;
};

// Fills in all but the audit. 0 or -ENOMEM; close in the first case only.
int tb_pool_look(const struct locus_pages *pages, struct tb_pool_look *out);
void tb_pool_look_close(struct tb_pool_look *look);

struct tb_pool_shown {
    const struct tb_pool_config *config;
    const char *config_path;    // NULL: the defaults
    const struct tb_pool_look *look;
    const struct tb_storm_report *storm; // NULL: nothing was run
    uint32_t threads;
    uint64_t seed;
    bool rested;                // the storm's pins were ended before the look
};

// `head` is taken over. NULL without memory.
struct tb_doc *tb_pool_doc(json_t *head, const struct tb_pool_shown *shown);

// Nothing went wrong: no contents damaged, no pin lost, no error.
bool tb_storm_held(const struct tb_storm_report *storm);

#endif
