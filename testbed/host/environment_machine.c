// SPDX-License-Identifier: Apache-2.0
//
// environment_machine: the machine below the kernel: NUMA nodes, hwloc's view of the hardware, what the firmware calls itself.
//
// Nodes are read from the files rather than through topo.h, because a node whose file is missing or forbidden has to be written
// down as such, where topo.h rightly refuses the whole machine.

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/host/host.h"
#include "testbed/host/hwloc_clean.h"
#include "topo/topo.h"

#define NODES "/sys/devices/system/node"

static json_t *node_huge_pages(struct tb_host *host, const char *node)
{
    char folder[TB_HOST_PATH / 2];
    struct tb_names sizes;
    snprintf(folder, sizeof folder, NODES "/%s/hugepages", node);
    int error = tb_host_list(host, folder, "", &sizes);
    if (error)
        return json_string(tb_host_word(error));
    json_t *object = json_object();
    for (size_t i = 0; i < sizes.count; i++) {
        json_t *size = json_object();
        tb_host_put(host, size, "total", tb_host_number(host, "%s/%s/nr_hugepages", folder, sizes.name[i]));
        tb_host_put(host, size, "free", tb_host_number(host, "%s/%s/free_hugepages", folder, sizes.name[i]));
        tb_host_put(host, object, sizes.name[i], size);
    }
    tb_names_close(&sizes);
    return object;
}

static json_t *node_describe(struct tb_host *host, const char *node)
{
    static const char *const fields[][2] = {{"total_kib", "MemTotal"},
                                            {"free_kib", "MemFree"},
                                            {"file_kib", "FilePages"},
                                            {"slab_reclaimable_kib", "SReclaimable"}};
    char path[TB_HOST_PATH], *text = NULL;
    json_t *object = json_object();
    tb_host_put(host, object, "cpus", tb_host_text(host, NODES "/%s/cpulist", node));
    tb_host_put(host, object, "distance", tb_host_text(host, NODES "/%s/distance", node));
    snprintf(path, sizeof path, NODES "/%s/meminfo", node);
    int error = tb_host_read(host, path, &text);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        tb_host_put(host, object, fields[i][0], tb_host_field(text, error, fields[i][1], ':', TB_FIELD_NUMBER));
    tb_host_put(host, object, "huge_pages", node_huge_pages(host, node));
    free(text);
    return object;
}

json_t *tb_environment_nodes(struct tb_host *host)
{
    struct tb_names nodes;
    int error = tb_host_list(host, NODES, "node", &nodes);
    if (error)
        return json_string(tb_host_word(error));
    json_t *object = json_object();
    for (size_t i = 0; i < nodes.count; i++)
        tb_host_put(host, object, nodes.name[i] + strlen("node"), node_describe(host, nodes.name[i]));
    tb_names_close(&nodes);
    return object;
}

static json_t *hwloc_xml(void)
{
    hwloc_topology_t topology = NULL;
    json_t *xml = NULL;
    char *text = NULL;
    int length = 0;
    bool initialised = hwloc_topology_init(&topology) == 0;
    if (initialised && hwloc_topology_load(topology) == 0 && hwloc_topology_is_thissystem(topology)) {
        tb_hwloc_clean(topology);
        if (hwloc_topology_export_xmlbuffer(topology, &text, &length, 0) == 0)
            xml = json_string(text);
    }
    if (text)
        hwloc_free_xmlbuffer(topology, text);
    if (initialised)
        hwloc_topology_destroy(topology);
    return xml ? xml : json_string("UNREADABLE");
}

// hwloc looks at this machine and at no other, so another root has no XML.
json_t *tb_environment_hwloc(struct tb_host *host)
{
    struct locus_topo *topo = NULL;
    int error = locus_topo_open(&topo, NULL, NULL, 0);
    json_t *object = json_object();
    tb_host_put(host, object, "version", json_string(error ? "UNREADABLE" : locus_topo_info(topo)->hwloc_version));
    locus_topo_close(topo);
    tb_host_put(host, object, "xml", host->root[0] ? json_string("ABSENT") : hwloc_xml());
    return object;
}

json_t *tb_environment_dmi(struct tb_host *host)
{
    static const char *const files[] = {"sys_vendor",    "product_name", "product_version", "board_vendor", "board_name",
                                        "board_version", "bios_vendor",  "bios_version",    "bios_date"};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        tb_host_put(host, object, files[i], tb_host_text(host, "/sys/class/dmi/id/%s", files[i]));
    return object;
}
