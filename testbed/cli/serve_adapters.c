// SPDX-License-Identifier: Apache-2.0
//
// serve_adapters: see serve_adapters.h.

#include "testbed/cli/serve_adapters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/cell.h"

// Without a cell: from far below what batches can take to half as much again; from an adapter every ten seconds to a hundred a
// second. A short scenario is repeated until it has so many uses, or a shares' tail would be a handful of requests.
static const uint32_t loads[] = {80, 100, 110, 150};
static const double rates[] = {0.1, 1, 10, 100};
#define CELLS 4u
#define USES_LEAST 200000u

static void usual(const struct tb_scenario *scenario, enum tb_touch touch, uint32_t at, struct tb_adapter_settings *settings)
{
    settings->times = (uint32_t)((USES_LEAST + scenario->count - 1) / scenario->count);
    if (touch == TB_TOUCH_RESIDENCY)
        settings->rate_per_s = rates[at];
    else
        settings->load_percent = loads[at];
}

int tb_serve_adapters(struct tb_options *options, const struct tb_scenario *scenario, const struct tb_serving_settings *settings,
                      enum tb_touch touch, bool cell_given)
{
    static struct tb_cell cells[CELLS];
    static char names[CELLS][256];
    struct tb_schedule *schedules[CELLS] = {NULL};
    struct tb_why why = {""};
    char words[160];
    uint32_t count = cell_given ? 1 : CELLS;
    int error = 0;
    for (uint32_t i = 0; i < count && !error; i++) {
        cells[i] = (struct tb_cell){.name = names[i], .workload = scenario->name, .touch = touch, .laps = 1, .serving = *settings};
        if (!cell_given)
            usual(scenario, touch, i, &cells[i].serving.adapters);
        tb_adapter_settings_text(&cells[i].serving.adapters, touch == TB_TOUCH_RESIDENCY, settings->requests, words, sizeof words);
        snprintf(names[i], sizeof names[i], "%s/%s", scenario->name, words);
        error = tb_cell_plan(touch)(scenario, scenario->name, &cells[i].serving, &schedules[i], &why);
        cells[i].schedule = schedules[i];
    }
    if (error)
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
    int status = error == -ENOMEM ? TB_EXIT_FAILED : error ? TB_EXIT_USAGE : tb_options_run(options, cells, count, "serve", NULL);
    for (uint32_t i = 0; i < count; i++)
        free(schedules[i]);
    return status;
}
