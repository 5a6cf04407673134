// SPDX-License-Identifier: Apache-2.0
//
// inlines: a symbol in the library for each inline function of the public headers. Languages that read no C headers call it, and
// so does C code when the compiler does not inline. C99 puts the symbols of this room's functions here; the test of the installed
// library checks the list against the headers.
#include "placement/blocks/block.h"
#include "placement/blocks/mailbox.h"
#include "placement/blocks/table.h"

extern inline locus_block locus_block_make(uint32_t home, uint32_t index, uint32_t generation);
extern inline uint32_t locus_block_home(locus_block block);
extern inline uint32_t locus_block_index(locus_block block);
extern inline uint32_t locus_block_generation(locus_block block);

extern inline void locus_mailbox_init(struct locus_mailbox *mailbox);
extern inline void locus_mailbox_push(struct locus_mailbox *mailbox, struct locus_link *link);
extern inline bool locus_mailbox_empty(const struct locus_mailbox *mailbox);
extern inline struct locus_link *locus_mailbox_take_all(struct locus_mailbox *mailbox, bool *alone);
extern inline struct locus_link *locus_mailbox_take(struct locus_mailbox *mailbox);

extern inline locus_block locus_table_at(const struct locus_table *table, uint64_t position);
extern inline uint64_t locus_table_blocks_for(const struct locus_table *table, uint64_t tokens);
extern inline uint32_t locus_table_count(const struct locus_table *table);
extern inline uint64_t locus_table_tag(const struct locus_table *table);
extern inline void locus_table_set_tag(struct locus_table *table, uint64_t tag);
