// SPDX-License-Identifier: Apache-2.0
//
// unified_list: the lock-free list of free pages of the unified pool's listing (seeds/README.md), in every interleaving.
//
// The listing links a node that is a local variable of push(), so the list leads into a stack frame that is gone: the next pop
// reads it there, and a second push from the same frame gets the same address and links the node to itself. With nodes from the
// heap instead, pop reads the next node out of one that another pop may have freed. With nodes that are never freed, only used
// again, an exchange of the head succeeds although everything behind it has changed (ABA), and a page has two owners.
//
// Repaired: nodes are entries of an array that lives as long as the pool, and the head is one word of an index and a version that
// every exchange raises. A node that is read too late is then only read in vain.
#include "placement/base/tests/interleave.h"

#define PAGES 3u // numbered from 1; 0 ends the list
#define CALLS 4u

enum op { NOTHING, PUSH, POP, PUSH_FIRST }; // PUSH_FIRST: the page that this thread's first pop got

struct with {
    bool frames,    // a node lives in the frame of its push, and all pushes of a thread have the same frame
        heap,       // a node is freed by the pop that takes it
        tagged;     // the head has a version
    uint8_t listed; // the pages that are on the list at the beginning: 1 leads to 2 and so on
    enum op calls[2][CALLS];
};

struct thread {
    uint8_t call, at;
    uint8_t head, next; // what it has read
    uint8_t version;
    uint8_t node, first; // the page that it pushes; the page of its first pop
};

struct all {
    uint8_t head, version;
    uint8_t next[PAGES + 1], alive[PAGES + 1];
    uint8_t owner[PAGES + 1]; // 0: the list's; else 1 + thread
    uint8_t wrong;
    struct thread threads[2];
};

enum wrong { DEAD_FRAME = 1, SELF, FREED, TWO_OWNERS };
static const char *const wrongs[] = {NULL, "a node is read in a frame that is gone", "a node leads to itself",
                                     "a freed node is read", "a page has two owners"};

static void begin(const void *argument, void *state)
{
    const struct with *with = argument;
    struct all *all = state;
    for (uint8_t i = 1; i <= PAGES; i++) {
        bool listed = i <= with->listed;
        all->next[i] = listed && i < with->listed ? i + 1 : 0;
        all->alive[i] = listed;
        all->owner[i] = listed ? 0 : 1; // thread A has the rest
    }
    all->head = with->listed ? 1 : 0;
}

// The exchange of the head.
static bool exchange(const struct with *with, struct all *all, struct thread *me, uint8_t to)
{
    if (all->head != me->head || (with->tagged && all->version != me->version)) {
        interleave_say("exchanges the head and fails: it is node %u", all->head);
        return false;
    }
    all->head = to;
    all->version += with->tagged;
    interleave_say("makes node %u the head, in place of node %u", to, me->head);
    return true;
}

static void read_head(struct all *all, struct thread *me)
{
    me->head = all->head;
    me->version = all->version;
    interleave_say("reads the head: node %u", me->head);
}

static void step_push(const struct with *with, struct all *all, struct thread *me, uint8_t page)
{
    uint8_t node = with->frames ? 1 : page; // a frame is one place, whatever page it speaks of
    if (me->at == 0) {
        read_head(all, me);
        me->at = 1;
    } else if (me->at == 1) {
        all->next[node] = me->head;
        all->alive[node] = 1;
        interleave_say("writes into node %u (page %u): the next is node %u", node, page, me->head);
        if (me->head == node)
            all->wrong = SELF;
        me->at = 2;
    } else if (me->at == 2) {
        if (!exchange(with, all, me, node)) {
            me->at = 0;
            return;
        }
        all->owner[page] = 0;
        me->at = with->frames ? 3 : 0;
        me->call += me->at == 0;
    } else {
        all->alive[node] = 0;
        interleave_say("returns from push, and node %u was in its frame", node);
        me->at = 0;
        me->call++;
    }
}

static void step_pop(const struct with *with, struct all *all, struct thread *me, unsigned thread)
{
    if (me->at == 0) {
        read_head(all, me);
        me->at = 1;
        if (!me->head) {
            me->at = 0;
            me->call++;
        }
    } else if (me->at == 1) {
        me->next = all->next[me->head];
        interleave_say("reads the next of node %u: node %u", me->head, me->next);
        if (!all->alive[me->head])
            all->wrong = with->frames ? DEAD_FRAME : FREED;
        me->at = 2;
    } else if (exchange(with, all, me, me->next)) {
        if (all->owner[me->head])
            all->wrong = TWO_OWNERS;
        all->owner[me->head] = (uint8_t)(1 + thread);
        all->alive[me->head] = !with->heap;
        me->first = me->first ? me->first : me->head;
        me->at = 0;
        me->call++;
    } else {
        me->at = 0;
    }
}

static enum interleave_step step(const void *argument, void *state, unsigned thread)
{
    const struct with *with = argument;
    struct all *all = state;
    struct thread *me = &all->threads[thread];
    enum op op = me->call < CALLS ? with->calls[thread][me->call] : NOTHING;
    if (op == NOTHING || (op == PUSH_FIRST && !me->first))
        return INTERLEAVE_ENDED;
    if (op == POP)
        step_pop(with, all, me, thread);
    else
        step_push(with, all, me, op == PUSH_FIRST ? me->first : (uint8_t)(1 + me->call));
    return INTERLEAVE_WENT;
}

static const char *wrong(const void *argument, const void *state, bool all_ended)
{
    const struct all *all = state;
    (void)argument;
    if (all->wrong || !all_ended)
        return wrongs[all->wrong];
    unsigned listed = 0, free_pages = 0;
    for (unsigned node = all->head; node && listed <= PAGES; node = all->next[node], listed++)
        if (all->owner[node])
            return wrongs[TWO_OWNERS];
    for (unsigned i = 1; i <= PAGES; i++)
        free_pages += !all->owner[i];
    return listed == free_pages ? NULL : "a page is lost";
}

static struct interleave_model model_of(const char *name, const struct with *with)
{
    return (struct interleave_model){name, with, 2, sizeof(struct all), begin, step, wrong};
}

int main(void)
{
    static const struct with frame = {.frames = true, .calls = {{PUSH}, {POP}}},
                             same_frame = {.frames = true, .calls = {{PUSH, PUSH}}},
                             heap = {.heap = true, .listed = 2, .calls = {{POP}, {POP}}},
                             reused = {.listed = 3, .calls = {{POP, POP}, {POP, POP, PUSH_FIRST}}},
                             tagged = {.listed = 3, .tagged = true, .calls = {{POP, POP}, {POP, POP, PUSH_FIRST}}},
                             tagged_both = {.listed = 3, .tagged = true, .calls = {{POP, PUSH_FIRST}, {POP, POP, PUSH_FIRST}}},
                             tagged_pushes = {.tagged = true, .calls = {{PUSH, PUSH, POP}, {POP, PUSH_FIRST}}};
    struct interleave_model frame_model = model_of("listing: push a local variable, and pop", &frame),
                            same_frame_model = model_of("listing: push two pages from one frame", &same_frame),
                            heap_model = model_of("listing, nodes from the heap: two pops", &heap),
                            reused_model = model_of("listing, nodes used again: two pops beside two pops and a push", &reused);
    interleave_expect_fault(&frame_model, wrongs[DEAD_FRAME]);
    interleave_expect_fault(&same_frame_model, wrongs[SELF]);
    interleave_expect_fault(&heap_model, wrongs[FREED]);
    interleave_expect_fault(&reused_model, wrongs[TWO_OWNERS]);
    struct interleave_model sound[] = {model_of("repaired: two pops beside two pops and a push", &tagged),
                                       model_of("repaired: both push again", &tagged_both),
                                       model_of("repaired: an empty list", &tagged_pushes)};
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++)
        interleave_expect_none(&sound[i]);
    return 0;
}
