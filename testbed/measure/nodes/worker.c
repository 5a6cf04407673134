// SPDX-License-Identifier: Apache-2.0
//
// worker (many nodes): finishes requests of its own station and of others. See station.h.

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "locus/lane.h"
#include "testbed/measure/nodes/station.h"
#include "topo/pin.h"

bool tb_node_worker_serve(struct tb_node_worker *worker)
{
    struct tb_nodes_run *run = worker->station->run;
    struct locus_link *link = locus_mailbox_take(&worker->inbox), *next;
    bool any = link != NULL;
    for (; link; link = next) {
        struct tb_parcel *parcel = (struct tb_parcel *)link;
        struct tb_station *from = parcel->from;
        next = link->next; // read first: after the request the parcel is the sender's again
        if (run->counting)
            tb_books_finishing(&worker->books, worker->station->number, parcel->table);
        run->ops->finish(run->context, worker->lane, worker->station->number, parcel->table);
        atomic_fetch_add_explicit(&from->finished, 1, memory_order_release); // F1
    }
    return any;
}

void tb_node_worker_send(struct tb_node_worker *worker, struct tb_parcel *parcel, bool may_sleep)
{
    locus_mailbox_push(&worker->inbox, &parcel->link);
    if (may_sleep && atomic_exchange_explicit(&worker->asleep, 0, memory_order_acq_rel))
        syscall(SYS_futex, &worker->asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void sleep_until_sent(struct tb_node_worker *worker)
{
    atomic_exchange_explicit(&worker->asleep, 1, memory_order_acq_rel);
    if (locus_mailbox_empty(&worker->inbox) && !atomic_load_explicit(&worker->stop, memory_order_relaxed))
        syscall(SYS_futex, &worker->asleep, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    atomic_exchange_explicit(&worker->asleep, 0, memory_order_acq_rel);
}

static void *worker_main(void *argument)
{
    struct tb_node_worker *worker = argument;
    worker->error = worker->cpu >= 0 ? locus_pin_cpu(worker->cpu) : locus_pin_node(worker->station->node);
    for (;;) {
        if (tb_node_worker_serve(worker))
            continue;
        if (atomic_load_explicit(&worker->stop, memory_order_relaxed))
            return NULL;
        if (worker->station->run->job->dispatch == TB_DISPATCH_FUTEX)
            sleep_until_sent(worker);
        else if (worker->cpu < 0)
            sched_yield(); // the scheduler may be on the same CPU
        else
            locus_cpu_relax();
    }
}

int tb_node_worker_start(struct tb_node_worker *worker)
{
    int error = pthread_create(&worker->thread, NULL, worker_main, worker);
    worker->running = error == 0;
    return -error;
}

void tb_node_worker_stop(struct tb_node_worker *worker)
{
    if (!worker->running)
        return;
    atomic_store_explicit(&worker->stop, true, memory_order_relaxed);
    if (atomic_exchange_explicit(&worker->asleep, 0, memory_order_acq_rel))
        syscall(SYS_futex, &worker->asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(worker->thread, NULL);
    worker->running = false;
}
