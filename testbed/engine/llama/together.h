// SPDX-License-Identifier: Apache-2.0
//
// together: processes begin their steps at the same time, so that their tokens may be added up. They share a file in memory, which
// their parent made; its first word counts those that have come.
#ifndef TB_LLAMA_TOGETHER_H
#define TB_LLAMA_TOGETHER_H

#include <stdint.h>

#define TB_LLAMA_TOGETHER_FD 6  // as measure/engines/process.c

// Waits until `processes` have come. 0; -ETIMEDOUT: one did not, in two minutes; or another -errno.
int tb_llama_together(uint32_t processes);

#endif
