// SPDX-License-Identifier: Apache-2.0
//
// looks: see looks.h.
#include "testbed/stats/looks.h"

#include <math.h>

size_t tb_looks(uint64_t first, uint64_t last, uint64_t out[TB_LOOKS_MAX])
{
    size_t count = 0;
    for (uint64_t rounds = first; rounds < last && count + 1 < TB_LOOKS_MAX; rounds *= 2)
        out[count++] = rounds;
    out[count++] = last;
    return count;
}

static double spent(double alpha, double share)
{
    return alpha * log1p((exp(1) - 1) * share);
}

double tb_look_confidence(double confidence, const uint64_t looks[], size_t count, size_t look)
{
    double alpha = 1 - confidence, last = (double)looks[count - 1];
    double before = look ? spent(alpha, (double)looks[look - 1] / last) : 0;
    return count == 1 ? confidence : 1 - (spent(alpha, (double)looks[look] / last) - before);
}
