// SPDX-License-Identifier: Apache-2.0
//
// process_advice: which share of a running process's reads must come from other nodes, and what would cure it.
//
// It is arithmetic on where pages lie and where threads ran, under one assumption, which the page states: the busy threads read
// every page of the large regions equally often. A page on node n is then read from elsewhere by the share of the CPU time that was
// spent on other nodes. How much slower such a read is, the matrix says; whether a cure is faster, only a measurement.
#ifndef TB_PROCESS_ADVICE_H
#define TB_PROCESS_ADVICE_H

#include "testbed/doc/doc.h"
#include "testbed/host/process/process.h"

#define TB_PROCESS_CURES_MAX 8u
#define TB_PROCESS_REMOTE_LITTLE 0.05 // a smaller share is next to nothing

struct tb_process_cure {
    const char *name;           // for programs: "bind", "one-each", "backend", "distribute", "isolate", "interleave", "taskset"
    const char *words;          // for people, behind "Leaves 50 %: "
    char commands[2048];        // a line each
    char unit[512];             // the same as properties of a unit of systemd; "": there is no such thing
    double remote;              // share of the reads that it would leave
};

struct tb_process_advice {
    struct locus_nodes homes;   // nodes with CPUs and memory, on which the process may allocate
    bool choice;                // there is more than one node with memory or CPUs
    double large_bytes;         // of the regions that count: all but the rest
    double ran_s;               // CPU seconds on known nodes
    double on[TB_PROCESS_NODES_MAX], ran[TB_PROCESS_NODES_MAX]; // shares, of the large regions' pages and of these seconds
    double region_remote[TB_PROCESS_REGIONS_MAX]; // NAN: not known, or of the rest
    double remote;              // of all large regions; NAN: not known
    int best;                   // the home with most of the pages; -1: none
    bool fits;                  // they would all fit on `best`
    unsigned cures_count;
    struct tb_process_cure cures[TB_PROCESS_CURES_MAX]; // where next to nothing is remote, only what keeps it so
};

// `topo` is the machine of the process.
void tb_process_advise(const struct tb_process *process, const struct locus_topo *topo, struct tb_process_advice *out);

// The answer first. `head` is tb_head()'s, or NULL; `emulated` as of tb_emulated_as(). NULL without memory.
struct tb_doc *tb_process_doc(json_t *head, const char *emulated, const struct tb_process *process, const struct locus_topo *topo);

#endif
