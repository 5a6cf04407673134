// SPDX-License-Identifier: Apache-2.0
//
// advise_text: the user's question answered on one page, within 80 columns of ASCII, the answer last.
//
// Three pages, for three machines. Hardware of several nodes: costs, counts, and what to do. An emulated machine: counts under
// a heading that nobody can overlook, in the order of the arms, and not one word about speed. One node: that there is nothing to
// choose. What was not measured stands on each, with the reason.
#include "testbed/report/advise/advise_page.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NAME = 23, COST = 30 }; // widths

const char *tb_advise_share(char *out, uint64_t part, uint64_t whole)
{
    if (whole == 0)
        snprintf(out, 16, "-");
    else if (part == 0 || part == whole)
        snprintf(out, 16, "%s", part ? "100 %" : "0 %");
    else
        snprintf(out, 16, "%.1f %%", fmin(fmax(100 * (double)part / (double)whole, 0.1), 99.9));
    return out;
}

void tb_advise_print_words(const struct tb_advise_page *page, const struct tb_words *words, int indent)
{
    tb_text_wrap(page->out, TB_ADVISE_COLUMNS, 0, indent, words->text);
}

void tb_advise_say_nodes(struct tb_words *words, const struct locus_nodes *nodes)
{
    const char *before = locus_nodes_count(nodes) == 1 ? "node " : "nodes ";
    for (int node = locus_nodes_next(nodes, 0); node >= 0; node = locus_nodes_next(nodes, node + 1), before = ", ")
        tb_say(words, "%s%d", before, node);
}

static const char *row_name(const struct tb_advise_row *row, char out[128])
{
    tb_text_arm(&row->row, out, 128);
    tb_text_shorten(out, NAME - 1);
    return out;
}

// --- head ----------------------------------------------------------------------------------------------------------------------

static void print_head(const struct tb_advise_page *page)
{
    const struct tb_advise *advise = page->advise;
    const struct tb_campaign *campaign = advise->campaign;
    struct tb_words words = {0};
    char how[192];
    tb_text_wrap(page->out, TB_ADVISE_COLUMNS, 0, 2, advise->workload);
    tb_advise_say_nodes(&words, &advise->machine.homes);
    tb_say(&words,
           ", on each a scheduler with a pool of %" PRIu32 " blocks of %" PRIu64 " bytes; %" PRIu32
           " %% of the requests end on another node than they began on",
           advise->pool_blocks, campaign->block_bytes, advise->cross_percent);
    tb_advise_print_words(page, &words, 2);
    tb_text_settings(campaign, how, sizeof how);
    fprintf(page->out, "%s touch, %s\n\n", tb_touch_name(campaign->cells[0].touch), how);
    struct tb_words meaning = {0};
    if (!advise->machine.emulated)
        tb_say(&meaning, "Time: of a lap, on all nodes at once, against the one to use, with the 95 %% interval. ");
    tb_say(&meaning,
           "Remote touches: cache lines written on pages of another node. Frees abroad: blocks kept for another node than "
           "their own.");
    tb_advise_print_words(page, &meaning, 0);
    fprintf(page->out, "\n");
}

// --- table ---------------------------------------------------------------------------------------------------------------------

// "4.0 % slower [2.9, 5.2]"; above 100 % without decimals.
static void difference_text(const struct tb_ratio *ratio, bool slower, char *out, size_t size)
{
    double side = slower ? 100 : -100, by = side * (ratio->estimate - 1);
    double low = side * ((slower ? ratio->low : ratio->high) - 1), high = side * ((slower ? ratio->high : ratio->low) - 1);
    int decimals = high < 100;
    snprintf(out, size, "%.*f %% %s [%.*f, %.*f]", decimals, by, slower ? "slower" : "faster", decimals, low, decimals, high);
}

static void cost_text(const struct tb_advise_row *row, double resolution, char *out, size_t size)
{
    const struct tb_ratio *ratio = &row->ratio;
    char percent[16];
    switch (row->cost) {
    case TB_ADVISE_USED: snprintf(out, size, "the one to use"); break;
    case TB_ADVISE_SLOWER:
    case TB_ADVISE_FASTER: difference_text(ratio, row->cost == TB_ADVISE_SLOWER, out, size); break;
    case TB_ADVISE_SAME: snprintf(out, size, "no difference (within %s %%)", tb_text_percent_up(percent, resolution)); break;
    case TB_ADVISE_UNTOLD:
        snprintf(out, size, "cannot be told [%+.1f, %+.1f]", 100 * (ratio->low - 1), 100 * (ratio->high - 1));
        break;
    case TB_ADVISE_UNBOUNDED: snprintf(out, size, "too few rounds to tell"); break;
    default: snprintf(out, size, "-");
    }
}

static void print_row(const struct tb_advise_page *page, const struct tb_advise_row *row)
{
    char name[128], cost[64] = "", remote[16], abroad[16], why[256];
    bool used = row->cost == TB_ADVISE_USED;
    fprintf(page->out, "%s%-*s", used ? "> " : "  ", NAME, row_name(row, name));
    if (!row->row.valid) {
        tb_text_clean(row->row.invalid, true, why, sizeof why);
        fprintf(page->out, "INVALID: ");
        tb_text_wrap(page->out, TB_ADVISE_COLUMNS, NAME + 2 + 9, NAME + 2, why);
        return;
    }
    if (!page->advise->machine.emulated)
        cost_text(row, page->result.resolution, cost, sizeof cost);
    if (row->role == TB_ADVISE_CONTROL && !page->advise->machine.emulated)
        snprintf(cost, sizeof cost, "(A/A control)");
    fprintf(page->out, "%-*s%9s%9s\n", page->advise->machine.emulated ? 0 : COST, cost,
            tb_advise_share(remote, row->counts.remote, row->counts.touches),
            tb_advise_share(abroad, row->counts.abroad, row->counts.abroad_known ? row->counts.frees : 0));
}

// All that share a reason, with the first of them.
static void print_refusals(const struct tb_advise_page *page, uint32_t first)
{
    const struct tb_advise_refusal *refusals = page->advise->refusals;
    struct tb_words words = {0};
    char why[sizeof refusals->why];
    for (uint32_t i = 0; i < page->advise->refusals_count; i++) {
        if (strcmp(refusals[i].why, refusals[first].why))
            continue;
        if (i < first)
            return;
        tb_say(&words, "%s%s", i > first ? ", " : "", refusals[i].arm);
    }
    tb_text_clean(refusals[first].why, true, why, sizeof why);
    tb_say(&words, " not here: %s", why);
    fprintf(page->out, "  ");
    tb_text_wrap(page->out, TB_ADVISE_COLUMNS, 2, 4, words.text);
}

static void print_table(const struct tb_advise_page *page)
{
    static const char *const titles[] = {
        [TB_ADVISE_OTHER] = "to compare with: the wrong node, and what an engine has now",
        [TB_ADVISE_CONTROL] = "the same once more",
    };
    bool emulated = page->advise->machine.emulated;
    enum tb_advise_role role = TB_ADVISE_CHOICE;
    fprintf(page->out, "  %-*s%-*s%9s%9s\n", NAME, "", emulated ? 0 : COST, "", "remote", "frees");
    fprintf(page->out, "  %-*s%-*s%9s%9s\n", NAME, "", emulated ? 0 : COST, emulated ? "" : "time", "touches", "abroad");
    for (uint32_t i = 0; i < page->result.count; i++) {
        const struct tb_advise_row *row = &page->result.rows[i];
        if (row->row.valid && row->role != role && titles[row->role])
            fprintf(page->out, "  %s\n", titles[row->role]);
        role = row->row.valid ? row->role : role;
        print_row(page, row);
    }
    for (uint32_t i = 0; i < page->advise->refusals_count; i++)
        print_refusals(page, i);
    fprintf(page->out, "\n");
}

// --- where the pages are -------------------------------------------------------------------------------------------------------

static void say_pool(struct tb_words *words, const struct tb_nodes_sample *nodes, const struct tb_node_placement *pool)
{
    const char *before = "";
    if (pool->verify_errno) {
        tb_say(words, "not verified (%s)", strerrorname_np(pool->verify_errno));
        return;
    }
    for (uint32_t n = 0; n < nodes->count; n++) {
        if (pool->on[n] == 0)
            continue;
        tb_say(words, "%s%" PRIu64 " on %" PRId32, before, pool->on[n], nodes->node[n].os);
        before = " + ";
    }
    if (!*before)
        tb_say(words, "none");
    if (pool->elsewhere)
        tb_say(words, " (%" PRIu64 " of them astray)", pool->elsewhere);
    if (pool->maps_read && !pool->maps_agree)
        tb_say(words, " (numa_maps disagrees)");
}

static void print_pools(const struct tb_advise_page *page, const struct tb_advise_row *row)
{
    const struct tb_nodes_sample *nodes = &tb_campaign_sample(page->advise->campaign, 0, row->arm, 0)->nodes;
    const struct tb_node_placement *first = &nodes->after[0];
    struct tb_words words = {0};
    char name[128];
    tb_say(&words, "%s", locus_policy_name((enum locus_policy)first->requested));
    if (first->granted_errno)
        tb_say(&words, ", granted: not known (%s)", strerrorname_np(first->granted_errno));
    else if (first->granted != first->requested)
        tb_say(&words, ", but granted %s", locus_policy_name((enum locus_policy)first->granted));
    for (uint32_t s = 0; s < nodes->placements; s++) {
        tb_say(&words, "%s", s ? "; " : ": ");
        say_pool(&words, nodes, &nodes->after[s]);
    }
    fprintf(page->out, "  %-*s", NAME, row_name(row, name));
    tb_text_wrap(page->out, TB_ADVISE_COLUMNS, NAME + 2, NAME + 4, words.text);
}

static void print_places(const struct tb_advise_page *page)
{
    struct tb_words words = {0};
    tb_say(&words, "Asked for and granted, and where the pages of each node's pool were found (4 KiB each, by move_pages at the "
                   "end of round 1):");
    tb_advise_print_words(page, &words, 2);
    for (uint32_t i = 0; i < page->result.count; i++) {
        const struct tb_advise_row *row = &page->result.rows[i];
        if (row->row.valid && row->role != TB_ADVISE_CONTROL &&
            tb_campaign_sample(page->advise->campaign, 0, row->arm, 0)->nodes.placements > 0)
            print_pools(page, row);
    }
    fprintf(page->out, "\n");
}

// --- pages ---------------------------------------------------------------------------------------------------------------------

static void print_one_node(const struct tb_advise_page *page)
{
    const struct tb_advise_machine *machine = &page->advise->machine;
    struct tb_words words = {0};
    if (locus_nodes_count(&machine->bare) + locus_nodes_count(&machine->barred) == 0) {
        tb_say(&words, "This machine has one node: every placement is the same here, and there is nothing to choose.");
    } else {
        tb_say(&words, "This process has both CPUs and memory on one node only (");
        tb_advise_say_nodes(&words, &machine->homes);
        tb_say(&words, "), so between nodes there is nothing to choose.");
    }
    if (locus_nodes_count(&machine->bare) > 0) {
        tb_say(&words, " Memory without CPUs, on ");
        tb_advise_say_nodes(&words, &machine->bare);
        tb_say(&words, ", was not tried.");
    }
    if (locus_nodes_count(&machine->barred) > 0) {
        tb_say(&words, " Not for this process (taskset, cpuset or container): ");
        tb_advise_say_nodes(&words, &machine->barred);
        tb_say(&words, ".");
    }
    tb_say(&words, " Nothing about placement was measured.");
    tb_advise_print_words(page, &words, 0);
    fprintf(page->out,
            "\nWhat still counts is how blocks are recycled: see `locus eval`, and for a trace\n"
            "`locus replay FILE`. One pool with one owner is\n"
            "    struct locus_pool_config config = {\n"
            "        .size = sizeof config, .blocks = %" PRIu32 ", .block_bytes = %" PRIu64 ",\n"
            "        .page = LOCUS_PAGE_THP, .populate = true,\n"
            "    };\n"
            "    locus_pool_open(&pool, &config);\n",
            page->advise->pool_blocks, page->advise->block_bytes);
    if (!machine->emulated)
        fprintf(page->out, "\nHow placements differ can be counted (not timed) in an emulated machine:\n    %s\n",
                page->advise->guest_command);
}

static void print_page(const struct tb_advise_page *page)
{
    print_head(page);
    print_table(page);
    print_places(page);
    if (page->advise->machine.emulated)
        tb_advise_print_counts(page);
    else
        tb_advise_print_answer(page);
    tb_advise_print_unmeasured(page);
}

int tb_advise_text(FILE *stream, const struct tb_advise *advise)
{
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc < 0)
        return rc;
    struct tb_advise_page page = {.out = text.stream, .advise = advise};
    if (advise->machine.emulated)
        fprintf(page.out, "EMULATED MACHINE %s: counts only. Nothing here says how fast anything is on hardware.\n\n",
                advise->machine.emulated);
    if (advise->campaign) {
        tb_advise_work_out(advise, &page.result);
        print_page(&page);
    } else {
        print_one_node(&page);
    }
    return tb_text_close(&text, stream, 0);
}
