// SPDX-License-Identifier: Apache-2.0
//
// clock: what a step costs in virtual time, by the model's shape. Nothing of it is measured: the machine is stated.

#include "testbed/serving/serving.h"

#define BYTES_PER_NS 100u // 100 GB/s
#define OPERATIONS_PER_NS 2000u // 2 Tflop/s
#define PROMPT_TOKENS 2048u

struct tb_clock tb_clock_of(const struct tb_shape *shape)
{
    return (struct tb_clock){
        .step_ns = shape->parameters * shape->value_bytes / BYTES_PER_NS,
        .read_fs = 1000000 / BYTES_PER_NS,
        .prompt_ns = 2 * shape->parameters / OPERATIONS_PER_NS,
        .prompt_tokens = PROMPT_TOKENS,
    };
}
