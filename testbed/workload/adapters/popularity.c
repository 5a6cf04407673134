// SPDX-License-Identifier: Apache-2.0
//
// popularity: see popularity.h.

#include "testbed/workload/adapters/popularity.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "testbed/stats/random.h"

#define DRAWS 9007199254740992.0 // 2^53: a double counts so far

// `last`: rank, from 1, of the piece's last adapter; 0: N.
static const struct {
    uint32_t last;
    double share;
} pieces[TB_POPULAR_CLASSES] = {{10, 0.28}, {100, 0.408}, {0, 0.312}}; // the first 10, up to 100, the rest

enum tb_popular tb_popular_class(uint32_t rank)
{
    return rank < pieces[0].last ? TB_POPULAR_TOP10 : rank < pieces[1].last ? TB_POPULAR_TOP100 : TB_POPULAR_REST;
}

// One operation a statement: no compiler fuses two of them into one rounding.
static double weight(uint32_t rank, enum tb_popular popular)
{
    double half = sqrt((double)rank), quarter = sqrt(half), eighth = sqrt(quarter);
    double divisor = half;
    divisor *= popular == TB_POPULAR_REST ? eighth : quarter;
    divisor *= popular == TB_POPULAR_REST ? (double)rank : 1;
    return 1 / divisor;
}

int tb_popularity_open(struct tb_popularity *popularity, uint32_t adapters)
{
    *popularity = (struct tb_popularity){.adapters = adapters};
    if (adapters < TB_POPULAR_LEAST || adapters > TB_ADAPTERS_MAX)
        return -EINVAL;
    popularity->below = malloc(adapters * sizeof *popularity->below);
    if (!popularity->below)
        return -ENOMEM;
    uint32_t rank = 1;
    double before = 0; // the share of the pieces before
    for (int piece = 0; piece < TB_POPULAR_CLASSES; piece++) {
        uint32_t first = rank, last = pieces[piece].last ? pieces[piece].last : adapters;
        double sum = 0, upto = 0;
        for (rank = first; rank <= last; rank++)
            sum += weight(rank, (enum tb_popular)piece);
        for (rank = first; rank <= last; rank++) {
            upto += weight(rank, (enum tb_popular)piece);
            double part = upto / sum;
            double share = part * pieces[piece].share;
            double below = before + share;
            popularity->below[rank - 1] = (uint64_t)(below * DRAWS);
        }
        before += pieces[piece].share;
        popularity->below[last - 1] = (uint64_t)(before * DRAWS); // exactly, however the sum was rounded
    }
    popularity->below[adapters - 1] = (uint64_t)DRAWS;
    return 0;
}

void tb_popularity_close(struct tb_popularity *popularity)
{
    free(popularity->below);
    *popularity = (struct tb_popularity){0};
}

// The first rank that the draw is below.
uint32_t tb_popularity_draw(const struct tb_popularity *popularity, uint64_t *random)
{
    uint64_t draw = tb_random_next(random) >> 11;
    uint32_t low = 0, high = popularity->adapters - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (draw < popularity->below[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void tb_popularity_uses(const struct tb_popularity *popularity, uint64_t seed, uint32_t again_percent, uint32_t ranks[],
                        uint32_t count)
{
    uint64_t random = seed;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t past = i < TB_AGAIN_USES ? i : TB_AGAIN_USES;
        bool again = past && again_percent && tb_random_next(&random) % 100 < again_percent;
        ranks[i] = again ? ranks[i - 1 - tb_random_next(&random) % past] : tb_popularity_draw(popularity, &random);
    }
}
