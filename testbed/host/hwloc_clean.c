// SPDX-License-Identifier: Apache-2.0
//
// hwloc_clean: a list of what is harmless, not of what is not: hwloc's next release may well know something new about a machine.
#include "testbed/host/hwloc_clean.h"

#include <stdbool.h>
#include <string.h>

static bool property_harmless(const char *name)
{
    static const char *const known[] = {"Architecture",   "Backend",           "OSName",         "OSRelease",    "OSVersion",
                                        "hwlocVersion",   "MemoryMode",        "Inclusive",      "ClusterMode",  "MemoryTier",
                                        "DMIProductName", "DMIProductVersion", "DMIBoardVendor", "DMIBoardName", "DMIBIOSVendor",
                                        "DMIBIOSVersion", "DMIBIOSDate",       "DMISysVendor"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return strncmp(name, "CPU", 3) == 0;
}

static void properties_empty(hwloc_obj_t object)
{
    for (unsigned i = 0; i < object->infos_count; i++)
        if (!property_harmless(object->infos[i].name))
            object->infos[i].value[0] = '\0';
    hwloc_obj_t heads[] = {object->first_child, object->memory_first_child, object->io_first_child, object->misc_first_child};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (hwloc_obj_t child = heads[i]; child; child = child->next_sibling)
            properties_empty(child);
}

void tb_hwloc_clean(hwloc_topology_t topology)
{
    properties_empty(hwloc_get_root_obj(topology));
}
