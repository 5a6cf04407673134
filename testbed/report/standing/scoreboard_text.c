// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_text: the board for people, 100 columns at most. The last lines are the answer.
#include "testbed/report/standing/scoreboard.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/board/board.h"

#define COLUMNS 96
#define NAME_COLUMNS 18
#define COMMAND_COLUMNS 44
#define NAMES_AT (18 + COMMAND_COLUMNS + 2) // behind a command

// Three digits, or so many decimals; "-" for NAN.
static const char *figure(int decimals, double value, char out[32])
{
    if (!isfinite(value))
        snprintf(out, 32, "-");
    else if (decimals == TB_DIGITS)
        tb_text_number(out, value);
    else
        snprintf(out, 32, "%.*f", decimals, value);
    return out;
}

static void interval_text(const json_t *row, char out[72])
{
    double estimate = tb_member_number(row, "times_faster.estimate"), low = tb_member_number(row, "times_faster.low");
    double high = tb_member_number(row, "times_faster.high");
    char ends[2][32];
    snprintf(out, 72, "%s", isnan(estimate) ? "" : isnan(low) ? "too few rounds" : "");
    if (!isnan(low) && low != high)
        snprintf(out, 72, "[%s, %s]", figure(TB_DIGITS, low, ends[0]), figure(TB_DIGITS, high, ends[1]));
}

static const char *remark_of(const json_t *row)
{
    static const char *const remarks[][2] = {{"harness", "ok, no rival"},
                                             {"twin", "ok, twin"},
                                             {"fault", "ok, fault put in"},
                                             {"workers", "ok, other workers"}};
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (strcmp(tb_member_text(row, "kind"), remarks[i][0]) == 0)
            return remarks[i][1];
    return "ok";
}

static void row_text(const json_t *row, const struct tb_unit *unit, FILE *out)
{
    char name[256], cells[5][32], interval[72], rank[16], predicted[24];
    const char *invalid = tb_member_text(row, "invalid");
    snprintf(name, sizeof name, "%.200s", tb_member_text(row, "name"));
    tb_text_shorten(name, NAME_COLUMNS);
    if (*invalid) {
        int used = fprintf(out, "  %-*s   INVALID: ", NAME_COLUMNS, name);
        tb_text_wrap(out, COLUMNS, used, 6 + NAME_COLUMNS, invalid);
        return;
    }
    interval_text(row, interval);
    fprintf(out, "  %-*s %8s %6s %-14s %5s %6s %5s %7s %4s  %s\n", NAME_COLUMNS, name,
            figure(TB_DIGITS, tb_member_number(row, "median_ns") / unit->ns, cells[0]),
            figure(TB_DIGITS, tb_member_number(row, "times_faster.estimate"), cells[1]), interval,
            figure(1, tb_member_number(row, "mad_percent"), cells[2]),
            figure(3, tb_member_number(row, "footprint.worst"), cells[3]),
            figure(3, tb_member_number(row, "footprint.mean"), cells[4]), tb_scoreboard_predicted(row, predicted),
            tb_scoreboard_rank(row, rank), remark_of(row));
}

static void source_text(const json_t *table, FILE *out)
{
    const json_t *older = tb_member(table, "older");
    char text[512];
    snprintf(text, sizeof text, "run %s, ledger line %.0f (%.12s), verdict %s", tb_member_text(table, "run"),
             tb_member_number(table, "ledger.line"), tb_member_text(table, "ledger.hash"), tb_member_text(table, "verdict"));
    fputs("  ", out);
    tb_text_wrap(out, COLUMNS, 2, 2, text);
    if (json_array_size(older) > 0)
        fprintf(out, "  %zu older run%s with no other contenders %s not shown, such as %s\n", json_array_size(older),
                json_array_size(older) == 1 ? "" : "s", json_array_size(older) == 1 ? "is" : "are",
                json_string_value(json_array_get(older, 0)));
}

static void table_text(const json_t *table, FILE *out)
{
    struct tb_unit unit = tb_scoreboard_unit(table);
    char settings[160], versus[64];
    const json_t *row;
    size_t i;
    const char *baseline = tb_member_text(table, "baseline");
    fprintf(out, "%s: %s/%s, %s, %.0f rounds%s\n", tb_member_text(table, "host"), tb_member_text(table, "workload"),
            tb_member_text(table, "touch"), tb_scoreboard_settings(table, settings, sizeof settings),
            tb_member_number(table, "rounds"), json_is_true(tb_member(table, "main")) ? "" : ", once more:");
    if (!json_is_true(tb_member(table, "figures")))
        fprintf(out, "  INVALID: no figure counts, and nobody has a place. The gates:\n");
    snprintf(versus, sizeof versus, *baseline ? "times faster than" : "nothing to be");
    fprintf(out, "  %-*s %8s %-21s %5s %12s %7s %4s\n", NAME_COLUMNS, "", "median", versus, "MAD", "footprint", "rank", "rank");
    snprintf(versus, sizeof versus, "%.40s", *baseline ? baseline : "compared with");
    tb_text_shorten(versus, 21);
    fprintf(out, "  %-*s %8s %-21s %5s %6s %5s %7s %4s  %s\n", NAME_COLUMNS, "", unit.name, versus, "%", "worst", "mean", "pred.",
            "seen", "gates");
    json_array_foreach (tb_member(table, "contenders"), i, row)
        row_text(row, &unit, out);
    source_text(table, out);
    fputc('\n', out);
}

static bool is_first_of_command(const json_t *entries, size_t i)
{
    size_t earlier = 0;
    const char *command = tb_member_text(json_array_get(entries, i), "command");
    while (strcmp(tb_member_text(json_array_get(entries, earlier), "command"), command))
        earlier++;
    return earlier == i;
}

// Those that one command would measure.
static void contenders_text(const json_t *entries, const char *command, bool first, FILE *out)
{
    struct tb_words names = {0};
    const json_t *entry;
    size_t i;
    json_array_foreach (entries, i, entry)
        if (strcmp(tb_member_text(entry, "command"), command) == 0)
            tb_say(&names, "%s%s", names.used ? ", " : "", tb_member_text(entry, "name"));
    int used = fprintf(out, "%s  %-*s", first ? "no figure yet   " : "                ", COMMAND_COLUMNS, command);
    used += used < NAMES_AT ? fprintf(out, "  ") : fprintf(out, "\n%*s", NAMES_AT, "") - 1 - used;
    tb_text_wrap(out, COLUMNS, used, NAMES_AT, names.text);
}

static void missing_text(const json_t *board, FILE *out)
{
    const json_t *cells = tb_member(board, "not_measured.cells"), *contenders = tb_member(board, "not_measured.contenders"), *entry;
    size_t i, shown = 0;
    json_array_foreach (cells, i, entry)
        fprintf(out, "%s  %-*s  %s\n", i ? "                " : "not measured yet", COMMAND_COLUMNS,
                tb_member_text(entry, "command"), tb_member_text(entry, "cell"));
    json_array_foreach (contenders, i, entry)
        if (is_first_of_command(contenders, i))
            contenders_text(contenders, tb_member_text(entry, "command"), shown++ == 0, out);
}

static void left_out_text(const json_t *board, FILE *out)
{
    const json_t *entry;
    size_t i;
    json_array_foreach (tb_member(board, "left_out"), i, entry) {
        char text[512];
        int used = fprintf(out, "%s  %s  ", i ? "        " : "left out", tb_member_text(entry, "run"));
        snprintf(text, sizeof text, "%s, %s%s%.300s", tb_member_text(entry, "host"), tb_member_text(entry, "what"),
                 *tb_member_text(entry, "why") ? ": " : "", tb_member_text(entry, "why"));
        tb_text_wrap(out, COLUMNS, used, 10, text);
    }
    if (i > 0)
        fputc('\n', out);
    json_array_foreach (tb_member(board, "warnings"), i, entry)
        fprintf(out, "%s\n", json_string_value(entry));
}

static const char legend[] =
    "times faster: the baseline's time over the contender's, paired by rounds, with its 95 % interval. MAD: how far rounds "
    "lie from the median. footprint: most blocks out at once over the theoretical peak. rank: 1= is shared by those who cannot "
    "be told apart from the first of the place, because the interval of the two holds 1.";

static const char advice[] =
    "`locus eval` shows figures at once and keeps none. What counts here is an experiment with its postulate, run with --official: "
    "see `locus postulate new --help`.";

static void paragraph(FILE *out, const char *text)
{
    tb_text_wrap(out, COLUMNS, 0, 0, text);
    fputc('\n', out);
}

void tb_scoreboard_text(const json_t *board, FILE *out)
{
    const json_t *tables = tb_member(board, "tables"), *table;
    size_t i;
    json_array_foreach (tables, i, table)
        table_text(table, out);
    if (json_array_size(tables) > 0)
        paragraph(out, legend);
    missing_text(board, out);
    if (json_array_size(tb_member(board, "not_measured.cells")) + json_array_size(tb_member(board, "not_measured.contenders")) > 0)
        paragraph(out, advice);
    left_out_text(board, out);
    tb_text_wrap(out, COLUMNS, 0, 0, tb_member_text(board, "answer"));
}
