// SPDX-License-Identifier: Apache-2.0
//
// main: the program `locus`. One table of commands; each is one file in cli/. What is measured is another program (lap_main.c).

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/nearest.h"
#include "testbed/cli/commands.h"
#include "testbed/cli/inherited.h"

static const struct command {
    const char *name, *summary; // without a summary it is internal; with a star it is for a clone of the project
    int (*run)(int argc, char **argv);
} commands[] = {
    {"topo", "what this machine is: nodes, CPUs, memory, distances", tb_cmd_topo},
    {"matrix", "what it costs each node to reach the memory of each", tb_cmd_matrix},
    {"doctor", "is this host fit to measure, and what would make it so?", tb_cmd_doctor},
    {"counters", "what can be counted here beside the time, and why not the rest", tb_cmd_counters},
    {"eval", "the scoreboard: contenders side by side on LOCUS-EVAL", tb_cmd_eval},
    {"replay", "the same on a recorded trace of requests", tb_cmd_replay},
    {"bench", "nanoseconds of the single operations", tb_cmd_bench},
    {"advise", "which placement to use here, and what it is worth", tb_cmd_advise},
    {"list", "the postulates, and what became of them *", tb_cmd_list},
    {"postulate", "new, check, file: predictions before the run *", tb_cmd_postulate},
    {"run", "one run of an experiment, and its verdict *", tb_cmd_run},
    {"record", "draft, file: what a run showed, for good *", tb_cmd_record},
    {"verify", "is the record whole, and as it was written? *", tb_cmd_verify},
    {"reproduce", "a log's run once more, from its header alone *", tb_cmd_reproduce},
    {"report", "one HTML page: what did this machine show?", tb_cmd_report},
    {"scoreboard", "the standing table of contenders, from the record", tb_cmd_scoreboard},
    {"compare", "all hosts side by side, or two runs", tb_cmd_compare},
    {"export", "a log as pyperf JSON", tb_cmd_export},
    {"packet", "all of it on this machine, in one sealed archive to send *", tb_cmd_packet},
    {"import", "another host's record, a packet or a folder, into this one *", tb_cmd_import},
    {"guest", "any of these in an emulated multi-node machine", tb_cmd_guest},
    {"__logging-effect", NULL, tb_cmd_logging_effect},
};

static void list(FILE *out)
{
    fprintf(out, "Usage: locus COMMAND [OPTION...]\n"
                 "Which allocator and placement should a KV cache use on this machine, and how much is it worth?\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].summary)
            fprintf(out, "  %-10s  %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n  * works on the postulates and logs of a clone of the project's repository: call it at the top of one\n"
                 "\n  locus COMMAND --help (or -h) explains a command, with examples; locus --version.\n"
                 "\nExit status: 0 done, 1 the run failed or a gate did, 2 bad input, or no command at all.\n");
}

// What a command printed and did not flush.
static int finish(int status)
{
    int flushed = tb_cli_flush();
    return status ? status : flushed;
}

static int unknown(const char *word)
{
    char meant[64];
    struct tb_nearest nearest = {.word = word};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].summary)
            tb_nearest_try(&nearest, commands[i].name);
    tb_error("unknown command '%s'%s (see: locus --help)", word, tb_nearest_say(&nearest, "", meant, sizeof meant));
    return TB_EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[0], commands[i].name) == 0)
            return finish(commands[i].run(argc, argv));
    return unknown(argv[0]);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
    static char page[1 << 16]; // a page goes out at once, so that the reason of a failed write is known
    tb_inherited_settle();
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, page, _IOFBF, sizeof page);
    if (argc < 2) {
        list(stderr);
        return TB_EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 && argc == 3) // "help eval", as others have it
        return run(2, (char *[]){argv[2], "--help", NULL});
    if (is_help(argv[1])) {
        list(stdout);
        return tb_cli_flush();
    }
    if (strcmp(argv[1], "--version") == 0)
        return tb_cli_version();
    return run(argc - 1, argv + 1);
}
