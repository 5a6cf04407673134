// SPDX-License-Identifier: Apache-2.0
//
// serve_internal: what strategies did in a cell, as serve.c loads and shows it, for here.c, which shows several cells as one.
#ifndef TB_REPORT_SERVE_INTERNAL_H
#define TB_REPORT_SERVE_INTERNAL_H

#include <math.h>

#include "testbed/base/json.h"
#include "testbed/doc/doc.h"
#include "testbed/record/log.h"

#define SERVED_ROWS_MAX 64u

struct served_row {
    const char *name, *invalid;
    bool trap;
    const json_t *served;       // of its first valid sample
    double call_ns;             // median of all
};

struct served_cell {
    const json_t *header;
    struct served_row row[SERVED_ROWS_MAX]; // the best first
    uint32_t count, ranked;
    bool loaded;                // requests arrive over time
    bool random;                // or at random, and nobody waits
};

static inline double served_figure(const struct served_row *row, const char *name)
{
    return row->served ? tb_member_number(row->served, name) : NAN;
}

// The cell of this index and header. What it points to is the view's.
void served_cell_load(const struct tb_log_view *view, size_t index, const json_t *header, struct served_cell *cell);

void served_put_cell(struct tb_doc *doc, const struct served_cell *cell); // its table
json_t *served_cell_json(const struct served_cell *cell);
void served_note_ids(struct tb_table *table, const json_t *serving); // how many tokens an id of the trace stands for
void served_about(struct tb_doc *doc, const struct tb_log_view *view); // what its requests do not say, such as who is left out
json_t *served_cells_json(const json_t *headers); // name and settings of each

#endif
