// SPDX-License-Identifier: Apache-2.0
//
// power: what a design can tell on this host, and how long it takes, before anything is filed. Both come from the newest run of
// this host that has an A/A pair: how far two equal arms differ in a round is the noise that a predicted ratio will have, and
// its samples tell what a process takes.
#ifndef TB_POWER_H
#define TB_POWER_H

#include "testbed/postulate/postulate.h"
#include "testbed/record/store.h"
#include "testbed/stats/looks.h"

struct tb_power {
    const struct tb_store_run *from; // whose A/A pairs these are; NULL: this host has none, and nothing below is known
    double sd_least, sd_most;   // of an A/A pair's ln ratios, over the cells of that run
    double process_s;           // seconds of one process, start to end; 0: not known
    bool paired_by_laps;        // that run's arms shared processes
    uint64_t looks[TB_LOOKS_MAX];
    size_t looks_count;
    double half_width[TB_LOOKS_MAX]; // of a ratio's interval at each look, at sd_most, as a share of 1
    double seconds[TB_LOOKS_MAX];
};

// Borrows the store. `host`: as logs/HOST.
void tb_power(const struct tb_postulate *postulate, const struct tb_store *store, const char *host, struct tb_power *out);

#endif
