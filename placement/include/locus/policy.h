// SPDX-License-Identifier: Apache-2.0
//
// policy: where the kernel shall put a region's pages; sets of nodes; and why a host does not offer a policy.
//
// All functions may be called from any thread and keep no state. Nodes are OS node numbers.
#ifndef LOCUS_POLICY_H
#define LOCUS_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// A config that names no policy has the first one: 0. A zeroed `node` is node 0; LOCUS_NODE_ANY names none.
enum locus_policy {
    LOCUS_POLICY_BY_NODE,        // BIND to the node or nodes named; FIRST_TOUCH if none is. Where mbind is forbidden and the node
                                 // is the only one that the process may use, pages lie there anyway, and it is FIRST_TOUCH, too
    LOCUS_POLICY_FIRST_TOUCH,    // the kernel's default: a page lies on the node of the CPU that first writes it. Nodes are ignored
    LOCUS_POLICY_BIND,           // strict: on the given node or nodes, and nowhere else
    LOCUS_POLICY_BIND_BALANCING, // as BIND, but the kernel may migrate pages among the nodes while the program runs
    LOCUS_POLICY_PREFERRED,      // on one node while it has room, then anywhere
    LOCUS_POLICY_PREFERRED_MANY, // on the nearest of several while they have room, then anywhere
    LOCUS_POLICY_INTERLEAVE,     // page by page over the nodes in turn; a full node is passed over
    LOCUS_POLICY_WEIGHTED_INTERLEAVE, // in turn, as many pages as the system's weight for the node
};
#define LOCUS_POLICIES 8u

#define LOCUS_NODE_ANY (-1)
#define LOCUS_NODES_MAX 1024u    // a set holds nodes 0 .. LOCUS_NODES_MAX - 1: as many as any Linux is built for
#define LOCUS_NODES_WORD_BITS (8u * (unsigned)sizeof(unsigned long))

struct locus_nodes {             // {0} is the empty set; laid out as the kernel's node masks
    unsigned long words[LOCUS_NODES_MAX / (8u * sizeof(unsigned long))];
};

// pre: 0 <= node < LOCUS_NODES_MAX.
inline void locus_nodes_add(struct locus_nodes *set, int node)
{
    set->words[(unsigned)node / LOCUS_NODES_WORD_BITS] |= 1ul << ((unsigned)node % LOCUS_NODES_WORD_BITS);
}

inline bool locus_nodes_has(const struct locus_nodes *set, int node)
{
    return node >= 0 && (unsigned)node < LOCUS_NODES_MAX &&
           (set->words[(unsigned)node / LOCUS_NODES_WORD_BITS] >> ((unsigned)node % LOCUS_NODES_WORD_BITS) & 1ul) != 0;
}

// The lowest node in the set that is >= `node`; LOCUS_NODE_ANY if there is none. pre: node >= 0.
inline int locus_nodes_next(const struct locus_nodes *set, int node)
{
    for (; (unsigned)node < LOCUS_NODES_MAX; node++)
        if (locus_nodes_has(set, node))
            return node;
    return LOCUS_NODE_ANY;
}

inline unsigned locus_nodes_count(const struct locus_nodes *set)
{
    unsigned count = 0;
    for (size_t word = 0; word < sizeof(set->words) / sizeof(set->words[0]); word++)
        count += (unsigned)__builtin_popcountl(set->words[word]);
    return count;
}

// "by-node", "first-touch", "bind", "bind-balancing", "preferred", "preferred-many", "interleave", "weighted-interleave"; NULL for
// any other number, which ends a loop that counts up from 0.
const char *locus_policy_name(enum locus_policy policy);

// Does the kernel migrate pages under this policy? A run that uses it must say so, and only such a run may see migrations.
bool locus_policy_migrates(enum locus_policy policy);

// Does the policy allow the kernel no node outside the set? Then the kernel answers with SIGKILL when these nodes are full.
bool locus_policy_strict(enum locus_policy policy);

// Can this process use the policy? Asks the kernel and changes nothing.
// 0; -ENOSYS: the kernel does not offer it; -EPERM: mbind is forbidden (seccomp); -EINVAL: unknown policy.
int locus_policy_probe(enum locus_policy policy);

// One sentence (no newline, no full stop) on why locus_region_open() or locus_policy_probe() returned `error` (of either sign)
// for this policy. A constant string, never NULL. locus_region_why() says more: it looks for the cause.
const char *locus_policy_why(enum locus_policy policy, int error);

#ifdef __cplusplus
}
#endif

#endif
