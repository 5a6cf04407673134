// SPDX-License-Identifier: Apache-2.0
//
// pfm: a file of its own, because libpfm4's header brings another perf_event.h that the kernel's cannot stand beside.
//
// That the PMU need not be this host's, libpfm4 must be told by the environment before it starts. Afterwards that is as it was.

#include "testbed/counters/pfm.h"

#include <perfmon/pfmlib_perf_event.h>
#include <stdlib.h>
#include <string.h>

#define INACTIVE "LIBPFM_ENCODE_INACTIVE"

bool tb_pfm_start(void)
{
    const char *told = getenv(INACTIVE);
    char *before = told ? strdup(told) : NULL;
    setenv(INACTIVE, "1", 1);
    bool started = pfm_initialize() == PFM_SUCCESS;
    if (before)
        setenv(INACTIVE, before, 1);
    else
        unsetenv(INACTIVE);
    free(before);
    return started;
}

void tb_pfm_stop(void)
{
    pfm_terminate();
}

bool tb_pfm_encode(const char *name, unsigned *type, uint64_t *config, uint64_t *config1)
{
    struct perf_event_attr attr = {.size = sizeof attr};
    pfm_perf_encode_arg_t encode = {.attr = &attr, .size = sizeof encode};
    if (pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &encode) != PFM_SUCCESS)
        return false;
    *type = attr.type;
    *config = attr.config;
    *config1 = attr.config1;
    return true;
}
