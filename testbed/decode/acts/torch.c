// SPDX-License-Identifier: Apache-2.0
//
// torch-cat, torch-echo: the step in PyTorch, as Hugging Face's DynamicCache has it: in each layer K and V of a sequence grow by
// torch.cat, and attention reads the results. The program is ../copies/torch_cat.py, which lies in this one.
//
// PyTorch is a process that is started at open, with the team's CPUs and as many threads. New rows, q and results pass through
// memory that both have mapped, and a socket has a byte for each hand-over: the caller sleeps until it comes back, so that PyTorch
// has the caller's CPU. A step is one hand-over, which is as cheap as can be: layer 0 hands over the rows of all layers, and the
// others find their results there. A prompt is handed over before the step of its last token, a layer at a time.
//
// torch-echo does the same, but PyTorch gives the byte back and does nothing: it is what torch-cat pays for being another process.
//
// The memory, in words of 32 bits: how many sequences the step has, layer and tokens of a prompt's rows, one unused, rows of K that
// were read (two), two unused, and the slots. Then floats, q[batch] and out[layers][batch]. Then rows, [batch][layers][K, V]
// [kv_heads] of a step, or [K, V][kv_heads][tokens] of a prompt. The first part ends at a multiple of 64 bytes.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testbed/decode/acts/acts.h"

// The assembler takes the file in, by its path from the top of the tree, where the build runs; the Makefile knows of it.
extern const char tb_torch_program[];
__asm__(
    ".pushsection .rodata\n.globl tb_torch_program\ntb_torch_program:\n.incbin \"testbed/decode/copies/torch_cat.py\"\n.byte 0\n"
    ".popsection\n");

enum { BEGIN = 'n', APPEND = 'a', STEP = 's', ECHO = 'e' }; // what is asked for
enum { COUNT, LAYER, TOKENS, ROWS_LOW = 4, ROWS_HIGH, SLOTS = 8 };
enum { SOCKET_FD = 0, MEMORY_FD = 3, WITHOUT_TORCH = 77 };
enum { OPTIONS = 8, ARGUMENTS = 5 + 2 * OPTIONS };

unsigned tb_torch_seconds = 30; // half of what rounds grant a process at least (../../measure/rounds.c), so that the reason is ours

struct torch {
    struct tb_shape shape;
    enum tb_dtype dtype;
    size_t row_bytes, numbers;  // of a head; of q and of out, of one sequence
    uint32_t batch;
    bool echo;
    uint32_t *words;
    float *q, *out;
    char *rows;
    size_t bytes;
    int memory, socket;         // -1: not open
    pid_t child;                // 0: none
    uint64_t attended;          // rows of K
    char kernel[16], failed[96];
};

// --- the process ---------------------------------------------------------------------------------------------------------------

struct start {                  // made before the fork, since nothing may allocate after it
    char numbers[OPTIONS][12];
    const char *argv[ARGUMENTS];
    char **environment;
    cpu_set_t cpus;
    bool pinned;
};

static void argv_make(struct start *start, const struct torch *torch, uint32_t threads)
{
    const struct tb_shape *shape = &torch->shape;
    const char *names[] = {"--threads", "--layers", "--heads", "--kv-heads", "--size", "--batch"};
    uint32_t values[] = {threads, shape->layers, shape->heads, shape->kv_heads, shape->head_dim, torch->batch};
    const char *first[] = {"python3", "-B", "-c", tb_torch_program, "--serve", "--type", tb_dtype_name(torch->dtype)};
    size_t n = sizeof first / sizeof *first;
    memcpy(start->argv, first, sizeof first);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(start->numbers[i], sizeof start->numbers[i], "%u", values[i]);
        start->argv[n++] = names[i];
        start->argv[n++] = start->numbers[i];
    }
}

// An allocator that is preloaded into this process, and what it is told, are the arm's and not PyTorch's.
static bool is_arms(const char *variable)
{
    const char *begins[] = {"LD_PRELOAD=", "GLIBC_TUNABLES=", "MALLOC_"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(variable, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static int environment_make(struct start *start)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    start->environment = calloc(count + 1, sizeof *start->environment);
    for (size_t i = 0; i < count && start->environment; i++)
        if (!is_arms(environ[i]))
            start->environment[kept++] = environ[i];
    return start->environment ? 0 : -ENOMEM;
}

static void cpus_make(struct start *start, const struct tb_team *team)
{
    CPU_ZERO(&start->cpus);
    start->pinned = team != NULL;
    for (uint32_t who = 0; team && who < tb_team_count(team); who++) {
        int cpu = tb_team_cpu(team, who);
        start->pinned &= cpu >= 0 && cpu < CPU_SETSIZE;
        if (start->pinned)
            CPU_SET((size_t)cpu, &start->cpus);
    }
}

static _Noreturn void child_main(const struct start *start, const char *python, int socket, int memory)
{
    int moved = fcntl(socket, F_DUPFD, MEMORY_FD + 1), kept = fcntl(memory, F_DUPFD, MEMORY_FD + 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (start->pinned && sched_setaffinity(0, sizeof start->cpus, &start->cpus))
        _exit(1); // it would have more CPUs than it should
    if (moved >= 0 && kept >= 0 && dup2(moved, SOCKET_FD) == SOCKET_FD && dup2(kept, MEMORY_FD) == MEMORY_FD) {
        close_range(MEMORY_FD + 1, UINT_MAX, 0); // those of this process may not all be closed by exec
        execvpe(python, (char *const *)start->argv, start->environment);
    }
    _exit(WITHOUT_TORCH);
}

// It has nothing to save. The status of one that has ended by itself.
static int child_end(struct torch *torch)
{
    int status = 0;
    if (torch->socket >= 0)
        close(torch->socket);
    if (torch->child > 0) {
        kill(torch->child, SIGKILL);
        waitpid(torch->child, &status, 0);
    }
    torch->socket = -1;
    torch->child = 0;
    return status;
}

// What the socket has, or 0 at its end, or -errno: -EAGAIN after tb_torch_seconds.
static ssize_t hear(const struct torch *torch, char *to, size_t bytes)
{
    ssize_t got;
    do
        got = recv(torch->socket, to, bytes, 0);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

// 0: it is there, and has said which PyTorch it is. -ENOENT: there is none. -ETIMEDOUT, -EPROTO: it does not start.
static int child_start(struct torch *torch, const struct start *start, const char *python)
{
    int pair[2];
    struct timeval limit = {.tv_sec = tb_torch_seconds};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return -errno;
    torch->child = fork();
    if (torch->child == 0)
        child_main(start, python, pair[1], torch->memory);
    int error = torch->child < 0 ? -errno : 0;
    close(pair[1]);
    torch->socket = pair[0];
    if (!error && setsockopt(torch->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit))
        error = -errno;
    ssize_t got = error ? 0 : hear(torch, torch->failed, sizeof torch->failed - 1);
    torch->failed[got > 0 ? got : 0] = '\0';
    if (!error && (got <= 0 || torch->failed[0] == 'x'))
        error = got == -EAGAIN ? -ETIMEDOUT : -EPROTO;
    if (error) {
        int status = child_end(torch);
        return error == -EPROTO && WIFEXITED(status) && WEXITSTATUS(status) == WITHOUT_TORCH ? -ENOENT : error;
    }
    snprintf(torch->kernel, sizeof torch->kernel, "%.15s", torch->failed);
    torch->failed[0] = '\0';
    return 0;
}

// The first Python with PyTorch: one before the distribution's in PATH may lack the distribution's packages.
static int python_start(struct torch *torch, const struct start *start, char *why, size_t why_bytes)
{
    const char *pythons[] = {"python3", "/usr/bin/python3"}, *asked = getenv("LOCUS_PYTHON");
    size_t count = asked ? 1 : sizeof pythons / sizeof *pythons;
    int error = -ENOENT;
    for (size_t i = 0; i < count && error == -ENOENT; i++)
        error = child_start(torch, start, asked ? asked : pythons[i]);
    if (error == -ENOENT)
        snprintf(why, why_bytes, "there is no PyTorch in %s: install python3-torch, or set LOCUS_PYTHON to a Python that has it",
                 asked ? asked : "python3 or /usr/bin/python3");
    else if (error == -ETIMEDOUT)
        snprintf(why, why_bytes, "PyTorch was not ready after %u s", tb_torch_seconds);
    else if (error == -EPROTO)
        snprintf(why, why_bytes, "PyTorch did not start%s%s", torch->failed[0] ? ": " : "",
                 torch->failed + (torch->failed[0] == 'x'));
    else if (error)
        snprintf(why, why_bytes, "PyTorch was not started (%s)", strerror(-error));
    return error;
}

static int start_all(struct torch *torch, const struct tb_team *team, char *why, size_t why_bytes)
{
    struct start start = {0};
    argv_make(&start, torch, team ? tb_team_count(team) : 1);
    cpus_make(&start, team);
    int error = environment_make(&start);
    if (!error)
        error = python_start(torch, &start, why, why_bytes);
    free(start.environment);
    return error;
}

// --- the memory ----------------------------------------------------------------------------------------------------------------

static size_t lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

// Pages that nobody writes cost nothing, so there is room for the longest prompt.
static int memory_make(struct torch *torch, uint32_t tokens_max)
{
    const struct tb_shape *shape = &torch->shape;
    size_t tokens = (size_t)torch->batch * shape->layers > tokens_max ? (size_t)torch->batch * shape->layers : tokens_max;
    size_t q_at = lines((SLOTS + torch->batch) * sizeof *torch->words);
    size_t out_at = q_at + torch->batch * torch->numbers * sizeof(float);
    size_t rows_at = out_at + shape->layers * torch->batch * torch->numbers * sizeof(float);
    torch->bytes = rows_at + 2 * shape->kv_heads * torch->row_bytes * tokens;
    torch->memory = memfd_create("locus-torch", MFD_CLOEXEC);
    if (torch->memory < 0 || ftruncate(torch->memory, (off_t)torch->bytes))
        return -errno;
    void *memory = mmap(NULL, torch->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, torch->memory, 0);
    if (memory == MAP_FAILED)
        return -errno;
    torch->words = memory;
    torch->q = (float *)(void *)((char *)memory + q_at);
    torch->out = (float *)(void *)((char *)memory + out_at);
    torch->rows = (char *)memory + rows_at;
    return 0;
}

static void torch_close(void *own)
{
    struct torch *torch = own;
    child_end(torch);
    if (torch->words)
        munmap(torch->words, torch->bytes);
    if (torch->memory >= 0)
        close(torch->memory);
    free(torch);
}

static int open_as(const struct tb_act_sizes *sizes, bool echo, void **own)
{
    struct torch *torch = malloc(sizeof *torch);
    if (!torch)
        return -ENOMEM;
    *torch = (struct torch){
        .shape = sizes->cache->shape,
        .dtype = sizes->cache->dtype,
        .row_bytes = sizes->cache->row_bytes,
        .numbers = (size_t)sizes->cache->shape.heads * sizes->cache->shape.head_dim,
        .batch = sizes->batch,
        .echo = echo,
        .memory = -1,
        .socket = -1,
    };
    int error = memory_make(torch, sizes->tokens_max);
    if (error)
        snprintf(sizes->why, sizes->why_bytes, "there is no memory to share with PyTorch (%s)", strerror(-error));
    else
        error = start_all(torch, sizes->team, sizes->why, sizes->why_bytes);
    if (error)
        torch_close(torch);
    else
        *own = torch;
    return error;
}

static int cat_open(const struct tb_act_sizes *sizes, void **own)
{
    return open_as(sizes, false, own);
}

static int echo_open(const struct tb_act_sizes *sizes, void **own)
{
    return open_as(sizes, true, own);
}

bool tb_act_torch_here(char *found, size_t bytes)
{
    struct tb_cache cache = {.shape = {.layers = 1, .heads = 1, .kv_heads = 1, .head_dim = TB_SHAPE_DIM_UNIT},
                             .row_bytes = TB_SHAPE_DIM_UNIT * sizeof(float)};
    struct tb_act_sizes sizes = {.cache = &cache, .batch = 1, .tokens_max = 1, .why = found, .why_bytes = bytes};
    void *own;
    int error = echo_open(&sizes, &own);
    if (!error)
        torch_close(own);
    return error == 0;
}

// --- a step --------------------------------------------------------------------------------------------------------------------

static void fail(struct torch *torch, const char *reason)
{
    snprintf(torch->failed, sizeof torch->failed, "PyTorch %s", reason);
    child_end(torch);
}

// Has PyTorch do this. After a failure nothing more is asked of it.
static void ask(struct torch *torch, char what)
{
    char answer[sizeof torch->failed - 8], late[40];
    if (torch->failed[0])
        return;
    what = torch->echo ? ECHO : what;
    ssize_t got = send(torch->socket, &what, 1, MSG_NOSIGNAL) == 1 ? hear(torch, answer, sizeof answer - 1) : 0;
    if (got == 1 && answer[0] == what)
        return;
    answer[got > 0 ? got : 0] = '\0';
    snprintf(late, sizeof late, "gave no answer in %u s", tb_torch_seconds);
    fail(torch, got == -EAGAIN ? late : got > 1 ? answer + 1 : "ended in the middle of a step");
}

// K and V of [begin, end), as [K, V][kv_heads][tokens].
static void rows_write(const struct torch *torch, const struct tb_step_layer *step, uint64_t serial, uint32_t layer, uint32_t begin,
                       uint32_t end, char *to)
{
    size_t kv_heads = torch->shape.kv_heads, tokens = end - begin;
    for (uint32_t position = begin; position < end; position++) {
        const char *k = step->row(step->rows, serial, layer, position);
        for (size_t head = 0; head < kv_heads; head++) {
            char *at = to + (head * tokens + position - begin) * torch->row_bytes;
            memcpy(at, k + head * torch->row_bytes, torch->row_bytes);
            memcpy(at + kv_heads * tokens * torch->row_bytes, k + step->v_bytes + head * torch->row_bytes, torch->row_bytes);
        }
    }
}

// All but the last token of a sequence that was extended by more than one.
static void prompt_hand_over(struct torch *torch, const struct tb_step_layer *step, const struct tb_step_new *fresh, uint32_t last)
{
    torch->words[SLOTS] = fresh->slot;
    if (fresh->begin == 0)
        ask(torch, BEGIN);
    for (uint32_t layer = 0; layer < torch->shape.layers && last > fresh->begin; layer++) {
        torch->words[LAYER] = layer;
        torch->words[TOKENS] = last - fresh->begin;
        rows_write(torch, step, fresh->serial, layer, fresh->begin, last, torch->rows);
        ask(torch, APPEND);
    }
}

static void step_hand_over(struct torch *torch, const struct tb_step_layer *step)
{
    size_t pair = 2 * torch->shape.kv_heads * torch->row_bytes;
    for (uint32_t i = 0; i < step->count; i++)
        prompt_hand_over(torch, step, &step->fresh[i], step->sequences[i].tokens - 1);
    for (uint32_t i = 0; i < step->count; i++) {
        uint32_t last = step->sequences[i].tokens - 1;
        torch->words[SLOTS + i] = step->fresh[i].slot;
        for (uint32_t layer = 0; layer < torch->shape.layers; layer++)
            rows_write(torch, step, step->fresh[i].serial, layer, last, last + 1,
                       torch->rows + ((size_t)i * torch->shape.layers + layer) * pair);
    }
    torch->words[COUNT] = step->count;
    torch->words[ROWS_LOW] = torch->words[ROWS_HIGH] = 0;
    memcpy(torch->q, step->q, step->count * torch->numbers * sizeof *torch->q);
    ask(torch, STEP);
    torch->attended += torch->failed[0] ? 0 : (uint64_t)torch->words[ROWS_HIGH] << 32 | torch->words[ROWS_LOW];
}

static void torch_read(void *own, const struct tb_step_layer *layer)
{
    struct torch *torch = own;
    if (layer->count == 0)
        return;
    if (layer->layer == 0)
        step_hand_over(torch, layer);
    memcpy(layer->out, torch->out + (size_t)layer->layer * torch->batch * torch->numbers,
           layer->count * torch->numbers * sizeof *layer->out);
}

static uint64_t torch_rows(const void *own)
{
    return ((const struct torch *)own)->attended;
}

static const char *torch_kernel(const void *own)
{
    return ((const struct torch *)own)->kernel;
}

static const char *torch_failed(const void *own)
{
    const struct torch *torch = own;
    return torch->failed[0] ? torch->failed : NULL;
}

const struct tb_act tb_act_torch_cat = {
    .name = "torch-cat",
    .summary = "no pages: K and V grow by torch.cat, and PyTorch attends, in a process of its own (needs python3-torch)",
    .attends = true,
    .copies = true,
    .roundoffs = 4,
    .open = cat_open,
    .close = torch_close,
    .read = torch_read,
    .rows = torch_rows,
    .kernel = torch_kernel,
    .failed = torch_failed,
};

const struct tb_act tb_act_torch_echo = {
    .name = "torch-echo",
    .summary = "hands the step over as torch-cat does, to a PyTorch that does nothing: what it pays for being another process",
    .copies = true,
    .open = echo_open,
    .close = torch_close,
    .read = torch_read,
    .kernel = torch_kernel,
    .failed = torch_failed,
};
