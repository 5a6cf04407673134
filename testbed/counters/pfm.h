// SPDX-License-Identifier: Apache-2.0
//
// pfm (private to the counters): event names of libpfm4 for any CPU, also one that is not here.
#ifndef TB_COUNTERS_PFM_H
#define TB_COUNTERS_PFM_H

#include <stdbool.h>
#include <stdint.h>

// From start to stop names can be asked for; without a start that succeeded none is known.
bool tb_pfm_start(void);
void tb_pfm_stop(void);

// "spr::OCR:DEMAND_DATA_RD_LOCAL_DRAM" as the members of a perf_event_attr. false: there is no such PMU or event.
bool tb_pfm_encode(const char *name, unsigned *type, uint64_t *config, uint64_t *config1);

#endif
