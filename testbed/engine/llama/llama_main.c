// SPDX-License-Identifier: Apache-2.0
//
// locus-llama: the measured process of engine runs. It opens a model with real llama.cpp, reads the prompts, decodes teacher-forced
// steps, and writes what it saw as one JSON object to standard output. All of the engine's own words go to standard error.
//
// As locus-lap it is a program of its own, small, and linked with nothing but the engine.

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "placement/ggml/locus-ggml.h"
#include "testbed/counters/mark.h"
#include "testbed/engine/llama/regions.h"
#include "testbed/engine/llama/session.h"

struct run {
    struct tb_llama_settings settings;
    char *devices_text;         // cut into settings.devices
    const char *logits, *against; // files of logits, to write and to compare with; NULL: none
    FILE *logits_file, *against_file;
    double largest, difference; // absolute, of all logits so far; the difference from those of `against`
    bool watch, clear, quiet;
    uint32_t watch_first;       // number of the first window
    uint64_t *step_ns;
    struct tb_llama_region regions[TB_LLAMA_REGIONS_MAX];
};

enum { KEY_SPLIT = 1000, KEY_DEVICES, KEY_SHARES, KEY_CONTEXT, KEY_PROMPT, KEY_KV, KEY_FLASH, KEY_NUMA };
enum { KEY_READ = 2000, KEY_SEED, KEY_LOGITS, KEY_AGAINST, KEY_WATCH, KEY_CLEAR };

static const struct argp_option options[] = {
    {"model", 'm', "FILE", 0, "The model, a GGUF file (locus-gguf makes one)", 0},
    {"devices", KEY_DEVICES, "LIST", 0, "Devices of the engine, such as LOCUS0,LOCUS1 (none: the stock CPU backend alone)", 0},
    {"split", KEY_SPLIT, "HOW", 0, "none, layer or tensor: how the model is divided among the devices (layer)", 0},
    {"shares", KEY_SHARES, "LIST", 0, "The devices' shares of the model, such as 3,1 (equal ones)", 0},
    {"threads", 't', "N", 0, "Threads of the stock CPU backend (1)", 0},
    {"context", KEY_CONTEXT, "N", 0, "Tokens of context for each sequence (2048)", 1},
    {"prompt", KEY_PROMPT, "N", 0, "Tokens of prompt for each sequence (0)", 1},
    {"steps", 'n', "N", 0, "Tokens to decode after it, for each sequence (16)", 1},
    {"batch", 'b', "N", 0, "Sequences (1)", 1},
    {"kv", KEY_KV, "TYPE", 0, "f16, bf16, f32, q8_0 or q4_0: type of the KV cache (f16)", 1},
    {"flash", KEY_FLASH, "HOW", 0, "on, off or auto: flash attention (on)", 1},
    {"numa", KEY_NUMA, "HOW", 0, "The engine's own --numa: distribute, isolate or numactl (none)", 1},
    {"read", KEY_READ, NULL, 0, "Read the weights into memory instead of mapping the file", 1},
    {"seed", KEY_SEED, "N", 0, "Of the tokens (1)", 1},
    {"clear", KEY_CLEAR, NULL, 0, "Clear the cache in the end, and look at its pages once more", 2},
    {"logits", KEY_LOGITS, "FILE", 0, "Write all steps' logits there, as raw f32", 2},
    {"against", KEY_AGAINST, "FILE", 0, "Compare all steps' logits with those in FILE, and say by how much they differ", 2},
    {"watch", KEY_WATCH, "N", 0,
     "In an emulated machine: have the accesses of the steps counted, to the cache as window N, to weights as N + 1, to scratch as "
     "N + 2",
     2},
    {"quiet", 'q', NULL, 0, "Only errors of the engine", 2},
    {0},
};

// --- options -------------------------------------------------------------------------------------------------------------------

static const struct {
    int key;
    const char *name;
    int value;
} words[] = {
    {KEY_SPLIT, "none", LLAMA_SPLIT_MODE_NONE},
    {KEY_SPLIT, "layer", LLAMA_SPLIT_MODE_LAYER},
    {KEY_SPLIT, "tensor", LLAMA_SPLIT_MODE_TENSOR},
    {KEY_KV, "f16", GGML_TYPE_F16},
    {KEY_KV, "bf16", GGML_TYPE_BF16},
    {KEY_KV, "f32", GGML_TYPE_F32},
    {KEY_KV, "q8_0", GGML_TYPE_Q8_0},
    {KEY_KV, "q4_0", GGML_TYPE_Q4_0},
    {KEY_FLASH, "on", LLAMA_FLASH_ATTN_TYPE_ENABLED},
    {KEY_FLASH, "off", LLAMA_FLASH_ATTN_TYPE_DISABLED},
    {KEY_FLASH, "auto", LLAMA_FLASH_ATTN_TYPE_AUTO},
    {KEY_NUMA, "distribute", GGML_NUMA_STRATEGY_DISTRIBUTE},
    {KEY_NUMA, "isolate", GGML_NUMA_STRATEGY_ISOLATE},
    {KEY_NUMA, "numactl", GGML_NUMA_STRATEGY_NUMACTL},
};

static int word(struct argp_state *state, int key, const char *text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].key == key && strcmp(words[i].name, text) == 0)
            return words[i].value;
    argp_error(state, "\"%s\" is none of the words that --help lists", text);
    return 0;
}

static uint32_t number(struct argp_state *state, const char *text, uint32_t least, uint32_t most)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
        argp_error(state, "\"%s\" is not a number from %u to %u", text, least, most);
    return (uint32_t)value;
}

static void devices(struct argp_state *state, struct run *run, const char *list)
{
    unsigned count = 0;
    run->devices_text = strdup(list);
    for (char *rest = run->devices_text, *name; rest && (name = strsep(&rest, ","));) {
        if (count == TB_LLAMA_DEVICES_MAX)
            argp_error(state, "more than %d devices", TB_LLAMA_DEVICES_MAX);
        run->settings.devices[count++] = name;
    }
}

static void shares(struct argp_state *state, struct tb_llama_settings *settings, const char *list)
{
    settings->shares_text = list;
    for (unsigned i = 0; *list; i++) {
        char *end;
        float share = strtof(list, &end);
        if (i == TB_LLAMA_DEVICES_MAX || end == list || (*end && *end != ',') || !(share >= 0))
            argp_error(state, "\"%s\" is not a list of shares, such as 3,1", list);
        settings->shares[i] = share;
        list = *end ? end + 1 : end;
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct run *run = state->input;
    struct tb_llama_settings *settings = &run->settings;
    switch (key) {
    case 'm': settings->model = argument; return 0;
    case 't': settings->threads = number(state, argument, 1, 512); return 0;
    case 'n': settings->steps = number(state, argument, 1, 1u << 24); return 0;
    case 'b': settings->batch = number(state, argument, 1, 256); return 0;
    case 'q': run->quiet = true; return 0;
    case KEY_DEVICES: devices(state, run, argument); return 0;
    case KEY_SHARES: shares(state, settings, argument); return 0;
    case KEY_SPLIT: settings->split = (enum llama_split_mode)word(state, key, argument); return 0;
    case KEY_KV: settings->kv_type = (enum ggml_type)word(state, key, argument); return 0;
    case KEY_FLASH: settings->flash = (enum llama_flash_attn_type)word(state, key, argument); return 0;
    case KEY_NUMA: settings->numa = (enum ggml_numa_strategy)word(state, key, argument); return 0;
    case KEY_CONTEXT: settings->context_tokens = number(state, argument, 1, 1u << 24); return 0;
    case KEY_PROMPT: settings->prompt_tokens = number(state, argument, 0, 1u << 24); return 0;
    case KEY_SEED: settings->seed = number(state, argument, 0, UINT32_MAX); return 0;
    case KEY_READ: settings->mapped = false; return 0;
    case KEY_LOGITS: run->logits = argument; return 0;
    case KEY_AGAINST: run->against = argument; return 0;
    case KEY_WATCH:
        run->watch = true;
        run->watch_first = number(state, argument, 1, 1u << 20);
        return 0;
    case KEY_CLEAR: run->clear = true; return 0;
    case ARGP_KEY_END:
        if (!settings->model)
            argp_error(state, "which model? --model FILE");
        if (settings->prompt_tokens + settings->steps > settings->context_tokens)
            argp_error(state, "%u tokens of prompt and %u steps do not fit into --context %u", settings->prompt_tokens,
                       settings->steps, settings->context_tokens);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// --- running -------------------------------------------------------------------------------------------------------------------

static void on_log(enum ggml_log_level level, const char *text, void *context)
{
    static enum ggml_log_level last; // a continued line has the level of what it continues
    const struct run *run = context;
    if (level != GGML_LOG_LEVEL_CONT)
        last = level;
    if (last >= (run->quiet ? GGML_LOG_LEVEL_ERROR : GGML_LOG_LEVEL_WARN))
        fputs(text, stderr);
}

static int unreadable(const char *file, const char *why)
{
    fprintf(stderr, "locus-llama: %s: %s\n", file, why);
    return -1;
}

static int compare(struct run *run, const float *logits, uint32_t count)
{
    float *others = malloc(count * sizeof(*others));
    size_t read = others ? fread(others, sizeof(*others), count, run->against_file) : 0;
    for (size_t i = 0; i < read; i++)
        run->difference = fmax(run->difference, fabs((double)logits[i] - (double)others[i]));
    free(others);
    return read == count ? 0 : unreadable(run->against, "it has fewer logits than this run: of another batch, steps or model?");
}

static int take_logits(struct tb_llama *llama, struct run *run)
{
    uint32_t count = tb_llama_vocabulary(llama);
    if (!run->logits_file && !run->against_file)
        return 0;
    for (uint32_t sequence = 0; sequence < run->settings.batch; sequence++) {
        const float *logits = tb_llama_logits(llama, sequence);
        for (uint32_t i = 0; i < count; i++) {
            if (!isfinite(logits[i])) { // fmax() would pass over it
                fprintf(stderr, "locus-llama: a logit is not a finite number\n");
                return -1;
            }
            run->largest = fmax(run->largest, fabs((double)logits[i]));
        }
        if (run->logits_file && fwrite(logits, sizeof(float), count, run->logits_file) != count)
            return unreadable(run->logits, strerror(errno));
        if (run->against_file && compare(run, logits, count) != 0)
            return -1;
    }
    return 0;
}

static int decode(struct tb_llama *llama, struct run *run)
{
    if (run->watch)
        tb_mark_begin();
    for (uint32_t step = 0; step < run->settings.steps; step++) {
        int err = tb_llama_step(llama, step, &run->step_ns[step]);
        if (err) {
            fprintf(stderr, "locus-llama: llama_decode said %d at step %u\n", err, step);
            return -1;
        }
        if (take_logits(llama, run) != 0)
            return -1;
    }
    if (run->watch)
        tb_mark_end();
    return 0;
}

// --- what it saw ---------------------------------------------------------------------------------------------------------------

static void print_regions(struct run *run, const char *when)
{
    unsigned count = tb_llama_regions(run->regions, TB_LLAMA_REGIONS_MAX, run->settings.model);
    printf(",\n \"regions %s\": [", when);
    for (unsigned i = 0; i < count; i++) {
        const struct tb_llama_region *region = &run->regions[i];
        printf("%s\n  {\"class\": \"%s\", \"node\": %d, \"bytes\": %zu, \"pages\": %" PRIu64 ", \"resident\": %" PRIu64
               ", \"errno\": %d, \"on\": [",
               i ? "," : "", tb_llama_class_name(region->of), region->node, region->bytes, region->pages, region->resident,
               region->error);
        for (unsigned node = 0; node < TB_LLAMA_NODES_MAX; node++)
            printf("%s%" PRIu64, node ? ", " : "", region->on[node]);
        printf("]}");
    }
    printf("]");
    if (run->watch && strcmp(when, "opened") == 0)
        tb_llama_regions_watch(run->regions, count, run->watch_first);
}

static void print_sums(void)
{
    ggml_backend_reg_t registry = ggml_backend_reg_by_name("LOCUS");
    locus_ggml_sums_fn ask = NULL;
    void *symbol = registry ? ggml_backend_reg_get_proc_address(registry, "locus_ggml_sums") : NULL;
    struct locus_ggml_sums sums;
    memcpy(&ask, &symbol, sizeof(symbol));
    if (!ask)
        return;
    ask(&sums);
    printf(",\n \"sums\": {\"exchanges\": %" PRIu64 ", \"crossed bytes\": %" PRIu64 ", \"declined\": %" PRIu64
           ", \"waited ns\": %" PRIu64 "}",
           sums.exchanges, sums.crossed_bytes, sums.declined, sums.waits_ns);
}

static void print_run(struct tb_llama *llama, const struct run *run)
{
    struct tb_llama_shape shape;
    tb_llama_shape(llama, &shape);
    printf("{\"layers\": %u, \"heads\": %u, \"kv heads\": %u, \"head\": %u, \"prompt\": %u, \"batch\": %u, \"threads\": %u",
           shape.layers, shape.heads, shape.kv_heads, shape.head_values, run->settings.prompt_tokens, run->settings.batch,
           run->settings.threads);
}

static void print_logits(const struct run *run)
{
    if (run->logits || run->against)
        printf(",\n \"largest logit\": %.9g", run->largest);
    if (run->against)
        printf(", \"largest difference\": %.9g", run->difference);
}

static void print_steps(const struct run *run)
{
    printf(",\n \"step ns\": [");
    for (uint32_t step = 0; step < run->settings.steps; step++)
        printf("%s%" PRIu64, step ? ", " : "", run->step_ns[step]);
    printf("]");
}

static int measure(struct tb_llama *llama, struct run *run)
{
    print_run(llama, run);
    int err = tb_llama_prompt(llama);
    if (err) {
        fprintf(stderr, "locus-llama: llama_decode said %d in the prompt\n", err);
        return -1;
    }
    print_regions(run, "opened");
    if (decode(llama, run) != 0)
        return -1;
    print_regions(run, "decoded");
    if (run->clear) {
        tb_llama_clear(llama);
        print_regions(run, "cleared");
    }
    print_sums();
    print_logits(run);
    print_steps(run);
    puts("}");
    return 0;
}

static int open_file(const char *path, const char *mode, FILE **out)
{
    *out = path ? fopen(path, mode) : NULL;
    return path && !*out ? unreadable(path, strerror(errno)) : 0;
}

static int open_and_measure(struct run *run)
{
    char why[512] = "";
    struct tb_llama *llama = NULL;
    int err = open_file(run->logits, "wbe", &run->logits_file);
    if (!err)
        err = open_file(run->against, "rbe", &run->against_file);
    if (!err)
        err = tb_llama_open(&llama, &run->settings, why, sizeof(why));
    if (!err)
        err = measure(llama, run);
    if (*why)
        fprintf(stderr, "locus-llama: %s\n", why);
    tb_llama_close(llama);
    if (run->logits_file && fclose(run->logits_file) != 0)
        err = unreadable(run->logits, strerror(errno));
    if (run->against_file)
        fclose(run->against_file);
    return err;
}

int main(int argc, char **argv)
{
    static struct run run = {.settings = {.split = LLAMA_SPLIT_MODE_LAYER,
                                          .threads = 1,
                                          .context_tokens = 2048,
                                          .steps = 16,
                                          .batch = 1,
                                          .kv_type = GGML_TYPE_F16,
                                          .flash = LLAMA_FLASH_ATTN_TYPE_ENABLED,
                                          .mapped = true,
                                          .seed = 1}};
    const struct argp argp = {options,
                              parse,
                              NULL,
                              "Decodes with real llama.cpp, and says how long each step took and where the memory was.\v"
                              "GGML_BACKEND_PATH=.../libggml-locus.so locus-llama -m MODEL --devices LOCUS0,LOCUS1 --split tensor",
                              NULL,
                              NULL,
                              NULL};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &run);
    run.step_ns = calloc(run.settings.steps, sizeof(*run.step_ns));
    if (!run.step_ns)
        return 1;
    llama_log_set(on_log, &run);
    int err = open_and_measure(&run);
    free(run.step_ns);
    free(run.devices_text);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "locus-llama: standard output: %s\n", strerror(errno));
        err = -1;
    }
    return err ? 1 : 0;
}
