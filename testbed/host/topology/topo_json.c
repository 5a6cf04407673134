// SPDX-License-Identifier: Apache-2.0
//
// topo_json: a machine as one JSON object for programs. The keys are stable: new ones may come, none changes its meaning.
// What is not known is null, never 0 and never left out.
#include "testbed/host/topology/topo_view.h"

#include <stdbool.h>
#include <stdio.h>

#include "testbed/base/cli.h"
#include "testbed/host/head.h"
#include "testbed/host/probe.h"

const char *tb_topo_kind_name(enum locus_node_kind kind)
{
    switch (kind) {
    case LOCUS_NODE_DRAM: return "DRAM";
    case LOCUS_NODE_MEMORY_ONLY: return "memory-only";
    case LOCUS_NODE_CPU_ONLY: return "CPU-only";
    case LOCUS_NODE_EMPTY: return "empty";
    }
    return "unknown";
}

const char *tb_topo_source_name(enum locus_topo_source source)
{
    switch (source) {
    case LOCUS_TOPO_THIS_MACHINE: return "this machine";
    case LOCUS_TOPO_XML: return "xml";
    case LOCUS_TOPO_SYNTHETIC: return "synthetic";
    }
    return "unknown";
}

static int read_numa_balancing(void)
{
    int value = -1;
    FILE *file = fopen("/proc/sys/kernel/numa_balancing", "re");
    if (!file)
        return -1;
    if (fscanf(file, "%d", &value) != 1)
        value = -1;
    fclose(file);
    return value;
}

void tb_topo_host_probe(const struct locus_topo *topo, struct tb_topo_host *out)
{
    uname(&out->names);
    out->mbind_errno = tb_probe_mbind(topo);
    out->move_pages_errno = tb_probe_move_pages();
    out->numa_balancing = read_numa_balancing();
    if (locus_cgroup_memory_room_bytes(&out->cgroup_room_bytes))
        out->cgroup_room_bytes = UINT64_MAX;
}

static json_t *json_index(int index)
{
    return index < 0 ? json_null() : json_integer(index);
}

static json_t *json_bytes(bool known, uint64_t bytes)
{
    return known ? json_integer((json_int_t)bytes) : json_null();
}

static json_t *json_flag(bool known, bool flag)
{
    return known ? json_boolean(flag) : json_null();
}

static json_t *json_why(int error)
{
    const char *why = tb_probe_why(error);
    return why ? json_string(why) : json_null();
}

static json_t *json_nodes(const struct locus_topo *topo, bool live)
{
    json_t *array = json_array();
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        json_t *cpus = json_array();
        for (unsigned i = 0; i < node->cpus_count; i++)
            json_array_append_new(cpus, json_integer(node->cpus[i]));
        json_t *object = json_pack("{s:i s:s s:s? s:o s:I}", "os_index", node->os_index, "kind", tb_topo_kind_name(node->kind),
                                   "tier", node->tier, "cpus", cpus, "memory_total_bytes", (json_int_t)node->memory.total_bytes);
        json_object_set_new(object, "memory_free_bytes", json_bytes(node->memory_live, node->memory.free_bytes));
        json_object_set_new(object, "memory_reclaimable_bytes", json_bytes(node->memory_live, node->memory.reclaimable_bytes));
        json_object_set_new(object, "allowed", json_flag(live, node->allowed));
        json_object_set_new(object, "cpus_allowed_count", json_bytes(live, node->cpus_allowed_count));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_cpus(const struct locus_topo *topo, bool live)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < locus_topo_info(topo)->cpus_count; i++) {
        const struct locus_topo_cpu *cpu = &locus_topo_cpus(topo)[i];
        json_t *object = json_pack("{s:i}", "os_index", (int)cpu->os_index);
        json_object_set_new(object, "node", json_index(cpu->node));
        json_object_set_new(object, "core", json_index(cpu->core));
        json_object_set_new(object, "package", json_index(cpu->package));
        json_object_set_new(object, "smt_rank", json_index(cpu->smt_rank));
        json_object_set_new(object, "allowed", json_flag(live, cpu->allowed));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_distances(const struct locus_topo *topo)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    unsigned count = locus_topo_info(topo)->nodes_count;
    json_t *rows = json_array();
    for (unsigned from = 0; from < count; from++) {
        json_t *row = json_array();
        for (unsigned to = 0; to < count; to++) {
            unsigned distance = locus_topo_distance(topo, nodes[from].os_index, nodes[to].os_index);
            json_array_append_new(row, distance ? json_integer(distance) : json_null());
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *json_pages(const struct locus_topo_info *info, bool live)
{
    if (!live)
        return json_null();
    json_t *array = json_array();
    for (unsigned i = 0; i < info->pages_count; i++)
        json_array_append_new(array,
                              json_pack("{s:I s:I s:I}", "bytes", (json_int_t)info->pages[i].bytes, "reserved",
                                        (json_int_t)info->pages[i].reserved_pages, "free", (json_int_t)info->pages[i].free_pages));
    return array;
}

// "cgroup" is null for another machine; within it, null means that there is no limit.
static json_t *json_cgroup(const struct locus_topo_info *info, const struct tb_topo_host *host)
{
    if (!host)
        return json_null();
    uint64_t limit = info->cgroup_limit_bytes;
    uint64_t room = host->cgroup_room_bytes;
    return json_pack("{s:o s:o}", "memory_limit_bytes", json_bytes(limit != UINT64_MAX, limit), "memory_room_bytes",
                     json_bytes(room != UINT64_MAX, room));
}

json_t *tb_topo_json(const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host)
{
    const struct locus_topo_info *info = locus_topo_info(topo);
    bool live = host != NULL;
    json_t *object = json_pack("{s:s s:s? s:s? s:s s:i s:i}", "source", tb_topo_source_name(info->source), "topology", topology,
                               "kernel", live ? host->names.release : NULL, "hwloc", info->hwloc_version, "nodes_count",
                               (int)info->nodes_count, "cpus_count", (int)info->cpus_count);
    if (!object)
        return NULL;
    json_object_set_new(object, "cores_count", json_bytes(info->cores_count > 0, info->cores_count));
    json_object_set_new(object, "smt_max", json_bytes(info->smt_max > 0, info->smt_max));
    json_object_set_new(object, "nodes", json_nodes(topo, live));
    json_object_set_new(object, "cpus", json_cpus(topo, live));
    json_object_set_new(object, "distances", json_distances(topo));
    json_object_set_new(object, "pages", json_pages(info, live));
    json_object_set_new(object, "cgroup", json_cgroup(info, host));
    json_object_set_new(object, "mbind", json_flag(live, live && host->mbind_errno == 0));
    json_object_set_new(object, "move_pages", json_flag(live, live && host->move_pages_errno == 0));
    json_object_set_new(object, "mbind_why", json_why(live ? host->mbind_errno : 0));
    json_object_set_new(object, "move_pages_why", json_why(live ? host->move_pages_errno : 0));
    json_object_set_new(object, "numa_balancing", live ? json_index(host->numa_balancing) : json_null());
    return object;
}

int tb_topo_print_json(const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host)
{
    json_t *object = tb_headed(tb_head("topo"), tb_topo_json(topo, topology, host));
    if (!object) {
        tb_error("cannot print the topology as JSON (no memory, or a name in it is not UTF-8)");
        return TB_EXIT_FAILED;
    }
    int failed = json_dumpf(object, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(object);
    return failed ? TB_EXIT_FAILED : TB_EXIT_OK;
}
