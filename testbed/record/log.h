// SPDX-License-Identifier: Apache-2.0
//
// log: the complete raw data of one run, lines of JSON that are appended durably between rounds (chain.h).
//
//     logs/HOST/NNNN-slug/YYYYMMDDTHHMMSSZ-RRRRRR.jsonl       RRRRRR: 6 hex digits; run id = "NNNN-YYYYMMDDTHHMMSSZ-RRRRRR"
//
// Line by line ("t" tells what it is; a member without a value is null, and never left out, but for `replicates` and by logs older
// than the member):
//   hdr     v 2, run, nonce (32 hex), kind "official" | "trial" | "smoke", or the command ("eval", ...: run/measured.h), time
//           (ISO 8601, UTC), emulated|null (the guest's name), postulate|null {path, sha256, commit|null}, experiment|null
//           {id, slug, question, reproduces|null, suite|null {version, sha256} (suite.h)}, measured|null, design {rounds,
//           block_rounds, looks|null [rounds] (stats/looks.h), seed, block_bytes, dispatch, workers (of many nodes: of each),
//           order, pairing "laps" | "rounds", repeat_lost|null, repeat_times|null (measure/rounds.h),
//           many_nodes, bench}, unmet|null (a need that was not met), arms [{key, name, role "floor" | "harness" |
//           "malloc" | "pool" | "strategy" | "policy", library|null, library_sha256|null, cross_percent, workers|null (as the
//           cell)}], cells [{name (cell.h), workload, touch, laps, laps_warmup, laps_clocked, laps_counted, laps_metered,
//           blocks_peak, blocks_per_lap, requests_per_lap, ticks, decoded_tokens, requests_queued, queue_ns_max, live_max,
//           pool_blocks, version (of the suite; these ten: null for a trace that is not here), trace_sha256|null, workers,
//           block_bytes, dispatch, serving|null (of touch serve, keep, adapters, residency, pages and pins:
//           run/run_lines_serving.c), decode|null (of touch decode: cell_decode_json() in run/run_lines.c)}], env {...}
//           (environment.h), doctor {fit, findings {by id: {state, decides, now}}} (doctor.h), counters {cpu, id, probed,
//           counters [...]} (counters/view.h: what can be counted here, and why not the rest), emulator|null (its version),
//           before {...} (what the kernel counts for the whole host), replicates [RUN] (official runs of this postulate that had a
//           verdict on this host before, oldest first (ledger.h); left out where there are none)
//   s       block, round, cell (index), pos (order within the round, cell and attempt),
//           attempt (0; more: all arms of this cell were run again in this round; the last attempt counts),
//           process (number within the attempt), arm (key), ran, valid, invalid|null, version,
//           time_ns, time_rel|null (median over turns of this arm's lap / that of its process's first arm; null: it was alone),
//           time_ns_min, time_ns_mean|null, time_ns_p90|null, bench_ns|null {alloc, bulk, push, free}, allocated,
//           freed, pushed, drained, waits, wait_ns|null (mean; null: no wait, or not measured), touched_bytes,
//           touched_bytes_expected, outstanding_high, distinct, adjacency|null (sample.h; older logs lack it),
//           resident_blocks|null (sample.h: in blocks of the cell),
//           take|null {takes, p50_ns, p99_ns, p999_ns, max_ns, clock_ns} (of clocked laps), push, drain, wait|null (`calls` for
//           `takes`, and the rest as there; older logs lack them), workers_pinned,
//           watched_ns, waited_ns, switches, steal_ns|null (sample.h),
//           counters {NAME {value|null, enabled_ns, running_ns, or why}} of those on: sums
//           over all threads and metered laps, less than whole where running_ns < enabled_ns, and never scaled, emulated|null
//           {instructions|null, locked|null, exchanges|null, failed|null, untold|null, why|null} (of another process, under the
//           header's emulator, in as many laps as the cell's metered ones: counters/count.h; what is null has its `why`; null: not
//           counted), serving|null
//           (of touch serve and keep: serving/served.h), decode|null (of touch decode: steps, appended_bytes and attended_bytes,
//           of K and V in all laps, and both _expected of the schedule, checked and wrong results, threads, kernel; of many nodes
//           written and read {as touches, in bytes}|null, remote_write_ratio, remote_read_ratio), time_ns_metered|null (of a
//           metered lap, which counting makes longer); and of a run of many nodes, otherwise null (the ratios also where nothing
//           was counted): remote_touch_ratio,
//           wandered_ratio (of allocations), abroad_free_ratio, nodes {os [number], homes [{node, allocated, freed, pushed,
//           drained}], touches {local, remote, unknown, pairs [[from, to, count]]}, allocations {the same}, frees {the same,
//           abroad|null (a malloc does not say)}, drift [[allocated, wandered]], before and after [{station, requested,
//           granted|null, why|null, present, elsewhere, on [[node, pages]], numa_maps|null, granted_errno, verify_errno (0:
//           none)}], pages_moved, pages_repaired, balancing|null {pte_updates, hint_faults, pages_migrated}} (nodes/sample.h)
//   after   counters {...}
//   sum     rounds, blocks, gates [{gate, kind "proof"|"noise", passed, reason|null}], predictions [...] and arms [...]
//           (verdict.h), aa [{cell, arms, estimate, low, high, confidence}], positive_control|null, verdict, why|null
//   seal    lines (with this one), status "complete" | "stopped", why|null
//
// In a log of version 1 each sample is such a line, with a hash. In one of version 2, as logs are written now, it is a row of
// values (rows.h), and a round's rows are covered by the hash of the line that ends it, so that a change is located to a round:
//   cols    shape (0, 1, ...: its number), of [PATH, or [PATH, VALUE], or [PATH, "=", OTHER]] (rows.h): before its first row
//   [K, ..] a sample of shape K
//   round   rows (how many this round has)
// Readers see the same samples in both; `locus record show --samples RUN` prints them as lines of version 1, without hashes.
//
// A log without a seal is a run that crashed: it stays, and is counted as such.
#ifndef TB_LOG_H
#define TB_LOG_H

#include "testbed/record/chain.h"

#define TB_LOG_VERSION 2 // of new logs

struct tb_log;

// Creates the file (and its folders) and writes the header; `header` is borrowed, or NULL: it is added later, and until then the
// file is durably there and empty. 0 or -errno.
int tb_log_create(struct tb_log **out, const char *path, const json_t *header);

// Adds a line to those of the current round, in memory; a sample as a row, where the header says "v":2. 0, -ENOMEM, -EINVAL (no
// object, or one that has an "h"; a sample with a dot in the name of a member of its own).
int tb_log_add(struct tb_log *log, const json_t *object);

// Makes the added lines durable, in one append. 0 or -errno.
int tb_log_flush(struct tb_log *log);

// Adds the seal, flushes, closes. *head is the log's last hash. The log is gone in any case. 0 or -errno.
int tb_log_seal(struct tb_log *log, const char *status, const char *why, struct tb_hash *head, size_t *lines);
void tb_log_abandon(struct tb_log *log); // closes without a seal

const char *tb_log_engine(const struct tb_log *log);

struct tb_log_sample {
    size_t cell;
    const char *arm;
    json_t *line;               // the chain's, as it was added
    bool superseded;            // a later attempt of its round and cell counts in its place
};

// A log in memory, for those who read it. The parts point into the chain, which has one entry a line; that of a row is its
// sample.
struct tb_log_view {
    struct tb_chain chain;
    char path[4096];
    const json_t *header, *after, *summary, *seal; // NULL where the log has none
    struct tb_log_sample *samples;                 // as they were taken
    size_t samples_count;
};

// 0, -errno, or -EINVAL when it is no log, or its first line is broken (why names file and line): there is always a header. A
// chain that is broken further down or a missing seal is not an error here: look at the view.
int tb_log_load(const char *path, struct tb_log_view *out, char *why, size_t why_bytes);
void tb_log_view_close(struct tb_log_view *view);

// The same of a chain that was loaded into view->chain by tb_chain_load_groups(): makes rows samples, and fills in the rest. 0,
// -ENOMEM, or -EINVAL: *line (from 1) cannot stand where it does, and why. tb_log_view_close() in any case.
int tb_log_take(struct tb_log_view *view, size_t *line, char *why, size_t why_bytes);

// Do the lines of a run's log say what every reader of one asks? The first (from 1) that does not, and its fault in words: a sample
// of no cell, arm or round of the header's, or whose time is none; a summary without predictions. 0: all of them do.
size_t tb_log_check(const struct tb_log_view *view, const char **fault);

// The emulated machine in which the run was made ("n2"), or NULL: its counts are exact, and its clock says nothing.
const char *tb_log_emulated(const struct tb_log_view *view);

// A number of a sample by its path. NAN: there is none; or it is a counter's that had the hardware for a part of its time only.
double tb_log_number(const json_t *sample, const char *path);

// Samples of one cell and arm that count, in the order of the rounds: `member` ("time_ns", "outstanding_high", ...) as doubles;
// NAN for a sample that is not valid. *values is malloc'd. 0 or -errno.
int tb_log_values(const struct tb_log_view *view, size_t cell, const char *arm, const char *member, double **values, size_t *count);

#endif
