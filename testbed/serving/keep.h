// SPDX-License-Identifier: Apache-2.0
//
// keep: a cell of the touch mode `keep`: how much of its prompts a prefix cache of so many blocks finds, under a policy of
// retention. No scheduler and no memory: the model of testbed/workload/cache/id_cache.h, whose counts are exact on every host.
//
//     mooncake/keep/1000b                       a cache of 1,000 blocks, each the block of one id
//     mooncake/keep/1000b/tree                  blocks of a request are in use while it runs, and leave after those below them
//     mooncake/keep/1000b/first6000             only the first 6,000 requests
//     mooncake/keep/1000b/far7000b              what leaves sinks to a tier of 7,000 blocks, and is raised when it is found there
//     mooncake/keep/1000b/far7000b/file200000b  and from that to a third one; or to the file at once, without `far`
//     mooncake/keep/1000b/file200000b/alike     a tier's victim is what a policy like the near one names, not what sank first
//     .../far30gbs/far1us/file3gbs/file100us    what a tier's hit takes: the block's bytes at so many GB/s, and so long before
//     .../Llama-3-8B/token12.5us                bytes of a token (the default: TB_SHAPE_DEFAULT), and what computing one takes (as
//                                               tb_clock_of() has it)
//
// Prices change no count. They say what a tier is worth: a block found there takes its move, in place of its tokens' computing.
// Per token of the block both are lines, so from a price of a token on the tier wins, and below it loses:
//
//     a hit alone                   (latency + block bytes / bandwidth) / tokens of a block
//     with what sank there, too     that * (1 + blocks that sank / hits): it is moved there whether somebody asks for it or not
//
// A block is moved by itself, so latency counts once a block: who moves several at once pays less.
//
// Its arms are policies (the library's, and testbed/workload/cache/evict_*.c), and one that knows the future: clairvoyant, which is
// never ranked.
#ifndef TB_KEEP_H
#define TB_KEEP_H

#include "testbed/serving/plan.h"
#include "testbed/workload/cache/id_cache.h"

#define TB_KEPT_BLOCKS_MAX (UINT32_C(1) << 26)
#define TB_TIER_GBS_LEAST 0.001
#define TB_TIER_GBS_MOST 1e5
#define TB_TIER_US_LEAST 0.001
#define TB_TIER_US_MOST 1e9 // a quarter of an hour

const struct locus_evict_ops *tb_policy_at(uint32_t i); // clairvoyant is the last one; NULL after it
const struct locus_evict_ops *tb_policy_find(const char *name);

// One word of a cell, after the touch mode. False: not of any form above, or a setting that was made before.
bool tb_keep_setting(struct tb_serving_settings *settings, const char *word);

// Of a cell without its workload: "keep/1000b/...".
void tb_keep_settings_text(const struct tb_serving_settings *settings, char *out, size_t bytes);

// Can the scenario be looked at in this way? 0, or -EINVAL with a sentence in why: it has no ids, or the cell has no size.
int tb_keep_check(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                  struct tb_why *why);

bool tb_keep_tiered(const struct tb_serving_settings *settings);

// What a block takes, by the cell's words. Nothing of it is measured.
struct tb_keep_prices {
    uint64_t block_bytes;
    struct tb_tier_settings far, file; // in full
    double token_ns;            // to compute one token of a prompt
    double far_ns, file_ns;     // to move a block there, or back
};
struct tb_keep_prices tb_keep_prices(const struct tb_scenario *scenario, const struct tb_serving_settings *settings);

// Fills in `requests` and `hit_ratio`, which counts blocks, and `tiers`, all 0 without tiers. 0, -ENOMEM, or -EINVAL: the policy
// cannot have so many blocks.
int tb_keep(const struct tb_scenario *scenario, const struct tb_serving_settings *settings, const struct locus_evict_ops *policy,
            struct tb_served *out, struct tb_tiered *tiers);

#endif
