// SPDX-License-Identifier: Apache-2.0
//
// keep: a cell of the touch mode `keep`: how much of its prompts a prefix cache of so many blocks finds, under a policy of
// retention. No scheduler and no memory: the model of testbed/workload/cache/id_cache.h, whose counts are exact on every host.
//
//     mooncake/keep/1000b                       a cache of 1,000 blocks, each the block of one id
//     mooncake/keep/1000b/tree                  blocks of a request are in use while it runs, and leave after those below them
//     mooncake/keep/1000b/first6000             only the first 6,000 requests
//
// Its arms are policies (placement/retention), and one that knows the future: clairvoyant, which is never ranked.
#ifndef TB_KEEP_H
#define TB_KEEP_H

#include "testbed/serving/plan.h"
#include "testbed/workload/cache/id_cache.h"

#define TB_KEPT_BLOCKS_MAX (UINT32_C(1) << 26)

const struct locus_evict_ops *tb_policy_at(uint32_t i); // clairvoyant is the last one; NULL after it
const struct locus_evict_ops *tb_policy_find(const char *name);

// One word of a cell, after the touch mode. False: not of any form above, or a setting that was made before.
bool tb_keep_setting(struct tb_serving_settings *settings, const char *word);

// Of a cell without its workload: "keep/1000b/...".
void tb_keep_settings_text(const struct tb_serving_settings *settings, char *out, size_t bytes);

// Can the scenario be looked at in this way? 0, or -EINVAL with a sentence in why: it has no ids, or the cell has no size.
int tb_keep_check(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                  struct tb_why *why);

// Fills in `requests` and `hit_ratio`, which counts blocks. 0, -ENOMEM, or -EINVAL: the policy cannot have so many blocks.
int tb_keep(const struct tb_scenario *scenario, const struct tb_serving_settings *settings, const struct locus_evict_ops *policy,
            struct tb_served *out);

#endif
