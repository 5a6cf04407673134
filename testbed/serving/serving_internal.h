// SPDX-License-Identifier: Apache-2.0
//
// serving_internal: the scheduler's state, shared by serving.c (the steps), calls.c (the strategy behind it) and account.c (what is
// counted).
#ifndef TB_SERVING_INTERNAL_H
#define TB_SERVING_INTERNAL_H

#include "testbed/serving/serving.h"
#include "testbed/strategies/check.h"

// What a request has done, also before it was thrown out.
struct progress {
    uint32_t decoded;           // steps of decoding, in tokens of one beam
    bool resumed;               // thrown out after its last token
    bool swapped;               // its KV is in the tier
    struct tb_contents *contents[TB_WIDTH_MAX]; // then, with tags: what each of its beams must hold again
    bool alone;                 // thrown out although nobody else was live, and has decoded nothing since
    uint64_t last_ns;           // of its last token, if it was thrown out since
};

struct live {
    uint32_t request;
    uint32_t tokens;            // of each of its beams
    uint32_t prompt_left;       // to compute
    uint32_t extended;          // beams that have their room in this step
    bool chosen;                // the beams of this step are chosen
    bool gone;                  // thrown out in this step
    uint32_t slot[TB_WIDTH_MAX];
};

struct gap {
    uint64_t ns, weight;
};

struct samples {
    struct gap *at;
    size_t count, room;
};

struct sums {
    double live_use, reserved_use, live, largest_over_free, holes, scattered_max;
    uint64_t steps, steps_free; // with requests waiting; of these, with free tokens
};

struct server {
    const struct tb_serving_config *config;
    const struct tb_scenario *scenario;
    struct tb_kv kv;
    struct tb_strategy_setup setup;
    void *state;                // the strategy's
    struct tb_check check;      // with tags
    struct tb_served *out;
    struct tb_why *why;

    struct progress *progress;  // [requests]
    struct live *live;          // in order of admission
    uint32_t live_count, live_room;
    uint32_t *free_slots;
    uint32_t free_slots_count;
    uint32_t *thrown;           // requests at the head of the queue, the last one first
    size_t thrown_count, next;  // next: the first one that was never admitted

    struct locus_tier *tier;    // of those who are swapped out; NULL: nobody was
    uint64_t tier_units;        // if it is our own

    uint64_t now_ns;
    // In this step.
    uint64_t read_tokens, prompt_tokens, swapped_tokens, moved_before;
    uint64_t continued;         // sequences that decoded, and did so in the step before
    uint32_t *first;            // requests that decoded their first token
    uint32_t first_count;
    uint64_t live_tokens, sequences;

    struct samples firsts, gaps;
    struct sums waiting, all;
};

// calls.c: the strategy, with a record of the calls, and the checks that a contract needs.
int server_open(struct server *server);
void server_close(struct server *server);
struct tb_prompt server_prompt(const struct tb_scenario *scenario, uint32_t request, uint32_t tokens, uint64_t now_ns);
int server_admit(struct server *server, uint32_t slot, uint32_t request, uint32_t tokens, uint32_t most, uint32_t *cached);
int server_extend(struct server *server, uint32_t slot, uint32_t tokens);
int server_fork(struct server *server, uint32_t from, uint32_t to, uint32_t request, uint32_t tokens, uint32_t most);
int server_cut(struct server *server, uint32_t slot, uint32_t tokens);
int server_release(struct server *server, uint32_t slot, uint32_t request);

// swap.c: what a victim leaves in a tier, and gets back. out: before it is released; in: after it was admitted again. *done is
// false if its prompt was not computed yet or the tier does not do it, and then the tier has nothing of it. forget: it does not
// come back. left: how many requests the tier has. 0, -ENOMEM, the error of the tier's open, or -EBADMSG: something else came back.
int swap_out(struct server *server, const struct live *live, bool *done);
int swap_in(struct server *server, const struct live *live, bool *done);
void swap_forget(struct server *server, uint32_t request);
uint64_t swap_left(const struct server *server);
void swap_close(struct server *server);

// random.c: without a scheduler. The requests that are left at the end leave.
int serve_at_random(struct server *server);

// account.c
int account_step(struct server *server, uint64_t step_ns, bool waiting);
void account_refusal(struct server *server, uint32_t most); // of an admission that wants so many tokens
int account_sample(struct samples *samples, uint64_t ns, uint64_t weight);
void account_end(struct server *server);

static inline uint64_t arrival_ns(const struct server *server, uint32_t request)
{
    return (uint64_t)((double)server->scenario->requests[request].arrival_ns / server->config->speedup);
}

static inline uint32_t most_of(const struct tb_request *request)
{
    return request->prompt_tokens + request->output_tokens + request->drafts;
}

#endif
