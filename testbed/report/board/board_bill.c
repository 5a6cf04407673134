// SPDX-License-Identifier: Apache-2.0
//
// board_bill: the bill of a step (judge/bill.h) below the table of its cell, and as JSON.
//
// Each line has its time and its share of the step, both with their intervals. Where an interval holds 0, the share's place has
// these words: that of a part that cannot be told from 0 is no figure. What the parts add up to stands below them, and whether
// that is the step. What was counted has a table of its own, with a column for each counter that NAME has in every round.
#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/bill.h"
#include "testbed/report/board/board.h"

static const struct tb_column columns[] = {{NULL, "part", TB_AS_IS, false},
                                           {NULL, "of a step\n", TB_AS_TIME, true},
                                           {NULL, "of it\n", TB_AS_SHARE, true},
                                           {NULL, NULL, TB_AS_IS, false}};

static const char *const titles[] = {
    [TB_BILL_ATTENTION] = "attention",
    [TB_BILL_APPEND] = "append",
    [TB_BILL_ALLOCATOR] = "allocator",
    [TB_BILL_ALLOCATE] = "of it: allocate",
    [TB_BILL_FREE] = "of it: free",
    [TB_BILL_DRAIN] = "of it: drain",
    [TB_BILL_HARNESS] = "harness",
    [TB_BILL_SUM] = "sum of the parts",
    [TB_BILL_WHOLE] = "the step",
    [TB_BILL_SMALL_PAGES] = "pages of 4 KiB add",
    [TB_BILL_FIRST_TOUCH] = "first touches add",
};

static void put_line(struct tb_table *table, const struct tb_bill *bill, enum tb_bill_line line)
{
    const struct tb_bill_figure *figure = &bill->line[line];
    bool aside = line >= TB_BILL_SUM, told = tb_bill_told(figure);
    if (!figure->known)
        return;
    if (line == TB_BILL_SUM || line == TB_BILL_SMALL_PAGES ||
        (line == TB_BILL_FIRST_TOUCH && !bill->line[TB_BILL_SMALL_PAGES].known))
        tb_table_gap(table);
    tb_table_row(table, aside ? TB_ROW_ASIDE : TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(titles[line]));
    tb_table_put(table, tb_interval(&figure->ns));
    tb_table_put(table, told || !figure->ns.bounded ? tb_interval(&figure->share) : tb_none("cannot be told from 0"));
}

// A difference of counts may well be 0 in every round.
static struct tb_value count_value(const struct tb_ratio *count)
{
    if (count->bounded && count->low <= 0 && count->high >= 0 && count->low < count->high)
        return tb_none("cannot be told from 0");
    return tb_interval(count);
}

static void put_counts(struct tb_doc *doc, const struct tb_bill *bill)
{
    static const char *const heads[] = {
        [TB_BILL_CYCLES] = "cycles", [TB_BILL_TLB_MISSES] = "TLB misses", [TB_BILL_PAGE_FAULTS] = "page faults"};
    const bool *counted = bill->line[TB_BILL_WHOLE].counted;
    struct tb_column of[TB_BILL_COUNTS + 2] = {{NULL, "counted, of a step", TB_AS_IS, false}};
    size_t used = 1;
    for (int c = 0; c < TB_BILL_COUNTS; c++)
        if (counted[c])
            of[used++] = (struct tb_column){NULL, heads[c], TB_AS_IS, false};
    if (used == 1)
        return;
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, of);
    for (int line = 0; line < TB_BILL_LINES; line++) {
        const struct tb_bill_figure *figure = &bill->line[line];
        if (!figure->known)
            continue;
        tb_table_row(table, line >= TB_BILL_SUM ? TB_ROW_ASIDE : TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(titles[line]));
        for (int c = 0; c < TB_BILL_COUNTS; c++)
            if (counted[c])
                tb_table_put(table, figure->counted[c] ? count_value(&figure->count[c]) : tb_none(NULL));
    }
    tb_table_note(table, "Of all threads, also while they wait.");
    if (bill->user_only)
        tb_table_note(table, "Cycles are those of user mode: what the kernel does at a first touch, say, is not among them.");
}

// What was read, what is not part of it, and what keeps it from being relied on.
static void note_how(struct tb_table *table, const struct tb_rounds *rounds, uint32_t arm, const struct tb_bill *bill)
{
    char name[sizeof rounds->arms->label], why[256];
    tb_text_clean(rounds->arms[arm].label, true, name, sizeof name);
    if (bill->line[TB_BILL_SMALL_PAGES].known)
        tb_table_note(table, "What pages of 4 KiB add (locus-4k) is no part of the step: locus has transparent huge ones.");
    if (bill->line[TB_BILL_FIRST_TOUCH].known)
        tb_table_note(table,
                      "First touches are none of it, either: the pool has all its pages, and those of %s@first-touch are gone "
                      "when a lap begins.",
                      name);
    if (bill->line[TB_BILL_FREE].known && !bill->line[TB_BILL_DRAIN].known)
        tb_table_note(table, "No arm is without drains alone: what they cost, if there are any, is in what it costs to free.");
    if (bill->noisy >= 0) {
        tb_text_clean(rounds->arms[bill->noisy].label, true, name, sizeof name);
        tb_table_note(table, "%s is noisy: these figures might not hold on a quieter machine.", name);
    }
    if (bill->uncounted) {
        tb_text_clean(bill->uncounted, false, why, sizeof why);
        tb_table_note(table, "No cycles were counted: %s.", why);
    }
}

static void note_sum(struct tb_table *table, const struct tb_bill *bill)
{
    const struct tb_ratio *share = &bill->line[TB_BILL_SUM].share;
    char sum[16], low[16], high[16], off[16];
    enum tb_bill_closing closing = tb_bill_closing(bill);
    if (!bill->line[TB_BILL_SUM].known)
        return;
    tb_text_number(sum, 100 * share->estimate);
    tb_text_number(low, 100 * share->low);
    tb_text_number(high, 100 * share->high);
    tb_text_number(off, 100 * fabs(share->estimate - 1));
    if (!share->bounded)
        tb_table_note(table, "The parts are %s %% of the step; the rounds are too few for an interval.", sum);
    else if (closing == TB_BILL_CLOSES)
        tb_table_note(table, "The parts are %s %% of the step [%s, %s]: the bill closes within %g %%.", sum, low, high,
                      100 * TB_BILL_GAP_MAX);
    else if (closing == TB_BILL_MISSES)
        tb_table_note(table, "The parts are %s %% of the step [%s, %s]: the bill does not close, by %s %%.", sum, low, high, off);
    else
        tb_table_note(table, "The parts are %s %% of the step [%s, %s]: whether the bill closes within %g %% cannot be told.", sum,
                      low, high, 100 * TB_BILL_GAP_MAX);
}

static void put_bill(struct tb_doc *doc, const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, const struct tb_bill *bill)
{
    struct tb_words title = {0};
    char where[128], name[sizeof rounds->arms->label];
    tb_text_cell(rounds, cell, where, sizeof where);
    tb_say(&title, "The bill of a step: ");
    tb_say_arm(&title, &rounds->arms[arm]);
    tb_say(&title, ", %s", where);
    if (bill->invalid >= 0) {
        tb_text_clean(rounds->arms[bill->invalid].label, true, name, sizeof name);
        tb_doc_say(doc, NULL, "%s: there is none, as %s is INVALID.", title.text, name);
        return;
    }
    struct tb_table *table = tb_doc_table(doc, NULL, title.text, columns);
    for (int line = 0; line < TB_BILL_LINES; line++)
        put_line(table, bill, (enum tb_bill_line)line);
    note_sum(table, bill);
    note_how(table, rounds, arm, bill);
    put_counts(doc, bill);
}

void tb_board_put_bills(struct tb_doc *doc, const struct tb_rounds *rounds, uint32_t cell)
{
    struct tb_bill bill;
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        if (tb_bill(rounds, cell, arm, &bill))
            put_bill(doc, rounds, cell, arm, &bill);
}

// --- for programs --------------------------------------------------------------------------------------------------------------

static json_t *figure_json(const struct tb_bill_figure *figure)
{
    if (!figure->known)
        return json_null();
    struct tb_json_member members[3 + TB_BILL_COUNTS] = {
        {"ns", tb_json_ratio(&figure->ns)},
        {"share", tb_json_ratio(&figure->share)},
        {"told", json_boolean(tb_bill_told(figure))},
    };
    for (int c = 0; c < TB_BILL_COUNTS; c++)
        members[3 + c] = (struct tb_json_member){tb_bill_counter((enum tb_bill_count)c),
                                                 figure->counted[c] ? tb_json_ratio(&figure->count[c]) : json_null()};
    return TB_JSON_OBJECT(members);
}

static json_t *bill_json(const struct tb_rounds *rounds, uint32_t arm, const struct tb_bill *bill)
{
    enum tb_bill_closing closing = tb_bill_closing(bill);
    struct tb_json_member members[TB_BILL_LINES + 5] = {
        {"arm", tb_json_clean(rounds->arms[arm].label)},
        {"closes", closing == TB_BILL_OPEN ? json_null() : json_boolean(closing == TB_BILL_CLOSES)},
        {"noisy", tb_json_clean(bill->noisy < 0 ? NULL : rounds->arms[bill->noisy].label)},
        {"invalid", tb_json_clean(bill->invalid < 0 ? NULL : rounds->arms[bill->invalid].label)},
        {"user_only", json_boolean(bill->user_only)},
    };
    for (int line = 0; line < TB_BILL_LINES; line++)
        members[5 + line] = (struct tb_json_member){tb_bill_word((enum tb_bill_line)line), figure_json(&bill->line[line])};
    return TB_JSON_OBJECT(members);
}

json_t *tb_board_bills_json(const struct tb_rounds *rounds, uint32_t cell)
{
    json_t *bills = json_array();
    struct tb_bill bill;
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        if (tb_bill(rounds, cell, arm, &bill))
            bills = tb_json_appended(bills, bill_json(rounds, arm, &bill));
    return bills;
}
