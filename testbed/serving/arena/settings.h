// SPDX-License-Identifier: Apache-2.0
//
// settings: the cells of touch `pages`: an arena of pages (locus/pages.h) under the requests of a scenario (arena.h). Its
// arms are scores of eviction. Nothing is measured but counts in virtual time, exact on every host.
//
//     azure-conv/pages                          4,096 pages of 2 MiB; eviction begins at 90 % and ends at 80 %
//     mooncake/pages/65536p                     65,536 pages
//     mooncake/pages/65536p/mark950-900         watermarks, in thousandths
//     mooncake/pages/65536p/nomark              none: ranges leave only for want of room
//     azure-conv/pages/ends                     KV and adapters at one end of a hole, what is short-lived at the other
//     azure-conv/pages/zones                    each kind in a zone of its own: 70 % KV, 20 % adapters, half of the rest each for
//     azure-conv/pages/zones50-40               scratch and activations; zones50-40: 50 % and 40 %
//     azure-conv/pages/firstfit                 the first stretch that is long enough, not the shortest
//     azure-conv/pages/rank64                   adapters of rank 64 (8); 2000a: 2,000 of them (10,000); noadapters: none
//     azure-conv/pages/rankmix                  of ranks 8, 16 and 64, by draw, as popular as each other
//     azure-conv/pages/scratch100               100 ranges of scratch a second (20); noscratch: none, and no activations
//     azure-conv/pages/rate8                    8 requests a second in the mean (as recorded)
//     azure-conv/pages/again60                  in 60 % of its uses a request repeats one of the last 64 adapters
//     azure-conv/pages/Llama-3.2-1B             bytes of a token and of an adapter (Llama-3-8B); testbed/decode/shape.h
//     azure-conv/pages/seed7                    of the draws (1)
//     azure-conv/pages/first6000                only the first 6,000 requests
#ifndef TB_ARENA_SETTINGS_H
#define TB_ARENA_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/decode/shape.h"
#include "testbed/workload/scenarios/scenario.h"

enum tb_arena_split { TB_ARENA_ANYWHERE, TB_ARENA_ENDS, TB_ARENA_ZONES };

struct tb_arena_settings {      // 0: not said
    uint32_t pages;
    uint32_t high_permille, low_permille;
    bool no_mark;
    enum tb_arena_split split;
    uint32_t kv_percent, adapter_percent; // of zones
    bool first_fit;
    uint32_t rank, adapters, again_percent;
    bool no_adapters, rank_mix;
    uint32_t scratch_per_s;
    bool no_scratch;
    double rate_per_s;          // 0: as recorded
    uint32_t seed;
    char shape[24];
};

extern const struct tb_arena_settings tb_arena_defaults;

#define TB_ARENA_PAGE_BYTES (UINT64_C(2) << 20)
#define TB_ARENA_PAGES_MAX (1u << 20)
#define TB_ARENA_REQUESTS_MAX (1u << 20)

// One word of a cell, after the touch mode; `requests` is the cell's for "first6000". False: not of any form above, or a setting
// that was made before.
bool tb_arena_setting(struct tb_arena_settings *settings, const char *word, uint32_t *requests);

// Puts the defaults where no word was.
void tb_arena_settings_fill(struct tb_arena_settings *settings);

// Of a cell without its workload: "pages/4096p/mark900-800/...", every setting in full but those that are off.
void tb_arena_settings_text(const struct tb_arena_settings *settings, uint32_t requests, char *out, size_t bytes);

// Can the scenario be looked at in this way? Filled settings. 0, or -EINVAL with a sentence in why.
int tb_arena_settings_check(const struct tb_scenario *scenario, const char *name, const struct tb_arena_settings *settings,
                            struct tb_why *why);

const struct tb_shape *tb_arena_shape(const struct tb_arena_settings *settings);

uint32_t tb_arena_pages_of(uint64_t bytes);
uint32_t tb_arena_kv_pages(const struct tb_arena_settings *settings, uint64_t tokens);

// Of an adapter at q, k, v and o of all layers, in f16.
uint64_t tb_arena_adapter_bytes(const struct tb_arena_settings *settings, uint32_t adapter);

// Of each kind's zone, by enum locus_pages_kind; their sum is `pages`.
void tb_arena_zones(const struct tb_arena_settings *settings, uint32_t out[4]);

#endif
