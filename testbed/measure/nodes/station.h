// SPDX-License-Identifier: Apache-2.0
//
// station (many nodes): a node's scheduler, its workers, and how finished requests travel between stations.
//
// Every station executes the schedule's whole stream, all at the same time. A finished request goes as a parcel into the inbox of
// a worker of its own or of another station. A count decides which, so that the share is exact and the same for all. With inline
// dispatch there are no workers: the station's scheduler takes the parcels at its next drain, and frees in its own thread.
//
// A lap begins and ends at a gate, where each station waits for all others; meanwhile it goes on serving its inbox and draining.
//
// Threads: one scheduler for each station, and its workers. Atomics: an inbox is a mailbox (locus/lane.h: P1, T1).
//   finished   F1 (release) by the thread that finished the station's request, partner F2 (acquire): its frees and pushes are seen
//   arrived    G1 (release) at a gate, partner G2 (acquire): after the gate all see what any station did before it
//   asleep     both sides exchange it (acquire and release), the sender after its push and the worker before its look: the second
//              sees what the first did, so either the worker sees the parcel or the sender sees that the worker sleeps
#ifndef TB_NODES_STATION_H
#define TB_NODES_STATION_H

#include <pthread.h>
#include <stdatomic.h>

#include "locus/lane.h"
#include "testbed/measure/decoding/process.h"
#include "testbed/measure/nodes/books.h"

struct tb_station;

struct tb_parcel {
    struct locus_link link;     // must be first
    struct locus_table *table;
    struct tb_station *from;
};

struct tb_node_worker {
    struct locus_mailbox inbox;
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint32_t asleep;
    _Atomic bool stop;
    uint32_t lane;
    struct tb_station *station;
    struct tb_books books;
    pthread_t thread;           // unused with inline dispatch: the scheduler's
    bool running;
    int cpu;                    // -1: any of the node's
    int error;                  // of pinning
};

struct tb_nodes_run {
    struct tb_job *job;
    const struct tb_nodes_ops *ops;
    const void *plan;
    bool migrates;
    const struct tb_schedule *schedule;
    void *context;
    struct locus_topo *topo;
    struct tb_station *stations;
    uint32_t count;             // stations
    uint32_t workers;           // per station; inline: 1, the scheduler
    uint64_t steps_per_point;   // drains in one stretch of the drift curve
    uint64_t steps_per_repair;  // drains from one repair to the next
    uint64_t patience_ns;       // without progress for this long, give up waiting
    bool counting;              // station 0 writes it before a gate; read while parcels travel
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t arrived;
};

struct tb_station {
    struct tb_nodes_run *run;
    uint32_t number;
    int node, cpu;              // cpu -1: any of the node's
    struct tb_node_worker *workers;
    struct tb_books books;      // the scheduler's
    struct locus_table **tables; // by slot
    char *tables_memory;
    struct tb_parcel *parcels;  // by slot
    struct tb_team *team;       // of touch `decode`: this thread alone; else NULL
    struct tb_decode decode;
    uint64_t laps;              // executed
    bool ended;                 // and the epilogue
    pthread_t thread;
    bool running;
    bool entered;               // may call the contender

    uint64_t gates;             // passed
    uint64_t taken;             // blocks
    uint64_t touched_bytes;
    uint64_t retired, dispatched; // requests; a dropped one is not dispatched
    uint64_t drains;
    uint64_t damaged;           // blocks that had lost their contents at retirement
    uint64_t repaired;          // pages
    uint32_t cross_turn, away_turn;
    uint32_t worker_turn[TB_NODES_MAX]; // by the station that the request goes to
    bool fault_armed;
    bool gave_up;               // waiting for requests
    int error;                  // the first
    const char *failed_to;      // what it was doing then
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t finished; // requests of this station
};

// The scheduler's thread, from pinning to the epilogue. The argument is the station.
void *tb_station_main(void *station);

// worker.c
int tb_node_worker_start(struct tb_node_worker *worker); // 0 or -errno
void tb_node_worker_stop(struct tb_node_worker *worker);
void tb_node_worker_send(struct tb_node_worker *worker, struct tb_parcel *parcel, bool may_sleep);
bool tb_node_worker_serve(struct tb_node_worker *worker); // finishes what has arrived; true: there was something

#endif
