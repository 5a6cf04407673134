// SPDX-License-Identifier: Apache-2.0
//
// hwloc_clean: hwloc's XML names the host and, for root, the serial numbers of boards. An export must not tell whose machine it
// was.
#ifndef TB_HWLOC_CLEAN_H
#define TB_HWLOC_CLEAN_H

#include <hwloc.h>

// Empties all properties but those that are known to be harmless.
void tb_hwloc_clean(hwloc_topology_t topology);

#endif
