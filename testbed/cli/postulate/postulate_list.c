// SPDX-License-Identifier: Apache-2.0
//
// locus postulate list, locus postulate show: for people, and (list --json) for programs.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/cli/postulate/postulate.h"
#include "testbed/host/head.h"
#include "testbed/postulate/experiment.h"
#include "testbed/report/board/board.h"

// When it was filed ("2026-11-21"), "no", or "EDITED since".
static void filed_text(const struct tb_store *filed, const struct tb_postulate *postulate, char out[32])
{
    const json_t *entry = tb_store_last(filed, "postulate", "id", postulate->id, NULL);
    if (tb_store_otherwise(filed, postulate->id, postulate->sha256))
        snprintf(out, 32, "EDITED since");
    else
        tb_text_clean(entry ? tb_member_text(entry, "time") : "no", true, out, 11);
}

static void list_text(const struct tb_postulate *postulate, const struct tb_store *filed)
{
    char when[32];
    filed_text(filed, postulate, when);
    printf("%-6s  %-12s  %-10s  %11u  %s\n", postulate->id, when, tb_experiment_find(postulate->id) ? "yes" : "no",
           postulate->predictions_count, postulate->title);
}

static int list_json(json_t *array, const struct tb_postulate *postulate, const struct tb_store *filed)
{
    const json_t *entry = tb_store_last(filed, "postulate", "id", postulate->id, NULL);
    json_t *predictions = json_array();
    char text[160];
    for (uint32_t i = 0; i < postulate->predictions_count; i++) {
        const struct tb_prediction *prediction = &postulate->predictions[i];
        json_array_append_new(predictions, json_pack("{s:s, s:s, s:s}", "id", prediction->id, "cell", prediction->cell, "text",
                                                     tb_prediction_text(prediction, text, sizeof text)));
    }
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:s?, s:b, s:o}", "id", postulate->id, "slug", postulate->slug, "title",
                  postulate->title, "path", postulate->path, "sha256", postulate->sha256, "experiment",
                  tb_experiment_find(postulate->id) != NULL, "filed", entry ? tb_member_text(entry, "time") : NULL, "edited",
                  tb_store_otherwise(filed, postulate->id, postulate->sha256) != NULL, "predictions", predictions);
    return json_array_append_new(array, object);
}

static int dump(json_t *array)
{
    json_t *whole = tb_headed(tb_head("postulates"), json_pack("{s:O}", "postulates", array));
    int failed = !whole;
    if (failed)
        tb_error("out of memory");
    else if (!json_dumpf(whole, stdout, JSON_INDENT(2)))
        putchar('\n');
    json_decref(whole);
    return failed;
}

int tb_postulate_list(bool json)
{
    struct tb_store filed = {0};
    char **names = NULL;
    json_t *array = json_array();
    int status = tb_postulate_filed(&filed), count = tb_postulate_names(&names), failed = 0;
    if (count > 0 && !json)
        printf("number  filed         experiment  predictions  title\n");
    for (int i = 0; i < count; i++) {
        struct tb_postulate *postulate = NULL;
        struct tb_postulate_why why;
        if (tb_postulate_load(names[i], &postulate, &why)) {
            tb_error("%s", why.text);
            status = TB_EXIT_FAILED;
        } else if (json) {
            failed |= list_json(array, postulate, &filed);
        } else {
            list_text(postulate, &filed);
        }
        tb_postulate_close(postulate);
    }
    if (count == 0 && !json)
        printf("No postulate yet: locus postulate new SLUG writes the first.\n");
    if (json && count >= 0 && !failed)
        failed = dump(array);
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
    json_decref(array);
    tb_store_close(&filed);
    return count < 0 || failed ? TB_EXIT_FAILED : status;
}

// --- show ---

static void show_list(const char *what, const char list[][64], uint32_t count)
{
    char joined[TB_LIST_MAX * 66 + 8] = "none";
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s", i ? ", " : "", list[i]);
    printf("%-12s", what);
    tb_text_wrap(stdout, 80, 12, 12, joined);
}

static void show_arms(const struct tb_postulate *postulate)
{
    for (uint32_t i = 0; i < postulate->arms_count; i++) {
        const char *twin = "";
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(postulate->arms[i].name, postulate->arms[j].name) == 0)
                twin = "  (A/A control)";
        printf("%-12s%-3s %s%s\n", i ? "" : "arms", postulate->arms[i].key, postulate->arms[i].name, twin);
    }
}

static void show_predictions(const struct tb_postulate *postulate)
{
    char text[160];
    for (uint32_t i = 0; i < postulate->predictions_count; i++) {
        const struct tb_prediction *prediction = &postulate->predictions[i];
        printf("%-12s%-4s %s, in %s", i ? "" : "predictions", prediction->id, tb_prediction_text(prediction, text, sizeof text),
               prediction->cell);
        if (prediction->stat != TB_STAT_MAX && prediction->stat != TB_STAT_MIN)
            printf(", at %.6g %%", 100 * prediction->confidence);
        if (prediction->margin > 0)
            printf(", no difference within %.6g %%", 100 * prediction->margin);
        putchar('\n');
    }
}

int tb_postulate_show(const char *number)
{
    struct tb_postulate *postulate = NULL;
    struct tb_store filed = {0};
    char when[32];
    int status = tb_postulate_open(number, &postulate);
    if (status)
        return status;
    status = tb_postulate_filed(&filed);
    filed_text(&filed, postulate, when);
    printf("%s  %s\n\n", postulate->id, postulate->title);
    printf("%-12s%s\n%-12s%s\n%-12s%s\n", "file", postulate->path, "sha256", postulate->sha256, "filed", when);
    if (postulate->reproduces[0])
        printf("%-12s%s of the LOCUS paper\n", "reproduces", postulate->reproduces);
    if (postulate->supersedes[0])
        printf("%-12s%s\n", "supersedes", postulate->supersedes);
    show_list("needs", (const char(*)[64])postulate->requires_, postulate->requires_count);
    show_arms(postulate);
    show_list("cells", (const char(*)[64])postulate->cells, postulate->cells_count);
    printf("%-12s%llu rounds of %llu laps, %s dispatch, %llu worker%s, blocks of %llu bytes, seed %llu\n", "design",
           (unsigned long long)postulate->rounds, (unsigned long long)postulate->laps, postulate->dispatch,
           (unsigned long long)postulate->workers, postulate->workers == 1 ? "" : "s", (unsigned long long)postulate->block_bytes,
           (unsigned long long)postulate->seed);
    show_predictions(postulate);
    show_list("gates", (const char(*)[64])postulate->gates, postulate->gates_count);
    printf("\nKnown before\n%s%s%s", postulate->prior, postulate->prior[strlen(postulate->prior) - 1] == '\n' ? "" : "\n",
           postulate->body);
    tb_postulate_close(postulate);
    tb_store_close(&filed);
    return status;
}
