// SPDX-License-Identifier: Apache-2.0
//
// plan: see plan.h.

#include "testbed/measure/pins/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/sample.h"
#include "testbed/serving/word.h"
#include "testbed/workload/adapters/popularity.h"

#define PATIENCE_MS 60000u
#define PATIENCE_NS_PER_PAIR 2000u // of each thread: twenty times the slowest seen, with all threads on one CPU

bool tb_pins_setting(struct tb_pins_settings *settings, const char *word)
{
    return tb_word_whole(word, "", "t", TB_WORKERS_MAX, &settings->threads) ||
           tb_word_whole(word, "", "r", TB_PINS_RANGES_MAX, &settings->ranges) ||
           tb_word_whole(word, "seed", "", UINT32_MAX, &settings->seed);
}

void tb_pins_settings_fill(struct tb_pins_settings *settings)
{
    settings->threads = settings->threads ? settings->threads : 1;
    settings->ranges = settings->ranges ? settings->ranges : 1024;
    settings->seed = settings->seed ? settings->seed : 1;
}

bool tb_pins_popularity(const char *name, bool *zipf)
{
    *zipf = strcmp(name, "zipf") == 0;
    return *zipf || strcmp(name, "even") == 0;
}

int tb_pins_open(const char *popularity, const struct tb_pins_settings *settings, struct tb_schedule **out, char *why,
                 size_t why_bytes)
{
    bool zipf;
    *out = NULL;
    if (!tb_pins_popularity(popularity, &zipf)) {
        snprintf(why, why_bytes, "'%s' is no popularity of ranges: zipf or even", popularity);
        return -EINVAL;
    }
    if (zipf && settings->ranges < TB_POPULAR_LEAST) {
        snprintf(why, why_bytes, "'%ur' are too few for zipf, which takes %u or more", settings->ranges, TB_POPULAR_LEAST);
        return -EINVAL;
    }
    struct tb_pins_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return -ENOMEM;
    plan->settings = *settings;
    plan->zipf = zipf;
    snprintf(plan->schedule.name, sizeof plan->schedule.name, "%s", popularity);
    plan->schedule.bytes = sizeof *plan;
    *out = &plan->schedule;
    return 0;
}

uint64_t tb_pins_patience_ms(const struct tb_schedule *schedule, uint64_t laps)
{
    return PATIENCE_MS + laps * tb_pins_plan(schedule)->settings.threads * TB_PINS_PAIRS * PATIENCE_NS_PER_PAIR / 1000000;
}
