// SPDX-License-Identifier: Apache-2.0
//
// domain_internal: shared by domain.c (open and close), domain_borrow.c (grow, lend) and domain_health.c. Not installed.
#ifndef LOCUS_DOMAIN_INTERNAL_H
#define LOCUS_DOMAIN_INTERNAL_H

#include "locus/domain.h"
#include "placement/base/counters.h"

#include <stdatomic.h>

// One for each pair of homes, in the borrower's memory: a question, its answer, and the return of unused blocks. The theory is in
// domain_borrow.c.
struct loan {
    struct locus_link link;     // in the lender's desk; first, so that its address is the loan's
    _Atomic uint32_t state;     // enum loan_state
    uint32_t want;              // by the borrower, while IDLE
    uint32_t given;             // by the lender, while ASKED
    uint32_t taken;             // by the borrower: blocks[taken .. given) are unused
    locus_block blocks[];       // [chunk]
};

// One per home, on its node: mailboxes of the neighbours, and what the owner needs.
struct home {
    struct locus_mailbox desk;     // loans: questions and returns, from borrowers
    struct locus_mailbox finished; // tables of this home that another home finished
    struct locus_owner *owner;
    struct locus_pool *pool;
    struct locus_region *region;   // this struct, followed by the loans
    char *loans;                   // [homes], by lender
    uint64_t node_bytes;           // the node's memory at open
    uint32_t ordinal;
    uint8_t lenders[LOCUS_HOMES_MAX]; // the other homes, nearest first
    _Atomic bool avoided;

    // Owner context.
    uint64_t asked;                // lenders asked in the present shortage
    bool again;                    // the last grow answered -EAGAIN
    struct locus_link *finished_list;
    struct locus_table *own_first, *own_last; // tables of this home that finished here

    _Alignas(COUNTERS_ALIGN_BYTES) struct locus_domain_stats stats; // counters.h
};

struct locus_domain {
    struct locus_domain_config config; // without the caller's arrays nodes and blocks_of
    uint32_t homes_count;
    size_t loan_bytes;
    int nodes[LOCUS_HOMES_MAX];
    struct home *homes[LOCUS_HOMES_MAX];
    struct locus_route *routes; // [lanes]
};

// NULL: no such home.
static inline struct home *domain_home(const struct locus_domain *domain, uint32_t ordinal)
{
    return ordinal < domain->homes_count ? domain->homes[ordinal] : NULL;
}

static inline struct loan *domain_loan(const struct locus_domain *domain, const struct home *borrower, uint32_t lender)
{
    return (struct loan *)(void *)(borrower->loans + lender * domain->loan_bytes);
}

// The condition that a report's numbers amount to.
enum locus_home_condition domain_condition(const struct locus_home_report *report);

#endif
