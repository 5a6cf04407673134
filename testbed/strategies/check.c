// SPDX-License-Identifier: Apache-2.0
//
// check: see check.h.
//
// What a sequence should hold is a list of parts, each by one writer: the prompt's ids, or a serial number that is taken anew at
// every admission, fork and cut, so that a token is never taken for one that stood at its position before.

#include "testbed/strategies/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const uint64_t *ids;        // or NULL: `serial` wrote it
    uint32_t id_tokens;
    uint32_t end;               // first position after it
    uint64_t serial;
};

struct tb_checked {
    struct part *part;
    uint32_t parts, room, tokens;
    bool forked;                // and not extended since
};

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + 1) * UINT64_C(0xd1b54a32d192ed03);
    x = (x ^ x >> 31) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 29) | 1; // never 0: that is a place that nobody wrote
}

static uint64_t tag_of(const struct part *part, uint32_t position)
{
    return part->ids ? mixed(part->ids[position / part->id_tokens], position % part->id_tokens) : mixed(part->serial, position);
}

int tb_check_open(struct tb_check *check, const struct tb_strategy_setup *setup, void *state, char *why, size_t why_bytes)
{
    *check = (struct tb_check){.setup = setup, .state = state, .why = why, .why_bytes = why_bytes};
    check->sequence = calloc(setup->sequences, sizeof *check->sequence);
    return check->sequence ? 0 : -ENOMEM;
}

void tb_check_close(struct tb_check *check)
{
    for (uint32_t i = 0; check->sequence && i < check->setup->sequences; i++)
        free(check->sequence[i].part);
    free(check->sequence);
    check->sequence = NULL;
}

static int part_add(struct tb_checked *sequence, const struct part *part)
{
    if (sequence->parts == sequence->room) {
        uint32_t room = sequence->room ? sequence->room * 2 : 4;
        struct part *more = reallocarray(sequence->part, room, sizeof *more);
        if (!more)
            return -ENOMEM;
        sequence->part = more;
        sequence->room = room;
    }
    sequence->part[sequence->parts++] = *part;
    return 0;
}

// --- places --------------------------------------------------------------------------------------------------------------------

enum work { WRITE, COMPARE };

static int differs(const struct tb_check *check, uint32_t sequence, uint32_t position, uint64_t found)
{
    const struct tb_checked *other = check->sequence;
    for (uint32_t s = 0; s < check->setup->sequences; s++, other++)
        for (uint32_t p = 0, part = 0; p < other->tokens; p++) {
            part += p == other->part[part].end;
            if ((s == sequence && p == position) || tag_of(&other->part[part], p) != found)
                continue;
            snprintf(check->why, check->why_bytes, "strategy %s: token %u of sequence %u holds what token %u of sequence %u wrote",
                     check->setup->strategy->name, position, sequence, p, s);
            return -EBADMSG;
        }
    snprintf(check->why, check->why_bytes, "strategy %s: token %u of sequence %u does not hold what was written (%s)",
             check->setup->strategy->name, position, sequence, found ? "nobody live wrote this" : "nobody ever wrote there");
    return -EBADMSG;
}

// The positions [from, to).
static int walk(const struct tb_check *check, uint32_t at, uint32_t from, uint32_t to, enum work work)
{
    const struct tb_kv *kv = check->setup->kv;
    const struct tb_checked *sequence = &check->sequence[at];
    const struct part *part = sequence->part;
    while (from < to) {
        uint32_t run;
        char *address = check->setup->strategy->ops->at(check->state, at, from, &run);
        for (uint32_t end = to - from < run ? to : from + run; from < end; from++, address += kv->token_bytes) {
            while (from >= part->end)
                part++;
            uint64_t *tag = tb_kv_tag(kv, address), wanted = tag_of(part, from);
            if (work == WRITE)
                *tag = wanted;
            else if (*tag != wanted)
                return differs(check, at, from, *tag);
        }
    }
    return 0;
}

// --- calls ---------------------------------------------------------------------------------------------------------------------

int tb_check_admitted(struct tb_check *check, uint32_t at, const struct tb_prompt *prompt, uint32_t cached)
{
    struct tb_checked *sequence = &check->sequence[at];
    const struct part known = {prompt->ids, prompt->id_tokens, prompt->ids_tokens, 0};
    const struct part own = {NULL, 0, prompt->tokens, ++check->serial};
    int error = 0;
    sequence->parts = 0;
    if (prompt->ids_tokens)
        error = part_add(sequence, &known);
    if (!error && prompt->ids_tokens < prompt->tokens)
        error = part_add(sequence, &own);
    if (error)
        return error;
    sequence->tokens = prompt->tokens;
    sequence->forked = false;
    walk(check, at, cached, prompt->tokens, WRITE);
    return walk(check, at, 0, cached, COMPARE);
}

int tb_check_extended(struct tb_check *check, uint32_t at, uint32_t tokens)
{
    struct tb_checked *sequence = &check->sequence[at];
    uint32_t before = sequence->tokens;
    struct part *last = &sequence->part[sequence->parts - 1];
    bool own = !last->ids && last->serial && !sequence->forked;
    const struct part fresh = {NULL, 0, before + tokens, own ? 0 : ++check->serial};
    int error = 0;
    if (own)
        last->end += tokens;
    else
        error = part_add(sequence, &fresh);
    if (error)
        return error;
    sequence->tokens += tokens;
    walk(check, at, before, sequence->tokens, WRITE);
    bool first = sequence->forked;
    sequence->forked = false;
    return first ? walk(check, at, 0, sequence->tokens, COMPARE) : 0;
}

int tb_check_forked(struct tb_check *check, uint32_t from, uint32_t to)
{
    struct tb_checked *parent = &check->sequence[from], *child = &check->sequence[to];
    int error = walk(check, from, 0, parent->tokens, COMPARE);
    child->parts = 0;
    for (uint32_t i = 0; i < parent->parts && !error; i++)
        error = part_add(child, &parent->part[i]);
    child->tokens = parent->tokens;
    child->forked = parent->forked = true;
    return error ? error : walk(check, to, 0, child->tokens, COMPARE);
}

int tb_check_cut(struct tb_check *check, uint32_t at, uint32_t tokens)
{
    struct tb_checked *sequence = &check->sequence[at];
    int error = walk(check, at, 0, sequence->tokens, COMPARE);
    while (sequence->parts > 1 && sequence->part[sequence->parts - 2].end >= tokens)
        sequence->parts--;
    sequence->part[sequence->parts - 1].end = tokens;
    sequence->tokens = tokens;
    sequence->forked = true; // what comes next is written anew, by a new serial
    return error;
}

int tb_check_release(struct tb_check *check, uint32_t at)
{
    int error = walk(check, at, 0, check->sequence[at].tokens, COMPARE);
    check->sequence[at].tokens = 0;
    return error;
}
