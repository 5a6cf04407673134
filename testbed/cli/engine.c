// SPDX-License-Identifier: Apache-2.0
//
// locus engine: which way to run llama.cpp on this machine, with a model of this shape and a context of this length?
//
// Ways to run it (testbed/engine/arm.c) side by side, each in fresh processes: tokens a second, which reads of the KV cache are
// remote, what of it is in memory. On one node there is nothing remote; then the price of dividing a node is what is measured.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/cli/command.h"
#include "testbed/cli/options.h"
#include "testbed/engine/arm.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/engines/machine.h"
#include "testbed/measure/engines/plan.h"

#define CELLS_MAX 8u
#define ROUNDS 12u
#define STEPS 60u
#define PROMPT 56u
#define ROUNDS_EMULATED 2u
#define STEPS_EMULATED 8u

static const char *const defaults[] = {"stock-plain", "stock", "distribute", "layer", "tensor", "tensor-generic", NULL};
static const char *const defaults_nodes[] = {
    "stock-plain",   "stock",          "distribute", "isolate", "numactl-interleave", "numactl-each",
    "kv-interleave", "kv-first-touch", "layer",      "tensor",  "tensor-generic",     NULL};

struct arguments {
    struct tb_options options;
    struct tb_engine_settings settings;
    const char *models[CELLS_MAX];
    uint32_t models_count;
    bool rounds_given;
};

enum { KEY_PROMPT = 5000, KEY_BATCH, KEY_CONTEXT, KEY_KV, KEY_STEPS };

static const struct argp_option option_table[] = {
    {"prompt", KEY_PROMPT, "N", 0, "Tokens of each sequence before the first step (56)", 0},
    {"batch", KEY_BATCH, "N", 0, "Sequences, each decoding a token in a step (1)", 0},
    {"context", KEY_CONTEXT, "N", 0, "Tokens of context of each sequence (what prompt and steps need)", 0},
    {"kv", KEY_KV, "TYPE", 0, "f16, bf16 or f32: type of the KV cache (f16)", 0},
    {"steps", KEY_STEPS, "N", 0, "Timed steps in each process, after three that warm up (60; emulated: 8)", 1},
    {"contenders", TB_KEY_CONTENDERS, "LIST", 0, "Only these ways to run it, comma-separated. One given twice is an A/A control",
     1},
    {"threads", TB_KEY_WORKERS, "N", 0, "Threads in all (every CPU that this process may use)", 1},
    {"cpus", TB_KEY_CPUS, "LIST", 0, "Run it on these CPUs, such as 2-7 (LOCUS_CPUS; else where it is started)", 2},
    {"rounds", TB_KEY_ROUNDS, "N", 0, "Rounds: each of them once, in random order, in a fresh process (12; emulated: 2)", 2},
    {"seed", TB_KEY_SEED, "N", 0, "Seed of that order (from the clock, and printed)", 2},
    {"log", TB_KEY_LOG, "FILE", 0, "Keep every sample in a log that `locus report FILE` shows again", 3},
    {"quiet", TB_KEY_QUIET, NULL, 0, "No progress line", 3},
    {0},
};

static const char documentation[] =
    "Which way to run llama.cpp here, and what is each worth?\v"
    "MODEL is a shape: tiny, Llama-3.2-1B, Llama-3-8B, Qwen2.5-0.5B, Qwen2.5-7B, GPT-2, or LAYERSxHEADSxKVHEADSxSIZE. Its weights "
    "are random and made here: how fast an engine is does not depend on what they are.\n\n"
    "The engine is unmodified llama.cpp, which `make engine` fetches. Steps are teacher-forced, so all ways compute the same. "
    "Those whose names begin with layer or tensor load libggml-locus.so, which makes a device of each node; kv- preloads "
    "liblocus-kv.so. On a machine with one node they divide it in two: so the price of dividing can be measured, and what it is "
    "worth cannot.\n\n"
    "stock may repack weights for kernels of its own (AMX). Our devices compute them as they lie, so equal work is stock-plain.\n\n"
    "Examples:\n"
    "  locus engine                                 the smallest model, a minute\n"
    "  locus engine 24x16x2x64 --prompt 1990        530 MB of weights, a longer context\n"
    "  locus engine Qwen2.5-0.5B -c stock,tensor\n"
    "  locus guest engine                           two emulated nodes: what is remote, as counts\n\n"
    "Exit status: 0 all gates passed, 1 an arm is INVALID, llama.cpp is not here, or the run failed, 2 bad input.";

static error_t take_number(struct argp_state *state, const char *name, const char *argument, uint64_t most, uint32_t *out)
{
    uint64_t number;
    if (!tb_cli_u64(argument, 1, most, &number))
        return tb_cli_bad(state, "--%s: '%s' is not a number from 1 to %llu", name, argument, (unsigned long long)most);
    *out = (uint32_t)number;
    return 0;
}

static error_t take_kv(struct argp_state *state, const char *argument, struct arguments *arguments)
{
    arguments->settings.kv_type[0] = '\0';
    bool is_type = argument[0] == 'f' || argument[0] == 'b';
    if (!is_type || !tb_engine_setting(&arguments->settings, argument))
        return tb_cli_bad(state, "--kv: '%s' is not f16, bf16 or f32", argument);
    return 0;
}

static error_t take_model(struct argp_state *state, const char *name, struct arguments *arguments)
{
    char why[300];
    if (arguments->models_count == CELLS_MAX)
        return tb_cli_bad(state, "%s: at most %u models", name, CELLS_MAX);
    if (tb_model_complete(name, &(struct tb_model){0}, why, sizeof why))
        return tb_cli_bad(state, "%s", why);
    arguments->models[arguments->models_count++] = name;
    return 0;
}

// Ways to run the engine are no contenders, so this flag is not the shared one.
static error_t take_arms(struct argp_state *state, const char *list, struct tb_options *options)
{
    char words[1024], *rest = words, *name, why[300];
    if (snprintf(words, sizeof words, "%s", list) >= (int)sizeof words)
        return tb_cli_bad(state, "--contenders: too long");
    while ((name = strsep(&rest, ",")))
        if (tb_engine_arms_add(options->arms, &options->arms_count, name, why, sizeof why))
            return tb_cli_bad(state, "%s", why);
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    arguments->rounds_given |= key == TB_KEY_ROUNDS;
    uint32_t number = 0;
    error_t error;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->options.forms; return 0;
    case ARGP_KEY_ARG: return take_model(state, argument, arguments);
    case KEY_PROMPT: return take_number(state, "prompt", argument, 1u << 20, &arguments->settings.prompt_tokens);
    case KEY_BATCH: return take_number(state, "batch", argument, 256, &arguments->settings.batch);
    case KEY_CONTEXT: return take_number(state, "context", argument, TB_ENGINE_CONTEXT_MAX, &arguments->settings.context_tokens);
    case KEY_KV: return take_kv(state, argument, arguments);
    case KEY_STEPS:
        error = take_number(state, "steps", argument, TB_ENGINE_STEPS_MAX, &number);
        arguments->options.laps = number;
        return error;
    case TB_KEY_CONTENDERS: return take_arms(state, argument, &arguments->options);
    default: return tb_options_parse(key, argument, state, &arguments->options);
    }
}

static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    char *all = NULL;
    size_t bytes = 0;
    FILE *out = key == ARGP_KEY_HELP_EXTRA ? open_memstream(&all, &bytes) : NULL;
    if (!out)
        return key == ARGP_KEY_HELP_EXTRA ? NULL : (char *)(uintptr_t)text;
    fputs("Ways to run it:\n", out);
    for (size_t i = 0; tb_engine_arm_at(i); i++)
        tb_cli_listed(out, tb_engine_arm_at(i)->name, tb_engine_arm_at(i)->summary, "");
    return fclose(out) == 0 ? all : NULL;
}

static int choose_arms(struct tb_options *options, bool several)
{
    const char *const *names = several ? defaults_nodes : defaults;
    char why[300];
    bool given = options->arms_count > 0;
    for (size_t i = 0; !given && names[i]; i++) {
        const struct tb_engine_arm *arm = tb_engine_arm_find(names[i]);
        if (arm->before[0] && !tb_engine_arm_can_start(arm))
            tb_error("%s is not installed, so %s is left out", arm->before[0], arm->name);
        else if (tb_engine_arms_add(options->arms, &options->arms_count, names[i], why, sizeof why))
            return -EINVAL;
    }
    return 0;
}

static int cell_open(struct arguments *arguments, uint32_t at, struct tb_cell *cell, char name[160], struct tb_schedule **schedule)
{
    const struct tb_engine_settings *settings = &arguments->settings;
    char why[400] = "", words[64];
    tb_engine_settings_text(settings, words, sizeof words);
    snprintf(name, 160, "%.80s/%s", arguments->models[at], words);
    int error = tb_engines_open(arguments->models[at], settings, schedule, why, sizeof why);
    if (error)
        tb_error("%s", why[0] ? why : strerror(-error));
    *cell = (struct tb_cell){.schedule = *schedule,
                             .name = name,
                             .workload = arguments->models[at],
                             .touch = TB_TOUCH_ENGINE,
                             .laps = (uint32_t)arguments->options.laps,
                             .laps_warmup = 3,
                             .engine = *settings};
    return error;
}

static int measure(struct arguments *arguments, const struct tb_engines_machine *machine)
{
    static struct tb_cell cells[CELLS_MAX];
    static char names[CELLS_MAX][160];
    struct tb_schedule *schedules[CELLS_MAX] = {NULL};
    int error = tb_options_outputs(&arguments->options); // before a model is made
    for (uint32_t i = 0; i < arguments->models_count && !error; i++)
        error = cell_open(arguments, i, &cells[i], names[i], &schedules[i]);
    arguments->options.here = json_pack("{s:i}", "devices", (int)machine->devices);
    const char *about = !machine->divided
                            ? NULL
                            : "This machine has one node, on which nothing is remote: its two halves stand for two nodes, so "
                              "that what dividing costs is seen. What it is worth takes two sockets; which reads would be "
                              "remote is counted by `locus guest engine`.";
    int status = error ? TB_EXIT_FAILED : tb_options_run(&arguments->options, cells, arguments->models_count, "engine", about);
    json_decref(arguments->options.here);
    for (uint32_t i = 0; i < arguments->models_count; i++)
        free(schedules[i]);
    return status;
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp_child children[] = {{&tb_forms_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {option_table, parse, "[MODEL...]", documentation, children, help_filter, NULL};
    char why[300];
    bool emulated = getenv("LOCUS_GUEST") != NULL;
    tb_options_init(&arguments.options);
    arguments.options.unpinned = true;
    arguments.options.rounds = emulated ? ROUNDS_EMULATED : ROUNDS;
    arguments.options.laps = emulated ? STEPS_EMULATED : STEPS;
    arguments.options.workers = TB_WORKERS_MAX; // every CPU (measure/engines/process.c)
    int status = tb_cli_parse(&argp, "engine", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    if (!arguments.models_count)
        arguments.models[arguments.models_count++] = TB_MODEL_TINY;
    if (!arguments.settings.prompt_tokens)
        arguments.settings.prompt_tokens = PROMPT;
    tb_engine_settings_fill(&arguments.settings);
    struct tb_engines_machine machine;
    int error = tb_engines_machine(&machine);
    if (error)
        snprintf(why, sizeof why, "engine: no node here has memory and CPUs that this process may use (%s)", strerror(-error));
    if (error || !tb_engines_here(why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_FAILED;
    }
    return choose_arms(&arguments.options, !machine.divided) ? TB_EXIT_FAILED : measure(&arguments, &machine);
}

TB_COMMAND(85, "engine", "which way to run llama.cpp here, and what is each worth?", command);
