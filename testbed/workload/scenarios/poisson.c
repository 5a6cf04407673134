// SPDX-License-Identifier: Apache-2.0
//
// poisson: requests that come independently of each other, all of one size. Made, from a seed.
//
// poisson  one a second in the mean; 256 tokens of a prompt, 64 of output

#include "testbed/workload/scenarios/make.h"
#include "testbed/workload/scenarios/scenario.h"

static int make(struct tb_scenario *scenario)
{
    enum { REQUESTS = 20000 };
    uint64_t random = scenario->seed = 6, now_ns = 0;
    int error = 0;
    for (uint32_t i = 0; i < REQUESTS && !error; i++) {
        const struct tb_request request = {.arrival_ns = now_ns, .prompt_tokens = 256, .output_tokens = 64, .width = 1};
        error = tb_scenario_add(scenario, &request);
        now_ns += tb_random_gap_ns(&random, 1000000000);
    }
    return error;
}

static const struct tb_scenario_kind poisson = {"poisson", "requests independent of each other, one a second, all of one size",
                                                make};
TB_SCENARIO(poisson);
