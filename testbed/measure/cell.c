// SPDX-License-Identifier: Apache-2.0
//
// cell: see cell.h.

#include "testbed/measure/cell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/serving/keep.h"

static bool touch_read(const char *word, enum tb_touch *out)
{
    for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_KEEP; touch++) {
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
    if (out->touch == TB_TOUCH_SERVE)
        return tb_serving_setting(&out->serving, word);
    if (out->touch == TB_TOUCH_KEEP)
        return tb_keep_setting(&out->serving, word);
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
    out->serving.watermark_percent = -1; // not given yet
    for (const char *word = strtok_r(NULL, "/", &rest); word; word = strtok_r(NULL, "/", &rest))
        if (!setting_read(word, out))
            return -EINVAL;
    tb_serving_settings_fill(&out->serving);
    strcpy(workload, name);
    return 0;
}

void tb_cell_why(const char *text, char *why, size_t why_bytes)
{
    char words[96], workload[TB_WORKLOAD_NAME];
    struct tb_cell cell;
    size_t length = 0, bad = 0;
    snprintf(words, sizeof words, "%s", text);
    for (const char *at = strchr(words, '/'); at && !bad; at = strchr(at + 1, '/')) { // the first word that makes it one no more
        const char *next = strchr(at + 1, '/');
        length = next ? (size_t)(next - words) : strlen(words);
        char first[96];
        snprintf(first, sizeof first, "%.*s", (int)length, words);
        if (tb_cell_parse(first, workload, &cell))
            bad = (size_t)(at + 1 - words);
    }
    if (bad)
        snprintf(why, why_bytes, "cell '%s': '%.*s' is no touch mode or setting, or one that was made before", text,
                 (int)(length - bad), words + bad);
    else
        snprintf(why, why_bytes, "cell '%s' is not of the form WORKLOAD/TOUCH", text);
}
