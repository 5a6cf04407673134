// SPDX-License-Identifier: Apache-2.0
//
// run_lines_serving: what a log says of cells that serve a scenario, and of their samples; see run_lines.h.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/run/run_lines.h"
#include "testbed/serving/keep.h"

// --- a cell --------------------------------------------------------------------------------------------------------------------

static json_t *tier_json(const struct tb_tier_settings *tier, double move_ns)
{
    const struct tb_json_member members[] = {
        {"blocks", tb_json_whole(tier->blocks)},
        {"gbs", tb_json_number(tier->gbs)},
        {"us", tb_json_number(tier->us)},
        {"move_ns", tb_json_number(move_ns)},
    };
    return tier->blocks ? TB_JSON_OBJECT(members) : json_null();
}

// What is below the cache, and what a block takes there.
static json_t *tiers_json(const struct tb_serving_plan *plan, const struct tb_scenario *scenario)
{
    const struct tb_keep_prices prices = tb_keep_prices(scenario, &plan->settings);
    const struct tb_json_member members[] = {
        {"far", tier_json(&prices.far, prices.far_ns)},     {"file", tier_json(&prices.file, prices.file_ns)},
        {"alike", json_boolean(plan->settings.alike)},      {"shape", json_string(tb_serving_shape(&plan->settings)->name)},
        {"block_bytes", tb_json_whole(prices.block_bytes)}, {"token_ns", tb_json_number(prices.token_ns)},
    };
    return TB_JSON_OBJECT(members);
}

// Of a recorded trace with ids besides: how many tokens an id stands for, and between which sizes that could be. Takes over `json`.
static json_t *with_ids(json_t *json, const struct tb_scenario *scenario)
{
    const struct tb_json_member members[] = {
        {"id_tokens", tb_json_whole(scenario->id_tokens)},
        {"id_tokens_least", tb_json_whole(scenario->id_tokens_least)},
        {"id_tokens_most", tb_json_whole(scenario->id_tokens_most)},
    };
    json_t *ids = TB_JSON_OBJECT(members);
    bool failed = !json || !ids || (scenario->id_tokens_least && json_object_update(json, ids));
    json_decref(ids);
    if (!failed)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *keep_json(const struct tb_schedule *schedule)
{
    struct tb_scenario scenario;
    const struct tb_serving_plan *plan = tb_serving_plan_read(schedule, &scenario);
    char settings[192];
    tb_keep_settings_text(&plan->settings, settings, sizeof settings);
    const struct tb_json_member members[] = {
        {"settings", json_string(settings)},
        {"requests", tb_json_whole(scenario.count)},
        {"ids", tb_json_whole(scenario.ids_count)},
        {"id_tokens", tb_json_whole(scenario.id_tokens)},
        {"scenario", json_sprintf("%016llx", (unsigned long long)plan->scenario_hash)},
        {"blocks", tb_json_whole(plan->settings.kept_blocks)},
        {"tree", json_boolean(plan->settings.tree)},
    };
    json_t *json = TB_JSON_OBJECT(members);
    if (tb_keep_tiered(&plan->settings) && json && json_object_set_new(json, "tiers", tiers_json(plan, &scenario))) {
        json_decref(json);
        return NULL;
    }
    return with_ids(json, &scenario);
}

static json_t *read_ps(const struct tb_clock *clock)
{
    return clock->read_fs % 1000 ? tb_json_number((double)clock->read_fs / 1000) : tb_json_whole(clock->read_fs / 1000);
}

// Whole, so that the log alone says what was served, and when a step was over.
static json_t *plan_json(const struct tb_schedule *schedule)
{
    struct tb_scenario scenario;
    const struct tb_serving_plan *plan = tb_serving_plan_read(schedule, &scenario);
    char settings[192];
    tb_serving_settings_text(&plan->settings, settings, sizeof settings);
    const struct tb_json_member members[] = {
        {"settings", json_string(settings)},
        {"requests", tb_json_whole(scenario.count)},
        {"most_tokens", tb_json_whole(scenario.most_tokens)},
        {"median_tokens", tb_json_whole(scenario.median_tokens)},
        {"scenario", json_sprintf("%016llx", (unsigned long long)plan->scenario_hash)},
        {"block_tokens", tb_json_whole(plan->settings.block_tokens)},
        {"pool_tokens", tb_json_whole(plan->settings.pool_tokens)},
        {"token_bytes", tb_json_whole(plan->token_bytes)},
        {"random", json_boolean(plan->settings.random)},
        {"shape", json_string(tb_serving_shape(&plan->settings)->name)},
        {"capacity_per_s", tb_json_number(plan->capacity_per_s > 0 ? plan->capacity_per_s : NAN)},
        {"speedup", tb_json_number(plan->speedup)},
        {"step_ns", tb_json_whole(plan->clock.step_ns)},
        {"read_ps", read_ps(&plan->clock)},
        {"prompt_ns", tb_json_whole(plan->clock.prompt_ns)},
        {"prompt_tokens", tb_json_whole(plan->clock.prompt_tokens)},
    };
    return with_ids(TB_JSON_OBJECT(members), &scenario);
}

// Of `adapters` and `residency`.
static json_t *adapters_json(const struct tb_cell *cell)
{
    struct tb_scenario scenario;
    const struct tb_serving_plan *plan = tb_serving_plan_read(cell->schedule, &scenario);
    const struct tb_adapter_settings *own = &plan->settings.adapters;
    bool residency = cell->touch == TB_TOUCH_RESIDENCY;
    double span_ns = (double)(scenario.requests[scenario.count - 1].arrival_ns - scenario.requests[0].arrival_ns);
    double recorded_per_s = (double)(scenario.count - 1) * 1e9 / span_ns;
    char settings[128];
    tb_adapter_settings_text(own, residency, plan->settings.requests, settings, sizeof settings);
#define OF(whose, value) (residency == (whose) ? tb_json_whole(value) : json_null())
    const struct tb_json_member members[] = {
        {"settings", json_string(settings)},
        {"requests", tb_json_whole(scenario.count)},
        {"scenario", json_sprintf("%016llx", (unsigned long long)plan->scenario_hash)},
        {"adapters", tb_json_whole(own->adapters)},
        {"times", tb_json_whole(own->times)},
        {"again_percent", tb_json_whole(own->again_percent)},
        {"seed", tb_json_whole(own->seed)},
        {"batch", OF(false, own->batch)},
        {"load_percent", OF(false, own->load_percent)},
        {"hot", OF(true, own->hot)},
        {"warm", OF(true, own->warm)},
        {"rank", OF(true, own->rank)},
        {"rate_per_s", residency ? tb_json_number(own->rate_per_s > 0 ? own->rate_per_s : recorded_per_s) : json_null()},
    };
#undef OF
    return TB_JSON_OBJECT(members);
}

static json_t *arena_json(const struct tb_cell *cell)
{
    struct tb_scenario scenario;
    const struct tb_serving_plan *plan = tb_serving_plan_read(cell->schedule, &scenario);
    const struct tb_arena_settings *own = &plan->settings.arena;
    uint32_t zones[4];
    char settings[192];
    tb_arena_settings_text(own, plan->settings.requests, settings, sizeof settings);
    tb_arena_zones(own, zones);
#define IF(known, value) ((known) ? tb_json_whole(value) : json_null())
    bool split = own->split == TB_ARENA_ZONES;
    const struct tb_json_member members[] = {
        {"settings", json_string(settings)},
        {"requests", tb_json_whole(scenario.count)},
        {"scenario", json_sprintf("%016llx", (unsigned long long)plan->scenario_hash)},
        {"pages", tb_json_whole(own->pages)},
        {"page_bytes", tb_json_whole(TB_ARENA_PAGE_BYTES)},
        {"high_permille", IF(!own->no_mark, own->high_permille)},
        {"low_permille", IF(!own->no_mark, own->low_permille)},
        {"split", json_string(split                         ? "zones"
                              : own->split == TB_ARENA_ENDS ? "ends"
                                                            : "none")},
        {"kv_pages", IF(split, zones[0])},
        {"adapter_pages", IF(split, zones[1])},
        {"first_fit", json_boolean(own->first_fit)},
        {"adapters", IF(!own->no_adapters, own->adapters)},
        {"rank", IF(!own->no_adapters && !own->rank_mix, own->rank)},
        {"again_percent", tb_json_whole(own->again_percent)},
        {"scratch_per_s", IF(!own->no_scratch, own->scratch_per_s)},
        {"shape", json_string(own->shape)},
        {"seed", tb_json_whole(own->seed)},
    };
#undef IF
    return with_ids(TB_JSON_OBJECT(members), &scenario);
}

static json_t *pins_json(const struct tb_cell *cell)
{
    const struct tb_pins_plan *plan = tb_pins_plan(cell->schedule);
    const struct tb_json_member members[] = {
        {"popularity", json_string(plan->zipf ? "zipf" : "even")}, {"threads", tb_json_whole(plan->settings.threads)},
        {"ranges", tb_json_whole(plan->settings.ranges)},          {"seed", tb_json_whole(plan->settings.seed)},
        {"pairs_per_lap", tb_json_whole(TB_PINS_PAIRS)},
    };
    return TB_JSON_OBJECT(members);
}

bool tb_line_has_serving(enum tb_touch touch)
{
    return tb_touch_serves(touch) || touch == TB_TOUCH_PINS;
}

json_t *tb_line_plan(const struct tb_cell *cell)
{
    return cell->touch == TB_TOUCH_KEEP    ? keep_json(cell->schedule)
           : cell->touch == TB_TOUCH_SERVE ? plan_json(cell->schedule)
           : cell->touch == TB_TOUCH_PAGES ? arena_json(cell)
           : cell->touch == TB_TOUCH_PINS  ? pins_json(cell)
                                           : adapters_json(cell);
}

// --- a sample ------------------------------------------------------------------------------------------------------------------

json_t *tb_line_slots(const void *object, const struct tb_slot slots[], bool (*told)(const void *object, const char *name))
{
    json_t *json = json_object();
    for (const struct tb_slot *slot = slots; slot->name && json; slot++) {
        double number = tb_slot_get(object, slot);
        bool known = !told || told(object, slot->name);
        json_t *value = !known ? json_null() : slot->whole ? tb_json_whole((uint64_t)number) : tb_json_number(number);
        if (json_object_set_new(json, slot->name, value)) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

// Of a trap that broke its contract only that is known.
static bool served_told(const void *served, const char *name)
{
    return !((const struct tb_served *)served)->faults || strcmp(name, "faults") == 0;
}

// The model of a cache fills in two of the members, and what it has of its tiers.
static json_t *kept_json(const struct tb_sample *sample, const struct tb_cell *cell)
{
    const struct tb_json_member members[] = {{"requests", tb_json_whole(sample->served.requests)},
                                             {"hit_ratio", tb_json_number(sample->served.hit_ratio)}};
    json_t *json = TB_JSON_OBJECT(members);
    json_t *tiers = tb_keep_tiered(&cell->serving) ? tb_line_slots(&sample->tiered, tb_tiered_fields, NULL) : json_object();
    if (json && (!tiers || json_object_update_missing(json, tiers))) {
        json_decref(json);
        json = NULL;
    }
    json_decref(tiers);
    return json;
}

json_t *tb_line_served(const struct tb_sample *sample, const struct tb_cell *cell)
{
    switch (cell->touch) {
    case TB_TOUCH_KEEP: return kept_json(sample, cell);
    case TB_TOUCH_ADAPTERS: return tb_line_slots(&sample->batched, tb_batched_fields, NULL);
    case TB_TOUCH_RESIDENCY: return tb_line_slots(&sample->resided, tb_resided_fields, NULL);
    case TB_TOUCH_PINS: return tb_line_slots(&sample->pinned, tb_pinned_fields, NULL);
    case TB_TOUCH_PAGES: return tb_line_slots(&sample->arena, tb_arena_fields, NULL);
    default: return tb_line_slots(&sample->served, tb_served_fields, served_told);
    }
}
