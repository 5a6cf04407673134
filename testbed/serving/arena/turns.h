// SPDX-License-Identifier: Apache-2.0
//
// turns: which request of a scenario continues which earlier one, by the ids of its prompt.
//
// A request continues the latest one whose prompt's complete blocks all begin its own prompt; of several such the one with most
// blocks, and none that was continued before. What they have in common is those blocks: the text that the earlier one put out is in
// the later prompt, too, but has no ids, and is not counted. Two strangers with one system prompt and less than a block of their
// own are taken for turns, as a prefix cache takes them.
#ifndef TB_TURNS_H
#define TB_TURNS_H

#include "testbed/workload/scenarios/scenario.h"

#define TB_TURN_NONE UINT32_MAX

struct tb_turn {
    uint32_t before;            // the request that it continues; TB_TURN_NONE
    uint32_t conversation;      // the number of its first request
    uint32_t tokens;            // in common
};

// One for each request; none continues another where prompts have no ids. *out is malloc'd. 0 or -ENOMEM.
int tb_turns(const struct tb_scenario *scenario, struct tb_turn **out);

#endif
