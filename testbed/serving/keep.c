// SPDX-License-Identifier: Apache-2.0
//
// keep: see keep.h.

#include "testbed/serving/keep.h"
#include "testbed/serving/word.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- settings ------------------------------------------------------------------------------------------------------------------

// "far7000b", "far30gbs", "far1us".
static bool tier_read(struct tb_tier_settings *tier, const char *word, const char *name)
{
    return tb_word_whole(word, name, "b", TB_KEPT_BLOCKS_MAX, &tier->blocks) ||
           (tier->gbs == 0 && tb_setting_number(word, name, "gbs", TB_TIER_GBS_LEAST, TB_TIER_GBS_MOST, &tier->gbs)) ||
           (tier->us == 0 && tb_setting_number(word, name, "us", TB_TIER_US_LEAST, TB_TIER_US_MOST, &tier->us));
}

bool tb_keep_setting(struct tb_serving_settings *settings, const char *word)
{
    if (strcmp(word, "tree") == 0 && !settings->tree)
        return settings->tree = true;
    if (strcmp(word, "alike") == 0 && !settings->alike)
        return settings->alike = true;
    if (tb_shape_find(word) && !settings->shape[0])
        return (size_t)snprintf(settings->shape, sizeof settings->shape, "%s", word) < sizeof settings->shape;
    return tb_word_whole(word, "", "b", TB_KEPT_BLOCKS_MAX, &settings->kept_blocks) ||
           tb_word_whole(word, "first", "", UINT32_MAX, &settings->requests) || tier_read(&settings->far, word, "far") ||
           tier_read(&settings->file, word, "file") ||
           (settings->token_us == 0 &&
            tb_setting_number(word, "token", "us", TB_TIER_US_LEAST, TB_TIER_US_MOST, &settings->token_us));
}

// Appends "/NAME7000b", or nothing to say.
static void say(FILE *out, const char *name, double number, const char *unit)
{
    if (number > 0)
        fprintf(out, "/%s%.10g%s", name, number, unit);
}

void tb_keep_settings_text(const struct tb_serving_settings *settings, char *text, size_t bytes)
{
    FILE *out = fmemopen(text, bytes, "w");
    text[0] = '\0';
    if (!out)
        return;
    fprintf(out, "keep/%ub", settings->kept_blocks);
    say(out, "far", settings->far.blocks, "b");
    say(out, "file", settings->file.blocks, "b");
    fprintf(out, "%s%s", settings->alike ? "/alike" : "", settings->tree ? "/tree" : "");
    if (settings->shape[0] && tb_keep_tiered(settings))
        fprintf(out, "/%s", settings->shape);
    say(out, "far", settings->far.gbs, "gbs");
    say(out, "far", settings->far.us, "us");
    say(out, "file", settings->file.gbs, "gbs");
    say(out, "file", settings->file.us, "us");
    say(out, "token", settings->token_us, "us");
    say(out, "first", settings->requests, "");
    fclose(out);
}

bool tb_keep_tiered(const struct tb_serving_settings *settings)
{
    return settings->far.blocks || settings->file.blocks;
}

// A word about a tier that the cell does not have; NULL: none.
static const char *pointless(const struct tb_serving_settings *settings)
{
    if (!settings->far.blocks && (settings->far.gbs > 0 || settings->far.us > 0))
        return "what a far tier takes is said, but not its size, such as far7000b";
    if (!settings->file.blocks && (settings->file.gbs > 0 || settings->file.us > 0))
        return "what a file takes is said, but not its size, such as file200000b";
    if (!tb_keep_tiered(settings) && (settings->alike || settings->token_us > 0))
        return "'alike' and the price of a token are of tiers, such as file200000b, and the cell has none";
    return NULL;
}

int tb_keep_check(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                  struct tb_why *why)
{
    const char *fault = pointless(settings);
    if (scenario->ids_count && settings->kept_blocks && !fault)
        return 0;
    if (scenario->ids_count && settings->kept_blocks)
        tb_why_set(why, name, 0, "%s", fault);
    else if (scenario->ids_count)
        tb_why_set(why, name, 0, "touch 'keep' needs the blocks of the cache, such as %s/keep/1000b", name);
    else
        tb_why_set(why, name, 0, "its prompts have no ids, by which a cache would find them again");
    return -EINVAL;
}

// --- prices --------------------------------------------------------------------------------------------------------------------

// Stated: the order of what a link between sockets and a good NVMe drive are sold for.
static const struct tb_tier_settings far_default = {0, 30, 1}, file_default = {0, 3, 100};

static struct tb_tier_settings in_full(const struct tb_tier_settings *said, const struct tb_tier_settings *otherwise)
{
    return (struct tb_tier_settings){said->blocks, said->gbs > 0 ? said->gbs : otherwise->gbs,
                                     said->us > 0 ? said->us : otherwise->us};
}

static double move_ns(const struct tb_tier_settings *tier, uint64_t bytes)
{
    return tier->us * 1000 + (double)bytes / tier->gbs;
}

struct tb_keep_prices tb_keep_prices(const struct tb_scenario *scenario, const struct tb_serving_settings *settings)
{
    const struct tb_shape *shape = tb_serving_shape(settings);
    struct tb_keep_prices prices = {
        .block_bytes = scenario->id_tokens * (uint64_t)tb_shape_token_bytes(shape),
        .far = in_full(&settings->far, &far_default),
        .file = in_full(&settings->file, &file_default),
        .token_ns = settings->token_us > 0 ? settings->token_us * 1000 : (double)tb_clock_of(shape).prompt_ns,
    };
    prices.far_ns = move_ns(&prices.far, prices.block_bytes);
    prices.file_ns = move_ns(&prices.file, prices.block_bytes);
    return prices;
}

// --- the model -----------------------------------------------------------------------------------------------------------------

// The price of a token from which hits are worth their moves and those of all that sank. Without hits there is none.
static double even_ns(const struct tb_id_tier_result *tier, double block_ns, uint32_t block_tokens)
{
    if (tier->hits == 0)
        return NAN;
    return block_ns * (1 + (double)tier->sunk / (double)tier->hits) / block_tokens;
}

static void tiered(const struct tb_scenario *scenario, const struct tb_serving_settings *settings,
                   const struct tb_id_cache_result *result, struct tb_tiered *out)
{
    const struct tb_keep_prices prices = tb_keep_prices(scenario, settings);
    const struct tb_id_tier_result *near = &result->tier[TB_ID_NEAR], *far = &result->tier[TB_ID_FAR],
                                   *file = &result->tier[TB_ID_FILE];
    const double references = (double)result->references;
    *out = (struct tb_tiered){
        .hits = result->hits,
        .near_hits = near->hits,
        .far_hits = far->hits,
        .file_hits = file->hits,
        .near_hit_ratio = (double)near->hits / references,
        .far_hit_ratio = (double)far->hits / references,
        .file_hit_ratio = (double)file->hits / references,
        .far_sunk = far->sunk,
        .file_sunk = file->sunk,
        .lost = result->lost,
        .dropped = far->dropped + file->dropped,
        .far_bytes = (far->sunk + far->hits + (settings->file.blocks ? far->left : 0)) * prices.block_bytes,
        .file_bytes = (file->sunk + file->hits) * prices.block_bytes,
        .far_even_ns = even_ns(far, prices.far_ns, scenario->id_tokens),
        .file_even_ns = even_ns(file, prices.file_ns, scenario->id_tokens),
    };
}

int tb_keep(const struct tb_scenario *scenario, const struct tb_serving_settings *settings, const struct locus_evict_ops *policy,
            struct tb_served *out, struct tb_tiered *tiers)
{
    const struct tb_id_cache_config config = {.ops = policy,
                                              .blocks = settings->kept_blocks,
                                              .tree = settings->tree,
                                              .far_blocks = settings->far.blocks,
                                              .file_blocks = settings->file.blocks,
                                              .alike = settings->alike};
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
    *tiers = (struct tb_tiered){0};
    if (tb_keep_tiered(settings))
        tiered(scenario, settings, &result, tiers);
    return 0;
}
