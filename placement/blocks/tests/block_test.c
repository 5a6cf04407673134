// SPDX-License-Identifier: Apache-2.0
//
// block: the three fields of a handle do not touch each other.
#include "locus/block.h"

#include <criterion/criterion.h>

static const uint32_t homes[] = {0, 1, 31, 32, LOCUS_HOMES_MAX - 1};
static const uint32_t indices[] = {0, 1, 12345, LOCUS_BLOCKS_MAX / 2, LOCUS_BLOCKS_MAX - 1};
static const uint32_t generations[] = {LOCUS_GENERATION_MIN, 2, INT32_MAX, LOCUS_GENERATION_MAX - 1, LOCUS_GENERATION_MAX};

#define COUNT(array) (sizeof(array) / sizeof *(array))

Test(block, every_field_comes_back_as_it_was_put_in)
{
    for (unsigned h = 0; h < COUNT(homes); h++) {
        for (unsigned i = 0; i < COUNT(indices); i++) {
            for (unsigned g = 0; g < COUNT(generations); g++) {
                locus_block block = locus_block_make(homes[h], indices[i], generations[g]);
                cr_assert_eq(locus_block_home(block), homes[h]);
                cr_assert_eq(locus_block_index(block), indices[i]);
                cr_assert_eq(locus_block_generation(block), generations[g]);
            }
        }
    }
}

Test(block, home_index_and_generation_lie_where_the_header_draws_them)
{
    cr_assert_eq(locus_block_make(1, 0, 0), UINT64_C(1) << 58);
    cr_assert_eq(locus_block_make(0, 1, 0), UINT64_C(1) << 32);
    cr_assert_eq(locus_block_make(0, 0, 1), 1u);
    cr_assert_eq(locus_block_make(LOCUS_HOMES_MAX - 1, LOCUS_BLOCKS_MAX - 1, LOCUS_GENERATION_MAX), UINT64_MAX);
}

Test(block, the_first_handle_of_all_is_not_none)
{
    cr_assert_neq(locus_block_make(0, 0, LOCUS_GENERATION_MIN), LOCUS_BLOCK_NONE);
}

// pool.c counts on it: the handle of a block's next use is the old one plus one.
Test(block, the_next_generation_is_the_next_number)
{
    locus_block block = locus_block_make(5, 77, 41);
    cr_assert_eq(block + 1, locus_block_make(5, 77, 42));
}
