// SPDX-License-Identifier: Apache-2.0
//
// board_json: what programs get of a measurement: all that the tables show, and every sample, a row each for CSV.
//
// What is absent, unbounded or not a finite number is null: JSON has no other word for it. A count is exact, so it is given when it
// was the same in every round and null otherwise; the CSV has the single values. Whole numbers above 2^63 - 1 (only a
// seed can be one) become strings rather than wrong.
//
// Objects are put together from finished parts. A part for which there was no memory is NULL, and makes the whole NULL: so a
// failure deep inside arrives at the top by itself, and a member never goes missing in silence.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <jansson.h>

#include "testbed/base/json.h"
#include "testbed/decode/act.h"
#include "testbed/judge/decoded.h"
#include "testbed/measure/contender.h"
#include "testbed/report/board/board.h"

// A field of type uint64_t at `offset`, if it is the same in every round.
static json_t *count_or_null(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, size_t offset)
{
    uint64_t first = 0;
    for (uint32_t round = 0; round < rounds->count; round++) {
        const struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        uint64_t count;
        memcpy(&count, (const char *)sample + offset, sizeof count);
        first = round == 0 ? count : first;
        if (!sample->ran || count != first)
            return json_null();
    }
    return rounds->count > 0 ? tb_json_whole(first) : json_null();
}

static json_t *samples_ns(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, int op)
{
    json_t *array = json_array();
    for (uint32_t round = 0; round < rounds->count; round++) {
        const struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        double ns = op == TB_LAP ? sample->lap_ns : sample->bench_ns[op];
        array = tb_json_appended(array, sample->ran && ns > 0 ? tb_json_number(ns) : json_null());
    }
    return array;
}

// Why a row is noisy, in a word; null: it is not.
static json_t *noise_json(enum tb_noise noise)
{
    static const char *const words[] = {
        [TB_NOISE_WAITED] = "waited", [TB_NOISE_SPREAD] = "spread", [TB_NOISE_INTERVAL] = "interval"};
    return noise ? json_string(words[noise]) : json_null();
}

static int counterpart_of(int op)
{
    return op == TB_LAP ? TB_LAP : tb_bench_counterpart[op];
}

// How many times faster the arm is than another one, in laps or in an operation.
static json_t *vs_json(const struct tb_rounds *rounds, uint32_t cell, int than, uint32_t arm, int op)
{
    struct tb_ratio ratio;
    int counterpart = counterpart_of(op);
    bool known = (op == TB_LAP || counterpart >= 0) && tb_pair_ratio(rounds, cell, than, counterpart, (int)arm, op, &ratio);
    return tb_json_ratio(known ? &ratio : NULL);
}

// Null where it is not known which is the best.
static json_t *vs_best_json(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, int op)
{
    if (op != TB_LAP && counterpart_of(op) < 0)
        return json_null();
    struct tb_fastest best = tb_best_malloc(rounds, cell, counterpart_of(op));
    return best.rival < 0 ? vs_json(rounds, cell, best.arm, arm, op) : json_null();
}

// To each by name.
static json_t *vs_mallocs_json(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, int op)
{
    struct tb_json_member members[TB_ARMS_MAX];
    char names[TB_ARMS_MAX][sizeof rounds->arms->label];
    size_t count = 0;
    for (uint32_t than = 0; than < rounds->arms_count; than++) {
        if (!tb_is_malloc(&rounds->arms[than]) || tb_twin(rounds, than) >= 0)
            continue;
        tb_text_clean(rounds->arms[than].label, false, names[count], sizeof names[count]);
        members[count] = (struct tb_json_member){names[count], vs_json(rounds, cell, (int)than, arm, op)};
        count++;
    }
    return tb_json_object(members, count);
}

static json_t *bench_op_json(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, const struct tb_row *row, int op)
{
    bool known = row->valid && row->bench_ns[op] > 0;
    const struct tb_json_member members[] = {
        {"median_ns", tb_json_number(known ? row->bench_ns[op] : NAN)},
        {"mad_ns", tb_json_number(known ? row->bench_mad[op] : NAN)},
        {"noisy", noise_json(row->valid ? row->bench_noise[op] : TB_NOISE_NONE)},
        {"vs_mimalloc", tb_json_ratio(row->bench_vs_base[op].n > 0 ? &row->bench_vs_base[op] : NULL)},
        {"vs_best_malloc", vs_best_json(rounds, cell, arm, op)},
        {"vs_mallocs", vs_mallocs_json(rounds, cell, arm, op)},
        {"samples_ns", samples_ns(rounds, cell, arm, op)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *bench_json(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, const struct tb_row *row)
{
    struct tb_json_member members[TB_BENCH_COUNT];
    for (int op = 0; op < TB_BENCH_COUNT && rounds->bench; op++)
        members[op] = (struct tb_json_member){tb_bench_name(op), bench_op_json(rounds, cell, arm, row, op)};
    return rounds->bench ? TB_JSON_OBJECT(members) : json_null();
}

// An invalid row has no time worth telling; its samples stand beside it.
static double told(const struct tb_row *row, double ns)
{
    return row->valid && row->ns_median > 0 ? ns : NAN;
}

// Of touch `decode`: what its own floor takes, over what it takes. Null: it has none.
static json_t *of_floor_json(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    struct tb_ratio ratio;
    bool known = tb_pair_ratio(rounds, cell, tb_own_floor(rounds, cell, arm), TB_LAP, (int)arm, TB_LAP, &ratio);
    return tb_json_ratio(known ? &ratio : NULL);
}

static json_t *floor_json(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    int floor = tb_own_floor(rounds, cell, arm);
    return tb_json_clean(floor < 0 ? NULL : rounds->arms[floor].label);
}

static double tokens_per_s(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, double ns)
{
    const struct tb_act *act = tb_arm_act(&rounds->arms[arm]);
    return act && !act->attends ? NAN : tb_tokens_per_s(rounds, cell, ns);
}

static json_t *arm_json(const struct tb_rounds *rounds, uint32_t cell, const struct tb_board *board, uint32_t i)
{
    const struct tb_rounds *c = rounds;
    const struct tb_row *row = &board->row[i];
    const struct tb_arm *arm = row->arm;
    uint32_t a = board->arm[i];
    const struct tb_json_member members[] = {
        {"name", tb_json_clean(arm->label)},
        {"version", tb_json_clean(row->version)},
        {"library", tb_json_clean(arm->library)},
        {"fault", tb_json_clean(tb_fault_name(arm->fault))},
        {"fault_percent", tb_json_number(arm->fault_percent)},
        {"harness", json_boolean(arm->contender && arm->contender->harness)},
        {"valid", json_boolean(row->valid)},
        {"invalid", tb_json_clean(row->invalid)},
        {"median_ns", tb_json_number(told(row, row->ns_median))},
        {"mad_ns", tb_json_number(told(row, row->ns_mad))},
        {"min_ns", tb_json_number(told(row, row->ns_min))},
        {"tokens_per_s", tb_json_number(tokens_per_s(rounds, cell, a, told(row, row->ns_median)))},
        {"noisy", noise_json(row->valid ? row->noise : TB_NOISE_NONE)},
        {"rounds_waited", tb_json_number(row->rounds_waited)},
        {"vs_mimalloc", tb_json_ratio(row->has_vs_base ? &row->vs_base : NULL)},
        {"vs_oracle", tb_json_ratio(row->has_vs_oracle ? &row->vs_oracle : NULL)},
        {"vs_best_malloc", vs_best_json(rounds, cell, a, TB_LAP)},
        {"vs_mallocs", vs_mallocs_json(rounds, cell, a, TB_LAP)},
        {"vs_twin", tb_json_ratio(row->has_vs_aa ? &board->vs_twin[i] : NULL)},
        {"floor", floor_json(c, cell, a)},
        {"of_floor", of_floor_json(c, cell, a)},
        {"outstanding_high_ratio", tb_json_number(row->outstanding_ratio)},
        {"distinct_ratio", tb_json_number(row->distinct_ratio)},
        {"adjacency", tb_json_number(row->adjacency)},
        {"allocated", count_or_null(c, cell, a, offsetof(struct tb_sample, allocated))},
        {"freed", count_or_null(c, cell, a, offsetof(struct tb_sample, freed))},
        {"pushed", count_or_null(c, cell, a, offsetof(struct tb_sample, pushed))},
        {"drained", count_or_null(c, cell, a, offsetof(struct tb_sample, drained))},
        {"touched_bytes", count_or_null(c, cell, a, offsetof(struct tb_sample, touched_bytes))},
        {"samples_ns", samples_ns(c, cell, a, TB_LAP)},
        {"bench", bench_json(c, cell, a, row)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *arms_json(const struct tb_rounds *rounds, uint32_t cell)
{
    struct tb_board board;
    tb_board(rounds, cell, &board);
    json_t *array = json_array();
    for (uint32_t i = 0; i < board.count; i++)
        array = tb_json_appended(array, arm_json(rounds, cell, &board, i));
    return array;
}

static json_t *resolution_json(double resolution)
{
    return tb_json_number(resolution < 0 ? NAN : resolution);
}

// By operation of a bench.
static json_t *resolutions_json(const struct tb_rounds *rounds, uint32_t cell)
{
    struct tb_json_member members[TB_BENCH_COUNT];
    for (int op = 0; op < TB_BENCH_COUNT && rounds->bench; op++)
        members[op] = (struct tb_json_member){tb_bench_name(op), resolution_json(tb_resolution(rounds, cell, op))};
    return rounds->bench ? TB_JSON_OBJECT(members) : json_null();
}

// Null: another touch mode.
static json_t *decode_json(const struct tb_rounds *rounds, uint32_t index)
{
    const struct tb_decode_sample *by = tb_decoded_by(rounds, index);
    const struct tb_schedule *schedule = rounds->cells[index].schedule;
    if (!tb_decodes(rounds, index))
        return json_null();
    const struct tb_json_member members[] = {
        {"kernel", tb_json_clean(by ? by->kernel : NULL)},
        {"threads", by ? tb_json_whole(by->threads) : json_null()},
        {"steps_per_lap", tb_json_whole(schedule->steps_per_lap)},
        {"tokens_per_lap", tb_json_whole(schedule->tokens_per_lap)},
        {"attended_per_lap", tb_json_whole(schedule->attended_per_lap)},
        {"bills", tb_board_bills_json(rounds, index)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *cell_json(const struct tb_rounds *rounds, uint32_t index)
{
    static const struct tb_schedule nothing = {0};
    const struct tb_cell *cell = &rounds->cells[index];
    const struct tb_schedule *schedule = cell->schedule ? cell->schedule : &nothing;
    struct tb_fastest best = tb_best_malloc(rounds, index, rounds->bench ? TB_BENCH_ALLOC : TB_LAP);
    const struct tb_json_member members[] = {
        {"workload", tb_json_clean(schedule->name)},
        {"version", tb_json_whole(schedule->version)},
        {"touch", json_string(tb_touch_name(cell->touch))},
        {"laps", tb_json_whole(cell->laps)},
        {"blocks_per_lap", tb_json_whole(schedule->blocks_per_lap)},
        {"requests_per_lap", tb_json_whole(schedule->requests_per_lap)},
        {"blocks_peak", tb_json_whole(schedule->blocks_peak)},
        {"ticks", tb_json_whole(schedule->ticks)},
        {"decoded_tokens", tb_json_whole(schedule->decoded_tokens)},
        {"requests_queued", tb_json_whole(schedule->requests_queued)},
        {"queue_ns_max", tb_json_whole(schedule->queue_ns_max)},
        {"live_max", tb_json_whole(schedule->live_max)},
        {"resolution", resolution_json(tb_rounds_resolution(rounds, index))},
        {"resolutions", resolutions_json(rounds, index)},
        {"best_malloc", tb_json_clean(best.arm >= 0 && best.rival < 0 ? rounds->arms[best.arm].label : NULL)},
        {"decode", decode_json(rounds, index)},
        {"arms", arms_json(rounds, index)},
    };
    return TB_JSON_OBJECT(members);
}

void tb_board_json(struct tb_doc *doc, const struct tb_rounds *rounds, const char *command)
{
    json_t *cells = json_array();
    for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
        cells = tb_json_appended(cells, cell_json(rounds, cell));
    const struct tb_json_member members[] = {
        {"command", tb_json_clean(command)},
        {"seed", tb_json_whole(rounds->seed)},
        {"rounds", tb_json_whole(rounds->count)},
        {"dispatch", json_string(tb_dispatch_name(rounds->dispatch))},
        {"workers", tb_json_whole(rounds->workers)},
        {"workers_pinned", json_boolean(tb_workers_pinned(rounds))},
        {"block_bytes", tb_json_whole(rounds->block_bytes)},
        {"cells", cells},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        tb_doc_json(doc, members[i].key, members[i].value);
}

// --- the samples as a table ------------------------------------------------------------------------------------------------------

// A sample that did not run or is invalid has its row like all others: leaving it out is the reader's decision. Rounds count from
// 1, as in the words of the tables.
static void put_sample(struct tb_table *table, const struct tb_rounds *rounds, uint32_t cell, uint32_t at, uint32_t round)
{
    const struct tb_schedule *schedule = rounds->cells[cell].schedule;
    const struct tb_arm *arm = &rounds->arms[at];
    const struct tb_sample *sample = tb_rounds_sample(rounds, cell, at, round);
    const char *fault = tb_fault_name(arm->fault);
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value(schedule ? schedule->name : ""),
                 tb_text_value(tb_touch_name(rounds->cells[cell].touch)), tb_text_value(tb_dispatch_name(rounds->dispatch)),
                 tb_count(rounds->workers), tb_count(rounds->block_bytes), tb_count(rounds->seed),
                 tb_count(rounds->cells[cell].laps), tb_count(schedule ? schedule->blocks_peak : 0), tb_text_value(arm->label),
                 tb_text_value(arm->library), tb_text_value(fault ? fault : ""), tb_number(arm->fault_percent),
                 tb_count(round + (uint64_t)1), tb_text_value(sample->version), tb_count(sample->ran), tb_count(sample->valid),
                 tb_text_value(sample->invalid), tb_number(sample->lap_ns), tb_number(sample->lap_ns_min),
                 tb_count(sample->allocated), tb_count(sample->freed), tb_count(sample->pushed), tb_count(sample->drained),
                 tb_count(sample->touched_bytes), tb_count(sample->touched_bytes_expected), tb_count(sample->outstanding_high),
                 tb_count(sample->distinct));
    for (int op = 0; op < TB_BENCH_COUNT; op++)
        tb_table_put(table, tb_number(sample->bench_ns[op]));
    tb_table_put(table, tb_count(sample->workers_pinned));
    tb_table_put(table, tb_count(sample->watched_ns));
    tb_table_put(table, tb_count(sample->waited_ns));
    tb_table_put(table, tb_number(sample->adjacency_known ? sample->adjacency : NAN));
    tb_table_put(table, tb_count(schedule ? schedule->steps_per_lap : 0));
    tb_table_put(table, tb_number(tokens_per_s(rounds, cell, at, sample->lap_ns)));
    tb_table_put(table, tb_text_value(sample->decode.kernel));
    tb_table_put(table, tb_count(sample->decode.threads));
}

struct tb_doc *tb_board_samples_doc(const struct tb_rounds *rounds)
{
    struct tb_doc *doc = tb_doc_open(NULL);
    struct tb_table *table = tb_doc_grid(
        doc, "samples", NULL,
        "workload|touch|dispatch|workers|block_bytes|seed|laps|blocks_peak|arm|library|fault|fault_percent|round|version|"
        "ran|valid|invalid|lap_ns|lap_ns_min|allocated|freed|pushed|drained|touched_bytes|touched_bytes_expected|"
        "outstanding_high|distinct|alloc_ns|bulk_ns|push_ns|free_ns|workers_pinned|watched_ns|waited_ns|adjacency|"
        "steps_per_lap|tokens_per_s|kernel|threads");
    for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
        for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
            for (uint32_t round = 0; round < rounds->count; round++)
                put_sample(table, rounds, cell, arm, round);
    return doc;
}
