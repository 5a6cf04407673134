// SPDX-License-Identifier: Apache-2.0
//
// One walk through the whole library, to be run once for every call that can fail (fault_sweep.sh with fault_inject.c).
//
// A mapped and bound pool of home 0, whose owner is a spawned thread, and a heap pool of home 1, whose owner is main, share one
// table: both grow it, owner 0 retires it, main pushes it, both drain it. Before that the pool of home 1, which is shared, has a
// fork, a copy, a prefix cache and a reservation. Then ranges of an arena of pages are evicted for a longer one and prepared as a
// set, and an adapter is loaded, used and swapped between the arena and tiers in memory. In every case: each function returns 0
// or the injected error, no thread waits for one that was never started, every block is home in the end, and all memory from the
// heap and the kernel is given back.
//
// The walk is done twice. The first is never disturbed: it proves that the scenario works here, and lets the C library take what
// it keeps for good (thread stacks, dynamic loading), which would otherwise look like leaks.
//
// Exit 0: finished, and no fault was reached. 3: a fault was hit, and reported as an error. 77: the fault cannot happen here.
// Anything else is a bug.
#include "locus/locus.h"
#include "topo/topo.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCKS 64u
#define BLOCK_BYTES 4096u
#define TOKENS_PER_BLOCK 16u
#define ARENA_PAGES 4u
#define NODES 1024
#define GIVE_UP_S 5

enum { FINISHED = 0, BUG = 1, REPORTED = 3, CANNOT = 77 };

struct scene {
    int node;
    enum locus_policy policy;
    struct locus_region *region;
    struct locus_pool *pool[2];
    struct locus_owner *owner[2];
    struct locus_table *table;
    struct locus_route route;
    sem_t grown, extended; // thread -> main: home 0's blocks are in; main -> thread: home 1's are, too
    sem_t retired;         // thread -> main: push it
    bool sent;             // by main before `pushed`: there is something to drain
    sem_t pushed;
    int step;
    int step_error;
    unsigned bugs;
};

#define EXPECT(scene, condition) expect(scene, condition, #condition, __LINE__)

static bool expect(struct scene *scene, bool holds, const char *what, int line)
{
    if (!holds) {
        fprintf(stderr, "fault_scenario.c:%d: %s does not hold\n", line, what);
        scene->bugs++;
    }
    return holds;
}

static void wait_for(struct scene *scene, sem_t *semaphore)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += GIVE_UP_S;
    int result;
    while ((result = sem_timedwait(semaphore, &until)) != 0 && errno == EINTR)
        ;
    EXPECT(scene, result == 0);
}

// Drains until the home has everything back.
static void drain_all(struct scene *scene, int home)
{
    struct locus_pool_stats stats;
    time_t until = time(NULL) + GIVE_UP_S;
    for (;;) {
        locus_owner_drain(scene->owner[home]);
        locus_pool_stats(scene->pool[home], &stats);
        if (stats.outstanding == 0 || !EXPECT(scene, time(NULL) <= until))
            return;
        sched_yield();
    }
}

static int grow_twice(struct scene *scene, struct locus_owner *owner)
{
    int result = locus_owner_grow(owner, scene->table, 8);
    if (!result)
        result = locus_owner_truncate(owner, scene->table, 6);
    if (!result)
        result = locus_owner_grow(owner, scene->table, 1);
    if (!result)
        memset(locus_pool_address(scene->pool[0], scene->table->blocks[0]), 0x5a, BLOCK_BYTES);
    return result;
}

// Owner 0's thread. Posts whatever it owes main even after an error: main must never wait in vain.
static int step(struct locus_owner *owner, void *context)
{
    struct scene *scene = context;
    switch (scene->step++) {
    case 0:
        scene->step_error = grow_twice(scene, owner);
        sem_post(&scene->grown);
        return 0;
    case 1:
        wait_for(scene, &scene->extended);
        if (!scene->step_error)
            scene->step_error = locus_owner_retire(owner, scene->table);
        sem_post(&scene->retired);
        return 0;
    default:
        wait_for(scene, &scene->pushed);
        if (scene->sent)
            drain_all(scene, 0);
        return 1;
    }
}

// Main's half of the exchange with the thread, as owner 1.
static int exchange(struct scene *scene)
{
    wait_for(scene, &scene->grown);
    int result = scene->step_error;
    if (!result)
        result = locus_owner_grow(scene->owner[1], scene->table, 3);
    sem_post(&scene->extended);
    wait_for(scene, &scene->retired);
    if (!result)
        result = scene->step_error;
    if (!result) {
        EXPECT(scene, scene->table->count == 10);
        EXPECT(scene, locus_block_home(locus_table_at(scene->table, 9 * TOKENS_PER_BLOCK)) == 1);
        result = locus_table_push(&scene->route, scene->table);
        scene->sent = result == 0;
    }
    sem_post(&scene->pushed);
    if (scene->sent)
        drain_all(scene, 1);
    return result;
}

static int threads(struct scene *scene)
{
    int step_result = 0;
    int result = locus_owner_adopt(scene->owner[1]);
    if (result)
        return result;
    result = locus_owner_spawn(scene->owner[0], scene->node, step, scene);
    if (!result) {
        result = exchange(scene);
        EXPECT(scene, locus_owner_join(scene->owner[0], &step_result) == 0);
        EXPECT(scene, step_result == 1);
        // The home that drained last has the table; by now nobody else holds owner 0.
        EXPECT(scene, locus_owner_adopt(scene->owner[0]) == 0);
        struct locus_table *first = locus_owner_next_reclaimed(scene->owner[0]);
        struct locus_table *second = locus_owner_next_reclaimed(scene->owner[1]);
        EXPECT(scene, !scene->sent || (first != NULL) != (second != NULL));
        EXPECT(scene, !scene->sent || (first ? first : second) == scene->table);
        locus_owner_leave(scene->owner[0]);
    }
    locus_owner_leave(scene->owner[1]);
    return result;
}

static int pools(struct scene *scene)
{
    struct locus_pool_config config = {
        .size = sizeof config,
        .home = 0,
        .blocks = BLOCKS,
        .block_bytes = BLOCK_BYTES,
        .policy = scene->policy,
        .node = scene->node,
        .populate = true,
    };
    int result = locus_pool_open(&scene->pool[0], &config);
    if (result)
        return result;
    config.home = 1;
    config.backing = LOCUS_BACKING_HEAP;
    config.reuse = LOCUS_REUSE_FIFO;
    config.policy = LOCUS_POLICY_FIRST_TOUCH;
    config.node = LOCUS_NODE_ANY;
    config.tags = config.shared = true;
    return locus_pool_open(&scene->pool[1], &config);
}

static int owners(struct scene *scene)
{
    for (int home = 0; home < 2; home++) {
        struct locus_owner_config config = {
            .size = sizeof config,
            .pool = scene->pool[home],
            .lanes = 2,
            .backpressure = home == 0,
            .wait_ns = 1000000000,
        };
        int result = locus_owner_open(&scene->owner[home], &config);
        if (!result)
            result = locus_route_add(&scene->route, scene->owner[home], 1);
        if (result)
            return result;
    }
    scene->table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(2, 16));
    if (!scene->table)
        return -ENOMEM;
    return locus_table_init(scene->table, 2, 16, TOKENS_PER_BLOCK);
}

static int share(struct scene *scene, struct locus_prefix *prefix, struct locus_reservations *reservations,
                 struct locus_table *fork)
{
    struct locus_owner *owner = scene->owner[1];
    struct locus_reservation reservation = {0};
    const struct locus_id ids[] = {{{1, 0}}, {{2, 0}}};
    const uint32_t tokens[2 * TOKENS_PER_BLOCK] = {0};
    int result = locus_reservation_admit(reservations, &reservation, 3, 4);
    if (!result)
        result = locus_reservation_grow(reservations, &reservation, scene->table, 3);
    if (!result && !EXPECT(scene, locus_prefix_publish(prefix, ids, tokens, 2, scene->table) == 2))
        result = -EIO;
    if (!result)
        result = locus_owner_fork(owner, scene->table, fork);
    if (!result)
        result = locus_owner_write(owner, fork, 2 * TOKENS_PER_BLOCK + 1, 1, 1);
    EXPECT(scene, result || fork->blocks[2] != scene->table->blocks[2]);
    EXPECT(scene, locus_owner_truncate(owner, fork, 0) == 0 && locus_owner_truncate(owner, scene->table, 0) == 0);
    if (!result)
        EXPECT(scene, locus_prefix_match(prefix, 1, ids, tokens, 2, fork) == 2 && locus_owner_truncate(owner, fork, 0) == 0);
    locus_reservation_end(reservations, &reservation);
    return result;
}

static int sharing(struct scene *scene)
{
    struct locus_prefix_config cache = {.size = sizeof cache, .owner = scene->owner[1], .tokens_per_block = TOKENS_PER_BLOCK};
    struct locus_reservations_config admission = {.size = sizeof admission, .owner = scene->owner[1]};
    struct locus_prefix *prefix = NULL;
    struct locus_reservations *reservations = NULL;
    struct locus_table *fork = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(2, 16));
    int result = fork ? locus_table_init(fork, 2, 16, TOKENS_PER_BLOCK) : -ENOMEM;
    if (!result)
        result = locus_owner_adopt(scene->owner[1]);
    if (!result) {
        result = locus_prefix_open(&prefix, &cache);
        if (!result)
            result = locus_reservations_open(&reservations, &admission);
        if (!result)
            result = share(scene, prefix, reservations, fork);
        locus_reservations_close(reservations);
        EXPECT(scene, locus_prefix_close(prefix) == 0);
        locus_owner_leave(scene->owner[1]);
    }
    free(fork);
    return result;
}

static int region(struct scene *scene)
{
    struct locus_placement placement;
    struct locus_region_config config = {
        .size = sizeof config,
        .bytes = 1 << 16,
        .policy = scene->policy,
        .node = scene->node,
        .populate = true,
    };
    int result = locus_region_open(&scene->region, &config);
    if (!result)
        result = locus_region_verify(scene->region, &placement);
    if (!result && placement.verified.verify_errno == 0)
        EXPECT(scene, placement.verified.pages_present == placement.verified.pages);
    return result;
}

// The arena's ranges: one leaves for a longer one, and two become visible together.
static int ranges(struct locus_pages *pages)
{
    struct locus_pages_request one = {.kind = LOCUS_PAGES_KV, .pages = 1, .owner = 1};
    struct locus_pages_request many = {.kind = LOCUS_PAGES_ADAPTER, .pages = ARENA_PAGES, .owner = 2};
    struct locus_pages_request both[] = {one, one};
    struct locus_magazine *magazine = NULL;
    struct locus_pages_set *set = NULL;
    locus_range range, two[2];
    int result = locus_magazine_open(&magazine, pages);
    if (!result)
        result = locus_pages_alloc(pages, magazine, &one, &range);
    if (!result) {
        locus_pages_unpin(pages, range);
        result = locus_pages_alloc(pages, NULL, &many, &range);
    }
    if (!result) {
        locus_pages_unpin(pages, range);
        result = locus_pages_set_prepare(&set, pages, both, 2, two);
    }
    if (!result) {
        locus_pages_set_commit(set);
        locus_pages_unpin(pages, two[0]);
        locus_pages_unpin(pages, two[1]);
    }
    locus_magazine_close(magazine);
    return result;
}

static int use_adapter(struct locus_adapters *adapters)
{
    static const uint16_t weights[2048] = {0x3c00, 0x4000}; // 1 and 2
    struct locus_adapter_hold hold;
    int result = locus_adapters_load(adapters, 1, 3, weights, sizeof weights);
    if (result)
        return result;
    for (uint64_t now_ns = 2; (result = locus_adapters_acquire(adapters, now_ns, 3, &hold)) == -EAGAIN && now_ns < 1000; now_ns++)
        locus_adapters_poll(adapters, now_ns, 0);
    if (!result)
        locus_adapters_release(adapters, 1000, &hold);
    return result;
}

static int waiting(struct scene *scene)
{
    struct locus_pages_config arena = {.size = sizeof arena,
                                       .page_bytes = 512 << 10,
                                       .pages = ARENA_PAGES,
                                       .page = LOCUS_PAGE_4K,
                                       .policy = scene->policy,
                                       .node = scene->node};
    struct locus_tier_far_config memory = {.size = sizeof memory, .bytes = 1 << 18, .unit_bytes = 4096, .node = LOCUS_NODE_ANY};
    struct locus_adapters_config config = {.size = sizeof config, .policy_config = {.adapters = 8}};
    struct locus_adapters *adapters = NULL;
    int result = locus_pages_open(&config.pages, &arena);
    if (!result)
        result = ranges(config.pages);
    if (!result)
        result = locus_tier_far_open(&config.cold, &memory);
    if (!result)
        result = locus_tier_int8_open(&config.warm, &memory);
    if (!result)
        result = locus_adapters_open(&adapters, &config);
    if (!result)
        result = use_adapter(adapters);
    EXPECT(scene, locus_adapters_close(adapters) == 0);
    locus_tier_close(config.warm);
    locus_tier_close(config.cold);
    EXPECT(scene, locus_pages_close(config.pages) == 0);
    return result;
}

// Allocated and freed must be equal when the walk ends well, and also where it broke off.
static void close_pool(struct scene *scene, int home)
{
    struct locus_pool_stats stats;
    if (!scene->pool[home])
        return;
    locus_pool_stats(scene->pool[home], &stats);
    EXPECT(scene, stats.allocated == stats.freed && stats.outstanding == 0 && stats.blocks_free == BLOCKS);
    for (int error = 0; error < LOCUS_FREE_ERRORS_COUNT; error++)
        EXPECT(scene, stats.refused[error] == 0);
    locus_pool_close(scene->pool[home]);
}

static int walk(struct scene *scene)
{
    int result = region(scene);
    if (!result)
        result = pools(scene);
    if (!result)
        result = owners(scene);
    if (!result)
        result = sharing(scene);
    if (!result)
        result = threads(scene);
    if (!result)
        result = waiting(scene);
    locus_owner_close(scene->owner[0]);
    locus_owner_close(scene->owner[1]);
    close_pool(scene, 0);
    close_pool(scene, 1);
    locus_region_close(scene->region);
    free(scene->table);
    return result;
}

static int prepare(struct scene *scene, int node, enum locus_policy policy)
{
    *scene = (struct scene){.node = node, .policy = policy};
    return sem_init(&scene->grown, 0, 0) || sem_init(&scene->extended, 0, 0) || sem_init(&scene->retired, 0, 0) ||
           sem_init(&scene->pushed, 0, 0);
}

struct injector {
    void (*arm)(void), (*disarm)(void);
    int (*was_hit)(void);
    long (*live_blocks)(void), (*live_bytes)(void);
};

static bool find_injector(struct injector *injector)
{
    *injector = (struct injector){
        .arm = (void (*)(void))dlsym(RTLD_DEFAULT, "fault_arm"),
        .disarm = (void (*)(void))dlsym(RTLD_DEFAULT, "fault_disarm"),
        .was_hit = (int (*)(void))dlsym(RTLD_DEFAULT, "fault_was_hit"),
        .live_blocks = (long (*)(void))dlsym(RTLD_DEFAULT, "fault_live_blocks"),
        .live_bytes = (long (*)(void))dlsym(RTLD_DEFAULT, "fault_live_bytes"),
    };
    return injector->arm && injector->disarm && injector->was_hit && injector->live_blocks && injector->live_bytes;
}

static int judge(struct scene *scene, const struct injector *injector, int result)
{
    bool hit = injector->was_hit();
    EXPECT(scene, injector->live_blocks() == 0);
    EXPECT(scene, injector->live_bytes() == 0);
    if (hit)
        EXPECT(scene, result == -ENOMEM || result == -EAGAIN); // what is injected; 0 would be a fault that nobody noticed
    else
        EXPECT(scene, result == 0);
    if (scene->bugs) {
        fprintf(stderr, "fault_scenario: fault %s, result %s\n", hit ? "hit" : "not reached", strerror(-result));
        return BUG;
    }
    return hit ? REPORTED : FINISHED;
}

int main(void)
{
    struct scene scene;
    struct injector injector;
    const char *fault = getenv("LOCUS_FAULT");
    int node = 0;
    while (node < NODES && !locus_node_allowed(node))
        node++;
    enum locus_policy policy = LOCUS_POLICY_BIND;
    if (prepare(&scene, node, policy))
        return BUG;
    int result = walk(&scene);
    if ((result == -EPERM || result == -ENOSYS) && !scene.bugs) { // no mbind in this container or kernel: walk without it
        if (fault && strncmp(fault, "mbind:", 6) == 0)
            return CANNOT;
        policy = LOCUS_POLICY_FIRST_TOUCH;
        if (prepare(&scene, node, policy))
            return BUG;
        result = walk(&scene);
    }
    if (!EXPECT(&scene, result == 0) || scene.bugs)
        return BUG;
    if (!find_injector(&injector))
        return FINISHED;
    if (prepare(&scene, node, policy))
        return BUG;
    injector.arm();
    result = walk(&scene);
    injector.disarm();
    return judge(&scene, &injector, result);
}
