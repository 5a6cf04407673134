// SPDX-License-Identifier: Apache-2.0
//
// team: threads that stay and do one thing after the other together, as an engine's compute threads do for each layer. The caller
// is the first of them. Between two jobs the others spin, and give the CPU away when that takes long.
//
// Threads: one caller. Atomics: a job's number, R1 (release) by the caller, partner R2 (acquire): the job is seen. The count of
// those who are done, D1 (release), partner D2 (acquire): what they wrote is seen.
#ifndef TB_TEAM_H
#define TB_TEAM_H

#include <stdint.h>

#define TB_TEAM_MAX 64u

struct tb_team;
typedef void tb_team_work(void *context, uint32_t who, uint32_t count); // who: 0 is the caller

// cpus: NULL, or where each thread is pinned, cpus[0] for the caller (whose pinning is left to it). 0, -EINVAL, -ENOMEM, -EAGAIN
// (no more threads) or the error of pinning.
int tb_team_open(struct tb_team **out, uint32_t count, const int *cpus);
void tb_team_close(struct tb_team *team); // NULL is allowed
uint32_t tb_team_count(const struct tb_team *team); // with the caller

// Where a thread is pinned, or, of the caller, will be; -1: nowhere.
int tb_team_cpu(const struct tb_team *team, uint32_t who);

// Returns when all have done it.
void tb_team_run(struct tb_team *team, tb_team_work *work, void *context);

#endif
