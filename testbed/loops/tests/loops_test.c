// SPDX-License-Identifier: Apache-2.0
//
// loops: each kernel moves what it was told to, its sum shows a line that was left out, and the walk meets every line.
#include "testbed/loops/chase.h"
#include "testbed/loops/gang.h"
#include "testbed/loops/kernels.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES 1000u // no multiple of what a loop takes at once
#define GUARD 0x5a

static uint64_t *buffer;

static char *line_at(uint64_t line)
{
    return (char *)buffer + line * TB_LINE_BYTES;
}

static void open_buffer(void)
{
    buffer = aligned_alloc(TB_LINE_BYTES, 5 * LINES * TB_LINE_BYTES);
    memset(buffer, GUARD, 5 * LINES * TB_LINE_BYTES);
}

static void close_buffer(void)
{
    free(buffer);
}

static bool untouched(uint64_t from, uint64_t to)
{
    for (char *at = line_at(from); at < line_at(to); at++)
        if (*at != GUARD)
            return false;
    return true;
}

static uint64_t slow_sum(uint64_t from, uint64_t lines)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < lines * TB_LINE_WORDS; i++)
        sum += buffer[from * TB_LINE_WORDS + i];
    return sum;
}

Test(matrix_kernels, pattern_sum_is_the_sum_of_the_pattern)
{
    for (uint64_t lines = 0; lines < 20; lines++) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < lines; i++)
            sum += 8 * (UINT64_MAX - 5 + 3 * i);
        cr_assert_eq(tb_pattern_sum(lines, UINT64_MAX - 5, 3), sum);
    }
}

Test(matrix_kernels, there_is_a_set_for_every_cpu)
{
    cr_assert_eq(tb_kernels_best(), tb_kernels_at(0));
    unsigned sets = 0;
    while (tb_kernels_at(sets))
        sets++;
    cr_assert_geq(sets, 1);
    cr_assert_str_eq(tb_kernels_at(sets - 1)->name, "base");
}

static void writes(struct tb_moved (*write)(void *, uint64_t, uint64_t, uint64_t), uint64_t lines)
{
    memset(buffer, GUARD, 5 * LINES * TB_LINE_BYTES);
    struct tb_moved moved = write(line_at(1), lines, 70, 3);
    cr_assert_eq(moved.bytes, lines * TB_LINE_BYTES);
    cr_assert(untouched(0, 1) && untouched(1 + lines, LINES + 2), "%u lines and no more", (unsigned)lines);
    for (uint64_t i = 0; i < lines * TB_LINE_WORDS; i++)
        cr_assert_eq(buffer[TB_LINE_WORDS + i], 70 + 3 * (i / TB_LINE_WORDS));
}

Test(matrix_kernels, write_just_their_lines, .init = open_buffer, .fini = close_buffer)
{
    for (unsigned set = 0; tb_kernels_at(set); set++)
        for (uint64_t lines = 0; lines <= LINES; lines = lines < 20 ? lines + 1 : 10 * lines - 100 * (lines == 20)) {
            writes(tb_kernels_at(set)->write, lines);
            writes(tb_kernels_at(set)->nt_write, lines);
        }
}

Test(matrix_kernels, read_just_their_lines, .init = open_buffer, .fini = close_buffer)
{
    for (unsigned set = 0; tb_kernels_at(set); set++) {
        const struct tb_kernels *kernels = tb_kernels_at(set);
        kernels->write(line_at(1), LINES, 1, 1);
        for (uint64_t lines = 0; lines <= 20; lines++) {
            struct tb_moved moved = kernels->read(line_at(1), lines), slow = kernels->read_slowly(line_at(1), lines, 2);
            cr_assert_eq(moved.bytes, lines * TB_LINE_BYTES);
            cr_assert_eq(moved.sum, tb_pattern_sum(lines, 1, 1), "%s, %u lines", kernels->name, (unsigned)lines);
            cr_assert(slow.bytes == moved.bytes && slow.sum == moved.sum);
        }
        cr_assert_eq(kernels->read(line_at(1), LINES).sum, tb_pattern_sum(LINES, 1, 1));
    }
}

Test(matrix_kernels, mix_just_their_lines, .init = open_buffer, .fini = close_buffer)
{
    for (unsigned set = 0; tb_kernels_at(set); set++)
        for (uint64_t sources = 1; sources <= TB_MIX_SOURCES_MAX; sources++) {
            uint64_t lines = 237, target = 1 + sources * lines;
            memset(buffer, GUARD, 5 * LINES * TB_LINE_BYTES);
            tb_kernels_at(set)->write(line_at(1), sources * lines, 9, 1);
            struct tb_moved moved = tb_kernels_at(set)->mix[sources - 1](line_at(target), line_at(1), lines, 1000);
            cr_assert_eq(moved.bytes, (sources + 1) * lines * TB_LINE_BYTES);
            cr_assert(untouched(0, 1) && untouched(target + lines, target + lines + 1));
            cr_assert_eq(slow_sum(1, sources * lines), tb_pattern_sum(sources * lines, 9, 1), "the sources stay");
            cr_assert_eq(slow_sum(target, lines), tb_pattern_sum(sources * lines, 9, 1) + lines * TB_LINE_WORDS * 1000);
            uint64_t first = 0;
            for (uint64_t s = 0; s < sources; s++)
                first += 9 + s * lines;
            cr_assert_eq(*(uint64_t *)line_at(target), first + 1000, "line by line");
        }
}

Test(matrix_kernels, nt_copy_just_their_lines, .init = open_buffer, .fini = close_buffer)
{
    for (unsigned set = 0; tb_kernels_at(set); set++)
        for (uint64_t lines = 0; lines <= 100; lines++)
            for (int ahead = 0; ahead < 2; ahead++) {
                uint64_t target = 2 + lines;
                memset(buffer, GUARD, 5 * LINES * TB_LINE_BYTES);
                for (uint64_t i = 0; i < lines * TB_LINE_WORDS; i++)
                    buffer[TB_LINE_WORDS + i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
                struct tb_moved moved = tb_kernels_at(set)->nt_copy(line_at(target), line_at(1), lines, ahead ? line_at(3) : NULL);
                tb_nt_fence();
                cr_assert_eq(moved.bytes, 2 * lines * TB_LINE_BYTES);
                cr_assert(untouched(0, 1) && untouched(1 + lines, target) && untouched(target + lines, target + lines + 2));
                cr_assert_eq(memcmp(line_at(target), line_at(1), lines * TB_LINE_BYTES), 0, "%s, %u lines",
                             tb_kernels_at(set)->name, (unsigned)lines);
            }
}

// Any line that is left out, or taken for another, shows in the sum.
Test(matrix_kernels, sum_shows_a_line_that_was_left_out, .init = open_buffer, .fini = close_buffer)
{
    const struct tb_kernels *kernels = tb_kernels_best();
    uint64_t step = UINT64_C(1) << 40;
    for (uint64_t left_out = 0; left_out < LINES; left_out += 37) {
        kernels->write(line_at(0), LINES, 1, 1);
        kernels->write(line_at(0), left_out, 1 + step, 1);
        kernels->write(line_at(left_out + 1), LINES - left_out - 1, 2 + left_out + step, 1);
        cr_assert_neq(kernels->read(line_at(0), LINES).sum, tb_pattern_sum(LINES, 1 + step, 1));
        kernels->write(line_at(left_out), 1, 1 + left_out + step, 1);
        cr_assert_eq(kernels->read(line_at(0), LINES).sum, tb_pattern_sum(LINES, 1 + step, 1));
    }
}

// --- chase ---------------------------------------------------------------------------------------------------------------------

static void meets_every_line(uint64_t lines, uint64_t seed)
{
    bool *met = calloc(lines, sizeof *met);
    cr_assert_eq(tb_chase_build(buffer, lines, seed), 0);
    const struct tb_chase_line *start = (const void *)buffer, *at = start;
    for (uint64_t step = 0; step < lines; step++) {
        uint64_t line = (uint64_t)((const char *)at - (const char *)buffer) / TB_LINE_BYTES;
        cr_assert(line < lines && !met[line], "a line is met once");
        met[line] = true;
        cr_assert_eq(tb_chase_number(at), (tb_chase_number(start) + step) % lines, "and knows its number");
        at = tb_chase_walk(at, 1);
    }
    cr_assert_eq(at, start, "one cycle");
    free(met);
}

Test(matrix_chase, is_one_cycle_of_all_lines, .init = open_buffer, .fini = close_buffer)
{
    for (uint64_t lines = 1; lines < 40; lines++)
        meets_every_line(lines, lines);
    meets_every_line(5 * LINES, 1);
}

Test(matrix_chase, walks_as_many_steps_as_told, .init = open_buffer, .fini = close_buffer)
{
    cr_assert_eq(tb_chase_build(buffer, LINES, 7), 0);
    const struct tb_chase_line *start = (const void *)buffer;
    for (uint64_t steps = 0; steps < 3 * LINES; steps += 13)
        cr_assert_eq(tb_chase_number(tb_chase_walk(start, steps)), (tb_chase_number(start) + steps) % LINES);
}

// Lines that follow each other in the cycle lie in each other's neighbourhood no more often than chance would have it: a
// prefetcher finds nothing.
Test(matrix_chase, has_no_order_that_could_be_guessed, .init = open_buffer, .fini = close_buffer)
{
    unsigned near = 0;
    cr_assert_eq(tb_chase_build(buffer, 5 * LINES, 3), 0);
    const char *at = (const char *)buffer;
    for (unsigned i = 0; i < 5 * LINES; i++) {
        const char *next = (const char *)tb_chase_walk((const void *)at, 1);
        long lines = (next - at) / (long)TB_LINE_BYTES;
        near += lines >= -8 && lines <= 8;
        at = next;
    }
    cr_assert_lt(near, 40, "%u of 5000 steps; 16 are to be expected", near);
}

Test(matrix_chase, seeds_make_the_order, .init = open_buffer, .fini = close_buffer)
{
    uint64_t first[LINES * TB_LINE_WORDS];
    tb_chase_build(buffer, LINES, 3);
    memcpy(first, buffer, sizeof first);
    tb_chase_build(buffer, LINES, 3);
    cr_assert_eq(memcmp(first, buffer, sizeof first), 0);
    tb_chase_build(buffer, LINES, 4);
    cr_assert_neq(memcmp(first, buffer, sizeof first), 0);
}

Test(matrix_chase, has_an_end_to_its_lines, .init = open_buffer, .fini = close_buffer)
{
    cr_assert_eq(tb_chase_build(buffer, UINT64_C(1) << 32, 1), -E2BIG);
}

// --- gang ----------------------------------------------------------------------------------------------------------------------

struct parade {
    atomic_uint prepared, worked, checked;
    atomic_bool early;
};

static void parade_prepare(void *context, unsigned who)
{
    struct parade *parade = context;
    usleep(1000 * (who + 1));
    atomic_fetch_add(&parade->prepared, 1);
}

static void parade_work(void *context, unsigned who)
{
    struct parade *parade = context;
    (void)who;
    if (atomic_load(&parade->prepared) != 3)
        atomic_store(&parade->early, true);
    usleep(2000);
    atomic_fetch_add(&parade->worked, 1);
}

static void parade_check(void *context, unsigned who)
{
    struct parade *parade = context;
    (void)who;
    if (atomic_load(&parade->worked) != 3)
        atomic_store(&parade->early, true);
    atomic_fetch_add(&parade->checked, 1);
}

Test(matrix_gang, works_when_all_are_ready)
{
    struct parade parade = {0};
    int cpus[] = {0, 0, 0}, culprit = 5;
    uint64_t took_ns;
    struct tb_gang_job job = {
        .cpus = cpus, .count = 3, .prepare = parade_prepare, .work = parade_work, .check = parade_check, .context = &parade};
    int result = tb_gang_run(&job, &took_ns, &culprit);
    if (result == -EPERM || result == -ENODEV)
        cr_skip_test("needs CPU 0");
    cr_assert_eq(result, 0);
    cr_assert_eq(culprit, -1);
    cr_assert(!parade.early && parade.checked == 3);
    cr_assert_geq(took_ns, 2000000);
}

Test(matrix_gang, does_nothing_when_one_cannot_be_there)
{
    struct parade parade = {0};
    int cpus[] = {0, 8191, 0}, culprit = 5;
    uint64_t took_ns = 1;
    struct tb_gang_job job = {.cpus = cpus, .count = 3, .work = parade_work, .context = &parade};
    cr_assert_eq(tb_gang_run(&job, &took_ns, &culprit), -ENODEV);
    cr_assert_eq(culprit, 8191);
    cr_assert_eq(parade.worked, 0);
}
