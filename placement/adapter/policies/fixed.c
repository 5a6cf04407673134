// SPDX-License-Identifier: Apache-2.0
//
// fixed: the first numbers are hot, and stay. Where numbers go by popularity, it is a static top `hot`: the arm that knows the
// popularities and learns nothing.
//
// Definition. The lower number ranks first, from the beginning. Only demote() and forget() take one out; its next use brings it
// back.

#include <errno.h>
#include <stdlib.h>

#include "placement/adapter/ranks.h"

static void fixed_close(void *state)
{
    if (state)
        ranks_close(state);
    free(state);
}

static void fixed_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct ranks *ranks = state;
    (void)now_ns;
    if (ranks_admitted(ranks, adapter) != LOCUS_ADAPTER_HOT)
        ranks_set(ranks, adapter, LOCUS_ADAPTER_HOT, ranks->adapters - adapter);
}

static int fixed_open(void **state, const struct locus_adapter_policy_config *given)
{
    struct locus_adapter_policy_config config;
    struct ranks *ranks = malloc(sizeof *ranks);
    *state = NULL;
    if (!ranks)
        return -ENOMEM;
    int error = ranks_open(ranks, given, &config);
    if (error) {
        fixed_close(ranks);
        return error;
    }
    for (uint32_t adapter = 0; adapter < config.adapters; adapter++)
        fixed_use(ranks, 0, adapter);
    *state = ranks;
    return 0;
}

const struct locus_adapter_policy locus_adapter_policy_fixed = {
    .name = "fixed",
    .summary = "the adapters of the first numbers are hot, whoever is used",
    .open = fixed_open,
    .close = fixed_close,
    .use = fixed_use,
    .place = ranks_place,
    .moved = ranks_moved,
    .due_ns = ranks_never,
    .victim = ranks_victim,
    .demote = ranks_demote,
    .forget = ranks_forget,
};
