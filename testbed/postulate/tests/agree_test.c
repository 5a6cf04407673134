// SPDX-License-Identifier: Apache-2.0
//
// agree: a postulate and an experiment that say the same agree, and each thing in which they can differ is named.
#include "testbed/postulate/agree.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct tb_experiment_arm arms[] = {{"A", "locus"}, {"B", "glibc"}, {NULL, NULL}};
static const char *const cells[] = {"churn-touch/full", "burst-storm/byte", NULL};
static const char *const needs[] = {"cpus >= 2", NULL};
static const char *const gates[] = {"handles home", NULL};

static const struct tb_experiment experiment = {
    .id = "0002",
    .slug = "churn",
    .arms = arms,
    .cells = cells,
    .needs = needs,
    .gates = gates,
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 30,
};

static struct tb_postulate postulate(void)
{
    return (struct tb_postulate){
        .path = "postulates/0002-churn.md",
        .id = "0002",
        .slug = "churn",
        .arms = {{"A", "locus"}, {"B", "glibc"}},
        .arms_count = 2,
        .cells = {"churn-touch/full", "burst-storm/byte"},
        .cells_count = 2,
        .requires_ = {"cpus >= 2"},
        .requires_count = 1,
        .gates = {"handles home"},
        .gates_count = 1,
        .dispatch = "spin",
        .workers = 1,
        .rounds = 20,
        .laps = 30,
    };
}

static void expect_difference(const struct tb_postulate *changed, const char *words)
{
    char why[1024] = "";
    cr_expect_eq(tb_postulate_agrees(changed, &experiment, why, sizeof why), -EINVAL, "'%s' was not noticed", words);
    cr_expect(strstr(why, words), "'%s' does not say '%s'", why, words);
    cr_expect(strncmp(why, "postulates/0002-churn.md", 24) == 0, "'%s' does not name the file", why);
}

Test(agree, the_same_agrees)
{
    struct tb_postulate same = postulate();
    char why[1024];
    cr_expect_eq(tb_postulate_agrees(&same, &experiment, why, sizeof why), 0, "%s", why);
}

Test(agree, single_values_that_differ_are_named)
{
    struct tb_postulate changed = postulate();
    changed.rounds = 30;
    expect_difference(&changed, "rounds is 30 in the postulate and 20 in experiments/0002-churn.c");
    changed = postulate();
    changed.laps = 20;
    expect_difference(&changed, "laps is 20 in the postulate and 30");
    changed = postulate();
    changed.workers = 4;
    expect_difference(&changed, "workers is 4 in the postulate and 1");
    changed = postulate();
    strcpy(changed.dispatch, "futex");
    expect_difference(&changed, "dispatch is futex in the postulate and spin");
    changed = postulate();
    strcpy(changed.slug, "chum");
    expect_difference(&changed, "the slug is chum");
    changed = postulate();
    strcpy(changed.id, "0003");
    expect_difference(&changed, "the number is 0003");
}

Test(agree, arms_that_differ_are_named)
{
    struct tb_postulate changed = postulate();
    strcpy(changed.arms[1].name, "jemalloc");
    expect_difference(&changed, "arm B is jemalloc in the postulate and glibc");
    changed = postulate();
    strcpy(changed.arms[1].key, "C");
    expect_difference(&changed, "the key of arm 2 is C in the postulate and B");
    changed = postulate();
    changed.arms_count = 1;
    expect_difference(&changed, "the key of arm 2 is nothing in the postulate and B");
    changed = postulate();
    changed.arms[2] = changed.arms[0];
    changed.arms_count = 3;
    expect_difference(&changed, "the key of arm 3 is A in the postulate and nothing");
}

Test(agree, lists_that_differ_are_named_at_the_first_place)
{
    struct tb_postulate changed = postulate();
    strcpy(changed.cells[1], "burst-storm/full");
    expect_difference(&changed, "cell 2 is burst-storm/full in the postulate and burst-storm/byte");
    changed = postulate();
    changed.cells_count = 1;
    expect_difference(&changed, "cell 2 is nothing");
    changed = postulate();
    changed.gates_count = 0;
    expect_difference(&changed, "gate 1 is nothing in the postulate and handles home");
    changed = postulate();
    strcpy(changed.requires_[changed.requires_count++], "libraries");
    expect_difference(&changed, "need 2 is libraries in the postulate and nothing");
}

Test(agree, a_metric_of_many_nodes_wants_an_experiment_of_many)
{
    struct tb_experiment many = experiment;
    struct tb_postulate changed = postulate();
    char why[1024];
    changed.predictions_count = 2;
    changed.predictions[0] = (struct tb_prediction){.id = "P1", .metric = "outstanding_ratio"};
    changed.predictions[1] = (struct tb_prediction){.id = "P2", .metric = "wandered_ratio"};
    expect_difference(&changed,
                      "P2 is about wandered_ratio, which runs of many nodes have, and experiments/0002-churn.c is of one");
    many.many_nodes = true;
    cr_expect_eq(tb_postulate_agrees(&changed, &many, why, sizeof why), 0, "%s", why);
}

Test(agree, a_program_without_experiments_has_none)
{
    cr_expect_null(tb_experiment_find("0001"));
    cr_expect_null(tb_experiment_find("no number"));
}
