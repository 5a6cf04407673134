// SPDX-License-Identifier: Apache-2.0
//
// set: prepare, commit and roll back; holders that end.
#include "pages_test.h"

#include <pthread.h>

#include "placement/pages/pages_internal.h"

static const struct locus_pages_request asks[] = {
    {.kind = LOCUS_PAGES_KV, .pages = 2, .owner = 1},
    {.kind = LOCUS_PAGES_ADAPTER, .pages = 3, .owner = 2},
    {.kind = LOCUS_PAGES_SCRATCH, .pages = 1, .owner = 3},
};

Test(pages_set, nothing_is_visible_before_the_commit_and_everything_after_it)
{
    struct locus_pages *pages = arena(8);
    struct locus_pages_set *set;
    locus_range ranges[3];
    cr_assert_eq(locus_pages_set_prepare(&set, pages, asks, 3, ranges), 0);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(locus_pages_pin(pages, ranges[i]), -EAGAIN);
        cr_expect_eq(locus_pages_bytes(pages, ranges[i]), asks[i].pages * (UINT64_C(512) << 10));
    }
    cr_expect_eq(stats_of(pages).pages_free, 2);
    cr_expect_eq(locus_pages_close(pages), -EBUSY);
    locus_pages_set_commit(set);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(touch(pages, ranges[i]), 0);
        cr_expect_eq(locus_pages_unpin(pages, ranges[i]), 0, "the holder's pin");
        cr_expect_eq(locus_pages_unpin(pages, ranges[i]), -EPERM);
    }
}

Test(pages_set, a_roll_back_leaves_nothing)
{
    struct locus_pages *pages = arena(8);
    struct locus_pages_set *set;
    locus_range ranges[3];
    cr_assert_eq(locus_pages_set_prepare(&set, pages, asks, 3, ranges), 0);
    locus_pages_set_rollback(set);
    cr_expect_eq(stats_of(pages).pages_largest, 8);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(locus_pages_pin(pages, ranges[i]), -ESTALE);
}

Test(pages_set, all_or_none)
{
    struct locus_pages *pages = arena(5);
    struct locus_pages_set *set;
    locus_range ranges[3];
    cr_expect_eq(locus_pages_set_prepare(&set, pages, asks, 3, ranges), -ENOMEM);
    cr_expect_null(set);
    cr_expect_eq(stats_of(pages).pages_free, 5);
    cr_expect_eq(locus_pages_set_prepare(&set, pages, asks, 0, ranges), -EINVAL);
    struct locus_pages_request gradients[] = {asks[0], {.kind = LOCUS_PAGES_GRADIENT, .pages = 1}};
    cr_expect_eq(locus_pages_set_prepare(&set, pages, gradients, 2, ranges), -EOPNOTSUPP);
    cr_expect_eq(stats_of(pages).pages_free, 5);
}

Test(pages_set, a_set_evicts_others_but_not_itself)
{
    struct locus_pages *pages = arena(6);
    struct locus_pages_set *set;
    locus_range ranges[3], old = resident(pages, 4, 9, 1);
    cr_assert_eq(locus_pages_set_prepare(&set, pages, asks, 3, ranges), 0);
    cr_expect_eq(touch(pages, old), -ESTALE);
    locus_pages_set_commit(set);
    cr_expect_eq(stats_of(pages).ranges, 3);
}

Test(pages_set, there_are_as_many_at_one_time_as_the_arena_was_opened_for)
{
    struct locus_pages_config config = arena_config(8);
    config.sets = 2;
    struct locus_pages *pages = arena_of(&config);
    struct locus_pages_set *sets[3];
    locus_range ranges[3];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(locus_pages_set_prepare(&sets[i], pages, &asks[2], 1, &ranges[i]), 0);
    cr_expect_eq(locus_pages_set_prepare(&sets[2], pages, &asks[2], 1, &ranges[2]), -EBUSY);
    locus_pages_set_rollback(sets[0]);
    cr_expect_eq(locus_pages_set_prepare(&sets[2], pages, &asks[2], 1, &ranges[2]), 0);
    locus_pages_set_commit(sets[1]);
    cr_expect_eq(locus_pages_pin(pages, ranges[2]), -EAGAIN, "another set's commit");
}

struct holder {
    struct locus_pages *pages;
    locus_range ranges[3];
    unsigned shown;
};

static void *prepare_and_end(void *argument)
{
    struct holder *holder = argument;
    struct locus_pages_set *set;
    cr_assert_eq(locus_pages_set_prepare(&set, holder->pages, asks, 3, holder->ranges), 0);
    return NULL;
}

Test(pages_set, the_set_of_a_holder_who_has_ended_is_rolled_back)
{
    struct holder holder = {.pages = arena(6)};
    pthread_t thread;
    struct locus_pages_set *set;
    locus_range ranges[3];
    for (int way = 0; way < 2; way++) {
        cr_assert_eq(pthread_create(&thread, NULL, prepare_and_end, &holder), 0);
        pthread_join(thread, NULL);
        cr_expect_eq(stats_of(holder.pages).pages_free, 0);
        cr_expect_eq(locus_pages_pin(holder.pages, holder.ranges[0]), -EAGAIN);
        if (way == 0) {
            cr_expect_eq(locus_pages_reap(holder.pages), 1);
            cr_expect_eq(locus_pages_reap(holder.pages), 0);
            continue;
        }
        allocated(holder.pages, LOCUS_PAGES_KV, 6, 1); // finds no room but there
    }
    cr_expect_eq(locus_pages_pin(holder.pages, holder.ranges[0]), -ESTALE);
    cr_expect_eq(stats_of(holder.pages).sets_reaped, 2);
    cr_expect_eq(locus_pages_set_prepare(&set, holder.pages, asks, 1, ranges), -ENOMEM);
}

// The holder ends after the store that commits, and after it has shown one range; or after one more step.
static void *commit_and_end(void *argument)
{
    struct holder *holder = argument;
    struct locus_pages_set *set;
    cr_assert_eq(locus_pages_set_prepare(&set, holder->pages, asks, 3, holder->ranges), 0);
    __atomic_store_n(&set->state, SET_COMMITTED, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < holder->shown; i++) {
        struct page *page = &holder->pages->table[first_page(holder->ranges[2 - i])];
        uint64_t word = word_read(&page->word);
        cr_assert(word_show(&page->word, &word));
    }
    return NULL;
}

Test(pages_set, a_holder_who_ends_inside_the_commit_leaves_the_set_and_no_pin)
{
    for (unsigned shown = 0; shown <= 3; shown++) {
        struct holder holder = {.pages = arena(6), .shown = shown};
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, commit_and_end, &holder), 0);
        pthread_join(thread, NULL);
        cr_expect_eq(touch(holder.pages, holder.ranges[0]), 0, "it is visible");
        cr_expect_eq(locus_pages_reap(holder.pages), 1);
        for (int i = 0; i < 3; i++)
            cr_expect_eq(touch(holder.pages, holder.ranges[i]), 0, "%u shown, range %d", shown, i);
        cr_expect_eq(stats_of(holder.pages).pages_pinned, 0);
        cr_expect_eq(locus_pages_close(holder.pages), 0);
    }
}

static _Atomic bool reaping;

static void *reap_on(void *argument)
{
    while (reaping)
        locus_pages_reap(argument);
    return NULL;
}

Test(pages_set, a_place_that_is_free_can_be_had_while_another_thread_reaps)
{
    struct locus_pages_config config = arena_config(2);
    config.sets = 1;
    struct locus_pages *pages = arena_of(&config);
    pthread_t thread;
    struct locus_pages_set *set;
    locus_range range;
    reaping = true;
    cr_assert_eq(pthread_create(&thread, NULL, reap_on, pages), 0);
    for (int i = 0; i < 20000; i++) {
        cr_assert_eq(locus_pages_set_prepare(&set, pages, &asks[2], 1, &range), 0, "after %d", i);
        locus_pages_set_rollback(set);
    }
    reaping = false;
    pthread_join(thread, NULL);
}
