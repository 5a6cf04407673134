// SPDX-License-Identifier: Apache-2.0
//
// All of LOCUS in one include, for C and C++. Read the headers in this order:
//
//     owner.h          how the parts work together: a pool's owner takes blocks, workers send them home
//     table.h          which block holds which position of a request
//     route.h          a worker's return path
//     pool.h           equal blocks, and block.h, what a handle is
//     region.h         memory with a verified placement, and policy.h, where pages shall lie
//     domain.h         all nodes as one place
//     where.h          on which nodes any memory of this process lies
//     lane.h           how blocks travel: a mailbox for many pushers, a ring for one
//     inline.h         the fast cases in your own code
//
//     share.h          blocks with several holders: fork, copy on write, truncate
//     prefix.h         a prefix cache; id.h, what names contents; evict.h, which block goes first
//     offload.h        where evicted blocks go, and come back from
//     reservation.h    admission that reserves
//     window.h         scattered blocks as one array, for attention that wants one
//
//     tier.h           bytes that wait in memory, also as int8 (int8.h); tier_file.h, in a file; demote.h, which tier
//     pages.h          ranges of pages beside the blocks; pages_evict.h, pages_report.h
//     adapter.h        LoRA weights in pages and tiers; adapter_policy.h, which wait where
//
//     topo.h, topo_node.h, pin.h    what the machine is and where a thread runs
//     version.h        what may change
//
// ggml.h is not among them: it is for programs that load libggml-locus.so.
#ifndef LOCUS_LOCUS_H
#define LOCUS_LOCUS_H

#include "adapter.h"
#include "adapter_policy.h"
#include "block.h"
#include "demote.h"
#include "domain.h"
#include "evict.h"
#include "id.h"
#if defined(__clang__) || __GNUC__ >= 11
#include "inline.h"
#endif
#include "int8.h"
#include "lane.h"
#include "offload.h"
#include "owner.h"
#include "pages.h"
#include "pages_evict.h"
#include "pages_report.h"
#include "pin.h"
#include "policy.h"
#include "pool.h"
#include "prefix.h"
#include "region.h"
#include "reservation.h"
#include "route.h"
#include "share.h"
#include "table.h"
#include "tier.h"
#include "tier_file.h"
#include "topo.h"
#include "version.h"
#include "where.h"
#include "window.h"

#endif
