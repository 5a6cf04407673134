// SPDX-License-Identifier: Apache-2.0
//
// advise_page: one page in the making. advise_text.c has what was found, advise_answer.c what follows from it.
#ifndef TB_ADVISE_PAGE_H
#define TB_ADVISE_PAGE_H

#include "testbed/report/advise/advise.h"
#include "testbed/report/board/board.h"

enum { TB_ADVISE_COLUMNS = 80 };

struct tb_advise_page {
    FILE *out;
    const struct tb_advise *advise;
    struct tb_advise_result result;
};

void tb_advise_print_words(const struct tb_advise_page *page, const struct tb_words *words, int indent);
void tb_advise_say_nodes(struct tb_words *words, const struct locus_nodes *nodes); // "nodes 0, 1"

// "12.3 %", and "0 %" and "100 %" of exactly these only; "-" of nothing. Needs 16 bytes.
const char *tb_advise_share(char *out, uint64_t part, uint64_t whole);

// advise_answer.c
void tb_advise_print_answer(const struct tb_advise_page *page);     // what to use, and how: from times, hardware only
void tb_advise_print_counts(const struct tb_advise_page *page);     // what stays local and what does not: emulated
void tb_advise_print_unmeasured(const struct tb_advise_page *page);

#endif
