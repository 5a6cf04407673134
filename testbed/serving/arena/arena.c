// SPDX-License-Identifier: Apache-2.0
//
// arena: see arena.h.
//
// What the model knows of a range is its handle alone. Whether it is still there, a pin says: its generation has ended when it has
// left.

#include "testbed/serving/arena/arena.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "locus/pages.h"
#include "locus/pages_report.h"
#include "testbed/serving/arena/events.h"
#include "testbed/serving/arena/turns.h"
#include "testbed/stats/latency.h"
#include "testbed/stats/random.h"
#include "testbed/workload/adapters/popularity.h"

#define FIELD(type, member, unit, ratio, what) TB_SLOT(struct tb_arena, type, member, unit, what),
const struct tb_slot tb_arena_fields[] = {TB_ARENA_FIELDS(FIELD) TB_SLOT_END};
#undef FIELD

#define ADDRESS_BYTES (UINT64_C(512) << 10) // of a page, the least there is: hosts refuse more address space than they have memory

enum { EVENT_PROMPT_DONE, EVENT_DONE, EVENT_SCRATCH, EVENT_SCRATCH_DONE };

struct adapter {
    locus_range range;
    uint64_t left_ns;           // when it left last, plus 1; 0: it never did
    bool was_there;
};

struct run {                    // of a request
    locus_range kv, activation;
    uint64_t left_ns;           // of the conversation that began with it, as in struct adapter
};

struct times {                  // of the arena's calls
    uint64_t clock_ns;          // what reading the clock costs
    uint64_t left;              // ranges that left so far
    struct tb_latency room, evict, pin, unpin;
};

struct model {
    const struct tb_scenario *scenario;
    const struct tb_arena_settings *settings;
    struct tb_arena *out;
    struct locus_pages *pages;
    struct tb_turn *turns;
    uint32_t *drawn;            // the adapter of each request
    struct adapter *adapters;
    struct run *runs;
    struct tb_events events;
    double time_scale;          // of arrivals
    uint64_t now_ns, end_ns, random;
    bool full;
    double time, full_time, used, used_full, pinned, stretch, stretch_good, above_95; // time-weighted sums
    uint64_t kv_found, kv_asked, adapters_found; // tokens, tokens, uses
    uint64_t bytes_found, bytes_asked;
    double back_ns;
    struct times times;
};

// --- time ----------------------------------------------------------------------------------------------------------------------

// As it has been since the event before.
static void weigh(struct model *model, uint64_t until_ns)
{
    struct locus_pages_stats stats;
    struct tb_arena *out = model->out;
    until_ns = until_ns < model->end_ns ? until_ns : model->end_ns;
    if (until_ns <= model->now_ns)
        return;
    locus_pages_stats(model->pages, &stats);
    double ns = (double)(until_ns - model->now_ns), pages = stats.pages, used = (stats.pages - stats.pages_free) / pages;
    double stretch = stats.pages_free ? (double)stats.pages_largest / stats.pages_free : 1;
    model->time += ns;
    model->used += ns * used;
    model->pinned += ns * stats.pages_pinned / pages;
    if (!model->full)
        return;
    model->full_time += ns;
    model->used_full += ns * used;
    model->above_95 += used > 0.95 ? ns : 0;
    model->stretch += ns * stretch;
    model->stretch_good += stretch > 0.8 ? ns : 0;
    out->used_full_least = fmin(out->used_full_least, used);
    out->stretch_least = fmin(out->stretch_least, stretch);
}

static void advance(struct model *model, uint64_t now_ns)
{
    weigh(model, now_ns);
    model->now_ns = now_ns;
    locus_pages_set_time(model->pages, now_ns);
}

// --- the arena's calls, timed ---------------------------------------------------------------------------------------------------

// What evicts in the calls of one thread is an allocation: the watermarks act in it as well.
static int timed_allocate(struct model *model, const struct locus_pages_request *ask, locus_range *out)
{
    struct times *times = &model->times;
    uint64_t left = times->left, begin_ns = tb_latency_now_ns();
    int error = locus_pages_alloc(model->pages, NULL, ask, out);
    uint64_t took_ns = tb_latency_now_ns() - begin_ns;
    tb_latency_add(&times->room, took_ns, times->clock_ns);
    if (times->left != left)
        tb_latency_add(&times->evict, took_ns, times->clock_ns);
    return error;
}

static int timed_pin(struct model *model, locus_range range)
{
    uint64_t begin_ns = tb_latency_now_ns();
    int error = locus_pages_pin(model->pages, range);
    tb_latency_add(&model->times.pin, tb_latency_now_ns() - begin_ns, model->times.clock_ns);
    return error;
}

static void timed_unpin(struct model *model, locus_range range)
{
    uint64_t begin_ns = tb_latency_now_ns();
    locus_pages_unpin(model->pages, range);
    tb_latency_add(&model->times.unpin, tb_latency_now_ns() - begin_ns, model->times.clock_ns);
}

// --- ranges --------------------------------------------------------------------------------------------------------------------

static int leave(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    struct model *model = context;
    (void)range, (void)memory, (void)bytes;
    model->full = true;
    model->times.left++;
    if (kind == LOCUS_PAGES_ADAPTER)
        model->adapters[owner].left_ns = model->now_ns + 1;
    if (kind == LOCUS_PAGES_KV)
        model->runs[owner].left_ns = model->now_ns + 1;
    return 0;
}

static bool thrashed(const struct model *model, uint64_t left_ns)
{
    return left_ns && model->now_ns - (left_ns - 1) <= TB_ARENA_THRASH_NS;
}

static int take(struct model *model, struct locus_pages_request ask, locus_range *out)
{
    int error = timed_allocate(model, &ask, out);
    model->out->failed_ranges += error != 0;
    return error;
}

static void give(struct model *model, locus_range range)
{
    timed_unpin(model, range);
    locus_pages_free(model->pages, NULL, range);
}

// Pinned. *found: it was there.
static int adapter_take(struct model *model, uint32_t number, bool *found)
{
    struct adapter *adapter = &model->adapters[number];
    uint64_t bytes = tb_arena_adapter_bytes(model->settings, number);
    *found = adapter->was_there && timed_pin(model, adapter->range) == 0;
    if (*found)
        return 0;
    return take(model,
                (struct locus_pages_request){.kind = LOCUS_PAGES_ADAPTER,
                                             .pages = tb_arena_pages_of(bytes),
                                             .owner = number,
                                             .cost_ns = bytes / TB_ARENA_LOAD_BYTES_PER_NS},
                &adapter->range);
}

static int kv_take(struct model *model, uint32_t request, locus_range *out)
{
    const struct tb_request *from = &model->scenario->requests[request];
    uint64_t tokens = (uint64_t)from->prompt_tokens + from->output_tokens;
    return take(model,
                (struct locus_pages_request){.kind = LOCUS_PAGES_KV,
                                             .pages = tb_arena_kv_pages(model->settings, tokens),
                                             .owner = model->turns[request].conversation,
                                             .cost_ns = tokens * TB_ARENA_PROMPT_NS},
                out);
}

static int activation_take(struct model *model, uint32_t request, locus_range *out)
{
    const struct tb_shape *shape = tb_arena_shape(model->settings);
    uint64_t tokens = model->scenario->requests[request].prompt_tokens, vector = 2 * shape->heads * shape->head_dim;
    tokens = tokens < TB_ARENA_PART_TOKENS ? tokens : TB_ARENA_PART_TOKENS;
    uint64_t bytes = tokens * TB_ARENA_PART_VECTORS * vector;
    return take(model,
                (struct locus_pages_request){.kind = LOCUS_PAGES_ACTIVATION, .pages = tb_arena_pages_of(bytes), .owner = request},
                out);
}

// --- a request -----------------------------------------------------------------------------------------------------------------

static void adapter_account(struct model *model, uint32_t number, bool found)
{
    struct adapter *adapter = &model->adapters[number];
    struct tb_arena *out = model->out;
    uint64_t bytes = tb_arena_adapter_bytes(model->settings, number);
    bool again = adapter->was_there && !found;
    model->adapters_found += found;
    model->bytes_asked += adapter->was_there ? bytes : 0;
    model->bytes_found += found ? bytes : 0;
    model->back_ns += again ? (double)(bytes / TB_ARENA_LOAD_BYTES_PER_NS) : 0;
    out->adapter_reloaded_bytes += again ? bytes : 0;
    out->both_reloaded_pages += again ? tb_arena_pages_of(bytes) : 0;
    out->adapter_thrash += again && thrashed(model, adapter->left_ns);
    adapter->was_there = true;
}

static void kv_account(struct model *model, const struct tb_turn *turn, bool found)
{
    struct tb_arena *out = model->out;
    uint64_t bytes = turn->tokens * tb_shape_token_bytes(tb_arena_shape(model->settings));
    if (turn->before == TB_TURN_NONE || model->runs[turn->before].kv == LOCUS_RANGE_NONE) // that one was dropped
        return;
    out->turns++;
    out->turns_found += found;
    model->kv_asked += turn->tokens;
    model->kv_found += found ? turn->tokens : 0;
    model->bytes_asked += bytes;
    model->bytes_found += found ? bytes : 0;
    out->copied_bytes += found ? bytes : 0;
    if (found)
        return;
    model->back_ns += (double)(turn->tokens * TB_ARENA_PROMPT_NS);
    out->kv_reloaded_bytes += bytes;
    out->both_reloaded_pages += tb_arena_pages_of(bytes);
    out->kv_thrash += thrashed(model, model->runs[turn->conversation].left_ns);
}

// The ranges of a request, each pinned once, or none. *dropped: there is no room.
static int ranges_take(struct model *model, uint32_t request, bool *dropped)
{
    struct run *run = &model->runs[request];
    const struct tb_turn *turn = &model->turns[request];
    locus_range before = turn->before == TB_TURN_NONE ? LOCUS_RANGE_NONE : model->runs[turn->before].kv;
    uint32_t adapter = model->drawn[request];
    bool adapters = !model->settings->no_adapters, adapter_found = false, adapter_held = false;
    bool found = before != LOCUS_RANGE_NONE && timed_pin(model, before) == 0;
    int error = adapters ? adapter_take(model, adapter, &adapter_found) : 0;
    adapter_held = adapters && !error;
    if (!error)
        error = kv_take(model, request, &run->kv);
    if (!error && !model->settings->no_scratch)
        error = activation_take(model, request, &run->activation);
    model->out->too_large += error == -EINVAL;
    *dropped = error == -ENOMEM || error == -EINVAL;
    if (!error) {
        if (adapters)
            adapter_account(model, adapter, adapter_found);
        kv_account(model, turn, found);
    } else {
        if (run->kv != LOCUS_RANGE_NONE)
            give(model, run->kv);
        run->kv = LOCUS_RANGE_NONE;
        if (adapter_found)
            timed_unpin(model, model->adapters[adapter].range);
        else if (adapter_held)
            give(model, model->adapters[adapter].range);
    }
    if (found && !error)
        give(model, before);
    else if (found)
        timed_unpin(model, before);
    return *dropped ? 0 : error;
}

static int arrive(struct model *model, uint32_t request)
{
    const struct tb_request *from = &model->scenario->requests[request];
    uint64_t prompt_ns = model->now_ns + from->prompt_tokens * TB_ARENA_PROMPT_NS;
    bool dropped;
    int error = ranges_take(model, request, &dropped);
    model->out->turned_away += dropped;
    if (error || dropped)
        return error;
    model->out->admitted++;
    error = tb_events_add(&model->events, (struct tb_event){.at_ns = prompt_ns, .what = EVENT_PROMPT_DONE, .of = request});
    if (!error)
        error = tb_events_add(&model->events, (struct tb_event){.at_ns = prompt_ns + from->output_tokens * TB_ARENA_OUTPUT_NS,
                                                                .what = EVENT_DONE,
                                                                .of = request});
    return error;
}

// A range that its next turn has found and freed goes with this pin.
static void done(struct model *model, uint32_t request)
{
    struct run *run = &model->runs[request];
    if (!model->settings->no_adapters)
        timed_unpin(model, model->adapters[model->drawn[request]].range);
    if (model->scenario->id_tokens)
        timed_unpin(model, run->kv);
    else
        give(model, run->kv);
}

static uint64_t drawn_below(struct model *model, uint64_t count)
{
    return tb_random_next(&model->random) % count;
}

// Draws come before the arena is asked, so what scores differ in does not change them.
static int scratch(struct model *model)
{
    uint32_t length = 1 + (uint32_t)drawn_below(model, TB_ARENA_SCRATCH_PAGES);
    uint64_t held_ns = 1000000 + drawn_below(model, TB_ARENA_SCRATCH_NS - 1000000);
    uint64_t next_ns = model->now_ns + 1 + drawn_below(model, 2 * (UINT64_C(1000000000) / model->settings->scratch_per_s));
    locus_range range;
    int error =
        take(model, (struct locus_pages_request){.kind = LOCUS_PAGES_SCRATCH, .pages = length, .owner = model->events.order},
             &range);
    if (error && error != -ENOMEM && error != -EINVAL)
        return error;
    if (!error)
        error = tb_events_add(&model->events,
                              (struct tb_event){.at_ns = model->now_ns + held_ns, .what = EVENT_SCRATCH_DONE, .value = range});
    else
        error = 0;
    if (!error && next_ns <= model->end_ns)
        error = tb_events_add(&model->events, (struct tb_event){.at_ns = next_ns, .what = EVENT_SCRATCH});
    return error;
}

static int event(struct model *model)
{
    struct tb_event next = tb_events_next(&model->events);
    advance(model, next.at_ns);
    switch (next.what) {
    case EVENT_PROMPT_DONE:
        if (model->runs[next.of].activation != LOCUS_RANGE_NONE)
            give(model, model->runs[next.of].activation);
        return 0;
    case EVENT_DONE: done(model, next.of); return 0;
    case EVENT_SCRATCH: return scratch(model);
    default: give(model, next.value); return 0;
    }
}

// --- a run ---------------------------------------------------------------------------------------------------------------------

static uint64_t arrival_ns(const struct model *model, uint32_t request)
{
    uint64_t ns = model->scenario->requests[request].arrival_ns - model->scenario->requests[0].arrival_ns;
    return model->time_scale == 1 ? ns : (uint64_t)((double)ns * model->time_scale);
}

static int pages_open(struct model *model, const struct locus_score_ops *score, struct tb_why *why)
{
    static const enum locus_pages_split splits[] = {
        [TB_ARENA_ANYWHERE] = LOCUS_SPLIT_NONE, [TB_ARENA_ENDS] = LOCUS_SPLIT_ENDS, [TB_ARENA_ZONES] = LOCUS_SPLIT_ZONES};
    const struct tb_arena_settings *settings = model->settings;
    struct locus_pages_config config = {
        .size = sizeof config,
        .page_bytes = ADDRESS_BYTES,
        .pages = settings->pages,
        .page = LOCUS_PAGE_4K,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .first_fit = settings->first_fit,
        .split = splits[settings->split],
        .score = score,
        .high_permille = settings->no_mark ? 0 : settings->high_permille,
        .low_permille = settings->no_mark ? 0 : settings->low_permille,
        .evict = leave,
        .context = model,
    };
    if (settings->split == TB_ARENA_ZONES)
        tb_arena_zones(settings, config.zone_pages);
    int error = locus_pages_open(&model->pages, &config);
    if (error)
        locus_pages_why(&config, error, why->text, sizeof why->text);
    return error;
}

static int draw(struct model *model)
{
    struct tb_popularity popularity = {0};
    const struct tb_arena_settings *settings = model->settings;
    if (settings->no_adapters)
        return 0;
    int error = tb_popularity_open(&popularity, settings->adapters);
    if (!error)
        tb_popularity_uses(&popularity, settings->seed, settings->again_percent, model->drawn, (uint32_t)model->scenario->count);
    tb_popularity_close(&popularity);
    return error;
}

static int model_open(struct model *model, const struct locus_score_ops *score, struct tb_why *why)
{
    size_t count = model->scenario->count;
    int error = tb_turns(model->scenario, &model->turns);
    model->drawn = calloc(count, sizeof *model->drawn);
    model->adapters = calloc(model->settings->adapters, sizeof *model->adapters);
    model->runs = calloc(count, sizeof *model->runs);
    if (error || !model->drawn || !model->adapters || !model->runs)
        return -ENOMEM;
    error = draw(model);
    if (error)
        return error;
    model->time_scale = 1;
    double span_ns = (double)arrival_ns(model, (uint32_t)count - 1);
    if (model->settings->rate_per_s > 0)
        model->time_scale = (double)(count - 1) * 1e9 / model->settings->rate_per_s / span_ns;
    model->end_ns = arrival_ns(model, (uint32_t)count - 1);
    model->random = ~(uint64_t)model->settings->seed; // not the draws of adapters
    model->out->used_full_least = model->out->stretch_least = INFINITY;
    model->times.clock_ns = tb_latency_clock_ns();
    return pages_open(model, score, why);
}

static int run(struct model *model)
{
    uint32_t count = (uint32_t)model->scenario->count;
    int error = model->settings->no_scratch ? 0 : tb_events_add(&model->events, (struct tb_event){.what = EVENT_SCRATCH});
    for (uint32_t i = 0; i < count && !error; i++) {
        uint64_t at_ns = arrival_ns(model, i);
        while (!error && model->events.count && model->events.event[0].at_ns <= at_ns)
            error = event(model);
        if (!error) {
            advance(model, at_ns);
            error = arrive(model, i);
        }
    }
    return error;
}

// After the last arrival nothing is counted, but everybody unpins what he has.
static int finish(struct model *model, struct tb_why *why)
{
    struct locus_pages_stats stats;
    while (model->events.count)
        event(model);
    locus_pages_stats(model->pages, &stats);
    if (stats.pages_pinned == 0)
        return 0;
    tb_why_set(why, model->scenario->name, 0, "%u pages are pinned after all has ended", stats.pages_pinned);
    return -EBADMSG;
}

static double over(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static void figures(struct model *model)
{
    struct locus_pages_stats stats;
    struct tb_arena *out = model->out;
    locus_pages_stats(model->pages, &stats);
    for (unsigned kind = 0; kind < LOCUS_PAGES_KINDS; kind++) {
        out->left_for_room += stats.ranges_evicted[kind][LOCUS_EVICTED_FOR_ROOM];
        out->left_by_mark += stats.ranges_evicted[kind][LOCUS_EVICTED_BY_WATERMARK];
    }
    for (unsigned reason = 0; reason < LOCUS_EVICT_REASONS; reason++) {
        out->kv_left_pages += stats.pages_evicted[LOCUS_PAGES_KV][reason];
        out->adapter_left_pages += stats.pages_evicted[LOCUS_PAGES_ADAPTER][reason];
    }
    out->kv_hit_ratio = over((double)model->kv_found, (double)model->kv_asked);
    out->adapter_hit_ratio = model->settings->no_adapters ? NAN : over((double)model->adapters_found, (double)out->admitted);
    out->byte_hit_ratio = over((double)model->bytes_found, (double)model->bytes_asked);
    out->both_reloaded_bytes = out->kv_reloaded_bytes + out->adapter_reloaded_bytes;
    out->both_thrash = out->kv_thrash + out->adapter_thrash;
    out->lost_mean_ns = over(model->back_ns, (double)out->admitted);
    out->used_mean = over(model->used, model->time);
    out->used_peak = (double)stats.pages_peak / stats.pages;
    out->pinned_mean = over(model->pinned, model->time);
    out->full_ratio = over(model->full_time, model->time);
    out->used_full_mean = over(model->used_full, model->full_time);
    out->above_95_ratio = over(model->above_95, model->full_time);
    out->stretch_mean = over(model->stretch, model->full_time);
    out->stretch_good_ratio = over(model->stretch_good, model->full_time);
    if (model->full_time == 0)
        out->used_full_least = out->stretch_least = NAN;
}

static void time_figures(const struct times *times, struct tb_arena *out)
{
    out->room_p50_ns = tb_latency_quantile_ns(&times->room, 0.5);
    out->room_p99_ns = tb_latency_quantile_ns(&times->room, 0.99);
    out->room_p999_ns = tb_latency_quantile_ns(&times->room, 0.999);
    out->evict_p50_ns = tb_latency_quantile_ns(&times->evict, 0.5);
    out->evict_p99_ns = tb_latency_quantile_ns(&times->evict, 0.99);
    out->evict_range_ns = over((double)times->evict.sum_ns, (double)times->left);
    out->pin_p50_ns = tb_latency_quantile_ns(&times->pin, 0.5);
    out->pin_p99_ns = tb_latency_quantile_ns(&times->pin, 0.99);
    out->unpin_p50_ns = tb_latency_quantile_ns(&times->unpin, 0.5);
    out->unpin_p99_ns = tb_latency_quantile_ns(&times->unpin, 0.99);
}

static void model_close(struct model *model)
{
    locus_pages_close(model->pages);
    free(model->turns);
    free(model->drawn);
    free(model->adapters);
    free(model->runs);
    free(model->events.event);
}

int tb_arena(const struct tb_scenario *scenario, const struct tb_arena_settings *settings, const struct locus_score_ops *score,
             struct tb_arena *out, struct tb_why *why)
{
    struct model model = {.scenario = scenario, .settings = settings, .out = out};
    *out = (struct tb_arena){0};
    int error = model_open(&model, score, why);
    if (!error)
        error = run(&model);
    if (!error) {
        figures(&model);
        time_figures(&model.times, out);
    }
    if (model.pages) {
        int left = finish(&model, why);
        error = error ? error : left;
    }
    model_close(&model);
    return error;
}
