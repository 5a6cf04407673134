// SPDX-License-Identifier: Apache-2.0
//
// plan: a cell of the touch mode `serve`: its settings, and the scenario in one flat block, which the parent builds once and each
// measured process maps, as it does a schedule. Cells of `keep` (keep.h), `adapters` and `residency` (adapters/settings.h), and
// `pages` (arena/settings.h) have the same block.
//
//     azure-conv/serve                          all defaults: every request waits at the start
//     azure-conv/serve/16t/131072t              tokens per block, and in the pool
//     azure-conv/serve/watermark5               an admission leaves 5 % of the pool free (of those that have a watermark)
//     azure-conv/serve/load90                   arrivals at 0.9 of what the pool can finish, on the clock of the shape
//     azure-conv/serve/line                     the default: all requests wait at the start
//     azure-conv/serve/random                   no scheduler and no clock: requests come and go at random (random.c), and none is
//                                               thrown out
//     azure-conv/serve/first6000                only the first 6,000 requests
//     azure-conv/serve/Llama-3-8B               bytes per token, and the clock of a step (shape.h)
//     azure-conv/serve/read12.5ps               a step takes so many picoseconds for each byte of KV that it reads (10)
//     azure-conv/serve/step30000us              and so many microseconds whatever it reads (as the shape's weights have it)
//     azure-conv/serve/swap/largest             the victim's tokens are moved out and in; victim: last, largest, cheapest
//     mooncake/serve/arc                        retention of kept blocks
#ifndef TB_SERVING_PLAN_H
#define TB_SERVING_PLAN_H

#include "testbed/serving/adapters/settings.h"
#include "testbed/serving/arena/settings.h"
#include "testbed/serving/serving.h"
#include "testbed/decode/shape.h"

// A tier below the near cache of touch `keep`. 0: as keep.h has it.
struct tb_tier_settings {
    uint32_t blocks;            // 0: there is no such tier
    double gbs, us;             // GB/s, and microseconds before the first byte
};

#define TB_READ_PS_LEAST 0.001 // a femtosecond
#define TB_READ_PS_MOST 1e6 // 1 MB/s
#define TB_STEP_US_MOST 1e9 // a quarter of an hour

struct tb_serving_settings {
    uint32_t block_tokens;      // 0: 16
    uint64_t pool_tokens;       // 0: 131,072
    double watermark_percent;   // -1: 5
    uint32_t load_percent;      // 0: all requests wait at the start, and prompts cost no step
    uint32_t requests;          // 0: all
    enum tb_victim victim;
    bool victim_given, swap, random, line; // line: the default of a cell, said
    char shape[24];             // "": TB_SHAPE_DEFAULT
    uint64_t read_fs, step_us;  // of the clock; 0: as tb_clock_of() has it
    char retention[24];         // "": the strategy's default
    uint32_t kept_blocks;       // these of touch `keep`; 0: not of it, or not said
    bool tree, alike;
    struct tb_tier_settings far, file;
    double token_us;            // the price of a prompt's token; 0: as tb_clock_of() has it
    struct tb_adapter_settings adapters; // of the touches `adapters` and `residency`
    struct tb_arena_settings arena; // of touch `pages`
};

#define TB_POOL_TOKENS_MAX (UINT64_C(1) << 30)

extern const struct tb_serving_settings tb_serving_defaults;

// One word of a cell, after the touch mode. False: not of any form above, or a setting that was made before.
bool tb_serving_setting(struct tb_serving_settings *settings, const char *word);

// "load90", "read10ps": a number after a word, and before its unit. False: it is another word, or not within [least, most]; then
// *out is as it was.
bool tb_setting_number(const char *word, const char *name, const char *unit, double least, double most, double *out);

// Puts the defaults where no word was.
void tb_serving_settings_fill(struct tb_serving_settings *settings);

// Of a cell without its workload: "serve/16t/131072t/...", every setting in full.
void tb_serving_settings_text(const struct tb_serving_settings *settings, char *out, size_t bytes);

// A schedule without operations, with settings and scenario behind it. Computes what `load` means for this pool: once, so that all
// strategies get the same arrivals. *out is malloc'd. 0, -ENOMEM, -EINVAL with a sentence in why. The others are of the
// touches `keep`, `adapters`, `residency` and `pages`.
int tb_serving_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                    struct tb_schedule **out, struct tb_why *why);
int tb_keep_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                 struct tb_schedule **out, struct tb_why *why);

int tb_adapters_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                     struct tb_schedule **out, struct tb_why *why);
int tb_residency_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                      struct tb_schedule **out, struct tb_why *why);
int tb_pages_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                  struct tb_schedule **out, struct tb_why *why);

// What a plan says. Borrows the plan; *scenario has no memory of its own.
struct tb_serving_plan {
    struct tb_serving_settings settings;
    double capacity_per_s;      // requests; 0: not asked for
    double speedup;             // of the arrivals; INFINITY: all wait
    uint64_t token_bytes;
    struct tb_clock clock;
    uint64_t scenario_hash;     // of every request and id: the same for all who get it
};
const struct tb_serving_plan *tb_serving_plan_read(const struct tb_schedule *schedule, struct tb_scenario *scenario);

const struct tb_shape *tb_serving_shape(const struct tb_serving_settings *settings);

// The scheduler's config for a strategy.
void tb_serving_plan_config(const struct tb_serving_plan *plan, const struct tb_scenario *scenario,
                            const struct tb_strategy *strategy, struct tb_serving_config *out);

uint64_t tb_scenario_hash(const struct tb_scenario *scenario);

#endif
