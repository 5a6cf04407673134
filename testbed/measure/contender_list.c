// SPDX-License-Identifier: Apache-2.0
//
// contender_list: prints all contenders of one node with their summaries. It uses the linker's list and the peers' folder, so a
// new contender appears in the help by itself.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/contender.h"
#include "testbed/measure/peers/peer.h"

enum { INDENT = 25, COLUMNS = 78, LISTED_MAX = 256 };

static void print_wrapped(FILE *out, const char *text)
{
    int column = INDENT;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column > INDENT && column + 1 + word > COLUMNS) {
            fprintf(out, "\n%*s", INDENT, "");
            column = INDENT;
        }
        column += fprintf(out, "%s%.*s", column > INDENT ? " " : "", word, text);
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct tb_contender *const *)a)->name, (*(const struct tb_contender *const *)b)->name);
}

void tb_contender_list(FILE *out)
{
    const struct tb_contender *listed[LISTED_MAX];
    size_t count = 0;
    for (const struct tb_contender *const *entry = __start_tb_contenders; entry < __stop_tb_contenders && count < LISTED_MAX;
         entry++)
        if ((*entry)->driver)
            listed[count++] = *entry;
    qsort(listed, count, sizeof *listed, by_name);
    for (size_t i = 0; i < count; i++) {
        bool by_path = strcmp(listed[i]->name, "malloc") == 0;
        fprintf(out, "  %-*s", INDENT - 2, by_path ? "malloc:/path/lib.so" : listed[i]->name);
        print_wrapped(out, listed[i]->summary);
    }
    tb_peer_list(out, INDENT);
    for (const struct tb_optional *optional = tb_optionals; optional->name; optional++)
        if (!tb_contender_find(optional->name))
            fprintf(out, "  %-*snot built in: install %s, then run make again\n", INDENT - 2, optional->name, optional->package);
}
