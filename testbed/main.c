// SPDX-License-Identifier: Apache-2.0
//
// main: finds the command and calls it. Each command is a file in cli/. The measured process is another program
// (measure/lap_main.c).

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/nearest.h"
#include "testbed/cli/command.h"

enum { COMMANDS_MAX = 64 };

static const struct tb_command *commands[COMMANDS_MAX];
static size_t commands_count;

static int by_place(const void *left, const void *right)
{
    const struct tb_command *const *a = left, *const *b = right;
    return (*a)->place < (*b)->place ? -1 : 1;
}

static void commands_collect(void)
{
    for (const struct tb_command *const *entry = __start_tb_commands; entry < __stop_tb_commands; entry++)
        if (commands_count < COMMANDS_MAX)
            commands[commands_count++] = *entry;
    qsort(commands, commands_count, sizeof *commands, by_place);
}

static void list(FILE *out)
{
    fprintf(out, "Usage: locus COMMAND [OPTION...]\n"
                 "Which allocator and placement should a KV cache use on this machine, and how much is it worth?\n\n");
    for (size_t i = 0; i < commands_count; i++)
        fprintf(out, "  %-16s  %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n  * works on the postulates and logs of a clone of the project's repository: run it at the top of one\n"
                 "\n  locus COMMAND --help (or -h) explains a command, with examples. locus --version prints the version.\n"
                 "\nExit status: 0 success, 1 the run or a gate failed, 2 bad input or no command.\n");
}

// Flushes what a command has printed.
static int finish(int status)
{
    int flushed = tb_cli_flush();
    return status ? status : flushed;
}

// Also "compare", of "report compare".
static int unknown(const char *word)
{
    char meant[64];
    struct tb_nearest nearest = {.word = word};
    const char *name = NULL;
    for (size_t i = 0; i < commands_count; i++) {
        const char *last = strrchr(commands[i]->name, ' '), *before = nearest.best;
        tb_nearest_try(&nearest, last ? last + 1 : commands[i]->name);
        name = nearest.best != before ? commands[i]->name : name;
    }
    nearest.best = name;
    tb_error("unknown command '%s'%s (see: locus --help)", word, tb_nearest_say(&nearest, "", meant, sizeof meant));
    return TB_EXIT_USAGE;
}

// How many words of the command line are this command's name.
static int name_words(const struct tb_command *command, int argc, char **argv)
{
    char two[64];
    snprintf(two, sizeof two, "%s %s", argv[0], argc > 1 ? argv[1] : "");
    return strcmp(two, command->name) == 0 ? 2 : strcmp(argv[0], command->name) == 0;
}

static int run(int argc, char **argv)
{
    const struct tb_command *command = NULL;
    int words = 0;
    for (size_t i = 0; i < commands_count; i++) {
        int matched = name_words(commands[i], argc, argv);
        if (matched > words) {
            words = matched;
            command = commands[i];
        }
    }
    return command ? finish(command->run(argc - words + 1, argv + words - 1)) : unknown(argv[0]);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
    static char page[1 << 16]; // a page is written at once, so that the reason for a failed write is known
    tb_inherited_settle();
    commands_collect();
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, page, _IOFBF, sizeof page);
    if (argc < 2) {
        list(stderr);
        return TB_EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 && argc == 3) // "help eval", as others have it
        return run(2, (char *[]){argv[2], "--help", NULL});
    if (strcmp(argv[1], "help") == 0 && argc == 4)
        return run(3, (char *[]){argv[2], argv[3], "--help", NULL});
    if (is_help(argv[1])) {
        list(stdout);
        return tb_cli_flush();
    }
    if (strcmp(argv[1], "--version") == 0)
        return tb_cli_version();
    return run(argc - 1, argv + 1);
}
