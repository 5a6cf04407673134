// SPDX-License-Identifier: Apache-2.0
//
// matrix_hwloc: what another program reads through hwloc is what was measured, pair by pair, also after the way through a file.
#include <hwloc.h>
#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "testbed/matrix/tests/matrix_machines.h"
#include "testbed/matrix/view/view.h"

static struct matrix_fixture f;
static const char two_nodes[] = "pack:2 [numa(memory=64GB)] core:4 pu:2";

static hwloc_topology_t load_synthetic(const char *description)
{
    hwloc_topology_t topology;
    cr_assert_eq(hwloc_topology_init(&topology), 0);
    cr_assert_eq(hwloc_topology_set_synthetic(topology, description), 0);
    cr_assert_eq(hwloc_topology_load(topology), 0);
    return topology;
}

static hwloc_topology_t load_xml(const char *path, const char *xml)
{
    hwloc_topology_t topology;
    cr_assert_eq(hwloc_topology_init(&topology), 0);
    cr_assert_eq(path ? hwloc_topology_set_xml(topology, path) : hwloc_topology_set_xmlbuffer(topology, xml, (int)strlen(xml) + 1),
                 0);
    cr_assert_eq(hwloc_topology_load(topology), 0);
    return topology;
}

// -1: there is no such value.
static double value(hwloc_topology_t topology, hwloc_memattr_id_t attribute, int from, int to)
{
    hwloc_uint64_t out;
    hwloc_obj_t initiator = hwloc_get_numanode_obj_by_os_index(topology, (unsigned)from);
    hwloc_obj_t target = hwloc_get_numanode_obj_by_os_index(topology, (unsigned)to);
    cr_assert(initiator && target);
    struct hwloc_location location = {.type = HWLOC_LOCATION_TYPE_CPUSET, .location.cpuset = initiator->cpuset};
    return hwloc_memattr_get_value(topology, attribute, target, &location, 0, &out) == 0 ? (double)out : -1;
}

#define VALUE(topology, attribute, from, to, expected, tolerance)                                                                  \
    cr_assert(fabs(value(topology, attribute, from, to) - (expected)) <= (tolerance), "%s from %d to %d is %g, not %g",            \
              #attribute, from, to, value(topology, attribute, from, to), (double)(expected))

static struct locus_topo *open_topo(const char *source)
{
    struct locus_topo *topo;
    char why[256];
    cr_assert_eq(locus_topo_open(&topo, source, why, sizeof why), 0, "%s", why);
    return topo;
}

// As the program sets, exports and another one reads.
static hwloc_topology_t through_a_file(const char *description, const struct tb_matrix *matrix)
{
    char *xml;
    int length;
    struct locus_topo *topo = open_topo(description);
    hwloc_topology_t topology = load_synthetic(description);
    cr_assert_eq(tb_matrix_hwloc_set(topology, matrix, topo), 0);
    cr_assert_eq(hwloc_topology_export_xmlbuffer(topology, &xml, &length, 0), 0);
    hwloc_topology_t again = load_xml(NULL, xml);
    hwloc_free_xmlbuffer(topology, xml);
    hwloc_topology_destroy(topology);
    locus_topo_close(topo);
    return again;
}

Test(matrix_hwloc, every_pair_has_its_own_values_in_hwlocs_units)
{
    hwloc_topology_t topology = through_a_file(two_nodes, matrix_fixture_two(&f));
    for (int from = 0; from < 2; from++) {
        for (int to = 0; to < 2; to++) {
            double bytes_per_s = from == to ? 113.1e9 : 34.3e9, mib = bytes_per_s / 1048576;
            VALUE(topology, HWLOC_MEMATTR_ID_LATENCY, from, to, from == to ? 81 : 140, 0);
            VALUE(topology, HWLOC_MEMATTR_ID_READ_LATENCY, from, to, from == to ? 81 : 140, 0);
            VALUE(topology, HWLOC_MEMATTR_ID_READ_BANDWIDTH, from, to, mib, 0.002 * mib);
            VALUE(topology, HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, from, to, 0.6 * mib, 0.002 * mib);
            VALUE(topology, HWLOC_MEMATTR_ID_BANDWIDTH, from, to, 0.8 * mib, 0.002 * mib);
            VALUE(topology, HWLOC_MEMATTR_ID_WRITE_LATENCY, from, to, -1, 0); // not measured
        }
    }
    hwloc_topology_destroy(topology);
}

Test(matrix_hwloc, the_latency_under_load_has_an_attribute_of_ours)
{
    hwloc_memattr_id_t loaded;
    hwloc_topology_t topology = through_a_file(two_nodes, matrix_fixture_two(&f));
    cr_assert_eq(hwloc_memattr_get_by_name(topology, "LOCUS_LoadedLatency", &loaded), 0);
    VALUE(topology, loaded, 0, 0, 80.8 * 1.95, 1);
    VALUE(topology, loaded, 0, 1, 140.4 * 1.95, 1);
    VALUE(topology, loaded, 1, 0, -1, 0);
    hwloc_topology_destroy(topology);
}

Test(matrix_hwloc, hwloc_chooses_the_best_target_by_our_values)
{
    hwloc_uint64_t best;
    hwloc_obj_t target;
    matrix_fixture_open(&f, 7);
    matrix_fixture_pair(&f, 0, 0, 100, 20e9);
    matrix_fixture_pair(&f, 0, 1, 60, 90e9); // the second node is the near one
    hwloc_topology_t topology = through_a_file(two_nodes, &f.matrix);
    hwloc_obj_t initiator = hwloc_get_numanode_obj_by_os_index(topology, 0);
    struct hwloc_location location = {.type = HWLOC_LOCATION_TYPE_CPUSET, .location.cpuset = initiator->cpuset};
    cr_assert_eq(hwloc_memattr_get_best_target(topology, HWLOC_MEMATTR_ID_LATENCY, &location, 0, &target, &best), 0);
    cr_assert(target->os_index == 1 && best == 60);
    hwloc_topology_destroy(topology);
}

Test(matrix_hwloc, what_was_there_is_replaced)
{
    struct locus_topo *topo = open_topo(two_nodes);
    hwloc_topology_t topology = load_synthetic(two_nodes);
    hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(topology, 0);
    struct hwloc_location location = {.type = HWLOC_LOCATION_TYPE_CPUSET, .location.cpuset = node->cpuset};
    cr_assert_eq(hwloc_memattr_set_value(topology, HWLOC_MEMATTR_ID_LATENCY, node, &location, 0, 7), 0);
    VALUE(topology, HWLOC_MEMATTR_ID_LATENCY, 0, 0, 7, 0);
    cr_assert_eq(tb_matrix_hwloc_set(topology, matrix_fixture_two(&f), topo), 0);
    VALUE(topology, HWLOC_MEMATTR_ID_LATENCY, 0, 0, 81, 0);
    hwloc_topology_destroy(topology);
    locus_topo_close(topo);
}

Test(matrix_hwloc, invalid_and_unmeasured_cells_are_not_set)
{
    struct locus_topo *topo = open_topo(two_nodes);
    hwloc_topology_t topology = load_synthetic(two_nodes);
    struct tb_matrix *matrix = matrix_fixture_two(&f);
    for (size_t i = 0; i < matrix->cells_count; i++) {
        if (f.cells[i].kind == TB_MATRIX_WRITE)
            matrix_fixture_refuse(&f.cells[i], TB_MATRIX_UNMEASURABLE, "no room");
        if (f.cells[i].kind == TB_MATRIX_LATENCY && f.cells[i].memory == 1)
            matrix_fixture_refuse(&f.cells[i], TB_MATRIX_INVALID, "lost pages");
    }
    cr_assert_eq(tb_matrix_hwloc_set(topology, matrix, topo), 0);
    VALUE(topology, HWLOC_MEMATTR_ID_LATENCY, 0, 1, -1, 0);
    VALUE(topology, HWLOC_MEMATTR_ID_LATENCY, 0, 0, 81, 0);
    VALUE(topology, HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, 0, 0, -1, 0);
    VALUE(topology, HWLOC_MEMATTR_ID_BANDWIDTH, 0, 0, -1, 0); // half of a mean is none
    hwloc_topology_destroy(topology);
    locus_topo_close(topo);
}

// Nodes 4 and 5, as hwloc's XML has them.
Test(matrix_hwloc, node_numbers_are_the_systems)
{
    static const char sparse[] = "topo/tests/fixtures/sparse.xml";
    struct locus_topo *topo = open_topo(sparse);
    hwloc_topology_t topology = load_xml(sparse, NULL);
    cr_assert_eq(tb_matrix_hwloc_set(topology, matrix_fixture_many(&f, 4, 2, 0.5), topo), 0);
    VALUE(topology, HWLOC_MEMATTR_ID_LATENCY, 4, 4, 100, 0);
    VALUE(topology, HWLOC_MEMATTR_ID_LATENCY, 5, 4, 150, 0);
    hwloc_topology_destroy(topology);
    locus_topo_close(topo);
}

Test(matrix_hwloc, nothing_to_say_is_an_error)
{
    struct locus_topo *topo = open_topo(two_nodes);
    hwloc_topology_t topology = load_synthetic(two_nodes);
    matrix_fixture_open(&f, 7);
    matrix_fixture_cell(&f, TB_MATRIX_PUSH, 0, 0, 1, 20);
    cr_assert_eq(tb_matrix_hwloc_set(topology, &f.matrix, topo), -EINVAL);
    cr_assert_eq(tb_matrix_hwloc_set(topology, matrix_fixture_many(&f, 40, 2, 1), topo), -EINVAL, "nodes that are not there");
    cr_assert_eq(tb_matrix_hwloc_set(topology, matrix_fixture_emulate(matrix_fixture_two(&f)), topo), -EINVAL);
    hwloc_topology_destroy(topology);
    locus_topo_close(topo);
}

static char folder[64], path[128];

static void open_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/locus-matrix-XXXXXX");
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/here.xml", folder);
}

static void close_folder(void)
{
    unlink(path);
    rmdir(folder);
}

TestSuite(matrix_hwloc_file, .init = open_folder, .fini = close_folder);

// A made-up pair on the first node of the machine that runs the test.
static struct tb_matrix *here(struct locus_topo **topo)
{
    *topo = open_topo(NULL);
    const struct locus_topo_node *node = locus_topo_nodes(*topo);
    if (node->kind != LOCUS_NODE_DRAM || node->cpus_allowed_count == 0)
        cr_skip_test("needs CPUs and memory on the first node");
    matrix_fixture_open(&f, 7);
    matrix_fixture_pair(&f, node->os_index, node->os_index, 91, 20e9);
    return &f.matrix;
}

Test(matrix_hwloc_file, another_program_reads_this_machine_with_our_values)
{
    struct locus_topo *topo;
    struct tb_matrix *matrix = here(&topo);
    char host[256] = "", xml[1 << 16] = "";
    cr_assert_eq(tb_matrix_hwloc_xml(path, matrix, topo), 0);
    hwloc_topology_t topology = load_xml(path, NULL);
    cr_assert_eq((unsigned)hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), locus_topo_info(topo)->cpus_count);
    VALUE(topology, HWLOC_MEMATTR_ID_LATENCY, f.cells[0].memory, f.cells[0].memory, 91, 0);
    hwloc_topology_destroy(topology);
    FILE *file = fopen(path, "r");
    cr_assert(file && fread(xml, 1, sizeof xml - 1, file) > 0);
    fclose(file);
    cr_assert(!strstr(xml, "name=\"HostName\" value=\"") || strstr(xml, "name=\"HostName\" value=\"\""));
    gethostname(host, sizeof host - 1);
    if (strlen(host) > 4)
        cr_assert(!strstr(xml, host), "the export names the host");
    locus_topo_close(topo);
}

Test(matrix_hwloc_file, what_is_in_the_way_is_said_and_leaves_the_old_file)
{
    struct locus_topo *topo;
    struct tb_matrix *matrix = here(&topo);
    cr_assert_eq(tb_matrix_hwloc_xml("/nonexistent/folder/here.xml", matrix, topo), -ENOTDIR);
    cr_assert_eq(tb_matrix_hwloc_xml(folder, matrix, topo), -EISDIR);
    cr_assert_eq(tb_matrix_hwloc_xml(path, matrix_fixture_emulate(matrix), topo), -ENOTSUP);
    cr_assert(access(path, F_OK) != 0);
    setenv("HWLOC_SYNTHETIC", two_nodes, 1);
    matrix->emulated = NULL;
    cr_assert_eq(tb_matrix_hwloc_xml(path, matrix, topo), -EXDEV, "not this machine");
    cr_assert(access(path, F_OK) != 0);
    locus_topo_close(topo);
}
