// SPDX-License-Identifier: Apache-2.0
//
// process_advice_doc: the answer, where regions and threads are, what would help, and what could not be seen.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/host/probe.h"
#include "testbed/host/topology/topo_view.h"
#include "testbed/report/advise/process_advice.h"

#define WITNESS_PAGES_MIN 32u   // of fewer present pages no share is worked out
#define WITNESS_MARGIN 0.05     // pages move and come while the two look, one after the other

struct page {
    struct tb_doc *doc;
    const struct tb_process *process;
    const struct locus_topo *topo;
    struct tb_process_advice advice;
};

// "50 %", "under 1 %".
static const char *percent(char out[16], double share)
{
    if (share > 0 && share < 0.01)
        return strcpy(out, "under 1 %");
    snprintf(out, 16, "%.0f %%", 100 * share);
    return out;
}

static struct tb_value share_value(double share)
{
    return isfinite(share) ? tb_number(share) : tb_none(NULL);
}

// Is there a column for this node?
static bool has_memory(const struct page *page, unsigned n)
{
    const struct locus_topo_node *node = locus_topo_node(page->topo, page->process->node[n]);
    return node->memory.total_bytes > 0;
}

static bool has_cpus(const struct page *page, unsigned n)
{
    return locus_topo_node(page->topo, page->process->node[n])->cpus_count > 0;
}

// --- the answer ----------------------------------------------------------------------------------------------------------------

static const struct tb_process_cure *cure_least(const struct page *page)
{
    const struct tb_process_cure *least = NULL;
    for (unsigned c = 0; c < page->advice.cures_count; c++)
        if (!least || page->advice.cures[c].remote < least->remote)
            least = &page->advice.cures[c];
    return least;
}

static void say_unknown(const struct page *page, struct tb_words *words)
{
    const struct tb_process *process = page->process;
    if (process->maps_errno)
        tb_say(words,
               "where its memory lies could not be seen (%s), so which of its reads are remote is not known. Run this as the "
               "process's user, or with sudo.",
               strerror(process->maps_errno));
    else if (page->advice.large_bytes <= 0)
        tb_say(words,
               "it has no region that is large enough (4 MiB, and a hundredth of its memory) for it to matter where it lies.");
    else if (page->advice.ran_s <= 0)
        tb_say(words, "none of its threads has used CPU time yet, so which of its reads are remote is not known. Ask under load.");
    else
        tb_say(words, "on which nodes its memory lies could not be seen, so which of its reads are remote is not known.");
}

static void say_remote(const struct page *page, struct tb_words *words)
{
    const struct tb_process_advice *advice = &page->advice;
    const struct tb_process_cure *least = cure_least(page);
    char now[16], then[16];
    tb_say(words,
           "%s of the reads must come from another node, if the busy threads read all pages of the large regions equally "
           "often%s.",
           percent(now, advice->remote),
           page->process->devices ? ", and what libggml-locus.so has bound to a node only from there" : "");
    if (advice->remote < TB_PROCESS_REMOTE_LITTLE)
        tb_say(words, " There is next to nothing to gain.");
    else if (least)
        tb_say(words, " Least would be %s, by %.*s", percent(then, least->remote), (int)strcspn(least->commands, "\n"),
               least->commands);
    if (advice->remote >= TB_PROCESS_REMOTE_LITTLE && !advice->fits && advice->best >= 0)
        tb_say(words, ". The large regions do not fit on one node.");
}

static void put_answer(const struct page *page)
{
    struct tb_words words = {0};
    tb_say(&words, "%s (%" PRIu64 "): ", page->process->name, page->process->pid);
    if (!page->advice.choice)
        tb_say(&words, "this machine has one node. All memory is equally near to all CPUs, and there is nothing to choose.");
    else if (isfinite(page->advice.remote))
        say_remote(page, &words);
    else
        say_unknown(page, &words);
    tb_doc_answer(page->doc, "answer", "%s", words.text);
}

// --- regions -------------------------------------------------------------------------------------------------------------------

static json_t *on_json(const struct page *page, const struct tb_region *region)
{
    const struct tb_process *process = page->process;
    uint64_t page_bytes = region->page_bytes ? region->page_bytes : (uint64_t)sysconf(_SC_PAGESIZE);
    json_t *array = json_array();
    for (unsigned n = 0; n < process->nodes_count; n++)
        if (has_memory(page, n))
            array = tb_json_appended(array, json_pack("{s:i, s:o, s:o}", "node", process->node[n], "bytes",
                                                      tb_json_whole(region->on_bytes[n]), "pages",
                                                      tb_json_whole(region->on_bytes[n] / page_bytes)));
    return array;
}

static json_t *witness_json(const struct page *page, const struct tb_region *region)
{
    const struct tb_region_witness *witness = &region->witness;
    json_t *array = json_array();
    if (witness->asked == 0) {
        json_decref(array);
        return json_null();
    }
    for (unsigned n = 0; n < page->process->nodes_count; n++)
        if (has_memory(page, n))
            array = tb_json_appended(array, json_pack("{s:i, s:o}", "node", page->process->node[n], "pages",
                                                      tb_json_whole(witness->on[n])));
    return json_pack("{s:o, s:o, s:b, s:o}", "asked", tb_json_whole(witness->asked), "present", tb_json_whole(witness->present),
                     "whole", witness->whole, "on", array);
}

// One unit for all columns, so that they can be added up.
static struct tb_value mib_value(uint64_t bytes)
{
    return tb_count((bytes + (1u << 19)) >> 20);
}

static void put_region(const struct page *page, struct tb_table *table, unsigned r)
{
    static const char *const kinds[] = {"anonymous", "file", "rest"};
    const struct tb_region *region = &page->process->regions[r];
    bool placed = region->unplaced_bytes < region->present_bytes || region->present_bytes == 0;
    double huge = region->present_bytes ? (double)region->huge_bytes / (double)region->present_bytes : (double)NAN;
    tb_table_row(table, region->kind == TB_REGION_REST ? TB_ROW_ASIDE : TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(region->name));
    tb_table_put(table, tb_text_value(kinds[region->kind]));
    tb_table_put(table, tb_count(region->mappings));
    tb_table_put(table, tb_count(region->size_bytes));
    tb_table_put(table, tb_count(region->present_bytes));
    tb_table_put(table, mib_value(region->present_bytes));
    for (unsigned n = 0; n < page->process->nodes_count; n++)
        if (has_memory(page, n))
            tb_table_put(table, placed ? mib_value(region->on_bytes[n]) : tb_none(NULL));
    tb_table_put(table, tb_json_value(on_json(page, region)));
    tb_table_put(table, tb_count(region->unplaced_bytes));
    tb_table_put(table, tb_text_value(*region->policy ? region->policy : NULL));
    tb_table_put(table, tb_count(region->page_bytes));
    tb_table_put(table, tb_count(region->huge_bytes));
    tb_table_put(table, share_value(huge));
    tb_table_put(table, share_value(page->advice.region_remote[r]));
    tb_table_put(table, share_value(page->advice.region_remote[r]));
    tb_table_put(table, tb_json_value(witness_json(page, region)));
}

static void put_regions(const struct page *page)
{
    static const struct tb_column before[] = {{"name", "\nregion", 0, 0},
                                              {"kind", NULL, 0, 0},
                                              {"mappings", NULL, 0, 0},
                                              {"size_bytes", NULL, 0, 0},
                                              {"present_bytes", NULL, 0, 0},
                                              {NULL, "present\nMiB", 0, 0},
                                              {0}};
    static const struct tb_column behind[] = {
        {"on", NULL, 0, 0},
        {"unplaced_bytes", NULL, 0, 0},
        {"policy", "\npolicy", 0, 0},
        {"page_bytes", NULL, 0, 0},
        {"huge_bytes", NULL, 0, 0},
        {NULL, "\nhuge", TB_AS_SHARE, 0},
        {NULL, "\nremote", TB_AS_SHARE, 0},
        {"remote_read_ratio", NULL, 0, 0},
        {"move_pages", NULL, 0, 0},
    };
    struct tb_table *table = tb_doc_table(page->doc, "regions", NULL, before);
    for (unsigned n = 0; n < page->process->nodes_count; n++) {
        char title[32];
        snprintf(title, sizeof title, "node %d\nMiB", page->process->node[n]);
        if (has_memory(page, n))
            tb_table_column(table, (struct tb_column){NULL, title, TB_AS_IS, false});
    }
    for (size_t c = 0; c < sizeof behind / sizeof *behind; c++)
        tb_table_column(table, behind[c]);
    for (unsigned r = 0; r < page->process->regions_count; r++)
        put_region(page, table, r);
}

// --- huge pages ----------------------------------------------------------------------------------------------------------------

static void put_huge(const struct page *page)
{
    uint64_t present = 0, huge = 0, hugetlb = 0, base = (uint64_t)sysconf(_SC_PAGESIZE);
    char all[32], thp[32], tlb[32];
    for (unsigned r = 0; r < page->process->regions_count; r++) {
        const struct tb_region *region = &page->process->regions[r];
        bool of_hugetlb = region->page_bytes > base && region->huge_bytes == region->present_bytes;
        present += region->kind == TB_REGION_ANONYMOUS ? region->present_bytes : 0;
        huge += region->kind == TB_REGION_ANONYMOUS && !of_hugetlb ? region->huge_bytes : 0;
        hugetlb += of_hugetlb ? region->huge_bytes : 0;
    }
    if (present > 0)
        tb_doc_say(page->doc, NULL, "Huge pages: of %s in large anonymous regions %s are in transparent ones%s%s%s, %s in hugetlb.",
                   tb_topo_bytes(all, sizeof all, present, true), tb_topo_bytes(thp, sizeof thp, huge, true),
                   *page->process->thp ? " (transparent_hugepage: " : "", page->process->thp, *page->process->thp ? ")" : "",
                   tb_topo_bytes(tlb, sizeof tlb, hugetlb, true));
}

// --- threads -------------------------------------------------------------------------------------------------------------------

static void put_group(const struct page *page, struct tb_table *table, const struct tb_thread_group *group)
{
    struct tb_words may = {0};
    json_t *ran = json_array();
    for (unsigned n = 0; n < page->process->nodes_count; n++)
        if (locus_nodes_has(&group->may, page->process->node[n]))
            tb_say(&may, "%s%d", may.used ? "," : "", page->process->node[n]);
    for (unsigned n = 0; n < page->process->nodes_count; n++)
        if (has_cpus(page, n))
            ran = tb_json_appended(ran, json_pack("{s:i, s:f}", "node", page->process->node[n], "cpu_s", group->ran_on[n]));
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_ids(may.text));
    tb_table_put(table, tb_ids(group->cpus));
    tb_table_put(table, tb_count(group->threads));
    tb_table_put(table, page->process->watched_s > 0 ? tb_count(group->busy) : tb_none(NULL));
    tb_table_put(table, tb_json_value(ran));
    for (unsigned n = 0; n < page->process->nodes_count; n++)
        if (has_cpus(page, n))
            tb_table_put(table, page->advice.ran_s > 0 ? tb_number(group->ran_on[n] / page->advice.ran_s) : tb_none(NULL));
}

static void put_threads(const struct page *page)
{
    static const struct tb_column columns[] = {
        {"nodes", "threads that\nmay run on", 0, 0},
        {"cpus", "\nof CPUs", 0, 0},
        {"threads", "\nthreads", 0, 0},
        {"busy", "\nbusy", 0, 0},
        {"ran", NULL, 0, 0},
        {0},
    };
    const struct tb_process *process = page->process;
    struct tb_table *table = tb_doc_table(page->doc, "threads_by_nodes", NULL, columns);
    for (unsigned n = 0; n < process->nodes_count; n++) {
        char title[32];
        snprintf(title, sizeof title, "ran on\nnode %d", process->node[n]);
        if (has_cpus(page, n))
            tb_table_column(table, (struct tb_column){NULL, title, TB_AS_SHARE, false});
    }
    for (unsigned g = 0; g < process->groups_count; g++)
        put_group(page, table, &process->groups[g]);
    if (process->watched_s > 0)
        tb_table_note(table, "Watched for %.0f ms; busy: for a tenth of it at least. Ran: of the CPU time of all.",
                      process->watched_s * 1000);
    else
        tb_table_note(table,
                      "No thread ran in the %.0f ms that they were watched, so CPU time since each began is counted, on the "
                      "CPU where it was last. Ask again under load.",
                      TB_PROCESS_WATCH_NS / 1e6);
}

// --- cures ---------------------------------------------------------------------------------------------------------------------

static bool cached_files_astray(const struct page *page)
{
    for (unsigned r = 0; r < page->process->regions_count; r++)
        if (page->process->regions[r].kind == TB_REGION_FILE && page->advice.region_remote[r] >= TB_PROCESS_REMOTE_LITTLE)
            return true;
    return false;
}

static void put_cures(const struct page *page)
{
    const struct tb_process_advice *advice = &page->advice;
    struct tb_table *table = tb_doc_grid(page->doc, "cures", NULL, "name|remote_read_ratio|commands|unit");
    char left[16];
    for (unsigned c = 0; c < advice->cures_count; c++) {
        const struct tb_process_cure *cure = &advice->cures[c];
        json_t *commands = json_string(cure->commands), *unit = *cure->unit ? json_string(cure->unit) : json_null();
        tb_table_add(table, TB_ROW_PLAIN, tb_text_value(cure->name), tb_number(cure->remote), tb_json_value(commands),
                     tb_json_value(unit));
    }
    for (unsigned c = 0; c < advice->cures_count; c++) {
        const struct tb_process_cure *cure = &advice->cures[c];
        tb_doc_say(page->doc, NULL, "Leaves %s: %s%s.", percent(left, cure->remote), cure->words,
                   *cure->unit ? "; below, the same as a unit of systemd" : "");
        tb_doc_code(page->doc, NULL, cure->commands);
        if (*cure->unit)
            tb_doc_code(page->doc, NULL, cure->unit);
    }
    if (advice->cures_count > 0 && cached_files_astray(page))
        tb_doc_say(page->doc, NULL,
                   "A file that is cached stays where it is, whoever maps it next. Before the restart, with the engine stopped: dd "
                   "if=FILE iflag=nocache count=0");
    if (advice->cures_count > 0)
        tb_doc_say(page->doc, NULL,
                   "What a remote read costs here: `locus matrix`. Which placement is faster is a matter of "
                   "measuring: `locus advise --shape MODEL`.");
}

// --- what is uncertain ---------------------------------------------------------------------------------------------------------

// The largest difference between the shares of both witnesses; negative: there is nothing to compare.
static double witness_apart(const struct tb_process *process, const struct tb_region *region)
{
    double apart = 0, all = (double)(region->present_bytes - region->unplaced_bytes), present = (double)region->witness.present;
    if (region->witness.present < WITNESS_PAGES_MIN || all <= 0)
        return -1;
    for (unsigned n = 0; n < process->nodes_count; n++)
        apart = fmax(apart, fabs((double)region->on_bytes[n] / all - (double)region->witness.on[n] / present));
    return apart;
}

static void put_witness(const struct page *page)
{
    const struct tb_process *process = page->process;
    uint64_t compared = 0, asked = 0, sampled = 0;
    for (unsigned r = 0; r < process->regions_count; r++) {
        const struct tb_region *region = &process->regions[r];
        double apart = witness_apart(process, region);
        compared += apart >= 0;
        asked += apart >= 0 ? region->witness.asked : 0;
        sampled += apart >= 0 && !region->witness.whole;
        if (apart > WITNESS_MARGIN)
            tb_doc_say(page->doc, "disagree",
                       "%s: move_pages has %.0f %% of the pages on other nodes than numa_maps: are they moving?", region->name,
                       100 * apart);
    }
    if (compared > 0)
        tb_doc_say(page->doc, NULL,
                   "Pages by node are from numa_maps. move_pages, the second witness, was asked about %" PRIu64
                   " pages%s; margin %.0f %%.",
                   asked, sampled ? ", a sample drawn evenly over each region" : ", which is all of them", 100 * WITNESS_MARGIN);
}

static void put_not_seen(const struct page *page)
{
    const struct tb_process *process = page->process;
    char rss[32];
    if (process->maps_errno)
        tb_doc_say(page->doc, "not_seen",
                   "Not seen: regions and huge pages (/proc/%" PRIu64 "/smaps, numa_maps: %s). By its status it has %s in memory.",
                   process->pid, strerror(process->maps_errno), tb_topo_bytes(rss, sizeof rss, process->rss_bytes, true));
    else if (process->placed_errno)
        tb_doc_say(page->doc, "not_seen", "Not seen: on which nodes pages are (/proc/%" PRIu64 "/numa_maps: %s).", process->pid,
                   strerror(process->placed_errno));
    if (process->witness_errno && process->witness_barred)
        tb_doc_say(page->doc, "not_seen", "Not seen: the second witness, move_pages: %s.", tb_probe_why(process->witness_errno));
    else if (process->witness_errno)
        tb_doc_say(page->doc, "not_seen",
                   "Not seen: the second witness, move_pages: %s; it is for the process's user and for root.",
                   strerror(process->witness_errno));
    if (process->lines_bad > 0)
        tb_doc_say(page->doc, "not_seen", "Not understood: %" PRIu64 " line%s of numa_maps.", process->lines_bad,
                   process->lines_bad == 1 ? "" : "s");
}

static void put_balancing(const struct page *page)
{
    if (page->process->balancing > 0 && page->advice.choice)
        tb_doc_say(page->doc, NULL,
                   "NUMA balancing is on (kernel.numa_balancing): the kernel may move pages at any time, so ask more than once.");
}

// --- the page ------------------------------------------------------------------------------------------------------------------

static void put_facts(const struct page *page)
{
    const struct tb_process *process = page->process;
    tb_doc_fact(page->doc, "command", NULL, TB_AS_IS, tb_text_value("advise"));
    tb_doc_fact(page->doc, "pid", NULL, TB_AS_IS, tb_count(process->pid));
    tb_doc_fact(page->doc, "process", NULL, TB_AS_IS, tb_text_value(process->name));
    tb_doc_fact(page->doc, "llama", NULL, TB_AS_IS, tb_flag(process->llama));
    tb_doc_fact(page->doc, "nodes_count", NULL, TB_AS_IS, tb_count(process->nodes_count));
    tb_doc_fact(page->doc, "numa_balancing", NULL, TB_AS_IS,
                process->balancing < 0 ? tb_none(NULL) : tb_count((uint64_t)process->balancing));
    tb_doc_fact(page->doc, "thp", NULL, TB_AS_IS, tb_text_value(*process->thp ? process->thp : NULL));
    tb_doc_fact(page->doc, "threads", NULL, TB_AS_IS, tb_count(process->threads));
    tb_doc_fact(page->doc, "busy", NULL, TB_AS_IS, process->watched_s > 0 ? tb_count(process->busy) : tb_none(NULL));
    tb_doc_fact(page->doc, "watched_s", NULL, TB_AS_IS, tb_number(process->watched_s));
    tb_doc_fact(page->doc, "rss_bytes", NULL, TB_AS_IS, tb_count(process->rss_bytes));
    tb_doc_fact(page->doc, "remote_read_ratio", NULL, TB_AS_IS, share_value(page->advice.remote));
    tb_doc_fact(page->doc, "assumption", NULL, TB_AS_IS,
                tb_text_value(process->devices ? "the busy threads read all pages of the large regions equally often, and what "
                                                 "libggml-locus.so has bound to a node only from there"
                                               : "the busy threads read all pages of the large regions equally often"));
}

struct tb_doc *tb_process_doc(json_t *head, const char *emulated, const struct tb_process *process, const struct locus_topo *topo)
{
    struct page page = {.doc = tb_doc_open(head), .process = process, .topo = topo};
    if (!page.doc)
        return NULL;
    tb_process_advise(process, topo, &page.advice);
    if (emulated)
        tb_doc_say(page.doc, NULL, "EMULATED MACHINE %s: counts only; nothing here says how fast hardware is.", emulated);
    put_facts(&page);
    put_answer(&page);
    if (!process->maps_errno)
        put_regions(&page);
    if (!process->maps_errno)
        put_huge(&page);
    put_threads(&page);
    put_cures(&page);
    put_balancing(&page);
    put_witness(&page);
    put_not_seen(&page);
    return page.doc;
}
