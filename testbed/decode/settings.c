// SPDX-License-Identifier: Apache-2.0
//
// settings: see settings.h.

#include "testbed/decode/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/decode/layouts/layouts.h"
#include "testbed/decode/team.h"

#define BLOCK_TOKENS 16u

// "16t" with unit 't' gives 16; 0: not of that form, or above `max`.
static uint32_t number_read(const char *word, char unit, uint32_t max)
{
    const char after[] = {unit, '\0'};
    uint64_t number;
    return tb_number_word(word, "", after, 1, max, &number) ? (uint32_t)number : 0;
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

static bool word_set(struct tb_decode_settings *settings, const char *word)
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

static bool is_whole(const struct tb_decode_settings *settings)
{
    const struct tb_layout *layout = tb_layout_find(settings->layout);
    return layout && layout->whole;
}

bool tb_decode_setting(struct tb_decode_settings *settings, const char *word)
{
    return word_set(settings, word) && !(is_whole(settings) && settings->block_tokens);
}

// "a, b or c"; what does not fit is left out.
static void names_say(char *out, size_t bytes, const char *(*name)(size_t i))
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; name(i) && at < bytes; i++)
        at += (size_t)snprintf(out + at, bytes - at, "%s%s", i == 0 ? "" : name(i + 1) ? ", " : " or ", name(i));
}

static const char *layout_name(size_t i)
{
    return tb_layout_at(i) ? tb_layout_at(i)->name : NULL;
}

static const char *shape_name(size_t i)
{
    return tb_shape_at(i) ? tb_shape_at(i)->name : NULL;
}

static const char *dtype_name(size_t i)
{
    return i < TB_DTYPES_COUNT ? tb_dtype_name((enum tb_dtype)i) : NULL;
}

static void unknown_say(const char *word, char *why, size_t why_bytes)
{
    char shapes[120], layouts[100], types[40];
    names_say(shapes, sizeof shapes, shape_name);
    names_say(layouts, sizeof layouts, layout_name);
    names_say(types, sizeof types, dtype_name);
    snprintf(why, why_bytes,
             "'%.40s' is no shape (%s; or LAYERSxHEADSxKVHEADSxSIZE), no layout (%s), no type (%s), and no other setting of decode",
             word, shapes, layouts, types);
}

void tb_decode_setting_why(const struct tb_decode_settings *settings, const char *word, char *why, size_t why_bytes)
{
    struct tb_decode_settings alone = {0}, all = *settings;
    struct tb_shape shape;
    size_t digits = strspn(word, "0123456789");
    const char *unit = word + digits;
    if (word_set(&alone, word) && word_set(&all, word))
        snprintf(why, why_bytes, "a block of layout '%s' is as long as a sequence becomes: leave '%ut' out", all.layout,
                 all.block_tokens);
    else if (word_set(&(struct tb_decode_settings){0}, word))
        snprintf(why, why_bytes, "'%.40s' is of a kind that was given before", word);
    else if (digits && strcmp(unit, "t") == 0)
        snprintf(why, why_bytes, "'%.40s': a block has a multiple of %u tokens, up to %u", word, TB_TILE_TOKENS,
                 TB_BLOCK_TOKENS_MAX);
    else if (digits && strcmp(unit, "c") == 0)
        snprintf(why, why_bytes, "'%.40s': 1 to %u CPUs compute", word, TB_TEAM_MAX);
    else if (digits && unit[0] == 'x')
        tb_shape_parse(word, &shape, why, why_bytes);
    else if (digits)
        snprintf(why, why_bytes, "'%.40s': the bytes of a block follow from its tokens: say these, such as 128t", word);
    else
        unknown_say(word, why, why_bytes);
}

void tb_decode_settings_text(const struct tb_decode_settings *settings, char *out, size_t bytes)
{
    struct tb_decode_settings usual = {0};
    char tokens[16], threads[16];
    tb_decode_settings_fill(&usual);
    snprintf(tokens, sizeof tokens, "%ut", settings->block_tokens);
    snprintf(threads, sizeof threads, "%uc", settings->threads);
    const char *words[] = {strcmp(settings->shape, usual.shape) ? settings->shape : "",
                           settings->block_tokens != usual.block_tokens ? tokens : "",
                           strcmp(settings->layout, usual.layout) ? settings->layout : "",
                           settings->dtype != usual.dtype ? tb_dtype_name(settings->dtype) : "",
                           settings->threads != usual.threads ? threads : ""};
    size_t at = (size_t)snprintf(out, bytes, "decode");
    for (size_t i = 0; i < sizeof words / sizeof *words && at < bytes; i++)
        if (words[i][0])
            at += (size_t)snprintf(out + at, bytes - at, "/%s", words[i]);
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
