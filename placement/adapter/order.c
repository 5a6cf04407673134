// SPDX-License-Identifier: Apache-2.0
//
// order: see order.h. Each node's priority is above those of its children. A node comes in as a leaf and rises by rotations; it
// sinks by rotations, and goes as a leaf.

#include "placement/adapter/order.h"

#include <errno.h>
#include <stdlib.h>

int order_open(struct order *order, uint32_t numbers)
{
    order->root = order->end[0] = order->end[1] = ORDER_NONE;
    order->nodes = calloc(numbers, sizeof *order->nodes);
    order->in = calloc(numbers, sizeof *order->in);
    return order->nodes && order->in ? 0 : -ENOMEM;
}

void order_close(struct order *order)
{
    free(order->nodes);
    free(order->in);
}

static uint32_t priority(uint32_t number)
{
    uint64_t x = (number + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(x >> 32);
}

static bool less(struct order_key a, struct order_key b)
{
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

static uint32_t *link_to(struct order *order, uint32_t number)
{
    uint32_t parent = order->nodes[number].parent;
    return parent == ORDER_NONE ? &order->root : &order->nodes[parent].child[order->nodes[parent].child[1] == number];
}

// The node and its parent change places; the subtree between them changes sides.
static void rotate_up(struct order *order, uint32_t number)
{
    struct order_node *node = &order->nodes[number];
    uint32_t parent = node->parent, side = order->nodes[parent].child[1] == number, between = node->child[!side];
    *link_to(order, parent) = number;
    node->parent = order->nodes[parent].parent;
    node->child[!side] = parent;
    order->nodes[parent].parent = number;
    order->nodes[parent].child[side] = between;
    if (between != ORDER_NONE)
        order->nodes[between].parent = parent;
}

// Between `number`'s neighbours; ORDER_NONE stands for what is beyond an end.
static void thread(struct order *order, uint32_t lower, uint32_t greater)
{
    *(lower == ORDER_NONE ? &order->end[0] : &order->nodes[lower].beside[1]) = greater;
    *(greater == ORDER_NONE ? &order->end[1] : &order->nodes[greater].beside[0]) = lower;
}

void order_add(struct order *order, uint32_t number, struct order_key key)
{
    uint32_t parent = ORDER_NONE, side = 0;
    for (uint32_t at = order->root; at != ORDER_NONE; at = order->nodes[at].child[side]) {
        parent = at;
        side = less(order->nodes[at].key, key);
    }
    struct order_node *node = &order->nodes[number];
    *node = (struct order_node){key, {ORDER_NONE, ORDER_NONE}, parent, {ORDER_NONE, ORDER_NONE}};
    if (parent == ORDER_NONE) {
        order->root = number;
    } else {
        order->nodes[parent].child[side] = number;
        node->beside[!side] = parent;
        node->beside[side] = order->nodes[parent].beside[side];
    }
    thread(order, node->beside[0], number);
    thread(order, number, node->beside[1]);
    order->in[number] = true;
    while (node->parent != ORDER_NONE && priority(number) > priority(node->parent))
        rotate_up(order, number);
}

void order_drop(struct order *order, uint32_t number)
{
    struct order_node *node = &order->nodes[number];
    while (node->child[0] != ORDER_NONE || node->child[1] != ORDER_NONE) {
        uint32_t low = node->child[0], high = node->child[1];
        bool take_high = low == ORDER_NONE || (high != ORDER_NONE && priority(high) > priority(low));
        rotate_up(order, take_high ? high : low);
    }
    *link_to(order, number) = ORDER_NONE;
    thread(order, node->beside[0], node->beside[1]);
    order->in[number] = false;
}
