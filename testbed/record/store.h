// SPDX-License-Identifier: Apache-2.0
//
// store: the ledgers and logs below the given folders, as hosts and their runs, and what is known of each run.
#ifndef TB_STORE_H
#define TB_STORE_H

#include <stdbool.h>

#include "testbed/record/log.h"

// What is known of a run. Only of a whole one the verdict counts.
enum tb_run_state {
    TB_RUN_WHOLE,               // sealed, complete
    TB_RUN_STOPPED,             // sealed before its end
    TB_RUN_CRASHED,             // a log without a seal
    TB_RUN_BROKEN,              // its log is not what was written
    TB_RUN_MISSING,             // the ledger opened it, and there is no log
};

struct tb_gallery_run {
    char host[64], run[64], path[4096]; // the log's
    enum tb_run_state state;
    struct tb_log_view view;    // empty where no log could be read
    bool filed;                 // the ledger opened it
    char why[256];              // of a state that is not whole
};

struct tb_gallery_host {
    char name[64], path[4096];  // the ledger's
    struct tb_chain ledger;
    bool exists;                // there is a ledger
};

struct tb_gallery {
    struct tb_gallery_run *runs; // by experiment, then time
    size_t runs_count;
    struct tb_gallery_host *hosts;
    size_t hosts_count;
};

// Adds what lies below `root` ("logs"). A root that is not there adds nothing. 0 or -errno.
int tb_gallery_add(struct tb_gallery *gallery, const char *root);
void tb_gallery_sort(struct tb_gallery *gallery);
void tb_gallery_close(struct tb_gallery *gallery);

// The host whose ledger stands beside a run's log, or NULL; and that ledger's last entry of this type about a run, or NULL.
const struct tb_gallery_host *tb_gallery_host_of(const struct tb_gallery *gallery, const struct tb_gallery_run *run);
const json_t *tb_gallery_entry(const struct tb_gallery_host *host, const char *type, const char *run);

#endif
