// SPDX-License-Identifier: Apache-2.0
//
// calls: the strategy as the scheduler calls it, and the record of those calls.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/serving/serving_internal.h"

static int record(struct server *server, struct tb_call call)
{
    struct tb_calls *calls = server->config->calls;
    server->out->calls += call.kind != TB_CALL_CLOCK;
    if (!calls)
        return 0;
    if (calls->count == calls->room) {
        size_t room = calls->room ? calls->room * 2 : 4096;
        struct tb_call *more = reallocarray(calls->call, room, sizeof *more);
        if (!more)
            return -ENOMEM;
        calls->call = more;
        calls->room = room;
    }
    calls->call[calls->count++] = call;
    return 0;
}

void tb_calls_close(struct tb_calls *calls)
{
    free(calls->call);
    *calls = (struct tb_calls){0};
}

// --- open and close ------------------------------------------------------------------------------------------------------------

static uint32_t sequences_of(const struct server *server)
{
    uint64_t sequences = 0;
    for (size_t i = 0; i < server->scenario->count; i++)
        sequences += server->scenario->requests[i].width;
    if (sequences > server->config->pool_tokens)
        sequences = server->config->pool_tokens;
    return (uint32_t)sequences + TB_WIDTH_MAX; // beams that continue others exist beside those that they replace
}

static uint32_t longest_of(const struct server *server)
{
    uint32_t longest = 0;
    for (size_t i = 0; i < server->scenario->count; i++)
        if (most_of(&server->scenario->requests[i]) > longest)
            longest = most_of(&server->scenario->requests[i]);
    return longest;
}

int server_open(struct server *server)
{
    const struct tb_serving_config *config = server->config;
    uint32_t sequences = sequences_of(server);
    int error = tb_kv_open(&server->kv, config->pool_tokens, config->token_bytes, config->tags);
    if (error)
        return error;
    server->setup = (struct tb_strategy_setup){
        .strategy = config->strategy,
        .kv = &server->kv,
        .block_tokens = config->block_tokens,
        .sequences = sequences,
        .sequence_tokens = longest_of(server),
        .watermark = config->watermark,
        .executes = config->executes,
        .retention = config->retention,
    };
    server->tier = config->swap_tier;
    server->progress = calloc(server->scenario->count, sizeof *server->progress);
    server->thrown = calloc(server->scenario->count, sizeof *server->thrown);
    server->free_slots = calloc(sequences, sizeof *server->free_slots);
    if (!server->progress || !server->thrown || !server->free_slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < sequences; i++)
        server->free_slots[server->free_slots_count++] = sequences - 1 - i;
    error = config->strategy->ops->open(&server->setup, &server->state);
    if (!error && config->tags)
        error = tb_check_open(&server->check, &server->setup, server->state, server->why->text, sizeof server->why->text);
    return error;
}

void server_close(struct server *server)
{
    swap_close(server);
    tb_check_close(&server->check);
    if (server->state)
        server->config->strategy->ops->close(server->state);
    free(server->progress);
    free(server->thrown);
    free(server->free_slots);
    free(server->live);
    free(server->first);
    free(server->firsts.at);
    free(server->gaps.at);
    tb_kv_close(&server->kv);
}

// --- the calls -----------------------------------------------------------------------------------------------------------------

struct tb_prompt server_prompt(const struct tb_scenario *scenario, uint32_t request, uint32_t tokens, uint64_t now_ns)
{
    const struct tb_request *wanted = &scenario->requests[request];
    uint64_t ids_tokens = (uint64_t)wanted->ids_count * scenario->id_tokens;
    return (struct tb_prompt){
        .tokens = tokens,
        .ids_tokens = ids_tokens < wanted->prompt_tokens ? (uint32_t)ids_tokens : wanted->prompt_tokens,
        .id_tokens = scenario->id_tokens,
        .ids = scenario->ids ? scenario->ids + wanted->ids_first : NULL,
        .now_ns = now_ns,
    };
}

int server_admit(struct server *server, uint32_t slot, uint32_t request, uint32_t tokens, uint32_t most, uint32_t *cached)
{
    uint64_t now_us = server->now_ns / 1000; // only what is recorded is told, so that it is the same when it is executed
    struct tb_prompt prompt = server_prompt(server->scenario, request, tokens, now_us * 1000);
    int error = prompt.ids_tokens ? record(server, (struct tb_call){now_us >> 32, 0, (uint32_t)now_us, TB_CALL_CLOCK, false}) : 0;
    if (error)
        return error;
    if (server->config->tags)
        tb_check_ask(&server->check, slot, 0);
    error = server->config->strategy->ops->admit(server->state, slot, &prompt, most, cached);
    if (error && error != -EAGAIN)
        return error;
    int failed = record(server, (struct tb_call){slot, tokens, request, TB_CALL_ADMIT, error == -EAGAIN});
    if (!failed && server->config->tags)
        failed = error ? tb_check_refused(&server->check, slot) : tb_check_admitted(&server->check, slot, &prompt, *cached);
    return failed ? failed : error;
}

int server_extend(struct server *server, uint32_t slot, uint32_t tokens)
{
    if (server->config->tags)
        tb_check_ask(&server->check, slot, tokens);
    int error = server->config->strategy->ops->extend(server->state, slot, tokens);
    if (error && error != -EAGAIN)
        return error;
    int failed = record(server, (struct tb_call){slot, tokens, 0, TB_CALL_EXTEND, error == -EAGAIN});
    if (!failed && server->config->tags)
        failed = error ? tb_check_refused(&server->check, slot) : tb_check_extended(&server->check, slot, tokens);
    return failed ? failed : error;
}

// For a strategy that cannot fork: admit another sequence of that length, and copy every token.
static int fork_by_copy(struct server *server, uint32_t from, uint32_t to, uint32_t request, uint32_t tokens, uint32_t most)
{
    const struct tb_strategy_ops *ops = server->config->strategy->ops;
    uint32_t cached, at = 0;
    int error = server_admit(server, to, request, tokens, most, &cached);
    while (!error && at < tokens) {
        uint32_t run, run_to;
        void *source = ops->at(server->state, from, at, &run);
        void *target = ops->at(server->state, to, at, &run_to);
        run = run < run_to ? run : run_to;
        run = run < tokens - at ? run : tokens - at;
        tb_kv_copy(&server->kv, target, source, run);
        at += run;
    }
    return error || !server->config->tags ? error : tb_check_forked(&server->check, from, to);
}

int server_fork(struct server *server, uint32_t from, uint32_t to, uint32_t request, uint32_t tokens, uint32_t most)
{
    const struct tb_strategy_ops *ops = server->config->strategy->ops;
    int error = ops->fork ? ops->fork(server->state, from, to, most) : -ENOTSUP;
    if (error == -ENOTSUP)
        return fork_by_copy(server, from, to, request, tokens, most);
    if (error && error != -EAGAIN)
        return error;
    int failed = record(server, (struct tb_call){from, most, to, TB_CALL_FORK, error == -EAGAIN});
    if (!failed && !error && server->config->tags)
        failed = tb_check_forked(&server->check, from, to);
    return failed ? failed : error;
}

int server_cut(struct server *server, uint32_t slot, uint32_t tokens)
{
    int error = server->config->tags ? tb_check_cut(&server->check, slot, tokens) : 0;
    server->config->strategy->ops->cut(server->state, slot, tokens);
    return error ? error : record(server, (struct tb_call){slot, tokens, 0, TB_CALL_CUT, false});
}

int server_release(struct server *server, uint32_t slot, uint32_t request)
{
    bool keep = server->scenario->requests[request].ids_count > 0;
    int error = server->config->tags ? tb_check_release(&server->check, slot) : 0;
    server->config->strategy->ops->release(server->state, slot, keep);
    return error ? error : record(server, (struct tb_call){slot, 0, keep, TB_CALL_RELEASE, false});
}
