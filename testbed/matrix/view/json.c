// SPDX-License-Identifier: Apache-2.0
//
// json: the whole matrix as one object, every sample of every cell in it.
//
// What is absent or not a finite number is null. Of an emulated machine no figure of time, no ratio and no rank is written: what is
// null there is null in every cell. An invalid cell keeps its samples, without a median.
#include <errno.h>
#include <math.h>

#include "testbed/base/json.h"
#include "testbed/host/head.h"
#include "testbed/matrix/view/view.h"

static json_t *node_json(int node)
{
    return node >= 0 ? json_integer(node) : json_null();
}

static json_t *value_json(const struct tb_matrix *matrix, const struct tb_matrix_cell *cell)
{
    const struct tb_interval *value = &cell->value;
    if (!tb_matrix_told(matrix, cell))
        return json_null();
    const struct tb_json_member members[] = {
        {"median", tb_json_number(value->estimate)},
        {"low", value->bounded ? tb_json_number(value->low) : json_null()},
        {"high", value->bounded ? tb_json_number(value->high) : json_null()},
        {"confidence", value->bounded ? tb_json_number(value->confidence) : json_null()},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *samples_json(const struct tb_matrix *matrix, const struct tb_matrix_cell *cell)
{
    json_t *array = json_array();
    bool timed = !matrix->emulated && (cell->state == TB_MATRIX_MEASURED || cell->state == TB_MATRIX_INVALID);
    for (unsigned i = 0; timed && i < cell->samples && i < TB_MATRIX_ROUNDS_MAX; i++)
        array = tb_json_appended(array, tb_json_number(cell->sample[i]));
    return array;
}

static bool ran(const struct tb_matrix_cell *cell)
{
    return cell->state != TB_MATRIX_PLANNED && cell->state != TB_MATRIX_UNMEASURABLE;
}

static json_t *placement_json(const struct tb_matrix_cell *cell)
{
    if (!ran(cell) || cell->placement.pages == 0)
        return json_null();
    const struct tb_json_member members[] = {
        {"requested", tb_json_clean(locus_policy_name(cell->placement.requested))},
        {"granted", tb_json_clean(locus_policy_name(cell->placement.granted))},
        {"granted_node", node_json(cell->placement.granted_node)},
        {"page_bytes", cell->placement.page_bytes ? tb_json_whole(cell->placement.page_bytes) : json_null()},
        {"pages", tb_json_whole(cell->placement.pages)},
        {"pages_there", cell->placement.verified ? tb_json_whole(cell->placement.pages_there) : json_null()},
        {"verified", json_boolean(cell->placement.verified)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *cell_json(const struct tb_matrix *matrix, const struct tb_matrix_cell *cell)
{
    bool loaded = cell->kind == TB_MATRIX_LOADED, told = tb_matrix_told(matrix, cell);
    const struct tb_json_member members[] = {
        {"kind", json_string(tb_matrix_kind_name(cell->kind))},
        {"unit", json_string(tb_matrix_kind_unit(cell->kind))},
        {"initiator", node_json(cell->initiator)},
        {"memory", node_json(cell->memory)},
        {"target", node_json(cell->target)},
        {"threads", tb_json_whole(cell->threads)},
        {"delay", loaded ? tb_json_whole(cell->delay) : json_null()},
        {"working_set_bytes", cell->working_set_bytes ? tb_json_whole(cell->working_set_bytes) : json_null()},
        {"reader_bytes", cell->reader_bytes ? tb_json_whole(cell->reader_bytes) : json_null()},
        {"state", json_string(tb_matrix_state_name(cell->state))},
        {"why", tb_json_clean(cell->why)},
        {"value", value_json(matrix, cell)},
        {"samples", samples_json(matrix, cell)},
        {"loaded_bytes_per_s", tb_json_number(loaded && told ? cell->bandwidth : (double)NAN)},
        {"bytes_planned", ran(cell) ? tb_json_whole(cell->bytes_planned) : json_null()},
        {"bytes_moved", ran(cell) ? tb_json_whole(cell->bytes_moved) : json_null()},
        {"time_ns", ran(cell) && !matrix->emulated ? tb_json_whole(cell->time_ns) : json_null()},
        {"placement", placement_json(cell)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *config_json(const struct tb_matrix_config *config)
{
    json_t *kinds = json_array();
    for (int kind = 0; kind < TB_MATRIX_KINDS; kind++)
        if (config->kinds[kind])
            kinds = tb_json_appended(kinds, json_string(tb_matrix_kind_name((enum tb_matrix_kind)kind)));
    const struct tb_json_member members[] = {
        {"full", json_boolean(config->full)},
        {"kinds", kinds},
        {"rounds", tb_json_whole(config->rounds)},
        {"seed", tb_json_whole(config->seed)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *caches_json(const struct tb_matrix_caches *caches)
{
    json_t *levels = json_array();
    for (int level = 0; level < 4; level++)
        levels = tb_json_appended(levels, caches->bytes[level] ? tb_json_whole(caches->bytes[level]) : json_null());
    const struct tb_json_member members[] = {
        {"level_bytes", levels},
        {"last_level_bytes", caches->last_bytes ? tb_json_whole(caches->last_bytes) : json_null()},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *placed_json(const struct tb_matrix *matrix)
{
    struct tb_matrix_placed placed;
    tb_matrix_placed(matrix, &placed);
    const struct tb_json_member members[] = {
        {"cells", tb_json_whole(placed.cells)},
        {"cells_verified", tb_json_whole(placed.cells_verified)},
        {"cells_of_another_policy", tb_json_whole(placed.cells_refused)},
        {"pages", tb_json_whole(placed.pages)},
        {"pages_there", tb_json_whole(placed.pages_there)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *verdict_json(const struct tb_matrix *matrix)
{
    struct tb_matrix_verdict verdict;
    if (tb_matrix_only_planned(matrix))
        return json_null();
    tb_matrix_verdict(matrix, &verdict);
    bool known = verdict.answer == TB_MATRIX_FLAT || verdict.answer == TB_MATRIX_DIFFERS;
    const struct tb_json_member members[] = {
        {"answer", json_string(tb_matrix_answer_name(verdict.answer))},
        {"flat", known ? json_boolean(verdict.answer == TB_MATRIX_FLAT) : json_null()},
        {"slowest_over_fastest", tb_json_ratio(verdict.has_ratio ? &verdict.ratio : NULL)},
        {"sentence", json_string(verdict.sentence.text)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *matrix_json(const struct tb_matrix *matrix, json_t *machine, const char *command)
{
    json_t *cells = json_array();
    for (size_t i = 0; i < matrix->cells_count; i++)
        cells = tb_json_appended(cells, cell_json(matrix, &matrix->cells[i]));
    bool timed = !matrix->emulated && !tb_matrix_only_planned(matrix);
    const struct tb_json_member members[] = {
        {"command", tb_json_clean(command)},
        {"emulated", tb_json_clean(matrix->emulated)},
        {"verdict", verdict_json(matrix)},
        {"config", config_json(&matrix->config)},
        {"took_ns", timed ? tb_json_whole(matrix->took_ns) : json_null()},
        {"caches", caches_json(&matrix->caches)},
        {"placement", placed_json(matrix)},
        {"machine", machine ? json_incref(machine) : json_null()},
        {"cells", cells},
    };
    return TB_JSON_OBJECT(members);
}

int tb_matrix_json(FILE *stream, json_t *head, const struct tb_matrix *matrix, json_t *machine, const char *command)
{
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc < 0)
        return rc;
    json_t *root = matrix_json(matrix, machine, command);
    if (head)
        root = tb_headed(json_incref(head), root);
    if (!root || json_dumpf(root, text.stream, JSON_INDENT(2)) != 0 || fputc('\n', text.stream) == EOF)
        rc = -ENOMEM;
    json_decref(root);
    return tb_text_close(&text, stream, rc);
}
