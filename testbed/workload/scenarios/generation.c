// SPDX-License-Identifier: Apache-2.0
//
// generation: requests that decode in more than one way at once. Nobody publishes such traces, so these are made, from a seed.
//
// beam         2 to 8 beams share a prompt; each step goes on with the best, so that beams end and others fork
// speculative  each step appends drafted tokens beside the one that is decoded, and takes back those that are not accepted: 4
//              drafts, each accepted with a chance of 70 % if those before it were

#include <stdbool.h>

#include "testbed/workload/scenarios/make.h"
#include "testbed/workload/scenarios/scenario.h"

#define REQUESTS 2000u
#define GAP_NS 1000000000u // one request a second
#define PROMPT_TOKENS 64u, 2048u
#define OUTPUT_TOKENS 16u, 400u

static int make(struct tb_scenario *scenario, bool beams, uint16_t drafts)
{
    uint64_t random = scenario->seed, now_ns = 0;
    int error = 0;
    for (uint32_t i = 0; i < REQUESTS && !error; i++) {
        struct tb_request request = {
            .arrival_ns = now_ns,
            .prompt_tokens = tb_random_between(&random, PROMPT_TOKENS),
            .output_tokens = tb_random_between(&random, OUTPUT_TOKENS),
            .width = (uint16_t)(beams ? tb_random_between(&random, 2, TB_WIDTH_MAX) : 1),
            .drafts = drafts,
        };
        error = tb_scenario_add(scenario, &request);
        now_ns += tb_random_gap_ns(&random, GAP_NS);
    }
    return error;
}

static int make_beam(struct tb_scenario *scenario)
{
    scenario->seed = 1;
    return make(scenario, true, 0);
}

static int make_speculative(struct tb_scenario *scenario)
{
    scenario->seed = 2;
    scenario->accept_percent = 70;
    return make(scenario, false, 4);
}

static const struct tb_scenario_kind beam = {"beam", "2 to 8 beams share a prompt and fork as they go", make_beam};
TB_SCENARIO(beam);

static const struct tb_scenario_kind speculative = {"speculative", "4 drafted tokens a step, most of them accepted",
                                                    make_speculative};
TB_SCENARIO(speculative);
