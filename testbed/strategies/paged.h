// SPDX-License-Identifier: Apache-2.0
//
// paged: what the strategies with the library's pool have in common: its pool over the region, a table for each sequence, and the
// promises by which they admit.
#ifndef TB_PAGED_H
#define TB_PAGED_H

#include "locus/reservation.h"
#include "testbed/strategies/strategy.h"

struct tb_paged {
    const struct tb_strategy_setup *setup;
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_reservations *promises;
    struct locus_prefix *prefix; // NULL: nothing is kept
    uint32_t blocks, block_tokens;
    struct locus_id *ids;       // for one prompt; NULL without a prefix cache
    struct tb_paged_sequence {
        struct locus_table *table; // made for the longest sequence at the first admission in this place
        struct locus_reservation promise;
        uint32_t tokens;
        struct locus_id *ids;   // to be published when the prompt is computed
        uint32_t ids_count;
    } sequence[];               // [sequences]
};

// `shared`: blocks may have several holders; then a block counts as one byte a token, unless calls are timed, so that the library's
// copies touch little memory and the tags say what was copied.
int tb_paged_open(const struct tb_strategy_setup *setup, enum locus_admission admission, bool shared, struct tb_paged **out);
void tb_paged_close(void *state);

// The table of a sequence that is to be admitted.
int tb_paged_table(struct tb_paged *paged, struct tb_paged_sequence *sequence);
uint32_t tb_paged_blocks(const struct tb_paged *paged, uint64_t tokens);

void *tb_paged_at(void *state, uint32_t at, uint32_t position, uint32_t *run);
void tb_paged_usage(void *state, uint64_t below, struct tb_usage *out);
int tb_paged_audit(void *state, char *why, size_t why_bytes);

#endif
