// SPDX-License-Identifier: Apache-2.0
//
// demote: where each policy sends an object, among near int8, far memory and a file.
#include "locus/demote.h"

#include <criterion/criterion.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

enum { INT8, FAR, FILE_TIER, TIERS };

static struct locus_demote_tier tiers[TIERS];

static void tiers_new(void)
{
    tiers[INT8] = (struct locus_demote_tier){64 * MIB, 8 * MIB, 1000, 10000000000, true};
    tiers[FAR] = (struct locus_demote_tier){256 * MIB, 64 * MIB, 2000, 5000000000, false};
    tiers[FILE_TIER] = (struct locus_demote_tier){4096 * MIB, 1024 * MIB, 100000, 1000000000, false};
}

static uint32_t to(const char *name, struct locus_demote_object object)
{
    cr_assert(locus_demote_find(name), "%s", name);
    return locus_demote_find(name)->to(&object, tiers, TIERS);
}

Test(demote, every_policy_is_on_the_list_under_its_name)
{
    uint32_t count = 0;
    for (; locus_demote_at(count); count++) {
        cr_assert_eq(locus_demote_find(locus_demote_at(count)->name), locus_demote_at(count));
        cr_assert_gt(strlen(locus_demote_at(count)->summary), 0);
    }
    cr_assert_eq(count, 1);
    cr_assert_null(locus_demote_find("none"));
}

Test(demote, all_policies_go_down_only_and_never_where_an_object_cannot_be)
{
    for (uint32_t p = 0; locus_demote_at(p); p++)
        for (uint32_t full = 0; full < 8; full++)
            for (uint32_t at = 0; at <= TIERS; at++)
                for (uint64_t bytes = 1; bytes < UINT64_C(1) << 34; bytes *= 8)
                    for (int exact = 0; exact < 2; exact++) {
                        tiers_new();
                        for (uint32_t i = 0; i < TIERS; i++)
                            tiers[i].bytes_free = full >> i & 1 ? 0 : tiers[i].bytes_free;
                        struct locus_demote_object object = {.bytes = bytes, .at = at == TIERS ? UINT32_MAX : at, .exact = exact};
                        uint32_t tier = locus_demote_at(p)->to(&object, tiers, TIERS);
                        cr_assert(tier == LOCUS_DEMOTE_DROP || (tier < TIERS && (at == TIERS || tier > at)));
                        cr_assert(tier == LOCUS_DEMOTE_DROP || tiers[tier].bytes >= bytes);
                        cr_assert(tier == LOCUS_DEMOTE_DROP || !exact || !tiers[tier].lossy);
                        cr_assert_eq(tier == LOCUS_DEMOTE_DROP, at == FILE_TIER || bytes > 4096 * MIB, "%s",
                                     locus_demote_at(p)->name);
                    }
}

Test(demote, order_takes_the_next_with_room_and_else_the_next)
{
    tiers_new();
    cr_assert_eq(to("order", (struct locus_demote_object){.bytes = MIB, .at = UINT32_MAX}), INT8);
    cr_assert_eq(to("order", (struct locus_demote_object){.bytes = MIB, .at = UINT32_MAX, .exact = true}), FAR);
    cr_assert_eq(to("order", (struct locus_demote_object){.bytes = MIB, .at = FAR}), FILE_TIER);
    tiers[FAR].bytes_free = 0;
    cr_assert_eq(to("order", (struct locus_demote_object){.bytes = MIB, .at = INT8}), FILE_TIER);
    tiers[FILE_TIER].bytes_free = MIB;
    cr_assert_eq(to("order", (struct locus_demote_object){.bytes = MIB, .at = INT8}), FILE_TIER, "it fits exactly");
    tiers[FILE_TIER].bytes_free = MIB - 1;
    cr_assert_eq(to("order", (struct locus_demote_object){.bytes = MIB, .at = INT8}), FAR);
}

Test(demote, a_load_costs_its_latency_and_its_bytes)
{
    tiers_new();
    cr_assert_eq(locus_demote_load_ns(&tiers[FILE_TIER], 0), 100000);
    cr_assert_eq(locus_demote_load_ns(&tiers[FILE_TIER], 1000000), 1100000);
}

Test(demote, a_load_takes_no_longer_than_a_number_can_say)
{
    struct locus_demote_tier tier = {.latency_ns = 7, .bytes_per_s = 1};
    cr_assert_eq(locus_demote_load_ns(&tier, 3), 3000000007);
    cr_assert_eq(locus_demote_load_ns(&tier, UINT64_MAX), UINT64_MAX);
    cr_assert_gt(locus_demote_load_ns(&tier, UINT64_C(18446744073)), UINT64_C(18446744072000000000));
    cr_assert_eq(locus_demote_load_ns(&tier, UINT64_C(18446744074)), UINT64_MAX, "the sum would begin again at 0");
    tier = (struct locus_demote_tier){.latency_ns = UINT64_MAX, .bytes_per_s = UINT64_MAX};
    cr_assert_eq(locus_demote_load_ns(&tier, UINT64_MAX), UINT64_MAX);
    tier = (struct locus_demote_tier){.latency_ns = 1};
    cr_assert_eq(locus_demote_load_ns(&tier, 0), UINT64_MAX, "no speed");
    tiers_new();
    for (int i = 0; i < 3; i++)
        tiers[i].bytes = tiers[i].bytes_free = tiers[i].latency_ns = UINT64_MAX;
    uint32_t tier_of = to("order", (struct locus_demote_object){.bytes = UINT64_MAX, .idle_ns = UINT64_MAX, .at = UINT32_MAX});
    cr_assert(tier_of < 3 || tier_of == LOCUS_DEMOTE_DROP);
}
