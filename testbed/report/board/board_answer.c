// SPDX-License-Identifier: Apache-2.0
//
// board_answer: the sentences of a measurement: who is ahead, with an overview of the workloads, and what an answer owes its reader
// beside that: what was left out of it and why, what is INVALID, and how small a difference could have been seen.
//
// A difference counts as one only when its interval excludes 1 and it is larger than what the A/A controls of that cell show
// between two runs of the very same thing; anything else is "no difference that this run could see", in whoever's favour the
// estimate lies. What is noisy leaves the sentence (noise.c), and that it did is part of the answer.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "testbed/measure/contender.h"
#include "testbed/report/board/board.h"

// --- names and settings ----------------------------------------------------------------------------------------------------------

void tb_text_arm(const struct tb_row *row, char *out, size_t size)
{
    size_t label = strlen(row->arm->label);
    bool version = strncmp(row->version, row->arm->label, label) == 0 && row->version[label] == ' ';
    tb_text_clean(version ? row->version : row->arm->label, true, out, size);
}

void tb_say_arm(struct tb_words *words, const struct tb_arm *arm)
{
    char name[sizeof arm->label];
    tb_text_clean(arm->label, true, name, sizeof name);
    tb_say(words, "%s", name);
}

void tb_text_settings(const struct tb_rounds *rounds, char *out, size_t size)
{
    char how[128] = ""; // a bench has neither dispatch nor workers
    int used = 0;
    if (!rounds->bench)
        used = snprintf(how, sizeof how, "%s dispatch, ", tb_dispatch_name(rounds->dispatch));
    if (!rounds->bench && rounds->dispatch != TB_DISPATCH_INLINE)
        snprintf(how + used, sizeof how - (size_t)used, "%" PRIu32 " worker%s %s, ", rounds->workers,
                 rounds->workers == 1 ? "" : "s", tb_workers_pinned(rounds) ? "pinned" : "not pinned");
    snprintf(out, size, "%s%" PRIu32 " round%s (seed %" PRIu64 ")", how, rounds->count, rounds->count == 1 ? "" : "s",
             rounds->seed);
}

// " (A/A of locus, mimalloc)": what has a twin in that cell; "alone" where the base has none.
static void say_controls(struct tb_words *words, const struct tb_rounds *rounds, uint32_t cell)
{
    const char *before = " (A/A of ";
    int base = tb_rounds_arm(rounds, "mimalloc"), op = rounds->bench ? TB_BENCH_ALLOC : TB_LAP;
    bool alone = base >= 0;
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
        struct tb_ratio ratio;
        int twin = tb_twin(rounds, arm);
        if (!tb_pair_ratio(rounds, cell, (int)arm, op, twin, op, &ratio))
            continue;
        tb_say(words, "%s", before);
        tb_say_arm(words, &rounds->arms[twin]);
        before = ", ";
        alone &= twin != base;
    }
    tb_say(words, alone ? " alone)" : ")");
}

// "3.1 %", or in a bench "3.1 % (alloc), 22 % (bulk), ..."
static void say_least(struct tb_words *words, const struct tb_rounds *rounds, uint32_t cell)
{
    char percent[16];
    const char *before = "";
    if (!rounds->bench) {
        tb_say(words, "%s %%", tb_text_percent_up(percent, tb_resolution(rounds, cell, TB_LAP)));
        return;
    }
    for (int op = 0; op < TB_BENCH_COUNT; op++) {
        double resolution = tb_resolution(rounds, cell, op);
        if (resolution < 0)
            continue;
        tb_say(words, "%s%s %% (%s)", before, tb_text_percent_up(percent, resolution), tb_bench_name(op));
        before = ", ";
    }
}

void tb_say_resolution(struct tb_words *words, const struct tb_rounds *rounds, uint32_t first, uint32_t last)
{
    uint32_t finest = last, coarsest = last;
    char percent[16];
    for (uint32_t cell = first; cell < last; cell++) {
        double resolution = tb_rounds_resolution(rounds, cell);
        if (resolution >= 0 && (finest == last || resolution < tb_rounds_resolution(rounds, finest)))
            finest = cell;
        if (resolution >= 0 && (coarsest == last || resolution > tb_rounds_resolution(rounds, coarsest)))
            coarsest = cell;
    }
    if (tb_rounds_few(rounds)) {
        tb_say(words, "%" PRIu32 " round%s too few for a 95 %% interval, 6 are the least: nothing can be told apart.",
               rounds->count, rounds->count == 1 ? " is" : "s are");
    } else if (finest == last) {
        tb_say(words, "No A/A control ran: how small a difference could be seen is not known.");
    } else {
        tb_say(words, "Differences under ");
        say_least(words, rounds, finest);
        tb_say(words, " cannot be seen on this machine");
        say_controls(words, rounds, finest);
        if (tb_rounds_resolution(rounds, coarsest) > tb_rounds_resolution(rounds, finest))
            tb_say(words, ", under %s %% where it is noisiest",
                   tb_text_percent_up(percent, tb_rounds_resolution(rounds, coarsest)));
        tb_say(words, ".");
    }
}

// --- the touches -----------------------------------------------------------------------------------------------------------------

static const enum tb_touch touches[] = {TB_TOUCH_DECODE, TB_TOUCH_FULL, TB_TOUCH_BYTE, TB_TOUCH_NONE}; // what means most, first
enum { TOUCHES = sizeof touches / sizeof *touches };
static const char *const titles[] = {[TB_TOUCH_NONE] = "No touch",
                                     [TB_TOUCH_BYTE] = "One byte touched",
                                     [TB_TOUCH_FULL] = "Full touch",
                                     [TB_TOUCH_DECODE] = "Decoding"};

static uint32_t cells_of(const struct tb_rounds *rounds, enum tb_touch touch)
{
    uint32_t count = 0;
    for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
        count += rounds->cells[cell].touch == touch;
    return count;
}

// --- who is ahead ----------------------------------------------------------------------------------------------------------------

// The floor allocates nothing and a fault is there to lose: neither can lead.
static bool may_lead(const struct tb_arm *arm)
{
    return arm->fault == TB_FAULT_NONE && !arm->contender->floor && !arm->contender->harness;
}

struct leaders {
    uint32_t cells;              // in which somebody leads
    uint32_t noisy;              // in which somebody may who is noisy, or in which the lead is
    uint32_t first[TB_ARMS_MAX]; // by arm: in how many of them
    uint32_t close;              // in how many the lead over the next is none that could be seen
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

static void leaders_add(struct leaders *leaders, const struct tb_rounds *rounds, uint32_t cell)
{
    struct tb_fastest fastest = tb_fastest(rounds, cell, TB_LAP, may_lead);
    struct tb_board board;
    struct tb_ratio lead;
    enum tb_told told = TB_TOLD_ABSENT; // nobody comes next
    if (fastest.rival < 0 && fastest.arm < 0)
        return;
    tb_board(rounds, cell, &board);
    if (fastest.rival < 0)
        told = tb_pair_tell(rounds, cell, next_to(&board, fastest.arm), TB_LAP, fastest.arm, TB_LAP, &lead);
    if (fastest.rival >= 0 || told == TB_TOLD_NOISY || told == TB_TOLD_BLIND) {
        leaders->noisy++;
        return;
    }
    leaders->cells++;
    leaders->first[fastest.arm]++;
    leaders->close += told == TB_TOLD_SAME;
}

static void say_leaders(struct tb_words *words, const struct tb_rounds *rounds, const struct leaders *leaders)
{
    uint32_t cells = leaders->cells + leaders->noisy, locus = (uint32_t)tb_rounds_arm(rounds, "locus");
    const char *before = "";
    for (uint32_t want = leaders->cells; want > 0; want--) {
        for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
            if (leaders->first[arm] != want)
                continue;
            tb_say(words, "%s", before);
            tb_say_arm(words, &rounds->arms[arm]);
            tb_say(words,
                   *before     ? " on %" PRIu32
                   : cells > 1 ? " is ahead on %" PRIu32 " of %" PRIu32 " workloads"
                               : " is ahead",
                   want, cells);
            before = ", ";
        }
    }
    if (locus < rounds->arms_count && leaders->first[locus] == 0)
        tb_say(words, cells > 1 ? ", locus on none" : ", locus is not");
    if (leaders->noisy > 0)
        tb_say(words, ", and on %" PRIu32 " it is too noisy to tell", leaders->noisy);
    tb_say(words, ".");
    if (leaders->close > 0)
        tb_say(words, " Over the next there is no difference that this run could see%s.",
               leaders->close < leaders->cells ? " on some" : "");
}

static void say_touch(const struct tb_rounds *rounds, enum tb_touch touch, struct tb_words *words)
{
    struct leaders leaders = {0};
    for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
        if (rounds->cells[cell].touch == touch)
            leaders_add(&leaders, rounds, cell);
    *words = (struct tb_words){0};
    tb_say(words, "%s: ", titles[touch]);
    if (leaders.cells + leaders.noisy == 0)
        tb_say(words, "nobody is ahead: nothing valid to rank.");
    else if (tb_rounds_few(rounds))
        tb_say(words, "too few rounds to tell, 6 are the least.");
    else if (leaders.cells == 0)
        tb_say(words, "who is ahead cannot be told: too noisy.");
    else
        say_leaders(words, rounds, &leaders);
}

bool tb_board_finding(const struct tb_rounds *rounds, struct tb_words *out)
{
    for (size_t t = 0; t < TOUCHES; t++) {
        if (cells_of(rounds, touches[t]) == 0)
            continue;
        say_touch(rounds, touches[t], out);
        return true;
    }
    return false;
}

// --- by workload -----------------------------------------------------------------------------------------------------------------

static const struct tb_column overview_columns[] = {{NULL, "workload", TB_AS_IS, false},
                                                    {NULL, "floor\n", TB_AS_TIME, false},
                                                    {NULL, "locus\nover floor", TB_AS_RATIO, true},
                                                    {NULL, "best malloc\nover locus", TB_AS_RATIO, true},
                                                    {NULL, "best malloc", TB_AS_IS, false},
                                                    {NULL, NULL, TB_AS_IS, false}};

static struct tb_value floor_value(const struct tb_rounds *rounds, uint32_t cell)
{
    struct tb_row row;
    int floor = tb_floor(rounds);
    if (floor < 0)
        return tb_none(NULL);
    tb_row_alone(rounds, cell, (uint32_t)floor, &row);
    return !row.valid ? tb_none("INVALID") : row.noise ? tb_none("noisy") : tb_number(row.ns_median);
}

// A difference that a noisy control may hide is not told either.
static struct tb_value sure_value(const struct tb_rounds *rounds, uint32_t cell, int over, int under)
{
    struct tb_ratio ratio;
    enum tb_told told = tb_pair_tell(rounds, cell, over, TB_LAP, under, TB_LAP, &ratio);
    return tb_told_value(told == TB_TOLD_BLIND ? TB_TOLD_NOISY : told, &ratio);
}

static void put_workload(struct tb_table *table, const struct tb_rounds *rounds, uint32_t cell)
{
    int locus = tb_rounds_arm(rounds, "locus");
    struct tb_fastest best = tb_best_malloc(rounds, cell, TB_LAP);
    const struct tb_cell *of = &rounds->cells[cell];
    const char *where = of->touch == TB_TOUCH_DECODE && of->name ? of->name : of->schedule ? of->schedule->name : "";
    char name[128] = "";
    struct tb_row row;
    if (best.rival < 0 && best.arm >= 0) {
        tb_row_alone(rounds, cell, (uint32_t)best.arm, &row);
        tb_text_arm(&row, name, sizeof name);
    }
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value(where), floor_value(rounds, cell),
                 sure_value(rounds, cell, locus, tb_floor(rounds)),
                 best.rival >= 0 ? tb_none("noisy") : sure_value(rounds, cell, best.arm, locus), tb_text_value(name));
}

static void put_workloads(struct tb_doc *doc, const struct tb_rounds *rounds, enum tb_touch touch)
{
    struct tb_table *table = tb_doc_table(doc, NULL, titles[touch], overview_columns);
    for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
        if (rounds->cells[cell].touch == touch)
            put_workload(table, rounds, cell);
    if (touch == TB_TOUCH_NONE)
        tb_table_note(table, "Untouched ratios are larger and mean less.");
}

// --- a slowdown put in on purpose ------------------------------------------------------------------------------------------------

// It shows what the run can find, better than any control that finds nothing.
static void say_delay(struct tb_doc *doc, const struct tb_rounds *rounds, uint32_t arm)
{
    const struct tb_arm *slowed = &rounds->arms[arm];
    struct tb_words words = {0};
    char base[sizeof slowed->label], low[16], high[16];
    double least = INFINITY, most = 0;
    uint32_t cells = 0, found = 0;
    tb_base_name(slowed, base, sizeof base);
    for (uint32_t cell = 0; cell < rounds->cells_count && !rounds->bench; cell++) {
        struct tb_ratio ratio;
        if (!tb_pair_ratio(rounds, cell, (int)arm, TB_LAP, tb_rounds_arm(rounds, base), TB_LAP, &ratio))
            continue;
        cells++;
        if (!ratio.bounded || ratio.low <= 1)
            continue;
        found++;
        least = fmin(least, ratio.low);
        most = fmax(most, ratio.high);
    }
    if (cells == 0)
        return;
    tb_say(&words, "The delay of %g %% put into ", slowed->fault_percent);
    tb_say_arm(&words, slowed);
    tb_say(&words, " was found in %" PRIu32 " of %" PRIu32 " tables", found, cells);
    if (found > 0)
        tb_say(&words, ", as %s to %s %%", tb_text_number(low, 100 * (least - 1)), tb_text_number(high, 100 * (most - 1)));
    tb_doc_say(doc, NULL, "%s.", words.text);
}

// --- beside the answer ----------------------------------------------------------------------------------------------------------

static enum tb_noise noise_in(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    struct tb_row row;
    tb_rounds_row(rounds, cell, arm, &row);
    enum tb_noise noise = row.noise;
    for (int op = 0; rounds->bench && op < TB_BENCH_COUNT; op++)
        noise = noise ? noise : row.bench_noise[op];
    return row.valid && tb_twin(rounds, arm) < 0 && !row.arm->contender->harness ? noise : TB_NOISE_NONE;
}

static void say_noise(struct tb_doc *doc, const struct tb_rounds *rounds)
{
    static const char *const reasons[] = {[TB_NOISE_WAITED] = "waited for a CPU",
                                          [TB_NOISE_SPREAD] = "rounds too far apart",
                                          [TB_NOISE_INTERVAL] = "ratio to mimalloc too wide"};
    struct tb_words words = {0};
    for (int noise = TB_NOISE_WAITED; noise <= TB_NOISE_INTERVAL && !tb_rounds_few(rounds); noise++) {
        const char *before = words.used ? "; " : "Left out as noisy: ", *between = reasons[noise];
        for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
            uint32_t cells = 0;
            for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
                cells += noise_in(rounds, cell, arm) == (enum tb_noise)noise;
            if (cells == 0)
                continue;
            tb_say(&words, "%s%s%s", before, between, *between ? ": " : "");
            tb_say_arm(&words, &rounds->arms[arm]);
            if (cells < rounds->cells_count)
                tb_say(&words, " in %" PRIu32 " of %" PRIu32, cells, rounds->cells_count);
            before = ", ";
            between = "";
        }
    }
    if (words.used > 0) {
        tb_say(&words, ".");
        tb_doc_say(doc, NULL, "%s", words.text);
    }
}

static void say_waits(struct tb_doc *doc, const struct tb_rounds *rounds)
{
    uint64_t processes = (uint64_t)rounds->cells_count * rounds->arms_count * rounds->count, waited = 0;
    for (uint64_t i = 0; i < processes; i++)
        waited += tb_waited(&rounds->samples[i]);
    if (waited > 0 && waited * 10 >= processes)
        tb_doc_say(doc, NULL,
                   "Others were at work: %" PRIu64 " of %" PRIu64 " processes waited for a CPU. End what runs, and measure again.",
                   waited, processes);
}

static void say_invalid_arm(struct tb_doc *doc, const struct tb_rounds *rounds, uint32_t arm)
{
    struct tb_words words = {0};
    char where[128], why[256] = "", first[400];
    uint32_t cells = 0;
    for (uint32_t cell = rounds->cells_count; cell-- > 0;) { // backwards: the first one's reason stays
        struct tb_row row;
        tb_rounds_row(rounds, cell, arm, &row);
        if (row.valid)
            continue;
        cells++;
        tb_text_cell(rounds, cell, where, sizeof where);
        tb_text_clean(row.invalid, true, why, sizeof why);
        snprintf(first, sizeof first, "%s: %s", where, why);
    }
    if (cells == 0)
        return;
    tb_say(&words, "INVALID and not ranked: ");
    tb_say_arm(&words, &rounds->arms[arm]);
    if (rounds->cells_count > 1)
        tb_say(&words, " in %" PRIu32 " of %" PRIu32 " tables, first", cells, rounds->cells_count);
    tb_say(&words, " in %s.", first);
    tb_doc_say(doc, NULL, "%s", words.text);
}

static void say_resolution(struct tb_doc *doc, const struct tb_rounds *rounds)
{
    struct tb_words words = {0};
    tb_say_resolution(&words, rounds, 0, rounds->cells_count);
    if (!tb_rounds_few(rounds))
        tb_say(&words, " In brackets: 95 %% intervals.");
    tb_doc_say(doc, NULL, "%s", words.text);
}

void tb_board_put_caveats(struct tb_doc *doc, const struct tb_rounds *rounds)
{
    say_noise(doc, rounds);
    say_waits(doc, rounds);
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        say_invalid_arm(doc, rounds, arm);
    say_resolution(doc, rounds);
}

// --- the whole -------------------------------------------------------------------------------------------------------------------

// Of a single workload its own table says what an overview would.
void tb_board_put_answer(struct tb_doc *doc, const struct tb_rounds *rounds)
{
    struct tb_words words;
    bool overviews = !rounds->bench && tb_rounds_arm(rounds, "locus") >= 0;
    for (size_t t = 0; t < TOUCHES && overviews; t++)
        if (cells_of(rounds, touches[t]) > 1)
            put_workloads(doc, rounds, touches[t]);
    if (rounds->unfit)
        tb_doc_say(doc, NULL, "%s", rounds->unfit);
    for (size_t t = 0; t < TOUCHES && !rounds->bench; t++) {
        if (cells_of(rounds, touches[t]) == 0)
            continue;
        say_touch(rounds, touches[t], &words);
        tb_doc_answer(doc, NULL, "%s", words.text);
    }
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        if (rounds->arms[arm].fault == TB_FAULT_DELAY)
            say_delay(doc, rounds, arm);
    tb_board_put_caveats(doc, rounds);
}
