// SPDX-License-Identifier: Apache-2.0
//
// settings: see settings.h.

#include "testbed/engine/settings.h"

#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"

static const char *const kv_types[] = {"f16", "bf16", "f32"};

// A number before one of these letters.
static bool number_before(const char *word, char unit, uint64_t most, uint32_t *out)
{
    char digits[16];
    uint64_t value;
    size_t length = strlen(word);
    if (length < 2 || length > sizeof(digits) || word[length - 1] != unit)
        return false;
    snprintf(digits, sizeof(digits), "%.*s", (int)(length - 1), word);
    if (*out || !tb_cli_u64(digits, 1, most, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

bool tb_engine_setting(struct tb_engine_settings *settings, const char *word)
{
    for (size_t i = 0; i < sizeof(kv_types) / sizeof(kv_types[0]); i++)
        if (strcmp(word, kv_types[i]) == 0) {
            bool first = !settings->kv_type[0];
            strcpy(settings->kv_type, word);
            return first;
        }
    return number_before(word, 'p', TB_ENGINE_CONTEXT_MAX / 2, &settings->prompt_tokens) ||
           number_before(word, 'b', 256, &settings->batch) ||
           number_before(word, 'c', TB_ENGINE_CONTEXT_MAX, &settings->context_tokens);
}

void tb_engine_settings_fill(struct tb_engine_settings *settings)
{
    if (!settings->batch)
        settings->batch = 1;
    if (!settings->kv_type[0])
        strcpy(settings->kv_type, kv_types[0]);
}

static void add_number(char *out, size_t bytes, uint32_t number, char unit)
{
    size_t used = strlen(out);
    if (number)
        snprintf(out + used, bytes - used, "/%u%c", number, unit);
}

void tb_engine_settings_text(const struct tb_engine_settings *settings, char *out, size_t bytes)
{
    snprintf(out, bytes, "engine");
    add_number(out, bytes, settings->prompt_tokens, 'p');
    add_number(out, bytes, settings->batch, 'b');
    add_number(out, bytes, settings->context_tokens, 'c');
    snprintf(out + strlen(out), bytes - strlen(out), "%s%s", settings->kv_type[0] ? "/" : "", settings->kv_type);
}
