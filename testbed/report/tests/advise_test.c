// SPDX-License-Identifier: Apache-2.0
//
// advise: the pages for three machines, from samples that are made up. Two nodes of 8192 pages each; of 1000 touches and 100 frees
// an arm is told how many were remote and how many kept abroad.
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "testbed/measure/tests/campaign_fixture.h"
#include "testbed/report/advise/advise.h"

static struct fixture f;
static struct tb_advise advise;
static const struct fixture_arm usual[] = {{"home-steered", 1000000}, {"first-touch", 1061000},   {"preferred", 1000000},
                                           {"interleave", 1040000},   {"one-node", 1183000},      {"cross-node", 1400000},
                                           {"mimalloc", 1120000},     {"home-steered#2", 1000000}};
enum { STEERED, TOUCHED, PREFERRED, INTERLEAVE, ONE_NODE, CROSS, MIMALLOC, TWIN };

// Where the two pools of an arm are, in every round; on[pool][node]. NULL: a malloc.
static void placed(struct tb_campaign *campaign, uint32_t arm, enum locus_policy policy, const uint64_t on[2][2], uint64_t remote)
{
    for (uint32_t round = 0; round < campaign->rounds; round++) {
        struct tb_nodes_sample *nodes = &tb_campaign_sample(campaign, 0, arm, round)->nodes;
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

static struct tb_advise *machine_of_two(struct tb_campaign *campaign)
{
    f.cells[0].laps_counted = 1;
    campaign->many_nodes = true;
    advise = (struct tb_advise){.machine = {.balancing = 0, .cpus_least = 8},
                                .campaign = campaign,
                                .workload = "trace.csv (azure-csv): 400 requests, 26209 blocks of 16 tokens",
                                .cross_percent = 50,
                                .pool_blocks = 8192,
                                .block_bytes = 65536};
    locus_nodes_add(&advise.machine.homes, 0);
    locus_nodes_add(&advise.machine.homes, 1);
    return &advise;
}

static struct tb_advise *advise_after(uint32_t rounds)
{
    struct tb_campaign *campaign = FIXTURE(f, usual, rounds);
    placed(campaign, STEERED, LOCUS_POLICY_BIND, at_home, 0);
    placed(campaign, TWIN, LOCUS_POLICY_BIND, at_home, 0);
    placed(campaign, TOUCHED, LOCUS_POLICY_FIRST_TOUCH, at_home, 0);
    placed(campaign, PREFERRED, LOCUS_POLICY_PREFERRED, at_home, 0);
    placed(campaign, INTERLEAVE, LOCUS_POLICY_INTERLEAVE, halves, 501);
    placed(campaign, ONE_NODE, LOCUS_POLICY_BIND, first, 500);
    placed(campaign, CROSS, LOCUS_POLICY_BIND, away, 1000);
    placed(campaign, MIMALLOC, LOCUS_POLICY_FIRST_TOUCH, NULL, 123);
    return machine_of_two(campaign);
}

static struct tb_advise *usual_advise(void)
{
    return advise_after(20);
}

// The page, whole; no line of it is wider than 80 columns, but a command that is to be copied and the emulated heading.
static char *page(const struct tb_advise *of)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(tb_advise_text(out, of), 0);
    fclose(out);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        cr_assert(strcspn(line, "\n") <= 80 || strncmp(line, "EMULATED", 8) == 0 || strncmp(line, "    locus guest", 15) == 0,
                  "too wide: %.*s", (int)strcspn(line, "\n"), line);
    return text;
}

// The same on one line: whether it says something does not depend on where it is broken.
static char *flat(const struct tb_advise *of)
{
    char *text = page(of), *to = text;
    for (const char *from = text; *from; from++)
        if ((*from != '\n' && *from != ' ') || to == text || to[-1] != ' ')
            *to++ = *from == '\n' ? ' ' : *from;
    *to = '\0';
    return text;
}

static void says(const char *text, const char *what)
{
    cr_assert(strstr(text, what), "\"%s\" is not in: %s", what, text);
}

static void says_not(const char *text, const char *what)
{
    cr_assert_not(strstr(text, what), "\"%s\" is in: %s", what, text);
}

Test(advise, hardware_names_the_placement_its_worth_and_the_lines_that_set_it)
{
    char *text = flat(usual_advise());
    says(text, "> home-steered the one to use 0 % 0 %");
    says(text, "preferred no difference (within 0.");
    says(text, "Use home-steered: bind each pool to its scheduler's node and push every block home.");
    says(text, " against first touch, 18.");
    says(text, "No difference to it: preferred.");
    says(text, "int nodes[] = {0, 1};");
    says(text,
         ".nodes_count = 2, .workers = 2, .blocks = 8192, .block_bytes = 65536, .policy = LOCUS_POLICY_BIND, .populate = true,");
    says(text, "locus_domain_open(&domain, &config);");
    says(text, "numactl --cpunodebind=0 --membind=0 ENGINE numactl --cpunodebind=1 --membind=1 ENGINE");
    says(text, "CXL and other memory without CPUs (this machine has none)");
    says_not(text, "EMULATED");
    free(text);
}

Test(advise, costs_and_remote_touches_stand_beside_each_other)
{
    char *text = page(usual_advise());
    double by = 0, low = 0, high = 0;
    char *line = strstr(text, "  one-node ");
    cr_assert(line && sscanf(line, "  one-node %lf %% slower [%lf, %lf] 50.0 %%", &by, &low, &high) == 3, "%s", text);
    cr_assert(low <= by && by <= high && by > 17.9 && by < 18.7, "%g [%g, %g]", by, low, high);
    says(strstr(text, "  interleave "), "50.1 %");
    says(strstr(text, "  cross-node "), "100 %");
    cr_assert(strstr(text, "  cross-node ") > strstr(text, "the wrong node"), "the worst case is not among the choices");
    says(strstr(text, "  mimalloc "), "12.3 %        -\n");
    cr_assert(strstr(text, "  interleave ") < strstr(text, "  one-node "), "by time");
    free(text);
}

Test(advise, placement_is_three_facts)
{
    struct tb_advise *two = usual_advise();
    struct tb_nodes_sample *nodes = &tb_campaign_sample(&f.campaign, 0, TOUCHED, 0)->nodes;
    nodes->after[0].granted = LOCUS_POLICY_INTERLEAVE;
    nodes->after[1].elsewhere = 5;
    tb_campaign_sample(&f.campaign, 0, PREFERRED, 0)->nodes.after[1].verify_errno = EPERM;
    char *text = flat(two);
    says(text, "home-steered bind: 8192 on 0; 8192 on 1 ");
    says(text, "interleave interleave: 4096 on 0 + 4096 on 1; 4096 on 0 + 4096 on 1 ");
    says(text, "cross-node bind: 8192 on 1; 8192 on 0 ");
    says(text, "first-touch first-touch, but granted interleave: 8192 on 0; 8192 on 1 (5 of them astray)");
    says(text, "preferred preferred: 8192 on 0; not verified (EPERM)");
    free(text);
}

Test(advise, an_invalid_arm_has_a_reason_and_no_cost)
{
    struct tb_advise *two = usual_advise();
    fixture_invalidate(&f.campaign, 0, STEERED, 3, "before: 7 of 8192 pages of node 1's pool lie elsewhere");
    char *text = flat(two);
    says(text, "home-steered INVALID: before: 7 of 8192 pages of node 1's pool lie elsewhere (round 4)");
    says(text, "Use preferred: prefer the scheduler's node for its pool.");
    says(text, ".policy = LOCUS_POLICY_PREFERRED");
    says(text, "numactl --cpunodebind=1 --preferred=1 ENGINE");
    says(text, "No valid A/A control ran");
    free(text);
    for (uint32_t arm = 0; arm < f.campaign.arms_count; arm++)
        fixture_invalidate(&f.campaign, 0, arm, 0, "crashed");
    text = flat(two);
    says(text, "There is nothing valid to choose from, and so no advice.");
    says_not(text, "numactl");
    says_not(text, "slower");
    free(text);
}

static void refuse(struct tb_advise *two, const char *arm, enum locus_policy policy, int error)
{
    struct tb_advise_refusal *refusal = &two->refusals[two->refusals_count++];
    snprintf(refusal->arm, sizeof refusal->arm, "%s", arm);
    snprintf(refusal->why, sizeof refusal->why, "%s", locus_policy_why(policy, error));
}

Test(advise, a_refused_policy_is_not_here_with_its_reason)
{
    struct tb_advise *two = usual_advise();
    refuse(two, "repair", LOCUS_POLICY_PREFERRED, -EPERM);
    refuse(two, "weighted-interleave", LOCUS_POLICY_WEIGHTED_INTERLEAVE, -ENOSYS);
    refuse(two, "preferred-many", LOCUS_POLICY_PREFERRED_MANY, -EPERM);
    char *text = flat(two);
    says(text, " weighted-interleave not here: this kernel does not offer the policy: Linux 6.9 and later do");
    says(text, " repair, preferred-many not here: memory policies are forbidden here");
    cr_assert_null(strstr(strstr(text, "are forbidden here") + 1, "are forbidden here"), "a reason is said once");
    free(text);
}

Test(advise, no_difference_is_said_where_that_is_the_truth)
{
    static const struct fixture_arm equal[] = {{"home-steered", 1000000},
                                               {"interleave", 1000000},
                                               {"cross-node", 1000000},
                                               {"home-steered#2", 1000000}};
    struct tb_campaign *campaign = FIXTURE(f, equal, 40);
    placed(campaign, 0, LOCUS_POLICY_BIND, at_home, 0);
    placed(campaign, 1, LOCUS_POLICY_INTERLEAVE, halves, 500);
    placed(campaign, 2, LOCUS_POLICY_BIND, away, 1000);
    placed(campaign, 3, LOCUS_POLICY_BIND, at_home, 0);
    fixture_slow(campaign, 0, 3, 1.01); // the control, so that a per cent cannot be seen
    struct tb_advise *two = machine_of_two(campaign);
    char *text = flat(two);
    says(text, "> home-steered the one to use");
    says(text, "interleave no difference (within 1.");
    says(text, "It makes no difference here where the pages lie, not even on the wrong node. If in doubt, bind each pool");
    free(text);
    fixture_slow(campaign, 0, 3, 1.1); // nor ten: now nothing is claimed
    text = flat(two);
    says(text, "interleave cannot be told [");
    says(text, "This run cannot tell whether it matters where the pages lie");
    says_not(text, "no difference");
    free(text);
}

Test(advise, the_fewest_remote_touches_decide_between_equals)
{
    static const struct fixture_arm equal[] = {{"interleave", 1000000},
                                               {"first-touch", 1000000},
                                               {"preferred", 1000000},
                                               {"one-node", 1200000},
                                               {"interleave#2", 1000000}};
    struct tb_campaign *campaign = FIXTURE(f, equal, 20);
    placed(campaign, 0, LOCUS_POLICY_INTERLEAVE, halves, 500);
    placed(campaign, 1, LOCUS_POLICY_FIRST_TOUCH, at_home, 0);
    placed(campaign, 2, LOCUS_POLICY_PREFERRED, at_home, 3);
    placed(campaign, 3, LOCUS_POLICY_BIND, first, 0);
    placed(campaign, 4, LOCUS_POLICY_INTERLEAVE, halves, 500);
    char *text = flat(machine_of_two(campaign));
    says(text, "> first-touch the one to use");
    says(text, "numactl --cpunodebind=0 --localalloc ENGINE");
    says_not(text, "populate");
    free(text);
    fixture_slow(campaign, 0, 1, 1.1); // no longer equal
    text = flat(machine_of_two(campaign));
    says(text, "> preferred the one to use");
    fixture_slow(campaign, 0, 2, 1.1);
    free(text);
    text = flat(machine_of_two(campaign));
    says(text, "> interleave the one to use");
    says(text, "for the whole process: numactl --interleave=0,1 ENGINE");
    says(text, "locus_nodes_add(&config.among, 0); locus_nodes_add(&config.among, 1); locus_domain_open");
    free(text);
}

Test(advise, a_malloc_that_is_ahead_is_said_to_be)
{
    struct tb_advise *two = usual_advise();
    fixture_slow(&f.campaign, 0, MIMALLOC, 0.8);
    char *text = flat(two);
    says(text, "faster [");
    says(text, "Ahead of it: mimalloc.");
    says(text, "> home-steered");
    free(text);
}

Test(advise, too_few_rounds_give_counts_and_no_cost)
{
    char *text = flat(advise_after(5));
    says(text, "too few rounds to tell");
    says(text, "Too few rounds to tell times apart, 6 are the least (--rounds). By the counts alone, use ");
    says_not(text, "slower");
    free(text);
}

static struct tb_advise *emulated(void)
{
    struct tb_advise *two = usual_advise();
    two->machine.emulated = "n2";
    return two;
}

Test(advise, an_emulated_machine_counts_and_says_nothing_of_speed)
{
    static const char *const words[] = {"> ",  "faster", "slower", "times",         "median",
                                        " ns", " us",    " ms",    "no difference", "to use"};
    char *text = page(emulated());
    cr_assert(strncmp(text, "EMULATED MACHINE n2: counts only. Nothing here says how fast anything is on hardware.\n", 86) == 0);
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        says_not(text, words[w]);
    cr_assert(strstr(text, "  one-node ") < strstr(text, "  cross-node "), "in the order of the arms");
    cr_assert(strstr(text, "  first-touch ") < strstr(text, "  preferred "), "in the order of the arms");
    free(text);
    text = flat(emulated());
    says(text, "Every write stays on its node (0 remote touches): home-steered, first-touch, preferred.");
    says(text, "one-node 0.0 MiB of 0.1 MiB, cross-node 0.1 MiB of 0.1 MiB");
    says(text, "anything that takes a clock");
    free(text);
}

Test(advise, one_node_has_nothing_to_choose)
{
    struct tb_advise one = {.machine = {.balancing = -1},
                            .guest_command = "locus guest -- advise -b 32",
                            .pool_blocks = 100,
                            .block_bytes = 4096};
    locus_nodes_add(&one.machine.homes, 0);
    char *text = flat(&one);
    says(text, "This machine has one node: every placement is the same here, and there is nothing to choose.");
    says(text, "Nothing about placement was measured.");
    says(text, "locus eval");
    says(text, "struct locus_pool_config config = { .size = sizeof config, .blocks = 100, .block_bytes = 4096,");
    says(text, "locus guest -- advise -b 32");
    says_not(text, "slower");
    free(text);
    locus_nodes_add(&one.machine.bare, 2);
    locus_nodes_add(&one.machine.barred, 1);
    text = flat(&one);
    says(text, "This process has both CPUs and memory on one node only (node 0)");
    says(text, "Memory without CPUs, on node 2, was not tried. Not for this process (taskset, cpuset or container): node 1.");
    says_not(text, "This machine has one node");
    free(text);
}

static json_t *json_of(const struct tb_advise *of)
{
    char *text = NULL;
    size_t bytes = 0;
    json_error_t error;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(tb_advise_json(out, NULL, of), 0);
    fclose(out);
    json_t *json = json_loads(text, 0, &error);
    cr_assert(json, "%s", error.text);
    free(text);
    return json;
}

static const json_t *json_arm(const json_t *json, const char *name)
{
    size_t i;
    json_t *arm;
    json_array_foreach (json_object_get(json, "arms"), i, arm)
        if (strcmp(json_string_value(json_object_get(arm, "name")), name) == 0)
            return arm;
    cr_assert(false, "no arm %s", name);
    return NULL;
}

Test(advise, json_has_costs_counts_and_three_facts_of_placement)
{
    json_t *json = json_of(usual_advise());
    const json_t *arm = json_arm(json, "one-node");
    const json_t *cost = json_object_get(arm, "cost"), *counts = json_object_get(arm, "counts");
    const json_t *pool = json_array_get(json_object_get(arm, "placed_after"), 1);
    cr_assert_str_eq(json_string_value(json_object_get(json, "use")), "home-steered");
    cr_assert_str_eq(json_string_value(json_object_get(cost, "verdict")), "slower");
    cr_assert_float_eq(json_real_value(json_object_get(cost, "estimate")), 1.183, 0.004);
    cr_assert_float_eq(json_real_value(json_object_get(counts, "touches_remote_percent")), 50, 1e-9);
    cr_assert_eq(json_integer_value(json_object_get(counts, "touches")), 20000);
    cr_assert_str_eq(json_string_value(json_object_get(pool, "requested")), "bind");
    cr_assert_str_eq(json_string_value(json_object_get(pool, "granted")), "bind");
    cr_assert_eq(json_integer_value(json_object_get(json_array_get(json_object_get(pool, "on"), 0), "pages")), 8192);
    cr_assert(json_is_null(json_object_get(json_object_get(json_arm(json, "mimalloc"), "counts"), "frees_abroad")));
    cr_assert_eq(json_array_size(json_object_get(arm, "samples_ns")), 20);
    json_decref(json);
}

Test(advise, json_of_an_emulated_machine_has_no_place_for_times)
{
    json_t *json = json_of(emulated());
    char *text = json_dumps(json, 0);
    cr_assert_str_eq(json_string_value(json_object_get(json_object_get(json, "machine"), "emulated")), "n2");
    says(text, "\"touches_remote\"");
    says_not(text, "_ns\"");
    says_not(text, "\"cost\"");
    says_not(text, "\"use\"");
    says_not(text, "\"resolution\"");
    free(text);
    json_decref(json);
}
