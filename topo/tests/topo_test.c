// SPDX-License-Identifier: Apache-2.0
//
// topo: descriptions of machines nobody here owns, what is wrong with the bad ones, and this machine against its own kernel.
#include "topo/topo.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Fixtures are beside this file; the path is relative to the directory of compilation.
static const char *fixture(const char *name)
{
    static char path[512];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof(path), "%.*s/fixtures/%s", (int)(slash - __FILE__), __FILE__, name);
    return path;
}

static struct locus_topo *open_topo(const char *source)
{
    struct locus_topo *topo = NULL;
    char why[256] = "";
    cr_assert_eq(locus_topo_open(&topo, source, why, sizeof(why)), 0, "%s", why);
    return topo;
}

Test(topo, reads_a_synthetic_description)
{
    struct locus_topo *topo = open_topo("pack:2 [numa(memory=64GB)] core:4 pu:2");
    const struct locus_topo_info *info = locus_topo_info(topo);
    cr_assert_eq(info->source, LOCUS_TOPO_SYNTHETIC);
    cr_assert(info->nodes_count == 2 && info->cpus_count == 16 && info->cores_count == 8 && info->smt_max == 2);
    cr_assert_eq(info->memory_total_bytes, UINT64_C(128000000000));
    const struct locus_topo_cpu *cpu = locus_topo_cpu(topo, 11);
    cr_assert(cpu->os_index == 11 && cpu->node == 1 && cpu->package == 1 && cpu->core == 10 && cpu->smt_rank == 1);
    const struct locus_topo_node *node = locus_topo_node(topo, 1);
    cr_assert(node->cpus_count == 8 && node->cpus[0] == 8 && node->cpus[7] == 15 && node->kind == LOCUS_NODE_DRAM);
    cr_assert_not(node->memory_live, "nobody knows what is free there");
    cr_assert_not(node->allowed);
    cr_assert_eq(locus_topo_distance(topo, 0, 1), 0, "the description gives none");
    cr_assert_null(locus_topo_node(topo, 2));
    cr_assert_null(locus_topo_cpu(topo, 16));
    locus_topo_close(topo);
}

Test(topo, keeps_sparse_numbers_and_distances)
{
    struct locus_topo *topo = open_topo(fixture("sparse.xml"));
    cr_assert_eq(locus_topo_info(topo)->source, LOCUS_TOPO_XML);
    cr_assert_null(locus_topo_node(topo, 0));
    cr_assert_eq(locus_topo_nodes(topo)[0].os_index, 4);
    cr_assert_eq(locus_topo_node(topo, 5)->cpus[0], 12);
    cr_assert_eq(locus_topo_cpus(topo)[0].os_index, 8);
    cr_assert_eq(locus_topo_distance(topo, 4, 5), 32);
    cr_assert_eq(locus_topo_distance(topo, 5, 4), 21);
    cr_assert_eq(locus_topo_distance(topo, 0, 4), 0);
    locus_topo_close(topo);
}

Test(topo, numbers_smt_siblings_that_lie_far_apart)
{
    struct locus_topo *topo = open_topo("pack:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)");
    const struct locus_topo_cpu *sibling = locus_topo_cpu(topo, 6);
    cr_assert(sibling->core == 2 && sibling->smt_rank == 1, "core %d rank %d", sibling->core, sibling->smt_rank);
    cr_assert(locus_topo_cpu(topo, 2)->core == 2 && locus_topo_cpu(topo, 2)->smt_rank == 0);
    locus_topo_close(topo);
}

Test(topo, puts_each_cpu_on_one_node_and_leaves_tiers_memory_only)
{
    struct locus_topo *topo = open_topo(fixture("tiers.xml"));
    cr_assert_eq(locus_topo_node(topo, 0)->kind, LOCUS_NODE_MEMORY_ONLY, "HBM has the lower number but not the CPUs");
    cr_assert_str_eq(locus_topo_node(topo, 0)->tier, "HBM");
    cr_assert_eq(locus_topo_node(topo, 1)->kind, LOCUS_NODE_DRAM);
    cr_assert_null(locus_topo_node(topo, 1)->tier);
    cr_assert_eq(locus_topo_node(topo, 1)->cpus_count, 2);
    cr_assert_eq(locus_topo_node(topo, 2)->cpus_count, 2);
    cr_assert_eq(locus_topo_node(topo, 3)->cpus_count, 0);
    locus_topo_close(topo);
}

Test(topo, knows_nodes_without_memory)
{
    struct locus_topo *topo = open_topo("pack:2 [numa(memory=0)] core:1 pu:1");
    cr_assert_eq(locus_topo_node(topo, 1)->kind, LOCUS_NODE_CPU_ONLY);
    locus_topo_close(topo);
}

Test(topo, leaves_cores_unknown_that_are_not_described)
{
    struct locus_topo *topo = open_topo("numa:1 pu:4");
    cr_assert_eq(locus_topo_info(topo)->cores_count, 0);
    const struct locus_topo_cpu *cpu = locus_topo_cpu(topo, 2);
    cr_assert(cpu->core == -1 && cpu->smt_rank == -1 && cpu->package == -1);
    locus_topo_close(topo);
}

struct bad_source {
    const char *source;
    int error;
    const char *word;           // what the reason must speak of
};

static void check_refused(const char *source, const struct bad_source *bad)
{
    struct locus_topo *topo = (struct locus_topo *)&topo;
    char why[256] = "";
    int error = locus_topo_open(&topo, source, why, sizeof(why));
    cr_assert_eq(error, bad->error, "%s: %d (%s)", source, error, why);
    cr_assert_null(topo);
    cr_assert(strstr(why, bad->word), "%s: the reason was: %s", source, why);
    cr_assert(strstr(why, source), "the reason does not name %s: %s", source, why);
    cr_assert_null(strchr(why, '\n'));
    cr_assert_eq(locus_topo_open(&topo, source, NULL, 0), bad->error, "a caller may do without the reason");
}

Test(topo, says_what_is_wrong_with_a_file)
{
    static const struct bad_source bad[] = {
        {"truncated.xml", -EINVAL, "cut off"},
        {"empty.xml", -ENODATA, "empty"},
        {"missing.xml", -ENOENT, "No such file"},
        {"not_xml.xml", -EINVAL, "not an XML"},
        {"not_topology.xml", -EINVAL, "hwloc"},
        {"no_cpus.xml", -EINVAL, "no CPUs"},
        {"node_twice.xml", -EINVAL, "0 occurs twice"},
        {"core_without_cpuset.xml", -EINVAL, "damaged"},
        {"", -EINVAL, "lacks sys/devices/system/cpu"},
        {"hwloc3.xml", -EINVAL, "of version 3.0, and the hwloc here ("},
        {"hwloc3.xml", -EINVAL, "lstopo --export-xml-flags v2"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_refused(fixture(bad[i].source), &bad[i]);
}

Test(topo, says_what_is_wrong_with_a_synthetic_description)
{
    static const struct bad_source bad[] = {
        {"garbage", -EINVAL, "neither a file nor"},   {"", -EINVAL, "neither a file nor"},
        {"pu:0", -EINVAL, "neither a file nor"},      {"pack:2 [numa(memory=", -EINVAL, "neither a file nor"},
        {"pu:4000000000", -ERANGE, "more than 8192"}, {"numa:1000 core:1000 2", -ERANGE, "more than 8192"},
        {"numa:1025 pu:1", -ERANGE, "nodes"},         {"99999999999999999999999", -ERANGE, "more than 8192"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_refused(bad[i].source, &bad[i]);
}

// hwloc lets such a size wrap, or cuts it to the largest that it has.
Test(topo, refuses_memory_of_2_to_the_63_bytes)
{
    static const struct bad_source bad[] = {
        {"pack:2 [numa(memory=9223372036854775808)] pu:1", -ERANGE, "2^63"},
        {"[numa(memory=99999999999999999999GB)] pu:1", -ERANGE, "2^63"},
        {"[numa(memory=18446744074GB)] pu:1", -ERANGE, "2^63"},
        {"pack:2 [numa(memory=4611686018427387904)] pu:1", -ERANGE, "2^63"},
    };
    static const struct bad_source xml = {"memory_of_2_to_the_64.xml", -ERANGE, "node 1 has 2^63"};
    check_refused(fixture(xml.source), &xml);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_refused(bad[i].source, &bad[i]);
}

Test(topo, a_reason_is_one_line_whatever_the_source_is_called)
{
    static const char *const sources[] = {"no\nsuch/machine.xml", "no\nsuch\tmachine", "\x1b[2Jno/machine.xml", "\x7f"};
    for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct locus_topo *topo;
        char why[256] = "";
        cr_assert_lt(locus_topo_open(&topo, sources[i], why, sizeof why), 0);
        for (const char *at = why; *at; at++)
            cr_assert((unsigned char)*at >= ' ' && *at != 0x7f, "source %u: a control character in: %s", i, why);
        cr_assert_neq(*why, '\0');
    }
}

Test(topo, cuts_a_reason_to_the_room_it_has)
{
    struct locus_topo *topo = NULL;
    char why[12];
    memset(why, 'x', sizeof(why));
    cr_assert_eq(locus_topo_open(&topo, "garbage", why, 8), -EINVAL);
    cr_assert_str_eq(why, "garbage");
    cr_assert_eq(why[8], 'x');
}

Test(topo, prints_nothing_when_it_refuses)
{
    FILE *silence = tmpfile();
    struct locus_topo *topo = NULL;
    int saved = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(silence), STDERR_FILENO);
    locus_topo_open(&topo, fixture("truncated.xml"), NULL, 0);
    locus_topo_open(&topo, fixture("not_topology.xml"), NULL, 0);
    locus_topo_open(&topo, "garbage", NULL, 0);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    cr_assert_eq(lseek(fileno(silence), 0, SEEK_END), 0);
    fclose(silence);
    close(saved);
}

Test(topo, does_not_mistake_the_environment_for_this_machine)
{
    static const char *const names[] = {"HWLOC_SYNTHETIC", "HWLOC_XMLFILE", "HWLOC_FSROOT"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct locus_topo *topo = NULL;
        char why[256] = "";
        setenv(names[i], "pack:2 pu:64", 1);
        cr_expect_eq(locus_topo_open(&topo, NULL, why, sizeof(why)), -EINVAL);
        cr_expect(strstr(why, names[i]), "%s", why);
        unsetenv(names[i]);
    }
}

Test(topo, finds_this_machine_as_its_kernel_describes_it)
{
    struct locus_topo *topo = open_topo(NULL);
    const struct locus_topo_info *info = locus_topo_info(topo);
    cr_assert_eq(info->source, LOCUS_TOPO_THIS_MACHINE);
    cr_assert_eq((long)info->cpus_count, sysconf(_SC_NPROCESSORS_ONLN));
    cr_assert_eq(info->pages[0].bytes, (uint64_t)sysconf(_SC_PAGESIZE));
    unsigned cpus = 0;
    for (unsigned n = 0; n < info->nodes_count; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        cpus += node->cpus_count;
        cr_assert(node->memory_live);
        cr_assert_leq(node->memory.free_bytes, node->memory.total_bytes);
        cr_assert_eq(node->allowed, locus_node_allowed(node->os_index));
    }
    cr_assert_eq(cpus, info->cpus_count, "each CPU is on exactly one node");
    locus_topo_close(topo);
    locus_topo_close(NULL);
}
