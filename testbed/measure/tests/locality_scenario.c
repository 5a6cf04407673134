// SPDX-License-Identifier: Apache-2.0
//
// locality_scenario: a program whose stores are known in advance, for two witnesses. Its own accounting prints one matrix, the
// QEMU plugin (testbed/guest/plugin/accesses.c) writes another; locality_guest.sh compares them.
//
// The window is mapped where the plugin looks, in sections of 2 MiB, and nothing else lies there:
//
//   section 0  bound to the first node         section 2  said to be bound to the first node, bound to the second
//   section 1  bound to the second node        section 3  not bound and not populated: first touch decides
//   4, 5 ...   bound to each further node with memory
//
// The first and the second node are those with memory and CPUs. A thread for each of them and then for each further node with CPUs,
// pinned there, writes each section its own number of times with tb_locality_touch(); section 3 only the last one, and where its
// node has no memory the nearest gets the pages. Prints "SECTION FROM TO TOUCHES" for each count above 0, nodes by OS index, in the
// order of the plugin's file.
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

#include "testbed/measure/locality/locality.h"
#include "topo/pin.h"

#define WINDOW ((char *)0x200000000000) // free in every layout, AddressSanitizer's and ThreadSanitizer's too
#define SECTION_BYTES ((size_t)2 << 20)
#define LINES (SECTION_BYTES / 64)
#define BLOCK_BYTES 4096u
#define MALLOCS 100u
#define MALLOC_BYTES 512u       // small enough for every malloc's per-thread cache

#define WRITERS_MAX 4u
#define SECTIONS_MAX 8u

enum { FIRST, SECOND, WRONG, TOUCHED, FURTHER };

// Different for every thread of a section, so that no two counts can be taken for each other; TOUCHED is the last writer's alone.
static const unsigned writes[WRITERS_MAX][SECTIONS_MAX] = {{3, 1, 2, 0, 2, 3, 1, 4},
                                                           {5, 4, 0, 0, 1, 2, 3, 1},
                                                           {1, 3, 5, 0, 4, 6, 2, 3},
                                                           {2, 6, 4, 0, 3, 1, 5, 2}};
#define TOUCHES 7u

struct machine {
    const struct locus_topo *topo;
    int writer[WRITERS_MAX];          // node of each
    unsigned writers, sections;
    int bound[SECTIONS_MAX];          // node of each section; of TOUCHED, where the pages come to lie
};

struct worker {
    const struct machine *machine;
    unsigned number;
    int result;
    struct tb_locality *counts[SECTIONS_MAX];
};

static unsigned times(const struct machine *machine, unsigned writer, unsigned section)
{
    if (section == TOUCHED)
        return writer == machine->writers - 1 ? TOUCHES : 0;
    return writes[writer][section];
}

static int failed(const char *what, int error)
{
    fprintf(stderr, "locality_scenario: %s: %s\n", what, strerror(-error));
    return 1;
}

static int write_section(struct tb_locality *counts, unsigned section, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
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
    const struct machine *machine = self->machine;
    struct tb_locality_config config = {.topo = machine->topo,
                                        .pages_max = SECTION_BYTES / 4096,
                                        .pending_max = 4096,
                                        .points_max = 1};
    self->result = locus_pin_node(machine->writer[self->number]);
    for (unsigned section = 0; section < machine->sections && !self->result; section++) {
        self->result = tb_locality_open(&self->counts[section], &config);
        if (!self->result)
            self->result = write_section(self->counts[section], section, times(machine, self->number, section));
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

static int map_window(const struct machine *machine)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, result = 0;
    size_t bytes = machine->sections * SECTION_BYTES;
    if (mmap(WINDOW, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != WINDOW || madvise(WINDOW, bytes, MADV_NOHUGEPAGE))
        return -errno;
    for (unsigned section = 0; section < machine->sections && !result; section++)
        if (section != TOUCHED)
            result = bind_section(section, machine->bound[section]);
    return result;
}

static void print(struct worker workers[], unsigned section, const struct machine *machine)
{
    struct tb_locality *sum = workers[0].counts[section];
    unsigned nodes = locus_topo_info(machine->topo)->nodes_count;
    for (unsigned w = 1; w < machine->writers; w++)
        tb_locality_add(sum, workers[w].counts[section]);
    for (unsigned f = 0; f <= nodes; f++)
        for (unsigned t = 0; t <= nodes; t++) {
            int from = f == 0 ? TB_LOCALITY_UNKNOWN : locus_topo_nodes(machine->topo)[f - 1].os_index;
            int to = t == 0 ? TB_LOCALITY_UNKNOWN : locus_topo_nodes(machine->topo)[t - 1].os_index;
            uint64_t touches = tb_locality_count(sum, TB_LOCALITY_TOUCHES, from, to);
            if (touches)
                printf("%u %d %d %" PRIu64 "\n", section, from, to, touches);
        }
}

// What must come out, from the binding and the numbers alone. The page map must also say that nothing moved or was absent.
static bool as_expected(const struct worker workers[], const struct machine *machine)
{
    bool good = true;
    for (unsigned section = 0; section < machine->sections; section++)
        for (unsigned w = 0; w < machine->writers; w++) {
            int from = machine->writer[w], to = machine->bound[section];
            uint64_t expected = times(machine, w, section) * LINES;
            const struct tb_locality *counts = workers[w].counts[section];
            struct tb_locality_sums sums = tb_locality_sums(counts, TB_LOCALITY_TOUCHES);
            uint64_t counted = tb_locality_count(counts, TB_LOCALITY_TOUCHES, from, to);
            if (counted == expected && sums.local + sums.remote + sums.unknown == expected)
                continue;
            fprintf(stderr, "locality_scenario: section %u, node %d: %" PRIu64 " of %" PRIu64 " touches on node %d\n", section,
                    from, counted, expected, to);
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

static int run_window(const struct machine *machine)
{
    struct worker workers[WRITERS_MAX] = {{0}};
    int result = map_window(machine);
    if (result)
        return failed("cannot map and bind the window", result);
    for (unsigned w = 0; w < machine->writers; w++) {
        workers[w] = (struct worker){.machine = machine, .number = w};
        result = thread_to_its_end(work, &workers[w]);
        result = result ? result : workers[w].result;
        if (result)
            return failed("a writer", result);
    }
    result = as_expected(workers, machine) ? 0 : 1;
    for (unsigned section = 0; section < machine->sections; section++) {
        print(workers, section, machine);
        for (unsigned w = 0; w < machine->writers; w++)
            tb_locality_close(workers[w].counts[section]);
    }
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

// --- the machine ---------------------------------------------------------------------------------------------------------------

static bool writes_here(const struct locus_topo_node *node, bool with_memory)
{
    return node->cpus_allowed_count > 0 && with_memory == (node->allowed && node->memory.total_bytes > 0);
}

static int nearest_with_memory(const struct locus_topo *topo, int from)
{
    int nearest = -1;
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        if (node->allowed &&
            (nearest < 0 || locus_topo_distance(topo, from, node->os_index) < locus_topo_distance(topo, from, nearest)))
            nearest = node->os_index;
    }
    return nearest;
}

// Writers with memory come first. False: there are no two of them.
static bool describe(struct machine *machine)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(machine->topo);
    unsigned count = locus_topo_info(machine->topo)->nodes_count;
    for (int with_memory = 1; with_memory >= 0; with_memory--) {
        for (unsigned n = 0; n < count && machine->writers < WRITERS_MAX; n++)
            if (writes_here(&nodes[n], with_memory))
                machine->writer[machine->writers++] = nodes[n].os_index;
        if (machine->writers < 2)
            return false;
    }
    machine->bound[FIRST] = machine->writer[0];
    machine->bound[SECOND] = machine->bound[WRONG] = machine->writer[1];
    machine->bound[TOUCHED] = nearest_with_memory(machine->topo, machine->writer[machine->writers - 1]);
    machine->sections = FURTHER;
    for (unsigned n = 0; n < count && machine->sections < SECTIONS_MAX; n++)
        if (nodes[n].allowed && nodes[n].os_index != machine->bound[FIRST] && nodes[n].os_index != machine->bound[SECOND])
            machine->bound[machine->sections++] = nodes[n].os_index;
    return true;
}

int main(void)
{
    struct locus_topo *topo;
    char why[256];
    int status = 77;
    if (locus_topo_open(&topo, NULL, why, sizeof why)) {
        fprintf(stderr, "locality_scenario: %s\n", why);
        return 1;
    }
    struct machine machine = {.topo = topo};
    if (describe(&machine))
        status = run_window(&machine) | run_malloc(topo, machine.bound[FIRST], machine.bound[SECOND]);
    else
        puts("SKIP locality_scenario: needs two nodes with memory and CPUs; run it in the two-node guest");
    locus_topo_close(topo);
    return status;
}
