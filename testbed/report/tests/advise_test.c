// SPDX-License-Identifier: Apache-2.0
//
// advise: the documents for three machines, from samples that are made up. Two nodes of 8192 pages each; of 1000 touches and
// 100 frees an arm is told how many were remote and how many kept abroad.
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "testbed/base/json.h"
#include "testbed/base/tests/golden.h"
#include "testbed/measure/tests/rounds_fixture.h"
#include "testbed/report/advise/advise.h"
#include "testbed/report/tests/doc_says.h"

static struct fixture f;
static struct tb_advise advise;
static const struct fixture_arm usual[] = {{"home-steered", 1000000}, {"first-touch", 1061000},   {"preferred", 1000000},
                                           {"interleave", 1040000},   {"one-node", 1183000},      {"cross-node", 1400000},
                                           {"mimalloc", 1120000},     {"home-steered#2", 1000000}};
enum { STEERED, TOUCHED, PREFERRED, INTERLEAVE, ONE_NODE, CROSS, MIMALLOC, TWIN };

// Where the two pools of an arm are, in every round; on[pool][node]. NULL: a malloc.
static void placed(struct tb_rounds *rounds, uint32_t arm, enum locus_policy policy, const uint64_t on[2][2], uint64_t remote)
{
    for (uint32_t round = 0; round < rounds->count; round++) {
        struct tb_nodes_sample *nodes = &tb_rounds_sample(rounds, 0, arm, round)->nodes;
        *nodes = (struct tb_nodes_sample){.count = 2, .node = {{.os = 0, .station = true}, {.os = 1, .station = true}}};
        nodes->touches.pair[0][0] = 1000 - remote;
        nodes->touches.pair[1][0] = remote;
        nodes->frees.pair[0][0] = 100;
        nodes->abroad_known = on != NULL;
        for (uint32_t s = 0; s < 2 && on; s++) {
            struct tb_node_placement *pool = &nodes->after[nodes->placements++];
            *pool = (struct tb_node_placement){.station = (int32_t)s, .requested = policy, .granted = policy};
            pool->present = on[s][0] + on[s][1];
            memcpy(pool->on, on[s], sizeof on[s]);
            pool->maps_read = pool->maps_agree = true;
        }
    }
}

static const uint64_t at_home[2][2] = {{8192, 0}, {0, 8192}}, halves[2][2] = {{4096, 4096}, {4096, 4096}},
                      first[2][2] = {{8192, 0}, {8192, 0}}, away[2][2] = {{0, 8192}, {8192, 0}};

static struct tb_advise *machine_of_two(struct tb_rounds *rounds)
{
    f.cells[0].laps_counted = 1;
    rounds->many_nodes = true;
    advise = (struct tb_advise){.machine = {.balancing = 0, .cpus_least = 8},
                                .rounds = rounds,
                                .workload = "trace.csv (azure-csv): 400 requests, 26209 blocks of 16 tokens",
                                .cross_percent = 50,
                                .pool_blocks = 8192,
                                .block_bytes = 65536};
    locus_nodes_add(&advise.machine.homes, 0);
    locus_nodes_add(&advise.machine.homes, 1);
    return &advise;
}

static struct tb_advise *advise_after(uint32_t count)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, count);
    placed(rounds, STEERED, LOCUS_POLICY_BIND, at_home, 0);
    placed(rounds, TWIN, LOCUS_POLICY_BIND, at_home, 0);
    placed(rounds, TOUCHED, LOCUS_POLICY_FIRST_TOUCH, at_home, 0);
    placed(rounds, PREFERRED, LOCUS_POLICY_PREFERRED, at_home, 0);
    placed(rounds, INTERLEAVE, LOCUS_POLICY_INTERLEAVE, halves, 501);
    placed(rounds, ONE_NODE, LOCUS_POLICY_BIND, first, 500);
    placed(rounds, CROSS, LOCUS_POLICY_BIND, away, 1000);
    placed(rounds, MIMALLOC, LOCUS_POLICY_FIRST_TOUCH, NULL, 123);
    return machine_of_two(rounds);
}

static struct tb_advise *usual_advise(void)
{
    return advise_after(20);
}

static json_t *json_of(const struct tb_advise *of)
{
    struct tb_doc *doc = tb_advise_doc(NULL, of);
    json_t *json = tb_doc_as_json(doc);
    cr_assert_not_null(json);
    tb_doc_close(doc);
    return json;
}

// As people see it; no line of it is wider than 80 columns.
static void page_is(const char *path, const struct tb_advise *of)
{
    char *text = doc_shown(tb_advise_doc(NULL, of), false);
    golden(path, text);
    free(text);
}

static const json_t *arm_of(const json_t *json, const char *name)
{
    size_t i;
    json_t *arm;
    json_array_foreach (json_object_get(json, "arms"), i, arm)
        if (strcmp(tb_member_text(arm, "name"), name) == 0)
            return arm;
    cr_assert(false, "no arm %s", name);
    return NULL;
}

static void use_is(const struct tb_advise *of, const char *use, const char *answer)
{
    json_t *json = json_of(of);
    cr_assert_str_eq(tb_member_text(json, "use"), use);
    cr_assert_eq(strncmp(tb_member_text(json, "answer"), answer, strlen(answer)), 0, "%s", tb_member_text(json, "answer"));
    cr_assert(*use || !tb_member(json, "code"), "a command without advice");
    json_decref(json);
}

static void verdict_is(const struct tb_advise *of, const char *arm, const char *verdict)
{
    json_t *json = json_of(of);
    cr_assert_str_eq(tb_member_text(arm_of(json, arm), "cost.verdict"), verdict);
    json_decref(json);
}

Test(advise, hardware_names_the_placement_its_worth_and_the_lines_that_set_it)
{
    page_is("testbed/report/tests/golden/advise_hardware.txt", usual_advise());
    use_is(usual_advise(), "home-steered", "Use home-steered: bind each pool");
    verdict_is(usual_advise(), "preferred", "no-difference");
}

Test(advise, costs_counts_and_three_facts_of_placement)
{
    json_t *json = json_of(usual_advise());
    const json_t *arm = arm_of(json, "one-node"), *pool = json_array_get(json_object_get(arm, "placed_after"), 1);
    cr_assert_str_eq(tb_member_text(arm, "cost.verdict"), "slower");
    cr_assert_float_eq(tb_member_number(arm, "cost.estimate"), 1.183, 0.004);
    cr_assert(tb_member_number(arm, "cost.low") <= 1.183 && tb_member_number(arm, "cost.high") >= 1.183);
    cr_assert_float_eq(tb_member_number(arm, "counts.touches_remote_percent"), 50, 1e-9);
    cr_assert_float_eq(tb_member_number(arm, "counts.touches"), 20000, 0);
    cr_assert_str_eq(tb_member_text(pool, "requested"), "bind");
    cr_assert_str_eq(tb_member_text(pool, "granted"), "bind");
    cr_assert_eq(json_integer_value(tb_member(json_array_get(json_object_get(pool, "on"), 0), "pages")), 8192);
    cr_assert_eq(json_array_size(json_object_get(arm, "samples_ns")), 20);
    cr_assert_str_eq(tb_member_text(arm_of(json, "cross-node"), "role"), "comparison");
    cr_assert_str_eq(tb_member_text(arm_of(json, "home-steered#2"), "role"), "control");
    cr_assert(json_is_null(tb_member(arm_of(json, "mimalloc"), "counts.frees_abroad")), "a malloc does not say");
    json_decref(json);
}

Test(advise, what_is_not_as_it_should_be_is_said)
{
    static const struct {
        const char *arm;
        enum locus_policy policy;
        int error;
    } refused[] = {{"repair", LOCUS_POLICY_PREFERRED, -EPERM}, {"weighted-interleave", LOCUS_POLICY_WEIGHTED_INTERLEAVE, -ENOSYS}};
    struct tb_advise *two = usual_advise();
    struct tb_nodes_sample *nodes = &tb_rounds_sample(&f.rounds, 0, TOUCHED, 0)->nodes;
    nodes->after[0].granted = LOCUS_POLICY_INTERLEAVE;
    nodes->after[1].elsewhere = 5;
    tb_rounds_sample(&f.rounds, 0, PREFERRED, 0)->nodes.after[1].verify_errno = EPERM;
    fixture_invalidate(&f.rounds, 0, STEERED, 3, "before: 7 of 8192 pages of node 1's pool lie elsewhere");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct tb_advise_refusal *refusal = &two->refusals[two->refusals_count++];
        snprintf(refusal->arm, sizeof refusal->arm, "%s", refused[i].arm);
        snprintf(refusal->why, sizeof refusal->why, "%s", locus_policy_why(refused[i].policy, refused[i].error));
    }
    page_is("testbed/report/tests/golden/advise_disturbed.txt", two);
    use_is(two, "preferred", "Use preferred: prefer the scheduler's node for its pool.");
    for (uint32_t arm = 0; arm < f.rounds.arms_count; arm++)
        fixture_invalidate(&f.rounds, 0, arm, 0, "crashed");
    use_is(two, "", "There is nothing valid to choose from, and so no advice.");
}

Test(advise, no_difference_is_said_where_that_is_the_truth)
{
    static const struct fixture_arm equal[] = {{"home-steered", 1000000},
                                               {"interleave", 1000000},
                                               {"cross-node", 1000000},
                                               {"home-steered#2", 1000000}};
    struct tb_rounds *rounds = FIXTURE(f, equal, 40);
    placed(rounds, 0, LOCUS_POLICY_BIND, at_home, 0);
    placed(rounds, 1, LOCUS_POLICY_INTERLEAVE, halves, 500);
    placed(rounds, 2, LOCUS_POLICY_BIND, away, 1000);
    placed(rounds, 3, LOCUS_POLICY_BIND, at_home, 0);
    fixture_slow(rounds, 0, 3, 1.01); // the control, so that a per cent cannot be seen
    struct tb_advise *two = machine_of_two(rounds);
    verdict_is(two, "interleave", "no-difference");
    use_is(two, "home-steered", "It makes no difference here where the pages lie, not even on the wrong node. If in doubt, bind");
    fixture_slow(rounds, 0, 3, 1.1); // nor ten: now nothing is claimed
    verdict_is(two, "interleave", "untold");
    use_is(two, "home-steered", "This run cannot tell whether placement matters");
}

Test(advise, the_fewest_remote_touches_decide_between_equals)
{
    static const struct fixture_arm equal[] = {{"interleave", 1000000},
                                               {"first-touch", 1000000},
                                               {"preferred", 1000000},
                                               {"one-node", 1200000},
                                               {"interleave#2", 1000000}};
    struct tb_rounds *rounds = FIXTURE(f, equal, 20);
    placed(rounds, 0, LOCUS_POLICY_INTERLEAVE, halves, 500);
    placed(rounds, 1, LOCUS_POLICY_FIRST_TOUCH, at_home, 0);
    placed(rounds, 2, LOCUS_POLICY_PREFERRED, at_home, 3);
    placed(rounds, 3, LOCUS_POLICY_BIND, first, 0);
    placed(rounds, 4, LOCUS_POLICY_INTERLEAVE, halves, 500);
    json_t *json = json_of(machine_of_two(rounds));
    cr_assert_str_eq(tb_member_text(json, "use"), "first-touch");
    cr_assert_str_eq(tb_member_text(json, "numactl"),
                     "numactl --cpunodebind=0 --localalloc ENGINE\nnumactl --cpunodebind=1 --localalloc ENGINE\n");
    cr_assert_null(strstr(tb_member_text(json, "code"), "populate"));
    json_decref(json);
    fixture_slow(rounds, 0, 1, 1.1); // no longer equal
    use_is(machine_of_two(rounds), "preferred", "Use ");
    fixture_slow(rounds, 0, 2, 1.1);
    json = json_of(machine_of_two(rounds));
    cr_assert_str_eq(tb_member_text(json, "numactl"), "numactl --interleave=0,1 ENGINE\n");
    cr_assert_not_null(strstr(tb_member_text(json, "code"), "add(&config.among, 0);\nlocus_nodes_add(&config.among, 1);\n"));
    json_decref(json);
}

Test(advise, a_malloc_that_is_ahead_is_said_to_be)
{
    struct tb_advise *two = usual_advise();
    fixture_slow(&f.rounds, 0, MIMALLOC, 0.8);
    verdict_is(two, "mimalloc", "faster");
    use_is(two, "home-steered", "");
}

Test(advise, of_a_model_placements_cost_tokens_and_reads_are_counted)
{
    struct tb_advise *two = usual_advise();
    f.cells[0].touch = TB_TOUCH_DECODE;
    f.schedules[0].decoded_tokens = 10; // of each node, in a lap of about 1.1 ms
    for (uint32_t round = 0; round < 20; round++) {
        struct tb_nodes_sample *nodes = &tb_rounds_sample(&f.rounds, 0, INTERLEAVE, round)->nodes;
        nodes->read.pair[0][0] = 300;
        nodes->read.pair[0][1] = 100;
        nodes->written.pair[1][0] = 5;
        nodes->written.pair[1][1] = 5;
    }
    page_is("testbed/report/tests/golden/advise_shape.txt", two);
    json_t *json = json_of(two);
    const json_t *arm = arm_of(json, "interleave");
    cr_assert_float_eq(tb_member_number(arm, "remote_read_ratio"), 0.25, 1e-9);
    cr_assert_float_eq(tb_member_number(arm, "remote_write_ratio"), 0.5, 1e-9);
    cr_assert_float_eq(tb_member_number(arm, "counts.lap_bytes_remote"), 105, 1e-9);
    cr_assert_float_eq(tb_member_number(arm, "tokens_per_s"), 2 * 10 / (1.04e-3 * 1.095), 200);
    cr_assert_str_eq(tb_member_text(arm, "cost.verdict"), "slower");
    json_decref(json);
    json = json_of(usual_advise());
    cr_assert(json_is_null(tb_member(arm_of(json, "interleave"), "tokens_per_s")), "tokens of writes");
    json_decref(json);
}

Test(advise, too_few_rounds_give_counts_and_no_cost)
{
    verdict_is(advise_after(5), "one-node", "too-few-rounds");
    use_is(advise_after(5), "home-steered", "Too few rounds to tell times apart, 6 are the least (--rounds). By the counts alone");
}

Test(advise, an_emulated_machine_counts_and_has_no_place_for_times)
{
    static const char *const words[] = {"_ns\"", "\"cost", "\"use\"", "\"resolution\"", "faster", "slower", "difference"};
    struct tb_advise *two = usual_advise();
    two->machine.emulated = "n2";
    page_is("testbed/report/tests/golden/advise_emulated.txt", two);
    json_t *json = json_of(two);
    char *text = json_dumps(json, 0);
    cr_assert_str_eq(tb_member_text(json, "machine.emulated"), "n2");
    cr_assert_not_null(strstr(text, "\"touches_remote\""));
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        cr_assert_null(strstr(text, words[w]), "it says %s", words[w]);
    free(text);
    json_decref(json);
}

Test(advise, one_node_has_nothing_to_choose)
{
    struct tb_advise one = {.machine = {.balancing = -1}, .pool_blocks = 100, .block_bytes = 4096};
    locus_nodes_add(&one.machine.homes, 0);
    page_is("testbed/report/tests/golden/advise_one.txt", &one);
    locus_nodes_add(&one.machine.bare, 2);
    locus_nodes_add(&one.machine.barred, 1);
    page_is("testbed/report/tests/golden/advise_home.txt", &one);
}

static void plan_says(const char *description, const char *words, bool expected)
{
    struct tb_advise_machine machine;
    struct locus_topo *topo = NULL;
    char why[256] = "";
    cr_assert_eq(locus_topo_open(&topo, description, why, sizeof why), 0, "%s", why);
    tb_advise_machine_of(topo, &machine);
    locus_topo_close(topo);
    doc_says(tb_advise_plan_doc(NULL, &machine, "box"), words, expected);
}

Test(advise, a_described_machine_is_planned_for_by_its_own_nodes)
{
    const char *two = "topo/tests/fixtures/sparse.xml", *tiers = "topo/tests/fixtures/tiers.xml";
    plan_says(two, "box has memory and CPUs on nodes 4, 5. These placements would be compared there. Nothing was measured.", true);
    plan_says(two, "numactl --cpunodebind=5 --membind=5 ENGINE", true);
    plan_says(two, "numactl --interleave=4,5 ENGINE", true);
    plan_says(two, "process", false);
    plan_says(tiers, "on nodes 1, 2. These placements", true); // how far they are apart it does not say
    plan_says(tiers, "Memory without CPUs: nodes 0, 3.", true);
    plan_says("pu:2", "box has memory and CPUs on node 0, so between nodes there is nothing to choose.", true);
    plan_says("pu:2", "numactl", false);
    plan_says("pack:2 [numa(memory=0)] core:1 pu:1", "box has memory and CPUs on no node, so", true);
}
