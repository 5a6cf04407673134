// SPDX-License-Identifier: Apache-2.0
//
// spans: opened by need, found again by use, node and size.
//
// Huge pages come transparent first, because a reserved pool is somebody's. Only where the kernel gives none (switched off, or the
// memory is in pieces) and a pool has pages to spare on that node is the pool asked. Where neither has any, base pages it is,
// and the account says so: a chase then pays for the page tables as well.
//
// Which pages a transparent span got is told by AnonHugePages in /proc/self/smaps, the only place that needs no privilege.
#include "locus/region.h"
#include "testbed/matrix/spans.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HUGE_BYTES ((uint64_t)2 << 20)

// --- pages ---------------------------------------------------------------------------------------------------------------------

// "7f0000000000-7f0000200000 rw-p ..." begins a mapping, "AnonHugePages:  2048 kB" is one of its lines. The guards keep a
// region's mapping its own. UINT64_MAX: not told.
static uint64_t huge_bytes(const struct locus_region *region)
{
    uintptr_t base = (uintptr_t)locus_region_base(region), end = base + locus_region_bytes(region);
    uint64_t bytes = UINT64_MAX;
    bool inside = false;
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen("/proc/self/smaps", "re");
    if (!file)
        return UINT64_MAX;
    while (getline(&line, &capacity, file) > 0) {
        uintptr_t from, to;
        uint64_t kib;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
            inside = from >= base && to <= end;
            if (from >= end)
                break;
        } else if (inside && sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1) {
            bytes = (bytes == UINT64_MAX ? 0 : bytes) + kib * 1024;
        }
    }
    free(line);
    fclose(file);
    return bytes;
}

static uint64_t page_bytes(const struct locus_region *region, const struct locus_placement *placement)
{
    if (!placement->granted.thp_advised)
        return placement->granted.page_bytes;
    uint64_t huge = huge_bytes(region);
    if (huge == UINT64_MAX)
        return 0;
    return huge == locus_region_bytes(region) ? HUGE_BYTES : placement->granted.page_bytes;
}

static uint64_t pages_on(const struct locus_placement *placement, int node)
{
    for (unsigned i = 0; i < placement->verified.nodes; i++)
        if (placement->verified.on[i].node == node)
            return placement->verified.on[i].pages;
    return 0;
}

int tb_spans_look(struct locus_region *const regions[], unsigned count, int memory, struct tb_matrix_placement *out)
{
    *out = (struct tb_matrix_placement){.verified = true, .granted_node = memory};
    for (unsigned i = 0; i < count; i++) {
        struct locus_placement found;
        int result = locus_region_verify(regions[i], &found);
        if (result)
            return result;
        uint64_t bytes = page_bytes(regions[i], &found);
        out->requested = found.requested.policy;
        if (i == 0 || found.granted.policy != out->granted || found.granted.node != memory) {
            out->granted = found.granted.policy;
            out->granted_node = found.granted.node;
        }
        if (i == 0 || bytes < out->page_bytes)
            out->page_bytes = bytes;
        out->pages += found.verified.pages;
        out->pages_there += pages_on(&found, memory);
        out->verified = out->verified && found.verified.verify_errno == 0;
    }
    return 0;
}

// --- spans ---------------------------------------------------------------------------------------------------------------------

static void remove_span(struct tb_spans *spans, struct tb_span *span)
{
    struct tb_span **at = &spans->first;
    while (*at != span)
        at = &(*at)->next;
    *at = span->next;
    locus_region_close(span->region);
    free(span);
}

// Closes those that nobody has taken: of a node, or with -1 of all; of all uses, or only streams. Were there any?
static bool make_room(struct tb_spans *spans, int memory, bool streams)
{
    bool any = false;
    for (struct tb_span *span = spans->first, *next; span; span = next) {
        next = span->next;
        if (span->taken || (memory >= 0 && span->memory != memory) || (streams && span->use != TB_SPAN_STREAM))
            continue;
        remove_span(spans, span);
        any = true;
    }
    return any;
}

static bool huge_enough(const struct locus_region *region)
{
    uint64_t huge = huge_bytes(region);
    return huge == UINT64_MAX || huge == locus_region_bytes(region);
}

// A kernel that has no transparent huge pages answers ENOSYS.
static int open_huge(struct locus_region_config *config, struct locus_region **out)
{
    struct locus_region *pooled;
    config->page = LOCUS_PAGE_THP;
    int result = locus_region_open(out, config);
    if (result && result != -ENOSYS)
        return result;
    if (!result && huge_enough(*out))
        return 0;
    config->page = LOCUS_PAGE_2M;
    if (locus_region_open(&pooled, config) == 0) {
        locus_region_close(*out);
        *out = pooled;
        return 0;
    }
    config->page = LOCUS_PAGE_4K;
    return result ? locus_region_open(out, config) : 0;
}

static int open_region(struct tb_spans *spans, struct tb_span *span, char *why, size_t why_bytes)
{
    struct locus_region_config config = {
        .size = sizeof config,
        .bytes = span->bytes,
        .memory_class = LOCUS_CLASS_SCRATCH,
        .page = LOCUS_PAGE_4K,
        .policy = LOCUS_POLICY_BIND,
        .node = span->memory,
        .populate = true,
    };
    for (;;) {
        int result = span->use == TB_SPAN_PAGES ? locus_region_open(&span->region, &config) : open_huge(&config, &span->region);
        // The limit that was met may be the cgroup's: then other nodes' spans are in the way as well.
        if (result == -ENOMEM && (make_room(spans, span->memory, false) || make_room(spans, -1, false)))
            continue;
        if (result)
            locus_region_why(&config, result, why, why_bytes);
        return result;
    }
}

static int fill(struct tb_spans *spans, struct tb_span *span, char *why, size_t why_bytes)
{
    if (span->use != TB_SPAN_CHASE)
        return 0;
    span->at = locus_region_base(span->region);
    int result = tb_chase_build(locus_region_base(span->region), span->bytes / 64, spans->seed);
    if (result)
        snprintf(why, why_bytes, "there is no memory for the order of %" PRIu64 " lines", span->bytes / 64);
    return result;
}

static struct tb_span *find(const struct tb_spans *spans, enum tb_span_use use, int memory, uint64_t bytes)
{
    for (struct tb_span *span = spans->first; span; span = span->next)
        if (!span->taken && span->use == use && span->memory == memory &&
            (span->bytes == bytes || (use == TB_SPAN_STREAM && span->bytes > bytes)))
            return span;
    return NULL;
}

int tb_spans_take(struct tb_spans *spans, enum tb_span_use use, int memory, uint64_t bytes, struct tb_span **out, char *why,
                  size_t why_bytes)
{
    struct tb_span *span = find(spans, use, memory, bytes);
    int result = 0;
    if (!span) {
        span = calloc(1, sizeof *span);
        if (!span) {
            snprintf(why, why_bytes, "out of memory");
            return -ENOMEM;
        }
        *span = (struct tb_span){.use = use, .memory = memory, .bytes = bytes};
        if (use == TB_SPAN_STREAM) // a larger one takes the place of those that were too small
            make_room(spans, memory, true);
        result = open_region(spans, span, why, why_bytes);
        if (!result)
            result = fill(spans, span, why, why_bytes);
        if (result) {
            locus_region_close(span->region);
            free(span);
            return result;
        }
        span->next = spans->first;
        spans->first = span;
    }
    span->taken = true;
    *out = span;
    return 0;
}

void tb_spans_release(struct tb_spans *spans)
{
    for (struct tb_span *span = spans->first; span; span = span->next)
        span->taken = false;
}

void tb_spans_close(struct tb_spans *spans)
{
    tb_spans_release(spans);
    make_room(spans, -1, false);
}
