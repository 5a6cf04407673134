// SPDX-License-Identifier: Apache-2.0
//
// domain_borrow: grow, drain and next_reclaimed across homes, and the loans between them.
//
// Each ordered pair of homes has one loan, laid out in the borrower's memory at open. So a question needs no allocation, and a
// lender that never answers blocks only its own loan. The loan's link is posted to the lender's desk; the rest is one state word:
//
//            post             answer             settle: all taken
//     IDLE --------> ASKED -----------> GIVEN ----------------------> IDLE
//      ^               | settle           | settle: some are unused, post
//      |               v                  v
//      +----------- WITHDRAWN         RETURNED
//      +----------------+-----------------+  the lender, at its next drain
//
// Answer and withdrawal race for ASKED, each with a compare-and-exchange. So a withdrawal takes effect at once: either the lender
// will find it and lend nothing, or the blocks are here and are posted back. A lender that declines goes straight to IDLE.
//
// Atomics here, besides P1/T1 (mailbox.h), which carry a loan to the lender:
//   L1 (release)   answer, partner L2: the borrower sees the handles, and all that was done to their blocks before; and the lender
//                  has read the loan's link in the desk's list, which the borrower will post again.
//   L3 (release)   the lender has finished with an empty loan, partner L2: it has read the link, which may now be posted again.
//   L2 (acquire)   the borrower's load of the state, partner L1 and L3.
// Three accesses are relaxed: the withdrawal, because it hands over nothing but the word itself; the state that is set before a
// post, because P1 follows; and the lender's load of the state, because T1 precedes it.
//
// Patience. Grow waits first for blocks in flight to the home itself, then for the nearest lender, then for the next. Each gets a
// share of wait_ns divided by the number of homes; if grow does not wait, a call that ends with -EAGAIN counts as a share. Grow
// does not wait for a lender that has declined. A home with open questions lends nothing: otherwise two homes that both lack a
// few blocks would exchange the few they have, and neither would be served.

#include "domain_internal.h"
#include "locus/lane.h"
#include "placement/base/clock.h"
#include "placement/base/rules.h"
#include "placement/blocks/pool_internal.h"

#include <errno.h>
#include <sched.h>

enum loan_state { LOAN_IDLE, LOAN_ASKED, LOAN_WITHDRAWN, LOAN_GIVEN, LOAN_RETURNED };

#define POLLS_PER_YIELD 64u // as in owner.c

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool avoided(const struct home *home)
{
    return atomic_load_explicit(&home->avoided, memory_order_relaxed);
}

// --- the lender ----------------------------------------------------------------------------------------------------------------

static uint32_t lendable(const struct locus_domain *domain, const struct home *home, uint32_t want)
{
    struct locus_pool_stats pool;
    struct locus_owner_stats owner;
    locus_pool_stats(home->pool, &pool);
    locus_owner_stats(home->owner, &owner);
    uint32_t ready = pool.blocks_free + pool.blocks_cached;
    if (home->asked || avoided(home) || ready <= domain->config.spare)
        return 0;
    uint32_t most = ready - domain->config.spare;
    if (domain->config.backpressure && owner.blocks_in_flight) // as in its own grow: no never-used ones before those are home
        most = least(most, ready - (pool.blocks - pool.distinct_high));
    return least(want, most);
}

// True: the blocks now belong to the borrower. False: nothing was lent; the question was declined or cancelled.
static bool lend(const struct locus_domain *domain, struct home *home, struct loan *loan)
{
    uint32_t asked = LOAN_ASKED;
    if (atomic_load_explicit(&loan->state, memory_order_relaxed) != LOAN_ASKED)
        return false;
    uint32_t count = lendable(domain, home, loan->want);
    if (count == 0 || locus_pool_alloc_bulk(home->pool, count, loan->blocks)) {
        counter_add(&home->stats.declined, 1);
        return false;
    }
    loan->given = count;
    if (atomic_compare_exchange_strong_explicit(&loan->state, &asked, LOAN_GIVEN, memory_order_release, // L1
                                                memory_order_relaxed)) {
        counter_add(&home->stats.blocks_lent, count);
        return true;
    }
    locus_pool_free_bulk(home->pool, count, loan->blocks, 0); // cancelled just now
    counter_add(&home->stats.blocks_late, count);
    return false;
}

// Returns how many blocks came home with the loan. After the last statement the borrower may post it again.
static uint32_t serve(const struct locus_domain *domain, struct home *home, struct loan *loan)
{
    uint32_t freed = 0;
    if (atomic_load_explicit(&loan->state, memory_order_relaxed) == LOAN_RETURNED)
        freed = locus_pool_free_bulk(home->pool, loan->given - loan->taken, loan->blocks + loan->taken, 0);
    else if (lend(domain, home, loan))
        return 0;
    counter_add(&home->stats.blocks_lent_unused, freed);
    atomic_store_explicit(&loan->state, LOAN_IDLE, memory_order_release); // L3
    return freed;
}

// A table whose last block came home here goes to the home that retired it. Our own tables wait here, linked as the owner had
// them.
static void forward(struct locus_domain *domain, struct home *home)
{
    struct locus_table *table;
    while ((table = locus_owner_next_reclaimed(home->owner))) {
        if (table->retired_by != home->ordinal) {
            locus_mailbox_push(&domain->homes[table->retired_by]->finished, &table->links[table->retired_by]);
            continue;
        }
        table->reclaimed_next = NULL;
        if (home->own_first)
            home->own_last->reclaimed_next = table;
        else
            home->own_first = table;
        home->own_last = table;
    }
}

// What the home's desk has, after what its owner's drain has `freed`.
static uint32_t desk_drain(struct locus_domain *domain, struct home *home, uint32_t freed)
{
    forward(domain, home);
    if (locus_mailbox_empty(&home->desk))
        return freed;
    struct locus_link *link = locus_mailbox_take(&home->desk);
    while (link) {
        struct locus_link *next = link->next; // before the loan is handed back and posted again
        freed += serve(domain, home, (struct loan *)(void *)link);
        link = next;
    }
    return freed;
}

// NULL: there is no such home, or the caller does not hold its role.
static struct home *held_home(const struct locus_domain *domain, uint32_t ordinal, const char *call)
{
    struct home *home = domain_home(domain, ordinal);
    (void)call;
    RULE_OF(call, home, "there is no home %u", ordinal);
    RULE_OF(call, locus_owner_held_here(home->owner), RULE_ROLE);
    return home && locus_owner_held_here(home->owner) ? home : NULL;
}

uint32_t locus_domain_drain(struct locus_domain *domain, uint32_t ordinal)
{
    struct home *home = held_home(domain, ordinal, __func__);
    return home ? desk_drain(domain, home, locus_owner_drain(home->owner)) : 0;
}

uint32_t locus_domain_drain_some(struct locus_domain *domain, uint32_t ordinal, uint32_t blocks)
{
    struct home *home = held_home(domain, ordinal, __func__);
    return home ? desk_drain(domain, home, locus_owner_drain_some(home->owner, blocks)) : 0;
}

// --- the borrower --------------------------------------------------------------------------------------------------------------

static uint32_t loan_state(const struct loan *loan)
{
    return atomic_load_explicit(&loan->state, memory_order_acquire); // L2
}

static void post(const struct locus_domain *domain, uint32_t lender, struct loan *loan, enum loan_state state)
{
    atomic_store_explicit(&loan->state, state, memory_order_relaxed);
    locus_mailbox_push(&domain->homes[lender]->desk, &loan->link);
}

static bool withdraw(struct loan *loan)
{
    uint32_t asked = LOAN_ASKED;
    return atomic_compare_exchange_strong_explicit(&loan->state, &asked, LOAN_WITHDRAWN, memory_order_relaxed,
                                                   memory_order_relaxed);
}

static void question(const struct locus_domain *domain, struct home *home, uint32_t lender, uint32_t want)
{
    struct loan *loan = domain_loan(domain, home, lender);
    loan->want = least(want, domain->config.chunk);
    loan->given = loan->taken = 0;
    home->asked |= UINT64_C(1) << lender;
    counter_add(&home->stats.asked, 1);
    post(domain, lender, loan, LOAN_ASKED);
}

// Asks the nearest lender that was not asked yet. 0; -ENOENT: all were asked; -EAGAIN: the others still have the loan of an
// earlier shortage in their desks.
static int ask_next(const struct locus_domain *domain, struct home *home, uint32_t want)
{
    int error = -ENOENT;
    for (uint32_t i = 0; i + 1 < domain->homes_count; i++) {
        uint32_t lender = home->lenders[i];
        if (home->asked >> lender & 1)
            continue;
        if (loan_state(domain_loan(domain, home, lender)) == LOAN_IDLE) {
            question(domain, home, lender, want);
            return 0;
        }
        error = -EAGAIN;
    }
    return error;
}

// Counts the blocks that are here and the lenders that have not answered.
static void count_loans(const struct locus_domain *domain, const struct home *home, uint32_t *here, uint32_t *unanswered)
{
    *here = *unanswered = 0;
    for (uint64_t rest = home->asked; rest; rest &= rest - 1) {
        const struct loan *loan = domain_loan(domain, home, (uint32_t)__builtin_ctzll(rest));
        uint32_t state = loan_state(loan);
        *here += state == LOAN_GIVEN ? loan->given - loan->taken : 0;
        *unanswered += state == LOAN_ASKED;
    }
}

// The shortage is over, served or not.
static void settle(const struct locus_domain *domain, struct home *home)
{
    for (uint64_t rest = home->asked; rest; rest &= rest - 1) {
        uint32_t lender = (uint32_t)__builtin_ctzll(rest);
        struct loan *loan = domain_loan(domain, home, lender);
        if (withdraw(loan)) {
            counter_add(&home->stats.cancelled, 1);
        } else if (loan_state(loan) == LOAN_GIVEN) {
            counter_add(&home->stats.blocks_borrowed, loan->given);
            counter_add(&home->stats.blocks_returned, loan->given - loan->taken);
            if (loan->given > loan->taken)
                post(domain, lender, loan, LOAN_RETURNED);
            else
                atomic_store_explicit(&loan->state, LOAN_IDLE, memory_order_relaxed);
        }
    }
    home->asked = 0;
    home->again = false;
}

int locus_domain_cancel(struct locus_domain *domain, uint32_t ordinal)
{
    struct home *home = domain_home(domain, ordinal);
    RULE(home, "there is no home %u", ordinal);
    RULE(locus_owner_held_here(home->owner), RULE_ROLE);
    if (!home)
        return -EINVAL;
    if (!locus_owner_held_here(home->owner))
        return -EPERM;
    settle(domain, home);
    return 0;
}

// pre: that many blocks are here, and the table has room for them and links for their homes.
static void take(const struct locus_domain *domain, struct home *home, struct locus_table *table, uint32_t count)
{
    for (uint32_t i = 0; count; i++) {
        struct loan *loan = domain_loan(domain, home, home->lenders[i]);
        if (!(home->asked >> home->lenders[i] & 1) || loan_state(loan) != LOAN_GIVEN)
            continue;
        for (; count && loan->taken < loan->given; count--) {
            locus_block block = loan->blocks[loan->taken++];
            pool_note_tag(domain->homes[home->lenders[i]]->pool, block, table->tag);
            locus_table_append(table, block);
        }
    }
}

// --- grow ----------------------------------------------------------------------------------------------------------------------

// The result that the owner's grow would return, without recording a wait; *ready blocks are available.
static int own_answer(const struct locus_domain *domain, const struct home *home, uint32_t count, uint32_t *ready)
{
    struct locus_pool_stats pool;
    struct locus_owner_stats owner;
    locus_pool_stats(home->pool, &pool);
    locus_owner_stats(home->owner, &owner);
    *ready = pool.blocks_free + pool.blocks_cached;
    if (*ready + owner.blocks_in_flight < count)
        return -ENOMEM;
    if (*ready < count)
        return -EAGAIN;
    bool new_ones = *ready - count < pool.blocks - pool.distinct_high;
    return domain->config.backpressure && owner.blocks_in_flight && new_ones ? -EAGAIN : 0;
}

static int own_grow(struct home *home, struct locus_table *table, uint32_t count)
{
    return count ? locus_owner_grow(home->owner, table, count) : 0;
}

// One attempt to end the shortage: 0, -ENOMEM (nothing more can come), -EAGAIN (something may come).
static int attempt(const struct locus_domain *domain, struct home *home, struct locus_table *table, uint32_t count, bool late)
{
    uint32_t ready, here, unanswered;
    int error = own_answer(domain, home, count, &ready), asked = -EAGAIN;
    bool borrows = domain->config.exhausted == LOCUS_EXHAUSTED_BORROW && table->homes_max >= domain->homes_count;
    bool elsewhere = borrows && avoided(home);
    if (!borrows || (ready >= count && !elsewhere))
        return error ? error : own_grow(home, table, count);
    uint32_t own = elsewhere ? 0 : ready;
    count_loans(domain, home, &here, &unanswered);
    if (here >= count - own) {
        int own_error = own_grow(home, table, own);
        if (!own_error)
            take(domain, home, table, count - own);
        return own_error;
    }
    if (late || (unanswered == 0 && (elsewhere || error == -ENOMEM)))
        asked = ask_next(domain, home, count - own - here);
    if (unanswered || asked != -ENOENT)
        return -EAGAIN;
    if (error == -EAGAIN && domain->config.wait_ns == 0)
        settle(domain, home); // everybody has declined; the next call may ask them again
    return error ? error : own_grow(home, table, count); // an avoided home's own blocks are better than none
}

static int grow_short(struct locus_domain *domain, struct home *home, struct locus_table *table, uint32_t count)
{
    const uint64_t wait_ns = domain->config.wait_ns, start_ns = clock_now_ns();
    uint64_t waited_ns = 0;
    bool late = home->again;
    int error;
    for (uint32_t polls = 1;; polls++) {
        locus_domain_drain(domain, home->ordinal);
        error = attempt(domain, home, table, count, late);
        if (error == -EAGAIN && waited_ns > wait_ns)
            error = -ETIMEDOUT;
        if (error != -EAGAIN || wait_ns == 0)
            break;
        late = false;
        if (polls % POLLS_PER_YIELD) {
            locus_cpu_relax();
            continue;
        }
        sched_yield();
        waited_ns = clock_now_ns() - start_ns;
        late = waited_ns > wait_ns / domain->homes_count * (uint64_t)(__builtin_popcountll(home->asked) + 1);
    }
    counter_add(&home->stats.waits, 1);
    counter_add(&home->stats.wait_ns, clock_now_ns() - start_ns);
    return error;
}

static int grow(struct locus_domain *domain, struct home *home, struct locus_table *table, uint32_t count)
{
    if (!avoided(home)) {
        int error = locus_owner_grow(home->owner, table, count);
        if ((error != -ENOMEM && error != -EAGAIN) || domain->config.exhausted == LOCUS_EXHAUSTED_REFUSE)
            return error;
    } else if (!locus_owner_held_here(home->owner)) {
        return -EPERM;
    }
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    if (home->ordinal >= table->homes_max)
        return -EXDEV;
    if (table->capacity - table->count < count)
        return -ENOSPC;
    return grow_short(domain, home, table, count);
}

int locus_domain_grow(struct locus_domain *domain, uint32_t ordinal, struct locus_table *table, uint32_t count)
{
    struct home *home = domain_home(domain, ordinal);
    RULE(home, "there is no home %u", ordinal);
    RULE(locus_owner_held_here(home->owner), RULE_ROLE);
    int error = home ? grow(domain, home, table, count) : -EINVAL;
    if (!home || error == -EPERM)
        return error;
    if (error == -EAGAIN)
        home->again = true;
    else if (home->asked || home->again)
        settle(domain, home);
    return error;
}

// --- tables --------------------------------------------------------------------------------------------------------------------

static struct locus_table *table_of(struct locus_link *link, uint32_t ordinal)
{
    char *links = (char *)link - ordinal * sizeof *link;
    return (struct locus_table *)(void *)(links - offsetof(struct locus_table, links));
}

struct locus_table *locus_domain_next_reclaimed(struct locus_domain *domain, uint32_t ordinal)
{
    struct home *home = domain_home(domain, ordinal);
    RULE(home, "there is no home %u", ordinal);
    RULE(locus_owner_held_here(home->owner), RULE_ROLE);
    if (!home || !locus_owner_held_here(home->owner))
        return NULL;
    forward(domain, home); // tables that came home while a grow waited
    struct locus_table *own = home->own_first;
    if (own) {
        home->own_first = own->reclaimed_next;
        return own;
    }
    if (!home->finished_list)
        home->finished_list = locus_mailbox_take(&home->finished);
    struct locus_link *link = home->finished_list;
    if (!link)
        return NULL;
    home->finished_list = link->next;
    return table_of(link, ordinal);
}
