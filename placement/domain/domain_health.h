// SPDX-License-Identifier: Apache-2.0
//
// domain_health: the state of a domain's homes: what they have lent, borrowed and waited for, and whether their memory is still
// where it was.
//
// A node can lose memory while a program runs: the memory goes offline, or its pages are moved. The domain loses only the
// placement: the kernel moves the pages first, so handles and addresses stay valid. A check runs when the caller asks for it; it
// reads two small files per home and the home's page tables, faults nothing in, and disturbs no owner. The caller also decides
// what to do about it: locus_domain_avoid().
//
// Threads: any, at any time between open and close.
#ifndef LOCUS_DOMAIN_HEALTH_H
#define LOCUS_DOMAIN_HEALTH_H

#include "domain.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_domain_stats {
    uint64_t asked;             // questions sent
    uint64_t withdrawn;         // of these, withdrawn before they were answered
    uint64_t blocks_borrowed;   // lent to this home
    uint64_t blocks_returned;   // of these, returned unused; the others went into tables
    uint64_t blocks_lent;       // by this home
    uint64_t blocks_unlent;     // of these, came back unused
    uint64_t blocks_late;       // taken for a question that was then withdrawn, and put back: never lent
    uint64_t declined;          // questions to this home that it declined
    uint64_t waits, wait_ns;    // grows of this home that had to wait, and for how long
};

// Any thread, at any time. Each counter is as of some moment; all are 0 for a home that does not exist.
void locus_domain_stats(const struct locus_domain *domain, uint32_t home, struct locus_domain_stats *out);

enum locus_home_condition {     // from best to worst
    LOCUS_HOME_WELL,
    LOCUS_HOME_SHRUNK,          // the node has less memory than when the domain was opened
    LOCUS_HOME_MOVED,           // the kernel has moved some of the home's pages to other nodes
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
