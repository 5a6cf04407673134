// SPDX-License-Identifier: Apache-2.0
//
// Everything an engine needs of LOCUS in one include. Read them in this order: owner.h shows how the parts work together,
// table.h what a request holds, pool.h and region.h where the blocks live, mailbox.h how they travel, block.h what a handle is.
#ifndef LOCUS_LOCUS_H
#define LOCUS_LOCUS_H

#include "block.h"
#include "mailbox.h"
#include "owner.h"
#include "pool.h"
#include "region.h"
#include "table.h"

#endif
