// SPDX-License-Identifier: Apache-2.0
//
// swap: what a victim leaves in a tier, and gets back when it is admitted again.
//
// A request is one object: for each token of each of its beams 8 bytes, its tag, which stands for its contents (kv.h). Without tags
// they are zeros, so that both passes store, load and refuse the same. What is counted are the bytes of KV.
//
// A tier of our own refuses nobody. Nobody overtakes who was thrown out, so all whose objects it has at a time were live when the
// first of them was thrown out, and then the tier is empty: it is made anew if these could outgrow it.

#include <errno.h>
#include <stdlib.h>

#include "locus/tier.h"
#include "testbed/serving/serving_internal.h"

#define UNIT_BYTES 4096u
#define WAIT_NS 1000000000u

static uint64_t bytes_of(const struct server *server, uint32_t request, uint32_t tokens)
{
    return (uint64_t)tokens * server->scenario->requests[request].width * sizeof(uint64_t);
}

static int room_for_all(struct server *server)
{
    uint64_t units = 0;
    if (server->config->swap_tier || server->thrown_count)
        return 0;
    for (uint32_t i = 0; i < server->live_count; i++) {
        uint32_t request = server->live[i].request;
        units += (bytes_of(server, request, most_of(&server->scenario->requests[request])) + UNIT_BYTES - 1) / UNIT_BYTES;
    }
    if (units <= server->tier_units)
        return 0;
    const struct locus_tier_far_config config = {.size = sizeof config,
                                                 .bytes = units * UNIT_BYTES,
                                                 .unit_bytes = UNIT_BYTES,
                                                 .node = LOCUS_NODE_ANY};
    locus_tier_close(server->tier);
    server->tier_units = units;
    return locus_tier_far_open(&server->tier, &config);
}

// --- operations of the tier ----------------------------------------------------------------------------------------------------

struct wait {
    struct locus_tier_op op;    // first
    bool done;
    int result;
};

static void done(struct locus_tier_op *op, int result)
{
    struct wait *wait = (struct wait *)op;
    wait->done = true;
    wait->result = result;
}

static int outcome(const struct server *server, const struct wait *wait, int error)
{
    while (!error && !wait->done)
        locus_tier_poll(server->tier, WAIT_NS);
    return error ? error : wait->result;
}

static int drop(struct server *server, uint32_t request)
{
    struct wait wait = {.op.done = done};
    return outcome(server, &wait, locus_tier_drop(server->tier, locus_id_of(request), &wait.op));
}

// --- contents ------------------------------------------------------------------------------------------------------------------

enum way { OUT, IN };

// The beams one after the other, from their places or to them.
static void tags_move(struct server *server, const struct live *live, uint64_t *tags, enum way way)
{
    const struct tb_kv *kv = &server->kv;
    for (uint32_t b = 0; b < server->scenario->requests[live->request].width; b++)
        for (uint32_t at = 0, run; at < live->tokens; at += run) {
            char *address = server->config->strategy->ops->at(server->state, live->slot[b], at, &run);
            run = run < live->tokens - at ? run : live->tokens - at;
            for (uint32_t i = 0; i < run; i++, tags++, address += kv->token_bytes) {
                uint64_t *place = tb_kv_tag(kv, address);
                *(way == OUT ? tags : place) = *(way == OUT ? place : tags);
            }
        }
}

static void contents_free(struct progress *progress)
{
    for (uint32_t b = 0; b < TB_WIDTH_MAX; b++) {
        free(progress->contents[b]);
        progress->contents[b] = NULL;
    }
}

static int contents_note(struct server *server, const struct live *live)
{
    struct progress *progress = &server->progress[live->request];
    int error = 0;
    for (uint32_t b = 0; b < server->scenario->requests[live->request].width && !error; b++) {
        progress->contents[b] = tb_check_contents(&server->check, live->slot[b], live->tokens);
        error = progress->contents[b] ? 0 : -ENOMEM;
    }
    return error;
}

static int contents_compare(struct server *server, const struct live *live)
{
    struct progress *progress = &server->progress[live->request];
    int error = 0;
    for (uint32_t b = 0; b < server->scenario->requests[live->request].width && !error; b++)
        error = tb_check_returned(&server->check, live->slot[b], progress->contents[b]);
    return error;
}

// --- out and in ----------------------------------------------------------------------------------------------------------------

int swap_out(struct server *server, const struct live *live, bool *stored)
{
    int error = room_for_all(server);
    *stored = false;
    if (error || live->prompt_left)
        return error;
    uint64_t bytes = bytes_of(server, live->request, live->tokens), *tags = calloc(1, bytes);
    struct wait wait = {.op.done = done};
    struct locus_id key = locus_id_of(live->request);
    error = tags ? 0 : -ENOMEM;
    if (!error && server->config->tags) {
        tags_move(server, live, tags, OUT);
        error = contents_note(server, live);
    }
    *stored = !error && outcome(server, &wait, locus_tier_store(server->tier, key, tags, bytes, &wait.op)) == 0;
    if (*stored)
        server->out->tier_stored_bytes += bytes / sizeof *tags * server->kv.token_bytes;
    else
        contents_free(&server->progress[live->request]);
    free(tags);
    return error;
}

int swap_in(struct server *server, const struct live *live, bool *loaded)
{
    uint64_t bytes = bytes_of(server, live->request, live->tokens), *tags = malloc(bytes);
    struct wait wait = {.op.done = done};
    struct locus_id key = locus_id_of(live->request);
    int error = tags ? 0 : -ENOMEM;
    *loaded = !error && outcome(server, &wait, locus_tier_load(server->tier, key, tags, bytes, &wait.op)) == 0;
    if (*loaded)
        server->out->tier_loaded_bytes += bytes / sizeof *tags * server->kv.token_bytes;
    if (*loaded && server->config->tags) {
        tags_move(server, live, tags, IN);
        error = contents_compare(server, live);
    }
    swap_forget(server, live->request);
    free(tags);
    return error;
}

void swap_forget(struct server *server, uint32_t request)
{
    struct progress *progress = &server->progress[request];
    if (progress->swapped)
        drop(server, request); // if it fails, it is there at the end, and counted
    progress->swapped = false;
    contents_free(progress);
}

uint64_t swap_left(const struct server *server)
{
    struct locus_tier_stats stats = {0};
    if (server->tier)
        locus_tier_stats(server->tier, &stats);
    return stats.objects;
}

void swap_close(struct server *server)
{
    for (size_t i = 0; server->progress && i < server->scenario->count; i++)
        contents_free(&server->progress[i]);
    if (!server->config->swap_tier)
        locus_tier_close(server->tier);
}
