// SPDX-License-Identifier: Apache-2.0
//
// report_summary: the answer in plain words.
//
// The question is locus's: is it ahead, by how much, how far from the floor? A difference counts as one only when its interval
// excludes 1 and it is larger than what the A/A control of that cell shows between two runs of the very same thing; anything else
// is "no difference that this run could see", in whoever's favour the estimate lies. What is INVALID and what could not be
// seen is part of the answer.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "testbed/contender.h"
#include "testbed/report.h"
#include "testbed/report_text.h"

#define UNSEEN "no difference that this run could see"

enum { COLUMNS = 80 };

static const char *subject(struct tb_words *words)
{
    const char *name = words->named ? "It" : "locus";
    words->named = true;
    return name;
}

static void print_words(FILE *out, const struct tb_words *words)
{
    tb_text_wrap(out, COLUMNS, 0, 2, words->text);
}

struct range {
    uint32_t count;
    double low, high;
};

static void widen(struct range *range, double value)
{
    range->low = range->count > 0 ? fmin(range->low, value) : value;
    range->high = range->count > 0 ? fmax(range->high, value) : value;
    range->count++;
}

// "1.76 to 2.02 times", or "0.9 to 3.2 %" where "1.01 times" would say little; between the two, "1.004 to 1.76 times".
static void say_range(struct tb_words *words, const struct range *range)
{
    char low[16], high[16];
    if (range->high < 1.1) {
        snprintf(low, sizeof low, "%.1f", 100 * (range->low - 1));
        snprintf(high, sizeof high, "%.1f", 100 * (range->high - 1));
    } else {
        tb_text_ratio(low, range->low);
        tb_text_ratio(high, range->high);
        if (range->low < 1.1)
            snprintf(low, sizeof low, "%.3f", range->low);
    }
    tb_say(words, "%s%s%s %s", low, strcmp(low, high) ? " to " : "", strcmp(low, high) ? high : "",
           range->high < 1.1 ? "%" : "times");
}

// How locus stands to somebody over several workloads.
struct versus {
    struct range faster, slower;
    uint32_t unseen;
};

static void versus_add(struct versus *versus, const struct tb_ratio *times_faster, double resolution)
{
    int side = tb_visible(times_faster, resolution);
    if (side > 0)
        widen(&versus->faster, times_faster->estimate);
    else if (side < 0)
        widen(&versus->slower, 1 / times_faster->estimate);
    else
        versus->unseen++;
}

// " It is 1.76 to 2.02 times faster than mimalloc on 2 of 4 workloads, 1.10 times slower on 1; on 1 no difference that ..."
static void say_versus(struct tb_words *words, const struct versus *versus, const char *whom)
{
    const struct {
        const struct range *range;
        const char *how;
    } sides[] = {{&versus->faster, "faster"}, {&versus->slower, "slower"}};
    uint32_t total = versus->faster.count + versus->slower.count + versus->unseen;
    if (total == 0)
        return;
    if (versus->unseen == total) {
        tb_say(words, " Between locus and %s: " UNSEEN ".", whom);
        return;
    }
    bool begun = false;
    tb_say(words, " %s is ", subject(words));
    for (int s = 0; s < 2; s++) {
        const struct range *range = sides[s].range;
        if (range->count == 0)
            continue;
        tb_say(words, "%s", begun ? ", " : "");
        say_range(words, range);
        tb_say(words, " %s%s%s", sides[s].how, begun ? "" : " than ", begun ? "" : whom);
        if (range->count < total && begun)
            tb_say(words, " on %" PRIu32, range->count);
        else if (range->count < total)
            tb_say(words, " on %" PRIu32 " of %" PRIu32 " workloads", range->count, total);
        begun = true;
    }
    if (versus->unseen > 0)
        tb_say(words, "; on %" PRIu32 " " UNSEEN, versus->unseen);
    tb_say(words, ".");
}

static void say_floor(struct tb_words *words, const struct range *over)
{
    char low[16], high[16];
    if (over->count == 0)
        return;
    if (over->high < 1.25) {
        tb_say(words, " %s is within %.0f %% of the floor (the oracle).", subject(words),
               fmax(1, ceil(100 * (over->high - 1) - 1e-6)));
        return;
    }
    tb_text_ratio(low, over->low);
    tb_text_ratio(high, over->high);
    tb_say(words, " %s takes %s%s%s times as long as the floor (the oracle).", subject(words), low, strcmp(low, high) ? " to " : "",
           strcmp(low, high) ? high : "");
}

// The floor allocates nothing and a fault is there to lose: neither can lead.
static bool may_lead(const struct tb_board *board, uint32_t i)
{
    const struct tb_arm *arm = board->row[i].arm;
    return board->place[i] == TB_PLACE_RANKED && arm->fault == TB_FAULT_NONE && !arm->contender->floor;
}

struct leaders {
    uint32_t cells;                 // in which somebody leads
    uint32_t first[TB_ARMS_MAX];    // by arm: in how many of them
    uint32_t close;                 // in how many the lead over the next is none that could be seen
};

static void leaders_add(struct leaders *leaders, const struct tb_campaign *campaign, uint32_t cell, const struct tb_board *board)
{
    int places[2], found = 0;
    for (uint32_t i = 0; i < board->count && found < 2; i++)
        if (may_lead(board, i))
            places[found++] = (int)board->arm[i];
    if (found == 0)
        return;
    leaders->cells++;
    leaders->first[places[0]]++;
    struct tb_ratio lead;
    if (found == 2 && tb_pair_ratio(campaign, cell, places[1], TB_LAP, places[0], TB_LAP, &lead))
        leaders->close += tb_visible(&lead, tb_campaign_resolution(campaign, cell)) == 0;
}

static void say_arm(struct tb_words *words, const struct tb_arm *arm)
{
    char name[sizeof arm->label];
    tb_text_clean(arm->label, true, name, sizeof name);
    tb_say(words, "%s", name);
}

static void say_leaders(struct tb_words *words, const struct tb_campaign *campaign, const struct leaders *leaders)
{
    const char *before = "";
    if (leaders->cells == 0) {
        tb_say(words, "nobody is ahead: nothing valid to rank.");
        return;
    }
    for (uint32_t want = leaders->cells; want > 0; want--) {
        for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
            if (leaders->first[arm] != want)
                continue;
            tb_say(words, "%s", before);
            say_arm(words, &campaign->arms[arm]);
            if (leaders->cells == 1)
                tb_say(words, " is ahead");
            else if (*before)
                tb_say(words, " on %" PRIu32, want);
            else
                tb_say(words, " is ahead on %" PRIu32 " of %" PRIu32 " workloads", want, leaders->cells);
            before = ", ";
        }
    }
    int locus = tb_campaign_arm(campaign, "locus");
    if (locus >= 0 && leaders->first[locus] == 0)
        tb_say(words, "%s", leaders->cells == 1 ? ", locus is not" : ", locus on none");
    if (leaders->close > 0 && leaders->cells == 1)
        tb_say(words, "; over the next there is " UNSEEN);
    else if (leaders->close > 0)
        tb_say(words, "; on %" PRIu32 " of them the lead over the next is " UNSEEN, leaders->close);
    tb_say(words, ".");
}

struct tally {
    struct leaders leaders;
    struct versus base, best;
    struct range floor;
    uint32_t best_first[TB_ARMS_MAX]; // by arm: how often it is the best malloc
};

static void tally_add(struct tally *tally, const struct tb_campaign *campaign, uint32_t cell)
{
    struct tb_board board;
    struct tb_row locus;
    struct tb_ratio ratio;
    tb_board(campaign, cell, &board);
    leaders_add(&tally->leaders, campaign, cell, &board);
    int arm = tb_campaign_arm(campaign, "locus"), best = tb_best_malloc(campaign, cell);
    if (arm < 0)
        return;
    double resolution = tb_campaign_resolution(campaign, cell);
    tb_campaign_row(campaign, cell, (uint32_t)arm, &locus);
    if (locus.has_vs_base)
        versus_add(&tally->base, &locus.vs_base, resolution);
    if (locus.has_vs_oracle)
        widen(&tally->floor, locus.vs_oracle.estimate);
    if (!tb_pair_ratio(campaign, cell, best, TB_LAP, arm, TB_LAP, &ratio))
        return;
    versus_add(&tally->best, &ratio, resolution);
    tally->best_first[best]++;
}

// "the best malloc (jemalloc on 3, mimalloc on 1)"; empty when that is mimalloc everywhere, of which enough was said.
static void best_malloc_name(const struct tb_campaign *campaign, const struct tally *tally, struct tb_words *out)
{
    uint32_t kinds = 0, base = 0;
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
        kinds += tally->best_first[arm] > 0;
        base += tally->best_first[arm] > 0 && strcmp(campaign->arms[arm].label, "mimalloc") == 0;
    }
    if (kinds == 0 || (kinds == 1 && base == 1))
        return;
    const char *before = "the best malloc (";
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
        if (tally->best_first[arm] == 0)
            continue;
        tb_say(out, "%s", before);
        say_arm(out, &campaign->arms[arm]);
        if (kinds > 1)
            tb_say(out, " on %" PRIu32, tally->best_first[arm]);
        before = ", ";
    }
    tb_say(out, ")");
}

static void print_touch(FILE *out, const struct tb_campaign *campaign, enum tb_touch touch)
{
    static const char *const titles[] = {
        [TB_TOUCH_NONE] = "No touch", [TB_TOUCH_BYTE] = "One byte touched", [TB_TOUCH_FULL] = "Full touch"};
    struct tally tally = {0};
    struct tb_words words = {0}, best = {0};
    uint32_t cells = 0;
    for (uint32_t cell = 0; cell < campaign->cells_count; cell++) {
        if (campaign->cells[cell].touch != touch)
            continue;
        cells++;
        tally_add(&tally, campaign, cell);
    }
    if (cells == 0)
        return;
    tb_say(&words, "%s: ", titles[touch]);
    say_leaders(&words, campaign, &tally.leaders);
    say_versus(&words, &tally.base, "mimalloc");
    best_malloc_name(campaign, &tally, &best);
    if (best.used > 0)
        say_versus(&words, &tally.best, best.text);
    say_floor(&words, &tally.floor);
    if (touch == TB_TOUCH_NONE && tally.leaders.cells > 0)
        tb_say(&words, " Untouched ratios are larger and mean less.");
    print_words(out, &words);
}

static void print_bench(FILE *out, const struct tb_campaign *campaign, uint32_t cell)
{
    static const int ops[] = {TB_BENCH_ALLOC, TB_BENCH_BULK, TB_BENCH_FREE};
    int locus = tb_campaign_arm(campaign, "locus");
    struct tb_words words = {0};
    struct tb_row row;
    const char *before = "locus against mimalloc: ";
    if (locus < 0)
        return;
    tb_campaign_row(campaign, cell, (uint32_t)locus, &row);
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        const struct tb_ratio *ratio = &row.bench_vs_base[ops[o]];
        if (ratio->n == 0)
            continue;
        int side = tb_visible(ratio, tb_campaign_resolution(campaign, cell));
        struct range range = {0};
        widen(&range, side < 0 ? 1 / ratio->estimate : ratio->estimate);
        tb_say(&words, "%s%s ", before, tb_bench_name(ops[o]));
        if (side != 0)
            say_range(&words, &range);
        tb_say(&words, "%s", side > 0 ? " faster" : side < 0 ? " slower" : UNSEEN);
        before = ", ";
    }
    if (words.used == 0)
        tb_say(&words, "locus against mimalloc: nothing valid to compare");
    tb_say(&words, ".");
    print_words(out, &words);
}

static void print_invalid_arm(FILE *out, const struct tb_campaign *campaign, uint32_t arm)
{
    struct tb_words words = {0};
    char where[128], why[256] = "", first[400];
    uint32_t cells = 0;
    for (uint32_t cell = campaign->cells_count; cell-- > 0;) { // backwards: the first one's reason stays
        struct tb_row row;
        tb_campaign_row(campaign, cell, arm, &row);
        if (row.valid)
            continue;
        cells++;
        tb_text_cell(campaign, cell, where, sizeof where);
        tb_text_clean(row.invalid, true, why, sizeof why);
        snprintf(first, sizeof first, "%s: %s", where, why);
    }
    if (cells == 0)
        return;
    tb_say(&words, "INVALID and not ranked: ");
    say_arm(&words, &campaign->arms[arm]);
    if (campaign->cells_count > 1)
        tb_say(&words, " in %" PRIu32 " of %" PRIu32 " tables, first", cells, campaign->cells_count);
    tb_say(&words, " in %s.", first);
    print_words(out, &words);
}

// A slowdown put in on purpose shows what the run can find, better than any control that finds nothing.
static void print_delay(FILE *out, const struct tb_campaign *campaign, uint32_t arm)
{
    const struct tb_arm *slowed = &campaign->arms[arm];
    struct tb_words words = {0};
    struct range seen = {0};
    char base[sizeof slowed->label];
    uint32_t cells = 0;
    tb_base_name(slowed, base, sizeof base);
    for (uint32_t cell = 0; cell < campaign->cells_count && !campaign->bench; cell++) {
        struct tb_ratio ratio;
        if (!tb_pair_ratio(campaign, cell, (int)arm, TB_LAP, tb_campaign_arm(campaign, base), TB_LAP, &ratio))
            continue;
        cells++;
        if (ratio.bounded && ratio.low > 1)
            widen(&seen, ratio.estimate);
    }
    if (cells == 0)
        return;
    tb_say(&words, "The delay of %g %% put into ", slowed->fault_percent);
    say_arm(&words, slowed);
    tb_say(&words, " was found in %" PRIu32 " of %" PRIu32 " tables", seen.count, cells);
    if (seen.count > 0) {
        tb_say(&words, ", as ");
        say_range(&words, &seen);
    }
    tb_say(&words, ".");
    print_words(out, &words);
}

static void print_resolution(FILE *out, const struct tb_campaign *campaign)
{
    struct tb_words words = {0};
    struct range range = {0};
    char low[16], high[16];
    for (uint32_t cell = 0; cell < campaign->cells_count; cell++) {
        double resolution = tb_campaign_resolution(campaign, cell);
        if (resolution >= 0)
            widen(&range, resolution);
    }
    if (range.count == 0) {
        tb_say(&words, "No A/A control ran: how small a difference could be seen is not known.");
    } else if (isinf(range.high)) {
        tb_say(&words, "%" PRIu32 " round%s are too few for a 95 %% interval, 6 are the least: nothing can be told apart.",
               campaign->rounds, campaign->rounds == 1 ? "" : "s");
    } else {
        tb_text_percent_up(low, range.low);
        tb_text_percent_up(high, range.high);
        tb_say(&words, "Differences under %s %% cannot be seen on this machine (A/A)", low);
        if (strcmp(low, high) != 0)
            tb_say(&words, ", under %s %% where it is noisiest", high);
        tb_say(&words, ".");
    }
    print_words(out, &words);
}

int tb_report_summary(FILE *stream, const struct tb_campaign *campaign)
{
    static const enum tb_touch order[] = {TB_TOUCH_FULL, TB_TOUCH_BYTE, TB_TOUCH_NONE}; // what means most, first
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc < 0)
        return rc;
    for (size_t t = 0; t < sizeof order / sizeof *order && !campaign->bench; t++)
        print_touch(text.stream, campaign, order[t]);
    for (uint32_t cell = 0; cell < campaign->cells_count && campaign->bench; cell++)
        print_bench(text.stream, campaign, cell);
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++)
        print_invalid_arm(text.stream, campaign, arm);
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++)
        if (campaign->arms[arm].fault == TB_FAULT_DELAY)
            print_delay(text.stream, campaign, arm);
    print_resolution(text.stream, campaign);
    return tb_text_close(&text, stream, 0);
}
