// SPDX-License-Identifier: Apache-2.0
//
// killed: a child that the kernel killed for want of memory is told from one that somebody killed.
#include "placement/memory/tests/group.h"
#include "testbed/measure/ends/killed.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

enum { NO_GROUP = 77 };

static char why[160];

static int ended_by(void (*body)(void))
{
    pid_t pid = fork();
    int status = 0;
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        body();
        _exit(0);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void is_killed(void)
{
    kill(getpid(), SIGKILL);
}

static void takes_too_much(void)
{
    size_t bytes = (size_t)256 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        memset(memory, 1, bytes);
}

static int in_little_memory(void *unused)
{
    (void)unused;
    if (!enter_group("memory", "memory.max", "memory.limit_in_bytes", "67108864"))
        return NO_GROUP;
    uint64_t before = tb_killed_before();
    tb_killed_why(ended_by(takes_too_much), before, why, sizeof why);
    return strncmp(why, "killed by the kernel for want of memory (", 41) != 0;
}

Test(killed, by_the_kernel_for_want_of_memory)
{
    int status = in_group(in_little_memory, NULL, "memory");
    if (status == NO_GROUP)
        cr_skip_test("no memory cgroup can be made here");
    cr_expect_eq(status, 0);
}

Test(killed, by_somebody_else)
{
    uint64_t before = tb_killed_before();
    tb_killed_why(ended_by(is_killed), before, why, sizeof why);
    cr_expect_str_eq(why, "killed by signal 9, perhaps by the kernel for want of memory (see dmesg)");
    tb_killed_why(SIGKILL, UINT64_MAX, why, sizeof why);
    cr_expect_str_eq(why, "killed by signal 9, perhaps by the kernel for want of memory (see dmesg)");
}

Test(killed, says_what_else_ended_it)
{
    tb_killed_why(SIGSEGV, 0, why, sizeof why);
    cr_expect_str_eq(why, "crashed: Segmentation fault");
    tb_killed_why(SIGBUS, 0, why, sizeof why);
    cr_expect_str_eq(why, "crashed: Bus error, as where a huge page or room in /dev/shm is missing");
}
