// SPDX-License-Identifier: Apache-2.0
//
// keep: see keep.h.

#include "testbed/serving/keep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct locus_evict_ops *tb_policy_at(uint32_t i)
{
    if (locus_evict_at(i))
        return locus_evict_at(i);
    return i == 0 || locus_evict_at(i - 1) ? &tb_clairvoyant : NULL;
}

const struct locus_evict_ops *tb_policy_find(const char *name)
{
    uint32_t i = 0;
    while (tb_policy_at(i) && strcmp(tb_policy_at(i)->name, name))
        i++;
    return tb_policy_at(i);
}

// --- settings ------------------------------------------------------------------------------------------------------------------

// A whole number before or after letters: "1000b", "first6000".
static bool whole_read(const char *word, const char *before, const char *after, uint32_t most, uint32_t *out)
{
    size_t length = strlen(before);
    char *end;
    if (*out || strncmp(word, before, length) || word[length] < '1' || word[length] > '9')
        return false;
    unsigned long long number = strtoull(word + length, &end, 10);
    if (strcmp(end, after) || number > most)
        return false;
    *out = (uint32_t)number;
    return true;
}

bool tb_keep_setting(struct tb_serving_settings *settings, const char *word)
{
    if (strcmp(word, "tree") == 0 && !settings->tree)
        return settings->tree = true;
    return whole_read(word, "", "b", TB_KEPT_BLOCKS_MAX, &settings->kept_blocks) ||
           whole_read(word, "first", "", UINT32_MAX, &settings->requests);
}

void tb_keep_settings_text(const struct tb_serving_settings *settings, char *out, size_t bytes)
{
    char first[32] = "";
    if (settings->requests)
        snprintf(first, sizeof first, "/first%u", settings->requests);
    snprintf(out, bytes, "keep/%ub%s%s", settings->kept_blocks, settings->tree ? "/tree" : "", first);
}

int tb_keep_check(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                  struct tb_why *why)
{
    if (scenario->ids_count && settings->kept_blocks)
        return 0;
    if (scenario->ids_count)
        tb_why_set(why, name, 0, "touch 'keep' needs the blocks of the cache, such as %s/keep/1000b", name);
    else
        tb_why_set(why, name, 0, "its prompts have no ids, by which a cache would find them again");
    return -EINVAL;
}

// --- the model -----------------------------------------------------------------------------------------------------------------

int tb_keep(const struct tb_scenario *scenario, const struct tb_serving_settings *settings, const struct locus_evict_ops *policy,
            struct tb_served *out)
{
    const struct tb_id_cache_config config = {.ops = policy, .blocks = settings->kept_blocks, .tree = settings->tree};
    struct tb_id_cache_result result;
    struct tb_id_request *requests = calloc(scenario->count, sizeof *requests);
    if (!requests)
        return -ENOMEM;
    for (size_t i = 0; i < scenario->count; i++) {
        const struct tb_request *from = &scenario->requests[i];
        requests[i] = (struct tb_id_request){from->arrival_ns, scenario->ids + from->ids_first, from->ids_count};
    }
    int error = tb_id_cache_run(requests, scenario->count, &config, &result);
    free(requests);
    if (error)
        return error;
    out->requests = scenario->count;
    out->hit_ratio = (double)result.hits / (double)result.references;
    return 0;
}
