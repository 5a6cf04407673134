// SPDX-License-Identifier: Apache-2.0
//
// nodes_judge: each gate of a run of many nodes fails when, and only when, what it watches is wrong. The run is written down by
// hand, as it would be after its threads have ended.
#include "testbed/measure/nodes/judge.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo/topo.h"

#define STATIONS 2u
#define BLOCK_BYTES 4096u

static struct tb_job job;
static struct tb_nodes_run run;
static struct tb_station stations[STATIONS];
static struct tb_node_worker workers[STATIONS];
static struct tb_audit audits[STATIONS];

static void audit(void *context, uint32_t station, struct tb_audit *out)
{
    (void)context;
    *out = audits[station];
}

static const struct tb_nodes_ops ops = {.audit = audit};

// A good run of stations on the nodes 0 and 2, each with a pool of 8 pages that is bound to its node; node 1 has memory alone.
static void begin(void)
{
    const int32_t nodes[] = {0, 1, 2};
    struct tb_nodes_sample *sample = &job.sample.nodes;
    memset(&job, 0, sizeof job);
    run = (struct tb_nodes_run){.job = &job, .ops = &ops, .stations = stations, .count = STATIONS, .workers = 1};
    job.block_bytes = BLOCK_BYTES;
    for (; sample->count < 3; sample->count++)
        sample->node[sample->count] = (struct tb_node_row){.os = nodes[sample->count], .station = nodes[sample->count] != 1};
    sample->placements = STATIONS;
    sample->balancing_known = true;
    for (uint32_t s = 0; s < STATIONS; s++) {
        stations[s] = (struct tb_station){.run = &run, .number = s, .node = (int)s * 2, .workers = &workers[s]};
        stations[s].taken = 100 + s;
        stations[s].retired = stations[s].dispatched = 10 + s;
        stations[s].touched_bytes = stations[s].taken * BLOCK_BYTES;
        workers[s] = (struct tb_node_worker){.station = &stations[s]};
        audits[s] = (struct tb_audit){.allocated = 100 + s, .freed = 100 + s, .drained = 10 + s, .version = "1.0"};
        struct tb_node_placement row = {.station = (int32_t)s * 2,
                                        .requested = LOCUS_POLICY_BIND,
                                        .granted = LOCUS_POLICY_BIND,
                                        .pages = 8,
                                        .present = 8,
                                        .maps_read = true,
                                        .maps_agree = true};
        row.on[s * 2] = 8;
        sample->before[s] = sample->after[s] = row;
    }
}

TestSuite(nodes_judge, .init = begin);

static void expect_good(void)
{
    tb_nodes_judge(&run);
    cr_expect(job.sample.ran && job.sample.valid, "%s", job.sample.invalid);
    cr_expect_str_eq(job.sample.invalid, "");
}

// Judges, expects a refusal with these words, and starts again.
static void expect_bad(const char *words)
{
    tb_nodes_judge(&run);
    cr_expect(job.sample.ran && !job.sample.valid, "valid, though '%s'", words);
    cr_expect_not_null(strstr(job.sample.invalid, words), "'%s' is not in '%s'", words, job.sample.invalid);
    cr_expect_lt(strlen(job.sample.invalid), sizeof job.sample.invalid - 1, "cut off");
    begin();
}

Test(nodes_judge, a_good_run_is_valid_and_fills_the_sample)
{
    stations[1].repaired = 3;
    expect_good();
    const struct tb_node_row *rows = job.sample.nodes.node;
    cr_expect(rows[0].allocated == 100 && rows[0].freed == 100 && rows[0].pushed == 10 && rows[0].drained == 10);
    cr_expect(rows[1].allocated == 0 && rows[1].pushed == 0);
    cr_expect(rows[2].allocated == 101 && rows[2].freed == 101 && rows[2].pushed == 11 && rows[2].drained == 11);
    cr_expect(job.sample.allocated == 201 && job.sample.freed == 201 && job.sample.pushed == 21 && job.sample.drained == 21);
    cr_expect_eq(job.sample.touched_bytes, 201 * BLOCK_BYTES);
    cr_expect_eq(job.sample.touched_bytes_expected, 201 * BLOCK_BYTES);
    cr_expect_eq(job.sample.nodes.pages_repaired, 3);
    cr_expect_str_eq(job.sample.version, "1.0");
}

Test(nodes_judge, every_home_must_be_whole)
{
    stations[1].error = -EIO;
    stations[1].failed_to = "take blocks";
    expect_bad("node 2: the scheduler could not take blocks: Input/output error");
    stations[1].error = -ETIMEDOUT;
    stations[1].failed_to = "take blocks";
    expect_bad("node 2: the scheduler could not take blocks: blocks on their way home did not arrive in time");
    workers[1].error = -EPERM;
    expect_bad("node 2: a worker could not be pinned: Operation not permitted");
    audits[0].refused = 1;
    expect_bad("node 0: 1 frees were refused");
    stations[0].retired++;
    expect_bad("node 0: pushed 11, drained 10");
    audits[1].allocated++;
    audits[1].freed++;
    expect_bad("node 2: took 101, allocated 102");
    audits[1].freed--;
    expect_bad("node 2: allocated 101, freed 100");
    audits[0].not_home = 4;
    expect_bad("node 0: 4 blocks are not home");
    stations[1].damaged = 5;
    expect_bad("node 2: 5 blocks did not hold");
    stations[1].touched_bytes -= BLOCK_BYTES;
    expect_bad("touched 819200 bytes of 823296");
    expect_good();
}

// A loss here and a surplus there are two failures, not none.
Test(nodes_judge, homes_do_not_make_up_for_each_other)
{
    audits[0].freed--;
    audits[1].freed++;
    expect_bad("node 0: allocated 100, freed 99");
    audits[0].drained--;
    audits[1].drained++;
    expect_bad("node 0: pushed 10, drained 9");
}

Test(nodes_judge, a_strict_pool_lies_where_it_is_bound_before_and_after)
{
    for (int late = 0; late < 2; late++)
        for (uint32_t s = 0; s < STATIONS; s++) {
            struct tb_nodes_sample *sample = &job.sample.nodes;
            struct tb_node_placement *row = late ? &sample->after[s] : &sample->before[s];
            char words[128];
            snprintf(words, sizeof words, "%s: 1 of 8 pages of node %u's pool are elsewhere", late ? "after" : "before", s * 2);
            row->elsewhere = 1;
            expect_bad(words);
            row->present = 6;
            expect_bad("2 of 8 pages");
            row->verify_errno = EPERM;
            expect_bad("move_pages cannot locate");
            row->maps_agree = false;
            expect_bad("numa_maps disagree");
            row->maps_agree = row->maps_read = false; // there was no second witness
            expect_good();
            begin();
            row->requested = LOCUS_POLICY_BIND_BALANCING;
            row->elsewhere = 2;
            expect_bad("2 of 8 pages");
        }
}

Test(nodes_judge, other_policies_may_spill_and_a_malloc_places_nothing)
{
    const enum locus_policy loose[] = {LOCUS_POLICY_FIRST_TOUCH, LOCUS_POLICY_PREFERRED, LOCUS_POLICY_INTERLEAVE,
                                       LOCUS_POLICY_WEIGHTED_INTERLEAVE, LOCUS_POLICY_PREFERRED_MANY};
    for (unsigned i = 0; i < sizeof loose / sizeof *loose; i++) {
        begin();
        job.sample.nodes.before[0].requested = loose[i];
        job.sample.nodes.before[0].elsewhere = 3;
        job.sample.nodes.before[0].present = 5;
        expect_good();
    }
    begin();
    job.sample.nodes.placements = 0;
    job.sample.nodes.before[0].elsewhere = 3;
    expect_good();
}

Test(nodes_judge, a_touch_on_a_page_that_nobody_knows_is_no_evidence)
{
    struct tb_nodes_sample *sample = &job.sample.nodes;
    struct tb_node_counts *counts[] = {&sample->touches, &sample->allocations, &sample->frees};
    for (unsigned i = 0; i < 3; i++) {
        counts[i]->unknown = 2;
        expect_bad("2 touches or frees were on pages whose node is unknown");
    }
    stations[1].books.error = -EPERM;
    expect_bad("move_pages cannot locate the pages: Operation not permitted");
}

Test(nodes_judge, balancing_must_have_done_nothing_unless_pages_move_by_design)
{
    struct tb_nodes_sample *sample = &job.sample.nodes;
    uint64_t *counters[] = {&sample->numa_pte_updates, &sample->numa_hint_faults, &sample->numa_pages_migrated};
    for (unsigned i = 0; i < 3; i++) {
        *counters[i] = 1;
        expect_bad("kernel.numa_balancing=0");
        *counters[i] = 1;
        run.migrates = true;
        expect_good();
        begin();
        *counters[i] = 1;
        sample->balancing_known = false; // the kernel has none
        expect_good();
        begin();
    }
}

static void vmstat_says(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

Test(nodes_judge, balancing_is_the_difference_of_what_the_kernel_counts)
{
    char path[] = "/tmp/nodes_judge.XXXXXX";
    struct tb_nodes_sample *sample = &job.sample.nodes;
    close(mkstemp(path));
    vmstat_says(path, "nr_free_pages 7\nnuma_pte_updates 100\nnuma_huge_pte_updates 1\nnuma_hint_faults 50\n"
                      "numa_hint_faults_local 40\nnuma_pages_migrated 18446744073709551615\n");
    tb_nodes_balancing(sample, path, -1);
    vmstat_says(path, "nr_free_pages 9\nnuma_pte_updates 103\nnuma_huge_pte_updates 9\nnuma_hint_faults 50\n"
                      "numa_hint_faults_local 44\nnuma_pages_migrated 1\n");
    tb_nodes_balancing(sample, path, 1);
    cr_expect(sample->balancing_known);
    cr_expect_eq(sample->numa_pte_updates, 3);
    cr_expect_eq(sample->numa_hint_faults, 0);
    cr_expect_eq(sample->numa_pages_migrated, 2, "it wrapped");
    vmstat_says(path, "nr_free_pages 9\npgmigrate_success 3\n");
    tb_nodes_balancing(sample, path, 1);
    cr_expect_not(sample->balancing_known);
    unlink(path);
    sample->balancing_known = true;
    tb_nodes_balancing(sample, path, 1);
    cr_expect_not(sample->balancing_known);
}

// --- where a real pool lies ----------------------------------------------------------------------------------------------------

static struct locus_region *region;

static const struct locus_region *region_of(void *context, uint32_t station)
{
    (void)context, (void)station;
    return region;
}

Test(nodes_judge, placement_is_asked_of_the_region)
{
    const struct tb_nodes_ops with_region = {.audit = audit, .region = region_of};
    struct tb_nodes_sample *sample = &job.sample.nodes;
    int node = 0;
    while (!locus_node_allowed(node))
        node++;
    struct locus_region_config config = {
        .size = sizeof config, .bytes = 16 * 4096, .policy = LOCUS_POLICY_BIND, .node = node, .populate = true};
    int error = locus_region_open(&region, &config);
    if (error == -EPERM || error == -ENOSYS)
        cr_skip_test("mbind is not available here");
    cr_assert_eq(error, 0);
    run.ops = &with_region;
    sample->node[0].os = stations[0].node = node;
    run.count = 1;
    memset(sample->before, 0, sizeof sample->before);
    cr_assert_eq(tb_nodes_place(&run, sample->before), 0);
    const struct tb_node_placement *row = &sample->before[0];
    cr_expect_eq(sample->placements, 1);
    cr_expect(row->station == node && row->requested == LOCUS_POLICY_BIND && row->granted == LOCUS_POLICY_BIND);
    if (row->verify_errno == 0)
        cr_expect(row->pages == 16 && row->present == 16 && row->elsewhere == 0 && row->on[0] == 16);
    locus_region_close(region);
    run.ops = &ops;
    cr_expect_eq(tb_nodes_place(&run, sample->after), 0, "a contender without regions has no placement");
}
