// SPDX-License-Identifier: Apache-2.0
//
// commands: one function per subcommand of `locus`, each in NAME.c here or in NAME/. argv[0] is the command's name, the result is
// the exit status.
#ifndef TB_COMMANDS_H
#define TB_COMMANDS_H

int tb_cmd_topo(int argc, char **argv);
int tb_cmd_matrix(int argc, char **argv);
int tb_cmd_doctor(int argc, char **argv);
int tb_cmd_counters(int argc, char **argv);
int tb_cmd_eval(int argc, char **argv);
int tb_cmd_replay(int argc, char **argv);
int tb_cmd_bench(int argc, char **argv);
int tb_cmd_advise(int argc, char **argv);
int tb_cmd_list(int argc, char **argv);
int tb_cmd_run(int argc, char **argv);
int tb_cmd_postulate(int argc, char **argv);
int tb_cmd_verify(int argc, char **argv);
int tb_cmd_record(int argc, char **argv);
int tb_cmd_reproduce(int argc, char **argv);
int tb_cmd_report(int argc, char **argv);
int tb_cmd_scoreboard(int argc, char **argv);
int tb_cmd_compare(int argc, char **argv);
int tb_cmd_export(int argc, char **argv);
int tb_cmd_packet(int argc, char **argv);
int tb_cmd_import(int argc, char **argv);
int tb_cmd_guest(int argc, char **argv);
int tb_cmd_logging_effect(int argc, char **argv); // internal: `make logging-effect`

// Complains of each ledger that is broken. TB_EXIT_OK, or TB_EXIT_FAILED.
struct tb_store;
int tb_ledgers_whole(const struct tb_store *store);

#endif
