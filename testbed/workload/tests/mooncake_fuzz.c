// SPDX-License-Identifier: Apache-2.0
//
// mooncake_fuzz: libFuzzer on the JSON Lines loader and on the replay of whatever it accepts. See trace_fuzz.h.
#include "testbed/workload/tests/trace_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    trace_fuzz_input("{\"timestamp\":0,\"input_length\":9,\"output_length\":2,\"hash_ids\":[1]}\n", data, bytes);
    return 0;
}
