// SPDX-License-Identifier: Apache-2.0
//
// locus-ckstack: the library's pool with Concurrency Kit's stack in place of its mailbox (carrier.h). It is built only if the
// header is installed; otherwise the program names the missing package (contender.c). The stack is inline, so nothing has to be
// linked.
//
// It is also Treiber's stack: load, link, compare and swap; the consumer takes everything by one exchange. We use the functions
// for many producers and a consumer that pops all, which need no generation counter. Ordering is Concurrency Kit's: a store fence
// before the head is swapped, a load fence after it is exchanged.

#if __has_include(<ck_stack.h>)

#include <ck_stack.h>

#include "testbed/contenders/carrier.h"

struct ckstack_box {
    _Alignas(LOCUS_CACHE_LINE) ck_stack_t stack;
};

static int ckstack_open(const struct tb_setup *setup, void **out)
{
    int error = tb_carrier_open(setup, sizeof(struct ckstack_box), out);
    for (uint32_t i = 0; i < setup->workers && !error; i++)
        ck_stack_init(&((struct ckstack_box *)tb_carrier_box(*out, i))->stack);
    return error;
}

static void ckstack_finish(void *context, uint32_t worker, struct locus_table *table)
{
    struct ckstack_box *box = tb_carrier_box(context, worker);
    if (tb_carrier_leaves(table))
        ck_stack_push_upmc(&box->stack, tb_carrier_link(table));
}

// Takes all that has arrived, oldest first. Checks before it takes, as the library does.
static struct ck_stack_entry *ckstack_all(struct ckstack_box *box)
{
    if (!ck_pr_load_ptr(&box->stack.head))
        return NULL;
    struct ck_stack_entry *entry = ck_stack_batch_pop_upmc(&box->stack), *oldest_first = NULL, *next;
    for (; entry; entry = next) {
        next = entry->next;
        entry->next = oldest_first;
        oldest_first = entry;
    }
    return oldest_first;
}

static void ckstack_drain(void *context)
{
    struct tb_carrier *carrier = context;
    for (uint32_t i = 0; i < carrier->boxes_count; i++) {
        struct ck_stack_entry *entry = ckstack_all(tb_carrier_box(carrier, i)), *next;
        for (; entry; entry = next) {
            next = entry->next; // read before the table is reused
            tb_carrier_home(carrier, tb_carrier_table(entry));
        }
    }
}

TB_CARRIER_OPS(ckstack);

static const struct tb_contender ckstack = {
    .name = "locus-ckstack",
    .summary = "locus's pool, a Concurrency Kit stack per worker",
    .driver = &ckstack_ops_driver,
};
TB_CONTENDER(ckstack);

#endif
