// SPDX-License-Identifier: Apache-2.0
//
// domain: all the nodes of a machine as one place for blocks, one home per node.
//
// A home is a pool bound to its node, lanes that are there, and an owner role (owner.h) for a thread that runs there. Its number,
// the ordinal in the handles, is its place in the list of nodes. Spawn one thread per home:
//
//     locus_owner_spawn(locus_domain_owner(domain, home), locus_domain_node(domain, home), step, context)
//
// or call locus_pin_node() and locus_owner_adopt() in the engine's own thread. A memory-only node gets the nearest CPUs (pin.h).
// In owner context call the domain's grow, drain and next_reclaimed instead of the owner's: they do the same and also serve the
// neighbours.
//
// Borrowing. An exhausted home asks other homes, nearest first, and asks one more when an answer is late. They lend handles of
// *their* blocks. These go into the borrower's table and from there home like any other block: one push for each home whose
// blocks the table holds. Only a pool's owner touches it, and no owner waits for another: a lender answers at its next drain, and
// keeps `spare` blocks for itself. One atomic word settles whether a request is answered or cancelled, so no answer can come
// late; blocks that are not needed go back at once.
//
// Health. A node can lose memory while a program runs: the memory goes offline, or its pages are migrated. The domain loses only
// the placement: the kernel moves the pages first, so handles and addresses stay valid. A check runs when the caller asks for it;
// it reads two small files per home and the home's page tables, faults nothing in, and disturbs no owner. The caller also decides
// what to do about it: locus_domain_avoid().
//
// Threads: open and close belong to one thread. "Owner context" below means that of the home named in the call; for a thread
// without the role see owner.h. Any thread may call the others, also the statistics and checks at the end, at any time between
// open and close. For a home that does not exist they return -EINVAL or do nothing.
#ifndef LOCUS_DOMAIN_H
#define LOCUS_DOMAIN_H

#include "share.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_domain;

enum locus_exhausted {          // what grow does when the home has too few blocks
    LOCUS_EXHAUSTED_REFUSE,     // return at once
    LOCUS_EXHAUSTED_WAIT,       // wait for tables in flight, as locus_owner_grow()
    LOCUS_EXHAUSTED_BORROW,     // wait, and ask the other homes
};

struct locus_domain_config {
    size_t size;                // sizeof this struct (version.h)
    const int *nodes;           // [nodes_count] OS nodes, one home each; a node may be listed more than once
    uint32_t nodes_count;       // 0: every node with memory that this process may use but a GPU's (topo_node.h), ascending
    uint32_t lanes;             // 1 .. LOCUS_LANES_MAX: ways to each home. One for each worker keeps them apart
    uint32_t blocks;            // per home, if `blocks_of` is NULL; the next five as in pool.h and region.h
    const uint32_t *blocks_of;  // [nodes_count], one per home, and `blocks` is ignored; NULL: `blocks` each
    size_t block_bytes;
    enum locus_page page;
    enum locus_policy policy;   // LOCUS_POLICY_BIND ties a home to its node, and so does 0: a home's node is named (policy.h)
    struct locus_nodes among;   // for the blocks, with a policy on several nodes; empty: each home's own node
    bool populate;
    bool backpressure;          // as in owner.h
    bool tags;                  // as in pool.h; the lender's pool keeps the borrower's tag for borrowed blocks
    enum locus_exhausted exhausted;
    uint64_t wait_ns;           // longest wait inside one grow; 0: never wait, return -EAGAIN
    uint32_t spare;             // free blocks that a home does not lend
    uint32_t chunk;             // most blocks that one home lends for one grow; 0: 256. Costs 8 bytes x homes x homes each
    bool shared;                // as in pool.h: blocks may have several holders (share.h), on any home
    bool exclusive;             // each route is used by one thread at a time (route.h: locus_route_add_exclusive)
};

// 0; -EINVAL: a field is out of range, or this process may not use a node; -E2BIG: more than LOCUS_HOMES_MAX nodes, or as in
// version.h; -ENOMEM; or the error of describing the machine, or of opening a pool or an owner.
int locus_domain_open(struct locus_domain **out, const struct locus_domain_config *config);

// One sentence on why open returned `error`, as locus_pool_why(). Any thread.
void locus_domain_why(const struct locus_domain_config *config, int error, char *why, size_t why_bytes);

// NULL is allowed. All roles must have been left; blocks that are out dangle, as with locus_pool_close(). 0, or -EBUSY: a home's
// spawned thread was not joined, and nothing is closed.
int locus_domain_close(struct locus_domain *domain);

uint32_t locus_domain_homes(const struct locus_domain *domain); // homes are 0 .. this - 1
int locus_domain_node(const struct locus_domain *domain, uint32_t home); // LOCUS_NODE_ANY: no such home
struct locus_owner *locus_domain_owner(const struct locus_domain *domain, uint32_t home); // NULL: no such home

// The lowest home on an OS node. 0, or -ENODEV: the node has none.
int locus_domain_home_of_node(const struct locus_domain *domain, int node, uint32_t *home);

// A lane's route to all homes. The domain owns it until close. NULL: no such lane.
const struct locus_route *locus_domain_route(const struct locus_domain *domain, uint32_t lane);

// As in table.h, for a table that may hold blocks of all homes.
size_t locus_domain_table_bytes(const struct locus_domain *domain, uint32_t capacity);
int locus_domain_table_init(const struct locus_domain *domain, void *memory, uint32_t capacity, uint32_t tokens_per_block);

// Address of a live block of any home. The handle is not checked, as in locus_pool_address().
void *locus_domain_address(const struct locus_domain *domain, locus_block block);

// Appends `count` blocks to a LIVE table, all or none: the home's own, then borrowed ones. Owner context.
// -ENOMEM     the home has too few, and (BORROW) every other home has declined
// -EAGAIN     blocks are on their way home, or (BORROW) another home was asked. Drain and grow again, or cancel
// -ETIMEDOUT  waited wait_ns; all requests are cancelled
// -ENOSPC, -EINVAL, -EXDEV, -EPERM  as locus_owner_grow(). Only a table laid out for all homes can borrow
// Borrowed blocks leave a table only by retire and push: locus_owner_truncate() refuses them with -EXDEV.
int locus_domain_grow(struct locus_domain *domain, uint32_t home, struct locus_table *table, uint32_t count);

// locus_owner_write() (share.h) for a table with blocks of several homes. A foreign block that is written is always copied, to this
// home: no other owner is asked. Its handle goes into `leavers`, a LIVE table for all homes, which gets the table's tag; retire and
// push it when it suits you. -ENOSPC also if `leavers` is full, -EINVAL if it holds blocks of another tag. Owner context.
int locus_domain_write(struct locus_domain *domain, uint32_t home, struct locus_table *table, uint64_t first, uint64_t count,
                       uint32_t planes, struct locus_table *leavers);

// locus_owner_drop_before() for a table with blocks of several homes. A foreign block's handle goes into `leavers`, as of
// locus_domain_write(). 0, -EINVAL, or -ENOSPC: `leavers` is too small. Then nothing has changed. Owner context.
int locus_domain_drop_before(struct locus_domain *domain, uint32_t home, struct locus_table *table, uint64_t position,
                             struct locus_table *leavers);

// Cancels all requests left open by -EAGAIN, and returns the blocks that were lent for them. Call it when you give up growing,
// and before the owner leaves. 0, -EINVAL or -EPERM. Owner context.
int locus_domain_cancel(struct locus_domain *domain, uint32_t home);

// Frees what has arrived (_some: with a budget, owner.h), answers the others, returns the blocks that came home. Owner context.
uint32_t locus_domain_drain(struct locus_domain *domain, uint32_t home);
uint32_t locus_domain_drain_some(struct locus_domain *domain, uint32_t home, uint32_t blocks);

// The next table that this home retired and whose last block has come home, LIVE and empty; NULL if none is left. If the last
// block was a lender's, the table appears after the lender's drain. Owner context.
struct locus_table *locus_domain_next_reclaimed(struct locus_domain *domain, uint32_t home);

struct locus_domain_stats {
    uint64_t asked;             // requests to borrow that were sent
    uint64_t cancelled;         // of these, before they were answered
    uint64_t blocks_borrowed;   // lent to this home
    uint64_t blocks_returned;   // of these, returned unused; the others went into tables
    uint64_t blocks_lent;       // by this home
    uint64_t blocks_lent_unused; // of these, came back unused
    uint64_t blocks_late;       // taken for a request that was then cancelled, and put back: never lent
    uint64_t declined;          // requests to this home that it declined
    uint64_t waits, wait_ns;    // grows of this home that had to wait, and for how long
};

// Any thread, at any time. Each counter is as of some moment; all are 0 for a home that does not exist.
void locus_domain_stats(const struct locus_domain *domain, uint32_t home, struct locus_domain_stats *out);

enum locus_home_condition {     // from best to worst
    LOCUS_HOME_OK,
    LOCUS_HOME_SHRUNK,          // the node has less memory than when the domain was opened
    LOCUS_HOME_MIGRATED,        // the kernel has moved some of the home's pages to other nodes
    LOCUS_HOME_OFFLINE,         // the node no longer has memory
};

struct locus_home_report {
    int node;
    enum locus_home_condition condition;
    uint64_t node_bytes_then, node_bytes_now; // the node's memory at open and now
    uint64_t pages_present, pages_elsewhere;  // of the home's region, in 4 KiB (region.h)
    int verify_errno;           // why the pages could not be located, or 0
};

// Checks every home's node and where its pages are now: one report per home. 0; -ENOMEM; -errno: a node's state could not be
// read.
int locus_domain_check(const struct locus_domain *domain, struct locus_home_report reports[]);

// The home borrows its new blocks as long as another home lends, and lends none of its own. Blocks that are out stay valid. Takes
// effect at the home's next grow and drain. 0, or -EINVAL: no such home, or the domain does not borrow.
int locus_domain_avoid(struct locus_domain *domain, uint32_t home, bool avoid);

#ifdef __cplusplus
}
#endif

#endif
