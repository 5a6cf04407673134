// SPDX-License-Identifier: Apache-2.0
//
// How the stress programs hand tables from thread to thread. Simple rather than fast: the library is under stress, not its test.
#ifndef LOCUS_TESTS_STRESS_QUEUE_H
#define LOCUS_TESTS_STRESS_QUEUE_H

#include <pthread.h>

#include "placement/blocks/tests/stress.h"

// A bounded queue of pointers or handles under a mutex.
#define STRESS_QUEUE 256u
struct stress_queue {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    uint64_t items[STRESS_QUEUE];
    unsigned first, count;
};

static inline void stress_queue_init(struct stress_queue *queue)
{
    *queue = (struct stress_queue){.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};
}

// The users never have more under way than fits.
static inline void stress_queue_put(struct stress_queue *queue, uint64_t item)
{
    pthread_mutex_lock(&queue->mutex);
    STRESS_EXPECT(queue->count < STRESS_QUEUE);
    queue->items[(queue->first + queue->count++) % STRESS_QUEUE] = item;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->mutex);
}

static inline bool stress_queue_try_get(struct stress_queue *queue, uint64_t *item)
{
    pthread_mutex_lock(&queue->mutex);
    bool got = queue->count > 0;
    if (got) {
        *item = queue->items[queue->first];
        queue->first = (queue->first + 1) % STRESS_QUEUE;
        queue->count--;
    }
    pthread_mutex_unlock(&queue->mutex);
    return got;
}

static inline uint64_t stress_queue_get(struct stress_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == 0)
        pthread_cond_wait(&queue->filled, &queue->mutex);
    uint64_t item = queue->items[queue->first];
    queue->first = (queue->first + 1) % STRESS_QUEUE;
    queue->count--;
    pthread_mutex_unlock(&queue->mutex);
    return item;
}

static inline unsigned stress_queue_count(struct stress_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    unsigned count = queue->count;
    pthread_mutex_unlock(&queue->mutex);
    return count;
}

#endif
