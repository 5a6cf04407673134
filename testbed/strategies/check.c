// SPDX-License-Identifier: Apache-2.0
//
// check: see check.h.
//
// What a sequence should hold is a list of parts, each by one writer: the prompt's ids, or a serial number that is taken anew at
// every admission, fork and cut, so that a token is never taken for one that stood at its position before.

#include "testbed/strategies/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const uint64_t *ids;        // or NULL: `serial` wrote it
    uint32_t id_tokens;
    uint32_t end;               // first position after it
    uint64_t serial;
};

struct tb_contents {
    uint32_t parts;
    struct part part[];
};

struct tb_checked {
    struct part *part;
    uint32_t parts, room, tokens; // tokens 0: not live
    bool forked;                // and not extended since
    bool fresh;                 // admitted, and neither forked nor extended nor cut since
    uint64_t held;              // by its admission, if that was asked for
    uint64_t family;            // the same for all that the strategy forked from each other; 0: none (a copy is none)
    uint32_t shared;            // its first tokens that others of the family began with
};

#define AUDITS_MAX 256u // after forks; arbitrary
#define SERIALS_PER_SEQUENCE 4u // remembered; who wrote longer ago is found when its tokens are compared

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + 1) * UINT64_C(0xd1b54a32d192ed03);
    x = (x ^ x >> 31) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 29;
}

#define OF_ID (UINT64_C(1) << 63)
#define SERIAL_MASK ((UINT64_C(1) << 30) - 1)

// Never 0: that is a place that nobody wrote.
static uint64_t tag_of(const struct part *part, uint32_t position)
{
    if (part->ids)
        return mixed(part->ids[position / part->id_tokens], position % part->id_tokens) | OF_ID;
    return (part->serial & SERIAL_MASK) << 33 | (uint64_t)position << 1 | 1;
}

int tb_check_open(struct tb_check *check, const struct tb_strategy_setup *setup, void *state, char *why, size_t why_bytes)
{
    *check = (struct tb_check){.setup = setup, .state = state, .why = why, .why_bytes = why_bytes};
    check->sequence = calloc(setup->sequences, sizeof *check->sequence);
    for (check->writer_mask = 1; check->writer_mask < SERIALS_PER_SEQUENCE * setup->sequences;)
        check->writer_mask *= 2;
    check->writer = calloc(check->writer_mask--, sizeof *check->writer);
    setup->strategy->ops->usage(state, 1, &check->empty);
    return check->sequence && check->writer ? 0 : -ENOMEM;
}

void tb_check_close(struct tb_check *check)
{
    for (uint32_t i = 0; check->sequence && i < check->setup->sequences; i++)
        free(check->sequence[i].part);
    free(check->sequence);
    free(check->writer);
    check->sequence = NULL;
    check->writer = NULL;
}

static int __attribute__((format(printf, 2, 3))) found(const struct tb_check *check, const char *format, ...)
{
    va_list arguments;
    int length = snprintf(check->why, check->why_bytes, "strategy %s: ", check->setup->strategy->name);
    va_start(arguments, format);
    if (length >= 0 && (size_t)length < check->why_bytes)
        vsnprintf(check->why + length, check->why_bytes - (size_t)length, format, arguments);
    va_end(arguments);
    return -EBADMSG;
}

static uint64_t serial_new(struct tb_check *check, uint32_t writer)
{
    check->serial++;
    check->writer[check->serial & check->writer_mask] = writer;
    return check->serial;
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

// Whose token has this tag? False: nobody's.
static bool writer_of(const struct tb_check *check, uint32_t sequence, uint32_t position, uint64_t tag, uint32_t *of, uint32_t *at)
{
    for (uint32_t s = 0; s < check->high; s++) {
        const struct tb_checked *other = &check->sequence[s];
        for (uint32_t p = 0, part = 0; p < other->tokens; p++) {
            part += p == other->part[part].end;
            if ((s == sequence && p == position) || tag_of(&other->part[part], p) != tag)
                continue;
            *of = s;
            *at = p;
            return true;
        }
    }
    return false;
}

static int differs(const struct tb_check *check, uint32_t sequence, uint32_t position, uint64_t tag)
{
    const struct tb_checked *own = &check->sequence[sequence];
    bool was_shared = own->family && position < own->shared;
    uint32_t of, at;
    if (writer_of(check, sequence, position, tag, &of, &at)) {
        bool same = own->family && check->sequence[of].family == own->family && at == position;
        const char *fault = same ? "a skipped copy" : was_shared ? "a reference too few" : "two owners";
        return found(check, "%s: token %u of sequence %u holds what token %u of sequence %u wrote", fault, position, sequence, at,
                     of);
    }
    const char *fault = !was_shared ? "a place lost" : check->copying ? "a skipped copy" : "a reference too few";
    return found(check, "%s: token %u of sequence %u does not hold what was written (%s)", fault, position, sequence,
                 tag ? "nobody live wrote this" : "nobody ever wrote there");
}

// A token is about to be written where the tag of another is. Is that one live, and there?
static int taken(const struct tb_check *check, uint32_t sequence, uint32_t position, const void *address, uint64_t tag)
{
    uint32_t of = check->writer[tag >> 33 & check->writer_mask], at = (uint32_t)(tag >> 1), run;
    const struct tb_checked *own = &check->sequence[sequence], *other = &check->sequence[of];
    if (of == sequence || at >= other->tokens)
        return 0;
    const struct part *part = other->part;
    while (at >= part->end)
        part++;
    if (tag_of(part, at) != tag || check->setup->strategy->ops->at(check->state, of, at, &run) != address)
        return 0;
    bool related = own->family && own->family == other->family, was_shared = other->family && at < other->shared;
    const char *fault = related && at == position ? "a skipped copy" : was_shared ? "a reference too few" : "two owners";
    return found(check, "%s: token %u of sequence %u is written where token %u of sequence %u is", fault, position, sequence, at,
                 of);
}

// The positions [from, to).
static int walk(const struct tb_check *check, uint32_t at, uint32_t from, uint32_t to, enum work work)
{
    const struct tb_kv *kv = check->setup->kv;
    const struct tb_checked *sequence = &check->sequence[at];
    const struct part *part = sequence->part;
    uint64_t seen = 0;
    int error = 0;
    while (from < to && !error) {
        uint32_t run;
        char *address = check->setup->strategy->ops->at(check->state, at, from, &run);
        for (uint32_t end = to - from < run ? to : from + run; from < end && !error; from++, address += kv->token_bytes) {
            while (from >= part->end)
                part++;
            uint64_t *tag = tb_kv_tag(kv, address), wanted = tag_of(part, from), before = *tag;
            if (work == COMPARE) {
                if (before != wanted)
                    return differs(check, at, from, before);
                continue;
            }
            *tag = wanted;
            if (before && !(before & OF_ID) && before >> 33 != seen) {
                seen = before >> 33; // one of another's tokens is enough
                error = taken(check, at, from, address, before);
            }
        }
    }
    return error;
}

// --- what is held --------------------------------------------------------------------------------------------------------------

static void usage_of(const struct tb_check *check, struct tb_usage *out)
{
    check->setup->strategy->ops->usage(check->state, 1, out);
}

// The usage of a strategy may take long: an extension by one token is compared only when it is the first.
void tb_check_ask(struct tb_check *check, uint32_t at, uint32_t tokens)
{
    const struct tb_checked *sequence = &check->sequence[at];
    check->asked = sequence->tokens == 0 || sequence->fresh || tokens > 1;
    if (check->asked)
        usage_of(check, &check->before);
}

// How much more is held than before the call; 0: nobody asked.
static uint64_t risen(struct tb_check *check)
{
    struct tb_usage now;
    if (!check->asked)
        return 0;
    check->asked = false;
    usage_of(check, &now);
    return now.reserved > check->before.reserved ? now.reserved - check->before.reserved : 0;
}

int tb_check_refused(struct tb_check *check, uint32_t at)
{
    const struct tb_checked *sequence = &check->sequence[at];
    struct tb_usage now;
    if (check->asked) {
        check->asked = false;
        usage_of(check, &now);
        if (now.free + now.kept < check->before.free + check->before.kept)
            return found(check, "kept by one that failed: %llu tokens are held for sequence %u, which was refused",
                         (unsigned long long)(check->before.free + check->before.kept - now.free - now.kept), at);
    }
    if (sequence->tokens && check->setup->strategy->promises)
        return found(check, "a promise not kept: sequence %u has %u tokens, is promised more, and is refused", at,
                     sequence->tokens);
    if (sequence->tokens || check->live)
        return 0;
    usage_of(check, &now);
    return found(check,
                 "a place lost: an admission is refused although nobody is live: %llu tokens are free, %llu for one sequence",
                 (unsigned long long)(now.free + now.kept), (unsigned long long)now.largest);
}

int tb_check_end(struct tb_check *check)
{
    const struct tb_usage *empty = &check->empty;
    struct tb_usage now;
    usage_of(check, &now);
    if (now.reserved > empty->reserved)
        return found(check, "a reference too many: %llu tokens are held, and nobody is live",
                     (unsigned long long)(now.reserved - empty->reserved));
    if (now.free + now.kept > empty->free + empty->kept)
        return found(check, "a reference too few: %llu tokens more are free than there are",
                     (unsigned long long)(now.free + now.kept - empty->free - empty->kept));
    if (now.free + now.kept < empty->free + empty->kept)
        return found(check, "a place lost: of %llu tokens %llu are free, and nobody is live", (unsigned long long)empty->free,
                     (unsigned long long)(now.free + now.kept));
    return check->setup->strategy->ops->audit(check->state, check->why, check->why_bytes);
}

// --- calls ---------------------------------------------------------------------------------------------------------------------

int tb_check_admitted(struct tb_check *check, uint32_t at, const struct tb_prompt *prompt, uint32_t cached)
{
    struct tb_checked *sequence = &check->sequence[at];
    const struct part known = {prompt->ids, prompt->id_tokens, prompt->ids_tokens, 0};
    const struct part own = {NULL, 0, prompt->tokens, serial_new(check, at)};
    int error = 0;
    sequence->parts = 0;
    if (prompt->ids_tokens)
        error = part_add(sequence, &known);
    if (!error && prompt->ids_tokens < prompt->tokens)
        error = part_add(sequence, &own);
    if (error)
        return error;
    check->live++;
    check->high = at < check->high ? check->high : at + 1;
    sequence->tokens = prompt->tokens;
    sequence->forked = false;
    sequence->family = sequence->shared = 0;
    sequence->fresh = check->asked;
    sequence->held = risen(check);
    error = walk(check, at, cached, prompt->tokens, WRITE);
    return error ? error : walk(check, at, 0, cached, COMPARE);
}

// What the first extension after a fork may have copied: compared, and the strategy's own books of who owns what, as well.
static int parts(struct tb_check *check, uint32_t at)
{
    check->copying = true;
    int error = walk(check, at, 0, check->sequence[at].tokens, COMPARE);
    check->copying = false;
    if (error || check->audits >= AUDITS_MAX)
        return error;
    check->audits++;
    return check->setup->strategy->ops->audit(check->state, check->why, check->why_bytes);
}

int tb_check_extended(struct tb_check *check, uint32_t at, uint32_t tokens)
{
    struct tb_checked *sequence = &check->sequence[at];
    uint32_t before = sequence->tokens;
    struct part *last = &sequence->part[sequence->parts - 1];
    bool own = !last->ids && last->serial && !sequence->forked;
    const struct part fresh = {NULL, 0, before + tokens, own ? 0 : serial_new(check, at)};
    int error = 0;
    if (own)
        last->end += tokens;
    else
        error = part_add(sequence, &fresh);
    if (error)
        return error;
    bool first = sequence->forked, unextended = sequence->fresh;
    uint64_t more = risen(check);
    sequence->tokens += tokens;
    sequence->forked = sequence->fresh = false;
    error = walk(check, at, before, sequence->tokens, WRITE);
    if (error)
        return error;
    if (unextended && more > 1 && sequence->tokens < sequence->held) // less than one is rounding
        return found(check, "waste: sequence %u had room for %llu tokens, needs %u, and took room for %llu more", at,
                     (unsigned long long)sequence->held, sequence->tokens, (unsigned long long)more);
    return first ? parts(check, at) : 0;
}

static void family_of(struct tb_check *check, struct tb_checked *parent, struct tb_checked *child)
{
    if (!parent->family)
        parent->family = ++check->serial;
    parent->shared = parent->tokens; // the parent's earlier ones are no more than that
    child->family = parent->family;
    child->shared = parent->tokens;
}

int tb_check_forked(struct tb_check *check, uint32_t from, uint32_t to)
{
    struct tb_checked *parent = &check->sequence[from], *child = &check->sequence[to];
    int error = walk(check, from, 0, parent->tokens, COMPARE);
    bool copied = child->tokens > 0; // it was admitted before
    check->live += !copied;
    check->high = to < check->high ? check->high : to + 1;
    child->parts = 0;
    for (uint32_t i = 0; i < parent->parts && !error; i++)
        error = part_add(child, &parent->part[i]);
    child->tokens = parent->tokens;
    child->forked = parent->forked = true;
    if (!copied)
        family_of(check, parent, child);
    child->fresh = parent->fresh = false;
    check->copying = true;
    error = error ? error : walk(check, to, 0, child->tokens, COMPARE);
    check->copying = false;
    return error;
}

int tb_check_cut(struct tb_check *check, uint32_t at, uint32_t tokens)
{
    struct tb_checked *sequence = &check->sequence[at];
    int error = walk(check, at, 0, sequence->tokens, COMPARE);
    while (sequence->parts > 1 && sequence->part[sequence->parts - 2].end >= tokens)
        sequence->parts--;
    sequence->part[sequence->parts - 1].end = tokens;
    sequence->tokens = tokens;
    sequence->shared = tokens < sequence->shared ? tokens : sequence->shared;
    sequence->forked = true; // what comes next is written anew, by a new serial
    sequence->fresh = false;
    return error;
}

int tb_check_release(struct tb_check *check, uint32_t at)
{
    struct tb_checked *sequence = &check->sequence[at];
    int error = walk(check, at, 0, sequence->tokens, COMPARE);
    sequence->tokens = 0;
    sequence->family = 0;
    check->live--;
    return error;
}

struct tb_contents *tb_check_contents(const struct tb_check *check, uint32_t at, uint32_t tokens)
{
    const struct tb_checked *sequence = &check->sequence[at];
    struct tb_contents *contents = malloc(sizeof *contents + sequence->parts * sizeof *contents->part);
    if (!contents)
        return NULL;
    memcpy(contents->part, sequence->part, sequence->parts * sizeof *contents->part);
    contents->parts = sequence->parts;
    while (contents->parts > 1 && contents->part[contents->parts - 2].end >= tokens)
        contents->parts--;
    contents->part[contents->parts - 1].end = tokens;
    return contents;
}

int tb_check_returned(struct tb_check *check, uint32_t at, const struct tb_contents *contents)
{
    struct tb_checked *sequence = &check->sequence[at];
    int error = 0;
    sequence->parts = 0;
    for (uint32_t i = 0; i < contents->parts && !error; i++) {
        error = part_add(sequence, &contents->part[i]);
        if (!contents->part[i].ids)
            check->writer[contents->part[i].serial & check->writer_mask] = at;
    }
    sequence->forked = true; // what comes next is written anew, by a new serial
    sequence->fresh = false;
    return error ? error : walk(check, at, 0, sequence->tokens, COMPARE);
}
