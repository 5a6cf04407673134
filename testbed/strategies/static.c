// SPDX-License-Identifier: Apache-2.0
//
// static: every sequence gets the room of the longest that is allowed, in advance, as early serving systems did.
//
// The region is cut into equal seats. A sequence of more tokens than a seat is never admitted.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "testbed/strategies/strategy.h"

#define NO_SEAT UINT32_MAX

struct seats {
    const struct tb_strategy_setup *setup;
    uint64_t tokens;            // of a seat
    uint32_t count, free_count;
    uint32_t *free;             // [count]: the seats that leave next are at the end
    uint32_t seat[];            // [sequences]
};

static void static_close(void *state)
{
    struct seats *seats = state;
    if (seats)
        free(seats->free);
    free(seats);
}

static int static_open(const struct tb_strategy_setup *setup, void **state)
{
    struct seats *seats = calloc(1, sizeof *seats + setup->sequences * sizeof *seats->seat);
    if (!seats)
        return -ENOMEM;
    seats->setup = setup;
    seats->tokens = setup->strategy->parameter ? setup->strategy->parameter : setup->sequence_tokens;
    seats->count = seats->free_count = (uint32_t)(setup->kv->tokens / seats->tokens);
    seats->free = calloc(seats->count + 1, sizeof *seats->free);
    if (!seats->free) {
        static_close(seats);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < seats->count; i++)
        seats->free[i] = seats->count - 1 - i;
    for (uint32_t i = 0; i < setup->sequences; i++)
        seats->seat[i] = NO_SEAT;
    *state = seats;
    return 0;
}

static int static_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct seats *seats = state;
    (void)prompt;
    *cached = 0;
    if (most > seats->tokens || seats->count == 0)
        return -ENOSPC;
    if (seats->free_count == 0)
        return -EAGAIN;
    seats->seat[sequence] = seats->free[--seats->free_count];
    return 0;
}

static int static_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    (void)state;
    (void)sequence;
    (void)tokens;
    return 0;
}

static void static_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    (void)state;
    (void)sequence;
    (void)tokens;
}

static void static_release(void *state, uint32_t sequence, bool keep)
{
    struct seats *seats = state;
    (void)keep;
    seats->free[seats->free_count++] = seats->seat[sequence];
    seats->seat[sequence] = NO_SEAT;
}

static void *static_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct seats *seats = state;
    *run = (uint32_t)seats->tokens - position;
    return tb_kv_at(seats->setup->kv, seats->seat[sequence] * seats->tokens + position);
}

static void static_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct seats *seats = state;
    uint64_t free_tokens = seats->setup->kv->tokens - (seats->count - seats->free_count) * seats->tokens;
    *out = (struct tb_usage){
        .reserved = (seats->count - seats->free_count) * seats->tokens,
        .free = free_tokens,
        .largest = seats->free_count ? seats->tokens : 0,
        .holes = seats->free_count && below <= seats->tokens ? free_tokens % seats->tokens : free_tokens,
    };
}

static int static_audit(void *state, char *why, size_t why_bytes)
{
    const struct seats *seats = state;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < seats->setup->sequences; i++)
        taken += seats->seat[i] != NO_SEAT;
    if (taken + seats->free_count == seats->count)
        return 0;
    snprintf(why, why_bytes, "%u seats are taken and %u are free, of %u", taken, seats->free_count, seats->count);
    return -EBADMSG;
}

static const struct tb_strategy_ops ops = {
    .open = static_open,
    .close = static_close,
    .admit = static_admit,
    .extend = static_extend,
    .cut = static_cut,
    .release = static_release,
    .at = static_at,
    .usage = static_usage,
    .audit = static_audit,
};

static const struct tb_strategy longest = {
    .name = "static", .summary = "room for the trace's longest request, for each", .ops = &ops, .parameter = 0, .promises = true};
TB_STRATEGY(longest);

static const struct tb_strategy of_2048 = {
    .name = "static-2048", .summary = "room for 2,048 tokens, for each", .ops = &ops, .parameter = 2048, .promises = true};
TB_STRATEGY(of_2048);

static const struct tb_strategy of_4096 = {
    .name = "static-4096", .summary = "room for 4,096 tokens, for each", .ops = &ops, .parameter = 4096, .promises = true};
TB_STRATEGY(of_4096);

static const struct tb_strategy of_8192 = {
    .name = "static-8192", .summary = "room for 8,192 tokens, for each", .ops = &ops, .parameter = 8192, .promises = true};
TB_STRATEGY(of_8192);
