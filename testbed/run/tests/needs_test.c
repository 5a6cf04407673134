// SPDX-License-Identifier: Apache-2.0
//
// needs: each is met, or says what there is instead, with its cause. (A cpuset that leaves out a node: record_nodes_guest.sh.)

#include "placement/memory/tests/region_child.h"
#include "testbed/host/probe.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/nodes/ops.h"
#include "testbed/run/needs.h"
#include "topo/tests/tree.h"

TestSuite(record_needs, .init = tree_open, .fini = tree_close);

static char found[TB_FOUND_BYTES];

static int met(const char *need, const struct tb_needing *run)
{
    memset(found, '#', sizeof found);
    return tb_need_met(need, run, found, sizeof found);
}

static struct tb_arm arm(const char *text)
{
    struct tb_arm arm;
    char why[512];
    int error = tb_arm_parse(text, &arm, why, sizeof why);
    cr_assert(error == 0 || error == -ENODEV, "%s", why);
    return arm;
}

static void stay_on_one_cpu(void)
{
    cpu_set_t one;
    int cpu = sched_getcpu();
    cr_assert_geq(cpu, 0);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0); // this test's own process
}

Test(record_needs, count_the_cpus_of_this_process)
{
    struct tb_needing run = {.workers = 0};
    stay_on_one_cpu();
    cr_expect_eq(met("cpus >= 1", &run), 1);
    cr_expect_str_empty(found);
    cr_expect_eq(met("cpus >= 2", &run), 0);
    cr_expect_str_eq(found, "here is 1 allowed CPU");
    cr_expect_eq(met("workers_pinned", &run), 1);
    run.workers = 1;
    cr_expect_eq(met("workers_pinned", &run), 0);
    cr_expect_str_eq(found, "here is 1 allowed CPU");
}

Test(record_needs, of_many_nodes_want_a_cpu_for_all_workers_on_each)
{
    struct tb_needing run = {.workers = 0, .many_nodes = true};
    stay_on_one_cpu();
    cr_expect_eq(met("workers_pinned", &run), 1);
    run.workers = 1;
    cr_expect_eq(met("workers_pinned", &run), 0);
    cr_expect_not_null(strstr(found, " has 1 allowed CPU for 1 worker and a scheduler"), "%s", found);
}

Test(record_needs, count_the_nodes_and_say_which_are_kept_away)
{
    struct tb_needing run = {0};
    stay_on_one_cpu(); // before the first question: what is allowed then is remembered (topo/pin.h)
    cr_expect_eq(met("numa_nodes >= 1", &run), 1);
    cr_expect_eq(met("cpu_nodes >= 1", &run), 1);
    cr_expect_eq(met("numa_nodes >= 100000", &run), 0);
    cr_expect(strncmp(found, "here ", 5) == 0 && strstr(found, " node"), "%s", found);
    cr_expect_eq(met("cpu_nodes >= 100000", &run), 0);
    cr_expect_not_null(strstr(found, " with CPUs and memory"), "%s", found);
    struct locus_topo *topo;
    cr_assert_eq(locus_topo_open(&topo, NULL, NULL, 0), 0);
    unsigned others = 0;
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++)
        others += locus_topo_nodes(topo)[n].allowed && locus_topo_nodes(topo)[n].cpus_count > 0;
    locus_topo_close(topo);
    cr_expect_eq(met("cpu_nodes >= 2", &run), 0);
    cr_expect_eq(strstr(found, " has no CPU that this process may run on") != NULL, others > 1, "%s", found);
}

Test(record_needs, hardware_is_what_is_no_guest)
{
    struct tb_needing run = {0};
    unsetenv("LOCUS_GUEST");
    cr_expect_eq(met("hardware", &run), 1);
    setenv("LOCUS_GUEST", "n2", 1);
    cr_expect_eq(met("hardware", &run), 0);
    cr_expect_str_eq(found, "this is an emulated guest (n2)");
}

static void calls_say(const char *call, const char *need, long number)
{
    static const struct {
        int error;
        const char *before, *behind;
    } cases[] = {{EPERM, "this container forbids ", " (EPERM by seccomp): run it with --cap-add SYS_NICE"},
                 {ENOSYS, "here is no ", " (ENOSYS): the kernel was built without NUMA support, or a sandbox hides the call"}};
    struct tb_needing run = {0};
    for (size_t i = 0; i < 2; i++) { // in a child, because a filter stays for good
        char expected[128];
        pid_t child = fork();
        if (child == 0) {
            if (!forbid(number, ANY_THIRD, cases[i].error))
                _exit(CANNOT);
            snprintf(expected, sizeof expected, "%s%s%s", cases[i].before, call, cases[i].behind);
            bool said = met(need, &run) == 0 && strcmp(found, expected) == 0;
            if (!said)
                fprintf(stderr, "%s: %s\n", need, found);
            _exit(!said);
        }
        int status = 0;
        cr_assert_eq(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
            cr_skip_test("seccomp filters are not available here");
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s, case %zu", need, i);
    }
}

Test(record_needs, say_why_pages_cannot_be_placed)
{
    calls_say("mbind", "mbind_ok", SYS_mbind);
    calls_say("move_pages", "move_pages_ok", SYS_move_pages);
}

Test(record_needs, are_met_where_the_calls_work)
{
    struct tb_needing run = {0};
    cr_expect_eq(met("move_pages_ok", &run), tb_probe_move_pages() == 0);
    struct locus_topo *topo;
    cr_assert_eq(locus_topo_open(&topo, NULL, NULL, 0), 0);
    cr_expect_eq(met("mbind_ok", &run), tb_probe_mbind(topo) == 0);
    locus_topo_close(topo);
}

Test(record_needs, policies_name_the_arm_the_policy_and_the_cause)
{
    static const struct tb_nodes_contender ops = {.policy = LOCUS_POLICY_WEIGHTED_INTERLEAVE},
                                           none = {.policy = LOCUS_POLICY_FIRST_TOUCH};
    static const struct tb_contender weighted = {.name = "weighted", .nodes = &ops}, plain = {.name = "plain", .nodes = &none};
    struct tb_arm arms[] = {arm("locus"),
                            {.contender = &plain, .label = "plain"},
                            {.contender = &weighted, .label = "weighted%50"}};
    struct tb_needing run = {.arms = arms, .arms_count = 2};
    if (!forbid(SYS_mbind, ANY_THIRD, EPERM))
        cr_skip_test("seccomp filters are not available here");
    cr_expect_eq(met("policies", &run), 1, "first touch asks for nothing: %s", found);
    run.arms_count = 3;
    cr_expect_eq(met("policies", &run), 0);
    const char *begin = "arm weighted%50 cannot have the policy weighted-interleave: memory policies are forbidden here";
    cr_expect(strncmp(found, begin, strlen(begin)) == 0, "%s", found);
    cr_expect_not_null(strstr(found, "or run on the host"), "cut: %s", found);
}

Test(record_needs, a_library_that_is_not_there_is_named)
{
    struct tb_arm arms[] = {arm("locus"), arm("mimalloc")};
    struct tb_needing run = {.arms = arms, .arms_count = 2};
    snprintf(arms[1].library, sizeof arms[1].library, "/proc/self/exe");
    cr_expect_eq(met("libraries", &run), 1);
    snprintf(arms[1].library, sizeof arms[1].library, "/nowhere/lib.so");
    cr_expect_eq(met("libraries", &run), 0);
    cr_expect_str_eq(found, "here is no library for mimalloc");
    arms[1].library[0] = '\0';
    cr_expect_eq(met("libraries", &run), 0);
}

Test(record_needs, pytorch_is_what_some_python_can_import, .timeout = 60)
{
    struct tb_needing run = {0};
    setenv("LOCUS_PYTHON", "/nowhere/python3", 1);
    cr_expect_eq(met("pytorch", &run), 0);
    cr_expect(strncmp(found, "there is no PyTorch in /nowhere/python3: install python3-torch", 62) == 0, "%s", found);
    unsetenv("LOCUS_PYTHON");
    bool here = system("python3 -c 'import torch' 2>/dev/null || /usr/bin/python3 -c 'import torch' 2>/dev/null") == 0;
    cr_expect_eq(met("pytorch", &run), here, "%s", found);
}

Test(record_needs, a_trace_that_is_not_there_is_named_with_the_remedy)
{
    static const char suite[][64] = {"churn-touch/full"}, both[][64] = {"sample/line", "azure-conv/line"};
    struct tb_needing run = {.cells = suite, .cells_count = 1};
    cr_expect_eq(met("traces", &run), 1);
    run.cells = both;
    run.cells_count = 2;
    setenv("LOCUS_TRACES", tree_root, 1);
    cr_expect_eq(met("traces", &run), 0);
    cr_expect(strncmp(found, "there is no azure-conv: set LOCUS_TRACES to the folder that has AzureLLM", 72) == 0, "%s", found);
    cr_expect_not_null(strstr(found, tree_root), "%s", found);
    tree_file("/AzureLLMInferenceTrace_conv.csv", "");
    cr_expect_eq(met("traces", &run), 1, "%s", found);
}

#define ARRAY(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(needs, what_is_none_is_refused)
{
    struct tb_needing run = {0};
    cr_expect_eq(met("cpu >= 2", &run), -EINVAL);
}
