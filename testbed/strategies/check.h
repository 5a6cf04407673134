// SPDX-License-Identifier: Apache-2.0
//
// check: a strategy under the eyes of a model that knows what every token holds.
//
// Each token gets a tag when it appears: of the id that its prompt has at that place, else of its sequence and position. A fork
// begins with the tags of the other. All tags of a sequence are compared before each fork and cut, when it is first extended after
// a fork, and at its release. So a strategy that gives one place to two, loses tokens in a copy, or shares what one of them writes
// is found, by the two tokens' names.
#ifndef TB_CHECK_H
#define TB_CHECK_H

#include "testbed/strategies/strategy.h"

struct tb_check {
    const struct tb_strategy_setup *setup; // its kv has tags
    void *state;                // the strategy's
    struct tb_checked *sequence; // [sequences]
    uint64_t serial;            // of the last writer
    char *why;                  // where a finding goes
    size_t why_bytes;
};

// 0 or -ENOMEM. `state` is of a strategy that was opened with this setup.
int tb_check_open(struct tb_check *check, const struct tb_strategy_setup *setup, void *state, char *why, size_t why_bytes);
void tb_check_close(struct tb_check *check);

// To be called when the strategy has done it. 0, -ENOMEM, or -EBADMSG: a token does not hold what it should, and why names it.
int tb_check_admitted(struct tb_check *check, uint32_t sequence, const struct tb_prompt *prompt, uint32_t cached);
int tb_check_extended(struct tb_check *check, uint32_t sequence, uint32_t tokens);
int tb_check_forked(struct tb_check *check, uint32_t from, uint32_t to); // also after a copy

// Before it does it.
int tb_check_cut(struct tb_check *check, uint32_t sequence, uint32_t tokens);
int tb_check_release(struct tb_check *check, uint32_t sequence);

#endif
