// SPDX-License-Identifier: Apache-2.0
//
// locality: how many writes, allocations and frees were local, counted from where the CPU is and where the *page* is.
//
// Handles are not trusted. The kernel gives the CPU's node at the moment of the note (rseq, else getcpu and the topology), and
// the page's node by move_pages at the last refresh, which faults nothing in. A note on a page that is not in the map yet, or was
// absent at the last refresh, is pending until the next refresh; a page that is still absent then counts as unknown. So the map
// is one step old, unless tb_locality_look() was called: a page that the kernel moves during a step counts where it was when the
// step began, and pages_moved counts such pages.
//
// It works the same for pools and mallocs: pages enter the map when a note names them, or in advance by tb_locality_watch().
//
// Threads: an instance belongs to one thread, which opens it, notes and refreshes; add up the instances when the threads have
// finished. Pin the thread: if the kernel moves it to another node between a write and its note, the note's node counts. Notes
// allocate nothing and make no system call on hosts with rseq; tb_locality_refresh() is one system call over all known pages and
// belongs between steps, never inside a timed region. tb_locality_open() allocates and touches all memory by mmap, because the
// malloc may be under observation.
#ifndef TB_LOCALITY_H
#define TB_LOCALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topo/topo.h"

struct tb_locality;

#define TB_LOCALITY_UNKNOWN (-1)    // instead of a node: the page was absent, or the kernel does not say
#define TB_LOCALITY_HERE (-2)       // kept_on: the node of the freeing CPU

// The source of the answers; tests inject their own.
struct tb_locality_world {
    int (*cpu)(void *context);      // the calling thread's CPU
    // As move_pages without target: nodes[i] is the OS node of pages[i], or -errno. 0, or -errno if it fails as a whole.
    int (*page_nodes)(void *context, size_t count, void *const pages[], int nodes[]);
    void *context;
};

struct tb_locality_config {
    const struct locus_topo *topo;  // the nodes, and which CPU is on which; not needed after open
    uint32_t pages_max;             // capacity of the map; notes on further pages count as unknown (pages_refused)
    uint32_t pending_max;           // most pending notes in one step; further ones count as unknown (pending_refused)
    uint32_t points_max;            // most points of the drift curve; later steps add to the last point
    const struct tb_locality_world *world; // NULL: this machine
};

// -EINVAL: no topology, or a maximum is 0 or above 2^30; -ENOMEM.
int tb_locality_open(struct tb_locality **out, const struct tb_locality_config *config);
void tb_locality_close(struct tb_locality *locality); // NULL is allowed

enum tb_locality_what {
    TB_LOCALITY_TOUCHES,
    TB_LOCALITY_ALLOCATIONS,
    TB_LOCALITY_FREES,              // from the freeing thread's node to the page's node
    TB_LOCALITY_FREES_ABROAD,       // of these, kept on a node other than the page's
    TB_LOCALITY_BYTES_WRITTEN,
    TB_LOCALITY_BYTES_READ,
    TB_LOCALITY_WHATS,
};

// Adds the pages of a range to the map, so that after the next refresh no note on them is pending. -ENOSPC: pages_max.
int tb_locality_watch(struct tb_locality *locality, const void *base, size_t bytes);

// A counted touch: one volatile 8-byte store to each cache line in which the range has a complete aligned word. Returns the
// number of stores. It stores nothing else to the range, so an independent counter of stores gets the same number.
uint64_t tb_locality_touch(void *address, size_t bytes, uint64_t value);

// Do all these words still have the value?
bool tb_locality_touched(const void *address, size_t bytes, uint64_t value);

// Locates the pages of `count` ranges of `bytes` each now, so that the next notes on them are booked by where they are. Called
// between a write and its note it makes the map exact, at one system call per 128 pages. Returns as tb_locality_refresh(), but
// does not end the step.
int tb_locality_look(struct tb_locality *locality, size_t count, void *const addresses[], size_t bytes);

// Notes one tb_locality_touch() of the same range: as many touches, each on its line's page.
void tb_locality_note_write(struct tb_locality *locality, const void *address, size_t bytes);

// Notes bytes that the calling thread wrote or read (TB_LOCALITY_BYTES_*), each on its page.
void tb_locality_note_bytes(struct tb_locality *locality, enum tb_locality_what what, const void *address, size_t bytes);

// Notes that the calling thread allocated, or frees, the block at this address; its first page decides the block's node. A block
// allocated on another node than its own has wandered: the drift curve. `kept_on` is the OS node whose free list gets the block:
// the home to which it was pushed, TB_LOCALITY_HERE if the thread's own allocator keeps it, or TB_LOCALITY_UNKNOWN. If its page
// is on that node the block went home, otherwise it stays abroad; if unknown, it counts as neither.
void tb_locality_note_alloc(struct tb_locality *locality, const void *address);
void tb_locality_note_free(struct tb_locality *locality, const void *address, int kept_on);

// Locates all known pages, books pending notes and ends the step. 0, or the error of move_pages (-EPERM by seccomp, -ENOSYS):
// then every page is unknown until a refresh succeeds, and the map has the cause.
int tb_locality_refresh(struct tb_locality *locality);

// Adds the counts of `from` to `into`, point by point. -EINVAL: other nodes, or fewer points. Each instance counts its own pages:
// a page that two threads use counts twice in pages and pages_moved.
int tb_locality_add(struct tb_locality *into, const struct tb_locality *from);

struct tb_locality_sums {
    uint64_t local, remote, unknown;
};

struct tb_locality_point {
    uint64_t allocated;             // blocks handed out in this step
    uint64_t wandered;              // of these, on a page of another node
    uint64_t unknown;               // of these, on a page that was absent at the step's end
};

struct tb_locality_map {
    uint64_t refreshes, pages, pages_absent, pages_moved, pages_refused, pending, pending_refused;
    int refresh_error;              // of the last refresh, 0 or -errno
};

// Nodes by OS index, or TB_LOCALITY_UNKNOWN; 0 for a node that the topology lacks.
uint64_t tb_locality_count(const struct tb_locality *locality, enum tb_locality_what what, int from_node, int to_node);
struct tb_locality_sums tb_locality_sums(const struct tb_locality *locality, enum tb_locality_what what);
const struct tb_locality_point *tb_locality_drift(const struct tb_locality *locality, uint32_t *count);
struct tb_locality_map tb_locality_map(const struct tb_locality *locality);

// As of the last refresh: an OS node, -ENOENT (absent, or not in the map), -EFAULT (the zero page, or not mapped).
int tb_locality_page_node(const struct tb_locality *locality, const void *address);

#endif
