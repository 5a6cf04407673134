// SPDX-License-Identifier: Apache-2.0

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "placement/base/apart.h"
#include "placement/base/counters.h"

Test(apart, memory_is_aligned_and_not_where_a_block_on_a_page_boundary_begins)
{
    for (size_t bytes = 1; bytes <= 3 * APART_PAGE_BYTES; bytes *= 2) {
        char *memory = apart_alloc(bytes);
        cr_assert_not_null(memory);
        cr_assert_eq((uintptr_t)memory % COUNTERS_ALIGN_BYTES, 0);
        cr_assert_geq((uintptr_t)memory % APART_PAGE_BYTES, 8 * COUNTERS_ALIGN_BYTES);
        memset(memory, 1, bytes); // AddressSanitizer looks at both ends
        apart_free(memory);
    }
}

Test(apart, free_allows_null)
{
    apart_free(NULL);
}
