// SPDX-License-Identifier: Apache-2.0
//
// power: see power.h. The Hodges-Lehmann estimate of normal differences is as good as their mean with 3 / pi of the rounds, so
// the half width of its interval is z sd sqrt(pi / (3 n)). Real noise has heavier tails, and the estimate suffers less from
// them than the standard deviation does: the figure errs on the wide side.
#include "testbed/run/power.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "testbed/base/json.h"
#include "testbed/base/stamp.h"
#include "testbed/judge/figure.h"
#include "testbed/judge/shown.h"
#include "testbed/stats/stats.h"

// The z that a standard normal exceeds to either side with probability 1 - confidence.
static double normal_quantile(double confidence)
{
    double low = 0, high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(erfc(middle / sqrt(2)) > 1 - confidence ? &low : &high) = middle;
    }
    return low;
}

static bool pair_spread(const struct tb_log_view *view, const json_t *row, double *sd)
{
    struct tb_pair pair;
    struct tb_spread spread;
    char why[200], over[8] = "", under[8] = "";
    if (sscanf(tb_member_text(row, "arms"), "%7[^/]/%7s", over, under) != 2 ||
        tb_pair_load(view, "time_ns", tb_member_text(row, "cell"), over, under, &pair, why, sizeof why))
        return false;
    bool known = tb_spread(pair.under, pair.over, pair.n, &spread) == 0 && isfinite(spread.sd);
    tb_pair_close(&pair);
    *sd = spread.sd;
    return known;
}

static bool spread_of(const struct tb_log_view *view, struct tb_power *out)
{
    const json_t *row;
    double sd;
    size_t i;
    out->sd_least = INFINITY;
    out->sd_most = 0;
    json_array_foreach (tb_member(view->summary, "aa"), i, row)
        if (pair_spread(view, row, &sd)) {
            out->sd_least = fmin(out->sd_least, sd);
            out->sd_most = fmax(out->sd_most, sd);
        }
    return out->sd_most > 0;
}

static double seconds_at(const json_t *entry)
{
    time_t at;
    return tb_time_read(tb_member_text(entry, "time"), &at) ? (double)at : (double)NAN;
}

// Of a run as a whole, over its samples.
static double process_s(const struct tb_store_run *run)
{
    const struct tb_chain *ledger = &run->host->ledger;
    if (!run->opened || !run->closed || run->view.samples_count == 0)
        return 0;
    double took = seconds_at(ledger->entries[run->closed - 1].object) - seconds_at(ledger->entries[run->opened - 1].object);
    return took > 0 ? took / (double)run->view.samples_count : 0;
}

static void newest(const struct tb_store *store, const char *host, struct tb_power *out)
{
    for (size_t i = 0; i < store->runs_count; i++) {
        const struct tb_store_run *run = &store->runs[i];
        struct tb_power seen = {.from = run};
        bool later =
            !out->from || strcmp(tb_member_text(run->view.header, "time"), tb_member_text(out->from->view.header, "time")) > 0;
        if (run->state != TB_RUN_WHOLE || strcmp(run->host->name, host) || tb_emulated(run->view.header)[0] || !later ||
            !spread_of(&run->view, &seen))
            continue;
        seen.process_s = process_s(run);
        seen.paired_by_laps = strcmp(tb_member_text(run->view.header, "design.pairing"), "laps") == 0;
        *out = seen;
    }
}

void tb_power(const struct tb_postulate *postulate, const struct tb_store *store, const char *host, struct tb_power *out)
{
    unsigned intervals = 0;
    *out = (struct tb_power){0};
    newest(store, host, out);
    for (uint32_t i = 0; i < postulate->predictions_count; i++)
        intervals += !tb_prediction_exact(&postulate->predictions[i]);
    if (!out->from || !intervals)
        return;
    out->looks_count = tb_looks(postulate->rounds, postulate->rounds_max, out->looks);
    for (size_t i = 0; i < out->looks_count; i++) {
        double shared = 1 - (1 - TB_CONFIDENCE) / intervals, rounds = (double)out->looks[i];
        double z = normal_quantile(tb_look_confidence(shared, out->looks, out->looks_count, i));
        out->half_width[i] = z * out->sd_most * sqrt(M_PI / (3 * rounds));
        out->seconds[i] = rounds * postulate->cells_count * postulate->arms_count * out->process_s;
    }
}
