// SPDX-License-Identifier: Apache-2.0
//
// advise_pid: `locus advise --pid`: where a running engine's memory lies, and which of its reads are remote.
#ifndef TB_ADVISE_PID_H
#define TB_ADVISE_PID_H

#include <stdint.h>

#include "testbed/cli/forms.h"

#define TB_PID_MAX 4194304u // the most that Linux numbers

// An exit status. pre: 0 < pid <= TB_PID_MAX.
int tb_advise_pid(uint64_t pid, const struct tb_forms *forms);

#endif
