// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_csv: the board for spreadsheets, RFC 4180: one line for each contender in each table. What is not known is empty.
#include "testbed/report/standing/scoreboard.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"

enum source { OF_TABLE, OF_ROW };

static const struct {
    const char *name, *path;
    enum source source;
} columns[] = {
    {"host", "host", OF_TABLE},
    {"cell", "cell", OF_TABLE},
    {"workload", "workload", OF_TABLE},
    {"touch", "touch", OF_TABLE},
    {"dispatch", "dispatch", OF_TABLE},
    {"workers", "workers", OF_TABLE},
    {"block_bytes", "block_bytes", OF_TABLE},
    {"rounds", "rounds", OF_TABLE},
    {"run", "run", OF_TABLE},
    {"verdict", "verdict", OF_TABLE},
    {"ledger_line", "ledger.line", OF_TABLE},
    {"ledger_hash", "ledger.hash", OF_TABLE},
    {"contender", "name", OF_ROW},
    {"kind", "kind", OF_ROW},
    {"version", "version", OF_ROW},
    {"invalid", "invalid", OF_ROW},
    {"median_ns", "median_ns", OF_ROW},
    {"baseline", "baseline", OF_TABLE},
    {"times_faster", "times_faster.estimate", OF_ROW},
    {"times_faster_low", "times_faster.low", OF_ROW},
    {"times_faster_high", "times_faster.high", OF_ROW},
    {"mad_percent", "mad_percent", OF_ROW},
    {"interval_percent", "interval_percent", OF_ROW},
    {"footprint_worst", "footprint.worst", OF_ROW},
    {"footprint_mean", "footprint.mean", OF_ROW},
    {"predicted_rank", "predicted_rank", OF_ROW},
    {"predicted_of", "predicted_of", OF_ROW},
    {"rank", "rank", OF_ROW},
    {"shared", "shared", OF_ROW},
};

static void put_text(FILE *out, const char *text)
{
    bool quoted = strpbrk(text, ",\"\n\r") != NULL;
    if (quoted)
        fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    if (quoted)
        fputc('"', out);
}

static void put_value(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        put_text(out, json_string_value(value));
    else if (json_is_number(value))
        fprintf(out, "%.9g", json_number_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "yes" : "no", out);
}

void tb_scoreboard_csv(const json_t *board, FILE *out)
{
    const size_t count = sizeof columns / sizeof *columns;
    const json_t *table, *row;
    size_t t, r;
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%s", i ? "," : "", columns[i].name);
    fputc('\n', out);
    json_array_foreach (tb_member(board, "tables"), t, table) {
        json_array_foreach (tb_member(table, "contenders"), r, row) {
            for (size_t i = 0; i < count; i++) {
                if (i > 0)
                    fputc(',', out);
                put_value(out, tb_member(columns[i].source == OF_ROW ? row : table, columns[i].path));
            }
            fputc('\n', out);
        }
    }
}
