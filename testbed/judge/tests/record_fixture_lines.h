// SPDX-License-Identifier: Apache-2.0
//
// What stands in the log of record_fixture.h: its postulate, its header, and samples of which the truth is known.
#ifndef TB_RECORD_FIXTURE_LINES_H
#define TB_RECORD_FIXTURE_LINES_H

#include <stdlib.h>

#include "testbed/postulate/postulate.h"
#include "testbed/record/log.h"

#define FIXTURE_COMMIT "0123456789abcdef0123456789abcdef01234567"

struct record_fixture {
    const char *root, *host, *kind, *run; // "logs", "bm1", "official", "0002-20261121T101500Z-a1b2c3"
    const char *commit, *dirty;           // of the build
    unsigned seed;                        // of the noise
    double factor;                        // on all of B's times; 1 for the truth of above
    int rounds;
    int invalid_round;                    // in which B's gates fail; -1: none
    bool no_samples, no_seal;
    const char *library;                  // B's, or NULL
    const char *postulate;                // its text, of the same arms and cells, or NULL: the one below
    void (*dress)(json_t *line);          // each line of the log before it is written, or NULL
};

// Of three arms, two of them the same, in two cells; the predictions are lines of YAML.
#define FIXTURE_POSTULATE(predictions)                                                                                             \
    "---\n"                                                                                                                        \
    "id: \"0002\"\n"                                                                                                               \
    "title: glibc pays for churn\n"                                                                                                \
    "requires: []\n"                                                                                                               \
    "arms: {A: locus, B: glibc, C: locus}\n"                                                                                       \
    "cells: [churn-touch/full, churn-touch/byte]\n"                                                                                \
    "design: {unit: process, rounds: 20, order: random, dispatch: spin, workers: 1, block_bytes: 4096, laps: 20, seed: 7}\n"       \
    "predictions:\n" predictions "gates: [allocated == freed, aa_ratio_ci contains 1]\n"                                           \
    "prior: nothing\n"                                                                                                             \
    "---\n"                                                                                                                        \
    "Because.\n"

static const char fixture_postulate[] = FIXTURE_POSTULATE(
    "  - {id: P1, metric: time_ns, cell: churn-touch/full, stat: hl_ratio(B/A), op: \">=\", value: 1.25, unit: x}\n"
    "  - {id: P2, metric: outstanding_ratio, cell: churn-touch/full, arm: A, stat: max, op: \"<=\", value: 1.05, unit: ratio}\n"
    "  - {id: P3, metric: time_ns, cell: \"*\", stat: hl_ratio(B/A), op: \">=\", value: 1.1, unit: x}\n");

// The predicted rank: locus, then glibc. Pass it as record_fixture.postulate.
static const char fixture_ordered[] __attribute__((unused)) =
    FIXTURE_POSTULATE("  - {id: P1, claim: locus comes first, metric: time_ns, cell: \"*\", stat: order(A<B), op: \">\",\n"
                      "     value: 1.0, unit: x}\n");

static inline json_t *fixture_header(const struct record_fixture *fixture, const struct tb_postulate *postulate)
{
    json_t *arms = json_pack("[{s:s, s:s, s:n, s:n}, {s:s, s:s, s:s?, s:s?}, {s:s, s:s, s:n, s:n}]", "key", "A", "name", "locus",
                             "library", "library_sha256", "key", "B", "name", fixture->library ? fixture->library : "glibc",
                             "library", fixture->library ? "/lib/libc.so.6" : NULL, "library_sha256",
                             fixture->library ? postulate->sha256 : NULL, "key", "C", "name", "locus", "library", "library_sha256");
    json_t *cells = json_array();
    for (int i = 0; i < 2; i++)
        json_array_append_new(cells, json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "workload", "churn-touch", "touch",
                                               i ? "byte" : "full", "laps", 20, "laps_warmup", 3, "blocks_peak", 100,
                                               "blocks_per_lap", 1000, "requests_per_lap", 10, "pool_blocks", 200));
    json_t *env = json_pack("{s:{s:s, s:s}, s:{s:s, s:s}, s:{s:s}, s:{s:s, s:s, s:s, s:s}, s:{s:{s:s}}}", "kernel", "release",
                            "6.1.0", "command_line", "ro | quiet", "cpu", "model", "Example CPU", "allowed", "0-1", "thp",
                            "enabled", "madvise", "build", "compiler", "gcc 12", "flags", "gcc -O2", "commit", fixture->commit,
                            "dirty", fixture->dirty, "nodes", "0", "cpus", "0-1");
    return json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s, s:s}, s:{s:i, s:i, s:i, s:i, s:s, s:i, s:s}, "
        "s:o, s:o, s:o, s:{}, s:n}",
        "t", "hdr", "v", 1, "run", fixture->run, "nonce", "00112233445566778899aabbccddeeff", "kind", fixture->kind, "time",
        "2026-11-21T10:15:00Z", "postulate", "path", "postulates/0002-glibc-churn.md", "sha256", postulate->sha256, "commit",
        FIXTURE_COMMIT, "experiment", "id", "0002", "slug", "glibc-churn", "question", "Does glibc pay for churn?", "reproduces",
        "0360", "design", "rounds", fixture->rounds, "block_rounds", (fixture->rounds + 1) / 2, "seed", 7, "block_bytes", 4096,
        "dispatch", "spin", "workers", 1, "order", "random", "arms", arms, "cells", cells, "env", env, "before", "unmet");
}

static inline double fixture_noise(unsigned *state) // a factor within 1 %
{
    *state = *state * 1103515245u + 12345u;
    return 0.99 + 0.02 * ((*state >> 16) % 1000) / 1000.0;
}

static inline json_t *fixture_sample(const struct record_fixture *fixture, int round, int cell, int arm, unsigned *state)
{
    static const char *const keys[] = {"A", "B", "C"};
    double time = 1e6 * (cell ? 0.5 : 1) * (arm == 1 ? 1.4 * fixture->factor : 1) * fixture_noise(state);
    bool valid = !(arm == 1 && round == fixture->invalid_round);
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:s, s:b, s:b, s:s?, s:s, s:f, s:f, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b}",
                     "t", "s", "block", round >= (fixture->rounds + 1) / 2, "round", round, "cell", cell, "pos", arm, "arm",
                     keys[arm], "ran", 1, "valid", valid, "invalid", valid ? NULL : "pushed 10, drained 9", "version",
                     arm == 1 ? "glibc 2.36" : "locus 0.1.0", "time_ns", time, "time_ns_min", time * 0.98, "allocated", 1000,
                     "freed", 1000, "pushed", 10, "drained", valid ? 10 : 9, "touched_bytes", 4096, "touched_bytes_expected", 4096,
                     "outstanding_high", arm == 1 ? 130 : 101, "distinct", 100, "workers_pinned", 1);
}

#endif
