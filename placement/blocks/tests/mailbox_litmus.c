// SPDX-License-Identifier: Apache-2.0
//
// P1/T1: the taker sees what a pusher wrote before the push. There are two pushers, so that a take also finds links below another
// thread's, and has to acquire them through the head's release sequence.
#include "locus/lane.h"
#include "placement/base/tests/litmus.h"

#define PUSHERS 2u
#define LETTERS 4u // of each pusher

struct letter {
    struct locus_link link; // first: a taken link is its letter
    unsigned text;          // the plain data that the pair orders
};

static struct locus_mailbox mailbox;
static struct letter letters[PUSHERS][LETTERS];
static _Atomic unsigned arrived;

static void *pusher_main(void *argument)
{
    struct letter *mine = argument;
    litmus_start(&arrived, PUSHERS + 1);
    for (unsigned i = 0; i < LETTERS; i++) {
        mine[i].text = i + 1;
        locus_mailbox_push(&mailbox, &mine[i].link);
    }
    return NULL;
}

static void take_all(void)
{
    unsigned last[PUSHERS] = {0};
    unsigned taken = 0;
    for (unsigned spin = 1; taken < PUSHERS * LETTERS; spin++) {
        for (struct locus_link *link = locus_mailbox_take(&mailbox); link; link = link->next) {
            struct letter *letter = (struct letter *)link;
            unsigned pusher = letter >= letters[1];
            litmus_expect(letter->text == last[pusher] + 1, "one pusher's letters arrive whole and in order");
            last[pusher] = letter->text;
            taken++;
        }
        litmus_pause(spin);
    }
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    locus_mailbox_init(&mailbox);
    for (unsigned run = 0; run < runs; run++) {
        pthread_t threads[PUSHERS];
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        for (unsigned i = 0; i < PUSHERS; i++)
            threads[i] = litmus_thread(pusher_main, letters[i]);
        litmus_start(&arrived, PUSHERS + 1);
        take_all();
        for (unsigned i = 0; i < PUSHERS; i++)
            pthread_join(threads[i], NULL);
    }
    printf("%u runs\n", runs);
    return 0;
}
