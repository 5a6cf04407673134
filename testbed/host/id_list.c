// SPDX-License-Identifier: Apache-2.0
//
// id_list: hwloc parses the list, but takes whatever begins like one, so the text is looked at first.
#include "testbed/host/id_list.h"

#include <ctype.h>
#include <errno.h>
#include <hwloc.h>
#include <stdbool.h>

static bool is_list(const char *text)
{
    for (bool first = true; *text; first = false) {
        if (!first && *text++ != ',')
            return false;
        for (int ends = 0; ends < 2 && (ends == 0 || *text == '-'); ends++) {
            text += ends; // the '-'
            if (!isdigit((unsigned char)*text))
                return false;
            while (isdigit((unsigned char)*text))
                text++;
        }
    }
    return true;
}

static hwloc_bitmap_t parse(const char *text, int *error)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    *error = !set ? -ENOMEM : !is_list(text) || hwloc_bitmap_list_sscanf(set, text) ? -EINVAL : 0;
    return set;
}

int tb_id_list_count(const char *list)
{
    return tb_id_list_common(list, list);
}

int tb_id_list_common(const char *one, const char *other)
{
    int errors[2];
    hwloc_bitmap_t a = parse(one, &errors[0]), b = parse(other, &errors[1]);
    int result = errors[0] ? errors[0] : errors[1];
    if (!result) {
        hwloc_bitmap_and(a, a, b);
        result = hwloc_bitmap_weight(a);
    }
    hwloc_bitmap_free(a);
    hwloc_bitmap_free(b);
    return result;
}
