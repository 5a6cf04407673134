// SPDX-License-Identifier: Apache-2.0
//
// reservation_stress SECONDS SEED: three schedulers admit from threads of their own, one owner takes the blocks.
//
// A scheduler admits a request and hands it to the owner, who grows its table block by block to all that it was reserved, and ends
// it. No reservation may be broken: a grow within a reservation never fails, whatever the schedulers do meanwhile. Two schedulers
// that pass on the same blocks, or one that passes on blocks that the owner is just taking, show as such a failure. The owner now
// and then grows beyond a reservation, which may be refused.
#include <errno.h>
#include <sched.h>

#include "locus/reservation.h"
#include "placement/blocks/tests/stress_queue.h"

#define SCHEDULERS 3u
#define BLOCKS 24u
#define CAPACITY 16u
#define REQUESTS 8u // of each scheduler

struct request {
    struct locus_reservation reservation;
    struct locus_table *table;
    uint32_t most;
    _Atomic uint32_t with_owner;
};

struct shared {
    struct locus_reservations *reservations;
    _Atomic uint32_t stop;
    struct stress stress;
};

struct scheduler {
    struct shared *shared;
    struct request request[REQUESTS];
    pthread_t thread;
    uint64_t random, admitted, refused;
};

static void *scheduler_main(void *argument)
{
    struct scheduler *self = argument;
    for (uint32_t i = 0; !atomic_load(&self->shared->stop); i = (i + 1) % REQUESTS) {
        struct request *request = &self->request[i];
        if (atomic_load_explicit(&request->with_owner, memory_order_acquire)) {
            sched_yield();
            continue;
        }
        request->most = 1 + stress_random(&self->random, CAPACITY);
        int error = locus_reservation_admit(self->shared->reservations, &request->reservation, 1, request->most);
        STRESS_EXPECT(error == 0 || error == -EAGAIN);
        self->refused += error != 0;
        self->admitted += error == 0;
        if (!error)
            atomic_store_explicit(&request->with_owner, 1, memory_order_release);
    }
    return NULL;
}

// In owner context nothing comes home meanwhile, so at no moment may more be reserved than is free.
static void nothing_promised_twice(const struct shared *shared, const struct locus_pool *pool)
{
    struct locus_reservations_stats stats;
    struct locus_pool_stats free_now;
    locus_reservations_stats(shared->reservations, &stats);
    locus_pool_stats(pool, &free_now);
    STRESS_EXPECT(stats.reserved <= free_now.blocks_free);
}

// One step of one request: a block more, or its end.
static void serve(struct shared *shared, struct locus_owner *owner, struct request *request, uint64_t *random)
{
    struct locus_table *table = request->table;
    if (!atomic_load_explicit(&request->with_owner, memory_order_acquire))
        return;
    if (table->count < request->most && stress_random(random, 8)) {
        STRESS_EXPECT(locus_reservation_grow(shared->reservations, &request->reservation, table, 1) == 0); // reserved
        return;
    }
    if (table->count == request->most && table->count < CAPACITY) {
        int error = locus_reservation_grow(shared->reservations, &request->reservation, table, 1); // beyond
        STRESS_EXPECT(error == 0 || error == -EAGAIN);
    }
    locus_reservation_end(shared->reservations, &request->reservation);
    STRESS_EXPECT(locus_owner_truncate(owner, table, 0) == 0);
    atomic_store_explicit(&request->with_owner, 0, memory_order_release);
}

int main(int argc, char **argv)
{
    static struct scheduler scheduler[SCHEDULERS];
    struct shared shared = {.stress = stress_begin(argc, argv)};
    struct locus_pool_config pool_config = {.size = sizeof pool_config,
                                            .blocks = BLOCKS,
                                            .block_bytes = 64,
                                            .node = LOCUS_NODE_ANY};
    struct locus_pool *pool;
    struct locus_owner *owner;
    STRESS_EXPECT(locus_pool_open(&pool, &pool_config) == 0);
    struct locus_owner_config owner_config = {.size = sizeof owner_config, .pool = pool, .lanes = 1};
    STRESS_EXPECT(locus_owner_open(&owner, &owner_config) == 0 && locus_owner_adopt(owner) == 0);
    struct locus_reservations_config config = {.size = sizeof config, .owner = owner, .admission = LOCUS_ADMIT_FULL};
    STRESS_EXPECT(locus_reservations_open(&shared.reservations, &config) == 0);
    for (unsigned s = 0; s < SCHEDULERS; s++) {
        scheduler[s].shared = &shared;
        scheduler[s].random = stress_fork(shared.stress.seed, s + 1);
        for (unsigned i = 0; i < REQUESTS; i++)
            scheduler[s].request[i].table = stress_table(1, CAPACITY);
        STRESS_EXPECT(pthread_create(&scheduler[s].thread, NULL, scheduler_main, &scheduler[s]) == 0);
    }
    uint64_t random = stress_fork(shared.stress.seed, 0), admitted = 0, refused = 0;
    while (stress_now_s() < shared.stress.end_s)
        for (unsigned i = 0; i < 1000; i++) {
            struct scheduler *of = &scheduler[stress_random(&random, SCHEDULERS)];
            serve(&shared, owner, &of->request[stress_random(&random, REQUESTS)], &random);
            nothing_promised_twice(&shared, pool);
        }
    atomic_store(&shared.stop, 1);
    for (unsigned s = 0; s < SCHEDULERS; s++) {
        pthread_join(scheduler[s].thread, NULL);
        admitted += scheduler[s].admitted;
        refused += scheduler[s].refused;
        for (unsigned i = 0; i < REQUESTS; i++) {
            locus_reservation_end(shared.reservations, &scheduler[s].request[i].reservation);
            STRESS_EXPECT(locus_owner_truncate(owner, scheduler[s].request[i].table, 0) == 0);
            free(scheduler[s].request[i].table);
        }
    }
    struct locus_reservations_stats stats;
    locus_reservations_stats(shared.reservations, &stats);
    printf("%llu admitted, %llu refused\n", (unsigned long long)admitted, (unsigned long long)refused);
    STRESS_EXPECT(stats.reserved == 0 && stats.available == BLOCKS && admitted > 0 && refused > 0);
    stress_expect_idle(pool);
    locus_reservations_close(shared.reservations);
    locus_owner_leave(owner);
    locus_owner_close(owner);
    locus_pool_close(pool);
    return 0;
}
