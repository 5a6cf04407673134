// SPDX-License-Identifier: Apache-2.0
//
// torch: what PyTorch gives back is close to contiguous memory's, and what is not close is noticed; and a PyTorch that is missing,
// that ends or that hangs is said to be. Programs that only pretend to be PyTorch need none; the other tests are skipped without.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "step_world.h"
#include "testbed/decode/acts/acts.h"

// --- the gate ------------------------------------------------------------------------------------------------------------------

static bool is_close(enum tb_dtype dtype, uint32_t tokens, const float *ours, const float *theirs)
{
    struct tb_cache cache = {.dtype = dtype, .shape = {.heads = 2, .head_dim = 2}};
    return tb_act_close(&cache, 4, tokens, ours, theirs);
}

Test(torch, numbers_are_close_within_what_the_type_rounds_off)
{
    static const struct {
        enum tb_dtype dtype;
        float roundoff;
    } types[] = {{TB_DTYPE_F32, 0x1p-24f}, {TB_DTYPE_F16, 0x1p-11f}, {TB_DTYPE_BF16, 0x1p-8f}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        float ours[] = {0.5f, -2, 8, 8}, within[] = {0.5f + 7 * types[i].roundoff, -2, 8, 8};
        float beyond[] = {0.5f + 9 * types[i].roundoff, -2, 8, 8}; // of 2, the largest of its head
        cr_expect(is_close(types[i].dtype, 0, ours, within), "type %zu", i);
        cr_expect_not(is_close(types[i].dtype, 0, ours, beyond), "type %zu", i);
    }
    float ours[] = {1, -1, 1, 1}, tokens[] = {1, -1, 1, 1 + 100 * 0x1p-24f}, none[] = {1, -1, 1, NAN};
    cr_expect(is_close(TB_DTYPE_F32, 100, ours, tokens));
    cr_expect_not(is_close(TB_DTYPE_F32, 90, ours, tokens));
    cr_expect_not(is_close(TB_DTYPE_BF16, 90, ours, none));
    cr_expect_not(is_close(TB_DTYPE_BF16, 90, none, ours));
}

// --- one that pretends ---------------------------------------------------------------------------------------------------------

// A program in the place of Python.
static void pretend(const char *does)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/locus-python-%d", (int)getpid());
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", does);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(path, 0700), 0);
    cr_assert_eq(setenv("LOCUS_PYTHON", path, 1), 0);
}

// Does not open, and says why.
static void refused(int error, const char *reason)
{
    struct fixture f;
    int got = open_fixture_as(&f, "runs", TB_DTYPE_F32, &tb_act_torch_cat, 1);
    unlink(getenv("LOCUS_PYTHON"));
    cr_expect_eq(got, error, "%d", got);
    cr_expect_not_null(strstr(f.why, reason), "%s", f.why);
    tb_team_close(f.team);
    free(f.memory);
}

Test(torch, a_python_without_pytorch_is_refused, .timeout = 60)
{
    pretend("exit 77");
    refused(-ENOENT, "install python3-torch");
}

Test(torch, no_python_at_all_is_refused, .timeout = 60)
{
    setenv("LOCUS_PYTHON", "/nowhere/python3", 1);
    refused(-ENOENT, "there is no PyTorch in /nowhere/python3: install python3-torch");
}

Test(torch, one_that_does_not_start_says_why, .timeout = 60)
{
    pretend("printf 'xAttributeError: no frombuffer' >&0; exec sleep 1000");
    refused(-EPROTO, "PyTorch did not start: AttributeError: no frombuffer");
    pretend("exit 1");
    refused(-EPROTO, "PyTorch did not start");
}

Test(torch, one_that_never_gets_ready_is_given_up, .timeout = 60)
{
    tb_torch_seconds = 1;
    pretend("exec sleep 1000");
    refused(-ETIMEDOUT, "not ready after 1 s");
}

// Opens, and fails in a step: in all the others nothing is asked any more, so that they take no time.
static void fails(const char *does, const char *reason)
{
    struct fixture f;
    pretend(does);
    tb_torch_seconds = 1;
    cr_assert_eq(open_fixture_as(&f, "runs", TB_DTYPE_F32, &tb_act_torch_cat, 1), 0);
    unlink(getenv("LOCUS_PYTHON"));
    cr_expect_null(tb_step_failed(f.step));
    run(&f);
    cr_expect_str_eq(tb_step_failed(f.step), reason);
    cr_expect_str_eq(tb_step_kernel(f.step), "torch 0.0 f32");
    cr_expect_eq(tb_step_sums(f.step).attended_bytes, 0);
    close_fixture(&f);
}

Test(torch, one_that_ends_is_noticed, .timeout = 60)
{
    fails("printf 'torch 0.0 f32' >&0; exec head -c 1 <&0 >/dev/null", "PyTorch ended in the middle of a step");
}

Test(torch, one_that_hangs_is_given_up, .timeout = 60)
{
    fails("printf 'torch 0.0 f32' >&0; exec sleep 1000", "PyTorch gave no answer in 1 s");
}

Test(torch, what_it_complains_of_is_told, .timeout = 60)
{
    fails("printf 'torch 0.0 f32' >&0; head -c 1 <&0 >/dev/null; printf 'xRuntimeError: no room' >&0; exec sleep 1000",
          "PyTorch RuntimeError: no room");
}

// --- PyTorch itself ------------------------------------------------------------------------------------------------------------

static void need_torch(void)
{
    char found[160] = "";
    if (!tb_act_torch_here(found, sizeof found))
        cr_skip_test("%s", found);
}

Test(torch, results_are_close_and_all_that_grew_was_read, .timeout = 120)
{
    static const enum tb_dtype types[] = {TB_DTYPE_F32, TB_DTYPE_F16, TB_DTYPE_BF16};
    need_torch();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct fixture f;
        cr_assert_eq(open_fixture_as(&f, "runs", types[i], &tb_act_torch_cat, (uint32_t)i % 2 + 1), 0, "%s", f.why);
        uint64_t positions = run(&f);
        struct tb_step_sums sums = tb_step_sums(f.step);
        cr_expect_null(tb_step_failed(f.step));
        cr_expect_eq(sums.checked, 40);
        cr_expect_eq(sums.wrong, 0, "%s: %lu", tb_dtype_name(types[i]), (unsigned long)sums.wrong);
        cr_expect_eq(sums.attended_bytes, positions * tb_cache_token_bytes(&f.cache));
        cr_expect_eq(strncmp(tb_step_kernel(f.step), "torch ", 6), 0, "%s", tb_step_kernel(f.step));
        close_fixture(&f);
    }
}

// The fault: results of one layer are those of the sequence beside it.
static void torch_read_wrong(void *own, const struct tb_step_layer *layer)
{
    tb_act_torch_cat.read(own, layer);
    if (layer->layer == 0)
        for (size_t i = 0; i < 4 * 64; i++)
            layer->out[i] = layer->out[4 * 64 + i];
}

Test(torch, a_wrong_result_is_noticed, .timeout = 60)
{
    struct tb_act wrong = tb_act_torch_cat;
    struct fixture f;
    need_torch();
    wrong.read = torch_read_wrong;
    cr_assert_eq(open_fixture_as(&f, "runs", TB_DTYPE_BF16, &wrong, 1), 0, "%s", f.why);
    run(&f);
    cr_expect_eq(tb_step_sums(f.step).wrong, 14); // step i checks sequence i % 3 in layer i % 3, and layer 0 is 14 times among 40
    close_fixture(&f);
}

Test(torch, an_echo_gives_the_step_back_undone, .timeout = 60)
{
    struct fixture f;
    need_torch();
    cr_assert_eq(open_fixture_as(&f, "runs", TB_DTYPE_BF16, &tb_act_torch_echo, 1), 0, "%s", f.why);
    run(&f);
    struct tb_step_sums sums = tb_step_sums(f.step);
    cr_expect_null(tb_step_failed(f.step));
    cr_expect_eq(sums.steps, 40);
    cr_expect_eq(sums.checked + sums.attended_bytes, 0);
    close_fixture(&f);
}
