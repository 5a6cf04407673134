// SPDX-License-Identifier: Apache-2.0
//
// fleet_parts (private to fleet): the runs and the hosts, as fleet_hosts collects them and fleet looks at them.
#ifndef TB_FLEET_PARTS_H
#define TB_FLEET_PARTS_H

#include "testbed/report/hosts/fleet.h"

// An official run.
struct tb_fleet_run {
    const struct tb_store_run *run;
    const char *verdict;        // of the whole run, or why it has none
    bool closed;                // sealed, complete, and in the ledger as it is
    bool says;                  // one of its predictions rests on figures
};

struct tb_fleet_host {
    const char *name;
    json_t *machine;            // as its newest log has it
    const char *broken;         // of its ledger, or NULL
    size_t broken_line, runs, group;
    bool changed;
};

struct tb_fleet {
    const struct tb_store *store;
    const struct tb_fleet_wanted *wanted;
    struct tb_fleet_run *runs;  // as the store: by postulate, then time
    struct tb_fleet_host *hosts; // by group, then name
    size_t runs_count, hosts_count;
    json_t *groups, *postulates, *warnings;
};

int tb_fleet_collect(struct tb_fleet *fleet);           // runs, hosts, groups. 0 or -ENOMEM
void tb_fleet_close(struct tb_fleet *fleet);
json_t *tb_fleet_hosts_json(const struct tb_fleet *fleet); // new reference, or NULL

#endif
