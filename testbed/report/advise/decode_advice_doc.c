// SPDX-License-Identifier: Apache-2.0
//
// decode_advice_doc: what a model's KV cache should use, in a sentence, and a table for each question.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/judge/decoded.h"
#include "testbed/report/advise/decode_advice.h"
#include "testbed/report/board/board.h"
#include "testbed/report/recommend.h"

static const struct {
    const char *key, *title, *about;
} asked[] = {
    [TB_DECODE_BLOCK] = {"blocks", "block size", "how large blocks are"},
    [TB_DECODE_LAYOUT] = {"layouts", "layout", "how K and V lie in blocks"},
    [TB_DECODE_PAGE] = {"pages", "pages", "how large pages are"},
    [TB_DECODE_ORDER] = {"orders", "order of blocks", "in which order blocks leave"},
    [TB_DECODE_ALLOCATOR] = {"allocators", "allocator", "who allocates"},
};

static const struct tb_cell *cell_of(const struct tb_decode_advice *advice, const struct tb_decode_choice *choice)
{
    return &advice->rounds->cells[choice->cell];
}

// --- the answer ----------------------------------------------------------------------------------------------------------------

// "312 tokens/s [305, 318], 0.93 [0.92, 0.94] of what this machine reads (locus@stream)"
static void say_speed(const struct tb_decode_advice *advice, struct tb_words *words)
{
    const struct tb_ratio *tokens = &advice->use.tokens_per_s, *part = &advice->of_floor;
    char estimate[16], low[16], high[16];
    tb_say(words, "%s tokens/s", tb_text_number(estimate, tokens->estimate));
    if (tokens->bounded)
        tb_say(words, " [%s, %s]", tb_text_number(low, tokens->low), tb_text_number(high, tokens->high));
    if (advice->floor < 0)
        return;
    tb_say(words, ", %.2f", part->estimate);
    if (part->bounded)
        tb_say(words, " [%.2f, %.2f]", part->low, part->high);
    tb_say(words, " of what this machine reads (%s)", advice->rounds->arms[advice->floor].label);
}

// "blocks of 128 tokens, layout runs, 2 MiB pages, last in first out (locus)"
static void say_choice(const struct tb_decode_advice *advice, struct tb_words *words)
{
    const struct tb_decode_choice *use = &advice->use;
    const struct tb_arm *arm = &advice->rounds->arms[use->arm];
    const char *pages = tb_decode_words(arm, TB_DECODE_PAGE), *order = tb_decode_words(arm, TB_DECODE_ORDER);
    char name[128];
    tb_text_arm(&use->row, name, sizeof name);
    tb_say(words, "blocks of %" PRIu32 " tokens, layout %s, ", cell_of(advice, use)->schedule->block_tokens,
           cell_of(advice, use)->decode.layout);
    if (pages && order)
        tb_say(words, "%s, %s (%s)", pages, order, name);
    else
        tb_say(words, "%s", name);
}

static void say_use(const struct tb_decode_advice *advice, struct tb_words *words)
{
    bool valid = false;
    for (uint32_t i = 0; i < advice->questions[TB_DECODE_BLOCK].count; i++)
        valid |= advice->questions[TB_DECODE_BLOCK].choices[i].row.valid;
    if (!advice->alike)
        tb_say(words, "The cells of this run do not decode the same tokens: nothing can be compared, and there is no advice.");
    else if (!advice->any)
        tb_say(words, valid ? "Too noisy to tell what to use: end what else runs here, and measure again."
                            : "There is nothing valid to choose from, and so no advice.");
    if (!advice->alike || !advice->any)
        return;
    struct tb_words choice = {0}, speed = {0};
    struct tb_recommend recommend = {.names = {choice.text}, .count = 1, .few = advice->few, .because = speed.text};
    say_choice(advice, &choice);
    say_speed(advice, &speed);
    tb_say_recommend(words, &recommend);
}

static uint32_t with(const struct tb_decode_choices *all, enum tb_advise_cost cost)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++)
        count += all->choices[i].cost == cost;
    return count;
}

// " It makes no difference how large pages are, or who allocates." The questions whose other choices all came to that.
static void say_alike(const struct tb_decode_advice *advice, enum tb_advise_cost cost, const char *before, const char *after,
                      struct tb_words *words)
{
    uint32_t count = 0;
    for (int q = 0; q < TB_DECODE_QUESTIONS; q++) {
        const struct tb_decode_choices *all = &advice->questions[q];
        uint32_t same = with(all, TB_ADVISE_SAME), untold = with(all, TB_ADVISE_UNTOLD), others = all->count - 1;
        if (all->count < 2 || all->use < 0 || same + untold != others || (cost == TB_ADVISE_SAME ? untold > 0 : untold == 0))
            continue;
        tb_say(words, "%s%s", count++ ? ", or " : before, asked[q].about);
    }
    tb_say(words, "%s", count ? after : "");
}

// A layout that won at one block size may do better at another, which was not tried.
static void say_untried(const struct tb_decode_advice *advice, struct tb_words *words)
{
    const struct tb_decode_choices *blocks = &advice->questions[TB_DECODE_BLOCK];
    const char *layout = cell_of(advice, &advice->use)->decode.layout;
    if (strcmp(layout, advice->rounds->cells[0].decode.layout) != 0 && blocks->use > 0)
        tb_say(words, " Layout %s was tried at one block size only: --layouts %s tries all of them.", layout, layout);
}

static void put_answer(struct tb_doc *doc, const struct tb_decode_advice *advice)
{
    struct tb_words words = {0};
    say_use(advice, &words);
    if (advice->any && !advice->few) {
        say_alike(advice, TB_ADVISE_SAME, " It makes no difference ", ".", &words);
        say_alike(advice, TB_ADVISE_UNTOLD, " This run cannot tell whether it matters ", " (more --rounds, or a quieter machine).",
                  &words);
        say_untried(advice, &words);
    }
    tb_doc_answer(doc, "answer", "%s", words.text);
}

// --- a question ----------------------------------------------------------------------------------------------------------------

static void name_of(const struct tb_decode_advice *advice, enum tb_decode_question question, const struct tb_decode_choice *choice,
                    char *out, size_t bytes)
{
    const struct tb_cell *cell = cell_of(advice, choice);
    const char *words = tb_decode_words(choice->row.arm, question);
    char name[128];
    tb_text_arm(&choice->row, name, sizeof name);
    if (question == TB_DECODE_BLOCK)
        snprintf(out, bytes, "%" PRIu32 " tokens", cell->schedule->block_tokens);
    else if (question == TB_DECODE_LAYOUT)
        snprintf(out, bytes, "%s, %" PRIu32 " tokens", cell->decode.layout, cell->schedule->block_tokens);
    else if (words)
        snprintf(out, bytes, "%s (%s)", words, name);
    else
        snprintf(out, bytes, "%s", name);
}

static struct tb_value verdict(const struct tb_decode_choice *choice, bool program)
{
    static const struct {
        const char *word, *title;
        enum tb_tone tone;
    } costs[] = {
        [TB_ADVISE_USED] = {"used", "the choice", TB_TONE_OURS},
        [TB_ADVISE_SLOWER] = {"slower", "slower", TB_TONE_BAD},
        [TB_ADVISE_FASTER] = {"faster", "faster", TB_TONE_GOOD},
        [TB_ADVISE_SAME] = {"no-difference", "no difference", TB_TONE_PLAIN},
        [TB_ADVISE_UNTOLD] = {"untold", "cannot tell", TB_TONE_OPEN},
        [TB_ADVISE_UNBOUNDED] = {"too-few-rounds", "too few rounds", TB_TONE_OPEN},
    };
    if (program)
        return costs[choice->cost].word ? tb_text_value(costs[choice->cost].word) : tb_none(NULL);
    if (!choice->row.valid)
        return tb_toned(tb_none("INVALID"), TB_TONE_POOR);
    if (choice->row.noise && choice->cost != TB_ADVISE_USED && choice->cost != TB_ADVISE_UNBOUNDED)
        return tb_toned(tb_none("cannot tell: noisy"), TB_TONE_OPEN);
    return tb_toned(tb_text_value(costs[choice->cost].title), costs[choice->cost].tone);
}

static struct tb_value interval(const struct tb_ratio *ratio)
{
    return ratio->n ? tb_interval(ratio) : tb_none(NULL);
}

static json_t *interval_json(const struct tb_ratio *ratio)
{
    const struct tb_json_member members[] = {
        {"estimate", tb_json_number(ratio->n ? ratio->estimate : NAN)},
        {"low", tb_json_number(ratio->bounded ? ratio->low : NAN)},
        {"high", tb_json_number(ratio->bounded ? ratio->high : NAN)},
        {"confidence", tb_json_number(ratio->bounded ? ratio->confidence : NAN)},
    };
    return TB_JSON_OBJECT(members);
}

static const struct tb_column columns_after_name[] = {
    {NULL, "\ntokens/s", TB_AS_IS, false},
    {NULL, "of the\nchoice", TB_AS_RATIO, true},
    {NULL, "\nit is", TB_AS_IS, false},
    {"cell", NULL, TB_AS_IS, false},
    {"name", NULL, TB_AS_IS, false},
    {"version", NULL, TB_AS_IS, false},
    {"block_tokens", NULL, TB_AS_IS, false},
    {"layout", NULL, TB_AS_IS, false},
    {"valid", NULL, TB_AS_IS, false},
    {"invalid", NULL, TB_AS_IS, false},
    {"verdict", NULL, TB_AS_IS, false},
    {"tokens_per_s", NULL, TB_AS_IS, false},
    {"of_the_one_to_use", NULL, TB_AS_IS, false},
    {"median_ns", NULL, TB_AS_TIME, false},
    {"samples_ns", NULL, TB_AS_TIME, false},
};

static void put_choice(struct tb_table *table, const struct tb_decode_advice *advice, enum tb_decode_question question,
                       const struct tb_decode_choice *choice)
{
    const struct tb_rounds *rounds = advice->rounds;
    const struct tb_row *row = &choice->row;
    double *ns = row->valid ? tb_times(rounds, choice->cell, choice->arm, TB_LAP) : NULL;
    char name[192];
    name_of(advice, question, choice, name, sizeof name);
    tb_table_row(table, choice->cost == TB_ADVISE_USED ? TB_ROW_OURS : TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(name));
    tb_table_put(table, interval(&choice->tokens_per_s));
    tb_table_put(table, interval(&choice->speed));
    tb_table_put(table, verdict(choice, false));
    tb_table_put(table, tb_text_value(cell_of(advice, choice)->name));
    tb_table_put(table, tb_text_value(row->arm->label));
    tb_table_put(table, *row->version ? tb_text_value(row->version) : tb_none(NULL));
    tb_table_put(table, tb_count(cell_of(advice, choice)->schedule->block_tokens));
    tb_table_put(table, tb_text_value(cell_of(advice, choice)->decode.layout));
    tb_table_put(table, tb_flag(row->valid));
    tb_table_put(table, *row->invalid ? tb_text_value(row->invalid) : tb_none(NULL));
    tb_table_put(table, verdict(choice, true));
    tb_table_put(table, tb_json_value(interval_json(&choice->tokens_per_s)));
    tb_table_put(table, tb_json_value(interval_json(&choice->speed)));
    tb_table_put(table, tb_number(row->valid ? row->ns_median : (double)NAN));
    tb_table_put(table, ns ? tb_samples(ns, rounds->count) : tb_none(NULL));
    free(ns);
}

static void put_question(struct tb_doc *doc, const struct tb_decode_advice *advice, enum tb_decode_question question)
{
    enum { AFTER = sizeof columns_after_name / sizeof *columns_after_name };
    const struct tb_decode_choices *all = &advice->questions[question];
    struct tb_column columns[AFTER + 2] = {{NULL, asked[question].title, TB_AS_IS, false}};
    memcpy(columns + 1, columns_after_name, sizeof columns_after_name);
    if (all->count < 2)
        return;
    struct tb_table *table = tb_doc_table(doc, asked[question].key, NULL, columns);
    for (const struct tb_decode_choice *choice = all->choices; choice < all->choices + all->count; choice++)
        put_choice(table, advice, question, choice);
    if (question == TB_DECODE_BLOCK)
        tb_table_note(table, "In layout %s.", cell_of(advice, all->choices)->decode.layout);
    if (question == TB_DECODE_PAGE)
        tb_table_note(table, "This table and those below: in blocks of %" PRIu32 " tokens, layout %s.",
                      cell_of(advice, all->choices)->schedule->block_tokens, cell_of(advice, all->choices)->decode.layout);
}

// --- the document --------------------------------------------------------------------------------------------------------------

// What was run, and how.
static void put_run(struct tb_doc *doc, const struct tb_decode_advice *advice)
{
    const struct tb_rounds *rounds = advice->rounds;
    const struct tb_cell *cell = &rounds->cells[0];
    const struct tb_decode_sample *by = tb_decoded_by(rounds, 0);
    char how[192];
    tb_text_settings(rounds, how, sizeof how);
    tb_doc_say(doc, NULL, "%s. Attention: %s%s%" PRIu32 " thread%s; %s.", advice->workload, by ? by->kernel : "", by ? ", " : "",
               cell->decode.threads, cell->decode.threads == 1 ? "" : "s", how);
    tb_doc_fact(doc, "workload", NULL, TB_AS_IS, tb_text_value(cell->schedule->name));
    tb_doc_fact(doc, "shape", NULL, TB_AS_IS, tb_text_value(cell->decode.shape));
    tb_doc_fact(doc, "dtype", NULL, TB_AS_IS, tb_text_value(tb_dtype_name(cell->decode.dtype)));
    tb_doc_fact(doc, "cpus", NULL, TB_AS_IS, tb_count(cell->decode.threads));
    tb_doc_fact(doc, "kernel", NULL, TB_AS_IS, tb_text_value(by ? by->kernel : NULL));
    tb_doc_fact(doc, "dispatch", NULL, TB_AS_IS, tb_text_value(tb_dispatch_name(rounds->dispatch)));
    tb_doc_fact(doc, "decoded_tokens", NULL, TB_AS_IS, tb_count(cell->schedule->decoded_tokens));
    tb_doc_fact(doc, "rounds", NULL, TB_AS_IS, tb_count(rounds->count));
    tb_doc_fact(doc, "seed", NULL, TB_AS_IS, tb_count(rounds->seed));
}

static void put_use(struct tb_doc *doc, const struct tb_decode_advice *advice)
{
    const struct tb_decode_choice *use = &advice->use;
    if (!advice->any) {
        tb_doc_json(doc, "use", json_null());
        return;
    }
    const struct tb_json_member members[] = {
        {"block_tokens", tb_json_whole(cell_of(advice, use)->schedule->block_tokens)},
        {"layout", json_string(cell_of(advice, use)->decode.layout)},
        {"name", tb_json_clean(use->row.arm->label)},
        {"tokens_per_s", interval_json(&use->tokens_per_s)},
        {"floor", advice->floor < 0 ? json_null() : tb_json_clean(advice->rounds->arms[advice->floor].label)},
        {"of_floor", advice->floor < 0 ? json_null() : interval_json(&advice->of_floor)},
    };
    double resolution = tb_rounds_resolution(advice->rounds, use->cell);
    tb_doc_json(doc, "use", TB_JSON_OBJECT(members));
    tb_doc_fact(doc, "resolution", NULL, TB_AS_SHARE, tb_number(resolution < 0 ? (double)NAN : resolution));
}

struct tb_doc *tb_decode_advice_doc(json_t *head, const struct tb_decode_advice *advice)
{
    struct tb_doc *doc = tb_doc_open(head);
    if (!doc)
        return NULL;
    tb_doc_fact(doc, "command", NULL, TB_AS_IS, tb_text_value("advise"));
    put_answer(doc, advice);
    put_use(doc, advice);
    tb_doc_heading(doc, 2, NULL, NULL);
    put_run(doc, advice);
    for (int question = 0; question < TB_DECODE_QUESTIONS; question++)
        put_question(doc, advice, (enum tb_decode_question)question);
    tb_doc_heading(doc, 2, NULL, NULL);
    if (advice->rounds->unfit)
        tb_doc_say(doc, NULL, "%s", advice->rounds->unfit);
    tb_board_put_caveats(doc, advice->rounds);
    return doc;
}
