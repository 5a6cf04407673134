// SPDX-License-Identifier: Apache-2.0
//
// domain_hot_scenario STAYS GOES COMMAND: a node loses its memory during a run, and nothing else is lost.
//
// Two homes, on the nodes STAYS and GOES. Each fills a table with marked blocks; then COMMAND takes GOES offline. Expected: the
// report says well before and offline afterwards, with the home's pages elsewhere; every mark is still there; the
// home, avoided from now on, takes new blocks from its neighbour; at the end every block is home. domain_guest.sh runs it.
#include "locus/locus.h"
#include "placement/base/tests/litmus.h"

#include <errno.h>

#define BLOCKS 512u
#define HELD 256u
#define MORE 16u
#define BLOCK_BYTES 16384u

static struct locus_domain *domain;
static struct locus_table *tables[2];

static void fill(uint32_t home)
{
    tables[home] = aligned_alloc(LOCUS_CACHE_LINE, locus_domain_table_bytes(domain, BLOCKS));
    litmus_expect(tables[home] && locus_domain_table_init(domain, tables[home], BLOCKS, 16) == 0, "a table is laid out");
    litmus_expect(locus_owner_adopt(locus_domain_owner(domain, home)) == 0, "the role is free");
    litmus_expect(locus_domain_grow(domain, home, tables[home], HELD) == 0, "the home is whole");
    for (uint32_t i = 0; i < HELD; i++)
        *(locus_block *)locus_domain_address(domain, tables[home]->blocks[i]) = tables[home]->blocks[i];
}

static void look(const char *when, enum locus_home_condition expected)
{
    static const char *const words[] = {"well", "shrunk", "moved", "offline"};
    struct locus_home_report reports[2];
    litmus_expect(locus_domain_check(domain, reports) == 0, "the nodes can be asked");
    for (uint32_t home = 0; home < 2; home++)
        printf("%s node %d %s, %llu of %llu pages elsewhere\n", when, reports[home].node, words[reports[home].condition],
               (unsigned long long)reports[home].pages_elsewhere, (unsigned long long)reports[home].pages_present);
    litmus_expect(reports[0].condition == LOCUS_HOME_OK && reports[0].pages_elsewhere == 0, "the first home stays well");
    litmus_expect(reports[1].condition == expected, "the second home's condition");
    uint64_t elsewhere = expected == LOCUS_HOME_OFFLINE ? reports[1].pages_present : 0;
    litmus_expect(reports[1].pages_present == BLOCKS * BLOCK_BYTES / 4096 && reports[1].pages_elsewhere == elsewhere, "its pages");
}

static void go_on_elsewhere(void)
{
    litmus_expect(locus_domain_avoid(domain, 1, true) == 0, "the domain borrows");
    litmus_expect(locus_domain_grow(domain, 1, tables[1], MORE) == -EAGAIN, "the neighbour is asked");
    locus_domain_drain(domain, 0);
    litmus_expect(locus_domain_grow(domain, 1, tables[1], MORE) == 0, "and lends");
    for (uint32_t i = 0; i < HELD + MORE; i++)
        litmus_expect(locus_block_home(tables[1]->blocks[i]) == (i < HELD), "the new blocks are the neighbour's");
}

static void bring_home(uint32_t home)
{
    for (uint32_t i = 0; i < HELD; i++)
        litmus_expect(*(locus_block *)locus_domain_address(domain, tables[home]->blocks[i]) == tables[home]->blocks[i], "the mark");
    litmus_expect(locus_owner_retire(locus_domain_owner(domain, home), tables[home]) == 0, "the table is live");
    litmus_expect(locus_table_push(locus_domain_route(domain, 0), tables[home]) == 0, "the table goes home");
}

static void close_home(uint32_t home)
{
    struct locus_pool_stats stats;
    locus_domain_drain(domain, home);
    locus_pool_stats(locus_owner_pool(locus_domain_owner(domain, home)), &stats);
    printf("home %u allocated %llu freed %llu\n", home, (unsigned long long)stats.allocated, (unsigned long long)stats.freed);
    litmus_expect(stats.allocated == stats.freed && stats.blocks_free == BLOCKS, "every block is home");
    locus_owner_leave(locus_domain_owner(domain, home));
}

int main(int argc, char **argv)
{
    litmus_expect(argc == 4, "usage: domain_hot_scenario STAYS GOES COMMAND");
    struct locus_domain_config config = {
        .size = sizeof config,
        .nodes = (const int[]){atoi(argv[1]), atoi(argv[2])},
        .nodes_count = 2,
        .lanes = 1,
        .blocks = BLOCKS,
        .block_bytes = BLOCK_BYTES,
        .policy = LOCUS_POLICY_BIND,
        .populate = true,
        .exhausted = LOCUS_EXHAUSTED_BORROW,
    };
    litmus_expect(locus_domain_open(&domain, &config) == 0, "a domain opens");
    for (uint32_t home = 0; home < 2; home++)
        fill(home);
    look("before:", LOCUS_HOME_OK);
    litmus_expect(system(argv[3]) == 0, "the node's memory goes");
    look("after:", LOCUS_HOME_OFFLINE);
    go_on_elsewhere();
    for (uint32_t home = 0; home < 2; home++)
        bring_home(home);
    for (uint32_t home = 0; home < 2; home++)
        close_home(home);
    locus_domain_close(domain);
    free(tables[0]);
    free(tables[1]);
    puts("nothing was lost");
    return 0;
}
