// SPDX-License-Identifier: Apache-2.0
//
// lru: the range that was used longest ago leaves first. Definition: the score is minus the idle time. All ranges age alike,
// so their order changes only by use.
#include "locus/pages_evict.h"

static double score(const struct locus_score_view *view)
{
    return -(double)view->idle_ns;
}

const struct locus_score_ops locus_score_lru = {
    .name = "lru",
    .summary = "least recently used: what was used longest ago leaves first",
    .score = score,
};
LOCUS_SCORE(locus_score_lru);
