// SPDX-License-Identifier: Apache-2.0
//
// emulate: see emulate.h. The script knows where emulator and plugin are, and how they are started.
#include "testbed/run/emulate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/child.h"
#include "testbed/base/share.h"
#include "testbed/postulate/metric.h"
#include "testbed/run/needs.h"

static int files_find(char script[PATH_MAX], char lap[PATH_MAX], char *why, size_t why_bytes)
{
    int error = tb_share("guest/counted.sh", script, PATH_MAX, why, why_bytes);
    return error ? error : tb_share_lap(lap, why, why_bytes);
}

int tb_emulate_check(char *version, size_t version_bytes, char *why, size_t why_bytes)
{
    char script[PATH_MAX], lap[PATH_MAX], *said = NULL;
    size_t said_bytes = 0;
    if (files_find(script, lap, why, why_bytes))
        return 0;
    const char *const words[] = {"sh", script, "--check", lap, NULL};
    int error = tb_child_ask(&(struct tb_child){.argv = words, .in = -1}, &said, &said_bytes);
    if (said)
        said[strcspn(said, "\n")] = '\0';
    if (error)
        snprintf(why, why_bytes, "%s", said && *said ? said : strerror(-error));
    else if (version)
        snprintf(version, version_bytes, "%s", said);
    free(said);
    return error == 0;
}

void tb_emulate_plan(struct tb_plan *plan)
{
    char why[TB_FOUND_BYTES];
    bool wanted = false;
    for (uint32_t i = 0; i < plan->postulate->predictions_count; i++) {
        const struct tb_metric *metric = tb_metric_find(plan->postulate->predictions[i].metric);
        wanted |= metric && metric->emulated;
    }
    if (wanted && tb_emulate_check(plan->emulator, sizeof plan->emulator, why, sizeof why))
        plan->rounds.emulator = plan->emulator;
}

static int count_take(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, const char *script, const char *lap,
                      struct tb_count *out)
{
    char preload[PATH_MAX + 16], said[2048];
    struct tb_sample sample = {0};
    bool malloced = rounds->arms[arm].library[0] != '\0';
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", rounds->arms[arm].library);
    const char *const words[] = {"sh", script, malloced ? preload : lap, malloced ? lap : NULL, NULL};
    int error = tb_rounds_run_under(rounds, cell, arm, words, &sample, said, sizeof said);
    if (error || !tb_count_read(said, out))
        return error;
    uint64_t marks = rounds->cells[cell].laps_metered;
    if (sample.valid && out->marks == marks)
        return 0;
    *out = (struct tb_count){0};
    if (sample.valid)
        snprintf(out->why, sizeof out->why, "the process passed other marks than those of its %llu laps",
                 (unsigned long long)marks);
    else
        snprintf(out->why, sizeof out->why, "%.180s", sample.invalid);
    return 0;
}

int tb_emulate(struct tb_rounds *rounds, uint32_t first, uint32_t count)
{
    char script[PATH_MAX], lap[PATH_MAX], why[400];
    size_t taken = 0;
    tb_emulate_close(rounds);
    if (!rounds->emulator)
        return 0;
    struct tb_count *counts = calloc((size_t)count * rounds->cells_count * rounds->arms_count, sizeof *counts);
    int error = counts ? files_find(script, lap, why, sizeof why) : -ENOMEM;
    for (uint32_t round = 0; round < count && !error; round++)
        for (uint32_t cell = 0; cell < rounds->cells_count && !error; cell++)
            for (uint32_t arm = 0; arm < rounds->arms_count && !error; arm++)
                error = count_take(rounds, cell, arm, script, lap, &counts[taken++]);
    rounds->counts = counts;
    rounds->counts_first = first;
    return error;
}

void tb_emulate_close(struct tb_rounds *rounds)
{
    free(rounds->counts);
    rounds->counts = NULL;
}
