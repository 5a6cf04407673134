// SPDX-License-Identifier: Apache-2.0
//
// postulate: a prediction in a file, postulates/NNNN-slug.md: YAML front matter between two lines `---`, then prose.
//
//   id: "0002"                          # the file's number
//   title: glibc pays for churn on Linux, too
//   question: What does glibc's malloc lose on churn?   # or left out: then the title stands for it
//   reproduces: "0360"                  # or left out: the LOCUS paper's number
//   supersedes: "0001"                  # or left out
//   suite: 2                            # or left out: the version of LOCUS-EVAL whose workloads its cells are (suite.h)
//   requires: [cpus >= 2, workers_pinned]
//   arms: {A: locus, B: glibc}          # key: contender as `locus eval -c` takes it; the same twice: an A/A control
//   cells: [churn-touch/full]           # WORKLOAD/TOUCH (cell.h); a workload is also a recorded trace (known_trace.h)
//   design: {unit: process, rounds: [30, 600], pairing: laps, order: random, dispatch: spin, workers: 1, block_bytes: 4096,
//            laps: 100, seed: 7, aa_band: 0.02, repeat_lost: 0.05, repeat_times: 2}
//   # and laps_counted: 2               # or left out; makes it a run on every node at once (below)
//   predictions:
//     - {id: P1, metric: time_ns, cell: churn-touch/full, stat: hl_ratio(B/A), op: ">=", value: 1.25, unit: x, confidence: 0.95}
//   gates: [allocated == freed, pushed == drained, aa_equivalent, host_fit]
//   rules: 2                            # of judgement (verdict.h); or left out: the first ones
//   pilot: {host: zen5-vm, seed: 8, cells: [churn-touch/byte]}    # by rules 2: what was tried before, or `none`
//   prior: what was known when this was written
//
// It is the whole design: `locus run NNNN` runs what it says, and no file of code goes with it. laps_counted: laps in which every
// touch is accounted for, before all others, on every node at once; arms may then finish requests elsewhere (home-steered%50), and
// cells touch `line` or `full`.
//
// metric: time_ns, time_ns_mean, time_ns_p90, outstanding_ratio (high-water over theoretical peak), distinct_ratio, resident_ratio
// (memory over that of this peak), waits (takes), wait_ns (one of these), take_ns_p50, _p99, _p999, _max (one take), the same of
// push_ns, drain_ns and wait_ns (one call: sample.h), step_ns_p50, _p99 (one step of touch decode); adjacency (sample.h); of runs
// of many nodes remote_touch_ratio, wandered_ratio, abroad_free_ratio, remote_read_ratio, remote_write_ratio (metric.h); of these
// and of adjacency max, min and median can be claimed, because they may be 0. stat: hl_ratio(X/Y), median_ratio(X/Y): how many
// times as much of the metric X has as Y (of time_ns: how many times as long X takes); X may be *, every other ranked arm that is
// another contender than Y: a conjunction. order(X<Y<Z): the arms with the least of the metric first, hl_ratio(Y/X) and
// hl_ratio(Z/Y), a conjunction, too; of time_ns it is the predicted rank in its cells (where several cover one, the first of
// them); op > or >=, value 1 or more. max, min, median: with `arm`. op: >=, <=, >, <, within (then `value: [low, high]`), and ==
// for max and min, which are exact. cell: one of the cells; a
// pattern, "*" or "*/full": a conjunction. cell_under: another cell of the same workload, or left out: hl_ratio(A/A) is then an
// arm's ratio in `cell` over that in `cell_under`, round by round (design.pairing has no effect on it: the two are never in one
// process). unit: x for ratios of arms, otherwise ns (time_ns) or ratio. confidence: of an interval, 0.95 when left out. margin: an
// equivalence margin, left out or such as 0.02. claim: the prediction in words, one line of at most 160 bytes, or left out; it is
// shown, and nothing is judged by it.
//
// A claim that plain arithmetic decides has a sum in place of metric, cell, stat, arm and unit: {id: S1, sum: "0.7 * 80", op:
// "==", value: 56} (sum.h). It is judged beside what was measured, as exact, by
// twelve digits on both sides.
//
// By rules 2, and by them alone, there are more keys. rounds: [first, last]: rounds until decided, with looks at fixed counts
// (stats/looks.h). pairing: laps: arms that can share a process do, lap by lap (measure/rounds.h). repeat_lost, repeat_times: all
// arms of a round's cell are run again, so many times at most, when one of its processes waited, or was robbed of its CPU, for more
// than that share of its time. aa_band: how far from 1 an A/A interval may reach (gate aa_equivalent). zone, of a prediction with
// >=, >, <= or <: the far end of an indifference zone, within which a ratio is neither claimed nor denied. gate: true: the
// prediction cannot fail but by a bug; it is judged, but counted apart, and makes the run invalid when it is falsified. pilot:
// the host, seed and cells of what was tried before this was filed; its seed must be another. A prediction none of whose cells
// was tried is blind.
//
// All other keys must be there; requires and gates may be []. prior may be several lines (`prior: |`).
//
// It comes in one commit, and is filed then: `locus postulate file` refuses one of which other versions were committed.
//
// Strict: an unknown or a duplicate key, an anchor, an alias, a tag, a wrong type or a value out of range is an error with file and
// line, and nothing is guessed.
#ifndef TB_POSTULATE_H
#define TB_POSTULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/base/sha256.h"
#include "testbed/record/names.h"

#define TB_POSTULATES "postulates"
#define TB_PREDICTIONS_MAX 24
#define TB_LIST_MAX 24

enum tb_stat { TB_STAT_HL_RATIO, TB_STAT_MEDIAN_RATIO, TB_STAT_MAX, TB_STAT_MIN, TB_STAT_MEDIAN, TB_STAT_ORDER, TB_STAT_SUM };
enum tb_relation { TB_CLAIM_GE, TB_CLAIM_LE, TB_CLAIM_GT, TB_CLAIM_LT, TB_CLAIM_EQ, TB_CLAIM_WITHIN };

const char *tb_stat_name(enum tb_stat stat);
bool tb_stat_is_ratio(enum tb_stat stat);
const char *tb_op_name(enum tb_relation op);

struct tb_prediction {
    char id[16];
    char claim[161];            // the same in words; "": it was filed without any
    char metric[32];
    char cell[64];              // "churn-touch/full", "*/full" or "*"
    char cell_under[64];        // of a ratio's lower arm; "": the same
    enum tb_stat stat;
    char over[8], under[8];     // arm keys of a ratio; over may be "*"
    char order[TB_LIST_MAX][8]; // arm keys of an order, the first one has the least
    uint32_t order_count;
    char sum[128];              // of plain arithmetic; then there is no metric, no cell and no arm
    char arm[8];                // of the other statistics
    enum tb_relation op;
    double low, high;           // `within`; otherwise low is the value
    char unit[16];
    double confidence;          // 0.95 when left out
    double margin;              // 0: none
    double zone;                // the far end of the indifference zone; 0: none
    bool gate;                  // it cannot fail but by a bug
    unsigned line;
};

struct tb_postulate_arm {
    char key[8];
    char name[96];
};

// What was tried before it was filed.
struct tb_pilot {
    bool tried;                 // false: nothing, or the rules did not ask
    char host[64];
    uint64_t seed;
    char cells[TB_LIST_MAX][64];
    uint32_t cells_count;
};

struct tb_postulate {
    char path[4096];
    char sha256[TB_HASH_TEXT];  // of the whole file
    char id[8], slug[64], title[160], question[256], reproduces[8], supersedes[8];
    char needs[TB_LIST_MAX][64];
    char gates[TB_LIST_MAX][64];
    char cells[TB_LIST_MAX][64];
    struct tb_postulate_arm arms[TB_LIST_MAX];
    struct tb_prediction predictions[TB_PREDICTIONS_MAX];
    uint32_t needs_count, gates_count, cells_count, arms_count, predictions_count;
    uint64_t rules;             // of judgement: 1 or 2
    uint64_t rounds, rounds_max; // at least and at most; the same where the count is fixed
    uint64_t seed, block_bytes, laps, workers;
    bool pair_laps;
    double repeat_lost;         // 0: a round is never repeated
    uint64_t repeat_times;
    double aa_band;             // 0: none
    struct tb_pilot pilot;
    uint64_t laps_counted;      // 0: a run on one node
    uint64_t suite;             // 0: of none
    char dispatch[16], unit[16], order[16];
    char *prior;                // malloc'd
    char *body;                 // malloc'd: the prose
};

struct tb_postulate_why {
    char text[1536];            // one sentence: "postulates/0002-x.md:7: unknown key 'methric' in a prediction"
};

// 0, -errno (not readable), -EINVAL (why names file and line). tb_postulate_close() in the first case only. The file's name has to
// be NNNN-slug.md with the number that is its id; `parse` takes the text from memory, and of the path only the name.
int tb_postulate_load(const char *path, struct tb_postulate **out, struct tb_postulate_why *why);
int tb_postulate_parse(const char *path, const char *text, size_t bytes, struct tb_postulate **out, struct tb_postulate_why *why);
void tb_postulate_close(struct tb_postulate *postulate);

// The one with this number ("0002", "2") in postulates/. 0; -ENOENT: there is none, or it is no number; -ENOTUNIQ, or as load.
int tb_postulate_open(const char *number, struct tb_postulate **out, struct tb_postulate_why *why);

// All files of postulates/ that should be postulates, by name. 0 or -errno; close in the first case only.
struct tb_postulates {
    struct tb_postulate_file {
        char *path;
        struct tb_postulate *postulate; // NULL: it cannot be read, and why says it
        struct tb_postulate_why why;
    } * files;
    size_t count;
};
int tb_postulates_load(struct tb_postulates *out);
void tb_postulates_close(struct tb_postulates *postulates);

// "hl_ratio(B/A) >= 1.25", "max(C) of outstanding_ratio == 1": as it is shown everywhere. Returns out.
const char *tb_prediction_text(const struct tb_prediction *prediction, char *out, size_t bytes);

// The parts of a conjunction: is it about this cell ("churn-touch/full"; its own is a pattern of fnmatch(3)), and does it compare
// this arm (by index) with `under`, or with the one before it in the order?
bool tb_prediction_covers(const struct tb_prediction *prediction, const char *cell);
bool tb_prediction_compares(const struct tb_postulate *postulate, const struct tb_prediction *prediction, uint32_t arm);

// Was no cell of this prediction tried before it was filed? False as well where nobody asked: by rules 1.
bool tb_prediction_blind(const struct tb_postulate *postulate, const struct tb_prediction *prediction);

// Of the first 31 postulates ("0005", "P1"): is it what `gate: true` says today?
bool tb_early_gate(const char *postulate, const char *prediction);

// Has this contender rivals? Not what measures the testbed, the floor that knows all blocks beforehand, what has a fault put in.
bool tb_arm_is_rival(const char *name);

#endif
