// SPDX-License-Identifier: Apache-2.0
//
// deny_scenario ERRNO CALL[,CALL...] -- COMMAND [ARGUMENT...]
//
// Runs COMMAND where the kernel answers that errno to the named calls: mbind, set_mempolicy, get_mempolicy, move_pages,
// perf_event_open. EPERM is what a container's seccomp profile says, ENOSYS what a kernel without NUMA or performance events does;
// of the latter EACCES comes from perf_event_paranoid, ENOENT from a machine without counters, EMFILE from ulimit, EBUSY from
// others that use them. The filter stays in force over exec and fork, and all other calls pass. No root is needed.
//
// Without arguments it tests itself: each call under each errno, in a program behind exec.
//
// Exit status: COMMAND's; without one 0, or 1 if a filter did not do what it says; 77 where the kernel has no filters; 2 bad use;
// 126 COMMAND cannot be started.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "deny_scenario does not know this machine's number in a seccomp filter (linux/audit.h)"
#endif

#define CALLS 5

static const struct {
    const char *name;
    long number;
} calls[CALLS] = {
    {"mbind", SYS_mbind},           {"set_mempolicy", SYS_set_mempolicy},     {"get_mempolicy", SYS_get_mempolicy},
    {"move_pages", SYS_move_pages}, {"perf_event_open", SYS_perf_event_open},
};

static const struct {
    const char *name;
    int number;
} errors[] = {{"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EACCES", EACCES}, {"ENOENT", ENOENT}, {"EMFILE", EMFILE}, {"EBUSY", EBUSY}};

#define ERRORS (sizeof errors / sizeof *errors)

static int error_named(const char *name)
{
    for (size_t i = 0; i < ERRORS; i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].number;
    return 0;
}

// One bit per call; 0: one of the names is none.
static unsigned calls_named(const char *list)
{
    unsigned set = 0;
    for (;;) {
        size_t length = strcspn(list, ","), i = 0;
        while (i < CALLS && (strlen(calls[i].name) != length || strncmp(calls[i].name, list, length)))
            i++;
        if (i == CALLS)
            return 0;
        set |= 1u << i;
        if (!list[length])
            return set;
        list += length + 1;
    }
}

// load arch, other? allow; load number, [named? deny]..., allow, deny. A call that is not to be denied is compared with a number
// that no call has, which keeps the jumps the same.
static int deny(unsigned set, int error)
{
    struct sock_filter program[4 + CALLS + 1] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0, 1 + CALLS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (unsigned i = 0; i < CALLS; i++) {
        unsigned number = set & 1u << i ? (unsigned)calls[i].number : UINT32_MAX;
        program[3 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, (unsigned char)(CALLS - i), 0);
    }
    program[3 + CALLS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[4 + CALLS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
    struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return -errno;
    return 0;
}

static int run(int error, unsigned set, char **command)
{
    int result = deny(set, error);
    if (result) {
        fprintf(stderr, "deny_scenario: no seccomp filter can be set here: %s\n", strerror(-result));
        return 77;
    }
    execvp(command[0], command);
    fprintf(stderr, "deny_scenario: cannot start %s: %s\n", command[0], strerror(errno));
    return 126;
}

// --- the test of itself --------------------------------------------------------------------------------------------------------

#define ANSWERS "--answers" // SET ERRNO: 0 if just those calls (a character, '@' and one bit for each) answer it

// Arguments that no kernel takes: a call that passes answers neither errno, except where it is denied already.
static unsigned denied(int error)
{
    unsigned set = 0;
    for (unsigned i = 0; i < CALLS; i++)
        if (syscall(calls[i].number, -1l, -1l, -1l, -1l, -1l, -1l) && errno == error)
            set |= 1u << i;
    return set;
}

static int answers(unsigned expected, const char *name)
{
    unsigned set = denied(error_named(name));
    for (unsigned i = 0; i < CALLS; i++)
        if ((set ^ expected) & 1u << i)
            fprintf(stderr, "deny_scenario: %s answers %s%s\n", calls[i].name, set & 1u << i ? "" : "something else than ", name);
    return set != expected;
}

static int in_child(size_t error, unsigned set)
{
    char program[] = "/proc/self/exe", word[] = ANSWERS, name[8], expected[] = {0, 0};
    char *command[] = {program, word, expected, name, NULL};
    expected[0] = (char)('@' + (set | denied(errors[error].number)));
    snprintf(name, sizeof name, "%s", errors[error].name);
    pid_t child = fork();
    if (child == 0)
        _exit(run(errors[error].number, set, command));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 1;
    return WEXITSTATUS(status);
}

static int test(void)
{
    for (size_t error = 0; error < ERRORS; error++)
        for (unsigned set = 0; set < 1u << CALLS; set++) {
            int status = in_child(error, set);
            if (status)
                return status;
        }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return test();
    if (argc == 4 && strcmp(argv[1], ANSWERS) == 0)
        return answers((unsigned)(argv[2][0] - '@'), argv[3]);
    if (argc < 5 || !error_named(argv[1]) || !calls_named(argv[2]) || strcmp(argv[3], "--")) {
        fputs("usage: deny_scenario EPERM|ENOSYS|EACCES|ENOENT|EMFILE|EBUSY "
              "mbind|set_mempolicy|get_mempolicy|move_pages|perf_event_open[,...] -- COMMAND...\n",
              stderr);
        return 2;
    }
    return run(error_named(argv[1]), calls_named(argv[2]), argv + 4);
}
