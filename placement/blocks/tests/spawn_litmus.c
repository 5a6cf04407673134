// SPDX-License-Identifier: Apache-2.0
//
// S1/S2: spawn and join from any thread. Two threads spawn the same owner at once, and one of them gets a thread; then both try
// to join it, and one succeeds. Only the state word tells the joining thread about a thread that the other one may have spawned.
#include "locus/owner.h"
#include "placement/base/tests/litmus.h"

#include <errno.h>

#define RESULT 7

static struct locus_owner *owner;
static _Atomic unsigned arrived, tried, spawned, joined;

static int step(struct locus_owner *self, void *context)
{
    (void)self;
    return *(int *)context;
}

static void spawn(void)
{
    static int result = RESULT;
    int error = locus_owner_spawn(owner, LOCUS_NODE_ANY, step, &result);
    litmus_expect(error == 0 || error == -EBUSY, "a spawn is done or refused");
    if (error == 0)
        atomic_fetch_add_explicit(&spawned, 1, memory_order_relaxed);
    litmus_start(&tried, 2); // or the second would follow the join
}

static void join(void)
{
    int result = 0, error = -EINVAL;
    for (unsigned spin = 1; atomic_load_explicit(&joined, memory_order_relaxed) == 0; spin++) {
        error = locus_owner_join(owner, &result);
        if (error == 0)
            break;
        litmus_expect(error == -EINVAL, "a join is done or refused");
        litmus_pause(spin);
    }
    if (error)
        return;
    atomic_fetch_add_explicit(&joined, 1, memory_order_relaxed);
    litmus_expect(result == RESULT, "the step's result is handed out");
}

static void *other_main(void *argument)
{
    (void)argument;
    litmus_start(&arrived, 2);
    spawn();
    join();
    return NULL;
}

// The other thread is joined only after the next spawn, which may follow its join: there is no other edge between the two.
static void run_once(void)
{
    atomic_store_explicit(&arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&tried, 0, memory_order_relaxed);
    atomic_store_explicit(&spawned, 0, memory_order_relaxed);
    atomic_store_explicit(&joined, 0, memory_order_relaxed);
    pthread_t other = litmus_thread(other_main, NULL);
    litmus_start(&arrived, 2);
    spawn();
    join();
    while (atomic_load_explicit(&joined, memory_order_relaxed) == 0)
        sched_yield();
    litmus_expect(atomic_load_explicit(&spawned, memory_order_relaxed) == 1, "one spawn of two");
    static int again = RESULT;
    int result, error;
    for (unsigned spin = 1; (error = locus_owner_spawn(owner, LOCUS_NODE_ANY, step, &again)) == -EBUSY; spin++)
        litmus_pause(spin); // the other one may not have given the state back yet
    litmus_expect(error == 0 && locus_owner_join(owner, &result) == 0 && result == RESULT, "and the next");
    pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    struct locus_pool *pool;
    struct locus_pool_config pool_config = {.size = sizeof pool_config, .blocks = 4, .block_bytes = 64, .node = LOCUS_NODE_ANY};
    litmus_expect(locus_pool_open(&pool, &pool_config) == 0, "a pool opens");
    struct locus_owner_config config = {.size = sizeof config, .pool = pool, .lanes = 1};
    litmus_expect(locus_owner_open(&owner, &config) == 0, "an owner opens");
    for (unsigned run = 0; run < runs; run++)
        run_once();
    litmus_expect(locus_owner_close(owner) == 0, "no thread is left");
    locus_pool_close(pool);
    printf("%u runs\n", runs);
    return 0;
}
