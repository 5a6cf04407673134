// SPDX-License-Identifier: Apache-2.0
//
// lora_bench: what batching by adapter is worth, and what int8 to f16 costs, in paired rounds. Started by `make bench-lora`.
//
//   lora_bench [ROUNDS [int8|bgmv]]        20 rounds of all
//
//   int8     int8 to f16 and back, against memcpy, by bytes moved (read and written): of 256 KiB, a rank-16 adapter of one
//            layer, and of 64 MiB. The goal: to f16 at no less than 0.85 of memcpy's pace. glibc's memcpy stores past the caches
//            what is long, so it is the match of streamed conversion, and memcpy by 4 MiB that of plain conversion
//   bgmv     one layer's A and B for a batch, by adapter and one request after the other; 256 adapters, all alike, or the n-th most
//            popular one 1/n times as often as the first. It has no goal
//
// Times are of the thread's CPU. Ratios are the other way's time over the first one's, the median of the rounds' with the sign
// test's interval. Exit status: 0 all goals are met, 1 one is not shown, 2 cannot measure.

#include "copies_world.h"

#include "locus/int8.h"
#include "testbed/decode/lora/lora.h"

static uint32_t rounds = 20;

// --- int8 ----------------------------------------------------------------------------------------------------------------------

#define INT8_MOVED (128u << 20) // in each measurement, at least
#define MEMCPY_PART (4u << 20)  // glibc stores past the caches what is longer

static struct {
    size_t count, stored_bytes;
    uint16_t *numbers;
    char *stored, *copy;
} int8s;

static void to_f16_once(void)
{
    CONTEST_NEED(locus_int8_to_f16(int8s.numbers, int8s.stored, int8s.count));
}

static void streamed_once(void)
{
    CONTEST_NEED(locus_int8_to_f16_streamed(int8s.numbers, int8s.stored, int8s.count));
}

static void from_f16_once(void)
{
    CONTEST_NEED(locus_int8_from_f16(int8s.stored, int8s.numbers, int8s.count));
}

static void memcpy_parts_once(void)
{
    size_t bytes = int8s.count * sizeof *int8s.numbers;
    for (size_t at = 0; at < bytes; at += MEMCPY_PART)
        memcpy(int8s.copy + at, (char *)int8s.numbers + at, bytes - at < MEMCPY_PART ? bytes - at : MEMCPY_PART);
    __asm__ volatile("" : : "r"(int8s.copy) : "memory");
}

static void memcpy_once(void)
{
    memcpy(int8s.copy, int8s.numbers, int8s.count * sizeof *int8s.numbers);
    __asm__ volatile("" : : "r"(int8s.copy) : "memory");
}

struct int8_way {
    void (*once)(void);
    bool converts;              // moves f16 on one side and int8 on the other; a copy has f16 on both
};

static double int8_measure(void *context)
{
    const struct int8_way *way = context;
    size_t bytes = int8s.count * sizeof *int8s.numbers, moved = bytes + (way->converts ? int8s.stored_bytes : bytes);
    uint32_t repeats = 1 + INT8_MOVED / (uint32_t)moved;
    way->once();
    double begin = thread_now_ns();
    for (uint32_t r = 0; r < repeats; r++)
        way->once();
    return (thread_now_ns() - begin) / (repeats * (double)(moved >> 10));
}

// In the caches all stores are plain; beyond, each way against its like.
static bool int8_run(size_t f16_bytes, bool large)
{
    static struct int8_way plain = {to_f16_once, true}, streamed = {streamed_once, true}, from = {from_f16_once, true},
                           whole = {memcpy_once, false}, parts = {memcpy_parts_once, false};
    const struct contest_arm arm_parts = {"memcpy by 4 MiB", int8_measure, &parts, CONTEST_RATIO_AT_LEAST, 0.85};
    const struct contest_arm arm_whole = {"memcpy", int8_measure, &whole, large ? CONTEST_RATIO_AT_LEAST : CONTEST_NONE, 0.85};
    char title[128];
    struct contest contest = {.title = title,
                              .rounds = rounds,
                              .arms = {{.name = "int8 to f16", .measure = int8_measure, .context = &plain},
                                       {.name = "int8 from f16", .measure = int8_measure, .context = &from},
                                       arm_parts},
                              .arms_count = 3};
    struct contest past = {.title = title,
                           .rounds = rounds,
                           .arms = {{.name = "int8 to f16, streamed", .measure = int8_measure, .context = &streamed}, arm_whole},
                           .arms_count = 2};
    int8s.count = f16_bytes / sizeof *int8s.numbers;
    int8s.stored_bytes = locus_int8_bytes(int8s.count);
    int8s.numbers = (uint16_t *)(void *)memory_new(f16_bytes); // numbers that are all the same convert as fast as any
    int8s.copy = memory_new(f16_bytes);
    int8s.stored = memory_new(int8s.stored_bytes);
    from_f16_once();
    snprintf(title, sizeof title, "int8 and f16, %zu KiB of f16, ns a KiB moved", f16_bytes >> 10);
    bool met = contest_run(&contest);
    met &= contest_run(&past);
    free(int8s.numbers);
    free(int8s.copy);
    free(int8s.stored);
    return met;
}

// --- bgmv ----------------------------------------------------------------------------------------------------------------------

#define ADAPTERS 256u
#define BATCHES 64u             // different ones, taken in turn

static struct {
    struct tb_lora adapters[ADAPTERS];
    uint32_t adapter[BATCHES][TB_LORA_BATCH_MAX];
    struct tb_lora_batch batch;
    uint32_t turn, per_measurement;
    char *weights, *x, *y;
} world;

typedef void way(const struct tb_kernel *, const struct tb_lora *, const struct tb_lora_batch *);
static way *const loop = tb_lora_loop, *const bgmv = tb_lora_bgmv;

static uint64_t random_state = 1;

static double random_share(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(random_state >> 11) * 0x1p-53;
}

static void batches_draw(bool skewed)
{
    double total = 0, up_to[ADAPTERS];
    for (uint32_t i = 0; i < ADAPTERS; i++)
        up_to[i] = total += skewed ? 1.0 / (i + 1) : 1;
    for (uint32_t b = 0; b < BATCHES; b++)
        for (uint32_t r = 0; r < world.batch.requests; r++) {
            double share = random_share() * total;
            uint32_t number = 0;
            while (number < ADAPTERS - 1 && up_to[number] < share)
                number++;
            world.adapter[b][r] = number;
        }
}

// How many adapters a batch has on average: what is read at least.
static double batches_distinct(void)
{
    uint32_t distinct = 0;
    for (uint32_t b = 0; b < BATCHES; b++) {
        bool seen[ADAPTERS] = {false};
        for (uint32_t r = 0; r < world.batch.requests; r++) {
            distinct += !seen[world.adapter[b][r]];
            seen[world.adapter[b][r]] = true;
        }
    }
    return distinct / (double)BATCHES;
}

// A batch after the other, and each way goes on where the one before it ended, so none finds its adapters in the caches.
static double bgmv_measure(void *context)
{
    way *const *apply = context;
    double begin = thread_now_ns();
    for (uint32_t i = 0; i < world.per_measurement; i++) {
        world.batch.adapter = world.adapter[world.turn++ % BATCHES];
        (*apply)(tb_kernel_at(0), world.adapters, &world.batch);
    }
    return (thread_now_ns() - begin) / ((double)world.per_measurement * world.batch.requests);
}

static void world_open(uint32_t rank, uint32_t hidden, uint32_t requests)
{
    size_t each = (size_t)rank * 2 * hidden * sizeof(uint16_t), vector_bytes = (size_t)requests * hidden * sizeof(float);
    world.weights = memory_new(ADAPTERS * each);
    world.x = memory_new(vector_bytes);
    world.y = memory_new(vector_bytes);
    memset(world.weights, 0, ADAPTERS * each); // so that y stays as it is, however many batches come
    for (uint32_t i = 0; i < ADAPTERS; i++) {
        const uint16_t *a = (const uint16_t *)(const void *)(world.weights + i * each);
        world.adapters[i] = (struct tb_lora){rank, hidden, hidden, a, a + (size_t)rank * hidden};
    }
    world.batch = (struct tb_lora_batch){requests, NULL, (float *)(void *)world.x, (float *)(void *)world.y, hidden, hidden};
    world.per_measurement = 1 + 64 / requests;
    world.turn = 0;
}

static bool bgmv_run(uint32_t rank, uint32_t hidden, uint32_t requests, bool skewed)
{
    char title[128];
    struct contest contest = {.title = title,
                              .rounds = rounds,
                              .arms = {{.name = "by adapter", .measure = bgmv_measure, .context = (void *)&bgmv},
                                       {.name = "one after the other", .measure = bgmv_measure, .context = (void *)&loop}},
                              .arms_count = 2};
    world_open(rank, hidden, requests);
    batches_draw(skewed);
    snprintf(title, sizeof title, "bgmv, rank %u, hidden %u, batch %u of %.1f adapters, %s, ns a request", rank, hidden, requests,
             batches_distinct(), skewed ? "popularity 1/n" : "all alike");
    bool met = contest_run(&contest);
    free(world.weights);
    free(world.x);
    free(world.y);
    return met;
}

static bool bgmvs_run(void)
{
    static const uint32_t ranks[] = {8, 64};
    bool met = true;
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
        for (uint32_t hidden = 2048; hidden <= 4096; hidden *= 2)
            for (uint32_t requests = 1; requests <= TB_LORA_BATCH_MAX; requests *= 4)
                for (int skewed = 0; skewed < 2; skewed++)
                    met &= bgmv_run(ranks[r], hidden, requests, skewed);
    return met;
}

int main(int argc, char **argv)
{
    const char *part = argc > 2 ? argv[2] : "";
    bool met = true;
    rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : rounds;
    if (rounds < 12 || rounds > CONTEST_ROUNDS_MAX)
        contest_fail("ROUNDS: 12 to 2000", EINVAL);
    if (!*part || !strcmp(part, "int8")) {
        met &= int8_run(256u << 10, false);
        met &= int8_run(64u << 20, true);
    }
    if (!*part || !strcmp(part, "bgmv"))
        met &= bgmvs_run();
    return met ? EXIT_SUCCESS : EXIT_FAILURE;
}
