// SPDX-License-Identifier: Apache-2.0
//
// process: what touch `decode` adds to a measured process: the threads that compute, a step for each arm or station, its sums and
// gates.
#ifndef TB_DECODING_PROCESS_H
#define TB_DECODING_PROCESS_H

#include "testbed/decode/step.h"
#include "testbed/measure/sample.h"
#include "testbed/workload/schedule.h"

struct tb_decode {
    struct tb_cache cache;
    struct tb_team *team;       // the caller's
    struct tb_step *step;       // NULL: another touch mode
};

// Threads of the job's settings, one of them the caller. Call it before the crew pins the caller. They have CPUs of their own where
// there are enough for them and the workers; if not, they share, and *pinned becomes false. 0 or -errno; *out is NULL for a job of
// another touch.
int tb_decode_team(const struct tb_job *job, struct tb_team **out, bool *pinned);

// 0, -EINVAL with why (impossible settings), -ENOMEM. Without a team there is no step.
int tb_decode_open(struct tb_decode *decode, const struct tb_job *job, const struct tb_schedule *schedule, struct tb_team *team,
                   char *why, size_t why_bytes);
void tb_decode_close(struct tb_decode *decode);

// Adds the sums of the prologue, `laps` laps and, if it was executed, the epilogue.
void tb_decode_sum(const struct tb_decode *decode, const struct tb_schedule *schedule, uint64_t laps, bool ended,
                   struct tb_decode_sample *out);

// The first gate that failed, in words; unchanged if none did. harness: its blocks may all be the same one.
void tb_decode_judge(const struct tb_job *job, bool harness, char *why, size_t why_bytes);

#endif
