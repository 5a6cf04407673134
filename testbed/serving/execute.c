// SPDX-License-Identifier: Apache-2.0
//
// execute: the calls of a record once more, timed.
//
// The scheduler is not in the way: what is timed is the strategy, through the same table of functions, and what it copies. An
// answer that differs from the recorded one would be another run, so it ends this one.

#include <errno.h>
#include <time.h>

#include "testbed/serving/serving_internal.h"

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int call_again(struct server *server, const struct tb_call *call)
{
    const struct tb_strategy_ops *ops = server->config->strategy->ops;
    const struct tb_request *wanted = &server->scenario->requests[call->other];
    struct tb_prompt prompt;
    uint32_t cached;
    switch (call->kind) {
    case TB_CALL_EXTEND: return ops->extend(server->state, call->sequence, call->tokens);
    case TB_CALL_ADMIT:
        prompt = server_prompt(server->scenario, call->other, call->tokens, server->now_ns);
        return ops->admit(server->state, call->sequence, &prompt, most_of(wanted), &cached);
    case TB_CALL_FORK: return ops->fork(server->state, call->sequence, call->other, call->tokens);
    case TB_CALL_CLOCK: server->now_ns = ((uint64_t)call->sequence << 32 | call->other) * 1000; return 0;
    case TB_CALL_CUT: ops->cut(server->state, call->sequence, call->tokens); return 0;
    default: ops->release(server->state, call->sequence, call->other); return 0;
    }
}

int tb_calls_execute(const struct tb_calls *calls, const struct tb_serving_config *given, uint64_t *ns, size_t *executed,
                     struct tb_why *why)
{
    struct tb_served served = {0};
    struct tb_serving_config config = *given;
    struct server server = {.config = &config, .scenario = config.scenario, .out = &served, .why = why};
    size_t limit = config.strategy->calls_timed, count = limit && limit < calls->count ? limit : calls->count;
    config.executes = true;
    int error = server_open(&server);
    uint64_t start_ns = now_ns();
    for (size_t i = 0; i < count && !error; i++) {
        int answer = call_again(&server, &calls->call[i]);
        if (__builtin_expect((answer == -EAGAIN) != calls->call[i].refused || (answer && answer != -EAGAIN), 0)) {
            tb_why_set(why, config.strategy->name, 0, "call %zu was answered otherwise than when it was recorded", i);
            error = -EBADMSG;
        }
    }
    *ns = now_ns() - start_ns;
    *executed = count;
    server_close(&server);
    return error;
}
