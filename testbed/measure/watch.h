// SPDX-License-Identifier: Apache-2.0
//
// watch: how long the threads of a measured process and of its children were ready to run while something else had their CPU, how
// often they lost it, and how long a hypervisor had a CPU of this host; and how much memory it had.
#ifndef TB_WATCH_H
#define TB_WATCH_H

#include "testbed/measure/sample.h"

struct tb_watch {
    uint64_t begun_ns, waited_ns, switches, steal_ns;
    bool known, steal_known;
};

// Called before and after the timed laps, never within: each reads /proc/stat, and a file for every thread. Children are those of
// the thread that calls. Neither allocates, because that would be the contender's malloc.
void tb_watch_start(struct tb_watch *watch);
void tb_watch_stop(const struct tb_watch *watch, struct tb_sample *out); // sets watched_ns, waited_ns, switches and steal

// Memory of this process that is resident, exactly: /proc/self/smaps_rollup. 0: this kernel has no such file (Linux 4.14). Where
// every mapping gets huge pages, a first touch may make 2 MiB resident, also of the program's own data.
uint64_t tb_watch_resident_bytes(void);

// The stolen ticks in the first line of /proc/stat, as nanoseconds. False: it is no such line, or too short (Linux 2.6.10).
bool tb_watch_steal(const char *line, uint64_t *ns);

#endif
