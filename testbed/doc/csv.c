// SPDX-License-Identifier: Apache-2.0
//
// csv: one table, RFC 4180: a field with a comma, quote or newline is quoted.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "testbed/doc/doc_internal.h"
#include "testbed/doc/emit.h"

static const struct tb_table *find(const struct tb_doc *doc, const char *key)
{
    for (const struct tb_block *block = doc->blocks; block; block = block->next)
        if (block->kind == TB_BLOCK_TABLE && block->key && (!key || strcmp(block->key, key) == 0))
            return block->table;
    return NULL;
}

static void put_text(FILE *out, const char *text)
{
    bool quoted = strpbrk(text, ",\"\n\r") != NULL;
    if (quoted)
        fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    if (quoted)
        fputc('"', out);
}

static void put_number(FILE *out, double number)
{
    if (isfinite(number))
        fprintf(out, "%.17g", number);
}

static void put_value(FILE *out, const struct tb_value *value)
{
    switch (value->kind) {
    case TB_VALUE_TEXT: put_text(out, value->text ? value->text : ""); break;
    case TB_VALUE_COUNT: fprintf(out, "%" PRIu64, value->count); break;
    case TB_VALUE_FLAG: fputs(value->count ? "true" : "false", out); break;
    case TB_VALUE_NUMBER:
    case TB_VALUE_INTERVAL: put_number(out, value->number); break;
    default: break;
    }
}

static bool is_interval(const struct tb_table *table, size_t column)
{
    for (const struct tb_row *row = table->rows; row; row = row->next)
        if (column < row->count && row->cells[column].kind == TB_VALUE_INTERVAL)
            return true;
    return false;
}

static void put_row(FILE *out, const struct tb_table *table, const struct tb_row *row)
{
    const char *before = "";
    for (size_t c = 0; c < table->columns_count; c++) {
        const char *key = table->columns[c].key;
        bool three = is_interval(table, c);
        const struct tb_value *value = row && c < row->count ? &row->cells[c] : NULL;
        if (!key)
            continue;
        fputs(before, out);
        before = ",";
        if (!row)
            fprintf(out, three ? "%s,%s_low,%s_high" : "%s", key, key, key);
        else if (value)
            put_value(out, value);
        if (row && three) {
            bool interval = value && value->kind == TB_VALUE_INTERVAL;
            fputc(',', out);
            put_number(out, interval ? value->low : NAN);
            fputc(',', out);
            put_number(out, interval ? value->high : NAN);
        }
    }
    fputs("\n", out);
}

int tb_emit_csv(FILE *out, const struct tb_doc *doc, const char *key)
{
    const struct tb_table *table = find(doc, key);
    if (doc->failed || !table)
        return doc->failed ? -ENOMEM : -ENOENT;
    errno = 0;
    put_row(out, table, NULL);
    for (const struct tb_row *row = table->rows; row; row = row->next)
        put_row(out, table, row);
    return fflush(out) || ferror(out) ? errno ? -errno : -EIO : 0;
}
