// SPDX-License-Identifier: Apache-2.0
//
// decoding: cells of touch `decode`: their grammar and shortest names, what is wrong with one, and the schedule in their blocks.
#include "testbed/measure/decoding/decoding.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tb_cell cell_of(const char *text)
{
    char workload[TB_WORKLOAD_NAME], why[640] = "";
    struct tb_cell cell;
    if (tb_cell_parse(text, workload, &cell))
        tb_cell_why(text, why, sizeof why);
    cr_assert_str_empty(why, "%s", why);
    return cell;
}

Test(decoding, a_plain_cell_has_the_usual_settings)
{
    struct tb_cell cell = cell_of("batch-8x4096/decode");
    cr_expect_eq(cell.touch, TB_TOUCH_DECODE);
    cr_expect(!tb_touch_serves(cell.touch));
    cr_expect_str_eq(cell.decode.shape, TB_SHAPE_DEFAULT);
    cr_expect_str_eq(cell.decode.layout, "runs");
    cr_expect_eq(cell.decode.dtype, TB_DTYPE_BF16);
    cr_expect_eq(cell.decode.block_tokens, 16);
    cr_expect_eq(cell.decode.threads, 1);
    cr_expect(cell.workers == 0 && cell.block_bytes == 0 && !cell.dispatch_given);
}

Test(decoding, settings_come_in_any_order_and_have_one_shortest_name)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"a/decode", "a/decode"},
        {"a/decode/Llama-3.2-1B/16t/runs/bf16/1c", "a/decode"},
        {"a/decode/2c/f16/columns/128t/Llama-3-8B", "a/decode/Llama-3-8B/128t/columns/f16/2c"},
        {"a/decode/4w/32x32x8x128/futex/f32", "a/decode/32x32x8x128/f32/futex/4w"},
        {"a/decode/inline/contiguous", "a/decode/contiguous/inline"},
        {"a/full/4w/65536/spin", "a/full/64KiB/spin/4w"},
        {"a/byte/100", "a/byte/100"},
        {"a/none", "a/none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tb_cell cell = cell_of(cases[i].text), again;
        char name[160];
        tb_cell_text("a", &cell, name, sizeof name);
        cr_expect_str_eq(name, cases[i].name);
        again = cell_of(name);
        cr_expect_arr_eq(&again.decode, &cell.decode, sizeof cell.decode, "%s", name);
        cr_expect(again.workers == cell.workers && again.block_bytes == cell.block_bytes && again.dispatch == cell.dispatch);
    }
}

// Each is refused, and the sentence has the word, and what is one.
Test(decoding, what_is_no_cell_is_named_with_the_remedy)
{
    static const struct {
        const char *text, *word, *remedy;
    } cases[] = {
        {"a/decode/Lama", "'Lama'", "Llama-3-8B"},
        {"a/decode/Lama", "'Lama'", "interleaved"},
        {"a/decode/2x2x2x8", "'2x2x2x8'", "multiple of 16"},
        {"a/decode/100t", "'100t'", "multiple of 16"},
        {"a/decode/2097152t", "'2097152t'", "1048576"},
        {"a/decode/0t", "'0t'", "multiple of 16"},
        {"a/decode/99c", "'99c'", "1 to 64"},
        {"a/decode/65w", "'65w'", "1 to 64"},
        {"a/decode/64KiB", "'64KiB'", "128t"},
        {"a/decode/runs/columns", "'columns'", "before"},
        {"a/decode/futex/spin", "'spin'", "before"},
        {"a/decode/16t/32t/f16", "'32t'", "before"},
        {"a/decode/128t/contiguous", "'128t'", "contiguous"},
        {"a/decode/contiguous/128t", "'128t'", "contiguous"},
        {"a/decoded", "'decoded'", "touch mode"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char workload[TB_WORKLOAD_NAME], why[640] = "";
        struct tb_cell cell;
        cr_expect_eq(tb_cell_parse(cases[i].text, workload, &cell), -EINVAL, "%s", cases[i].text);
        tb_cell_why(cases[i].text, why, sizeof why);
        cr_expect(strstr(why, cases[i].word) && strstr(why, cases[i].remedy), "%s: %s", cases[i].text, why);
    }
}

static struct tb_schedule *schedule_of(const char *workload, struct tb_cell *cell)
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    cr_assert_eq(tb_decoding_open(cell, &(struct tb_decoding_source){.workload = workload}, &schedule, &why), 0, "%s", why.text);
    cr_assert_eq(cell->schedule, schedule);
    return schedule;
}

// Llama-3.2-1B has 16 layers and 2 KiB of K and V for a token and layer.
Test(decoding, blocks_are_the_layouts)
{
    struct tb_cell runs = cell_of("a/decode"), layers = cell_of("a/decode/layers/32t"), whole = cell_of("a/decode/contiguous");
    struct tb_schedule *of_runs = schedule_of("batch-3x100", &runs), *of_layers = schedule_of("batch-3x100", &layers),
                       *of_whole = schedule_of("batch-3x100", &whole);
    cr_expect_eq(runs.block_bytes, 16 * 2048);
    cr_expect_eq(of_runs->blocks_per_group, 16);
    cr_expect_eq(layers.block_bytes, 32 * 2048 * 16);
    cr_expect_eq(of_layers->blocks_per_group, 1);
    cr_expect_eq(of_layers->block_tokens, 32);
    cr_expect_eq(of_runs->tokens_peak, 131); // 100 - 32 + 63
    cr_expect_eq(of_whole->block_tokens, 144, "the longest sequence, in whole tiles");
    cr_expect_eq(whole.block_bytes, 144 * 2048);
    cr_expect_eq(of_whole->blocks_peak, 3 * 16);
    cr_expect_eq(of_whole->attended_per_lap, of_runs->attended_per_lap);
    free(of_runs);
    free(of_layers);
    free(of_whole);
}

Test(decoding, a_loaded_trace_is_a_source_as_well)
{
    struct tb_trace_request requests[] = {{0, 40, 2, 2, 0, 0}};
    struct tb_trace trace = {.path = "t.csv", .count = 1, .requests = requests};
    struct tb_decoding_source source = {.trace = &trace, .replay = &tb_replay_defaults};
    struct tb_cell cell = cell_of("a/decode/contiguous");
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};

    cr_assert_eq(tb_decoding_open(&cell, &source, &schedule, &why), 0, "%s", why.text);
    cr_expect_eq(schedule->tokens_per_lap, 42);
    cr_expect_eq(schedule->block_tokens, 48);
    free(schedule);
}

Test(decoding, what_cannot_be_is_refused_before_it_runs)
{
    static const struct {
        const char *workload, *text, *remedy;
        int error;
    } cases[] = {
        {"churn-touch", "a/decode", "batch-SEQUENCESxCONTEXT", -ENOENT},
        {"batch-8x16", "a/decode", "batch-8x16x16", -EINVAL},
        {"batch-8x200000", "a/decode", "131072", -EINVAL},
        {"batch-64x131072", "a/decode/126x128x8x128", "/64t", -EINVAL},
        {"batch-1x131072", "a/decode/1x128x128x256/contiguous", "/16t", -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tb_cell cell = cell_of(cases[i].text);
        struct tb_schedule *schedule = NULL;
        struct tb_why why = {""};
        cr_expect_eq(tb_decoding_open(&cell, &(struct tb_decoding_source){.workload = cases[i].workload}, &schedule, &why),
                     cases[i].error, "%s", cases[i].workload);
        cr_expect(strstr(why.text, cases[i].remedy), "%s", why.text);
        cr_expect_null(schedule);
        cr_expect_null(cell.schedule);
    }
}

Test(decoding, knows_what_memory_can_be_had)
{
    uint64_t available = tb_decoding_available();
    cr_expect(available > (UINT64_C(1) << 20) && available < (UINT64_C(1) << 50), "%llu", (unsigned long long)available);
}
