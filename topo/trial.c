// SPDX-License-Identifier: Apache-2.0
//
// trial: tries an action in a child process, so that the parent does it only if it is safe.
//
// hwloc 2.9 trusts any XML file that libxml can parse: if a child object lacks its cpuset it follows a null pointer, if nodes are
// missing it prints to stderr, and on some refusals it leaks. None of that may reach a program that embeds this library. Loading
// is deterministic, so a file that loads in the child loads here as well.
//
// The result comes through a pipe, not as the exit status, because a program that ignores SIGCHLD, or reaps every child in a
// handler, would take the status away. The child's stderr is the same pipe: a file that loads with complaints fails, since the
// parent would print them.
#include "topo/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPU_SECONDS_MAX 10u // the XML of the largest machines loads in less than one

// Default actions: a crash handler of the program or of a sanitizer would report a failed trial as a real crash.
static void become_silent(int verdict)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGPIPE};
    const struct rlimit no_core = {0, 0};
    const struct rlimit cpu_time = {CPU_SECONDS_MAX, CPU_SECONDS_MAX + 1};
    for (unsigned i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &cpu_time);
    dup2(verdict, STDOUT_FILENO);
    dup2(verdict, STDERR_FILENO);
}

static void rehearse(bool (*attempt)(void *), void *argument, int verdict)
{
    become_silent(verdict);
    if (attempt(argument) && write(verdict, "y", 1) != 1)
        _exit(1);
    _exit(0);
}

int topo_trial(bool (*attempt)(void *), void *argument, bool *passed)
{
    int ends[2];
    char answer[2] = "";
    size_t filled = 0;
    ssize_t got = 1;
    *passed = false;
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    pid_t child = fork();
    int error = child < 0 ? -errno : 0;
    if (child == 0) {
        close(ends[0]); // or a full pipe would block the child for ever: it would be its own reader
        rehearse(attempt, argument, ends[1]);
    }
    close(ends[1]);
    while (!error && filled < sizeof(answer) && got != 0) {
        got = read(ends[0], answer + filled, sizeof(answer) - filled);
        if (got < 0 && errno != EINTR)
            break;
        filled += got > 0 ? (size_t)got : 0;
    }
    close(ends[0]); // a child that still writes ends by SIGPIPE
    while (!error && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    *passed = filled == 1 && answer[0] == 'y';
    return error;
}
