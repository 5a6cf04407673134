// SPDX-License-Identifier: Apache-2.0
//
// copies_bench: what engines pay that copy paged K and V, in paired rounds. Started by `make bench-copies`.
//
//   copies_bench [ROUNDS [gather|scatter|table|growth|step]]        20 rounds of all, and half as many steps
//
//   gather   pages into contiguous memory, against memcpy of as many bytes: in the second level of cache, and of 256 MiB
//   scatter  one token of each sequence in all layers: one pass, 2 * layers calls, and stores to addresses known before. "in turn":
//            each step has other places, as in an engine
//   table    a sequence's addresses in each step, patched or resolved anew
//   growth   copies_steps.c: torch.cat in C, against an append to pages
//   step     copies_steps.c: whole steps of GPT-2, also in PyTorch where it is installed
//
// Times are of the thread's CPU. Ratios are the other way's time over the first one's, the median of the rounds' with the sign
// test's interval. Exit status: 0 all goals are met, 1 one is not shown, 2 cannot measure.

#include "copies_world.h"

static uint32_t rounds = 20;

// --- gather --------------------------------------------------------------------------------------------------------------------

#define GATHER_BYTES (32u << 20) // copied in each measurement, at least
#define GATHER_SMALL_TOKENS 128u
#define GATHER_LARGE_BYTES (256u << 20)

static struct {
    struct pages pages;
    struct tb_cache target;
    char *memory, *to[TB_SHAPE_LAYERS_MAX];
    uint32_t layers;            // gathered: one, or all
    size_t bytes;
} gathers;

static void gather_once(enum tb_copy_stores stores)
{
    const struct tb_sequence *sequence = &gathers.pages.sequences[0];
    if (gathers.layers == 1)
        tb_copy_gather(&gathers.pages.cache, sequence->blocks, sequence->tokens, 0, &gathers.target, gathers.to[0], stores);
    else
        tb_copy_gather_all(&gathers.pages.cache, sequence->blocks, sequence->tokens, &gathers.target, gathers.to, stores);
}

static uint32_t gather_repeats(void)
{
    return 1 + GATHER_BYTES / (uint32_t)gathers.bytes;
}

static double gather_measure(void *context)
{
    const enum tb_copy_stores *stores = context;
    if (gather_repeats() > 1)
        gather_once(*stores);
    double begin = thread_now_ns();
    for (uint32_t r = 0; r < gather_repeats(); r++)
        gather_once(*stores);
    return (thread_now_ns() - begin) / (gather_repeats() * (double)(gathers.bytes >> 10));
}

static void memcpy_once(size_t part_bytes)
{
    for (size_t at = 0; at < gathers.bytes; at += part_bytes) {
        size_t left = gathers.bytes - at;
        memcpy(gathers.memory + at, gathers.pages.memory + at, left < part_bytes ? left : part_bytes);
        __asm__ volatile("" : : "r"(gathers.memory) : "memory");
    }
}

static double memcpy_measure(void *context)
{
    const size_t *part_bytes = context;
    if (gather_repeats() > 1)
        memcpy_once(*part_bytes);
    double begin = thread_now_ns();
    for (uint32_t r = 0; r < gather_repeats(); r++)
        memcpy_once(*part_bytes);
    return (thread_now_ns() - begin) / (gather_repeats() * (double)(gathers.bytes >> 10));
}

static enum tb_copy_stores gather_plain = TB_COPY_PLAIN, gather_streamed = TB_COPY_STREAMED;

// glibc's memcpy itself stores past the caches, beyond three quarters of its share of the last one. What is in parts does not.
static size_t memcpy_parts = 4u << 20, memcpy_whole = SIZE_MAX;

static bool gather_compare(const char *title, bool goals, bool large)
{
    struct contest_arm plain = {.name = "gather", .measure = gather_measure, .context = &gather_plain};
    struct contest_arm streamed = {.name = "gather, streamed", .measure = gather_measure, .context = &gather_streamed};
    struct contest_arm whole = {.name = "one memcpy", .measure = memcpy_measure, .context = &memcpy_whole};
    struct contest_arm parts = {.name = "memcpy by 4 MiB", .measure = memcpy_measure, .context = &memcpy_parts};
    struct contest contest = {.title = title,
                              .rounds = rounds,
                              .arms = {plain, streamed, whole, parts},
                              .arms_count = large ? 4 : 3};
    struct contest past = {.title = title, .rounds = rounds, .arms = {streamed, whole, parts}, .arms_count = 3};
    contest.arms[contest.arms_count - 1].bound = 0.95;
    past.arms[2].bound = 1.2;
    if (goals)
        contest.arms[contest.arms_count - 1].goal = past.arms[2].goal = CONTEST_RATIO_AT_LEAST;
    bool met = contest_run(&contest);
    return large ? contest_run(&past) && met : met;
}

// A sequence of 256 MiB in all layers, or one layer of a short one.
static bool gather_run(const char *shape, const char *layout, uint32_t block_tokens, bool large)
{
    char title[128], why[160];
    struct tb_cache all;
    struct tb_shape parsed;
    CONTEST_NEED(tb_shape_parse(shape, &parsed, why, sizeof why));
    CONTEST_NEED(tb_cache_open(&all, &parsed, TB_DTYPE_BF16, tb_layout_find(layout), block_tokens, why, sizeof why));
    uint32_t tokens = large ? (uint32_t)(GATHER_LARGE_BYTES / tb_cache_token_bytes(&all)) / 128 * 128 : GATHER_SMALL_TOKENS;
    pages_open(&gathers.pages, shape, TB_DTYPE_BF16, layout, block_tokens, 1, tokens);
    CONTEST_NEED(tb_copy_target(&gathers.target, &gathers.pages.cache, tokens, why, sizeof why));
    gathers.layers = large ? parsed.layers : 1;
    gathers.bytes = gathers.layers * gathers.target.block_bytes;
    gathers.memory = memory_new(gathers.bytes);
    for (uint32_t layer = 0; layer < gathers.layers; layer++)
        gathers.to[layer] = gathers.memory + layer * gathers.target.block_bytes;
    snprintf(title, sizeof title, "gather, %s, %s, blocks of %u tokens, %zu KiB, ns a KiB", shape, layout, block_tokens,
             gathers.bytes >> 10);
    bool met = gather_compare(title, strcmp(layout, "runs") == 0, large);
    free(gathers.memory);
    pages_close(&gathers.pages);
    return met;
}

static bool gathers_run(void)
{
    static const char *const shapes[] = {"Llama-3-8B", "GPT-2"};
    static const uint32_t blocks[] = {16, 32, 128};
    bool met = true;
    for (int large = 0; large < 2; large++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
                met &= gather_run(shapes[s], "runs", blocks[b], large);
            met &= gather_run(shapes[s], "tokens", 16, large);
            met &= gather_run(shapes[s], "columns", 32, large);
        }
    return met;
}

// --- scatter -------------------------------------------------------------------------------------------------------------------

#define SCATTER_STEPS 128u

static struct {
    struct pages pages;
    struct tb_sequence sequences[WORLD_SEQUENCES_MAX];
    struct tb_scatter scatter;
    struct tb_scatter_place *places;
    bool in_turn;
} scatters;

static void scatter_plain(const struct tb_scatter *scatter)
{
    tb_scatter_plain(scatter, scatters.places);
}

static void (*scatter_ways[])(const struct tb_scatter *) = {tb_scatter_fused, tb_scatter_calls, scatter_plain};

// Addresses are looked up before all ways, so that they find the caches alike. A step is too short for the clock of a thread, and
// the median of the steps does not see that another process had the CPU in some.
static double scatter_measure(void *context)
{
    void (**way)(const struct tb_scatter *) = context;
    double ns[SCATTER_STEPS];
    for (uint32_t step = 0; step < SCATTER_STEPS; step++) {
        for (uint32_t i = 0; i < scatters.scatter.count; i++)
            scatters.sequences[i].tokens = scatters.in_turn ? step + 1 : 1;
        tb_scatter_places(&scatters.scatter, scatters.places);
        double begin = contest_now_ns();
        (*way)(&scatters.scatter);
        ns[step] = contest_now_ns() - begin;
    }
    return percentile(ns, SCATTER_STEPS, 50) / scatters.scatter.count;
}

static bool scatter_run(const char *shape, const char *layout, uint32_t batch, bool in_turn)
{
    char title[128];
    struct contest contest = {.title = title,
                              .rounds = rounds,
                              .arms = {{.name = "one pass", .measure = scatter_measure, .context = &scatter_ways[0]},
                                       {.name = "2 * layers calls", .measure = scatter_measure, .context = &scatter_ways[1]},
                                       {.name = "stores alone",
                                        .measure = scatter_measure,
                                        .context = &scatter_ways[2],
                                        .goal = CONTEST_RATIO_AT_LEAST,
                                        .bound = 0.9}},
                              .arms_count = 3};
    pages_open(&scatters.pages, shape, TB_DTYPE_BF16, layout, 16, batch, SCATTER_STEPS);
    const struct tb_cache *cache = &scatters.pages.cache;
    size_t bytes = batch * tb_cache_token_bytes(cache) / 2;
    char *k = memory_new(bytes), *v = memory_new(bytes);
    memcpy(scatters.sequences, scatters.pages.sequences, sizeof scatters.sequences);
    scatters.scatter = (struct tb_scatter){cache, scatters.sequences, batch, k, v};
    scatters.in_turn = in_turn;
    scatters.places = calloc((size_t)batch * cache->shape.layers * cache->shape.kv_heads, sizeof *scatters.places);
    if (!scatters.places)
        contest_fail("places", ENOMEM);
    snprintf(title, sizeof title, "scatter, %s, %s, batch %u%s, ns a token (%zu KiB)", shape, layout, batch,
             in_turn ? " in turn" : "", tb_cache_token_bytes(cache) >> 10);
    bool met = contest_run(&contest);
    free(scatters.places);
    free(k);
    free(v);
    pages_close(&scatters.pages);
    return met;
}

static bool scatters_run(void)
{
    static const char *const shapes[] = {"GPT-2", "Llama-3-8B"}, *const layouts[] = {"tokens", "runs", "columns"};
    bool met = true;
    for (size_t s = 0; s < 2; s++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
            for (uint32_t batch = 1; batch <= WORLD_SEQUENCES_MAX; batch *= 8)
                for (int in_turn = 0; in_turn < 2; in_turn++)
                    met &= scatter_run(shapes[s], layouts[l], batch, in_turn);
    return met;
}

// --- block table ---------------------------------------------------------------------------------------------------------------

#define TABLE_BLOCK_TOKENS 16u
#define TABLE_SEQUENCES 32u

static struct {
    struct tb_block_table tables[TABLE_SEQUENCES];
    uint32_t layers, blocks;    // blocks of a sequence, at the end of the measurement
    uint32_t *numbers;
    char **addresses;
} tables;

static void (*table_ways[])(struct tb_block_table *) = {tb_block_table_patch, tb_block_table_rebuild};

// As many steps as a block has tokens: in one of them each sequence gets a block for each layer.
static double table_measure(void *context)
{
    void (**way)(struct tb_block_table *) = context;
    for (uint32_t i = 0; i < TABLE_SEQUENCES; i++)
        tables.tables[i].count = tables.tables[i].resolved = tables.blocks - tables.layers;
    double begin = thread_now_ns();
    for (uint32_t step = 0; step < TABLE_BLOCK_TOKENS; step++)
        for (uint32_t i = 0; i < TABLE_SEQUENCES; i++) {
            if (step == i % TABLE_BLOCK_TOKENS)
                tables.tables[i].count += tables.layers;
            (*way)(&tables.tables[i]);
        }
    return (thread_now_ns() - begin) / (TABLE_BLOCK_TOKENS * TABLE_SEQUENCES);
}

static bool table_run(uint32_t tokens)
{
    char title[128];
    struct contest contest = {.title = title,
                              .rounds = rounds,
                              .arms = {{.name = "patched", .measure = table_measure, .context = &table_ways[0]},
                                       {.name = "resolved anew", .measure = table_measure, .context = &table_ways[1]}},
                              .arms_count = 2};
    tables.layers = tb_shape_find("Llama-3-8B")->layers;
    tables.blocks = tokens / TABLE_BLOCK_TOKENS * tables.layers;
    tables.numbers = calloc((size_t)TABLE_SEQUENCES * tables.blocks, sizeof *tables.numbers);
    tables.addresses = calloc((size_t)TABLE_SEQUENCES * tables.blocks, sizeof *tables.addresses);
    if (!tables.numbers || !tables.addresses)
        contest_fail("tables", ENOMEM);
    for (uint32_t i = 0; i < TABLE_SEQUENCES * tables.blocks; i++)
        tables.numbers[i] = i * 7919u;
    for (uint32_t i = 0; i < TABLE_SEQUENCES; i++)
        tables.tables[i] = (struct tb_block_table){.region = (char *)tables.numbers, // nothing is read through an address
                                                   .numbers = tables.numbers + i * tables.blocks,
                                                   .addresses = tables.addresses + i * tables.blocks};
    snprintf(title, sizeof title, "block tables, Llama-3-8B, %u tokens in blocks of %u, ns a step and sequence", tokens,
             TABLE_BLOCK_TOKENS);
    bool met = contest_run(&contest);
    free(tables.numbers);
    free(tables.addresses);
    return met;
}

int main(int argc, char **argv)
{
    const char *part = argc > 2 ? argv[2] : "";
    bool met = true;
    rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : rounds;
    if (rounds < 12 || rounds > CONTEST_ROUNDS_MAX)
        contest_fail("ROUNDS: 12 to 2000", EINVAL);
    if (!*part || !strcmp(part, "gather"))
        met &= gathers_run();
    if (!*part || !strcmp(part, "scatter"))
        met &= scatters_run();
    if (!*part || !strcmp(part, "table"))
        for (uint32_t tokens = 512; tokens <= 4096; tokens *= 8)
            met &= table_run(tokens);
    if (!*part || !strcmp(part, "growth"))
        met &= growths_run(rounds);
    if (!*part || !strcmp(part, "step"))
        met &= steps_run((rounds + 1) / 2);
    return met ? EXIT_SUCCESS : EXIT_FAILURE;
}
