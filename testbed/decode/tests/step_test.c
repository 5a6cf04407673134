// SPDX-License-Identifier: Apache-2.0
//
// step: results that are contiguous memory's while blocks are right, and not when two sequences share one; sums to the byte.

#include "step_world.h"

Test(step, results_are_those_of_contiguous_memory_and_bytes_are_counted)
{
    for (size_t l = 0; tb_layout_at(l); l++)
        for (uint32_t threads = 1; threads <= 2; threads++) {
            struct fixture f;
            open_fixture(&f, tb_layout_at(l)->name, tb_act_at(0), threads);
            uint64_t positions = run(&f);
            struct tb_step_sums sums = tb_step_sums(f.step);
            cr_expect_eq(sums.steps, 40);
            cr_expect_eq(sums.checked, 40);
            cr_expect_eq(sums.wrong, 0, "%s", tb_layout_at(l)->name);
            cr_expect_eq(sums.attended_bytes, positions * tb_cache_token_bytes(&f.cache));
            cr_expect_eq(sums.appended_bytes, (5 + 22 + 39 + 39 * 3) * tb_cache_token_bytes(&f.cache));
            close_fixture(&f);
        }
}

Test(step, two_sequences_in_one_block_are_noticed)
{
    struct fixture f;
    open_fixture(&f, "layers", tb_act_at(0), 1);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        tb_step_take(f.step, slot, 0, 1, f.memory + (slot / 2) * f.cache.block_bytes); // 0 and 1 share
        tb_step_extend(f.step, slot, 10 + slot);
    }
    tb_step_run(f.step, true);
    cr_expect_eq(tb_step_sums(f.step).wrong, 1);
    close_fixture(&f);
}

Test(step, acts_read_and_write_what_they_say)
{
    for (size_t i = 0; tb_act_at(i); i++) {
        const struct tb_act *act = tb_act_at(i);
        struct fixture f;
        if (act->failed)
            continue; // by PyTorch: torch_test.c
        open_fixture(&f, "runs", act, 2);
        uint64_t tile_tokens = 0; // of the first sequence's first tile, in all steps: it begins with 5 tokens, and grows by one
        for (uint32_t tokens = 5; tokens < 45; tokens++)
            tile_tokens += tokens < 16 ? tokens : 16;
        uint64_t positions = run(&f), token_bytes = tb_cache_token_bytes(&f.cache);
        struct tb_step_sums sums = tb_step_sums(f.step);
        bool by_attention = act->read && (act->attends || !act->open || strcmp(act->name, "cached") == 0);
        uint64_t more = strcmp(act->name, "one-head-more") ? 0 : tile_tokens * 3 * 2 * f.cache.row_bytes; // 3 layers
        cr_expect_eq(sums.attended_bytes, by_attention ? positions * token_bytes + more : 0, "%s", act->name);
        cr_expect_eq(sums.appended_bytes > 0, act->appends, "%s", act->name);
        cr_expect_eq(sums.checked > 0, act->attends, "%s", act->name);
        close_fixture(&f);
    }
    cr_expect_null(tb_act_find("something"));
}

// Blocks of a prompt's take that lie in order: those of a layer follow each other. Of a growing sequence, those of a group do.
Test(step, blocks_of_one_take_are_dealt_layer_by_layer)
{
    struct fixture f;
    uint64_t adjacent = 0, followed = 0;
    open_fixture(&f, "runs", tb_act_at(0), 1);
    for (uint32_t i = 0; i < 12; i++) // 4 groups of 3 layers
        tb_step_take(f.step, 0, i, 12, f.memory + i * f.cache.block_bytes);
    tb_step_extend(f.step, 0, 64);
    tb_step_adjacent(f.step, 0, &adjacent, &followed);
    cr_expect_eq(followed, 9);
    cr_expect_eq(adjacent, 9);
    for (uint32_t i = 0; i < 3; i++)
        tb_step_take(f.step, 0, i, 3, f.memory + (20 + i) * f.cache.block_bytes);
    adjacent = followed = 0;
    tb_step_adjacent(f.step, 0, &adjacent, &followed);
    cr_expect_eq(followed, 12);
    cr_expect_eq(adjacent, 9);
    tb_step_run(f.step, true);
    cr_expect_eq(tb_step_sums(f.step).wrong, 0);
    close_fixture(&f);
}

struct watched {
    size_t written, read;
};

static void watch(void *context, bool written, char *at, size_t bytes)
{
    struct watched *watched = context;
    (void)at;
    *(written ? &watched->written : &watched->read) += bytes;
}

Test(step, who_watches_is_told_of_every_byte)
{
    for (size_t l = 0; tb_layout_at(l); l++) {
        struct fixture f;
        struct watched watched = {0};
        open_fixture(&f, tb_layout_at(l)->name, tb_act_at(0), 1);
        tb_step_watch(f.step, watch, &watched);
        run(&f);
        struct tb_step_sums sums = tb_step_sums(f.step);
        cr_expect_eq(watched.written, sums.appended_bytes, "%s", tb_layout_at(l)->name);
        cr_expect_eq(watched.read, sums.attended_bytes, "%s", tb_layout_at(l)->name);
        close_fixture(&f);
    }
}
