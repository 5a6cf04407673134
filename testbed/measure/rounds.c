// SPDX-License-Identifier: Apache-2.0
//
// rounds: starts the measured processes, one at a time, and collects their samples.
//
// The unit of replication is a fresh process: heap layout, physical pages and the state of an allocator differ from one process to
// the next far more than from one lap to the next. Each round visits the cells in order and, within a cell, all arms in a
// random order, so that the arms of a ratio run within seconds of each other. A process that crashes or hangs is an
// invalid sample with its reason, of each of its arms, never a missing one.

#include "testbed/measure/rounds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testbed/base/share.h"
#include "testbed/base/terminal.h"
#include "testbed/base/words.h"
#include "testbed/engine/arm.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/engines/plan.h"
#include "testbed/measure/ends/killed.h"
#include "testbed/measure/pairing/process.h"
#include "testbed/measure/pins/way.h"
#include "testbed/measure/sample.h"
#include "testbed/serving/keep.h"
#include "testbed/stats/random.h"

// A process that takes longer than this per block has hung. 20 us per block is twenty times the slowest seen.
#define PATIENCE_NS_PER_BLOCK 20000u // plus a nanosecond for each of its bytes
#define PATIENCE_MS_BASE 60000u
#define PATIENCE_NS_PER_READ_BYTE 32u // of K and V: eight times a plain loop on one CPU, which others may want as well

extern char **environ;

struct runner {
    const struct tb_rounds *rounds;
    int schedule_fd;
    int job_fd;
    int stderr_fd;
    struct tb_job *jobs; // shared with the process: TB_PROCESS_ARMS of them where arms may share one, else one
    size_t jobs_bytes;
    char lap[PATH_MAX]; // the process's program, if no tool starts it
    const char *const *words; // command line of a tool that starts the process, or NULL
    uint64_t kills_before;      // for want of memory, before this process (killed.h)
};

static int write_all(int fd, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, (const char *)data + done, bytes - done);
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int schedule_share(struct runner *runner, const struct tb_schedule *schedule)
{
    if (runner->schedule_fd >= 0)
        close(runner->schedule_fd);
    runner->schedule_fd = memfd_create("locus-schedule", MFD_CLOEXEC);
    return runner->schedule_fd < 0 ? -errno : write_all(runner->schedule_fd, schedule, schedule->bytes);
}

static int runner_open(struct runner *runner, const struct tb_rounds *rounds)
{
    *runner = (struct runner){.rounds = rounds, .schedule_fd = -1, .job_fd = -1, .stderr_fd = -1, .jobs = MAP_FAILED};
    runner->jobs_bytes = (rounds->pair_laps ? TB_PROCESS_ARMS : 1) * sizeof *runner->jobs;
    runner->job_fd = memfd_create("locus-job", MFD_CLOEXEC);
    runner->stderr_fd = memfd_create("locus-stderr", MFD_CLOEXEC);
    if (runner->job_fd < 0 || runner->stderr_fd < 0 || ftruncate(runner->job_fd, (off_t)runner->jobs_bytes))
        return -errno;
    runner->jobs = mmap(NULL, runner->jobs_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, runner->job_fd, 0);
    return runner->jobs == MAP_FAILED ? -errno : 0;
}

static void runner_close(struct runner *runner)
{
    int fds[] = {runner->schedule_fd, runner->job_fd, runner->stderr_fd};
    if (runner->jobs != MAP_FAILED)
        munmap(runner->jobs, runner->jobs_bytes);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

// The round decides which counters are on, the same for all arms.
static void counters_fill(struct tb_job *job, const struct tb_rounds *rounds, const struct tb_cell *cell, uint32_t round)
{
    for (unsigned i = 0; i < TB_COUNTERS_MAX; i++)
        job->sample.counters[i].error = ENODATA;
    if (!rounds->counters)
        return;
    job->counters = *rounds->counters;
    job->counters_on = tb_counters_on(rounds->counters, rounds->counters_wanted, round);
    job->laps_metered = job->counters_on ? cell->laps_metered : 0;
}

uint32_t tb_rounds_workers(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    uint32_t of_arm = rounds->arms[arm].workers, of_cell = rounds->cells[cell].workers;
    return of_arm ? of_arm : of_cell ? of_cell : rounds->workers;
}

uint64_t tb_rounds_block_bytes(const struct tb_rounds *rounds, uint32_t cell)
{
    return rounds->cells[cell].block_bytes ? rounds->cells[cell].block_bytes : rounds->block_bytes;
}

enum tb_dispatch tb_rounds_dispatch(const struct tb_rounds *rounds, uint32_t cell)
{
    return rounds->cells[cell].dispatch_given ? rounds->cells[cell].dispatch : rounds->dispatch;
}

uint64_t tb_rounds_window(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    return ((uint64_t)cell * rounds->arms_count + arm + 1) * TB_NODES_MAX;
}

static void job_fill(struct tb_job *job, const struct tb_rounds *rounds, uint32_t at_cell, uint32_t at_arm)
{
    const struct tb_cell *cell = &rounds->cells[at_cell];
    const struct tb_arm *arm = &rounds->arms[at_arm];
    memset(job, 0, sizeof *job);
    snprintf(job->contender, sizeof job->contender, "%s",
             arm->strategy   ? arm->strategy->name
             : arm->policy   ? arm->policy->name
             : arm->batcher  ? arm->batcher->name
             : arm->resident ? arm->resident->name
             : arm->score    ? arm->score->name
             : arm->way      ? arm->way->name
             : arm->engine   ? arm->engine->name
                             : arm->contender->name);
    snprintf(job->library, sizeof job->library, "%s", arm->library);
    job->touch = cell->touch;
    job->decode = cell->decode;
    job->dispatch = tb_rounds_dispatch(rounds, at_cell);
    job->fault = arm->fault;
    job->fault_percent = arm->fault_percent;
    snprintf(job->act, sizeof job->act, "%s", arm->act);
    job->workers = tb_rounds_workers(rounds, at_cell, at_arm);
    job->laps = cell->laps;
    job->laps_warmup = cell->laps_warmup;
    job->block_bytes = tb_rounds_block_bytes(rounds, at_cell);
    job->pool_blocks = cell->pool_blocks;
    job->laps_clocked = cell->laps_clocked;
    job->laps_counted = cell->laps_counted;
    job->cross_percent = arm->cross_percent;
    job->bench = rounds->bench;
    job->many_nodes = rounds->many_nodes;
    job->window = rounds->many_nodes ? tb_rounds_window(rounds, at_cell, at_arm) : 0;
}

// True for the contender's settings and for LD_PRELOAD, which only the arm sets.
static bool is_set_for(const char *variable, const char *const settings[])
{
    for (; *settings; settings++)
        if (strncmp(variable, *settings, strcspn(*settings, "=") + 1) == 0)
            return true;
    return strncmp(variable, "LD_PRELOAD=", 11) == 0;
}

// The process's environment: the parent's, with the arm's settings and, if wanted, its malloc in place of the parent's values.
static int environment_make(const struct tb_arm *arm, bool with_malloc, char ***out, char **preload)
{
    static const char *const none[] = {NULL};
    const char *const *settings = arm->contender->environment ? arm->contender->environment : none;
    size_t count = 0, settings_count = 0, kept = 0;
    while (environ[count])
        count++;
    while (settings[settings_count])
        settings_count++;
    *preload = NULL;
    *out = calloc(count + settings_count + 2, sizeof **out);
    if (!*out)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (!is_set_for(environ[i], settings))
            (*out)[kept++] = environ[i];
    for (size_t i = 0; i < settings_count; i++)
        (*out)[kept++] = (char *)settings[i];
    if (arm->library[0] == '\0' || !with_malloc)
        return 0;
    if (asprintf(preload, "LD_PRELOAD=%s", arm->library) < 0) {
        *preload = NULL;
        free(*out);
        *out = NULL;
        return -ENOMEM;
    }
    (*out)[kept] = *preload;
    return 0;
}

// posix_spawn's dup2 clears close-on-exec on the copy: the process finds its schedule at 3, its job at 4.
static int process_start(struct runner *runner, const struct tb_arm *arm, pid_t *pid)
{
    const char *const usual[] = {runner->lap, NULL};
    const char *const *words = runner->words ? runner->words : usual;
    char **environment = NULL, *preload = NULL;
    posix_spawn_file_actions_t actions;
    int high[3] = {fcntl(runner->schedule_fd, F_DUPFD_CLOEXEC, 10), fcntl(runner->job_fd, F_DUPFD_CLOEXEC, 10),
                   fcntl(runner->stderr_fd, F_DUPFD_CLOEXEC, 10)};
    int error = high[0] < 0 || high[1] < 0 || high[2] < 0 ? -errno : environment_make(arm, !runner->words, &environment, &preload);
    if (!error)
        error = ftruncate(runner->stderr_fd, 0) || lseek(runner->stderr_fd, 0, SEEK_SET) ? -errno : 0;
    if (!error)
        error = -posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = -posix_spawn_file_actions_adddup2(&actions, high[0], 3);
        if (!error)
            error = -posix_spawn_file_actions_adddup2(&actions, high[1], 4);
        if (!error)
            error = -posix_spawn_file_actions_adddup2(&actions, high[2], 2);
        if (!error && runner->words) // a tool's output is not the sample
            error = -posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        if (!error)
            error = -posix_spawnp(pid, words[0], &actions, NULL, (char *const *)words, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    for (int i = 0; i < 3; i++)
        if (high[i] >= 0)
            close(high[i]);
    free(environment);
    free(preload);
    return error;
}

// Waits, and kills a process that hangs: *hung.
static int process_wait(pid_t pid, uint64_t patience_ms, int *status, bool *hung)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    int ready;
    *hung = false;
    do {
        ready = fd >= 0 ? poll(&poller, 1, patience_ms > INT32_MAX ? INT32_MAX : (int)patience_ms) : 1;
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        *hung = true;
        kill(pid, SIGKILL);
    }
    if (fd >= 0)
        close(fd);
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

// The last line that the process printed before it died.
static void last_words(const struct runner *runner, char *out, size_t bytes)
{
    char text[1024];
    ssize_t n = pread(runner->stderr_fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    snprintf(out, bytes, "%s%.120s", text[0] ? ": " : "", text);
}

static void sample_judge(const struct runner *runner, struct tb_sample *sample, int status, bool hung, uint64_t patience_ms)
{
    char words[128], why[128];
    last_words(runner, words, sizeof words);
    if (WIFSIGNALED(status))
        tb_killed_why(WTERMSIG(status), runner->kills_before, why, sizeof why);
    sample->ran = false;
    sample->valid = false;
    if (hung)
        snprintf(sample->invalid, sizeof sample->invalid, "hung: killed after %llu s", (unsigned long long)patience_ms / 1000);
    else if (WIFSIGNALED(status))
        snprintf(sample->invalid, sizeof sample->invalid, "%.110s%.80s", why, words);
    else
        snprintf(sample->invalid, sizeof sample->invalid, "did not finish, exit status %d%s", WEXITSTATUS(status), words);
}

// Whose fault it was cannot be told, so all arms of the process have lost their samples.
static void process_judge(const struct runner *runner, uint32_t arms, int status, bool hung, uint64_t patience_ms)
{
    bool well = !hung && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    for (uint32_t i = 0; i < arms; i++)
        well = well && runner->jobs[i].sample.ran;
    for (uint32_t i = 0; i < arms && !well; i++)
        sample_judge(runner, &runner->jobs[i].sample, status, hung, patience_ms);
}

// Where a measurement is.
struct place {
    uint32_t cell, round, attempt;
};

// The same of every run of the measurement, however many of its rounds are repeated.
static uint64_t seed_of(const struct tb_rounds *rounds, const struct place *at, uint32_t number)
{
    const uint64_t parts[] = {at->round, at->cell, at->attempt, number};
    uint64_t state = rounds->seed;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        state = tb_random_next(&state) + parts[i];
    return tb_random_next(&state);
}

static uint64_t patience(const struct tb_rounds *rounds, uint32_t at_cell, uint32_t arms)
{
    const struct tb_cell *cell = &rounds->cells[at_cell];
    uint64_t laps = cell->laps + cell->laps_warmup + cell->laps_clocked + cell->laps_counted + cell->laps_metered + TB_PROBE_LAPS;
    const struct tb_schedule *schedule = cell->schedule;
    uint64_t block_bytes = tb_rounds_block_bytes(rounds, at_cell);
    if (cell->touch == TB_TOUCH_ENGINE)
        return tb_engines_patience_ms(schedule, cell->laps + cell->laps_warmup);
    if (cell->touch == TB_TOUCH_PINS)
        return tb_pins_patience_ms(schedule, laps);
    uint64_t lap_ns = schedule->blocks_per_lap * (PATIENCE_NS_PER_BLOCK + block_bytes);
    if (schedule->block_tokens)
        lap_ns += schedule->attended_per_lap * (schedule->blocks_per_group * block_bytes / schedule->block_tokens) *
                  PATIENCE_NS_PER_READ_BYTE;
    return PATIENCE_MS_BASE + arms * laps * lap_ns / 1000000;
}

// Leaves the samples in the jobs. Arms that share a process need the same library and environment: the first one's.
static int process_run(struct runner *runner, const struct place *at, const struct tb_process *process, uint32_t number)
{
    const struct tb_rounds *rounds = runner->rounds;
    uint64_t patience_ms = patience(rounds, at->cell, process->count);
    pid_t pid = 0;
    int status = 0;
    bool hung = false;
    for (uint32_t i = 0; i < process->count; i++) {
        job_fill(&runner->jobs[i], rounds, at->cell, process->arms[i]);
        if (runner->words) { // a tool that observes the process needs the hardware counters and the marks for itself
            runner->jobs[i].laps_marked = rounds->cells[at->cell].laps_metered;
            runner->jobs[i].window = 0;
        } else {
            counters_fill(&runner->jobs[i], rounds, &rounds->cells[at->cell], at->round);
        }
    }
    runner->jobs[0].arms = process->count;
    runner->jobs[0].seed = seed_of(rounds, at, number);
    runner->kills_before = tb_killed_before();
    int error = process_start(runner, &rounds->arms[process->arms[0]], &pid);
    if (!error)
        error = process_wait(pid, patience_ms, &status, &hung);
    if (!error)
        process_judge(runner, process->count, status, hung, patience_ms);
    for (uint32_t i = 0; i < process->count; i++) {
        runner->jobs[i].sample.process = number;
        runner->jobs[i].sample.attempt = at->attempt;
    }
    return error;
}

static int process_take(struct runner *runner, struct tb_rounds *rounds, const struct place *at, const struct tb_process *process,
                        uint32_t number, uint32_t *position, const struct tb_rounds_hooks *hooks)
{
    int error = process_run(runner, at, process, number);
    for (uint32_t i = 0; i < process->count && !error; i++)
        *tb_rounds_sample(rounds, at->cell, process->arms[i], at->round) = runner->jobs[i].sample;
    for (uint32_t i = 0; i < process->count && !error && hooks->sample; i++)
        error = hooks->sample(hooks->context, rounds, at->cell, process->arms[i], at->round, (*position)++);
    return error;
}

// One cell of one round: every arm once, in random order.
static int cell_run(struct runner *runner, struct tb_rounds *rounds, const struct place *at, uint64_t *random,
                    const struct tb_rounds_hooks *hooks, uint64_t *done)
{
    struct tb_process processes[TB_ARMS_MAX];
    uint64_t total = (uint64_t)rounds->cells_count * rounds->arms_count * rounds->count;
    uint32_t count = tb_rounds_order(rounds, at->cell, random, processes), position = 0;
    int error = 0;
    for (uint32_t i = 0; i < count && !error; i++) {
        error = process_take(runner, rounds, at, &processes[i], i, &position, hooks);
        for (uint32_t arm = 0; arm < processes[i].count && !error && at->attempt == 0; arm++)
            ++*done;
        if (!error && hooks->progress)
            hooks->progress(hooks->progress_context, rounds, at->cell, *done, total);
    }
    return error;
}

bool tb_rounds_disturbed(const struct tb_rounds *rounds, uint32_t cell, uint32_t round)
{
    bool disturbed = false;
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
        const struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        disturbed |= sample->watched_ns > 0 &&
                     (double)(sample->waited_ns + sample->steal_ns) / (double)sample->watched_ns > rounds->repeat_lost;
    }
    return disturbed;
}

// A repeat draws its order from another source, so that the orders of later rounds do not depend on it.
static int cell_repeat(struct runner *runner, struct tb_rounds *rounds, struct place at, const struct tb_rounds_hooks *hooks,
                       uint64_t *done)
{
    int error = 0;
    while (!error && rounds->repeat_lost > 0 && at.attempt < rounds->repeat_times &&
           tb_rounds_disturbed(rounds, at.cell, at.round)) {
        at.attempt++;
        uint64_t random = seed_of(rounds, &at, TB_ARMS_MAX);
        error = cell_run(runner, rounds, &at, &random, hooks, done);
    }
    return error;
}

int tb_rounds_run(struct tb_rounds *rounds, uint32_t first, uint32_t count, const struct tb_rounds_hooks *hooks)
{
    struct runner runner;
    char why[400];
    uint64_t random = rounds->seed + first, done = (uint64_t)first * rounds->cells_count * rounds->arms_count;
    if (rounds->arms_count == 0 || rounds->arms_count > TB_ARMS_MAX || rounds->workers > TB_WORKERS_MAX)
        return -EINVAL;
    int error = runner_open(&runner, rounds);
    if (!error)
        error = tb_share_lap(runner.lap, why, sizeof why);
    if (!error && hooks->progress) // the first process may take minutes
        hooks->progress(hooks->progress_context, rounds, 0, done,
                        (uint64_t)rounds->cells_count * rounds->arms_count * rounds->count);
    for (uint32_t round = first; round < first + count && !error; round++) {
        for (uint32_t cell = 0; cell < rounds->cells_count && !error; cell++) {
            if (rounds->cells_count > 1 || round == first)
                error = schedule_share(&runner, rounds->cells[cell].schedule);
            struct place at = {.cell = cell, .round = round};
            if (!error)
                error = cell_run(&runner, rounds, &at, &random, hooks, &done);
            if (!error)
                error = cell_repeat(&runner, rounds, at, hooks, &done);
        }
        if (!error && hooks->round)
            error = hooks->round(hooks->context, rounds, round);
    }
    runner_close(&runner);
    return error;
}

int tb_rounds_run_under(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, const char *const words[],
                        struct tb_sample *out, char *said, size_t said_bytes)
{
    struct runner runner;
    int error = runner_open(&runner, rounds);
    runner.words = words;
    said[0] = '\0';
    if (!error)
        error = schedule_share(&runner, rounds->cells[cell].schedule);
    const struct tb_process alone = {.arms = {arm}, .count = 1};
    if (!error)
        error = process_run(&runner, &(struct place){.cell = cell}, &alone, 0);
    if (!error)
        *out = runner.jobs[0].sample;
    ssize_t n = error ? 0 : pread(runner.stderr_fd, said, said_bytes - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    runner_close(&runner);
    return error;
}

void tb_text_cell(const struct tb_rounds *rounds, uint32_t cell, char *out, size_t size)
{
    static const char *const touches[] = {
        [TB_TOUCH_NONE] = "no",      [TB_TOUCH_BYTE] = "one-byte", [TB_TOUCH_FULL] = "full", [TB_TOUCH_LINE] = "line",
        [TB_TOUCH_DECODE] = "no",    [TB_TOUCH_SERVE] = "no",      [TB_TOUCH_KEEP] = "no",   [TB_TOUCH_ADAPTERS] = "no",
        [TB_TOUCH_RESIDENCY] = "no", [TB_TOUCH_PAGES] = "no",      [TB_TOUCH_PINS] = "no",   [TB_TOUCH_ENGINE] = "no"};
    const struct tb_schedule *schedule = rounds->cells[cell].schedule;
    char name[sizeof schedule->name];
    tb_text_clean(schedule ? schedule->name : "", true, name, sizeof name);
    if (rounds->bench)
        snprintf(out, size, "%s", name[0] ? name : "single operations");
    else if (tb_touch_has_own_arms(rounds->cells[cell].touch) || rounds->cells[cell].touch == TB_TOUCH_DECODE)
        snprintf(out, size, "%s", rounds->cells[cell].name ? rounds->cells[cell].name : name);
    else
        snprintf(out, size, "%s, %s touch", name, touches[rounds->cells[cell].touch]);
}

void tb_progress_step(void *context, const struct tb_rounds *rounds, uint32_t cell, uint64_t done, uint64_t total)
{
    char where[128];
    tb_text_cell(rounds, cell, where, sizeof where);
    tb_progress_show(context, where, done, total);
}
