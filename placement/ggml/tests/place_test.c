// SPDX-License-Identifier: Apache-2.0
//
// Which devices follow from the environment: on described machines, whose nodes and cores are known, and on this one.
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement/ggml/place.h"
#include "topo/topo.h"

// Two nodes of 4 cores of 2 CPUs each: node 1 begins with CPU 8, and odd CPUs are siblings.
#define TWO_NODES "pack:2 [numa(memory=64GB)] core:4 pu:2"

static struct lg_settings settings;
static char why[256];

static void forget(void)
{
    static const char *const variables[] = {"LOCUS_NODES", "LOCUS_THREADS",   "LOCUS_POLICY",   "LOCUS_PAGES",
                                            "LOCUS_KV",    "LOCUS_KV_POLICY", "LOCUS_KV_NODES", "LOCUS_SUM"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        unsetenv(variables[i]);
}

// The result for a described machine, with LOCUS_NODES and LOCUS_THREADS; NULL: not set.
static int on(const char *machine, const char *nodes, const char *threads)
{
    struct locus_topo *topo;
    cr_assert(locus_topo_open(&topo, machine, why, sizeof(why)) == 0, "%s", why);
    if (nodes)
        setenv("LOCUS_NODES", nodes, 1);
    if (threads)
        setenv("LOCUS_THREADS", threads, 1);
    int err = lg_settings_for(&settings, topo, why, sizeof(why));
    locus_topo_close(topo);
    return err;
}

// Device `index` is on the node and has these CPUs.
static void has(unsigned index, int node, const char *cpus)
{
    char text[256] = "";
    const struct lg_place *place = &settings.places[index];
    for (unsigned i = 0; i < place->cpus_count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", i ? "," : "", place->cpus[i]);
    cr_expect(index < settings.places_count && place->node == node && strcmp(text, cpus) == 0,
              "device %u of %u is on node %d with CPUs %s, not on %d with %s", index, settings.places_count, place->node, text,
              node, cpus);
}

static void refused(int err, const char *variable, const char *word)
{
    cr_expect(err == -EINVAL && strncmp(why, variable, strlen(variable)) == 0 && strstr(why, word) && !strchr(why, '\n'),
              "%d, \"%s\", not -EINVAL with %s and \"%s\"", err, why, variable, word);
}

// --- nodes ---------------------------------------------------------------------------------------------------------------------

Test(place, has_a_device_for_each_node, .init = forget)
{
    cr_assert(on(TWO_NODES, NULL, NULL) == 0, "%s", why);
    cr_expect(settings.places_count == 2);
    has(0, 0, "0,2,4,6");
    has(1, 1, "8,10,12,14");
    cr_expect(settings.places[0].sharers == 1 && settings.places[1].sharers == 1);
}

Test(place, takes_an_empty_variable_for_an_unset_one, .init = forget)
{
    setenv("LOCUS_POLICY", "", 1);
    setenv("LOCUS_SUM", "", 1);
    cr_assert(on(TWO_NODES, "", "") == 0, "%s", why);
    cr_expect(settings.places_count == 2);
}

Test(place, follows_the_order_of_the_list, .init = forget)
{
    cr_assert(on(TWO_NODES, "1,0", NULL) == 0, "%s", why);
    cr_expect(settings.places_count == 2);
    has(0, 1, "8,10,12,14");
    has(1, 0, "0,2,4,6");
}

Test(place, leaves_out_nodes_that_cannot_compute, .init = forget)
{
    cr_assert(on("pack:2 [numa(memory=64GB)] [numa(memory=16GB)] core:2 pu:1", NULL, NULL) == 0, "%s", why);
    cr_expect(settings.places_count == 2);
    has(0, 0, "0,1");
    has(1, 2, "2,3");
}

Test(place, refuses_nodes_that_cannot_compute, .init = forget)
{
    const char *memory_only = "pack:2 [numa(memory=64GB)] [numa(memory=16GB)] core:2 pu:1";
    refused(on(memory_only, "0,1", NULL), "LOCUS_NODES=0,1: node 1", "no CPUs");
    refused(on(TWO_NODES, "0,2", NULL), "LOCUS_NODES=0,2: node 2", "no such node");
    refused(on(TWO_NODES, "1000000", NULL), "LOCUS_NODES=1000000: node 1000000", "no such node");
}

Test(place, refuses_what_is_no_list, .init = forget)
{
    static const char *const lists[] = {
        ",",         "0,",  ",0",  "0,,1", "0 1", "0, 1", " 0", "0 ",  "-1",  "+0",      "0-1",
        "all",       "0,x", "0x0", "1.0",  "0;1", "0,1,", "\n", "0\n", "1e0", "9999999", "99999999999999999999",
        "4294967296"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        int err = on(TWO_NODES, lists[i], NULL);
        cr_expect(err == -EINVAL && strncmp(why, "LOCUS_NODES=", 12) == 0 && strstr(why, "it must be node numbers"),
                  "\"%s\": %d, %s", lists[i], err, why);
    }
}

Test(place, has_sixteen_devices_at_most, .init = forget)
{
    const char *sixteen = "0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1";
    cr_expect(on(TWO_NODES, sixteen, NULL) == 0 && settings.places_count == LG_DEVICES_MAX, "%s", why);
    refused(on(TWO_NODES, "0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0", NULL), "LOCUS_NODES", "more than 16 devices");
    unsetenv("LOCUS_NODES");
    refused(on("pack:17 [numa(memory=1GB)] core:1 pu:1", NULL, NULL), "LOCUS_NODES", "more than 16 devices");
}

Test(place, cuts_a_long_reason, .init = forget)
{
    char list[1024];
    memset(list, 'x', sizeof(list) - 1);
    list[sizeof(list) - 1] = '\0';
    cr_expect(on(TWO_NODES, list, NULL) == -EINVAL && strlen(why) == sizeof(why) - 1);
    unsetenv("LOCUS_NODES");
    setenv("LOCUS_POLICY", list, 1);
    cr_expect(on(TWO_NODES, NULL, NULL) == -EINVAL && strlen(why) == sizeof(why) - 1);
}

// --- CPUs ----------------------------------------------------------------------------------------------------------------------

Test(place, divides_a_nodes_cores_among_its_devices, .init = forget)
{
    cr_assert(on(TWO_NODES, "0,0", NULL) == 0, "%s", why);
    has(0, 0, "0,2");
    has(1, 0, "4,6");
    cr_expect(settings.places[0].sharers == 2 && settings.places[1].sharers == 2);
    cr_assert(on(TWO_NODES, "0,0,0", NULL) == 0, "%s", why);
    has(0, 0, "0");
    has(1, 0, "2");
    has(2, 0, "4,6");
    cr_assert(on(TWO_NODES, "0,1,0", NULL) == 0, "%s", why);
    has(0, 0, "0,2");
    has(1, 1, "8,10,12,14");
    has(2, 0, "4,6");
    cr_expect(settings.places[1].sharers == 1);
}

Test(place, shares_cores_among_more_devices_than_there_are, .init = forget)
{
    cr_assert(on("pack:1 [numa(memory=64GB)] core:2 pu:1", "0,0,0,0,0", NULL) == 0, "%s", why);
    cr_expect(settings.places_count == 5);
    for (unsigned i = 0; i < 5; i++)
        cr_expect(settings.places[i].cpus_count == 1 && settings.places[i].cpus[0] < 2, "device %u", i);
    cr_assert(on("pack:1 [numa(memory=64GB)] core:1 pu:1", "0,0", "1") == 0, "%s", why);
    has(0, 0, "0");
    has(1, 0, "0");
}

Test(place, gives_a_thread_of_its_own_to_as_many_as_ask_for_fewer, .init = forget)
{
    cr_assert(on(TWO_NODES, "0,1", "3") == 0, "%s", why);
    has(0, 0, "0,2,4");
    has(1, 1, "8,10,12");
    cr_assert(on(TWO_NODES, "0,0", "1") == 0, "%s", why);
    has(0, 0, "0");
    has(1, 0, "4");
}

Test(place, gives_siblings_only_to_who_asks_for_more_than_cores, .init = forget)
{
    cr_assert(on(TWO_NODES, "0", "6") == 0, "%s", why);
    has(0, 0, "0,1,2,3,4,6");
    cr_assert(on(TWO_NODES, "0", "8") == 0, "%s", why);
    has(0, 0, "0,1,2,3,4,5,6,7");
    cr_assert(on(TWO_NODES, "0,0", "4") == 0, "%s", why);
    for (unsigned i = 0; i < 4; i++) // no CPU is in both
        for (unsigned j = 0; j < 4; j++)
            cr_expect(settings.places[0].cpus[i] != settings.places[1].cpus[j]);
}

Test(place, refuses_more_threads_than_cpus, .init = forget)
{
    refused(on(TWO_NODES, "0", "9"), "LOCUS_THREADS=9:", "8 CPUs of node 0");
    refused(on(TWO_NODES, "0,0", "5"), "LOCUS_THREADS=5:", "4 CPUs of node 0 for each device");
    refused(on("pack:1 [numa(memory=64GB)] core:1 pu:1", "0,0", "2"), "LOCUS_THREADS=2:", "1 CPUs of node 0");
}

Test(place, refuses_what_is_no_number_of_threads, .init = forget)
{
    static const char *const numbers[] = {"0", "-1", "+1", " 1", "1 ", "one", "1,2", "0x1", "1.0", "513", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int err = on(TWO_NODES, NULL, numbers[i]);
        cr_expect(err == -EINVAL && strncmp(why, "LOCUS_THREADS=", 14) == 0 && strstr(why, "from 1 to 512"), "\"%s\": %d, %s",
                  numbers[i], err, why);
    }
}

Test(place, has_512_cpus_of_a_larger_node, .init = forget)
{
    cr_assert(on("pack:1 [numa(memory=64GB)] core:600 pu:1", NULL, NULL) == 0, "%s", why);
    cr_expect(settings.places[0].cpus_count == LG_CPUS_MAX && settings.places[0].cpus[LG_CPUS_MAX - 1] == LG_CPUS_MAX - 1);
}

// --- the other variables -------------------------------------------------------------------------------------------------------

Test(place, has_the_defaults_that_the_readme_says, .init = forget)
{
    cr_assert(on(TWO_NODES, NULL, NULL) == 0, "%s", why);
    cr_expect(settings.policy == LOCUS_POLICY_BIND && settings.page == LOCUS_PAGE_THP && settings.kv == LG_KV_ON_DEMAND &&
              !settings.generic_sum);
}

Test(place, knows_each_word, .init = forget)
{
    setenv("LOCUS_POLICY", "preferred", 1);
    setenv("LOCUS_PAGES", "4k", 1);
    setenv("LOCUS_KV", "static", 1);
    setenv("LOCUS_SUM", "generic", 1);
    cr_assert(on(TWO_NODES, NULL, NULL) == 0, "%s", why);
    cr_expect(settings.policy == LOCUS_POLICY_PREFERRED && settings.page == LOCUS_PAGE_4K && settings.kv == LG_KV_STATIC &&
              settings.generic_sum);
    setenv("LOCUS_POLICY", "first-touch", 1);
    setenv("LOCUS_PAGES", "2m", 1);
    setenv("LOCUS_KV", "populated", 1);
    setenv("LOCUS_SUM", "ours", 1);
    cr_assert(on(TWO_NODES, NULL, NULL) == 0, "%s", why);
    cr_expect(settings.policy == LOCUS_POLICY_FIRST_TOUCH && settings.page == LOCUS_PAGE_2M && settings.kv == LG_KV_POPULATED &&
              !settings.generic_sum);
}

Test(place, lists_the_words_where_it_refuses_one, .init = forget)
{
    static const struct {
        const char *variable, *bad, *words;
    } cases[] = {
        {"LOCUS_POLICY", "interleave", "it must be one of bind preferred first-touch"},
        {"LOCUS_POLICY", "Bind", "it must be one of bind preferred first-touch"},
        {"LOCUS_PAGES", "1g", "it must be one of thp 4k 2m"},
        {"LOCUS_KV", "lazy", "it must be one of on-demand static populated"},
        {"LOCUS_SUM", "both", "it must be one of ours generic"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        forget();
        setenv(cases[i].variable, cases[i].bad, 1);
        refused(on(TWO_NODES, NULL, NULL), cases[i].variable, cases[i].words);
    }
}

// --- this machine --------------------------------------------------------------------------------------------------------------

Test(place, describes_this_machine_by_what_may_be_used, .init = forget)
{
    struct locus_topo *topo;
    cr_assert(locus_topo_open(&topo, NULL, why, sizeof(why)) == 0 && lg_settings_read(&settings, why, sizeof(why)) == 0, "%s", why);
    unsigned expected = 0;
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count; i++)
        expected += nodes[i].kind == LOCUS_NODE_DRAM && nodes[i].allowed && nodes[i].cpus_allowed_count;
    cr_expect(settings.places_count == expected && expected > 0);
    for (unsigned i = 0; i < settings.places_count; i++)
        for (unsigned j = 0; j < settings.places[i].cpus_count; j++) {
            const struct locus_topo_cpu *cpu = locus_topo_cpu(topo, settings.places[i].cpus[j]);
            cr_expect(cpu && cpu->allowed && cpu->smt_rank < 1);
            cr_expect(locus_topo_node_has_cpu(locus_topo_node(topo, settings.places[i].node), settings.places[i].cpus[j]));
            cr_expect(j == 0 || settings.places[i].cpus[j - 1] < settings.places[i].cpus[j], "ascending");
        }
    locus_topo_close(topo);
}

// The affinity is that of before the first look (topo/pin.h).
Test(place, keeps_to_the_affinity_of_its_process, .init = forget)
{
    cpu_set_t all, one;
    int last = CPU_SETSIZE - 1;
    cr_assert(sched_getaffinity(0, sizeof(all), &all) == 0);
    while (!CPU_ISSET(last, &all))
        last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    cr_assert(sched_setaffinity(0, sizeof(one), &one) == 0);
    cr_assert(lg_settings_read(&settings, why, sizeof(why)) == 0, "%s", why);
    cr_expect(settings.places_count == 1 && settings.places[0].cpus_count == 1 && settings.places[0].cpus[0] == (unsigned)last);
}

// --- the KV cache alone --------------------------------------------------------------------------------------------------------

static struct lg_memory kv;

static int kv_of(const char *policy, const char *nodes)
{
    if (policy)
        setenv("LOCUS_KV_POLICY", policy, 1);
    if (nodes)
        setenv("LOCUS_KV_NODES", nodes, 1);
    return lg_kv_memory_read(&kv, why, sizeof(why));
}

Test(place, interleaves_the_cache_over_all_nodes, .init = forget)
{
    struct locus_topo *topo;
    cr_assert(locus_topo_open(&topo, NULL, why, sizeof(why)) == 0 && kv_of(NULL, NULL) == 0, "%s", why);
    cr_expect(kv.policy == LOCUS_POLICY_INTERLEAVE && kv.node == LOCUS_NODE_ANY && kv.page == LOCUS_PAGE_THP &&
              kv.kv == LG_KV_ON_DEMAND);
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count; i++)
        cr_expect(locus_nodes_has(&kv.nodes, nodes[i].os_index) == (nodes[i].allowed && locus_topo_node_by_default(&nodes[i])));
    locus_topo_close(topo);
}

Test(place, prefers_one_node_for_the_cache, .init = forget)
{
    cr_assert(kv_of("preferred", NULL) == 0, "%s", why);
    cr_expect(kv.policy == LOCUS_POLICY_PREFERRED && kv.node >= 0 && locus_nodes_next(&kv.nodes, 0) < 0);
}

Test(place, takes_the_caches_nodes_as_they_are_listed, .init = forget)
{
    setenv("LOCUS_PAGES", "4k", 1);
    setenv("LOCUS_KV", "static", 1);
    cr_assert(kv_of("bind", "0,3") == 0, "%s", why); // whether they are there is the region's question
    cr_expect(kv.policy == LOCUS_POLICY_BIND && kv.node == LOCUS_NODE_ANY && kv.page == LOCUS_PAGE_4K && kv.kv == LG_KV_STATIC);
    for (int node = 0; node < 8; node++)
        cr_expect(locus_nodes_has(&kv.nodes, node) == (node == 0 || node == 3));
}

Test(place, refuses_for_the_cache_what_does_not_exist, .init = forget)
{
    refused(kv_of("nowhere", NULL), "LOCUS_KV_POLICY=nowhere", "it must be one of");
    cr_expect(strstr(why, locus_policy_name(LOCUS_POLICY_INTERLEAVE)) && strstr(why, locus_policy_name(LOCUS_POLICY_BIND)));
    refused(kv_of("bind", "0;1"), "LOCUS_KV_NODES=0;1", "node numbers");
    refused(kv_of("bind", "99999"), "LOCUS_KV_NODES=99999", "node numbers");
    unsetenv("LOCUS_KV_NODES");
    setenv("LOCUS_KV", "lazy", 1);
    refused(kv_of("bind", NULL), "LOCUS_KV=lazy", "on-demand static populated");
}

// Which of the nodes 0 .. 7 the cache lies on, as digits.
static const char *kv_on(const char *machine)
{
    static char digits[9];
    struct locus_topo *topo;
    char *end = digits;
    cr_assert(locus_topo_open(&topo, machine, why, sizeof(why)) == 0, "%s", why);
    cr_assert(lg_kv_memory_for(&kv, topo, why, sizeof(why)) == 0, "%s", why);
    locus_topo_close(topo);
    for (int node = 0; node < 8; node++)
        if (kv.node == node || locus_nodes_has(&kv.nodes, node))
            *end++ = (char)('0' + node);
    *end = '\0';
    return digits;
}

Test(place, keeps_the_cache_off_a_gpus_memory_unless_it_is_named, .init = forget)
{
    const char *grace = "topo/tests/fixtures/grace.xml", *hbm = "topo/tests/fixtures/hbm_flat.xml";
    cr_expect_str_eq(kv_on(grace), "0");
    cr_expect_str_eq(kv_on(hbm), "0123", "nodes without CPUs of other kinds count");
    setenv("LOCUS_KV_NODES", "1", 1);
    cr_expect_str_eq(kv_on(grace), "1");
    cr_expect(on(grace, NULL, NULL) == 0 && settings.places_count == 1, "%s", why);
    refused(on(grace, "1", NULL), "LOCUS_NODES=1: node 1", "no CPUs");
}
