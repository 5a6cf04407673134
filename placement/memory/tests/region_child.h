// SPDX-License-Identifier: Apache-2.0
//
// region_child: what region's tests do in a forked child because it cannot be undone: forbid a system call, mount over a file.
#ifndef LOCUS_TESTS_REGION_CHILD_H
#define LOCUS_TESTS_REGION_CHILD_H

#include "placement/memory/tests/region_test.h"

#include <stdio.h>
#include <sys/resource.h>

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

// Leaves this process `bytes` more of address space than it has. For good: in a child.
static inline bool leave_address_space(size_t bytes)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    bool read = file && fscanf(file, "%lu", &pages) == 1;
    if (file)
        fclose(file);
    rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
    return read && setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) == 0;
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
