// SPDX-License-Identifier: Apache-2.0
//
// id_map: numbers the different ids of a sequence 0, 1, 2, ... in the order of their first appearance.
#ifndef TB_ID_MAP_H
#define TB_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#define TB_ID_NONE UINT32_MAX

struct tb_id_map {
    size_t mask;                // places - 1
    uint32_t *number;           // of each place; TB_ID_NONE: it is free
    uint64_t *id;               // of each number
    uint32_t count;
};

// For at most `ids` different ones. 0 or -ENOMEM; close it in both cases.
int tb_id_map_open(struct tb_id_map *map, size_t ids);
void tb_id_map_close(struct tb_id_map *map);

// The id's number; a new id gets the next one.
uint32_t tb_id_map_number(struct tb_id_map *map, uint64_t id);

#endif
