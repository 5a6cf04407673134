// SPDX-License-Identifier: Apache-2.0
//
// together: processes begin their steps at the same time, so that their tokens may be added up. They share a file in memory, which
// their parent made (TB_ENGINE_TOGETHER_FD); its first word counts those that have come. The parent ends all if one ends badly, so
// the time limit is for a parent that does not.
#ifndef TB_LLAMA_TOGETHER_H
#define TB_LLAMA_TOGETHER_H

#include <stdint.h>

// Waits until `processes` have come. 0; -ETIMEDOUT: one did not, in two minutes; or another -errno.
int tb_llama_together(uint32_t processes);

#endif
