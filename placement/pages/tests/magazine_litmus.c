// SPDX-License-Identifier: Apache-2.0
//
// M1/M2: who takes a page out of another thread's magazine sees what was done to the page before it was freed into it.
#include "locus/pages.h"
#include "placement/base/tests/litmus.h"

static struct locus_pages *pages;
static _Atomic unsigned arrived;
static unsigned text; // the plain data that the pair orders
static unsigned run;

static const struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 1, .no_evict = true};

struct owner {
    struct locus_magazine *magazine;
    locus_range range;
};

static void *owner_main(void *argument)
{
    struct owner *owner = argument;
    litmus_start(&arrived, 2);
    text = run + 1;
    litmus_expect(locus_pages_free(pages, owner->magazine, owner->range) == 0, "the owner's range");
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    struct locus_pages_config config = {.size = sizeof config, .pages = 1, .page = LOCUS_PAGE_4K, .node = LOCUS_NODE_ANY};
    struct owner owner;
    locus_range range;
    litmus_expect(locus_pages_open(&pages, &config) == 0, "an arena of one page");
    litmus_expect(locus_magazine_open(&owner.magazine, pages) == 0, "a magazine");
    for (run = 0; run < runs; run++) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        litmus_expect(locus_pages_alloc(pages, owner.magazine, &ask, &owner.range) == 0, "a page");
        litmus_expect(locus_pages_unpin(pages, owner.range) == 0, "not pinned");
        pthread_t thread = litmus_thread(owner_main, &owner);
        litmus_start(&arrived, 2);
        for (unsigned spin = 1; locus_pages_alloc(pages, NULL, &ask, &range); spin++)
            litmus_pause(spin);
        litmus_expect(text == run + 1, "the next user of the page sees it");
        pthread_join(thread, NULL);
        litmus_expect(locus_pages_unpin(pages, range) == 0 && locus_pages_free(pages, NULL, range) == 0, "it is free again");
    }
    locus_magazine_close(owner.magazine);
    return locus_pages_close(pages) != 0;
}
