// SPDX-License-Identifier: Apache-2.0
//
// threads: how long this process's threads ran, and on which nodes, by /proc/self/task. Looked at before and after a step, never
// within.
#ifndef TB_LLAMA_THREADS_H
#define TB_LLAMA_THREADS_H

#include <stdint.h>

#include "testbed/engine/llama/regions.h"

#define TB_LLAMA_THREADS_MAX 1024

struct tb_llama_threads {
    uint64_t ran_ns[TB_LLAMA_NODES_MAX]; // by the node of the CPU on which the thread was when looked at
    uint64_t waited_ns;         // ready to run, while others had the CPU
    unsigned count;             // threads that ran
    struct {
        int tid;
        uint64_t ran_ns, waited_ns;
    } seen[TB_LLAMA_THREADS_MAX]; // as of the last look
};

// The first look forgets what was before it; each later one adds what has happened since the last.
void tb_llama_threads_look(struct tb_llama_threads *threads, int first);

#endif
