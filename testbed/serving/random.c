// SPDX-License-Identifier: Apache-2.0
//
// random: requests come and go at random, and nobody schedules them. How scattered does that leave the pool?
//
// A step: in two of five, when anybody is live, one of the live sequences leaves, each as likely; otherwise one of the requests is
// drawn and wants all of its tokens at once. It is admitted, or dropped and never asked again. There are as many steps as
// requests. The draws are a function of the scenario alone; which of the live ones leaves depends on who was admitted, too. A
// request is one sequence, whatever its width.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/serving_internal.h"
#include "testbed/stats/random.h"

static int enter(struct server *server, uint32_t request)
{
    struct live *live = &server->live[server->live_count];
    uint32_t tokens = most_of(&server->scenario->requests[request]), cached = 0;
    int error = server->free_slots_count ? 0 : -EAGAIN; // as many tokens live as the pool has: a trap
    *live = (struct live){.request = request, .tokens = tokens};
    if (!error) {
        live->slot[0] = server->free_slots[server->free_slots_count - 1];
        error = server_admit(server, live->slot[0], request, tokens, tokens, &cached);
    }
    if (error == -EAGAIN)
        account_refusal(server, tokens);
    server->out->refused += error == -ENOSPC;
    if (error)
        return error == -EAGAIN || error == -ENOSPC ? 0 : error;
    server->free_slots_count--;
    server->live_count++;
    server->sequences++;
    server->live_tokens += tokens;
    server->out->cached_tokens += cached;
    server->out->prompt_tokens += tokens - cached;
    if (server->sequences > server->out->live_max)
        server->out->live_max = server->sequences;
    return 0;
}

static int leave(struct server *server, uint32_t at)
{
    struct live live = server->live[at];
    server->live[at] = server->live[--server->live_count];
    server->free_slots[server->free_slots_count++] = live.slot[0];
    server->sequences--;
    server->live_tokens -= live.tokens;
    server->out->requests++;
    return server_release(server, live.slot[0], live.request);
}

int serve_at_random(struct server *server)
{
    size_t steps = server->scenario->count;
    uint64_t random = server->scenario->seed ^ 0x72616e646f6d;
    int error = 0;
    server->live = calloc(steps + 1, sizeof *server->live);
    if (!server->live)
        return -ENOMEM;
    for (size_t i = 0; i < steps && !error; i++) {
        uint64_t leaves = tb_random_next(&random), who = tb_random_next(&random);
        if (leaves % 5 < 2 && server->live_count)
            error = leave(server, (uint32_t)(who % server->live_count));
        else
            error = enter(server, (uint32_t)(who % steps));
        if (!error)
            error = account_step(server, 0, false);
    }
    while (!error && server->live_count)
        error = leave(server, server->live_count - 1);
    return error;
}
