// SPDX-License-Identifier: Apache-2.0
//
// frequency: who was used most often ranks first: the "top 100" of seed 002.
//
// Definition. Rank is the number of use() calls since open() or forget(); of equal ones, who was used last ranks first. There is no
// aging: what was popular once stays. The seed sorts from time to time; here each use has its effect at once. What was demoted
// ranks below all that was not, and keeps its rank among those that were. 8 bytes an adapter more.

#include <errno.h>
#include <stdlib.h>

#include "placement/adapter/ranks.h"

struct frequency {
    struct ranks ranks;
    uint64_t *count;
};

static void frequency_close(void *state)
{
    struct frequency *frequency = state;
    if (!frequency)
        return;
    ranks_close(&frequency->ranks);
    free(frequency->count);
    free(frequency);
}

static int frequency_open(void **state, const struct locus_adapter_policy_config *given)
{
    struct locus_adapter_policy_config config;
    struct frequency *frequency = calloc(1, sizeof *frequency);
    *state = NULL;
    if (!frequency)
        return -ENOMEM;
    int error = ranks_open(&frequency->ranks, given, &config);
    if (!error && !(frequency->count = calloc(config.adapters, sizeof *frequency->count)))
        error = -ENOMEM;
    if (error) {
        frequency_close(frequency);
        return error;
    }
    *state = frequency;
    return 0;
}

static void frequency_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct frequency *frequency = state;
    (void)now_ns;
    ranks_set(&frequency->ranks, adapter, LOCUS_ADAPTER_HOT, ++frequency->count[adapter]);
}

static void frequency_forget(void *state, uint64_t now_ns, uint32_t adapter)
{
    ((struct frequency *)state)->count[adapter] = 0;
    ranks_forget(state, now_ns, adapter);
}

const struct locus_adapter_policy locus_adapter_policy_frequency = {
    .name = "frequency",
    .summary = "rank of frequency: what was used most often is hot",
    .open = frequency_open,
    .close = frequency_close,
    .use = frequency_use,
    .place = ranks_place,
    .moved = ranks_moved,
    .due_ns = ranks_never,
    .victim = ranks_victim,
    .demote = ranks_demote,
    .forget = frequency_forget,
};
