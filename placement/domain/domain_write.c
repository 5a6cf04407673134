// SPDX-License-Identifier: Apache-2.0
//
// domain_write: writes into a table with blocks of several homes, and lets go of its oldest blocks. What a write is: locus/share.h.
#include <errno.h>

#include "domain_internal.h"
#include "placement/base/rules.h"
#include "placement/blocks/owner_internal.h"
#include "placement/sharing/share_internal.h"

static const void *address(void *context, locus_block block)
{
    return locus_domain_address(context, block);
}

// May the handles of a table with this tag go into it?
static bool may_leave(const struct locus_table *leavers, uint64_t tag)
{
    return leavers->state == LOCUS_TABLE_LIVE && (leavers->count == 0 || leavers->tag == tag);
}

int locus_domain_write(struct locus_domain *domain, uint32_t ordinal, struct locus_table *table, uint64_t first, uint64_t count,
                       uint32_t planes, struct locus_table *leavers)
{
    struct home *home = domain_home(domain, ordinal);
    RULE(home, "there is no home %u", ordinal);
    RULE(locus_owner_held_here(home->owner), RULE_ROLE);
    if (!home || !may_leave(leavers, table->tag))
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

// A handle of a home that does not exist is damaged: the own pool refuses and reports it.
static bool is_foreign(const struct locus_domain *domain, uint32_t ordinal, locus_block block)
{
    return locus_block_home(block) != ordinal && locus_block_home(block) < domain->homes_count;
}

int locus_domain_drop_before(struct locus_domain *domain, uint32_t ordinal, struct locus_table *table, uint64_t position,
                             struct locus_table *leavers)
{
    struct home *home = domain_home(domain, ordinal);
    RULE(home, "there is no home %u", ordinal);
    RULE(locus_owner_held_here(home->owner), RULE_ROLE);
    if (!home || table->state != LOCUS_TABLE_LIVE || !may_leave(leavers, table->tag) || leavers->homes_max < domain->homes_count)
        return -EINVAL;
    if (!locus_owner_held_here(home->owner))
        return -EPERM;
    uint32_t end = table_drops(table, position), foreign = 0;
    for (uint32_t i = table->dropped; i < end; i++)
        foreign += is_foreign(domain, ordinal, table->blocks[i]);
    if (foreign > leavers->capacity - leavers->count)
        return -ENOSPC;
    leavers->tag = table->tag;
    for (uint32_t i = table->dropped; i < end; i++)
        if (is_foreign(domain, ordinal, table->blocks[i]))
            locus_table_append(leavers, table->blocks[i]);
        else
            locus_pool_free_bulk(home->pool, 1, &table->blocks[i], table->tag);
    table_drop(table, end);
    return 0;
}
