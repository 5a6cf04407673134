// SPDX-License-Identifier: Apache-2.0
//
// batch: see batch.h.
//
// All sequences have equal lives, shifted against each other. So each lap does the same work as the one before it, sequence by
// sequence, and ends as it began: pack() checks both. A mix of prompt lengths, or of lives, would need laps as long as its common
// period for that.

#include "testbed/workload/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/workload/known_trace.h"

#define PREFIX "batch-"
#define CONTEXT_MIN 16u
#define CONTEXT_MAX 131072u
#define STEPS 64u
#define STEPS_MAX 4096u
#define PLAIN_BLOCK_TOKENS 16u
#define VERSION 1u

// --- names ---

// A whole number without zeros before it, up to `next`, the character that has to follow. NULL: not of that form.
static const char *number_read(const char *text, uint32_t *out)
{
    uint64_t number;
    if (text[0] == '0' || !tb_number_take(&text, UINT32_MAX, &number))
        return NULL;
    *out = (uint32_t)number;
    return text;
}

static bool form_read(const char *text, struct tb_batch *out)
{
    text = number_read(text, &out->sequences);
    text = text && *text == 'x' ? number_read(text + 1, &out->context) : NULL;
    out->steps = STEPS;
    if (text && *text == 'x')
        text = number_read(text + 1, &out->steps);
    return text && *text == '\0';
}

int tb_batch_read(const char *name, struct tb_batch *out, struct tb_why *why)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return -ENOENT;
    if (!form_read(name + strlen(PREFIX), out))
        tb_why_set(why, name, 0, "not of the form batch-SEQUENCESxCONTEXT or batch-SEQUENCESxCONTEXTxSTEPS, such as batch-8x4096");
    else if (out->sequences > TB_BATCH_SEQUENCES_MAX)
        tb_why_set(why, name, 0, "a batch has 1 to %u sequences", TB_BATCH_SEQUENCES_MAX);
    else if (out->context < CONTEXT_MIN || out->context > CONTEXT_MAX)
        tb_why_set(why, name, 0, "a sequence has %u to %u tokens", CONTEXT_MIN, CONTEXT_MAX);
    else if (out->steps > STEPS_MAX)
        tb_why_set(why, name, 0, "a sequence lives for 1 to %u steps", STEPS_MAX);
    else if (out->steps / 2 >= out->context)
        tb_why_set(why, name, 0, "half of %u steps are not less than %u tokens, so there is no prompt: batch-%ux%ux%u has one",
                   out->steps, out->context, out->sequences, out->context, out->context);
    else {
        int length = snprintf(out->name, sizeof out->name, PREFIX "%ux%u", out->sequences, out->context);
        if (out->steps != STEPS)
            snprintf(out->name + length, sizeof out->name - (size_t)length, "x%u", out->steps);
        return 0;
    }
    return -EINVAL;
}

// --- operations ---

struct walk {
    struct tb_builder *builder;
    const struct tb_batch *batch;
    uint32_t block_tokens, blocks_per_group;
    bool decodes;
    struct {
        uint32_t slot, tokens, groups;
    } place[TB_BATCH_SEQUENCES_MAX];
};

static uint32_t prompt_tokens(const struct tb_batch *batch)
{
    return batch->context - batch->steps / 2;
}

// Before which step of a lap the sequence in this place ends.
static uint32_t last_step(const struct tb_batch *batch, uint32_t place)
{
    return place * batch->steps / batch->sequences;
}

static void extend(struct walk *walk, uint32_t at, uint32_t tokens)
{
    uint32_t slot = walk->place[at].slot, all = walk->place[at].tokens + tokens;
    uint32_t groups = (all + walk->block_tokens - 1) / walk->block_tokens;
    if (groups > walk->place[at].groups)
        tb_builder_add(walk->builder, TB_OP_TAKE, slot, (groups - walk->place[at].groups) * walk->blocks_per_group);
    if (walk->decodes)
        tb_builder_add(walk->builder, TB_OP_EXTEND, slot, tokens);
    walk->place[at].tokens = all;
    walk->place[at].groups = groups;
}

static void step_end(struct walk *walk)
{
    if (walk->decodes)
        tb_builder_add(walk->builder, TB_OP_STEP, 0, 0);
}

// Each place has two slots, which take turns.
static void retire(struct walk *walk, uint32_t at)
{
    uint32_t slot = walk->place[at].slot, n = walk->batch->sequences;
    tb_builder_add(walk->builder, TB_OP_RETIRE, slot, 0);
    walk->place[at].slot = slot < n ? slot + n : slot - n;
    walk->place[at].tokens = walk->place[at].groups = 0;
}

static void step(struct walk *walk, uint32_t number)
{
    const struct tb_batch *batch = walk->batch;
    tb_builder_add(walk->builder, TB_OP_DRAIN, 0, 0);
    for (uint32_t i = 0; i < batch->sequences; i++)
        if (last_step(batch, i) == number)
            retire(walk, i);
    for (uint32_t i = 0; i < batch->sequences; i++)
        extend(walk, i, walk->place[i].tokens ? 1 : prompt_tokens(batch));
    step_end(walk);
}

// Who ended before step e of a lap was replaced in it, and has decoded in the rest of the lap since.
static void prologue(struct walk *walk)
{
    const struct tb_batch *batch = walk->batch;
    for (uint32_t i = 0; i < batch->sequences; i++) {
        walk->place[i].slot = i;
        extend(walk, i, prompt_tokens(batch) + batch->steps - 1 - last_step(batch, i));
    }
    step_end(walk);
}

static void walk_all(struct walk *walk)
{
    prologue(walk);
    for (int lap = 0; lap < 2; lap++) {
        tb_builder_mark_lap(walk->builder);
        for (uint32_t number = 0; number < walk->batch->steps; number++)
            step(walk, number);
    }
    tb_builder_mark_epilogue(walk->builder);
    for (uint32_t i = 0; i < walk->batch->sequences; i++)
        retire(walk, i);
}

// Most blocks that are on their way home when one step begins.
static uint32_t sent_blocks(const struct walk *walk)
{
    const struct tb_batch *batch = walk->batch;
    uint32_t tokens = prompt_tokens(batch) + batch->steps - 1;
    uint32_t sequences = (batch->sequences + batch->steps - 1) / batch->steps;
    return sequences * ((tokens + walk->block_tokens - 1) / walk->block_tokens) * walk->blocks_per_group;
}

// `block_tokens` 0: for plain touch modes.
static int schedule_make(const struct tb_batch *batch, uint32_t block_tokens, uint32_t blocks_per_group, struct tb_schedule **out)
{
    struct walk walk = {
        .batch = batch,
        .block_tokens = block_tokens ? block_tokens : PLAIN_BLOCK_TOKENS,
        .blocks_per_group = block_tokens ? blocks_per_group : 1,
        .decodes = block_tokens > 0,
    };
    int error = tb_builder_open(&walk.builder);
    if (!error && walk.decodes)
        error = tb_builder_decodes(walk.builder, block_tokens, blocks_per_group);
    if (!error) {
        walk_all(&walk);
        error = tb_builder_pack(walk.builder, batch->name, UINT32_MAX, out);
    }
    tb_builder_close(walk.builder);
    if (error)
        return error;
    uint32_t quarter = (*out)->blocks_peak / 4, sent = sent_blocks(&walk);
    (*out)->pool_blocks = (*out)->blocks_peak + (quarter > sent ? quarter : sent);
    (*out)->ticks = batch->steps;
    (*out)->decoded_tokens = (uint64_t)batch->sequences * batch->steps;
    (*out)->version = VERSION;
    return 0;
}

int tb_batch_schedule(const char *name, struct tb_schedule **out, struct tb_why *why)
{
    struct tb_batch batch;
    *out = NULL;
    int error = tb_batch_read(name, &batch, why);
    return error ? error : schedule_make(&batch, 0, 0, out);
}

int tb_decode_schedule(const char *workload, uint32_t block_tokens, uint32_t blocks_per_group, struct tb_schedule **out,
                       struct tb_why *why)
{
    struct tb_batch batch;
    *out = NULL;
    why->text[0] = '\0';
    int error = tb_batch_read(workload, &batch, why);
    if (!error) {
        error = schedule_make(&batch, block_tokens, blocks_per_group, out);
    } else if (error == -ENOENT && tb_known_trace(workload)) {
        struct tb_replay_config config = tb_replay_defaults;
        config.block_tokens = block_tokens;
        config.blocks_per_group = blocks_per_group;
        error = tb_known_trace_replay(workload, &config, out, why);
    }
    if (error && !why->text[0])
        tb_why_set(why, workload, 0, "%s",
                   error == -ENOENT ? "no tokens are known of it: touch 'decode' is for batch-SEQUENCESxCONTEXT and recorded traces"
                                    : strerror(-error));
    return error;
}

int tb_decode_tokens_peak(const char *workload, uint32_t *out, struct tb_why *why)
{
    struct tb_schedule *schedule = NULL;
    int error = tb_decode_schedule(workload, PLAIN_BLOCK_TOKENS, 1, &schedule, why);
    if (!error)
        *out = schedule->tokens_peak;
    free(schedule);
    return error;
}
