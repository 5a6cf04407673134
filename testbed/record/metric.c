// SPDX-License-Identifier: Apache-2.0
//
// metric: see metric.h. The names stand twice, because a reader of YAML wants them as a list of words; a test compares the two.

#include "testbed/record/metric.h"

#include <stddef.h>
#include <string.h>

static const struct tb_metric metrics[] = {
    {"time_ns", "time_ns", false, false, "ns", "time per lap, left is faster"},
    {"outstanding_ratio", "outstanding_high", true, false, "ratio", "blocks out at once, over the theoretical peak"},
    {"distinct_ratio", "distinct", true, false, "ratio", "distinct blocks touched, over the theoretical peak"},
    {"remote_touch_ratio", "remote_touch_ratio", false, true, "ratio", "touches of pages on another node than the CPU"},
    {"wandered_ratio", "wandered_ratio", false, true, "ratio", "blocks on another node than their scheduler"},
    {"abroad_free_ratio", "abroad_free_ratio", false, true, "ratio", "freed blocks kept on another node than their own"},
};

#define COUNT (sizeof metrics / sizeof *metrics)

const char *const tb_metric_names[COUNT + 1] = {
    "time_ns", "outstanding_ratio", "distinct_ratio", "remote_touch_ratio", "wandered_ratio", "abroad_free_ratio", NULL};

const struct tb_metric *tb_metric_at(unsigned i)
{
    return i < COUNT ? &metrics[i] : NULL;
}

const struct tb_metric *tb_metric_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}

bool tb_metric_is_time(const char *name)
{
    return strcmp(name, metrics[0].name) == 0;
}
