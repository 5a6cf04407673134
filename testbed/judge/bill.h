// SPDX-License-Identifier: Apache-2.0
//
// bill: what each part of a decode step costs, by arms that leave it out (decode/act.h).
//
//     attention   NAME - NAME@no-attend
//     append      NAME - NAME@no-append
//     allocator   NAME@nothing - oracle@nothing: takes, retirements, the way home and drains. Of it:
//       allocate  NAME@no-free - oracle@nothing: takes
//       free      NAME@no-drain - NAME@no-free: retirements and the way home
//       drain     NAME@nothing - NAME@no-drain
//     harness     oracle@nothing: the walk over the schedule, and the oracle's block numbers
//
// The three parts of the allocator add up to it in each round, as each begins where another ends. Where there is no arm
// NAME@no-drain, as of a contender that frees where a request ends, free is NAME@nothing - NAME@no-free.
//
// The differences are formed within each round. Nothing makes the four parts of the step add up to NAME's own time: how near they
// come says how far the parts can be told apart at all. What K and V bring into the caches for attention is in none of them, for
// one.
//
// The same differences are formed of what the kernel counted in laps of the same kind, where the host counts it.
#ifndef TB_JUDGE_BILL_H
#define TB_JUDGE_BILL_H

#include "testbed/judge/board.h"

#define TB_BILL_GAP_MAX 0.05 // of the step; arbitrary: a sum that is farther off is not the step

enum tb_bill_line {
    TB_BILL_ATTENTION,
    TB_BILL_APPEND,
    TB_BILL_ALLOCATOR,
    TB_BILL_ALLOCATE,    // these three are the parts of TB_BILL_ALLOCATOR. Unknown where their arms did not run
    TB_BILL_FREE,
    TB_BILL_DRAIN,
    TB_BILL_HARNESS,
    TB_BILL_SUM,         // of attention, append, allocator and harness
    TB_BILL_WHOLE,       // NAME as it is
    TB_BILL_SMALL_PAGES, // what pages of 4 KiB would add (locus-4k - locus): no part of it; only for locus
    TB_BILL_FIRST_TOUCH, // what pages without memory would add: NAME@first-touch - NAME@no-attend. No part of it, either
    TB_BILL_LINES,
};

// Counters (counters/counters.h) of which a bill has a figure.
enum tb_bill_count { TB_BILL_CYCLES, TB_BILL_TLB_MISSES, TB_BILL_PAGE_FAULTS, TB_BILL_COUNTS };

struct tb_bill_figure {
    bool known;            // its arms are there
    struct tb_ratio ns;    // of one step
    struct tb_ratio share; // of NAME's step, round by round
    bool counted[TB_BILL_COUNTS]; // in every round of its arms, by hardware that was not shared
    struct tb_ratio count[TB_BILL_COUNTS]; // of one step
};

struct tb_bill {
    struct tb_bill_figure line[TB_BILL_LINES];
    int noisy;   // an arm of it that is (noise.c); -1: none
    int invalid; // one that is; -1: none. Then no line is known
    const char *uncounted; // why it has no cycles; NULL: it has, or the host was not asked. Of the rounds
    bool user_only;        // its cycles are those of user mode: the kernel may not be counted here
};

// The i-th arm that a bill of this one is made of, as on the command line. Arms that its contender cannot have are left out (no
// drains, no pool). false after the last.
bool tb_bill_arm(const struct tb_arm *named, size_t i, char *out, size_t bytes);

// Of the arm NAME. false: the cell is of another touch mode, or one of NAME, its @no-attend, @no-append and @nothing and
// oracle@nothing is missing.
bool tb_bill(const struct tb_rounds *rounds, uint32_t cell, uint32_t name, struct tb_bill *out);

const char *tb_bill_word(enum tb_bill_line line);       // "attention", for people and programs
const char *tb_bill_counter(enum tb_bill_count count);  // "cycles", its name among counters and in JSON
bool tb_bill_told(const struct tb_bill_figure *figure); // its intervals are bounded, and 0 is outside both

enum tb_bill_closing {
    TB_BILL_OPEN,   // the interval of the sum is too wide to say, or there is none
    TB_BILL_CLOSES, // all of it is within TB_BILL_GAP_MAX of the step
    TB_BILL_MISSES, // none of it is
};
enum tb_bill_closing tb_bill_closing(const struct tb_bill *bill);

#endif
