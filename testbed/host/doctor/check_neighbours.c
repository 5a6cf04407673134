// SPDX-License-Identifier: Apache-2.0
//
// check_neighbours: who else is at work: other tasks, the hypervisor, what waits, what throttled, daemons that move things.
//
// The load average is of minutes past, so /proc/stat is read twice, a tenth of a second apart, in which this process sleeps: what
// the CPUs did then, others did. A tick is a hundredth of a second, hence the coarse threshold.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testbed/host/doctor/exam.h"

#define LOOK_NS 100000000L
#define BUSY_SHARE_MAX 0.10     // of all CPUs; two ticks of twenty on two CPUs
#define BUSY_CPUS_MAX 1.0       // a whole one is one too many on any machine
#define STEAL_SHARE_MAX 0.01
#define STEAL_SHARE_NOTE 0.001  // since boot
#define PRESSURE_CPU_MAX 5      // percent of ten seconds in which some task waited
#define PRESSURE_MEMORY_MAX 1
#define PRESSURE_IO_NOTE 20

// --- load and steal ------------------------------------------------------------------------------------------------------------

struct ticks {
    double total, busy, steal;
    unsigned cpus;
};

// "cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...", then a line for each CPU.
static int ticks_read(struct tb_exam *exam, const char *path, struct ticks *out)
{
    char *text = NULL;
    double t[8];
    *out = (struct ticks){0};
    int error = tb_host_read(&exam->host, path, &text);
    if (!error && sscanf(text, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", t, t + 1, t + 2, t + 3, t + 4, t + 5, t + 6, t + 7) != 8)
        error = -ENODATA;
    for (const char *line = error ? NULL : strstr(text, "\ncpu"); line; line = strstr(line + 1, "\ncpu"))
        out->cpus++;
    free(text);
    if (error)
        return error;
    out->busy = t[0] + t[1] + t[2] + t[5] + t[6];
    out->steal = t[7];
    out->total = out->busy + out->steal + t[3] + t[4];
    return 0;
}

static void load_judge(struct tb_exam *exam, struct tb_finding *load, const struct ticks *before, const struct ticks *after)
{
    char averages[TB_VALUE_BYTES] = "";
    double share = (after->busy - before->busy) / (after->total - before->total), cpus = share * after->cpus;
    if (tb_exam_read(exam, "/proc/loadavg", averages) == 0)
        averages[strcspn(averages, "/")] = '\0';
    char *last = strrchr(averages, ' '); // "0.10 0.20 0.30 1/234 5678"
    if (last)
        *last = '\0';
    bool busy = share > BUSY_SHARE_MAX || cpus > BUSY_CPUS_MAX;
    tb_finding_set(load, busy ? TB_FINDING_UNFIT : TB_FINDING_FIT, "others keep %.1f of %u CPUs busy; load %.40s", cpus,
                   after->cpus, averages);
    if (busy)
        tb_finding_remedy(load, "End what runs (`top` shows it), or take the whole host: sbatch --exclusive.");
}

static void steal_judge(struct tb_finding *steal, const struct ticks *before, const struct ticks *after)
{
    double now = (after->steal - before->steal) / (after->total - before->total), ever = after->steal / after->total;
    tb_finding_set(steal,
                   now > STEAL_SHARE_MAX     ? TB_FINDING_UNFIT
                   : ever > STEAL_SHARE_NOTE ? TB_FINDING_NOTE
                                             : TB_FINDING_FIT,
                   "%.1f %% now, %.2f %% since boot", 100 * now, 100 * ever);
    if (steal->state != TB_FINDING_FIT)
        tb_finding_remedy(steal, "A virtual machine with dedicated CPUs, or hardware.");
}

static void check_load(struct tb_exam *exam, struct tb_finding *load)
{
    static const char path[] = "/proc/stat";
    struct ticks before, after;
    struct tb_finding *steal = load + 1;
    const char *again = exam->here ? path : "/proc/stat.later";
    int error = ticks_read(exam, path, &before);
    if (!error && exam->here)
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    int later = error ? error : ticks_read(exam, again, &after);
    if (!later && !(after.total > before.total && after.cpus > 0))
        later = -ENODATA;
    if (later) {
        tb_finding_unknown(load, error ? path : again, later);
        tb_finding_unknown(steal, error ? path : again, later);
        return;
    }
    load_judge(exam, load, &before, &after);
    steal_judge(steal, &before, &after);
}

// --- pressure ------------------------------------------------------------------------------------------------------------------

static void check_pressure(struct tb_exam *exam, struct tb_finding *finding)
{
    static const char *const paths[] = {"/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"};
    char text[TB_VALUE_BYTES];
    double some[3];
    for (size_t i = 0; i < 3; i++) {
        int error = tb_exam_read(exam, paths[i], text);
        if (!error && sscanf(text, "some avg10=%lf", &some[i]) != 1)
            error = -ENODATA;
        if (tb_finding_missing(exam, finding, paths[i], error, "/proc/sys/kernel", TB_FINDING_NOTE,
                               "this kernel counts none (psi=1 starts it)"))
            return;
    }
    bool unfit = some[0] > PRESSURE_CPU_MAX || some[1] > PRESSURE_MEMORY_MAX;
    tb_finding_set(finding,
                   unfit                        ? TB_FINDING_UNFIT
                   : some[2] > PRESSURE_IO_NOTE ? TB_FINDING_NOTE
                                                : TB_FINDING_FIT,
                   "cpu %.1f %%, memory %.1f %%, io %.1f %%", some[0], some[1], some[2]);
    if (finding->state != TB_FINDING_FIT)
        tb_finding_remedy(finding, "Wait until what ran before has ended; then look again.");
}

// --- throttling ----------------------------------------------------------------------------------------------------------------

// The sum of what CPUs count. 0; -ENOENT: none of them counts; or another errno after the finding was made UNKNOWN.
static int thermal_events(struct tb_exam *exam, struct tb_finding *finding, unsigned long long *sum)
{
    static const char *const counts[] = {"core_throttle_count", "package_throttle_count"};
    char path[TB_HOST_PATH / 2], value[TB_VALUE_BYTES];
    struct tb_names cpus;
    bool counted = false;
    *sum = 0;
    if (tb_host_list(&exam->host, TB_CPU, "cpu", &cpus))
        return -ENOENT;
    int error = 0;
    for (size_t i = 0; i < 2 * cpus.count && !error; i++) {
        snprintf(path, sizeof path, TB_CPU "/%s/thermal_throttle/%s", cpus.name[i / 2], counts[i % 2]);
        error = tb_exam_read(exam, path, value);
        counted |= !error;
        *sum += error ? 0 : strtoull(value, NULL, 10);
        error = error == -ENOENT ? 0 : error;
    }
    if (error)
        tb_finding_unknown(finding, path, error);
    tb_names_close(&cpus);
    return error ? error : counted ? 0 : -ENOENT;
}

static void check_throttling(struct tb_exam *exam, struct tb_finding *finding)
{
    unsigned long long events;
    int error = thermal_events(exam, finding, &events);
    if (error == -ENOENT)
        tb_finding_absent(exam, finding, TB_CPU, TB_FINDING_NOTE, "these CPUs count no thermal throttling");
    if (error)
        return;
    tb_finding_set(finding, events ? TB_FINDING_NOTE : TB_FINDING_FIT, "%llu thermal events since boot", events);
    if (events)
        tb_finding_remedy(finding, "Better cooling, a lower boost, or a power limit that holds.");
}

// --- daemons -------------------------------------------------------------------------------------------------------------------

static void command_words(FILE *out, const char *text, size_t bytes)
{
    bool foreground = false;
    for (const char *word = text; word < text + bytes; word += strlen(word) + 1) {
        fputs(word > text ? " " : "", out);
        tb_shell_word(out, word);
        foreground |= strcmp(word, "--foreground") == 0 || strcmp(word, "-f") == 0;
    }
    fputs(foreground ? " >/dev/null 2>&1 &" : "", out);
}

// The words of /proc/PID/cmdline, with NULs between them. NULL: none.
static char *command_line(struct tb_exam *exam, const char *pid, size_t *bytes)
{
    char path[TB_HOST_PATH], *text = NULL;
    snprintf(path, sizeof path, "%s/proc/%s/cmdline", exam->host.root, pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    *bytes = 0;
    size_t room = 0;
    ssize_t length = getdelim(&text, &room, '\n', file); // a command has no newline, and NULs are bytes like others
    fclose(file);
    if (length <= 0) {
        free(text);
        return NULL;
    }
    *bytes = (size_t)length;
    return text;
}

static void daemon_commands(struct tb_exam *exam, struct tb_finding *finding, const char *name, const char *pid)
{
    char *change = NULL, *restore = NULL, *text = NULL;
    size_t bytes = 0, length;
    if (tb_exam_has_folder(exam, "/run/systemd/system")) {
        if (asprintf(&change, "systemctl stop %s.service", name) < 0)
            change = NULL;
        if (asprintf(&restore, "systemctl start %s.service", name) < 0)
            restore = NULL;
    } else if ((text = command_line(exam, pid, &bytes))) {
        FILE *out = open_memstream(&restore, &length);
        if (out)
            command_words(out, text, bytes);
        bool failed = !out || fclose(out) || asprintf(&change, "kill %s", pid) < 0;
        free(text);
        exam->failed |= failed;
    } else {
        tb_finding_remedy(finding, "Stop it as it was started; how, cannot be seen here.");
        return;
    }
    tb_finding_commands(exam, finding, change, restore);
}

static void daemon_check(struct tb_exam *exam, struct tb_finding *finding, const struct tb_names *pids, bool all_seen)
{
    char path[TB_HOST_PATH / 2], name[TB_VALUE_BYTES];
    for (size_t i = 0; i < pids->count; i++) {
        snprintf(path, sizeof path, "/proc/%s/comm", pids->name[i]);
        if (tb_exam_read(exam, path, name) || strcmp(name, finding->id))
            continue;
        tb_finding_set(finding, finding->decides ? TB_FINDING_UNFIT : TB_FINDING_NOTE, "running");
        daemon_commands(exam, finding, finding->id, pids->name[i]);
        return;
    }
    if (all_seen) {
        tb_finding_set(finding, TB_FINDING_FIT, "not running");
        return;
    }
    tb_finding_set(finding, TB_FINDING_UNKNOWN, "not among the processes that can be seen here, which are not all");
    tb_finding_remedy(finding, "Look as root, and outside of a container.");
}

enum { DAEMONS = 2 };             // findings, one after the other

// Process 2 of a host is the kernel's. A container, or a /proc that hides other users' processes, does not show it.
static void check_daemons(struct tb_exam *exam, struct tb_finding *finding)
{
    char name[TB_VALUE_BYTES];
    struct tb_names pids = {0};
    bool all_seen = tb_exam_read(exam, "/proc/2/comm", name) == 0 && strcmp(name, "kthreadd") == 0;
    if (tb_host_list(&exam->host, "/proc", "", &pids))
        all_seen = false;
    for (size_t i = 0; i < DAEMONS; i++)
        daemon_check(exam, finding + i, &pids, all_seen);
    tb_names_close(&pids);
}

void tb_check_neighbours(struct tb_exam *exam)
{
    static const struct tb_check checks[] = {
        {"load", true, "nobody else at work", "Others take CPU time, cache and memory bandwidth, and not in every round alike.",
         check_load},
        {"steal", true, "0 %", "Time in which the hypervisor ran somebody else on our CPU is counted as ours.", NULL},
        {"pressure", true, "cpu to " TB_TEXT(PRESSURE_CPU_MAX) " %, memory to " TB_TEXT(PRESSURE_MEMORY_MAX) " %",
         "Tasks waited for a CPU, for memory or for the disk in the last ten seconds: it is too full here for figures.",
         check_pressure},
        {"throttling", false, "0 events",
         "A CPU that grew too hot runs slower until it has cooled. In mid-run the gate \"throttle == 0\" sees it.",
         check_throttling},
        {"irqbalance", false, "not running",
         "It moves interrupts from CPU to CPU every ten seconds, and so the one that is measured may get them in mid-run.",
         check_daemons},
        {"numad", true, "not running", "It moves processes and their pages between nodes, wherever they were placed.", NULL},
    };
    tb_exam_run(exam, checks, sizeof checks / sizeof *checks);
}
