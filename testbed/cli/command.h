// SPDX-License-Identifier: Apache-2.0
//
// command: a subcommand of `locus`. Adding one is adding one file: the linker keeps the list, and main.c shows it by `place`.
#ifndef TB_COMMAND_H
#define TB_COMMAND_H

struct tb_command {
    unsigned place;             // in `locus --help`, beside the others' tens
    const char *name, *summary; // one word or two, "report compare"; with a star: it works on a clone of the project
    int (*run)(int argc, char **argv); // argv[0] is the last word of the name; an exit status
};

// As TB_CONTENDER (measure/contender.h). The last line of a command's file.
#define TB_COMMAND(place, name, summary, run)                                                                                      \
    static const struct tb_command command_entry = {place, name, summary, run};                                                    \
    static const struct tb_command *const command_listed __attribute__((used, retain, section("tb_commands"))) = &command_entry

extern const struct tb_command *const __start_tb_commands[];
extern const struct tb_command *const __stop_tb_commands[];

// inherited.c: puts right what this process got from its parent and what would spoil a run or silence its errors. First thing in
// main(), while there is one thread.
void tb_inherited_settle(void);

#endif
