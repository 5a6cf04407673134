// SPDX-License-Identifier: Apache-2.0
#include "sharing_tables.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "locus/region.h"
#include "testbed/stats/tests/contest.h"

// --- a table like ours, in the same kind of memory, probed one id after the other -----------------------------------------------

static struct {
    struct {
        struct locus_id id;     // none: empty
        locus_block block;
    } * slot;
    uint64_t mask;
    struct locus_region *region;
} plain;

static bool plain_open(uint32_t count)
{
    for (plain.mask = 2; plain.mask < 2 * (uint64_t)count;)
        plain.mask *= 2;
    struct locus_region_config config = {.size = sizeof config,
                                         .bytes = plain.mask-- * sizeof *plain.slot,
                                         .memory_class = LOCUS_CLASS_METADATA,
                                         .page = LOCUS_PAGE_THP,
                                         .node = LOCUS_NODE_ANY,
                                         .populate = true};
    CONTEST_NEED(locus_region_open(&plain.region, &config));
    plain.slot = locus_region_base(plain.region);
    return true;
}

static inline uint64_t plain_slot(struct locus_id id)
{
    uint64_t at = id.word[0] & plain.mask;
    while (!locus_id_is_none(plain.slot[at].id) && !locus_id_equal(plain.slot[at].id, id))
        at = (at + 1) & plain.mask;
    return at;
}

static void plain_add(struct locus_id id, locus_block block)
{
    uint64_t at = plain_slot(id);
    plain.slot[at].id = id;
    plain.slot[at].block = block;
}

static uint32_t plain_find(const struct locus_id ids[], uint32_t count, locus_block blocks[])
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = plain_slot(ids[i]);
        blocks[i] = plain.slot[at].block; // LOCUS_BLOCK_NONE where it is empty
        found += blocks[i] != LOCUS_BLOCK_NONE;
    }
    return found;
}

// --- what tables refer to that hold no ids of 128 bits themselves ---------------------------------------------------------------

struct pair {
    struct locus_id id;         // first: a key's address is its pair's
    locus_block block;
};

struct pairs {
    struct pair *pair;
    uint32_t used;
};

static bool pairs_open(struct pairs *pairs, uint32_t count)
{
    return (pairs->pair = calloc(count, sizeof *pairs->pair));
}

static struct pair *pairs_add(struct pairs *pairs, struct locus_id id, locus_block block)
{
    struct pair *pair = &pairs->pair[pairs->used++];
    *pair = (struct pair){id, block};
    return pair;
}

// --- glib: called through dlsym, because its development package brings a dozen others -----------------------------------------

static struct {
    void *table;
    void *(*lookup)(void *table, const void *key);
    int (*insert)(void *table, void *key, void *value);
    struct pairs pairs;
} glib;

static unsigned glib_hash(const void *key)
{
    return (unsigned)((const struct locus_id *)key)->word[0];
}

static int glib_equal(const void *a, const void *b)
{
    return locus_id_equal(*(const struct locus_id *)a, *(const struct locus_id *)b);
}

static bool glib_open(uint32_t count)
{
    void *library = dlopen("libglib-2.0.so.0", RTLD_NOW);
    void *(*make)(unsigned (*hash)(const void *), int (*equal)(const void *, const void *)) = NULL;
    if (!library)
        return false;
    *(void **)&make = dlsym(library, "g_hash_table_new");
    *(void **)&glib.lookup = dlsym(library, "g_hash_table_lookup");
    *(void **)&glib.insert = dlsym(library, "g_hash_table_insert");
    glib.table = make && glib.lookup && glib.insert ? make(glib_hash, glib_equal) : NULL;
    return glib.table && pairs_open(&glib.pairs, count);
}

static void glib_add(struct locus_id id, locus_block block)
{
    glib.insert(glib.table, pairs_add(&glib.pairs, id, block), (void *)(uintptr_t)block);
}

static uint32_t glib_find(const struct locus_id ids[], uint32_t count, locus_block blocks[])
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = (uintptr_t)glib.lookup(glib.table, &ids[i]);
        found += blocks[i] != LOCUS_BLOCK_NONE;
    }
    return found;
}

// --- ck_ht, keys of 16 bytes ----------------------------------------------------------------------------------------------------

#if __has_include(<ck_ht.h>)
#include <ck_ht.h>

static ck_ht_t ck;
static struct pairs ck_pairs;

static void ck_free(void *memory, size_t bytes, bool defer)
{
    (void)bytes;
    (void)defer;
    free(memory);
}

static bool ck_open(uint32_t count)
{
    static struct ck_malloc allocator = {.malloc = malloc, .free = ck_free};
    return pairs_open(&ck_pairs, count) && ck_ht_init(&ck, CK_HT_MODE_BYTESTRING, NULL, &allocator, 2 * (uint64_t)count, 0);
}

static void ck_add(struct locus_id id, locus_block block)
{
    ck_ht_entry_t entry;
    ck_ht_hash_t hash = {.value = id.word[0]};
    const struct pair *pair = pairs_add(&ck_pairs, id, block);
    ck_ht_entry_set(&entry, hash, &pair->id, sizeof pair->id, pair);
    if (!ck_ht_put_spmc(&ck, hash, &entry))
        contest_fail("ck_ht_put_spmc", 0);
}

static uint32_t ck_find(const struct locus_id ids[], uint32_t count, locus_block blocks[])
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        ck_ht_entry_t entry;
        ck_ht_entry_key_set(&entry, &ids[i], sizeof ids[i]);
        bool there = ck_ht_get_spmc(&ck, (ck_ht_hash_t){.value = ids[i].word[0]}, &entry);
        blocks[i] = there ? ((const struct pair *)ck_ht_entry_value(&entry))->block : LOCUS_BLOCK_NONE;
        found += there;
    }
    return found;
}
#else
#define ck_open NULL
#define ck_add NULL
#define ck_find NULL
#endif

// --- liburcu's table, in the flavor whose readers pay nothing -------------------------------------------------------------------

#if __has_include(<urcu/rculfhash.h>)
#include <urcu-qsbr.h>
#include <urcu/rculfhash.h>

struct urcu_entry {
    struct cds_lfht_node node;
    struct locus_id id;
    locus_block block;
};

static struct {
    struct cds_lfht *table;
    struct urcu_entry *entries;
    uint32_t used;
} urcu;

static bool urcu_open(uint32_t count)
{
    unsigned long buckets = 1;
    while (buckets < 2 * (unsigned long)count)
        buckets *= 2;
    urcu_qsbr_register_thread();
    urcu.table = cds_lfht_new_flavor(buckets, buckets, buckets, 0, &urcu_qsbr_flavor, NULL);
    urcu.entries = calloc(count, sizeof *urcu.entries);
    return urcu.table && urcu.entries;
}

static void urcu_add(struct locus_id id, locus_block block)
{
    struct urcu_entry *entry = &urcu.entries[urcu.used++];
    entry->id = id;
    entry->block = block;
    urcu_qsbr_read_lock();
    cds_lfht_add(urcu.table, id.word[0], &entry->node);
    urcu_qsbr_read_unlock();
}

static int urcu_match(struct cds_lfht_node *node, const void *key)
{
    return locus_id_equal(caa_container_of(node, struct urcu_entry, node)->id, *(const struct locus_id *)key);
}

static uint32_t urcu_find(const struct locus_id ids[], uint32_t count, locus_block blocks[])
{
    uint32_t found = 0;
    urcu_qsbr_read_lock();
    for (uint32_t i = 0; i < count; i++) {
        struct cds_lfht_iter at;
        cds_lfht_lookup(urcu.table, ids[i].word[0], urcu_match, &ids[i], &at);
        struct cds_lfht_node *node = cds_lfht_iter_get_node(&at);
        blocks[i] = node ? caa_container_of(node, struct urcu_entry, node)->block : LOCUS_BLOCK_NONE;
        found += node != NULL;
    }
    urcu_qsbr_read_unlock();
    return found;
}
#else
#define urcu_open NULL
#define urcu_add NULL
#define urcu_find NULL
#endif

const struct sharing_table sharing_tables[] = {
    {"plain probe", plain_open, plain_add, plain_find},
    {"ck_ht", ck_open, ck_add, ck_find},
    {"liburcu lfht", urcu_open, urcu_add, urcu_find},
    {"glib", glib_open, glib_add, glib_find},
};
const uint32_t sharing_tables_count = sizeof sharing_tables / sizeof *sharing_tables;
