// SPDX-License-Identifier: Apache-2.0
//
// report_csv: every sample, one line each, complete and unfiltered.
//
// A sample that did not run or is invalid has its line like all others: leaving it out is the reader's decision. Quoting is that
// of RFC 4180; lines end with a bare newline, as every tool on this platform writes and reads them. Rounds count from 1, as in
// the words of the table.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "testbed/report/board/board.h"
#include "testbed/report/board/report.h"

static void put_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fprintf(out, "%s,", text);
        return;
    }
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    fprintf(out, "\",");
}

static void put_count(FILE *out, uint64_t count)
{
    fprintf(out, "%" PRIu64 ",", count);
}

// 17 digits read back as the same double. What is not a number is left empty.
static void put_ns(FILE *out, double ns)
{
    if (isfinite(ns))
        fprintf(out, "%.17g", ns);
    fputc(',', out);
}

static void put_setting(FILE *out, const struct tb_campaign *campaign, uint32_t cell, const struct tb_arm *arm)
{
    const struct tb_schedule *schedule = campaign->cells[cell].schedule;
    const char *fault = tb_fault_name(arm->fault);
    put_text(out, schedule ? schedule->name : "");
    put_text(out, tb_touch_name(campaign->cells[cell].touch));
    put_text(out, tb_dispatch_name(campaign->dispatch));
    put_count(out, campaign->workers);
    put_count(out, campaign->block_bytes);
    put_count(out, campaign->seed);
    put_count(out, campaign->cells[cell].laps);
    put_count(out, schedule ? schedule->blocks_peak : 0);
    put_text(out, arm->label);
    put_text(out, arm->library);
    put_text(out, fault ? fault : "");
    put_ns(out, arm->fault_percent);
}

static void put_sample(FILE *out, const struct tb_sample *sample)
{
    put_text(out, sample->version);
    put_count(out, sample->ran);
    put_count(out, sample->valid);
    put_text(out, sample->invalid);
    put_ns(out, sample->lap_ns);
    put_ns(out, sample->lap_ns_min);
    put_count(out, sample->allocated);
    put_count(out, sample->freed);
    put_count(out, sample->pushed);
    put_count(out, sample->drained);
    put_count(out, sample->touched_bytes);
    put_count(out, sample->touched_bytes_expected);
    put_count(out, sample->outstanding_high);
    put_count(out, sample->distinct);
    for (int op = 0; op < TB_BENCH_COUNT; op++)
        put_ns(out, sample->bench_ns[op]);
    put_count(out, sample->workers_pinned);
    put_count(out, sample->watched_ns);
    fprintf(out, "%" PRIu64 "\n", sample->waited_ns);
}

int tb_report_csv(FILE *stream, const struct tb_campaign *campaign)
{
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc < 0)
        return rc;
    FILE *out = text.stream;
    fprintf(out, "workload,touch,dispatch,workers,block_bytes,seed,laps,blocks_peak,arm,library,fault,fault_percent,round,version,"
                 "ran,valid,invalid,lap_ns,lap_ns_min,allocated,freed,pushed,drained,touched_bytes,touched_bytes_expected,"
                 "outstanding_high,distinct,alloc_ns,bulk_ns,push_ns,free_ns,workers_pinned,"
                 "watched_ns,waited_ns\n");
    for (uint32_t cell = 0; cell < campaign->cells_count; cell++) {
        for (uint32_t arm = 0; arm < campaign->arms_count; arm++) {
            for (uint32_t round = 0; round < campaign->rounds; round++) {
                put_setting(out, campaign, cell, &campaign->arms[arm]);
                put_count(out, round + (uint64_t)1);
                put_sample(out, tb_campaign_sample(campaign, cell, arm, round));
            }
        }
    }
    return tb_text_close(&text, stream, 0);
}
