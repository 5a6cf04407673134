// SPDX-License-Identifier: Apache-2.0
//
// Shared by the scenarios that stop a writer in the middle of its work, by SIGKILL or by a loss of power, and check what it left.
//
// The writer says over a pipe what it has had acknowledged. Whoever includes this defines KILL_NAME, the name before a message.
#ifndef LOCUS_TESTS_KILL_H
#define LOCUS_TESTS_KILL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <linux/types.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHUTDOWN _IOR('X', 125, __u32) // EXT4_IOC_SHUTDOWN, which is in no header of the system
#define SHUTDOWN_NOLOGFLUSH 2u

static uint64_t random_state;

static uint64_t random_below(uint64_t limit) // xorshift64*
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * 0x2545f4914f6cdd1d >> 11) % limit;
}

static void seed(const char *text)
{
    random_state = strtoull(text, NULL, 0) * 2 + 1;
    for (int i = 0; i < 8; i++) // small seeds begin alike
        random_below(2);
}

static int wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(KILL_NAME ": ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return 1;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

typedef void writer_fn(const char *folder, int fd, uint64_t context); // never returns

static pid_t writer_start(writer_fn *write_for_ever, const char *folder, int fd, uint64_t context)
{
    pid_t writer = fork();
    if (writer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        write_for_ever(folder, fd, context);
    }
    return writer;
}

// Starts a writer and kills it at a random moment. What it said, from its beginning; NULL: it ended by itself, or did not start.
static FILE *writer_kill(writer_fn *write_for_ever, uint64_t us_max, const char *folder, uint64_t context)
{
    int ends[2], status;
    FILE *held = tmpfile();
    if (!held || pipe(ends)) {
        wrong("%s", strerror(errno));
        return NULL;
    }
    pid_t writer = writer_start(write_for_ever, folder, ends[1], context);
    close(ends[1]);
    uint64_t wait_us = random_below(us_max);
    pid_t killer = fork();
    if (killer == 0) {
        usleep((useconds_t)wait_us);
        kill(writer, SIGKILL);
        _exit(0);
    }
    char part[4096];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;)
        fwrite(part, 1, (size_t)n, held);
    close(ends[0]);
    waitpid(killer, NULL, 0);
    if (waitpid(writer, &status, 0) != writer || !WIFSIGNALED(status)) {
        wrong("the writer ended by itself");
        fclose(held);
        return NULL;
    }
    rewind(held);
    return held;
}

struct victim {                 // of a loss of power
    pid_t writer;
    int said;                   // end of the writer's pipe
    int folder;
};

// Only on a loop device: the file system that goes down must never be one that somebody lives on.
static int power_on(struct victim *out, writer_fn *write_for_ever, const char *folder, uint64_t context)
{
    struct stat status;
    int ends[2];
    *out = (struct victim){.folder = open(folder, O_RDONLY | O_DIRECTORY)};
    if (out->folder < 0 || pipe2(ends, O_CLOEXEC))
        return wrong("%s: %s", folder, strerror(errno));
    if (fstat(out->folder, &status) || major(status.st_dev) != LOOP_MAJOR)
        return wrong("%s: not on a loop device", folder);
    out->said = ends[0];
    out->writer = writer_start(write_for_ever, folder, ends[1], context);
    close(ends[1]);
    return out->writer < 0 ? wrong("%s: %s", folder, strerror(errno)) : 0;
}

static int power_off(struct victim *victim)
{
    __u32 flags = SHUTDOWN_NOLOGFLUSH;
    int failed = ioctl(victim->folder, SHUTDOWN, &flags) ? wrong("EXT4_IOC_SHUTDOWN: %s", strerror(errno)) : 0;
    kill(victim->writer, SIGKILL);
    waitpid(victim->writer, NULL, 0);
    close(victim->folder);
    return failed;
}

#endif
