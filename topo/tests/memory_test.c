// SPDX-License-Identifier: Apache-2.0
//
// memory: the live queries, compared with other sources of the same kernel (libnuma, and memory that this test takes).
#include <criterion/criterion.h>
#include <errno.h>
#include <numa.h>
#include <sys/mman.h>

#include "topo/topo.h"

Test(memory, agrees_with_libnuma)
{
    if (numa_available() < 0)
        cr_skip_test("needs a kernel with NUMA support");
    struct bitmask *allowed = numa_get_mems_allowed();
    for (int node = 0; node <= numa_max_node(); node++) {
        struct locus_node_memory memory;
        struct locus_node_memory again;
        long long total = numa_node_size64(node, NULL);
        if (total <= 0)
            continue;
        cr_assert_eq(locus_node_memory_read(node, &memory), 0);
        cr_assert_eq(locus_node_memory_read(node, &again), 0);
        if (memory.total_bytes == again.total_bytes) // else memory was plugged in between
            cr_assert((long long)memory.total_bytes == total || numa_node_size64(node, NULL) != total);
        cr_assert_leq(memory.free_bytes + memory.reclaimable_bytes, memory.total_bytes);
        cr_assert_eq(locus_node_allowed(node), numa_bitmask_isbitset(allowed, (unsigned)node) != 0);
    }
    numa_bitmask_free(allowed);
    struct locus_node_memory memory;
    cr_assert_eq(locus_node_memory_read(numa_max_node() + 1, &memory), -ENODEV);
    cr_assert_eq(locus_node_memory_read(-1, &memory), -ENODEV);
}

Test(memory, allows_no_node_that_does_not_exist)
{
    cr_assert_not(locus_node_allowed(-1));
    cr_assert_not(locus_node_allowed(1023));
    cr_assert_not(locus_node_allowed(1 << 30));
}

Test(memory, has_less_room_in_a_limited_cgroup_once_memory_is_taken)
{
    uint64_t before = 0;
    uint64_t after = 0;
    size_t bytes = 64u << 20;
    cr_assert_eq(locus_cgroup_memory_room_bytes(&before), 0);
    if (before == UINT64_MAX)
        cr_skip_test("needs a cgroup with a memory limit");
    char *taken = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    cr_assert_neq(taken, MAP_FAILED);
    cr_assert_eq(locus_cgroup_memory_room_bytes(&after), 0);
    cr_assert_lt(after, before);
    munmap(taken, bytes);
}
