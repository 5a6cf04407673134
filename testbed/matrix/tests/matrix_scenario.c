// SPDX-License-Identifier: Apache-2.0
//
// matrix_scenario [full] [rounds=N] [kinds=NUMBER,...] [then=COMMAND]: plans this machine's matrix, runs COMMAND (which may take
// a node away), then the matrix, and prints one line a cell:
//
//   KIND INITIATOR MEMORY TARGET THREADS DELAY WORKING-SET STATE SAMPLES PLANNED MOVED PAGES THERE VERIFIED PAGE-BYTES VALUE
//   BANDWIDTH WHY
//
// KIND and STATE are the numbers of matrix.h. The last line is "took SECONDS". Exit status: 0; 1 it could not be run.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/matrix/matrix.h"
#include "topo/topo.h"

static int failed(const char *what, int error)
{
    fprintf(stderr, "matrix_scenario: %s: %s\n", what, strerror(-error));
    return 1;
}

static void want_kinds(struct tb_matrix_config *config, const char *list)
{
    char *rest = NULL;
    memset(config->kinds, 0, sizeof config->kinds);
    for (unsigned long kind = strtoul(list, &rest, 10); kind < TB_MATRIX_KINDS; kind = strtoul(rest + 1, &rest, 10)) {
        config->kinds[kind] = true;
        if (*rest != ',')
            return;
    }
}

static void print(const struct tb_matrix *matrix)
{
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        printf("%d %d %d %d %u %u %" PRIu64 " %d %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %.6g %.6g %s\n",
               (int)cell->kind, cell->initiator, cell->memory, cell->target, cell->threads, cell->delay, cell->working_set_bytes,
               (int)cell->state, cell->samples, cell->bytes_planned, cell->bytes_moved, cell->placement.pages,
               cell->placement.pages_there, cell->placement.verified, cell->placement.page_bytes, cell->value.estimate,
               cell->bandwidth, cell->why);
    }
    printf("took %.1f\n", (double)matrix->took_ns / 1e9);
}

int main(int argc, char **argv)
{
    struct tb_matrix_config config = {.seed = 1};
    struct tb_matrix_caches caches;
    struct tb_matrix matrix;
    struct locus_topo *topo;
    const char *command = NULL;
    char why[256] = "";
    memset(config.kinds, 1, sizeof config.kinds);
    for (int i = 1; i < argc; i++) {
        config.full = config.full || strcmp(argv[i], "full") == 0;
        if (strncmp(argv[i], "rounds=", 7) == 0)
            config.rounds = (unsigned)atoi(argv[i] + 7);
        if (strncmp(argv[i], "kinds=", 6) == 0)
            want_kinds(&config, argv[i] + 6);
        if (strncmp(argv[i], "then=", 5) == 0)
            command = argv[i] + 5;
    }
    int result = locus_topo_open(&topo, NULL, why, sizeof why);
    if (result)
        return failed(why, result);
    tb_matrix_caches_read("", locus_topo_cpus(topo)[0].os_index, &caches);
    result = tb_matrix_plan(&matrix, topo, &caches, &config);
    if (result)
        return failed("no plan", result);
    if (command && system(command) != 0)
        return failed(command, -1);
    result = tb_matrix_run(&matrix, topo, NULL, NULL);
    if (!result)
        print(&matrix);
    tb_matrix_close(&matrix);
    locus_topo_close(topo);
    return result ? failed("no run", result) : 0;
}
