// SPDX-License-Identifier: Apache-2.0
//
// settings: see settings.h.

#include "testbed/decode/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "testbed/decode/layouts/layouts.h"
#include "testbed/decode/team.h"

#define BLOCK_TOKENS 16u

// "16t" with unit 't' gives 16; 0: not of that form, or above `max`.
static uint32_t number_read(const char *word, char unit, uint32_t max)
{
    char *end;
    if (!isdigit((unsigned char)word[0]))
        return 0;
    unsigned long number = strtoul(word, &end, 10);
    return end[0] == unit && end[1] == '\0' && number <= max ? (uint32_t)number : 0;
}

static bool number_set(uint32_t *to, uint32_t number)
{
    bool first = *to == 0;
    *to = number;
    return first;
}

static bool name_set(char *to, size_t bytes, const char *name)
{
    bool first = to[0] == '\0';
    snprintf(to, bytes, "%s", name);
    return first;
}

bool tb_decode_setting(struct tb_decode_settings *settings, const char *word)
{
    char why[160];
    struct tb_shape shape;
    enum tb_dtype dtype;
    uint32_t tokens = number_read(word, 't', TB_BLOCK_TOKENS_MAX), threads = number_read(word, 'c', TB_TEAM_MAX);
    if (tokens)
        return tokens % TB_TILE_TOKENS == 0 && number_set(&settings->block_tokens, tokens);
    if (threads)
        return number_set(&settings->threads, threads);
    if (tb_layout_find(word))
        return name_set(settings->layout, sizeof settings->layout, tb_layout_find(word)->name);
    if (tb_dtype_parse(word, &dtype)) {
        bool first = !settings->dtype_given;
        settings->dtype = dtype;
        settings->dtype_given = true;
        return first;
    }
    return tb_shape_parse(word, &shape, why, sizeof why) == 0 && name_set(settings->shape, sizeof settings->shape, shape.name);
}

void tb_decode_settings_fill(struct tb_decode_settings *settings)
{
    if (!settings->shape[0])
        strcpy(settings->shape, TB_SHAPE_DEFAULT);
    if (!settings->layout[0])
        strcpy(settings->layout, tb_layout_runs.name);
    if (!settings->dtype_given)
        settings->dtype = TB_DTYPE_BF16;
    settings->dtype_given = true;
    settings->block_tokens = settings->block_tokens ? settings->block_tokens : BLOCK_TOKENS;
    settings->threads = settings->threads ? settings->threads : 1;
}

int tb_decode_cache(const struct tb_decode_settings *settings, uint32_t tokens_max, struct tb_cache *out, char *why,
                    size_t why_bytes)
{
    struct tb_shape shape;
    const struct tb_layout *layout = tb_layout_find(settings->layout);
    int error = tb_shape_parse(settings->shape, &shape, why, why_bytes);
    if (error)
        return error;
    if (!layout) {
        snprintf(why, why_bytes, "'%s' is no layout", settings->layout);
        return -EINVAL;
    }
    uint32_t whole = (tokens_max + TB_TILE_TOKENS - 1) / TB_TILE_TOKENS * TB_TILE_TOKENS;
    return tb_cache_open(out, &shape, settings->dtype, layout, layout->whole ? whole : settings->block_tokens, why, why_bytes);
}
