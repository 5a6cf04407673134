// SPDX-License-Identifier: Apache-2.0
//
// serve_adapters: see serve_adapters.h.

#include "testbed/cli/serve/serve_adapters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/cell.h"

// Without a cell: from far below what batches can take to half as much again; from an adapter every ten seconds to a hundred a
// second. A short scenario is repeated until it has so many uses, or a shares' tail would be a handful of requests.
static const uint32_t loads[] = {80, 100, 110, 150};
static const double rates[] = {0.1, 1, 10, 100};
static const uint32_t marks[][2] = {{800, 700}, {900, 800}, {950, 900}, {990, 950}, {0, 0}}; // in thousandths; 0: none
#define CELLS_MAX 5u
#define USES_LEAST 200000u

// Of the smallest shape, so that the longest request fits eight times into as few pages as possible.
#define PAGES_LEAST 1024u
static void usual_pages(const struct tb_scenario *scenario, uint32_t at, struct tb_arena_settings *settings)
{
    snprintf(settings->shape, sizeof settings->shape, "%s", TB_SHAPE_DEFAULT);
    uint32_t longest = tb_arena_kv_pages(settings, scenario->most_tokens);
    for (settings->pages = PAGES_LEAST; settings->pages / 8 < longest && settings->pages < TB_ARENA_PAGES_MAX;)
        settings->pages *= 2;
    settings->no_mark = marks[at][0] == 0;
    settings->high_permille = marks[at][0];
    settings->low_permille = marks[at][1];
}

static void usual(const struct tb_scenario *scenario, enum tb_touch touch, uint32_t at, struct tb_adapter_settings *settings)
{
    bool at_once = scenario->requests[0].arrival_ns == scenario->requests[scenario->count - 1].arrival_ns; // refused below
    uint32_t most = at_once ? 1 : tb_adapter_times_most(scenario);
    settings->times = (uint32_t)((USES_LEAST + scenario->count - 1) / scenario->count);
    settings->times = settings->times < most ? settings->times : most;
    settings->times = settings->times < TB_ADAPTER_TIMES_MAX ? settings->times : TB_ADAPTER_TIMES_MAX;
    if (touch == TB_TOUCH_RESIDENCY)
        settings->rate_per_s = rates[at];
    else
        settings->load_percent = loads[at];
}

int tb_serve_adapters(struct tb_options *options, const struct tb_scenario *scenario, const struct tb_serving_settings *settings,
                      enum tb_touch touch, bool cell_given)
{
    static struct tb_cell cells[CELLS_MAX];
    static char names[CELLS_MAX][256];
    struct tb_schedule *schedules[CELLS_MAX] = {NULL};
    struct tb_why why = {""};
    const char *about = scenario->about[0] ? scenario->about : NULL;
    char words[192];
    uint32_t count = cell_given ? 1 : touch == TB_TOUCH_PAGES ? sizeof marks / sizeof *marks : sizeof loads / sizeof *loads;
    int error = 0;
    for (uint32_t i = 0; i < count && !error; i++) {
        cells[i] = (struct tb_cell){.name = names[i], .workload = scenario->name, .touch = touch, .laps = 1, .serving = *settings};
        if (!cell_given && touch == TB_TOUCH_PAGES)
            usual_pages(scenario, i, &cells[i].serving.arena);
        else if (!cell_given)
            usual(scenario, touch, i, &cells[i].serving.adapters);
        if (touch == TB_TOUCH_PAGES)
            tb_arena_settings_text(&cells[i].serving.arena, settings->requests, words, sizeof words);
        else
            tb_adapter_settings_text(&cells[i].serving.adapters, touch == TB_TOUCH_RESIDENCY, settings->requests, words,
                                     sizeof words);
        snprintf(names[i], sizeof names[i], "%s/%s", scenario->name, words);
        error = tb_cell_plan(touch)(scenario, scenario->name, &cells[i].serving, &schedules[i], &why);
        cells[i].schedule = schedules[i];
    }
    if (error)
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
    int status = error == -ENOMEM ? TB_EXIT_FAILED : error ? TB_EXIT_USAGE : tb_options_run(options, cells, count, "serve", about);
    for (uint32_t i = 0; i < count; i++)
        free(schedules[i]);
    return status;
}
