// SPDX-License-Identifier: Apache-2.0
//
// markdown: a document for a page that Git's hosts render. What would be read as markup is escaped.
#include <errno.h>
#include <string.h>

#include "testbed/doc/doc_internal.h"
#include "testbed/doc/emit.h"

static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n') {
            fputc(' ', out);
            continue;
        }
        if (strchr("\\`*_[]<>|#", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_cell(FILE *out, const struct tb_table *table, size_t c, const struct tb_row *row)
{
    struct tb_figure_text text = {.text = ""};
    if (c < row->count)
        tb_figure_text(table->columns[c].unit, tb_column_unit(table, c), &row->cells[c], &text);
    fputs(row->kind == TB_ROW_OURS && c == 0 ? " **" : " ", out);
    put_escaped(out, text.text);
    fprintf(out, "%s%s%s |", *text.range ? " " : "", text.range, row->kind == TB_ROW_OURS && c == 0 ? "**" : "");
}

static void put_table(FILE *out, const struct tb_block *block)
{
    const struct tb_table *table = block->table;
    if (!tb_table_shown(table))
        return;
    if (block->text) {
        put_escaped(out, block->text);
        fputs("\n\n", out);
    }
    fputc('|', out);
    for (size_t c = 0; c < table->columns_count; c++)
        if (table->columns[c].title) {
            const char *unit = tb_unit_name(table->columns[c].unit, tb_column_unit(table, c));
            fputc(' ', out);
            put_escaped(out, table->columns[c].title);
            fprintf(out, "%s%s |", *unit ? " " : "", unit);
        }
    fputs("\n|", out);
    for (size_t c = 0; c < table->columns_count; c++)
        if (table->columns[c].title)
            fputs("---|", out);
    fputc('\n', out);
    for (const struct tb_row *row = table->rows; row; row = row->next) {
        fputc('|', out);
        for (size_t c = 0; c < table->columns_count; c++)
            if (table->columns[c].title)
                put_cell(out, table, c, row);
        fputc('\n', out);
    }
    for (const struct tb_note *note = table->notes; note; note = note->next) {
        fputc('\n', out);
        put_escaped(out, note->text);
        fputc('\n', out);
    }
    fputc('\n', out);
}

static void put_fact(FILE *out, const struct tb_block *block)
{
    struct tb_unit unit = tb_value_unit(block->unit, &block->value);
    const char *name = tb_unit_name(block->unit, unit);
    struct tb_figure_text text;
    tb_figure_text(block->unit, unit, &block->value, &text);
    fputs("- ", out);
    put_escaped(out, block->text);
    fputs(": ", out);
    put_escaped(out, text.text);
    fprintf(out, "%s%s%s%s\n", *name ? " " : "", name, *text.range ? " " : "", text.range);
    if (!block->next || block->next->kind != TB_BLOCK_FACT)
        fputc('\n', out);
}

static void put_block(FILE *out, const struct tb_block *block)
{
    switch (block->kind) {
    case TB_BLOCK_HEADING:
        fprintf(out, "%.*s ", block->level < 6 ? block->level : 6, "######");
        put_escaped(out, block->text);
        fputs("\n\n", out);
        break;
    case TB_BLOCK_SAY:
    case TB_BLOCK_ANSWER:
        fputs(block->kind == TB_BLOCK_ANSWER ? "**" : "", out);
        put_escaped(out, block->text);
        fputs(block->kind == TB_BLOCK_ANSWER ? "**\n\n" : "\n\n", out);
        break;
    case TB_BLOCK_CODE: fprintf(out, "```\n%s\n```\n\n", block->text); break;
    case TB_BLOCK_FACT: put_fact(out, block); break;
    case TB_BLOCK_TABLE: put_table(out, block); break;
    default: break;
    }
}

int tb_emit_markdown(FILE *out, const struct tb_doc *doc)
{
    if (doc->failed)
        return -ENOMEM;
    errno = 0;
    for (const struct tb_block *block = doc->blocks; block; block = block->next)
        if (block->text || block->kind == TB_BLOCK_TABLE)
            put_block(out, block);
    return fflush(out) || ferror(out) ? errno ? -errno : -EIO : 0;
}
