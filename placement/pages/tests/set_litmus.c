// SPDX-License-Identifier: Apache-2.0
//
// C1/C2 and V1/V2: who pins one range of a set sees what its holder wrote before the commit, and can pin all others. The range that
// the committer makes RESIDENT last is mostly found by its set's word (C2), the first one by its own (V2); the runs take turns.
#include "locus/pages.h"
#include "placement/base/tests/litmus.h"

#define RANGES 2048u             // long enough for a reader to come between C1 and the last V1, also on a busy machine

static struct locus_pages *pages;
static _Atomic locus_range shared[RANGES];
static _Atomic unsigned arrived, done;
static unsigned text[RANGES];    // the plain data that the pairs order
static unsigned run;

static void *reader_main(void *argument)
{
    (void)argument;
    locus_range ranges[RANGES];
    litmus_start(&arrived, 2);
    for (unsigned i = 0; i < RANGES; i++)
        for (unsigned spin = 1; (ranges[i] = atomic_load_explicit(&shared[i], memory_order_relaxed)) == LOCUS_RANGE_NONE; spin++)
            litmus_pause(spin);
    unsigned first = run % 2 ? RANGES - 1 : 0;
    for (unsigned spin = 1; locus_pages_pin(pages, ranges[first]); spin++)
        litmus_pause(spin);
    for (unsigned i = 0; i < RANGES; i++) {
        litmus_expect(text[i] == run + 1, "who finds one range sees the whole set");
        litmus_expect(i == first || locus_pages_pin(pages, ranges[i]) == 0, "and can pin all of it");
    }
    for (unsigned i = 0; i < RANGES; i++)
        locus_pages_unpin(pages, ranges[i]);
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    return NULL;
}

static void commit(void)
{
    struct locus_pages_request asks[RANGES];
    locus_range ranges[RANGES];
    struct locus_pages_set *set;
    for (unsigned i = 0; i < RANGES; i++)
        asks[i] = (struct locus_pages_request){.kind = LOCUS_PAGES_KV, .pages = 1};
    litmus_expect(locus_pages_set_prepare(&set, pages, asks, RANGES, ranges) == 0, "a set");
    for (unsigned i = 0; i < RANGES; i++)
        atomic_store_explicit(&shared[i], ranges[i], memory_order_relaxed);
    for (unsigned i = 0; i < RANGES; i++)
        text[i] = run + 1;
    locus_pages_set_commit(set);
    for (unsigned spin = 1; !atomic_load_explicit(&done, memory_order_relaxed); spin++)
        litmus_pause(spin);
    for (unsigned i = 0; i < RANGES; i++)
        locus_pages_free(pages, NULL, ranges[i]);
    for (unsigned i = 0; i < RANGES; i++)
        locus_pages_unpin(pages, ranges[i]);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    struct locus_pages_config config = {.size = sizeof config, .pages = RANGES, .page = LOCUS_PAGE_4K, .node = LOCUS_NODE_ANY};
    litmus_expect(locus_pages_open(&pages, &config) == 0, "an arena");
    for (run = 0; run < runs; run++) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&done, 0, memory_order_relaxed);
        for (unsigned i = 0; i < RANGES; i++)
            atomic_store_explicit(&shared[i], LOCUS_RANGE_NONE, memory_order_relaxed);
        pthread_t thread = litmus_thread(reader_main, NULL);
        litmus_start(&arrived, 2);
        commit();
        pthread_join(thread, NULL);
    }
    return locus_pages_close(pages) != 0;
}
