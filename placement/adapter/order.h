// SPDX-License-Identifier: Apache-2.0
//
// order: numbers sorted by key, with both neighbours of each at hand. 41 bytes a number. Not installed.
//
// A treap (Seidel and Aragon, "Randomized search trees", 1996) whose priorities are a hash of the number, threaded by a list: each
// operation is O(log count), expected, and neighbours are O(1). retention's heaps have no neighbours, and only one end.
#ifndef LOCUS_ADAPTER_ORDER_H
#define LOCUS_ADAPTER_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define ORDER_NONE UINT32_MAX

struct order_key {
    uint64_t major, minor;      // of equal `major`, the lower `minor` is less
};

struct order_node {
    struct order_key key;
    uint32_t child[2], parent;  // less, greater
    uint32_t beside[2];         // the next lower one, the next greater one; ORDER_NONE: it is an end
};

struct order {
    struct order_node *nodes;
    bool *in;                   // of a number: it is in the order
    uint32_t root, end[2];      // the least, the greatest
};

int order_open(struct order *order, uint32_t numbers); // 0 or -ENOMEM; close it in both cases
void order_close(struct order *order);
void order_add(struct order *order, uint32_t number, struct order_key key); // pre: it is not in; no other has this key
void order_drop(struct order *order, uint32_t number);                      // pre: it is in

#endif
