// SPDX-License-Identifier: Apache-2.0
//
// settings, arm and result: words of a cell, ways to run the engine, and the table of what it says.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "testbed/engine/arm.h"
#include "testbed/engine/model.h"
#include "testbed/engine/result.h"
#include "testbed/engine/settings.h"

Test(settings, takes_each_kind_once)
{
    struct tb_engine_settings settings = {0};
    cr_expect(tb_engine_setting(&settings, "56p"));
    cr_expect(tb_engine_setting(&settings, "8b"));
    cr_expect(tb_engine_setting(&settings, "131072c"));
    cr_expect(tb_engine_setting(&settings, "bf16"));
    cr_expect_eq(settings.prompt_tokens, 56);
    cr_expect_eq(settings.batch, 8);
    cr_expect_eq(settings.context_tokens, 131072);
    cr_expect_str_eq(settings.kv_type, "bf16");
    static const char *const again[] = {"57p", "2b", "1c", "f16", "bf16"};
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        cr_expect_not(tb_engine_setting(&settings, again[i]), "%s", again[i]);
    cr_expect_eq(settings.prompt_tokens, 56);
    cr_expect_eq(settings.batch, 8);
}

Test(settings, refuses_what_is_none)
{
    static const char *const words[] = {"", "p", "0p", "-1p", "1.5p", "257b", "99999999999p", "q8_0", "56", "p56", "1pp", "56P"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct tb_engine_settings settings = {0};
        cr_expect_not(tb_engine_setting(&settings, words[i]), "'%s'", words[i]);
        cr_expect_eq(settings.prompt_tokens + settings.batch + settings.context_tokens, 0, "'%s'", words[i]);
    }
}

Test(settings, fills_what_nobody_said)
{
    struct tb_engine_settings settings = {.batch = 3};
    tb_engine_settings_fill(&settings);
    cr_expect_eq(settings.batch, 3);
    cr_expect_str_eq(settings.kv_type, "f16");
    settings.batch = 0;
    tb_engine_settings_fill(&settings);
    cr_expect_eq(settings.batch, 1);
    cr_expect_eq(settings.prompt_tokens, 0);
}

Test(settings, are_written_in_words_that_make_them)
{
    const struct tb_engine_settings all[] = {{0}, {.batch = 1, .kv_type = "f16"}, {56, 8, 131072, "bf16"}, {.context_tokens = 7}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct tb_engine_settings read = {0};
        char text[64], *rest = NULL;
        tb_engine_settings_text(&all[i], text, sizeof text);
        cr_expect_str_eq(strtok_r(text, "/", &rest), "engine");
        for (const char *word; (word = strtok_r(NULL, "/", &rest));)
            cr_expect(tb_engine_setting(&read, word), "%s", word);
        cr_expect_eq(memcmp(&read, &all[i], sizeof read), 0, "%zu", i);
    }
}

Test(arm, each_is_found_by_its_name_and_ends_its_lists)
{
    size_t count = 0;
    for (const struct tb_engine_arm *arm; (arm = tb_engine_arm_at(count)); count++) {
        cr_expect_eq(tb_engine_arm_find(arm->name), arm);
        cr_expect(arm->summary && *arm->summary, "%s", arm->name);
        cr_expect_null(arm->words[sizeof arm->words / sizeof *arm->words - 1], "%s", arm->name);
        cr_expect_null(arm->before[sizeof arm->before / sizeof *arm->before - 1], "%s", arm->name);
        cr_expect_null(arm->environment[sizeof arm->environment / sizeof *arm->environment - 1], "%s", arm->name);
        bool backend = false;
        for (size_t i = 0; arm->environment[i]; i++) {
            cr_expect(strchr(arm->environment[i], '='), "%s", arm->name);
            backend |= strstr(arm->environment[i], "libggml-locus.so") != NULL;
        }
        cr_expect_eq(backend, arm->threads == TB_ENGINE_DEVICES, "%s has devices if and only if it loads them", arm->name);
    }
    cr_expect_geq(count, 10);
    cr_expect_null(tb_engine_arm_find("stok"));
    cr_expect_null(tb_engine_arm_find(""));
}

Test(result, each_field_is_set_and_read_alone)
{
    for (const struct tb_slot *slot = tb_engined_fields; slot->name; slot++) {
        struct tb_engined engined = {0};
        tb_slot_set(&engined, slot, 7);
        for (const struct tb_slot *other = tb_engined_fields; other->name; other++)
            cr_expect_eq(tb_slot_get(&engined, other), other == slot ? 7 : 0, "%s after %s", other->name, slot->name);
    }
}

Test(result, what_is_whole_says_so)
{
    struct tb_engined engined = {.kv_bytes = UINT64_C(1) << 40, .kv_remote_ratio = 0.25};
    for (const struct tb_slot *slot = tb_engined_fields; slot->name; slot++) {
        if (strcmp(slot->name, "kv_bytes") == 0)
            cr_expect(slot->whole && tb_slot_get(&engined, slot) == 1099511627776.0);
        if (strcmp(slot->name, "kv_remote_ratio") == 0)
            cr_expect(!slot->whole && tb_slot_get(&engined, slot) == 0.25);
    }
}

// What was seen of llama.cpp's own division: the 14 heads of Qwen2.5-0.5B go to one device or the other as a whole.
Test(model, says_whether_attention_divides_evenly)
{
    const struct {
        struct tb_model model;
        uint32_t devices;
        bool divides;
    } seen[] = {
        {{.heads = 14, .kv_heads = 2, .head_dim = 64}, 2, false}, {{.heads = 16, .kv_heads = 2, .head_dim = 64}, 2, true},
        {{.heads = 16, .kv_heads = 2, .head_dim = 64}, 4, false}, {{.heads = 8, .kv_heads = 4, .head_dim = 32}, 2, true},
        {{.heads = 8, .kv_heads = 4, .head_dim = 32}, 4, true},   {{.heads = 8, .kv_heads = 4, .head_dim = 32}, 3, false},
        {{.heads = 6, .kv_heads = 3, .head_dim = 32}, 2, false},  {{.heads = 32, .kv_heads = 8, .head_dim = 128}, 2, true},
    };
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        cr_expect_eq(tb_model_divides(&seen[i].model, seen[i].devices), seen[i].divides, "%u heads, %u KV, on %u devices",
                     seen[i].model.heads, seen[i].model.kv_heads, seen[i].devices);
}
