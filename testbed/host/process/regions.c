// SPDX-License-Identifier: Apache-2.0
//
// regions: a process has thousands of mappings, and a person reads a handful of lines.
//
// Anonymous memory is told apart by its addresses, files by their names. What is large gets a line of its own, as long as there are
// any; the others of its kind share one; all that is small is the rest.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/host/process/maps.h"

// Large is more than a libc maps for itself, and a hundredth of the process: what is less could not change the answer.
#define LARGE_BYTES (UINT64_C(4) << 20)
#define LARGE_SHARE 100u

#define LINES_OF_KIND 6u        // and one for the others: with the rest there are 15 lines at most

struct piece {
    enum tb_region_kind kind;
    size_t first;               // mapping
    uint64_t present_bytes;
    unsigned line;
};

struct pieces {
    struct piece *piece;
    size_t count;
    size_t *of;                 // of each mapping
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// Shared memory and huge pages have names of files, but nothing that could be read again from a disk.
static enum tb_region_kind kind_of(const struct tb_mapping *mapping)
{
    static const char *const memory[] = {"[heap]", "[anon",          "[stack",    "/dev/zero",     "/memfd:",
                                         "/SYSV",  "/anon_hugepage", "/dev/shm/", "/dev/hugepages"};
    if (!mapping->name || mapping->hugetlb_bytes)
        return TB_REGION_ANONYMOUS;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (begins(mapping->name, memory[i]))
            return TB_REGION_ANONYMOUS;
    return mapping->name[0] == '/' ? TB_REGION_FILE : TB_REGION_REST;
}

static bool same_text(const char *one, const char *other)
{
    return one == other || (one && other && strcmp(one, other) == 0);
}

static bool joins(const struct tb_mapping *before, const struct tb_mapping *mapping)
{
    return before->end == mapping->start && same_text(before->name, mapping->name) &&
           strcmp(before->policy, mapping->policy) == 0 && before->page_bytes == mapping->page_bytes;
}

// The piece that a mapping belongs to, or pieces->count: it begins one.
static size_t piece_of(const struct tb_maps *maps, const struct pieces *pieces, size_t m, enum tb_region_kind kind)
{
    const struct tb_mapping *mapping = &maps->mapping[m];
    size_t last = m > 0 ? pieces->of[m - 1] : 0;
    if (m > 0 && pieces->piece[last].kind == kind && joins(&maps->mapping[m - 1], mapping))
        return last;
    if (kind == TB_REGION_ANONYMOUS)
        return pieces->count;
    for (size_t p = pieces->count; p-- > 0;)
        if (pieces->piece[p].kind == kind &&
            (kind == TB_REGION_REST || same_text(maps->mapping[pieces->piece[p].first].name, mapping->name)))
            return p;
    return pieces->count;
}

static void pieces_make(const struct tb_maps *maps, struct pieces *pieces)
{
    for (size_t m = 0; m < maps->count; m++) {
        const struct tb_mapping *mapping = &maps->mapping[m];
        uint64_t present = tb_mapping_present(mapping);
        enum tb_region_kind kind = mapping->barred && present == 0 ? TB_REGION_REST : kind_of(mapping);
        size_t p = piece_of(maps, pieces, m, kind);
        if (p == pieces->count)
            pieces->piece[pieces->count++] = (struct piece){.kind = kind, .first = m};
        pieces->piece[p].present_bytes += present;
        pieces->of[m] = p;
    }
}

// --- lines ---------------------------------------------------------------------------------------------------------------------

static void name_make(const struct tb_mapping *mapping, struct tb_region *region)
{
    const char *name = mapping->name, *base = name ? strrchr(name, '/') : NULL;
    if (!name || begins(name, "/anon_hugepage") || begins(name, "/dev/zero"))
        snprintf(region->name, sizeof region->name, "at %" PRIx64, mapping->start);
    else
        snprintf(region->name, sizeof region->name, "%.*s", (int)sizeof region->name - 1, base && base[1] ? base + 1 : name);
}

static unsigned line_add(struct tb_process *process, enum tb_region_kind kind)
{
    process->regions[process->regions_count] = (struct tb_region){.kind = kind};
    return process->regions_count++;
}

// The largest that has no line yet, or NULL.
static struct piece *largest(struct pieces *pieces, enum tb_region_kind kind, uint64_t least_bytes)
{
    struct piece *best = NULL;
    for (struct piece *piece = pieces->piece; piece < pieces->piece + pieces->count; piece++)
        if (piece->kind == kind && piece->line == UINT32_MAX && piece->present_bytes >= least_bytes &&
            (!best || piece->present_bytes > best->present_bytes))
            best = piece;
    return best;
}

static void lines_of_kind(const struct tb_maps *maps, struct pieces *pieces, enum tb_region_kind kind, uint64_t least_bytes,
                          struct tb_process *process)
{
    struct piece *piece = largest(pieces, kind, least_bytes);
    for (unsigned lines = 0; piece && lines < LINES_OF_KIND; lines++, piece = largest(pieces, kind, least_bytes)) {
        piece->line = line_add(process, kind);
        name_make(&maps->mapping[piece->first], &process->regions[piece->line]);
    }
    unsigned others = piece ? line_add(process, kind) : 0;
    for (; piece; piece = largest(pieces, kind, least_bytes))
        piece->line = others;
}

static void policy_add(const struct tb_mapping *mapping, struct tb_region *region)
{
    if (region->mappings == 0)
        snprintf(region->policy, sizeof region->policy, "%s", mapping->policy);
    else if (strcmp(region->policy, mapping->policy))
        snprintf(region->policy, sizeof region->policy, "mixed");
}

static void mapping_add_to(const struct tb_mapping *mapping, struct tb_region *region)
{
    uint64_t present = tb_mapping_present(mapping);
    if (mapping->barred && present == 0)
        return;
    policy_add(mapping, region);
    region->mappings++;
    region->size_bytes += mapping->end - mapping->start;
    region->present_bytes += present;
    region->page_bytes = mapping->page_bytes > region->page_bytes ? mapping->page_bytes : region->page_bytes;
    region->huge_bytes += mapping->huge_bytes + mapping->hugetlb_bytes;
    region->unplaced_bytes += mapping->placed ? mapping->elsewhere_bytes : present;
    for (unsigned n = 0; n < TB_PROCESS_NODES_MAX; n++)
        region->on_bytes[n] += mapping->on_bytes[n];
}

static void lines_fill(struct tb_maps *maps, struct pieces *pieces, unsigned rest, struct tb_process *process)
{
    for (size_t m = 0; m < maps->count; m++) {
        struct piece *piece = &pieces->piece[pieces->of[m]];
        maps->mapping[m].line = piece->line == UINT32_MAX ? rest : piece->line;
        mapping_add_to(&maps->mapping[m], &process->regions[maps->mapping[m].line]);
    }
    for (size_t p = 0; p < pieces->count; p++)
        process->regions[pieces->piece[p].line == UINT32_MAX ? rest : pieces->piece[p].line].pieces++;
    for (unsigned r = 0; r < process->regions_count; r++) {
        struct tb_region *region = &process->regions[r];
        if (region->kind == TB_REGION_REST)
            snprintf(region->name, sizeof region->name, "rest");
        else if (region->pieces > 1)
            snprintf(region->name, sizeof region->name, "%" PRIu64 " other %s", region->pieces,
                     region->kind == TB_REGION_FILE ? "files" : "regions");
    }
}

int tb_regions_make(struct tb_maps *maps, struct tb_process *process)
{
    struct pieces pieces = {.piece = calloc(maps->count + 1, sizeof *pieces.piece),
                            .of = calloc(maps->count + 1, sizeof *pieces.of)};
    int error = pieces.piece && pieces.of ? 0 : -ENOMEM;
    uint64_t total = 0;
    process->regions_count = 0;
    if (!error && maps->count > 0) {
        pieces_make(maps, &pieces);
        for (size_t p = 0; p < pieces.count; p++) {
            total += pieces.piece[p].present_bytes;
            pieces.piece[p].line = UINT32_MAX;
        }
        uint64_t least = total / LARGE_SHARE > LARGE_BYTES ? total / LARGE_SHARE : LARGE_BYTES;
        lines_of_kind(maps, &pieces, TB_REGION_ANONYMOUS, least, process);
        lines_of_kind(maps, &pieces, TB_REGION_FILE, least, process);
        lines_fill(maps, &pieces, line_add(process, TB_REGION_REST), process);
    }
    free(pieces.piece);
    free(pieces.of);
    return error;
}
