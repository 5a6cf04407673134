// SPDX-License-Identifier: Apache-2.0
//
// run: one run of an experiment, from the ledger's `open` to the seal.
//
//     ledger: open  ->  log: header  ->  rounds in blocks, each logged as it ends  ->  counters, summary, seal  ->  ledger: close
//
// The ledger knows of the run before its first sample exists, so a run that nobody likes cannot be dropped unseen; a run that
// crashes leaves its open entry and an unsealed log.
#ifndef TB_RUN_H
#define TB_RUN_H

#include "testbed/judge/verdict.h"
#include "testbed/record/ledger.h"
#include "testbed/run/plan.h"

enum tb_run_kind { TB_RUN_OFFICIAL, TB_RUN_TRIAL, TB_RUN_SMOKE }; // "official", "trial", "smoke"

struct tb_run_config {
    struct tb_plan *plan;       // borrowed
    enum tb_run_kind kind;
    const char *root;           // "logs" or "build/logs"
    const char *host;
    const char *commit;         // of the postulate, or NULL where it is not committed
    bool quiet;                 // no progress
};

struct tb_run_result {
    char run[48];               // NNNN-YYYYMMDDTHHMMSSZ-RRRRRR
    char log[4096];             // path
    json_t *summary;            // the log's "sum" line; new reference
    enum tb_verdict verdict;
    uint32_t rounds;
    struct tb_checkpoint checkpoint;
};

// 0 when the log was sealed, whatever the verdict; -errno otherwise, with one sentence in `why`.
int tb_run(const struct tb_run_config *config, struct tb_run_result *out, char *why, size_t why_bytes);

const char *tb_run_kind_name(enum tb_run_kind kind);

#endif
