// SPDX-License-Identifier: Apache-2.0
//
// share_scenario touches|copies: requests of two nodes that share a prefix, for two witnesses (share_guest.sh).
//
// The first node's owner publishes a prefix and adopts it for its own requests; tables of the second node's requests visit it and
// adopt the same blocks. So a shared block has one home. Then every request gets blocks of its own, on its node, and touches all
// its blocks. `touches` prints "SECTION FROM TO TOUCHES" as the page map counts them: section 0 is the first node's pool, section 1
// the second's, where window_inject.c puts them. The stores that the emulator counts from outside must be the same.
//
// `copies` goes on: each node's first request writes into the middle of the last shared block. It prints the node of each copy,
// "copy WRITER NODE", after it has compared what was copied. (A copy stores as the compiler likes, so its stores are not counted.)
//
// At the end all tables are pushed, and every block must be home. Exit status: 0; 1 something is wrong; 77 fewer than two nodes.
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/locus.h"
#include "testbed/measure/locality/locality.h"

#define NODES 2u
#define BLOCKS 512u // of 4 KiB: a section of 2 MiB
#define BLOCK_BYTES 4096u
#define BLOCK_TOKENS 16u
#define REQUESTS 5u // of each node
#define PREFIX 24u  // blocks
#define OWN 7u
#define CAPACITY (PREFIX + OWN)
#define TIMES 3u

#define MUST(holds)                                                                                                                \
    do {                                                                                                                           \
        if (!(holds)) {                                                                                                            \
            fprintf(stderr, "share_scenario: line %d: not so: %s\n", __LINE__, #holds);                                            \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

struct scenario {
    struct locus_topo *topo;
    struct locus_domain *domain;
    int nodes[NODES];
    bool copies;
    struct locus_id ids[PREFIX];
    struct locus_table *table[NODES][REQUESTS], *leavers[NODES];
    struct tb_locality *counts[NODES];
    pthread_barrier_t barrier;
};

struct station {
    struct scenario *scenario;
    uint32_t home;
};

static void wait_for_all(struct scenario *scenario)
{
    pthread_barrier_wait(&scenario->barrier);
}

static uint64_t word_of(locus_block block)
{
    return 1 + locus_block_index(block);
}

static void touch(struct scenario *scenario, struct tb_locality *counts, const struct locus_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        void *address = locus_domain_address(scenario->domain, table->blocks[i]);
        tb_locality_touch(address, BLOCK_BYTES, word_of(table->blocks[i])); // the same by all who share it
        tb_locality_note_write(counts, address, BLOCK_BYTES);
    }
}

// The first node's owner: the prefix for everybody.
static void share(struct scenario *scenario, struct locus_prefix *prefix)
{
    struct locus_owner *owner = locus_domain_owner(scenario->domain, 0);
    struct locus_table *first = scenario->table[0][0];
    MUST(locus_owner_write(owner, first, 0, (uint64_t)PREFIX * BLOCK_TOKENS, 1) == 0);
    MUST(locus_prefix_publish(prefix, scenario->ids, NULL, PREFIX, first) == PREFIX);
    for (uint32_t node = 0; node < NODES; node++)
        for (uint32_t r = node == 0; r < REQUESTS; r++)
            MUST(locus_prefix_match(prefix, 1, scenario->ids, NULL, PREFIX, scenario->table[node][r]) == PREFIX);
}

static void write_into_shared(struct scenario *scenario, uint32_t home)
{
    struct locus_table *table = scenario->table[home][0];
    const uint32_t at = PREFIX - 1, first = at * BLOCK_TOKENS + BLOCK_TOKENS / 2;
    locus_block old = table->blocks[at];
    const char *before = locus_domain_address(scenario->domain, old);
    struct tb_locality *look;
    struct tb_locality_config config = {.topo = scenario->topo, .pages_max = 16, .pending_max = 16, .points_max = 1};
    MUST(locus_domain_write(scenario->domain, home, table, first, 1, 1, scenario->leavers[home]) == 0);
    char *after = locus_domain_address(scenario->domain, table->blocks[at]);
    MUST(after != before && locus_block_home(table->blocks[at]) == home);
    MUST(memcmp(after, before, BLOCK_BYTES / 2) == 0);
    MUST(tb_locality_open(&look, &config) == 0);
    MUST(tb_locality_watch(look, after, BLOCK_BYTES) == 0 && tb_locality_refresh(look) == 0);
    printf("copy %d %d\n", scenario->nodes[home], tb_locality_page_node(look, after));
    tb_locality_close(look);
}

static void push_all(struct scenario *scenario, uint32_t home)
{
    struct locus_owner *owner = locus_domain_owner(scenario->domain, home);
    const struct locus_route *route = locus_domain_route(scenario->domain, home);
    for (uint32_t r = 0; r < REQUESTS; r++)
        MUST(locus_owner_retire(owner, scenario->table[home][r]) == 0 && locus_table_push(route, scenario->table[home][r]) == 0);
    if (scenario->leavers[home]->count)
        MUST(locus_owner_retire(owner, scenario->leavers[home]) == 0 && locus_table_push(route, scenario->leavers[home]) == 0);
}

static void *station_main(void *argument)
{
    const struct station *station = argument;
    struct scenario *scenario = station->scenario;
    uint32_t home = station->home;
    struct locus_owner *owner = locus_domain_owner(scenario->domain, home);
    struct tb_locality_config config = {.topo = scenario->topo, .pages_max = NODES * BLOCKS, .pending_max = 65536, .points_max = 1};
    struct locus_prefix_config prefix_config = {.size = sizeof prefix_config, .owner = owner};
    struct locus_prefix *prefix = NULL;
    MUST(locus_pin_node(scenario->nodes[home]) == 0 && locus_owner_adopt(owner) == 0);
    MUST(tb_locality_open(&scenario->counts[home], &config) == 0);
    if (home == 0) {
        MUST(locus_prefix_open(&prefix, &prefix_config) == 0);
        share(scenario, prefix);
    }
    wait_for_all(scenario);
    for (uint32_t r = 0; r < REQUESTS; r++)
        MUST(locus_domain_grow(scenario->domain, home, scenario->table[home][r], OWN) == 0);
    for (uint32_t i = 0; i < TIMES * REQUESTS; i++)
        touch(scenario, scenario->counts[home], scenario->table[home][i % REQUESTS]);
    MUST(tb_locality_refresh(scenario->counts[home]) == 0);
    wait_for_all(scenario);
    if (scenario->copies)
        write_into_shared(scenario, home);
    wait_for_all(scenario);
    push_all(scenario, home);
    wait_for_all(scenario);
    locus_domain_drain(scenario->domain, home);
    wait_for_all(scenario);
    if (home == 0)
        MUST(locus_prefix_close(prefix) == 0);
    MUST(locus_owner_leave(owner) == 0);
    return NULL;
}

static void print(const struct scenario *scenario)
{
    for (uint32_t section = 0; section < NODES; section++)
        for (uint32_t from = 0; from < NODES; from++) {
            uint64_t touches =
                tb_locality_count(scenario->counts[from], TB_LOCALITY_TOUCHES, scenario->nodes[from], scenario->nodes[section]);
            if (touches)
                printf("%u %d %d %" PRIu64 "\n", section, scenario->nodes[from], scenario->nodes[section], touches);
        }
    for (uint32_t from = 0; from < NODES; from++)
        MUST(tb_locality_sums(scenario->counts[from], TB_LOCALITY_TOUCHES).unknown == 0);
}

static void all_home(const struct scenario *scenario)
{
    for (uint32_t home = 0; home < NODES; home++) {
        struct locus_pool_stats stats;
        locus_pool_stats(locus_owner_pool(locus_domain_owner(scenario->domain, home)), &stats);
        MUST(stats.blocks_free == BLOCKS && stats.sharers == 0 && stats.allocated == stats.freed);
        for (unsigned i = 0; i < LOCUS_FREE_ERRORS_COUNT; i++)
            MUST(stats.refused[i] == 0);
    }
}

static struct locus_table *table_new(const struct scenario *scenario)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_domain_table_bytes(scenario->domain, CAPACITY));
    MUST(table && locus_domain_table_init(scenario->domain, table, CAPACITY, BLOCK_TOKENS) == 0);
    return table;
}

static void run(struct scenario *scenario)
{
    struct locus_domain_config config = {.size = sizeof config,
                                         .nodes = scenario->nodes,
                                         .nodes_count = NODES,
                                         .lanes = NODES,
                                         .blocks = BLOCKS,
                                         .block_bytes = BLOCK_BYTES,
                                         .policy = LOCUS_POLICY_BIND,
                                         .populate = true,
                                         .tags = true,
                                         .shared = true};
    pthread_t thread[NODES];
    struct station station[NODES];
    MUST(locus_domain_open(&scenario->domain, &config) == 0);
    for (uint32_t i = 0; i < PREFIX; i++)
        scenario->ids[i] = locus_id_of(1 + i);
    for (uint32_t home = 0; home < NODES; home++) {
        scenario->leavers[home] = table_new(scenario);
        for (uint32_t r = 0; r < REQUESTS; r++) {
            scenario->table[home][r] = table_new(scenario);
            locus_table_set_tag(scenario->table[home][r], 10 * home + r + 1);
        }
    }
    pthread_barrier_init(&scenario->barrier, NULL, NODES);
    for (uint32_t home = 0; home < NODES; home++) {
        station[home] = (struct station){scenario, home};
        MUST(pthread_create(&thread[home], NULL, station_main, &station[home]) == 0);
    }
    for (uint32_t home = 0; home < NODES; home++)
        pthread_join(thread[home], NULL);
    if (!scenario->copies)
        print(scenario);
    all_home(scenario);
    for (uint32_t home = 0; home < NODES; home++) {
        tb_locality_close(scenario->counts[home]);
        free(scenario->leavers[home]);
        for (uint32_t r = 0; r < REQUESTS; r++)
            free(scenario->table[home][r]);
    }
    pthread_barrier_destroy(&scenario->barrier);
    MUST(locus_domain_close(scenario->domain) == 0);
}

// The first two nodes with memory and CPUs.
static bool find_nodes(struct scenario *scenario)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(scenario->topo);
    unsigned found = 0;
    for (unsigned n = 0; n < locus_topo_info(scenario->topo)->nodes_count && found < NODES; n++)
        if (nodes[n].allowed && nodes[n].cpus_allowed_count > 0 && nodes[n].memory.total_bytes > 0)
            scenario->nodes[found++] = nodes[n].os_index;
    return found == NODES;
}

int main(int argc, char **argv)
{
    static struct scenario scenario;
    char why[256];
    if (argc != 2 || (strcmp(argv[1], "touches") != 0 && strcmp(argv[1], "copies") != 0)) {
        fputs("usage: share_scenario touches|copies\n", stderr);
        return 2;
    }
    scenario.copies = strcmp(argv[1], "copies") == 0;
    if (locus_topo_open(&scenario.topo, NULL, why, sizeof why)) {
        fprintf(stderr, "share_scenario: %s\n", why);
        return 1;
    }
    bool found = find_nodes(&scenario);
    if (found)
        run(&scenario);
    else
        puts("SKIP share_scenario: needs two nodes with memory and CPUs; run it in the two-node guest");
    locus_topo_close(scenario.topo);
    return found ? 0 : 77;
}
