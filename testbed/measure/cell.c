// SPDX-License-Identifier: Apache-2.0
//
// cell: see cell.h.

#include "testbed/measure/cell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"

static bool touch_read(const char *word, enum tb_touch *out)
{
    for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_LINE; touch++) {
        *out = (enum tb_touch)touch;
        if (strcmp(word, tb_touch_name(*out)) == 0)
            return true;
    }
    return false;
}

static bool dispatch_read(const char *word, struct tb_cell *out)
{
    for (int dispatch = TB_DISPATCH_INLINE; dispatch <= TB_DISPATCH_FUTEX && !out->dispatch_given; dispatch++) {
        out->dispatch = (enum tb_dispatch)dispatch;
        out->dispatch_given = strcmp(word, tb_dispatch_name(out->dispatch)) == 0;
    }
    return out->dispatch_given;
}

// Each kind of setting may occur once.
static bool setting_read(const char *word, struct tb_cell *out)
{
    uint32_t workers = tb_workers_parse(word);
    if (workers) {
        bool first = out->workers == 0;
        out->workers = workers;
        return first;
    }
    if (!out->block_bytes && tb_cli_bytes(word, TB_BLOCK_BYTES_MIN, TB_BLOCK_BYTES_MAX, &out->block_bytes))
        return true;
    return !out->dispatch_given && dispatch_read(word, out);
}

int tb_cell_parse(const char *text, char workload[TB_WORKLOAD_NAME], struct tb_cell *out)
{
    char words[96], *rest = NULL;
    *out = (struct tb_cell){0};
    workload[0] = '\0';
    if (snprintf(words, sizeof words, "%s", text) >= (int)sizeof words || text[0] == '/' || strstr(text, "//"))
        return -EINVAL;
    const char *name = strtok_r(words, "/", &rest), *touch = strtok_r(NULL, "/", &rest);
    if (!touch || text[strlen(text) - 1] == '/' || strlen(name) >= TB_WORKLOAD_NAME || !touch_read(touch, &out->touch))
        return -EINVAL;
    for (const char *word = strtok_r(NULL, "/", &rest); word; word = strtok_r(NULL, "/", &rest))
        if (!setting_read(word, out))
            return -EINVAL;
    strcpy(workload, name);
    return 0;
}
