// SPDX-License-Identifier: Apache-2.0
//
// share: block tables that hold the same blocks. Beam search, parallel samples, drafts and common prompts fork a sequence instead
// of computing it again.
//
//     fork(from, to)             `to` holds all blocks of `from`; nothing is copied
//     write(table, ...)          before tokens are written: room for them, in blocks that nobody else holds. A shared one is copied
//     truncate_tokens(table, n)  the sequence ends there
//
// The pool counts how many tables hold each of its blocks. A block goes home when its last holder lets it go: by
// locus_owner_truncate() or its like in tokens, or by retire and push. Holders may leave in any order. All have the same handle. A
// grow that waits for tables in flight may wait in vain, up to wait_ns, if others still hold their blocks.
//
// Copy on write. The first tokens of a block that is only partly filled are copied with as many bytes as are in use, and only if
// somebody else holds the block; the last holder takes it over and writes in place. A block that is published (prefix.h) is always
// copied, since later requests will read it.
//
// Tags. If the pool keeps tags, it keeps one for each holder: locus_pool_each_out() reports them all, and a shared block is let go
// only under a tag that holds it (LOCUS_FREE_NOT_HELD), down to its last holder. So set a table's tag before it holds blocks, and
// give each table one of its own; what locus_pool_alloc() hands out is held under 0. The tag of a block that has had one holder
// only is not compared. Without tags, a request that frees a shared block twice takes it from another one, whose own free is then
// refused; what is refused without tags is a handle that nobody holds any more.
//
// Several homes. Only a home's owner counts that home's holders, so a fork of a table with blocks of several homes takes a call by
// each of their owners: locus_owner_fork_at(). Until then neither table may be retired. A foreign block that is written is always
// copied, to the writer's home, and its old handle goes home in a table of its own: locus_domain_write() in domain.h.
//
// Threads: owner context, and the tables must be the caller's (table.h).
#ifndef LOCUS_SHARE_H
#define LOCUS_SHARE_H

#include "owner.h"

#ifdef __cplusplus
extern "C" {
#endif

// Adds the blocks of `from` to `to`, which is LIVE and empty. About two nanoseconds a block, three in a table of few, and
// more with tags.
// 0, or nothing has changed: -EINVAL (a table is not LIVE, `to` is not empty, the two have other tokens_per_block, or the pool is
// not shared), -ENOSPC (`to` is too small), -EXDEV (a block of another home: locus_owner_fork_at), -ENOMEM (tags),
// -EOVERFLOW (2^28 holders), -ESTALE (a damaged handle), -EPERM.
int locus_owner_fork(struct locus_owner *owner, const struct locus_table *from, struct locus_table *to);

// One home's part of a fork of a table with blocks of several homes. The first call, with `to` empty, copies the handles and sets
// *homes_left to the set of homes; each call clears the bit of its own. When *homes_left is 0 the fork is complete. `to` must be
// laid out for all of these homes. Errors as above. If one of the later calls fails, undo the fork: each home that has done its
// part calls locus_owner_unfork_at(), and `to` is empty again when all have.
int locus_owner_fork_at(struct locus_owner *owner, const struct locus_table *from, struct locus_table *to, uint64_t *homes_left);
int locus_owner_unfork_at(struct locus_owner *owner, struct locus_table *to, uint64_t *homes_left);

// Ends the sequence after its first `tokens` tokens and lets go of the blocks behind them. 0, or as locus_owner_truncate().
int locus_owner_truncate_tokens(struct locus_owner *owner, struct locus_table *table, uint64_t tokens);

// Makes room for tokens `first` .. `first + count - 1`, in blocks that only this table holds. The sequence has `first` tokens now:
// what lies behind them may be lost, also if the call fails, and the first `first` ones never are. `planes`: in how many equal
// parts a block keeps its tokens in order (1: one token after another; twice the layers if each layer's keys and values lie
// together). Of a shared block the parts' first tokens are copied. A layout whose parts are not equal (K kept column by column) has
// no such number: where others hold the block, write from its first token on, and copy the old block as a whole.
// 0, or what locus_owner_grow() says; -EINVAL also if `planes` times the table's tokens_per_block does not divide the block's
// bytes, if the table holds fewer than `first` tokens, or if the block of `first` was dropped; -EXDEV: a foreign block would have
// to be copied.
int locus_owner_write(struct locus_owner *owner, struct locus_table *table, uint64_t first, uint64_t count, uint32_t planes);

// How many tables hold the block; 0: none, or the handle is not live. In a pool that is not shared 1 for a live one.
uint32_t locus_pool_holders(const struct locus_pool *pool, locus_block block);

#ifdef __cplusplus
}
#endif

#endif
