// SPDX-License-Identifier: Apache-2.0
//
// board_samples: every sample, a row each, complete and unfiltered. A sample that did not run or is invalid has its row like all
// others: leaving it out is the reader's decision. Rounds count from 1, as in the words of the tables.
#include <string.h>

#include "testbed/report/board/board.h"

static const char *const keys[] = {"workload",
                                   "touch",
                                   "dispatch",
                                   "workers",
                                   "block_bytes",
                                   "seed",
                                   "laps",
                                   "blocks_peak",
                                   "arm",
                                   "library",
                                   "fault",
                                   "fault_percent",
                                   "round",
                                   "version",
                                   "ran",
                                   "valid",
                                   "invalid",
                                   "lap_ns",
                                   "lap_ns_min",
                                   "allocated",
                                   "freed",
                                   "pushed",
                                   "drained",
                                   "touched_bytes",
                                   "touched_bytes_expected",
                                   "outstanding_high",
                                   "distinct",
                                   "alloc_ns",
                                   "bulk_ns",
                                   "push_ns",
                                   "free_ns",
                                   "workers_pinned",
                                   "watched_ns",
                                   "waited_ns"};

static void put_setting(struct tb_table *table, const struct tb_campaign *campaign, uint32_t cell, const struct tb_arm *arm)
{
    const struct tb_schedule *schedule = campaign->cells[cell].schedule;
    const char *fault = tb_fault_name(arm->fault);
    tb_table_put(table, tb_text_value(schedule ? schedule->name : ""));
    tb_table_put(table, tb_text_value(tb_touch_name(campaign->cells[cell].touch)));
    tb_table_put(table, tb_text_value(tb_dispatch_name(campaign->dispatch)));
    tb_table_put(table, tb_count(campaign->workers));
    tb_table_put(table, tb_count(campaign->block_bytes));
    tb_table_put(table, tb_count(campaign->seed));
    tb_table_put(table, tb_count(campaign->cells[cell].laps));
    tb_table_put(table, tb_count(schedule ? schedule->blocks_peak : 0));
    tb_table_put(table, tb_text_value(arm->label));
    tb_table_put(table, tb_text_value(arm->library));
    tb_table_put(table, tb_text_value(fault ? fault : ""));
    tb_table_put(table, tb_number(arm->fault_percent));
}

static void put_sample(struct tb_table *table, const struct tb_sample *sample)
{
    const uint64_t counts[] = {sample->allocated,        sample->freed,         sample->pushed,
                               sample->drained,          sample->touched_bytes, sample->touched_bytes_expected,
                               sample->outstanding_high, sample->distinct};
    tb_table_put(table, tb_text_value(sample->version));
    tb_table_put(table, tb_count(sample->ran));
    tb_table_put(table, tb_count(sample->valid));
    tb_table_put(table, tb_text_value(sample->invalid));
    tb_table_put(table, tb_number(sample->lap_ns));
    tb_table_put(table, tb_number(sample->lap_ns_min));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        tb_table_put(table, tb_count(counts[i]));
    for (int op = 0; op < TB_BENCH_COUNT; op++)
        tb_table_put(table, tb_number(sample->bench_ns[op]));
    tb_table_put(table, tb_count(sample->workers_pinned));
    tb_table_put(table, tb_count(sample->watched_ns));
    tb_table_put(table, tb_count(sample->waited_ns));
}

struct tb_doc *tb_board_samples_doc(const struct tb_campaign *campaign)
{
    struct tb_doc *doc = tb_doc_open(NULL);
    struct tb_table *table = tb_doc_table(doc, "samples", NULL, NULL);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        tb_table_column(table, (struct tb_column){keys[k], NULL, TB_AS_IS, false});
    for (uint32_t cell = 0; cell < campaign->cells_count; cell++) {
        for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
            for (uint32_t round = 0; round < campaign->rounds; round++) {
                tb_table_row(table, TB_ROW_PLAIN);
                put_setting(table, campaign, cell, &campaign->arms[arm]);
                tb_table_put(table, tb_count(round + (uint64_t)1));
                put_sample(table, tb_campaign_sample(campaign, cell, arm, round));
            }
        }
    }
    return doc;
}
