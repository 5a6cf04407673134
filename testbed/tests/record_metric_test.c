// SPDX-License-Identifier: Apache-2.0
//
// metric: one table, and everybody who lists the metrics has the same ones.
#include <criterion/criterion.h>
#include <string.h>

#include "testbed/record/metric.h"

Test(record_metric, the_words_are_those_of_the_table)
{
    unsigned i = 0;
    for (; tb_metric_at(i); i++) {
        cr_assert_not_null(tb_metric_names[i], "there is no word for %s", tb_metric_at(i)->name);
        cr_expect_str_eq(tb_metric_names[i], tb_metric_at(i)->name);
        cr_expect_eq(tb_metric_find(tb_metric_names[i]), tb_metric_at(i));
    }
    cr_expect_null(tb_metric_names[i]);
    cr_expect_eq(i, 6u);
    cr_expect_null(tb_metric_find("time"));
}

Test(record_metric, only_time_is_a_time_and_only_blocks_are_of_the_peak)
{
    for (unsigned i = 0; tb_metric_at(i); i++) {
        const struct tb_metric *metric = tb_metric_at(i);
        bool time = strcmp(metric->name, "time_ns") == 0;
        cr_expect_eq(tb_metric_is_time(metric->name), time);
        cr_expect_str_eq(metric->unit, time ? "ns" : "ratio");
        cr_expect_not(metric->of_peak && metric->many_nodes, "%s", metric->name);
        cr_expect(time || metric->of_peak || strcmp(metric->name, metric->member) == 0, "%s", metric->name);
    }
}
