// SPDX-License-Identifier: Apache-2.0
//
// topo_text: a machine as a table for people.
//
// It fits 80 columns for any machine: a long list of CPUs continues on the next line of its column, and a wide distance table comes
// in blocks. What is not known is "-", never 0.
#include "testbed/host/topology/topo_view.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/host/probe.h"

enum { COLUMNS = 80, CPUS_WIDTH_MIN = 10, CPUS_WIDTH_MAX = 22, DISTANCES_PER_BLOCK = 13 };

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

// Writes "0-7,16-23" for ascending numbers; the caller frees it. NULL: no memory.
static char *list_of(const unsigned *ids, unsigned count)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return NULL;
    for (unsigned first = 0, last = 0; first < count; first = last + 1) {
        for (last = first; last + 1 < count && ids[last + 1] == ids[last] + 1;)
            last++;
        fprintf(stream, first == last ? "%s%u" : "%s%u-%u", first ? "," : "", ids[first], ids[last]);
    }
    if (fclose(stream)) {
        free(text);
        return NULL;
    }
    return text;
}

// Length of the next piece of `list` that fits into `width`, cut behind a comma.
static int piece_length(const char *list, int width)
{
    if ((int)strlen(list) <= width)
        return (int)strlen(list);
    int cut = width;
    while (cut > 1 && list[cut - 1] != ',')
        cut--;
    return cut > 1 ? cut : width;
}

static void print_heading(const struct locus_topo_info *info, const char *topology, const struct tb_topo_host *host)
{
    char total[32];
    char left[128];
    char right[128];
    char smt[64] = "cores unknown";
    if (info->cores_count > 0)
        snprintf(smt, sizeof(smt), "%u core%s, SMT %s", info->cores_count, info->cores_count == 1 ? "" : "s",
                 info->smt_max > 1 ? "on" : "off");
    tb_topo_bytes(total, sizeof(total), info->memory_total_bytes, true);
    snprintf(left, sizeof(left), "%u node%s, %u CPU%s (%s), %s", info->nodes_count, info->nodes_count == 1 ? "" : "s",
             info->cpus_count, info->cpus_count == 1 ? "" : "s", smt, total);
    if (host)
        snprintf(right, sizeof(right), "kernel %.*s, hwloc %s", (int)strcspn(host->names.release, "-+_"), host->names.release,
                 info->hwloc_version);
    else
        snprintf(right, sizeof(right), "%s, hwloc %s", tb_topo_source_name(info->source), info->hwloc_version);
    int gap = COLUMNS - (int)strlen(left) - (int)strlen(right);
    printf("%s%*s%s\n", left, gap < 2 ? 2 : gap, "", right);
    if (topology)
        printf("described by %s\n", topology);
}

static void print_node(const struct locus_topo_node *node, const char *list, int width)
{
    char total[32];
    char free_text[32] = "-";
    char reclaimable[32] = "-";
    if (node->memory_live) {
        tb_topo_bytes(free_text, sizeof(free_text), node->memory.free_bytes, false);
        tb_topo_bytes(reclaimable, sizeof(reclaimable), node->memory.reclaimable_bytes, false);
    }
    const char *at = *list ? list : "-";
    int piece = piece_length(at, width);
    printf("%4d  %-*.*s  %9s  %9s  %11s  %s%s%s\n", node->os_index, width, piece, at,
           tb_topo_bytes(total, sizeof(total), node->memory.total_bytes, true), free_text, reclaimable,
           tb_topo_kind_name(node->kind), node->tier ? " " : "", node->tier ? node->tier : "");
    for (at += piece; *at; at += piece) {
        piece = piece_length(at, width);
        printf("      %.*s\n", piece, at);
    }
}

static int print_nodes(const struct locus_topo *topo)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    unsigned count = locus_topo_info(topo)->nodes_count;
    int width = CPUS_WIDTH_MIN;
    int status = TB_EXIT_OK;
    char **lists = calloc(count, sizeof(*lists));
    for (unsigned n = 0; lists && n < count; n++) {
        lists[n] = list_of(nodes[n].cpus, nodes[n].cpus_count);
        if (lists[n] && (int)strlen(lists[n]) > width)
            width = (int)strlen(lists[n]);
    }
    if (width > CPUS_WIDTH_MAX)
        width = CPUS_WIDTH_MAX;
    printf("node  %-*s  %9s  %9s  %11s  kind\n", width, "CPUs", "memory", "free", "reclaimable");
    for (unsigned n = 0; n < count; n++) {
        if (!lists || !lists[n])
            status = TB_EXIT_FAILED;
        else
            print_node(&nodes[n], lists[n], width);
    }
    for (unsigned n = 0; lists && n < count; n++)
        free(lists[n]);
    free(lists);
    return status;
}

static void print_distance_block(const struct locus_topo *topo, unsigned first, unsigned last)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    printf("distance");
    for (unsigned to = first; to < last; to++)
        printf("%5d", nodes[to].os_index);
    printf("\n");
    for (unsigned from = 0; from < locus_topo_info(topo)->nodes_count; from++) {
        printf("%8d", nodes[from].os_index);
        for (unsigned to = first; to < last; to++) {
            unsigned distance = locus_topo_distance(topo, nodes[from].os_index, nodes[to].os_index);
            char text[16] = "-";
            if (distance)
                snprintf(text, sizeof(text), "%u", distance);
            printf("%5s", text);
        }
        printf("\n");
    }
}

static void print_distances(const struct locus_topo *topo)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    unsigned count = locus_topo_info(topo)->nodes_count;
    if (locus_topo_distance(topo, nodes[0].os_index, nodes[0].os_index) == 0) {
        printf("distance  unknown\n");
        return;
    }
    for (unsigned first = 0; first < count; first += DISTANCES_PER_BLOCK)
        print_distance_block(topo, first, first + DISTANCES_PER_BLOCK < count ? first + DISTANCES_PER_BLOCK : count);
}

// "all nodes", "nodes 0,2", "no nodes".
static void print_allowed(const char *what, const unsigned *allowed, unsigned count, unsigned all)
{
    char *list = list_of(allowed, count);
    if (count == all)
        printf("all %s", what);
    else if (count == 0)
        printf("no %s", what);
    else
        printf("%s %s", what, list ? list : "?");
    free(list);
}

static int print_process(const struct locus_topo *topo)
{
    const struct locus_topo_info *info = locus_topo_info(topo);
    unsigned *ids = calloc(info->cpus_count + info->nodes_count, sizeof(*ids));
    if (!ids)
        return TB_EXIT_FAILED;
    unsigned allowed = 0;
    unsigned with_memory = 0;
    printf("this process may use: ");
    for (unsigned n = 0; n < info->nodes_count; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        with_memory += node->memory.total_bytes > 0;
        if (node->allowed)
            ids[allowed++] = (unsigned)node->os_index;
    }
    print_allowed("nodes", ids, allowed, with_memory);
    printf(", ");
    allowed = 0;
    for (unsigned i = 0; i < info->cpus_count; i++)
        if (locus_topo_cpus(topo)[i].allowed)
            ids[allowed++] = locus_topo_cpus(topo)[i].os_index;
    print_allowed("CPUs", ids, allowed, info->cpus_count);
    printf("\n");
    free(ids);
    return TB_EXIT_OK;
}

static void print_why(const char *call, int error)
{
    if (error)
        printf("%s: %s\n", call, tb_probe_why(error));
}

static void print_host(const struct locus_topo_info *info, const struct tb_topo_host *host)
{
    char limit[32];
    char room[32];
    if (info->cgroup_limit_bytes != UINT64_MAX)
        printf("cgroup memory limit: %s, of which %s can still be taken\n",
               tb_topo_bytes(limit, sizeof(limit), info->cgroup_limit_bytes, true),
               tb_topo_bytes(room, sizeof(room), host->cgroup_room_bytes, false));
    printf("pages:");
    for (unsigned i = 0; i < info->pages_count; i++) {
        const struct locus_page_size *page = &info->pages[i];
        printf("%s %s", i ? "," : "", tb_topo_bytes(limit, sizeof(limit), page->bytes, true));
        if (i)
            printf(" (%llu of %llu free)", (unsigned long long)page->free_pages, (unsigned long long)page->reserved_pages);
    }
    printf("\n");
    printf("mbind: %s  move_pages: %s  NUMA balancing: %s\n", host->mbind_errno ? "no" : "yes",
           host->move_pages_errno ? "no" : "yes",
           host->numa_balancing < 0 ? "not in this kernel"
           : host->numa_balancing   ? "ON (see `locus doctor`)"
                                    : "off");
    print_why("mbind", host->mbind_errno);
    print_why("move_pages", host->move_pages_errno);
}

int tb_topo_print_text(const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host)
{
    const struct locus_topo_info *info = locus_topo_info(topo);
    print_heading(info, topology, host);
    int status = print_nodes(topo);
    print_distances(topo);
    if (!host) {
        printf("Not this machine: what is free, and what a process may use there, is unknown.\n");
        return status;
    }
    if (print_process(topo))
        status = TB_EXIT_FAILED;
    print_host(info, host);
    return status;
}
