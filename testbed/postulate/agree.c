// SPDX-License-Identifier: Apache-2.0
//
// agree: see agree.h. The order counts too: it is the order in which a log lists arms and cells.
#include "testbed/postulate/agree.h"
#include "testbed/postulate/metric.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct comparison {
    const struct tb_postulate *postulate;
    char *why;
    size_t bytes;
};

static int differs(const struct comparison *comparison, const char *what, const char *here, const char *there)
{
    const struct tb_postulate *postulate = comparison->postulate;
    snprintf(comparison->why, comparison->bytes,
             "%s and its experiment differ: %s is %s in the postulate and %s in experiments/%s-%s.c", postulate->path, what, here,
             there, postulate->id, postulate->slug);
    return -EINVAL;
}

static int text_agrees(const struct comparison *comparison, const char *what, const char *here, const char *there)
{
    return strcmp(here, there) == 0 ? 0 : differs(comparison, what, here, there);
}

static int count_agrees(const struct comparison *comparison, const char *what, uint64_t here, uint64_t there)
{
    char text[2][32];
    if (here == there)
        return 0;
    snprintf(text[0], sizeof text[0], "%llu", (unsigned long long)here);
    snprintf(text[1], sizeof text[1], "%llu", (unsigned long long)there);
    return differs(comparison, what, text[0], text[1]);
}

// One list against the other, up to the first place in which they differ; "nothing" where one of them has ended.
static int list_agrees(const struct comparison *comparison, const char *what, const char here[][64], uint32_t count,
                       const char *const there[])
{
    char place[64];
    int rc = 0;
    for (uint32_t i = 0; !rc && (i < count || *there); i++, there += *there != NULL) {
        snprintf(place, sizeof place, "%s %u", what, i + 1);
        rc = text_agrees(comparison, place, i < count ? here[i] : "nothing", *there ? *there : "nothing");
    }
    return rc;
}

static int arms_agree(const struct comparison *comparison, const struct tb_experiment_arm *there)
{
    const struct tb_postulate *postulate = comparison->postulate;
    char place[64];
    int rc = 0;
    for (uint32_t i = 0; !rc && (i < postulate->arms_count || there->key); i++, there += there->key != NULL) {
        const struct tb_postulate_arm *here = i < postulate->arms_count ? &postulate->arms[i] : NULL;
        snprintf(place, sizeof place, "the key of arm %u", i + 1);
        rc = text_agrees(comparison, place, here ? here->key : "nothing", there->key ? there->key : "nothing");
        snprintf(place, sizeof place, "arm %s", here ? here->key : "");
        if (!rc)
            rc = text_agrees(comparison, place, here->name, there->name);
    }
    return rc;
}

static int metrics_agree(const struct comparison *comparison, bool many_nodes)
{
    const struct tb_postulate *postulate = comparison->postulate;
    for (uint32_t i = 0; i < postulate->predictions_count && !many_nodes; i++) {
        const struct tb_metric *metric = tb_metric_find(postulate->predictions[i].metric);
        if (!metric || !metric->many_nodes)
            continue;
        snprintf(comparison->why, comparison->bytes,
                 "%s and its experiment differ: %s is about %s, which runs of many nodes have, and experiments/%s-%s.c is of one",
                 postulate->path, postulate->predictions[i].id, metric->name, postulate->id, postulate->slug);
        return -EINVAL;
    }
    return 0;
}

int tb_postulate_agrees(const struct tb_postulate *postulate, const struct tb_experiment *experiment, char *why, size_t bytes)
{
    const struct comparison comparison = {postulate, why, bytes};
    int rc = text_agrees(&comparison, "the number", postulate->id, experiment->id);
    if (!rc)
        rc = text_agrees(&comparison, "the slug", postulate->slug, experiment->slug);
    if (!rc)
        rc = arms_agree(&comparison, experiment->arms);
    if (!rc)
        rc = list_agrees(&comparison, "cell", (const char(*)[64])postulate->cells, postulate->cells_count, experiment->cells);
    if (!rc)
        rc = text_agrees(&comparison, "dispatch", postulate->dispatch, tb_dispatch_name(experiment->dispatch));
    if (!rc)
        rc = count_agrees(&comparison, "workers", postulate->workers, experiment->workers);
    if (!rc)
        rc = count_agrees(&comparison, "rounds", postulate->rounds, experiment->rounds);
    if (!rc)
        rc = count_agrees(&comparison, "laps", postulate->laps, experiment->laps);
    if (!rc)
        rc = metrics_agree(&comparison, experiment->many_nodes);
    if (!rc)
        rc = list_agrees(&comparison, "gate", (const char(*)[64])postulate->gates, postulate->gates_count, experiment->gates);
    if (!rc)
        rc =
            list_agrees(&comparison, "need", (const char(*)[64])postulate->requires_, postulate->requires_count, experiment->needs);
    return rc;
}
