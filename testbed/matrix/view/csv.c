// SPDX-License-Identifier: Apache-2.0
//
// csv: every sample, one line each, complete and unfiltered; a cell without samples has one line with neither round nor value, so
// that what was not measured is not missing. RFC 4180 but for bare newlines. Rounds count from 1. What is of the whole cell and not
// of the sample begins with "cell_".
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "testbed/matrix/view/view.h"

static void put_text(FILE *out, const char *text)
{
    char clean[TB_MATRIX_WHY];
    tb_text_clean(text ? text : "", false, clean, sizeof clean);
    bool quoted = strpbrk(clean, ",\"") != NULL;
    if (quoted)
        fputc('"', out);
    for (const char *c = clean; *c; c++)
        fprintf(out, *c == '"' ? "\"\"" : "%c", *c);
    fprintf(out, quoted ? "\"," : ",");
}

static void put_node(FILE *out, int node)
{
    if (node >= 0)
        fprintf(out, "%d", node);
    fputc(',', out);
}

static void put_count(FILE *out, bool known, uint64_t count)
{
    if (known)
        fprintf(out, "%" PRIu64, count);
    fputc(',', out);
}

// 17 digits read back as the same double.
static void put_number(FILE *out, bool known, double value)
{
    if (known && isfinite(value))
        fprintf(out, "%.17g", value);
    fputc(',', out);
}

static void put_line(FILE *out, const struct tb_matrix *matrix, const struct tb_matrix_cell *cell, bool sampled, unsigned round)
{
    bool ran = cell->state != TB_MATRIX_PLANNED && cell->state != TB_MATRIX_UNMEASURABLE;
    bool pages = ran && cell->placement.pages > 0, loaded = cell->kind == TB_MATRIX_LOADED;
    put_text(out, tb_matrix_kind_name(cell->kind));
    put_text(out, tb_matrix_kind_unit(cell->kind));
    put_node(out, cell->initiator);
    put_node(out, cell->memory);
    put_node(out, cell->target);
    put_count(out, true, cell->threads);
    put_count(out, loaded, cell->delay);
    put_count(out, cell->working_set_bytes > 0, cell->working_set_bytes);
    put_count(out, cell->reader_bytes > 0, cell->reader_bytes);
    put_text(out, tb_matrix_state_name(cell->state));
    put_text(out, cell->why);
    put_count(out, sampled, round + (uint64_t)1);
    put_number(out, sampled, sampled ? cell->sample[round] : 0);
    put_number(out, loaded && tb_matrix_told(matrix, cell), cell->bandwidth);
    put_count(out, ran, cell->bytes_planned);
    put_count(out, ran, cell->bytes_moved);
    put_count(out, ran && !matrix->emulated, cell->time_ns);
    put_text(out, pages ? locus_policy_name(cell->placement.requested) : "");
    put_text(out, pages ? locus_policy_name(cell->placement.granted) : "");
    put_node(out, pages ? cell->placement.granted_node : -1);
    put_count(out, pages && cell->placement.page_bytes > 0, cell->placement.page_bytes);
    put_count(out, pages, cell->placement.pages);
    put_count(out, pages && cell->placement.verified, cell->placement.pages_there);
    put_count(out, pages, cell->placement.verified);
    fprintf(out, "%" PRIu64 "\n", matrix->config.seed);
}

int tb_matrix_csv(FILE *stream, const struct tb_matrix *matrix)
{
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc < 0)
        return rc;
    fprintf(text.stream, "kind,unit,initiator,memory,target,threads,delay,working_set_bytes,reader_bytes,state,why,round,value,"
                         "cell_loaded_bytes_per_s,cell_bytes_planned,cell_bytes_moved,cell_time_ns,policy_requested,policy_granted,"
                         "granted_node,page_bytes,pages,pages_there,verified,seed\n");
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        bool timed = !matrix->emulated && (cell->state == TB_MATRIX_MEASURED || cell->state == TB_MATRIX_INVALID);
        unsigned samples = cell->samples < TB_MATRIX_ROUNDS_MAX ? cell->samples : TB_MATRIX_ROUNDS_MAX;
        for (unsigned round = 0; timed && round < samples; round++)
            put_line(text.stream, matrix, cell, true, round);
        if (!timed || samples == 0)
            put_line(text.stream, matrix, cell, false, 0);
    }
    return tb_text_close(&text, stream, 0);
}
