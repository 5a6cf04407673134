// SPDX-License-Identifier: Apache-2.0
//
// hwloc: the measured values as memory attributes of a topology, which is how other programs ask for them.
//
// What the firmware says (HMAT) is left out as a whole: hwloc reads it into the same attributes, and one that is half measured and
// half promised would tell nobody which half is which. An initiator is the set of its node's CPUs, as far as the topology has them.
// Latency is set as well as ReadLatency, because it is what programs ask for, and a load is what was measured; Bandwidth
// is the mean of reading and writing, as hwloc defines it. Latency under full load has no standard attribute and gets one of ours.
#include <errno.h>
#include <hwloc.h>
#include <math.h>
#include <string.h>

#include "testbed/base/file.h"
#include "testbed/host/environment.h"
#include "testbed/matrix/view/view.h"

#define MIB_BYTES 1048576.0
#define NOT_REGISTERED ((hwloc_memattr_id_t)-1) // HWLOC_MEMATTR_ID_MAX is the first that is registered

struct target {
    hwloc_topology_t topology;
    const struct tb_matrix *matrix;
    hwloc_obj_t node;
    struct hwloc_location initiator;
    hwloc_memattr_id_t loaded;
    unsigned set;               // values so far
};

static void set_value(struct target *target, hwloc_memattr_id_t attribute, double value)
{
    if (value > 0 && hwloc_memattr_set_value(target->topology, attribute, target->node, &target->initiator, 0,
                                             (hwloc_uint64_t)fmax(1, round(value))) == 0)
        target->set++;
}

// Its median in hwloc's units, ns and MiB/s; 0: not measured.
static double value_of(const struct tb_matrix *matrix, const struct tb_matrix_cell *cell)
{
    if (!tb_matrix_told(matrix, cell))
        return 0;
    return tb_matrix_in_time(cell->kind) ? cell->value.estimate : cell->value.estimate / MIB_BYTES;
}

// The slowest point of the curve.
static double loaded_ns(const struct tb_matrix *matrix, int initiator, int memory)
{
    const struct tb_matrix_cell *cells[256];
    size_t count = tb_matrix_curve(matrix, TB_MATRIX_LOADED, initiator, memory, cells, sizeof cells / sizeof *cells);
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, value_of(matrix, cells[i]));
    return most;
}

static void set_pair(struct target *target, int initiator, int memory)
{
    const struct tb_matrix *matrix = target->matrix;
    double latency = value_of(matrix, tb_matrix_at(matrix, TB_MATRIX_LATENCY, initiator, memory));
    double reading = value_of(matrix, tb_matrix_at(matrix, TB_MATRIX_READ, initiator, memory));
    double writing = value_of(matrix, tb_matrix_at(matrix, TB_MATRIX_WRITE, initiator, memory));
    set_value(target, HWLOC_MEMATTR_ID_LATENCY, latency);
    set_value(target, HWLOC_MEMATTR_ID_READ_LATENCY, latency);
    set_value(target, HWLOC_MEMATTR_ID_READ_BANDWIDTH, reading);
    set_value(target, HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, writing);
    if (reading > 0 && writing > 0)
        set_value(target, HWLOC_MEMATTR_ID_BANDWIDTH, (reading + writing) / 2);
    double loaded = loaded_ns(matrix, initiator, memory);
    if (loaded > 0 && target->loaded == NOT_REGISTERED &&
        hwloc_memattr_register(target->topology, "LOCUS_LoadedLatency",
                               HWLOC_MEMATTR_FLAG_LOWER_FIRST | HWLOC_MEMATTR_FLAG_NEED_INITIATOR, &target->loaded) < 0)
        return;
    set_value(target, target->loaded, loaded);
}

// The CPUs of a node that the topology has. 0, or -ENOENT when there are none.
static int initiator_cpus(hwloc_topology_t topology, const struct locus_topo *topo, int initiator, hwloc_bitmap_t cpus)
{
    const struct locus_topo_node *node = locus_topo_node(topo, initiator);
    hwloc_bitmap_zero(cpus);
    for (unsigned i = 0; node && i < node->cpus_count; i++)
        hwloc_bitmap_set(cpus, node->cpus[i]);
    hwloc_bitmap_and(cpus, cpus, hwloc_topology_get_topology_cpuset(topology));
    return hwloc_bitmap_iszero(cpus) ? -ENOENT : 0;
}

int tb_matrix_hwloc_set(hwloc_topology_t topology, const struct tb_matrix *matrix, const struct locus_topo *topo)
{
    struct locus_nodes initiators, memories;
    struct target target = {.topology = topology, .matrix = matrix, .loaded = NOT_REGISTERED};
    target.initiator.type = HWLOC_LOCATION_TYPE_CPUSET;
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    if (!cpus)
        return -ENOMEM;
    target.initiator.location.cpuset = cpus;
    tb_matrix_nodes(matrix, &initiators, &memories, NULL);
    for (int from = locus_nodes_next(&initiators, 0); from >= 0; from = locus_nodes_next(&initiators, from + 1)) {
        if (initiator_cpus(topology, topo, from, cpus))
            continue;
        for (int to = locus_nodes_next(&memories, 0); to >= 0; to = locus_nodes_next(&memories, to + 1)) {
            target.node = hwloc_get_numanode_obj_by_os_index(topology, (unsigned)to);
            if (target.node)
                set_pair(&target, from, to);
        }
    }
    hwloc_bitmap_free(cpus);
    return target.set > 0 ? 0 : -EINVAL;
}

// A topology without what the firmware says of its memory.
static int open_topology(hwloc_topology_t *out)
{
    if (hwloc_topology_init(out) < 0)
        return -ENOMEM;
    if (hwloc_topology_set_flags(*out, HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS) < 0 || hwloc_topology_load(*out) < 0) {
        int error = errno ? -errno : -EIO;
        hwloc_topology_destroy(*out);
        return error;
    }
    return 0;
}

int tb_matrix_hwloc_xml(const char *path, const struct tb_matrix *matrix, const struct locus_topo *topo)
{
    hwloc_topology_t topology;
    char *xml = NULL;
    int length = 0;
    if (matrix->emulated)
        return -ENOTSUP;
    const struct locus_topo_info *info = locus_topo_info(topo);
    if (info->source == LOCUS_TOPO_THIS_MACHINE && (info->nodes_hidden || info->cores_count == 0))
        return -EXDEV; // hwloc would end the process (topo/live.c)
    int rc = open_topology(&topology);
    if (rc < 0)
        return rc;
    rc = hwloc_topology_is_thissystem(topology) ? tb_matrix_hwloc_set(topology, matrix, topo) : -EXDEV;
    if (rc == 0) {
        tb_hwloc_clean(topology);
        if (hwloc_topology_export_xmlbuffer(topology, &xml, &length, 0) < 0)
            rc = -EIO;
    }
    if (rc == 0) {
        rc = tb_output_replace(path, xml, strnlen(xml, (size_t)length));
        hwloc_free_xmlbuffer(topology, xml);
    }
    hwloc_topology_destroy(topology);
    return rc;
}
