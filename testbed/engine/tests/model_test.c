// SPDX-License-Identifier: Apache-2.0
//
// model: sizes that follow from a shape and from what is said, and sizes that no model has.
#include "testbed/engine/model.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "testbed/decode/shape.h"

static struct tb_model completed(const char *shape, struct tb_model model)
{
    char why[256] = "";
    cr_assert_eq(tb_model_complete(shape, &model, why, sizeof why), 0, "%s: %s", shape ? shape : "-", why);
    return model;
}

static void refused(struct tb_model model, const char *word)
{
    char why[256] = "";
    cr_expect_eq(tb_model_complete(NULL, &model, why, sizeof why), -EINVAL, "%s", word);
    cr_expect_not_null(strstr(why, word), "'%s' is not in '%s'", word, why);
}

Test(model, without_a_shape_it_is_tiny)
{
    const struct tb_model tiny = completed(NULL, (struct tb_model){0}), named = completed("TINY", (struct tb_model){0});
    cr_expect_str_eq(tiny.name, "tiny");
    cr_expect(tiny.layers == 4 && tiny.width == 256 && tiny.heads == 8 && tiny.kv_heads == 4 && tiny.head_dim == 32);
    cr_expect(tiny.ffn == 512 && tiny.vocab == 512 && tiny.context == 32768);
    cr_expect_eq(memcmp(&tiny, &named, sizeof tiny), 0);
}

Test(model, every_shape_of_decode_is_one_with_its_published_inner_width)
{
    static const uint32_t ffn[] = {8192, 14336, 28672, 4864, 18944, 3072}; // in the order of decode/shape.c
    for (size_t i = 0; tb_shape_at(i); i++) {
        const struct tb_shape *shape = tb_shape_at(i);
        const struct tb_model model = completed(shape->name, (struct tb_model){0});
        cr_expect(model.layers == shape->layers && model.heads == shape->heads && model.kv_heads == shape->kv_heads);
        cr_expect(model.head_dim == shape->head_dim && model.width == shape->heads * shape->head_dim, "%s", shape->name);
        cr_assert_lt(i, sizeof ffn / sizeof *ffn, "%s: add its inner width, here and in model.c", shape->name);
        cr_expect_eq(model.ffn, ffn[i], "%s: %u", shape->name, model.ffn);
    }
}

Test(model, what_is_said_goes_before_the_shape)
{
    struct tb_model model = completed("Llama-3-8B", (struct tb_model){.layers = 2, .vocab = 128256, .context = 8192, .ffn = 64});
    cr_expect(model.layers == 2 && model.width == 4096 && model.ffn == 64 && model.vocab == 128256 && model.context == 8192);
    model = completed("2x12x3x16", (struct tb_model){0});
    cr_expect(model.layers == 2 && model.width == 192 && model.kv_heads == 3 && model.ffn == 512, "8/3 of 192, rounded up");
    cr_expect_str_eq(model.name, "2x12x3x16");
}

Test(model, width_and_size_of_a_head_follow_from_each_other_unless_both_are_said)
{
    struct tb_model model = completed(NULL, (struct tb_model){.width = 512});
    cr_expect(model.head_dim == 64 && model.ffn == 1536, "another width has no published inner one");
    model = completed(NULL, (struct tb_model){.head_dim = 16});
    cr_expect_eq(model.width, 128);
    model = completed(NULL, (struct tb_model){.width = 100, .head_dim = 16});
    cr_expect(model.width == 100 && model.head_dim == 16);
}

Test(model, impossible_sizes_are_refused_with_the_remedy)
{
    refused((struct tb_model){.width = 250}, "250 is not divisible by 8 heads: give another, or --head-dim");
    refused((struct tb_model){.kv_heads = 3}, "give --kv-heads a divisor of 8");
    refused((struct tb_model){.kv_heads = 16}, "--kv-heads: 16 is not from 1 to 8");
    refused((struct tb_model){.head_dim = 33}, "give --head-dim an even number");
    refused((struct tb_model){.heads = 100000}, "--heads: 100000 is not from 1 to 65536");
    refused((struct tb_model){.head_dim = 1u << 31}, "--head-dim"); // times 8 it would be 0
    refused((struct tb_model){.layers = 513}, "--layers: 513 is not from 1 to 512");
    refused((struct tb_model){.width = 65544}, "--width");
    refused((struct tb_model){.ffn = 262145}, "--ffn");
    refused((struct tb_model){.vocab = UINT32_MAX}, "--vocab");
    refused((struct tb_model){.context = UINT32_MAX}, "--context");
    struct tb_model model = {0};
    char why[256];
    cr_expect_eq(tb_model_complete("Llama-4", &model, why, sizeof why), -EINVAL);
    cr_expect_not_null(strstr(why, "'Llama-4': is no shape"));
}
