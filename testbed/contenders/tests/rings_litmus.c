// SPDX-License-Identifier: Apache-2.0
//
// H1/H2 and H3/H4 (contenders/rings.h): the owner sees a word that has arrived, and a sender overwrites a place only after the
// owner has read it. The plain data that both pairs order are the words; odd runs also read what a word refers to, as the owner
// does with a request that came home whole.
#include "placement/base/tests/litmus.h"
#include "testbed/contenders/rings.h"

#define WORDS 7u // more than once round a ring of two

static struct tb_ring *ring;
static unsigned requests[WORDS]; // what a word stands for
static _Atomic unsigned arrived;

static void send(uint64_t word)
{
    for (unsigned spin = 1; !tb_ring_send(ring, word); spin++)
        litmus_pause(spin);
}

static void *sender_main(void *argument)
{
    const unsigned *run = argument;
    litmus_start(&arrived, 2);
    for (unsigned i = 0; i < WORDS; i++) {
        if (*run % 2)
            requests[i] = *run;
        send(i);
    }
    return NULL;
}

static unsigned receive(void)
{
    for (unsigned spin = 1; tb_ring_arrived(ring) == 0; spin++)
        litmus_pause(spin);
    unsigned word = (unsigned)tb_ring_word(ring, 0);
    tb_ring_took(ring, 1);
    return word;
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    for (unsigned run = 1; run <= runs; run++) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        litmus_expect(tb_ring_open(&ring, 2) == 0, "a ring opens");
        pthread_t sender = litmus_thread(sender_main, &run);
        litmus_start(&arrived, 2);
        for (unsigned i = 0; i < WORDS; i++) {
            unsigned word = receive();
            litmus_expect(word == i, "words arrive in the order in which they were sent, each once");
            litmus_expect(run % 2 == 0 || requests[word] == run, "a request is as its worker left it");
        }
        pthread_join(sender, NULL);
        free(ring);
    }
    printf("%u runs\n", runs);
    return 0;
}
