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
#include <unistd.h>

#include "locus/ggml.h"
#include "testbed/counters/mark.h"
#include "testbed/engine/llama/bill.h"
#include "testbed/engine/llama/regions.h"
#include "testbed/engine/llama/session.h"
#include "testbed/engine/llama/threads.h"
#include "testbed/engine/llama/together.h"
#include "testbed/engine/result.h"

struct run {
    struct tb_llama_settings settings;
    char *devices_text;         // cut into settings.devices
    const char *logits, *against; // files of logits, to write and to compare with; NULL: none
    FILE *logits_file, *against_file;
    double largest, difference; // absolute, of all logits so far; the difference from those of `against`
    bool watch, clear, bill, quiet;
    uint32_t watch_first;       // number of the first window
    int result_fd;              // for struct tb_engine_result; -1: JSON on standard output instead
    uint32_t warmup;            // first steps that the result leaves out
    uint64_t *step_ns;
    struct tb_llama_bill billed;
    struct tb_llama_region regions[TB_LLAMA_REGIONS_MAX];
    struct tb_llama_threads threads;
    struct tb_engine_result result;
    struct locus_ggml_sums sums, sums_after; // before the steps, and after them
    uint32_t together;          // processes that begin their steps at once; 0: it is alone
};

enum { KEY_SPLIT = 1000, KEY_DEVICES, KEY_SHARES, KEY_CONTEXT, KEY_PROMPT, KEY_KV, KEY_FLASH, KEY_NUMA };
enum {
    KEY_READ = 2000,
    KEY_SEED,
    KEY_LOGITS,
    KEY_AGAINST,
    KEY_WATCH,
    KEY_CLEAR,
    KEY_RESULT,
    KEY_WARMUP,
    KEY_PLAIN,
    KEY_BILL,
    KEY_TOGETHER,
    KEY_HOST_KV
};

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
    {"host-kv", KEY_HOST_KV, NULL, 0, "Leave the KV cache to the CPU backend, as the engine's --no-kv-offload does", 1},
    {"flash", KEY_FLASH, "HOW", 0, "on, off or auto: flash attention (on)", 1},
    {"numa", KEY_NUMA, "HOW", 0, "The engine's own --numa: distribute, isolate or numactl (none)", 1},
    {"read", KEY_READ, NULL, 0, "Read the weights into memory instead of mapping the file", 1},
    {"plain", KEY_PLAIN, NULL, 0, "Weights as they lie in the file: the CPU backend repacks some, for AMX or quantized ones", 1},
    {"seed", KEY_SEED, "N", 0, "Of the tokens (1)", 1},
    {"clear", KEY_CLEAR, NULL, 0, "Clear the cache in the end, and look at its pages once more", 2},
    {"logits", KEY_LOGITS, "FILE", 0, "Write all steps' logits there, as raw f32", 2},
    {"against", KEY_AGAINST, "FILE", 0, "Compare all steps' logits with those in FILE, and say by how much they differ", 2},
    {"watch", KEY_WATCH, "N", 0,
     "In an emulated machine: have the accesses of the steps counted, to the cache as window N, to weights as N + 1, to scratch as "
     "N + 2",
     2},
    {"bill", KEY_BILL, NULL, 0, "In the end take the steps once more, and say what each kind of operation takes of them", 2},
    {"warmup", KEY_WARMUP, "N", 0, "Of --result and --bill: steps before those that count (0)", 2},
    {"result", KEY_RESULT, "FD", 0, "Internal: write the results there as plain data (engine/result.h), and no JSON", 2},
    {"together", KEY_TOGETHER, "N", 0, "Internal: begin the steps when N processes have come (engine/llama/together.h)", 2},
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
    argp_failure(state, 2, 0, "\"%s\" is none of the words that --help lists", text);
    return 0;
}

static uint32_t number(struct argp_state *state, const char *text, uint32_t least, uint32_t most)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
        argp_failure(state, 2, 0, "\"%s\" is not a number from %u to %u", text, least, most);
    return (uint32_t)value;
}

static void devices(struct argp_state *state, struct run *run, const char *list)
{
    unsigned count = 0;
    run->devices_text = strdup(list);
    for (char *rest = run->devices_text, *name; rest && (name = strsep(&rest, ","));) {
        if (count == TB_LLAMA_DEVICES_MAX)
            argp_failure(state, 2, 0, "more than %d devices", TB_LLAMA_DEVICES_MAX);
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
            argp_failure(state, 2, 0, "\"%s\" is not a list of shares, such as 3,1", list);
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
    case KEY_PLAIN: settings->plain = true; return 0;
    case KEY_HOST_KV: settings->host_kv = true; return 0;
    case KEY_LOGITS: run->logits = argument; return 0;
    case KEY_AGAINST: run->against = argument; return 0;
    case KEY_WATCH:
        run->watch = true;
        run->watch_first = number(state, argument, 1, 1u << 20);
        return 0;
    case KEY_CLEAR: run->clear = true; return 0;
    case KEY_BILL: run->bill = true; return 0;
    case KEY_TOGETHER: run->together = number(state, argument, 1, 1024); return 0;
    case KEY_RESULT: run->result_fd = (int)number(state, argument, 3, 1023); return 0;
    case KEY_WARMUP: run->warmup = number(state, argument, 0, 1u << 20); return 0;
    case ARGP_KEY_END:
        if (!settings->model)
            argp_failure(state, 2, 0, "which model? --model FILE");
        if ((run->result_fd >= 0 || run->bill) &&
            (run->warmup >= settings->steps || settings->steps - run->warmup > TB_ENGINE_STEPS_MAX))
            argp_failure(state, 2, 0, "--result and --bill take 1 to %u steps after --warmup", TB_ENGINE_STEPS_MAX);
        if (settings->prompt_tokens + settings->steps > settings->context_tokens)
            argp_failure(state, 2, 0, "%u tokens of prompt and %u steps do not fit into --context %u", settings->prompt_tokens,
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

// False, and all 0: our backend is not loaded.
static bool ask_sums(struct locus_ggml_sums *out)
{
    locus_ggml_sums_fn ask = NULL;
    void *symbol = tb_llama_ours("locus_ggml_sums");
    memcpy(&ask, &symbol, sizeof(symbol));
    *out = (struct locus_ggml_sums){0};
    if (ask)
        ask(out);
    return ask != NULL;
}

static int decode(struct tb_llama *llama, struct run *run)
{
    int error = run->together ? tb_llama_together(run->together) : 0;
    if (error) {
        fprintf(stderr, "locus-llama: the other processes did not begin their steps: %s\n",
                error == -ETIMEDOUT ? "one did not come within two minutes" : strerror(-error));
        return -1;
    }
    if (run->watch)
        tb_mark_begin();
    for (uint32_t step = 0; step < run->settings.steps; step++) {
        if (step == run->warmup)
            ask_sums(&run->sums);
        if (run->result_fd >= 0 && step >= run->warmup)
            tb_llama_threads_look(&run->threads, step == run->warmup);
        int err = tb_llama_step(llama, step, &run->step_ns[step]);
        if (err) {
            fprintf(stderr, "locus-llama: llama_decode said %d at step %u\n", err, step);
            return -1;
        }
        if (take_logits(llama, run) != 0)
            return -1;
    }
    if (run->result_fd >= 0)
        tb_llama_threads_look(&run->threads, 0);
    ask_sums(&run->sums_after);
    if (run->watch)
        tb_mark_end();
    return 0;
}

// --- what it saw ---------------------------------------------------------------------------------------------------------------

static void print_regions(const struct run *run, unsigned count, const char *when)
{
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
}

// Of one class: its bytes, those in memory, and the share of reads that are remote (result.h).
static void sum_regions(const struct run *run, unsigned count, enum tb_llama_class of, uint64_t *bytes, uint64_t *resident,
                        double *remote)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), ran_ns = 0;
    double far = 0, pages = 0;
    *bytes = *resident = 0;
    for (unsigned node = 0; node < TB_LLAMA_NODES_MAX; node++)
        ran_ns += run->threads.ran_ns[node];
    for (unsigned i = 0; i < count; i++) {
        const struct tb_llama_region *region = &run->regions[i];
        if (region->of != of)
            continue;
        *bytes += region->bytes;
        *resident += region->resident * page;
        pages += (double)region->resident;
        for (unsigned node = 0; node < TB_LLAMA_NODES_MAX; node++) {
            double elsewhere = region->node >= 0 ? (int)node != region->node
                               : ran_ns          ? 1 - (double)run->threads.ran_ns[node] / (double)ran_ns
                                                 : 0;
            far += elsewhere * (double)region->on[node];
        }
    }
    *remote = pages > 0 ? far / pages : 0;
}

// How far the node with most of the cache's pages is above an even share.
static double uneven(const struct run *run, unsigned count)
{
    double on[TB_LLAMA_NODES_MAX] = {0}, most = 0, all = 0;
    unsigned nodes = 0;
    for (unsigned i = 0; i < count; i++)
        for (unsigned node = 0; node < TB_LLAMA_NODES_MAX && run->regions[i].of == TB_LLAMA_KV; node++)
            on[node] += (double)run->regions[i].on[node];
    for (unsigned node = 0; node < TB_LLAMA_NODES_MAX; node++) {
        nodes += run->threads.ran_ns[node] > 0;
        most = fmax(most, on[node]);
        all += on[node];
    }
    return all > 0 && nodes ? most / (all / nodes) : 0;
}

static void look_at_regions(struct run *run, const char *when)
{
    struct tb_engined *engined = &run->result.engined;
    uint64_t resident, weights;
    double remote;
    unsigned count = tb_llama_regions(run->regions, TB_LLAMA_REGIONS_MAX, run->settings.model);
    if (run->result_fd < 0)
        print_regions(run, count, when);
    sum_regions(run, count, TB_LLAMA_KV, &engined->kv_bytes, &resident, &remote);
    if (strcmp(when, "opened") == 0) {
        engined->kv_opened_bytes = resident;
        if (run->watch)
            tb_llama_regions_watch(run->regions, count, run->watch_first);
    } else if (strcmp(when, "decoded") == 0) {
        engined->kv_resident_bytes = resident;
        engined->kv_remote_ratio = remote;
        engined->kv_uneven_ratio = uneven(run, count);
        sum_regions(run, count, TB_LLAMA_WEIGHTS, &weights, &resident, &engined->weights_remote_ratio);
    } else {
        engined->kv_cleared_bytes = resident;
    }
}

static void print_sums(void)
{
    struct locus_ggml_sums sums;
    if (!ask_sums(&sums))
        return;
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

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

// Of the steps that count.
static double median_step(const uint64_t *step_ns, uint32_t steps)
{
    uint64_t sorted[TB_ENGINE_STEPS_MAX];
    memcpy(sorted, step_ns, steps * sizeof(sorted[0]));
    qsort(sorted, steps, sizeof(sorted[0]), by_value);
    return (double)sorted[steps / 2];
}

static int take_bill(struct tb_llama *llama, struct run *run)
{
    char why[512] = "";
    uint32_t steps = run->settings.steps - run->warmup;
    struct tb_engined *engined = &run->result.engined;
    double *const ratios[] = {&engined->step_weights_ratio, &engined->step_kv_read_ratio, &engined->step_kv_written_ratio,
                              &engined->step_rest_ratio, &engined->step_engine_ratio};
    uint64_t all_ns = 0;
    run->billed.step_ns = calloc(steps, sizeof(*run->billed.step_ns));
    if (!run->billed.step_ns || tb_llama_bill(llama, run->settings.steps, run->warmup, &run->billed, why, sizeof(why)) != 0) {
        fprintf(stderr, "locus-llama: %s\n", *why ? why : "no memory");
        return -1;
    }
    for (unsigned part = 0; part < TB_LLAMA_PARTS; part++)
        all_ns += run->billed.part_ns[part];
    for (unsigned part = 0; part < TB_LLAMA_PARTS; part++)
        *ratios[part] = (double)run->billed.part_ns[part] / (double)all_ns;
    engined->step_bill_ratio = median_step(run->billed.step_ns, steps) / median_step(run->step_ns + run->warmup, steps);
    return 0;
}

static void print_bill(const struct run *run)
{
    printf(",\n \"bill\": {\"over steps\": %.4g", run->result.engined.step_bill_ratio);
    for (unsigned part = 0; part < TB_LLAMA_PARTS; part++)
        printf(", \"%s ns\": %" PRIu64, tb_llama_part_names[part], run->billed.part_ns[part]);
    printf("}");
}

static int write_result(struct tb_llama *llama, struct run *run)
{
    struct tb_engine_result *result = &run->result;
    struct tb_engined *engined = &result->engined;
    struct tb_llama_shape shape;
    tb_llama_shape(llama, &shape);
    result->bytes = sizeof(*result);
    snprintf(result->version, sizeof(result->version), "llama.cpp %s", llama_version());
    result->steps = run->settings.steps - run->warmup;
    result->waited_ns = run->threads.waited_ns;
    result->threads = run->threads.count;
    for (uint32_t step = 0; step < result->steps; step++) {
        result->step_ns[step] = run->step_ns[run->warmup + step];
        result->steps_wall_ns += result->step_ns[step];
    }
    engined->engine_tokens_per_s = run->settings.batch * 1e9 / median_step(result->step_ns, result->steps);
    engined->kv_written_bytes = (uint64_t)(run->settings.prompt_tokens + run->settings.steps) * run->settings.batch * shape.layers *
                                2 * ggml_row_size(run->settings.kv_type, (int64_t)shape.kv_heads * shape.head_values);
    uint64_t waits_ns = run->sums_after.waits_ns - run->sums.waits_ns;
    engined->exchanges = run->sums_after.exchanges - run->sums.exchanges;
    engined->exchanged_bytes = run->sums_after.crossed_bytes - run->sums.crossed_bytes;
    engined->exchange_wait_ns = engined->exchanges ? (double)waits_ns / (double)engined->exchanges : 0;
    return write(run->result_fd, result, sizeof(*result)) == (ssize_t)sizeof(*result) ? 0 : unreadable("--result", strerror(errno));
}

static int measure(struct tb_llama *llama, struct run *run)
{
    if (run->result_fd < 0)
        print_run(llama, run);
    look_at_regions(run, "opened");
    int err = tb_llama_prompt(llama);
    if (err) {
        fprintf(stderr, "locus-llama: llama_decode said %d in the prompt\n", err);
        return -1;
    }
    if (decode(llama, run) != 0)
        return -1;
    look_at_regions(run, "decoded");
    if (run->clear) {
        tb_llama_clear(llama);
        look_at_regions(run, "cleared");
    }
    if (run->result_fd < 0)
        print_sums();
    if (run->bill && take_bill(llama, run) != 0)
        return -1;
    if (run->result_fd >= 0)
        return write_result(llama, run);
    if (run->bill)
        print_bill(run);
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
    static struct run run = {.result_fd = -1,
                             .settings = {.split = LLAMA_SPLIT_MODE_LAYER,
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
    free(run.billed.step_ns);
    free(run.devices_text);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "locus-llama: standard output: %s\n", strerror(errno));
        err = -1;
    }
    return err ? 1 : 0;
}
