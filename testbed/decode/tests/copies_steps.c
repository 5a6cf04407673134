// SPDX-License-Identifier: Apache-2.0
//
// copies_steps: what growing by copies costs in a step, and PageForge's table line by line on a CPU: whole decode steps of GPT-2
// (append and attention of all layers, one sequence) on pages, on memory that grows, and in PyTorch.
//
// A way's steps of a round give a P50 and a P99; both are compared by round. PyTorch is a process that takes its turns, one line of
// stdin each (copies/torch_cat.py). It has the same number of threads, one, and its clock is that thread's, as ours.

#include "copies_world.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHAPE "GPT-2"
#define BLOCK_TOKENS 16u
#define STEPS 100u              // of a round
#define STEPS_GROWTH(tokens) ((tokens) < 4096 ? 64u : 4u) // of growth, in a measurement

static struct {
    struct pages pages;
    struct tb_sequence sequence;
    struct tb_scatter scatter;
    char *k, *v;                // of the new token; or of the prompt
    uint32_t tokens, steps;     // at first, and in a round
    struct tb_growth *growth;
} world;

static void world_open(enum tb_dtype value, uint32_t tokens, uint32_t steps)
{
    pages_open(&world.pages, SHAPE, value, "runs", BLOCK_TOKENS, 1, tokens + steps);
    const struct tb_cache *cache = &world.pages.cache;
    size_t layer_bytes = cache->shape.kv_heads * cache->row_bytes, prompt_bytes = tokens * layer_bytes;
    size_t new_bytes = cache->shape.layers * layer_bytes, bytes = prompt_bytes > new_bytes ? prompt_bytes : new_bytes;
    world.k = memory_new(bytes);
    world.v = memory_new(bytes);
    world.tokens = tokens;
    world.steps = steps;
    world.scatter = (struct tb_scatter){cache, &world.sequence, 1, world.k, world.v};
}

static void world_close(void)
{
    free(world.k);
    free(world.v);
    pages_close(&world.pages);
}

// Untimed: a prompt's K and V are there.
static void round_begin(enum tb_growth_how how)
{
    const struct tb_cache *cache = &world.pages.cache;
    world.sequence = world.pages.sequences[0];
    world.sequence.tokens = world.tokens;
    CONTEST_NEED(tb_growth_open(&world.growth, &cache->shape, cache->dtype, how));
    for (uint32_t layer = 0; layer < cache->shape.layers; layer++)
        CONTEST_NEED(tb_growth_append(world.growth, layer, world.tokens, world.k, world.v));
}

static void layer_grow(uint32_t layer)
{
    const struct tb_cache *cache = &world.pages.cache;
    size_t at = layer * cache->shape.kv_heads * cache->row_bytes;
    CONTEST_NEED(tb_growth_append(world.growth, layer, 1, world.k + at, world.v + at));
}

// --- growth --------------------------------------------------------------------------------------------------------------------

static void append_paged(void)
{
    world.sequence.tokens++;
    tb_scatter_fused(&world.scatter);
}

static void append_grown(void)
{
    for (uint32_t layer = 0; layer < world.pages.cache.shape.layers; layer++)
        layer_grow(layer);
}

static double timed(void (*append)(void), uint32_t count)
{
    double begin = thread_now_ns();
    for (uint32_t step = 0; step < count; step++)
        append();
    return (thread_now_ns() - begin) / count;
}

static double paged_measure(void *context)
{
    (void)context;
    world.sequence = world.pages.sequences[0];
    world.sequence.tokens = world.tokens;
    return timed(append_paged, STEPS_GROWTH(0));
}

static double cat_measure(void *context)
{
    (void)context;
    round_begin(TB_GROWTH_CAT);
    double ns = timed(append_grown, STEPS_GROWTH(world.tokens));
    tb_growth_close(world.growth);
    return ns;
}

// The prompt fills a capacity, so the first step doubles it, and it is the only one in as many steps as there are tokens.
static double double_measure(void *context)
{
    (void)context;
    round_begin(TB_GROWTH_DOUBLE);
    double first_ns = timed(append_grown, 1), ns = timed(append_grown, STEPS_GROWTH(0) - 1);
    tb_growth_close(world.growth);
    return (first_ns + (world.tokens - 1) * ns) / world.tokens;
}

bool growths_run(uint32_t rounds)
{
    bool met = true;
    for (uint32_t tokens = 64; tokens <= 4096; tokens *= 8) {
        char title[128];
        struct contest contest = {.title = title,
                                  .rounds = rounds,
                                  .arms = {{.name = "append to pages", .measure = paged_measure},
                                           {.name = "copied each time", .measure = cat_measure},
                                           {.name = "copied when doubled", .measure = double_measure}},
                                  .arms_count = 3};
        world_open(TB_DTYPE_BF16, tokens, STEPS_GROWTH(0));
        snprintf(title, sizeof title, "growth, " SHAPE ", bf16, at %u tokens, ns a step", tokens);
        met &= contest_run(&contest);
        world_close();
    }
    return met;
}

// --- PyTorch -------------------------------------------------------------------------------------------------------------------

static struct {
    pid_t child;
    FILE *to, *from;
} torch;

static void torch_child(const int to[2], const int from[2], const char *python, enum tb_dtype value)
{
    char tokens[16], steps[16];
    snprintf(tokens, sizeof tokens, "%u", world.tokens);
    snprintf(steps, sizeof steps, "%u", world.steps);
    if (dup2(to[0], 0) < 0 || dup2(from[1], 1) < 0)
        _exit(127);
    for (int fd = 3; fd < 16; fd++)
        close(fd);
    execlp(python, python, "testbed/decode/copies/torch_cat.py", "--wait", "--threads", "1", "--clock", "thread", "--type",
           tb_dtype_name(value), "--tokens", tokens, "--steps", steps, (char *)NULL);
    _exit(127);
}

static void torch_close(void)
{
    fclose(torch.to);
    fclose(torch.from);
    waitpid(torch.child, NULL, 0);
}

// The Python that has it: one before Debian's in PATH may lack Debian's packages. NULL: none has.
static const char *torch_python(void)
{
    if (system("python3 -c 'import torch' 2>/dev/null") == 0)
        return "python3";
    return system("/usr/bin/python3 -c 'import torch' 2>/dev/null") == 0 ? "/usr/bin/python3" : NULL;
}

// P50 and P99 of a step; false: it ended.
static bool torch_round(double *p50, double *p99)
{
    char line[1024];
    fputs("\n", torch.to);
    fflush(torch.to);
    if (!fgets(line, sizeof line, torch.from))
        return false;
    const char *at = strstr(line, "\"step_ns\"");
    return at && sscanf(at, "\"step_ns\": {\"p50\": %lf, \"p99\": %lf", p50, p99) == 2;
}

static void torch_open(const char *python, enum tb_dtype value)
{
    double p50, p99;
    int to[2], from[2];
    if (pipe(to) || pipe(from))
        contest_fail("pipe", errno);
    fflush(stdout);
    torch.child = fork();
    if (torch.child < 0)
        contest_fail("fork", errno);
    if (torch.child == 0)
        torch_child(to, from, python, value);
    close(to[0]);
    close(from[1]);
    torch.to = fdopen(to[1], "w");
    torch.from = fdopen(from[0], "r");
    if (!torch.to || !torch.from || !torch_round(&p50, &p99)) // one to warm it up
        contest_fail("testbed/decode/copies/torch_cat.py, from the top of the repository", EPIPE);
}

// --- whole steps ---------------------------------------------------------------------------------------------------------------

static struct {
    struct tb_team *team;
    struct tb_attention *paged, *grown;
    float *q, *out;
} steps;

// As PageForge's: all layers are scattered, by calls, and then attended to.
static void step_calls(void)
{
    world.sequence.tokens++;
    tb_scatter_calls(&world.scatter);
    for (uint32_t layer = 0; layer < world.pages.cache.shape.layers; layer++)
        tb_attend(steps.paged, layer, &world.sequence, 1, steps.q, steps.out);
}

static void step_fused(void)
{
    world.sequence.tokens++;
    for (uint32_t layer = 0; layer < world.pages.cache.shape.layers; layer++)
        tb_scatter_attend(&world.scatter, steps.paged, layer, steps.q, steps.out);
}

static void step_grown(void)
{
    for (uint32_t layer = 0; layer < world.pages.cache.shape.layers; layer++) {
        layer_grow(layer);
        struct tb_sequence view = tb_growth_view(world.growth, layer);
        tb_attend(steps.grown, layer, &view, 1, steps.q, steps.out);
    }
}

enum { WAYS = 5, OF_TORCH = 4 };

static struct way {
    const char *name;
    void (*step)(void);         // NULL: PyTorch's
    enum tb_growth_how how;
    double p50_ns[CONTEST_ROUNDS_MAX], p99_ns[CONTEST_ROUNDS_MAX];
    uint32_t rounds;
} ways[WAYS] = {
    {.name = "torch.cat in C", .step = step_grown, .how = TB_GROWTH_CAT},
    {.name = "pages, 24 calls", .step = step_calls},
    {.name = "pages, fused", .step = step_fused},
    {.name = "doubled in C", .step = step_grown, .how = TB_GROWTH_DOUBLE},
    {.name = "torch.cat in PyTorch"},
};

static void ours_round(struct way *way, double *p50, double *p99)
{
    double ns[STEPS];
    round_begin(way->how);
    steps.grown = NULL;
    CONTEST_NEED(tb_attention_open(&steps.grown, tb_growth_cache(world.growth), tb_kernel_at(0), steps.team, 1));
    for (uint32_t step = 0; step < STEPS; step++) {
        double begin = thread_now_ns();
        way->step();
        ns[step] = thread_now_ns() - begin;
    }
    *p50 = percentile(ns, STEPS, 50);
    *p99 = percentile(ns, STEPS, 99);
    tb_attention_close(steps.grown);
    tb_growth_close(world.growth);
}

static double way_measure(void *context)
{
    struct way *way = context;
    double p50, p99;
    if (way->step)
        ours_round(way, &p50, &p99);
    else if (!torch_round(&p50, &p99))
        contest_fail("torch_cat.py ended", EPIPE);
    way->p50_ns[way->rounds] = p50;
    way->p99_ns[way->rounds++] = p99;
    return p50;
}

// A contest runs each arm once a round, so the same values come again in the order of the rounds.
static double p50_again(void *context)
{
    struct way *way = context;
    return way->p50_ns[way->rounds++];
}

static double p99_again(void *context)
{
    struct way *way = context;
    return way->p99_ns[way->rounds++];
}

static void show(const char *title, uint32_t rounds, double (*measure)(void *), const uint8_t which[], uint32_t count)
{
    struct contest contest = {.title = title, .rounds = rounds, .arms_count = count};
    for (uint32_t i = 0; i < count; i++) {
        contest.arms[i] = (struct contest_arm){.name = ways[which[i]].name, .measure = measure, .context = &ways[which[i]]};
        ways[which[i]].rounds = 0;
    }
    contest_run(&contest);
}

static void step_run(enum tb_dtype value, uint32_t tokens, uint32_t rounds, const char *python)
{
    static const uint8_t all[] = {0, 1, 2, 3, OF_TORCH}, pages[] = {1, 2}, against_torch[] = {OF_TORCH, 0, 1, 2};
    char title[160];
    world_open(value, tokens, STEPS);
    CONTEST_NEED(tb_attention_open(&steps.paged, &world.pages.cache, tb_kernel_at(0), steps.team, 1));
    if (python)
        torch_open(python, value);
    snprintf(title, sizeof title, "step of " SHAPE ", %s, %u to %u tokens, kernel %s: P50", tb_dtype_name(value), tokens,
             tokens + STEPS, tb_kernel_at(0)->name);
    show(title, rounds, way_measure, all, python ? 5 : 4);
    show("the same: P99 (PageForge: pages 1.16 of DynamicCache; P50 1.33)", rounds, p99_again, all, python ? 5 : 4);
    show("fused: P50 (PageForge hopes for 0.8)", rounds, p50_again, pages, 2);
    if (python) {
        show("against PyTorch: P50 (PageForge: pages 1.33)", rounds, p50_again, against_torch, 4);
        show("against PyTorch: P99 (PageForge: pages 1.16)", rounds, p99_again, against_torch, 4);
        torch_close();
    }
    tb_attention_close(steps.paged);
    world_close();
}

bool steps_run(uint32_t rounds)
{
    const struct tb_shape *shape = tb_shape_find(SHAPE);
    size_t numbers = (size_t)shape->heads * shape->head_dim;
    const char *python = torch_python();
    if (!python)
        printf("PyTorch is not installed, and left out\n");
    signal(SIGPIPE, SIG_IGN); // of a child that ended
    CONTEST_NEED(tb_team_open(&steps.team, 1, NULL));
    steps.q = calloc(numbers, sizeof *steps.q);
    steps.out = calloc(numbers, sizeof *steps.out);
    if (!steps.q || !steps.out)
        contest_fail("q", ENOMEM);
    for (uint32_t tokens = 64; tokens <= 512; tokens *= 8) {
        step_run(TB_DTYPE_F32, tokens, rounds, python);
        step_run(TB_DTYPE_BF16, tokens, rounds, python);
    }
    free(steps.q);
    free(steps.out);
    tb_team_close(steps.team);
    return true;
}
