// SPDX-License-Identifier: Apache-2.0
//
// record: writing, see record.h.
//
// Figures that are held against a claim have four decimals: rounded more, an interval could seem to touch the threshold that it
// misses.

#include "testbed/report/record/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/judge/arm_figures.h"
#include "testbed/judge/verdict.h"
#include "testbed/record/store.h"

// As a cell of a table: '|' would end it.
static void put_text(FILE *out, const char *text)
{
    char clean[TB_WHY_BYTES];
    tb_text_clean(text, false, clean, sizeof clean);
    for (const char *c = clean; *c; c++)
        fprintf(out, *c == '|' ? "\\%c" : "%c", *c);
}

static void put_figure(FILE *out, double value)
{
    fprintf(out, isnan(value) ? "-" : fabs(value) < 10000 ? "%.4f" : "%.0f", value);
}

// Of an exact figure both ends are the figure itself, and its confidence is 1.
static void put_interval(FILE *out, const json_t *object)
{
    double low = tb_member_number(object, "low"), high = tb_member_number(object, "high");
    if (low == high && tb_member_number(object, "achieved") == 1) {
        fputs("exact", out);
    } else if (isnan(low) && isnan(high)) {
        fputs(isnan(tb_member_number(object, "estimate")) ? "-" : "unbounded", out);
    } else {
        fputc('[', out);
        put_figure(out, low);
        fputs(", ", out);
        put_figure(out, high);
        fputc(']', out);
    }
}

// A text with members of `object` in it: {PATH}; {#PATH}, a figure; {%PATH}, a share in percent; {?PATH}, yes or no; {~}, the
// interval.
static void put(FILE *out, const json_t *object, const char *template)
{
    for (const char *c = template; *c; c++) {
        if (*c != '{') {
            fputc(*c, out);
            continue;
        }
        char path[64], shown[TB_WHY_BYTES], form = *++c;
        bool formed = strchr("#%?~", form) != NULL;
        int length = (int)strcspn(c, "}");
        snprintf(path, sizeof path, "%.*s", length - formed, c + formed);
        double value = tb_member_number(object, path);
        c += length;
        if (form == '#')
            put_figure(out, value);
        else if (form == '%')
            fprintf(out, value > 0 ? "%.4g %%" : "-", 100 * value);
        else if (form == '?')
            fputs(json_is_true(tb_member(object, path)) ? "yes" : "**NO**", out);
        else if (form == '~')
            put_interval(out, object);
        else
            put_text(out, tb_member_show(object, path, shown, sizeof shown));
    }
}

// A table with a row for each; nothing where there are none.
static void put_table(FILE *out, const json_t *rows, const char *head, const char *row)
{
    const json_t *entry;
    size_t i;
    if (json_array_size(rows) == 0)
        return;
    fputs(head, out);
    json_array_foreach (rows, i, entry)
        put(out, entry, row);
    fputc('\n', out);
}

// --- sections ---

static void put_title(const struct tb_log_view *view, FILE *out)
{
    put(out, view->header, "# {experiment.id} {experiment.slug}\n\n");
    if (strcmp(tb_member_text(view->header, "kind"), "official"))
        put(out, view->header, "> **This is a {kind} run. It proves nothing and cannot be filed.**\n\n");
    if (tb_log_emulated(view))
        put(out, view->header,
            "> **Made in an emulated guest ({emulated}): counts, no times.** Its counts are exact; its clock says nothing about "
            "hardware.\n\n");
    put(out, view->header, "**Question:** {experiment.question}\n\n");
    put(out, view->summary,
        *tb_member_text(view->summary, "why") ? "**Verdict: {verdict}** ({why})\n\n" : "**Verdict: {verdict}**\n\n");
    if (*tb_member_text(view->header, "experiment.reproduces"))
        put(out, view->header, "Repeats experiment {experiment.reproduces} of the LOCUS paper.\n\n");
}

// A conjunction: every part that it consists of.
static void put_parts(const json_t *prediction, FILE *out)
{
    const json_t *parts = tb_member(prediction, "parts"), *part;
    size_t i;
    if (json_array_size(parts) == 0)
        return;
    put(out, prediction, "\n{id} holds when each of its ");
    fprintf(out, "%zu parts does:\n\n| cell | arm | estimate | interval | confidence | verdict |\n|---|---|--:|--:|--:|---|\n",
            json_array_size(parts));
    json_array_foreach (parts, i, part)
        put(out, part,
            *tb_member_text(part, "under") ? "| {cell} | {over}/{under} | {#estimate} | {~} | {%achieved} | {verdict} |\n"
                                           : "| {cell} | {over} | {#estimate} | {~} | {%achieved} | {verdict} |\n");
}

static void put_predictions(const struct tb_log_view *view, FILE *out)
{
    const json_t *predictions = tb_member(view->summary, "predictions"), *prediction;
    size_t i;
    put(out, view->header, "## Prediction and observation\n\nPredicted in {postulate.path}, SHA-256 `{postulate.sha256}`, ");
    put(out, view->header,
        *tb_member_text(view->header, "postulate.commit") ? "commit `{postulate.commit}`.\n\n" : "not committed.\n\n");
    fputs("| | claim | cell | estimate | interval | confidence | verdict |\n|---|---|---|--:|--:|--:|---|\n", out);
    json_array_foreach (predictions, i, prediction)
        put(out, prediction, "| {id} | `{text}` | {cell} | {#estimate} | {~} | {%achieved} of {%confidence} | **{verdict}** |\n");
    json_array_foreach (predictions, i, prediction)
        put_parts(prediction, out);
    fputc('\n', out);
    json_array_foreach (predictions, i, prediction)
        if (*tb_member_text(prediction, "why"))
            put(out, prediction, "{id}: {why}.\n\n");
}

// What every row of either table begins with. false: and that is all, the arm being invalid.
static bool put_arm(const struct tb_arm_figures *f, FILE *out, const char *invalid_end)
{
    const char *const cells[] = {f->key, f->name, *f->version ? f->version : "-"};
    for (size_t i = 0; i < 3; i++) {
        fputs("| ", out);
        put_text(out, cells[i]);
        fputc(' ', out);
    }
    fputs("| ", out);
    if (!f->invalid[0])
        return true;
    fputs("INVALID: ", out);
    put_text(out, f->invalid);
    fprintf(out, "%s\n", invalid_end);
    return false;
}

static void put_times(const struct tb_arm_figures figures[], size_t count, FILE *out)
{
    double smallest = INFINITY, largest = 0;
    for (size_t arm = 0; arm < count; arm++) {
        smallest = fmin(smallest, tb_member_number(figures[arm].summary, "median")); // both pass over NAN
        largest = fmax(largest, tb_member_number(figures[arm].summary, "median"));
    }
    struct tb_unit unit = tb_text_unit(isfinite(smallest) ? smallest : 1, largest);
    int decimals = unit.decimals == TB_DIGITS ? 3 : unit.decimals + 1;
    fprintf(out,
            "| arm | contender | version | median, %s | 95 %% interval | fastest | time over %s | footprint | "
            "distinct | outliers |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
            unit.name, figures[0].key);
    for (const struct tb_arm_figures *f = figures; f < figures + count; f++) {
        if (!put_arm(f, out, " | | | | | | |"))
            continue;
        fprintf(out, "%.*f | [%.*f, %.*f] | %.*f | ", decimals, tb_member_number(f->summary, "median") / unit.ns, decimals,
                tb_member_number(f->summary, "low") / unit.ns, decimals, tb_member_number(f->summary, "high") / unit.ns, decimals,
                tb_member_number(f->summary, "min") / unit.ns);
        fprintf(out,
                !f->has_ratio      ? "-"
                : f->ratio.bounded ? "%.4f [%.4f, %.4f]"
                                   : "%.4f unbounded",
                f->ratio.estimate, f->ratio.low, f->ratio.high);
        fprintf(out, " | %.3f | %.3f | %.0f/%.0f of %.0f |\n", f->outstanding, f->distinct,
                tb_member_number(f->summary, "outliers_mild"), tb_member_number(f->summary, "outliers_severe"),
                tb_member_number(f->summary, "n"));
    }
    fputc('\n', out);
}

// What was counted in a cell, beside the times or instead of them.
static void put_counts(const struct tb_arm_figures figures[], size_t count, FILE *out)
{
    fputs("| arm | contender | version | footprint | distinct | remote touches | wandered | freed abroad |\n"
          "|---|---|---|--:|--:|--:|--:|--:|\n",
          out);
    for (const struct tb_arm_figures *f = figures; f < figures + count; f++) {
        const double ratios[5] = {f->outstanding, f->distinct, f->remote_touch, f->wandered, f->abroad_free};
        if (!put_arm(f, out, " | | | | |"))
            continue;
        for (size_t i = 0; i < 5; i++) {
            fprintf(out, isnan(ratios[i]) ? "-" : "%.4f", ratios[i]);
            fputs(i < 4 ? " | " : " |\n", out);
        }
    }
    fputc('\n', out);
}

static int put_cell(const struct tb_log_view *view, size_t cell, FILE *out)
{
    size_t count = tb_arms_count(view);
    char name[512], shown[512];
    struct tb_arm_figures *figures = calloc(count + 1, sizeof *figures);
    int rc = figures ? 0 : -ENOMEM;
    for (size_t arm = 0; !rc && arm < count; arm++)
        rc = tb_arm_figures(view, cell, arm, &figures[arm]);
    if (!rc && count > 0) {
        tb_text_clean(tb_cell_label(view, cell, name, sizeof name), false, shown, sizeof shown);
        fprintf(out, "### %s\n\n", shown);
        if (!tb_log_emulated(view))
            put_times(figures, count, out);
        if (tb_log_emulated(view) || tb_many_nodes(view))
            put_counts(figures, count, out);
    }
    free(figures);
    return rc;
}

static int put_arms(const struct tb_log_view *view, FILE *out)
{
    bool any = view->samples_count > 0, timed = !tb_log_emulated(view);
    int rc = 0;
    fprintf(out, "## Arms\n\n%s", any ? "" : "No sample was taken.\n\n");
    if (any && timed)
        fputs("Time of one lap: the median over all rounds with its bootstrap interval, and the ratio of times formed "
              "within each round (Hodges-Lehmann, signed-rank interval, at least 95 %). Footprint and distinct blocks: the worst "
              "round, over the theoretical peak. Outliers: mild/severe of all samples (Tukey), none left out.\n\n",
              out);
    if (any && (!timed || tb_many_nodes(view)))
        fputs("Counts are the worst round's: footprint and distinct blocks over the theoretical peak; touches of another "
              "node's memory, blocks handed out on another node (wandered) and frees kept on another node than the block's, "
              "each of all of its kind. Each was counted, none is estimated.\n\n",
              out);
    for (size_t cell = 0; !rc && any && cell < tb_cells_count(view); cell++)
        rc = put_cell(view, cell, out);
    return rc;
}

static void put_gates(const struct tb_log_view *view, FILE *out)
{
    const json_t *control = tb_member(view->summary, "positive_control"), *gates = tb_member(view->summary, "gates");
    fprintf(out, "## Gates\n\n%s", json_array_size(gates) ? "" : "| gate | kind | passed | reason |\n|---|---|---|---|\n\n");
    put_table(out, gates, "| gate | kind | passed | reason |\n|---|---|---|---|\n", "| {gate} | {kind} | {?passed} | {reason} |\n");
    if (json_is_object(control)) // the slowdown that was put in on purpose, in the cell where it shows least
        put(out, control,
            json_is_true(tb_member(control, "found"))
                ? "Positive control: a slowdown of {percent} % ({arms}) was found: {#estimate} {~} in {cell}.\n\n"
                : "Positive control: a slowdown of {percent} % ({arms}) was NOT found: {#estimate} {~} in {cell}.\n\n");
    put_table(out, tb_member(view->summary, "aa"),
              "The same contender against itself:\n\n| cell | arms | ratio | interval | confidence |\n|---|---|--:|--:|--:|\n",
              "| {cell} | {arms} | {#estimate} | {~} | {%confidence} |\n");
}

static void put_environment(const struct tb_log_view *view, FILE *out)
{
    char text[512];
    tb_store_host_of(view->path, text, sizeof text);
    fputs("## Environment\n\n| | |\n|---|---|\n| host | ", out);
    put_text(out, text);
    fprintf(out, " |\n| memory nodes | %zu |\n", json_object_size(tb_member(view->header, "env.nodes")));
    put(out, view->header,
        "| CPU | {env.cpu.model} |\n| CPUs allowed | {env.cpu.allowed} |\n| microcode | {env.cpu.microcode} |\n"
        "| SMT | {env.cpu.smt_control} |\n| frequency governor | {env.frequency.governor} |\n| kernel | {env.kernel.release} |\n"
        "| clock source | {env.clock.current} |\n| transparent huge pages | {env.thp.enabled} |\n"
        "| NUMA balancing | {env.numa.balancing} |\n| memory, KiB | {env.memory.total_kib} |\n| load before | {env.load} |\n"
        "| C library | {env.libc.version} |\n| compiler | {env.build.compiler} |\n| commit of the program | {env.build.commit} |\n"
        "| uncommitted changes | {env.build.dirty} |\n");
    tb_doctor_header_says(view->header, text, sizeof text);
    if (*text) {
        fputs("\nHost: ", out);
        put_text(out, text);
        fputs(".\n", out);
    }
    fputs("\nThe rest is in the log.\n\n", out);
}

static void put_log(const struct tb_log_view *view, FILE *out)
{
    char head[TB_HASH_TEXT];
    tb_hash_text(&view->chain.entries[view->chain.count - 1].head, head);
    put(out, view->header, "## Log\n\n- run `{run}`, {kind}, {time}\n");
    put(out, view->summary, "- {rounds} rounds, ");
    put(out, view->header,
        "seed {design.seed}, {design.dispatch} dispatch, workers: {design.workers}, blocks of {design.block_bytes} bytes\n");
    fprintf(out, "- `%s`, %zu lines, last hash `%s`\n- again: `sh testbed/reproduce.sh %s`\n\n", view->path, view->chain.count,
            head, view->path);
}

int tb_record_show(const struct tb_log_view *view, FILE *out)
{
    put_title(view, out);
    put_predictions(view, out);
    int rc = put_arms(view, out);
    put_gates(view, out);
    put_environment(view, out);
    put_log(view, out);
    return rc < 0 ? rc : ferror(out) ? -EIO : 0;
}

int tb_record_draft(const struct tb_log_view *view, FILE *out)
{
    const char *run = tb_member_text(view->header, "run");
    char head[TB_HASH_TEXT];
    tb_hash_text(&view->chain.entries[view->chain.count - 1].head, head);
    put(out, view->header, "<!-- locus record, run {run}. Only the last two sections are written by a person. -->\n");
    put_title(view, out);
    put(out, view->header, "- predicted in {postulate.path}, SHA-256 `{postulate.sha256}`\n");
    fprintf(out, "- measured in `%s`, last hash `%s`\n- its tables: `locus record show %s`\n\n", view->path, head,
            strlen(run) > 6 ? run + strlen(run) - 6 : run);
    fputs("## Interpretation\n\n<!-- What does this mean, and what does it not? -->\n\n"
          "## Next question\n\n<!-- One sentence with a question mark. -->\n",
          out);
    return ferror(out) ? -EIO : 0;
}
