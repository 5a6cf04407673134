// SPDX-License-Identifier: Apache-2.0
//
// known: see known.h.
#include "testbed/postulate/known.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"

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
        char before[64];
        size_t length = strlen(known->name);
        if (strncmp(need, known->name, length))
            continue;
        snprintf(before, sizeof before, "%s >= ", known->name);
        *least = 1;
        if (known->counted ? tb_number_word(need, before, "", 1, COUNT_MAX, least) && need[strlen(before)] != '0' : !need[length])
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
