// SPDX-License-Identifier: Apache-2.0
//
// serve: one measured process of a strategy: it decides the whole scenario, untimed, with its calls recorded, and then executes
// the record as often as there are laps. Or one of a policy of retention, a batcher, or a policy of
// residency, or a score, which have nothing to repeat: one pass through the model.
#ifndef TB_SERVE_H
#define TB_SERVE_H

#include "testbed/measure/sample.h"
#include "testbed/workload/schedule.h"

struct locus_evict_ops;
struct locus_adapter_policy;
struct locus_score_ops;
struct tb_batcher;

// 0 or -errno; what the strategy did wrong makes the sample invalid, unless it is a trap: then it is counted.
int tb_serve_run(struct tb_job *job, const struct tb_strategy *strategy, const struct tb_schedule *schedule);
int tb_keep_run(struct tb_job *job, const struct locus_evict_ops *policy, const struct tb_schedule *schedule);
int tb_batches_run(struct tb_job *job, const struct tb_batcher *batcher, const struct tb_schedule *schedule);
int tb_residency_run(struct tb_job *job, const struct locus_adapter_policy *resident, const struct tb_schedule *schedule);
int tb_arena_run(struct tb_job *job, const struct locus_score_ops *score, const struct tb_schedule *schedule);

#endif
