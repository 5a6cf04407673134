// SPDX-License-Identifier: Apache-2.0
//
// serving: a scheduler between a scenario and a strategy, in virtual time. It decides who is admitted, who waits and who is thrown
// out, and counts. Its counts are exact: the same on every host.
//
// One step:
//   1. Requests that have arrived wait in a queue, in order. Its head is admitted as long as the strategy has room for it; nobody
//      overtakes it. A request that could never fit is refused.
//   2. Prompts are computed, in order of admission, up to the step's budget. A sequence whose prompt is done decodes one token
//      (a drafting one several), also in this step.
//   3. A sequence that needs room when there is none preempts a victim: it is released, and goes back to the head of the queue with
//      all that it has as its prompt and the outputs still to come. The victim may be the sequence itself. With `swap` its KV waits
//      in a tier, and need not be computed again; if the tier refuses it, or cannot load it, it is.
//   4. Requests whose last token was decoded leave, in order of admission.
//
// The clock of a step: step_ns + read_fs for each byte of KV that the decoding sequences read, that is swapped, and, twice, that is
// moved + prompt_ns for each prompt token computed. When nobody is live, it jumps to the next arrival. Times to the first
// token count from the arrival that the scenario intends, however late the request is admitted.
#ifndef TB_SERVING_H
#define TB_SERVING_H

#include "testbed/serving/served.h"
#include "testbed/strategies/strategy.h"
#include "testbed/decode/shape.h"
#include "testbed/workload/scenarios/scenario.h"

enum tb_victim { TB_VICTIM_LAST, TB_VICTIM_LARGEST, TB_VICTIM_CHEAPEST }; // admitted last; most tokens; fewest tokens to recompute

struct locus_tier;

struct tb_clock {
    uint64_t step_ns;           // of reading the weights
    uint64_t read_fs;           // for each byte of KV
    uint64_t prompt_ns;         // for each token of a prompt
    uint32_t prompt_tokens;     // computed in one step, at most; 0: prompts cost no step, and no time
};

// On a machine that reads 100 GB/s and computes 2 Tflop/s: a step reads all weights once; a prompt's token takes two operations for
// each. At most 2,048 tokens of prompts in a step. All of it is stated, not measured.
struct tb_clock tb_clock_of(const struct tb_shape *shape);

struct tb_serving_config {
    const struct tb_scenario *scenario;
    const struct tb_strategy *strategy;
    uint64_t pool_tokens;
    size_t token_bytes;
    uint32_t block_tokens;
    double watermark;
    const char *retention;      // NULL: the strategy's default
    double speedup;             // arrivals come this many times faster; INFINITY: all wait at the start
    struct tb_clock clock;
    enum tb_victim victim;
    bool random;                // nobody schedules: requests come and go at random (random.c), and no time passes
    bool swap;                  // a victim's tokens are moved to a tier and back (swap.c), instead of computed again
    struct locus_tier *swap_tier; // borrowed, and nobody else uses it; NULL: one in memory that refuses nobody
    bool executes;              // of tb_calls_execute() alone
    bool tags;                  // write a tag into every token's place, and check it (testbed/strategies/check.h)
    struct tb_calls *calls;     // record all calls here; NULL: do not
};

// 0; -ENOMEM; -EINVAL or the strategy's error of open; -EOVERFLOW: the clock passes 2^64 ns; -EBADMSG: the
// strategy broke its contract, and why says how.
int tb_serve(const struct tb_serving_config *config, struct tb_served *out, struct tb_why *why);

// Requests per second that paged-full with 16 tokens per block finishes while the queue is never empty. -ERANGE: none is finished
// while another one waits, so there is no such figure. Otherwise 0 or as tb_serve().
int tb_serving_capacity(const struct tb_serving_config *config, double *requests_per_s, struct tb_why *why);

// --- the calls that were made -------------------------------------------------------------------------------------------------

enum tb_call_kind { TB_CALL_ADMIT, TB_CALL_EXTEND, TB_CALL_FORK, TB_CALL_CUT, TB_CALL_RELEASE, TB_CALL_CLOCK };

struct tb_call {
    uint32_t sequence;
    uint32_t tokens;            // admit: of the prompt; extend: more; cut: kept; fork: most
    uint32_t other;             // admit: the request; fork: the new sequence; release: keep; clock: for the next calls, in us
    uint8_t kind;
    bool refused;               // it was answered with -EAGAIN
};

struct tb_calls {
    struct tb_call *call;
    size_t count, room;
};

void tb_calls_close(struct tb_calls *calls);

// Makes the same calls again, to a strategy that is opened for it: *ns for the first *executed of them, mostly all. 0;
// -EBADMSG: an answer was another one; or as tb_serve().
int tb_calls_execute(const struct tb_calls *calls, const struct tb_serving_config *config, uint64_t *ns, size_t *executed,
                     struct tb_why *why);

#endif
