// SPDX-License-Identifier: Apache-2.0
//
// locality_look: locates a few pages at once, and finds the words of a counted touch again.
#include "testbed/measure/locality/locality.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define PAGE 4096u
#define PAGES 300u              // more than two questions hold

static _Alignas(PAGE) char memory[PAGES][PAGE];
static struct {
    int refusal_after, node_of[PAGES];
    unsigned questions;
    size_t asked;
} fake;

static struct locus_topo *topo;
static struct tb_locality *counts;

static int fake_cpu(void *context)
{
    (void)context;
    return 0;
}

static int fake_page_nodes(void *context, size_t count, void *const pages[], int nodes[])
{
    (void)context;
    if (fake.questions++ == (unsigned)fake.refusal_after)
        return -EPERM;
    for (size_t i = 0; i < count; i++)
        nodes[i] = fake.node_of[((char *)pages[i] - memory[0]) / PAGE];
    fake.asked += count;
    return 0;
}

static const struct tb_locality_world world = {fake_cpu, fake_page_nodes, NULL};

static void open_counts(uint32_t pages_max)
{
    struct tb_locality_config config = {.topo = topo, .pages_max = pages_max, .pending_max = 8, .points_max = 4, .world = &world};
    cr_assert_eq(tb_locality_open(&counts, &config), 0);
}

static void begin(void)
{
    cr_assert_eq(locus_topo_open(&topo, "pack:2 [numa(memory=1GB)] core:1 pu:1", NULL, 0), 0);
    memset(&fake, 0, sizeof fake);
    fake.refusal_after = -1;
    for (unsigned i = 0; i < PAGES; i++)
        fake.node_of[i] = i % 2;
    open_counts(512);
}

static void end(void)
{
    tb_locality_close(counts);
    locus_topo_close(topo);
}

TestSuite(locality_look, .init = begin, .fini = end);

static int look(unsigned first, unsigned count, size_t bytes)
{
    void *addresses[PAGES];
    for (unsigned i = 0; i < count; i++)
        addresses[i] = memory[first + i];
    return tb_locality_look(counts, count, addresses, bytes);
}

Test(locality_look, what_was_looked_at_is_known_at_once_and_nothing_else_is_asked_about)
{
    cr_expect_eq(look(0, 3, PAGE), 0);
    cr_expect_eq(look(10, 1, PAGE), 0);
    cr_expect_eq(fake.asked, 4, "not about the first three again");
    for (unsigned i = 0; i < 3; i++)
        cr_expect_eq(tb_locality_page_node(counts, memory[i]), (int)i % 2);
    cr_expect_eq(tb_locality_page_node(counts, memory[3]), -ENOENT);
    tb_locality_note_write(counts, memory[1], PAGE);
    cr_expect_eq(tb_locality_count(counts, TB_LOCALITY_TOUCHES, 0, 1), PAGE / 64, "without a refresh");
    cr_expect_eq(tb_locality_map(counts).refreshes, 0);
    cr_expect_eq(tb_locality_map(counts).pending, 0);
}

Test(locality_look, every_page_of_a_range_is_asked_about)
{
    void *across = memory[4] + PAGE - 8, *odd = memory[7] + 100;
    cr_expect_eq(tb_locality_look(counts, 1, &across, 16), 0);
    cr_expect_eq(fake.asked, 2);
    cr_expect_eq(tb_locality_look(counts, 1, &odd, 2 * PAGE), 0);
    cr_expect_eq(fake.asked, 2 + 3);
    cr_expect_eq(tb_locality_look(counts, 1, &odd, 0), 0);
    cr_expect_eq(tb_locality_look(counts, 0, NULL, PAGE), 0);
    cr_expect_eq(fake.asked, 2 + 3, "nothing was asked about nothing");
}

Test(locality_look, more_pages_than_one_question_holds_are_asked_about_in_several)
{
    cr_expect_eq(look(0, PAGES, PAGE), 0);
    cr_expect_eq(fake.asked, PAGES);
    for (unsigned i = 0; i < PAGES; i++)
        cr_expect_eq(tb_locality_page_node(counts, memory[i]), (int)i % 2, "page %u", i);
}

Test(locality_look, a_page_that_moved_is_counted_once_and_booked_where_it_is)
{
    cr_expect_eq(look(0, 2, PAGE), 0);
    fake.node_of[0] = 1;
    fake.node_of[1] = -ENOENT; // gone is not moved
    cr_expect_eq(look(0, 2, PAGE), 0);
    cr_expect_eq(look(0, 2, PAGE), 0);
    cr_expect_eq(tb_locality_map(counts).pages_moved, 1);
    tb_locality_note_alloc(counts, memory[0]);
    cr_expect_eq(tb_locality_count(counts, TB_LOCALITY_ALLOCATIONS, 0, 1), 1);
    tb_locality_note_alloc(counts, memory[1]);
    cr_expect_eq(tb_locality_map(counts).pending, 1);
}

Test(locality_look, a_refusal_is_answered_and_later_pages_are_not_asked_about)
{
    fake.refusal_after = 1;
    cr_expect_eq(look(0, PAGES, PAGE), -EPERM);
    cr_expect_eq(fake.questions, 2);
    cr_expect_eq(tb_locality_page_node(counts, memory[0]), 0);
    cr_expect_eq(tb_locality_page_node(counts, memory[200]), -EPERM);
    cr_expect_eq(tb_locality_page_node(counts, memory[299]), -ENOENT);
}

Test(locality_look, pages_for_which_there_is_no_room_are_passed_over)
{
    tb_locality_close(counts);
    open_counts(2);
    cr_expect_eq(look(0, 4, PAGE), 0);
    cr_expect_eq(fake.asked, 2);
    cr_expect_eq(tb_locality_map(counts).pages_refused, 2);
}

Test(locality_look, a_touch_is_found_again_word_by_word)
{
    const size_t bytes = 10 * 64;
    uint64_t stores = tb_locality_touch(memory[0] + 16, bytes, 77);
    cr_expect_eq(stores, 11, "the range lies across eleven lines");
    cr_expect(tb_locality_touched(memory[0] + 16, bytes, 77));
    cr_expect_not(tb_locality_touched(memory[0] + 16, bytes, 78));
    for (size_t at = 16; at < 16 + bytes; at++) {
        bool is_word = at < 24 || (at >= 64 && at % 64 < 8);
        memory[0][at] ^= 1;
        cr_expect_eq(tb_locality_touched(memory[0] + 16, bytes, 77), !is_word, "byte %zu", at);
        memory[0][at] ^= 1;
    }
    cr_expect(tb_locality_touched(memory[0] + 1, 7, 5), "there is no whole word in it");
}
