// SPDX-License-Identifier: Apache-2.0
//
// threads (private to the process): what the kernel says of a process and of its threads in stat and status.
#ifndef TB_THREADS_H
#define TB_THREADS_H

#include "testbed/host/host.h"
#include "testbed/host/process/process.h"

struct tb_stat {
    char name[64], state;
    uint64_t flags, ticks, start_ticks; // ticks: of CPU time, user and system
    int cpu;                    // it ran there last
};

// A line of stat. The name may have blanks and parentheses in it. False: it is no such line.
bool tb_stat_parse(const char *text, struct tb_stat *out);
int tb_stat_read(const struct tb_host *host, const char *path, struct tb_stat *out); // 0 or -errno; -EINVAL: malformed

// The text of a status behind its first line, the name, which may look like any other line.
const char *tb_status_behind_name(const char *status);

// Does a list of numbers ("0-3,8") name `id`? False where it is no such list.
bool tb_list_has(const char *list, unsigned id);

// Looks at the threads twice and fills in where they ran and may run. 0; -ECHILD: they have ended; -errno.
int tb_threads_look(struct tb_host *host, const struct locus_topo *topo, struct tb_process *process);

#endif
