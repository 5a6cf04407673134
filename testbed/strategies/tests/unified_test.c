// SPDX-License-Identifier: Apache-2.0
//
// unified: the listings of the unified pool whose faults need no second thread (seeds/README.md): each is shown, with what repairs
// it beside it. unified_*_litmus.c have those that do need one.
#include <criterion/criterion.h>

#include "testbed/strategies/tests/pages_word.h"

// --- the eviction score --------------------------------------------------------------------------------------------------------

#define POOL_PAGES 4096u

enum kind { SCRATCH = 1, ACTIVATION, ADAPTER_COLD, ADAPTER_WARM, KV }; // the numbers are the listing's priorities

// The lowest score is evicted first.
static double listing_score(enum kind kind, double idle_s, unsigned range_pages)
{
    return 0.6 / (idle_s + 1) + 0.2 * range_pages / POOL_PAGES + 0.2 * kind;
}

Test(unified, an_hour_old_cache_outlives_scratch_that_is_in_use)
{
    cr_expect_gt(listing_score(KV, 3600, 1), listing_score(SCRATCH, 0, 1));
    for (double idle_s = 0; idle_s < 1e6; idle_s = 2 * idle_s + 1)
        cr_expect_gt(listing_score(KV, idle_s, 1), listing_score(SCRATCH, 0, 1), "after %.0f s", idle_s);
}

Test(unified, from_three_seconds_on_the_kind_alone_decides)
{
    for (enum kind kind = SCRATCH; kind < KV; kind++)
        cr_expect_gt(listing_score(kind + 1, 1e6, 1), listing_score(kind, 3, 1), "kind %d", kind);
    cr_expect_lt(listing_score(ACTIVATION, 1e6, 1), listing_score(SCRATCH, 1, 1), "while a second counts");
}

// Whoever wants many pages back should rather evict what has many.
Test(unified, the_term_for_size_has_the_wrong_sign_and_hardly_counts)
{
    double more = listing_score(KV, 60, 100) - listing_score(KV, 60, 1);
    cr_expect_gt(more, 0);
    cr_expect_lt(more, 0.005);
}

// --- eviction for a range ------------------------------------------------------------------------------------------------------

#define SMALL 16u

static uint64_t random_next(uint64_t *random) // xorshift64
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    return *random ^= *random << 17;
}

static unsigned longest_free(const bool used[SMALL])
{
    unsigned longest = 0, run = 0;
    for (unsigned i = 0; i < SMALL; i++) {
        run = used[i] ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    return longest;
}

// Evicts the page with the lowest score until a tenth more than `need` is free. Returns how many.
static unsigned listing_evict(bool used[SMALL], const double score[SMALL], unsigned need)
{
    unsigned free_pages = 0, evicted = 0;
    for (unsigned i = 0; i < SMALL; i++)
        free_pages += !used[i];
    for (; free_pages < need * 1.1; free_pages++, evicted++) {
        unsigned lowest = SMALL;
        for (unsigned i = 0; i < SMALL; i++)
            if (used[i] && (lowest == SMALL || score[i] < score[lowest]))
                lowest = i;
        used[lowest] = false;
    }
    return evicted;
}

// Evicts the range of `need` pages that is worth least, as the sum of its scores.
static unsigned range_evict(bool used[SMALL], const double score[SMALL], unsigned need)
{
    unsigned best = 0, evicted = 0;
    double best_worth = 0;
    for (unsigned at = 0; at + need <= SMALL; at++) {
        double worth = 0;
        for (unsigned i = at; i < at + need; i++)
            worth += used[i] ? score[i] : 0;
        if (at == 0 || worth < best_worth) {
            best = at;
            best_worth = worth;
        }
    }
    for (unsigned i = best; i < best + need; i++) {
        evicted += used[i];
        used[i] = false;
    }
    return evicted;
}

Test(unified, eviction_frees_enough_pages_and_no_range)
{
    bool listing[SMALL], ranges[SMALL];
    double score[SMALL];
    for (unsigned i = 0; i < SMALL; i++) {
        listing[i] = ranges[i] = true;
        score[i] = i % 2 ? 0.9 : 0.5; // every other page is old
    }
    cr_expect_eq(listing_evict(listing, score, 4), 5, "4.4 pages");
    cr_expect_eq(longest_free(listing), 1, "but no two together");
    cr_expect_eq(range_evict(ranges, score, 4), 4);
    cr_expect_eq(longest_free(ranges), 4);
}

Test(unified, eviction_for_a_range_always_frees_one)
{
    uint64_t random = 20260118;
    unsigned listing_failed = 0;
    for (unsigned run = 0; run < 1000; run++) {
        bool listing[SMALL], ranges[SMALL];
        double score[SMALL];
        for (unsigned i = 0; i < SMALL; i++) {
            listing[i] = ranges[i] = random_next(&random) % 8;
            score[i] = (double)(random_next(&random) % 1000) / 1000;
        }
        unsigned need = 1 + (unsigned)(random_next(&random) % 6);
        listing_evict(listing, score, need);
        listing_failed += longest_free(listing) < need;
        cr_assert_leq(range_evict(ranges, score, need), need);
        cr_assert_geq(longest_free(ranges), need);
    }
    cr_expect_gt(listing_failed, 500, "the listing leaves no range in most runs, here in %u of 1000", listing_failed);
}

// --- hysteresis ----------------------------------------------------------------------------------------------------------------

struct band {
    unsigned pages, used, starts, lowest, highest;
};

static void band_take(struct band *band)
{
    band->used++;
    band->highest = band->used > band->highest ? band->used : band->highest;
}

static void band_evict_to(struct band *band, unsigned used)
{
    band->starts++;
    band->used = used;
    band->lowest = used < band->lowest ? used : band->lowest;
}

// A tenth more than one page is two pages, so every second allocation of a full pool starts an eviction; the band that the same
// document draws, from 90 % down to 80 %, starts one in a hundred, and neither reaches what the other promises.
Test(unified, a_tenth_more_is_no_band_from_90_to_80)
{
    struct band tenth = {.pages = 1000, .used = 1000, .lowest = 1000}, drawn = {.pages = 1000, .used = 900, .lowest = 1000};
    for (unsigned i = 0; i < 1000; i++) {
        if (tenth.used == tenth.pages)
            band_evict_to(&tenth, tenth.pages - 2);
        band_take(&tenth);
        if (drawn.used >= drawn.pages * 9 / 10)
            band_evict_to(&drawn, drawn.pages * 8 / 10);
        band_take(&drawn);
    }
    cr_expect_eq(tenth.starts, 500);
    cr_expect_geq(tenth.lowest, 998);
    cr_expect_eq(drawn.starts, 10);
    cr_expect_eq(drawn.lowest, 800);
    cr_expect_eq(drawn.highest, 900, "so \"over 95 %%\" is not reached");
}

// --- the cache of a thread -----------------------------------------------------------------------------------------------------

#define CACHE_ROOM 64u

// The listing moves the returned pages and then goes on using them, which its language refuses; here they are read.
struct cache {
    size_t count, max;
    unsigned pages[CACHE_ROOM];
};

static bool listing_allocate(struct cache *cache, size_t count, unsigned *pages)
{
    if (cache->count < count)
        return false;
    memcpy(pages, cache->pages, count * sizeof *pages);
    memmove(cache->pages, cache->pages + count, (cache->count - count) * sizeof *pages);
    cache->count -= count;
    return true;
}

// Returns how many go to the pool.
static size_t listing_return(struct cache *cache, size_t count, const unsigned *pages)
{
    size_t space = cache->max - cache->count;
    size_t kept = count < space ? count : space;
    cr_assert_leq(cache->count + kept, CACHE_ROOM);
    memcpy(cache->pages + cache->count, pages, kept * sizeof *pages);
    cache->count += kept;
    return count - kept;
}

// Repaired: pages are kept in order and once, handed out as ranges, and a smaller maximum sends the rest to the pool.
static bool magazine_allocate(struct cache *cache, size_t count, unsigned *first)
{
    for (size_t from = 0; from + count <= cache->count; from++)
        if (cache->pages[from + count - 1] == cache->pages[from] + count - 1) {
            *first = cache->pages[from];
            memmove(cache->pages + from, cache->pages + from + count, (cache->count - from - count) * sizeof *cache->pages);
            cache->count -= count;
            return true;
        }
    return false;
}

// 1: kept. 0: it goes to the pool. -1: it is here already.
static int magazine_return(struct cache *cache, unsigned page)
{
    size_t at = 0;
    while (at < cache->count && cache->pages[at] < page)
        at++;
    if (at < cache->count && cache->pages[at] == page)
        return -1;
    if (cache->count >= cache->max)
        return 0;
    memmove(cache->pages + at + 1, cache->pages + at, (cache->count - at) * sizeof *cache->pages);
    cache->pages[at] = page;
    cache->count++;
    return 1;
}

Test(unified, a_cache_hands_pages_out_that_are_no_range)
{
    struct cache listing = {.max = 16}, magazine = {.max = 16};
    const unsigned returned[] = {3, 7, 8};
    unsigned got[2], first;
    listing_return(&listing, 3, returned);
    cr_assert(listing_allocate(&listing, 2, got));
    cr_expect_neq(got[1], got[0] + 1, "pages 3 and 7, for a request of two together");
    for (unsigned i = 0; i < 3; i++)
        cr_expect_eq(magazine_return(&magazine, returned[i]), 1);
    cr_assert(magazine_allocate(&magazine, 2, &first));
    cr_expect_eq(first, 7);
    cr_expect_not(magazine_allocate(&magazine, 2, &first), "page 3 is alone");
}

// max_size - len() wraps when the maximum falls below what is cached; then the cache takes everything.
Test(unified, a_cache_whose_maximum_falls_takes_everything)
{
    struct cache listing = {.max = 16}, magazine = {.max = 16};
    unsigned returned[12];
    for (unsigned i = 0; i < 12; i++) {
        returned[i] = i;
        magazine_return(&magazine, i);
    }
    listing_return(&listing, 12, returned);
    listing.max = magazine.max = 8;
    cr_expect_eq(listing_return(&listing, 12, returned), 0, "nothing goes to the pool");
    cr_expect_gt(listing.count, listing.max);
    cr_expect_eq(magazine_return(&magazine, 12), 0, "to the pool");
    cr_expect_eq(magazine.count, 12);
}

Test(unified, a_cache_takes_a_page_twice_and_gives_it_to_two)
{
    struct cache listing = {.max = 16}, magazine = {.max = 16};
    unsigned page = 5, first, second;
    listing_return(&listing, 1, &page);
    listing_return(&listing, 1, &page);
    cr_assert(listing_allocate(&listing, 1, &first) && listing_allocate(&listing, 1, &second));
    cr_expect_eq(first, second, "two owners");
    cr_expect_eq(magazine_return(&magazine, page), 1);
    cr_expect_eq(magazine_return(&magazine, page), -1);
}

// One thread frees the whole pool and another finds nothing: the caches are nobody's to empty.
Test(unified, pages_in_the_cache_of_one_thread_are_lost_to_another)
{
    struct cache one = {.max = 16}, other = {.max = 16};
    unsigned returned[16], page, in_pool;
    for (unsigned i = 0; i < 16; i++)
        returned[i] = i;
    in_pool = (unsigned)listing_return(&one, 16, returned);
    cr_expect_eq(in_pool, 0);
    cr_expect_not(listing_allocate(&other, 1, &page), "the pool is empty, this cache too, and all 16 pages are free");
}

// --- batches -------------------------------------------------------------------------------------------------------------------

#define BATCH 256u
#define ADAPTERS 3u

// Two popular adapters and a rare one. Takes from `pending` for one batch, the largest first. Returns its size.
static unsigned listing_batch(unsigned pending[ADAPTERS], unsigned taken[ADAPTERS])
{
    unsigned slots = BATCH;
    bool done[ADAPTERS] = {false};
    for (unsigned turn = 0; turn < ADAPTERS; turn++) {
        unsigned most = ADAPTERS;
        for (unsigned i = 0; i < ADAPTERS; i++)
            if (!done[i] && (most == ADAPTERS || pending[i] > pending[most]))
                most = i;
        done[most] = true;
        taken[most] = pending[most] < slots ? pending[most] : slots;
        pending[most] -= taken[most];
        slots -= taken[most];
    }
    return BATCH - slots;
}

// One request of each adapter in turn, until the batch is full.
static unsigned fair_batch(unsigned pending[ADAPTERS], unsigned taken[ADAPTERS])
{
    unsigned size = 0;
    memset(taken, 0, ADAPTERS * sizeof *taken);
    for (bool took = true; took && size < BATCH;) {
        took = false;
        for (unsigned i = 0; i < ADAPTERS && size < BATCH; i++)
            if (pending[i]) {
                pending[i]--;
                taken[i]++;
                size++;
                took = true;
            }
    }
    return size;
}

Test(unified, a_rare_adapter_starves_in_batches_of_the_largest_first)
{
    unsigned listing[ADAPTERS] = {0, 0, 1}, fair[ADAPTERS] = {0, 0, 1}, taken[ADAPTERS], rare_listing = 0, rare_fair = 0;
    for (unsigned batch = 0; batch < 1000; batch++) {
        for (unsigned i = 0; i < 2; i++) {
            listing[i] += BATCH / 2 + 1;
            fair[i] += BATCH / 2 + 1;
        }
        cr_assert_eq(listing_batch(listing, taken), BATCH);
        rare_listing += taken[2];
        cr_assert_eq(fair_batch(fair, taken), BATCH, "it costs the others nothing");
        rare_fair += taken[2];
        cr_assert_eq(rare_fair, 1, "in the first batch");
    }
    cr_expect_eq(rare_listing, 0, "in a thousand batches");
}

// --- two handles of one range --------------------------------------------------------------------------------------------------

struct page {
    int pins, frees;
    bool freed_while_pinned;
};

static void listing_free(struct page *page)
{
    page->freed_while_pinned |= page->pins > 0;
    page->frees++;
}

// A handle unpins its own guard and frees the range, whoever else has a guard or a copy of the range.
static void listing_handle_drop(struct page *page, bool guard)
{
    page->pins -= guard;
    listing_free(page);
}

Test(unified, a_handle_frees_under_the_guard_of_another)
{
    struct page page = {.pins = 2}; // the handle's guard and a reader's
    listing_handle_drop(&page, true);
    cr_expect(page.freed_while_pinned);
    static const struct scene scene = {.name = "the owner's free, and a reader",
                                       .word = {IS_RESIDENT},
                                       .calls = {{{PIN, 0}, {UNPIN, 0}, {FREE_IT, 0}}, {{PIN, 0}, {UNPIN, 0}}}};
    const struct with with = {.scene = &scene};
    const struct interleave_model model = model_of(&with);
    struct interleave_found found = interleave_explore(&model);
    cr_expect_null(found.what, "%s", found.what);
    free(found.schedule);
}

Test(unified, a_range_freed_by_hand_is_freed_again_by_its_handle)
{
    struct page page = {0};
    listing_free(&page);
    listing_handle_drop(&page, false);
    cr_expect_eq(page.frees, 2);
    static const struct scene scene = {.name = "two frees", .word = {IS_RESIDENT}, .calls = {{{FREE_IT, 0}, {FREE_IT, 0}}}};
    const struct with with = {.scene = &scene};
    const struct interleave_model model = model_of(&with);
    struct interleave_found found = interleave_explore(&model);
    cr_expect_null(found.what, "%s", found.what);
    free(found.schedule);
}

// --- two state machines --------------------------------------------------------------------------------------------------------

enum drawn { D_NONE, D_FREE, D_UNPINNED, D_PINNED, DRAWN_STATES };
enum drawn_call { ALLOCATES, PINS, UNPINS, UNPINS_THE_LAST, EVICTS, DRAWN_CALLS };

// What each drawing has: the state after a call, or D_NONE. An arrow goes where its head is drawn.
static const enum drawn pin_states[DRAWN_STATES][DRAWN_CALLS] = {
    // section 6.1
    [D_FREE] = {[ALLOCATES] = D_UNPINNED},
    [D_UNPINNED] = {[PINS] = D_PINNED},
    [D_PINNED] = {[UNPINS] = D_UNPINNED, [UNPINS_THE_LAST] = D_UNPINNED, [EVICTS] = D_UNPINNED},
};
static const enum drawn appendix[DRAWN_STATES][DRAWN_CALLS] = {
    // appendix A
    [D_FREE] = {[PINS] = D_PINNED},
    [D_UNPINNED] = {[EVICTS] = D_FREE},
    [D_PINNED] = {[ALLOCATES] = D_FREE, [UNPINS] = D_PINNED, [UNPINS_THE_LAST] = D_UNPINNED},
};

// The pairs on which they differ, as a list. Returns how many.
static unsigned differences(const enum drawn one[DRAWN_STATES][DRAWN_CALLS], const enum drawn other[DRAWN_STATES][DRAWN_CALLS],
                            char list[512])
{
    static const char *const names[] = {"-", "FREE", "UNPINNED", "PINNED"};
    static const char *const calls[] = {"allocate", "pin", "unpin", "last unpin", "evict"};
    unsigned count = 0, length = 0;
    for (unsigned state = D_FREE; state < DRAWN_STATES; state++)
        for (unsigned call = 0; call < DRAWN_CALLS; call++)
            if (one[state][call] != other[state][call]) {
                length += (unsigned)snprintf(list + length, 512 - length, "%s %s: %s or %s\n", names[state], calls[call],
                                             names[one[state][call]], names[other[state][call]]);
                count++;
            }
    return count;
}

static bool comes_back_to_free(const enum drawn drawn[DRAWN_STATES][DRAWN_CALLS])
{
    for (unsigned state = D_UNPINNED; state < DRAWN_STATES; state++)
        for (unsigned call = 0; call < DRAWN_CALLS; call++)
            if (drawn[state][call] == D_FREE)
                return true;
    return false;
}

Test(unified, the_two_drawings_of_states_contradict_each_other_in_7_of_15_pairs)
{
    enum drawn kind[DRAWN_STATES][DRAWN_CALLS];
    char list[512];
    cr_expect_eq(differences(pin_states, appendix, list), 7);
    cr_expect_str_eq(list, "FREE allocate: UNPINNED or -\n"
                           "FREE pin: - or PINNED\n"
                           "UNPINNED pin: PINNED or -\n"
                           "UNPINNED evict: - or FREE\n"
                           "PINNED allocate: - or FREE\n"
                           "PINNED unpin: UNPINNED or PINNED\n"
                           "PINNED evict: UNPINNED or -\n");
    memcpy(kind, appendix, sizeof kind); // read kindly, the second one's allocate() leads the other way
    kind[D_FREE][ALLOCATES] = D_PINNED;
    kind[D_PINNED][ALLOCATES] = D_NONE;
    cr_expect_eq(differences(pin_states, kind, list), 6);
    cr_expect_not(comes_back_to_free(pin_states), "in the first, nothing is ever free again");
    cr_expect(comes_back_to_free(appendix));
}

// Ours: every call in every state either does what the table says or changes nothing.
Test(unified, one_table_says_what_each_call_does_in_each_state)
{
    static const struct {
        uint32_t from, to[ROLL_BACK + 1]; // 0 stands for no change
    } table[] = {
#define W(pins, state, generation) ((pins##u << 24) | ((uint32_t)(state) << 16) | generation##u)
        {W(0, FREE, 4), {[ALLOCATE] = W(0, RESIDENT, 4), [PREPARE] = W(0, PREPARED, 4)}},
        {W(0, RESIDENT, 4), {[PIN] = W(1, RESIDENT, 4), [FREE_IT] = W(0, FREE, 5), [EVICT] = W(0, FREE, 5)}},
        {W(1, RESIDENT, 4), {[PIN] = W(2, RESIDENT, 4), [UNPIN] = W(0, RESIDENT, 4), [FREE_IT] = W(1, DOOMED, 4)}},
        {W(0, PREPARED, 4), {[SETTLE] = W(0, RESIDENT, 4), [ROLL_BACK] = W(0, FREE, 5)}},
        {W(2, LEAVING, 4), {[UNPIN] = W(1, LEAVING, 4), [FREE_IT] = W(2, DOOMED, 4)}},
        {W(1, DOOMED, 4), {[UNPIN] = W(0, FREE, 5)}},
        {W(2, DOOMED, 4), {[UNPIN] = W(1, DOOMED, 4)}},
#undef W
    };
    static const enum op ops[] = {PIN, UNPIN, FREE_IT, EVICT, ALLOCATE, PREPARE, SETTLE, ROLL_BACK};
    for (size_t row = 0; row < sizeof table / sizeof *table; row++)
        for (size_t column = 0; column < sizeof ops / sizeof *ops; column++) {
            struct scene scene = {.word = {table[row].from}, .calls = {{{ops[column], 0}}}};
            struct with with = {.scene = &scene};
            struct all all = {0};
            begin(&with, &all);
            all.threads[0].life[0] = 4;
            all.threads[0].holds = ops[column] == UNPIN && pins(table[row].from);
            while (step(&with, &all, 0) == INTERLEAVE_WENT)
                continue;
            uint32_t to = table[row].to[ops[column]];
            cr_expect_eq(all.word[0], to ? to : table[row].from, "row %zu, column %zu: %08x", row, column, all.word[0]);
        }
}
