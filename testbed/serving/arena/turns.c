// SPDX-License-Identifier: Apache-2.0
//
// turns: see turns.h.

#include "testbed/serving/arena/turns.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/cache/id_map.h"

// `last` says of the number of an id whose last complete block it is.
static void turn_find(const struct tb_scenario *scenario, uint32_t request, struct tb_id_map *map, uint32_t last[],
                      struct tb_turn turns[])
{
    const struct tb_request *from = &scenario->requests[request];
    const uint64_t *ids = scenario->ids + from->ids_first;
    uint32_t complete = from->prompt_tokens / scenario->id_tokens;
    complete = complete < from->ids_count ? complete : from->ids_count;
    struct tb_turn *turn = &turns[request];
    for (uint32_t i = complete; i > 0 && turn->before == TB_TURN_NONE; i--) {
        uint32_t *ended = &last[tb_id_map_number(map, ids[i - 1])];
        if (*ended == TB_TURN_NONE)
            continue;
        *turn = (struct tb_turn){*ended, turns[*ended].conversation, i * scenario->id_tokens};
        *ended = TB_TURN_NONE;
    }
    if (complete)
        last[tb_id_map_number(map, ids[complete - 1])] = request;
}

int tb_turns(const struct tb_scenario *scenario, struct tb_turn **out)
{
    struct tb_id_map map = {0};
    int error = tb_id_map_open(&map, scenario->ids_count);
    uint32_t *last = malloc((scenario->ids_count + 1) * sizeof *last);
    *out = malloc((scenario->count + 1) * sizeof **out);
    if (error || !last || !*out) {
        free(*out);
        *out = NULL;
        error = -ENOMEM;
    }
    for (size_t i = 0; i < scenario->ids_count && !error; i++)
        last[i] = TB_TURN_NONE;
    for (uint32_t i = 0; i < scenario->count && !error; i++) {
        (*out)[i] = (struct tb_turn){.before = TB_TURN_NONE, .conversation = i};
        if (scenario->id_tokens)
            turn_find(scenario, i, &map, last, *out);
    }
    tb_id_map_close(&map);
    free(last);
    return error;
}
