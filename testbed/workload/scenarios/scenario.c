// SPDX-License-Identifier: Apache-2.0
//
// scenario: see scenario.h.

#include "testbed/workload/scenarios/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tb_scenario_close(struct tb_scenario *scenario)
{
    if (!scenario)
        return;
    free(scenario->requests);
    free(scenario->ids);
    free(scenario);
}

static int compare_tokens(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int tb_scenario_seal(struct tb_scenario *scenario)
{
    uint32_t *tokens = calloc(scenario->count + 1, sizeof *tokens);
    if (!tokens || scenario->count == 0) {
        free(tokens);
        return tokens ? -EINVAL : -ENOMEM;
    }
    for (size_t i = 0; i < scenario->count; i++)
        tokens[i] = scenario->requests[i].prompt_tokens + scenario->requests[i].output_tokens;
    qsort(tokens, scenario->count, sizeof *tokens, compare_tokens);
    scenario->median_tokens = tokens[scenario->count / 2];
    scenario->most_tokens = tokens[scenario->count - 1];
    free(tokens);
    return 0;
}

static void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    size_t more = *room ? *room * 2 : 256;
    void *grown = reallocarray(array, more, size);
    *room = grown ? more : *room;
    return grown;
}

int tb_scenario_add(struct tb_scenario *scenario, const struct tb_request *request)
{
    void *requests = grow(scenario->requests, scenario->count, &scenario->room, sizeof *scenario->requests);
    if (!requests)
        return -ENOMEM;
    scenario->requests = requests;
    scenario->requests[scenario->count] = *request;
    scenario->requests[scenario->count++].ids_first = (uint32_t)scenario->ids_count;
    return 0;
}

int tb_scenario_add_id(struct tb_scenario *scenario, uint64_t id)
{
    void *ids = grow(scenario->ids, scenario->ids_count, &scenario->ids_room, sizeof *scenario->ids);
    if (!ids)
        return -ENOMEM;
    scenario->ids = ids;
    scenario->ids[scenario->ids_count++] = id;
    scenario->requests[scenario->count - 1].ids_count++;
    return 0;
}

// --- what a request does -------------------------------------------------------------------------------------------------------

// splitmix64 (S. Vigna, public domain), of what names the event.
static uint64_t event(const struct tb_scenario *scenario, uint32_t request, uint32_t step, uint32_t which)
{
    uint64_t x = scenario->seed ^ ((uint64_t)request << 32 | step) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)which << 57;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint32_t tb_scenario_accepted(const struct tb_scenario *scenario, uint32_t request, uint32_t step)
{
    uint32_t accepted = 0;
    while (accepted < scenario->requests[request].drafts &&
           event(scenario, request, step, accepted) % 100 < scenario->accept_percent)
        accepted++;
    return accepted;
}

// A beam is replaced by a better one in an eighth of its steps. Arbitrary: models and prompts differ by more than an order of
// magnitude in it.
uint32_t tb_scenario_parent(const struct tb_scenario *scenario, uint32_t request, uint32_t step, uint32_t b)
{
    enum { REPLACED_ONE_IN = 8 };
    uint64_t bits = event(scenario, request, step, b);
    return bits % REPLACED_ONE_IN ? b : (uint32_t)(bits >> 32) % scenario->requests[request].width;
}
