// SPDX-License-Identifier: Apache-2.0
//
// locality: how many writes, allocations and frees were local, counted from where the CPU is and where the *page* is.
//
// No handle is believed. The CPU's node is the kernel's word at the moment of the note (rseq, else getcpu and the topology). The
// page's node is move_pages' word at the last refresh, which faults nothing in. A page that is not in the map yet, or was absent
// when it was last looked at, is noted as pending and settled by the next refresh; what is still absent then counts as unknown.
// So the map is one step old, unless tb_locality_look() was asked: what the kernel moves in the middle of a step counts where it
// was when the step began, and pages_moved says how many pages that concerned.
//
// The same for pools and mallocs: pages enter the map when a note names them, or beforehand by tb_locality_watch().
//
// Threads: an instance belongs to one thread, which opens it, notes and refreshes; sum the instances when the threads are done.
// Pin the thread: one that the kernel moves to another node between a write and its note is counted where it is at the note.
// Notes allocate nothing and make no system call on hosts with rseq; tb_locality_refresh() is one system call over all known
// pages and belongs between steps, never inside a timed region. All memory is taken and touched by tb_locality_open(), by mmap
// and not from the malloc that may be under observation.
#ifndef TB_LOCALITY_H
#define TB_LOCALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topo/topo.h"

struct tb_locality;

#define TB_LOCALITY_UNKNOWN (-1)    // in place of a node: the page was absent, or nobody would say
#define TB_LOCALITY_HERE (-2)       // kept_on: the node of the CPU that frees

// Where the answers come from; tests inject their own.
struct tb_locality_world {
    int (*cpu)(void *context);      // the calling thread's CPU
    // As move_pages with no target: nodes[i] is the OS node of pages[i], or -errno. 0, or -errno when none can be told.
    int (*page_nodes)(void *context, size_t count, void *const pages[], int nodes[]);
    void *context;
};

struct tb_locality_config {
    const struct locus_topo *topo;  // the nodes, and which CPU is on which; not needed after open
    uint32_t pages_max;             // most pages that the map can hold; notes on others count as unknown (pages_refused)
    uint32_t pending_max;           // most notes on unknown pages in one step; more count as unknown (pending_refused)
    uint32_t points_max;            // most points of the drift curve; later steps fall into the last one
    const struct tb_locality_world *world; // NULL: this machine
};

// -EINVAL: no topology, or a maximum is 0 or above 2^30; -ENOMEM.
int tb_locality_open(struct tb_locality **out, const struct tb_locality_config *config);
void tb_locality_close(struct tb_locality *locality); // NULL is allowed

// Puts the pages of a range into the map, so that after the next refresh nothing on them is pending. -ENOSPC: pages_max.
int tb_locality_watch(struct tb_locality *locality, const void *base, size_t bytes);

// A counted touch: one volatile 8-byte store to each cache line in which the range has a whole aligned word, and how many
// those were. Nothing else is stored to the range, so that whoever counts stores counts the same.
uint64_t tb_locality_touch(void *address, size_t bytes, uint64_t value);

// Does each of these words still hold the value?
bool tb_locality_touched(const void *address, size_t bytes, uint64_t value);

// Asks at once, and only about the pages of `count` ranges of `bytes` each: what is noted on them next is booked by where they are
// now. Between a write and its note it makes the map exact, for a system call each 128 pages. Answers as tb_locality_refresh(),
// and ends no step.
int tb_locality_look(struct tb_locality *locality, size_t count, void *const addresses[], size_t bytes);

// Notes one tb_locality_touch() of the same range: as many touches, each on the page that its line lies in.
void tb_locality_note_write(struct tb_locality *locality, const void *address, size_t bytes);

// Notes that the calling thread was given, or gives away, the block at this address; its first page is the block's node. A block
// that is given to another node than the one it lies on has wandered: the drift curve. `kept_on` is the OS node whose free
// list the block goes to: the home that it was pushed to, or TB_LOCALITY_HERE where the thread's own allocator keeps it, or
// TB_LOCALITY_UNKNOWN. It went home if its page is there, and stays abroad otherwise; of an unknown one neither is said.
void tb_locality_note_alloc(struct tb_locality *locality, const void *address);
void tb_locality_note_free(struct tb_locality *locality, const void *address, int kept_on);

// Looks again where all known pages are, settles what is pending and ends the step. 0, or what move_pages answered (-EPERM by
// seccomp, -ENOSYS): then every page is unknown until a refresh succeeds, and the map names the cause.
int tb_locality_refresh(struct tb_locality *locality);

// Adds the counts of `from` to `into`, point by point. -EINVAL: other nodes, or fewer points. Pages are counted by each
// instance for itself: a page that two threads use counts twice in pages and pages_moved.
int tb_locality_add(struct tb_locality *into, const struct tb_locality *from);

enum tb_locality_what {
    TB_LOCALITY_TOUCHES,
    TB_LOCALITY_ALLOCATIONS,
    TB_LOCALITY_FREES,              // from the node of the thread that freed, to the node of the page
    TB_LOCALITY_FREES_ABROAD,       // of these, kept on another node than the page's
    TB_LOCALITY_WHATS,
};

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

// Nodes by OS index or TB_LOCALITY_UNKNOWN; 0 for a node that the topology does not have.
uint64_t tb_locality_count(const struct tb_locality *locality, enum tb_locality_what what, int from_node, int to_node);
struct tb_locality_sums tb_locality_sums(const struct tb_locality *locality, enum tb_locality_what what);
const struct tb_locality_point *tb_locality_drift(const struct tb_locality *locality, uint32_t *count);
struct tb_locality_map tb_locality_map(const struct tb_locality *locality);

// As of the last refresh: an OS node, -ENOENT (absent, or not in the map), -EFAULT (the zero page, or not mapped).
int tb_locality_page_node(const struct tb_locality *locality, const void *address);

#endif
