// SPDX-License-Identifier: Apache-2.0
//
// where: pages by node of memory that is no region's.
#include "locus/where.h"
#include "placement/memory/tests/region_child.h"

#include <sys/syscall.h>

static struct locus_where where(const void *memory, size_t bytes)
{
    struct locus_where out;
    int error = locus_where(memory, bytes, &out);
    if (error == -EPERM || error == -ENOSYS)
        cr_skip_test("move_pages is not permitted here");
    cr_assert_eq(error, 0);
    uint64_t sum = 0;
    for (unsigned i = 0; i < out.nodes_count; i++) {
        cr_assert(out.on[i].pages > 0 && (i == 0 || out.on[i].node > out.on[i - 1].node));
        sum += out.on[i].pages;
    }
    cr_assert_eq(sum, out.pages_present);
    return out;
}

Test(where, what_was_written_is_on_a_node_and_nothing_else_is)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), units = page / UNIT;
    char *memory = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(madvise(memory, 8 * page, MADV_NOHUGEPAGE) && errno != EINVAL, 0);
    for (int again = 0; again < 2; again++) {
        struct locus_where none = where(memory, 8 * page);
        cr_assert(none.pages == 8 * units && none.pages_present == 0 && none.nodes_count == 0, "a look faults nothing in");
    }
    memory[2 * page] = memory[5 * page + 7] = 1;
    struct locus_where some = where(memory, 8 * page);
    cr_assert_eq(some.pages_present, 2 * units);
    cr_assert(some.nodes_count >= 1 && locus_node_allowed(some.on[0].node));
    cr_assert_eq(munmap(memory, 8 * page), 0);
    cr_assert_eq(where(memory, 8 * page).pages_present, 0, "it is not mapped any more");
}

Test(where, a_page_that_the_range_touches_in_part_counts_whole)
{
    struct locus_region_config config = plain(4 * UNIT);
    config.populate = true;
    struct locus_region *region = must_open(&config);
    const char *memory = locus_region_base(region);
    cr_assert_eq(where(memory, 1).pages, 1);
    cr_assert_eq(where(memory + UNIT - 1, 2).pages, 2);
    cr_assert_eq(where(memory + 1, UNIT).pages, 2);
    struct locus_where all = where(memory, 4 * UNIT);
    cr_assert(all.pages == 4 && all.pages_present == 4);
    locus_region_close(region);
}

// More pages than one system call asks about.
Test(where, a_long_range_is_summed_up)
{
    struct locus_region_config config = plain(9 * MIB + 4 * KIB);
    config.populate = true;
    struct locus_region *region = must_open(&config);
    struct locus_where all = where(locus_region_base(region), locus_region_bytes(region));
    cr_assert_eq(all.pages, locus_region_bytes(region) / UNIT);
    cr_assert_eq(all.pages_present, all.pages);
    locus_region_close(region);
}

Test(where, memory_on_two_nodes_has_a_row_for_each)
{
    int first = next_node(0, true), second = next_node(first + 1, true);
    if (second >= NODES)
        cr_skip_test("needs >= 2 NUMA nodes");
    char *memory = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    const int nodes[] = {second, first};
    for (int i = 0; i < 2; i++) {
        unsigned long mask[NODES / (8 * sizeof(unsigned long))] = {0};
        mask[(size_t)nodes[i] / (8 * sizeof *mask)] = 1ul << ((size_t)nodes[i] % (8 * sizeof *mask));
        if (syscall(SYS_mbind, memory + (size_t)i * 2 * MIB, 2 * MIB, 2 /* MPOL_BIND */, mask, NODES + 1ul, 0u) != 0)
            cr_skip_test("mbind is not permitted here");
    }
    memset(memory, 1, 3 * MIB);
    struct locus_where all = where(memory, 4 * MIB);
    cr_assert_eq(all.nodes_count, 2);
    cr_assert(all.on[0].node == first && all.on[1].node == second);
    cr_assert_eq(all.on[1].pages, 2 * MIB / UNIT);
    cr_assert(all.on[0].pages >= MIB / UNIT && all.on[0].pages <= 2 * MIB / UNIT, "a huge page may be the rest of it");
    munmap(memory, 4 * MIB);
}

static int where_without_move_pages(void *argument)
{
    int error = *(int *)argument;
    char memory[64];
    struct locus_where out;
    return !forbid(SYS_move_pages, ANY_THIRD, error) ? CANNOT : locus_where(memory, sizeof memory, &out) != -error;
}

Test(where, where_move_pages_is_forbidden_it_says_so)
{
    each_error(where_without_move_pages, EPERM, ENOSYS);
}
