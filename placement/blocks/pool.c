// SPDX-License-Identifier: Apache-2.0
//
// pool: a flat stack of ready-made handles.
//
//     free[]   | taken | top -> came home last ... came home first | never used, lowest address first |
//     generation[i]: that of the one valid handle of block i, be it out or on the stack
//
// Invariants, in owner context:
//   1. Every block is exactly one of: on the stack, handed out, worn out.
//   2. The handle of a block on the stack or handed out has generation[index]. A free adds one to the generation, so a
//      handle can be freed only once. Allocation does not touch that array, so a bulk allocation is a memcpy.
//   3. The last `fresh` entries of a LIFO stack have never been handed out, because they are only reached when everything before
//      has left. So `fresh` is the lowest depth ever reached, blocks - fresh the distinct blocks ever used (those of the lowest
//      indices), and outstanding blocks can reach a new high only when `fresh` sinks (a worn block does not come back, so it
//      sinks earlier, never later).
//
// Order. The stack is last in, first out by chunks, and first in, first out within a chunk: blocks that one free brings home
// leave again in the order in which they were in use. So a prompt at ascending addresses is at ascending addresses again for the
// next request. Hardware prefetches past the end of a page only into the next one: on a Zen 4 machine writing the blocks of a
// chunk in descending instead of ascending order cost a factor of two (churn-touch, every byte: 308 against 133 us).
//
// Interleaved decode still destroys that order: the blocks of long requests alternate. So when everything has come home, the used
// part of the stack is put in ascending order again, if at least as many blocks were freed since the last time as have to be
// ordered. Nobody waits for a block at that time, and it costs less than half a nanosecond per free.
//
// The generation alone does not tell whether a refused handle is already free (double) or of an older use (stale). The error path
// walks the free handles, so the good path need not keep a flag per block.
//
// FIFO reuse turns the same array into a ring: taken at `head`, returned at the other end. It serves comparisons (experiment
// 0358) and debugging, and may be slower.
//
// Runs have no stack, but a bit for each free block: pools/runs.c. All else here is the same for them.
//
// A handle of a closed pool, or of another pool with this home's number, looks like one of this pool's. So each pool draws its
// first generation at random: such a handle fits a block only if both have reached the same generation, one case in
// POOL_FIRST_GENERATIONS, and the good path pays nothing.
//
// A block that comes home with the last generation is worn out, because one more use would look like the first. At one use per
// millisecond that takes 46 days, and costs one block. A pool with fewer generations starts later instead of ending earlier, so
// the good path sees the end as an overflow of an addition that it makes in any case.

#include "locus/owner.h"
#include "placement/base/apart.h"
#include "placement/base/clock.h"
#include "placement/base/config.h"
#include "placement/base/rules.h"
#include "placement/blocks/pools/runs.h"
#include "placement/blocks/pools/shared.h"
#include "placement/memory/region_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

// --- rules (rules.h) ------------------------------------------------------------------------------------------------------------

#ifdef LOCUS_CHECKED
static const char *const free_errors[LOCUS_FREE_ERRORS_COUNT] = {
    [LOCUS_FREE_DOUBLE] = "freed twice",
    [LOCUS_FREE_STALE] = "freed with a handle of an older use",
    [LOCUS_FREE_FOREIGN] = "freed in another home",
    [LOCUS_FREE_RANGE] = "no block of this pool",
    [LOCUS_FREE_NOT_HELD] = "others share the block, but this tag does not hold it",
};

static const char *handle_fault(const struct locus_pool *pool, locus_block block)
{
    switch (locus_pool_check(pool, block)) {
    case -EXDEV: return "the handle is of another home";
    case -ERANGE: return "the handle names no block of this pool";
    default: return "the handle is not live: its block was freed, or never handed out";
    }
}

// A pool without an owner belongs to its only thread.
static bool in_owner_context(const struct locus_pool *pool)
{
    return !pool->owner || locus_owner_held_here(pool->owner);
}
#endif

// --- open and close -------------------------------------------------------------------------------------------------------------

void pool_region_config(const struct locus_pool_config *config, struct locus_region_config *out)
{
    size_t stride_bytes = config->stride_bytes ? config->stride_bytes : config->block_bytes;
    *out = (struct locus_region_config){
        .size = sizeof *out,
        .bytes = config->memory ? config->memory_bytes : stride_bytes * config->blocks,
        .memory_class = LOCUS_CLASS_KV_CACHE,
        .page = config->page,
        .policy = config->policy,
        .node = config->node,
        .nodes = config->nodes,
        .populate = config->populate,
        .memory = config->memory,
        .windows = config->windows,
    };
}

static int blocks_open_mapped(struct locus_pool *pool, const struct locus_pool_config *config)
{
    struct locus_region_config region;
    pool_region_config(config, &region);
    int error = locus_region_open(&pool->region, &region);
    if (error)
        return error;
    pool->base = locus_region_base(pool->region);
    pool->hot.base = CALLS_UNCHECKED ? pool->base : NULL;
    pool->hot.fetch = config->fetch_ahead ? pool->base : NULL;
    return 0;
}

// Whoever populates more than there is room for is killed, and not told (region_room.c).
static int blocks_open_heap(struct locus_pool *pool, const struct locus_pool_config *config)
{
    size_t align_bytes = (size_t)sysconf(_SC_PAGESIZE);
    int refused = config->populate ? region_process_holds(config->block_bytes * config->blocks) : 0;
    if (refused)
        return refused;
    pool->heap = calloc(config->blocks, sizeof *pool->heap);
    if (!pool->heap)
        return -ENOMEM;
    for (uint32_t i = 0; i < config->blocks; i++) {
        int error = posix_memalign((void **)&pool->heap[i], align_bytes, config->block_bytes);
        if (error)
            return -error;
        if (config->populate)
            memset(pool->heap[i], 0, config->block_bytes);
    }
    return 0;
}

// Tells which block leaves next: for all blocks, and for a take of the last ones that looks ahead.
static size_t stack_bytes_of(const struct locus_pool_config *config)
{
    return ((size_t)config->blocks + LOCUS_POOL_AHEAD) * sizeof(locus_block);
}

// The parts of a pool's own memory.
struct metadata {
    size_t stack_bytes, tags_bytes, generations_bytes, sharing_bytes, holders_bytes;
};

static struct metadata metadata_parts(const struct locus_pool_config *config)
{
    size_t words_bytes = (size_t)config->blocks * sizeof(uint32_t), sharing_bytes = config->shared ? words_bytes : 0;
    return (struct metadata){
        .stack_bytes = config->reuse == LOCUS_REUSE_RUNS ? pool_runs_bytes(config->blocks) : stack_bytes_of(config),
        .tags_bytes = config->tags ? (size_t)config->blocks * sizeof(uint64_t) : 0,
        .generations_bytes = words_bytes,
        .sharing_bytes = sharing_bytes,
        .holders_bytes = config->tags ? sharing_bytes : 0,
    };
}

void pool_metadata_config(const struct locus_pool_config *config, struct locus_region_config *out)
{
    struct metadata parts = metadata_parts(config);
    *out = (struct locus_region_config){
        .size = sizeof *out,
        .bytes = parts.stack_bytes + parts.tags_bytes + parts.generations_bytes + parts.sharing_bytes + parts.holders_bytes,
        .memory_class = LOCUS_CLASS_METADATA,
        .page = LOCUS_PAGE_4K,
        .policy = config->policy,
        .node = config->node,
        .populate = true,
    };
}

// Stack or spans, tags and generations have guard pages of their own, and are on the pool's node: the owner uses them all the time.
static int metadata_open(struct locus_pool *pool, const struct locus_pool_config *config)
{
    bool runs = config->reuse == LOCUS_REUSE_RUNS;
    struct metadata parts = metadata_parts(config);
    struct locus_region_config region;
    pool_metadata_config(config, &region);
    int error = locus_region_open(&pool->metadata, &region);
    if (error)
        return error;
    char *base = locus_region_base(pool->metadata);
    pool->free = runs ? NULL : (locus_block *)(void *)base;
    pool->hot.free_end = runs ? NULL : pool->free + config->blocks;
    pool->runs = runs ? (struct pool_runs *)(void *)base : NULL;
    pool->tags = config->tags ? (uint64_t *)(void *)(base + parts.stack_bytes) : NULL;
    pool->generation = (uint32_t *)(void *)(base + parts.stack_bytes + parts.tags_bytes);
    if (config->shared)
        pool->sharing = pool->generation + config->blocks;
    if (config->shared && config->tags)
        pool->holders_first = pool->sharing + config->blocks;
    return 0;
}

static uint32_t random_bits(void)
{
    uint32_t bits;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == sizeof bits)
        return bits;
    // Early at boot, or in a sandbox: still a different one for each pool.
    return (uint32_t)(clock_now_ns() * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static uint32_t generation_first(const struct locus_pool_config *config)
{
    if (config->generations)
        return LOCUS_GENERATION_MAX - (config->generations - 1);
    return LOCUS_GENERATION_MIN + random_bits() % POOL_FIRST_GENERATIONS;
}

static void blocks_fill(struct locus_pool *pool)
{
    for (uint32_t i = 0; i < pool->blocks; i++) {
        if (pool->free)
            pool->free[i] = locus_block_make(pool->home, i, pool->generation_first);
        pool->generation[i] = pool->generation_first;
        if (pool->holders_first)
            pool->holders_first[i] = POOL_NO_HOLDER;
    }
    pool_top_set(pool, pool->blocks);
    pool->fresh = pool->blocks;
    pool->all = pool->reuse == LOCUS_REUSE_LIFO ? pool->blocks : POOL_NEVER;
    pool->hot.floor = pool->fresh; // no take is plain; with FIFO, runs, tags or sharing that stays so, and if calls are checked
    if (pool->runs)
        pool_runs_fill(pool);
}

_Static_assert(sizeof(struct locus_pool) <= APART_MOST_BYTES, "it begins a page again");

int locus_pool_open(struct locus_pool **out, const struct locus_pool_config *given)
{
    struct locus_pool_config config;
    int error = config_take(&config, sizeof config, given);
    if (!error && pool_config_fault(&config))
        error = -EINVAL;
    if (error)
        return error;
    struct locus_pool *pool = apart_alloc(sizeof *pool);
    if (!pool)
        return -ENOMEM;
    *pool = (struct locus_pool){
        .home = config.home,
        .blocks = config.blocks,
        .block_bytes = config.block_bytes,
        .hot.stride_bytes = config.stride_bytes ? config.stride_bytes : config.block_bytes,
        .reuse = (uint8_t)config.reuse,
        .slow_free = config.reuse != LOCUS_REUSE_LIFO || config.shared,
        .holders_free = POOL_NO_HOLDER,
        .policy = config.policy,
        .node = config.node,
        .generation_first = generation_first(&config),
    };
    error = config.backing == LOCUS_BACKING_HEAP ? blocks_open_heap(pool, &config) : blocks_open_mapped(pool, &config);
    if (!error)
        error = metadata_open(pool, &config);
    if (error) {
        locus_pool_close(pool);
        return error;
    }
    blocks_fill(pool);
    *out = pool;
    return 0;
}

void locus_pool_close(struct locus_pool *pool)
{
    if (!pool)
        return;
    RULE(!pool->owner, "an owner is open on the pool: close the owner first");
    if (pool->heap)
        for (uint32_t i = 0; i < pool->blocks; i++)
            free(pool->heap[i]);
    free(pool->heap);
    free(pool->holders);
    locus_region_close(pool->metadata);
    locus_region_close(pool->region);
    apart_free(pool);
}

// `top` still counts the free blocks; the ring starts at `head`. All never-used blocks leave before any that came home.
static void take_fifo(struct locus_pool *pool, uint32_t count, locus_block out[])
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = pool->free[pool->head];
        pool->head = pool->head + 1 == pool->blocks ? 0 : pool->head + 1;
    }
    pool_top_set(pool, pool->hot.top - count);
    pool->fresh -= count < pool->fresh ? count : pool->fresh;
}

static void take_lifo(struct locus_pool *pool, uint32_t count, locus_block out[])
{
    locus_pool_alloc_bulk_fast(&pool->hot, count, out);
    if (pool->hot.top >= pool->fresh)
        return;
    pool->fresh = pool->hot.top;
    if (!pool->tags && !pool->sharing && CALLS_UNCHECKED)
        __atomic_store_n(&pool->hot.floor, pool->hot.top, __ATOMIC_RELAXED);
}

__attribute__((noinline)) void pool_take_slow(struct locus_pool *pool, uint32_t count, locus_block out[], uint64_t tag,
                                              uint32_t after)
{
    if (pool->runs)
        pool_runs_take(pool, count, out, after);
    else if (pool->reuse == LOCUS_REUSE_FIFO)
        take_fifo(pool, count, out);
    else
        take_lifo(pool, count, out);
    for (uint32_t i = 0; i < count && pool->tags; i++)
        pool_note_tag(pool, out[i], tag);
    pool_note_outstanding(pool);
    counter_set(&pool->counters.distinct_high, pool->blocks - pool->fresh);
}

// Without a table, what is taken at one time or another is one run, as long as its last block is out.
static void take_run(struct locus_pool *pool, uint32_t count, locus_block out[])
{
    uint32_t last = pool->runs ? pool->runs->last : POOL_NOWHERE, index = pool_runs_index(pool, last);
    bool goes_on = last != POOL_NOWHERE && !pool_runs_is_free(pool, index);
    pool_take_slow(pool, count, out, 0, goes_on ? index : POOL_NOWHERE);
    if (pool->runs)
        pool->runs->last = (uint32_t)(out[count - 1] >> 32);
}

static __attribute__((noinline)) locus_block alloc_slow(struct locus_pool *pool)
{
    locus_block block = LOCUS_BLOCK_NONE;
    if (pool->hot.top || pool_reclaim(pool, 1))
        take_run(pool, 1, &block);
    return block;
}

static __attribute__((noinline)) locus_block alloc_run(struct locus_pool *pool)
{
    struct pool_runs *runs = pool->runs;
    uint32_t next = runs->last + 1;
    locus_block block;
    if (!pool_runs_next(pool, next, &block))
        return alloc_slow(pool);
    runs->last = next;
    return block;
}

locus_block locus_pool_alloc_slow(struct locus_pool *pool)
{
    RULE_OF("locus_pool_alloc", in_owner_context(pool), RULE_ROLE);
    return pool->runs ? alloc_run(pool) : alloc_slow(pool);
}

locus_block locus_pool_alloc(struct locus_pool *pool)
{
    return locus_pool_alloc_inline(pool);
}

// With count 0 `out` may be NULL, which memcpy must not get; one comparison finds both that and too large a count.
int locus_pool_alloc_bulk(struct locus_pool *pool, uint32_t count, locus_block out[])
{
    RULE(in_owner_context(pool), RULE_ROLE);
    if (__builtin_expect(count - 1 >= pool->hot.top, 0) && (count == 0 || !pool_reclaim(pool, count)))
        return count == 0 ? 0 : -ENOMEM;
    if (locus_pool_has(&pool->hot, count))
        locus_pool_alloc_bulk_fast(&pool->hot, count, out);
    else
        take_run(pool, count, out);
    return 0;
}

// Only on the error path: see the opening comment.
static bool is_free(const struct locus_pool *pool, uint32_t index)
{
    if (pool->runs)
        return pool_runs_is_free(pool, index);
    for (uint32_t i = 0; i < pool->hot.top; i++)
        if (locus_block_index(pool->free[pool_free_at(pool, i)]) == index)
            return true;
    return false;
}

enum locus_free_error pool_error_kind(const struct locus_pool *pool, locus_block block)
{
    uint32_t index = locus_block_index(block);
    if (locus_block_home(block) != pool->home)
        return LOCUS_FREE_FOREIGN;
    if (index >= pool->blocks)
        return LOCUS_FREE_RANGE;
    uint32_t now = pool->generation[index], then = locus_block_generation(block);
    if (pool_is_kept(pool, index) && now == then)
        return LOCUS_FREE_DOUBLE;
    if (now == POOL_GENERATION_WORN)
        return then == LOCUS_GENERATION_MAX ? LOCUS_FREE_DOUBLE : LOCUS_FREE_STALE;
    return now - then == 1 && is_free(pool, index) ? LOCUS_FREE_DOUBLE : LOCUS_FREE_STALE;
}

__attribute__((cold, noinline)) void pool_refuse(struct locus_pool *pool, enum locus_free_error error, locus_block block,
                                                 uint64_t tag)
{
    RULE_OF("locus_pool_free_bulk", pool->on_error, "block %u of home %u, tag %llu: %s (locus_pool_on_error is not set)",
            locus_block_index(block), locus_block_home(block), (unsigned long long)tag, free_errors[error]);
    counter_add(&pool->counters.refused[error], 1);
    if (pool->on_error)
        pool->on_error(pool->on_error_context, error, block, tag);
}

// Puts one block that came home into its place: before all others, with FIFO after them, with runs where it lies.
static void give_back(struct locus_pool *pool, locus_block block)
{
    if (pool->runs) {
        pool_runs_put(pool, locus_block_index(block));
        return;
    }
    pool_top_set(pool, pool->hot.top + 1);
    pool->free[pool_free_at(pool, pool->reuse == LOCUS_REUSE_LIFO ? 0 : pool->hot.top - 1)] = block;
}

// Fewer came home than there was room for: they end up on top.
static __attribute__((cold, noinline)) void close_gap(locus_block *stack, uint32_t freed, uint32_t count)
{
    memmove(stack + count - freed, stack, freed * sizeof *stack);
}

// Frees from the front as long as nothing is unusual (LIFO, live handles of this home, generations left), and returns how many it
// freed. pre: the stack has room for `count`. `next` is 0 after the last generation and 1 after that of worn blocks. Everything
// is in locals: the compiler has to assume that a store to the stack could change the pool.
static inline uint32_t free_fast(struct locus_pool *pool, uint32_t count, const locus_block blocks[])
{
    uint32_t *generations = pool->generation, home_bits = pool->home << 26, limit = pool->blocks;
    locus_block *stack = pool->free + pool->blocks - pool->hot.top - count, *to = stack; // the first one ends up on top
    const locus_block *from = blocks, *end = blocks + count;
#pragma GCC unroll 4
    for (; from != end; from++, to++) {
        locus_block block = *from, next = block + 1;          // the generation is the low half
        uint32_t index = (uint32_t)(block >> 32) ^ home_bits; // puts another home's index out of range as well
        if (__builtin_expect(index >= limit || generations[index] != (uint32_t)block || (uint32_t)next <= 1, 0))
            break;
        generations[index] = (uint32_t)next;
        *to = next;
    }
    uint32_t freed = (uint32_t)(from - blocks);
    if (__builtin_expect(freed < count, 0))
        close_gap(stack, freed, count);
    pool_top_set(pool, pool->hot.top + freed);
    return freed;
}

// The same, of any pool and as far as there is room for them.
static __attribute__((noinline)) uint32_t free_front(struct locus_pool *pool, uint32_t count, const locus_block blocks[])
{
    uint32_t room = pool->blocks - pool->hot.top, left = count < room ? count : room;
    if (!pool->slow_free)
        return free_fast(pool, left, blocks);
    return pool->runs && !pool->sharing ? pool_runs_free(pool, left, blocks) : 0;
}

void pool_put_home(struct locus_pool *pool, locus_block block)
{
    uint32_t index = locus_block_index(block), generation = locus_block_generation(block);
    if (generation == LOCUS_GENERATION_MAX) {
        pool->generation[index] = POOL_GENERATION_WORN;
        counter_add(&pool->counters.retired, 1);
        pool->all -= pool->all != POOL_NEVER;
        return;
    }
    pool->generation[index] = generation + 1;
    give_back(pool, block + 1);
}

// Frees one block, however unusual; 1 if it was accepted.
static uint32_t free_one(struct locus_pool *pool, locus_block block, uint64_t tag)
{
    bool none_is_out = pool->hot.top + pool->counters.retired == pool->blocks;
    if (none_is_out || locus_pool_check(pool, block)) {
        pool_refuse(pool, pool_error_kind(pool, block), block, tag);
        return 0;
    }
    pool_put_home(pool, block);
    return 1;
}

// The handles of the blocks of the lowest indices, ascending, two at a time.
static void handles_of_all(const struct locus_pool *pool, uint32_t count, locus_block out[])
{
    typedef uint32_t narrow __attribute__((vector_size(8)));
    typedef uint64_t wide __attribute__((vector_size(16)));
    const uint32_t *generations = pool->generation;
    const uint64_t one = UINT64_C(1) << 32, first = locus_block_make(pool->home, 0, 0);
    wide handles = {first, first + one};
    const wide step = {2 * one, 2 * one};
    uint32_t i = 0;
    for (; i + 2 <= count; i += 2, handles += step) {
        narrow two;
        memcpy(&two, generations + i, sizeof two);
        wide now = handles + __builtin_convertvector(two, wide);
        memcpy(out + i, &now, sizeof now);
    }
    if (i < count)
        out[i] = first + i * one + generations[i];
}

// See the opening comment.
__attribute__((noinline)) void pool_straighten(struct locus_pool *pool, uint64_t budget)
{
    uint32_t used = pool->blocks - pool->fresh;
    locus_block *stack = pool->free + pool->blocks - pool->hot.top;
    bool none_retired = pool->all == pool->blocks;
    if (pool->counters.freed - pool->freed_straightened < used || used > budget)
        return;
    if (none_retired)
        handles_of_all(pool, used, stack);
    for (uint32_t i = 0; i < used && !none_retired; i++)
        if (pool->generation[i] != POOL_GENERATION_WORN)
            *stack++ = locus_block_make(pool->home, i, pool->generation[i]);
    pool->freed_straightened = pool->counters.freed;
}

// From the first unusual handle on.
static __attribute__((noinline)) uint32_t free_rest(struct locus_pool *pool, uint32_t count, const locus_block blocks[],
                                                    uint64_t tag)
{
    uint32_t accepted = 0, done = 0;
    while (done < count) {
        accepted += free_one(pool, blocks[done++], tag);
        uint32_t usual = free_front(pool, count - done, blocks + done);
        accepted += usual;
        done += usual;
    }
    return accepted;
}

uint32_t pool_free(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag)
{
    bool usual = !pool->slow_free && count <= pool->blocks - pool->hot.top;
    if (__builtin_expect(!usual && pool->sharing, 0))
        return pool_free_shared(pool, count, blocks, tag);
    uint32_t accepted = __builtin_expect(usual, 1) ? free_fast(pool, count, blocks) : free_front(pool, count, blocks);
    if (__builtin_expect(accepted < count, 0))
        accepted += free_rest(pool, count - accepted, blocks + accepted, tag);
    counter_add(&pool->counters.freed, accepted);
    return accepted;
}

uint32_t locus_pool_free_bulk(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag)
{
    RULE(in_owner_context(pool), RULE_ROLE);
    if (!count)
        return 0;
    uint32_t accepted = pool_free(pool, count, blocks, tag);
    pool_settle(pool, UINT64_MAX);
    return accepted;
}

int locus_pool_check(const struct locus_pool *pool, locus_block block)
{
    uint32_t index = locus_block_index(block), generation = locus_block_generation(block);
    if (locus_block_home(block) != pool->home)
        return -EXDEV;
    if (index >= pool->blocks)
        return -ERANGE;
    bool live = pool->generation[index] == generation && generation != POOL_GENERATION_WORN;
    return live && !pool_is_kept(pool, index) ? 0 : -ESTALE;
}

void *locus_pool_address(const struct locus_pool *pool, locus_block block)
{
    RULE(locus_pool_check(pool, block) == 0, "%s", handle_fault(pool, block));
    return pool_address(pool, block);
}

const void *locus_pool_address_const(const struct locus_pool *pool, locus_block block)
{
    return locus_pool_address(pool, block);
}

void locus_pool_on_error(struct locus_pool *pool, locus_free_error_fn *function, void *context)
{
    pool->on_error = function;
    pool->on_error_context = context;
}

uint32_t locus_pool_home(const struct locus_pool *pool)
{
    return pool->home;
}

size_t locus_pool_block_bytes(const struct locus_pool *pool)
{
    return pool->block_bytes;
}

const struct locus_region *locus_pool_region(const struct locus_pool *pool)
{
    return pool->region;
}
