// SPDX-License-Identifier: Apache-2.0
//
// locus-lfstack, locus-wfcqueue: the library's pool with liburcu's lock-free stack and wait-free queue in place of its mailbox
// (carrier.h). They are built only if liburcu's headers are installed; otherwise the program names the missing package
// (contender.c).
//
// Both are used with one consumer, so neither needs its lock nor RCU. They are inline (_LGPL_SOURCE) like the library's own
// mailbox, so nothing has to be linked.
//
//     lfstack     also Treiber's stack, but a push assumes an empty stack at first and does not read the head: one exclusive
//                 access to the line if the stack is empty, two if not. Every operation is a full barrier.
//     wfcqueue    a push exchanges the tail and then writes the link of the node before it. Wait-free, and first in, first out.
//                 Between the two stores the queue is broken: the drain does not wait for the second (liburcu would sleep ten
//                 milliseconds), but leaves the rest to the next drain.
//
// Ordering is liburcu's: a push is a full barrier before the node can be found, pop_all one after. The queue's consumer relies on
// address dependency: it reads the table only through the node's address.

#if __has_include(<urcu/lfstack.h>) && __has_include(<urcu/wfcqueue.h>)

#define _LGPL_SOURCE
#include <urcu/lfstack.h>
#include <urcu/wfcqueue.h>

#include "testbed/contenders/carrier.h"

// --- the stack -----------------------------------------------------------------------------------------------------------------

struct lfstack_box {
    _Alignas(LOCUS_CACHE_LINE) struct __cds_lfs_stack stack;
};

static int lfstack_open(const struct tb_setup *setup, void **out)
{
    int error = tb_carrier_open(setup, sizeof(struct lfstack_box), out);
    for (uint32_t i = 0; i < setup->workers && !error; i++)
        __cds_lfs_init(tb_carrier_box(*out, i));
    return error;
}

static void lfstack_finish(void *context, uint32_t worker, struct locus_table *table)
{
    struct lfstack_box *box = tb_carrier_box(context, worker);
    struct cds_lfs_node *node = tb_carrier_link(table);
    if (!tb_carrier_leaves(table))
        return;
    cds_lfs_node_init(node);
    cds_lfs_push(&box->stack, node);
}

// Takes all that has arrived, oldest first. Checks before it takes, as the library does.
static struct cds_lfs_node *lfstack_all(struct lfstack_box *box)
{
    if (cds_lfs_empty(&box->stack))
        return NULL;
    struct cds_lfs_head *head = __cds_lfs_pop_all(&box->stack);
    struct cds_lfs_node *node = head ? &head->node : NULL, *oldest_first = NULL, *next;
    for (; node; node = next) {
        next = node->next;
        node->next = oldest_first;
        oldest_first = node;
    }
    return oldest_first;
}

static void lfstack_drain(void *context)
{
    struct tb_carrier *carrier = context;
    for (uint32_t i = 0; i < carrier->boxes_count; i++) {
        struct cds_lfs_node *node = lfstack_all(tb_carrier_box(carrier, i)), *next;
        for (; node; node = next) {
            next = node->next; // read before the table is reused
            tb_carrier_home(carrier, tb_carrier_table(node));
        }
    }
}

TB_CARRIER_OPS(lfstack);

static const struct tb_contender lfstack = {
    .name = "locus-lfstack",
    .summary = "locus's pool, a liburcu lock-free stack per worker",
    .driver = &lfstack_ops_driver,
};
TB_CONTENDER(lfstack);

// --- the queue -----------------------------------------------------------------------------------------------------------------

struct wfcqueue_box {
    _Alignas(LOCUS_CACHE_LINE) struct __cds_wfcq_head head; // the owner's, except for a push into an empty queue
    _Alignas(LOCUS_CACHE_LINE) struct cds_wfcq_tail tail;   // the worker's
};

static int wfcqueue_open(const struct tb_setup *setup, void **out)
{
    int error = tb_carrier_open(setup, sizeof(struct wfcqueue_box), out);
    for (uint32_t i = 0; i < setup->workers && !error; i++) {
        struct wfcqueue_box *box = tb_carrier_box(*out, i);
        __cds_wfcq_init(&box->head, &box->tail);
    }
    return error;
}

static void wfcqueue_finish(void *context, uint32_t worker, struct locus_table *table)
{
    struct wfcqueue_box *box = tb_carrier_box(context, worker);
    struct cds_wfcq_node *node = tb_carrier_link(table);
    if (!tb_carrier_leaves(table))
        return;
    cds_wfcq_node_init(node);
    cds_wfcq_enqueue(&box->head, &box->tail, node);
}

static void wfcqueue_drain(void *context)
{
    struct tb_carrier *carrier = context;
    for (uint32_t i = 0; i < carrier->boxes_count; i++) {
        struct wfcqueue_box *box = tb_carrier_box(carrier, i);
        for (;;) {
            struct cds_wfcq_node *node = __cds_wfcq_dequeue_nonblocking(&box->head, &box->tail);
            if (!node || node == CDS_WFCQ_WOULDBLOCK)
                break;
            tb_carrier_home(carrier, tb_carrier_table(node));
        }
    }
}

TB_CARRIER_OPS(wfcqueue);

static const struct tb_contender wfcqueue = {
    .name = "locus-wfcqueue",
    .summary = "locus's pool, a liburcu wait-free queue per worker",
    .driver = &wfcqueue_ops_driver,
};
TB_CONTENDER(wfcqueue);

#endif
