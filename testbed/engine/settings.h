// SPDX-License-Identifier: Apache-2.0
//
// settings: what a cell of touch `engine` says besides its model: MODEL/engine/1990p/8b/bf16. Pure functions, any thread.
#ifndef TB_ENGINE_SETTINGS_H
#define TB_ENGINE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_ENGINE_CONTEXT_MAX (1u << 30)

struct tb_engine_settings {     // all 0: nothing was said yet
    uint32_t prompt_tokens;     // "56p": tokens of each sequence before the first step
    uint32_t batch;             // "8b": sequences (1)
    uint32_t context_tokens;    // "131072c": of each sequence (prompt and steps, up to 256)
    char kv_type[8];            // "f16", "bf16", "f32" (f16)
};

// Takes one word. False: it is no setting, or one of its kind was made before.
bool tb_engine_setting(struct tb_engine_settings *settings, const char *word);

// What nobody said.
void tb_engine_settings_fill(struct tb_engine_settings *settings);

// "engine/1990p/8b/bf16": the words that make these settings, and the touch before them.
void tb_engine_settings_text(const struct tb_engine_settings *settings, char *out, size_t bytes);

#endif
