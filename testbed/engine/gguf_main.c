// SPDX-License-Identifier: Apache-2.0
//
// locus-gguf: makes a model of random weights. It is a program of its own because nothing of `locus` needs it, and it may write
// for a minute.

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/terminal.h"
#include "testbed/engine/gguf.h"

enum { KEY_SHAPE = 's', KEY_OUTPUT = 'o', KEY_QUIET = 'q' };
enum { KEY_LAYERS = 1000, KEY_WIDTH, KEY_HEADS, KEY_KV_HEADS, KEY_HEAD_DIM, KEY_FFN, KEY_VOCAB, KEY_CONTEXT, KEY_SEED };

struct arguments {
    const char *shape, *output; // NULL: not said
    struct tb_model model;
    uint64_t seed;
    bool quiet;
};

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0, "The file to write; an older one is replaced at the end", 1},
    {"shape", KEY_SHAPE, "NAME", 0, "A model of `locus eval`, LAYERSxHEADSxKVHEADSxSIZE, or tiny (tiny)", 1},
    {"seed", KEY_SEED, "N", 0, "The same seed gives the same bytes (1)", 1},
    {"quiet", KEY_QUIET, NULL, 0, "No progress line", 1},
    {"layers", KEY_LAYERS, "N", 0, "Layers (the shape's)", 2},
    {"width", KEY_WIDTH, "N", 0, "Values of a token between layers (heads times a head's size)", 2},
    {"heads", KEY_HEADS, "N", 0, "Query heads (the shape's)", 2},
    {"kv-heads", KEY_KV_HEADS, "N", 0, "Heads of K and V, a divisor of the heads (the shape's)", 2},
    {"head-dim", KEY_HEAD_DIM, "N", 0, "A head's size (the shape's; with --width its share)", 2},
    {"ffn", KEY_FFN, "N", 0, "Inner width (the published one; with another width 8/3 of that)", 2},
    {"vocab", KEY_VOCAB, "N", 0, "Tokens that it knows (512)", 2},
    {"context", KEY_CONTEXT, "N", 0, "Tokens that it claims to be trained for (32768)", 2},
    {0},
};

static const char documentation[] =
    "A model of random weights for llama.cpp: a GGUF file of the llama architecture, in f16.\v"
    "How fast an engine computes does not depend on what the weights are, so such a model stands for any of its shape. It says "
    "nothing that makes sense. Without a shape it is the tiny one, 4 layers of 256: 5 MB. The vocabulary is small unless you ask "
    "for more, because the last multiplication would only add the same time to every token.\n\n"
    "Shapes: Llama-3.2-1B, Llama-3-8B, Llama-3-70B, Qwen2.5-0.5B, Qwen2.5-7B, GPT-2, tiny. Each size can be changed by its "
    "option. All models have the parts of a Llama, also that of GPT-2's shape.\n\n"
    "Examples:\n"
    "  locus-gguf -o tiny.gguf\n"
    "  locus-gguf --shape Qwen2.5-0.5B -o qwen.gguf           720 MB\n"
    "  locus-gguf --shape Llama-3-8B --layers 4 -o four.gguf  a slice, 2 GB\n"
    "  locus-gguf --layers 2 --width 512 --heads 8 --kv-heads 2 -o small.gguf\n\n"
    "It prints the bytes, the parameters and the SHA-256 of what it has written. Exit status: 0 done, 1 it could not be "
    "written, 2 bad input.";

static error_t parse_size(struct argp_state *state, const char *name, const char *argument, uint32_t *out)
{
    uint64_t number;
    if (!tb_cli_u64(argument, 1, UINT32_MAX, &number))
        return tb_cli_bad(state, "--%s: '%s' is not a number from 1", name, argument);
    *out = (uint32_t)number;
    return 0;
}

// Where an option's number goes; NULL: it is none of these.
static uint32_t *size_at(struct tb_model *model, int key)
{
    switch (key) {
    case KEY_LAYERS: return &model->layers;
    case KEY_WIDTH: return &model->width;
    case KEY_HEADS: return &model->heads;
    case KEY_KV_HEADS: return &model->kv_heads;
    case KEY_HEAD_DIM: return &model->head_dim;
    case KEY_FFN: return &model->ffn;
    case KEY_VOCAB: return &model->vocab;
    case KEY_CONTEXT: return &model->context;
    default: return NULL;
    }
}

static error_t finish(struct argp_state *state, struct arguments *arguments)
{
    char why[256];
    if (!arguments->output)
        return tb_cli_bad(state, "which file? Give -o FILE (see: locus-gguf --help)");
    if (tb_model_complete(arguments->shape, &arguments->model, why, sizeof why))
        return tb_cli_bad(state, "%s", why);
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    uint32_t *size = size_at(&arguments->model, key);
    for (const struct argp_option *option = options; size && option->key; option++)
        if (option->key == key)
            return parse_size(state, option->name, argument, size);
    switch (key) {
    case KEY_OUTPUT: arguments->output = argument; return 0;
    case KEY_SHAPE: arguments->shape = argument; return 0;
    case KEY_QUIET: arguments->quiet = true; return 0;
    case KEY_SEED:
        if (!tb_cli_u64(argument, 0, INT64_MAX, &arguments->seed))
            return tb_cli_bad(state, "--seed: '%s' is not a number from 0 to 9223372036854775807", argument);
        return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s' (see: locus-gguf --help)", argument);
    case ARGP_KEY_END: return finish(state, arguments);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {options, parse, NULL, documentation, NULL, NULL, NULL};

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    interrupted = number;
}

static int show_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    char where[48];
    snprintf(where, sizeof where, "%" PRIu64 " of %" PRIu64 " MB", done_bytes / 1000000, total_bytes / 1000000);
    if (context)
        tb_progress_show(context, where, done_bytes, total_bytes);
    return interrupted ? -EINTR : 0; // so that no half file is left
}

static int make(const struct arguments *arguments)
{
    struct tb_gguf made;
    struct tb_progress *progress = NULL;
    int error = arguments->quiet ? 0 : tb_progress_open(&progress, stderr);
    if (!error)
        error = tb_gguf_write(arguments->output, &arguments->model, arguments->seed, show_progress, progress, &made);
    tb_progress_close(progress);
    if (error) {
        tb_error("%s: %s", arguments->output, error == -EINVAL ? "it is no regular file: name another" : tb_output_why(error));
        return interrupted ? 128 + interrupted : TB_EXIT_FAILED;
    }
    printf("%s: %" PRIu64 " bytes, %" PRIu64 " parameters, sha256 %s\n", arguments->output, made.bytes, made.parameters,
           made.sha256);
    return tb_cli_flush();
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.seed = 1};
    int status = tb_cli_parse(&argp, "-gguf", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    signal(SIGXFSZ, SIG_IGN); // so that a limit on file sizes is an error that can be told
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    return make(&arguments);
}
