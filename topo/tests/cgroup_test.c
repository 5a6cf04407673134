// SPDX-License-Identifier: Apache-2.0
//
// cgroup: the tightest level counts, in v2, v1 and what containers see of either.
#include "topo/cgroup.h"

#include <errno.h>

#include "topo/tests/tree.h"

TestSuite(cgroup, .init = tree_open, .fini = tree_close);

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

static struct topo_cgroup_memory ask(void)
{
    struct topo_cgroup_memory memory = {0, 0};
    cr_assert_eq(topo_cgroup_memory(tree_root, &memory), 0);
    return memory;
}

static void level(const char *directory, const char *limit, const char *current, const char *stat)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/memory.max", directory);
    tree_file(path, limit);
    snprintf(path, sizeof(path), "%s/memory.current", directory);
    tree_file(path, current);
    snprintf(path, sizeof(path), "%s/memory.stat", directory);
    tree_file(path, stat);
}

Test(cgroup, is_unlimited_where_there_are_none)
{
    cr_assert_eq(ask().limit_bytes, UINT64_MAX);
    tree_file("/proc/self/cgroup", "0::/a\n");
    tree_file("/proc/self/mountinfo", V2_MOUNT);
    cr_assert_eq(ask().limit_bytes, UINT64_MAX, "a root group has no memory.max");
    level("/sys/fs/cgroup/a", "max\n", "500\n", "");
    cr_assert_eq(ask().room_bytes, UINT64_MAX);
}

Test(cgroup, takes_the_lowest_limit_and_the_least_room_on_the_way_up)
{
    tree_file("/proc/self/cgroup", "0::/a/b/c\n");
    tree_file("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" V2_MOUNT);
    level("/sys/fs/cgroup/a/b/c", "max\n", "1\n", "");
    level("/sys/fs/cgroup/a/b", "1000\n", "100\n", "");
    level("/sys/fs/cgroup/a", "2000\n", "1900\n", "anon 1500\nactive_file 30\ninactive_file 20\nactive_file_x 900\n");
    cr_assert_eq(ask().limit_bytes, 1000);
    cr_assert_eq(ask().room_bytes, 150, "a has 2000 - 1900 + 50 left, b has 900");
    level("/sys/fs/cgroup/a/b", "1000\n", "990\n", "");
    cr_assert_eq(ask().room_bytes, 10, "and now b is the tightest");
}

Test(cgroup, has_no_room_when_usage_is_above_the_limit)
{
    tree_file("/proc/self/cgroup", "0::/a\n");
    tree_file("/proc/self/mountinfo", V2_MOUNT);
    level("/sys/fs/cgroup/a", "1000\n", "1500\n", "active_file 100\n");
    cr_assert_eq(ask().room_bytes, 0);
    level("/sys/fs/cgroup/a", "1000\n", "900\n", "active_file 5000\n");
    cr_assert_eq(ask().room_bytes, 1000, "file pages above usage do not make room beyond the limit");
    level("/sys/fs/cgroup/a", "1000\n", "900\n", "active_file 18446744073709551615\ninactive_file 50\n");
    cr_assert_eq(ask().room_bytes, 150, "a count of 2^63 or more is none, and wraps no sum");
}

Test(cgroup, reads_version_1_and_its_way_to_say_unlimited)
{
    tree_file("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/job\n0::/\n");
    tree_file("/proc/self/mountinfo", V1_MOUNT "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    tree_file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    cr_assert_eq(ask().limit_bytes, UINT64_MAX);
    tree_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
    tree_file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1096\n");
    tree_file("/sys/fs/cgroup/memory/memory.stat", "active_file 1\ntotal_active_file 50\ntotal_inactive_file 50\n");
    cr_assert_eq(ask().limit_bytes, 4096);
    cr_assert_eq(ask().room_bytes, 3100);
}

static uint64_t huge_room(uint64_t page_bytes)
{
    struct topo_cgroup_memory room = {0, 0};
    cr_assert_eq(topo_cgroup_hugetlb(tree_root, page_bytes, &room), 0);
    return room.room_bytes;
}

#define PAGE_2M (UINT64_C(2) << 20)
#define PAGE_1G (UINT64_C(1) << 30)

Test(cgroup, limits_of_huge_pages_are_what_a_touch_and_what_mmap_may_take)
{
    tree_file("/proc/self/cgroup", "0::/a/b\n");
    tree_file("/proc/self/mountinfo", V2_MOUNT);
    cr_assert_eq(huge_room(PAGE_2M), UINT64_MAX, "a controller that is off has no files");
    tree_file("/sys/fs/cgroup/a/b/hugetlb.2MB.max", "max\n");
    tree_file("/sys/fs/cgroup/a/b/hugetlb.2MB.rsvd.max", "max\n");
    tree_file("/sys/fs/cgroup/a/hugetlb.2MB.max", "8388608\n");
    tree_file("/sys/fs/cgroup/a/hugetlb.2MB.current", "2097152\n");
    cr_assert_eq(huge_room(PAGE_2M), 6291456, "of the level above");
    cr_assert_eq(huge_room(PAGE_1G), UINT64_MAX, "of other pages");
    tree_file("/sys/fs/cgroup/a/b/hugetlb.2MB.rsvd.max", "4194304\n");
    tree_file("/sys/fs/cgroup/a/b/hugetlb.2MB.rsvd.current", "4194304\n");
    cr_assert_eq(huge_room(PAGE_2M), 0, "all is reserved, if not touched");
    cr_assert_eq(ask().room_bytes, UINT64_MAX, "memory is another controller's");
    tree_file("/proc/self/cgroup", "7:hugetlb:/job\n4:memory:/\n");
    tree_file("/proc/self/mountinfo", "36 31 0:33 / /sys/fs/cgroup/hugetlb rw - cgroup cgroup rw,hugetlb\n");
    tree_file("/sys/fs/cgroup/hugetlb/job/hugetlb.1GB.limit_in_bytes", "1073741824\n");
    tree_file("/sys/fs/cgroup/hugetlb/job/hugetlb.1GB.usage_in_bytes", "0\n");
    tree_file("/sys/fs/cgroup/hugetlb/job/hugetlb.2MB.limit_in_bytes", "9223372036852678656\n");
    cr_assert_eq(huge_room(PAGE_1G), PAGE_1G);
    cr_assert_eq(huge_room(PAGE_2M), UINT64_MAX);
}

Test(cgroup, version_1_counts_swap_in_a_limit_of_its_own_and_knows_the_levels_that_are_not_seen)
{
    tree_file("/proc/self/cgroup", "4:memory:/job\n");
    tree_file("/proc/self/mountinfo", V1_MOUNT);
    tree_file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000\n");
    tree_file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100\n");
    tree_file("/sys/fs/cgroup/memory/job/memory.memsw.limit_in_bytes", "1000\n");
    tree_file("/sys/fs/cgroup/memory/job/memory.memsw.usage_in_bytes", "700\n");
    cr_assert_eq(ask().room_bytes, 300, "600 are swapped out, and no more can be");
    tree_file("/sys/fs/cgroup/memory/job/memory.stat", "hierarchical_memory_limit 350\ntotal_active_file 20\n");
    cr_assert_eq(ask().room_bytes, 270);
    cr_assert_eq(ask().limit_bytes, 350);
    tree_file("/sys/fs/cgroup/memory/job/memory.stat", "hierarchical_memory_limit 9223372036854771712\n");
    cr_assert_eq(ask().limit_bytes, 1000);
}

Test(cgroup, finds_its_group_inside_a_container)
{
    tree_file("/proc/self/cgroup", "0::/docker/abc/job\n");
    tree_file("/proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cg\\040roup rw - cgroup2 cgroup2 rw\n");
    level("/sys/fs/cg roup/job", "700\n", "0\n", "");
    level("/sys/fs/cg roup", "900\n", "0\n", "");
    cr_assert_eq(ask().limit_bytes, 700);
    tree_file("/proc/self/cgroup", "0::/docker/abcdef\n");
    cr_assert_eq(ask().limit_bytes, 900, "a sibling's name is no part of ours: the mount point is what can be seen");
    tree_file("/proc/self/cgroup", "0::/../other\n");
    tree_file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cg\\040roup rw - cgroup2 cgroup2 rw\n");
    cr_assert_eq(ask().limit_bytes, 900);
}

Test(cgroup, refuses_malformed_files)
{
    struct topo_cgroup_memory memory;
    tree_file("/proc/self/cgroup", "0::/a\n");
    tree_file("/proc/self/mountinfo", V2_MOUNT);
    level("/sys/fs/cgroup/a", "lots\n", "0\n", "");
    cr_assert_eq(topo_cgroup_memory(tree_root, &memory), -EINVAL);
    level("/sys/fs/cgroup/a", "100\n", "\n", "");
    cr_assert_eq(topo_cgroup_memory(tree_root, &memory), -EINVAL);
}

Test(cgroup, survives_lines_that_make_no_sense)
{
    tree_file("/proc/self/cgroup", "\n:\n::\n0:\nx\n0::a\n");
    tree_file("/proc/self/mountinfo", "\n - \n - cgroup2\n - cgroup2 a b\n1 2 3 - cgroup2 a b\n1 2 3 4 - cgroup2 a b\n");
    cr_assert_eq(ask().limit_bytes, UINT64_MAX);
}

static uint64_t kills(void)
{
    uint64_t count = 0;
    cr_assert_eq(topo_cgroup_oom_kills(tree_root, &count), 0);
    return count;
}

Test(cgroup, counts_its_own_oom_kills_and_else_the_hosts)
{
    uint64_t count;
    cr_assert_eq(topo_cgroup_oom_kills(tree_root, &count), -ENOENT);
    tree_file("/proc/vmstat", "pgfault 12\noom_kill 7\n");
    cr_expect_eq(kills(), 7, "no group: the host's");
    tree_file("/proc/self/cgroup", "5:memory:/a\n0::/a\n");
    tree_file("/proc/self/mountinfo", V1_MOUNT V2_MOUNT);
    cr_expect_eq(kills(), 7, "a group that does not count");
    tree_file("/sys/fs/cgroup/memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    cr_expect_eq(kills(), 3);
    tree_file("/sys/fs/cgroup/a/memory.events", "low 0\noom 9\noom_kill 2\noom_group_kill 0\n");
    cr_expect_eq(kills(), 2, "version 2, where the controller is there");
}
