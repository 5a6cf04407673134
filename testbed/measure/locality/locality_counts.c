// SPDX-License-Identifier: Apache-2.0
//
// locality_counts: adds up the counts of locality.c over threads, and reads them one by one. An instance to which others were
// added can go on: their maps are added up separately from its own, which it still needs.
#include "testbed/measure/locality/locality_internal.h"

#include <errno.h>
#include <string.h>

static void map_add(struct tb_locality_map *into, const struct tb_locality_map *from)
{
    into->refreshes = into->refreshes > from->refreshes ? into->refreshes : from->refreshes;
    into->refresh_error = into->refresh_error ? into->refresh_error : from->refresh_error;
    into->pages += from->pages;
    into->pages_absent += from->pages_absent;
    into->pages_moved += from->pages_moved;
    into->pages_refused += from->pages_refused;
    into->pending += from->pending;
    into->pending_refused += from->pending_refused;
}

int tb_locality_add(struct tb_locality *into, const struct tb_locality *from)
{
    size_t side = into->nodes_count + 1u;
    if (into->nodes_count != from->nodes_count || into->points_max < from->points_count ||
        memcmp(into->os_nodes, from->os_nodes, side * sizeof *into->os_nodes) != 0)
        return -EINVAL;
    for (size_t i = 0; i < TB_LOCALITY_WHATS * side * side; i++)
        into->matrices[i] += from->matrices[i];
    for (uint32_t i = 0; i < from->points_count; i++) {
        into->points[i].allocated += from->points[i].allocated;
        into->points[i].wandered += from->points[i].wandered;
        into->points[i].unknown += from->points[i].unknown;
    }
    into->points_count = into->points_count > from->points_count ? into->points_count : from->points_count;
    map_add(&into->added, &from->map);
    map_add(&into->added, &from->added);
    return 0;
}

static int ordinal(const struct tb_locality *locality, int os_node)
{
    if (os_node == TB_LOCALITY_UNKNOWN)
        return (int)locality->nodes_count;
    uint16_t found = locality_ordinal(locality, os_node);
    return found == locality->nodes_count ? -1 : found;
}

uint64_t tb_locality_count(const struct tb_locality *locality, enum tb_locality_what what, int from_node, int to_node)
{
    int from = ordinal(locality, from_node), to = ordinal(locality, to_node);
    return from < 0 || to < 0 ? 0 : *locality_cell(locality, what, (uint32_t)from, (uint32_t)to);
}

struct tb_locality_sums tb_locality_sums(const struct tb_locality *locality, enum tb_locality_what what)
{
    struct tb_locality_sums sums = {0};
    uint32_t unknown = locality->nodes_count;
    for (uint32_t from = 0; from <= unknown; from++)
        for (uint32_t to = 0; to <= unknown; to++)
            *(from == unknown || to == unknown ? &sums.unknown
              : from == to                     ? &sums.local
                                               : &sums.remote) += *locality_cell(locality, what, from, to);
    return sums;
}

const struct tb_locality_point *tb_locality_drift(const struct tb_locality *locality, uint32_t *count)
{
    *count = locality->points_count;
    return locality->points;
}

struct tb_locality_map tb_locality_map(const struct tb_locality *locality)
{
    struct tb_locality_map map = locality->map;
    map_add(&map, &locality->added);
    return map;
}
