// SPDX-License-Identifier: Apache-2.0
//
// score_cost: what is cheap to bring back leaves first. Definition: the score is the cost of bringing the range back, divided by
// the product of its pages and its idle time. If a range comes back with a probability that falls as one over its idle time, that
// is what each page of its room is worth. An idle time of 0 counts as 1 ns.
#include "locus/pages_evict.h"

static double score(const struct locus_score_view *view)
{
    double idle_ns = view->idle_ns ? (double)view->idle_ns : 1;
    return (double)view->cost_ns / ((double)view->pages * idle_ns);
}

static const struct locus_score_ops tb_score_cost = {
    .name = "cost",
    .summary = "cost of bringing back, for each page and each second idle: the cheapest leaves first",
    .ages = true,
    .score = score,
};
LOCUS_SCORE(tb_score_cost);
