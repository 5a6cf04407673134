// SPDX-License-Identifier: Apache-2.0
//
// batches: see batches.h.
//
// The model keeps the queues itself as well (struct adapter): what a batcher may take is known without asking it.

#include "testbed/serving/adapters/batches.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/pending.h"
#include "testbed/workload/adapters/popularity.h"

#define FIELD(type, member, unit, ratio, what) TB_SLOT(struct tb_batched, type, member, unit, what),
const struct tb_slot tb_batched_fields[] = {TB_BATCHED_FIELDS(FIELD) TB_SLOT_END};
#undef FIELD

struct adapter {
    uint32_t served_before;     // the batch after the last one that had a request of it
    uint32_t in_batch;          // the last batch that had one, plus 1
    bool starved;
};

struct model {
    const struct tb_adapter_settings *settings;
    const struct tb_batcher *batcher;
    struct tb_batched *out;
    struct tb_batch_wait *waits;
    struct tb_why *why;
    void *state;                // the batcher's
    struct tb_adapter_use *uses;
    uint32_t count, arrived;
    uint32_t *from;             // of a request: the first batch that it may be in
    bool *starved;              // of a request
    struct adapter *adapters;
    struct tb_pending pending;
    uint32_t *batch;
    uint32_t batches;
    uint64_t *histogram;        // [TB_POPULAR_CLASSES][batches + 1]: requests by their wait
    uint64_t slots_used, adapters_used;
};

static int broken(struct model *model, uint32_t batch, const char *what)
{
    tb_why_set(model->why, model->batcher->name, 0, "batch %u: %s", batch, what);
    return -EBADMSG;
}

// --- waiting -------------------------------------------------------------------------------------------------------------------

static void waited(struct model *model, uint32_t request, uint32_t wait)
{
    enum tb_popular popular = tb_popular_class(model->uses[request].adapter);
    model->histogram[(size_t)popular * (model->batches + 1) + wait]++;
}

// The adapter got nothing in the batches up to `end`, which gave it one or is behind the last. Its requests that waited in more of
// them than anybody has to are the first ones of its queue.
static void passed_over(struct model *model, uint32_t at, uint32_t end)
{
    struct adapter *adapter = &model->adapters[at];
    const struct tb_pending_queue *queue = &model->pending.queue[at];
    uint32_t request = queue->first;
    for (uint32_t n = 0; n < queue->count; n++, request = model->pending.next[request]) {
        uint32_t from = model->from[request] > adapter->served_before ? model->from[request] : adapter->served_before;
        if (from > end)
            break;
        if (end - from > model->out->passed_over_max)
            model->out->passed_over_max = end - from;
        if (end - from <= model->out->starved_beyond)
            break;
        model->out->starved += !model->starved[request];
        model->starved[request] = true;
        model->out->starved_adapters += !adapter->starved;
        adapter->starved = true;
    }
}

static void arrive(struct model *model, uint32_t batch)
{
    for (; model->arrived < model->count && model->from[model->arrived] <= batch; model->arrived++) {
        uint32_t request = model->arrived, adapter = model->uses[request].adapter;
        if (model->waits)
            model->waits[request] =
                (struct tb_batch_wait){TB_BATCH_UNSERVED, model->pending.waiting, model->pending.queue[adapter].count};
        tb_pending_add(&model->pending, request, adapter);
        model->batcher->add(model->state, request, adapter);
    }
}

static int take(struct model *model, uint32_t request, uint32_t batch)
{
    if (request >= model->arrived)
        return broken(model, batch, "it has a request that has not arrived");
    uint32_t at = model->uses[request].adapter;
    struct adapter *adapter = &model->adapters[at];
    if (model->pending.queue[at].count == 0 || model->pending.queue[at].first != request)
        return broken(model, batch, "it has a request twice, or not in its adapter's order of arrival");
    if (adapter->in_batch != batch + 1) {
        passed_over(model, at, batch);
        adapter->in_batch = batch + 1;
        model->adapters_used++;
    }
    adapter->served_before = batch + 1;
    tb_pending_take(&model->pending, at);
    waited(model, request, batch - model->from[request]);
    if (model->waits)
        model->waits[request].wait = batch - model->from[request];
    return 0;
}

static int form(struct model *model, uint32_t batch)
{
    uint32_t most = model->pending.waiting < model->settings->batch ? model->pending.waiting : model->settings->batch;
    uint32_t count = model->batcher->form(model->state, model->batch);
    int error = count == most ? 0 : broken(model, batch, "it has not as many requests as wait or fit");
    for (uint32_t i = 0; i < count && !error; i++)
        error = take(model, model->batch[i], batch);
    model->slots_used += count;
    return error;
}

// --- figures -------------------------------------------------------------------------------------------------------------------

static void unserved(struct model *model)
{
    for (uint32_t adapter = 0; adapter < model->settings->adapters; adapter++) {
        const struct tb_pending_queue *queue = &model->pending.queue[adapter];
        passed_over(model, adapter, model->batches);
        for (uint32_t n = 0, request = queue->first; n < queue->count; n++, request = model->pending.next[request])
            waited(model, request, model->batches - model->from[request]);
    }
}

// Of the classes `first` to `last`.
static void percentiles(const struct model *model, int first, int last, uint64_t *p50, uint64_t *p99, uint64_t *most)
{
    uint64_t total = 0, seen = 0;
    for (int popular = first; popular <= last; popular++)
        for (uint32_t wait = 0; wait <= model->batches; wait++)
            total += model->histogram[(size_t)popular * (model->batches + 1) + wait];
    for (uint32_t wait = 0; wait <= model->batches && seen < total; wait++) {
        uint64_t before = seen;
        for (int popular = first; popular <= last; popular++)
            seen += model->histogram[(size_t)popular * (model->batches + 1) + wait];
        if (2 * before < total && 2 * seen >= total)
            *p50 = wait;
        if (100 * before < 99 * total && 100 * seen >= 99 * total)
            *p99 = wait;
        *most = seen > before ? wait : *most;
    }
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void figures(struct model *model)
{
    struct tb_batched *out = model->out;
    uint64_t rest = 0, rest_starved = 0, rest_unserved = 0;
    unserved(model);
    for (uint32_t i = 0; i < model->count; i++)
        if (tb_popular_class(model->uses[i].adapter) == TB_POPULAR_REST) {
            rest++;
            rest_starved += model->starved[i];
        }
    for (uint32_t adapter = 0; adapter < model->settings->adapters; adapter++)
        if (tb_popular_class(adapter) == TB_POPULAR_REST)
            rest_unserved += model->pending.queue[adapter].count;
    out->batches = model->batches;
    out->unserved = model->pending.waiting;
    out->batched = model->count - out->unserved;
    out->starved_ratio = share(out->starved, model->count);
    out->starved_rest_ratio = share(rest_starved, rest);
    out->unserved_rest_ratio = share(rest_unserved, rest);
    out->batch_fill = share(model->slots_used, (uint64_t)model->batches * model->settings->batch);
    out->adapters_per_batch = share(model->adapters_used, model->batches);
    percentiles(model, TB_POPULAR_TOP10, TB_POPULAR_REST, &out->wait_p50, &out->wait_p99, &out->wait_max);
    percentiles(model, TB_POPULAR_TOP10, TB_POPULAR_TOP10, &out->wait_top10_p50, &out->wait_top10_p99, &out->wait_top10_max);
    percentiles(model, TB_POPULAR_TOP100, TB_POPULAR_TOP100, &out->wait_top100_p50, &out->wait_top100_p99, &out->wait_top100_max);
    percentiles(model, TB_POPULAR_REST, TB_POPULAR_REST, &out->wait_rest_p50, &out->wait_rest_p99, &out->wait_rest_max);
}

// --- a run ---------------------------------------------------------------------------------------------------------------------

// Batch b begins at b T: ceil(arrival / T) is the first that a request may be in. T = span / count * slots * load, with the mean
// gap behind the last arrival: at load100 just as many arrive as batches can take.
static void begin_times(struct model *model)
{
    double gap_ns = (double)model->uses[model->count - 1].arrival_ns / (double)(model->count - 1);
    double batch_ns = gap_ns * model->settings->batch;
    batch_ns *= model->settings->load_percent;
    batch_ns /= 100;
    for (uint32_t i = 0; i < model->count; i++) {
        double at = (double)model->uses[i].arrival_ns / batch_ns;
        model->from[i] = (uint32_t)at + (at > (double)(uint32_t)at);
    }
    model->batches = model->from[model->count - 1] + 1;
}

static int model_open(struct model *model, const struct tb_scenario *scenario)
{
    const struct tb_adapter_settings *settings = model->settings;
    int error = tb_adapter_uses(scenario, settings, &model->uses, &model->count);
    if (error)
        return error;
    model->from = malloc(model->count * sizeof *model->from);
    model->starved = calloc(model->count, sizeof *model->starved);
    model->adapters = calloc(settings->adapters, sizeof *model->adapters);
    model->batch = malloc(settings->batch * sizeof *model->batch);
    error = tb_pending_open(&model->pending, settings->adapters, model->count);
    if (error || !model->from || !model->starved || !model->adapters || !model->batch)
        return -ENOMEM;
    begin_times(model);
    model->histogram = calloc(TB_POPULAR_CLASSES * ((size_t)model->batches + 1), sizeof *model->histogram);
    return model->histogram ? model->batcher->open(&model->state, settings->adapters, model->count, settings->batch) : -ENOMEM;
}

static void model_close(struct model *model)
{
    if (model->state)
        model->batcher->close(model->state);
    tb_pending_close(&model->pending);
    free(model->uses);
    free(model->from);
    free(model->starved);
    free(model->adapters);
    free(model->batch);
    free(model->histogram);
}

int tb_batches(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, const struct tb_batcher *batcher,
               struct tb_batched *out, struct tb_batch_wait waits[], struct tb_why *why)
{
    struct model model = {.settings = settings, .batcher = batcher, .out = out, .waits = waits, .why = why};
    *out = (struct tb_batched){.starved_beyond = (settings->adapters - 1) / settings->batch};
    int error = model_open(&model, scenario);
    for (uint32_t batch = 0; batch < model.batches && !error; batch++) {
        arrive(&model, batch);
        error = form(&model, batch);
    }
    if (!error)
        figures(&model);
    model_close(&model);
    return error;
}
