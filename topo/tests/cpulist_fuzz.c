// SPDX-License-Identifier: Apache-2.0
//
// cpulist fuzzer: whatever the parser accepts, it must accept again from its own canonical spelling, with the same set. The input
// is copied into a block of exactly its size, so that a read past the end is caught.
#include "topo/cpulist.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

// At most 5 characters a number and a comma.
static char spelled[TOPO_ID_MAX * 6u];

static size_t spell(const struct topo_idset *set)
{
    size_t length = 0;
    for (unsigned id = 0; id < TOPO_ID_MAX; id++)
        if (topo_idset_has(set, id))
            length += (size_t)snprintf(spelled + length, sizeof(spelled) - length, "%s%u", length ? "," : "", id);
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct topo_idset first;
    struct topo_idset again;
    char *text = malloc(bytes ? bytes : 1);
    if (!text)
        return 0;
    memcpy(text, data, bytes);
    int error = topo_cpulist_parse(text, bytes, &first);
    free(text);
    if (!error && (topo_cpulist_parse(spelled, spell(&first), &again) || memcmp(&first, &again, sizeof(first)) != 0))
        abort();
    return 0;
}
