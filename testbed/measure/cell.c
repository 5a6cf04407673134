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
    for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_ENGINE; touch++) {
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
    if (out->touch == TB_TOUCH_PAGES)
        return tb_arena_setting(&out->serving.arena, word, &out->serving.requests);
    if (tb_touch_serves(out->touch))
        return tb_adapter_setting(&out->serving.adapters, out->touch == TB_TOUCH_RESIDENCY, word, &out->serving.requests);
    if (out->touch == TB_TOUCH_PINS)
        return tb_pins_setting(&out->pins, word);
    if (out->touch == TB_TOUCH_ENGINE && tb_engine_setting(&out->engine, word))
        return true;
    uint32_t workers = tb_workers_parse(word);
    if (workers) {
        bool first = out->workers == 0;
        out->workers = workers;
        return first;
    }
    if (out->touch == TB_TOUCH_ENGINE)
        return false;
    if (out->touch == TB_TOUCH_DECODE)
        return tb_decode_setting(&out->decode, word) || (!out->dispatch_given && dispatch_read(word, out));
    if (!out->block_bytes && tb_cli_bytes(word, TB_BLOCK_BYTES_MIN, TB_BLOCK_BYTES_MAX, &out->block_bytes))
        return true;
    return !out->dispatch_given && dispatch_read(word, out);
}

int tb_cell_parse(const char *text, char workload[TB_WORKLOAD_NAME], struct tb_cell *out)
{
    char words[TB_CELL_TEXT], *rest = NULL;
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
    tb_engine_settings_fill(&out->engine);
    tb_pins_settings_fill(&out->pins);
    if (out->touch == TB_TOUCH_DECODE)
        tb_decode_settings_fill(&out->decode);
    strcpy(workload, name);
    return 0;
}

// "batch-8x4096/decode/LLama" with `bad` at "LLama": what is before it is a cell, and its settings were not filled in yet.
static void decode_why(const char *text, size_t bad, size_t length, char *why, size_t why_bytes)
{
    struct tb_decode_settings settings = {0};
    char words[TB_CELL_TEXT], said[400], *rest = NULL;
    snprintf(words, sizeof words, "%.*s", (int)length, text);
    const char *word = words + bad;
    words[bad - 1] = '\0';
    strtok_r(words, "/", &rest);
    strtok_r(NULL, "/", &rest);
    for (const char *before = strtok_r(NULL, "/", &rest); before; before = strtok_r(NULL, "/", &rest))
        tb_decode_setting(&settings, before); // or workers, or dispatch
    if (word[strspn(word, "0123456789")] == 'w')
        snprintf(said, sizeof said, "'%s': workers are 1 to %u, and given once", word, TB_WORKERS_MAX);
    else if (dispatch_read(word, &(struct tb_cell){0}))
        snprintf(said, sizeof said, "'%s' is of a kind that was given before", word);
    else
        tb_decode_setting_why(&settings, word, said, sizeof said);
    snprintf(why, why_bytes, "cell '%s': %s", text, said);
}

void tb_cell_why(const char *text, char *why, size_t why_bytes)
{
    char words[TB_CELL_TEXT], first[TB_CELL_TEXT], workload[TB_WORKLOAD_NAME];
    struct tb_cell cell = {0};
    size_t length = 0, bad = 0;
    snprintf(words, sizeof words, "%s", text);
    for (const char *at = strchr(words, '/'); at && !bad; at = strchr(at + 1, '/')) { // the first word that makes it one no more
        const char *next = strchr(at + 1, '/');
        length = next ? (size_t)(next - words) : strlen(words);
        snprintf(first, sizeof first, "%.*s", (int)length, words);
        if (tb_cell_parse(first, workload, &cell))
            bad = (size_t)(at + 1 - words);
    }
    if (bad && cell.touch == TB_TOUCH_DECODE && words[bad] && words[bad] != '/')
        decode_why(words, bad, length, why, why_bytes);
    else if (bad)
        snprintf(why, why_bytes, "cell '%s': '%.*s' is no touch mode or setting, or one that was made before", text,
                 (int)(length - bad), words + bad);
    else
        snprintf(why, why_bytes, "cell '%s' is not of the form WORKLOAD/TOUCH", text);
}

tb_cell_plan_fn *tb_cell_plan(enum tb_touch touch)
{
    return touch == TB_TOUCH_KEEP        ? tb_keep_plan
           : touch == TB_TOUCH_ADAPTERS  ? tb_adapters_plan
           : touch == TB_TOUCH_RESIDENCY ? tb_residency_plan
           : touch == TB_TOUCH_PAGES     ? tb_pages_plan
                                         : tb_serving_plan;
}

// "4KiB" where that is whole, else "4097": both are read back.
static void bytes_text(uint64_t bytes, char *out, size_t out_bytes)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    for (; unit < 3 && bytes && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    snprintf(out, out_bytes, "%llu%s", (unsigned long long)bytes, units[unit]);
}

void tb_cell_text(const char *workload, const struct tb_cell *cell, char *out, size_t bytes)
{
    char touch[96], size[32] = "", workers[16] = "";
    snprintf(touch, sizeof touch, "%s", tb_touch_name(cell->touch));
    if (cell->touch == TB_TOUCH_DECODE)
        tb_decode_settings_text(&cell->decode, touch, sizeof touch);
    else if (cell->block_bytes)
        bytes_text(cell->block_bytes, size, sizeof size);
    if (cell->workers)
        snprintf(workers, sizeof workers, "/%uw", cell->workers);
    snprintf(out, bytes, "%s/%s%s%s%s%s%s", workload, touch, size[0] ? "/" : "", size, cell->dispatch_given ? "/" : "",
             cell->dispatch_given ? tb_dispatch_name(cell->dispatch) : "", workers);
}
