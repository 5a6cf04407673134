// SPDX-License-Identifier: Apache-2.0
//
// chain: the chain of blocks leaves first whose conversation is least likely to go on soon. LOCUS's own policy.
//
// Blocks of a conversation are used together: when its next turn comes, all of them, and until then none. So what is ranked is not
// a block but a chain: the blocks that a request was the last to use. A chain that is held earns its hits when a follow-up comes,
// and costs room for as long as it is held. How long to hold it is a stopping problem, and the best rule is to hold the chains
// that can still reach the highest rate
//
//     best(turn, age) = max over t of P(a follow-up comes in (age, age + t]) / E(time held until it comes or t is over)
//
// (this is the Gittins index of the chain). A recency order has only the age, and drops a chain that is as old as a typical pause
// for one that was just asked and will not go on. Blocks count alike: a long chain costs more and earns more. The tail of the
// worst chain leaves first, so what is left of a chain is still a prefix that a follow-up can use.
//
// Definitions
//   seen        A table of the latest ids of requests, held or not; each names the newest chain that has it. Older ids are
//               forgotten, and so is a chain that no id names and that has no block. So the policy also learns from follow-ups
//               that come after their chain has left.
//   following   The ids of a request are looked up in `seen` up to the first one that is not there. It follows the chain of the
//               last one that is there if it shares more than half as many ids as the request of that chain had. A chain that
//               was followed has no future of its own: what is left of it, and is not part of the new chain, leaves first.
//   turn        If the chain that a request follows is a conversation, its turn is one higher (TURNS - 1 stands for all later
//               ones). Otherwise it is a turn 0.
//   beginning   What a turn 0 shares with others, such as a system prompt, does not wait for a follow-up of this conversation but
//               for the next one that begins alike. So the shared ids become a chain of their own, a beginning, and the rest of
//               the request is its conversation. In a follow-up, the first ids that belonged to beginnings are one again. It
//               follows the beginning that the last of them belonged to, if they are more than half of it. Beginnings are a
//               class like a turn.
//   bins        Of age. Bin 0 ends at 1.4 s; each further one is 1.4 times as long; so a bin's number says how old a chain is on
//               a logarithmic scale, from a second to half a day. A class is a turn, or beginnings, and a bin.
//   learning    Of each class: chains that were followed in it, and chains that outlived it. Those that are in it now count half as
//               outlived; without them, early follow-ups would look like certainty. The share of all turns in a bin, to which
//               PRIOR of one observation is added, counts as SMOOTH observations of each turn. Both counts are halved after every
//               HALVE requests, so that what was true long ago fades. Ranks are recomputed every LEARN requests.
//   victim      Among the classes with kept chains the one with the lowest best(); in it, the chain that came into the class, or
//               got its first block there, longest ago; of its blocks, the one that was kept or adopted last. If that one has kept
//               children, which belong to other chains, it is disowned: it stays, and the chain by which its last kept child
//               leaves adopts it as its tail. So a block is never the victim before the kept blocks below it.
//
// Constants. They are round, and the result is flat around them: on the recorded conversations no number of hits changes by more
// than four in a hundred if SMOOTH, LEARN or PRIOR are four times as large or small, or with 4 or 8 turns.
//
// Cost. Amortized O(1) for a block: every list operation is O(1), a chain passes each bin once, and a block is disowned at most
// once for each time it is kept or adopted. A request also costs a look at each class, and an eviction at most that. Memory: 56
// bytes a block, 4 ids a block of 36 to 40 bytes, and 2 chains a block of 56 bytes: about 320 bytes a block. But at least 65,536
// ids and 16,384 chains (3.5 MB): to learn from pauses, the table must reach back longer than they last.
#include "locus/evict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "list.h"

enum { TURNS = 6, BEGINNING = TURNS, ROWS, BINS = 32, CLASSES = ROWS * BINS + 1, FOLLOWED = CLASSES - 1 };
enum { SMOOTH = 8, LEARN = 32, HALVE = 1 << 16 };
enum { IDS_PER_BLOCK = 4, IDS_MIN = 1 << 16, IDS_PER_CHAIN = 4, STRAYS = 0 };
#define PRIOR 0.05
#define NS_PER_S UINT64_C(1000000000)

struct block {
    struct locus_id id, parent_id; // parent_id: of `parent` when this one was kept; another block may be there now
    uint32_t parent;
    uint32_t children;          // that are kept
    uint32_t chain;             // LOCUS_EVICT_NONE: it is in use, or disowned
    bool kept;
};

struct chain {
    uint64_t asked_ns;
    uint32_t references;        // by ids in `seen` and by blocks
    uint32_t length;            // ids of the request
    uint16_t turn, bin;
    bool followed;
    struct list blocks;         // kept ones, in the order in which they were kept or adopted
};

struct class
{
    struct list chains;         // all, by age; not of FOLLOWED
    struct list kept;           // those with kept blocks, in the order in which they got the first one
    double followed, outlived;  // how many chains, fading
    double best;                // follow-ups per ns
};

struct policy {
    struct block *block;
    struct link *block_links;
    struct ids seen;
    struct list seen_age;       // slots, the one that was not asked for the longest time first
    struct link *seen_links;
    uint32_t *seen_chain;       // of a slot
    struct chain *chain;        // STRAYS: blocks whose chain is not known
    struct link *age_links, *kept_links; // of chains; free ones hang together by age_links[].newer
    uint32_t chain_free;
    struct class class[CLASSES];
    uint16_t rank[CLASSES];     // classes, the worst first
    uint64_t bin_end_ns[BINS];
    uint64_t requests;
};

// --- chains ---------------------------------------------------------------------------------------------------------------------

static struct class *class_of(struct policy *policy, const struct chain *chain)
{
    return &policy->class[chain->followed ? FOLLOWED : chain->turn * BINS + chain->bin];
}

// Takes a chain out of its class, and puts it into that of its present turn, bin and fate.
static void class_leave(struct policy *policy, uint32_t c)
{
    struct chain *chain = &policy->chain[c];
    if (!chain->followed)
        list_remove(&class_of(policy, chain)->chains, policy->age_links, c);
    if (chain->blocks.count)
        list_remove(&class_of(policy, chain)->kept, policy->kept_links, c);
}

static void class_enter(struct policy *policy, uint32_t c)
{
    struct chain *chain = &policy->chain[c];
    if (!chain->followed)
        list_push(&class_of(policy, chain)->chains, policy->age_links, c);
    if (chain->blocks.count)
        list_push(&class_of(policy, chain)->kept, policy->kept_links, c);
}

static void release(struct policy *policy, uint32_t c)
{
    if (--policy->chain[c].references > 0)
        return;
    class_leave(policy, c);
    policy->age_links[c].newer = policy->chain_free;
    policy->chain_free = c;
}

static void own(struct policy *policy, uint32_t c, uint32_t block)
{
    struct chain *chain = &policy->chain[c];
    chain->references++;
    policy->block[block].chain = c;
    list_push(&chain->blocks, policy->block_links, block);
    if (chain->blocks.count == 1)
        list_push(&class_of(policy, chain)->kept, policy->kept_links, c);
}

static void disown(struct policy *policy, uint32_t block)
{
    uint32_t c = policy->block[block].chain;
    struct chain *chain = &policy->chain[c];
    policy->block[block].chain = LOCUS_EVICT_NONE;
    list_remove(&chain->blocks, policy->block_links, block);
    if (chain->blocks.count == 0)
        list_remove(&class_of(policy, chain)->kept, policy->kept_links, c);
    release(policy, c);
}

// --- what was seen ---------------------------------------------------------------------------------------------------------------

static void forget_oldest(struct policy *policy)
{
    uint32_t slot = policy->seen_age.oldest;
    list_remove(&policy->seen_age, policy->seen_links, slot);
    ids_drop(&policy->seen, slot);
    release(policy, policy->seen_chain[slot]);
}

static void see(struct policy *policy, struct locus_id id, uint32_t c)
{
    uint32_t slot = ids_find(&policy->seen, id);
    policy->chain[c].references++;
    if (slot != LOCUS_EVICT_NONE) {
        list_remove(&policy->seen_age, policy->seen_links, slot);
        release(policy, policy->seen_chain[slot]);
    } else {
        if (policy->seen.free == LOCUS_EVICT_NONE)
            forget_oldest(policy);
        slot = ids_add(&policy->seen, id);
    }
    policy->seen_chain[slot] = c;
    list_push(&policy->seen_age, policy->seen_links, slot);
}

// How many of a request's first ids were seen. *last: the chain of the last one of them.
static uint32_t seen_before(const struct policy *policy, const struct locus_id ids[], uint32_t count, uint32_t *last)
{
    uint32_t shared = 0;
    for (uint32_t slot; shared < count && (slot = ids_find(&policy->seen, ids[shared])) != LOCUS_EVICT_NONE; shared++)
        *last = policy->seen_chain[slot];
    return shared;
}

// How many of them belong to beginnings.
static uint32_t begun_before(const struct policy *policy, const struct locus_id ids[], uint32_t shared)
{
    uint32_t begun = 0;
    while (begun < shared && policy->chain[policy->seen_chain[ids_find(&policy->seen, ids[begun])]].turn == BEGINNING)
        begun++;
    return begun;
}

// --- learning --------------------------------------------------------------------------------------------------------------------

static void grow_older(struct policy *policy, uint64_t now_ns)
{
    for (int i = 0; i < FOLLOWED; i++) {
        struct class *class = &policy->class[i];
        const int bin = i % BINS;
        uint32_t c;
        while (bin < BINS - 1 && (c = class->chains.oldest) != LOCUS_EVICT_NONE &&
               now_ns - policy->chain[c].asked_ns >= policy->bin_end_ns[bin]) {
            class_leave(policy, c);
            policy->chain[c].bin++;
            class_enter(policy, c);
            class->outlived++;
        }
    }
}

static double observed(const struct class *class)
{
    return class->followed + class->outlived + class->chains.count / 2.0;
}

// best() of a turn's classes. chance[b]: that a chain which reached bin b is followed there.
static void rate(struct policy *policy, struct class row[BINS], const double chance[BINS])
{
    for (int bin = 0; bin < BINS; bin++) {
        double alive = 1, followed = 0, held_ns = 0;
        row[bin].best = 0;
        for (int b = bin; b < BINS; b++) {
            const double bin_ns = (double)(policy->bin_end_ns[b] - (b ? policy->bin_end_ns[b - 1] : 0));
            held_ns += alive * bin_ns * (1 - chance[b] / 2);
            followed += alive * chance[b];
            alive *= 1 - chance[b];
            if (followed / held_ns > row[bin].best)
                row[bin].best = followed / held_ns;
        }
    }
}

// Insertion, as little has changed since the last time. FOLLOWED is the first, with a best() of 0.
static void sort(struct policy *policy)
{
    for (int i = 1; i < CLASSES; i++) {
        const uint16_t moved = policy->rank[i];
        int at = i;
        for (; at > 0 && policy->class[policy->rank[at - 1]].best > policy->class[moved].best; at--)
            policy->rank[at] = policy->rank[at - 1];
        policy->rank[at] = moved;
    }
}

static void learn(struct policy *policy)
{
    double common[BINS], chance[BINS];
    for (int bin = 0; bin < BINS; bin++) {
        double followed = PRIOR, all = 1;
        for (int turn = 0; turn < TURNS; turn++) {
            followed += policy->class[turn * BINS + bin].followed;
            all += observed(&policy->class[turn * BINS + bin]);
        }
        common[bin] = followed / all;
    }
    for (int turn = 0; turn < ROWS; turn++) {
        struct class *row = &policy->class[turn * BINS];
        for (int bin = 0; bin < BINS; bin++)
            chance[bin] = (row[bin].followed + SMOOTH * common[bin]) / (observed(&row[bin]) + SMOOTH);
        rate(policy, row, chance);
    }
    sort(policy);
}

static void fade(struct policy *policy)
{
    for (int i = 0; i < CLASSES; i++) {
        policy->class[i].followed /= 2;
        policy->class[i].outlived /= 2;
    }
}

// --- the policy ------------------------------------------------------------------------------------------------------------------

static uint32_t chain_new(struct policy *policy, const struct chain *chain)
{
    while (policy->chain_free == LOCUS_EVICT_NONE)
        forget_oldest(policy);
    uint32_t c = policy->chain_free;
    policy->chain_free = policy->age_links[c].newer;
    policy->chain[c] = *chain;
    class_enter(policy, c);
    return c;
}

// A request had the first `shared` ids of a chain, or more. Does it follow it?
static bool follow(struct policy *policy, uint32_t c, uint32_t shared)
{
    struct chain *chain = &policy->chain[c];
    if (shared <= chain->length / 2)
        return false;
    class_of(policy, chain)->followed++;
    class_leave(policy, c);
    chain->followed = true;
    class_enter(policy, c);
    return true;
}

static void name(struct policy *policy, uint64_t now_ns, uint16_t turn, uint32_t length, const struct locus_id ids[],
                 uint32_t count)
{
    struct chain chain = {.asked_ns = now_ns, .references = 1, .length = length, .turn = turn, .blocks = LIST_EMPTY};
    uint32_t c = chain_new(policy, &chain);
    for (uint32_t i = 0; i < count; i++)
        see(policy, ids[i], c);
    release(policy, c);
}

static void chain_request(void *state, uint64_t now_ns, const struct locus_id ids[], uint32_t count)
{
    struct policy *policy = state;
    uint32_t last = STRAYS, shared = seen_before(policy, ids, count, &last), begun = shared;
    uint16_t turn = policy->chain[last].turn, next = 0;
    grow_older(policy, now_ns);
    if (policy->requests % LEARN == 0)
        learn(policy);
    if (++policy->requests % HALVE == 0)
        fade(policy);
    if (shared > 0 && turn != BEGINNING && follow(policy, last, shared)) {
        next = turn + (turn < TURNS - 1);
        begun = begun_before(policy, ids, shared);
    }
    if (begun > 0) {
        uint32_t c = policy->seen_chain[ids_find(&policy->seen, ids[begun - 1])];
        if (policy->chain[c].turn == BEGINNING)
            follow(policy, c, begun);
        name(policy, now_ns, BEGINNING, begun, ids, begun);
    }
    name(policy, now_ns, next, count, ids + begun, count - begun);
}

// The chain of a block that is to be kept. Ids that no request had, of blocks that were decoded, belong to the chain above them,
// and are seen from now on.
static uint32_t chain_of(struct policy *policy, uint32_t block)
{
    uint32_t slot, above = block;
    while ((slot = ids_find(&policy->seen, policy->block[above].id)) == LOCUS_EVICT_NONE) {
        const struct block *below = &policy->block[above];
        above = below->parent;
        if (above == LOCUS_EVICT_NONE || !locus_id_equal(policy->block[above].id, below->parent_id))
            return STRAYS;
    }
    uint32_t c = policy->seen_chain[slot];
    for (uint32_t b = block; b != above; b = policy->block[b].parent)
        see(policy, policy->block[b].id, c);
    return c;
}

static void chain_insert(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh)
{
    struct policy *policy = state;
    struct block *kept = &policy->block[block];
    struct locus_id parent_id = parent == LOCUS_EVICT_NONE ? (struct locus_id){{0}} : policy->block[parent].id;
    *kept = (struct block){id, parent_id, parent, fresh ? 0 : kept->children, LOCUS_EVICT_NONE, true};
    if (parent != LOCUS_EVICT_NONE)
        policy->block[parent].children++;
    own(policy, chain_of(policy, block), block);
}

// It is taken or leaves. If it was the last kept child of a disowned block, its chain adopts that one.
static void chain_remove(void *state, uint32_t block)
{
    struct policy *policy = state;
    struct block *gone = &policy->block[block], *parent = gone->parent == LOCUS_EVICT_NONE ? NULL : &policy->block[gone->parent];
    gone->kept = false;
    if (parent && --parent->children == 0 && parent->kept && parent->chain == LOCUS_EVICT_NONE)
        own(policy, gone->chain == LOCUS_EVICT_NONE ? STRAYS : gone->chain, gone->parent);
    if (gone->chain != LOCUS_EVICT_NONE)
        disown(policy, block);
}

// The order in which disowned blocks come back is that in which their children leave, so a second call finds the same victim.
static uint32_t chain_victim(void *state)
{
    struct policy *policy = state;
    for (int i = 0; i < CLASSES; i++) {
        const struct list *kept = &policy->class[policy->rank[i]].kept;
        while (kept->count > 0) {
            uint32_t block = policy->chain[kept->oldest].blocks.newest;
            if (policy->block[block].children == 0)
                return block;
            disown(policy, block);
        }
    }
    return LOCUS_EVICT_NONE;
}

static void chain_close(void *state)
{
    struct policy *policy = state;
    if (!policy)
        return;
    ids_close(&policy->seen);
    free(policy->block);
    free(policy->block_links);
    free(policy->seen_links);
    free(policy->seen_chain);
    free(policy->chain);
    free(policy->age_links);
    free(policy->kept_links);
    free(policy);
}

static int allocate(struct policy *policy, uint32_t blocks, uint32_t ids, uint32_t chains)
{
    int error = ids_open(&policy->seen, ids);
    policy->block = calloc(blocks, sizeof *policy->block);
    policy->block_links = calloc(blocks, sizeof *policy->block_links);
    policy->seen_links = calloc(ids, sizeof *policy->seen_links);
    policy->seen_chain = calloc(ids, sizeof *policy->seen_chain);
    policy->chain = calloc(chains, sizeof *policy->chain);
    policy->age_links = calloc(chains, sizeof *policy->age_links);
    policy->kept_links = calloc(chains, sizeof *policy->kept_links);
    if (error || !policy->block || !policy->block_links || !policy->seen_links || !policy->seen_chain || !policy->chain ||
        !policy->age_links || !policy->kept_links)
        return -ENOMEM;
    for (uint32_t c = 0; c < chains; c++)
        policy->age_links[c].newer = c + 1 < chains ? c + 1 : LOCUS_EVICT_NONE;
    return 0;
}

static void clear(struct policy *policy)
{
    policy->seen_age = LIST_EMPTY;
    for (int i = 0; i < CLASSES; i++) {
        policy->class[i].chains = policy->class[i].kept = LIST_EMPTY;
        policy->rank[i] = (uint16_t)i;
    }
    for (int b = 0; b < BINS; b++) // 2 to the power of (b + 1) / 2
        policy->bin_end_ns[b] = (NS_PER_S << ((b + 1) / 2)) * (b % 2 ? 1000 : 1414) / 1000;
    policy->chain_free = STRAYS;
    chain_new(policy, &(struct chain){.references = 1, .followed = true, .blocks = LIST_EMPTY});
}

// Forgetting all ids frees every chain that has no block, so one chain more than blocks and STRAYS is always enough.
static int chain_open(void **state, uint32_t blocks)
{
    *state = NULL;
    if (blocks == 0 || blocks >= LOCUS_EVICT_NONE / 8)
        return -EINVAL;
    struct policy *policy = calloc(1, sizeof *policy);
    const uint32_t ids = blocks > IDS_MIN / IDS_PER_BLOCK ? IDS_PER_BLOCK * blocks : IDS_MIN;
    if (!policy)
        return -ENOMEM;
    if (allocate(policy, blocks, ids, ids / IDS_PER_CHAIN + blocks + 2)) {
        chain_close(policy);
        return -ENOMEM;
    }
    clear(policy);
    *state = policy;
    return 0;
}

const struct locus_evict_ops locus_evict_chain = {
    .name = "chain",
    .summary = "the conversation that is least likely to go on soon leaves first, from its end; learned from turns and pauses",
    .open = chain_open,
    .close = chain_close,
    .request = chain_request,
    .hit = chain_remove,
    .insert = chain_insert,
    .victim = chain_victim,
    .remove = chain_remove,
};
LOCUS_EVICT(locus_evict_chain);
