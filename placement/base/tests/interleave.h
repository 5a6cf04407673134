// SPDX-License-Identifier: Apache-2.0
//
// interleave: every interleaving of a few threads, for protocols on shared words. Deterministic, in one thread.
//
// A model is one flat state (shared words, and for each thread its place and its locals) and a function that lets one thread
// take one step, which touches at most one shared word. The search is breadth first over states, each visited once, so it
// covers every schedule although it never lists them, and the first bad state that it meets has a shortest schedule. It looks for
// three things: a state that the model calls wrong; a state in which no thread can go on; and a state from which no schedule
// leads to the end, such as a loop that nothing can leave.
//
// It explores sequential consistency only. A weakened memory order is for ThreadSanitizer (litmus.h); what is found or proved
// here is a matter of which accesses are one exchange and which are two.
#ifndef LOCUS_TESTS_INTERLEAVE_H
#define LOCUS_TESTS_INTERLEAVE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERLEAVE_THREADS 4u
#define INTERLEAVE_STATES (4u << 20) // more than any model has; a larger one is a mistake in the model

enum interleave_step {
    INTERLEAVE_WENT,  // the thread took a step
    INTERLEAVE_WAITS, // it cannot, until another thread does something; the state is as it was
    INTERLEAVE_ENDED, // it has nothing left to do
};

struct interleave_model {
    const char *name;
    const void *with; // the model's own parameters
    unsigned threads;
    size_t state_bytes;              // states are compared as bytes, and begin as zeros
    void (*begin)(const void *with, void *state);
    enum interleave_step (*step)(const void *with, void *state, unsigned thread);
    const char *(*wrong)(const void *with, const void *state, bool all_ended); // what is wrong in this state, or NULL
};

struct interleave_found {
    const char *what; // NULL: nothing
    uint32_t states, steps;
    uint8_t *schedule; // `steps` threads, to be freed
};

// What the last step did, for people: a model calls interleave_say() in each step, which is cheap while nobody listens.
static bool interleave_listens;
static char interleave_said[192];

__attribute__((format(printf, 1, 2))) static inline void interleave_say(const char *format, ...)
{
    if (!interleave_listens)
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(interleave_said, sizeof interleave_said, format, values);
    va_end(values);
}

// --- the search ----------------------------------------------------------------------------------------------------------------

#define INTERLEAVE_NONE UINT32_MAX

struct interleave_search {
    const struct interleave_model *model;
    unsigned char *states;
    struct interleave_node {
        uint32_t from, next[INTERLEAVE_THREADS];
        uint8_t by;         // the thread whose step led here
        bool end, can_end;  // every thread has ended; some schedule gets there
    } * nodes;
    uint32_t count, room;
    uint32_t *slots; // 1 + index of a state, by hash; twice `room`
};

static inline void *interleave_resize(void *old, size_t count, size_t bytes)
{
    void *memory = realloc(old, count * bytes);
    if (!memory) {
        perror("interleave");
        exit(1);
    }
    return memory;
}

static inline uint32_t *interleave_slot(const struct interleave_search *search, const unsigned char *state)
{
    const size_t bytes = search->model->state_bytes;
    uint64_t hash = 14695981039346656037u; // FNV-1a
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ state[i]) * 1099511628211u;
    uint32_t mask = 2 * search->room - 1, at = (uint32_t)(hash ^ hash >> 32) & mask;
    while (search->slots[at] && memcmp(search->states + (search->slots[at] - 1) * bytes, state, bytes))
        at = (at + 1) & mask;
    return &search->slots[at];
}

static inline void interleave_grow(struct interleave_search *search)
{
    search->room = search->room ? 2 * search->room : 1024;
    if (search->room > INTERLEAVE_STATES) {
        fprintf(stderr, "interleave: %s has more than %u states\n", search->model->name, INTERLEAVE_STATES);
        exit(1);
    }
    search->states = interleave_resize(search->states, search->room, search->model->state_bytes);
    search->nodes = interleave_resize(search->nodes, search->room, sizeof *search->nodes);
    search->slots = interleave_resize(search->slots, 2 * search->room, sizeof *search->slots);
    memset(search->slots, 0, 2 * search->room * sizeof *search->slots);
    for (uint32_t i = 0; i < search->count; i++)
        *interleave_slot(search, search->states + i * search->model->state_bytes) = i + 1;
}

// The index of a state; a new one has come from `from` by a step of `by`.
static inline uint32_t interleave_visit(struct interleave_search *search, const unsigned char *state, uint32_t from, unsigned by)
{
    if (search->count == search->room)
        interleave_grow(search);
    uint32_t *slot = interleave_slot(search, state);
    if (!*slot) {
        struct interleave_node *node = &search->nodes[search->count];
        *node = (struct interleave_node){.from = from, .by = (uint8_t)by};
        memset(node->next, 0xff, sizeof node->next);
        memcpy(search->states + search->count * search->model->state_bytes, state, search->model->state_bytes);
        *slot = ++search->count;
    }
    return *slot - 1;
}

// Takes every step out of state `at`. Returns what is wrong in it.
static inline const char *interleave_expand(struct interleave_search *search, uint32_t at, unsigned char *scratch)
{
    const struct interleave_model *model = search->model;
    unsigned ended = 0, waits = 0;
    for (unsigned thread = 0; thread < model->threads; thread++) {
        memcpy(scratch, search->states + at * model->state_bytes, model->state_bytes);
        enum interleave_step step = model->step(model->with, scratch, thread);
        ended += step == INTERLEAVE_ENDED;
        waits += step == INTERLEAVE_WAITS;
        if (step == INTERLEAVE_WENT) {
            uint32_t next = interleave_visit(search, scratch, at, thread);
            search->nodes[at].next[thread] = next;
        }
    }
    search->nodes[at].end = search->nodes[at].can_end = ended == model->threads;
    const char *wrong = model->wrong(model->with, search->states + at * model->state_bytes, ended == model->threads);
    return wrong ? wrong : waits && ended + waits == model->threads ? "no thread can go on" : NULL;
}

// The first state from which no schedule reaches the end, or NONE.
static inline uint32_t interleave_trap(struct interleave_search *search)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = search->count; i-- > 0;)
            for (unsigned thread = 0; thread < search->model->threads && !search->nodes[i].can_end; thread++) {
                uint32_t next = search->nodes[i].next[thread];
                if (next != INTERLEAVE_NONE && search->nodes[next].can_end)
                    changed = search->nodes[i].can_end = true;
            }
    }
    for (uint32_t i = 0; i < search->count; i++)
        if (!search->nodes[i].can_end)
            return i;
    return INTERLEAVE_NONE;
}

static inline void interleave_schedule(const struct interleave_search *search, uint32_t at, struct interleave_found *found)
{
    for (uint32_t i = at; i; i = search->nodes[i].from)
        found->steps++;
    found->schedule = interleave_resize(NULL, found->steps + 1, 1);
    uint32_t step = found->steps;
    for (uint32_t i = at; i; i = search->nodes[i].from)
        found->schedule[--step] = search->nodes[i].by;
}

static inline struct interleave_found interleave_explore(const struct interleave_model *model)
{
    struct interleave_search search = {.model = model};
    struct interleave_found found = {.what = NULL};
    unsigned char *scratch = interleave_resize(NULL, 1, model->state_bytes);
    memset(scratch, 0, model->state_bytes);
    model->begin(model->with, scratch);
    interleave_visit(&search, scratch, 0, 0);
    uint32_t at = 0;
    while (at < search.count && !(found.what = interleave_expand(&search, at, scratch)))
        at++;
    if (!found.what && (at = interleave_trap(&search)) != INTERLEAVE_NONE)
        found.what = "no way leads to the end";
    if (found.what)
        interleave_schedule(&search, at, &found);
    found.states = search.count;
    free(search.states);
    free(search.nodes);
    free(search.slots);
    free(scratch);
    return found;
}

// --- for programs --------------------------------------------------------------------------------------------------------------

// Prints what each step of the schedule does.
static inline void interleave_tell(const struct interleave_model *model, const struct interleave_found *found)
{
    unsigned char *state = interleave_resize(NULL, 1, model->state_bytes);
    memset(state, 0, model->state_bytes);
    model->begin(model->with, state);
    interleave_listens = true;
    for (uint32_t i = 0; i < found->steps; i++) {
        interleave_said[0] = '\0';
        model->step(model->with, state, found->schedule[i]);
        printf("    %c  %s\n", 'A' + found->schedule[i], interleave_said);
    }
    interleave_listens = false;
    free(state);
}

// The fault must be reachable, and is told. Anything else ends the program.
static inline void interleave_expect_fault(const struct interleave_model *model, const char *what)
{
    struct interleave_found found = interleave_explore(model);
    if (!found.what || strcmp(found.what, what)) {
        fprintf(stderr, "%s: not \"%s\" but: %s\n", model->name, what, found.what ? found.what : "nothing");
        exit(1);
    }
    printf("%s: %s, after %u steps\n", model->name, found.what, found.steps);
    interleave_tell(model, &found);
    free(found.schedule);
}

// No schedule at all may have a fault.
static inline void interleave_expect_none(const struct interleave_model *model)
{
    struct interleave_found found = interleave_explore(model);
    printf("%s: %s in %u states\n", model->name, found.what ? found.what : "no fault", found.states);
    if (!found.what)
        return;
    interleave_tell(model, &found);
    fprintf(stderr, "%s: %s\n", model->name, found.what);
    exit(1);
}

#endif
