// SPDX-License-Identifier: Apache-2.0
//
// board_caveats: what an answer owes its reader beside the answer: what was left out of it and why, what is INVALID, and how small
// a difference could have been seen.
#include <inttypes.h>
#include <stdio.h>

#include "testbed/measure/contender.h"
#include "testbed/report/board/board.h"

static enum tb_noise noise_in(const struct tb_campaign *campaign, uint32_t cell, uint32_t arm)
{
    struct tb_row row;
    tb_campaign_row(campaign, cell, arm, &row);
    enum tb_noise noise = row.noise;
    for (int op = 0; campaign->bench && op < TB_BENCH_COUNT; op++)
        noise = noise ? noise : row.bench_noise[op];
    return row.valid && tb_twin(campaign, arm) < 0 && !row.arm->contender->harness ? noise : TB_NOISE_NONE;
}

static void say_noise(struct tb_doc *doc, const struct tb_campaign *campaign)
{
    static const char *const reasons[] = {[TB_NOISE_WAITED] = "waited for a CPU",
                                          [TB_NOISE_SPREAD] = "rounds too far apart",
                                          [TB_NOISE_INTERVAL] = "ratio to mimalloc too wide"};
    struct tb_words words = {0};
    for (int noise = TB_NOISE_WAITED; noise <= TB_NOISE_INTERVAL && !tb_rounds_few(campaign); noise++) {
        const char *before = words.used ? "; " : "Left out as noisy: ", *between = reasons[noise];
        for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
            uint32_t cells = 0;
            for (uint32_t cell = 0; cell < campaign->cells_count; cell++)
                cells += noise_in(campaign, cell, arm) == (enum tb_noise)noise;
            if (cells == 0)
                continue;
            tb_say(&words, "%s%s%s", before, between, *between ? ": " : "");
            tb_say_arm(&words, &campaign->arms[arm]);
            if (cells < campaign->cells_count)
                tb_say(&words, " in %" PRIu32 " of %" PRIu32, cells, campaign->cells_count);
            before = ", ";
            between = "";
        }
    }
    if (words.used > 0) {
        tb_say(&words, ".");
        tb_doc_say(doc, NULL, "%s", words.text);
    }
}

static void say_waits(struct tb_doc *doc, const struct tb_campaign *campaign)
{
    uint64_t processes = (uint64_t)campaign->cells_count * campaign->arms_count * campaign->rounds, waited = 0;
    struct tb_words words = {0};
    for (uint64_t i = 0; i < processes; i++)
        waited += tb_waited(&campaign->samples[i]);
    if (waited * 10 < processes || waited == 0)
        return;
    tb_say(&words, "Others were at work: %" PRIu64 " of %" PRIu64 " processes waited for a CPU. End what runs, and measure again.",
           waited, processes);
    tb_doc_say(doc, NULL, "%s", words.text);
}

static void say_invalid_arm(struct tb_doc *doc, const struct tb_campaign *campaign, uint32_t arm)
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
    tb_say_arm(&words, &campaign->arms[arm]);
    if (campaign->cells_count > 1)
        tb_say(&words, " in %" PRIu32 " of %" PRIu32 " tables, first", cells, campaign->cells_count);
    tb_say(&words, " in %s.", first);
    tb_doc_say(doc, NULL, "%s", words.text);
}

static void say_resolution(struct tb_doc *doc, const struct tb_campaign *campaign)
{
    struct tb_words words = {0};
    tb_say_resolution(&words, campaign, 0, campaign->cells_count);
    if (!tb_rounds_few(campaign))
        tb_say(&words, " In brackets: 95 %% intervals.");
    tb_doc_say(doc, NULL, "%s", words.text);
}

void tb_board_say_caveats(struct tb_doc *doc, const struct tb_campaign *campaign)
{
    say_noise(doc, campaign);
    say_waits(doc, campaign);
    for (uint32_t arm = 0; arm < campaign->arms_count; arm++)
        say_invalid_arm(doc, campaign, arm);
    say_resolution(doc, campaign);
}
