// SPDX-License-Identifier: Apache-2.0
//
// record: writing, see record.h.
//
// Figures that are held against a claim have four decimals: rounded more, an interval could seem to touch the threshold that it
// misses.

#include "testbed/report/record/record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/judge/arm_figures.h"
#include "testbed/judge/verdict.h"
#include "testbed/record/store.h"
#include "testbed/report/board/board.h"

#define CELL_BYTES 512

// Text for a cell of a table: '|' would end it.
static const char *escaped(const char *text, char *out, size_t bytes)
{
    char clean[CELL_BYTES];
    size_t used = 0;
    tb_text_clean(text, false, clean, sizeof clean);
    for (const char *c = clean; *c && used + 2 < bytes; c++) {
        if (*c == '|')
            out[used++] = '\\';
        out[used++] = *c;
    }
    out[used] = '\0';
    return out;
}

static const char *escaped_member(const json_t *object, const char *path, char *out, size_t bytes)
{
    char shown[CELL_BYTES];
    return escaped(tb_member_show(object, path, shown, sizeof shown), out, bytes);
}

static const char *figure(const json_t *object, const char *key, char *out, size_t bytes)
{
    double value = tb_member_number(object, key);
    if (isnan(value))
        snprintf(out, bytes, "-");
    else
        snprintf(out, bytes, fabs(value) < 10000 ? "%.4f" : "%.0f", value);
    return out;
}

// Of an exact figure both ends are the figure itself, and its confidence is 1.
static const char *interval(const json_t *object, char *out, size_t bytes)
{
    char low[32], high[32];
    double ends[2] = {tb_member_number(object, "low"), tb_member_number(object, "high")};
    if (ends[0] == ends[1] && tb_member_number(object, "achieved") == 1)
        snprintf(out, bytes, "exact");
    else if (isnan(ends[0]) && isnan(ends[1]))
        snprintf(out, bytes, isnan(tb_member_number(object, "estimate")) ? "-" : "unbounded");
    else
        snprintf(out, bytes, "[%s, %s]", figure(object, "low", low, sizeof low), figure(object, "high", high, sizeof high));
    return out;
}

static const char *percent(const json_t *object, const char *key, char *out, size_t bytes)
{
    double value = tb_member_number(object, key);
    if (value > 0)
        snprintf(out, bytes, "%.4g %%", 100 * value);
    else
        snprintf(out, bytes, "-");
    return out;
}

static void write_head(const struct tb_log_view *view, FILE *out)
{
    const json_t *header = view->header;
    char text[TB_WHY_BYTES];
    const char *kind = tb_member_text(header, "kind"), *why = tb_member_text(view->summary, "why");
    fprintf(out, "<!-- locus record, run %s. Only the last two sections are written by a person. -->\n",
            tb_member_text(header, "run"));
    fprintf(out, "# %s %s\n\n", tb_member_text(header, "experiment.id"), tb_member_text(header, "experiment.slug"));
    if (strcmp(kind, "official"))
        fprintf(out, "> **This is a %s run. It proves nothing and cannot be filed.**\n\n", kind);
    if (tb_log_emulated(view))
        fprintf(out,
                "> **Made in an emulated guest (%s): counts, no times.** Its counts are exact; its clock says nothing about "
                "hardware.\n\n",
                tb_member_show(header, "emulated", text, sizeof text));
    fprintf(out, "**Question:** %s\n\n", tb_member_show(header, "experiment.question", text, sizeof text));
    fprintf(out, "**Verdict: %s**", tb_member_text(view->summary, "verdict"));
    fprintf(out, *why ? " (%s)\n\n" : "\n\n", tb_member_show(view->summary, "why", text, sizeof text));
    if (*tb_member_text(header, "experiment.reproduces"))
        fprintf(out, "Repeats experiment %s of the LOCUS paper.\n\n", tb_member_text(header, "experiment.reproduces"));
}

static void write_prediction(const json_t *prediction, FILE *out)
{
    char id[64], text[CELL_BYTES], cell[128], estimate[32], range[80], achieved[32], asked[32], verdict[64];
    fprintf(out, "| %s | `%s` | %s | %s | %s | %s of %s | **%s** |\n", escaped_member(prediction, "id", id, sizeof id),
            escaped_member(prediction, "text", text, sizeof text), escaped_member(prediction, "cell", cell, sizeof cell),
            figure(prediction, "estimate", estimate, sizeof estimate), interval(prediction, range, sizeof range),
            percent(prediction, "achieved", achieved, sizeof achieved), percent(prediction, "confidence", asked, sizeof asked),
            escaped_member(prediction, "verdict", verdict, sizeof verdict));
}

// A conjunction: every part that it consists of.
static void write_parts(const json_t *prediction, FILE *out)
{
    const json_t *parts = tb_member(prediction, "parts");
    size_t count = json_array_size(parts);
    char cell[128], over[128], under[128], estimate[32], range[80], achieved[32], verdict[64];
    if (count == 0)
        return;
    fprintf(out, "\n%s holds when each of its %zu parts does:\n\n", tb_member_text(prediction, "id"), count);
    fprintf(out, "| cell | arm | estimate | interval | confidence | verdict |\n|---|---|--:|--:|--:|---|\n");
    for (size_t i = 0; i < count; i++) {
        const json_t *part = json_array_get(parts, i);
        bool pair = *tb_member_text(part, "under");
        fprintf(out, "| %s | %s%s%s | %s | %s | %s | %s |\n", escaped_member(part, "cell", cell, sizeof cell),
                escaped_member(part, "over", over, sizeof over), pair ? "/" : "",
                pair ? escaped_member(part, "under", under, sizeof under) : "", figure(part, "estimate", estimate, sizeof estimate),
                interval(part, range, sizeof range), percent(part, "achieved", achieved, sizeof achieved),
                escaped_member(part, "verdict", verdict, sizeof verdict));
    }
}

static void write_predictions(const struct tb_log_view *view, FILE *out)
{
    const json_t *predictions = tb_member(view->summary, "predictions"), *prediction;
    char path[CELL_BYTES], why[TB_WHY_BYTES];
    size_t i;
    fprintf(out, "## Prediction and observation\n\nPredicted in %s, SHA-256 `%s`, ",
            tb_member_show(view->header, "postulate.path", path, sizeof path), tb_member_text(view->header, "postulate.sha256"));
    if (*tb_member_text(view->header, "postulate.commit"))
        fprintf(out, "commit `%s`.\n\n", tb_member_text(view->header, "postulate.commit"));
    else
        fprintf(out, "not committed.\n\n");
    fprintf(out, "| | claim | cell | estimate | interval | confidence | verdict |\n|---|---|---|--:|--:|--:|---|\n");
    json_array_foreach (predictions, i, prediction)
        write_prediction(prediction, out);
    json_array_foreach (predictions, i, prediction)
        write_parts(prediction, out);
    fputc('\n', out);
    json_array_foreach (predictions, i, prediction)
        if (*tb_member_text(prediction, "why"))
            fprintf(out, "%s: %s.\n\n", tb_member_text(prediction, "id"), tb_member_show(prediction, "why", why, sizeof why));
}

static void write_arm(const struct tb_arm_figures *f, const struct tb_unit *unit, FILE *out)
{
    char key[32], name[224], version[160], invalid[CELL_BYTES], ratio[80] = "-";
    escaped(f->key, key, sizeof key);
    escaped(f->name, name, sizeof name);
    escaped(*f->version ? f->version : "-", version, sizeof version);
    if (f->invalid[0]) {
        fprintf(out, "| %s | %s | %s | INVALID: %s | | | | | | |\n", key, name, version,
                escaped(f->invalid, invalid, sizeof invalid));
        return;
    }
    if (f->has_ratio && f->ratio.bounded)
        snprintf(ratio, sizeof ratio, "%.4f [%.4f, %.4f]", f->ratio.estimate, f->ratio.low, f->ratio.high);
    else if (f->has_ratio)
        snprintf(ratio, sizeof ratio, "%.4f unbounded", f->ratio.estimate);
    int decimals = unit->decimals == TB_DIGITS ? 3 : unit->decimals + 1;
    fprintf(out, "| %s | %s | %s | %.*f | [%.*f, %.*f] | %.*f | %s | %.3f | %.3f | %.0f/%.0f of %.0f |\n", key, name, version,
            decimals, tb_member_number(f->summary, "median") / unit->ns, decimals, tb_member_number(f->summary, "low") / unit->ns,
            decimals, tb_member_number(f->summary, "high") / unit->ns, decimals, tb_member_number(f->summary, "min") / unit->ns,
            ratio, f->outstanding, f->distinct, tb_member_number(f->summary, "outliers_mild"),
            tb_member_number(f->summary, "outliers_severe"), tb_member_number(f->summary, "n"));
}

static const char *ratio_text(double value, char *out, size_t bytes)
{
    snprintf(out, bytes, isnan(value) ? "-" : "%.4f", value);
    return out;
}

// What was counted in a cell, beside the times or instead of them.
static void write_counts(const struct tb_arm_figures figures[], size_t count, FILE *out)
{
    fprintf(out, "| arm | contender | version | footprint | distinct | remote touches | wandered | freed abroad |\n"
                 "|---|---|---|--:|--:|--:|--:|--:|\n");
    for (const struct tb_arm_figures *f = figures; f < figures + count; f++) {
        char key[32], name[224], version[160], invalid[CELL_BYTES], text[5][32];
        const double ratios[5] = {f->outstanding, f->distinct, f->remote_touch, f->wandered, f->abroad_free};
        for (size_t i = 0; i < 5; i++)
            ratio_text(ratios[i], text[i], sizeof text[i]);
        fprintf(out, "| %s | %s | %s | ", escaped(f->key, key, sizeof key), escaped(f->name, name, sizeof name),
                escaped(*f->version ? f->version : "-", version, sizeof version));
        if (f->invalid[0])
            fprintf(out, "INVALID: %s | | | | |\n", escaped(f->invalid, invalid, sizeof invalid));
        else
            fprintf(out, "%s | %s | %s | %s | %s |\n", text[0], text[1], text[2], text[3], text[4]);
    }
    fputc('\n', out);
}

static void write_times(const struct tb_arm_figures figures[], size_t count, FILE *out)
{
    double smallest = INFINITY, largest = 0;
    for (size_t arm = 0; arm < count; arm++) {
        smallest = fmin(smallest, tb_member_number(figures[arm].summary, "median")); // both pass over NAN
        largest = fmax(largest, tb_member_number(figures[arm].summary, "median"));
    }
    struct tb_unit unit = tb_text_unit(isfinite(smallest) ? smallest : 1, largest);
    fprintf(out,
            "| arm | contender | version | median, %s | 95 %% interval | fastest | time over %s | footprint | "
            "distinct | outliers |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
            unit.name, figures[0].key);
    for (size_t arm = 0; arm < count; arm++)
        write_arm(&figures[arm], &unit, out);
    fputc('\n', out);
}

static int write_cell(const struct tb_log_view *view, size_t cell, FILE *out)
{
    size_t count = tb_arms_count(view);
    char name[CELL_BYTES], shown[CELL_BYTES];
    struct tb_arm_figures *figures = calloc(count + 1, sizeof *figures);
    int rc = figures ? 0 : -ENOMEM;
    for (size_t arm = 0; !rc && arm < count; arm++)
        rc = tb_arm_figures(view, cell, arm, &figures[arm]);
    if (!rc && count > 0) {
        tb_text_clean(tb_cell_label(view, cell, name, sizeof name), false, shown, sizeof shown);
        fprintf(out, "### %s\n\n", shown);
        if (!tb_log_emulated(view))
            write_times(figures, count, out);
        if (tb_log_emulated(view) || tb_many_nodes(view))
            write_counts(figures, count, out);
    }
    free(figures);
    return rc;
}

static int write_arms(const struct tb_log_view *view, FILE *out)
{
    int rc = 0;
    bool timed = !tb_log_emulated(view);
    fprintf(out, "## Arms\n\n%s", view->samples_count == 0 ? "No sample was taken.\n\n" : "");
    if (view->samples_count > 0 && timed)
        fprintf(
            out,
            "Time of one lap: the median over all rounds with its bootstrap interval, and the ratio of times formed "
            "within each round (Hodges-Lehmann, signed-rank interval, at least 95 %%). Footprint and distinct blocks: the worst "
            "round, over the theoretical peak. Outliers: mild/severe of all samples (Tukey), none left out.\n\n");
    if (view->samples_count > 0 && (!timed || tb_many_nodes(view)))
        fprintf(out, "Counts are the worst round's: footprint and distinct blocks over the theoretical peak; touches of another "
                     "node's memory, blocks handed out on another node (wandered) and frees kept on another node than the block's, "
                     "each of all of its kind. Each was counted, none is estimated.\n\n");
    for (size_t cell = 0; !rc && view->samples_count > 0 && cell < tb_cells_count(view); cell++)
        rc = write_cell(view, cell, out);
    return rc;
}

// The slowdown that was put in on purpose, in the cell where it shows least.
static void write_positive_control(const struct tb_log_view *view, FILE *out)
{
    const json_t *control = tb_member(view->summary, "positive_control");
    char percentage[32], arms[64], estimate[32], range[80], cell[128];
    if (!json_is_object(control))
        return;
    fprintf(out, "Positive control: a slowdown of %s %% (%s) was %s: %s %s in %s.\n\n",
            tb_member_show(control, "percent", percentage, sizeof percentage), tb_member_show(control, "arms", arms, sizeof arms),
            json_is_true(tb_member(control, "found")) ? "found" : "NOT found",
            figure(control, "estimate", estimate, sizeof estimate), interval(control, range, sizeof range),
            tb_member_show(control, "cell", cell, sizeof cell));
}

static void write_gates(const struct tb_log_view *view, FILE *out)
{
    const json_t *gates = tb_member(view->summary, "gates"), *controls = tb_member(view->summary, "aa"), *entry;
    char gate[CELL_BYTES], kind[64], reason[CELL_BYTES], cell[128], arms[CELL_BYTES], estimate[32], range[80], achieved[32];
    size_t i;
    fprintf(out, "## Gates\n\n| gate | kind | passed | reason |\n|---|---|---|---|\n");
    json_array_foreach (gates, i, entry)
        fprintf(out, "| %s | %s | %s | %s |\n", escaped_member(entry, "gate", gate, sizeof gate),
                escaped_member(entry, "kind", kind, sizeof kind), json_is_true(tb_member(entry, "passed")) ? "yes" : "**NO**",
                escaped_member(entry, "reason", reason, sizeof reason));
    fputc('\n', out);
    write_positive_control(view, out);
    if (json_array_size(controls) == 0)
        return;
    fprintf(out, "The same contender against itself:\n\n| cell | arms | ratio | interval | confidence |\n|---|---|--:|--:|--:|\n");
    json_array_foreach (controls, i, entry)
        fprintf(out, "| %s | %s | %s | %s | %s |\n", escaped_member(entry, "cell", cell, sizeof cell),
                escaped_member(entry, "arms", arms, sizeof arms), figure(entry, "estimate", estimate, sizeof estimate),
                interval(entry, range, sizeof range), percent(entry, "confidence", achieved, sizeof achieved));
    fputc('\n', out);
}

static void write_environment(const struct tb_log_view *view, FILE *out)
{
    static const char *const rows[][2] = {
        {"CPU", "env.cpu.model"},
        {"CPUs allowed", "env.cpu.allowed"},
        {"microcode", "env.cpu.microcode"},
        {"SMT", "env.cpu.smt_control"},
        {"frequency governor", "env.frequency.governor"},
        {"kernel", "env.kernel.release"},
        {"clock source", "env.clock.current"},
        {"transparent huge pages", "env.thp.enabled"},
        {"NUMA balancing", "env.numa.balancing"},
        {"memory, KiB", "env.memory.total_kib"},
        {"load before", "env.load"},
        {"C library", "env.libc.version"},
        {"compiler", "env.build.compiler"},
        {"commit of the program", "env.build.commit"},
        {"uncommitted changes", "env.build.dirty"},
    };
    char host[128], shown[CELL_BYTES], text[CELL_BYTES];
    tb_store_host_of(view->path, host, sizeof host);
    fprintf(out, "## Environment\n\n| | |\n|---|---|\n| host | %s |\n", escaped(host, text, sizeof text));
    fprintf(out, "| memory nodes | %zu |\n", json_object_size(tb_member(view->header, "env.nodes")));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fprintf(out, "| %s | %s |\n", rows[i][0],
                escaped(tb_member_show(view->header, rows[i][1], shown, sizeof shown), text, sizeof text));
    tb_doctor_header_says(view->header, shown, sizeof shown);
    if (*shown)
        fprintf(out, "\nHost: %s.\n", escaped(shown, text, sizeof text));
    fprintf(out, "\nThe rest is in the log.\n\n");
}

static void write_log(const struct tb_log_view *view, FILE *out)
{
    const json_t *header = view->header;
    char head[TB_HASH_TEXT], rounds[32], seed[32], workers[32], block[32];
    tb_hash_text(&view->chain.entries[view->chain.count - 1].head, head);
    fprintf(out, "## Log\n\n- run `%s`, %s, %s\n", tb_member_text(header, "run"), tb_member_text(header, "kind"),
            tb_member_text(header, "time"));
    fprintf(out, "- %s rounds, seed %s, %s dispatch, workers: %s, blocks of %s bytes\n",
            tb_member_show(view->summary, "rounds", rounds, sizeof rounds),
            tb_member_show(header, "design.seed", seed, sizeof seed), tb_member_text(header, "design.dispatch"),
            tb_member_show(header, "design.workers", workers, sizeof workers),
            tb_member_show(header, "design.block_bytes", block, sizeof block));
    fprintf(out, "- `%s`, %zu lines, last hash `%s`\n- again: `locus reproduce %s`\n\n", view->path, view->chain.count, head,
            view->path);
}

int tb_record_write(const struct tb_log_view *view, FILE *out)
{
    write_head(view, out);
    write_predictions(view, out);
    int rc = write_arms(view, out);
    write_gates(view, out);
    write_environment(view, out);
    write_log(view, out);
    fprintf(out, "## Interpretation\n\n<!-- What does this mean, and what does it not? -->\n\n"
                 "## Next question\n\n<!-- One sentence with a question mark. -->\n");
    return rc < 0 ? rc : ferror(out) ? -EIO : 0;
}
