// SPDX-License-Identifier: Apache-2.0
//
// options: see options.h.

#include "testbed/cli/options.h"
#include "testbed/base/terminal.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "locus/block.h"
#include "testbed/base/json.h"
#include "testbed/base/share.h"
#include "testbed/doc/emit.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/judge/bill.h"
#include "testbed/judge/loaded.h"
#include "testbed/measure/cell.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/decoding/decoding.h"
#include "testbed/measure/sample.h"
#include "testbed/report/advise/decode_advice.h"
#include "testbed/report/board/board.h"
#include "testbed/report/engine/engine.h"
#include "testbed/report/serve/adapters.h"
#include "testbed/report/serve/here.h"
#include "testbed/report/serve/keep.h"
#include "testbed/report/serve/serve.h"
#include "testbed/run/measured.h"
#include "testbed/run/room/room.h"
#include "testbed/workload/known_trace.h"
#include "topo/pin.h"

static const struct argp_option option_table[] = {
    {"contenders", TB_KEY_CONTENDERS, "LIST", 0, "Which to run, comma-separated. NAME@FAULT puts a fault in on purpose (below)", 1},
    {"touch", TB_KEY_TOUCH, "MODE", 0,
     "none, byte (one per block), full (every byte), or all: what is written into each block (full); or decode, or "
     "decode/SETTING...: tokens, with attention over them",
     1},
    {"dispatch", TB_KEY_DISPATCH, "HOW", 0,
     "inline, spin or futex: how a finished request reaches a worker (spin; inline on one CPU)", 1},
    {"workers", TB_KEY_WORKERS, "N", 0, "Workers that send blocks home, 1 to 64 (1)", 1},
    {"cpus", TB_KEY_CPUS, "LIST", 0, TB_CPUS_SUMMARY, 2},
    {"rounds", TB_KEY_ROUNDS, "N", 0, "Rounds: every contender once each, in random order, in a fresh process (20)", 2},
    {"seed", TB_KEY_SEED, "N", 0, "Seed of that order (from the clock, and printed)", 2},
    {"laps", TB_KEY_LAPS, "N", 0, "Timed laps in each process (20 at full touch, else 60; replay, decode: 1)", 2},
    {"tails", TB_KEY_TAILS, NULL, 0, "Time single calls as well, in laps of their own: the slowest of 100 and of 1000", 2},
    {"block-bytes", TB_KEY_BLOCK_BYTES, "BYTES", 0, "Size of a block, such as 4KiB or 1M (4KiB)", 2},
    {"summary", TB_KEY_SUMMARY, "FILE", 0, "Write the answer in plain words to FILE as well", 3},
    {"log", TB_KEY_LOG, "FILE", 0, "Keep every sample in a log that `locus report FILE` shows again", 3},
    {"quiet", TB_KEY_QUIET, NULL, 0, "No progress line", 3},
    {0},
};

static const struct tb_arm *arm_find(const struct tb_options *options, const char *label)
{
    for (uint32_t arm = 0; arm < options->arms_count; arm++)
        if (strcmp(options->arms[arm].label, label) == 0)
            return &options->arms[arm];
    return NULL;
}

static int arm_add_once(struct tb_options *options, const char *label, char *why, size_t why_bytes)
{
    return arm_find(options, label) ? 0 : tb_arms_add(options->arms, &options->arms_count, label, why, why_bytes);
}

// `bill` and `bill:NAME`: the arms of the bill of locus, or of NAME. One that is there already is not added again, as a twin.
static int bill_add(struct tb_options *options, const char *word, char *why, size_t why_bytes)
{
    const char *name = word[strlen("bill")] ? word + strlen("bill:") : "locus";
    char label[sizeof options->arms->label];
    options->bill = true;
    int error = arm_add_once(options, name, why, why_bytes);
    if (error)
        return error;
    const struct tb_arm *found = arm_find(options, name), *named = found ? found : &options->arms[options->arms_count - 1];
    for (size_t i = 0; !error && tb_bill_arm(named, i, label, sizeof label); i++)
        error = arm_add_once(options, label, why, why_bytes);
    return error;
}

static int arms_add(struct tb_options *options, const char *word, char *why, size_t why_bytes)
{
    bool bill = strcmp(word, "bill") == 0 || strncmp(word, "bill:", strlen("bill:")) == 0;
    return bill ? bill_add(options, word, why, why_bytes) : tb_arms_add(options->arms, &options->arms_count, word, why, why_bytes);
}

static error_t parse_arms(struct argp_state *state, struct tb_options *options, const char *list)
{
    char copy[4096], why[4500], *rest = NULL;
    if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy)
        return tb_cli_bad(state, "--contenders: the list is too long");
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (arms_add(options, name, why, sizeof why))
            return tb_cli_bad(state, "--contenders: %s", why);
        else if (!options->many_nodes && !tb_arm_on_one_node(&options->arms[options->arms_count - 1]))
            return tb_cli_bad(state, "--contenders: '%s' is for several nodes: locus advise, or locus run 0005", name);
    return options->arms_count ? 0 : tb_cli_bad(state, "--contenders: the list is empty");
}

// As a cell has it behind its workload.
static error_t parse_decode(struct argp_state *state, struct tb_options *options, const char *argument)
{
    char text[96], workload[TB_WORKLOAD_NAME], why[640];
    struct tb_cell cell;
    if (options->decode)
        return tb_cli_bad(state, "--touch: '%s' is one decode too many: whole cells may have more", argument);
    if (snprintf(text, sizeof text, "WORKLOAD/%s", argument) < (int)sizeof text && tb_cell_parse(text, workload, &cell) == 0) {
        options->decode = argument;
        return 0;
    }
    tb_cell_why(text, why, sizeof why);
    return tb_cli_bad(state, "--touch: %s", why);
}

static error_t parse_touch(struct argp_state *state, struct tb_options *options, const char *argument)
{
    bool known = strcmp(argument, "all") == 0;
    if (strncmp(argument, "decode", strlen("decode")) == 0)
        return parse_decode(state, options, argument);
    for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_FULL; touch++) {
        bool named = strcmp(argument, tb_touch_name((enum tb_touch)touch)) == 0;
        options->touch[touch] |= named || strcmp(argument, "all") == 0;
        known |= named;
    }
    return known ? 0 : tb_cli_bad(state, "--touch: '%s' is not none, byte, full, all or decode", argument);
}

static error_t parse_dispatch(struct argp_state *state, struct tb_options *options, const char *argument)
{
    for (int dispatch = TB_DISPATCH_INLINE; dispatch <= TB_DISPATCH_FUTEX; dispatch++) {
        if (strcmp(argument, tb_dispatch_name((enum tb_dispatch)dispatch)) == 0) {
            options->dispatch = (enum tb_dispatch)dispatch;
            options->dispatch_given = true;
            return 0;
        }
    }
    return tb_cli_bad(state, "--dispatch: '%s' is not inline, spin or futex", argument);
}

static error_t parse_u64(struct argp_state *state, const char *flag, const char *argument, uint64_t min, uint64_t max,
                         uint64_t *out)
{
    return tb_cli_u64(argument, min, max, out) ? 0
                                               : tb_cli_bad(state, "%s: '%s' is not a number from %llu to %llu", flag, argument,
                                                            (unsigned long long)min, (unsigned long long)max);
}

// The CPUs to measure on, and what depends on how many there are.
static error_t settle_cpus(struct argp_state *state, struct tb_options *options)
{
    char why[300];
    unsigned count = 0;
    if (tb_cpus_ask(options->cpus, !options->unpinned, why, sizeof why))
        return tb_cli_bad(state, "%s", why);
    tb_cpus_leave();
    if (!options->dispatch_given && locus_pin_allowed(NULL, 0, &count) == 0 && count < 2)
        options->dispatch = TB_DISPATCH_INLINE;
    return 0;
}

error_t tb_options_parse(int key, char *argument, struct argp_state *state, struct tb_options *options)
{
    switch (key) {
    case TB_KEY_CONTENDERS: return parse_arms(state, options, argument);
    case TB_KEY_TOUCH: return parse_touch(state, options, argument);
    case TB_KEY_DISPATCH: return parse_dispatch(state, options, argument);
    case TB_KEY_WORKERS: return parse_u64(state, "--workers", argument, 1, TB_WORKERS_MAX, &options->workers);
    case TB_KEY_ROUNDS: return parse_u64(state, "--rounds", argument, 1, 10000, &options->rounds);
    case TB_KEY_SEED: return parse_u64(state, "--seed", argument, 0, INT64_MAX, &options->seed);
    case TB_KEY_TAILS: options->tails = true; return 0;
    case TB_KEY_LAPS: return parse_u64(state, "--laps", argument, 1, TB_LAPS_MAX, &options->laps);
    case TB_KEY_BLOCK_BYTES:
        return tb_cli_bytes(argument, TB_BLOCK_BYTES_MIN, TB_BLOCK_BYTES_MAX, &options->block_bytes)
                   ? 0
                   : tb_cli_bad(state, "--block-bytes: '%s' is not a size from 64 bytes to 1 GiB", argument);
    case TB_KEY_LOG: options->log_path = argument; return 0;
    case TB_KEY_SUMMARY: options->summary_path = argument; return 0;
    case TB_KEY_QUIET: options->quiet = true; return 0;
    case TB_KEY_CPUS: options->cpus = argument; return 0;
    case ARGP_KEY_END: return settle_cpus(state, options);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    if (key == ARGP_KEY_INIT)
        state->child_inputs[0] = &((struct tb_options *)state->input)->forms;
    return tb_options_parse(key, argument, state, state->input);
}

static const struct argp_child forms_child[] = {{&tb_forms_argp, 0, NULL, 0}, {0}};
const struct argp tb_options_argp = {option_table, parse, NULL, NULL, forms_child, NULL, NULL};

void tb_options_init(struct tb_options *options)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *options = (struct tb_options){
        .dispatch = TB_DISPATCH_SPIN,
        .workers = 1,
        .rounds = 20,
        .seed = (uint64_t)now.tv_nsec % 1000000,
        .block_bytes = 4096,
    };
}

int tb_options_arms(struct tb_options *options, const char *const defaults[])
{
    char why[4500];
    options->touch[TB_TOUCH_FULL] |= !options->touch[TB_TOUCH_NONE] && !options->touch[TB_TOUCH_BYTE] && !options->decode;
    if (options->arms_count)
        return 0;
    for (; *defaults; defaults++) {
        struct tb_arm *arm = &options->arms[options->arms_count];
        char name[sizeof arm->label];
        snprintf(name, sizeof name, "%s", *defaults);
        name[strcspn(name, "#")] = '\0';
        if (tb_arm_parse(name, arm, why, sizeof why)) {
            if (strcmp(name, *defaults) == 0) // a twin goes without saying
                tb_error("left out: %s", why);
            continue;
        }
        snprintf(arm->label, sizeof arm->label, "%s", *defaults);
        options->arms_count++;
    }
    return options->arms_count ? 0 : TB_EXIT_USAGE;
}

void tb_options_laps(const struct tb_options *options, struct tb_cell *cell)
{
    bool is_long = cell->touch == TB_TOUCH_DECODE || (cell->workload && tb_known_trace(cell->workload));
    cell->laps = options->laps ? (uint32_t)options->laps : is_long ? 1 : cell->touch == TB_TOUCH_FULL ? 20 : 60;
    cell->laps_clocked = options->tails ? cell->laps : 0;
    cell->laps_metered = options->bill ? cell->laps / 4 + 1 : 0;
    cell->laps_warmup = is_long ? 1 : cell->laps / 4 + 3 < TB_LAPS_MAX ? cell->laps / 4 + 3 : TB_LAPS_MAX;
}

// --- a recorded trace ----------------------------------------------------------------------------------------------------------

enum { KEY_TOKENS = 'b', KEY_POOL = 2000, KEY_TICK, KEY_SPEEDUP, KEY_MAP, KEY_REQUESTS };

static const struct argp_option trace_table[] = {
    {"tokens-per-block", KEY_TOKENS, "N", 0, "Tokens that one block holds (16)", 0},
    {"pool-blocks", KEY_POOL, "N", 0, "Blocks in the pool; smaller makes requests queue (8192)", 0},
    {"tick-ms", KEY_TICK, "MS", 0, "Virtual time of one decode step (50)", 0},
    {"speedup", KEY_SPEEDUP, "X", 0, "Arrivals come X times faster; all: everything waits at the start (1)", 0},
    {"requests", KEY_REQUESTS, "N", 0, "Only the first N requests (all)", 0},
    {"map", KEY_MAP, "COLUMNS", 0, TB_MAP_HELP, 0},
    {0},
};

static error_t parse_speedup(struct argp_state *state, const char *argument, double *out)
{
    char *end;
    if (strcmp(argument, "all") == 0) {
        *out = INFINITY;
        return 0;
    }
    *out = strtod(argument, &end);
    bool good = end != argument && *end == '\0' && *out > 0 && isfinite(*out);
    return good ? 0 : tb_cli_bad(state, "--speedup: '%s' is neither a positive number nor 'all'", argument);
}

error_t tb_options_map(struct argp_state *state, const char *argument, struct tb_trace_map *map,
                       const struct tb_trace_format **format)
{
    char why[128];
    if (*format)
        return tb_cli_bad(state, "--map: was given before");
    if (tb_trace_map_read(argument, map, why, sizeof why))
        return tb_cli_bad(state, "--map: %s (--map time=COLUMN:s,prompt=COLUMN,output=COLUMN)", why);
    *format = &map->format;
    return 0;
}

static error_t parse_trace(int key, char *argument, struct argp_state *state)
{
    struct tb_options_trace *options = state->input;
    struct tb_replay_config *replay = &options->replay;
    uint64_t number = 0;
    error_t error;
    options->given |= key == KEY_TOKENS || (key >= KEY_POOL && key <= KEY_REQUESTS);
    switch (key) {
    case KEY_TOKENS:
        error = parse_u64(state, "--tokens-per-block", argument, 1, 1 << 20, &number);
        replay->tokens_per_block = (uint32_t)number;
        return error;
    case KEY_POOL:
        error = parse_u64(state, "--pool-blocks", argument, 1, LOCUS_BLOCKS_MAX, &number);
        replay->pool_blocks = (uint32_t)number;
        options->pool_given = true;
        return error;
    case KEY_TICK:
        error = parse_u64(state, "--tick-ms", argument, 1, 3600000, &number);
        replay->tick_ns = number * 1000000;
        return error;
    case KEY_SPEEDUP: return parse_speedup(state, argument, &replay->speedup);
    case KEY_REQUESTS: return parse_u64(state, "--requests", argument, 1, UINT32_MAX, &replay->requests);
    case KEY_MAP: return tb_options_map(state, argument, &options->map, &options->format);
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tb_options_trace_argp = {trace_table, parse_trace, NULL, NULL, NULL, NULL, NULL};

// Of a name that is no file here, the file that has the trace; it need not exist.
static const char *known_path(const char *path, char out[PATH_MAX])
{
    bool named = access(path, F_OK) && tb_known_trace_path(path, out, PATH_MAX) == 0;
    return named ? out : path;
}

static void headline_make(const struct tb_trace *trace, const struct tb_replay_config *replay, const struct tb_schedule *schedule,
                          char *out, size_t bytes)
{
    const char *name = strrchr(trace->path, '/');
    char left_out[TB_LEFT_OUT];
    tb_trace_left_out(trace, replay->requests, left_out, sizeof left_out);
    snprintf(out, bytes,
             "%.40s (%s): %llu requests, %llu blocks of %u tokens, pool %u blocks%s%s\n"
             "%llu ticks, %llu tokens decoded, at most %llu live, peak %u blocks\n"
             "%llu requests waited for blocks, the longest %.1f s (virtual)\n",
             name ? name + 1 : trace->path, trace->format, (unsigned long long)schedule->requests_per_lap,
             (unsigned long long)schedule->blocks_per_lap, replay->tokens_per_block, schedule->pool_blocks, *left_out ? "; " : "",
             left_out, (unsigned long long)schedule->ticks, (unsigned long long)schedule->decoded_tokens,
             (unsigned long long)schedule->live_max, schedule->blocks_peak, (unsigned long long)schedule->requests_queued,
             (double)schedule->queue_ns_max / 1e9);
}

static int read_once(struct tb_options_trace *options, const char *path)
{
    struct tb_why why = {""};
    char named[PATH_MAX];
    int error = options->trace ? 0 : tb_trace_load(known_path(path, named), options->format, &options->trace, &why);
    if (error)
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
    return error ? TB_EXIT_USAGE : 0;
}

int tb_options_trace_load(struct tb_options_trace *options, const char *path, struct tb_schedule **out, char *headline,
                          size_t headline_bytes)
{
    struct tb_why why = {""};
    int error = read_once(options, path);
    if (error)
        return error;
    error = tb_schedule_replay(options->trace, &options->replay, out, &why);
    if (error)
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
    else
        headline_make(options->trace, &options->replay, *out, headline, headline_bytes);
    return !error ? 0 : error == -EINVAL ? TB_EXIT_USAGE : TB_EXIT_FAILED;
}

int tb_options_batch_decode(const char *flag, const char *workload, struct tb_cell *cell, struct tb_schedule **out)
{
    struct tb_why why = {""};
    int error = tb_decoding_open(cell, &(struct tb_decoding_source){.workload = workload}, out, &why);
    if (!error)
        return 0;
    if (error == -ENOENT && !why.text[0])
        tb_error("%s: '%s' has no tokens: name a batch, such as batch-4x1024", flag, workload);
    else
        tb_error("%s: %s", flag, why.text[0] ? why.text : strerror(-error));
    return error == -ENOMEM ? TB_EXIT_FAILED : TB_EXIT_USAGE;
}

int tb_options_trace_decode(struct tb_options_trace *trace, const char *path, const char *decode, struct tb_cell *cell,
                            struct tb_schedule **out)
{
    char text[96], workload[TB_WORKLOAD_NAME];
    struct tb_decoding_source source = {.replay = &trace->replay};
    struct tb_why why = {""};
    snprintf(text, sizeof text, "WORKLOAD/%s", decode);
    int error = read_once(trace, path);
    if (error)
        return error;
    source.trace = trace->trace;
    error = tb_cell_parse(text, workload, cell);
    if (!error)
        error = tb_decoding_open(cell, &source, out, &why);
    if (error)
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
    return error == -EINVAL ? TB_EXIT_USAGE : error ? TB_EXIT_FAILED : 0;
}

// --- what is shown of a log ----------------------------------------------------------------------------------------------------

static int write_answer(FILE *stream, const void *rounds)
{
    struct tb_doc *doc = tb_board_answer_doc(rounds);
    int rc = doc ? tb_emit_text(stream, doc, (struct tb_report_style){.colour = false, .columns = 80}) : -ENOMEM;
    tb_doc_close(doc);
    return rc;
}

// The samples are a document of their own: as JSON they stand beside their contender.
static int write_samples(const struct tb_options *options, const struct tb_rounds *rounds)
{
    const struct tb_forms csv = {.csv = options->forms.csv};
    return options->forms.csv.wanted ? tb_forms_write(&csv, tb_board_samples_doc(rounds)) : 0;
}

// The log of `locus advise`: of nodes, or of a model's blocks on one.
static int write_advise(const struct tb_options *options, const struct tb_log_view *view, const struct tb_rounds *rounds)
{
    static struct tb_advise advise;
    static struct tb_decode_advice decoding;
    json_t *head = json_incref((json_t *)(uintptr_t)tb_member(view->header, "measured.head"));
    if (!rounds->many_nodes) {
        tb_decode_advice(rounds, tb_member_text(view->header, "measured.about"), &decoding);
        return tb_forms_write(&options->forms, tb_decode_advice_doc(head, &decoding));
    }
    tb_advise_load(view, rounds, &advise);
    return tb_forms_write(&options->forms, tb_advise_doc(head, &advise));
}

// The log of `locus serve`.
static int write_serve(const struct tb_options *options, const struct tb_log_view *view, const struct tb_rounds *rounds)
{
    (void)rounds;
    json_t *head = json_incref((json_t *)(uintptr_t)tb_member(view->header, "measured.head"));
    return tb_forms_write(&options->forms, (tb_keep_is(view)       ? tb_keep_doc
                                            : tb_adapters_is(view) ? tb_adapters_doc
                                            : tb_here_is(view)     ? tb_here_doc
                                                                   : tb_serve_doc)(head, view));
}

// The log of `locus engine`.
static int write_engine(const struct tb_options *options, const struct tb_log_view *view, const struct tb_rounds *rounds)
{
    json_t *head = json_incref((json_t *)(uintptr_t)tb_member(view->header, "measured.head"));
    return tb_forms_write(&options->forms, tb_engine_doc(head, view, rounds));
}

static int write_all(const struct tb_options *options, const struct tb_log_view *view, const struct tb_rounds *rounds)
{
    struct tb_forms forms = options->forms;
    json_t *head = json_incref((json_t *)(uintptr_t)tb_member(view->header, "measured.head"));
    forms.csv.wanted = false;
    int failed = write_samples(options, rounds);
    int error = options->summary_path ? tb_output_write(options->summary_path, write_answer, rounds) : 0;
    if (error)
        tb_error("%s: %s", options->summary_path, tb_output_why(error));
    failed |= error;
    struct tb_doc *doc =
        tb_board_doc(head, rounds, tb_member_text(view->header, "kind"), tb_member_text(view->header, "measured.about"));
    bool printed = options->forms.csv.wanted && !options->forms.csv.path;
    return failed | (printed ? tb_forms_write_files(&forms, doc) : tb_forms_write(&forms, doc));
}

// Every sample ran and passed its gates, and no trap broke its contract.
static bool all_valid(const struct tb_rounds *rounds)
{
    uint64_t count = (uint64_t)rounds->cells_count * rounds->arms_count * rounds->count;
    for (uint64_t i = 0; i < count; i++)
        if (!rounds->samples[i].ran || !rounds->samples[i].valid || rounds->samples[i].invalid[0])
            return false;
    return true;
}

// A log without a seal ends where its run did; one that was changed proves nothing.
static bool is_whole(const struct tb_log_view *view)
{
    const struct tb_chain *chain = &view->chain;
    if (chain->broken_line && !chain->torn) {
        tb_error("%s:%zu: %s", view->path, chain->broken_line, chain->broken);
        return false;
    }
    if (!view->seal)
        tb_error("%s: it has no seal: what was measured crashed or was interrupted, and its whole rounds are shown", view->path);
    return true;
}

int tb_options_show(const struct tb_options *options, const struct tb_log_view *view)
{
    struct tb_loaded loaded;
    char why[4200];
    if (!is_whole(view))
        return TB_EXIT_FAILED;
    int error = tb_loaded(view, &loaded, why, sizeof why);
    if (error) {
        tb_error("%s", error == -ENOMEM ? strerror(ENOMEM) : why);
        return TB_EXIT_FAILED;
    }
    bool advised = json_is_object(tb_member(view->header, "measured.advise"));
    const char *kind = tb_member_text(view->header, "kind");
    int status = (advised                       ? write_advise
                  : strcmp(kind, "serve") == 0  ? write_serve
                  : strcmp(kind, "engine") == 0 ? write_engine
                                                : write_all)(options, view, &loaded.rounds)
                     ? TB_EXIT_FAILED
                     : TB_EXIT_OK;
    if (!all_valid(&loaded.rounds))
        status = TB_EXIT_FAILED;
    tb_loaded_close(&loaded);
    return status;
}

// --- measuring -----------------------------------------------------------------------------------------------------------------

// What would be missed at the end is asked for before anything is measured.
int tb_options_outputs(const struct tb_options *options)
{
    const struct tb_forms *forms = &options->forms;
    const char *paths[] = {forms->json.path, forms->csv.path,       forms->markdown.path,
                           forms->plot.path, options->summary_path, options->log_path};
    if (tb_cli_outputs_check(paths, sizeof paths / sizeof *paths))
        return -EINVAL;
    if (options->log_path && access(options->log_path, F_OK) == 0) {
        tb_error("%s: there is such a file already, and a log is never overwritten: name another", options->log_path);
        return -EEXIST;
    }
    char lap[PATH_MAX], why[400];
    if (tb_share_lap(lap, why, sizeof why)) {
        tb_error("%s", why);
        return -ENOENT;
    }
    return 0;
}

static struct tb_rounds rounds_of(const struct tb_options *options, const struct tb_cell cells[], uint32_t cells_count)
{
    return (struct tb_rounds){
        .arms = options->arms,
        .arms_count = options->arms_count,
        .cells = cells,
        .cells_count = cells_count,
        .count = (uint32_t)options->rounds,
        .seed = options->seed,
        .dispatch = options->dispatch,
        .workers = (uint32_t)options->workers,
        .block_bytes = options->block_bytes,
        .bench = options->bench,
        .many_nodes = options->many_nodes,
        .samples = calloc((size_t)cells_count * options->arms_count * options->rounds, sizeof(struct tb_sample)),
    };
}

// What a bill is about is counted in every round, and so needs a place on the hardware all the time.
static void counters_find(struct tb_counter_set *set, struct tb_rounds *rounds)
{
    if (tb_counters_here(set))
        return;
    rounds->counters = set;
    for (int i = 0; i < TB_BILL_COUNTS; i++)
        rounds->counters_wanted |= tb_counters_want(set, tb_bill_counter((enum tb_bill_count)i));
}

// What the doctor has against this host; "": nothing.
static const char *unfit_words(const struct tb_doctor *doctor, char *out, size_t bytes)
{
    char answer[TB_DOCTOR_ANSWER];
    tb_doctor_answer(doctor, answer, sizeof answer);
    snprintf(out, bytes, "%s%s", doctor->states[TB_FINDING_UNFIT] ? "UNFIT: " : "", answer);
    return doctor->fit ? NULL : out;
}

// Has this host the memory for it? On a terminal also says how long it will take, if that is more than a minute.
static int room_check(const struct tb_options *options, const struct tb_rounds *rounds)
{
    char why[512], time[64];
    bool told = !options->quiet && isatty(STDERR_FILENO);
    if (tb_room(rounds, why, sizeof why)) {
        tb_error("%s: name smaller blocks, fewer sequences, a shorter context or a smaller model", why);
        return -E2BIG;
    }
    if (told && *tb_room_time(tb_room_seconds(rounds), time, sizeof time))
        fprintf(stderr, "%s\n", time);
    return 0;
}

// The doctor looks before anything runs that he could take for somebody else's.
int tb_options_measure(struct tb_options *options, const struct tb_cell cells[], uint32_t cells_count, const char *command,
                       const char *about, struct tb_log_view *out)
{
    char words[TB_DOCTOR_ANSWER + 16], why[4200] = "";
    int error = tb_options_outputs(options);
    if (error)
        return error;
    struct tb_rounds rounds = rounds_of(options, cells, cells_count);
    error = room_check(options, &rounds);
    if (error) {
        free(rounds.samples);
        return error;
    }
    struct tb_doctor *doctor = calloc(1, sizeof *doctor);
    bool looked = doctor && tb_doctor_look("", doctor) == 0;
    struct tb_counter_set counters;
    if (options->bill)
        counters_find(&counters, &rounds);
    const struct tb_measured_config config = {
        .rounds = &rounds,
        .arms = options->arms,
        .command = command,
        .about = about,
        .unfit = looked ? unfit_words(doctor, words, sizeof words) : NULL,
        .advise = options->advise,
        .here = options->here,
        .log = options->log_path,
        .doctor = looked ? doctor : NULL,
        .quiet = options->quiet,
    };
    error = rounds.samples ? tb_measured(&config, out, why, sizeof why) : -ENOMEM;
    if (error)
        tb_error("cannot run the contenders: %s", why[0] ? why : tb_output_why(error));
    if (looked)
        tb_doctor_close(doctor);
    free(doctor);
    free(rounds.samples);
    return error;
}

int tb_options_run(struct tb_options *options, const struct tb_cell cells[], uint32_t cells_count, const char *command,
                   const char *about)
{
    struct tb_log_view view;
    bool decodes = false;
    for (uint32_t i = 0; i < cells_count; i++)
        decodes |= cells[i].touch == TB_TOUCH_DECODE;
    if (options->bill && !decodes) {
        tb_error("--contenders: a bill is one of a model's step: --touch decode, or a cell such as batch-8x4096/decode");
        return TB_EXIT_USAGE;
    }
    int error = tb_options_measure(options, cells, cells_count, command, about, &view);
    if (error)
        return error == -E2BIG ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    int status = tb_options_show(options, &view);
    tb_log_view_close(&view);
    return status;
}
