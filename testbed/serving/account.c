// SPDX-License-Identifier: Apache-2.0
//
// account: what the scheduler counts at the end of each step.
//
// All sequences that decode in a step wait the same time for their token, so the gaps between tokens are kept as one sample a step,
// with a weight. The percentiles are those of all gaps, exactly.

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "testbed/serving/serving_internal.h"

#define FIELD(type, member, unit, ratio, what) TB_SLOT(struct tb_served, type, member, unit, what),
const struct tb_slot tb_served_fields[] = {TB_SERVED_FIELDS(FIELD) TB_SLOT_END};
#undef FIELD
#define FIELD(type, member, unit, ratio, what) TB_SLOT(struct tb_tiered, type, member, unit, what),
const struct tb_slot tb_tiered_fields[] = {TB_TIERED_FIELDS(FIELD) TB_SLOT_END};
#undef FIELD

int account_sample(struct samples *samples, uint64_t ns, uint64_t weight)
{
    if (weight == 0)
        return 0;
    if (samples->count == samples->room) {
        size_t room = samples->room ? samples->room * 2 : 1024;
        struct gap *at = reallocarray(samples->at, room, sizeof *at);
        if (!at)
            return -ENOMEM;
        samples->at = at;
        samples->room = room;
    }
    samples->at[samples->count++] = (struct gap){ns, weight};
    return 0;
}

static void add_usage(struct sums *sums, const struct server *server, const struct tb_usage *usage)
{
    double pool = (double)server->config->pool_tokens;
    sums->steps++;
    sums->live_use += (double)server->live_tokens / pool;
    sums->reserved_use += (double)usage->reserved / pool;
    sums->live += (double)server->sequences;
    if (usage->free == 0)
        return;
    sums->steps_free++;
    sums->largest_over_free += (double)usage->largest / (double)usage->free;
    sums->holes += (double)usage->holes / (double)usage->free;
    sums->scattered_max = fmax(sums->scattered_max, 1 - (double)usage->largest / (double)usage->free);
}

void account_refusal(struct server *server, uint32_t most)
{
    struct tb_usage usage;
    server->config->strategy->ops->usage(server->state, server->scenario->median_tokens, &usage);
    server->out->refusals++;
    server->out->blocked += usage.free >= most && usage.largest < most;
}

static int resumed(struct server *server)
{
    int error = 0;
    for (uint32_t i = 0; i < server->live_count && !error; i++) {
        struct progress *progress = &server->progress[server->live[i].request];
        if (!progress->resumed || server->live[i].gone || server->live[i].prompt_left)
            continue;
        error = account_sample(&server->gaps, server->now_ns - progress->last_ns, 1);
        progress->resumed = false;
    }
    return error;
}

int account_step(struct server *server, uint64_t step_ns, bool waiting)
{
    struct tb_served *out = server->out;
    struct tb_usage usage;
    int error = account_sample(&server->gaps, step_ns, server->continued);
    server->config->strategy->ops->usage(server->state, server->scenario->median_tokens, &usage);
    add_usage(&server->all, server, &usage);
    if (waiting)
        add_usage(&server->waiting, server, &usage);
    if (__builtin_add_overflow(server->now_ns, step_ns, &server->now_ns)) {
        tb_why_set(server->why, server->scenario->name, 0,
                   "the clock passes 584 years: shorter steps (--step-us), or fewer tokens");
        return -EOVERFLOW;
    }
    out->steps++;
    out->swapped_tokens += server->swapped_tokens;
    out->end_ns = server->now_ns;
    if (waiting) {
        out->backlog_ns = server->now_ns;
        out->backlog_requests = out->requests;
    }
    for (uint32_t i = 0; i < server->first_count && !error; i++)
        error = account_sample(&server->firsts, server->now_ns - arrival_ns(server, server->first[i]), 1);
    if (!error && out->preempted)
        error = resumed(server);
    return error;
}

static int compare_gap(const void *a, const void *b)
{
    uint64_t x = ((const struct gap *)a)->ns, y = ((const struct gap *)b)->ns;
    return (x > y) - (x < y);
}

// The least time that at least that part of all samples do not exceed.
static uint64_t percentile(const struct samples *samples, uint64_t total, double part)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < samples->count; i++) {
        seen += samples->at[i].weight;
        if ((double)seen >= part * (double)total)
            return samples->at[i].ns;
    }
    return 0;
}

static void times_of(struct samples *samples, uint64_t *p50_ns, uint64_t *p99_ns, uint64_t *max_ns)
{
    uint64_t total = 0;
    if (samples->count == 0)
        return;
    qsort(samples->at, samples->count, sizeof *samples->at, compare_gap);
    for (size_t i = 0; i < samples->count; i++)
        total += samples->at[i].weight;
    *p50_ns = percentile(samples, total, 0.5);
    *p99_ns = percentile(samples, total, 0.99);
    *max_ns = samples->at[samples->count - 1].ns;
}

// From the first arrival to the last finish. A step may cost nothing, by its clock: then there is no such figure.
static double tokens_per_s(const struct server *server)
{
    uint64_t span_ns = server->out->end_ns - arrival_ns(server, 0);
    return span_ns ? (double)server->out->tokens * 1e9 / (double)span_ns : 0;
}

void account_end(struct server *server)
{
    const struct sums *sums = server->waiting.steps ? &server->waiting : &server->all;
    struct tb_served *out = server->out;
    double steps = (double)sums->steps, free_steps = (double)sums->steps_free;
    times_of(&server->firsts, &out->first_p50_ns, &out->first_p99_ns, &out->first_max_ns);
    times_of(&server->gaps, &out->between_p50_ns, &out->between_p99_ns, &out->between_max_ns);
    if (out->first_p50_ns)
        out->first_spread = (double)out->first_p99_ns / (double)out->first_p50_ns;
    out->moved_tokens = server->kv.moved;
    out->tier_left = swap_left(server);
    out->tokens_per_step = out->steps ? (double)out->tokens / (double)out->steps : 0;
    out->tokens_per_s = out->steps && !server->config->random ? tokens_per_s(server) : 0;
    if (out->cached_tokens)
        out->hit_ratio = (double)out->cached_tokens / (double)(out->cached_tokens + out->prompt_tokens);
    if (sums->steps == 0)
        return;
    out->live_use = sums->live_use / steps;
    out->reserved_use = sums->reserved_use / steps;
    if (sums->reserved_use > sums->live_use)
        out->unfilled = 1 - sums->live_use / sums->reserved_use;
    out->live = sums->live / steps;
    out->largest_over_free = sums->steps_free ? sums->largest_over_free / free_steps : 1;
    out->holes = sums->steps_free ? sums->holes / free_steps : 0;
    out->scattered_max = sums->scattered_max;
}
