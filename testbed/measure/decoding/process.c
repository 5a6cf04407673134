// SPDX-License-Identifier: Apache-2.0
//
// process: see process.h. What should have been appended and attended is computed from the schedule alone, and compared with what
// the loops have counted.

#include "testbed/measure/decoding/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/pin.h"

#define CPUS_MAX 1024u

int tb_decode_team(const struct tb_job *job, struct tb_team **out, bool *pinned)
{
    unsigned allowed[CPUS_MAX];
    unsigned count = 0;
    int cpus[TB_TEAM_MAX];
    uint32_t threads = job->decode.threads, before = job->dispatch == TB_DISPATCH_INLINE ? 0 : job->workers;
    *out = NULL;
    if (job->touch != TB_TOUCH_DECODE)
        return 0;
    int error = locus_pin_allowed(allowed, CPUS_MAX, &count);
    count = count < CPUS_MAX ? count : CPUS_MAX;
    if (error || count == 0 || threads == 0)
        return error ? error : -EINVAL;
    *pinned = before + threads <= count;
    for (uint32_t who = 0; who < threads && who < TB_TEAM_MAX; who++)
        cpus[who] = (int)allowed[(who ? before + who : 0) % count];
    return tb_team_open(out, threads, cpus);
}

// A copy's memory is in no book of many nodes, and what is grown by copying has K in rows, so that it sums in that order.
static bool act_fits(const struct tb_job *job, const struct tb_act *act, const struct tb_cache *cache, char *why, size_t why_bytes)
{
    if (act->copies && job->many_nodes)
        snprintf(why, why_bytes, "@%s copies K and V into memory that the books of many nodes do not know", act->name);
    else if (act->copies && !act->appends && cache->k_value_bytes != tb_dtype_bytes(cache->dtype))
        snprintf(why, why_bytes, "@%s has K in rows, and the layout %s has it in columns", act->name, cache->layout->name);
    else if (job->many_nodes && (act->drains_late || act->touches_first))
        snprintf(why, why_bytes, "@%s is measured on one node alone: leave it out", act->name);
    else
        return true;
    return false;
}

static const struct tb_act *act_of(const struct tb_job *job)
{
    return job->act[0] ? tb_act_find(job->act) : tb_act_at(0);
}

int tb_decode_open(struct tb_decode *decode, const struct tb_job *job, const struct tb_schedule *schedule, struct tb_team *team,
                   char *why, size_t why_bytes)
{
    if (!team)
        return 0;
    decode->team = team;
    int error = tb_decode_cache(&job->decode, schedule->tokens_peak, &decode->cache, why, why_bytes);
    if (error || !act_of(job) || decode->cache.block_bytes > job->block_bytes)
        return error ? error : -EINVAL;
    if (!act_fits(job, act_of(job), &decode->cache, why, why_bytes))
        return -EINVAL;
    struct tb_step_config config = {
        .cache = &decode->cache,
        .kernel = tb_kernel_at(0),
        .team = team,
        .act = act_of(job),
        .slots = schedule->slots,
        .capacity = tb_schedule_capacity(schedule),
        .batch = (uint32_t)schedule->live_max,
        .tokens_max = schedule->tokens_peak,
        .tokens_live = schedule->tokens_live_peak,
        .why = why,
        .why_bytes = why_bytes,
    };
    return tb_step_open(&decode->step, &config);
}

void tb_decode_close(struct tb_decode *decode)
{
    tb_step_close(decode->step);
    decode->step = NULL;
}

// What a walk over the schedule's operations finds.
struct expected {
    uint32_t *tokens, *extended; // of each slot; of the next step
    uint32_t extended_count;
    uint64_t appended, attended; // positions
};

static void span_expect(const struct tb_schedule *schedule, const struct tb_span *span, struct expected *expected)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);
    for (uint64_t i = span->begin; i < span->end; i++) {
        uint32_t slot = ops[i].slot;
        if (ops[i].kind == TB_OP_RETIRE)
            expected->tokens[slot] = 0;
        if (ops[i].kind == TB_OP_EXTEND) {
            expected->tokens[slot] += ops[i].count;
            expected->appended += ops[i].count;
            expected->extended[expected->extended_count++] = slot;
        }
        if (ops[i].kind == TB_OP_STEP)
            while (expected->extended_count)
                expected->attended += expected->tokens[expected->extended[--expected->extended_count]];
    }
}

void tb_decode_sum(const struct tb_decode *decode, const struct tb_schedule *schedule, uint64_t laps, bool ended,
                   struct tb_decode_sample *out)
{
    struct expected expected = {
        .tokens = calloc(schedule->slots, sizeof *expected.tokens),
        .extended = calloc(schedule->slots, sizeof *expected.extended),
    };
    struct tb_step_sums sums = tb_step_sums(decode->step);
    if (expected.tokens && expected.extended) {
        span_expect(schedule, &schedule->prologue, &expected);
        for (uint64_t lap = 0; lap < laps; lap++)
            span_expect(schedule, tb_schedule_lap(schedule, lap), &expected);
        if (ended)
            span_expect(schedule, &schedule->epilogue, &expected);
    }
    free(expected.tokens);
    free(expected.extended);
    out->threads = tb_team_count(decode->team);
    snprintf(out->kernel, sizeof out->kernel, "%s", tb_step_kernel(decode->step));
    snprintf(out->failed, sizeof out->failed, "%s", tb_step_failed(decode->step) ? tb_step_failed(decode->step) : "");
    out->steps += sums.steps;
    out->appended_bytes += sums.appended_bytes;
    out->attended_bytes += sums.attended_bytes;
    out->appended_expected += expected.appended * tb_cache_token_bytes(&decode->cache);
    out->attended_expected += expected.attended * tb_cache_token_bytes(&decode->cache);
    out->checked += sums.checked;
    out->wrong += sums.wrong;
}

void tb_decode_judge(const struct tb_job *job, bool harness, char *why, size_t why_bytes)
{
    const struct tb_decode_sample *s = &job->sample.decode;
    const struct tb_act *act = act_of(job);
    if (s->failed[0])
        snprintf(why, why_bytes, "@%s: %s", act->name, s->failed);
    else if (act->appends && s->appended_bytes != s->appended_expected)
        snprintf(why, why_bytes, "appended %llu bytes of K and V, not %llu", (unsigned long long)s->appended_bytes,
                 (unsigned long long)s->appended_expected);
    else if (act->attends && s->attended_bytes != s->attended_expected)
        snprintf(why, why_bytes, "read %llu bytes of K and V, not %llu", (unsigned long long)s->attended_bytes,
                 (unsigned long long)s->attended_expected);
    else if (act->attends && (s->checked == 0 || (s->wrong && !harness)))
        snprintf(why, why_bytes, "attention was not %sthat of contiguous memory in %llu of %llu checks",
                 act->roundoffs ? "close to " : "", (unsigned long long)s->wrong, (unsigned long long)s->checked);
}
