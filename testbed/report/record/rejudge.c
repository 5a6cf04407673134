// SPDX-License-Identifier: Apache-2.0
//
// rejudge: see rejudge.h. The samples are those of the log, the claims those of the postulate; a log of before has no looks, so its
// rounds are one look, at full confidence.
#include "testbed/report/record/rejudge.h"

#include <string.h>

#include "testbed/base/json.h"
#include "testbed/host/head.h"
#include "testbed/judge/shown.h"
#include "testbed/judge/verdict.h"
#include "testbed/postulate/postulate.h"
#include "testbed/report/page/page.h"

struct counts {
    size_t runs, predictions, open, decided, unlike, passed_over;
};

static void put_prediction(struct tb_table *table, const struct tb_store_run *run, const json_t *old, const json_t *new,
                           struct counts *counts)
{
    const char *before = tb_member_text(old, "verdict"), *after = tb_member_text(new, "verdict");
    bool open = strncmp(before, "inconclusive", 12) == 0, still = strncmp(after, "inconclusive", 12) == 0;
    const char *why = tb_member_text(new, "why");
    counts->predictions++;
    counts->open += open;
    counts->decided += open && !still;
    counts->unlike += !open && strcmp(before, after) != 0;
    if (!open && strcmp(before, after) == 0)
        return;
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value(run->host->name), tb_text_value(run->run), tb_member_value(old, "id"),
                 tb_member_value(old, "text"), tb_verdict_value(before), tb_verdict_value(after),
                 tb_observed(run->view.header, new), *why ? tb_text_value(why) : tb_none(NULL));
}

// The postulate of a run as it was filed, to be judged by the second rules. NULL: it is not at hand.
static struct tb_postulate *postulate_of(const struct tb_store_run *run)
{
    const json_t *of = tb_member(run->view.header, "postulate");
    struct tb_postulate *postulate = NULL;
    struct tb_postulate_why why;
    if (tb_postulate_load(tb_member_text(of, "path"), &postulate, &why))
        return NULL;
    if (strcmp(postulate->sha256, tb_member_text(of, "sha256")) == 0) {
        postulate->rules = 2;
        return postulate;
    }
    tb_postulate_close(postulate);
    return NULL;
}

static void put_run(struct tb_table *table, const struct tb_store_run *run, struct counts *counts)
{
    struct tb_postulate *postulate = postulate_of(run);
    const json_t *old = tb_member(run->view.summary, "predictions"), *prediction;
    json_t *summary = NULL;
    size_t i;
    if (!postulate || tb_verdict_summary(&run->view, postulate, &summary)) {
        counts->passed_over++;
    } else {
        counts->runs++;
        json_array_foreach (old, i, prediction)
            put_prediction(table, run, prediction, json_array_get(tb_member(summary, "predictions"), i), counts);
    }
    json_decref(summary);
    tb_postulate_close(postulate);
}

struct tb_doc *tb_rejudge_doc(const struct tb_store *store)
{
    struct tb_doc *doc = tb_doc_open(tb_head("rejudge"));
    struct counts counts = {0};
    if (!doc)
        return NULL;
    struct tb_table *table =
        tb_doc_grid(doc, "predictions", NULL,
                    "host=host|run=run|id=id|claim=claim|sealed=as sealed|rules_2=by rules 2|seen=seen|why=why");
    for (size_t i = 0; i < store->runs_count; i++) {
        const struct tb_store_run *run = &store->runs[i];
        bool official = strcmp(tb_member_text(run->view.header, "kind"), "official") == 0;
        if (run->state == TB_RUN_WHOLE && (official || store->runs_count == 1))
            put_run(table, run, &counts);
    }
    tb_doc_answer(
        doc, "answer",
        "Of %zu predictions in %zu runs %zu were open by the rules that they were sealed with; %zu of these are decided by "
        "rules 2. %zu that were decided have another word now. The sealed verdicts stay.",
        counts.predictions, counts.runs, counts.open, counts.decided, counts.unlike);
    if (counts.passed_over)
        tb_doc_say(doc, "passed_over", "%zu runs were passed over: their postulates are not here as they were filed.",
                   counts.passed_over);
    return doc;
}
