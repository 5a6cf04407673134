// SPDX-License-Identifier: Apache-2.0
//
// adapter: see adapter.h. Each version is a small state machine: step() looks at what it has and what is wanted of it, and starts
// at most one operation of a tier; the operation's end calls step() again. So whatever changes (a release, a move of the policy, an
// end), the same function decides what follows, and no call waits for another but load and unload.
//
//     wanted and not in pages     -> allocate, load from warm, or else from cold; keep the pin. No room yet: poll asks again
//     not the newest, no holders  -> free the pages, drop from warm, drop from cold, and be gone
//     no holders, place WARM      -> store to warm, then free the pages
//     no holders, place COLD      -> free the pages, drop from warm
//
// The cold copy is there from load to drop, so pages and warm copies may vanish at any time: the arena evicts unpinned ranges
// without asking, and that shows when the next pin is refused.

#include "locus/adapter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "locus/pages.h"
#include "placement/base/config.h"

#define POLL_NS UINT64_C(1000000000) // of one wait for what must end; there is no limit in all

enum busy { IDLE, BRINGING_WARM, BRINGING_COLD, SINKING, DROPPING_WARM, DROPPING_COLD, LOADING };

struct locus_adapter_version {
    struct locus_adapters *adapters;
    struct locus_adapter_version *next, *before; // all versions there are
    struct locus_adapter_version *waiting_next;
    uint64_t key, bytes;
    locus_range range;          // LOCUS_RANGE_NONE: not in pages, as far as is known
    uint32_t holders;
    enum busy busy;             // the one operation that is under way
    bool newest;
    bool wanted;                // somebody waits for it: bring it, and keep it until it is acquired
    bool kept;                  // pinned for whoever waits: acquire takes this pin over
    bool waits;                 // in adapters->waiting
    bool asked;                 // by acquire, in vain so far
    bool in_warm, in_cold;
    bool no_warm;               // the warm tier does not take it
    bool still;                 // unload waits for it: no end starts anything
    int dropped;                // what the cold tier's drop said
    int error;                  // why it could not be brought back; told once
    struct locus_tier_op op;
};

struct locus_adapters {
    struct locus_pages *pages;
    struct locus_tier *cold, *warm;
    const struct locus_adapter_policy *policy;
    void *state;
    uint64_t page_bytes;        // the arena's
    uint64_t now_ns;
    uint32_t numbers;
    struct locus_adapter_version **newest; // [numbers]
    uint32_t *next_version;     // [numbers]: greater than any that is or was; what could not be dropped never comes back as newest
    uint64_t *cost_ns;          // [numbers], or NULL
    struct locus_adapter_version *all;
    struct locus_adapter_version *waiting; // wanted, and the arena had no room yet: poll asks again, the longest wait first
    bool closing;
    struct locus_adapters_stats stats;
};

static void step(struct locus_adapter_version *version);

static uint32_t number_of(const struct locus_adapter_version *version)
{
    return (uint32_t)(version->key >> 32);
}

static struct locus_adapter_version *version_new(struct locus_adapters *adapters, uint64_t key, uint64_t bytes)
{
    struct locus_adapter_version *version = calloc(1, sizeof *version);
    if (!version)
        return NULL;
    version->adapters = adapters;
    version->key = key;
    version->bytes = bytes;
    version->next = adapters->all;
    if (version->next)
        version->next->before = version;
    adapters->all = version;
    adapters->stats.versions++;
    return version;
}

static struct locus_adapter_version **waiting_at(struct locus_adapters *adapters, const struct locus_adapter_version *version)
{
    struct locus_adapter_version **at = &adapters->waiting;
    while (*at != version)
        at = &(*at)->waiting_next;
    return at;
}

static void waiting_add(struct locus_adapter_version *version)
{
    if (version->waits)
        return;
    version->waits = true;
    version->waiting_next = NULL;
    *waiting_at(version->adapters, NULL) = version;
}

static void waiting_remove(struct locus_adapter_version *version)
{
    if (version->waits)
        *waiting_at(version->adapters, version) = version->waiting_next;
    version->waits = false;
}

static void version_free(struct locus_adapter_version *version)
{
    struct locus_adapters *adapters = version->adapters;
    waiting_remove(version);
    *(version->before ? &version->before->next : &adapters->all) = version->next;
    if (version->next)
        version->next->before = version->before;
    adapters->stats.versions--;
    free(version);
}

// --- operations and their ends --------------------------------------------------------------------------------------------------

static void pages_give_back(struct locus_adapter_version *version)
{
    if (version->range != LOCUS_RANGE_NONE)
        locus_pages_free(version->adapters->pages, NULL, version->range); // -ESTALE: it was evicted
    version->range = LOCUS_RANGE_NONE;
}

static bool bringing(const struct locus_adapter_version *version)
{
    return version->busy == BRINGING_WARM || version->busy == BRINGING_COLD;
}

// Pinned, if it is in pages. False: it is not, or it is about to leave.
static bool keep(struct locus_adapter_version *version)
{
    if (version->kept || version->range == LOCUS_RANGE_NONE || bringing(version))
        return version->kept;
    int error = locus_pages_pin(version->adapters->pages, version->range);
    if (error == -ESTALE)
        version->range = LOCUS_RANGE_NONE;
    version->kept = error == 0;
    return version->kept;
}

static void keep_no_more(struct locus_adapter_version *version)
{
    if (version->kept)
        locus_pages_unpin(version->adapters->pages, version->range);
    version->kept = false;
}

// The pin of the time in which a tier reads or writes the range ends here, or is kept: unpinned before anybody could acquire it,
// what was brought might leave again for what somebody else waits for, and so on in turn.
static void done(struct locus_tier_op *op, int result)
{
    struct locus_adapter_version *version =
        (struct locus_adapter_version *)((char *)op - offsetof(struct locus_adapter_version, op));
    struct locus_adapters *adapters = version->adapters;
    enum busy was = version->busy;
    version->busy = IDLE;
    if ((was == BRINGING_WARM || was == BRINGING_COLD) && result == 0 && version->wanted)
        version->kept = true;
    else if (was == BRINGING_WARM || was == BRINGING_COLD || was == SINKING)
        locus_pages_unpin(adapters->pages, version->range);
    if (was == BRINGING_WARM || was == BRINGING_COLD) {
        if (result)
            pages_give_back(version);
        version->no_warm |= was == BRINGING_WARM && result; // the tier has a copy that it cannot give
        adapters->stats.warm_failed += was == BRINGING_WARM && result;
        adapters->stats.brought_warm += was == BRINGING_WARM && !result;
        adapters->stats.brought_cold += was == BRINGING_COLD && !result;
        version->error =
            was == BRINGING_COLD && version->wanted ? result : 0; // nobody asks what became of a prefetch that was cancelled
        version->wanted &= version->error == 0;
    } else if (was == SINKING) {
        version->in_warm = result == 0;
        version->no_warm |= result != 0;
        adapters->stats.demoted += result == 0;
        adapters->stats.demote_refused += result != 0;
    } else if (was == DROPPING_WARM) {
        version->in_warm = false;
    } else if (was == DROPPING_COLD) {
        version->in_cold = version->still && result != 0;
        version->dropped = result;
    } else {
        version->in_cold = result == 0;
        version->error = result;
        return; // load() goes on
    }
    step(version);
}

// A tier in memory calls done() before it returns, so what is under way is said first. Returns an error that did not begin.
static int begin(struct locus_adapter_version *version, enum busy what, struct locus_tier *tier, const void *memory)
{
    version->op.done = done;
    version->busy = what;
    struct locus_id key = locus_id_of(version->key);
    int error = 0;
    if (what == BRINGING_WARM || what == BRINGING_COLD)
        error =
            locus_tier_load(tier, key, locus_pages_address(version->adapters->pages, version->range), version->bytes, &version->op);
    else if (what == SINKING || what == LOADING)
        error = locus_tier_store(tier, key, memory, version->bytes, &version->op);
    else
        error = locus_tier_drop(tier, key, &version->op);
    if (error)
        version->busy = IDLE;
    return error;
}

static void bring(struct locus_adapter_version *version)
{
    struct locus_adapters *adapters = version->adapters;
    uint64_t pages = (version->bytes + adapters->page_bytes - 1) / adapters->page_bytes;
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_ADAPTER, .pages = (uint32_t)pages, .owner = number_of(version)};
    ask.cost_ns = adapters->cost_ns ? adapters->cost_ns[number_of(version)] : 0;
    int error = pages > LOCUS_PAGES_MAX ? -EINVAL : locus_pages_alloc(adapters->pages, NULL, &ask, &version->range);
    if (error) {
        version->range = LOCUS_RANGE_NONE;
        version->wanted = error == -EAGAIN; // then room is on its way, and poll asks again
        version->error = version->wanted ? 0 : error;
        if (version->wanted)
            waiting_add(version);
        return;
    }
    if (version->in_warm && !version->no_warm) {
        if (begin(version, BRINGING_WARM, adapters->warm, NULL) == 0)
            return; // its end, which may have come, goes on with the cold copy if it must
        version->in_warm = false;
        adapters->stats.warm_failed++;
    }
    error = begin(version, BRINGING_COLD, adapters->cold, NULL);
    if (error) {
        locus_pages_unpin(adapters->pages, version->range);
        pages_give_back(version);
        version->error = error;
        version->wanted = false;
    }
}

// Pages to warm. False: that is not to be, so the pages may go as they are.
static bool demote(struct locus_adapter_version *version)
{
    struct locus_adapters *adapters = version->adapters;
    if (!adapters->warm || version->in_warm || version->no_warm)
        return false;
    if (locus_pages_pin(adapters->pages, version->range) != 0)
        return false; // it has left, or is about to: that may fail, so the range is given back all the same
    int error = begin(version, SINKING, adapters->warm, locus_pages_address(adapters->pages, version->range));
    if (error == 0)
        return true;
    locus_pages_unpin(adapters->pages, version->range);
    version->no_warm |= error != -ENOSPC; // room may come, an int8 for NaN does not
    adapters->stats.demote_refused++;
    return false;
}

static void leave_all(struct locus_adapter_version *version)
{
    struct locus_adapters *adapters = version->adapters;
    pages_give_back(version);
    if (version->in_warm && begin(version, DROPPING_WARM, adapters->warm, NULL) == 0)
        return;
    version->in_warm = false;
    // A cold tier that takes no drops keeps the object: a later open finds it, and drops it again.
    if (version->in_cold && begin(version, DROPPING_COLD, adapters->cold, NULL) == 0)
        return;
    version_free(version);
}

static void wait_at(struct locus_adapter_version *version, enum locus_adapter_place place)
{
    struct locus_adapters *adapters = version->adapters;
    if (place == LOCUS_ADAPTER_HOT)
        return;
    if (version->range != LOCUS_RANGE_NONE && place == LOCUS_ADAPTER_WARM && demote(version))
        return; // done() comes back to here, or did
    pages_give_back(version);
    bool useless = place == LOCUS_ADAPTER_COLD || version->no_warm; // the latter: it is damaged
    if (version->in_warm && useless && begin(version, DROPPING_WARM, adapters->warm, NULL) != 0)
        version->in_warm = false;
}

static void step(struct locus_adapter_version *version)
{
    struct locus_adapters *adapters = version->adapters;
    if (version->busy != IDLE || version->still || adapters->closing)
        return;
    if (version->wanted && keep(version))
        return;
    if (version->wanted && version->range == LOCUS_RANGE_NONE)
        bring(version);
    else if (version->wanted)
        waiting_add(version); // it is about to leave its pages, and may not have to
    else if (version->holders > 0)
        return;
    else if (!version->newest)
        leave_all(version);
    else
        wait_at(version, adapters->policy->place(adapters->state, adapters->now_ns, number_of(version)));
}

static void moves(struct locus_adapters *adapters)
{
    struct locus_adapter_policy_move move;
    while (adapters->policy->moved(adapters->state, adapters->now_ns, &move))
        if (adapters->newest[move.adapter])
            step(adapters->newest[move.adapter]);
}

// Each once, though who is refused again joins the end.
static void ask_again(struct locus_adapters *adapters)
{
    uint32_t count = 0;
    for (const struct locus_adapter_version *version = adapters->waiting; version; version = version->waiting_next)
        count++;
    for (; count > 0; count--) {
        struct locus_adapter_version *version = adapters->waiting;
        waiting_remove(version);
        step(version);
    }
}

static void advance(struct locus_adapters *adapters, uint64_t now_ns)
{
    if (adapters->now_ns < now_ns)
        adapters->now_ns = now_ns;
}

// --- open and close -------------------------------------------------------------------------------------------------------------

static int found(void *context, struct locus_id id, uint64_t bytes)
{
    struct locus_adapters *adapters = context;
    uint64_t key = id.word[0];
    if (id.word[1] || key >> 32 >= adapters->numbers)
        return -EINVAL;
    struct locus_adapter_version **newest = &adapters->newest[key >> 32], *version = version_new(adapters, key, bytes);
    if (!version)
        return -ENOMEM;
    version->in_cold = true;
    if (adapters->next_version[key >> 32] <= (uint32_t)key)
        adapters->next_version[key >> 32] = (uint32_t)key + ((uint32_t)key < UINT32_MAX);
    if (*newest && (*newest)->key > key)
        return 0;
    if (*newest)
        (*newest)->newest = false;
    version->newest = true;
    *newest = version;
    return 0;
}

static void all_free(struct locus_adapters *adapters)
{
    while (adapters->all)
        version_free(adapters->all);
    if (adapters->state)
        adapters->policy->close(adapters->state);
    free(adapters->newest);
    free(adapters->next_version);
    free(adapters->cost_ns);
    free(adapters);
}

static int prepare(struct locus_adapters *adapters, const struct locus_adapters_config *config)
{
    int error = adapters->policy->open(&adapters->state, &config->policy_config);
    if (error)
        return error;
    adapters->numbers = config->policy_config.adapters;
    adapters->newest = calloc(adapters->numbers, sizeof(struct locus_adapter_version *));
    adapters->next_version = calloc(adapters->numbers, sizeof *adapters->next_version);
    if (!adapters->newest || !adapters->next_version)
        return -ENOMEM;
    if (config->policy_config.cost_ns) {
        adapters->cost_ns = malloc(adapters->numbers * sizeof *adapters->cost_ns);
        if (!adapters->cost_ns)
            return -ENOMEM;
        memcpy(adapters->cost_ns, config->policy_config.cost_ns, adapters->numbers * sizeof *adapters->cost_ns);
    }
    return locus_tier_each(adapters->cold, found, adapters);
}

int locus_adapters_open(struct locus_adapters **out, const struct locus_adapters_config *given)
{
    struct locus_adapters_config config;
    *out = NULL;
    int error = config_take(&config, sizeof config, given);
    if (error)
        return error;
    if (!config.pages || !config.cold || config.cold == config.warm)
        return -EINVAL;
    struct locus_adapters *adapters = calloc(1, sizeof *adapters);
    if (!adapters)
        return -ENOMEM;
    adapters->pages = config.pages;
    adapters->cold = config.cold;
    adapters->warm = config.warm;
    adapters->page_bytes = locus_pages_page_bytes(config.pages);
    adapters->policy = config.policy ? config.policy : &locus_adapter_policy_lru;
    error = prepare(adapters, &config);
    if (error) {
        all_free(adapters);
        return error;
    }
    for (struct locus_adapter_version *version = adapters->all, *next; version; version = next) {
        next = version->next;
        if (!version->newest)
            step(version);
    }
    *out = adapters;
    return 0;
}

// Until the operation has ended.
static void wait_for(struct locus_adapter_version *version)
{
    struct locus_adapters *adapters = version->adapters;
    while (version->busy != IDLE) {
        locus_tier_poll(adapters->cold, POLL_NS);
        if (adapters->warm)
            locus_tier_poll(adapters->warm, 0);
    }
}

int locus_adapters_close(struct locus_adapters *adapters)
{
    if (!adapters)
        return 0;
    if (adapters->stats.holds > 0)
        return -EBUSY;
    adapters->closing = true; // no end starts anything
    for (struct locus_adapter_version *version = adapters->all; version; version = version->next) {
        wait_for(version);
        keep_no_more(version);
        pages_give_back(version);
        if (version->in_warm && begin(version, DROPPING_WARM, adapters->warm, NULL) == 0)
            wait_for(version);
        if (!version->newest && version->in_cold && begin(version, DROPPING_COLD, adapters->cold, NULL) == 0)
            wait_for(version);
    }
    all_free(adapters);
    return 0;
}

// --- calls ----------------------------------------------------------------------------------------------------------------------

static void retire(struct locus_adapters *adapters, uint32_t number)
{
    struct locus_adapter_version *version = adapters->newest[number];
    adapters->newest[number] = NULL;
    if (!version)
        return;
    version->newest = version->wanted = false;
    keep_no_more(version);
    step(version);
}

int locus_adapters_load(struct locus_adapters *adapters, uint64_t now_ns, uint32_t number, const void *weights, uint64_t bytes)
{
    advance(adapters, now_ns);
    if (number >= adapters->numbers || bytes == 0 || bytes % sizeof(uint16_t) != 0)
        return -EINVAL;
    if (adapters->next_version[number] == UINT32_MAX)
        return -EOVERFLOW;
    uint64_t key = (uint64_t)number << 32 | adapters->next_version[number];
    struct locus_adapter_version *version = version_new(adapters, key, bytes);
    if (!version)
        return -ENOMEM;
    int error = begin(version, LOADING, adapters->cold, weights);
    if (!error)
        wait_for(version);
    error = error ? error : version->error;
    if (error) {
        version_free(version);
        return error;
    }
    adapters->next_version[number]++;
    retire(adapters, number);
    version->newest = true;
    adapters->newest[number] = version;
    return 0;
}

// It has no cold copy when this returns 0.
static int drop_cold(struct locus_adapter_version *version)
{
    wait_for(version);
    if (!version->in_cold)
        return 0;
    int error = begin(version, DROPPING_COLD, version->adapters->cold, NULL);
    if (error)
        return error;
    wait_for(version);
    return version->dropped;
}

// The newest version goes last: if the process dies on the way, a restart must not find an older one, which holders keep, instead.
static int forget_cold(struct locus_adapters *adapters, uint32_t number)
{
    struct locus_adapter_version *version, *next;
    int error = 0;
    for (version = adapters->all; version; version = version->next)
        version->still = number_of(version) == number;
    for (version = adapters->all; version && !error; version = version->next)
        if (version->still && !version->newest)
            error = drop_cold(version);
    error = error ? error : drop_cold(adapters->newest[number]);
    for (version = adapters->all; version; version = next) {
        next = version->next;
        if (!version->still)
            continue;
        version->still = false;
        if (error || !version->newest) // it goes on where it was
            step(version);
    }
    return error;
}

int locus_adapters_unload(struct locus_adapters *adapters, uint64_t now_ns, uint32_t number)
{
    advance(adapters, now_ns);
    if (number >= adapters->numbers || !adapters->newest[number])
        return -ENOENT;
    int error = forget_cold(adapters, number);
    if (error)
        return error;
    retire(adapters, number);
    adapters->policy->forget(adapters->state, adapters->now_ns, number); // others rise at most, so nothing moves before poll looks
    return 0;
}

static int error_of(struct locus_adapter_version *version)
{
    int error = version->error ? version->error : -EAGAIN;
    version->error = 0;
    version->asked &= error == -EAGAIN; // an error ends the prefetch
    return error;
}

int locus_adapters_acquire(struct locus_adapters *adapters, uint64_t now_ns, uint32_t number, struct locus_adapter_hold *hold)
{
    advance(adapters, now_ns);
    struct locus_adapter_version *version = number < adapters->numbers ? adapters->newest[number] : NULL;
    if (!version)
        return -ENOENT;
    bool there = keep(version);
    adapters->stats.found_pages += there && !version->asked;
    if (!there) {
        version->wanted = version->error == 0;
        step(version);
        version->asked = true;
        if (!keep(version)) // a tier in memory has it at once
            return error_of(version);
    }
    version->wanted = version->asked = version->kept = false; // the pin is now the holder's
    version->holders++;
    adapters->stats.holds++;
    *hold = (struct locus_adapter_hold){locus_pages_address(adapters->pages, version->range), version->bytes, version};
    adapters->policy->use(adapters->state, adapters->now_ns, number);
    moves(adapters);
    return 0;
}

void locus_adapters_release(struct locus_adapters *adapters, uint64_t now_ns, struct locus_adapter_hold *hold)
{
    struct locus_adapter_version *version = hold->version;
    advance(adapters, now_ns);
    *hold = (struct locus_adapter_hold){0};
    locus_pages_unpin(adapters->pages, version->range);
    version->holders--;
    adapters->stats.holds--;
    step(version);
}

int locus_adapters_prefetch(struct locus_adapters *adapters, uint64_t now_ns, uint32_t number)
{
    advance(adapters, now_ns);
    struct locus_adapter_version *version = number < adapters->numbers ? adapters->newest[number] : NULL;
    if (!version)
        return -ENOENT;
    version->wanted = version->error == 0;
    step(version);
    int error = error_of(version);
    return error == -EAGAIN ? 0 : error;
}

int locus_adapters_cancel(struct locus_adapters *adapters, uint64_t now_ns, uint32_t number)
{
    advance(adapters, now_ns);
    struct locus_adapter_version *version = number < adapters->numbers ? adapters->newest[number] : NULL;
    if (!version || (!version->wanted && version->error == 0))
        return -ENOENT;
    version->wanted = version->asked = false;
    version->error = 0; // who it was for is gone
    keep_no_more(version);
    step(version);
    return 0;
}

void locus_adapters_poll(struct locus_adapters *adapters, uint64_t now_ns, uint64_t wait_ns)
{
    advance(adapters, now_ns);
    moves(adapters);
    locus_tier_poll(adapters->cold, wait_ns);
    if (adapters->warm)
        locus_tier_poll(adapters->warm, 0);
    ask_again(adapters);
}

void locus_adapters_stats(const struct locus_adapters *adapters, struct locus_adapters_stats *out)
{
    *out = adapters->stats;
}

bool locus_adapters_where(struct locus_adapters *adapters, uint64_t now_ns, uint32_t number, struct locus_adapter_where *out)
{
    advance(adapters, now_ns);
    const struct locus_adapter_version *version = number < adapters->numbers ? adapters->newest[number] : NULL;
    if (!version)
        return false;
    *out = (struct locus_adapter_where){.pages = version->range != LOCUS_RANGE_NONE && !bringing(version),
                                        .warm = version->in_warm,
                                        .moving = version->busy != IDLE,
                                        .holders = version->holders,
                                        .place = adapters->policy->place(adapters->state, adapters->now_ns, number)};
    return true;
}
