// SPDX-License-Identifier: Apache-2.0
//
// tier_far: tiers in memory. *far* holds bytes as they are in the memory of a node, for near nodes another one: a socket's, or CXL
// memory, which is a node without CPUs. *int8* holds f16 numbers as int8 (quant.h), in about half of the bytes.
//
// Both are one region (region.h), bound strictly to the node and populated by open, so that a node without room is an error there
// and not a SIGKILL later. Requested, granted and verified placement: locus_region_verify(locus_tier_region(tier), ...).
//
// A store is one copy, and so is a load. Free units are taken from the lowest up, and neighbours are copied by one memcpy.
//
// int8 is lossy: quant.h states the bound, and the caller decides whether an object may lose that much. locus_tier_store() takes
// whole f16 numbers at an aligned address, and a load gives f16 numbers again.
#ifndef LOCUS_TIER_FAR_H
#define LOCUS_TIER_FAR_H

#include <stdbool.h>

#include "region.h"
#include "tier.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_tier_far_config {
    size_t size;                // sizeof this struct (version.h)
    uint64_t bytes;             // of the region, > 0; rounded up to whole units
    uint32_t unit_bytes;        // a power of two from 4 KiB to 2 MiB; 0: 64 KiB
    int node;                   // OS node; LOCUS_NODE_ANY: first touch, that is the node of the opening thread
    enum locus_page page;       // of the region
    bool unchecked;             // no checksums. By default there are some in memory, too: they find stray writes, and faults of
                          // memory behind a link. They cost a pass over bytes that are in the first cache
    char *why;                  // NULL, or room for a sentence on why open failed; not used if `size` is not possible
    size_t why_bytes;
};

// 0, -EINVAL (a field is out of range), -E2BIG (version.h), -ENOMEM, or as locus_region_open().
int locus_tier_far_open(struct locus_tier **out, const struct locus_tier_far_config *config);

// The same memory, for f16 numbers. So an object has an even number of bytes: locus_tier_store() and locus_tier_load() return
// -EINVAL for an odd number of them (of a load, the room at `to`) or an odd address, and a store -ERANGE if a number is infinite
// or NaN: keep such an object as it is, elsewhere. bytes_held of the stats is what int8 takes. After -EBADMSG the memory at `to`
// has no meaning.
int locus_tier_int8_open(struct locus_tier **out, const struct locus_tier_far_config *config);

// The memory; NULL for a file.
const struct locus_region *locus_tier_region(const struct locus_tier *tier);

#ifdef __cplusplus
}
#endif

#endif
