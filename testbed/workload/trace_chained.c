// SPDX-License-Identifier: Apache-2.0
//
// trace_chained: do the ids of a trace form chains?
//
// An id stands for a block of a prompt and for everything before it. If one id follows two different ids, it does not, and a cache
// that looks prefixes up by id would hand out the wrong contents.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/workload/cache/id_map.h"
#include "testbed/workload/trace.h"

enum { UNSEEN, FIRST, BELOW };  // no request has had it yet; it begins prompts; it follows `parent`

struct above {
    uint64_t parent;
    uint8_t kind;
};

// As the file has it, with a sign or without.
static const char *id_text(const struct tb_trace *trace, uint64_t id, char out[24])
{
    snprintf(out, 24, trace->ids_above_2_63 ? "%" PRIu64 : "%" PRIi64, id);
    return out;
}

// `why` about an id that has another parent than before.
static int two_parents(const struct tb_trace *trace, uint32_t line, uint64_t id, struct above before, struct above now,
                       struct tb_why *why)
{
    char text[2][48], number[24];
    const struct above *above[2] = {&now, &before};
    for (int i = 0; i < 2; i++) {
        if (above[i]->kind == BELOW)
            snprintf(text[i], sizeof text[i], "follows %s", id_text(trace, above[i]->parent, number));
        else
            snprintf(text[i], sizeof text[i], "is the first");
    }
    tb_why_set(why, trace->path, line, "hash_ids: %s %s, and before that it %s: the ids are no chains", id_text(trace, id, number),
               text[0], text[1]);
    return -EINVAL;
}

static int check(const struct tb_trace *trace, struct tb_id_map *map, struct above above[], struct tb_why *why)
{
    for (size_t i = 0; i < trace->count; i++) {
        const struct tb_trace_request *request = &trace->requests[i];
        const uint64_t *ids = &trace->ids[request->ids];
        for (uint32_t j = 0; j < request->ids_count; j++) {
            struct above now = {j ? ids[j - 1] : 0, j ? BELOW : FIRST}, *known = &above[tb_id_map_number(map, ids[j])];
            if (known->kind == UNSEEN)
                *known = now;
            else if (known->kind != now.kind || known->parent != now.parent)
                return two_parents(trace, request->line, ids[j], *known, now, why);
        }
    }
    return 0;
}

int tb_trace_chained(const struct tb_trace *trace, struct tb_why *why)
{
    struct tb_id_map map;
    why->text[0] = '\0';
    if (trace->ids_count == 0) {
        tb_why_set(why, trace->path, 0, "no request has hash_ids");
        return -EINVAL;
    }
    int error = tb_id_map_open(&map, trace->ids_count);
    struct above *above = calloc(trace->ids_count, sizeof *above);
    if (error || !above) {
        tb_why_set(why, trace->path, 0, "out of memory");
        error = -ENOMEM;
    } else {
        error = check(trace, &map, above, why);
    }
    free(above);
    tb_id_map_close(&map);
    return error;
}
