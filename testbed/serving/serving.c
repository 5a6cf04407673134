// SPDX-License-Identifier: Apache-2.0
//
// serving: the steps of the scheduler. serving.h has the model.
//
// The queue is a number (`next`: nobody from there on was ever admitted) and a stack (`thrown`: whoever was thrown out last is its
// head). The live ones are an array in order of admission. Whoever is thrown out in the middle of a step is only marked there, so
// that the walk over the array goes on; the step's end closes the gaps.

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/serving/serving_internal.h"

static const struct tb_request *request_of(const struct server *server, uint32_t request)
{
    return &server->scenario->requests[request];
}

// --- the queue -----------------------------------------------------------------------------------------------------------------

static bool queue_head(const struct server *server, uint32_t *request)
{
    if (server->thrown_count) {
        *request = server->thrown[server->thrown_count - 1];
        return true;
    }
    *request = (uint32_t)server->next;
    return server->next < server->scenario->count && arrival_ns(server, *request) <= server->now_ns;
}

static void queue_pop(struct server *server)
{
    if (server->thrown_count)
        server->thrown_count--;
    else
        server->next++;
}

// --- admission -----------------------------------------------------------------------------------------------------------------

static int release_beams(struct server *server, const struct live *live, uint32_t count)
{
    int error = 0;
    for (uint32_t b = 0; b < count && !error; b++) {
        error = server_release(server, live->slot[b], live->request);
        server->free_slots[server->free_slots_count++] = live->slot[b];
    }
    return error;
}

// All beams begin with the same tokens. A group that is admitted again decodes its old steps at once: only its prompt is shared.
static int beams_open(struct server *server, struct live *live, uint32_t width, uint32_t tokens, uint32_t most)
{
    uint32_t cached, opened = 0, prompt = width > 1 ? request_of(server, live->request)->prompt_tokens : tokens;
    int error = server->free_slots_count < width ? -EAGAIN : 0;
    for (; opened < width && !error; opened += !error) {
        uint32_t slot = live->slot[opened] = server->free_slots[server->free_slots_count - 1];
        if (opened == 0)
            error = server_admit(server, slot, live->request, prompt, most, &cached);
        else
            error = server_fork(server, live->slot[0], slot, live->request, prompt, most);
        server->free_slots_count -= !error;
    }
    for (uint32_t b = 0; b < width && !error && tokens > prompt; b++)
        error = server_extend(server, live->slot[b], tokens - prompt);
    if (error == -EAGAIN || error == -ENOSPC) {
        int released = release_beams(server, live, opened);
        return released ? released : error;
    }
    live->prompt_left = error ? 0 : tokens > cached ? tokens - cached : 1; // the last token's step is needed in any case
    server->out->cached_tokens += error ? 0 : tokens - live->prompt_left;
    return error;
}

static int live_room(struct server *server)
{
    if (server->live_count < server->live_room)
        return 0;
    uint32_t room = server->live_room ? server->live_room * 2 : 64;
    struct live *live = reallocarray(server->live, room, sizeof *live);
    uint32_t *first = reallocarray(server->first, room, sizeof *first);
    server->live = live ? live : server->live;
    server->first = first ? first : server->first;
    if (!live || !first)
        return -ENOMEM;
    server->live_room = room;
    return 0;
}

// 0, -EAGAIN: the head has to wait; or the error that ends the run.
static int admit(struct server *server, uint32_t request)
{
    const struct tb_request *wanted = request_of(server, request);
    struct progress *progress = &server->progress[request];
    uint32_t tokens = wanted->prompt_tokens + progress->decoded, most = most_of(wanted);
    int error = live_room(server);
    if (error)
        return error;
    struct live *live = &server->live[server->live_count];
    *live = (struct live){.request = request, .tokens = tokens};
    error = beams_open(server, live, wanted->width, tokens, most);
    if (error == -EAGAIN)
        account_refusal(server, most);
    if (error == -ENOSPC)
        server->out->refused++;
    if (error && error != -ENOSPC)
        return error;
    queue_pop(server);
    if (error) {
        swap_forget(server, request);
        return 0;
    }
    bool back = false;
    error = progress->swapped ? swap_in(server, live, &back) : 0;
    if (error)
        return error;
    if (back) {
        live->prompt_left = 0;
        server->swapped_tokens += (uint64_t)tokens * wanted->width;
    }
    server->live_count++;
    server->live_tokens += (uint64_t)tokens * wanted->width;
    server->sequences += wanted->width;
    if (server->sequences > server->out->live_max)
        server->out->live_max = server->sequences;
    return 0;
}

// "Not now", but nobody will leave: beams may need more sequences than there is room for. A single one was promised to fit.
static int refuse_alone(struct server *server, uint32_t request)
{
    if (request_of(server, request)->width == 1) {
        tb_why_set(server->why, server->scenario->name, request_of(server, request)->line,
                   "strategy %s has no room for the request, although nobody is live", server->config->strategy->name);
        return -EBADMSG;
    }
    queue_pop(server);
    swap_forget(server, request);
    server->out->refused++;
    return 0;
}

// *waiting: somebody is left in the queue.
static int admit_all(struct server *server, bool *waiting)
{
    uint32_t request;
    int error = 0;
    while ((*waiting = queue_head(server, &request)) && !error) {
        error = admit(server, request);
        if (error == -EAGAIN && server->live_count == 0)
            error = refuse_alone(server, request);
    }
    return error == -EAGAIN ? 0 : error;
}

// --- preemption ----------------------------------------------------------------------------------------------------------------

static uint32_t cost_of(const struct server *server, const struct live *live)
{
    uint32_t tokens = live->tokens * request_of(server, live->request)->width;
    return server->config->victim == TB_VICTIM_LARGEST ? UINT32_MAX - tokens : tokens;
}

// Of equals, the one admitted last.
static uint32_t victim_of(const struct server *server)
{
    uint32_t victim = UINT32_MAX;
    for (uint32_t i = server->live_count; i-- > 0;) {
        if (server->live[i].gone)
            continue;
        if (server->config->victim == TB_VICTIM_LAST)
            return i;
        if (victim == UINT32_MAX || cost_of(server, &server->live[i]) < cost_of(server, &server->live[victim]))
            victim = i;
    }
    return victim;
}

static int preempt(struct server *server, uint32_t victim)
{
    struct live *live = &server->live[victim];
    struct progress *progress = &server->progress[live->request];
    uint32_t width = request_of(server, live->request)->width;
    uint64_t tokens = (uint64_t)live->tokens * width;
    int error = server->config->swap ? swap_out(server, live, &progress->swapped) : 0;
    if (error)
        return error;
    live->gone = true;
    if (progress->decoded && !progress->resumed) {
        progress->resumed = true;
        progress->last_ns = server->now_ns;
    }
    if (progress->swapped)
        server->swapped_tokens += tokens;
    server->out->preempted++;
    server->out->thrown_tokens += tokens;
    server->live_tokens -= tokens;
    server->sequences -= width;
    server->thrown[server->thrown_count++] = live->request;
    return release_beams(server, live, width);
}

static bool alone(const struct server *server)
{
    return server->sequences == request_of(server, server->live[victim_of(server)].request)->width;
}

// --- decoding ------------------------------------------------------------------------------------------------------------------

// Beams that continue another one become forks of it. All or none; -EAGAIN: no room.
static int beams_choose(struct server *server, struct live *live)
{
    const struct tb_request *wanted = request_of(server, live->request);
    uint32_t step = server->progress[live->request].decoded, slot[TB_WIDTH_MAX], forked = 0;
    int error = 0;
    for (uint32_t b = 0; b < wanted->width && !error; b++) {
        uint32_t parent = tb_scenario_parent(server->scenario, live->request, step, b);
        slot[b] = live->slot[b];
        if (parent == b)
            continue;
        if (server->free_slots_count <= forked)
            return -EAGAIN;
        slot[b] = server->free_slots[server->free_slots_count - 1 - forked];
        error = server_fork(server, live->slot[parent], slot[b], live->request, live->tokens, most_of(wanted));
        forked += !error;
    }
    for (uint32_t b = 0, undo = forked; b < wanted->width && error == -EAGAIN && undo; b++)
        if (slot[b] != live->slot[b]) {
            int released = server_release(server, slot[b], live->request);
            error = released ? released : error;
            undo--;
        }
    if (error)
        return error;
    server->free_slots_count -= forked;
    for (uint32_t b = 0; b < wanted->width && !error; b++)
        if (slot[b] != live->slot[b]) {
            error = server_release(server, live->slot[b], live->request);
            server->free_slots[server->free_slots_count++] = live->slot[b];
            live->slot[b] = slot[b];
        }
    live->chosen = true;
    return error;
}

// Room for one step of all beams, drafts included. -EAGAIN may be tried again: it goes on where it stopped.
static int make_room(struct server *server, struct live *live)
{
    const struct tb_request *wanted = request_of(server, live->request);
    int error = wanted->width > 1 && !live->chosen ? beams_choose(server, live) : 0;
    for (; live->extended < wanted->width && !error; live->extended += !error)
        error = server_extend(server, live->slot[live->extended], 1 + wanted->drafts);
    return error;
}

static uint32_t decoded_now(const struct server *server, const struct live *live)
{
    const struct tb_request *wanted = request_of(server, live->request);
    const struct progress *progress = &server->progress[live->request];
    uint32_t tokens = 1 + (wanted->drafts ? tb_scenario_accepted(server->scenario, live->request, progress->decoded) : 0);
    uint32_t left = wanted->output_tokens - progress->decoded;
    return tokens < left ? tokens : left;
}

static int count_tokens(struct server *server, struct live *live, uint32_t tokens)
{
    struct progress *progress = &server->progress[live->request];
    uint32_t width = request_of(server, live->request)->width;
    int error = 0;
    if (progress->decoded == 0)
        server->first[server->first_count++] = live->request;
    else if (!progress->resumed)
        server->continued++;
    if (tokens > 1)
        error = account_sample(&server->gaps, 0, tokens - 1);
    progress->alone = false;
    progress->decoded += tokens;
    server->out->tokens += (uint64_t)tokens * width;
    live->tokens += tokens;
    live->extended = 0;
    live->chosen = false;
    server->live_tokens += (uint64_t)tokens * width;
    server->read_tokens += (uint64_t)live->tokens * width;
    return error;
}

// One step of one request. 0, also when it was thrown out.
static int decode(struct server *server, uint32_t at)
{
    int error;
    while ((error = make_room(server, &server->live[at])) == -EAGAIN) {
        struct progress *progress = &server->progress[server->live[at].request];
        bool by_itself = alone(server),
             never = by_itself && (progress->alone || request_of(server, server->live[at].request)->width > 1);
        error = preempt(server, victim_of(server));
        progress->alone = by_itself; // where it lay may have been in its own way: it may try once more, in an empty region
        if (!error && never)
            error = refuse_alone(server, server->live[at].request);
        if (error || server->live[at].gone)
            return error;
    }
    struct live *live = &server->live[at];
    const struct tb_request *wanted = request_of(server, live->request);
    uint32_t tokens = error ? 0 : decoded_now(server, live);
    for (uint32_t b = 0; b < wanted->width && !error && tokens < 1u + wanted->drafts; b++)
        error = server_cut(server, live->slot[b], live->tokens + tokens);
    return error ? error : count_tokens(server, live, tokens);
}

static int decode_all(struct server *server)
{
    uint32_t budget = server->config->clock.prompt_tokens;
    int error = 0;
    for (uint32_t i = 0; i < server->live_count && !error; i++) {
        struct live *live = &server->live[i];
        uint32_t now = budget == 0 || live->prompt_left < budget - server->prompt_tokens ? live->prompt_left
                                                                                         : budget - (uint32_t)server->prompt_tokens;
        if (live->gone)
            continue;
        live->prompt_left -= now;
        server->prompt_tokens += budget ? now : 0;
        server->out->prompt_tokens += now;
        if (live->prompt_left == 0)
            error = decode(server, i);
    }
    return error;
}

// The tokens of who was thrown out were taken off then.
static int leave_all(struct server *server)
{
    uint32_t kept = 0;
    int error = 0;
    for (uint32_t i = 0; i < server->live_count && !error; i++) {
        struct live *live = &server->live[i];
        const struct tb_request *wanted = request_of(server, live->request);
        bool done = !live->gone && server->progress[live->request].decoded == wanted->output_tokens;
        if (done) {
            error = release_beams(server, live, wanted->width);
            server->out->requests++;
            server->live_tokens -= (uint64_t)live->tokens * wanted->width;
            server->sequences -= wanted->width;
        }
        if (!done && !live->gone)
            server->live[kept++] = *live;
    }
    server->live_count = kept;
    return error;
}

// --- the clock -----------------------------------------------------------------------------------------------------------------

#define FS_PER_NS 1000000u

static uint64_t step_ns(const struct server *server)
{
    const struct tb_clock *clock = &server->config->clock;
    uint64_t moved = server->kv.moved - server->moved_before; // each is read and written
    uint64_t bytes = (server->read_tokens + server->swapped_tokens + 2 * moved) * server->config->token_bytes;
    uint64_t read_ns = bytes / FS_PER_NS * clock->read_fs + bytes % FS_PER_NS * clock->read_fs / FS_PER_NS; // without overflow
    return clock->step_ns + read_ns + clock->prompt_ns * server->prompt_tokens;
}

static int step(struct server *server)
{
    bool waiting;
    server->read_tokens = server->prompt_tokens = server->swapped_tokens = server->continued = 0;
    server->first_count = 0;
    server->moved_before = server->kv.moved;
    int error = admit_all(server, &waiting);
    if (!error && server->live_count == 0) { // also when all that had arrived were refused
        if (server->next < server->scenario->count && arrival_ns(server, (uint32_t)server->next) > server->now_ns)
            server->now_ns = arrival_ns(server, (uint32_t)server->next);
        return 0;
    }
    if (!error)
        error = decode_all(server);
    if (!error)
        error = account_step(server, step_ns(server), waiting);
    return error ? error : leave_all(server);
}

static int serve(struct server *server)
{
    int error = server->config->random ? serve_at_random(server) : 0;
    while (!error && !server->config->random &&
           (server->live_count || server->thrown_count || server->next < server->scenario->count))
        error = step(server);
    if (error || server->config->tags)
        return error ? error : tb_check_end(&server->check);
    return server->config->strategy->ops->audit(server->state, server->why->text, sizeof server->why->text);
}

int tb_serve(const struct tb_serving_config *config, struct tb_served *out, struct tb_why *why)
{
    struct server server = {.config = config, .scenario = config->scenario, .out = out, .why = why};
    *out = (struct tb_served){0};
    why->text[0] = '\0';
    int error = server_open(&server);
    if (!error)
        error = serve(&server);
    if (!error)
        account_end(&server);
    server_close(&server);
    return error;
}

int tb_serving_capacity(const struct tb_serving_config *given, double *requests_per_s, struct tb_why *why)
{
    struct tb_serving_config config = *given;
    struct tb_served served;
    config.strategy = tb_strategy_find("paged-full");
    config.block_tokens = 16;
    config.speedup = INFINITY;
    config.tags = config.swap = false;
    config.calls = NULL;
    int error = tb_serve(&config, &served, why);
    if (!error && (served.backlog_ns == 0 || served.backlog_requests == 0))
        return -ERANGE;
    if (!error)
        *requests_per_s = (double)served.backlog_requests * 1e9 / (double)served.backlog_ns;
    return error;
}
