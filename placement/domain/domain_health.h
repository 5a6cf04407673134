// SPDX-License-Identifier: Apache-2.0
//
// domain_health: how the homes of a domain are doing. What they have lent, borrowed and waited for; and is each still where it was?
//
// Nodes lose memory while programs run: it is taken offline, or its pages are moved. Nothing of a domain is lost then. The kernel
// moves the pages first, so handles and addresses stay good; what is lost is the placement. The look is made when the caller
// asks for it; it reads two small files per home and the home's page tables, faults nothing in, and disturbs no owner. What
// follows from it is the caller's decision, too: locus_domain_avoid().
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
    uint64_t withdrawn;         // of these, taken back before they were answered
    uint64_t blocks_borrowed;   // lent to this home, and
    uint64_t blocks_returned;   // of these, given back unused; the others went into tables
    uint64_t blocks_lent;       // by this home
    uint64_t blocks_unlent;     // of these, those that came back unused
    uint64_t blocks_late;       // taken for an answer and put back, because the question had been withdrawn: lent to nobody
    uint64_t declined;          // questions to this home that it gave nothing for
    uint64_t waits, wait_ns;    // grows that had to wait here, and how long
};

// Any thread, at any time: each counter as of some moment, 0 for a home that there is not.
void locus_domain_stats(const struct locus_domain *domain, uint32_t home, struct locus_domain_stats *out);

enum locus_home_condition {     // worst last
    LOCUS_HOME_WELL,
    LOCUS_HOME_SHRUNK,          // the node has less memory than when the domain was opened
    LOCUS_HOME_MOVED,           // the kernel has moved some of the home's pages to other nodes
    LOCUS_HOME_OFFLINE,         // the node has no memory any more
};

struct locus_home_report {
    int node;
    enum locus_home_condition condition;
    uint64_t node_bytes_then, node_bytes_now; // the node's memory at open and now
    uint64_t pages_present, pages_elsewhere;  // of the home's region, in 4 KiB (region.h)
    int verify_errno;           // why the pages could not be asked about, or 0
};

// Looks again at every home's node and at where its pages are: one report per home. Nothing is lost when a node goes offline: the
// kernel moves its pages, handles and addresses stay good. 0; -ENOMEM; -errno: a node's state could not be read.
int locus_domain_check(const struct locus_domain *domain, struct locus_home_report reports[]);

// Take this home's new blocks elsewhere, by borrowing, as long as anybody lends, and lend none of it. What is out stays
// valid. Takes effect at the home's next grow and drain. 0, or -EINVAL: no such home, or the domain does not borrow.
int locus_domain_avoid(struct locus_domain *domain, uint32_t home, bool avoid);

#ifdef __cplusplus
}
#endif

#endif
