// SPDX-License-Identifier: Apache-2.0
//
// weighted: the rule of the document that this arena is after. Definition: the score is 0.6 / (idle seconds + 1), plus 0.2
// times the share of the arena's pages that the range has, plus 0.2 times the kind's priority: scratch 1, activation 2, adapter 3
// if it has been idle for a minute and 4 before, KV 5.
//
// Nine seconds after its last use nothing but the kind decides: recency is then worth less than the step between two kinds. The
// size counts in favour of large ranges. Both are the document's, and are kept as they are, to be measured.
#include "locus/pages_evict.h"

#define COLD_NS UINT64_C(60000000000) // the document names no age for a cold adapter; this is its window of access

static double priority(const struct locus_score_view *view)
{
    switch (view->kind) {
    case LOCUS_PAGES_SCRATCH: return 1;
    case LOCUS_PAGES_ACTIVATION: return 2;
    case LOCUS_PAGES_ADAPTER: return view->idle_ns >= COLD_NS ? 3 : 4;
    default: return 5;
    }
}

static double score(const struct locus_score_view *view)
{
    double recency = 1 / ((double)view->idle_ns * 1e-9 + 1);
    double size = (double)view->pages / (double)view->pages_total;
    return 0.6 * recency + 0.2 * size + 0.2 * priority(view);
}

const struct locus_score_ops locus_score_weighted = {
    .name = "weighted",
    .summary = "a weighted sum of recency, size and kind, as the document has it: the lowest leaves first",
    .ages = true,
    .score = score,
};
LOCUS_SCORE(locus_score_weighted);
