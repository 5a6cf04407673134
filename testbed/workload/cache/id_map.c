// SPDX-License-Identifier: Apache-2.0
//
// id_map: a hash table with open addressing, at most half full.
#include "testbed/workload/cache/id_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tb_id_map_open(struct tb_id_map *map, size_t ids)
{
    size_t places = 16;
    while (places < 2 * ids)
        places *= 2;
    *map = (struct tb_id_map){.mask = places - 1};
    map->number = malloc(places * sizeof *map->number);
    map->id = malloc((ids + 1) * sizeof *map->id);
    if (!map->number || !map->id || ids >= TB_ID_NONE)
        return -ENOMEM;
    memset(map->number, 0xff, places * sizeof *map->number); // TB_ID_NONE
    return 0;
}

void tb_id_map_close(struct tb_id_map *map)
{
    free(map->number);
    free(map->id);
}

uint32_t tb_id_map_number(struct tb_id_map *map, uint64_t id)
{
    // 2^64 divided by the golden ratio: the high bits of the product depend on all of the id
    size_t place = (id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & map->mask;
    while (map->number[place] != TB_ID_NONE && map->id[map->number[place]] != id)
        place = (place + 1) & map->mask;
    if (map->number[place] == TB_ID_NONE) {
        map->number[place] = map->count;
        map->id[map->count++] = id;
    }
    return map->number[place];
}
