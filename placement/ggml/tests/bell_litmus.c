// SPDX-License-Identifier: Apache-2.0
//
// B1/B2: whoever sees the count sees what the ringer wrote before it. Each message has a place of its own, so the bell is the only
// edge. B2 stands in two places: odd runs find the count while they poll, even runs sleep until it has come.
#include "placement/base/tests/litmus.h"
#include "placement/ggml/bell.h"

#include <time.h>

#define MESSAGES 3u
#define LONGER_THAN_A_SPIN_NS (3 * LG_SPIN_NS)

struct letters {
    struct lg_bell bell;
    _Atomic unsigned arrived;
    bool slow;
    unsigned text[MESSAGES];
};

static void *write_letters(void *context)
{
    struct letters *letters = context;
    litmus_start(&letters->arrived, 2);
    for (unsigned i = 0; i < MESSAGES; i++) {
        if (letters->slow)
            nanosleep(&(struct timespec){.tv_nsec = LONGER_THAN_A_SPIN_NS}, NULL);
        letters->text[i] = i + 1;
        lg_bell_ring(&letters->bell);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    for (unsigned run = 1; run <= runs; run++) {
        struct letters letters = {.slow = run % 2 == 0};
        pthread_t writer = litmus_thread(write_letters, &letters);
        litmus_start(&letters.arrived, 2);
        for (unsigned i = 0; i < MESSAGES; i++) {
            litmus_expect(lg_bell_wait(&letters.bell, i + 1, NULL, NULL) == 0, "the count is reached");
            litmus_expect(letters.text[i] == i + 1, "the message is whole");
        }
        pthread_join(writer, NULL);
    }
    printf("%u runs\n", runs);
    return 0;
}
