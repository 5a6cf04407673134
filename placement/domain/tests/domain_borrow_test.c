// SPDX-License-Identifier: Apache-2.0
//
// domain_borrow: the life of a loan, step by step.
#include "placement/domain/tests/domain_test.h"

TestSuite(domain_borrow, .timeout = 60); // a loan posted twice is a list that does not end

Test(domain_borrow, borrowed_blocks_follow_the_homes_own_and_go_home_with_the_table)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 3), -EAGAIN);
    cr_expect_eq(table->count, 0, "all or none");
    locus_domain_drain(domain, 1);
    cr_expect_eq(pool_of(domain, 1).outstanding, 3);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 3), 0);
    for (uint32_t i = 0; i < 3; i++)
        cr_expect_eq(locus_block_index(table->blocks[BLOCKS + i]), i, "in the order in which the lender would use them");
    cr_expect_eq(blocks_of(table, 0), BLOCKS);
    cr_expect_eq(blocks_of(table, 1), 3);
    cr_expect_eq(table->homes, 3);
    send(domain, 0, table);
    cr_expect_eq(locus_domain_drain(domain, 1), 3);
    cr_expect_eq(locus_domain_drain(domain, 2), 0);
    cr_expect_eq(locus_domain_drain(domain, 0), BLOCKS);
    struct locus_domain_stats borrower = stats_of(domain, 0), lender = stats_of(domain, 1);
    cr_expect_eq(borrower.asked, 1);
    cr_expect_eq(borrower.blocks_borrowed, 3);
    cr_expect_eq(borrower.blocks_returned, 0);
    cr_expect_eq(lender.blocks_lent, 3);
    closed(domain);
    free(table);
}

Test(domain_borrow, blocks_in_flight_to_the_home_are_waited_for_before_anybody_is_asked)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *first = table_new(domain), *second = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, first, BLOCKS), 0);
    cr_assert_eq(locus_owner_retire(locus_domain_owner(domain, 0), first), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, second, 1), -EAGAIN);
    cr_expect_eq(stats_of(domain, 0).asked, 0);
    cr_expect_eq(locus_domain_grow(domain, 0, second, 1), -EAGAIN);
    cr_expect_eq(stats_of(domain, 0).asked, 1);
    cr_assert_eq(locus_table_push(locus_domain_route(domain, 0), first), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, second, 1), 0);
    cr_expect_eq(blocks_of(second, 0), 1);
    cr_expect_eq(stats_of(domain, 0).cancelled, 1);
    send(domain, 0, second);
    closed(domain);
    free(first);
    free(second);
}

Test(domain_borrow, lenders_that_declined_are_asked_again_while_blocks_in_flight_are_waited_for)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.nodes_count = 2;
    config.spare = BLOCKS;
    struct locus_domain *domain = opened(&config);
    struct locus_table *first = table_new(domain), *second = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, first, BLOCKS), 0);
    cr_assert_eq(locus_owner_retire(locus_domain_owner(domain, 0), first), 0);
    for (unsigned i = 0; i < 7; i++) {
        cr_expect_eq(locus_domain_grow(domain, 0, second, 1), -EAGAIN);
        locus_domain_drain(domain, 1);
    }
    cr_expect_eq(stats_of(domain, 1).declined, 3, "each second call asks, the other one takes note of the answer");
    cr_assert_eq(locus_table_push(locus_domain_route(domain, 0), first), 0);
    closed(domain);
    free(first);
    free(second);
}

Test(domain_borrow, a_lender_keeps_its_spare_blocks)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.spare = BLOCKS - 2;
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 3), -EAGAIN);
    drain_all(domain);
    cr_expect_eq(pool_of(domain, 1).blocks_free, config.spare);
    cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 3), -EAGAIN, "the other one is asked for the third");
    drain_all(domain);
    cr_expect_eq(pool_of(domain, 2).blocks_free, BLOCKS - 1);
    cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 3), 0);
    send(domain, 0, table);
    closed(domain);
    free(table);
}

Test(domain_borrow, when_everybody_declines_there_is_no_memory_and_what_was_lent_goes_back)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.spare = BLOCKS - 1;
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 3), -EAGAIN);
        drain_all(domain);
    }
    cr_expect_eq(pool_of(domain, 1).outstanding + pool_of(domain, 2).outstanding, 2);
    cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 3), -ENOMEM);
    drain_all(domain);
    cr_expect_eq(pool_of(domain, 1).outstanding + pool_of(domain, 2).outstanding, 0);
    cr_expect_eq(stats_of(domain, 0).blocks_returned, 2);
    cr_expect_eq(stats_of(domain, 1).blocks_lent_unused, 1);
    closed(domain);
    free(table);
}

Test(domain_borrow, a_silent_lender_is_passed_over_and_its_late_answer_does_not_exist)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(locus_domain_grow(domain, 1, table, BLOCKS + 1), -EAGAIN);
    cr_expect_eq(stats_of(domain, 1).asked, 2);
    locus_domain_drain(domain, 0); // the second one: of equally near homes, the one behind the borrower comes first
    cr_assert_eq(locus_domain_grow(domain, 1, table, BLOCKS + 1), 0);
    cr_expect_eq(blocks_of(table, 0), 1);
    cr_expect_eq(stats_of(domain, 1).cancelled, 1);
    locus_domain_drain(domain, 2);
    cr_expect_eq(pool_of(domain, 2).allocated, 0);
    cr_expect_eq(stats_of(domain, 2).declined, 0);
    send(domain, 1, table);
    closed(domain);
    free(table);
}

Test(domain_borrow, what_two_lenders_gave_and_one_would_have_sufficed_goes_back)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 2), -EAGAIN);
    drain_all(domain);
    cr_expect_eq(pool_of(domain, 1).outstanding + pool_of(domain, 2).outstanding, 4);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 2), 0);
    drain_all(domain);
    cr_expect_eq(pool_of(domain, 1).outstanding + pool_of(domain, 2).outstanding, 2);
    cr_expect_eq(stats_of(domain, 0).blocks_borrowed, 4);
    cr_expect_eq(stats_of(domain, 0).blocks_returned, 2);
    send(domain, 0, table);
    closed(domain);
    free(table);
}

Test(domain_borrow, part_of_a_loan_can_be_used_and_the_rest_goes_back)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 5), -EAGAIN);
    locus_domain_drain(domain, 1);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 2), 0);
    locus_domain_drain(domain, 1);
    cr_expect_eq(pool_of(domain, 1).outstanding, 2);
    cr_expect_eq(stats_of(domain, 1).blocks_lent_unused, 3);
    send(domain, 0, table);
    closed(domain);
    free(table);
}

Test(domain_borrow, a_question_withdrawn_before_its_answer_lends_nothing)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), -EAGAIN);
    locus_domain_cancel(domain, 0);
    locus_domain_drain(domain, 1);
    cr_expect_eq(pool_of(domain, 1).allocated, 0);
    cr_expect_eq(stats_of(domain, 0).cancelled, 1);
    closed(domain);
    free(table);
}

Test(domain_borrow, a_question_withdrawn_after_its_answer_gives_the_blocks_back)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    for (unsigned i = 0; i < 3; i++) { // and the loan can be used again
        cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), -EAGAIN);
        locus_domain_drain(domain, 1);
        cr_expect_eq(pool_of(domain, 1).outstanding, 1);
        locus_domain_cancel(domain, 0);
        cr_expect_eq(locus_domain_drain(domain, 1), 1);
    }
    cr_expect_eq(stats_of(domain, 0).cancelled, 0);
    cr_expect_eq(stats_of(domain, 0).blocks_returned, 3);
    closed(domain);
    free(table);
}

Test(domain_borrow, a_lender_that_has_an_old_loan_in_its_desk_is_not_taken_for_one_that_declined)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.nodes_count = 2;
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    for (unsigned answered = 0; answered < 2; answered++) { // cancelled, and returned
        cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), -EAGAIN);
        if (answered)
            locus_domain_drain(domain, 1);
        locus_domain_cancel(domain, 0);
        cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), -EAGAIN);
        locus_domain_drain(domain, 1);
        cr_expect_eq(pool_of(domain, 1).outstanding, 0);
        cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), -EAGAIN, "now it is asked");
        locus_domain_drain(domain, 1);
        cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), 0);
        send(domain, 0, table);
        drain_all(domain);
        cr_expect_eq(locus_domain_next_reclaimed(domain, 0), table);
        cr_expect_null(locus_domain_next_reclaimed(domain, 1), "which has forwarded it");
    }
    closed(domain);
    free(table);
}

Test(domain_borrow, silent_lenders_cost_the_waiting_time_and_no_block)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.wait_ns = 20000000;
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), -ETIMEDOUT);
    cr_expect_eq(stats_of(domain, 0).asked, 2, "each has its share of the time");
    cr_expect_eq(stats_of(domain, 0).cancelled, 2);
    cr_expect_geq(stats_of(domain, 0).wait_ns, config.wait_ns);
    drain_all(domain);
    cr_expect_eq(pool_of(domain, 1).allocated + pool_of(domain, 2).allocated, 0);
    closed(domain);
    free(table);
}

Test(domain_borrow, a_home_that_asks_lends_nothing)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.nodes_count = 2;
    struct locus_domain *domain = opened(&config);
    struct locus_table *first = table_new(domain), *second = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, first, BLOCKS + 1), -EAGAIN);
    cr_assert_eq(locus_domain_grow(domain, 1, second, BLOCKS + 1), -EAGAIN); // finds the question first, and lends
    locus_domain_drain(domain, 0);
    cr_expect_eq(stats_of(domain, 0).declined, 1);
    cr_expect_eq(pool_of(domain, 0).outstanding, 0);
    cr_expect_eq(locus_domain_grow(domain, 1, second, BLOCKS + 1), -ENOMEM);
    cr_expect_eq(locus_domain_grow(domain, 0, first, BLOCKS + 1), 0);
    send(domain, 0, first);
    closed(domain);
    free(first);
    free(second);
}

Test(domain_borrow, one_home_lends_no_more_than_a_chunk_for_one_grow)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.chunk = 2;
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 4), -EAGAIN);
        drain_all(domain);
        cr_expect_eq(pool_of(domain, 1 + i).outstanding, 2);
    }
    cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 5), -ENOMEM);
    closed(domain);
    free(table);
}

Test(domain_borrow, with_back_pressure_no_new_block_is_lent_before_those_in_flight_are_home)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.nodes_count = 2;
    config.backpressure = true;
    struct locus_domain *domain = opened(&config);
    struct locus_table *first = table_new(domain), *second = table_new(domain), *third = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 1, first, 2), 0);
    cr_assert_eq(locus_domain_grow(domain, 1, second, 1), 0);
    send(domain, 1, second);
    locus_domain_drain(domain, 1); // one used block is here, two are in flight, the others are new
    cr_assert_eq(locus_owner_retire(locus_domain_owner(domain, 1), first), 0);
    cr_assert_eq(locus_domain_grow(domain, 0, third, BLOCKS + 4), -EAGAIN);
    locus_domain_drain(domain, 1);
    cr_expect_eq(stats_of(domain, 1).blocks_lent, 1);
    cr_expect_eq(pool_of(domain, 1).distinct_high, 3);
    cr_assert_eq(locus_table_push(locus_domain_route(domain, 1), first), 0);
    locus_domain_cancel(domain, 0);
    closed(domain);
    free(first);
    free(second);
    free(third);
}

static void count_tag(void *context, locus_block block, uint64_t tag)
{
    (void)block;
    *(uint32_t *)context += tag == 7;
}

Test(domain_borrow, of_a_lent_block_the_lender_knows_the_borrowers_request)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.tags = true;
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    locus_table_set_tag(table, 7);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 2), -EAGAIN);
    locus_domain_drain(domain, 1);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 2), 0);
    for (uint32_t home = 0; home < 2; home++) {
        uint32_t tagged = 0, count;
        const struct locus_pool *pool = locus_owner_pool(locus_domain_owner(domain, home));
        cr_expect_eq(locus_pool_each_out(pool, count_tag, &tagged, &count), 0);
        cr_expect(tagged == count && count == (home ? 2 : BLOCKS), "home %u: %u of %u", home, tagged, count);
    }
    send(domain, 0, table);
    closed(domain);
    free(table);
}

Test(domain_borrow, a_table_of_one_home_does_not_borrow)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    cr_assert_eq(locus_table_init(table, 1, CAPACITY, 16), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), -ENOMEM);
    cr_expect_eq(stats_of(domain, 0).asked, 0);
    closed(domain);
    free(table);
}

Test(domain_borrow, a_table_that_ends_at_the_lender_returns_to_the_home_that_retired_it)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *tables[3] = {table_new(domain), table_new(domain), table_new(domain)};
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(locus_domain_grow(domain, 0, tables[i], 2), 0);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(locus_domain_grow(domain, 0, tables[i], 3), -EAGAIN);
        locus_domain_drain(domain, 1);
        cr_assert_eq(locus_domain_grow(domain, 0, tables[i], 3), 0);
    }
    for (unsigned i = 0; i < 3; i++)
        send(domain, 0, tables[i]);
    locus_domain_drain(domain, 0);
    cr_expect_eq(locus_domain_next_reclaimed(domain, 0), tables[2]);
    cr_expect_null(locus_domain_next_reclaimed(domain, 0), "the lender has not drained");
    locus_domain_drain(domain, 1);
    cr_expect_eq(locus_domain_next_reclaimed(domain, 0), tables[0]);
    cr_expect_eq(locus_domain_next_reclaimed(domain, 0), tables[1]);
    cr_expect_null(locus_domain_next_reclaimed(domain, 0));
    cr_expect_null(locus_domain_next_reclaimed(domain, 1), "they are not the lender's");
    closed(domain);
    for (unsigned i = 0; i < 3; i++)
        free(tables[i]);
}
