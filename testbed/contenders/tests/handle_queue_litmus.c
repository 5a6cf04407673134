// SPDX-License-Identifier: Apache-2.0
//
// Q1/Q2 and Q3/Q4 (contenders/handle_queue.h): the owner takes from a cell only what a sender has written, and a sender
// overwrites a cell only after the owner has read it. The plain data that both pairs order is the handle in the cell. Two
// senders, so that a cell's next handle may be another's.
#include "placement/base/tests/litmus.h"
#include "testbed/contenders/handle_queue.h"

#define SENDERS 2u
#define HANDLES (TB_HANDLE_QUEUE_CAPACITY / SENDERS + 8u) // of each sender: a few more than there are cells

static struct tb_handle_queue *queue;
static _Atomic unsigned arrived;

static void *sender_main(void *argument)
{
    uint64_t number = (uintptr_t)argument;
    litmus_start(&arrived, SENDERS + 1);
    for (uint64_t i = 0; i < HANDLES; i++)
        for (unsigned spin = 1; !tb_handle_queue_send(queue, number << 32 | i); spin++)
            litmus_pause(spin);
    return NULL;
}

static void run_once(void)
{
    uint64_t next[SENDERS] = {0};
    pthread_t senders[SENDERS];
    locus_block block;
    atomic_store_explicit(&arrived, 0, memory_order_relaxed);
    litmus_expect(tb_handle_queue_open(&queue) == 0, "a queue opens");
    for (uintptr_t s = 0; s < SENDERS; s++)
        senders[s] = litmus_thread(sender_main, (void *)s);
    litmus_start(&arrived, SENDERS + 1);
    for (unsigned i = 0; i < SENDERS * HANDLES; i++) {
        for (unsigned spin = 1; !tb_handle_queue_receive(queue, &block); spin++)
            litmus_pause(spin);
        litmus_expect(block >> 32 < SENDERS && (uint32_t)block == next[block >> 32]++, "each handle once, in its sender's order");
    }
    for (uint32_t s = 0; s < SENDERS; s++)
        pthread_join(senders[s], NULL);
    free(queue);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    for (unsigned run = 1; run <= runs; run++)
        run_once();
    printf("%u runs\n", runs);
    return 0;
}
