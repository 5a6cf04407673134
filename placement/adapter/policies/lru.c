// SPDX-License-Identifier: Apache-2.0
//
// lru: who was used last ranks first.
//
// Definition. Rank is the order of the use() calls. So HOT has the `hot` adapters that were used last, and WARM the `warm` before
// those. What was demoted (adapter_policy.h) ranks below all that was not, and keeps its rank among those that were.

#include <errno.h>
#include <stdlib.h>

#include "placement/adapter/ranks.h"

static void lru_close(void *state)
{
    if (state)
        ranks_close(state);
    free(state);
}

static int lru_open(void **state, const struct locus_adapter_policy_config *given)
{
    struct locus_adapter_policy_config config;
    struct ranks *ranks = malloc(sizeof *ranks);
    *state = NULL;
    if (!ranks)
        return -ENOMEM;
    int error = ranks_open(ranks, given, &config);
    if (error) {
        lru_close(ranks);
        return error;
    }
    *state = ranks;
    return 0;
}

static void lru_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    (void)now_ns;
    ranks_set(state, adapter, LOCUS_ADAPTER_HOT);
}

const struct locus_adapter_policy locus_adapter_policy_lru = {
    .name = "lru",
    .summary = "least recently used: what was used last is hot",
    .open = lru_open,
    .close = lru_close,
    .use = lru_use,
    .place = ranks_place,
    .moved = ranks_moved,
    .due_ns = ranks_never,
    .victim = ranks_victim,
    .demote = ranks_demote,
    .forget = ranks_forget,
};
