// SPDX-License-Identifier: Apache-2.0
//
// process: where a running process's memory lies and where its threads run.
//
// It looks and changes nothing: files of /proc, and move_pages without target nodes, which reports where pages are. Neither faults
// a page in. While the kernel walks the process's page tables for it, calls of mmap and munmap there may wait.
//
// Regions are lines for people: each large piece of anonymous memory, each large file, and one line for all the rest. A piece is a
// run of neighbouring mappings of one name and policy, because the kernel splits and merges mappings as it likes.
#ifndef TB_PROCESS_H
#define TB_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locus/policy.h"
#include "topo/topo.h"

#define TB_PROCESS_NODES_MAX 64u  // on a larger machine the pages and threads of further nodes count as of no known node
#define TB_PROCESS_REGIONS_MAX 16u
#define TB_PROCESS_GROUPS_MAX 16u
#define TB_PROCESS_WATCH_NS 200000000u // between the two looks at the threads: 20 of the kernel's ticks

enum tb_region_kind {
    TB_REGION_ANONYMOUS,        // heaps, KV caches, shared memory
    TB_REGION_FILE,             // mappings of files, such as weights
    TB_REGION_REST,             // all that is small
};

// The second witness: move_pages about some of a region's pages.
struct tb_region_witness {
    uint64_t asked, present;
    uint64_t on[TB_PROCESS_NODES_MAX];
    bool whole;                 // about every page
};

struct tb_region {
    enum tb_region_kind kind;
    char name[64];              // without its folder
    char policy[64];            // as numa_maps has it; "mixed": of several; "": unknown
    uint64_t mappings, pieces;  // pieces: 1, but for what stands for several and the rest
    uint64_t size_bytes;        // of addresses; what nobody may access is left out
    uint64_t present_bytes;     // backed by memory
    uint64_t on_bytes[TB_PROCESS_NODES_MAX], unplaced_bytes; // of these, on each node and on no known one
    uint64_t huge_bytes;        // of these, in transparent huge pages and of hugetlb
    uint64_t page_bytes;        // the kernel's page size of the mappings, the largest: beyond the base page it is hugetlb
    struct tb_region_witness witness;
};

// Threads that may run on the same nodes.
struct tb_thread_group {
    struct locus_nodes may;     // nodes of the CPUs that they may use
    char cpus[256];             // all these CPUs, "0-7,16-23"
    unsigned threads, busy;     // busy: ran for a tenth of the look at least
    double ran_on[TB_PROCESS_NODES_MAX], ran_unknown; // CPU seconds on each node
};

struct tb_process {
    uint64_t pid;               // if the number asked for was that of a thread: of its process
    char name[64];
    bool llama;                 // libllama or libggml is mapped
    bool devices;               // libggml-locus.so is mapped: memory bound to one node is read by that node's threads alone
    int node[TB_PROCESS_NODES_MAX]; // the machine's nodes, ascending; all arrays by node here have this order
    unsigned nodes_count;
    struct locus_nodes mems;    // nodes on which its cpuset lets it allocate
    uint64_t rss_bytes;         // as its status has it, which everybody may read; without hugetlb
    int balancing;              // kernel.numa_balancing; -1: none, or unknown
    char thp[16];               // "always", "madvise", "never"; "": unknown

    struct tb_thread_group groups[TB_PROCESS_GROUPS_MAX];
    unsigned groups_count, threads, busy;
    double ran_on[TB_PROCESS_NODES_MAX], ran_unknown; // CPU seconds of all threads
    double watched_s;           // over which they ran; 0: none ran during the look, so it is the time since each began

    int maps_errno;             // why no region could be seen; 0: they were
    int placed_errno;           // why numa_maps could not be read (ENOENT: the kernel has no NUMA), so that no node is known
    uint64_t lines_bad;         // of numa_maps, that could not be understood
    struct tb_region regions[TB_PROCESS_REGIONS_MAX];
    unsigned regions_count;
    int witness_errno;          // why move_pages did not answer; 0: it did
    bool witness_barred;        // it does not answer this program about its own memory either: seccomp, or a kernel without NUMA
};

// `root` is "" or a folder with another /proc (tests); there no time passes: the second look at a thread is its file stat.later,
// if there is one, and move_pages is not asked. `topo` says which CPUs are on which node.
//
// 0, and what could not be seen is said in the members above. Otherwise `why` has a line without newline:
// -ESRCH   there is no such process;  -EINVAL  it is a kernel thread, or a zombie
// -EACCES  /proc hides it (hidepid);  -ECHILD  it ended while it was looked at;  -ENOMEM, -errno
int tb_process_look(const char *root, uint64_t pid, const struct locus_topo *topo, struct tb_process *out, char *why,
                    size_t why_bytes);

#endif
