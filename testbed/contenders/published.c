// SPDX-License-Identifier: Apache-2.0
//
// locus-published: the design of the LOCUS paper as published (section III), which `locus` has to beat.
//
// The pool is in published_pool.h. The way home is one mailbox per worker, the head of a Treiber stack. A worker wraps the
// finished request's handles in a node from malloc and pushes it; at every drain the owner exchanges every mailbox for an empty
// one, whether anything has arrived or not, reverses the list, frees handle by handle, and frees the node.
//
//     worker                             owner
//     malloc(node), push   -- M1/M2 -->  exchange, reverse, free each handle, free(node)
//
// In the original the node also owns the request's vector of handles, which travels in it and dies with it. Here the vector is
// the testbed's table, which every contender recycles, so the node refers to it and only the node is allocated. Each head has a
// cache line of its own; in the original that is up to the heap.
//
// Atomics: M1 (release) push, partner M2 (acquire) of the owner's exchange: the owner sees the node and the table as the worker
// left them. A chain of pushes is one release sequence, so the exchange that finds the last node has acquired all before it. The
// load and the failed exchange are relaxed, because a pusher never follows the head.

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "testbed/contenders/published_ops.h"
#include "testbed/measure/driver.h"

struct chunk_node {
    struct chunk_node *next;
    struct locus_table *table;
};

struct chunk_mailbox {
    _Alignas(LOCUS_CACHE_LINE) _Atomic(struct chunk_node *) head;
};

struct published_context {
    struct tb_published_pool pool; // first: published_ops.h
    struct chunk_mailbox *mailboxes; // one per worker
    uint32_t workers;
    uint64_t drained; // requests
};

static void mailbox_push(struct chunk_mailbox *mailbox, struct chunk_node *node)
{
    struct chunk_node *head = atomic_load_explicit(&mailbox->head, memory_order_relaxed);
    do {
        node->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&mailbox->head, &head, node, memory_order_release, // M1
                                                    memory_order_relaxed));
}

static struct chunk_node *mailbox_take(struct chunk_mailbox *mailbox)
{
    struct chunk_node *node = atomic_exchange_explicit(&mailbox->head, NULL, memory_order_acquire); // M2
    struct chunk_node *oldest_first = NULL;
    while (node) {
        struct chunk_node *next = node->next;
        node->next = oldest_first;
        oldest_first = node;
        node = next;
    }
    return oldest_first;
}

static void published_close(void *context)
{
    struct published_context *published = context;
    for (uint32_t i = 0; i < published->workers; i++) {
        struct chunk_node *node = mailbox_take(&published->mailboxes[i]);
        while (node) {
            struct chunk_node *next = node->next;
            free(node);
            node = next;
        }
    }
    free(published->mailboxes);
    tb_published_close(&published->pool);
    free(published);
}

static int published_open(const struct tb_setup *setup, void **out)
{
    struct published_context *published = calloc(1, sizeof *published);
    if (!published)
        return -ENOMEM;
    *out = published;
    published->mailboxes = aligned_alloc(LOCUS_CACHE_LINE, setup->workers * sizeof *published->mailboxes);
    if (!published->mailboxes)
        return -ENOMEM;
    for (; published->workers < setup->workers; published->workers++)
        atomic_init(&published->mailboxes[published->workers].head, NULL);
    return tb_published_open(&published->pool, setup);
}

static void published_drain(void *context)
{
    struct published_context *published = context;
    for (uint32_t i = 0; i < published->workers; i++) {
        struct chunk_node *node = mailbox_take(&published->mailboxes[i]);
        while (node) {
            struct chunk_node *next = node->next;
            tb_published_home(&published->pool, node->table);
            published->drained++;
            free(node);
            node = next;
        }
    }
}

static int published_take(void *context, struct locus_table *table, uint32_t count)
{
    return tb_published_take(&((struct published_context *)context)->pool, table, count, published_drain, context);
}

// If the node cannot be allocated the request stays behind, and the gate that compares pushed with drained requests fails.
static void published_finish(void *context, uint32_t worker, struct locus_table *table)
{
    struct published_context *published = context;
    struct chunk_node *node = malloc(sizeof *node);
    if (!node)
        return;
    node->table = table;
    mailbox_push(&published->mailboxes[worker], node);
}

static void published_audit(void *context, struct tb_audit *out)
{
    struct published_context *published = context;
    tb_published_audit(&published->pool, out);
    out->drained = published->drained;
}

static const struct tb_ops published_ops = {
    .open = published_open,
    .close = published_close,
    .take = published_take,
    .finish = published_finish,
    .drain = published_drain,
    .audit = published_audit,
    TB_PUBLISHED_OPS,
};
TB_DRIVER(published_ops);

static const struct tb_contender published_contender = {
    .name = "locus-published",
    .summary = "the paper's design: deque of indices, malloc'd chunk nodes, a mailbox per worker",
    .driver = &published_ops_driver,
};
TB_CONTENDER(published_contender);
