// SPDX-License-Identifier: Apache-2.0
//
// All of LOCUS in one include, for C and C++. Read the headers in this order: owner.h (how the parts work together), domain.h
// (many nodes as one place), table.h (what a request holds), route.h (its way home), pool.h and region.h (where blocks live),
// lane.h and mailbox.h (how they travel), owner_inline.h and pool_inline.h (the usual cases, inlined), block.h (what a handle is),
// domain_health.h (nodes that go offline), topo.h and pin.h (what the machine is and where a thread runs), version.h (what may
// change), cpu_relax.h (how to spin). Of blocks that several requests hold: share.h (fork, cut, write), prefix.h (the prefix
// cache), id.h and prefix_id.h (what names contents), prefix_check.h (whether they are what they are named), evict.h (what leaves
// first), prefix_sink.h (where that goes), promise.h (admission that reserves). Of ranges of pages, beside the blocks: pages.h
// (what they are), pages_open.h, pages_evict.h, pages_set.h, pages_report.h. Of bytes that wait: tier.h, tier_far.h (memory, int8),
// tier_file.h, sink.h (which tier), quant.h (int8), residency.h (which adapters). Of both: adapter.h (LoRA weights). Of kept blocks
// that wait in tiers: tier_sink.h.
#ifndef LOCUS_LOCUS_H
#define LOCUS_LOCUS_H

#include "adapter.h"
#include "block.h"
#include "cpu_relax.h"
#include "domain.h"
#include "domain_health.h"
#include "evict.h"
#include "id.h"
#include "lane.h"
#include "mailbox.h"
#include "owner.h"
#if defined(__clang__) || __GNUC__ >= 11
#include "owner_inline.h"
#endif
#include "pages.h"
#include "pages_evict.h"
#include "pages_open.h"
#include "pages_report.h"
#include "pages_set.h"
#include "pin.h"
#include "policy.h"
#include "pool.h"
#include "pool_inline.h"
#include "pool_report.h"
#include "prefix.h"
#include "prefix_check.h"
#include "prefix_id.h"
#include "prefix_sink.h"
#include "promise.h"
#include "quant.h"
#include "region.h"
#include "region_verify.h"
#include "residency.h"
#include "route.h"
#include "share.h"
#include "sink.h"
#include "table.h"
#include "tier.h"
#include "tier_far.h"
#include "tier_file.h"
#include "tier_sink.h"
#include "topo.h"
#include "version.h"

#endif
