// SPDX-License-Identifier: Apache-2.0
//
// csv: one table, RFC 4180: a field with a comma, quote or newline is quoted.
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/doc/doc_internal.h"
#include "testbed/doc/emit.h"

static const struct tb_table *find(const struct tb_doc *doc, const char *key)
{
    const struct tb_table *first = NULL;
    for (const struct tb_block *block = doc->blocks; block; block = block->next) {
        if (block->kind != TB_BLOCK_TABLE)
            continue;
        if (block->key && (!key || strcmp(block->key, key) == 0))
            return block->table;
        first = first ? first : block->table;
    }
    return key ? NULL : first;
}

// Has no column a key? Then it is for people alone.
static bool is_for_people(const struct tb_table *table)
{
    for (size_t c = 0; c < table->columns_count; c++)
        if (table->columns[c].key)
            return false;
    return true;
}

// NULL: the column is left out. A title becomes a name: "thrown\nout" is thrown_out.
static const char *name_of(const struct tb_table *table, size_t c, char out[64])
{
    const struct tb_column *column = &table->columns[c];
    size_t used = 0;
    if (column->key || !column->title || !is_for_people(table))
        return column->key;
    for (const char *at = column->title; *at && used < 63; at++)
        if (isalnum((unsigned char)*at))
            out[used++] = (char)tolower((unsigned char)*at);
        else if (used && out[used - 1] != '_')
            out[used++] = '_';
    while (used && out[used - 1] == '_')
        used--;
    out[used] = '\0';
    return out;
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

static void put_value(FILE *out, const struct tb_value *value)
{
    char number[TB_EXACT_BYTES];
    put_text(out, tb_exact_value(value, number));
}

// What a column's values are; one kind for all of it.
struct shape {
    bool interval, samples;
};

// NULL: no memory. The caller frees it.
static struct shape *shapes(const struct tb_table *table)
{
    struct shape *shape = calloc(table->columns_count + 1, sizeof *shape);
    for (const struct tb_row *row = table->rows; shape && row; row = row->next)
        for (size_t c = 0; c < row->count; c++) {
            shape[c].interval |= row->cells[c].kind == TB_VALUE_INTERVAL;
            shape[c].samples |= row->cells[c].kind == TB_VALUE_SAMPLES;
        }
    return shape;
}

static void put_head(FILE *out, const struct tb_table *table, const struct shape shape[])
{
    const char *before = "";
    for (size_t c = 0; c < table->columns_count; c++) {
        char name[64];
        const char *key = name_of(table, c, name);
        if (!key)
            continue;
        fputs(before, out);
        if (shape[c].samples)
            fprintf(out, "%s_nth,", key);
        fprintf(out, shape[c].interval ? "%s,%s_low,%s_high" : "%s", key, key, key);
        before = ",";
    }
    fputc('\n', out);
}

static void put_sample(FILE *out, const struct tb_value *value, uint64_t nth)
{
    if (value->kind == TB_VALUE_SAMPLES && nth < value->count)
        fprintf(out, "%" PRIu64 ",%s", nth + 1, TB_EXACT(value->samples[nth]));
    else
        fputc(',', out);
}

static void put_limits(FILE *out, const struct tb_value *value)
{
    bool interval = value->kind == TB_VALUE_INTERVAL;
    fprintf(out, ",%s,%s", interval ? TB_EXACT(value->low) : "", interval ? TB_EXACT(value->high) : "");
}

static void put_line(FILE *out, const struct tb_table *table, const struct shape shape[], const struct tb_row *row, uint64_t nth)
{
    static const struct tb_value none = {.kind = TB_VALUE_NONE};
    const char *before = "";
    for (size_t c = 0; c < table->columns_count; c++) {
        const struct tb_value *value = c < row->count ? &row->cells[c] : &none;
        char name[64];
        if (!name_of(table, c, name))
            continue;
        fputs(before, out);
        before = ",";
        if (shape[c].samples)
            put_sample(out, value, nth);
        else
            put_value(out, value);
        if (shape[c].interval)
            put_limits(out, value);
    }
    fputc('\n', out);
}

static void put_row(FILE *out, const struct tb_table *table, const struct shape shape[], const struct tb_row *row)
{
    uint64_t lines = 1;
    for (size_t c = 0; c < row->count; c++)
        if (row->cells[c].kind == TB_VALUE_SAMPLES && table->columns[c].key && row->cells[c].count > lines)
            lines = row->cells[c].count;
    for (uint64_t nth = 0; nth < lines; nth++)
        put_line(out, table, shape, row, nth);
}

int tb_emit_csv(FILE *out, const struct tb_doc *doc, const char *key)
{
    const struct tb_table *table = find(doc, key);
    if (doc->failed || !table)
        return doc->failed ? -ENOMEM : -ENOENT;
    struct shape *shape = shapes(table);
    if (!shape)
        return -ENOMEM;
    errno = 0;
    put_head(out, table, shape);
    for (const struct tb_row *row = table->rows; row; row = row->next)
        put_row(out, table, shape, row);
    free(shape);
    return fflush(out) || ferror(out) ? errno ? -errno : -EIO : 0;
}
