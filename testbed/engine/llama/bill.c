// SPDX-License-Identifier: Apache-2.0
//
// bill: see bill.h.
//
// A callback is asked about an operation before the next one is known, and only the last of a run is to be asked for. So one step,
// which is computed in one go and then forgotten, tells the order of parts; it is the same in all steps.

#include "testbed/engine/llama/bill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"

const char *const tb_llama_part_names[TB_LLAMA_PARTS] = {"weights", "kv read", "kv written", "rest", "engine"};

#define OPERATIONS_MAX 65536u

struct watcher {
    uint8_t part[OPERATIONS_MAX]; // of each operation of a step, in order
    uint32_t count, at;
    bool known;                 // the order of parts
    uint64_t last_ns;
    uint64_t part_ns[TB_LLAMA_PARTS];
};

static bool in_cache(const struct ggml_tensor *tensor)
{
    while (tensor->view_src)
        tensor = tensor->view_src;
    return strncmp(tensor->name, "cache_", 6) == 0;
}

static bool is_weight(const struct ggml_tensor *tensor)
{
    ggml_backend_buffer_t buffer = tensor->view_src ? tensor->view_src->buffer : tensor->buffer;
    return buffer && ggml_backend_buffer_get_usage(buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
}

// Operations that only name memory belong to what was before them.
static uint8_t part_of(const struct ggml_tensor *tensor, uint8_t before)
{
    if (tensor->op == GGML_OP_NONE || tensor->op == GGML_OP_VIEW || tensor->op == GGML_OP_RESHAPE ||
        tensor->op == GGML_OP_PERMUTE || tensor->op == GGML_OP_TRANSPOSE)
        return before;
    if (in_cache(tensor))
        return TB_LLAMA_PART_KV_WRITTEN;
    for (int i = 0; i < GGML_MAX_SRC && tensor->src[i]; i++)
        if (in_cache(tensor->src[i]))
            return TB_LLAMA_PART_KV_READ;
    bool reads = tensor->op == GGML_OP_MUL_MAT || tensor->op == GGML_OP_MUL_MAT_ID || tensor->op == GGML_OP_GET_ROWS;
    return reads && tensor->src[0] && is_weight(tensor->src[0]) ? TB_LLAMA_PART_WEIGHTS : TB_LLAMA_PART_REST;
}

// With `ask`: does the watcher want to be told when this operation is done? Without: it is.
static bool told(struct ggml_tensor *tensor, bool ask, void *context)
{
    struct watcher *watcher = context;
    uint32_t i = watcher->at;
    if (!ask) {
        uint64_t ns = tb_llama_now_ns();
        watcher->part_ns[watcher->part[i - 1]] += ns - watcher->last_ns;
        watcher->last_ns = ns;
        return true;
    }
    watcher->at++;
    if (i == 0)
        watcher->last_ns = tb_llama_now_ns();
    if (!watcher->known && i < OPERATIONS_MAX)
        watcher->part[i] = part_of(tensor, i ? watcher->part[i - 1] : TB_LLAMA_PART_REST);
    return watcher->known && (i + 1 >= watcher->count || watcher->part[i + 1] != watcher->part[i]);
}

static int failed(int err, const char *where, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "no bill: llama_decode said %d in %s", err, where);
    return -1;
}

// The first step, in one piece. It is forgotten again.
static int learn(struct tb_llama *llama, struct watcher *watcher, char *why, size_t why_bytes)
{
    uint64_t ns;
    watcher->at = 0;
    int err = tb_llama_step(llama, 0, &ns);
    if (err)
        return failed(err, "its first step", why, why_bytes);
    watcher->count = watcher->at;
    watcher->known = watcher->count > 0 && watcher->count <= OPERATIONS_MAX;
    if (!watcher->known)
        snprintf(why, why_bytes, "no bill: the engine told of %u operations, and 1 to %u can be told apart", watcher->count,
                 OPERATIONS_MAX);
    else if (!tb_llama_back(llama))
        snprintf(why, why_bytes, "no bill: this model's cache cannot forget a single step");
    else
        return 0;
    return -1;
}

static int take_steps(struct tb_llama *llama, struct watcher *watcher, uint32_t steps, uint32_t warmup, struct tb_llama_bill *bill,
                      char *why, size_t why_bytes)
{
    uint64_t all_ns = 0;
    for (uint32_t step = 0; step < steps; step++) {
        uint64_t ns;
        watcher->at = 0;
        if (step == warmup)
            memset(watcher->part_ns, 0, sizeof(watcher->part_ns));
        int err = tb_llama_step(llama, step, &ns);
        if (err)
            return failed(err, "a step", why, why_bytes);
        if (watcher->at != watcher->count) {
            snprintf(why, why_bytes, "no bill: step %u has %u operations, and the first had %u", step, watcher->at, watcher->count);
            return -1;
        }
        if (step < warmup)
            continue;
        bill->step_ns[step - warmup] = ns;
        all_ns += ns;
    }
    memcpy(bill->part_ns, watcher->part_ns, sizeof(bill->part_ns));
    for (unsigned part = 0; part < TB_LLAMA_PART_ENGINE; part++)
        all_ns -= bill->part_ns[part];
    bill->part_ns[TB_LLAMA_PART_ENGINE] = all_ns;
    return 0;
}

int tb_llama_bill(struct tb_llama *llama, uint32_t steps, uint32_t warmup, struct tb_llama_bill *bill, char *why, size_t why_bytes)
{
    struct watcher *watcher = calloc(1, sizeof(*watcher));
    int err = watcher ? tb_llama_reopen(llama, told, watcher, why, why_bytes) : -1;
    int said = err ? 0 : tb_llama_prompt(llama);
    if (said)
        err = failed(said, "the prompt", why, why_bytes);
    if (!err)
        err = learn(llama, watcher, why, why_bytes);
    if (!err)
        err = take_steps(llama, watcher, steps, warmup, bill, why, why_bytes);
    free(watcher);
    return err;
}
