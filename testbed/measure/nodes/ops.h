// SPDX-License-Identifier: Apache-2.0
//
// ops (many nodes): a contender of the flagship: one scheduler per node, workers on every node, and requests that finish on their
// own node or on another.
//
//     scheduler of station s, pinned to its node           worker of station w, pinned to that one
//     enter(s), take(s, table, n), address(block)
//     retire(s, table)                  -- to s or w -->   finish(lane, w, table)
//     drain(s), home(s)
//
// A station is a node with CPUs and memory; its number is dense. Blocks and tables are as in contender.h, but a table may hold
// blocks of all homes. A station's take, retire, drain, home and repair run on its scheduler's thread; finish runs on workers
// (lanes are numbered across all stations); open, close, region and audit run when no other thread does.
#ifndef TB_NODES_OPS_H
#define TB_NODES_OPS_H

#include "locus/policy.h"
#include "locus/region.h"
#include "testbed/measure/contender.h"

struct tb_nodes_setup {
    const void *plan;           // the contender's
    const struct tb_schedule *schedule;
    size_t block_bytes;
    const int *nodes;           // [count] OS nodes of the stations
    uint32_t count;
    const struct locus_nodes *memory; // all nodes with memory that this process may use
    uint32_t lanes;             // of all stations
};

struct tb_nodes_ops {
    int (*open)(const struct tb_nodes_setup *setup, void **context);
    void (*close)(void *context);
    int (*enter)(void *context, uint32_t station); // NULL: nothing to do
    void (*leave)(void *context, uint32_t station);
    // -EAGAIN: some blocks are on their way; it is called again after the next drain.
    int (*take)(void *context, uint32_t station, struct locus_table *table, uint32_t count);
    void *(*address)(void *context, locus_block block);
    int (*retire)(void *context, uint32_t station, struct locus_table *table);
    void (*finish)(void *context, uint32_t lane, uint32_t station, struct locus_table *table);
    void (*drain)(void *context, uint32_t station);
    uint64_t (*home)(void *context, uint32_t station); // requests of this station whose blocks are all home; NULL: those
                                                       // that are finished
    // OS node whose free list gets a block that finishes at this station, or TB_LOCALITY_HERE. NULL: a malloc does not say.
    int (*kept_on)(void *context, uint32_t station, locus_block block);
    int (*repair)(void *context, uint32_t station, uint64_t *moved);    // between steps, and timed; NULL: never
    const struct locus_region *(*region)(void *context, uint32_t station); // its blocks; NULL: it places nothing
    void (*audit)(void *context, uint32_t station, struct tb_audit *out);
};

struct tb_nodes_contender {
    const struct tb_nodes_ops *ops;
    const void *plan;           // how this contender differs from others with the same functions
    enum locus_policy policy;   // that the kernel must offer; FIRST_TOUCH: none
    bool migrates;              // pages move by design: exempt from the balancing gate
};

#endif
