// SPDX-License-Identifier: Apache-2.0
//
// topo_view: machines as people see them (golden/), and a described machine as a program would see it that ran there. What programs
// get of each shape, topo_cli.sh reads from the JSON.
#include <errno.h>

#include "testbed/base/json.h"
#include "testbed/base/tests/golden.h"
#include "testbed/doc/emit.h"
#include "testbed/host/topology/topo_view.h"

static const struct tb_topo_host host = {.names = {.release = "6.1.0-18-amd64"},
                                         .mbind_errno = EPERM,
                                         .numa_balancing = 1,
                                         .cgroup_room_bytes = UINT64_MAX};

static struct locus_topo *machine(const char *description)
{
    char why[512];
    struct locus_topo *topo = NULL;
    cr_assert_eq(locus_topo_open(&topo, description, why, sizeof why), 0, "%s", why);
    return topo;
}

// The page, without the version of hwloc.
static void page_is(const char *path, const char *description, const struct tb_topo_host *known)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    struct locus_topo *topo = machine(description);
    struct tb_doc *doc = tb_topo_doc(NULL, topo, description, known);
    cr_assert_eq(tb_emit_text(stream, doc, (struct tb_report_style){.columns = 80}), 0);
    fclose(stream);
    char *version = strstr(text, ", hwloc ");
    cr_assert_not_null(version);
    size_t length = strcspn(version, "\n");
    memmove(version, version + length, strlen(version + length) + 1);
    golden(path, text);
    tb_doc_close(doc);
    locus_topo_close(topo);
    free(text);
}

Test(topo_view, memory_without_cpus)
{
    page_is("testbed/host/tests/golden/topo_cxl.txt", "topo/tests/fixtures/cxl.xml", NULL);
}

Test(topo_view, long_lists_of_cpus_and_many_distances)
{
    page_is("testbed/host/tests/golden/topo_wide.txt", "pack:16 [numa(memory=1TB)] core:8 pu:2(indexes=128*2:1*128)", NULL);
    page_is("testbed/host/tests/golden/topo_eight.txt", "topo/tests/fixtures/epyc_nps4.xml", NULL);
}

Test(topo_view, what_only_the_running_kernel_tells)
{
    page_is("testbed/host/tests/golden/topo_host.txt", "topo/tests/fixtures/two_sockets.xml", &host);
    struct locus_topo *topo = machine("topo/tests/fixtures/two_sockets.xml");
    json_t *json = tb_topo_json(topo, NULL, &host);
    cr_expect(json_is_false(tb_member(json, "mbind")) && json_is_true(tb_member(json, "move_pages")));
    cr_expect(strstr(tb_member_text(json, "mbind_why"), "EPERM") && json_is_null(tb_member(json, "move_pages_why")));
    cr_expect_eq(tb_member_number(json, "numa_balancing"), 1);
    cr_expect_str_eq(tb_member_text(json, "kernel"), "6.1.0-18-amd64");
    cr_expect(json_is_null(tb_member(json, "cgroup.memory_room_bytes")) && json_is_array(tb_member(json, "pages")));
    json_decref(json);
    locus_topo_close(topo);
}
