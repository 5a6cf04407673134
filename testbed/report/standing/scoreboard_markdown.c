// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_markdown: the board as a page that is read alone, without this program and without the logs: the answer, what it is,
// the tables, how to read them, what is not there, and where each figure comes from.
#include "testbed/report/standing/scoreboard.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/board/board.h"

#define CELL_BYTES 512

// Text for a cell of a table: '|' would end it, and '<' could begin a tag.
static const char *escaped(const char *text, char out[CELL_BYTES])
{
    size_t used = 0;
    for (; *text && used + 2 < CELL_BYTES; text++) {
        if (strchr("|<\\`*_[", *text))
            out[used++] = '\\';
        out[used++] = *text;
    }
    out[used] = '\0';
    return out;
}

static void put_number(FILE *out, const char *before, double value, int decimals)
{
    char text[16];
    if (!isfinite(value))
        fprintf(out, "%s-", before);
    else if (decimals == TB_DIGITS)
        fprintf(out, "%s%s", before, tb_text_number(text, value));
    else
        fprintf(out, "%s%.*f", before, decimals, value);
}

static void put_velocity(const json_t *row, FILE *out)
{
    double low = tb_member_number(row, "times_faster.low"), high = tb_member_number(row, "times_faster.high");
    put_number(out, " | ", tb_member_number(row, "times_faster.estimate"), 3);
    if (isnan(low) || low == high)
        fputs(" | -", out);
    else
        fprintf(out, " | [%.3f, %.3f]", low, high);
}

static void put_row(const json_t *row, FILE *out)
{
    char name[CELL_BYTES], invalid[CELL_BYTES], predicted[24], rank[16];
    const char *kind = tb_member_text(row, "kind"), *reason = tb_member_text(row, "invalid");
    fprintf(out, "| %s", escaped(tb_member_text(row, "name"), name));
    put_number(out, " | ", tb_member_number(row, "median_ns") / 1e3, 2);
    put_velocity(row, out);
    put_number(out, " | ", tb_member_number(row, "mad_percent"), 2);
    put_number(out, " | ", tb_member_number(row, "footprint.worst"), 3);
    put_number(out, " | ", tb_member_number(row, "footprint.mean"), 3);
    fprintf(out, " | %s | %s | %s%s%s |\n", tb_scoreboard_predicted(row, predicted), tb_scoreboard_rank(row, rank),
            *reason ? "**INVALID**: " : "ok", escaped(reason, invalid),
            *reason || strcmp(kind, "ranked") == 0 ? ""
            : strcmp(kind, "twin") == 0            ? " (A/A twin)"
                                                   : " (not ranked)");
}

static void put_table(const json_t *table, FILE *out)
{
    char settings[160], baseline[CELL_BYTES];
    const json_t *row;
    size_t i;
    fprintf(out, "### %s/%s on %s%s\n\n%s, %.0f rounds, run %s.", tb_member_text(table, "workload"), tb_member_text(table, "touch"),
            tb_member_text(table, "host"), json_is_true(tb_member(table, "main")) ? "" : ", with other contenders",
            tb_scoreboard_settings(table, settings, sizeof settings), tb_member_number(table, "rounds"),
            tb_member_text(table, "run"));
    if (!json_is_true(tb_member(table, "figures")))
        fputs(" **The run is invalid**: no figure counts.", out);
    else if (strcmp(tb_member_text(table, "baseline"), "mimalloc"))
        fprintf(out, " No valid mimalloc was there; compared with %s.", escaped(tb_member_text(table, "baseline"), baseline));
    fprintf(out,
            "\n\n| contender | median, us | times faster than %s | 95 %% | MAD, %% | footprint, worst | mean | predicted | rank | "
            "gates |\n"
            "|---|--:|--:|---|--:|--:|--:|--:|--:|---|\n",
            *tb_member_text(table, "baseline") ? escaped(tb_member_text(table, "baseline"), baseline) : "-");
    json_array_foreach (tb_member(table, "contenders"), i, row)
        put_row(row, out);
    fputc('\n', out);
}

static void put_reading(const json_t *board, FILE *out)
{
    fprintf(
        out,
        "## How to read it\n\n"
        "- **times faster**: the baseline's time over the contender's, each round against itself (%s). The interval holds the\n"
        "  true ratio with 95 %% confidence. The baseline is mimalloc; where a table has none, its heading says which other.\n"
        "- **median, MAD**: of the rounds' times, one fresh process a round; the MAD is how far a round typically lies from\n"
        "  the median, in percent of it.\n"
        "- **footprint**: the most blocks that were out at once over the theoretical peak; 1.000 is the least there can be.\n"
        "- **rank**: among the rivals of the table. `1=` is shared: the 95 %% interval of the ratio to the first of the place\n"
        "  holds 1. Harnesses (oracle, null), A/A twins and faults have none.\n"
        "- **predicted**: the place that the run's postulate claimed beforehand, among those it named; `-`: it claimed no order.\n"
        "- **gates**: allocated == freed, pushed == drained, touched == expected, every handle home, in every sample.\n"
        "- *full* writes every byte of each block, as an engine does; *byte* one byte, which is decided by cache sets.\n\n",
        tb_member_text(board, "method"));
}

static void put_missing(const json_t *board, FILE *out)
{
    static const char *const lists[][2] = {{"not_measured.cells", "cell"}, {"not_measured.contenders", "name"}};
    char name[CELL_BYTES];
    const json_t *entry;
    size_t i, all = 0;
    for (size_t l = 0; l < 2; l++)
        all += json_array_size(tb_member(board, lists[l][0]));
    if (all == 0)
        return;
    fputs("## Not measured yet\n\n| what | command |\n|---|---|\n", out);
    for (size_t l = 0; l < 2; l++)
        json_array_foreach (tb_member(board, lists[l][0]), i, entry)
            fprintf(out, "| %s | `%s` |\n", escaped(tb_member_text(entry, lists[l][1]), name), tb_member_text(entry, "command"));
    fputc('\n', out);
}

static void put_sources(const json_t *board, FILE *out)
{
    const json_t *entry, *run;
    char text[CELL_BYTES];
    size_t i, r;
    fputs("## Where it comes from\n\n"
          "The entry of the ledger that closed the run stands behind each table; `locus verify` checks log and ledger.\n\n"
          "| table | run | log | ledger | line | its hash | the run's verdict |\n|---|---|---|---|--:|---|---|\n",
          out);
    json_array_foreach (tb_member(board, "tables"), i, entry)
        fprintf(out, "| %s on %s | %s | `%s` | `%s` | %.0f | `%.16s` | %s |\n", tb_member_text(entry, "cell"),
                tb_member_text(entry, "host"), tb_member_text(entry, "run"), tb_member_text(entry, "log"),
                tb_member_text(entry, "ledger.path"), tb_member_number(entry, "ledger.line"), tb_member_text(entry, "ledger.hash"),
                tb_member_text(entry, "verdict"));
    fputc('\n', out);
    json_array_foreach (tb_member(board, "tables"), i, entry)
        json_array_foreach (tb_member(entry, "older"), r, run)
            fprintf(out, "- %s on %s: the older run %s is not shown.\n", tb_member_text(entry, "cell"),
                    tb_member_text(entry, "host"), json_string_value(run));
    json_array_foreach (tb_member(board, "left_out"), i, entry)
        fprintf(out, "- %s on %s was left out: %s%s%s.\n", tb_member_text(entry, "run"), tb_member_text(entry, "host"),
                tb_member_text(entry, "what"), *tb_member_text(entry, "why") ? ": " : "",
                escaped(tb_member_text(entry, "why"), text));
    json_array_foreach (tb_member(board, "warnings"), i, entry)
        fprintf(out, "- %s\n", escaped(json_string_value(entry), text));
}

void tb_scoreboard_markdown(const json_t *board, FILE *out)
{
    const json_t *table;
    size_t i;
    fprintf(
        out,
        "# LOCUS scoreboard\n\n%s\n\n"
        "This is the standing table of allocators that recycle KV-cache blocks, worked out by `locus scoreboard` from the sealed\n"
        "logs of official runs and from nothing else. Each table is one host and one cell: what is done (workload), how much of\n"
        "each block is written (touch), and how finished requests reach the workers (dispatch).\n\n## Tables\n\n",
        tb_member_text(board, "answer"));
    json_array_foreach (tb_member(board, "tables"), i, table)
        put_table(table, out);
    put_reading(board, out);
    put_missing(board, out);
    put_sources(board, out);
}
