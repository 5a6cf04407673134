// SPDX-License-Identifier: Apache-2.0
//
// board_answer: the answer in plain words.
//
// The question is locus's: is it ahead, by how much, how far from the floor? A difference counts as one only when its interval
// excludes 1 and it is larger than what the A/A controls of that cell show between two runs of the very same thing; anything else
// is "no difference that this run could see", in whoever's favour the estimate lies. What is noisy leaves the sentence (noise.c),
// and that it did, and why, is part of the answer, as is what was INVALID and what could not be seen. Ranges are over workloads; in
// brackets stand the outermost ends of their intervals.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "testbed/measure/contender.h"
#include "testbed/report/board/board.h"

#define UNSEEN "no difference that this run could see"
#define FEW "too few rounds to tell, 6 are the least"

static const char *subject(struct tb_words *words)
{
    const char *name = words->named ? "It" : "locus";
    words->named = true;
    return name;
}

struct range {
    uint32_t count;
    double low, high;           // of the estimates
    double least, most;         // of their intervals
};

static void widen(struct range *range, double value, double low, double high)
{
    range->low = range->count > 0 ? fmin(range->low, value) : value;
    range->high = range->count > 0 ? fmax(range->high, value) : value;
    range->least = range->count > 0 ? fmin(range->least, low) : low;
    range->most = range->count > 0 ? fmax(range->most, high) : high;
    range->count++;
}

// "1.76 to 2.02 times [1.71, 2.10]", or "0.9 to 3.2 % [0.7, 3.6]" where "1.01 times" would say little; between the two, "1.004 to
// 1.76 times".
static void say_range(struct tb_words *words, const struct range *range)
{
    char low[16], high[16], least[16], most[16];
    bool percent = range->high < 1.1;
    if (percent) {
        snprintf(low, sizeof low, "%.1f", 100 * (range->low - 1));
        snprintf(high, sizeof high, "%.1f", 100 * (range->high - 1));
        snprintf(least, sizeof least, "%.1f", 100 * (range->least - 1));
        snprintf(most, sizeof most, "%.1f", 100 * (range->most - 1));
    } else {
        tb_text_ratio(low, range->low);
        tb_text_ratio(high, range->high);
        tb_text_ratio(least, range->least);
        tb_text_ratio(most, range->most);
        if (range->low < 1.1)
            snprintf(low, sizeof low, "%.3f", range->low);
    }
    tb_say(words, "%s%s%s %s [%s, %s]", low, strcmp(low, high) ? " to " : "", strcmp(low, high) ? high : "",
           percent ? "%" : "times", least, most);
}

// How locus stands to somebody over several workloads.
struct versus {
    struct range faster, slower;
    uint32_t unseen, noisy;
};

static void versus_add(struct versus *versus, enum tb_told told, const struct tb_ratio *times_faster)
{
    if (told == TB_TOLD_ABOVE)
        widen(&versus->faster, times_faster->estimate, times_faster->low, times_faster->high);
    else if (told == TB_TOLD_BELOW)
        widen(&versus->slower, 1 / times_faster->estimate, 1 / times_faster->high, 1 / times_faster->low);
    versus->unseen += told == TB_TOLD_SAME;
    versus->noisy += told == TB_TOLD_NOISY || told == TB_TOLD_BLIND;
}

// Nowhere a difference.
static void say_no_difference(struct tb_words *words, const struct versus *versus, const char *whom)
{
    if (versus->unseen == 0)
        tb_say(words, " Between locus and %s nothing can be told: too noisy.", whom);
    else if (versus->noisy == 0)
        tb_say(words, " Between locus and %s: " UNSEEN ".", whom);
    else
        tb_say(words, " Between locus and %s: " UNSEEN "; on %" PRIu32 " of %" PRIu32 " workloads it is too noisy to tell.", whom,
               versus->noisy, versus->noisy + versus->unseen);
}

// " It is 1.76 to 2.02 times [1.70, 2.05] faster than mimalloc on 2 of 4 workloads, 1.10 times [...] slower on 1; on 1 no ..."
static void say_versus(struct tb_words *words, const struct versus *versus, const char *whom)
{
    const struct {
        const struct range *range;
        const char *how;
    } sides[] = {{&versus->faster, "faster"}, {&versus->slower, "slower"}};
    uint32_t seen = versus->faster.count + versus->slower.count, total = seen + versus->unseen + versus->noisy;
    if (total == 0)
        return;
    if (seen == 0) {
        say_no_difference(words, versus, whom);
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
    if (versus->noisy > 0)
        tb_say(words, "; on %" PRIu32 " it is too noisy to tell", versus->noisy);
    tb_say(words, ".");
}

// "Within" is the end of the interval, which is what can be promised.
static void say_floor(struct tb_words *words, const struct range *over, uint32_t noisy)
{
    if (over->count == 0 && noisy > 0)
        tb_say(words, " How far locus is from the floor cannot be told: too noisy.");
    if (over->count == 0)
        return;
    tb_say(words, " %s ", subject(words));
    if (over->most < 1.25) {
        tb_say(words, "is within %.0f %% of the floor (the oracle)", fmax(1, ceil(100 * (over->most - 1) - 1e-6)));
    } else {
        tb_say(words, "takes ");
        say_range(words, over);
        tb_say(words, over->high < 1.1 ? " longer than the floor (the oracle)" : " as long as the floor (the oracle)");
    }
    if (noisy > 0)
        tb_say(words, " on %" PRIu32 " of %" PRIu32 " workloads; on %" PRIu32 " it is too noisy to tell", over->count,
               over->count + noisy, noisy);
    tb_say(words, ".");
}

// The floor allocates nothing and a fault is there to lose: neither can lead.
static bool may_lead(const struct tb_arm *arm)
{
    return arm->fault == TB_FAULT_NONE && !arm->contender->floor && !arm->contender->harness;
}

struct leaders {
    uint32_t cells;                 // in which somebody leads
    uint32_t noisy;                 // in which somebody may who is noisy, or in which the lead is
    uint32_t first[TB_ARMS_MAX];    // by arm: in how many of them
    uint32_t close;                 // in how many the lead over the next is none that could be seen
};

// Who comes next of those that are not noisy, or -1.
static int next_to(const struct tb_board *board, int leader)
{
    for (uint32_t i = 0; i < board->count; i++)
        if (board->place[i] == TB_PLACE_RANKED && may_lead(board->row[i].arm) && (int)board->arm[i] != leader &&
            !tb_noise_of(&board->row[i], TB_LAP))
            return (int)board->arm[i];
    return -1;
}

static void leaders_add(struct leaders *leaders, const struct tb_campaign *campaign, uint32_t cell)
{
    struct tb_fastest fastest = tb_fastest(campaign, cell, TB_LAP, may_lead);
    struct tb_board board;
    struct tb_ratio lead;
    enum tb_told told = TB_TOLD_ABSENT; // nobody comes next
    if (fastest.rival < 0 && fastest.arm < 0)
        return;
    tb_board(campaign, cell, &board);
    if (fastest.rival < 0)
        told = tb_pair_tell(campaign, cell, next_to(&board, fastest.arm), TB_LAP, fastest.arm, TB_LAP, &lead);
    if (fastest.rival >= 0 || told == TB_TOLD_NOISY || told == TB_TOLD_BLIND) {
        leaders->noisy++;
        return;
    }
    leaders->cells++;
    leaders->first[fastest.arm]++;
    leaders->close += told == TB_TOLD_SAME;
}

static void say_leaders(struct tb_words *words, const struct tb_campaign *campaign, const struct leaders *leaders)
{
    const char *before = "";
    uint32_t cells = leaders->cells + leaders->noisy;
    if (leaders->cells == 0) {
        tb_say(words, leaders->noisy ? "who is ahead cannot be told: too noisy." : "nobody is ahead: nothing valid to rank.");
        return;
    }
    for (uint32_t want = leaders->cells; want > 0; want--) {
        for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
            if (leaders->first[arm] != want)
                continue;
            tb_say(words, "%s", before);
            tb_say_arm(words, &campaign->arms[arm]);
            if (cells == 1)
                tb_say(words, " is ahead");
            else if (*before)
                tb_say(words, " on %" PRIu32, want);
            else
                tb_say(words, " is ahead on %" PRIu32 " of %" PRIu32 " workloads", want, cells);
            before = ", ";
        }
    }
    int locus = tb_campaign_arm(campaign, "locus");
    if (locus >= 0 && leaders->first[locus] == 0)
        tb_say(words, "%s", cells == 1 ? ", locus is not" : ", locus on none");
    if (leaders->noisy > 0)
        tb_say(words, ", and on %" PRIu32 " it is too noisy to tell", leaders->noisy);
    if (leaders->close > 0 && cells == 1)
        tb_say(words, "; over the next there is " UNSEEN);
    else if (leaders->close > 0)
        tb_say(words, "; on %" PRIu32 " of them the lead over the next is " UNSEEN, leaders->close);
    tb_say(words, ".");
}

struct tally {
    struct leaders leaders;
    struct versus base, best;
    struct range floor;
    uint32_t floor_noisy;
    uint32_t best_first[TB_ARMS_MAX]; // by arm: how often it is the best malloc
};

static void tally_add(struct tally *tally, const struct tb_campaign *campaign, uint32_t cell)
{
    struct tb_ratio ratio;
    leaders_add(&tally->leaders, campaign, cell);
    int arm = tb_campaign_arm(campaign, "locus"), base = tb_campaign_arm(campaign, "mimalloc");
    if (arm < 0)
        return;
    struct tb_fastest best = tb_best_malloc(campaign, cell, TB_LAP);
    int reference = best.rival < 0 ? best.arm : best.rival;
    enum tb_told told = tb_pair_tell(campaign, cell, reference, TB_LAP, arm, TB_LAP, &ratio);
    versus_add(&tally->best, best.rival >= 0 && told != TB_TOLD_ABSENT ? TB_TOLD_NOISY : told, &ratio);
    if (best.rival < 0 && best.arm >= 0)
        tally->best_first[best.arm]++;
    versus_add(&tally->base, tb_pair_tell(campaign, cell, base, TB_LAP, arm, TB_LAP, &ratio), &ratio);
    told = tb_pair_tell(campaign, cell, arm, TB_LAP, tb_floor(campaign), TB_LAP, &ratio);
    tally->floor_noisy += told == TB_TOLD_NOISY;
    if (told >= TB_TOLD_BLIND) // its interval bounds it all the same
        widen(&tally->floor, ratio.estimate, ratio.low, ratio.high);
}

// "the best malloc (jemalloc on 3, mimalloc on 1)"; of one malloc alone its name.
static void say_best_malloc(struct tb_words *words, const struct tb_campaign *campaign, const struct tally *tally)
{
    const char *before = " (";
    uint32_t mallocs = 0, kinds = 0;
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
        mallocs += tb_is_malloc(&campaign->arms[arm]) && tb_twin(campaign, arm) < 0;
        kinds += tally->best_first[arm] > 0;
    }
    tb_say(words, mallocs == 1 && kinds == 1 ? "" : "the best malloc");
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
        if (tally->best_first[arm] == 0)
            continue;
        tb_say(words, "%s", mallocs == 1 ? "" : before);
        tb_say_arm(words, &campaign->arms[arm]);
        if (kinds > 1)
            tb_say(words, " on %" PRIu32, tally->best_first[arm]);
        before = ", ";
    }
    tb_say(words, kinds > 0 && mallocs > 1 ? ")" : "");
}

// Is the base the best malloc wherever one is known? Then enough was said of it.
static bool base_is_best(const struct tb_campaign *campaign, const struct tally *tally)
{
    int base = tb_campaign_arm(campaign, "mimalloc");
    bool others = tally->best.noisy > 0;
    for (int arm = 0; arm < (int)campaign->arms_count; arm++)
        others |= arm != base && tally->best_first[arm] > 0;
    return base >= 0 && !others && tally->best_first[base] > 0;
}

static bool nothing_told(const struct tally *tally)
{
    const struct versus *best = &tally->best, *base = &tally->base;
    return tally->leaders.cells == 0 && tally->leaders.noisy > 0 && tally->floor.count == 0 &&
           best->faster.count + best->slower.count + best->unseen + base->faster.count + base->slower.count + base->unseen == 0;
}

// false: no cell has that touch.
static bool touch_words(const struct tb_campaign *campaign, enum tb_touch touch, struct tb_words *words)
{
    static const char *const titles[] = {
        [TB_TOUCH_NONE] = "No touch", [TB_TOUCH_BYTE] = "One byte touched", [TB_TOUCH_FULL] = "Full touch"};
    struct tally tally = {0};
    struct tb_words best = {0};
    uint32_t cells = 0;
    *words = (struct tb_words){0};
    for (uint32_t cell = 0; cell < campaign->cells_count; cell++) {
        if (campaign->cells[cell].touch != touch)
            continue;
        cells++;
        tally_add(&tally, campaign, cell);
    }
    tb_say(words, "%s: ", titles[touch]);
    if (tb_rounds_few(campaign) && tally.leaders.cells + tally.leaders.noisy > 0) {
        tb_say(words, FEW ".");
        return cells;
    }
    if (nothing_told(&tally)) {
        tb_say(words, "nothing can be told: too noisy.");
        return cells;
    }
    say_leaders(words, campaign, &tally.leaders);
    say_best_malloc(&best, campaign, &tally);
    say_versus(words, &tally.best, best.text);
    if (!base_is_best(campaign, &tally))
        say_versus(words, &tally.base, "mimalloc");
    say_floor(words, &tally.floor, tally.floor_noisy);
    if (touch == TB_TOUCH_NONE && tally.leaders.cells > 0)
        tb_say(words, " Untouched ratios are larger and mean less.");
    return cells;
}

static void say_operation(struct tb_words *words, enum tb_told told, const struct tb_ratio *ratio)
{
    struct versus versus = {0};
    versus_add(&versus, told, ratio);
    if (told >= TB_TOLD_ABOVE)
        say_range(words, told == TB_TOLD_ABOVE ? &versus.faster : &versus.slower);
    tb_say(words, "%s",
           told == TB_TOLD_ABOVE   ? " faster"
           : told == TB_TOLD_BELOW ? " slower"
           : told == TB_TOLD_SAME  ? UNSEEN
                                   : "too noisy to tell");
}

// `reference`: -1 for the best malloc of each operation.
static void say_bench(struct tb_doc *doc, const struct tb_campaign *campaign, uint32_t cell, const char *whom, int reference)
{
    static const int ops[] = {TB_BENCH_ALLOC, TB_BENCH_BULK, TB_BENCH_FREE};
    int locus = tb_campaign_arm(campaign, "locus");
    struct tb_words words = {0};
    if (locus < 0)
        return;
    tb_say(&words, "locus against %s: ", whom);
    size_t begun = words.used;
    for (size_t o = 0; o < sizeof ops / sizeof *ops && !tb_rounds_few(campaign); o++) {
        struct tb_ratio ratio;
        struct tb_fastest best = {reference, -1};
        int counterpart = tb_bench_counterpart[ops[o]];
        if (reference < 0)
            best = tb_best_malloc(campaign, cell, counterpart);
        int than = best.rival < 0 ? best.arm : best.rival;
        enum tb_told told = tb_pair_tell(campaign, cell, than, counterpart, locus, ops[o], &ratio);
        if (told == TB_TOLD_ABSENT)
            continue;
        tb_say(&words, "%s%s ", words.used > begun ? ", " : "", tb_bench_name(ops[o]));
        say_operation(&words, best.rival < 0 ? told : TB_TOLD_NOISY, &ratio);
        if (reference < 0 && best.rival < 0) {
            tb_say(&words, " (");
            tb_say_arm(&words, &campaign->arms[than]);
            tb_say(&words, ")");
        }
    }
    if (words.used == begun)
        tb_say(&words, tb_rounds_few(campaign) ? FEW : "nothing valid to compare");
    tb_say(&words, ".");
    tb_doc_answer(doc, NULL, "%s", words.text);
}

static void say_benches(struct tb_doc *doc, const struct tb_campaign *campaign, uint32_t cell)
{
    int base = tb_campaign_arm(campaign, "mimalloc");
    say_bench(doc, campaign, cell, "the best malloc", -1);
    if (base >= 0)
        say_bench(doc, campaign, cell, "mimalloc", base);
}

// A slowdown put in on purpose shows what the run can find, better than any control that finds nothing.
static void say_delay(struct tb_doc *doc, const struct tb_campaign *campaign, uint32_t arm)
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
            widen(&seen, ratio.estimate, ratio.low, ratio.high);
    }
    if (cells == 0)
        return;
    tb_say(&words, "The delay of %g %% put into ", slowed->fault_percent);
    tb_say_arm(&words, slowed);
    tb_say(&words, " was found in %" PRIu32 " of %" PRIu32 " tables", seen.count, cells);
    if (seen.count > 0) {
        tb_say(&words, ", as ");
        say_range(&words, &seen);
    }
    tb_say(&words, ".");
    tb_doc_answer(doc, NULL, "%s", words.text);
}

static const enum tb_touch touches[] = {TB_TOUCH_FULL, TB_TOUCH_BYTE, TB_TOUCH_NONE}; // what means most, first

bool tb_board_finding(const struct tb_campaign *campaign, struct tb_words *out)
{
    bool found = false;
    for (size_t t = 0; t < sizeof touches / sizeof *touches && !found; t++)
        found = touch_words(campaign, touches[t], out);
    return found;
}

void tb_board_say_answer(struct tb_doc *doc, const struct tb_campaign *campaign)
{
    struct tb_words words;
    if (campaign->unfit)
        tb_doc_say(doc, NULL, "%s", campaign->unfit);
    for (size_t t = 0; t < sizeof touches / sizeof *touches && !campaign->bench; t++)
        if (touch_words(campaign, touches[t], &words))
            tb_doc_answer(doc, NULL, "%s", words.text);
    for (uint32_t cell = 0; cell < campaign->cells_count && campaign->bench; cell++)
        say_benches(doc, campaign, cell);
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++)
        if (campaign->arms[arm].fault == TB_FAULT_DELAY)
            say_delay(doc, campaign, arm);
}
