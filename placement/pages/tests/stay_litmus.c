// SPDX-License-Identifier: Apache-2.0
//
// S1/E1: who frees a range that an evictor had to leave alone, and uses its page again, finds what that evictor has written.
#include "locus/pages.h"
#include "locus/pages_evict.h"
#include "placement/base/tests/litmus.h"

#include <errno.h>

static struct locus_pages *pages;
static _Atomic unsigned arrived, asked;
static unsigned text; // the plain data that the pair orders
static unsigned run;

static int leave(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    (void)context, (void)range, (void)kind, (void)owner, (void)memory, (void)bytes;
    text = run + 1;
    atomic_store_explicit(&asked, 1, memory_order_relaxed);
    return -EIO;
}

static void *evictor_main(void *argument)
{
    (void)argument;
    litmus_start(&arrived, 2);
    locus_pages_evict(pages, LOCUS_PAGES_KV, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    struct locus_pages_config config = {
        .size = sizeof config, .pages = 1, .page = LOCUS_PAGE_4K, .node = LOCUS_NODE_ANY, .evict = leave};
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 1, .no_evict = true};
    locus_range range, next;
    litmus_expect(locus_pages_open(&pages, &config) == 0, "an arena of one page");
    for (run = 0; run < runs; run++) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&asked, 0, memory_order_relaxed);
        litmus_expect(locus_pages_alloc(pages, NULL, &ask, &range) == 0, "a page");
        litmus_expect(locus_pages_unpin(pages, range) == 0, "not pinned");
        pthread_t thread = litmus_thread(evictor_main, NULL);
        litmus_start(&arrived, 2);
        for (unsigned spin = 1; !atomic_load_explicit(&asked, memory_order_relaxed); spin++)
            litmus_pause(spin);
        litmus_expect(locus_pages_free(pages, NULL, range) == 0, "it is there, or leaving");
        for (unsigned spin = 1; locus_pages_alloc(pages, NULL, &ask, &next); spin++)
            litmus_pause(spin);
        litmus_expect(text == run + 1, "the next user of the page sees what the evictor wrote");
        litmus_expect(locus_pages_unpin(pages, next) == 0 && locus_pages_free(pages, NULL, next) == 0, "free again");
        pthread_join(thread, NULL);
    }
    return locus_pages_close(pages) != 0;
}
