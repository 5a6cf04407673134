// SPDX-License-Identifier: Apache-2.0
//
// locus guest: a command in an emulated machine with several nodes. The work is in testbed/guest/boot.sh; here is what a person
// meets: options that are checked and a help that says what the emulated figures are good for. This process becomes the script, so
// output and exit status need no passing on.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/share.h"
#include "testbed/cli/command.h"
#include "testbed/measure/engines/plan.h"

#define TIMEOUT_MAX 86400 // a day, in seconds: more is a typing error
#define WORDS_MAX 16      // that the script is called with, without files and the command

struct arguments {
    const char *machine, *program, *accesses;
    char script[4096];
    uint64_t timeout_s;
    bool keep, balancing, engine;
    const char **with;          // [argc], the caller's
    size_t with_count;
};

enum { KEY_TIMEOUT = 0x100, KEY_PROGRAM, KEY_WITH, KEY_BALANCING, KEY_ACCESSES, KEY_KEEP, KEY_ENGINE };

static const struct argp_option options[] = {
    {"machine", 'm', "NAME", 0, "One of the machines below (n2)", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "How long the command may take (600)", 0},
    {"program", KEY_PROGRAM, "FILE", 0, "Run this program instead of locus: a test, a script; locus is in its PATH", 0},
    {"with", KEY_WITH, "FILE", 0, "Take a file along, or a folder's files: /with/NAME inside (repeatable)", 0},
    {"engine", KEY_ENGINE, NULL, 0, "Take llama.cpp along, and what runs it; the command `engine` has it anyway", 0},
    {"balancing", KEY_BALANCING, NULL, 0, "Automatic NUMA balancing on; it is off otherwise", 0},
    {"accesses", KEY_ACCESSES, "FILE", 0, "The emulator counts loads and stores of the pools by pairs of nodes, into this file", 0},
    {"keep", KEY_KEEP, NULL, 0, "Leave the console, dmesg and vmstat in build/guest/NAME", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'm': arguments->machine = argument; return 0; // the script knows which there are
    case KEY_TIMEOUT:
        if (!tb_cli_u64(argument, 1, TIMEOUT_MAX, &arguments->timeout_s))
            return tb_cli_bad(state, "--timeout: '%s' is not a number of seconds from 1 to %d", argument, TIMEOUT_MAX);
        return 0;
    case KEY_PROGRAM: arguments->program = argument; return 0;
    case KEY_WITH: arguments->with[arguments->with_count++] = argument; return 0;
    case KEY_BALANCING: arguments->balancing = true; return 0;
    case KEY_ENGINE: arguments->engine = true; return 0;
    case KEY_ACCESSES:
        if (!*argument || strchr(argument, ',') || strcmp(argument, "-") == 0)
            return tb_cli_bad(state, "--accesses: '%s' cannot be passed on to QEMU: take a name without a comma", argument);
        arguments->accesses = argument;
        return 0;
    case KEY_KEEP: arguments->keep = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Runs a locus command in an emulated machine with several nodes.\v"
    "A real Linux kernel in QEMU, so placement, page counts and policies are exact there. Time is not: the emulator knows no "
    "latency, local and remote memory take the same time. Nothing that it measures in seconds says anything about hardware.\n\n"
    "Machines: n1 one node; n2 two; n4 four, with distances that differ by direction; cxl two and one that is only memory; odd "
    "a 64 MiB node, one without memory, one without CPUs; hot two and a third whose memory goes offline in mid-run, by "
    "`offline-node 2` inside (online-node 2 brings it back); arm is n2 on aarch64, for programs that were built for it (make "
    "test-arm64 does that).\n\n"
    "Output and exit status are the command's own, and come at its end; until then a terminal shows how long it has been "
    "running and what it printed last. Inside, LOCUS_GUEST is the name of the machine. In a clone of the project the working "
    "directory is a copy of it without other hosts' logs, and what the command logs comes back, ledger and log of a run while it "
    "runs: if the machine is killed, that run is on record as crashed. Anywhere else the working directory is empty.\n\n"
    "--with: a file lies in /with under its name, /with is in PATH, and LOCUS_TRACES is /with, so that recorded traces are found. "
    "A program of the project (executable, below its folder) lies where it lies at home instead, and that folder is in PATH. "
    "What is too much for the machine's memory is refused. --balancing: the kernel moves pages to those who use them, in mid-run, "
    "and no count of pages holds any more; that is why it is off.\n\n"
    "Examples:\n"
    "  locus guest topo\n"
    "  locus guest -m cxl topo --json\n"
    "  locus guest -- run 0005                     three minutes or so, in a clone\n"
    "  locus guest --with trace.jsonl -- replay /with/trace.jsonl\n"
    "  locus guest engine                          llama.cpp on two nodes, after make engine\n"
    "  locus guest -m odd --program build/gcc/placement/memory/tests/unit -- --filter 'region*/*'\n\n"
    "--accesses: the emulator is a second witness of what a run of many nodes counts. A line of FILE has window, node of the "
    "CPU, node of the page, loads, their bytes, stores and their bytes; `sh testbed/guest/agree.sh LOG FILE` compares it with the "
    "log of that run, of touch decode. It takes a build of the project (make tests).\n\n"
    "QEMU and the kernel are fetched by testbed/guest/fetch.sh, or share/locus/guest/fetch.sh of an installation: 150 MB in "
    "build/guest of a clone, or in ~/.cache/locus/guest, and nothing is installed. Without them the error has the command.\n\n"
    "Exit status: the command's; 124 it took too long, 99 the machine failed and not the command, 77 QEMU is missing, 2 bad "
    "input.";

// Does this word take the next one as its value? ("-m cxl", but not "-mcxl" and not "--machine=cxl")
static bool takes_value(const char *word)
{
    for (const struct argp_option *option = options; option->name; option++) {
        const char letter[] = {'-', (char)option->key, '\0'};
        if (option->arg && (strcmp(word, letter) == 0 || (strncmp(word, "--", 2) == 0 && strcmp(word + 2, option->name) == 0)))
            return true;
    }
    return false;
}

// Where our options end: at "--", or at the first word that is none. argp would take the command's options for ours.
static int options_end(int argc, char **argv)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--"))
        i += takes_value(argv[i]) ? 2 : 1;
    return i < argc ? i : argc;
}

static void fill(const char **argv, const struct arguments *arguments, const char *timeout, const char *self, const char *accesses)
{
    const char *const first[] = {"sh", arguments->script, "--machine", arguments->machine, "--timeout", timeout};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        *argv++ = first[i];
    for (size_t i = 0; i < arguments->with_count; i++) {
        *argv++ = "--with";
        *argv++ = arguments->with[i];
    }
    if (arguments->program) {
        *argv++ = "--with";
        *argv++ = self;
    }
    if (arguments->balancing)
        *argv++ = "--balancing";
    if (arguments->accesses) {
        *argv++ = "--accesses";
        *argv++ = accesses;
    }
    if (arguments->keep)
        *argv++ = "--keep";
    *argv++ = "--";
    *argv = arguments->program ? arguments->program : self;
}

static int become_script(const struct arguments *arguments, char **command, int count)
{
    char timeout[24], self[4096], accesses[8300];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        tb_error("guest: which program is this? /proc/self/exe: %s", strerror(errno));
        return TB_EXIT_FAILED;
    }
    self[length] = '\0';
    int folder = (int)(strrchr(self, '/') - self); // of the build: the plugin is in it
    snprintf(accesses, sizeof accesses, "%.*s/testbed/guest/plugin,out=%.4095s", folder, self,
             arguments->accesses ? arguments->accesses : "");
    if (arguments->engine) { // engine/guest.sh takes its programs from the build that this one is of
        char build[4096];
        snprintf(build, sizeof build, "%.*s", folder, self);
        setenv("BUILD", build, 1);
    }
    snprintf(timeout, sizeof timeout, "%llu", (unsigned long long)arguments->timeout_s);
    size_t own = WORDS_MAX + 2 * arguments->with_count;
    const char **argv = calloc(own + (size_t)count + 1, sizeof *argv);
    if (!argv) {
        tb_error("out of memory");
        return TB_EXIT_FAILED;
    }
    fill(argv, arguments, timeout, self, accesses);
    for (own = 0; argv[own];)
        own++;
    memcpy(argv + own, command, (size_t)count * sizeof *argv);
    execvp("sh", (char *const *)argv);
    tb_error("guest: cannot start sh: %s", strerror(errno));
    free(argv);
    return TB_EXIT_FAILED;
}

static int run(struct arguments *arguments, int argc, char **argv)
{
    const struct argp argp = {options, parse, "[--] COMMAND [ARGUMENT...]", documentation, NULL, NULL, NULL};
    int own = options_end(argc, argv);
    int command = own < argc && strcmp(argv[own], "--") == 0 ? own + 1 : own;
    int status = tb_cli_parse(&argp, "guest", own, argv, arguments);
    if (status != TB_CLI_RUN)
        return status;
    if (command == argc && !arguments->program) {
        tb_error("guest: which command? For example: locus guest topo (see: locus guest --help)");
        return TB_EXIT_USAGE;
    }
    char why[1024];
    arguments->engine |= command < argc && !arguments->program && strcmp(argv[command], "engine") == 0;
    if (arguments->engine && strcmp(arguments->machine, "arm") == 0) {
        tb_error("guest: this build's engine does not run on the machine arm: see testbed/engine/tests/engine_arm64.sh");
        return TB_EXIT_USAGE;
    }
    if (arguments->engine && !tb_engines_here(why, sizeof why)) {
        tb_error("guest: %s", why);
        return TB_EXIT_USAGE;
    }
    if (tb_share(arguments->engine ? "engine/guest.sh" : "guest/boot.sh", arguments->script, sizeof arguments->script, why,
                 sizeof why)) {
        tb_error("guest: %s", why);
        return TB_EXIT_USAGE;
    }
    return become_script(arguments, argv + command, argc - command);
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {.machine = "n2", .timeout_s = 600};
    arguments.with = calloc((size_t)argc, sizeof *arguments.with);
    if (!arguments.with) {
        tb_error("out of memory");
        return TB_EXIT_FAILED;
    }
    int status = run(&arguments, argc, argv);
    free(arguments.with);
    return status;
}

TB_COMMAND(190, "guest", "any of these in an emulated multi-node machine", command);
