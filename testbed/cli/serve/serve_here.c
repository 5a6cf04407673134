// SPDX-License-Identifier: Apache-2.0
//
// serve_here: see serve_here.h.

#include "testbed/cli/serve/serve_here.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/cli/options.h"
#include "testbed/decode/team.h"
#include "testbed/judge/loaded.h"
#include "testbed/measure/cell.h"
#include "testbed/measure/contender.h"
#include "topo/pin.h"

#define MEASURED "locus"
#define SEQUENCES 4
#define CONTEXT_LEAST 1024
#define CONTEXT_MOST 131072
#define STEPS 8

// A sequence of it is so long that a step reads each byte from memory: all of them together do not fit the last-level cache.
static void batch_name(const struct tb_shape *shape, char *out, size_t bytes)
{
    long cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    uint64_t context = cache_bytes > 0 ? (uint64_t)cache_bytes / (SEQUENCES * tb_shape_token_bytes(shape)) : 0;
    context = (context / CONTEXT_LEAST + 1) * CONTEXT_LEAST;
    context = context > CONTEXT_MOST ? CONTEXT_MOST : context;
    snprintf(out, bytes, "batch-%dx%llux%d", SEQUENCES, (unsigned long long)context, STEPS);
}

// "batch-4x1024x16/128t" becomes batch-4x1024x16/decode/SHAPE/128t/2c. An exit status.
static int cell_parse(const char *what, const struct tb_shape *shape, char workload[TB_WORKLOAD_NAME], struct tb_cell *out)
{
    char text[TB_CELL_TEXT], threads[16], why[640];
    size_t name = strcspn(what, "/");
    unsigned cpus = 1;
    if (locus_pin_allowed(NULL, 0, &cpus) || cpus == 0)
        cpus = 1;
    snprintf(threads, sizeof threads, "/%uc", cpus < TB_TEAM_MAX ? cpus : TB_TEAM_MAX);
    snprintf(text, sizeof text, "%.*s/decode/%s%.64s%s", (int)name, what, shape->name, what + name, threads);
    if (tb_cell_parse(text, workload, out) == 0)
        return 0;
    text[strlen(text) - strlen(threads)] = '\0'; // they may be among the settings
    if (tb_cell_parse(text, workload, out) == 0)
        return 0;
    tb_cell_why(text, why, sizeof why);
    tb_error("--here: %s", why);
    return TB_EXIT_USAGE;
}

// The clock's words in each cell: of the weights the floor's pace, as a machine reads them in one stream.
static void settings_make(const struct tb_serving_settings *served, const struct tb_pace *pace,
                          struct tb_serving_settings out[TB_HERE_CELLS])
{
    const struct tb_ratio *read = &pace->read_ps, *floor = &pace->floor_ps;
    const struct tb_shape *shape = tb_serving_shape(served);
    const double read_ps[] = {read->estimate, read->low, read->high, floor->estimate};
    const double weight_ps[] = {floor->estimate, floor->low, floor->high, floor->estimate};
    for (int i = 0; i < TB_HERE_CELLS; i++) {
        double step_us = (double)(shape->parameters * shape->value_bytes) * weight_ps[i] / 1e6;
        out[i] = *served;
        out[i].read_fs = (uint64_t)fmax(1, round(read_ps[i] * 1000));
        out[i].step_us = (uint64_t)fmax(1, round(step_us));
    }
}

static int pace_take(const struct tb_rounds *rounds, const struct tb_serving_settings *served, json_t **measured,
                     struct tb_serving_settings out[TB_HERE_CELLS])
{
    struct tb_pace pace;
    int error = tb_pace(rounds, 0, MEASURED, &pace);
    if (!error)
        *measured = tb_here_json(rounds, 0, MEASURED, &pace);
    if (!error && *measured) {
        settings_make(served, &pace, out);
        return 0;
    }
    if (error == -ERANGE)
        tb_error("--here: the rounds lie so far apart that a byte may cost nothing: end what else runs, or name a larger batch");
    else if (error == -EINVAL && pace.invalid >= 0)
        tb_error("--here: %s is INVALID, so there is no clock (see: locus eval %s)", rounds->arms[pace.invalid].label,
                 rounds->cells[0].name);
    else
        tb_error("--here: %s", strerror(error ? -error : ENOMEM));
    return TB_EXIT_FAILED;
}

static int measure(struct tb_options *options, const struct tb_cell *cell, const struct tb_serving_settings *served,
                   json_t **measured, struct tb_serving_settings out[TB_HERE_CELLS])
{
    struct tb_log_view view;
    struct tb_loaded loaded;
    char label[64], why[4500] = "";
    for (size_t i = 0; tb_pace_arm(MEASURED, i, label, sizeof label); i++)
        if (tb_arms_add(options->arms, &options->arms_count, label, why, sizeof why)) {
            tb_error("--here: %s", why);
            return TB_EXIT_FAILED;
        }
    int error = tb_options_measure(options, cell, 1, "eval", NULL, &view), status = TB_EXIT_FAILED;
    if (error)
        return error == -E2BIG ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    error = tb_loaded(&view, &loaded, why, sizeof why);
    if (error) {
        tb_error("--here: %s", error == -ENOMEM ? strerror(ENOMEM) : why);
    } else {
        status = pace_take(&loaded.rounds, served, measured, out);
        tb_loaded_close(&loaded);
    }
    tb_log_view_close(&view);
    return status;
}

int tb_serve_here(const char *what, const struct tb_serving_settings *served, bool quiet, json_t **measured,
                  struct tb_serving_settings out[TB_HERE_CELLS])
{
    static struct tb_options options;
    struct tb_schedule *schedule = NULL;
    struct tb_cell cell;
    char batch[64], workload[TB_WORKLOAD_NAME], name[TB_CELL_TEXT];
    batch_name(tb_serving_shape(served), batch, sizeof batch);
    int status = cell_parse(what ? what : batch, tb_serving_shape(served), workload, &cell);
    if (status)
        return status;
    tb_cell_text(workload, &cell, name, sizeof name);
    status = tb_options_batch_decode("--here", workload, &cell, &schedule);
    if (!status) {
        tb_options_init(&options);
        options.rounds = TB_PACE_ROUNDS;
        options.dispatch = TB_DISPATCH_INLINE;
        options.quiet = quiet;
        cell.name = name;
        cell.workload = workload;
        tb_options_laps(&options, &cell);
        status = measure(&options, &cell, served, measured, out);
    }
    free(schedule);
    return status;
}
