// SPDX-License-Identifier: Apache-2.0
//
// residency: see residency.h.

#include "testbed/serving/adapters/residency.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/stats/random.h"

#define VALUES_PER_RANK UINT64_C(851968) // 32 layers of q and o, 4096 + 4096 each, k and v, 4096 + 1024 each
#define CONVERT_BYTES_PER_NS 20
#define FILE_BYTES_PER_NS 3
#define THRASH_NS UINT64_C(1000000000)
#define NOBODY UINT32_MAX

#define FIELD(type, member, unit, ratio, what) TB_SLOT(struct tb_resided, type, member, unit, what),
const struct tb_slot tb_resided_fields[] = {TB_RESIDED_FIELDS(FIELD) TB_SLOT_END};
#undef FIELD

uint64_t tb_adapter_f16_bytes(uint32_t rank)
{
    return 2 * VALUES_PER_RANK * rank;
}

static uint64_t int8_bytes(uint32_t rank)
{
    return VALUES_PER_RANK * rank;
}

uint64_t tb_adapter_back_ns(uint32_t rank, enum tb_tier tier)
{
    uint64_t convert_ns = (int8_bytes(rank) + tb_adapter_f16_bytes(rank)) / CONVERT_BYTES_PER_NS;
    return tier == TB_TIER_HOT ? 0 : tier == TB_TIER_WARM ? convert_ns : int8_bytes(rank) / FILE_BYTES_PER_NS + convert_ns;
}

struct model {
    const struct tb_adapter_settings *settings;
    const struct tb_resident *resident;
    struct tb_resided *out;
    void *state;                // the policy's
    struct tb_places places;
    struct tb_adapter_use *uses;
    uint32_t count;
    uint32_t *rank;             // of an adapter
    bool *made;                 // its f16 weights were, before
    uint64_t *left_ns;          // when it was hot last, plus 1; 0: it never was
    uint32_t now;               // the adapter that is used; NOBODY: none, time passes
    uint64_t found[TB_TIERS];
    double hot_sum;
};

static void make_f16(struct model *model, uint32_t adapter, enum tb_tier from)
{
    model->out->file_bytes += from == TB_TIER_COLD ? int8_bytes(model->settings->rank) : 0;
    model->out->f16_bytes += tb_adapter_f16_bytes(model->settings->rank);
    model->out->reloaded_bytes += model->made[adapter] ? tb_adapter_f16_bytes(model->settings->rank) : 0;
    model->made[adapter] = true;
}

// Of the adapter that is used everything is there already.
static void moved(void *context, uint32_t adapter, enum tb_tier from, enum tb_tier to, uint64_t now_ns)
{
    struct model *model = context;
    bool used = adapter == model->now;
    if (from == TB_TIER_HOT) {
        model->left_ns[adapter] = now_ns + 1;
        model->out->int8_bytes += to == TB_TIER_WARM ? int8_bytes(model->settings->rank) : 0;
    } else if (to == TB_TIER_HOT) {
        uint64_t left_ns = model->left_ns[adapter];
        model->out->thrash += left_ns && now_ns - (left_ns - 1) <= THRASH_NS;
        model->out->unasked += !used;
        if (!used)
            make_f16(model, adapter, from);
    } else if (to == TB_TIER_WARM && !used) {
        model->out->file_bytes += int8_bytes(model->settings->rank);
    }
}

static int fits(const struct model *model, struct tb_why *why)
{
    const struct tb_places *places = &model->places;
    if (places->count[TB_TIER_HOT] <= places->most[TB_TIER_HOT] && places->count[TB_TIER_WARM] <= places->most[TB_TIER_WARM])
        return 0;
    tb_why_set(why, model->resident->name, 0, "%u adapters are hot and %u are warm, and places there are %u and %u",
               places->count[TB_TIER_HOT], places->count[TB_TIER_WARM], places->most[TB_TIER_HOT], places->most[TB_TIER_WARM]);
    return -EBADMSG;
}

static int use(struct model *model, const struct tb_adapter_use *at, struct tb_why *why)
{
    struct tb_places *places = &model->places;
    model->now = NOBODY;
    if (model->resident->advance)
        model->resident->advance(model->state, at->arrival_ns);
    int error = fits(model, why);
    enum tb_tier tier = (enum tb_tier)places->tier[at->adapter];
    model->found[tier]++;
    model->hot_sum += places->count[TB_TIER_HOT];
    if (tier != TB_TIER_HOT)
        make_f16(model, at->adapter, tier);
    model->now = at->adapter;
    model->resident->use(model->state, at->adapter, at->arrival_ns);
    if (places->count[TB_TIER_HOT] > model->out->hot_most)
        model->out->hot_most = places->count[TB_TIER_HOT];
    return error ? error : fits(model, why);
}

// The least time that at least that part of all uses do not exceed: hot ones take the least, cold ones the most.
static uint64_t back_ns(const struct model *model, uint64_t part, uint64_t whole)
{
    uint64_t seen = 0;
    int tier = TB_TIER_HOT;
    for (; tier > TB_TIER_COLD; tier--) {
        seen += model->found[tier];
        if (seen * whole >= model->count * part)
            break;
    }
    return tb_adapter_back_ns(model->settings->rank, (enum tb_tier)tier);
}

static void figures(struct model *model)
{
    struct tb_resided *out = model->out;
    double count = (double)model->count, sum_ns = 0;
    double span_ns = (double)(model->uses[model->count - 1].arrival_ns - model->uses[0].arrival_ns);
    for (int tier = TB_TIER_COLD; tier < TB_TIER_HOT; tier++) {
        double ns = (double)tb_adapter_back_ns(model->settings->rank, (enum tb_tier)tier) * (double)model->found[tier];
        sum_ns += ns;
    }
    for (uint32_t i = 0; i < model->settings->adapters; i++)
        out->used_adapters += model->made[i];
    out->uses = model->count;
    out->hot_ratio = (double)model->found[TB_TIER_HOT] / count;
    out->warm_ratio = (double)model->found[TB_TIER_WARM] / count;
    out->cold_ratio = (double)model->found[TB_TIER_COLD] / count;
    out->hot_mean = model->hot_sum / count;
    out->back_p50_ns = back_ns(model, 1, 2);
    out->back_p99_ns = back_ns(model, 99, 100);
    out->back_mean_ns = sum_ns / count;
    out->back_busy_ratio = sum_ns / span_ns;
}

// --- a run ---------------------------------------------------------------------------------------------------------------------

// The numbers of the adapters in a random order: a policy that breaks ties by number knows nothing by that.
static void shuffle(struct model *model, uint32_t *number)
{
    uint64_t random = model->settings->seed ^ UINT64_C(0x7265736964656e74);
    tb_random_order(number, model->settings->adapters, &random);
    for (uint32_t rank = 0; rank < model->settings->adapters; rank++)
        model->rank[number[rank]] = rank;
    for (uint32_t i = 0; i < model->count; i++)
        model->uses[i].adapter = number[model->uses[i].adapter];
}

static int model_open(struct model *model, const struct tb_scenario *scenario)
{
    uint32_t adapters = model->settings->adapters;
    struct tb_places *places = &model->places;
    int error = tb_adapter_uses(scenario, model->settings, &model->uses, &model->count);
    if (error)
        return error;
    *places = (struct tb_places){
        .tier = calloc(adapters, sizeof *places->tier),
        .place = calloc(adapters, sizeof *places->place),
        .list =
            {[TB_TIER_WARM] = malloc(adapters * sizeof **places->list), [TB_TIER_HOT] = malloc(adapters * sizeof **places->list)},
        .count = {[TB_TIER_COLD] = adapters},
        .most = {[TB_TIER_COLD] = adapters, [TB_TIER_WARM] = model->settings->warm, [TB_TIER_HOT] = model->settings->hot},
        .moved = moved,
        .context = model,
    };
    model->rank = malloc(adapters * sizeof *model->rank);
    model->made = calloc(adapters, sizeof *model->made);
    model->left_ns = calloc(adapters, sizeof *model->left_ns);
    uint32_t *number = malloc(adapters * sizeof *number);
    error = !places->tier || !places->place || !places->list[TB_TIER_WARM] || !places->list[TB_TIER_HOT] ? -ENOMEM : 0;
    if (!model->rank || !model->made || !model->left_ns || !number)
        error = -ENOMEM;
    if (!error)
        shuffle(model, number);
    free(number);
    const struct tb_resident_setup setup = {places, adapters, model->rank, model->uses, model->count};
    return error ? error : model->resident->open(&model->state, &setup);
}

static void model_close(struct model *model)
{
    if (model->state)
        model->resident->close(model->state);
    free(model->places.tier);
    free(model->places.place);
    free(model->places.list[TB_TIER_WARM]);
    free(model->places.list[TB_TIER_HOT]);
    free(model->uses);
    free(model->rank);
    free(model->made);
    free(model->left_ns);
}

int tb_residency(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, const struct tb_resident *resident,
                 struct tb_resided *out, struct tb_why *why)
{
    struct model model = {.settings = settings, .resident = resident, .out = out, .now = NOBODY};
    *out = (struct tb_resided){0};
    int error = model_open(&model, scenario);
    for (uint32_t i = 0; i < model.count && !error; i++)
        error = use(&model, &model.uses[i], why);
    if (!error)
        figures(&model);
    model_close(&model);
    return error;
}
