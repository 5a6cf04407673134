// SPDX-License-Identifier: Apache-2.0
//
// board: one arm in one cell over all rounds, who stands where, and how far it may be relied on: a measurement as its log holds it
// (loaded.h). Every figure that a board shows is worked out here. Deterministic: the same samples give the same figures.
#ifndef TB_JUDGE_BOARD_H
#define TB_JUDGE_BOARD_H

#include "testbed/measure/rounds.h"
#include "testbed/stats/stats.h"

// --- rows (row.c) ---

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
    bool has_vs_aa;             // it is the twin of another arm (tb_board.vs_twin)
    struct tb_ratio vs_base;    // time of the base arm (mimalloc) over this arm's: how many times faster
    struct tb_ratio vs_oracle;  // this arm's time over the oracle's: 1.00 is the floor
    double outstanding_ratio;   // worst round's high-water over the theoretical peak
    double outstanding_ratio_mean;
    double distinct_ratio;      // worst round's distinct blocks over the theoretical peak
    double adjacency;           // worst round's (sample.h); NAN: unknown
    double bench_ns[TB_BENCH_COUNT], bench_mad[TB_BENCH_COUNT];
    enum tb_noise bench_noise[TB_BENCH_COUNT];
    struct tb_ratio bench_vs_base[TB_BENCH_COUNT];
};

// Computes the row. Deterministic: the same samples give the same row.
void tb_rounds_row(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, struct tb_row *out);

// Arm by label, or -1. The base is "mimalloc" if it is there, the floor "oracle" or else another.
int tb_rounds_arm(const struct tb_rounds *rounds, const char *label);

// Smallest relative difference that this measurement could have seen in this cell: the half width of the A/A interval (two arms of
// the same contender, "X" and "X#2") together with how far its centre is from 1. Of several pairs the worst counts, and of a bench
// the worst operation. Negative when no A/A pair ran.
double tb_rounds_resolution(const struct tb_rounds *rounds, uint32_t cell);

// --- who stands where (row.c) ---

enum tb_place {
    TB_PLACE_RANKED,
    TB_PLACE_CONTROL, // "X#2", and an arm X is there: the A/A twin, shown but not ranked
    TB_PLACE_INVALID,
    TB_PLACE_HARNESS, // measures the testbed
};

struct tb_fastest {
    int arm;                    // the one with the least median of those that are valid and not noisy (no twin); -1: there is none
    int rival;                  // a noisy one that may be faster, so that no one is known to be the fastest; -1: there is none
};

// All arms of a cell in the order in which every report shows them: by place, then by median (of an allocation, in a bench).
struct tb_board {
    uint32_t count;
    enum tb_place place[TB_ARMS_MAX];
    uint32_t arm[TB_ARMS_MAX];
    struct tb_row row[TB_ARMS_MAX];
    struct tb_ratio vs_twin[TB_ARMS_MAX]; // where row.has_vs_aa: this arm's time over its twin's
    struct tb_fastest best;     // malloc (of an allocation, in a bench)
};

void tb_board(const struct tb_rounds *rounds, uint32_t cell, struct tb_board *out);

enum { TB_LAP = -1 }; // in place of a TB_BENCH_ operation: the lap's time

// Time of arm `over` divided by time of arm `under`, round by round. false: one of them (or -1 for it) has no valid times.
bool tb_pair_ratio(const struct tb_rounds *rounds, uint32_t cell, int over, int over_op, int under, int under_op,
                   struct tb_ratio *out);

// tb_rounds_row() without what is a ratio.
void tb_row_alone(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, struct tb_row *out);

// The times of all rounds, malloc'd; NULL without memory.
double *tb_times(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, int op);

// The operation of a malloc against which one of a bench is held; -1: there is none.
extern const int tb_bench_counterpart[TB_BENCH_COUNT];

// The arm that others are held against as the least there can be, or -1: the oracle, else another floor.
int tb_floor(const struct tb_rounds *rounds);

// The arm of which this one is the A/A twin, or -1.
int tb_twin(const struct tb_rounds *rounds, uint32_t arm);

// Label without "#2" and "@fault".
void tb_base_name(const struct tb_arm *arm, char *out, size_t size);

// True when every worker had a CPU of its own in every sample that ran.
bool tb_workers_pinned(const struct tb_rounds *rounds);

// --- what may be relied on (noise.c) ---

// Does a ratio differ from 1 visibly? +1 above, -1 below, 0 not: the interval holds 1, or the estimate is within the resolution.
int tb_visible(const struct tb_ratio *ratio, double resolution);

// tb_rounds_resolution() of one operation, or of laps.
double tb_resolution(const struct tb_rounds *rounds, uint32_t cell, int op);

enum tb_noise tb_noise_of(const struct tb_row *row, int op); // all but TB_NOISE_INTERVAL
bool tb_interval_wide(const struct tb_ratio *ratio);
bool tb_waited(const struct tb_sample *sample);
bool tb_rounds_few(const struct tb_rounds *rounds); // too few for any interval

enum tb_told {
    TB_TOLD_ABSENT,             // one of the two has no valid times
    TB_TOLD_FEW,                // too few rounds for an interval
    TB_TOLD_NOISY,              // one of the two is noisy, or the interval is wide
    TB_TOLD_BLIND,              // no difference, but a control is noisy: a large one might not have been seen either
    TB_TOLD_SAME,               // no difference that this run could see
    TB_TOLD_ABOVE,
    TB_TOLD_BELOW,
};

// tb_pair_ratio(), and what may be said of it. *out has the ratio unless it is ABSENT.
enum tb_told tb_pair_tell(const struct tb_rounds *rounds, uint32_t cell, int over, int over_op, int under, int under_op,
                          struct tb_ratio *out);

struct tb_fastest tb_fastest(const struct tb_rounds *rounds, uint32_t cell, int op, bool (*among)(const struct tb_arm *));
bool tb_is_malloc(const struct tb_arm *arm); // and without a fault
struct tb_fastest tb_best_malloc(const struct tb_rounds *rounds, uint32_t cell, int op); // settings untouched or tuned

#endif
