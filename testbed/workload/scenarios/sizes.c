// SPDX-License-Identifier: Apache-2.0
//
// sizes: requests of every length alike. Made, from a seed.
//
// random-sizes  2, 4, ... 512 tokens in all, each as likely; one of them is the output

#include <errno.h>

#include "testbed/workload/scenarios/make.h"
#include "testbed/workload/scenarios/scenario.h"

static int make(struct tb_scenario *scenario)
{
    enum { REQUESTS = 5000 };
    uint64_t random = scenario->seed = 5, now_ns = 0;
    int error = 0;
    for (uint32_t i = 0; i < REQUESTS && !error; i++) {
        const struct tb_request request = {
            .arrival_ns = now_ns,
            .prompt_tokens = 2 * tb_random_between(&random, 1, 256) - 1,
            .output_tokens = 1,
            .width = 1,
        };
        error = tb_scenario_add(scenario, &request);
        now_ns += tb_random_gap_ns(&random, 100000000);
    }
    return error;
}

static const struct tb_scenario_kind sizes = {"random-sizes", "requests of 2, 4, ... 512 tokens, each as likely", make};
TB_SCENARIO(sizes);
