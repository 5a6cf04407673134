// SPDX-License-Identifier: Apache-2.0
//
// zone: best fit and first fit against a naive arena, and the sets of numbers that they stand on.
#include "pages_test.h"

#include <stdlib.h>
#include <string.h>

#include "placement/pages/bits.h"

#define PAGES 96u

static uint32_t random_below(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u; // Knuth, 3.3.4
    return (uint32_t)(*state >> 33) % below;
}

Test(pages_zone, numbers_are_found_as_in_a_plain_array)
{
    const uint32_t limits[] = {1, 2, 63, 64, 65, 4096, 4097, 20000};
    uint64_t random = 7;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct bits bits;
        bool *plain = calloc(limits[i], sizeof *plain);
        cr_assert_eq(bits_open(&bits, limits[i]), 0);
        cr_expect_eq(bits_last(&bits), BITS_NONE);
        for (int step = 0; step < 300; step++) {
            uint32_t number = random_below(&random, limits[i]), from = random_below(&random, limits[i]), next = from,
                     last = limits[i];
            plain[number] = random_below(&random, 2);
            (plain[number] ? bits_set : bits_clear)(&bits, number);
            while (next < limits[i] && !plain[next])
                next++;
            while (last > 0 && !plain[last - 1])
                last--;
            cr_assert_eq(bits_next(&bits, from), next < limits[i] ? next : BITS_NONE);
            cr_assert_eq(bits_last(&bits), last > 0 ? last - 1 : BITS_NONE);
        }
        bits_close(&bits);
        free(plain);
    }
}

// The length of the hole that best fit must cut, or the place where first fit must begin; PAGES + 1: there is none.
static uint32_t expected(const bool used[], uint32_t length, bool first_fit)
{
    uint32_t best = PAGES + 1;
    for (uint32_t at = 0, end; at < PAGES; at = end + 1) {
        for (end = at; end < PAGES && !used[end]; end++)
            ;
        if (end - at >= length && first_fit)
            return at;
        if (end - at >= length && end - at < best)
            best = end - at;
    }
    return best;
}

static uint32_t hole_around(const bool used[], uint32_t at)
{
    uint32_t begin = at, end = at;
    while (begin > 0 && !used[begin - 1])
        begin--;
    while (end < PAGES && !used[end])
        end++;
    return end - begin;
}

static void walk(bool first_fit, uint64_t seed)
{
    struct locus_pages_config config = arena_config(PAGES);
    config.first_fit = first_fit;
    struct locus_pages *pages = arena_of(&config);
    bool used[PAGES] = {0};
    locus_range held[PAGES];
    uint32_t lengths[PAGES], count = 0;
    for (int step = 0; step < 4000; step++) {
        if (count > 0 && random_below(&seed, 2)) {
            uint32_t i = random_below(&seed, count);
            cr_assert_eq(locus_pages_unpin(pages, held[i]), 0);
            cr_assert_eq(locus_pages_free(pages, NULL, held[i]), 0);
            memset(used + first_page(held[i]), 0, lengths[i]);
            held[i] = held[--count];
            lengths[i] = lengths[count];
            continue;
        }
        uint32_t length = 1 + random_below(&seed, 9), wanted = expected(used, length, first_fit);
        int error = ask_for(pages, LOCUS_PAGES_KV, length, 1, &held[count]);
        cr_assert_eq(error, wanted > PAGES ? -ENOMEM : 0);
        if (error)
            continue;
        uint32_t first = first_page(held[count]);
        for (uint32_t i = first; i < first + length; i++)
            cr_assert_not(used[i], "page %u is given out twice", i);
        cr_assert_eq(first_fit ? first : hole_around(used, first), wanted);
        memset(used + first, 1, length);
        lengths[count++] = length;
    }
}

Test(pages_zone, best_fit_cuts_the_smallest_hole)
{
    walk(false, 3);
}

Test(pages_zone, first_fit_takes_the_lowest_place)
{
    walk(true, 5);
}
