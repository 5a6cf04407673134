// SPDX-License-Identifier: Apache-2.0
//
// room: has this host the memory that a measurement takes, and how long will it take at least? Asked before the first process: a
// pool that does not fit ends in a killed process, or in arms that fail one by one after minutes.
//
// Processes run one after another, so what counts is the largest one: the pools of all arms that share it. An allocator that fills
// its pool beforehand takes the whole pool; a malloc, or a pool that is filled as it is used, what is out at once at the peak. In a
// run of many nodes every node with CPUs has such pools. Of an engine it is the model and its cache.
#ifndef TB_ROOM_H
#define TB_ROOM_H

#include "locus/policy.h"
#include "testbed/measure/rounds.h"

struct tb_room_host {
    struct locus_nodes nodes;   // with memory that this process may use
    struct locus_nodes homes;   // of these, with CPUs that it may run on
    uint64_t free_bytes[LOCUS_NODES_MAX]; // of each, what a process can still have; UINT64_MAX: the kernel does not tell
    uint64_t cgroup_bytes;      // what the limits of its cgroups leave; UINT64_MAX: no limit, or it cannot be read
};

// 0, or -errno: nobody can tell.
int tb_room_host(struct tb_room_host *out);

// 0, or -E2BIG: the host has it not. `why` says in both cases what is needed and what is there, as a clause: "needs 32 GiB
// (churn-touch/full, arm locus), node 0 has 22.6 GiB"; "": no cell takes memory worth a question.
int tb_room_check(const struct tb_rounds *rounds, const struct tb_room_host *host, char *why, size_t why_bytes);

// The same of this host. What nobody can tell is no reason to refuse: 0.
int tb_room(const struct tb_rounds *rounds, char *why, size_t why_bytes);

// What the rounds write and read in their laps, at ten gigabytes a second: hardly a core is faster. For a person who wonders
// whether to wait, not for a figure.
double tb_room_seconds(const struct tb_rounds *rounds);

// "about 12 min (7.2 TB at 10 GB/s)", or "" for less than a minute.
const char *tb_room_time(double seconds, char *out, size_t bytes);

#endif
