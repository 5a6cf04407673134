// SPDX-License-Identifier: Apache-2.0
//
// dispatch: the workers and where they run. The ring is described in dispatch.h.

#include "testbed/measure/dispatch.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "locus/lane.h"
#include "topo/pin.h"

#define CPUS_MAX 4096u

static bool message_ready(const struct tb_worker *worker, uint64_t turn, memory_order order, uintptr_t *message)
{
    *message = atomic_load_explicit(&worker->ring[turn % TB_RING_SLOTS], order);
    return *message && (*message & 1) == (~(turn / TB_RING_SLOTS) & 1);
}

static void sleep_until_sent(struct tb_worker *worker, uint64_t turn)
{
    uintptr_t message;
    atomic_exchange_explicit(&worker->asleep, 1, memory_order_seq_cst); // S2
    if (!message_ready(worker, turn, memory_order_seq_cst, &message)) // S2
        syscall(SYS_futex, &worker->asleep, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    atomic_store_explicit(&worker->asleep, 0, memory_order_relaxed); // from here on only a hint to the owner
}

void tb_worker_wake(struct tb_worker *worker)
{
    atomic_store_explicit(&worker->asleep, 0, memory_order_seq_cst);
    syscall(SYS_futex, &worker->asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static struct locus_table stop_table; // its address is the message that ends a worker

static void *worker_main(void *argument)
{
    struct tb_worker *worker = argument;
    if (worker->cpu >= 0)
        locus_pin_cpu(worker->cpu);
    for (uint64_t turn = 0;; turn++) {
        uintptr_t message;
        while (!message_ready(worker, turn, memory_order_acquire, &message)) { // R2
            if (worker->dispatch == TB_DISPATCH_FUTEX)
                sleep_until_sent(worker, turn);
            else
                locus_cpu_relax();
        }
        struct locus_table *table = (struct locus_table *)(message & ~(uintptr_t)1);
        if (table == &stop_table)
            return NULL;
        worker->finish(worker->context, worker->number, table);
        atomic_store_explicit(&worker->done, turn + 1, memory_order_release); // W1
    }
}

// With too few CPUs, workers share all but the owner's. Threads inherit their creator's mask, so the owner takes that mask for a
// moment.
static void share_other_cpus(const unsigned cpus[], unsigned count)
{
    cpu_set_t others;
    CPU_ZERO(&others);
    for (unsigned i = 1; i < count; i++)
        CPU_SET(cpus[i], &others);
    if (count > 1)
        sched_setaffinity(0, sizeof others, &others);
}

static int worker_start(struct tb_worker *worker, uint32_t number, const struct tb_worker *like)
{
    *worker = *like;
    worker->number = number;
    int error = pthread_create(&worker->thread, NULL, worker_main, worker);
    return -error;
}

int tb_crew_start(struct tb_crew *crew, uint32_t count, enum tb_dispatch dispatch,
                  void (*finish)(void *, uint32_t, struct locus_table *), void *context)
{
    static unsigned cpus[CPUS_MAX];
    unsigned cpus_count = 0;
    *crew = (struct tb_crew){0};
    int error = locus_pin_allowed(cpus, CPUS_MAX, &cpus_count);
    if (cpus_count > CPUS_MAX)
        cpus_count = CPUS_MAX;
    if (error || cpus_count == 0)
        return error ? error : -ENODEV;
    if (dispatch == TB_DISPATCH_INLINE)
        count = 0;
    crew->pinned = count < cpus_count;
    crew->workers = count ? aligned_alloc(LOCUS_CACHE_LINE, count * sizeof *crew->workers) : NULL;
    if (count && !crew->workers)
        return -ENOMEM;
    if (!crew->pinned)
        share_other_cpus(cpus, cpus_count);
    for (; crew->count < count && !error; crew->count += !error) {
        struct tb_worker like = {.dispatch = dispatch, .cpu = -1, .finish = finish, .context = context};
        like.cpu = crew->pinned ? (int)cpus[crew->count + 1] : -1;
        error = worker_start(&crew->workers[crew->count], crew->count, &like);
    }
    if (!error)
        error = locus_pin_cpu((int)cpus[0]);
    if (error)
        tb_crew_stop(crew);
    return error;
}

void tb_crew_assign(struct tb_crew *crew, void (*finish)(void *, uint32_t, struct locus_table *), void *context)
{
    for (uint32_t i = 0; i < crew->count; i++) {
        crew->workers[i].finish = finish;
        crew->workers[i].context = context;
    }
}

void tb_crew_stop(struct tb_crew *crew)
{
    for (uint32_t i = 0; i < crew->count; i++) {
        tb_worker_send(&crew->workers[i], &stop_table);
        pthread_join(crew->workers[i].thread, NULL);
    }
    free(crew->workers);
    *crew = (struct tb_crew){0};
}
