// SPDX-License-Identifier: Apache-2.0
//
// row: one arm in one cell over all rounds, worked out for the reports; and how little a campaign can see.
#ifndef TB_ROW_H
#define TB_ROW_H

#include "testbed/measure/campaign.h"
#include "testbed/stats/stats.h"

// Why a row says nothing of its arm (noise.c), worst first.
enum tb_noise {
    TB_NOISE_NONE,
    TB_NOISE_WAITED,            // others had its CPU
    TB_NOISE_SPREAD,            // its rounds lie far apart
    TB_NOISE_INTERVAL,          // its ratio to the base has a wide interval, although neither's rounds lie apart
};

struct tb_row {
    const struct tb_arm *arm;
    bool valid;                 // every round's gates passed; otherwise `invalid` says which and where, and nothing is ranked
    char invalid[224];
    char version[64];
    double ns_median, ns_mad, ns_min;
    double rounds_waited;       // share of the rounds in which it waited for a CPU; NAN: this host does not say
    enum tb_noise noise;
    bool has_vs_base, has_vs_oracle;
    bool has_vs_aa;             // it is the twin of another arm (tb_board.vs_twin in board.h)
    struct tb_ratio vs_base;    // time of the base arm (mimalloc) over this arm's: how many times faster
    struct tb_ratio vs_oracle;  // this arm's time over the oracle's: 1.00 is the floor
    double outstanding_ratio;   // worst round's high-water over the theoretical peak
    double outstanding_ratio_mean;
    double distinct_ratio;      // worst round's distinct blocks over the theoretical peak
    double bench_ns[TB_BENCH_COUNT], bench_mad[TB_BENCH_COUNT];
    enum tb_noise bench_noise[TB_BENCH_COUNT];
    struct tb_ratio bench_vs_base[TB_BENCH_COUNT];
};

// Computes the row. Deterministic: the same samples give the same row.
void tb_campaign_row(const struct tb_campaign *campaign, uint32_t cell, uint32_t arm, struct tb_row *out);

// Arm by label, or -1. The base is "mimalloc" if it is there, the floor "oracle" or else another.
int tb_campaign_arm(const struct tb_campaign *campaign, const char *label);

// Smallest relative difference that this campaign could have seen in this cell: the half width of the A/A interval (two arms of
// the same contender, "X" and "X#2") together with how far its centre is from 1. Of several pairs the worst counts, and of a bench
// the worst operation. Negative when no A/A pair ran.
double tb_campaign_resolution(const struct tb_campaign *campaign, uint32_t cell);

#endif
