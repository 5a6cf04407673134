// SPDX-License-Identifier: Apache-2.0
//
// inlines: a symbol in the library for each inline function of the public headers. Languages that read no C headers call it, and
// so does C code when the compiler does not inline. C99 puts the symbols of this room's functions here; the test of the installed
// library checks the list against the headers.
#include "locus/block.h"
#include "locus/inline.h"
#include "locus/lane.h"
#include "locus/route.h"
#include "locus/table.h"

extern inline locus_block locus_block_make(uint32_t home, uint32_t index, uint32_t generation);
extern inline uint32_t locus_block_home(locus_block block);
extern inline uint32_t locus_block_index(locus_block block);
extern inline uint32_t locus_block_generation(locus_block block);

extern inline void locus_mailbox_init(struct locus_mailbox *mailbox);
extern inline void locus_mailbox_push(struct locus_mailbox *mailbox, struct locus_link *link);
extern inline bool locus_mailbox_empty(const struct locus_mailbox *mailbox);
extern inline bool locus_mailbox_arrived(const struct locus_mailbox *mailbox);
extern inline struct locus_link *locus_mailbox_take_all(struct locus_mailbox *mailbox, bool *alone);
extern inline struct locus_link *locus_mailbox_take(struct locus_mailbox *mailbox);

extern inline locus_block locus_table_at(const struct locus_table *table, uint64_t position);
extern inline uint64_t locus_table_blocks_for(const struct locus_table *table, uint64_t tokens);
extern inline uint32_t locus_table_count(const struct locus_table *table);
extern inline uint32_t locus_table_dropped(const struct locus_table *table);
extern inline uint64_t locus_table_tag(const struct locus_table *table);
extern inline void locus_table_set_tag(struct locus_table *table, uint64_t tag);

extern inline uintptr_t locus_lane_parity(uint32_t turn);
extern inline bool locus_lane_reopen(struct locus_lane *lane);
extern inline bool locus_lane_send(struct locus_lane *lane, void *parcel);
extern inline void *locus_lane_take(struct locus_lane *lane, struct locus_lane_end *end);
extern inline void *locus_lane_next(struct locus_lane *lane, struct locus_lane_end *end, struct locus_link **links, bool *alone);
extern inline bool locus_lane_empty(const struct locus_lane *lane, const struct locus_lane_end *end);

extern inline struct locus_pool_hot *locus_pool_hot(struct locus_pool *pool);
extern inline void *locus_pool_address_inline(const struct locus_pool *pool, locus_block block);
extern inline void locus_pool_fetch(const struct locus_pool_hot *hot, const locus_block *next);
extern inline bool locus_pool_has(const struct locus_pool_hot *hot, uint32_t count);
extern inline bool locus_pool_has_one(const struct locus_pool_hot *hot);
extern inline locus_block locus_pool_alloc_fast(struct locus_pool_hot *hot);
extern inline void locus_pool_alloc_bulk_fast(struct locus_pool_hot *hot, uint32_t count, locus_block out[]);
extern inline locus_block locus_pool_alloc_inline(struct locus_pool *pool);

extern inline struct locus_owner_hot *locus_owner_hot(struct locus_owner *owner);
extern inline bool locus_owner_is_here(const struct locus_owner_hot *hot);
extern inline bool locus_owner_grow_one_fast(struct locus_owner *owner, struct locus_table *table);
extern inline bool locus_owner_grow_fast(struct locus_owner *owner, struct locus_table *table, uint32_t count);
extern inline int locus_owner_grow_inline(struct locus_owner *owner, struct locus_table *table, uint32_t count);
extern inline uint32_t locus_owner_drain_inline(struct locus_owner *owner);
extern inline struct locus_table *locus_owner_next_reclaimed_inline(struct locus_owner *owner);
extern inline int locus_table_push_inline(const struct locus_route *route, struct locus_table *table);
