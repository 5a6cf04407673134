// SPDX-License-Identifier: Apache-2.0
//
// bell: a counter that one thread advances and others wait for, spinning while the wait is short and sleeping when it is long.
//
// The two threads of a sum meet every half millisecond, eight times or fifty for each token, so a system call at each meeting
// would cost more than the sum. But a model of gigabytes, or a prompt, or an engine with nothing to do keeps a thread waiting for
// longer than a CPU should be burnt. So a waiter polls for LG_SPIN_NS and then sleeps on the counter by futex(2).
//
// Whether somebody sleeps is the counter's lowest bit; the count is in the others. The ringer advances and learns about sleepers
// by one and the same atomic addition, and a sleeper sets the bit by a compare-and-swap that fails if the count has moved. So
// neither can miss the other, and a ring that finds nobody asleep makes no system call.
//
//                 ring        wait
//     ring         X           -        "-"  may run at the same time
//     wait         -           -        "X"  one ringer at a time
//
// B1 (release), partner B2 (acquire): a waiter that sees the count sees all that the ringer wrote before.
#ifndef LG_BELL_H
#define LG_BELL_H

#include <stdbool.h>
#include <stdint.h>

#define LG_SPIN_NS 200000u // above the time between two exchanges of a token, far below what a person notices

struct lg_bell { // {0}: nothing counted
    uint32_t word __attribute__((aligned(64))); // atomic: only the functions below touch it
};

// Counts one more, and wakes whoever sleeps.
void lg_bell_ring(struct lg_bell *bell);

// Waits until the count has reached `count`. `alive` is asked after each second of sleep; NULL: sleep for as long as it takes.
// Counts wrap: `count` must be at most 2^30 ahead. 0, or -EOWNERDEAD: alive() said no.
int lg_bell_wait(struct lg_bell *bell, uint32_t count, bool (*alive)(void *context), void *context);

// Has the count been reached? Acquires as wait does.
bool lg_bell_reached(const struct lg_bell *bell, uint32_t count);

#endif
