// SPDX-License-Identifier: Apache-2.0
//
// The line of a sample of many nodes: every count at its place, by the nodes' OS numbers, and the ratios that follow from them.
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "locus/policy.h"
#include "testbed/base/tests/json_says.h"
#include "testbed/judge/loaded.h"
#include "testbed/run/run_lines.h"

static struct tb_nodes_sample nodes; // large, and all 0 at first: Criterion gives each test a process of its own
static json_t *line;

// Two nodes, 0 and 4, and a third that has memory only, 7.
static void open_nodes(void)
{
    nodes.count = 3;
    nodes.abroad_known = true;
    nodes.node[0] = (struct tb_node_row){.os = 0, .station = true, .allocated = 10, .freed = 10, .pushed = 2, .drained = 2};
    nodes.node[1] = (struct tb_node_row){.os = 4, .station = true, .allocated = 30, .freed = 29, .pushed = 5, .drained = 4};
    nodes.node[2] = (struct tb_node_row){.os = 7};
    line = json_object();
}

static void close_line(void)
{
    json_decref(line);
}

TestSuite(record_nodes_lines, .init = open_nodes, .fini = close_line);

static const json_t *made(void)
{
    cr_assert_eq(tb_line_nodes(line, &nodes), 0);
    return json_object_get(line, "nodes");
}

static void expect_json(const json_t *value, const char *expected)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    cr_expect_str_eq(text, expected);
    free(text);
}

Test(record_nodes_lines, are_read_back_as_they_were)
{
    static struct tb_nodes_sample back;
    nodes.touches.pair[0][2] = 7;
    nodes.allocations.pair[1][0] = 3;
    nodes.frees.pair[1][1] = 9;
    nodes.touches.unknown = 2;
    nodes.frees_abroad = 4;
    nodes.pages_moved = 5;
    nodes.pages_repaired = 6;
    nodes.placements = 1;
    nodes.after[0] = (struct tb_node_placement){.station = 4,
                                                .requested = LOCUS_POLICY_BIND,
                                                .granted = LOCUS_POLICY_PREFERRED,
                                                .verify_errno = ENOSYS,
                                                .present = 100,
                                                .elsewhere = 1,
                                                .on = {0, 99, 1},
                                                .maps_read = true};
    made();
    tb_loaded_nodes(line, &back);
    cr_expect(memcmp(&back.touches, &nodes.touches, sizeof back.touches) == 0);
    cr_expect(memcmp(&back.allocations, &nodes.allocations, sizeof back.allocations) == 0);
    cr_expect(memcmp(&back.frees, &nodes.frees, sizeof back.frees) == 0);
    cr_assert_eq(back.count, nodes.count);
    for (uint32_t n = 0; n < nodes.count; n++) {
        const struct tb_node_row *is = &back.node[n], *was = &nodes.node[n];
        cr_expect(is->os == was->os && is->station == was->station && is->allocated == was->allocated && is->freed == was->freed &&
                  is->pushed == was->pushed && is->drained == was->drained);
    }
    cr_expect(back.abroad_known && back.frees_abroad == 4 && back.pages_moved == 5 && back.pages_repaired == 6);
    cr_assert_eq(back.placements, 1);
    const struct tb_node_placement *pool = &back.after[0];
    cr_expect(pool->station == 4 && pool->requested == LOCUS_POLICY_BIND && pool->granted == LOCUS_POLICY_PREFERRED);
    cr_expect(pool->verify_errno == ENOSYS && pool->granted_errno == 0 && pool->present == 100 && pool->elsewhere == 1);
    cr_expect(pool->on[0] == 0 && pool->on[1] == 99 && pool->on[2] == 1 && pool->maps_read && !pool->maps_agree);
    nodes.count = 0;
    made();
    tb_loaded_nodes(line, &back);
    cr_expect(back.count == 0 && back.placements == 0 && back.touches.unknown == 0);
}

Test(record_nodes_lines, of_one_node_all_are_null)
{
    nodes.count = 0;
    nodes.touches.pair[0][1] = 5; // of whatever was there before
    made();
    expect_json(line, "{\"remote_touch_ratio\":null,\"wandered_ratio\":null,\"abroad_free_ratio\":null,\"nodes\":null}");
}

Test(record_nodes_lines, ratios_are_null_where_nothing_was_counted)
{
    nodes.frees_abroad = 3; // of no frees: no ratio
    const json_t *made_nodes = made();
    cr_assert(json_is_object(made_nodes));
    for (size_t i = 0; i < 3; i++)
        cr_expect(json_is_null(
            json_object_get(line, (const char *const[]){"remote_touch_ratio", "wandered_ratio", "abroad_free_ratio"}[i])));
    expect_json(json_object_get(made_nodes, "touches"), "{\"local\":0,\"remote\":0,\"unknown\":0,\"pairs\":[]}");
}

Test(record_nodes_lines, ratios_are_remote_over_all_that_is_known)
{
    nodes.touches.pair[0][0] = 60;
    nodes.touches.pair[1][1] = 15;
    nodes.touches.pair[0][2] = 20;
    nodes.touches.pair[1][0] = 5;
    nodes.touches.unknown = 1000;
    nodes.allocations.pair[1][1] = 8;
    nodes.frees.pair[0][0] = 4;
    nodes.frees.pair[0][1] = 4;
    nodes.frees_abroad = 2;
    made();
    CLOSE(number_at(line, "remote_touch_ratio"), 0.25, 0);
    CLOSE(number_at(line, "wandered_ratio"), 0, 0);
    CLOSE(number_at(line, "abroad_free_ratio"), 0.25, 0);
    cr_expect(json_is_real(json_object_get(line, "wandered_ratio")), "0 is a figure, and not null");
}

Test(record_nodes_lines, pairs_are_of_os_numbers_in_order_and_above_zero)
{
    nodes.touches.pair[2][1] = 3;
    nodes.touches.pair[0][0] = 60;
    nodes.touches.pair[0][2] = 20;
    nodes.touches.unknown = 7;
    nodes.allocations.pair[1][0] = 1;
    nodes.frees.pair[1][1] = UINT64_C(1) << 40;
    nodes.frees_abroad = 9;
    const json_t *made_nodes = made();
    expect_json(json_object_get(made_nodes, "os"), "[0,4,7]");
    expect_json(json_object_get(made_nodes, "touches"),
                "{\"local\":60,\"remote\":23,\"unknown\":7,\"pairs\":[[0,0,60],[0,7,20],[7,4,3]]}");
    expect_json(json_object_get(made_nodes, "allocations"), "{\"local\":0,\"remote\":1,\"unknown\":0,\"pairs\":[[4,0,1]]}");
    expect_json(json_object_get(made_nodes, "frees"),
                "{\"local\":1099511627776,\"remote\":0,\"unknown\":0,\"pairs\":[[4,4,1099511627776]],\"abroad\":9}");
}

Test(record_nodes_lines, what_a_malloc_does_not_say_is_null)
{
    nodes.frees.pair[0][0] = 4;
    nodes.frees_abroad = 2;
    nodes.abroad_known = false;
    const json_t *frees = json_object_get(made(), "frees");
    cr_expect(json_is_null(json_object_get(frees, "abroad")));
    cr_expect(json_is_null(json_object_get(line, "abroad_free_ratio")));
    CLOSE(number_at(frees, "local"), 4, 0);
}

Test(record_nodes_lines, homes_are_where_a_scheduler_runs)
{
    expect_json(json_object_get(made(), "homes"), "[{\"node\":0,\"allocated\":10,\"freed\":10,\"pushed\":2,\"drained\":2},"
                                                  "{\"node\":4,\"allocated\":30,\"freed\":29,\"pushed\":5,\"drained\":4}]");
}

Test(record_nodes_lines, drift_and_pages_are_whole)
{
    nodes.points_count = 2;
    nodes.points[0] = (struct tb_drift_point){100, 0};
    nodes.points[1] = (struct tb_drift_point){100, 37};
    nodes.points[2] = (struct tb_drift_point){1, 1};
    nodes.pages_moved = 12;
    nodes.pages_repaired = 11;
    const json_t *made_nodes = made();
    expect_json(json_object_get(made_nodes, "drift"), "[[100,0],[100,37]]");
    CLOSE(number_at(made_nodes, "pages_moved"), 12, 0);
    CLOSE(number_at(made_nodes, "pages_repaired"), 11, 0);
    expect_json(json_object_get(made_nodes, "balancing"), "null");
}

Test(record_nodes_lines, balancing_is_told_where_the_kernel_counts_it)
{
    nodes.balancing_known = true;
    nodes.numa_hint_faults = 5;
    expect_json(json_object_get(made(), "balancing"), "{\"pte_updates\":0,\"hint_faults\":5,\"pages_migrated\":0}");
}

Test(record_nodes_lines, a_malloc_places_nothing)
{
    expect_json(json_object_get(made(), "before"), "[]");
    expect_json(json_object_get(made(), "after"), "[]");
}

Test(record_nodes_lines, a_placement_says_requested_granted_and_found)
{
    nodes.placements = 2;
    nodes.before[0] = (struct tb_node_placement){.station = 0,
                                                 .requested = LOCUS_POLICY_BIND,
                                                 .granted = LOCUS_POLICY_BIND,
                                                 .present = 512,
                                                 .on = {512},
                                                 .maps_read = true,
                                                 .maps_agree = true};
    nodes.before[1] = (struct tb_node_placement){.station = 4,
                                                 .requested = LOCUS_POLICY_INTERLEAVE,
                                                 .granted_errno = ENOSYS,
                                                 .verify_errno = EPERM};
    nodes.after[1] = (struct tb_node_placement){.station = 4,
                                                .requested = LOCUS_POLICY_PREFERRED_MANY,
                                                .granted = LOCUS_POLICIES,
                                                .present = 300,
                                                .elsewhere = 44,
                                                .on = {0, 256, 44},
                                                .maps_read = true};
    const json_t *made_nodes = made();
    const json_t *before = json_object_get(made_nodes, "before"), *after = json_object_get(made_nodes, "after");
    expect_json(json_array_get(before, 0),
                "{\"station\":0,\"requested\":\"bind\",\"granted\":\"bind\",\"why\":null,\"present\":512,"
                "\"elsewhere\":0,\"on\":[[0,512]],\"numa_maps\":true,\"granted_errno\":0,\"verify_errno\":0}");
    const json_t *second = json_array_get(before, 1);
    cr_expect_str_eq(text_at(second, "requested"), "interleave");
    cr_expect(json_is_null(json_object_get(second, "granted")) && json_is_null(json_object_get(second, "numa_maps")));
    cr_expect_str_eq(text_at(second, "why"), "the policy could not be read back: Function not implemented; the kernel does not say "
                                             "where the pages are: Operation not permitted");
    expect_json(json_array_get(after, 1), "{\"station\":4,\"requested\":\"preferred-many\",\"granted\":\"unknown\",\"why\":null,"
                                          "\"present\":300,\"elsewhere\":44,\"on\":[[4,256],[7,44]],\"numa_maps\":false,"
                                          "\"granted_errno\":0,\"verify_errno\":0}");
    cr_expect_eq(json_array_size(before), 2);
    cr_expect_eq(json_array_size(after), 2);
}

Test(record_nodes_lines, no_count_is_believed_beyond_its_array)
{
    nodes.count = nodes.points_count = nodes.placements = UINT32_MAX; // what a process that died may leave behind
    const json_t *made_nodes = made();
    cr_expect_eq(json_array_size(json_object_get(made_nodes, "os")), TB_NODES_MAX);
    cr_expect_eq(json_array_size(json_object_get(made_nodes, "drift")), TB_DRIFT_POINTS_MAX);
    cr_expect_eq(json_array_size(json_object_get(made_nodes, "before")), TB_NODES_MAX);
}
