// SPDX-License-Identifier: Apache-2.0
//
// postulate_fuzz: libFuzzer on the reader of postulates. A text is taken as a whole, and then all that others rely on holds; or it
// is refused in one line with its place. The rest is the sanitizers' to find; abort() makes a broken promise one.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/postulate/postulate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void hold(bool truth)
{
    if (!truth)
        abort();
}

static void hold_prediction(const struct tb_postulate *postulate, const struct tb_prediction *prediction)
{
    char text[160];
    uint32_t covered = 0, compared = 0;
    bool order = prediction->stat == TB_STAT_ORDER;
    bool ratio = order || prediction->stat == TB_STAT_HL_RATIO || prediction->stat == TB_STAT_MEDIAN_RATIO;
    hold(strlen(tb_prediction_text(prediction, text, sizeof text)) < sizeof text - 1 && !strchr(text, '\n'));
    for (uint32_t i = 0; i < postulate->cells_count; i++)
        covered += tb_prediction_covers(prediction, postulate->cells[i]);
    for (uint32_t i = 0; i < postulate->arms_count; i++)
        compared += ratio && tb_prediction_compares(postulate, prediction, i);
    hold(covered > 0 && (!ratio || compared > 0) && ratio == (prediction->arm[0] == '\0'));
    hold(!order || (compared == prediction->order_count - 1 && prediction->low >= 1));
    hold(prediction->line > 1 && prediction->low <= prediction->high && prediction->low >= 0);
    hold(prediction->confidence >= 0.5 && prediction->confidence < 1 && prediction->margin >= 0 && prediction->margin < 1);
}

static void hold_postulate(const struct tb_postulate *postulate)
{
    hold(strcmp(postulate->id, "0001") == 0 && strcmp(postulate->slug, "fuzz") == 0 && strlen(postulate->sha256) == 64);
    hold(postulate->title[0] && postulate->prior && postulate->body && postulate->rounds > 0 && postulate->dispatch[0]);
    hold(postulate->predictions_count > 0);
    for (uint32_t i = 0; i < postulate->predictions_count; i++)
        hold_prediction(postulate, &postulate->predictions[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char beginning[] = "postulates/0001-fuzz.md:";
    struct tb_postulate *postulate = NULL;
    struct tb_postulate_why why;
    int rc = tb_postulate_parse("postulates/0001-fuzz.md", (const char *)data, bytes, &postulate, &why);
    hold((rc == 0) == (postulate != NULL) && (rc == 0 || rc == -EINVAL));
    hold((rc == 0) == (why.text[0] == '\0') && !strchr(why.text, '\n'));
    hold(rc == 0 || strncmp(why.text, beginning, strlen(beginning)) == 0);
    if (postulate)
        hold_postulate(postulate);
    tb_postulate_close(postulate);
    return 0;
}
