// SPDX-License-Identifier: Apache-2.0
//
// What the tests of region share. Nodes are looked up, not assumed; what would change the process for good (a seccomp filter, a
// memory policy, a mount) or end it (a guard page) happens in a forked child.
#ifndef LOCUS_TESTS_REGION_TEST_H
#define LOCUS_TESTS_REGION_TEST_H

#include "placement/region.h"
#include "topo/topo.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define UNIT 4096u // verify counts in these
#define NODES 1024

#define CANNOT 2       // exit status of a child that could not prepare what it was to try
#define ANY_THIRD (-1) // for forbid()

static inline struct locus_region_config plain(size_t bytes)
{
    return (struct locus_region_config){.bytes = bytes, .node = LOCUS_NODE_ANY};
}

static inline struct locus_region_config bound(size_t bytes, int node, bool populate)
{
    return (struct locus_region_config){.bytes = bytes, .policy = LOCUS_POLICY_BIND, .node = node, .populate = populate};
}

static inline struct locus_region *must_open(const struct locus_region_config *config)
{
    struct locus_region *region;
    int result = locus_region_open(&region, config);
    cr_assert_eq(result, 0, "open answered %s", strerror(-result));
    return region;
}

static inline struct locus_placement must_verify(const struct locus_region *region)
{
    struct locus_placement placement;
    cr_assert_eq(locus_region_verify(region, &placement), 0);
    return placement;
}

static inline bool bind_forbidden(int result)
{
    return result == -EPERM || result == -ENOSYS;
}

// Next node from `node` on that this process may, or may not, use; NODES if there is none.
static inline int next_node(int node, bool allowed)
{
    while (node < NODES && locus_node_allowed(node) != allowed)
        node++;
    return node;
}

// Runs `body` in a forked child; its exit status, or 128 + signal. _exit keeps the harness's own exit handlers out of it.
static inline int in_child(int (*body)(void *), void *argument)
{
    pid_t child = fork();
    if (child == 0)
        _exit(body(argument));
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline uint64_t resident_pages(const struct locus_region *region)
{
    static unsigned char resident[32768]; // 128 MiB
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = locus_region_bytes(region) / page;
    uint64_t count = 0;
    cr_assert_leq(pages, sizeof(resident));
    cr_assert_eq(mincore(locus_region_base(region), locus_region_bytes(region), resident), 0);
    for (size_t i = 0; i < pages; i++)
        count += resident[i] & 1;
    return count;
}

// Mounts `with` over `path`, for this process only. Needs root.
static inline bool cover(const char *path, const char *with)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(with, path, NULL, MS_BIND, NULL) == 0;
}

// From here on `number` answers `error`, as in a container or on a kernel without NUMA. With `third` only if that is the
// call's third argument (its low half, which comes first on the machines that we know).
static inline bool forbid(long number, long third, int error)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)third, 0, third == ANY_THIRD ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(program) / sizeof(program[0]), .filter = program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static inline void each_error(int (*body)(void *), int first, int second)
{
    int errors[] = {first, second};
    for (int i = 0; i < 2; i++) {
        int status = in_child(body, &errors[i]);
        if (status == CANNOT)
            cr_skip_test("seccomp filters are not available here");
        cr_assert_eq(status, 0, "%s: the child ended with %d", strerror(errors[i]), status);
    }
}

#endif
