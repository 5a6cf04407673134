// SPDX-License-Identifier: Apache-2.0
//
// batcher: who goes into the next batch, as a small table of functions. To add one, add one file to this folder, and its table to
// the list in batcher.c.
//
// Requests with adapters wait; a batch takes at most so many of them, of any adapters. All batchers here take as many as wait or
// fit, so they are equally fast: at the end of each batch the same number waits. They differ in who waits, and in how many
// different adapters a batch has, whose weights it must read.
//
// The contract (batches.h checks it): form() gives min(slots, waiting) requests, each once, and those of one adapter in their order
// of arrival.
//
// What a request waits at most, in batches that began without it, is a theorem where there is one. S are the slots, A the adapters
// that ever have requests, B the requests that wait when it arrives, k those of them that use its own adapter:
//
//     seed        none: an adapter with few requests waits while others have more. It is taken when all that wait fit in
//     fifo        B/S: only those that were there before it go before it
//     robin       ((k + 1) A - 1)/S: whatever others send. Between two of an adapter's turns each other one has one; newcomers
//                 stand behind all who wait. So k of its own and (k + 1)(A - 1) others go before it, and all batches are full
//     oldest      its adapter has the oldest request after at most B turns, of which each takes a share of the batch, S/8: B/8
//                 batches, rounded up. Fewer adapters a batch than in fifo, for a bound that is worse
//
// So under robin an adapter whose requests wait gets one served at least every (A - 1)/S + 1 batches: nobody starves, and who sends
// too much waits for himself.
#ifndef TB_BATCHER_H
#define TB_BATCHER_H

#include <stdint.h>

struct tb_batcher {
    const char *name;
    const char *summary;        // one line
    int (*open)(void **state, uint32_t adapters, uint32_t requests, uint32_t slots); // 0 or -ENOMEM; close it in both cases
    void (*close)(void *state);
    void (*add)(void *state, uint32_t request, uint32_t adapter); // in order of arrival; requests are 0, 1, 2 ...
    uint32_t (*form)(void *state, uint32_t batch[]); // takes requests out; how many
};

extern const struct tb_batcher tb_batcher_seed, tb_batcher_fifo, tb_batcher_robin, tb_batcher_oldest;

const struct tb_batcher *tb_batcher_at(uint32_t i); // NULL after the last
const struct tb_batcher *tb_batcher_find(const char *name); // NULL: there is none

#endif
