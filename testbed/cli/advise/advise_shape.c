// SPDX-License-Identifier: Apache-2.0
//
// advise_shape: see advise_shape.h.
//
// The cells are a star, not a product: every block size in the first layout, and every other layout at the first block size. So a
// run has B + L - 1 cells and not B x L; who wants another corner of it names another first.

#include "testbed/cli/advise/advise_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/words.h"
#include "testbed/decode/team.h"
#include "testbed/matrix/matrix.h"
#include "testbed/measure/cell.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/decoding/decoding.h"
#include "testbed/report/advise/decode_advice.h"
#include "testbed/workload/known_trace.h"
#include "topo/pin.h"

#define BLOCKS_DEFAULT "16,32,64,128"
#define LAYOUTS_DEFAULT "runs,columns,layers"
#define CELLS_MAX 24u

// The batch that is run where nothing is said: more K and V than most caches hold, and a lap in a fraction of a second.
#define BATCH_SEQUENCES 4u
#define BATCH_STEPS 4u
#define BATCH_CONTEXT 1024u
#define BATCH_CONTEXT_MAX 8192u
#define BATCH_BYTES (UINT64_C(128) << 20)
#define BATCH_EMULATED "batch-2x64x4" // there memory is little, and a read is slow

// Of a trace where no --requests are said: so much of its head that a lap reads about this much.
#define HEAD_BYTES (UINT64_C(2) << 30)

static const char *const mallocs[] = {"mimalloc", "jemalloc", "tcmalloc", "glibc", NULL}; // the first that is installed
static const char *const default_arms[] = {"locus", "locus", "locus-4k", "locus-runs", "locus@stream", "locus@blocks", NULL};

enum { KEY_SHAPE = 3100, KEY_BLOCKS, KEY_LAYOUTS, KEY_TYPE, KEY_THREADS };

static const struct argp_option option_table[] = {
    {"shape", KEY_SHAPE, "MODEL", 0,
     "Answer in tokens per second of this model: a name, or LAYERSxHEADSxKVHEADSxSIZE. On one node: which blocks, layout, pages, "
     "order and allocator; on several, which placement",
     4},
    {"blocks", KEY_BLOCKS, "LIST", 0, "Tokens in a block (" BLOCKS_DEFAULT "), in the first layout", 4},
    {"layouts", KEY_LAYOUTS, "LIST", 0,
     "How K and V lie in blocks (" LAYOUTS_DEFAULT "): runs, interleaved, columns, layers, tokens or contiguous; all but the first "
     "with the first of --blocks",
     4},
    {"type", KEY_TYPE, "TYPE", 0, "Of K and V: f32, f16 or bf16 (bf16)", 4},
    {"threads", KEY_THREADS, "N", 0, "Threads that compute, each on its CPU (1)", 4},
    {0},
};

static error_t parse_shape(struct argp_state *state, char *argument, struct tb_advise_shape *given)
{
    struct tb_shape shape;
    char why[256];
    if (tb_shape_parse(argument, &shape, why, sizeof why))
        return tb_cli_bad(state, "--shape: %s", why);
    given->shape = argument;
    return 0;
}

static error_t parse_type(struct argp_state *state, char *argument, struct tb_advise_shape *given)
{
    enum tb_dtype type;
    if (!tb_dtype_parse(argument, &type))
        return tb_cli_bad(state, "--type: '%s' is not f32, f16 or bf16", argument);
    given->type = argument;
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct tb_advise_shape *given = state->input;
    static const char *const flags[] = {"--blocks", "--layouts", "--type", "--threads"};
    if (key >= KEY_BLOCKS && key <= KEY_THREADS)
        given->setting = flags[key - KEY_BLOCKS];
    switch (key) {
    case KEY_SHAPE: return parse_shape(state, argument, given);
    case KEY_BLOCKS: given->blocks = argument; return 0;
    case KEY_LAYOUTS: given->layouts = argument; return 0;
    case KEY_TYPE: return parse_type(state, argument, given);
    case KEY_THREADS:
        return tb_cli_u64(argument, 1, TB_TEAM_MAX, &given->cpus)
                   ? 0
                   : tb_cli_bad(state, "--threads: '%s' is not a number from 1 to %u", argument, TB_TEAM_MAX);
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tb_advise_shape_argp = {option_table, parse, NULL, NULL, NULL, NULL, NULL};

// --- cells ---------------------------------------------------------------------------------------------------------------------

struct plan {
    const struct tb_advise_shape *given;
    struct tb_options *options;
    struct tb_options_trace trace;
    const char *path;           // NULL: the batch
    char workload[TB_WORKLOAD_NAME];
    struct tb_cell cells[CELLS_MAX];
    struct tb_schedule *schedules[CELLS_MAX];
    char names[CELLS_MAX][160];
    uint32_t count;
};

static struct tb_decode_settings settings_of(const struct tb_advise_shape *given, const struct tb_layout *layout, uint32_t tokens)
{
    struct tb_decode_settings settings = {.threads = (uint32_t)given->cpus, .block_tokens = layout->whole ? 0 : tokens};
    struct tb_shape shape;
    char why[256];
    if (tb_shape_parse(given->shape, &shape, why, sizeof why) == 0)
        snprintf(settings.shape, sizeof settings.shape, "%s", shape.name);
    snprintf(settings.layout, sizeof settings.layout, "%s", layout->name);
    settings.dtype_given = given->type && tb_dtype_parse(given->type, &settings.dtype);
    tb_decode_settings_fill(&settings);
    return settings;
}

static int cell_open(struct plan *plan, const struct tb_decode_settings *settings, struct tb_cell *cell, struct tb_schedule **out)
{
    char text[96];
    *cell = (struct tb_cell){.touch = TB_TOUCH_DECODE, .decode = *settings};
    if (!plan->path)
        return tb_options_batch_decode("--workload", plan->workload, cell, out);
    tb_decode_settings_text(settings, text, sizeof text);
    return tb_options_trace_decode(&plan->trace, plan->path, text, cell, out);
}

static int cell_add(struct plan *plan, const struct tb_layout *layout, uint32_t tokens)
{
    const struct tb_decode_settings settings = settings_of(plan->given, layout, tokens);
    struct tb_cell *cell = &plan->cells[plan->count];
    if (plan->count == CELLS_MAX) {
        tb_error("--blocks, --layouts: %u cells at most", CELLS_MAX);
        return TB_EXIT_USAGE;
    }
    for (uint32_t i = 0; i < plan->count; i++)
        if (strcmp(plan->cells[i].decode.layout, layout->name) == 0 &&
            plan->cells[i].decode.block_tokens == settings.block_tokens) {
            tb_error("--blocks, --layouts: %u tokens in layout %s occur twice", settings.block_tokens, layout->name);
            return TB_EXIT_USAGE;
        }
    int status = cell_open(plan, &settings, cell, &plan->schedules[plan->count]);
    if (status)
        return status;
    if (!tb_decode_alike(cell->schedule, plan->cells[0].schedule)) { // times of different work have no ratio
        tb_error("layout %s, %u tokens in a block: it does not decode the same tokens as the first cell", layout->name,
                 settings.block_tokens);
        return TB_EXIT_FAILED;
    }
    cell->workload = cell->schedule->name;
    tb_cell_text(cell->workload, cell, plan->names[plan->count], sizeof plan->names[0]);
    cell->name = plan->names[plan->count];
    tb_options_laps(plan->options, cell);
    plan->count++;
    return 0;
}

// The words of a list; out[] points into `copy`. Their number, or -1 after a report.
static int words_of(const char *flag, const char *list, char copy[256], const char *out[CELLS_MAX])
{
    char *rest = NULL;
    int count = 0;
    if (snprintf(copy, 256, "%s", list) >= 256) {
        tb_error("%s: the list is too long", flag);
        return -1;
    }
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (count == (int)CELLS_MAX) {
            tb_error("%s: %u at most", flag, CELLS_MAX);
            return -1;
        }
        out[count++] = word;
    }
    if (count == 0)
        tb_error("%s: the list is empty", flag);
    return count ? count : -1;
}

static int blocks_read(const char *list, uint32_t out[CELLS_MAX])
{
    const char *words[CELLS_MAX];
    char copy[256];
    int count = words_of("--blocks", list, copy, words);
    for (int i = 0; i < count; i++) {
        uint64_t tokens = 0;
        if (!tb_cli_u64(words[i], 1, TB_BLOCK_TOKENS_MAX, &tokens) || tokens % TB_TILE_TOKENS) {
            tb_error("--blocks: '%s': a block has a multiple of %u tokens, up to %u", words[i], TB_TILE_TOKENS,
                     TB_BLOCK_TOKENS_MAX);
            return -1;
        }
        out[i] = (uint32_t)tokens;
    }
    return count;
}

static int layouts_read(const char *list, const struct tb_layout *out[CELLS_MAX])
{
    const char *words[CELLS_MAX];
    char copy[256];
    struct tb_words known = {0};
    int count = words_of("--layouts", list, copy, words);
    for (size_t i = 0; tb_layout_at(i); i++)
        tb_say(&known, "%s%s", i ? ", " : "", tb_layout_at(i)->name);
    for (int i = 0; i < count; i++) {
        out[i] = tb_layout_find(words[i]);
        if (!out[i]) {
            tb_error("--layouts: '%s' is none of %s", words[i], known.text);
            return -1;
        }
    }
    return count;
}

static int cells_make(struct plan *plan)
{
    uint32_t blocks[CELLS_MAX];
    const struct tb_layout *layouts[CELLS_MAX];
    int blocks_count = blocks_read(plan->given->blocks ? plan->given->blocks : BLOCKS_DEFAULT, blocks), status = 0;
    int layouts_count = layouts_read(plan->given->layouts ? plan->given->layouts : LAYOUTS_DEFAULT, layouts);
    if (blocks_count < 0 || layouts_count < 0)
        return TB_EXIT_USAGE;
    if (layouts[0]->whole) {
        tb_error("--layouts: layout %s has no block size to choose: name another one first, such as runs,%s", layouts[0]->name,
                 layouts[0]->name);
        return TB_EXIT_USAGE;
    }
    for (int i = 0; i < blocks_count && !status; i++)
        status = cell_add(plan, layouts[0], blocks[i]);
    for (int i = 1; i < layouts_count && !status; i++)
        status = cell_add(plan, layouts[i], blocks[0]);
    return status;
}

// --- what is run ---------------------------------------------------------------------------------------------------------------

static uint64_t token_bytes(const struct tb_advise_shape *given)
{
    struct tb_shape shape;
    enum tb_dtype type = TB_DTYPE_BF16;
    char why[256];
    if (tb_shape_parse(given->shape, &shape, why, sizeof why))
        return 1;
    if (given->type)
        tb_dtype_parse(given->type, &type);
    shape.value_bytes = (uint32_t)tb_dtype_bytes(type);
    return tb_shape_token_bytes(&shape);
}

// A small shape gets longer sequences, and where memory is short they are shorter.
static void batch_choose(struct plan *plan)
{
    uint64_t of_context = BATCH_SEQUENCES * token_bytes(plan->given), available = tb_decoding_available();
    uint32_t context = BATCH_CONTEXT;
    while (context < BATCH_CONTEXT_MAX && context * of_context < BATCH_BYTES)
        context *= 2;
    while (available && context > 2 * BATCH_STEPS && context * of_context > available / 4)
        context /= 2;
    snprintf(plan->workload, sizeof plan->workload, "batch-%ux%ux%u", BATCH_SEQUENCES, context, BATCH_STEPS);
}

// The longest head, in powers of two, of which a lap reads no more than HEAD_BYTES, with a pool for its tokens. Each try is a
// schedule alone, of a tiny shape: its tokens are those of every shape, and the usual pool of a large one may not fit into memory.
static int head_choose(struct plan *plan)
{
    const struct tb_advise_shape tiny = {.shape = "1x1x1x16"};
    const struct tb_decode_settings settings = settings_of(&tiny, tb_layout_find("runs"), TB_TILE_TOKENS);
    struct tb_replay_config *replay = &plan->trace.replay;
    bool requests_given = replay->requests != 0, enough = false;
    uint64_t live = 0;
    for (size_t head = requests_given ? replay->requests : 1; !enough; head *= 2) {
        struct tb_schedule *schedule = NULL;
        struct tb_cell cell = {.touch = TB_TOUCH_DECODE, .decode = settings};
        size_t before = replay->requests;
        replay->requests = head;
        int status = cell_open(plan, &settings, &cell, &schedule);
        if (status)
            return status;
        bool large = head > 1 && schedule->attended_per_lap * token_bytes(plan->given) > HEAD_BYTES && !requests_given;
        if (large)
            replay->requests = before;
        else
            live = schedule->tokens_live_peak;
        enough = large || requests_given || schedule->requests_per_lap < head;
        free(schedule);
    }
    if (!plan->trace.pool_given)
        replay->pool_blocks = (uint32_t)((live + live / 4) / replay->tokens_per_block + 1);
    return 0;
}

static void say_bytes(struct tb_words *words, uint64_t bytes)
{
    bool large = bytes >> 20 >= 10;
    tb_say(words, "%llu %s", (unsigned long long)(bytes >> (large ? 20 : 10)), large ? "MiB" : "KiB");
}

// What K and V come to, and whether a cache could hold them. An emulated machine has none.
static void say_workload(const struct plan *plan, bool emulated, struct tb_words *words)
{
    const struct tb_schedule *schedule = plan->cells[0].schedule;
    const char *file = plan->path ? strrchr(plan->path, '/') : NULL;
    uint64_t live = schedule->tokens_live_peak * token_bytes(plan->given);
    struct tb_matrix_caches caches = {0};
    unsigned cpu = 0, count = 0;
    if (!emulated && locus_pin_allowed(&cpu, 1, &count) == 0)
        tb_matrix_caches_read("", cpu, &caches);
    if (plan->path)
        tb_say(words, "%s, the first %llu request%s of %.60s", plan->cells[0].decode.shape,
               (unsigned long long)schedule->requests_per_lap, schedule->requests_per_lap == 1 ? "" : "s",
               file ? file + 1 : plan->path);
    else
        tb_say(words, "%s, %s", plan->cells[0].decode.shape, schedule->name);
    tb_say(words, ": %llu tokens decoded in %llu steps, over %llu tokens each in the mean; K and V in %s have at most ",
           (unsigned long long)schedule->decoded_tokens, (unsigned long long)schedule->steps_per_lap,
           (unsigned long long)(schedule->attended_per_lap / (schedule->decoded_tokens ? schedule->decoded_tokens : 1)),
           tb_dtype_name(plan->cells[0].decode.dtype));
    say_bytes(words, live);
    if (caches.last_bytes <= live)
        return;
    tb_say(words, ", and the last-level cache ");
    say_bytes(words, caches.last_bytes);
    tb_say(words, ": %s would not fit", plan->path ? "more --requests" : "a longer --workload");
}

// --- arms ----------------------------------------------------------------------------------------------------------------------

static int arms_check(const struct tb_options *options)
{
    const struct tb_rounds rounds = {.arms = options->arms, .arms_count = options->arms_count};
    bool any = false;
    for (uint32_t i = 0; i < options->arms_count; i++) {
        if (!tb_arm_on_one_node(&options->arms[i]) || !options->arms[i].contender->driver) {
            tb_error("--contenders: '%s' is for several nodes, and --shape on this machine asks about one: see locus eval --help",
                     options->arms[i].label);
            return TB_EXIT_USAGE;
        }
        any |= tb_decode_choosable(&rounds, i);
    }
    if (!any)
        tb_error("--contenders: floors and faults are nothing to choose: name what allocates as well, such as locus");
    return any ? 0 : TB_EXIT_USAGE;
}

static int arms_make(struct tb_options *options)
{
    char why[4500];
    bool given = options->arms_count > 0, twins = false;
    for (const char *const *name = default_arms; *name && !given; name++)
        if (tb_arms_add(options->arms, &options->arms_count, *name, why, sizeof why))
            tb_error("left out: %s", why);
    for (const char *const *name = mallocs; *name && !given; name++)
        if (tb_arms_add(options->arms, &options->arms_count, *name, why, sizeof why) == 0)
            break;
    int status = arms_check(options);
    for (uint32_t i = 0; i < options->arms_count; i++)
        twins |= strchr(options->arms[i].label, '#') != NULL;
    const struct tb_rounds rounds = {.arms = options->arms, .arms_count = options->arms_count};
    for (uint32_t i = 0; i < rounds.arms_count && !status && !twins; i++) // A/A of the one that stands for a cell
        if (tb_decode_choosable(&rounds, i)) {
            tb_arms_add(options->arms, &options->arms_count, options->arms[i].label, why, sizeof why);
            twins = true;
        }
    return status;
}

// --- the command ---------------------------------------------------------------------------------------------------------------

static int measure(struct plan *plan)
{
    struct tb_words about = {0};
    json_t *advise = json_pack("{s:s}", "shape", plan->cells[0].decode.shape);
    say_workload(plan, false, &about);
    plan->options->advise = advise;
    plan->options->many_nodes = false;
    int status = tb_options_run(plan->options, plan->cells, plan->count, "advise", about.text);
    plan->options->advise = NULL;
    json_decref(advise);
    return status;
}

// Which tokens: of a trace, one by name, a batch, or one that is chosen.
static int source_open(struct plan *plan, const char *workload, bool emulated)
{
    static char path[4096];
    char why[640];
    if (workload && tb_known_trace(workload)) {
        if (tb_known_trace_missing(workload, why, sizeof why) || tb_known_trace_path(workload, path, sizeof path)) {
            tb_error("--workload: %s", why);
            return TB_EXIT_USAGE;
        }
        plan->path = path;
    }
    if (plan->path)
        return head_choose(plan);
    if (workload)
        snprintf(plan->workload, sizeof plan->workload, "%s", workload);
    else if (emulated)
        snprintf(plan->workload, sizeof plan->workload, "%s", BATCH_EMULATED);
    else
        batch_choose(plan);
    return 0;
}

int tb_advise_shape(const struct tb_advise_shape *given, struct tb_options *options, const struct tb_options_trace *trace,
                    const char *path, const char *workload)
{
    static struct plan plan;
    plan = (struct plan){.given = given, .options = options, .trace = *trace, .path = path};
    int status = arms_make(options);
    if (!status)
        status = source_open(&plan, workload, false);
    if (!status)
        status = cells_make(&plan);
    if (!status)
        status = measure(&plan);
    for (uint32_t i = 0; i < CELLS_MAX; i++)
        free(plan.schedules[i]);
    return status;
}

int tb_advise_shape_nodes(const struct tb_advise_shape *given, struct tb_options *options, const struct tb_options_trace *trace,
                          const char *path, const char *workload, bool emulated, struct tb_cell *out, struct tb_schedule **schedule,
                          struct tb_words *about)
{
    static struct plan plan;
    struct tb_advise_shape one = *given;
    plan = (struct plan){.given = &one, .options = options, .trace = *trace, .path = path};
    one.blocks = given->blocks ? given->blocks : "16";
    one.layouts = given->layouts ? given->layouts : "runs";
    if (one.cpus > 1 || strchr(one.blocks, ',') || strchr(one.layouts, ',')) {
        tb_error("%s: on several nodes placements are compared, each scheduler computes alone, and blocks are of one size and "
                 "layout. On one: numactl --cpunodebind=0 --membind=0 locus advise --shape %s",
                 one.cpus > 1              ? "--threads"
                 : strchr(one.blocks, ',') ? "--blocks"
                                           : "--layouts",
                 one.shape);
        return TB_EXIT_USAGE;
    }
    int status = source_open(&plan, workload, emulated);
    if (!status)
        status = cells_make(&plan);
    if (status) {
        free(plan.schedules[0]);
        return status;
    }
    *out = plan.cells[0];
    *schedule = plan.schedules[0];
    say_workload(&plan, emulated, about);
    return 0;
}
