// SPDX-License-Identifier: Apache-2.0
//
// advise_answer: what follows from the table. On hardware the placement to use, what it is worth and how to set it; in an emulated
// machine what stays local, and no more.
#include "testbed/report/advise/advise_page.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// --- the answer on hardware ----------------------------------------------------------------------------------------------------

static const struct tb_advise_row *find(const struct tb_advise_page *page, const char *label)
{
    for (uint32_t i = 0; i < page->result.count; i++)
        if (strcmp(page->result.rows[i].row.arm->label, label) == 0 && page->result.rows[i].row.valid)
            return &page->result.rows[i];
    return NULL;
}

// What it is worth against those that somebody may have now.
static void say_worth(const struct tb_advise_page *page, struct tb_words *words)
{
    static const struct {
        const char *label, *called;
    } others[] = {{"first-touch", "first touch"},
                  {"one-node", "everything on one node"},
                  {"mimalloc", "mimalloc"},
                  {"glibc", "glibc"},
                  {"cross-node", "the wrong node"}};
    const char *before = " Worth ";
    for (size_t o = 0; o < sizeof others / sizeof *others; o++) {
        const struct tb_advise_row *row = find(page, others[o].label);
        if (!row || row->cost != TB_ADVISE_SLOWER)
            continue;
        int decimals = row->ratio.high < 2;
        tb_say(words, "%s%.*f %% [%.*f, %.*f] against %s", before, decimals, 100 * (row->ratio.estimate - 1), decimals,
               100 * (row->ratio.low - 1), decimals, 100 * (row->ratio.high - 1), others[o].called);
        before = ", ";
    }
    tb_say(words, "%s", *before == ',' ? "." : "");
}

static void say_those(const struct tb_advise_page *page, struct tb_words *words, enum tb_advise_cost cost, const char *what)
{
    const char *before = what;
    for (uint32_t i = 0; i < page->result.count; i++) {
        const struct tb_advise_row *row = &page->result.rows[i];
        if (row->cost != cost || row->role == TB_ADVISE_CONTROL)
            continue;
        tb_say(words, "%s%s", before, row->row.arm->label);
        before = ", ";
    }
    tb_say(words, "%s", before == what ? "" : ".");
}

// How many placements, the wrong node among them, cost that much against the one to use. One that is looked after pays for the
// looking, which says nothing of where pages should lie.
static uint32_t placements(const struct tb_advise_page *page, enum tb_advise_cost cost)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < page->result.count; i++) {
        const struct tb_advise_row *row = &page->result.rows[i];
        const struct tb_advise_plan *plan = tb_advise_plan(row->row.arm);
        count += row->cost == cost && row->role != TB_ADVISE_CONTROL && !(plan && plan->repaired) &&
                 tb_campaign_sample(page->advise->campaign, 0, row->arm, 0)->nodes.placements > 0;
    }
    return count;
}

static void say_resolution(const struct tb_advise_page *page, struct tb_words *words)
{
    char percent[16];
    double resolution = page->result.resolution;
    if (resolution < 0)
        tb_say(words, " No valid A/A control ran: how small a difference could be seen is not known.");
    else if (isfinite(resolution))
        tb_say(words, " Differences under %s %% cannot be seen here (A/A).", tb_text_percent_up(percent, resolution));
}

static void say_what_to_use(const struct tb_advise_page *page, const struct tb_advise_plan *plan, struct tb_words *words)
{
    uint32_t same = placements(page, TB_ADVISE_SAME), untold = placements(page, TB_ADVISE_UNTOLD);
    if (!plan)
        tb_say(words, "There is nothing valid to choose from, and so no advice.");
    else if (placements(page, TB_ADVISE_UNBOUNDED) > 0)
        tb_say(words, "Too few rounds to tell times apart, 6 are the least (--rounds). By the counts alone, use %s: %s.", plan->arm,
               plan->words);
    else if (placements(page, TB_ADVISE_SLOWER) > 0 || same + untold == 0)
        tb_say(words, "Use %s: %s.", plan->arm, plan->words);
    else if (untold > 0)
        tb_say(words,
               "This run cannot tell whether it matters where the pages lie (more --rounds, a quieter machine). If in doubt, "
               "%s.",
               plan->words);
    else
        tb_say(words, "It makes no difference here where the pages lie%s. If in doubt, %s.",
               find(page, "cross-node") ? ", not even on the wrong node" : "", plan->words);
}

// --- how -----------------------------------------------------------------------------------------------------------------------

static void print_code(const struct tb_advise_page *page, const struct tb_advise_plan *plan)
{
    const struct tb_advise_machine *machine = &page->advise->machine;
    unsigned homes = locus_nodes_count(&machine->homes);
    struct tb_words nodes = {0}, settings = {0};
    char policy[32];
    int first = locus_nodes_next(&machine->homes, 0);
    for (int node = first; node >= 0; node = locus_nodes_next(&machine->homes, node + 1))
        tb_say(&nodes, "%s%d", node == first ? "" : ", ", plan->first ? first : node);
    snprintf(policy, sizeof policy, "%s", locus_policy_name(plan->policy));
    for (char *c = policy; *c; c++)
        *c = *c == '-' ? '_' : (char)(*c - 'a' + 'A');
    tb_say(&settings, ".policy = LOCUS_POLICY_%s%s,", policy, plan->populate ? ", .populate = true" : "");
    fprintf(page->out,
            "\nHow, with the library:\n"
            "    int nodes[] = {%s};\n"
            "    struct locus_domain_config config = {\n"
            "        .size = sizeof config, .nodes = nodes, .nodes_count = %u, .workers = %" PRIu32 ",\n"
            "        .blocks = %" PRIu32 ", .block_bytes = %" PRIu64 ",\n"
            "        %s\n"
            "    };\n",
            nodes.text, homes, homes * page->advise->campaign->workers, page->advise->pool_blocks,
            page->advise->campaign->block_bytes, settings.text);
    for (int node = 0; plan->among && node < (int)LOCUS_NODES_MAX; node++)
        if (locus_nodes_has(&machine->homes, node) || locus_nodes_has(&machine->bare, node))
            fprintf(page->out, "    locus_nodes_add(&config.among, %d);\n", node);
    fprintf(page->out, "    locus_domain_open(&domain, &config);\n");
    if (plan->repaired)
        fprintf(page->out, "    locus_region_repair(region, &moved, &left);  /* each pool's, between steps */\n");
}

static void print_numactl_line(const struct tb_advise_page *page, const struct tb_advise_plan *plan, int node)
{
    const struct tb_advise_machine *machine = &page->advise->machine;
    const char *comma = "";
    fprintf(page->out, "    numactl ");
    for (const char *c = plan->numactl; *c; c++) {
        if (*c == '#')
            fprintf(page->out, "%d", node);
        for (int n = 0; *c == '*' && n < (int)LOCUS_NODES_MAX; n++)
            if (locus_nodes_has(&machine->homes, n) || locus_nodes_has(&machine->bare, n)) {
                fprintf(page->out, "%s%d", comma, n);
                comma = ",";
            }
        if (*c != '#' && *c != '*')
            fputc(*c, page->out);
    }
    fprintf(page->out, " ENGINE\n");
}

static void print_numactl(const struct tb_advise_page *page, const struct tb_advise_plan *plan)
{
    const struct locus_nodes *homes = &page->advise->machine.homes;
    if (!plan->numactl) {
        fprintf(page->out, "Without it: numactl has no word for this.\n");
        return;
    }
    bool each = strchr(plan->numactl, '#') && !plan->first;
    fprintf(page->out, "Without it, %s:\n", each ? "one process for each node" : "for the whole process");
    for (int node = locus_nodes_next(homes, 0); node >= 0; node = each ? locus_nodes_next(homes, node + 1) : -1)
        print_numactl_line(page, plan, node);
}

void tb_advise_print_answer(const struct tb_advise_page *page)
{
    const struct tb_advise_plan *plan = page->result.use >= 0 ? tb_advise_plan(page->result.rows[page->result.use].row.arm) : NULL;
    struct tb_words words = {0};
    say_what_to_use(page, plan, &words);
    say_worth(page, &words);
    say_those(page, &words, TB_ADVISE_SAME, " No difference to it: ");
    say_those(page, &words, TB_ADVISE_UNTOLD, " Cannot be told from it: ");
    say_those(page, &words, TB_ADVISE_FASTER, " Ahead of it: ");
    say_resolution(page, &words);
    tb_advise_print_words(page, &words, 0);
    if (plan) {
        print_code(page, plan);
        print_numactl(page, plan);
    }
    fprintf(page->out, "\n");
}

// --- the answer in an emulated machine -----------------------------------------------------------------------------------------

static const char *mib_text(char out[24], double bytes)
{
    snprintf(out, 24, "%.*f MiB", bytes < 100 * 1048576.0, bytes / 1048576);
    return out;
}

void tb_advise_print_counts(const struct tb_advise_page *page)
{
    struct tb_words local = {0}, remote = {0}, abroad = {0};
    char share[16], crossing[24], all[24];
    tb_say(&local, "Every write stays on its node (0 remote touches):");
    tb_say(&remote, "Bytes whose write crosses a link, in one lap on all nodes:");
    tb_say(&abroad, "Freed blocks that were kept for another node than their own:");
    size_t begun[] = {local.used, remote.used, abroad.used};
    for (uint32_t i = 0; i < page->result.count; i++) {
        const struct tb_advise_row *row = &page->result.rows[i];
        const struct tb_advise_counts *counts = &row->counts;
        const char *label = row->row.arm->label;
        if (!row->row.valid || row->role == TB_ADVISE_CONTROL)
            continue;
        if (counts->remote == 0 && counts->touches > 0)
            tb_say(&local, "%s %s", local.used > begun[0] ? "," : "", label);
        if (counts->remote > 0)
            tb_say(&remote, "%s %s %s of %s", remote.used > begun[1] ? "," : "", label,
                   mib_text(crossing, counts->lap_bytes_remote), mib_text(all, counts->lap_bytes));
        if (counts->abroad > 0)
            tb_say(&abroad, "%s %s %s", abroad.used > begun[2] ? "," : "", label,
                   tb_advise_share(share, counts->abroad, counts->frees));
    }
    struct tb_words *paragraphs[] = {&local, &remote, &abroad};
    for (size_t p = 0; p < sizeof paragraphs / sizeof *paragraphs; p++) {
        tb_say(paragraphs[p], paragraphs[p]->used > begun[p] ? "." : " none.");
        tb_advise_print_words(page, paragraphs[p], 2);
    }
}

// --- what was not measured -----------------------------------------------------------------------------------------------------

void tb_advise_print_unmeasured(const struct tb_advise_page *page)
{
    const struct tb_advise_machine *machine = &page->advise->machine;
    struct tb_words words = {0};
    tb_say(&words, "Not measured here: ");
    if (machine->emulated)
        tb_say(&words, "anything that takes a clock (run `locus advise` on hardware of several nodes); ");
    if (locus_nodes_count(&machine->bare) == 0) {
        tb_say(&words, "CXL and other memory without CPUs (this machine has none); ");
    } else {
        tb_say(&words, "a pool on ");
        tb_advise_say_nodes(&words, &machine->bare);
        tb_say(&words, " alone (memory without CPUs: only what goes over all nodes reaches it); ");
    }
    if (locus_nodes_count(&machine->barred) > 0) {
        tb_advise_say_nodes(&words, &machine->barred);
        tb_say(&words, " (not for this process: taskset, cpuset or container); ");
    }
    if (machine->equally_near && !machine->emulated)
        tb_say(&words, "distance (the firmware calls all nodes equally near, as numa=fake does); ");
    tb_say(&words, "huge pages (pools have 4 KiB pages here, so that each can be counted); reads (blocks are written, not read).");
    tb_advise_print_words(page, &words, 2);
}
