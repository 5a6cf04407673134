// SPDX-License-Identifier: Apache-2.0
//
// prompts: requests whose prompts have parts in common. Made, from a seed.
//
// few-shot  one of 20 lists of examples (512 to 4,096 tokens) before a question of its own (32 to 256)
// turns     conversations: each turn's prompt is the last prompt, the answer, and a new question; minutes lie between

#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/scenarios/make.h"
#include "testbed/workload/scenarios/scenario.h"

#define REQUESTS 4000u
#define ID_TOKENS 16u

// An id stands for all that came before it, so it is a function of the text's name and the place.
static uint64_t id_of(uint64_t text, uint32_t place)
{
    uint64_t state = text << 24 ^ place;
    return tb_random_next(&state);
}

// Ids of the common part, whole blocks only, then of the rest.
static int add(struct tb_scenario *scenario, const struct tb_request *request, uint64_t common, uint32_t common_tokens,
               uint64_t own)
{
    uint32_t ids = (request->prompt_tokens + ID_TOKENS - 1) / ID_TOKENS, shared = common_tokens / ID_TOKENS;
    int error = tb_scenario_add(scenario, request);
    for (uint32_t i = 0; i < ids && !error; i++)
        error = tb_scenario_add_id(scenario, i < shared ? id_of(common, i) : id_of(own, i));
    return error;
}

static int make_few_shot(struct tb_scenario *scenario)
{
    enum { LISTS = 20 };
    uint64_t random = scenario->seed = 3, now_ns = 0;
    uint32_t list_tokens[LISTS];
    int error = 0;
    scenario->id_tokens = ID_TOKENS;
    for (uint32_t i = 0; i < LISTS; i++)
        list_tokens[i] = tb_random_between(&random, 512, 4096);
    for (uint32_t i = 0; i < REQUESTS && !error; i++) {
        uint32_t list = tb_random_between(&random, 0, LISTS - 1);
        const struct tb_request request = {
            .arrival_ns = now_ns,
            .prompt_tokens = list_tokens[list] + tb_random_between(&random, 32, 256),
            .output_tokens = tb_random_between(&random, 1, 64),
            .width = 1,
        };
        error = add(scenario, &request, list, list_tokens[list], LISTS + i);
        now_ns += tb_random_gap_ns(&random, 500000000);
    }
    return error;
}

// A conversation's text only grows, so all of its turns take their ids from one name.
static int make_turns(struct tb_scenario *scenario)
{
    enum { TALKING = 64, TURNS_MAX = 8 };
    struct talk {
        uint64_t due_ns, name;
        uint32_t tokens, turns;
    } talks[TALKING] = {{0}};
    uint64_t random = scenario->seed = 4, names = 0;
    int error = 0;
    scenario->id_tokens = ID_TOKENS;
    for (uint32_t i = 0; i < TALKING; i++)
        talks[i].due_ns = tb_random_gap_ns(&random, 60000000000);
    for (uint32_t i = 0; i < REQUESTS && !error; i++) {
        struct talk *talk = &talks[0];
        for (uint32_t t = 1; t < TALKING; t++)
            talk = talks[t].due_ns < talk->due_ns ? &talks[t] : talk;
        if (talk->turns == 0)
            *talk = (struct talk){talk->due_ns, ++names, 0, tb_random_between(&random, 1, TURNS_MAX)};
        talk->tokens += tb_random_between(&random, 20, 600);
        const struct tb_request request = {
            .arrival_ns = talk->due_ns,
            .prompt_tokens = talk->tokens,
            .output_tokens = tb_random_between(&random, 20, 400),
            .width = 1,
        };
        error = add(scenario, &request, talk->name, talk->tokens, talk->name);
        talk->tokens += request.output_tokens;
        talk->turns--;
        talk->due_ns += tb_random_gap_ns(&random, 120000000000);
    }
    return error;
}

static const struct tb_scenario_kind few_shot = {"few-shot", "one of 20 lists of examples before each question", make_few_shot};
TB_SCENARIO(few_shot);

static const struct tb_scenario_kind turns = {"turns", "conversations of 1 to 8 turns, minutes apart", make_turns};
TB_SCENARIO(turns);
