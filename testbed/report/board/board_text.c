// SPDX-License-Identifier: Apache-2.0
//
// board_text: how arms and the settings of a campaign are called, and how small a difference it could have shown.
#include "testbed/report/board/board.h"

#include <inttypes.h>
#include <string.h>

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

void tb_text_settings(const struct tb_campaign *campaign, char *out, size_t size)
{
    char how[128] = ""; // a bench has neither dispatch nor workers
    int used = 0;
    if (!campaign->bench)
        used = snprintf(how, sizeof how, "%s dispatch, ", tb_dispatch_name(campaign->dispatch));
    if (!campaign->bench && campaign->dispatch != TB_DISPATCH_INLINE)
        snprintf(how + used, sizeof how - (size_t)used, "%" PRIu32 " worker%s %s, ", campaign->workers,
                 campaign->workers == 1 ? "" : "s", tb_workers_pinned(campaign) ? "pinned" : "not pinned");
    snprintf(out, size, "%s%" PRIu32 " round%s (seed %" PRIu64 ")", how, campaign->rounds, campaign->rounds == 1 ? "" : "s",
             campaign->seed);
}

// " (A/A of locus, mimalloc)": what has a twin in that cell; "alone" where the base has none.
static void say_controls(struct tb_words *words, const struct tb_campaign *campaign, uint32_t cell)
{
    const char *before = " (A/A of ";
    int base = tb_campaign_arm(campaign, "mimalloc"), op = campaign->bench ? TB_BENCH_ALLOC : TB_LAP;
    bool alone = base >= 0;
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
        struct tb_ratio ratio;
        int twin = tb_twin(campaign, arm);
        if (!tb_pair_ratio(campaign, cell, (int)arm, op, twin, op, &ratio))
            continue;
        tb_say(words, "%s", before);
        tb_say_arm(words, &campaign->arms[twin]);
        before = ", ";
        alone &= twin != base;
    }
    tb_say(words, alone ? " alone)" : ")");
}

// "3.1 %", or in a bench "3.1 % (alloc), 22 % (bulk), ..."
static void say_least(struct tb_words *words, const struct tb_campaign *campaign, uint32_t cell)
{
    char percent[16];
    const char *before = "";
    if (!campaign->bench) {
        tb_say(words, "%s %%", tb_text_percent_up(percent, tb_resolution(campaign, cell, TB_LAP)));
        return;
    }
    for (int op = 0; op < TB_BENCH_COUNT; op++) {
        double resolution = tb_resolution(campaign, cell, op);
        if (resolution < 0)
            continue;
        tb_say(words, "%s%s %% (%s)", before, tb_text_percent_up(percent, resolution), tb_bench_name(op));
        before = ", ";
    }
}

void tb_say_resolution(struct tb_words *words, const struct tb_campaign *campaign, uint32_t first, uint32_t last)
{
    uint32_t finest = last, coarsest = last;
    char percent[16];
    for (uint32_t cell = first; cell < last; cell++) {
        double resolution = tb_campaign_resolution(campaign, cell);
        if (resolution >= 0 && (finest == last || resolution < tb_campaign_resolution(campaign, finest)))
            finest = cell;
        if (resolution >= 0 && (coarsest == last || resolution > tb_campaign_resolution(campaign, coarsest)))
            coarsest = cell;
    }
    if (tb_rounds_few(campaign)) {
        tb_say(words, "%" PRIu32 " round%s too few for a 95 %% interval, 6 are the least: nothing can be told apart.",
               campaign->rounds, campaign->rounds == 1 ? " is" : "s are");
    } else if (finest == last) {
        tb_say(words, "No A/A control ran: how small a difference could be seen is not known.");
    } else {
        tb_say(words, "Differences under ");
        say_least(words, campaign, finest);
        tb_say(words, " cannot be seen on this machine");
        say_controls(words, campaign, finest);
        if (tb_campaign_resolution(campaign, coarsest) > tb_campaign_resolution(campaign, finest))
            tb_say(words, ", under %s %% where it is noisiest",
                   tb_text_percent_up(percent, tb_campaign_resolution(campaign, coarsest)));
        tb_say(words, ".");
    }
}
