// SPDX-License-Identifier: Apache-2.0
//
// process: see process.h.
//
// The engine is a child and not part of this process, because our libraries and its are loaded by its environment: a backend is a
// variable, a preload another, and numactl a program before it. Where each node has a process of its own, all run at once.

#include "testbed/measure/engines/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testbed/engine/result.h"
#include "testbed/measure/engines/machine.h"
#include "testbed/measure/engines/plan.h"
#include "testbed/measure/ends/killed.h"
#include "testbed/measure/watch.h"

enum { RESULT_FD = 5, WORDS_MAX = 48 };
#define CONTEXT_STEP 256u       // llama.cpp rounds a cache's cells up to this

struct command {
    char text[16384];           // that the words point into
    size_t used;
    const char *words[WORDS_MAX];
    unsigned count;
};

struct child {
    struct command command;
    int fd, status;             // fd: of a file in memory, for struct tb_engine_result
    pid_t pid;                  // 0: it is not running
    struct tb_engine_result result;
};

static void add(struct command *command, const char *word)
{
    size_t length = strlen(word) + 1;
    if (command->count + 1 >= WORDS_MAX || command->used + length > sizeof command->text)
        return;
    memcpy(command->text + command->used, word, length);
    command->words[command->count++] = command->text + command->used;
    command->used += length;
}

static void add_number(struct command *command, const char *option, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    add(command, option);
    add(command, digits);
}

// --- the child -----------------------------------------------------------------------------------------------------------------

static int own_folder(char out[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    char *slash = length > 0 ? memrchr(out, '/', (size_t)length) : NULL;
    if (!slash)
        return -ENOENT;
    *slash = '\0';
    return 0;
}

// TB_WORKERS_MAX, the most that can be asked for, stands for every CPU.
static unsigned threads_of(const struct tb_job *job, const struct tb_engines_machine *machine)
{
    return job->workers && job->workers < TB_WORKERS_MAX && job->workers < machine->cpus ? job->workers : machine->cpus;
}

static void add_devices(struct command *command, const struct tb_engines_machine *machine)
{
    char list[TB_ENGINES_DEVICES_MAX * 10] = "";
    for (unsigned i = 0; i < machine->devices; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%sLOCUS%u", i ? "," : "", i);
    add(command, "--devices");
    add(command, list);
}

// The program that starts it, for the process of this node.
static void add_before(struct command *command, const struct tb_engine_arm *arm, int node)
{
    char word[64];
    for (unsigned i = 0; i < sizeof arm->before / sizeof *arm->before && arm->before[i]; i++) {
        const char *place = strstr(arm->before[i], "{node}");
        if (place)
            snprintf(word, sizeof word, "%.*s%d%s", (int)(place - arm->before[i]), arm->before[i], node, place + strlen("{node}"));
        add(command, place ? word : arm->before[i]);
    }
}

// Of the process that is on this machine's device `at`.
static unsigned own_threads(const struct tb_job *job, const struct tb_engine_arm *arm, const struct tb_engines_machine *machine,
                            unsigned at)
{
    unsigned threads = threads_of(job, machine);
    if (arm->threads == TB_ENGINE_DEVICES)
        return 1;
    if (arm->threads == TB_ENGINE_EACH_NODE && threads == machine->cpus && !machine->divided)
        return machine->node_cpus[at];
    if (arm->threads == TB_ENGINE_EACH_NODE)
        threads = threads < machine->devices ? 1 : threads / machine->devices + (at < threads % machine->devices);
    return arm->threads != TB_ENGINE_ALL && threads > machine->node_cpus[at] ? machine->node_cpus[at] : threads;
}

// The assembler takes the program in, by its path from the top of the tree, where the build runs; the Makefile knows of it.
extern const char tb_hf_program[], tb_vllm_program[];
__asm__(
    ".pushsection .rodata\n.globl tb_hf_program\ntb_hf_program:\n.incbin \"testbed/engine/hf_steps.py\"\n.byte 0\n"
    ".globl tb_vllm_program\ntb_vllm_program:\n.incbin \"testbed/engine/vllm_turns.py\"\n.byte 0\n.popsection\n");

// "double engine_tokens_per_s,uint64_t kv_bytes ...": what a program that does not know the struct writes.
static void layout(char *out, size_t bytes)
{
    out[0] = '\0';
    for (const struct tb_slot *slot = tb_engined_fields; slot->name; slot++)
        snprintf(out + strlen(out), bytes - strlen(out), "%s%s %s", out[0] ? "," : "", slot->whole ? "uint64_t" : "double",
                 slot->name);
}

// transformers or vLLM, by the Python of `make hf` or `make vllm` where that is, with a model of the cell's shape.
static void build_python(struct command *command, const struct tb_job *job, const struct tb_engine_arm *arm,
                         const struct tb_engines_plan *plan, unsigned threads)
{
    bool hf = arm->program == TB_ENGINE_HF;
    const char *asked = getenv("LOCUS_PYTHON"), *made = hf ? "build/hf/bin/python" : "build/vllm/bin/python";
    const struct tb_model *model = &plan->model;
    char words[2048];
    add(command, asked ? asked : access(made, X_OK) == 0 ? made : "python3");
    add(command, "-B");
    add(command, "-c");
    add(command, hf ? tb_hf_program : tb_vllm_program);
    for (unsigned i = 0; i < sizeof arm->words / sizeof *arm->words && arm->words[i]; i++)
        add(command, arm->words[i]);
    add(command, "--name");
    add(command, plan->schedule.name);
    add(command, "--kv");
    add(command, plan->settings.kv_type);
    layout(words, sizeof words);
    add(command, "--layout");
    add(command, words);
    const struct {
        const char *option;
        uint64_t number;
    } numbers[] = {{"--layers", model->layers},       {"--width", model->width},
                   {"--heads", model->heads},         {"--kv-heads", model->kv_heads},
                   {"--head-dim", model->head_dim},   {"--ffn", model->ffn},
                   {"--vocab", model->vocab},         {"--prompt", plan->settings.prompt_tokens},
                   {"--batch", plan->settings.batch}, {"--steps", job->laps_warmup + job->laps},
                   {"--warmup", job->laps_warmup},    {"--threads", threads},
                   {"--seed", job->seed & 0xffffffff}, {"--result", RESULT_FD},
                   {"--bytes", sizeof(struct tb_engine_result)}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add_number(command, numbers[i].option, numbers[i].number);
    command->words[command->count] = NULL;
}

static void build(struct command *command, const struct tb_job *job, const struct tb_engine_arm *arm,
                  const struct tb_engines_plan *plan, const struct tb_engines_machine *machine, unsigned at, const char *folder)
{
    if (arm->program != TB_ENGINE_LLAMA) {
        build_python(command, job, arm, plan, own_threads(job, arm, machine, at));
        return;
    }

    char program[PATH_MAX + 16];
    uint64_t steps = job->laps_warmup + job->laps, context = plan->settings.context_tokens;
    add_before(command, arm, machine->node[at]);
    snprintf(program, sizeof program, "%s/locus-llama", folder);
    add(command, program);
    for (unsigned i = 0; i < sizeof arm->words / sizeof *arm->words && arm->words[i]; i++)
        add(command, arm->words[i]);
    if (arm->threads == TB_ENGINE_DEVICES)
        add_devices(command, machine);
    add_number(command, "--threads", own_threads(job, arm, machine, at));
    add(command, "--model");
    add(command, plan->path);
    add(command, "--kv");
    add(command, plan->settings.kv_type);
    if (!context)
        context = (plan->settings.prompt_tokens + steps + CONTEXT_STEP - 1) / CONTEXT_STEP * CONTEXT_STEP;
    add_number(command, "--context", context);
    add_number(command, "--prompt", plan->settings.prompt_tokens);
    add_number(command, "--batch", plan->settings.batch);
    add_number(command, "--steps", steps);
    add_number(command, "--warmup", job->laps_warmup);
    add_number(command, "--result", RESULT_FD);
    if (arm->threads == TB_ENGINE_EACH_NODE)
        add_number(command, "--together", machine->devices);
    add(command, "--quiet");
    add(command, "--clear");
    command->words[command->count] = NULL;
}

// Nothing of the caller's reaches the engine: neither our variables, nor another backend or preload.
static int set_environment(const struct tb_job *job, const struct tb_engine_arm *arm, const struct tb_engines_machine *machine,
                           const char *folder)
{
    static const char *const ours[] = {"GGML_BACKEND_PATH", "LD_PRELOAD", "LOCUS_NODES",     "LOCUS_THREADS",  "LOCUS_POLICY",
                                       "LOCUS_PAGES",       "LOCUS_KV",   "LOCUS_KV_POLICY", "LOCUS_KV_NODES", "LOCUS_SUM"};
    char value[PATH_MAX + 64], number[16];
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        unsetenv(ours[i]);
    for (unsigned i = 0; i < sizeof arm->environment / sizeof *arm->environment && arm->environment[i]; i++) {
        const char *setting = arm->environment[i], *equals = strchr(setting, '=');
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)(equals - setting), setting);
        bool here = strncmp(equals + 1, "{lib}", 5) == 0;
        snprintf(value, sizeof value, "%s%s", here ? folder : "", equals + (here ? 6 : 1));
        if (setenv(name, value, 1) != 0)
            return -errno;
    }
    unsigned threads = threads_of(job, machine);
    snprintf(number, sizeof number, "%u", threads / machine->devices);
    if (arm->threads == TB_ENGINE_DEVICES && threads >= machine->devices && threads < machine->cpus &&
        setenv("LOCUS_THREADS", number, 1) != 0)
        return -errno;
    return arm->threads == TB_ENGINE_DEVICES && machine->divided && setenv("LOCUS_NODES", "0,0", 1) != 0 ? -errno : 0;
}

static void become(const struct command *command, int fd, int together_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int high = together_fd < 0 ? -1 : fcntl(together_fd, F_DUPFD, TB_ENGINE_TOGETHER_FD + 1); // it may be where RESULT_FD goes
    if (dup2(fd, RESULT_FD) == RESULT_FD && (high < 0 || dup2(high, TB_ENGINE_TOGETHER_FD) == TB_ENGINE_TOGETHER_FD) &&
        dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO)
        execvp(command->words[0], (char *const *)command->words);
    fprintf(stderr, "%s: %s\n", command->words[0], strerror(errno));
    _exit(127);
}

static int start(struct child *child, int together_fd)
{
    child->fd = memfd_create("locus-engine", 0); // inherited, for where it is RESULT_FD itself
    if (child->fd < 0)
        return -errno;
    child->pid = fork();
    if (child->pid < 0) {
        child->pid = 0;
        return -errno;
    }
    if (child->pid == 0)
        become(&child->command, child->fd, together_fd);
    return 0;
}

static void end_all(const struct child *children, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (children[i].pid)
            kill(children[i].pid, SIGKILL);
}

// Until all have ended. Where one ends badly the others would wait for it, so they are ended, too; *first is that one, or -1.
static int wait_for_all(struct child *children, unsigned count, int *first)
{
    *first = -1;
    for (;;) {
        int status, at = -1;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return errno == ECHILD ? 0 : -errno;
        for (unsigned i = 0; i < count; i++)
            if (children[i].pid == pid)
                at = (int)i;
        if (at < 0)
            continue;
        children[at].pid = 0;
        children[at].status = status;
        if (status != 0 && *first < 0) {
            *first = at;
            end_all(children, count);
        }
    }
}

// --- the sample ----------------------------------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

// One result of several processes: tokens, bytes and counts of all, and the mean of what is a share or a time. A step's time is
// the inverse of the summed rates.
static void merge(const struct child *children, unsigned count, struct tb_engine_result *out)
{
    *out = children[0].result;
    for (const struct tb_slot *slot = tb_engined_fields; slot->name && count > 1; slot++) {
        bool mean = strcmp(slot->unit, "ratio") == 0 || strcmp(slot->unit, "ns") == 0;
        double sum = 0;
        for (unsigned i = 0; i < count; i++)
            sum += tb_slot_get(&children[i].result.engined, slot);
        tb_slot_set(&out->engined, slot, mean ? sum / count : sum);
    }
    for (unsigned i = 1; i < count; i++) {
        out->waited_ns += children[i].result.waited_ns;
        out->threads += children[i].result.threads;
        if (children[i].result.steps_wall_ns > out->steps_wall_ns)
            out->steps_wall_ns = children[i].result.steps_wall_ns;
    }
    for (uint32_t step = 0; step < out->steps && count > 1; step++) {
        double rate = 0;
        for (unsigned i = 0; i < count; i++)
            rate += 1 / (double)children[i].result.step_ns[step];
        out->step_ns[step] = (uint64_t)(1 / rate);
    }
}

static void fill(struct tb_job *job, struct tb_engine_result *result)
{
    struct tb_sample *sample = &job->sample;
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < result->steps; i++) {
        job->lap_ns[i] = (double)result->step_ns[i];
        sum_ns += result->step_ns[i];
    }
    qsort(result->step_ns, result->steps, sizeof result->step_ns[0], by_value);
    sample->lap_ns = (double)result->step_ns[result->steps / 2];
    sample->lap_ns_min = (double)result->step_ns[0];
    sample->lap_ns_mean = (double)sum_ns / result->steps;
    sample->lap_ns_p90 = (double)result->step_ns[result->steps * 9ull / 10];
    sample->engined = result->engined;
    sample->watched_ns = result->steps_wall_ns;
    sample->waited_ns = result->waited_ns;
    snprintf(sample->version, sizeof sample->version, "%s", result->version);
    sample->valid = true;
}

// Standard error is a file of the parent's, into which the engine writes, too.
static void last_line(char *out, size_t bytes)
{
    char text[4096];
    off_t size = lseek(STDERR_FILENO, 0, SEEK_END), from = size > (off_t)sizeof text - 1 ? size - (off_t)sizeof text + 1 : 0;
    ssize_t read = size > 0 ? pread(STDERR_FILENO, text, sizeof text - 1, from) : 0;
    while (read > 0 && text[read - 1] == '\n')
        read--;
    text[read > 0 ? read : 0] = '\0';
    const char *line = strrchr(text, '\n');
    snprintf(out, bytes, "%s%.120s", *text ? ": " : "", line ? line + 1 : text);
}

static bool ended_well(struct child *child, const struct tb_job *job)
{
    struct tb_engine_result *result = &child->result;
    bool read = pread(child->fd, result, sizeof *result, 0) == (ssize_t)sizeof *result && result->bytes == sizeof *result;
    return read && WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0 && result->steps == job->laps;
}

static void judge(struct tb_job *job, struct child *children, unsigned count, int first_bad, uint64_t kills_before)
{
    static struct tb_engine_result result;
    char words[128], why[128];
    struct tb_sample *sample = &job->sample;
    const struct child *bad = first_bad >= 0 ? &children[first_bad] : NULL;
    for (unsigned i = 0; i < count && !bad; i++)
        if (!ended_well(&children[i], job))
            bad = &children[i];
    last_line(words, sizeof words);
    if (!bad) {
        merge(children, count, &result);
        fill(job, &result);
    } else if (WIFSIGNALED(bad->status)) {
        tb_killed_why(WTERMSIG(bad->status), kills_before, why, sizeof why);
        snprintf(sample->invalid, sizeof sample->invalid, "the engine: %.90s%.80s", why, words);
    } else {
        snprintf(sample->invalid, sizeof sample->invalid, "the engine ended with status %d%s", WEXITSTATUS(bad->status), words);
    }
    sample->ran = true;
}

// Where there are several, they begin their steps together, by a word in a file in memory (llama/together.h).
static int run_all(struct child *children, unsigned count, int *first_bad)
{
    int together_fd = count > 1 ? memfd_create("locus-together", 0) : -1;
    int error = count > 1 && (together_fd < 0 || ftruncate(together_fd, sysconf(_SC_PAGESIZE)) != 0) ? -errno : 0;
    unsigned started = 0;
    while (started < count && !error && !(error = start(&children[started], together_fd)))
        started++;
    if (error)
        end_all(children, count);
    int waited = wait_for_all(children, count, first_bad);
    if (together_fd >= 0)
        close(together_fd);
    return error ? error : waited;
}

int tb_engines_run(struct tb_job *job, const struct tb_engine_arm *arm, const struct tb_schedule *schedule)
{
    struct tb_engines_machine machine;
    char folder[PATH_MAX];
    if (job->laps == 0 || job->laps > TB_LAPS_MAX || job->laps > TB_ENGINE_STEPS_MAX)
        return -EINVAL;
    int error = tb_engines_machine(&machine), first_bad;
    if (!error)
        error = own_folder(folder);
    if (error)
        return error;
    unsigned count = arm->threads == TB_ENGINE_EACH_NODE ? machine.devices : 1;
    struct child *children = calloc(count, sizeof *children);
    if (!children)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        children[i].fd = -1;
        build(&children[i].command, job, arm, tb_engines_plan(schedule), &machine, i, folder);
    }
    uint64_t kills_before = tb_killed_before();
    error = set_environment(job, arm, &machine, folder);
    if (!error)
        error = run_all(children, count, &first_bad);
    if (!error)
        judge(job, children, count, first_bad, kills_before);
    for (unsigned i = 0; i < count; i++)
        if (children[i].fd >= 0)
            close(children[i].fd);
    free(children);
    return error;
}
