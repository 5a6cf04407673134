// SPDX-License-Identifier: Apache-2.0
//
// locality: a map from pages to nodes, and matrices that count writes, allocations and frees from node to node.
//
// The map is two parallel arrays, addresses and nodes, in the form that move_pages takes and gives, so that a refresh is one
// system call and no copying; a hash from page number to index serves the notes. Pages are never removed: a malloc mostly reuses
// the address space that it once used.
//
// A note on a page whose node is known goes straight into its matrix. Any other note becomes an event {page, what, from, kept,
// count} in the pending list. The next refresh, which knows the page's node, books it. Otherwise a first touch would always be
// unknown, because the page is absent until then.
//
// All data is in one populated mapping: notes neither allocate nor fault, and do not disturb the observed malloc.
#include "testbed/measure/locality/locality.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "testbed/measure/locality/cpu_node.h"

#define LINE_BYTES 64u
#define WORD_BYTES 8u
#define LIMIT (1u << 30)
#define NONE UINT32_MAX
#define LOOK_PAGES 128u // on the stack: 2.5 KiB

// Inside, nodes are ordinals in the topology's order, and `nodes_count` itself stands for unknown: one row and column more.

struct event {
    uint32_t page;              // place in the arrays
    uint16_t from, kept;        // ordinals
    enum tb_locality_what what;
    uint64_t count;
};

struct tb_locality {
    struct tb_locality_world world;
    bool own_world;             // this machine, not an injected one: rseq may be asked
    size_t mapping_bytes;
    unsigned page_shift, slots_shift;
    uint32_t nodes_count, nodes_end, cpus_end; // the last two: one above the highest OS index
    uint32_t pages_max, pending_max, points_max;
    uint32_t points_count;      // the last one is the step in progress
    uint32_t place_last;        // of the page noted last: the next note is often about the same
    struct tb_locality_map map;
    struct tb_locality_map added; // of the instances that were added to this one

    int *os_nodes;              // by ordinal
    uint16_t *ordinals;         // by OS node
    uint16_t *cpu_ordinals;     // by CPU
    uint64_t *matrices;         // TB_LOCALITY_WHATS of (nodes_count + 1) rows and columns
    struct tb_locality_point *points;
    struct event *pending;
    void **pages;
    int *nodes, *nodes_fresh;
    uint32_t *slots;            // place of a page in the arrays, NONE: empty
};

static uint16_t ordinal_of(const struct tb_locality *locality, int os_node)
{
    return os_node >= 0 && (uint32_t)os_node < locality->nodes_end ? locality->ordinals[os_node] : (uint16_t)locality->nodes_count;
}

static uint64_t *cell_of(const struct tb_locality *locality, enum tb_locality_what what, uint32_t from, uint32_t to)
{
    size_t side = locality->nodes_count + 1u;
    return &locality->matrices[((size_t)what * side + from) * side + to];
}

// --- this machine --------------------------------------------------------------------------------------------------------------

static int machine_cpu(void *context)
{
    (void)context;
    return sched_getcpu();
}

static int machine_page_nodes(void *context, size_t count, void *const pages[], int nodes[])
{
    (void)context;
    return syscall(SYS_move_pages, 0, (unsigned long)count, pages, NULL, nodes, 0) < 0 ? -errno : 0;
}

static const struct tb_locality_world machine = {machine_cpu, machine_page_nodes, NULL};

// --- open and close ------------------------------------------------------------------------------------------------------------

static void *carve(uintptr_t *cursor, size_t count, size_t size)
{
    void *piece = (void *)*cursor;
    *cursor += (count * size + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    return piece;
}

// Lays out the arrays from `start` and returns their size; `start` 0 only measures.
static size_t lay_out(struct tb_locality *locality, uintptr_t start)
{
    uintptr_t cursor = start;
    size_t side = locality->nodes_count + 1u;
    carve(&cursor, 1, sizeof *locality);
    locality->os_nodes = carve(&cursor, side, sizeof *locality->os_nodes);
    locality->ordinals = carve(&cursor, locality->nodes_end, sizeof *locality->ordinals);
    locality->cpu_ordinals = carve(&cursor, locality->cpus_end, sizeof *locality->cpu_ordinals);
    locality->matrices = carve(&cursor, TB_LOCALITY_WHATS * side * side, sizeof *locality->matrices);
    locality->points = carve(&cursor, locality->points_max, sizeof *locality->points);
    locality->pending = carve(&cursor, locality->pending_max, sizeof *locality->pending);
    locality->pages = carve(&cursor, locality->pages_max, sizeof *locality->pages);
    locality->nodes = carve(&cursor, locality->pages_max, sizeof *locality->nodes);
    locality->nodes_fresh = carve(&cursor, locality->pages_max, sizeof *locality->nodes_fresh);
    locality->slots = carve(&cursor, (size_t)1 << (64 - locality->slots_shift), sizeof *locality->slots);
    return cursor - start;
}

static void fill_nodes(struct tb_locality *locality, const struct locus_topo *topo)
{
    const struct locus_topo_info *info = locus_topo_info(topo);
    for (uint32_t i = 0; i < locality->nodes_end; i++)
        locality->ordinals[i] = (uint16_t)locality->nodes_count;
    for (uint32_t i = 0; i < locality->cpus_end; i++)
        locality->cpu_ordinals[i] = (uint16_t)locality->nodes_count;
    for (uint32_t n = 0; n < locality->nodes_count; n++) {
        locality->os_nodes[n] = locus_topo_nodes(topo)[n].os_index;
        locality->ordinals[locality->os_nodes[n]] = (uint16_t)n;
    }
    locality->os_nodes[locality->nodes_count] = TB_LOCALITY_UNKNOWN;
    for (unsigned c = 0; c < info->cpus_count; c++) {
        const struct locus_topo_cpu *cpu = &locus_topo_cpus(topo)[c];
        if (cpu->node >= 0)
            locality->cpu_ordinals[cpu->os_index] = locality->ordinals[cpu->node];
    }
}

static bool valid(const struct tb_locality_config *config)
{
    const uint32_t maxima[] = {config->pages_max, config->pending_max, config->points_max};
    for (unsigned i = 0; i < 3; i++)
        if (maxima[i] == 0 || maxima[i] > LIMIT)
            return false;
    return config->topo && locus_topo_info(config->topo)->nodes_count > 0 && locus_topo_info(config->topo)->cpus_count > 0;
}

int tb_locality_open(struct tb_locality **out, const struct tb_locality_config *config)
{
    *out = NULL;
    if (!valid(config))
        return -EINVAL;
    const struct locus_topo_info *info = locus_topo_info(config->topo);
    struct tb_locality plan = {
        .world = config->world ? *config->world : machine,
        .own_world = !config->world,
        .page_shift = (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE)),
        .slots_shift = 64u - 2u - (31u - (unsigned)__builtin_clz(config->pages_max)), // two to four slots for each page
        .nodes_count = info->nodes_count,
        .nodes_end = (uint32_t)locus_topo_nodes(config->topo)[info->nodes_count - 1].os_index + 1u,
        .cpus_end = locus_topo_cpus(config->topo)[info->cpus_count - 1].os_index + 1u,
        .pages_max = config->pages_max,
        .pending_max = config->pending_max,
        .points_max = config->points_max,
        .points_count = 1,
        .place_last = NONE,
    };
    plan.mapping_bytes = lay_out(&plan, 0);
    void *mapping = mmap(NULL, plan.mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (mapping == MAP_FAILED)
        return -errno;
    struct tb_locality *locality = mapping;
    *locality = plan;
    lay_out(locality, (uintptr_t)mapping);
    memset(locality->slots, 0xff, sizeof *locality->slots << (64 - locality->slots_shift));
    fill_nodes(locality, config->topo);
    *out = locality;
    return 0;
}

void tb_locality_close(struct tb_locality *locality)
{
    if (locality)
        munmap(locality, locality->mapping_bytes);
}

// --- the map -------------------------------------------------------------------------------------------------------------------

static uint32_t *slot_of(const struct tb_locality *locality, uintptr_t number)
{
    uint64_t mask = ((uint64_t)1 << (64 - locality->slots_shift)) - 1;
    uint64_t slot = (uint64_t)number * 0x9e3779b97f4a7c15u >> locality->slots_shift; // Knuth's multiplicative hash, 2^64 / phi
    while (locality->slots[slot] != NONE && (uintptr_t)locality->pages[locality->slots[slot]] >> locality->page_shift != number)
        slot = (slot + 1) & mask;
    return &locality->slots[slot];
}

// Index of a page in the arrays; a new page is added. NONE: no room.
static uint32_t place_of(struct tb_locality *locality, uintptr_t number)
{
    uint32_t last = locality->place_last;
    if (last != NONE && (uintptr_t)locality->pages[last] >> locality->page_shift == number)
        return last;
    uint32_t *slot = slot_of(locality, number);
    if (*slot == NONE) {
        if (locality->map.pages == locality->pages_max) {
            locality->map.pages_refused++;
            return NONE;
        }
        *slot = (uint32_t)locality->map.pages++;
        locality->pages[*slot] = (void *)(number << locality->page_shift);
        locality->nodes[*slot] = -ENOENT;
    }
    return locality->place_last = *slot;
}

int tb_locality_watch(struct tb_locality *locality, const void *base, size_t bytes)
{
    if (bytes == 0)
        return 0;
    uintptr_t end = ((uintptr_t)base + bytes - 1) >> locality->page_shift;
    for (uintptr_t number = (uintptr_t)base >> locality->page_shift; number <= end; number++)
        if (place_of(locality, number) == NONE)
            return -ENOSPC;
    return 0;
}

int tb_locality_page_node(const struct tb_locality *locality, const void *address)
{
    uint32_t place = *slot_of(locality, (uintptr_t)address >> locality->page_shift);
    return place == NONE ? -ENOENT : locality->nodes[place];
}

// --- notes ---------------------------------------------------------------------------------------------------------------------

static uint16_t here(const struct tb_locality *locality)
{
    int node = locality->own_world ? tb_cpu_node_rseq() : -ENOSYS;
    if (node >= 0)
        return ordinal_of(locality, node);
    int cpu = locality->world.cpu(locality->world.context);
    return cpu >= 0 && (uint32_t)cpu < locality->cpus_end ? locality->cpu_ordinals[cpu] : (uint16_t)locality->nodes_count;
}

// Books an event whose page is on `node`, an ordinal, or unknown.
static void book(struct tb_locality *locality, const struct event *event, uint16_t node)
{
    uint32_t unknown = locality->nodes_count;
    *cell_of(locality, event->what, event->from, node) += event->count;
    if (event->what == TB_LOCALITY_FREES && node != unknown && event->kept != unknown && event->kept != node)
        *cell_of(locality, TB_LOCALITY_FREES_ABROAD, event->from, node) += event->count;
    if (event->what == TB_LOCALITY_ALLOCATIONS) {
        struct tb_locality_point *point = &locality->points[locality->points_count - 1];
        bool known = node != unknown && event->from != unknown;
        point->allocated += event->count;
        point->unknown += known ? 0 : event->count;
        point->wandered += known && node != event->from ? event->count : 0;
    }
}

// True if the event waits for the next refresh. It is merged with the previous event if both are alike: many small blocks on a
// page.
static bool pend(struct tb_locality *locality, const struct event *event)
{
    uint64_t count = locality->map.pending;
    struct event *last = count ? &locality->pending[count - 1] : NULL;
    if (last && last->page == event->page && last->what == event->what && last->from == event->from && last->kept == event->kept) {
        last->count += event->count;
        return true;
    }
    if (count == locality->pending_max) {
        locality->map.pending_refused++;
        return false;
    }
    locality->pending[locality->map.pending++] = *event;
    return true;
}

static void note(struct tb_locality *locality, uintptr_t number, struct event event)
{
    event.page = place_of(locality, number);
    int node = event.page == NONE ? -ENOSPC : locality->nodes[event.page];
    if (event.page == NONE || node >= 0 || !pend(locality, &event))
        book(locality, &event, ordinal_of(locality, node));
}

// The complete aligned words of a range, as [*first, *end).
static void words(uintptr_t address, size_t bytes, uintptr_t *first, uintptr_t *end)
{
    *first = (address + WORD_BYTES - 1) & ~(uintptr_t)(WORD_BYTES - 1);
    *end = (address + bytes) & ~(uintptr_t)(WORD_BYTES - 1);
}

uint64_t tb_locality_touch(void *address, size_t bytes, uint64_t value)
{
    typedef uint64_t __attribute__((may_alias)) word; // the block's user may use another type
    uintptr_t at, end;
    uint64_t stores = 0;
    for (words((uintptr_t)address, bytes, &at, &end); at < end; at = (at | (LINE_BYTES - 1)) + 1, stores++)
        *(volatile word *)at = value;
    return stores;
}

bool tb_locality_touched(const void *address, size_t bytes, uint64_t value)
{
    typedef const uint64_t __attribute__((may_alias)) word;
    uintptr_t at, end;
    for (words((uintptr_t)address, bytes, &at, &end); at < end; at = (at | (LINE_BYTES - 1)) + 1)
        if (*(volatile word *)at != value)
            return false;
    return true;
}

void tb_locality_note_write(struct tb_locality *locality, const void *address, size_t bytes)
{
    uintptr_t at, end, next;
    uint16_t from = here(locality);
    for (words((uintptr_t)address, bytes, &at, &end); at < end; at = next) {
        uintptr_t number = at >> locality->page_shift;
        next = (number + 1) << locality->page_shift;
        uintptr_t last = (next < end ? next : end) - 1;
        note(locality, number,
             (struct event){
                 .what = TB_LOCALITY_TOUCHES, .from = from, .kept = from, .count = last / LINE_BYTES - at / LINE_BYTES + 1});
    }
}

void tb_locality_note_bytes(struct tb_locality *locality, enum tb_locality_what what, const void *address, size_t bytes)
{
    uintptr_t at = (uintptr_t)address, end = at + bytes, next;
    uint16_t from = here(locality);
    for (; at < end; at = next) {
        uintptr_t number = at >> locality->page_shift;
        next = (number + 1) << locality->page_shift;
        next = next < end ? next : end;
        note(locality, number, (struct event){.what = what, .from = from, .kept = from, .count = next - at});
    }
}

void tb_locality_note_alloc(struct tb_locality *locality, const void *address)
{
    uint16_t from = here(locality);
    note(locality, (uintptr_t)address >> locality->page_shift,
         (struct event){.what = TB_LOCALITY_ALLOCATIONS, .from = from, .kept = from, .count = 1});
}

void tb_locality_note_free(struct tb_locality *locality, const void *address, int kept_on)
{
    uint16_t from = here(locality);
    uint16_t kept = kept_on == TB_LOCALITY_HERE ? from : ordinal_of(locality, kept_on);
    note(locality, (uintptr_t)address >> locality->page_shift,
         (struct event){.what = TB_LOCALITY_FREES, .from = from, .kept = kept, .count = 1});
}

// --- a look at a few pages -----------------------------------------------------------------------------------------------------

struct look {
    size_t count;
    uint32_t places[LOOK_PAGES];
    void *pages[LOOK_PAGES];
    int nodes[LOOK_PAGES];
};

static int look_now(struct tb_locality *locality, struct look *look)
{
    const struct tb_locality_world *world = &locality->world;
    int result = look->count ? world->page_nodes(world->context, look->count, look->pages, look->nodes) : 0;
    for (size_t i = 0; i < look->count; i++) {
        int *node = &locality->nodes[look->places[i]], fresh = result ? result : look->nodes[i];
        locality->map.pages_moved += *node >= 0 && fresh >= 0 && *node != fresh;
        *node = fresh;
    }
    look->count = 0;
    return result;
}

int tb_locality_look(struct tb_locality *locality, size_t count, void *const addresses[], size_t bytes)
{
    struct look look = {0};
    int result = 0;
    for (size_t i = 0; i < count && bytes > 0; i++) {
        uintptr_t end = ((uintptr_t)addresses[i] + bytes - 1) >> locality->page_shift;
        for (uintptr_t number = (uintptr_t)addresses[i] >> locality->page_shift; number <= end && !result; number++) {
            uint32_t place = place_of(locality, number);
            if (place == NONE)
                continue;
            look.places[look.count] = place;
            look.pages[look.count++] = locality->pages[place];
            if (look.count == LOOK_PAGES)
                result = look_now(locality, &look);
        }
    }
    return result ? result : look_now(locality, &look);
}

// --- between steps -------------------------------------------------------------------------------------------------------------

static void settle(struct tb_locality *locality)
{
    for (uint64_t i = 0; i < locality->map.pending; i++) {
        const struct event *event = &locality->pending[i];
        book(locality, event, ordinal_of(locality, locality->nodes[event->page]));
    }
    locality->map.pending = 0;
}

int tb_locality_refresh(struct tb_locality *locality)
{
    struct tb_locality_map *map = &locality->map;
    int *old = locality->nodes, *fresh = locality->nodes_fresh;
    const struct tb_locality_world *world = &locality->world;
    int result = map->pages ? world->page_nodes(world->context, map->pages, locality->pages, fresh) : 0;
    map->pages_absent = 0;
    for (uint64_t i = 0; i < map->pages; i++) {
        if (result)
            fresh[i] = result;
        map->pages_absent += fresh[i] < 0;
        map->pages_moved += old[i] >= 0 && fresh[i] >= 0 && old[i] != fresh[i];
    }
    locality->nodes = fresh;
    locality->nodes_fresh = old;
    settle(locality);
    map->refreshes++;
    map->refresh_error = result;
    if (locality->points_count < locality->points_max)
        locality->points_count++;
    return result;
}

// --- counts --------------------------------------------------------------------------------------------------------------------
//
// An instance that others were added to can go on: their maps are summed apart from its own, which it still needs.

static void map_add(struct tb_locality_map *into, const struct tb_locality_map *from)
{
    into->refreshes = into->refreshes > from->refreshes ? into->refreshes : from->refreshes;
    into->refresh_error = into->refresh_error ? into->refresh_error : from->refresh_error;
    into->pages += from->pages;
    into->pages_absent += from->pages_absent;
    into->pages_moved += from->pages_moved;
    into->pages_refused += from->pages_refused;
    into->pending += from->pending;
    into->pending_refused += from->pending_refused;
}

int tb_locality_add(struct tb_locality *into, const struct tb_locality *from)
{
    size_t side = into->nodes_count + 1u;
    if (into->nodes_count != from->nodes_count || into->points_max < from->points_count ||
        memcmp(into->os_nodes, from->os_nodes, side * sizeof *into->os_nodes) != 0)
        return -EINVAL;
    for (size_t i = 0; i < TB_LOCALITY_WHATS * side * side; i++)
        into->matrices[i] += from->matrices[i];
    for (uint32_t i = 0; i < from->points_count; i++) {
        into->points[i].allocated += from->points[i].allocated;
        into->points[i].wandered += from->points[i].wandered;
        into->points[i].unknown += from->points[i].unknown;
    }
    into->points_count = into->points_count > from->points_count ? into->points_count : from->points_count;
    map_add(&into->added, &from->map);
    map_add(&into->added, &from->added);
    return 0;
}

static int side_of(const struct tb_locality *locality, int os_node)
{
    if (os_node == TB_LOCALITY_UNKNOWN)
        return (int)locality->nodes_count;
    uint16_t found = ordinal_of(locality, os_node);
    return found == locality->nodes_count ? -1 : found;
}

uint64_t tb_locality_count(const struct tb_locality *locality, enum tb_locality_what what, int from_node, int to_node)
{
    int from = side_of(locality, from_node), to = side_of(locality, to_node);
    return from < 0 || to < 0 ? 0 : *cell_of(locality, what, (uint32_t)from, (uint32_t)to);
}

struct tb_locality_sums tb_locality_sums(const struct tb_locality *locality, enum tb_locality_what what)
{
    struct tb_locality_sums sums = {0};
    uint32_t unknown = locality->nodes_count;
    for (uint32_t from = 0; from <= unknown; from++)
        for (uint32_t to = 0; to <= unknown; to++)
            *(from == unknown || to == unknown ? &sums.unknown
              : from == to                     ? &sums.local
                                               : &sums.remote) += *cell_of(locality, what, from, to);
    return sums;
}

const struct tb_locality_point *tb_locality_drift(const struct tb_locality *locality, uint32_t *count)
{
    *count = locality->points_count;
    return locality->points;
}

struct tb_locality_map tb_locality_map(const struct tb_locality *locality)
{
    struct tb_locality_map map = locality->map;
    map_add(&map, &locality->added);
    return map;
}
