// SPDX-License-Identifier: Apache-2.0
//
// contiguous: what strategies have in common that give each sequence one piece of the region.
#ifndef TB_CONTIGUOUS_H
#define TB_CONTIGUOUS_H

#include "testbed/strategies/extents.h"
#include "testbed/strategies/strategy.h"

struct tb_contiguous {
    const struct tb_strategy_setup *setup;
    struct tb_extents extents;  // in tokens
    struct tb_piece {
        uint64_t start, length; // length 0: not live
        uint32_t tokens;        // in use
    } piece[];                  // [sequences]
};

int tb_contiguous_open(const struct tb_strategy_setup *setup, void **state);
void tb_contiguous_close(void *state);

// The whole length in advance: nothing to do.
int tb_contiguous_extend(void *state, uint32_t sequence, uint32_t tokens);
void tb_contiguous_cut(void *state, uint32_t sequence, uint32_t tokens);
void tb_contiguous_release(void *state, uint32_t sequence, bool keep);
void *tb_contiguous_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run);
void tb_contiguous_usage(void *state, uint64_t below, struct tb_usage *out);
int tb_contiguous_audit(void *state, char *why, size_t why_bytes);

#endif
