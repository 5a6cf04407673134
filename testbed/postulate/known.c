// SPDX-License-Identifier: Apache-2.0
//
// known: see known.h.
#include "testbed/postulate/known.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 1048576ull

static const struct need {
    const char *name;
    bool counted;
} needs[] = {
    {"cpus", true},           {"numa_nodes", true}, {"cpu_nodes", true},       {"hardware", false},  {"mbind_ok", false},
    {"move_pages_ok", false}, {"policies", false},  {"workers_pinned", false}, {"libraries", false}, {"traces", false},
    {"emulator", false},      {"pytorch", false},   {"engine", false},
};

static const char *const gates[] = {
    "allocated == freed",
    "pushed == drained",
    "touched == expected",
    "handles home",
    "aa_ratio_ci contains 1",
    "aa_ratio_ci inside band",
    "paired_spread",
    "throttle == 0",
    "host_fit",
    "aa_equivalent",
    NULL,
};

const char *tb_need_name(const char *need, uint64_t *least)
{
    for (const struct need *known = needs; known < needs + sizeof needs / sizeof *needs; known++) {
        char canonical[64];
        size_t length = strlen(known->name);
        if (strncmp(need, known->name, length))
            continue;
        *least = known->counted && strlen(need) > length + 4 ? strtoull(need + length + 4, NULL, 10) : 1;
        snprintf(canonical, sizeof canonical, known->counted ? "%s >= %" PRIu64 : "%s", known->name, *least);
        if (strcmp(canonical, need) == 0 && *least > 0 && *least <= COUNT_MAX)
            return known->name;
    }
    return NULL;
}

bool tb_gate_known(const char *gate)
{
    for (unsigned i = 0; gates[i]; i++)
        if (strcmp(gate, gates[i]) == 0)
            return true;
    return false;
}

const char *tb_gate_at(unsigned i)
{
    return i < sizeof gates / sizeof *gates ? gates[i] : NULL;
}
