// SPDX-License-Identifier: Apache-2.0
//
// settings: the cells of adapters, of two touch modes: `adapters`, whose arms are batchers (batcher.h), and `residency`, whose arms
// are policies of residency (residency.h). Both take the arrivals of a scenario, and draw which adapter each request uses
// (testbed/workload/adapters/popularity.h). No scheduler and no memory: counts, exact on every host.
//
//     azure-conv/adapters                       10,000 adapters, batches of 256, arrivals at 1.1 of what batches can take
//     azure-conv/adapters/2000a/batch64         2,000 adapters, batches of at most 64
//     azure-conv/adapters/load80                arrivals at 0.8 of it
//     azure-conv/residency                      the same adapters; 100 may be hot and 1,000 warm; arrivals as recorded
//     azure-conv/residency/50hot/500warm        so many places
//     azure-conv/residency/rate20               20 requests a second in the mean; rate0.1 is one in ten seconds
//     azure-conv/residency/rank64               weights of rank 64 (8)
//
// Both:
//     .../times10                               the arrivals ten times, one after the other, with other adapters
//     .../again60                               in 60 % of its uses a request repeats one of the last 64 (popularity.h)
//     .../seed7                                 of the draws (1)
//     .../first6000                             only the first 6,000 requests of the scenario
#ifndef TB_ADAPTERS_SETTINGS_H
#define TB_ADAPTERS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/workload/scenarios/scenario.h"

struct tb_adapter_settings {
    uint32_t adapters, times, again_percent, seed; // 0: not said
    uint32_t batch, load_percent; // of touch `adapters`
    uint32_t hot, warm, rank;     // these and the rate of touch `residency`
    double rate_per_s;            // 0: as recorded
};

extern const struct tb_adapter_settings tb_adapter_defaults;

#define TB_BATCH_MAX 65536u
#define TB_ADAPTER_TIMES_MAX 10000u
#define TB_ADAPTER_USES_MAX (1u << 26)

// One word of a cell, after the touch mode; `residency`: which one. `requests` is the cell's for "first6000". False: not of any
// form above, or a setting that was made before.
bool tb_adapter_setting(struct tb_adapter_settings *settings, bool residency, const char *word, uint32_t *requests);

// Puts the defaults where no word was.
void tb_adapter_settings_fill(struct tb_adapter_settings *settings);

// Of a cell without its workload: "adapters/10000a/batch256/...", every setting in full but those that are off.
void tb_adapter_settings_text(const struct tb_adapter_settings *settings, bool residency, uint32_t requests, char *out,
                              size_t bytes);

// How many times the arrivals fit on a clock of 292 years; at least 1. pre: they are not all at once.
uint32_t tb_adapter_times_most(const struct tb_scenario *scenario);

// Can the scenario be looked at in this way? 0, or -EINVAL with a sentence in why.
int tb_adapter_settings_check(const struct tb_scenario *scenario, const char *name, const struct tb_adapter_settings *settings,
                              bool residency, struct tb_why *why);

// Every use in the order of arrival; filled settings that were checked. An adapter is its rank of popularity, from 0. *out is
// malloc'd. 0 or -ENOMEM.
struct tb_adapter_use {
    uint64_t arrival_ns;        // as the scenario has it, or at the rate
    uint32_t adapter;
};
int tb_adapter_uses(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, struct tb_adapter_use **out,
                    uint32_t *count);

#endif
