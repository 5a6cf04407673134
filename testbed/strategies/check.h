// SPDX-License-Identifier: Apache-2.0
//
// check: a strategy under the eyes of a model that knows what every token holds.
//
// Each token gets a tag when it appears: of the id that its prompt has at that place, else of its sequence and position. A fork
// begins with the tags of the other. All tags of a sequence are compared before each fork and cut, when it is first extended after
// a fork, and at its release; and whose place a token gets is asked when it appears. What a strategy holds is compared before and
// after a call that it refuses, an admission, and the first extension of a sequence.
//
// A finding begins with the name of the fault:
//   two owners               a token holds what another sequence wrote
//   a skipped copy           of two that were forked, one wrote where the other reads, or began without what it forked
//   a reference too few      tokens that were shared have gone to somebody else; or, at the end, more is free than there is
//   a reference too many     nobody is live, and something is held
//   a place lost             a token does not hold what was written; an admission is refused although nobody is live
//   a promise not kept       a strategy that admits for good (`promises`) refuses an extension
//   kept by one that failed  a refused call left less free than before
//   waste                    an extension took memory although the sequence had room
// What a strategy's own audit finds is in its words. Which of a fork's two should have copied is not known, so a copy that was
// forgotten and a place that was taken over while two hold it have the same name.
#ifndef TB_CHECK_H
#define TB_CHECK_H

#include "testbed/strategies/strategy.h"

struct tb_contents;

struct tb_check {
    const struct tb_strategy_setup *setup; // its kv has tags
    void *state;                // the strategy's
    struct tb_checked *sequence; // [sequences]
    uint32_t high;              // no higher one was ever live
    uint32_t live;
    bool copying;               // what is compared now was forked and may just have been copied
    uint32_t audits;            // after a fork, so far: each may take long
    uint64_t serial;            // of the last writer
    uint32_t *writer;           // sequences, by the lowest bits of their serials
    uint32_t writer_mask;
    struct tb_usage empty;      // when it was opened
    struct tb_usage before;     // the call that was asked for
    bool asked;
    char *why;                  // where a finding goes
    size_t why_bytes;
};

// 0 or -ENOMEM. `state` is of a strategy that was opened with this setup.
int tb_check_open(struct tb_check *check, const struct tb_strategy_setup *setup, void *state, char *why, size_t why_bytes);
void tb_check_close(struct tb_check *check);

// Before an admission (tokens 0), or an extension, of this sequence. Optional: without it, what is held is not compared.
void tb_check_ask(struct tb_check *check, uint32_t sequence, uint32_t tokens);

// To be called when the strategy has done it. 0, -ENOMEM, or -EBADMSG: a fault, and why names it.
int tb_check_admitted(struct tb_check *check, uint32_t sequence, const struct tb_prompt *prompt, uint32_t cached);
int tb_check_extended(struct tb_check *check, uint32_t sequence, uint32_t tokens);
int tb_check_forked(struct tb_check *check, uint32_t from, uint32_t to); // also after a copy

// When it has answered -EAGAIN to an admission or extension of this sequence.
int tb_check_refused(struct tb_check *check, uint32_t sequence);

// Before it does it.
int tb_check_cut(struct tb_check *check, uint32_t sequence, uint32_t tokens);
int tb_check_release(struct tb_check *check, uint32_t sequence);

// A sequence that leaves for a while. contents(), before its release, says what its first `tokens` hold: malloc'd, NULL: -ENOMEM.
// returned() is for a sequence that was admitted since, with as many tokens, whose places the caller has filled with that: from now
// on they must hold it. It compares at once: 0, -ENOMEM, or -EBADMSG.
struct tb_contents *tb_check_contents(const struct tb_check *check, uint32_t sequence, uint32_t tokens);
int tb_check_returned(struct tb_check *check, uint32_t sequence, const struct tb_contents *contents);

// When all are released: the strategy holds what it held when it was opened, and its books agree.
int tb_check_end(struct tb_check *check);

#endif
