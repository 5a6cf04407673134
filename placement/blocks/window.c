// SPDX-License-Identifier: Apache-2.0
//
// window: rows of blocks in reserved addresses.
//
// mremap with an old size of 0 makes a second mapping of shared pages at a given place. It needs no file descriptor, and the new
// mapping has what the pool's has: no child inherits it, huge pages are advised or not. Its pages are there already, so they are
// entered in one call, which costs a fraction of the faults. MADV_POPULATE_READ enters 16 pages at a time, of shared memory for
// writing, too; MADV_POPULATE_WRITE, one by one, took two to three times as long.
//
// A place remembers the index of the block that it shows, not the handle: another use of the block is the same memory. What shows
// nothing is a private mapping without rights, as the reservation was.
//
// Holes are mappings, too: in a row that shows blocks, one between those of a plane and those of the next.
#include "locus/window.h"
#include "placement/base/config.h"
#include "placement/base/rules.h"
#include "placement/blocks/pool_internal.h"
#include "placement/memory/region_internal.h"
#include "topo/sysfs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define NOTHING 0u // that a place shows; a block is its index + 1
#define UNSURE UINT32_MAX // the kernel refused a part of it: it is mapped again, or hidden, before it counts as anything else

struct row {
    uint32_t end;               // all places from here on show nothing
    uint32_t live;              // places that show a block
};

struct locus_window {
    const struct locus_pool *pool;
    char *base;
    size_t bytes, row_bytes, plane_bytes; // of the reservation; from one to the next
    size_t part_bytes;          // of one block in a plane
    uint32_t rows, planes, blocks;
    struct row *state;          // [rows]
    uint32_t *shown;            // [rows][blocks]: mapped, since most of it is never touched
    size_t shown_bytes;
    uint64_t mappings_max;
    struct locus_window_stats stats;
};

// Of all windows of the process. Relaxed: it is compared with a limit that leaves room for more than a race could miss.
static uint64_t mappings_all;

static uint64_t limit_read(void)
{
    uint64_t most = 0;
    return topo_sysfs_u64("", "/proc/sys/vm/max_map_count", &most) || !most ? UINT64_MAX : most - most / 8;
}

static uint64_t mappings_of(const struct locus_window *window, uint32_t live)
{
    return live ? ((uint64_t)live + 1) * window->planes : 0;
}

static void live_set(struct locus_window *window, struct row *row, uint32_t live)
{
    uint64_t more = mappings_of(window, live) - mappings_of(window, row->live); // or less: it wraps
    row->live = live;
    window->stats.mappings += more;
    __atomic_fetch_add(&mappings_all, more, __ATOMIC_RELAXED);
}

// --- open and close -------------------------------------------------------------------------------------------------------------

static struct locus_window_config config_whole(const struct locus_window_config *config)
{
    struct locus_window_config whole = *config;
    whole.rows += whole.rows == 0;
    whole.planes += whole.planes == 0;
    return whole;
}

static const char *config_fault(const struct locus_window_config *config)
{
    const struct locus_pool *pool = config->pool;
    if (!pool || !pool->region)
        return "it has no pool, or one without a region";
    if (config->blocks == 0)
        return "blocks is 0";
    if (pool->block_bytes % config->planes)
        return "planes do not divide the bytes of a block";
    if (pool->block_bytes / config->planes % pool->region->page_bytes || pool->hot.stride_bytes % pool->region->page_bytes)
        return "a plane of a block is not whole pages of the pool: take more tokens for a block, or fewer planes";
    return NULL;
}

static void *map_nothing(size_t bytes, int rights)
{
    void *there = mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return there == MAP_FAILED ? NULL : there;
}

static int reserve(struct locus_window *window)
{
    if (__builtin_mul_overflow(window->part_bytes, (size_t)window->blocks, &window->plane_bytes) ||
        __builtin_mul_overflow(window->plane_bytes, (size_t)window->planes, &window->row_bytes) ||
        __builtin_mul_overflow(window->row_bytes, (size_t)window->rows, &window->bytes) ||
        __builtin_mul_overflow(sizeof *window->shown * window->rows, (size_t)window->blocks, &window->shown_bytes))
        return -ENOMEM;
    window->base = map_nothing(window->bytes, PROT_NONE);
    window->shown = window->base ? map_nothing(window->shown_bytes, PROT_READ | PROT_WRITE) : NULL;
    window->state = window->shown ? map_nothing(sizeof *window->state * window->rows, PROT_READ | PROT_WRITE) : NULL;
    return window->state ? 0 : -ENOMEM;
}

static int map_again(const void *memory, void *at, size_t bytes)
{
    void *there = mremap((void *)(uintptr_t)memory, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at);
    if (there == MAP_FAILED)
        return -errno;
    (void)madvise(at, bytes, MADV_POPULATE_READ); // what it does not do is left to faults
    return 0;
}

static int unmap(void *at, size_t bytes)
{
    void *hole = mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return hole == MAP_FAILED ? -ENOMEM : 0;
}

// Can the pool's memory be mapped a second time? Then the place is a hole again.
static int try_mapping(const struct locus_window *window)
{
    int error = map_again(window->pool->base, window->base, window->part_bytes);
    return error ? error : unmap(window->base, window->part_bytes);
}

int locus_window_open(struct locus_window **out, const struct locus_window_config *given)
{
    struct locus_window_config config;
    *out = NULL;
    int error = config_take(&config, sizeof config, given);
    config = error ? (struct locus_window_config){0} : config_whole(&config);
    if (!error && config_fault(&config))
        error = -EINVAL;
    struct locus_window *window = error ? NULL : calloc(1, sizeof *window);
    if (!window)
        return error ? error : -ENOMEM;
    *window = (struct locus_window){
        .pool = config.pool,
        .part_bytes = config.pool->block_bytes / config.planes,
        .rows = config.rows,
        .planes = config.planes,
        .blocks = config.blocks,
        .mappings_max = limit_read(),
    };
    error = reserve(window);
    if (!error)
        error = try_mapping(window);
    if (error) {
        locus_window_close(window);
        return error;
    }
    *out = window;
    return 0;
}

void locus_window_close(struct locus_window *window)
{
    if (!window)
        return;
    if (window->base)
        munmap(window->base, window->bytes);
    if (window->shown)
        munmap(window->shown, window->shown_bytes);
    if (window->state)
        munmap(window->state, sizeof *window->state * window->rows);
    __atomic_fetch_sub(&mappings_all, window->stats.mappings, __ATOMIC_RELAXED);
    free(window);
}

// --- show -----------------------------------------------------------------------------------------------------------------------

static char *place(const struct locus_window *window, uint32_t row, uint32_t plane, uint32_t at)
{
    return window->base + row * window->row_bytes + plane * window->plane_bytes + at * window->part_bytes;
}

static uint32_t *shown_of(const struct locus_window *window, uint32_t row)
{
    return window->shown + (size_t)row * window->blocks;
}

static uint32_t to_show(locus_block block)
{
    return block == LOCUS_BLOCK_NONE ? NOTHING : locus_block_index(block) + 1;
}

// Can the row show them all?
static int check(const struct locus_window *window, uint32_t row, const struct locus_table *table)
{
    const struct locus_pool *pool = window->pool;
    uint32_t live = 0;
    if (table->count > window->blocks)
        return -ENOSPC;
    for (uint32_t i = 0; i < table->count; i++) {
        locus_block block = table->blocks[i];
        if (block != LOCUS_BLOCK_NONE && (locus_block_home(block) != pool->home || locus_block_index(block) >= pool->blocks))
            return -EXDEV;
        live += block != LOCUS_BLOCK_NONE;
    }
    uint64_t now = mappings_of(window, window->state[row].live), then = mappings_of(window, live);
    bool too_many = then > now && __atomic_load_n(&mappings_all, __ATOMIC_RELAXED) + (then - now) > window->mappings_max;
    return too_many ? -EMLINK : 0;
}

// Places [from, to) show nothing any more. A whole row takes one call.
static int hide(struct locus_window *window, uint32_t row, uint32_t from, uint32_t to)
{
    uint32_t *shown = shown_of(window, row), hidden = 0;
    bool all = from == 0 && to == window->state[row].end;
    int error = all ? unmap(place(window, row, 0, 0), window->row_bytes) : 0;
    for (uint32_t plane = 0; plane < window->planes && !all && !error; plane++)
        error = unmap(place(window, row, plane, from), (to - from) * window->part_bytes);
    for (uint32_t i = from; i < to; i++) {
        hidden += shown[i] != NOTHING && !error;
        shown[i] = shown[i] == NOTHING || !error ? NOTHING : UNSURE;
    }
    window->stats.unmapped += hidden;
    live_set(window, &window->state[row], window->state[row].live - hidden);
    return error;
}

// In a hole, or in the place of another block. After an error show() hides it.
static int map_block(struct locus_window *window, uint32_t row, uint32_t at, uint32_t wanted)
{
    const char *memory = window->pool->base + (wanted - 1) * window->pool->hot.stride_bytes;
    uint32_t *shown = shown_of(window, row) + at;
    int error = 0;
    for (uint32_t plane = 0; plane < window->planes && !error; plane++)
        error = map_again(memory + plane * window->part_bytes, place(window, row, plane, at), window->part_bytes);
    live_set(window, &window->state[row], window->state[row].live + (*shown == NOTHING));
    *shown = wanted;
    window->stats.mapped++;
    return error;
}

// The places from `from` on that show something and shall not. Returns the first one behind them.
static uint32_t gap_end(const uint32_t shown[], uint32_t from, uint32_t end, const struct locus_table *table)
{
    uint32_t at = from;
    while (at < end && shown[at] != NOTHING && (at >= table->count || table->blocks[at] == LOCUS_BLOCK_NONE))
        at++;
    return at;
}

// A row's end is behind all that may be mapped at any time, so that a row of which a mapping failed can be hidden.
static int show(struct locus_window *window, uint32_t row, const struct locus_table *table)
{
    uint32_t *shown = shown_of(window, row), end = window->state[row].end, behind;
    int error = table->count == 0 && end ? hide(window, row, 0, end) : 0;
    for (uint32_t at = 0; at < end && !error; at = behind + 1) {
        behind = gap_end(shown, at, end, table);
        error = behind > at ? hide(window, row, at, behind) : 0;
    }
    if (error)
        return error;
    window->state[row].end = table->count;
    for (uint32_t at = 0; at < table->count && !error; at++) {
        uint32_t wanted = to_show(table->blocks[at]);
        error = wanted != shown[at] ? map_block(window, row, at, wanted) : 0;
        if (error)
            hide(window, row, at, table->count);
    }
    return error;
}

int locus_window_show(struct locus_window *window, uint32_t row, const struct locus_table *table)
{
    const struct locus_table nothing = {0};
    RULE(row < window->rows, "there is no row %u", row);
    if (row >= window->rows)
        return -EINVAL;
    if (!table)
        table = &nothing;
    int error = check(window, row, table);
    return error ? error : show(window, row, table);
}

void *locus_window_base(const struct locus_window *window)
{
    return window->base;
}

size_t locus_window_row_bytes(const struct locus_window *window)
{
    return window->row_bytes;
}

size_t locus_window_plane_bytes(const struct locus_window *window)
{
    return window->plane_bytes;
}

void locus_window_stats(const struct locus_window *window, struct locus_window_stats *out)
{
    *out = window->stats;
    out->mappings_all = __atomic_load_n(&mappings_all, __ATOMIC_RELAXED);
    out->mappings_max = window->mappings_max;
}

// --- why ------------------------------------------------------------------------------------------------------------------------

static void why_memory(const struct locus_window_config *config, char *why, size_t why_bytes)
{
    uint64_t mib = (uint64_t)config->rows * config->blocks * config->pool->block_bytes >> 20;
    snprintf(why, why_bytes,
             "the kernel refused a mapping, or %" PRIu64 " MiB of addresses for the window: look at vm.max_map_count and at "
             "RLIMIT_AS (ulimit -v), or take fewer rows or blocks",
             mib);
}

static void why_mappings(const struct locus_window_config *config, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes,
             "a block takes %u mappings (planes), and windows may have %" PRIu64 " of those of the process, which has %" PRIu64
             " for them now: raise vm.max_map_count (sysctl), or take larger blocks",
             config->planes, limit_read(), __atomic_load_n(&mappings_all, __ATOMIC_RELAXED));
}

void locus_window_why(const struct locus_window_config *given, int error, char *why, size_t why_bytes)
{
    struct locus_window_config config;
    int taken = config_take(&config, sizeof config, given);
    config = taken ? (struct locus_window_config){0} : config_whole(&config);
    const char *fault = taken ? config_why(taken) : config_fault(&config);
    if (fault)
        snprintf(why, why_bytes, "%s", fault);
    else if (abs(error) == ENOSPC)
        snprintf(why, why_bytes, "a row has room for %u blocks, and the table has more: open the window with more `blocks`",
                 config.blocks);
    else if (abs(error) == EXDEV)
        snprintf(why, why_bytes, "the table has a block of another home or pool, and a window shows the blocks of one");
    else if (abs(error) == EMLINK)
        why_mappings(&config, why, why_bytes);
    else if (abs(error) == ENOMEM)
        why_memory(&config, why, why_bytes);
    else if (abs(error) == EINVAL)
        snprintf(why, why_bytes,
                 "the pool's memory cannot be mapped a second time (open it with `windows`), or the window has no such row");
    else
        snprintf(why, why_bytes, "mremap is forbidden here (%s): allow it in the sandbox", strerror(abs(error)));
}
