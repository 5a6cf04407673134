// SPDX-License-Identifier: Apache-2.0
//
// known: the needs and the gates that a postulate may name. What a need asks of the host is in run/needs.h, how a gate is judged in
// judge/verdict.h.
#ifndef TB_KNOWN_H
#define TB_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#define TB_NEEDS                                                                                                                   \
    "cpus >= N, numa_nodes >= N, cpu_nodes >= N, hardware, mbind_ok, move_pages_ok, policies, workers_pinned, libraries, "         \
    "traces, emulator, pytorch or engine"
#define TB_GATES                                                                                                                   \
    "allocated == freed, pushed == drained, touched == expected, handles home, paired_spread, throttle == 0, host_fit, "           \
    "aa_ratio_ci contains 1, aa_ratio_ci inside band or aa_equivalent"

// The name of a need, "NAME" or "NAME >= N", with one blank around the sign and nothing else; *least is N, else 1. NULL: it is no
// need.
const char *tb_need_name(const char *need, uint64_t *least);

bool tb_gate_known(const char *gate);
const char *tb_gate_at(unsigned i); // in the order of the manual; NULL after the last

#endif
