// SPDX-License-Identifier: Apache-2.0
//
// lora: every kernel gives the numbers of a reference in double, and by adapter the bits that it gives one by one.

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "testbed/decode/lora/lora.h"

enum { ADAPTERS = 6, GUARD = 3 };
#define UNTOUCHED 12345.0f

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

static float number(void)
{
    return (float)draw(1 << 20) / (1 << 19) - 1;
}

struct world {
    struct tb_lora adapters[ADAPTERS];
    uint16_t *a[ADAPTERS], *rows[ADAPTERS], *b[ADAPTERS]; // rows: B as [out][rank]
    uint32_t adapter[TB_LORA_BATCH_MAX];
    struct tb_lora_batch batch;
    float *x, *y, *before;
    size_t y_count;
};

static uint16_t *weights_new(size_t count)
{
    uint16_t *weights = malloc(count * sizeof *weights);
    cr_assert_not_null(weights);
    for (size_t i = 0; i < count; i++)
        tb_dtype_store(TB_DTYPE_F16, &weights[i], number());
    return weights;
}

static float *floats_new(size_t count)
{
    float *floats = malloc(count * sizeof *floats);
    cr_assert_not_null(floats);
    for (size_t i = 0; i < count; i++)
        floats[i] = number();
    return floats;
}

// Adapters of different ranks, `rank` and below; every fifth request has none.
static void world_open(struct world *world, uint32_t rank, uint32_t in, uint32_t out, uint32_t requests)
{
    for (uint32_t i = 0; i < ADAPTERS; i++) {
        uint32_t own = i ? 1 + draw(rank) : rank;
        world->a[i] = weights_new((size_t)own * in);
        world->rows[i] = weights_new((size_t)own * out);
        world->b[i] = malloc((size_t)own * out * sizeof *world->b[i]);
        world->adapters[i] = (struct tb_lora){own, in, out, world->a[i], world->b[i]};
        tb_lora_pack_b(&world->adapters[i], world->rows[i], world->b[i]);
    }
    for (uint32_t r = 0; r < requests; r++)
        world->adapter[r] = draw(5) ? draw(1 + draw(ADAPTERS)) : TB_LORA_BASE;
    world->batch = (struct tb_lora_batch){requests, world->adapter, NULL, NULL, in + GUARD, out + GUARD};
    world->y_count = (size_t)requests * (out + GUARD);
    world->batch.x = world->x = floats_new((size_t)requests * (in + GUARD));
    world->batch.y = world->y = floats_new(world->y_count);
    for (uint32_t r = 0; r < requests; r++)
        for (uint32_t i = 0; i < GUARD; i++)
            world->y[r * (out + GUARD) + out + i] = UNTOUCHED;
    world->before = malloc(world->y_count * sizeof *world->before);
    memcpy(world->before, world->y, world->y_count * sizeof *world->y);
}

static void world_close(struct world *world)
{
    for (uint32_t i = 0; i < ADAPTERS; i++) {
        free(world->a[i]);
        free(world->rows[i]);
        free(world->b[i]);
    }
    free(world->x);
    free(world->y);
    free(world->before);
}

// What is left of y after a way, from what it was at first.
static float *run(struct world *world, void way(const struct tb_kernel *, const struct tb_lora *, const struct tb_lora_batch *),
                  const struct tb_kernel *kernel)
{
    float *result = malloc(world->y_count * sizeof *result + 1);
    cr_assert_not_null(result);
    memcpy(world->y, world->before, world->y_count * sizeof *world->y);
    way(kernel, world->adapters, &world->batch);
    memcpy(result, world->y, world->y_count * sizeof *result);
    return result;
}

// One request's y in double, and the sum of the magnitudes of all that was added, of which rounding takes its share.
static void reference(const struct world *world, uint32_t r, double *y, double *magnitude)
{
    uint32_t number = world->adapter[r];
    const struct tb_lora *lora = &world->adapters[number];
    double t[TB_LORA_RANK_MAX] = {0}, most[TB_LORA_RANK_MAX] = {0};
    for (uint32_t k = 0; k < lora->rank; k++)
        for (uint32_t i = 0; i < lora->in; i++) {
            double part = (double)tb_dtype_load(TB_DTYPE_F16, &world->a[number][(size_t)k * lora->in + i]) *
                          (double)world->batch.x[r * world->batch.x_floats + i];
            t[k] += part;
            most[k] += fabs(part);
        }
    for (uint32_t o = 0; o < lora->out; o++) {
        y[o] = (double)world->before[r * world->batch.y_floats + o];
        magnitude[o] = fabs(y[o]);
        for (uint32_t k = 0; k < lora->rank; k++) {
            double weight = (double)tb_dtype_load(TB_DTYPE_F16, &world->rows[number][(size_t)o * lora->rank + k]);
            y[o] += weight * t[k];
            magnitude[o] += fabs(weight) * most[k];
        }
    }
}

static void compare(const struct world *world, const char *kernel, const float *result)
{
    uint32_t out = world->adapters[0].out;
    double *y = malloc(out * sizeof *y), *magnitude = malloc(out * sizeof *magnitude);
    for (uint32_t r = 0; r < world->batch.requests; r++) {
        const float *own = result + r * world->batch.y_floats;
        for (uint32_t i = 0; i < GUARD; i++)
            cr_assert(own[out + i] == UNTOUCHED);
        if (world->adapter[r] == TB_LORA_BASE) {
            cr_assert_eq(memcmp(own, world->before + r * world->batch.y_floats, out * sizeof *own), 0);
            continue;
        }
        reference(world, r, y, magnitude);
        // Each of at most in + rank additions rounds by half a unit of the partial sum.
        double share = (double)FLT_EPSILON / 2 * (world->adapters[0].in + TB_LORA_RANK_MAX);
        for (uint32_t o = 0; o < out; o++)
            if (!(fabs((double)own[o] - y[o]) <= share * magnitude[o]))
                cr_assert_fail("%s: request %u, output %u: %g, not %g", kernel, r, o, (double)own[o], y[o]);
    }
    free(y);
    free(magnitude);
}

static void check(uint32_t rank, uint32_t in, uint32_t out, uint32_t requests)
{
    struct world world;
    world_open(&world, rank, in, out, requests);
    for (size_t k = 0; tb_kernel_at(k); k++) {
        float *loop = run(&world, tb_lora_loop, tb_kernel_at(k)), *bgmv = run(&world, tb_lora_bgmv, tb_kernel_at(k));
        compare(&world, tb_kernel_at(k)->name, loop);
        cr_assert_eq(memcmp(loop, bgmv, world.y_count * sizeof *loop), 0, "%s: rank %u, %u requests", tb_kernel_at(k)->name, rank,
                     requests);
        free(loop);
        free(bgmv);
    }
    world_close(&world);
}

Test(lora, kernels_give_the_numbers_of_the_reference_and_batches_the_bits_of_the_loop, .timeout = 120)
{
    static const uint32_t ranks[] = {1, 5, 8, 16, 32, 64}, requests[] = {0, 1, 2, 3, 7, 40};
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
        for (size_t n = 0; n < sizeof requests / sizeof *requests; n++)
            check(ranks[r], 96, 64, requests[n]);
}

Test(lora, sizes_of_models, .timeout = 120)
{
    check(8, 2048, 2048, 5);
    check(64, 4096, 1024, 3);
    check(16, 1024, 4096, 4);
}

Test(lora, largest_batch_with_one_adapter_and_with_many, .timeout = 120)
{
    check(64, TB_LORA_PANEL, TB_LORA_PANEL, TB_LORA_BATCH_MAX);
    check(1, 64, 64, TB_LORA_BATCH_MAX);
}

Test(lora, there_is_one_for_every_kernel)
{
    for (size_t k = 0; tb_kernel_at(k); k++)
        cr_expect_not_null(tb_lora_kernel(tb_kernel_at(k)), "%s", tb_kernel_at(k)->name);
    cr_expect_null(tb_lora_kernel(NULL));
}
