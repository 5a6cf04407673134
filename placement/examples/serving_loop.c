// SPDX-License-Identifier: Apache-2.0
//
// A serving loop in miniature, built on the installed library:
//
//     cc -std=c11 -D_GNU_SOURCE -pthread serving_loop.c $(pkg-config --cflags --libs locus)
//
// The main thread is the engine's scheduler. It holds the owner role, so only it takes blocks: one whenever a request's sequence
// outgrows its last one. Two workers finish requests (here: read back every token) and send the blocks home with one push. Only
// the scheduler touches the pool, so the pool needs no lock; the mutex below is the engine's own.
//
// The pool has just enough blocks for LIVE requests. A finished request's blocks may still be on their way when its successor
// needs some; grow then waits for them, instead of failing or taking more memory.
#include <locus/locus.h>
#include <locus/pin.h>

#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, REQUESTS = 2000, LIVE = 32, TOKENS_MAX = 500, TOKENS_PER_BLOCK = 16, TOKEN_BYTES = 256 };
enum { REQUEST_BLOCKS = (TOKENS_MAX + TOKENS_PER_BLOCK - 1) / TOKENS_PER_BLOCK };

struct request {
    struct locus_table *table; // its tag is the number of this slot
    uint32_t wanted, decoded;  // tokens
    bool decoding;             // false from retire until the table is back
    struct request *next;      // in the dispatch queue
};

static struct request slots[LIVE];
static struct locus_pool *pool;
static struct locus_owner *owner;
static uint32_t admitted, served;
static uint64_t tokens;
static _Atomic uint64_t tokens_read_back;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of the dispatch queue
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct request *queue;
static bool closed;

// The library returns 0 or -errno. Here an error ends the program; an engine would refuse the request.
static void check(int result, const char *what)
{
    if (result < 0)
        errx(1, "%s: %s", what, strerror(-result));
}

static unsigned char content(const struct request *request, uint32_t token)
{
    return (unsigned char)(request->wanted * 31 + token);
}

static size_t offset(uint32_t token)
{
    return (size_t)(token % TOKENS_PER_BLOCK) * TOKEN_BYTES;
}

static struct request *next_finished(void)
{
    pthread_mutex_lock(&lock);
    while (!queue && !closed)
        pthread_cond_wait(&changed, &lock);
    struct request *request = queue;
    if (request)
        queue = request->next;
    pthread_mutex_unlock(&lock);
    return request;
}

// Until the push the table belongs to the worker, which may read its blocks. After the push it must not even read the table.
static void *work(void *route)
{
    for (struct request *request; (request = next_finished());) {
        for (uint32_t token = 0; token < request->decoded; token++) {
            const unsigned char *block = locus_pool_address_const(pool, locus_table_at(request->table, token));
            tokens_read_back += block[offset(token)] == content(request, token);
        }
        check(locus_table_push(route, request->table), "push");
    }
    return NULL;
}

static void admit(struct request *request)
{
    static unsigned seed = 41;
    request->decoding = admitted < REQUESTS;
    if (!request->decoding)
        return;
    admitted++;
    request->decoded = 0;
    request->wanted = 1 + (uint32_t)rand_r(&seed) % TOKENS_MAX;
}

static void decode_one_token(struct request *request)
{
    uint32_t token = request->decoded++;
    if (token % TOKENS_PER_BLOCK == 0)
        check(locus_owner_grow(owner, request->table, 1), "grow");
    unsigned char *block = locus_pool_address(pool, locus_table_at(request->table, token));
    memset(block + offset(token), content(request, token), TOKEN_BYTES);
    tokens++;
}

// Declares the blocks to be in flight, then hands the request to the workers.
static void finish(struct request *request)
{
    check(locus_owner_retire(owner, request->table), "retire");
    request->decoding = false;
    pthread_mutex_lock(&lock);
    request->next = queue;
    queue = request;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void serve(void)
{
    while (served < REQUESTS) {
        bool busy = false;
        for (int i = 0; i < LIVE; i++) {
            struct request *request = &slots[i];
            if (!request->decoding)
                continue;
            busy = true;
            decode_one_token(request);
            if (request->decoded == request->wanted)
                finish(request);
        }
        if (!busy)
            sched_yield(); // everything is with the workers
        locus_owner_drain(owner);
        for (struct locus_table *table; (table = locus_owner_next_reclaimed(owner)); served++)
            admit(&slots[table->tag]);
    }
}

static void set_up(void)
{
    const struct locus_pool_config memory = {.size = sizeof memory,
                                             .blocks = LIVE * REQUEST_BLOCKS,
                                             .block_bytes = TOKENS_PER_BLOCK * TOKEN_BYTES,
                                             .node = LOCUS_NODE_ANY};
    check(locus_pool_open(&pool, &memory), "pool");
    const struct locus_owner_config role = {.size = sizeof role, .pool = pool, .lanes = WORKERS, .wait_ns = 10000000000};
    check(locus_owner_open(&owner, &role), "owner");
    check(locus_owner_adopt(owner), "adopt");
    for (uint64_t i = 0; i < LIVE; i++) {
        slots[i].table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, REQUEST_BLOCKS));
        check(locus_table_init(slots[i].table, 1, REQUEST_BLOCKS, TOKENS_PER_BLOCK), "table");
        slots[i].table->tag = i;
        admit(&slots[i]);
    }
}

static int summary(void)
{
    struct locus_pool_stats memory;
    struct locus_owner_stats role;
    locus_pool_stats(pool, &memory);
    locus_owner_stats(owner, &role);
    printf("requests served   %u of %u\n", served, (unsigned)REQUESTS);
    printf("tokens            %llu decoded, %llu read back\n", (unsigned long long)tokens, (unsigned long long)tokens_read_back);
    printf("blocks            %llu allocated, %llu freed\n", (unsigned long long)memory.allocated,
           (unsigned long long)memory.freed);
    printf("high-water        %u of %u blocks\n", memory.outstanding_high, memory.blocks);
    printf("grows that waited %llu\n", (unsigned long long)role.waits);
    bool right = served == REQUESTS && tokens_read_back == tokens && memory.allocated && memory.allocated == memory.freed &&
                 memory.outstanding == 0 && role.blocks_in_flight == 0;
    puts(right ? "all blocks came home" : "MISMATCH");
    return right ? 0 : 1;
}

int main(void)
{
    pthread_t workers[WORKERS];
    struct locus_route routes[WORKERS] = {0}; // each worker has a lane of its own
    unsigned cpu, count;
    set_up();
    for (unsigned i = 0; i < WORKERS; i++) {
        check(locus_route_add_exclusive(&routes[i], owner, i), "route");
        check(-pthread_create(&workers[i], NULL, work, &routes[i]), "thread");
    }
    if (locus_pin_allowed(&cpu, 1, &count) == 0 && locus_pin_cpu((int)cpu))
        fprintf(stderr, "the scheduler runs unpinned\n");
    serve();
    pthread_mutex_lock(&lock);
    closed = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    int status = summary();
    locus_owner_leave(owner);
    locus_owner_close(owner);
    locus_pool_close(pool);
    for (int i = 0; i < LIVE; i++)
        free(slots[i].table);
    return status;
}
