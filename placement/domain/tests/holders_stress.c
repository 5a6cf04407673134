// SPDX-License-Identifier: Apache-2.0
//
// holders_stress SECONDS SEED [CALLS]: who holds a block? Random calls on small pools, right ones and bad ones, against a model
// that knows of each block only its handle and the tags that hold it. With CALLS at least that many do something, however long it
// takes.
//
// A round is one to three homes of its own make: a domain, or pools with owners; shared or not, with tags or without, any order of
// reuse, with few generations, with prefix caches or without. Calls: grow, take by hand, fork, truncate, drop, write, publish,
// match, evict, offload, retire and push, drain; and frees of handles that are right, freed already, of an older use, of another
// home, of no block, under a wrong tag, or twice in one batch. Tables are given such handles, too, and bring them home.
//
// After each call the model compares what it returned, which handles were refused, as what, and under which tag, and the
// statistics; now and then, for each block, whether its handle is live, how many hold it, and under which tags.
//
// One kind of handle is not tried: that of a free block's *next* use. Nobody has it, and a pool takes it for a live one.
#include "placement/domain/tests/holders_model.h"
#include "placement/domain/tests/holders_world.h"

#include <errno.h>

#define CALLS_OF_A_ROUND 4000u

// --- the library beside the model ----------------------------------------------------------------------------------------------

static void compare(struct world *world)
{
    struct reports *got = &world->got, *expected = &world->expected;
    STRESS_EXPECT(got->count == expected->count);
    qsort(got->report, got->count, sizeof *got->report, report_order);
    qsort(expected->report, expected->count, sizeof *expected->report, report_order);
    for (uint32_t i = 0; i < got->count; i++)
        STRESS_EXPECT(report_order(&got->report[i], &expected->report[i]) == 0);
    for (uint32_t h = 0; h < world->homes; h++) {
        const struct home *home = &world->home[h];
        struct locus_pool_stats stats;
        uint64_t sharers = 0;
        locus_pool_stats(home->pool, &stats);
        for (uint32_t i = 0; i < home->blocks; i++)
            sharers += home->block[i].holders > 1 ? home->block[i].holders - 1 : 0;
        STRESS_EXPECT(stats.sharers == sharers && stats.freed == home->freed);
        STRESS_EXPECT(stats.blocks_free == model_count(home, FREE_NOW) && stats.outstanding == model_count(home, OUT));
        STRESS_EXPECT(stats.blocks_cached == model_count(home, KEPT) && stats.blocks_worn == model_count(home, WORN));
        STRESS_EXPECT(memcmp(stats.refused, home->refused, sizeof stats.refused) == 0);
    }
}

// A tag counts for itself and for its square, so that two wrong ones do not make up for each other.
static void on_out(void *context, locus_block block, uint64_t tag)
{
    uint64_t(*sums)[3] = context;
    sums[locus_block_index(block)][0]++;
    sums[locus_block_index(block)][1] += tag;
    sums[locus_block_index(block)][2] += tag * tag;
}

static void books(const struct world *world)
{
    for (uint32_t h = 0; h < world->homes; h++) {
        const struct home *home = &world->home[h];
        uint64_t sums[BLOCKS][3] = {0}, wanted[BLOCKS][3] = {0};
        uint32_t calls;
        for (uint32_t i = 0; i < home->blocks; i++) {
            const struct model_block *block = &home->block[i];
            for (uint32_t j = 0; j < block->holders; j++)
                on_out(wanted, locus_block_make(h, i, 1), block->tag[j]);
            if (block->handle == LOCUS_BLOCK_NONE)
                continue;
            STRESS_EXPECT(locus_pool_check(home->pool, block->handle) == (block->state == OUT ? 0 : -ESTALE));
            STRESS_EXPECT(locus_pool_check(home->pool, block->handle - 1) == -ESTALE);
            STRESS_EXPECT(locus_pool_holders(home->pool, block->handle) == block->holders);
        }
        STRESS_EXPECT(locus_pool_each_out(home->pool, on_out, sums, &calls) == 0);
        STRESS_EXPECT(memcmp(sums, wanted, sizeof sums) == 0);
    }
}

// All tables of which each home has drained its part come back, and no others. Twice: a home may pass one on to one before it.
static void reclaim(struct world *world)
{
    for (uint32_t n = 0; n < 2 * world->homes; n++) {
        uint32_t h = n % world->homes;
        struct locus_table *table;
        while ((table = world->domain ? locus_domain_next_reclaimed(world->domain, h)
                                      : locus_owner_next_reclaimed(world->home[h].owner))) {
            struct seq *seq = world->seq;
            while (seq->table != table)
                seq++;
            STRESS_EXPECT(seq->away && seq->homes_left == 0 && table->count == 0 && table->dropped == 0 && table->homes == 0);
            seq->away = false;
        }
    }
    for (uint32_t s = 0; s <= SEQS; s++)
        STRESS_EXPECT(!world->seq[s].away || world->seq[s].homes_left);
}

static void push(struct world *world, struct seq *seq, struct home *home)
{
    if (seq->table->dropped == seq->table->count) {
        STRESS_EXPECT(locus_owner_retire(home->owner, seq->table) == -ENODATA && seq->table->count == 0);
        return;
    }
    seq->away = true;
    seq->sent = ++world->sent;
    seq->declared_at = home;
    seq->homes_left = homes_of(seq->table);
    for (uint32_t i = seq->table->dropped; i < seq->table->count; i++)
        home->in_flight += locus_block_home(seq->table->blocks[i]) == home->ordinal;
    STRESS_EXPECT(locus_owner_retire(home->owner, seq->table) == 0);
    STRESS_EXPECT(locus_table_push(world->way, seq->table) == 0);
}

// The first one that was sent to this home and has not been drained there; NULL: none.
static struct seq *next_sent(struct world *world, const struct home *home)
{
    struct seq *next = NULL;
    for (uint32_t s = 0; s <= SEQS; s++) {
        struct seq *seq = &world->seq[s];
        if (seq->away && seq->homes_left >> home->ordinal & 1 && (!next || seq->sent < next->sent))
            next = seq;
    }
    return next;
}

// What this home's next drain frees.
static uint32_t model_drain(struct world *world, struct home *home)
{
    uint32_t accepted = 0;
    for (struct seq *seq; (seq = next_sent(world, home));) {
        accepted += model_free_of(world, home, seq->table, 0, seq->table->count);
        seq->homes_left &= ~(UINT64_C(1) << home->ordinal);
        if (seq->declared_at == home)
            home->in_flight -= seq->table->in_flight;
    }
    return accepted;
}

static void drain(struct world *world, struct home *home)
{
    uint32_t accepted = model_drain(world, home), drained = 0;
    if (any(world, 2)) {
        drained = world->domain ? locus_domain_drain(world->domain, home->ordinal) : locus_owner_drain(home->owner);
    } else { // by budget, until nothing is left
        for (uint32_t calls = 0; calls < 2 * SEQS * CAPACITY; calls++)
            drained +=
                world->domain ? locus_domain_drain_some(world->domain, home->ordinal, 3) : locus_owner_drain_some(home->owner, 3);
    }
    STRESS_EXPECT(drained == accepted);
    reclaim(world);
}

static void drain_all(struct world *world)
{
    for (uint32_t h = 0; h < world->homes; h++)
        drain(world, &world->home[h]);
}

// --- taking --------------------------------------------------------------------------------------------------------------------

static struct seq *pick(struct world *world, bool empty)
{
    struct seq *seq = &world->seq[any(world, SEQS)];
    return seq->away || (seq->table->count == 0) != empty ? NULL : seq;
}

static void begin(struct world *world, struct seq *seq)
{
    if (seq->table->count == 0)
        locus_table_set_tag(seq->table, ++world->tag);
}

static void do_grow(struct world *world)
{
    struct seq *seq = pick(world, any(world, 2));
    struct home *home = any_home(world);
    uint32_t count = any(world, 4);
    if (!seq)
        return;
    begin(world, seq);
    uint32_t before = seq->table->count, free_before = free_blocks(home);
    bool full = CAPACITY - before < count;
    if (!full && ready_blocks(home) < count)
        model_drain(world, home);
    uint32_t room = ready_blocks(home);
    int error = world->domain ? locus_domain_grow(world->domain, home->ordinal, seq->table, count)
                              : locus_owner_grow(home->owner, seq->table, count);
    bool comes = room + home->in_flight >= count;
    STRESS_EXPECT(error == (full ? -ENOSPC : room >= count ? 0 : comes ? -EAGAIN : -ENOMEM));
    STRESS_EXPECT(seq->table->count == before + (error ? 0 : count));
    for (uint32_t i = before; i < seq->table->count; i++)
        model_take(world, home, seq->table->blocks[i], seq->table->tag);
    model_evicted(home, full || count <= free_before ? 0 : count);
    world->done[GROW] += !error;
}

static void do_take(struct world *world)
{
    struct home *home = any_home(world);
    locus_block blocks[3];
    uint32_t count = 1 + any(world, 3), free_before = free_blocks(home);
    bool enough = ready_blocks(home) >= count;
    if (home->loose + count > LOOSE)
        return;
    if (count == 1) {
        blocks[0] = locus_pool_alloc(home->pool);
        STRESS_EXPECT((blocks[0] != LOCUS_BLOCK_NONE) == enough);
    } else {
        STRESS_EXPECT(locus_pool_alloc_bulk(home->pool, count, blocks) == (enough ? 0 : -ENOMEM));
    }
    for (uint32_t i = 0; enough && i < count; i++) {
        model_take(world, home, blocks[i], 0);
        home->loose_block[home->loose++] = blocks[i];
    }
    model_evicted(home, enough && count > free_before ? count - free_before : 0);
    world->done[TAKE] += enough;
}

static void do_fork(struct world *world)
{
    struct seq *from = pick(world, false), *to = pick(world, true);
    if (!from || !to)
        return;
    begin(world, to);
    uint64_t homes = homes_of(from->table), left = 0, shared = 0;
    bool most = false;
    for (uint32_t i = from->table->dropped; i < from->table->count; i++)
        most |= holders_of(world, from->table->blocks[i]) >= HOLDERS_MAX - CAPACITY;
    if (most)
        return;
    bool one = !(homes & (homes - 1));
    int error = 0;
    for (uint32_t i = any(world, HOMES), n = 0; n < world->homes && !error; n++) {
        struct home *home = &world->home[(i + n) % world->homes];
        if (one && homes && !(homes >> home->ordinal & 1))
            continue;
        error = one ? locus_owner_fork(home->owner, from->table, to->table)
                    : locus_owner_fork_at(home->owner, from->table, to->table, &left);
        STRESS_EXPECT(error == model_share(world, home, from->table, to->table->tag));
        shared |= error ? 0 : UINT64_C(1) << home->ordinal;
        if (error && shared == 0)
            STRESS_EXPECT(to->table->count == 0 && left == 0);
        if (!homes)
            break; // all of it was dropped: any owner may fork it
    }
    for (uint32_t i = 0; i < world->homes && error && to->table->count; i++) {
        struct home *home = &world->home[i];
        if (!(shared >> i & 1) || !(homes >> i & 1))
            continue;
        model_free_of(world, home, to->table, 0, to->table->count);
        STRESS_EXPECT(locus_owner_unfork_at(home->owner, to->table, &left) == 0);
    }
    STRESS_EXPECT(to->table->count == (error ? 0 : from->table->count) && left == 0);
    STRESS_EXPECT(to->table->dropped == (error ? 0 : from->table->dropped));
    world->done[FORK] += !error;
}

// New tokens, in blocks that nobody else holds; only into tables whose handles are all good, as the text of one that is not is
// somebody else's.
static void do_write(struct world *world)
{
    struct seq *seq = pick(world, any(world, 3) == 0);
    struct home *home = any_home(world);
    drain_all(world); // a table on its way may claim what this one holds
    if (!seq || !is_good(world, seq->table))
        return;
    begin(world, seq);
    uint32_t before = seq->table->count, first = any(world, before * TOKENS + 1), count = 1 + any(world, 3 * TOKENS);
    uint32_t begins = first / TOKENS, end = (first + count + TOKENS - 1) / TOKENS, took = 0;
    locus_block old[CAPACITY];
    memcpy(old, seq->table->blocks, sizeof old);
    if (end > CAPACITY || (!world->domain && homes_of(seq->table) & ~(UINT64_C(1) << home->ordinal)))
        return;
    bool there;
    uint32_t needs = model_write_needs(world, home, seq->table, begins, end, &there), free_before = free_blocks(home);
    struct locus_table *leavers = world->leavers->table;
    int error = world->domain ? locus_domain_write(world->domain, home->ordinal, seq->table, first, count, 2, leavers)
                              : locus_owner_write(home->owner, seq->table, first, count, 2);
    if (begins < seq->table->dropped) {
        STRESS_EXPECT(error == -EINVAL);
        return;
    }
    STRESS_EXPECT(error == (there ? 0 : -ENOMEM));
    for (uint32_t i = 0; i < seq->table->count; i++) {
        locus_block is = seq->table->blocks[i];
        took += i >= before || is != old[i];
        if (i >= before || is != old[i])
            model_take(world, home, is, seq->table->tag);
        if (i < before && is != old[i] && locus_block_home(old[i]) == home->ordinal)
            model_free(world, home, old[i], seq->table->tag);
        STRESS_EXPECT(error || i < begins || i >= end || is_mine(world, home, is));
    }
    STRESS_EXPECT(error ? took < needs : took == needs && seq->table->count == (end > before ? end : before));
    model_evicted(home, took > free_before ? took - free_before : 0);
    if (leavers->count)
        push(world, world->leavers, home);
    world->done[WRITE] += !error;
}

// --- letting go ----------------------------------------------------------------------------------------------------------------

static void do_cut(struct world *world)
{
    struct seq *seq = pick(world, false);
    struct home *home = any_home(world);
    if (!seq)
        return;
    struct locus_table *table = seq->table;
    uint32_t before = table->count, keep = any(world, before + 1), begin = keep > table->dropped ? keep : table->dropped;
    bool foreign = homes_of_some(table, begin, before) & ~(UINT64_C(1) << home->ordinal);
    if (!foreign)
        model_free_of(world, home, table, keep, before);
    int error = any(world, 2) ? locus_owner_truncate_tokens(home->owner, table, keep * TOKENS)
                              : locus_owner_truncate(home->owner, table, keep);
    STRESS_EXPECT(error == (foreign ? -EXDEV : 0) && table->count == (foreign ? before : keep));
    STRESS_EXPECT(table->homes == homes_of(table) || foreign);
    STRESS_EXPECT(table->dropped <= table->count);
    world->done[CUT] += !foreign;
}

// The oldest blocks go, the others keep their places. Of a domain foreign ones go into a table of their own.
static void do_drop(struct world *world)
{
    struct seq *seq = pick(world, false);
    struct home *home = any_home(world);
    if (!seq)
        return;
    struct locus_table *table = seq->table, *leavers = world->leavers->table;
    uint32_t position = any(world, (CAPACITY + 1) * TOKENS), before = table->dropped, end = position / TOKENS, foreign = 0;
    bool anywhere = world->domain && any(world, 2);
    locus_block old[CAPACITY];
    memcpy(old, table->blocks, sizeof old);
    if (anywhere)
        drain_all(world); // the leavers are back
    end = end < table->count ? end : table->count;
    for (uint32_t i = before; i < end; i++)
        foreign += locus_block_home(table->blocks[i]) != home->ordinal;
    if (!foreign || anywhere)
        model_free_of(world, home, table, 0, end);
    int error = anywhere ? locus_domain_drop_before(world->domain, home->ordinal, table, position, leavers)
                         : locus_owner_drop_before(home->owner, table, position);
    STRESS_EXPECT(error == (foreign && !anywhere ? -EXDEV : 0));
    for (uint32_t i = 0; i < table->count; i++)
        STRESS_EXPECT(locus_table_at(table, i * TOKENS) == (i < (error ? before : end) ? LOCUS_BLOCK_NONE : old[i]) || i < before);
    STRESS_EXPECT(table->dropped == (error || end < before ? before : end) && (error || table->homes == homes_of(table)));
    STRESS_EXPECT(!anywhere || leavers->count == foreign);
    if (anywhere && foreign)
        push(world, world->leavers, home);
    world->done[DROP] += !error && end > before;
}

static void do_retire(struct world *world)
{
    struct seq *seq = pick(world, false);
    struct home *home = any_home(world);
    if (!seq)
        return;
    push(world, seq, home);
    world->done[RETIRE]++;
}

static void do_drain(struct world *world)
{
    struct home *home = any_home(world);
    drain(world, home);
    world->done[DRAIN]++;
}

// A handle to be freed by hand: mostly a bad one.
static locus_block some_handle(struct world *world, struct home *home)
{
    struct model_block *block = &home->block[any(world, home->blocks)];
    struct home *other = any_home(world);
    switch (any(world, 9)) {
    case 0: return block->handle - any(world, 3); // an older use
    case 1: return locus_block_make(home->ordinal, home->blocks + any(world, 3), 5);
    case 2: return locus_block_make(home->ordinal, LOCUS_BLOCKS_MAX - 1, UINT32_MAX);
    case 3: return LOCUS_BLOCK_NONE;
    case 4: return locus_block_make(LOCUS_HOMES_MAX - 1, any(world, 3), 1);
    case 5: return other->block[any(world, other->blocks)].handle;
    default: return block->handle; // live, kept, free or worn
    }
}

static uint64_t some_tag(struct world *world, const struct model_block *block)
{
    if (block->holders && any(world, 3))
        return block->tag[any(world, block->holders)];
    return any(world, 2) ? any(world, 3) : world->tag - any(world, SEQS);
}

static void do_free(struct world *world)
{
    struct home *home = any_home(world);
    locus_block batch[4];
    uint32_t count = 1 + any(world, 4), accepted = 0;
    for (uint32_t i = 0; i < count; i++) {
        batch[i] = i && any(world, 3) == 0 ? batch[any(world, i)] : some_handle(world, home);
        if (is_next_use(world, batch[i]))
            return;
    }
    const struct model_block *block = block_of(world, batch[0]);
    uint64_t tag = some_tag(world, block ? block : &home->block[0]);
    if (tag == OFFLOAD_TAG)
        return;
    for (uint32_t i = 0; i < count; i++)
        accepted += model_free(world, home, batch[i], tag);
    STRESS_EXPECT(locus_pool_free_bulk(home->pool, count, batch, tag) == accepted);
    world->done[FREE]++;
}

// What was taken by hand goes home by hand, or into a table.
static void do_loose(struct world *world)
{
    struct home *home = any_home(world);
    struct seq *seq = &world->seq[any(world, SEQS)];
    if (!home->loose)
        return;
    locus_block block = home->loose_block[--home->loose];
    if (any(world, 2) && !seq->away && seq->table->count < CAPACITY) {
        begin(world, seq);
        STRESS_EXPECT(locus_table_append(seq->table, block) == 0);
        return;
    }
    uint32_t accepted = model_free(world, home, block, 0);
    STRESS_EXPECT(locus_pool_free_bulk(home->pool, 1, &block, 0) == accepted);
}

// A table that claims what it does not hold.
static void do_damage(struct world *world)
{
    struct seq *seq = pick(world, false);
    locus_block bad = seq ? some_handle(world, any_home(world)) : LOCUS_BLOCK_NONE;
    if (!seq || seq->table->count == CAPACITY || is_next_use(world, bad))
        return;
    if (locus_block_home(bad) < world->homes)
        STRESS_EXPECT(locus_table_append(seq->table, bad) == (bad == LOCUS_BLOCK_NONE ? -EINVAL : 0));
    world->done[DAMAGE]++;
}

// --- the prefix caches ---------------------------------------------------------------------------------------------------------

static uint32_t some_ids(struct world *world, struct locus_id ids[])
{
    uint32_t count = 1 + any(world, CAPACITY);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = id_of(i, any(world, 3) == 0);
    return count;
}

static void do_publish(struct world *world)
{
    struct seq *seq = pick(world, false);
    struct home *home = any_home(world);
    struct locus_id ids[CAPACITY];
    if (!seq || !home->prefix || !is_good(world, seq->table))
        return;
    uint32_t count = some_ids(world, ids), published = 0;
    count = count < seq->table->count ? count : seq->table->count;
    for (uint32_t i = seq->table->dropped; i < count; i++) {
        struct model_block *block = block_of(world, seq->table->blocks[i]);
        bool ours = locus_block_home(seq->table->blocks[i]) == home->ordinal;
        if (!ours || block->published || known(home, ids[i]))
            continue;
        block->published = true;
        block->id = ids[i];
        published++;
    }
    STRESS_EXPECT(locus_prefix_publish(home->prefix, ids, NULL, count, seq->table) == published);
    world->done[PUBLISH] += published > 0;
}

static void do_match(struct world *world)
{
    struct seq *seq = &world->seq[any(world, SEQS)];
    struct home *home = any_home(world);
    struct locus_id ids[CAPACITY];
    if (seq->away || !home->prefix)
        return;
    begin(world, seq);
    uint32_t count = some_ids(world, ids), before = seq->table->count, found = 0;
    for (; found < count && known(home, ids[found]) && known(home, ids[found])->holders < HOLDERS_MAX - CAPACITY; found++)
        ;
    if (found < count && known(home, ids[found]))
        return;
    found = found < CAPACITY - before ? found : CAPACITY - before;
    STRESS_EXPECT(locus_prefix_match(home->prefix, ++world->now, ids, NULL, count, seq->table) == found);
    STRESS_EXPECT(seq->table->count == before + found);
    for (uint32_t i = 0; i < found; i++) {
        STRESS_EXPECT(seq->table->blocks[before + i] == known(home, ids[i])->handle);
        model_adopt(world, known(home, ids[i]), seq->table->tag);
    }
    world->done[MATCH] += found > 0;
}

static void do_evict(struct world *world)
{
    struct home *home = any_home(world);
    uint32_t count = any(world, 3), kept = model_count(home, KEPT), leaves = count < kept ? count : kept;
    if (!home->prefix)
        return;
    STRESS_EXPECT(locus_prefix_evict(home->prefix, count) == leaves);
    model_evicted(home, leaves);
    world->done[EVICT] += leaves > 0;
}

static void do_offload(struct world *world)
{
    struct home *home = any_home(world);
    if (!home->prefix || !world->tags) // without tags a stale table would free what the store reads
        return;
    if (home->offloading && any(world, 2)) {
        locus_block block = home->offload_block[--home->offloading];
        block_of(world, block)->offloading = false;
        model_free(world, home, block, OFFLOAD_TAG);
        STRESS_EXPECT(locus_prefix_offload_done(home->prefix, block, 0) == 0);
        STRESS_EXPECT(locus_prefix_offload_done(home->prefix, block, 0) == -ESTALE);
    } else if (home->offloading < BLOCKS) {
        uint32_t before = home->offloading, started = locus_prefix_offload_start(home->prefix, 1);
        STRESS_EXPECT(started == (model_count(home, KEPT) > 0) && home->offloading == before + started);
        for (uint32_t i = before; i < home->offloading; i++)
            model_offload(world, home->offload_block[i]);
        world->done[OFFLOAD] += started;
    }
}

// --- rounds --------------------------------------------------------------------------------------------------------------------

static void world_open(struct world *world)
{
    memset(world->home, 0, sizeof world->home);
    world->route = (struct locus_route){0};
    world->domain = NULL;
    world->homes = 1 + any(world, HOMES);
    world->shared = any(world, 6) > 0;
    world->tags = any(world, 2);
    world->tag = 1000;
    if (any(world, 3))
        pools_open(world);
    else
        domain_open(world);
    for (uint32_t h = 0; h < world->homes; h++) {
        struct home *home = &world->home[h];
        home->ordinal = h;
        STRESS_EXPECT(locus_owner_adopt(home->owner) == 0);
        locus_pool_on_error(home->pool, on_error, world);
        if (world->shared && any(world, 4))
            prefix_open(world, home);
    }
    for (uint32_t s = 0; s <= SEQS; s++) {
        world->seq[s] = (struct seq){.table = stress_table(HOMES, CAPACITY)};
        world->seq[s].table->tokens_per_block = TOKENS;
    }
    world->leavers = &world->seq[SEQS];
}

// What no table and no hand holds is held under a tag that a table got too late: the report names it.
static void free_reported(void *context, locus_block block, uint64_t tag)
{
    STRESS_EXPECT(locus_pool_free_bulk(context, 1, &block, tag) == 1);
}

static void world_close(struct world *world)
{
    world->expected.count = world->got.count = 0;
    for (uint32_t s = 0; s < SEQS; s++)
        if (!world->seq[s].away && world->seq[s].table->count)
            push(world, &world->seq[s], &world->home[0]);
    drain_all(world);
    compare(world);
    books(world);
    for (uint32_t h = 0; h < world->homes; h++) {
        struct home *home = &world->home[h];
        struct locus_pool_stats stats;
        uint32_t calls;
        while (home->offloading)
            STRESS_EXPECT(locus_prefix_offload_done(home->prefix, home->offload_block[--home->offloading], 0) == 0);
        STRESS_EXPECT(locus_pool_each_out(home->pool, free_reported, home->pool, &calls) == 0);
        STRESS_EXPECT(locus_prefix_close(home->prefix) == 0);
        locus_pool_stats(home->pool, &stats);
        STRESS_EXPECT(stats.blocks_free + stats.blocks_worn == stats.blocks && stats.sharers == 0);
        STRESS_EXPECT(stats.blocks_worn == 0 || !world->domain);
        STRESS_EXPECT(locus_owner_leave(home->owner) == 0);
        if (!world->domain)
            STRESS_EXPECT(locus_owner_close(home->owner) == 0);
        if (!world->domain)
            locus_pool_close(home->pool);
    }
    STRESS_EXPECT(locus_domain_close(world->domain) == 0);
    for (uint32_t s = 0; s <= SEQS; s++)
        free(world->seq[s].table);
}

static void call(struct world *world)
{
    static void (*const calls[])(struct world *) = {do_grow,    do_grow,  do_take,  do_fork,   do_fork,   do_fork,    do_write,
                                                    do_write,   do_cut,   do_drop,  do_retire, do_retire, do_retire,  do_drain,
                                                    do_drain,   do_free,  do_free,  do_loose,  do_loose,  do_damage,  do_publish,
                                                    do_publish, do_match, do_match, do_match,  do_evict,  do_offload, do_drop};
    world->expected.count = world->got.count = 0;
    calls[any(world, sizeof calls / sizeof *calls)](world);
    reclaim(world);
    compare(world);
    if (++world->tries % 8 == 0)
        books(world);
}

// Calls that did something.
static uint64_t made(const struct world *world)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < KINDS; i++)
        sum += world->done[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    uint64_t calls = argc > 3 ? strtoull(argv[3], NULL, 10) : 0, rounds = 0;
    static struct world world;
    world.random = stress_fork(stress.seed, 0);
    while (calls ? made(&world) < calls : stress_now_s() < stress.end_s) {
        world_open(&world);
        for (uint32_t i = 0; i < CALLS_OF_A_ROUND; i++)
            call(&world);
        world_close(&world);
        rounds++;
    }
    printf("%llu calls in %llu rounds:", (unsigned long long)made(&world), (unsigned long long)rounds);
    for (unsigned i = 0; i < KINDS; i++)
        printf(" %s %llu", kind_names[i], (unsigned long long)world.done[i]);
    printf("; refused:");
    for (unsigned i = 0; i <= LOCUS_FREE_NOT_HELD; i++)
        printf(" %s %llu", error_names[i], (unsigned long long)world.refused[i]);
    printf("\n");
    for (unsigned i = 0; i < KINDS && rounds >= 50; i++)
        STRESS_EXPECT(world.done[i] > 0); // each kind of call was made
    for (unsigned i = 0; i <= LOCUS_FREE_NOT_HELD && rounds >= 50; i++)
        STRESS_EXPECT(world.refused[i] > 0); // and each kind of refusal was seen
    return 0;
}
