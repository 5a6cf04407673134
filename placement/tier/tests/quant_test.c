// SPDX-License-Identifier: Apache-2.0
//
// quant: every kernel that this CPU has, against the scalar one bit for bit, and against the bound, the proof and the refusals that
// quant.h and quant.c state. The numbers of f16 are so few that most tests walk through all of them.
#include "placement/tier/quant_kernels.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// cr_assert() costs more than a group's conversion even where it holds, and millions of them are checked.
#define HOLDS(condition, ...)                                                                                                      \
    do {                                                                                                                           \
        if (!(condition))                                                                                                          \
            cr_assert_fail(__VA_ARGS__);                                                                                           \
    } while (0)

enum { GROUP = LOCUS_INT8_GROUP, GROUP_BYTES = LOCUS_INT8_GROUP_BYTES, Q_OFFSET = 2 };

static uint64_t seed = 1;

// quant_kernel_at() asks the CPU each time, which takes a virtual machine longer than a test.
static const struct quant_kernel *kernels[8];
static size_t kernels_count;

static void kernels_find(void)
{
    while (quant_kernel_at(kernels_count)) {
        cr_assert_lt(kernels_count, sizeof kernels / sizeof *kernels);
        kernels[kernels_count] = quant_kernel_at(kernels_count);
        kernels_count++;
    }
}
TestSuite(quant, .init = kernels_find);

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

// Written from the format alone: sign, exponent and fraction.
static double number_of(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 0x3ff;
    double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

// Between an f16 and the next one away from 0.
static double distance_at(uint16_t half)
{
    int exponent = half >> 10 & 31;
    return ldexp(1, (exponent ? exponent : 1) - 25);
}

static uint16_t largest_of(const char *group)
{
    uint16_t most;
    memcpy(&most, group, sizeof most);
    return most;
}

// Magnitude at most that of `most`; any sign, any exponent.
static uint16_t draw_within(uint16_t most)
{
    return (uint16_t)(draw(2) << 15 | draw(most + 1u));
}

static void fill(uint16_t *group, uint16_t most)
{
    for (unsigned i = 0; i < GROUP; i++)
        group[i] = draw_within(most);
    group[draw(GROUP)] = (uint16_t)(draw(2) << 15 | most);
}

// --- one group, all kernels -----------------------------------------------------------------------------------------------------

static void from_all(char *to, const uint16_t *from)
{
    HOLDS(quant_scalar.from_f16(to, from, 1), "scalar refused");
    for (size_t k = 0; k < kernels_count; k++) {
        char other[GROUP_BYTES];
        HOLDS(kernels[k]->from_f16(other, from, 1), "%s refused", kernels[k]->name);
        HOLDS(memcmp(other, to, sizeof other) == 0, "%s, largest %04x", kernels[k]->name, largest_of(to));
    }
}

static void to_all(uint16_t *to, const char *from)
{
    HOLDS(quant_scalar.to_f16(to, from, 1), "scalar refused");
    for (size_t k = 0; k < kernels_count; k++) {
        _Alignas(64) uint16_t other[GROUP];
        HOLDS(kernels[k]->to_f16(other, from, 1), "%s refused", kernels[k]->name);
        HOLDS(memcmp(other, to, sizeof other) == 0, "%s, largest %04x", kernels[k]->name, largest_of(from));
        memset(other, 0xff, sizeof other);
        HOLDS(kernels[k]->stream_f16(other, from, 1), "%s refused", kernels[k]->name);
        HOLDS(memcmp(other, to, sizeof other) == 0, "%s streamed, largest %04x", kernels[k]->name, largest_of(from));
    }
}

static void expect_bound(const uint16_t *x, const char *stored, const uint16_t *back)
{
    double largest = number_of(largest_of(stored));
    for (unsigned i = 0; i < GROUP; i++) {
        double error = fabs(number_of(x[i]) - number_of(back[i]));
        double bound = largest / 127 * (0.5 + 0x1p-15) + distance_at(back[i]) / 2;
        HOLDS(error <= bound, "%04x came back as %04x, largest %04x", x[i], back[i], largest_of(stored));
        HOLDS(largest_of(stored) < 0x400 || error < 0.0045 * largest, "%04x: not within 0.0045", x[i]);
    }
}

// There, back, and there again.
static void expect_trips(const uint16_t *x, char *stored)
{
    char again[GROUP_BYTES];
    uint16_t back[GROUP];
    from_all(stored, x);
    to_all(back, stored);
    from_all(again, back);
    HOLDS(memcmp(again, stored, sizeof again) == 0, "second trip, largest %04x", largest_of(stored));
    expect_bound(x, stored, back);
}

Test(quant, best_kernel_comes_first_and_scalar_last)
{
    cr_assert_gt(kernels_count, 0);
    cr_expect_eq(kernels[kernels_count - 1], &quant_scalar);
#if defined(__aarch64__)
    cr_expect_eq(kernels_count, 2);
    cr_expect_eq(kernels[0], &quant_neon);
#elif defined(__x86_64__)
    cr_expect_eq(kernels_count, 1u + quant_avx2.usable() + quant_avx512.usable());
    cr_expect(!__builtin_cpu_supports("avx512f") || !quant_avx2.usable() || kernels[0] == &quant_avx512);
#endif
}

// What the second trip gives depends only on what is stored, so this is all of it: each q of each largest magnitude, as it is
// after a first trip.
Test(quant, second_round_trip_is_exact_for_every_scale_and_level)
{
    for (uint16_t most = 1; most < QUANT_INFINITE; most++)
        for (int first = -127; first <= 127; first += GROUP - 1) {
            char made[GROUP_BYTES], stored[GROUP_BYTES];
            uint16_t x[GROUP];
            memcpy(made, &most, sizeof most);
            made[Q_OFFSET] = 127;
            for (int i = 1; i < GROUP; i++)
                made[Q_OFFSET + i] = (char)(first + i - 1 < 127 ? first + i - 1 : 127);
            to_all(x, made);
            HOLDS(x[0] == most, "%04x came back as %04x", most, x[0]);
            expect_trips(x, stored);
            HOLDS(most < 127 || memcmp(stored, made, sizeof stored) == 0, "another level, largest %04x", most);
        }
}

Test(quant, every_number_keeps_the_bound_in_groups_of_every_scale)
{
    char stored[GROUP_BYTES];
    uint16_t x[GROUP];
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t least = bits & QUANT_MAGNITUDE;
        if (least >= QUANT_INFINITE)
            continue;
        fill(x, (uint16_t)(least + draw(QUANT_INFINITE - least)));
        x[draw(GROUP)] = (uint16_t)bits; // perhaps where the largest was
        expect_trips(x, stored);
        fill(x, least);
        x[GROUP - 1] = (uint16_t)bits;
        expect_trips(x, stored);
    }
}

Test(quant, neighbours_share_a_scale_through_all_numbers)
{
    char stored[GROUP_BYTES];
    uint16_t x[GROUP];
    for (uint32_t begin = 0; begin < 0x10000; begin += GROUP)
        if ((begin & QUANT_MAGNITUDE) < QUANT_INFINITE) {
            for (uint32_t i = 0; i < GROUP; i++)
                x[i] = (uint16_t)(begin + i);
            expect_trips(x, stored);
        }
}

Test(quant, zeros_come_back_as_zero_and_the_largest_as_it_was)
{
    char stored[GROUP_BYTES];
    uint16_t x[GROUP] = {0, 0x8000}, back[GROUP];
    static const char zeros[GROUP_BYTES];
    from_all(stored, x);
    cr_expect_arr_eq(stored, zeros, sizeof stored);
    to_all(back, stored);
    for (unsigned i = 0; i < GROUP; i++)
        cr_expect_eq(back[i], 0);
    for (uint16_t most = 1; most < QUANT_INFINITE; most++) {
        x[2] = most;
        x[3] = (uint16_t)(0x8000 | most);
        from_all(stored, x);
        to_all(back, stored);
        HOLDS(memcmp(back + 2, x + 2, 2 * sizeof *x) == 0 && back[1] == 0, "%04x came back as %04x", most, back[2]);
    }
}

Test(quant, groups_of_the_least_numbers_are_exact)
{
    char stored[GROUP_BYTES];
    uint16_t x[GROUP], back[GROUP];
    for (uint16_t most = 1; most <= 127; most++)
        for (unsigned round = 0; round < 50; round++) {
            fill(x, most);
            from_all(stored, x);
            to_all(back, stored);
            for (unsigned i = 0; i < GROUP; i++)
                HOLDS(number_of(x[i]) == number_of(back[i]), "%04x came back as %04x", x[i], back[i]);
        }
}

Test(quant, infinite_and_no_numbers_are_refused_wherever_they_are)
{
    char stored[3 * GROUP_BYTES];
    uint16_t x[3 * GROUP] = {0};
    for (uint32_t bits = QUANT_INFINITE; bits <= 0xffff; bits += bits == QUANT_MAGNITUDE ? QUANT_INFINITE + 1 : 1)
        for (unsigned at = bits % 7; at < 3 * GROUP; at += 7) {
            x[at] = (uint16_t)bits;
            for (size_t k = 0; k < kernels_count; k++)
                HOLDS(!kernels[k]->from_f16(stored, x, 3), "%s: %04x at %u", kernels[k]->name, bits, at);
            HOLDS(locus_int8_from_f16(stored, x, 3 * GROUP) == -ERANGE, "%04x at %u", bits, at);
            HOLDS(locus_int8_from_f16(stored, x, at + 1) == -ERANGE, "%04x at %u, the last one", bits, at);
            HOLDS(locus_int8_from_f16(stored, x, at) == 0, "%04x behind the end, at %u", bits, at);
            x[at] = 0;
        }
}

Test(quant, bytes_that_were_not_written_by_it_are_refused)
{
    char stored[2 * GROUP_BYTES] = {0};
    _Alignas(64) uint16_t back[2 * GROUP];
    for (uint32_t bits = QUANT_INFINITE; bits <= 0xffff; bits++)
        for (unsigned group = 0; group < 2; group++) {
            uint16_t most = (uint16_t)bits;
            memcpy(stored + group * GROUP_BYTES, &most, sizeof most);
            for (size_t k = 0; k < kernels_count; k++)
                HOLDS(!kernels[k]->to_f16(back, stored, 2), "%s: %04x", kernels[k]->name, bits);
            HOLDS(locus_int8_to_f16(back, stored, 2 * GROUP) == -EBADMSG, "%04x in group %u", bits, group);
            HOLDS(locus_int8_to_f16_streamed(back, stored, 2 * GROUP) == -EBADMSG, "%04x in group %u", bits, group);
            HOLDS(locus_int8_to_f16(back, stored, GROUP + 1) == -EBADMSG, "%04x in group %u, the last one", bits, group);
            memset(stored + group * GROUP_BYTES, 0, sizeof most);
        }
}

Test(quant, all_kernels_agree_on_a_level_of_minus_128_that_is_finite)
{
    char stored[GROUP_BYTES];
    uint16_t back[GROUP];
    memset(stored, -128, sizeof stored);
    for (uint16_t most = 0; most < 0x7bf0; most++) {
        memcpy(stored, &most, sizeof most);
        to_all(back, stored);
        for (unsigned i = 0; i < GROUP; i++)
            HOLDS((back[i] & QUANT_MAGNITUDE) < QUANT_INFINITE, "%04x, largest %04x", back[i], most);
    }
}

// -128/127 of 65024 and more is beyond f16.
Test(quant, a_level_of_minus_128_is_refused_where_it_would_load_as_infinity)
{
    static const uint16_t largest[] = {0x7bf0, 0x7bf1, 0x7bff};
    char stored[2 * GROUP_BYTES];
    _Alignas(64) uint16_t back[2 * GROUP];
    for (size_t m = 0; m < sizeof largest / sizeof *largest; m++)
        for (unsigned at = 0; at < 2 * GROUP; at++) {
            memset(stored, -127, sizeof stored);
            memcpy(stored, &largest[m], sizeof *largest);
            memcpy(stored + GROUP_BYTES, &largest[m], sizeof *largest);
            stored[at / GROUP * GROUP_BYTES + Q_OFFSET + at % GROUP] = -128;
            for (size_t k = 0; k < 2 * kernels_count; k++) {
                const struct quant_kernel *kernel = kernels[k / 2];
                memset(back, 0, sizeof back);
                HOLDS(!(k % 2 ? kernel->to_f16 : kernel->stream_f16)(back, stored, 2), "%s: at %u", kernel->name, at);
                for (unsigned i = 0; i < 2 * GROUP; i++)
                    HOLDS((back[i] & QUANT_MAGNITUDE) < QUANT_INFINITE, "%s: %04x at %u", kernel->name, back[i], i);
            }
            HOLDS(locus_int8_to_f16(back, stored, 2 * GROUP) == -EBADMSG, "at %u", at);
            HOLDS(locus_int8_to_f16_streamed(back, stored, 2 * GROUP) == -EBADMSG, "at %u", at);
            HOLDS(locus_int8_to_f16(back, stored, GROUP + 1) == -EBADMSG, "at %u, the last one", at);
        }
}

Test(quant, the_bytes_of_more_numbers_than_there_can_be_are_more_than_there_can_be)
{
    cr_expect_eq(locus_int8_bytes(SIZE_MAX), SIZE_MAX);
    cr_expect_eq(locus_int8_bytes(SIZE_MAX / 2 + 1), SIZE_MAX);
    cr_expect_eq(locus_int8_bytes(SIZE_MAX / 2), (SIZE_MAX / 2 / GROUP + 1) * GROUP_BYTES);
}

// --- arrays ---------------------------------------------------------------------------------------------------------------------

enum { COUNT_MAX = 5 * GROUP + 3, GUARD = 8 };

// Exactly as many bytes as are needed, so that a sanitizer sees one too many; at an odd address.
static char *stored_new(size_t count)
{
    char *memory = malloc(locus_int8_bytes(count) + 1 + GUARD);
    cr_assert_not_null(memory);
    memset(memory, 0x5a, locus_int8_bytes(count) + 1 + GUARD);
    return memory;
}

Test(quant, arrays_of_every_length_are_those_of_their_groups)
{
    uint16_t x[COUNT_MAX + GROUP] = {0};
    for (unsigned i = 0; i < COUNT_MAX; i++)
        x[i] = draw_within(0x3c00);
    for (size_t count = 0; count <= COUNT_MAX; count++) {
        size_t groups = (count + GROUP - 1) / GROUP;
        uint16_t padded[COUNT_MAX + GROUP] = {0}, *back = malloc(count * sizeof *back + 1);
        char expected[(COUNT_MAX / GROUP + 1) * GROUP_BYTES], *stored = stored_new(count);
        memcpy(padded, x, count * sizeof *x);
        cr_assert_eq(locus_int8_bytes(count), groups * GROUP_BYTES);
        cr_assert(quant_scalar.from_f16(expected, padded, groups));
        cr_assert_eq(locus_int8_from_f16(stored + 1, x, count), 0);
        cr_assert_arr_eq(stored + 1, expected, groups * GROUP_BYTES);
        for (unsigned i = 0; i < GUARD; i++)
            cr_assert_eq(stored[1 + groups * GROUP_BYTES + i], 0x5a);
        cr_assert(quant_scalar.to_f16(padded, expected, groups));
        cr_assert_eq(locus_int8_to_f16(back, stored + 1, count), 0);
        cr_assert_arr_eq(back, padded, count * sizeof *back);
        for (size_t shift = 0; shift < 32; shift++) { // also where a line of the caches is not
            uint16_t *streamed = aligned_alloc(64, 64 + (shift + count) * sizeof *streamed / 64 * 64 + 64);
            memset(streamed, 0x5a, 2 * (shift + count + 1));
            cr_assert_eq(locus_int8_to_f16_streamed(streamed + shift, stored + 1, count), 0);
            cr_assert_arr_eq(streamed + shift, padded, count * sizeof *back);
            cr_assert(streamed[shift + count] == 0x5a5a && (shift == 0 || streamed[shift - 1] == 0x5a5a));
            free(streamed);
        }
        free(stored);
        free(back);
    }
}

Test(quant, parts_of_an_array_are_arrays)
{
    uint16_t x[COUNT_MAX], whole[COUNT_MAX], parts[COUNT_MAX];
    char stored[(COUNT_MAX / GROUP + 1) * GROUP_BYTES], joined[sizeof stored];
    for (unsigned i = 0; i < COUNT_MAX; i++)
        x[i] = draw_within(0x7bff);
    cr_assert_eq(locus_int8_from_f16(stored, x, COUNT_MAX), 0);
    cr_assert_eq(locus_int8_to_f16(whole, stored, COUNT_MAX), 0);
    cr_assert_eq(locus_int8_from_f16(joined, x, 2 * GROUP), 0);
    cr_assert_eq(locus_int8_from_f16(joined + locus_int8_bytes(2 * GROUP), x + 2 * GROUP, COUNT_MAX - 2 * GROUP), 0);
    cr_expect_arr_eq(joined, stored, sizeof stored);
    cr_assert_eq(locus_int8_to_f16(parts, stored, 3 * GROUP), 0);
    cr_assert_eq(locus_int8_to_f16(parts + 3 * GROUP, stored + locus_int8_bytes(3 * GROUP), COUNT_MAX - 3 * GROUP), 0);
    cr_expect_arr_eq(parts, whole, sizeof whole);
}
