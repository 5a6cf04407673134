// SPDX-License-Identifier: Apache-2.0
//
// topo_view: see topo_view.h. What is not known is null for programs and "-" for people, never 0 and never left out. The keys are
// stable: new ones may come, none changes its meaning.
#include "testbed/host/topology/topo_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/doc/emit.h"
#include "testbed/host/probe.h"

static const char *const kinds[] = {[LOCUS_NODE_DRAM] = "DRAM",
                                    [LOCUS_NODE_MEMORY_ONLY] = "memory-only",
                                    [LOCUS_NODE_CPU_ONLY] = "CPU-only",
                                    [LOCUS_NODE_EMPTY] = "empty",
                                    [LOCUS_NODE_GPU_MEMORY] = "GPU memory"};
static const char *const sources[] = {[LOCUS_TOPO_THIS_MACHINE] = "this machine",
                                      [LOCUS_TOPO_XML] = "xml",
                                      [LOCUS_TOPO_SYNTHETIC] = "synthetic",
                                      [LOCUS_TOPO_ROOT] = "root"};

const char *tb_topo_bytes(char *text, size_t room, uint64_t bytes, bool trim)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024.0;
        unit++;
    }
    bool whole = unit == 0 || value >= 999.95 || (trim && value == (double)(uint64_t)value);
    snprintf(text, room, "%.*f %s", whole ? 0 : 1, value, units[unit]);
    return text;
}

void tb_topo_host_probe(const struct locus_topo *topo, struct tb_topo_host *out)
{
    uname(&out->names);
    out->mbind_errno = tb_probe_mbind(topo);
    out->move_pages_errno = tb_probe_move_pages();
    out->numa_balancing = tb_numa_balancing();
    if (locus_cgroup_memory_room_bytes(&out->cgroup_room_bytes))
        out->cgroup_room_bytes = UINT64_MAX;
}

// --- values --------------------------------------------------------------------------------------------------------------------

static struct tb_value known(bool is_known, uint64_t count)
{
    return is_known ? tb_count(count) : tb_none(NULL);
}

static struct tb_value index_value(int index)
{
    return known(index >= 0, (uint64_t)index);
}

static struct tb_value flag_value(bool is_known, bool flag)
{
    return is_known ? tb_flag(flag) : tb_none(NULL);
}

// "0-7,16-23" for ascending numbers; the caller frees it. NULL: no memory, and the document fails.
static char *list_of(struct tb_doc *doc, const unsigned *ids, unsigned count)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    for (unsigned first = 0, last = 0; stream && first < count; first = last + 1) {
        for (last = first; last + 1 < count && ids[last + 1] == ids[last] + 1;)
            last++;
        fprintf(stream, first == last ? "%s%u" : "%s%u-%u", first ? "," : "", ids[first], ids[last]);
    }
    if (stream && fclose(stream) == 0)
        return text;
    free(text);
    tb_doc_json(doc, NULL, NULL);
    return NULL;
}

// --- parts ---------------------------------------------------------------------------------------------------------------------

static void put_heading(struct tb_doc *doc, const struct locus_topo_info *info, const char *topology,
                        const struct tb_topo_host *host)
{
    char total[32], smt[64] = "cores unknown";
    struct tb_words words = {0};
    if (info->cores_count > 0)
        snprintf(smt, sizeof smt, "%u core%s, SMT %s", info->cores_count, info->cores_count == 1 ? "" : "s",
                 info->smt_max > 1 ? "on" : "off");
    tb_topo_bytes(total, sizeof total, info->memory_total_bytes, true);
    tb_say(&words, "%u node%s, %u CPU%s (%s), %s; ", info->nodes_count, info->nodes_count == 1 ? "" : "s", info->cpus_count,
           info->cpus_count == 1 ? "" : "s", smt, total);
    if (host)
        tb_say(&words, "kernel %.*s", (int)strcspn(host->names.release, "-+_"), host->names.release);
    else
        tb_say(&words, "%s", sources[info->source]);
    tb_doc_say(doc, NULL, "%s, hwloc %s", words.text, info->hwloc_version);
    if (topology)
        tb_doc_say(doc, NULL, "described by %s", topology);
    tb_doc_fact(doc, "source", NULL, TB_AS_IS, tb_text_value(sources[info->source]));
    tb_doc_fact(doc, "topology", NULL, TB_AS_IS, tb_text_value(topology));
    tb_doc_fact(doc, "kernel", NULL, TB_AS_IS, tb_text_value(host ? host->names.release : NULL));
    tb_doc_fact(doc, "hwloc", NULL, TB_AS_IS, tb_text_value(info->hwloc_version));
    tb_doc_fact(doc, "nodes_count", NULL, TB_AS_IS, tb_count(info->nodes_count));
    tb_doc_fact(doc, "cpus_count", NULL, TB_AS_IS, tb_count(info->cpus_count));
    tb_doc_fact(doc, "cores_count", NULL, TB_AS_IS, known(info->cores_count > 0, info->cores_count));
    tb_doc_fact(doc, "smt_max", NULL, TB_AS_IS, known(info->smt_max > 0, info->smt_max));
}

static void put_node(struct tb_doc *doc, struct tb_table *table, const struct locus_topo_node *node, bool live)
{
    char *cpus = list_of(doc, node->cpus, node->cpus_count);
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_count((uint64_t)node->os_index));
    tb_table_put(table, tb_text_value(kinds[node->kind]));
    tb_table_put(table, tb_text_value(node->tier));
    tb_table_put(table, tb_ids(cpus));
    tb_table_put(table, tb_count(node->memory.total_bytes));
    tb_table_put(table, known(node->memory_live, node->memory.free_bytes));
    tb_table_put(table, known(node->memory_live, node->memory.reclaimable_bytes));
    tb_table_put(table, flag_value(live, node->allowed));
    tb_table_put(table, known(live, node->cpus_allowed_count));
    free(cpus);
}

static void put_nodes(struct tb_doc *doc, const struct locus_topo *topo, bool live)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    unsigned count = locus_topo_info(topo)->nodes_count;
    bool tiers = false;
    for (unsigned n = 0; n < count; n++)
        tiers |= nodes[n].tier != NULL;
    const struct tb_column columns[] = {
        {"os_index", "node", TB_AS_IS, false},
        {"kind", "kind", TB_AS_IS, false},
        {"tier", tiers ? "tier" : NULL, TB_AS_IS, false},
        {"cpus", "CPUs", TB_AS_IS, false},
        {"memory_total_bytes", "memory", TB_AS_BYTES, false},
        {"memory_free_bytes", "free", TB_AS_BYTES, false},
        {"memory_reclaimable_bytes", "reclaimable", TB_AS_BYTES, false},
        {"allowed", NULL, TB_AS_IS, false},
        {"cpus_allowed_count", NULL, TB_AS_IS, false},
        {NULL, NULL, TB_AS_IS, false},
    };
    struct tb_table *table = tb_doc_table(doc, "nodes", NULL, columns);
    for (unsigned n = 0; n < count; n++)
        put_node(doc, table, &nodes[n], live);
}

static void put_cpus(struct tb_doc *doc, const struct locus_topo *topo, bool live)
{
    struct tb_table *table = tb_doc_grid(doc, "cpus", NULL, "os_index|node|core|package|smt_rank|allowed");
    for (unsigned i = 0; i < locus_topo_info(topo)->cpus_count; i++) {
        const struct locus_topo_cpu *cpu = &locus_topo_cpus(topo)[i];
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_count(cpu->os_index));
        tb_table_put(table, index_value(cpu->node));
        tb_table_put(table, index_value(cpu->core));
        tb_table_put(table, index_value(cpu->package));
        tb_table_put(table, index_value(cpu->smt_rank));
        tb_table_put(table, flag_value(live, cpu->allowed));
    }
}

static void put_distances(struct tb_doc *doc, const struct locus_topo *topo)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    unsigned count = locus_topo_info(topo)->nodes_count;
    bool told = locus_topo_distance(topo, nodes[0].os_index, nodes[0].os_index) != 0;
    json_t *rows = json_array();
    struct tb_table *table = told ? tb_doc_table(doc, NULL, NULL, NULL) : NULL;
    tb_table_column(table, (struct tb_column){.title = "distance"});
    for (unsigned to = 0; to < count; to++) {
        char title[16];
        snprintf(title, sizeof title, "%d", nodes[to].os_index);
        tb_table_column(table, (struct tb_column){.title = title});
    }
    for (unsigned from = 0; from < count; from++) {
        json_t *row = json_array();
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_count((uint64_t)nodes[from].os_index));
        for (unsigned to = 0; to < count; to++) {
            unsigned distance = locus_topo_distance(topo, nodes[from].os_index, nodes[to].os_index);
            tb_table_put(table, known(distance > 0, distance));
            row = tb_json_appended(row, distance ? json_integer(distance) : json_null());
        }
        rows = tb_json_appended(rows, row);
    }
    tb_doc_json(doc, "distances", rows);
    if (!told)
        tb_doc_fact(doc, NULL, "distance", TB_AS_IS, tb_none("unknown"));
}

// --- is it all? ----------------------------------------------------------------------------------------------------------------

// A kernel derives MemTotal and what its nodes report from the same counters: they differ by what is plugged between two reads. A
// sixty-fourth is more than the 128 MiB in which memory is plugged on all but small machines. A difference beyond means that one of
// them is not the kernel's (lxcfs, a sandbox), or that memory lies on no node that is shown.
static bool differs(const struct locus_topo_info *info)
{
    uint64_t nodes = info->memory_total_bytes, kernel = info->kernel_total_bytes;
    uint64_t most = nodes > kernel ? nodes : kernel, least = nodes > kernel ? kernel : nodes;
    return kernel > 0 && most - least > most / 64;
}

static void put_doubts(struct tb_doc *doc, const struct locus_topo_info *info)
{
    char nodes[32], kernel[32];
    tb_doc_fact(doc, "nodes_hidden", NULL, TB_AS_IS, tb_flag(info->nodes_hidden));
    tb_doc_fact(doc, "memory_nodes_bytes", NULL, TB_AS_IS, tb_count(info->memory_total_bytes));
    tb_doc_fact(doc, "memory_kernel_bytes", NULL, TB_AS_IS, known(info->kernel_total_bytes > 0, info->kernel_total_bytes));
    if (info->nodes_hidden)
        tb_doc_say(doc, NULL,
                   "/sys/devices/system/node cannot be read (a kernel without NUMA, or a sandbox): the machine is shown as one "
                   "node, from this process's affinity and /proc.");
    if (differs(info))
        tb_doc_say(doc, NULL,
                   "The nodes report %s together, the kernel %s in all (MemTotal of /proc/meminfo): one of them is not the whole "
                   "machine's. LOCUS goes by the nodes.",
                   tb_topo_bytes(nodes, sizeof nodes, info->memory_total_bytes, true),
                   tb_topo_bytes(kernel, sizeof kernel, info->kernel_total_bytes, true));
}

// --- what only this machine can tell -------------------------------------------------------------------------------------------

// "all nodes", "nodes 0,2", "no nodes".
static void say_allowed(struct tb_doc *doc, struct tb_words *words, const char *what, const unsigned *allowed, unsigned count,
                        unsigned all)
{
    char *list = list_of(doc, allowed, count);
    if (count == all)
        tb_say(words, "all %s", what);
    else
        tb_say(words, count ? "%s %s" : "no %s", what, list ? list : "");
    free(list);
}

static void put_process(struct tb_doc *doc, const struct locus_topo *topo)
{
    const struct locus_topo_info *info = locus_topo_info(topo);
    unsigned *nodes = calloc(info->nodes_count + 1, sizeof *nodes), *cpus = calloc(info->cpus_count + 1, sizeof *cpus);
    unsigned nodes_count = 0, cpus_count = 0, with_memory = 0;
    struct tb_words words = {0};
    for (unsigned n = 0; nodes && n < info->nodes_count; n++) {
        with_memory += locus_topo_nodes(topo)[n].memory.total_bytes > 0;
        if (locus_topo_nodes(topo)[n].allowed)
            nodes[nodes_count++] = (unsigned)locus_topo_nodes(topo)[n].os_index;
    }
    for (unsigned i = 0; cpus && i < info->cpus_count; i++)
        if (locus_topo_cpus(topo)[i].allowed)
            cpus[cpus_count++] = locus_topo_cpus(topo)[i].os_index;
    if (!nodes || !cpus)
        tb_doc_json(doc, NULL, NULL); // it fails
    say_allowed(doc, &words, "nodes", nodes, nodes_count, with_memory);
    tb_say(&words, ", ");
    say_allowed(doc, &words, "CPUs", cpus, cpus_count, info->cpus_count);
    tb_doc_fact(doc, NULL, "this process may use", TB_AS_IS, tb_text_value(words.text));
    free(nodes);
    free(cpus);
}

static void put_pages(struct tb_doc *doc, const struct locus_topo_info *info)
{
    struct tb_table *table = tb_doc_grid(doc, "pages", NULL, "bytes|reserved|free");
    struct tb_words words = {0};
    for (unsigned i = 0; i < info->pages_count; i++) {
        const struct locus_page_size *page = &info->pages[i];
        char size[32];
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_count(page->bytes));
        tb_table_put(table, tb_count(page->reserved_pages));
        tb_table_put(table, tb_count(page->free_pages));
        tb_say(&words, "%s%s", i ? ", " : "", tb_topo_bytes(size, sizeof size, page->bytes, true));
        if (i)
            tb_say(&words, " (%llu of %llu free)", (unsigned long long)page->free_pages, (unsigned long long)page->reserved_pages);
    }
    tb_doc_fact(doc, NULL, "pages", TB_AS_IS, tb_text_value(words.used ? words.text : NULL));
}

static void put_cgroup(struct tb_doc *doc, const struct locus_topo_info *info, const struct tb_topo_host *host)
{
    uint64_t limit = info->cgroup_limit_bytes, room = host->cgroup_room_bytes;
    char most[32], left[32], said[96];
    tb_doc_json(doc, "cgroup",
                json_pack("{s:o, s:o}", "memory_limit_bytes", limit != UINT64_MAX ? tb_json_whole(limit) : json_null(),
                          "memory_room_bytes", room != UINT64_MAX ? tb_json_whole(room) : json_null()));
    if (limit == UINT64_MAX)
        return;
    snprintf(said, sizeof said, "%s, of which %s can still be taken", tb_topo_bytes(most, sizeof most, limit, true),
             tb_topo_bytes(left, sizeof left, room, false));
    tb_doc_fact(doc, NULL, "cgroup memory limit", TB_AS_IS, tb_text_value(said));
}

static void put_right(struct tb_doc *doc, const char *call, int error)
{
    const char *why = tb_probe_why(error);
    char key[32], said[160];
    snprintf(key, sizeof key, "%s_why", call);
    snprintf(said, sizeof said, "%s%s%s", why ? "no" : "yes", why ? ": " : "", why ? why : "");
    tb_doc_fact(doc, call, NULL, TB_AS_IS, tb_flag(error == 0));
    tb_doc_fact(doc, key, NULL, TB_AS_IS, tb_text_value(why));
    tb_doc_fact(doc, NULL, call, TB_AS_IS, tb_text_value(said));
}

static void put_host(struct tb_doc *doc, const struct locus_topo *topo, const struct tb_topo_host *host)
{
    const struct locus_topo_info *info = locus_topo_info(topo);
    put_process(doc, topo);
    put_cgroup(doc, info, host);
    put_pages(doc, info);
    put_right(doc, "mbind", host->mbind_errno);
    put_right(doc, "move_pages", host->move_pages_errno);
    tb_doc_fact(doc, "numa_balancing", NULL, TB_AS_IS, index_value(host->numa_balancing));
    tb_doc_fact(doc, NULL, "NUMA balancing", TB_AS_IS,
                host->numa_balancing == TB_BALANCING_UNKNOWN ? tb_none("unknown")
                                                             : tb_text_value(host->numa_balancing < 0 ? "not in this kernel"
                                                                             : host->numa_balancing   ? "ON (see `locus doctor`)"
                                                                                                      : "off"));
}

struct tb_doc *tb_topo_doc(json_t *head, const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host)
{
    static const char *const of_the_host[] = {
        "pages",          "cgroup",         "mbind",        "move_pages",         "mbind_why",
        "move_pages_why", "numa_balancing", "nodes_hidden", "memory_nodes_bytes", "memory_kernel_bytes",
    };
    struct tb_doc *doc = tb_doc_open(head);
    if (!doc)
        return NULL;
    put_heading(doc, locus_topo_info(topo), topology, host);
    put_nodes(doc, topo, host != NULL);
    put_cpus(doc, topo, host != NULL);
    put_distances(doc, topo);
    if (host)
        put_doubts(doc, locus_topo_info(topo));
    if (host)
        put_host(doc, topo, host);
    for (size_t i = 0; !host && i < sizeof of_the_host / sizeof *of_the_host; i++)
        tb_doc_fact(doc, of_the_host[i], NULL, TB_AS_IS, tb_none(NULL));
    if (!host)
        tb_doc_say(doc, NULL, "Not this machine: what is free, and what a process may use there, is unknown.");
    return doc;
}

json_t *tb_topo_json(const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host)
{
    struct tb_doc *doc = tb_topo_doc(NULL, topo, topology, host);
    json_t *object = doc ? tb_doc_as_json(doc) : NULL;
    tb_doc_close(doc);
    return object;
}
