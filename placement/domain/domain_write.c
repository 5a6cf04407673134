// SPDX-License-Identifier: Apache-2.0
//
// domain_write: a write into a table with blocks of several homes. What a write is: locus/share.h.
#include <errno.h>

#include "domain_internal.h"
#include "placement/base/rules.h"
#include "placement/sharing/share_internal.h"

static const void *address(void *context, locus_block block)
{
    return locus_domain_address(context, block);
}

int locus_domain_write(struct locus_domain *domain, uint32_t ordinal, struct locus_table *table, uint64_t first, uint64_t count,
                       uint32_t planes, struct locus_table *leavers)
{
    struct home *home = domain_home(domain, ordinal);
    RULE(home, "there is no home %u", ordinal);
    RULE(locus_owner_held_here(home->owner), RULE_ROLE);
    if (!home || leavers->state != LOCUS_TABLE_LIVE || (leavers->count && leavers->tag != table->tag))
        return -EINVAL;
    struct share_write write = {
        .owner = home->owner,
        .table = table,
        .first = first,
        .count = count,
        .planes = planes,
        .leavers = leavers,
        .address = address,
        .context = domain,
    };
    leavers->tag = table->tag;
    return share_write(&write);
}
