// SPDX-License-Identifier: Apache-2.0
//
// look: one table. Relatives share a colour and differ in shape.
#include "testbed/base/draw/look.h"

#include <string.h>

static const struct tb_look looks[] = {
    {"locus", "#0072B2", 7},           {"locus-backpressure", "#56B4E9", 13},
    {"locus-published", "#0072B2", 6}, {"locus-shared", "#56B4E9", 8},
    {"oracle", "#000000", 4},          {"null", "#777777", 2},
    {"mimalloc", "#D55E00", 9},        {"jemalloc", "#E69F00", 11},
    {"tcmalloc", "#CC79A7", 15},       {"glibc", "#009E73", 12},
    {"glibc-tuned", "#009E73", 13},    {"dpdk-stack", "#009E73", 1},
    {"home-steered", "#0072B2", 5},    {"home-borrow", "#56B4E9", 5},
    {"unsteered", "#D55E00", 2},       {"cross-node", "#D55E00", 5},
    {"one-node", "#000000", 5},        {"first-touch", "#E69F00", 7},
    {"preferred", "#CC79A7", 13},      {"preferred-many", "#CC79A7", 12},
    {"interleave", "#009E73", 7},      {"weighted-interleave", "#009E73", 6},
    {"bind-balancing", "#E69F00", 6},  {"repair", "#56B4E9", 11},
    {"locus-coloured", "#0072B2", 13}, {"oracle-coloured", "#000000", 6},
    {"locus-spsc", "#0072B2", 9},      {"locus-treiber", "#0072B2", 11},
};

static const struct tb_look others[] = {
    {"", "#CC79A7", 10}, {"", "#E69F00", 14}, {"", "#009E73", 8}, {"", "#D55E00", 3}, {"", "#777777", 12}, {"", "#000000", 1},
};

enum { LOOKS = sizeof looks / sizeof *looks, OTHERS = sizeof others / sizeof *others };

const struct tb_look *tb_look(const char *name, uint32_t otherwise)
{
    for (size_t i = 0; i < LOOKS; i++)
        if (strcmp(looks[i].name, name) == 0)
            return &looks[i];
    return &others[otherwise % OTHERS];
}
