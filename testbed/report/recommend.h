// SPDX-License-Identifier: Apache-2.0
//
// recommend: the one place in which a report says "Use NAME". It says so only of one that is better than all others; a tie, too few
// rounds and noise are said instead, with what would help.
#ifndef TB_RECOMMEND_H
#define TB_RECOMMEND_H

#include <stdbool.h>
#include <stdint.h>

#include "testbed/base/words.h"

#define TB_RECOMMENDED_MAX 64u

struct tb_recommend {
    const char *names[TB_RECOMMENDED_MAX]; // the best, and those that cannot be told from it
    uint32_t count;
    bool few;                   // too few rounds for an interval
    bool noisy;                 // others were at work
    const char *because;        // a clause on the best and the rest: "static, the next, takes 1.50 times as many steps"; or ""
    const char *why;            // of a tie, a clause: why it is one
    const char *separates;      // and what would end it, as a sentence's subject: "A smaller pool (--pool)"; or NULL
};

// One or more sentences, without a blank behind. pre: count > 0.
void tb_say_recommend(struct tb_words *words, const struct tb_recommend *recommend);

// One more that is level with the best.
void tb_recommend_add(struct tb_recommend *recommend, const char *name);

#endif
