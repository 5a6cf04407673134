// SPDX-License-Identifier: Apache-2.0
//
// azure_fuzz: libFuzzer on the CSV loader and on the replay of whatever it accepts. See trace_fuzz.h.
#include "testbed/workload/tests/trace_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    trace_fuzz_input("TIMESTAMP,ContextTokens,GeneratedTokens\n", data, bytes);
    return 0;
}
