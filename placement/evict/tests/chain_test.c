// SPDX-License-Identifier: Apache-2.0
//
// chain: evicts what a naive twin evicts, which is written from the definitions in chain.c with scans over all that ever happened;
// and prefers the conversations that go on.
#include <criterion/criterion.h>
#include <string.h>

#include "placement/evict/tests/evict_ids.h"

enum { TURNS = 6, BEGINNING = TURNS, ROWS, BINS = 32, LEARN = 32, SMOOTH = 8 };
enum { CHAINS = 12000, IDS = 60000, BLOCKS = 64, DEPTH_MAX = 24, NOBODY = -1 };
#define PRIOR 0.05
#define NO_ID UINT64_MAX
#define S UINT64_C(1000000000)

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

// --- the twin -------------------------------------------------------------------------------------------------------------------

static struct chain {
    uint64_t asked_ns, entered; // when it came into its class, or got its first block there: a number that grows
    unsigned length, names;     // ids in its request; ids that name it
    int turn, bin;
    bool followed;
    unsigned count, block[BLOCKS];
} chains[CHAINS];

static unsigned chains_count, requests;
static uint64_t entries;
static int seen[IDS];           // the newest chain of an id
static double followed[ROWS][BINS], outlived[ROWS][BINS], best[ROWS * BINS + 1];
static int rank[ROWS * BINS + 1];

static struct {
    uint64_t id;
    int parent, owner;
    bool kept;
} blocks[BLOCKS];

static uint64_t bin_end_ns(int bin)
{
    uint64_t ns = S;
    for (int b = -1; b + 2 <= bin; b += 2)
        ns *= 2;
    return bin % 2 ? ns : ns * 1414 / 1000;
}

// One that is named by no id and has no block is forgotten.
static bool counts(const struct chain *chain)
{
    return !chain->followed && (chain->names > 0 || chain->count > 0);
}

static int class_of(const struct chain *chain)
{
    return chain->followed ? ROWS * BINS : chain->turn * BINS + chain->bin;
}

static void grow_older(uint64_t now_ns)
{
    for (unsigned c = 0; c < chains_count; c++) {
        struct chain *chain = &chains[c];
        while (counts(chain) && chain->bin < BINS - 1 && now_ns - chain->asked_ns >= bin_end_ns(chain->bin)) {
            outlived[chain->turn][chain->bin++]++;
            chain->entered = entries++;
        }
    }
}

static double observed(int turn, int bin)
{
    unsigned inside = 0;
    for (unsigned c = 0; c < chains_count; c++)
        inside += counts(&chains[c]) && chains[c].turn == turn && chains[c].bin == bin;
    return followed[turn][bin] + outlived[turn][bin] + inside / 2.0;
}

static double best_of(const double chance[BINS], int bin)
{
    double most = 0, alive = 1, gone_on = 0, held_ns = 0;
    for (int b = bin; b < BINS; b++) {
        held_ns += alive * (double)(bin_end_ns(b) - (b ? bin_end_ns(b - 1) : 0)) * (1 - chance[b] / 2);
        gone_on += alive * chance[b];
        alive *= 1 - chance[b];
        most = gone_on / held_ns > most ? gone_on / held_ns : most;
    }
    return most;
}

static void learn(void)
{
    double seen_by[ROWS][BINS], chance[BINS];
    for (int t = 0; t < ROWS; t++)
        for (int b = 0; b < BINS; b++)
            seen_by[t][b] = observed(t, b);
    for (int t = 0; t < ROWS; t++) {
        for (int b = 0; b < BINS; b++) {
            double sum = PRIOR, all = 1;
            for (int u = 0; u < TURNS; u++) {
                sum += followed[u][b];
                all += seen_by[u][b];
            }
            chance[b] = (followed[t][b] + SMOOTH * (sum / all)) / (seen_by[t][b] + SMOOTH);
        }
        for (int b = 0; b < BINS; b++)
            best[t * BINS + b] = best_of(chance, b);
    }
    for (int pass = 0; pass < ROWS * BINS; pass++) // any stable sort will do
        for (int i = 0; i < ROWS * BINS; i++)
            if (best[rank[i]] > best[rank[i + 1]]) {
                int moved = rank[i];
                rank[i] = rank[i + 1];
                rank[i + 1] = moved;
            }
}

static void twin_open(void)
{
    chains_count = requests = 0;
    entries = 0;
    memset(seen, 0xff, sizeof seen); // NOBODY
    memset(followed, 0, sizeof followed);
    memset(outlived, 0, sizeof outlived);
    memset(best, 0, sizeof best);
    memset(blocks, 0, sizeof blocks);
    for (int i = 0; i <= ROWS * BINS; i++)
        rank[i] = i;
}

static bool follow(struct chain *chain, unsigned shared)
{
    if (2 * shared <= chain->length)
        return false;
    if (!chain->followed)
        followed[chain->turn][chain->bin]++;
    chain->followed = true;
    chain->entered = entries++;
    return true;
}

static void name(uint64_t now_ns, int turn, unsigned length, const uint64_t ids[], unsigned count)
{
    chains[chains_count] = (struct chain){.asked_ns = now_ns, .turn = turn, .length = length, .names = count};
    for (unsigned i = 0; i < count; i++) {
        if (seen[ids[i]] != NOBODY)
            chains[seen[ids[i]]].names--;
        seen[ids[i]] = (int)chains_count;
    }
    chains_count++;
}

static void twin_request(uint64_t now_ns, const uint64_t ids[], unsigned count)
{
    unsigned shared = 0, begun;
    int turn = 0;
    grow_older(now_ns);
    if (requests++ % LEARN == 0)
        learn();
    while (shared < count && seen[ids[shared]] != NOBODY)
        shared++;
    begun = shared;
    struct chain *last = shared > 0 ? &chains[seen[ids[shared - 1]]] : NULL;
    if (last && last->turn != BEGINNING && follow(last, shared)) {
        turn = last->turn < TURNS - 1 ? last->turn + 1 : TURNS - 1;
        for (begun = 0; chains[seen[ids[begun]]].turn == BEGINNING; begun++)
            continue;
    }
    if (begun > 0 && chains[seen[ids[begun - 1]]].turn == BEGINNING)
        follow(&chains[seen[ids[begun - 1]]], begun);
    if (begun > 0)
        name(now_ns, BEGINNING, begun, ids, begun);
    name(now_ns, turn, count, ids + begun, count - begun);
}

static bool has_kept_children(int block)
{
    for (int b = 0; b < BLOCKS; b++)
        if (blocks[b].kept && blocks[b].parent == block)
            return true;
    return false;
}

static void own(int owner, int block)
{
    struct chain *chain = &chains[owner];
    if (chain->count == 0)
        chain->entered = entries++;
    chain->block[chain->count++] = (unsigned)block;
    blocks[block].owner = owner;
}

static void disown(int block)
{
    struct chain *chain = &chains[blocks[block].owner];
    unsigned at = 0;
    while (chain->block[at] != (unsigned)block)
        at++;
    memmove(&chain->block[at], &chain->block[at + 1], (--chain->count - at) * sizeof chain->block[0]);
    blocks[block].owner = NOBODY;
}

static void twin_keep(int block, uint64_t id, int parent)
{
    blocks[block].id = id;
    blocks[block].parent = parent;
    blocks[block].kept = true;
    own(seen[id], block);
}

static void twin_leave(int block)
{
    const int parent = blocks[block].parent;
    blocks[block].kept = false;
    if (parent != NOBODY && blocks[parent].kept && blocks[parent].owner == NOBODY && !has_kept_children(parent))
        own(blocks[block].owner, parent);
    if (blocks[block].owner != NOBODY)
        disown(block);
}

static int place(const struct chain *chain)
{
    int at = 0;
    while (rank[at] != class_of(chain))
        at++;
    return at;
}

static int twin_victim(void)
{
    for (;;) {
        const struct chain *worst = NULL;
        int worst_place = 0;
        for (unsigned c = 0; c < chains_count; c++) {
            int at = chains[c].count ? place(&chains[c]) : 0;
            if (chains[c].count && (!worst || at < worst_place || (at == worst_place && chains[c].entered < worst->entered))) {
                worst = &chains[c];
                worst_place = at;
            }
        }
        int block = (int)worst->block[worst->count - 1];
        if (!has_kept_children(block))
            return block;
        disown(block);
    }
}

// --- the policy beside it -------------------------------------------------------------------------------------------------------

static const struct locus_evict_ops *const ops = &locus_evict_chain;
static void *state;
static uint64_t held[BLOCKS];   // ids
static unsigned used, evictions;

static int find(uint64_t id)
{
    for (unsigned b = 0; b < used; b++)
        if (held[b] == id)
            return (int)b;
    return NOBODY;
}

// A parent that has left meanwhile is none.
static void keep(int block, uint64_t id, uint64_t above, bool fresh)
{
    const int parent = find(above);
    ops->insert(state, (uint32_t)block, as_id(id), parent == NOBODY ? LOCUS_EVICT_NONE : (uint32_t)parent, fresh);
    twin_keep(block, id, parent);
}

static void reference(uint64_t id, uint64_t above)
{
    int block = find(id);
    if (block != NOBODY) {
        ops->hit(state, (uint32_t)block);
        twin_leave(block);
        keep(block, id, above, false);
        return;
    }
    if (used == BLOCKS) {
        block = (int)ops->victim(state);
        cr_assert_eq(ops->victim(state), (uint32_t)block);
        int expected = twin_victim();
        cr_assert_eq(block, expected, "request %u: %llu left, not %llu", requests, (unsigned long long)held[block],
                     (unsigned long long)held[expected]);
        ops->remove(state, (uint32_t)block);
        twin_leave(block);
        evictions++;
    } else {
        block = (int)used++;
    }
    held[block] = id;
    keep(block, id, above, true);
}

static void request(uint64_t now_ns, const uint64_t ids[], unsigned count)
{
    ops->request(state, now_ns, as_ids(ids, count), count);
    twin_request(now_ns, ids, count);
    for (unsigned i = 0; i < count; i++)
        reference(ids[i], i ? ids[i - 1] : NO_ID);
}

struct talk {
    uint64_t ids[DEPTH_MAX];
    unsigned count;
};

// Conversations begin with one of three shared beginnings, go on, are edited in the middle, or end; pauses are short and long.
static unsigned next_prompt(struct talk talks[], uint64_t *fresh)
{
    enum { TALKS = 12 };
    unsigned i = (unsigned)draw(TALKS), more = (unsigned)draw(5);
    struct talk *talk = &talks[i];
    if (talk->count == 0 || talk->count + more > DEPTH_MAX || draw(3) == 0) {
        uint64_t shared = draw(3);
        talk->count = (unsigned)shared + 1;
        for (uint64_t k = 0; k <= shared; k++)
            talk->ids[k] = 10 * shared + k;
    } else if (draw(8) == 0) {
        talk->count -= (unsigned)draw(talk->count / 2 + 1);
    }
    for (; more > 0; more--)
        talk->ids[talk->count++] = (*fresh)++;
    return i;
}

Test(chain, is_its_twin)
{
    static struct talk talks[12];
    for (unsigned round = 1; round <= 4; round++) {
        uint64_t fresh = 100, now_ns = 0;
        seed = round;
        used = evictions = 0;
        memset(talks, 0, sizeof talks);
        twin_open();
        cr_assert_eq(ops->open(&state, BLOCKS), 0);
        for (unsigned r = 0; r < 1500; r++) {
            unsigned i = next_prompt(talks, &fresh);
            now_ns += draw(10) ? draw(2 * S) : draw(60 * S);
            request(now_ns, talks[i].ids, talks[i].count);
        }
        cr_expect_gt(evictions, 3000);
        ops->close(state);
    }
}

// --- what it is for -------------------------------------------------------------------------------------------------------------

// Half of the first turns are asked in pairs, 30 seconds apart; the others are never followed. After the pause the pairs are worth
// more than what came a moment ago, and what was followed up is worth least.
Test(chain, waits_for_the_pause_that_it_has_learned)
{
    uint64_t id = 1000;
    used = 0;
    twin_open();
    cr_assert_eq(ops->open(&state, BLOCKS), 0);
    for (unsigned t = 0; t < 600; t++) {
        const uint64_t talk[4] = {id, id + 1, id + 2, id + 3};
        ops->request(state, t * S, as_ids(talk, 2), 2);
        if (t >= 30)
            ops->request(state, t * S, as_ids((uint64_t[]){id - 120, id - 119, id - 118, id - 117}, 4), 4);
        id += 4;
    }
    for (uint32_t b = 0; b < 2; b++) // asked 20 seconds ago: soon it is followed
        ops->insert(state, b, as_id(id - 80 + b), b ? 0 : LOCUS_EVICT_NONE, true);
    for (uint32_t b = 2; b < 6; b++) // second turns never are
        ops->insert(state, b, as_id(id - 120 - 4 + b - 2), b > 2 ? b - 1 : LOCUS_EVICT_NONE, true);
    cr_expect_eq(ops->victim(state), 5);
    for (uint32_t b = 5; b >= 2; b--) {
        cr_assert_eq(ops->victim(state), b);
        ops->remove(state, b);
    }
    cr_expect_eq(ops->victim(state), 1);
    ops->close(state);
}

// Every second a prompt comes that begins like the one before and that nobody follows up. What it begins with stays longer than its
// rest, and than a prompt that came later and begins like no other.
Test(chain, keeps_beginnings)
{
    uint64_t ids[7] = {1, 2, 3};
    cr_assert_eq(ops->open(&state, 8), 0);
    for (uint64_t r = 0; r < 500; r++) {
        for (uint64_t i = 0; i < 4; i++)
            ids[3 + i] = 100 + 4 * r + i;
        ops->request(state, r * S, as_ids(ids, 7), 7);
    }
    for (uint32_t b = 0; b < 7; b++)
        ops->insert(state, b, as_id(ids[b]), b ? b - 1 : LOCUS_EVICT_NONE, true);
    ops->request(state, 500 * S, as_ids((uint64_t[]){50, 51}, 2), 2);
    ops->insert(state, 7, as_id(50), LOCUS_EVICT_NONE, true);
    for (uint32_t left = 0; left < 5; left++) {
        uint32_t victim = ops->victim(state);
        cr_assert_geq(victim, 3, "block %u of the beginning leaves", victim);
        ops->remove(state, victim);
    }
    cr_expect_eq(ops->victim(state), 2);
    ops->close(state);
}

// Blocks that were decoded have ids that no request had. They belong to the chain above them, even if they are kept tail first.
Test(chain, decoded_blocks_belong_to_their_prompt)
{
    cr_assert_eq(ops->open(&state, 8), 0);
    ops->request(state, 0, as_ids((uint64_t[]){1, 2}, 2), 2);
    ops->request(state, S, as_ids((uint64_t[]){11}, 1), 1);
    ops->insert(state, 5, as_id(11), LOCUS_EVICT_NONE, true);
    ops->insert(state, 0, as_id(1), LOCUS_EVICT_NONE, true);
    ops->insert(state, 1, as_id(2), 0, true);
    ops->insert(state, 2, as_id(3), 1, true);
    ops->insert(state, 3, as_id(4), 2, true);
    ops->request(state, 40 * S, as_ids((uint64_t[]){1, 2, 3, 4, 5}, 5), 5); // its answer is a part of the next prompt: a follow-up
    ops->hit(state, 0);
    ops->hit(state, 1);
    ops->insert(state, 1, as_id(2), 0, false); // kept tail first, and the request did not use the answer's blocks after all
    ops->insert(state, 0, as_id(1), LOCUS_EVICT_NONE, false);
    for (unsigned left = 0; left < 5; left++) {
        uint32_t victim = ops->victim(state);
        cr_assert_neq(victim, LOCUS_EVICT_NONE);
        cr_expect(victim == 5 || victim == 3 - left || victim == 4 - left, "%u leaves before those below it", victim);
        ops->remove(state, victim);
    }
    cr_expect_eq(ops->victim(state), LOCUS_EVICT_NONE);
    ops->close(state);
}

// More ids than the table holds: old ones are forgotten, chains are used again, and all goes on.
Test(chain, forgets)
{
    uint64_t ids[600];
    cr_assert_eq(ops->open(&state, 2), 0);
    for (uint64_t r = 0; r < 60000; r++) {
        const uint32_t count = r % 1000 ? 1 + r % 3 : 600;
        for (uint32_t i = 0; i < count; i++)
            ids[i] = r * 1000 + i;
        ops->request(state, r * S, as_ids(ids, count), count);
        const uint32_t block = r % 2;
        if (r >= 2) {
            cr_assert_lt(ops->victim(state), 2);
            ops->remove(state, block);
        }
        ops->insert(state, block, as_id(ids[0]), LOCUS_EVICT_NONE, true);
    }
    ops->close(state);
}
