// SPDX-License-Identifier: Apache-2.0
//
// U1/E1: who evicts a range, or frees it and uses its page again, sees what a holder wrote before its unpin. The writer is the
// thread under test; the evictor polls until nobody pins the range. Every second run the range is freed while two pin it, and the
// other one unpins it last, so that the range ends there.
#include "locus/pages.h"
#include "locus/pages_evict.h"
#include "locus/pages_report.h"
#include "placement/base/tests/litmus.h"

static struct locus_pages *pages;
static _Atomic locus_range shared;
static _Atomic unsigned arrived;
static unsigned text; // the plain data that the pair orders; the range itself is not touched
static unsigned expected;

static void *writer_main(void *argument)
{
    (void)argument;
    locus_range range = atomic_load_explicit(&shared, memory_order_relaxed);
    litmus_start(&arrived, 2);
    text = expected;
    litmus_expect(locus_pages_unpin(pages, range) == 0, "the writer holds the pin");
    return NULL;
}

static int leave(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    (void)context, (void)range, (void)kind, (void)owner, (void)memory, (void)bytes;
    litmus_expect(text == expected, "the evictor sees what the holder wrote");
    return 0;
}

static int pins_of(void *context, const struct locus_range_info *info)
{
    *(uint32_t *)context = info->pins;
    return 1;
}

static void free_and_reuse(locus_range range)
{
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 1, .no_evict = true};
    uint32_t pins = 2;
    locus_range next;
    for (unsigned spin = 1; pins > 1; spin++) {
        litmus_pause(spin);
        locus_pages_each(pages, pins_of, &pins);
    }
    litmus_expect(locus_pages_unpin(pages, range) == 0, "the last pin");
    litmus_expect(locus_pages_alloc(pages, NULL, &ask, &next) == 0, "the range has ended");
    litmus_expect(text == expected, "the next user of the page sees what the holder wrote");
    locus_pages_free(pages, NULL, next);
    locus_pages_unpin(pages, next);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    struct locus_pages_config config = {
        .size = sizeof config, .pages = 1, .page = LOCUS_PAGE_4K, .node = LOCUS_NODE_ANY, .evict = leave};
    litmus_expect(locus_pages_open(&pages, &config) == 0, "an arena of one page");
    for (unsigned run = 0; run < runs; run++) {
        struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 1};
        locus_range range;
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        litmus_expect(locus_pages_alloc(pages, NULL, &ask, &range) == 0, "a page");
        atomic_store_explicit(&shared, range, memory_order_relaxed);
        expected = run + 1;
        if (run % 2)
            litmus_expect(locus_pages_pin(pages, range) == 0 && locus_pages_free(pages, NULL, range) == 0, "doomed, with two pins");
        pthread_t thread = litmus_thread(writer_main, NULL);
        litmus_start(&arrived, 2);
        if (run % 2)
            free_and_reuse(range);
        else
            for (unsigned spin = 1; locus_pages_evict(pages, LOCUS_PAGES_KV, 1); spin++)
                litmus_pause(spin);
        pthread_join(thread, NULL);
    }
    return locus_pages_close(pages) != 0;
}
