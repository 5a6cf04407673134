// SPDX-License-Identifier: Apache-2.0
//
// score_lru_size: large ranges leave earlier, because one of them makes as much room as several small ones. Definition: the score
// is minus the product of idle time and pages, the space-time that the range has held in vain.
#include "locus/pages_evict.h"

static double score(const struct locus_score_view *view)
{
    return -(double)view->idle_ns * (double)view->pages;
}

static const struct locus_score_ops tb_score_lru_size = {
    .name = "lru-size",
    .summary = "idle time times pages: what has held the most space in vain leaves first",
    .ages = true,
    .score = score,
};
LOCUS_SCORE(tb_score_lru_size);
