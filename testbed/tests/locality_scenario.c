// SPDX-License-Identifier: Apache-2.0
//
// locality_scenario: a program whose stores are known beforehand, for two witnesses. Its own accounting prints one matrix, the
// QEMU plugin (testbed/guest/plugin/stores.c) writes another; locality_guest.sh holds them against each other.
//
// The window is mapped where the plugin looks, in four sections of 2 MiB, and nothing else lies there:
//
//   section 0  bound to the first node         section 2  said to be bound to the first node, bound to the second
//   section 1  bound to the second node        section 3  not bound and not populated: first touch decides
//
// One thread after the other, pinned to the first and to the second node, writes each section its own number of times with
// tb_locality_touch(). Prints "SECTION FROM TO TOUCHES" for each count above 0, nodes by OS index, in the order of the plugin's
// file.
//
// Then the malloc of this process: the first node's thread allocates and writes blocks, the second's frees them and allocates as
// many. What it is given again is memory of the first node. Prints "malloc ALLOCATED WANDERED" of the second thread.
//
// Exit status: 0; 1 the accounting is wrong; 77 fewer than two nodes with memory and CPUs.
#include <errno.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "testbed/locality.h"
#include "topo/pin.h"

#define WINDOW ((char *)0x200000000000) // free in every layout, AddressSanitizer's and ThreadSanitizer's too
#define SECTION_BYTES ((size_t)2 << 20)
#define LINES (SECTION_BYTES / 64)
#define BLOCK_BYTES 4096u
#define MALLOCS 100u
#define MALLOC_BYTES 512u       // small enough for every malloc's per-thread cache

enum { FIRST, SECOND, WRONG, TOUCHED, SECTIONS };

// Different for every thread and section, so that no two counts can be taken for each other.
static const unsigned writes[2][SECTIONS] = {{3, 1, 2, 0}, {5, 4, 0, 7}};

struct worker {
    const struct locus_topo *topo;
    int node;
    const unsigned *writes;
    int result;
    struct tb_locality *counts[SECTIONS];
};

static int failed(const char *what, int error)
{
    fprintf(stderr, "locality_scenario: %s: %s\n", what, strerror(-error));
    return 1;
}

static int write_section(struct tb_locality *counts, unsigned section, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        for (char *block = WINDOW + section * SECTION_BYTES; block < WINDOW + (section + 1) * SECTION_BYTES; block += BLOCK_BYTES) {
            tb_locality_touch(block, BLOCK_BYTES, i + 1);
            tb_locality_note_write(counts, block, BLOCK_BYTES);
        }
        int result = tb_locality_refresh(counts);
        if (result)
            return result;
    }
    return 0;
}

static void *work(void *context)
{
    struct worker *self = context;
    struct tb_locality_config config = {.topo = self->topo,
                                        .pages_max = SECTION_BYTES / 4096,
                                        .pending_max = 4096,
                                        .points_max = 1};
    self->result = locus_pin_node(self->node);
    for (unsigned section = 0; section < SECTIONS && !self->result; section++) {
        self->result = tb_locality_open(&self->counts[section], &config);
        if (!self->result)
            self->result = write_section(self->counts[section], section, self->writes[section]);
    }
    return NULL;
}

static int bind_section(unsigned section, int node)
{
    char *base = WINDOW + section * SECTION_BYTES;
    unsigned long mask[16] = {0};
    mask[(unsigned)node / 64] = 1ul << ((unsigned)node % 64);
    if (syscall(SYS_mbind, base, SECTION_BYTES, MPOL_BIND, mask, 1024ul + 1, 0u) ||
        madvise(base, SECTION_BYTES, MADV_POPULATE_WRITE))
        return -errno;
    return 0;
}

static int map_window(int first, int second)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (mmap(WINDOW, SECTIONS * SECTION_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0) != WINDOW)
        return -errno;
    if (madvise(WINDOW, SECTIONS * SECTION_BYTES, MADV_NOHUGEPAGE))
        return -errno;
    int result = bind_section(FIRST, first);
    result = result ? result : bind_section(SECOND, second);
    return result ? result : bind_section(WRONG, second);
}

static void print(struct worker workers[2], unsigned section, const struct locus_topo *topo)
{
    struct tb_locality *sum = workers[0].counts[section];
    unsigned nodes = locus_topo_info(topo)->nodes_count;
    tb_locality_add(sum, workers[1].counts[section]);
    for (unsigned f = 0; f <= nodes; f++)
        for (unsigned t = 0; t <= nodes; t++) {
            int from = f == 0 ? TB_LOCALITY_UNKNOWN : locus_topo_nodes(topo)[f - 1].os_index;
            int to = t == 0 ? TB_LOCALITY_UNKNOWN : locus_topo_nodes(topo)[t - 1].os_index;
            uint64_t touches = tb_locality_count(sum, TB_LOCALITY_TOUCHES, from, to);
            if (touches)
                printf("%u %d %d %" PRIu64 "\n", section, from, to, touches);
        }
}

// What must come out, from the binding and the numbers alone. The page map must also say that nothing moved or was absent.
static bool as_expected(const struct worker workers[2])
{
    const int page_node[SECTIONS] = {workers[0].node, workers[1].node, workers[1].node, workers[1].node};
    bool good = true;
    for (unsigned section = 0; section < SECTIONS; section++)
        for (unsigned w = 0; w < 2; w++) {
            uint64_t expected = writes[w][section] * LINES;
            const struct tb_locality *counts = workers[w].counts[section];
            struct tb_locality_sums sums = tb_locality_sums(counts, TB_LOCALITY_TOUCHES);
            uint64_t counted = tb_locality_count(counts, TB_LOCALITY_TOUCHES, workers[w].node, page_node[section]);
            if (counted == expected && sums.local + sums.remote + sums.unknown == expected)
                continue;
            fprintf(stderr, "locality_scenario: section %u, node %d: %" PRIu64 " of %" PRIu64 " touches on node %d\n", section,
                    workers[w].node, counted, expected, page_node[section]);
            good = false;
        }
    return good;
}

static int thread_to_its_end(void *(*function)(void *), void *context)
{
    pthread_t thread;
    int result = -pthread_create(&thread, NULL, function, context);
    return result ? result : -pthread_join(thread, NULL);
}

static int run_window(const struct locus_topo *topo, int first, int second)
{
    struct worker workers[2] = {{topo, first, writes[0], 0, {NULL}}, {topo, second, writes[1], 0, {NULL}}};
    int result = map_window(first, second);
    if (result)
        return failed("cannot map and bind the window", result);
    for (unsigned w = 0; w < 2; w++) {
        result = thread_to_its_end(work, &workers[w]);
        result = result ? result : workers[w].result;
        if (result)
            return failed("a writer", result);
    }
    result = as_expected(workers) ? 0 : 1;
    for (unsigned section = 0; section < SECTIONS; section++)
        print(workers, section, topo);
    for (unsigned i = 0; i < 2u * SECTIONS; i++)
        tb_locality_close(workers[i / SECTIONS].counts[i % SECTIONS]);
    return result;
}

// --- malloc --------------------------------------------------------------------------------------------------------------------

struct exchange {
    const struct locus_topo *topo;
    int node[2], result;
    void *blocks[MALLOCS];
    struct tb_locality *counts[2];
};

static int exchange_begin(struct exchange *exchange, unsigned who)
{
    struct tb_locality_config config = {.topo = exchange->topo, .pages_max = 1024, .pending_max = 1024, .points_max = 2};
    int result = locus_pin_node(exchange->node[who]);
    return result ? result : tb_locality_open(&exchange->counts[who], &config);
}

static int allocate(struct exchange *exchange, struct tb_locality *counts)
{
    for (unsigned i = 0; i < MALLOCS; i++) {
        exchange->blocks[i] = malloc(MALLOC_BYTES);
        if (!exchange->blocks[i])
            return -ENOMEM;
        tb_locality_note_alloc(counts, exchange->blocks[i]);
        tb_locality_touch(exchange->blocks[i], MALLOC_BYTES, i);
        tb_locality_note_write(counts, exchange->blocks[i], MALLOC_BYTES);
    }
    return tb_locality_refresh(counts);
}

static void *give(void *context)
{
    struct exchange *exchange = context;
    exchange->result = exchange_begin(exchange, 0);
    if (!exchange->result)
        exchange->result = allocate(exchange, exchange->counts[0]);
    return NULL;
}

static void *take(void *context)
{
    struct exchange *exchange = context;
    exchange->result = exchange_begin(exchange, 1);
    for (unsigned i = 0; i < MALLOCS && !exchange->result; i++) {
        tb_locality_note_free(exchange->counts[1], exchange->blocks[i], TB_LOCALITY_HERE);
        free(exchange->blocks[i]);
    }
    if (!exchange->result)
        exchange->result = tb_locality_refresh(exchange->counts[1]);
    if (!exchange->result)
        exchange->result = allocate(exchange, exchange->counts[1]);
    return NULL;
}

static int run_malloc(const struct locus_topo *topo, int first, int second)
{
    struct exchange exchange = {.topo = topo, .node = {first, second}};
    uint32_t points;
    int result = thread_to_its_end(give, &exchange);
    result = result ? result : exchange.result;
    result = result ? result : thread_to_its_end(take, &exchange);
    result = result ? result : exchange.result;
    if (result)
        return failed("the exchange of blocks", result);
    struct tb_locality_point given = tb_locality_drift(exchange.counts[0], &points)[0];
    struct tb_locality_point taken = tb_locality_drift(exchange.counts[1], &points)[1];
    uint64_t abroad = tb_locality_count(exchange.counts[1], TB_LOCALITY_FREES_ABROAD, second, first);
    printf("malloc %" PRIu64 " %" PRIu64 "\n", taken.allocated, taken.wandered);
    for (unsigned i = 0; i < MALLOCS; i++)
        free(exchange.blocks[i]);
    for (unsigned who = 0; who < 2; who++)
        tb_locality_close(exchange.counts[who]);
    if (given.allocated == MALLOCS && given.wandered + given.unknown == 0 && taken.allocated == MALLOCS && abroad == MALLOCS)
        return 0;
    fprintf(stderr,
            "locality_scenario: given %" PRIu64 ", wandered %" PRIu64 ", unknown %" PRIu64 "; taken %" PRIu64
            "; freed abroad %" PRIu64 "\n",
            given.allocated, given.wandered, given.unknown, taken.allocated, abroad);
    return 1;
}

int main(void)
{
    struct locus_topo *topo;
    char why[256];
    int nodes[2], count = 0, status = 77;
    if (locus_topo_open(&topo, NULL, why, sizeof why)) {
        fprintf(stderr, "locality_scenario: %s\n", why);
        return 1;
    }
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count && count < 2; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        if (node->kind == LOCUS_NODE_DRAM && node->allowed && node->cpus_allowed_count)
            nodes[count++] = node->os_index;
    }
    if (count < 2)
        puts("SKIP locality_scenario: needs two nodes with memory and CPUs; run it in the two-node guest");
    else
        status = run_window(topo, nodes[0], nodes[1]) | run_malloc(topo, nodes[0], nodes[1]);
    locus_topo_close(topo);
    return status;
}
