// SPDX-License-Identifier: Apache-2.0
//
// mailbox: what comes out and in which order, with one thread. What several threads may rely on is in mailbox_litmus.c.
#include "locus/lane.h"

#include <criterion/criterion.h>
#include <stdint.h>

TestSuite(mailbox, .timeout = 60); // a list that does not end is a failure

Test(mailbox, is_empty_when_initialised)
{
    struct locus_mailbox mailbox;
    locus_mailbox_init(&mailbox);
    cr_assert(locus_mailbox_empty(&mailbox));
    cr_assert_null(locus_mailbox_take(&mailbox));
}

Test(mailbox, take_returns_everything_oldest_first)
{
    struct locus_mailbox mailbox;
    struct locus_link links[5];
    locus_mailbox_init(&mailbox);
    for (unsigned i = 0; i < 5; i++) {
        locus_mailbox_push(&mailbox, &links[i]);
        cr_assert_not(locus_mailbox_empty(&mailbox));
    }
    struct locus_link *link = locus_mailbox_take(&mailbox);
    for (unsigned i = 0; i < 5; i++, link = link->next)
        cr_assert_eq(link, &links[i], "link %u", i);
    cr_assert_null(link);
}

Test(mailbox, take_all_says_whether_it_is_a_single_link)
{
    struct locus_mailbox mailbox;
    struct locus_link links[3];
    bool alone = false;
    locus_mailbox_init(&mailbox);
    cr_expect_null(locus_mailbox_take_all(&mailbox, &alone));
    for (unsigned round = 0; round < 2; round++) {
        locus_mailbox_push(&mailbox, &links[0]);
        cr_expect_eq(locus_mailbox_take_all(&mailbox, &alone), &links[0]);
        cr_expect(alone);
        for (unsigned count = 2; count <= 3; count++) {
            for (unsigned i = 0; i < count; i++)
                locus_mailbox_push(&mailbox, &links[i]);
            cr_expect_eq(locus_mailbox_take_all(&mailbox, &alone), &links[0]);
            cr_expect_not(alone, "%u links", count);
            cr_expect_eq(links[0].next, &links[1]);
        }
    }
}

Test(mailbox, is_empty_after_take_and_can_be_used_again)
{
    struct locus_mailbox mailbox;
    struct locus_link links[2];
    locus_mailbox_init(&mailbox);
    for (unsigned round = 0; round < 3; round++) {
        locus_mailbox_push(&mailbox, &links[0]);
        locus_mailbox_push(&mailbox, &links[1]);
        struct locus_link *first = locus_mailbox_take(&mailbox);
        cr_assert_eq(first, &links[0]);
        cr_assert_eq(first->next, &links[1]);
        cr_assert_null(first->next->next);
        cr_assert(locus_mailbox_empty(&mailbox));
        cr_assert_null(locus_mailbox_take(&mailbox));
    }
}

Test(mailbox, what_is_pushed_after_a_take_stays_for_the_next_one)
{
    struct locus_mailbox mailbox;
    struct locus_link early, late;
    locus_mailbox_init(&mailbox);
    locus_mailbox_push(&mailbox, &early);
    struct locus_link *taken = locus_mailbox_take(&mailbox);
    locus_mailbox_push(&mailbox, &late);
    cr_assert_eq(taken, &early);
    cr_assert_null(taken->next);
    taken = locus_mailbox_take(&mailbox);
    cr_assert_eq(taken, &late);
    cr_assert_null(taken->next);
}

Test(mailbox, two_heads_never_share_a_cache_line)
{
    struct locus_mailbox mailboxes[2];
    cr_assert_eq(sizeof mailboxes[0], LOCUS_CACHE_LINE);
    cr_assert_eq((uintptr_t)&mailboxes[0] % LOCUS_CACHE_LINE, 0);
}
