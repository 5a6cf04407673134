// SPDX-License-Identifier: Apache-2.0
//
// advise_doc: what follows from the figures, and then the figures.
//
// Three machines, three documents. Hardware of several nodes: what to do, costs, counts. An emulated machine: counts only, in the
// order of the arms, and not one word about speed; it has no members for times, not even null ones, so that a program that looks
// for them finds no place where they could have been. One node: that there is nothing to choose.
#include "testbed/report/advise/advise.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/judge/decoded.h"
#include "testbed/report/board/board.h"
#include "testbed/report/recommend.h"

struct page {
    struct tb_doc *doc;
    const struct tb_advise *advise;
    struct tb_advise_result result;
};

static const struct tb_nodes_sample *nodes_of(const struct page *page, const struct tb_advise_row *row)
{
    return &tb_rounds_sample(page->advise->rounds, 0, row->arm, 0)->nodes; // placements are those of round 1
}

static void say_list(struct tb_words *words, const struct locus_nodes *nodes, const char *separator)
{
    const char *before = "";
    for (int node = locus_nodes_next(nodes, 0); node >= 0; node = locus_nodes_next(nodes, node + 1), before = separator)
        tb_say(words, "%s%d", before, node);
}

static void say_nodes(struct tb_words *words, const struct locus_nodes *nodes)
{
    tb_say(words, locus_nodes_count(nodes) == 1 ? "node " : "nodes ");
    say_list(words, nodes, ", ");
}

// An empty line in text.
static void part(const struct page *page)
{
    tb_doc_heading(page->doc, 2, NULL, NULL);
}

static void say_barred(const struct tb_advise_machine *machine, struct tb_words *words)
{
    if (locus_nodes_count(&machine->barred) == 0)
        return;
    tb_say(words, " Not for this process (taskset, cpuset or container): ");
    say_nodes(words, &machine->barred);
    tb_say(words, ".");
}

// Nodes that no pool was bound to.
static void say_others(const struct tb_advise_machine *machine, struct tb_words *words)
{
    if (locus_nodes_count(&machine->bare) > 0) {
        tb_say(words, " A pool on ");
        say_nodes(words, &machine->bare);
        tb_say(words, " alone, which has memory and no CPUs, was not tried.");
    }
    say_barred(machine, words);
}
// --- what to use ---------------------------------------------------------------------------------------------------------------

static const struct tb_advise_row *find(const struct page *page, const char *label)
{
    for (uint32_t i = 0; i < page->result.count; i++)
        if (strcmp(page->result.rows[i].row.arm->label, label) == 0 && page->result.rows[i].row.valid)
            return &page->result.rows[i];
    return NULL;
}

// How many placements, the wrong node among them, cost that much against the one to use. One that is looked after pays for the
// looking, which says nothing about where pages should lie.
static uint32_t placements(const struct page *page, enum tb_advise_cost cost)
{
    uint32_t count = 0;
    for (const struct tb_advise_row *row = page->result.rows; row < page->result.rows + page->result.count; row++)
        count += row->cost == cost && row->role != TB_ADVISE_CONTROL && !(row->plan && row->plan->repaired) &&
                 nodes_of(page, row)->placements > 0;
    return count;
}

static void say_use(const struct page *page, const struct tb_advise_plan *plan, struct tb_words *words)
{
    uint32_t same = placements(page, TB_ADVISE_SAME), untold = placements(page, TB_ADVISE_UNTOLD);
    if (!plan)
        tb_say(words, "There is nothing valid to choose from, and so no advice.");
    else if (placements(page, TB_ADVISE_UNBOUNDED) > 0)
        tb_say(words, "Too few rounds to tell times apart, 6 are the least (--rounds). By the counts alone it is %s: %s.",
               plan->arm, plan->words);
    else if (placements(page, TB_ADVISE_SLOWER) > 0 || same + untold == 0)
        tb_say_recommend(words, &(struct tb_recommend){.names = {plan->arm}, .count = 1, .because = plan->words});
    else if (untold > 0)
        tb_say(words, "This run cannot tell whether placement matters (more --rounds, a quieter machine). If in doubt, %s.",
               plan->words);
    else
        tb_say(words, "It makes no difference here where the pages lie%s. If in doubt, %s.",
               find(page, "cross-node") ? ", not even on the wrong node" : "", plan->words);
}

// What it is worth against what an engine may have now.
static void say_worth(const struct page *page, struct tb_words *words)
{
    static const char *const others[][2] = {{"first-touch", "first touch"},
                                            {"one-node", "everything on one node"},
                                            {"mimalloc", "mimalloc"},
                                            {"glibc", "glibc"},
                                            {"cross-node", "the wrong node"}};
    const char *before = " Times that others take: ";
    for (size_t o = 0; o < sizeof others / sizeof *others; o++) {
        const struct tb_advise_row *row = find(page, others[o][0]);
        if (!row || row->cost != TB_ADVISE_SLOWER)
            continue;
        tb_say(words, "%s%s %.2f [%.2f, %.2f]", before, others[o][1], row->ratio.estimate, row->ratio.low, row->ratio.high);
        before = ", ";
    }
    tb_say(words, "%s ", *before == ',' ? "." : "");
    tb_say_resolution(words, page->advise->rounds, 0, 1);
}

// --- how -----------------------------------------------------------------------------------------------------------------------

static struct locus_nodes with_memory(const struct tb_advise_machine *machine)
{
    struct locus_nodes all = machine->homes;
    for (int node = locus_nodes_next(&machine->bare, 0); node >= 0; node = locus_nodes_next(&machine->bare, node + 1))
        locus_nodes_add(&all, node);
    return all;
}

static void put_code(const struct page *page, const struct tb_advise_plan *plan)
{
    const struct tb_advise *advise = page->advise;
    const struct locus_nodes *homes = &advise->machine.homes, all = with_memory(&advise->machine);
    int first = locus_nodes_next(homes, 0);
    char policy[32];
    struct tb_words words = {0};
    snprintf(policy, sizeof policy, "%s", locus_policy_name(plan->policy));
    for (char *c = policy; *c; c++)
        *c = (char)(*c == '-' ? '_' : toupper(*c));
    tb_say(&words, "int nodes[] = {");
    for (int node = first; node >= 0; node = locus_nodes_next(homes, node + 1))
        tb_say(&words, "%s%d", node == first ? "" : ", ", plan->first ? first : node);
    tb_say(&words,
           "};\nstruct locus_domain_config config = {\n"
           "    .size = sizeof config, .nodes = nodes, .nodes_count = %u, .lanes = %" PRIu32 ",\n"
           "    .blocks = %" PRIu32 ", .block_bytes = %" PRIu64 ",\n    .policy = LOCUS_POLICY_%s,%s\n};\n",
           locus_nodes_count(homes), locus_nodes_count(homes) * advise->rounds->workers, advise->pool_blocks,
           advise->rounds->block_bytes, policy, plan->populate ? " .populate = true," : "");
    for (int node = locus_nodes_next(&all, 0); plan->among && node >= 0; node = locus_nodes_next(&all, node + 1))
        tb_say(&words, "locus_nodes_add(&config.among, %d);\n", node);
    tb_say(&words, "locus_domain_open(&domain, &config);\n%s",
           plan->repaired ? "locus_region_repair(region, &moved, &left);  /* each pool's, between steps */\n" : "");
    part(page);
    tb_doc_say(page->doc, NULL, "How, with the library:");
    tb_doc_code(page->doc, "code", words.text);
}

// Does each node have a process of its own?
static bool is_for_each(const struct tb_advise_plan *plan)
{
    return plan->numactl && strchr(plan->numactl, '#') && !plan->first;
}

static void say_numactl(const struct tb_advise_machine *machine, const struct tb_advise_plan *plan, struct tb_words *words)
{
    const struct locus_nodes *homes = &machine->homes, all = with_memory(machine);
    bool each = is_for_each(plan);
    for (int node = locus_nodes_next(homes, 0); node >= 0; node = each ? locus_nodes_next(homes, node + 1) : -1) {
        tb_say(words, "numactl ");
        for (const char *c = plan->numactl; *c; c++)
            if (*c == '#')
                tb_say(words, "%d", node);
            else if (*c == '*')
                say_list(words, &all, ",");
            else
                tb_say(words, "%c", *c);
        tb_say(words, " ENGINE\n");
    }
}

static void put_numactl(const struct page *page, const struct tb_advise_plan *plan)
{
    struct tb_words words = {0};
    if (!plan->numactl) {
        tb_doc_say(page->doc, NULL, "Without it: numactl has no word for this.");
        return;
    }
    say_numactl(&page->advise->machine, plan, &words);
    tb_doc_say(page->doc, NULL, "Without it, %s:", is_for_each(plan) ? "one process for each node" : "for the whole process");
    tb_doc_code(page->doc, "numactl", words.text);
}

// Of all nodes: each decodes the whole workload. NAN: nothing was decoded.
static double tokens_per_s(const struct page *page, const struct tb_advise_row *row)
{
    double homes = locus_nodes_count(&page->advise->machine.homes);
    return row->row.valid ? homes * tb_tokens_per_s(page->advise->rounds, 0, row->row.ns_median) : (double)NAN;
}

static void put_answer(const struct page *page)
{
    const struct tb_advise_plan *plan = page->result.use ? page->result.use->plan : NULL;
    struct tb_words words = {0};
    char tokens[16];
    say_use(page, plan, &words);
    if (plan && tb_advise_decodes(page->advise))
        tb_say(&words, " So all nodes together decode %s tokens/s.", tb_text_number(tokens, tokens_per_s(page, page->result.use)));
    say_worth(page, &words);
    tb_doc_answer(page->doc, "answer", "%s", words.text);
    tb_doc_fact(page->doc, "use", NULL, TB_AS_IS, tb_text_value(plan ? plan->arm : NULL));
    tb_doc_fact(page->doc, "resolution", NULL, TB_AS_SHARE,
                tb_number(page->result.resolution < 0 ? (double)NAN : page->result.resolution));
    if (!plan)
        return;
    put_code(page, plan);
    put_numactl(page, plan);
}

static void put_local(const struct page *page)
{
    struct tb_words words = {0};
    for (const struct tb_advise_row *row = page->result.rows; row < page->result.rows + page->result.count; row++)
        if (row->row.valid && row->role != TB_ADVISE_CONTROL && row->counts.remote == 0 && row->counts.touches > 0)
            tb_say(&words, "%s%s", words.used ? ", " : "", row->row.arm->label);
    tb_doc_answer(page->doc, "answer", "Every %s (0 remote %s): %s.",
                  tb_advise_decodes(page->advise) ? "read of K and V stays on its node" : "write stays on its node",
                  tb_advise_decodes(page->advise) ? "bytes" : "touches", words.used ? words.text : "none");
}

// --- the table -----------------------------------------------------------------------------------------------------------------

static struct tb_value share(bool known, uint64_t part, uint64_t whole, double of)
{
    return known && whole ? tb_number(of * (double)part / (double)whole) : tb_none(NULL);
}

static json_t *errno_json(int number)
{
    const char *name = number ? strerrorname_np(number) : NULL;
    return name ? json_string(name) : number ? json_integer(number) : json_null();
}

static json_t *pools_json(const struct tb_nodes_sample *nodes, const struct tb_node_placement pools[])
{
    json_t *array = json_array();
    for (const struct tb_node_placement *pool = pools; pool < pools + nodes->placements; pool++) {
        json_t *on = json_array();
        for (uint32_t n = 0; n < nodes->count; n++)
            on = tb_json_appended(on, json_pack("{s:i s:I}", "node", (int)nodes->node[n].os, "pages", (json_int_t)pool->on[n]));
        const struct tb_json_member members[] = {
            {"station", json_integer(pool->station)},
            {"requested", json_string(locus_policy_name((enum locus_policy)pool->requested))},
            {"granted", json_string(locus_policy_name((enum locus_policy)pool->granted))},
            {"granted_errno", errno_json(pool->granted_errno)},
            {"verify_errno", errno_json(pool->verify_errno)},
            {"pages_present", tb_json_whole(pool->present)},
            {"pages_elsewhere", tb_json_whole(pool->elsewhere)},
            {"on", on},
            {"numa_maps_agrees", pool->maps_read ? json_boolean(pool->maps_agree) : json_null()},
        };
        array = tb_json_appended(array, TB_JSON_OBJECT(members));
    }
    return array;
}

static void put_counts(struct tb_table *table, const struct tb_advise_row *row)
{
    const struct tb_advise_counts *counts = &row->counts;
    bool valid = row->row.valid, abroad = valid && counts->abroad_known;
    tb_table_put(table, valid ? share(true, counts->remote, counts->touches, 1) : tb_toned(tb_none("INVALID"), TB_TONE_POOR));
    tb_table_put(table, share(abroad, counts->abroad, counts->frees, 1));
    tb_table_put(table, share(valid, counts->remote, counts->touches, 100));
    tb_table_put(table, share(abroad, counts->abroad, counts->frees, 100));
    tb_table_put(table, valid ? tb_number(counts->lap_bytes_remote) : tb_none(NULL));
    tb_table_put(table, valid ? tb_number(counts->lap_bytes) : tb_none(NULL));
    tb_table_put(table, valid ? tb_count(counts->touches) : tb_none(NULL));
    tb_table_put(table, valid ? tb_count(counts->remote) : tb_none(NULL));
    tb_table_put(table, valid ? tb_count(counts->unknown) : tb_none(NULL));
    tb_table_put(table, valid ? tb_count(counts->frees) : tb_none(NULL));
    tb_table_put(table, abroad ? tb_count(counts->abroad) : tb_none(NULL));
}

// Of K and V: read and written on another node, of all bytes. Null where nothing was decoded.
static void put_ratios(struct tb_table *table, const struct page *page, const struct tb_advise_row *row)
{
    const struct tb_advise_counts *counts = &row->counts;
    bool known = row->row.valid && tb_advise_decodes(page->advise);
    tb_table_put(table, share(known, counts->remote, counts->touches, 1));
    tb_table_put(table, share(known, counts->written_remote, counts->written, 1));
}

static void put_times(struct tb_table *table, const struct page *page, const struct tb_advise_row *row)
{
    static const struct {
        const char *word, *title;
        enum tb_tone tone;
    } costs[] = {
        [TB_ADVISE_USED] = {"used", "the choice", TB_TONE_OURS},         [TB_ADVISE_SLOWER] = {"slower", "slower", TB_TONE_BAD},
        [TB_ADVISE_FASTER] = {"faster", "faster", TB_TONE_GOOD},         [TB_ADVISE_SAME] = {"no-difference", "no difference", 0},
        [TB_ADVISE_UNTOLD] = {"untold", "cannot be told", TB_TONE_OPEN}, [TB_ADVISE_UNBOUNDED] = {"too-few-rounds", NULL, 0},
    };
    const struct tb_rounds *rounds = page->advise->rounds;
    const struct tb_ratio *ratio = &row->ratio;
    bool compared = row->cost > TB_ADVISE_USED;
    double *ns = tb_times(rounds, 0, row->arm, TB_LAP);
    tb_table_put(table, tb_number(tokens_per_s(page, row)));
    tb_table_put(table, compared ? tb_interval(ratio) : tb_none(NULL));
    tb_table_put(table, row->role == TB_ADVISE_CONTROL ? tb_text_value("A/A control")
                                                       : tb_toned(tb_text_value(costs[row->cost].title), costs[row->cost].tone));
    tb_table_put(table, tb_text_value(costs[row->cost].word));
    tb_table_put(table, compared ? tb_number(ratio->estimate) : tb_none(NULL));
    tb_table_put(table, compared && ratio->bounded ? tb_number(ratio->low) : tb_none(NULL));
    tb_table_put(table, compared && ratio->bounded ? tb_number(ratio->high) : tb_none(NULL));
    tb_table_put(table, compared && ratio->bounded ? tb_number(ratio->confidence) : tb_none(NULL));
    tb_table_put(table, tb_number(row->row.valid ? row->row.ns_median : (double)NAN));
    tb_table_put(table, ns ? tb_samples(ns, rounds->count) : tb_none(NULL));
    free(ns);
}

static void put_arm(struct tb_table *table, const struct page *page, const struct tb_advise_row *row)
{
    static const char *const roles[] = {"choice", "comparison", "control"};
    const struct tb_nodes_sample *nodes = nodes_of(page, row);
    char name[128];
    tb_text_arm(&row->row, name, sizeof name);
    tb_table_row(table, row == page->result.use ? TB_ROW_OURS : row->role ? TB_ROW_ASIDE : TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(name));
    tb_table_put(table, tb_text_value(row->row.arm->label));
    tb_table_put(table, tb_text_value(roles[row->role]));
    tb_table_put(table, *row->row.version ? tb_text_value(row->row.version) : tb_none(NULL));
    tb_table_put(table, tb_flag(row->row.valid));
    tb_table_put(table, *row->row.invalid ? tb_text_value(row->row.invalid) : tb_none(NULL));
    tb_table_put(table, tb_json_value(pools_json(nodes, nodes->before)));
    put_counts(table, row);
    tb_table_put(table, tb_json_value(pools_json(nodes, nodes->after)));
    put_ratios(table, page, row);
    if (!page->advise->machine.emulated)
        put_times(table, page, row);
    if (!row->row.valid)
        tb_table_note(table, "%s is INVALID: %s", row->row.arm->label, row->row.invalid);
}

// Counts are sums over all rounds. Where pages were is of round 1, before and after all its laps.
static void put_arms(const struct page *page)
{
    enum { CROSSING = 11, TIMES = 21, TOKENS = TIMES }; // TIMES: the first column of those
    struct tb_column columns[] = {
        {NULL, "placement", 0, 0},
        {"name", NULL, 0, 0},
        {"role", NULL, 0, 0},
        {"version", NULL, 0, 0},
        {"valid", NULL, 0, 0},
        {"invalid", NULL, 0, 0},
        {"placed_before", NULL, 0, 0},
        {NULL, "\nremote", TB_AS_SHARE, 0},
        {NULL, "frees\nabroad", TB_AS_SHARE, 0},
        {"counts.touches_remote_percent", NULL, 0, 0},
        {"counts.frees_abroad_percent", NULL, 0, 0},
        {"counts.lap_bytes_remote", "crossing\na lap", TB_AS_BYTES, 0},
        {"counts.lap_bytes", NULL, 0, 0},
        {"counts.touches", NULL, 0, 0},
        {"counts.touches_remote", NULL, 0, 0},
        {"counts.touches_unknown", NULL, 0, 0},
        {"counts.frees", NULL, 0, 0},
        {"counts.frees_abroad", NULL, 0, 0},
        {"placed_after", NULL, 0, 0},
        {"remote_read_ratio", NULL, 0, 0},
        {"remote_write_ratio", NULL, 0, 0},
        {"tokens_per_s", "\ntokens/s", 0, 0},
        {NULL, "time against\nthe choice", TB_AS_RATIO, true},
        {NULL, "\nit is", 0, 0},
        {"cost.verdict", NULL, 0, 0},
        {"cost.estimate", NULL, 0, 0},
        {"cost.low", NULL, 0, 0},
        {"cost.high", NULL, 0, 0},
        {"cost.confidence", NULL, 0, 0},
        {"median_ns", NULL, 0, 0},
        {"samples_ns", NULL, 0, 0},
        {NULL, NULL, 0, 0},
    };
    bool emulated = page->advise->machine.emulated, decodes = tb_advise_decodes(page->advise);
    if (emulated)
        columns[TIMES] = (struct tb_column){0};
    else // one of both: a line has 80 columns
        columns[decodes ? CROSSING : TOKENS].title = NULL;
    struct tb_table *table = tb_doc_table(page->doc, "arms", NULL, columns);
    for (const struct tb_advise_row *row = page->result.rows; row < page->result.rows + page->result.count; row++)
        put_arm(table, page, row);
    if (decodes)
        tb_table_note(table, "Remote: of the bytes of K and V that were read, those on pages of another node.%s",
                      emulated ? " Crossing: these, and those that were written." : " Tokens: of all nodes together.");
    else
        tb_table_note(table, "Remote: of the cache lines written, those on pages of another node; crossing: their bytes.");
    tb_table_note(table, "Frees abroad: blocks kept for another node than their own. Placements are compared with the wrong node, "
                         "and with what an engine may have now.");
}

// --- where the pages are -------------------------------------------------------------------------------------------------------

static void say_pool(struct tb_words *words, const struct tb_nodes_sample *nodes, const struct tb_node_placement *pool)
{
    const char *before = words->used ? "; " : "";
    if (pool->verify_errno)
        tb_say(words, "%snot verified (%s)", before, strerrorname_np(pool->verify_errno));
    for (uint32_t n = 0; n < nodes->count && !pool->verify_errno; n++) {
        if (pool->on[n] == 0)
            continue;
        tb_say(words, "%s%" PRIu64 " on %" PRId32, before, pool->on[n], nodes->node[n].os);
        before = " + ";
    }
    if (pool->elsewhere)
        tb_say(words, " (%" PRIu64 " of them astray)", pool->elsewhere);
    if (pool->maps_read && !pool->maps_agree)
        tb_say(words, " (numa_maps disagrees)");
}

static void put_places(const struct page *page)
{
    static const struct tb_column columns[] = {{NULL, "placement", 0, 0},
                                               {NULL, "asked for", 0, 0},
                                               {NULL, "granted", 0, 0},
                                               {NULL, "pages of each pool", 0, 0},
                                               {NULL, NULL, 0, 0}};
    struct tb_table *table = tb_doc_table(page->doc, NULL, "Where the pages were (of 4 KiB each, by move_pages)", columns);
    for (const struct tb_advise_row *row = page->result.rows; row < page->result.rows + page->result.count; row++) {
        const struct tb_nodes_sample *nodes = nodes_of(page, row);
        const struct tb_node_placement *first = &nodes->after[0];
        struct tb_words words = {0};
        if (!row->row.valid || row->role == TB_ADVISE_CONTROL || nodes->placements == 0)
            continue;
        for (uint32_t s = 0; s < nodes->placements; s++)
            say_pool(&words, nodes, &nodes->after[s]);
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(row->row.arm->label));
        tb_table_put(table, tb_text_value(locus_policy_name((enum locus_policy)first->requested)));
        tb_table_put(table, tb_text_value(first->granted_errno ? strerrorname_np(first->granted_errno)
                                                               : locus_policy_name((enum locus_policy)first->granted)));
        tb_table_put(table, tb_text_value(words.text));
    }
}

static void put_refusals(const struct page *page)
{
    bool any = page->advise->refusals_count > 0;
    const struct tb_column columns[] = {{"name", any ? "not here" : NULL, 0, 0}, {"why", any ? "because" : NULL, 0, 0}, {0}};
    struct tb_table *table = tb_doc_table(page->doc, "not_here", NULL, columns);
    for (uint32_t i = 0; i < page->advise->refusals_count; i++) {
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(page->advise->refusals[i].arm));
        tb_table_put(table, tb_text_value(page->advise->refusals[i].why));
    }
}

static void put_unmeasured(const struct page *page)
{
    const struct tb_advise_machine *machine = &page->advise->machine;
    struct tb_words words = {0};
    say_others(machine, &words);
    part(page);
    tb_doc_say(page->doc, NULL, "Not measured here: %s%s%shuge pages (pools have 4 KiB pages, so that each can be counted)%s.%s",
               machine->emulated ? "anything that takes a clock (run `locus advise` on hardware of several nodes); " : "",
               locus_nodes_count(&machine->bare) ? "" : "CXL and other memory without CPUs (this machine has none); ",
               machine->equally_near && !machine->emulated ? "distance (the firmware calls all nodes equally near); " : "",
               tb_advise_decodes(page->advise) ? "; block sizes and layouts (on one node: numactl --cpunodebind=0 --membind=0)"
                                               : "; reads",
               words.text);
}

// --- documents -----------------------------------------------------------------------------------------------------------------

static void put_measured(struct page *page)
{
    const struct tb_rounds *rounds = page->advise->rounds;
    const struct tb_cell *cell = &rounds->cells[0];
    struct tb_words nodes = {0};
    char how[192];
    tb_advise_work_out(page->advise, &page->result);
    if (page->advise->machine.emulated)
        put_local(page);
    else
        put_answer(page);
    part(page);
    tb_text_settings(rounds, how, sizeof how);
    say_nodes(&nodes, &page->advise->machine.homes);
    tb_doc_say(page->doc, NULL,
               "%s. On %s a scheduler each, with a pool of %" PRIu32 " blocks of %" PRIu64 " bytes; %" PRIu32
               " %% of the requests end on another node than they began on; %s touch, %s.",
               page->advise->workload, nodes.text, page->advise->pool_blocks, rounds->block_bytes, page->advise->cross_percent,
               tb_touch_name(cell->touch), how);
    tb_doc_fact(page->doc, "touch", NULL, TB_AS_IS, tb_text_value(tb_touch_name(cell->touch)));
    tb_doc_fact(page->doc, "dispatch", NULL, TB_AS_IS, tb_text_value(tb_dispatch_name(rounds->dispatch)));
    tb_doc_fact(page->doc, "rounds", NULL, TB_AS_IS, tb_count(rounds->count));
    tb_doc_fact(page->doc, "schedule", NULL, TB_AS_IS, tb_text_value(cell->schedule->name));
    tb_doc_fact(page->doc, "laps_counted", NULL, TB_AS_IS, tb_count(cell->laps_counted));
    tb_doc_fact(page->doc, "seed", NULL, TB_AS_IS, tb_count(rounds->seed));
    put_arms(page);
    put_refusals(page);
    put_places(page);
    put_unmeasured(page);
}

static void put_one_node(const struct page *page)
{
    const struct tb_advise *advise = page->advise;
    const struct tb_advise_machine *machine = &advise->machine;
    struct tb_words words = {0};
    char code[256];
    if (locus_nodes_count(&machine->bare) + locus_nodes_count(&machine->barred) == 0)
        tb_say(&words, "This machine has one node: every placement is the same here, and there is nothing to choose.");
    else {
        tb_say(&words, "This process has both CPUs and memory on one node only (");
        say_nodes(&words, &machine->homes);
        tb_say(&words, "), so between nodes there is nothing to choose.");
    }
    say_others(machine, &words);
    tb_doc_answer(page->doc, "answer", "%s Nothing about placement was measured.", words.text);
    part(page);
    tb_doc_say(
        page->doc, NULL,
        "What still counts is how blocks are recycled: see `locus eval`, and for a trace `locus replay FILE`; and how large they "
        "are: `locus advise --shape MODEL` says it in tokens per second. One pool with one owner is");
    snprintf(code, sizeof code,
             "struct locus_pool_config config = {\n    .size = sizeof config, .blocks = %" PRIu32 ", .block_bytes = %" PRIu64
             ",\n    .page = LOCUS_PAGE_THP, .node = LOCUS_NODE_ANY, .populate = true,\n};\nlocus_pool_open(&pool, &config);\n",
             advise->pool_blocks, advise->block_bytes);
    tb_doc_code(page->doc, "code", code);
    part(page);
    if (!machine->emulated)
        tb_doc_say(page->doc, NULL,
                   "How placements differ can be counted (not timed) in an emulated machine: `locus guest -- advise`; a trace goes "
                   "along by `locus guest --with FILE`, and lies in /with there.");
}

struct tb_doc *tb_advise_doc(json_t *head, const struct tb_advise *advise)
{
    struct page page = {.doc = tb_doc_open(head), .advise = advise};
    bool measured = advise->rounds;
    if (!page.doc)
        return NULL;
    if (advise->machine.emulated)
        tb_doc_say(page.doc, NULL, "EMULATED MACHINE %s: counts only; nothing here says how fast hardware is.",
                   advise->machine.emulated);
    tb_doc_fact(page.doc, "command", NULL, TB_AS_IS, tb_text_value("advise"));
    tb_doc_json(page.doc, "machine", tb_advise_machine_json(&advise->machine));
    tb_doc_fact(page.doc, "measured", NULL, TB_AS_IS, tb_flag(measured));
    tb_doc_fact(page.doc, "why_not", NULL, TB_AS_IS,
                tb_text_value(measured ? NULL : "one node: every placement is the same, nothing to choose"));
    tb_doc_fact(page.doc, "block_bytes", NULL, TB_AS_IS, tb_count(advise->block_bytes));
    tb_doc_fact(page.doc, "pool_blocks", NULL, TB_AS_IS, tb_count(advise->pool_blocks));
    tb_doc_fact(page.doc, "cross_percent", NULL, TB_AS_IS, tb_count(advise->cross_percent));
    if (measured)
        put_measured(&page);
    else
        put_one_node(&page);
    return page.doc;
}

// --- a plan --------------------------------------------------------------------------------------------------------------------

static json_t *lines_json(const char *text)
{
    json_t *lines = json_array();
    for (size_t length; *text; text += length + 1) {
        length = strcspn(text, "\n");
        lines = tb_json_appended(lines, json_stringn(text, length));
    }
    return lines;
}

static void put_plan(struct tb_doc *doc, struct tb_table *table, const struct tb_advise_machine *machine,
                     const struct tb_advise_plan *plan)
{
    struct tb_words words = {0};
    if (plan->numactl)
        say_numactl(machine, plan, &words);
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value(plan->arm), tb_text_value(plan->words),
                 plan->numactl ? tb_json_value(lines_json(words.text)) : tb_none(NULL));
    tb_doc_heading(doc, 2, NULL, NULL);
    tb_doc_say(doc, NULL, "%s: %s%s", plan->arm, plan->words, plan->numactl ? ":" : " (numactl has no word for this).");
    if (plan->numactl)
        tb_doc_code(doc, NULL, words.text);
}

static void say_plan(const struct tb_advise_machine *machine, const char *described, struct tb_words *words)
{
    unsigned homes = locus_nodes_count(&machine->homes);
    tb_say(words, "%s has memory and CPUs on ", described ? described : "This machine");
    if (homes > 0)
        say_nodes(words, &machine->homes);
    else
        tb_say(words, "no node");
    tb_say(words, homes < 2 ? ", so between nodes there is nothing to choose." : ". These placements would be compared there.");
    if (locus_nodes_count(&machine->bare) > 0) {
        tb_say(words, " Memory without CPUs: ");
        say_nodes(words, &machine->bare);
        tb_say(words, ".");
    }
    say_barred(machine, words);
    tb_say(words, " Nothing was measured.");
}

struct tb_doc *tb_advise_plan_doc(json_t *head, const struct tb_advise_machine *machine, const char *described)
{
    struct tb_doc *doc = tb_doc_open(head);
    struct tb_words words = {0};
    size_t count = 0;
    const struct tb_advise_plan *plans = tb_advise_plans(&count);
    if (!doc)
        return NULL;
    tb_doc_fact(doc, "command", NULL, TB_AS_IS, tb_text_value("advise"));
    tb_doc_json(doc, "machine", tb_advise_machine_json(machine));
    tb_doc_fact(doc, "described", NULL, TB_AS_IS, tb_text_value(described));
    tb_doc_fact(doc, "measured", NULL, TB_AS_IS, tb_flag(false));
    say_plan(machine, described, &words);
    tb_doc_answer(doc, "answer", "%s", words.text);
    struct tb_table *table = tb_doc_grid(doc, "plans", NULL, "name|does|numactl");
    for (size_t p = 0; locus_nodes_count(&machine->homes) > 1 && p < count; p++)
        put_plan(doc, table, machine, &plans[p]);
    return doc;
}
