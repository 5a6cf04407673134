// SPDX-License-Identifier: Apache-2.0
//
// residency: see residency.h.

#include "testbed/serving/adapters/residency.h"

#include <errno.h>
#include <stdlib.h>

#define VALUES_PER_RANK UINT64_C(851968) // 32 layers of q and o, 4096 + 4096 each, k and v, 4096 + 1024 each
#define CONVERT_BYTES_PER_NS 20
#define FILE_BYTES_PER_NS 3
#define THRASH_NS UINT64_C(1000000000)

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

uint64_t tb_adapter_back_ns(uint32_t rank, enum locus_adapter_place place)
{
    uint64_t convert_ns = (int8_bytes(rank) + tb_adapter_f16_bytes(rank)) / CONVERT_BYTES_PER_NS;
    if (place == LOCUS_ADAPTER_HOT)
        return 0;
    return place == LOCUS_ADAPTER_WARM ? convert_ns : int8_bytes(rank) / FILE_BYTES_PER_NS + convert_ns;
}

#define PLACES 3

struct model {
    const struct tb_adapter_settings *settings;
    const struct locus_adapter_policy *resident;
    struct tb_resided *out;
    struct tb_why *why;
    void *state;                // the policy's
    struct tb_adapter_use *uses;
    uint32_t count;
    uint8_t *place;             // of an adapter, as the policy reported it
    uint32_t places[PLACES];    // how many are there
    bool *made;                 // its f16 weights were, before
    uint64_t *left_ns;          // when it was hot last, plus 1; 0: it never was
    uint64_t found[PLACES];
    double hot_sum;
};

static int broken(struct model *model, const char *what, uint32_t adapter)
{
    tb_why_set(model->why, model->resident->name, 0, "%s: adapter %u, and %u are hot and %u warm", what, adapter,
               model->places[LOCUS_ADAPTER_HOT], model->places[LOCUS_ADAPTER_WARM]);
    return -EBADMSG;
}

static void make_f16(struct model *model, uint32_t adapter, enum locus_adapter_place from)
{
    model->out->cold_bytes += from == LOCUS_ADAPTER_COLD ? int8_bytes(model->settings->rank) : 0;
    model->out->f16_bytes += tb_adapter_f16_bytes(model->settings->rank);
    model->out->reloaded_bytes += model->made[adapter] ? tb_adapter_f16_bytes(model->settings->rank) : 0;
    model->made[adapter] = true;
}

// Of the adapter that is used everything is there already.
static void account(struct model *model, const struct locus_adapter_policy_move *move, uint32_t used, uint64_t now_ns)
{
    struct tb_resided *out = model->out;
    bool asked = move->adapter == used;
    if (move->from == LOCUS_ADAPTER_HOT) {
        model->left_ns[move->adapter] = now_ns + 1;
        out->int8_bytes += move->to == LOCUS_ADAPTER_WARM ? int8_bytes(model->settings->rank) : 0;
    } else if (move->to == LOCUS_ADAPTER_HOT) {
        uint64_t left_ns = model->left_ns[move->adapter];
        out->thrash += left_ns && now_ns - (left_ns - 1) <= THRASH_NS;
        out->unasked += !asked;
        if (!asked)
            make_f16(model, move->adapter, move->from);
    } else if (move->to == LOCUS_ADAPTER_WARM && !asked) {
        out->cold_bytes += int8_bytes(model->settings->rank);
    }
}

// What the policy moves at this time; `used`: the adapter that is used now.
static int moves(struct model *model, uint32_t used, uint64_t now_ns)
{
    struct locus_adapter_policy_move move;
    while (model->resident->moved(model->state, now_ns, &move)) {
        if (move.adapter >= model->settings->adapters || model->place[move.adapter] != (uint8_t)move.from || move.from == move.to)
            return broken(model, "a move from where it is not", move.adapter);
        model->place[move.adapter] = (uint8_t)move.to;
        model->places[move.from]--;
        model->places[move.to]++;
        account(model, &move, used, now_ns);
    }
    if (model->places[LOCUS_ADAPTER_HOT] > model->settings->hot || model->places[LOCUS_ADAPTER_WARM] > model->settings->warm)
        return broken(model, "more than there are places", used);
    if (model->places[LOCUS_ADAPTER_HOT] > model->out->hot_most)
        model->out->hot_most = model->places[LOCUS_ADAPTER_HOT];
    return 0;
}

// What time alone changes, at its own moments.
static int advance(struct model *model, uint64_t now_ns)
{
    uint64_t due_ns;
    int error = 0;
    while (!error && (due_ns = model->resident->due_ns(model->state)) <= now_ns) {
        error = moves(model, LOCUS_ADAPTER_NONE, due_ns);
        if (!error && model->resident->due_ns(model->state) <= due_ns)
            return broken(model, "what was due is due again", LOCUS_ADAPTER_NONE);
    }
    return error;
}

static int use(struct model *model, const struct tb_adapter_use *at)
{
    int error = advance(model, at->arrival_ns);
    if (error)
        return error;
    enum locus_adapter_place place = model->resident->place(model->state, at->arrival_ns, at->adapter);
    if (model->place[at->adapter] != (uint8_t)place)
        return broken(model, "a place that was not reported", at->adapter);
    model->found[place]++;
    model->hot_sum += model->places[LOCUS_ADAPTER_HOT];
    if (place != LOCUS_ADAPTER_HOT)
        make_f16(model, at->adapter, place);
    model->resident->use(model->state, at->arrival_ns, at->adapter);
    return moves(model, at->adapter, at->arrival_ns);
}

// The least time that at least that part of all uses do not exceed: hot ones take the least, cold ones the most.
static uint64_t back_ns(const struct model *model, uint64_t part, uint64_t whole)
{
    uint64_t seen = 0;
    int place = LOCUS_ADAPTER_HOT;
    for (; place > LOCUS_ADAPTER_COLD; place--) {
        seen += model->found[place];
        if (seen * whole >= model->count * part)
            break;
    }
    return tb_adapter_back_ns(model->settings->rank, (enum locus_adapter_place)place);
}

static void figures(struct model *model)
{
    struct tb_resided *out = model->out;
    double count = (double)model->count, sum_ns = 0;
    double span_ns = (double)(model->uses[model->count - 1].arrival_ns - model->uses[0].arrival_ns);
    bool *used = model->made; // its work is done
    for (int place = LOCUS_ADAPTER_COLD; place < LOCUS_ADAPTER_HOT; place++) {
        double ns =
            (double)tb_adapter_back_ns(model->settings->rank, (enum locus_adapter_place)place) * (double)model->found[place];
        sum_ns += ns;
    }
    for (uint32_t i = 0; i < model->settings->adapters; i++)
        used[i] = false;
    for (uint32_t i = 0; i < model->count; i++) {
        out->used_adapters += !used[model->uses[i].adapter];
        used[model->uses[i].adapter] = true;
    }
    out->uses = model->count;
    out->hot_ratio = (double)model->found[LOCUS_ADAPTER_HOT] / count;
    out->warm_ratio = (double)model->found[LOCUS_ADAPTER_WARM] / count;
    out->cold_ratio = (double)model->found[LOCUS_ADAPTER_COLD] / count;
    out->hot_mean = model->hot_sum / count;
    out->back_p50_ns = back_ns(model, 1, 2);
    out->back_p99_ns = back_ns(model, 99, 100);
    out->back_mean_ns = sum_ns / count;
    out->back_busy_ratio = sum_ns / span_ns;
}

// --- a run ---------------------------------------------------------------------------------------------------------------------

static int model_open(struct model *model, const struct tb_scenario *scenario)
{
    const struct locus_adapter_policy_config config = {.size = sizeof config,
                                                       .adapters = model->settings->adapters,
                                                       .hot = model->settings->hot,
                                                       .warm = model->settings->warm};
    int error = tb_adapter_uses(scenario, model->settings, &model->uses, &model->count);
    if (error)
        return error;
    model->places[LOCUS_ADAPTER_COLD] = config.adapters;
    model->place = calloc(config.adapters, sizeof *model->place);
    model->made = calloc(config.adapters, sizeof *model->made);
    model->left_ns = calloc(config.adapters, sizeof *model->left_ns);
    if (!model->place || !model->made || !model->left_ns)
        return -ENOMEM;
    error = model->resident->open(&model->state, &config);
    if (!error && model->resident == &tb_resident_clairvoyant)
        error = tb_resident_foresee(model->state, model->uses, model->count);
    return error ? error : moves(model, LOCUS_ADAPTER_NONE, 0); // of who begins with some that are hot
}

static void model_close(struct model *model)
{
    model->resident->close(model->state);
    free(model->uses);
    free(model->place);
    free(model->made);
    free(model->left_ns);
}

int tb_residency(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings,
                 const struct locus_adapter_policy *resident, struct tb_resided *out, struct tb_why *why)
{
    struct model model = {.settings = settings, .resident = resident, .out = out, .why = why};
    *out = (struct tb_resided){0};
    int error = model_open(&model, scenario);
    for (uint32_t i = 0; i < model.count && !error; i++)
        error = use(&model, &model.uses[i]);
    if (!error)
        figures(&model);
    model_close(&model);
    return error;
}
