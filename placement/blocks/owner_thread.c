// SPDX-License-Identifier: Apache-2.0
//
// owner_thread: the thread that the library spawns for an owner: it is pinned, takes the role, calls the engine's step function,
// and leaves the role.
//
//   S1 (release)   spawn or join has finished with the thread's fields, partner S2 (acquire) of the next call that takes them.

#include "owner_internal.h"
#include "topo/pin.h"

#include <errno.h>

bool owner_has_thread(const struct locus_owner *owner)
{
    return atomic_load_explicit(&owner->thread_state, memory_order_relaxed) != THREAD_NONE;
}

// Runs however the thread ends. The step function may have left the role itself.
static void spawned_end(void *argument)
{
    if (holds_role(argument))
        locus_owner_leave(argument);
}

static void *spawned_main(void *argument)
{
    struct locus_owner *owner = argument;
    int error = owner->node == LOCUS_NODE_ANY ? 0 : locus_pin_node(owner->node);
    if (!error)
        error = locus_owner_adopt(owner);
    owner->start_error = error;
    sem_post(&owner->started);
    if (error)
        return NULL;
    pthread_cleanup_push(spawned_end, owner);
    do {
        owner->step_result = owner->step(owner, owner->step_context);
    } while (owner->step_result == 0);
    owner->step_returned = true;
    pthread_cleanup_pop(1);
    return NULL;
}

static bool thread_take(struct locus_owner *owner, int from, int to)
{
    return atomic_compare_exchange_strong_explicit(&owner->thread_state, &from, to, memory_order_acquire, // S2
                                                   memory_order_relaxed);
}

static void thread_give(struct locus_owner *owner, int state)
{
    atomic_store_explicit(&owner->thread_state, state, memory_order_release); // S1
}

// Cancellation is off here: nobody else could finish what the caller has begun.
static int thread_start(struct locus_owner *owner)
{
    int error = pthread_create(&owner->thread, NULL, spawned_main, owner), cancel;
    if (error)
        return -error;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    while (sem_wait(&owner->started) && errno == EINTR)
        ;
    if (owner->start_error)
        pthread_join(owner->thread, NULL);
    pthread_setcancelstate(cancel, NULL);
    return owner->start_error;
}

int locus_owner_spawn(struct locus_owner *owner, int node, locus_owner_step_fn *step, void *context)
{
    if (!thread_take(owner, THREAD_NONE, THREAD_STARTING))
        return -EBUSY;
    owner->node = node;
    owner->step = step;
    owner->step_context = context;
    owner->step_returned = false;
    int error = thread_start(owner);
    thread_give(owner, error ? THREAD_NONE : THREAD_RUNNING);
    return error;
}

// The waiting thread may be cancelled; then the spawned thread can be joined again.
static void join_cancelled(void *owner)
{
    thread_give(owner, THREAD_RUNNING);
}

int locus_owner_join(struct locus_owner *owner, int *result)
{
    int error;
    if (!thread_take(owner, THREAD_RUNNING, THREAD_JOINING))
        return -EINVAL;
    pthread_cleanup_push(join_cancelled, owner);
    error = -pthread_join(owner->thread, NULL);
    pthread_cleanup_pop(0);
    if (!error && !owner->step_returned)
        error = -ECANCELED;
    else if (!error)
        *result = owner->step_result;
    thread_give(owner, error && error != -ECANCELED ? THREAD_RUNNING : THREAD_NONE);
    return error;
}
