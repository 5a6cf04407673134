// SPDX-License-Identifier: Apache-2.0
//
// Everything an engine needs of LOCUS in one include, in C and in C++. Read them in this order: owner.h shows how the parts work
// together, domain.h how they make one place of many nodes, table.h what a request holds, pool.h and region.h where the blocks
// live, mailbox.h how they travel, block.h what a handle is; domain_health.h when a node may go offline; topo.h and pin.h what the
// machine is and where a thread runs; version.h what may change; cpu_relax.h how to spin.
#ifndef LOCUS_LOCUS_H
#define LOCUS_LOCUS_H

#include "block.h"
#include "cpu_relax.h"
#include "domain.h"
#include "domain_health.h"
#include "mailbox.h"
#include "owner.h"
#include "pin.h"
#include "policy.h"
#include "pool.h"
#include "pool_report.h"
#include "region.h"
#include "region_verify.h"
#include "table.h"
#include "topo.h"
#include "version.h"

#endif
