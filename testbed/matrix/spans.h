// SPDX-License-Identifier: Apache-2.0
//
// spans: the memory that is measured. A span is bound to one node, in huge pages where there are some, and kept from sample to
// sample while the node has room: populating it costs more than measuring it.
//
// Threads: one.
#ifndef TB_SPANS_H
#define TB_SPANS_H

#include "locus/region.h"
#include "testbed/loops/chase.h"
#include "testbed/matrix/matrix.h"

enum tb_span_use {
    TB_SPAN_CHASE,              // a cycle of all its lines, huge pages
    TB_SPAN_STREAM,             // contents are the user's, huge pages; may be larger than asked for
    TB_SPAN_PAGES,              // contents are the user's, base pages
};

struct tb_span {
    enum tb_span_use use;
    int memory;
    uint64_t bytes;             // that were asked for; the region may be larger
    struct locus_region *region;
    const struct tb_chase_line *at; // CHASE: where the last walk ended
    bool taken;
    struct tb_span *next;
};

struct tb_spans {
    struct tb_span *first;
    uint64_t seed;              // of the cycles
};

// The span, opened if there is none. Spans that nobody has taken are closed where the node has no room for all. On failure `why`
// says what is missing. -errno as locus_region_open().
int tb_spans_take(struct tb_spans *spans, enum tb_span_use use, int memory, uint64_t bytes, struct tb_span **out, char *why,
                  size_t why_bytes);
void tb_spans_release(struct tb_spans *spans); // all that are taken
void tb_spans_close(struct tb_spans *spans);

// Where the pages of regions that are all to be on `memory` are: one account of all. 0, or -ENOMEM.
int tb_spans_look(struct locus_region *const regions[], unsigned count, int memory, struct tb_matrix_placement *out);

#endif
