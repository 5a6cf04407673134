// SPDX-License-Identifier: Apache-2.0
//
// killed: see killed.h. The kernel tells nobody why it sent SIGKILL, but it counts the processes that it killed for want of memory.
#include "testbed/measure/ends/killed.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "topo/topo.h"

uint64_t tb_killed_before(void)
{
    uint64_t kills;
    return locus_cgroup_oom_kills(&kills) ? UINT64_MAX : kills;
}

void tb_killed_why(int signal_number, uint64_t before, char *out, size_t bytes)
{
    uint64_t now = tb_killed_before();
    if (signal_number == SIGKILL && before != UINT64_MAX && now != UINT64_MAX && now > before)
        snprintf(out, bytes, "killed by the kernel for want of memory (it counts %llu more oom_kill)",
                 (unsigned long long)(now - before));
    else if (signal_number == SIGKILL)
        snprintf(out, bytes, "killed by signal 9, perhaps by the kernel for want of memory (see dmesg)");
    else if (signal_number == SIGBUS)
        snprintf(out, bytes, "crashed: %s, as where a huge page or room in /dev/shm is missing", strsignal(signal_number));
    else
        snprintf(out, bytes, "crashed: %s", strsignal(signal_number));
}
