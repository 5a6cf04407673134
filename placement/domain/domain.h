// SPDX-License-Identifier: Apache-2.0
//
// domain: all the nodes of a machine as one place for blocks, one home per node.
//
// A home is a pool bound to its node, mailboxes whose heads lie there, and an owner role (owner.h), to be adopted or spawned by a
// thread that runs there. Its number, the ordinal in the handles, is its place in the list of nodes. One thread per home:
//
//     locus_owner_spawn(locus_domain_owner(domain, home), locus_domain_node(domain, home), step, context)
//
// or locus_pin_node() and locus_owner_adopt() in the engine's own thread. A memory-only node gets the nearest CPUs (topo/pin.h).
// In owner context the domain's grow, drain and reclaimed stand for the owner's: they do the same and see to the neighbours, too.
//
// Borrowing. A home that is exhausted asks other homes, nearest first, and one more when an answer is late. What they lend, handles
// of *their* blocks, goes into the borrower's table and from there home like any other block: one push for each home that the
// table holds blocks of. Nobody touches a pool but its owner, and nobody waits for another owner: a lender answers at
// its next drain, and keeps `spare` blocks for itself. Whether a question is answered or withdrawn is settled by one
// atomic word, so a late answer does not exist; blocks that came and are not needed go back at once.
//
// What the homes have lent and borrowed, and whether their nodes are still what they were: domain_health.h.
//
// Threads: open and close belong to one thread. "Owner context" below is that of the home named in the call; a thread without
// the role is answered as in owner.h. All else may be called from any thread. A home that there is not, is -EINVAL, or nothing.
#ifndef LOCUS_DOMAIN_H
#define LOCUS_DOMAIN_H

#include "owner.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_domain;

enum locus_exhausted {          // what grow does when the home has too few blocks
    LOCUS_EXHAUSTED_REFUSE,     // answers at once
    LOCUS_EXHAUSTED_WAIT,       // waits for tables in flight, as locus_owner_grow() does
    LOCUS_EXHAUSTED_BORROW,     // and asks the other homes
};

struct locus_domain_config {
    size_t size;                // sizeof this struct (version.h)
    const int *nodes;           // [nodes_count] OS nodes, one home each; a node may be listed more than once
    uint32_t nodes_count;       // 0: every node with memory that this process may use, ascending
    uint32_t lanes;             // >= 1: mailboxes of each home; one per worker that pushes keeps their heads apart
    uint32_t blocks;            // per home, where `blocks_of` is NULL; the next five as in pool.h and region.h
    const uint32_t *blocks_of;  // [nodes_count] of each home, and `blocks` is ignored; NULL: they are alike
    size_t block_bytes;
    enum locus_page page;
    enum locus_policy policy;   // LOCUS_POLICY_BIND is what makes a home of it
    struct locus_nodes among;   // of a policy over several nodes, for the blocks; empty: each home's own
    bool populate;
    bool backpressure;          // as in owner.h
    bool tags;                  // as in pool.h; of borrowed blocks the borrower's, in the books of the lender
    enum locus_exhausted exhausted;
    uint64_t wait_ns;           // longest wait inside one grow; 0: do not wait, answer -EAGAIN
    uint32_t spare;             // free blocks that a home does not lend
    uint32_t chunk;             // most blocks that one home lends for one grow; 0: 256. 8 bytes for each, homes times homes
};

// 0; -EINVAL: a field out of its range, or a node that this process may not use; -E2BIG: more than LOCUS_HOMES_MAX nodes, or as in
// version.h; -ENOMEM; or what asking the machine, the pools and the owners answered.
int locus_domain_open(struct locus_domain **out, const struct locus_domain_config *config);

// One sentence on why it answered `error`, as locus_pool_why(). Any thread.
void locus_domain_why(const struct locus_domain_config *config, int error, char *why, size_t why_bytes);

// NULL is allowed. Roles must have been left; blocks that are out dangle, as with locus_pool_close(). 0, or -EBUSY: a thread that
// was spawned for one of the homes was not joined, and nothing is closed.
int locus_domain_close(struct locus_domain *domain);

uint32_t locus_domain_homes(const struct locus_domain *domain); // homes are 0 .. this - 1
int locus_domain_node(const struct locus_domain *domain, uint32_t home); // LOCUS_NODE_ANY: no such home
struct locus_owner *locus_domain_owner(const struct locus_domain *domain, uint32_t home); // NULL: no such home

// The lowest home on an OS node. 0, or -ENODEV: none is there.
int locus_domain_home_of_node(const struct locus_domain *domain, int node, uint32_t *home);

// A worker's way to all homes; the domain's, until close. NULL: no such lane.
const struct locus_route *locus_domain_route(const struct locus_domain *domain, uint32_t lane);

// As in table.h, for a table that may hold blocks of every home.
size_t locus_domain_table_bytes(const struct locus_domain *domain, uint32_t capacity);
int locus_domain_table_init(const struct locus_domain *domain, void *memory, uint32_t capacity, uint32_t tokens_per_block);

// Address of any home's live block. Not checked, as with locus_pool_address().
void *locus_domain_address(const struct locus_domain *domain, locus_block block);

// Appends `count` blocks to a LIVE table, all or none; the home's own first, then borrowed ones. Owner context.
// -ENOMEM     the home has too few, and (BORROW) every other home has declined to lend the rest
// -EAGAIN     blocks are on their way home, or (BORROW) somebody was asked. Then drain and grow again, or withdraw
// -ETIMEDOUT  it waited wait_ns; questions are withdrawn
// -ENOSPC, -EINVAL, -EXDEV, -EPERM  as locus_owner_grow(). Only a table laid out for all homes borrows
// Borrowed blocks leave a table by retire and push only: locus_owner_truncate() of them is -EXDEV.
int locus_domain_grow(struct locus_domain *domain, uint32_t home, struct locus_table *table, uint32_t count);

// Takes back all questions that are open after -EAGAIN, and gives back what was lent for them. For an owner that gave up
// growing, and before it leaves. 0, -EINVAL or -EPERM. Owner context.
int locus_domain_withdraw(struct locus_domain *domain, uint32_t home);

// Frees everything that has arrived, and answers the other homes. Returns how many blocks came home. Owner context.
uint32_t locus_domain_drain(struct locus_domain *domain, uint32_t home);

// Next table that this home retired and whose last block has come home, LIVE and empty; NULL when there is none. One that came to
// its end at a lender is there after the lender's drain. Owner context.
struct locus_table *locus_domain_next_reclaimed(struct locus_domain *domain, uint32_t home);

#ifdef __cplusplus
}
#endif

#endif
