// SPDX-License-Identifier: Apache-2.0
//
// together: see together.h.

#include "testbed/engine/llama/together.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed/engine/result.h"

#define POLL_US 100u
#define POLLS_MAX 1200000u      // two minutes

int tb_llama_together(uint32_t processes)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t *come = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, TB_ENGINE_TOGETHER_FD, 0);
    if (come == MAP_FAILED)
        return -errno;
    // Relaxed, and the loads below: the word carries nothing but itself.
    __atomic_fetch_add(come, 1, __ATOMIC_RELAXED);
    uint32_t polls = 0;
    while (__atomic_load_n(come, __ATOMIC_RELAXED) < processes && polls++ < POLLS_MAX)
        usleep(POLL_US);
    munmap(come, bytes);
    return polls > POLLS_MAX ? -ETIMEDOUT : 0;
}
