// SPDX-License-Identifier: Apache-2.0
//
// packet_steps: see packet_steps.h. The flagship comes first: it is what nobody has measured, and a visit that is cut short should
// have brought it. Durations are those of the record's hosts, the longest, because theirs are the only ones that are known.
#include "testbed/run/packet_steps.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testbed/base/json.h"
#include "testbed/record/ledger.h"

#define MATRIX_SECONDS 60.0             // of one node, 51 on the machine where this was written; more nodes have more pairs
#define PROCESS_SECONDS 0.15            // of one process of a run on many nodes: a guess
#define SMOKE_SECONDS 10.0

static const struct {
    const char *id, *why;
} defaults[] = {
    {"0010", "flagship"}, {"0011", "flagship"}, {"0005", "flagship"}, {"0008", "flagship"},   {"0009", "flagship"},
    {"0007", "flagship"}, {"0012", "flagship"}, {"0006", "flagship"}, {"0001", "LOCUS-EVAL"}, {"0023", "LOCUS-EVAL"},
};

const char *tb_packet_duration(double seconds, char *out, size_t bytes)
{
    if (seconds < 90)
        snprintf(out, bytes, "%.0f s", seconds < 1 ? 1 : seconds);
    else
        snprintf(out, bytes, "%.0f min", ceil(seconds / 60));
    return out;
}

static double seconds_of(const json_t *entry)
{
    struct tm utc = {0};
    const char *end = strptime(tb_member_text(entry, "time"), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return end ? (double)timegm(&utc) : NAN;
}

static const json_t *opening(const struct tb_chain *chain, const char *run)
{
    for (size_t i = 0; i < chain->count; i++) {
        const json_t *entry = chain->entries[i].object;
        if (strcmp(tb_member_text(entry, "t"), "open") == 0 && strcmp(tb_member_text(entry, "run"), run) == 0)
            return entry;
    }
    return NULL;
}

// A whole run of this experiment, however it ended.
static const json_t *whole_run(const struct tb_chain *chain, size_t i, const char *id)
{
    const json_t *close = chain->entries[i].object;
    const char *run = tb_member_text(close, "run");
    bool fits = strcmp(tb_member_text(close, "t"), "close") == 0 && strncmp(run, id, strlen(id)) == 0 && run[strlen(id)] == '-' &&
                strcmp(tb_member_text(close, "status"), "complete") == 0;
    return fits ? opening(chain, run) : NULL;
}

// The longest run on any host that really ran it; 0: there is none.
static double seconds_on_record(const struct tb_filed *filed, const char *id)
{
    double longest = 0;
    for (size_t h = 0; h < filed->count; h++) {
        const struct tb_chain *chain = &filed->hosts[h].chain;
        for (size_t i = 0; i < chain->count; i++) {
            const json_t *close = chain->entries[i].object, *open = whole_run(chain, i, id);
            bool measured =
                open && !*tb_member_text(close, "emulated") && strcmp(tb_member_text(close, "verdict"), "unmeasurable-on-host");
            double took = measured ? seconds_of(close) - seconds_of(open) : 0;
            longest = took > longest ? took : longest;
        }
    }
    return longest;
}

static double seconds_guessed(const struct tb_postulate *postulate)
{
    double traces = 0;
    for (uint32_t i = 0; i < postulate->cells_count; i++)
        traces += strncmp(postulate->cells[i], "azure", 5) == 0;
    return postulate->arms_count * (double)postulate->rounds * (postulate->cells_count + 20 * traces) *
           PROCESS_SECONDS; // traces: a lap is long
}

static bool is_done(const struct tb_filed *filed, const struct tb_packet_wish *wish, const struct tb_packet_step *step)
{
    const char *kind = wish->smoke ? "smoke" : "official";
    for (size_t h = 0; h < filed->count; h++) {
        const struct tb_chain *chain = &filed->hosts[h].chain;
        for (size_t i = 0; i < chain->count && strcmp(filed->hosts[h].host, wish->host) == 0; i++) {
            const json_t *open = whole_run(chain, i, step->postulate->id);
            if (open && strcmp(tb_member_text(open, "kind"), kind) == 0 &&
                strcmp(tb_member_text(open, "postulate_sha256"), step->postulate->sha256) == 0)
                return true;
        }
    }
    return false;
}

static int add(struct tb_packet_steps *steps, const char *id, const char *why_in, char *why, size_t why_bytes)
{
    struct tb_packet_step *step = &steps->step[steps->count];
    struct tb_postulate_why reason;
    char number[8];
    for (size_t i = 0; i < steps->count && tb_postulate_id(id, number) == 0; i++)
        if (strcmp(steps->step[i].postulate->id, number) == 0)
            return 0;
    if (steps->count + 1 == TB_PACKET_STEPS_MAX) {
        snprintf(why, why_bytes, "more than %u experiments", TB_PACKET_STEPS_MAX - 1);
        return -EINVAL;
    }
    if (tb_postulate_open(id, &step->postulate, &reason)) {
        snprintf(why, why_bytes, "%s", reason.text);
        return -EINVAL;
    }
    step->why = why_in;
    steps->count++;
    return 0;
}

static int choose(struct tb_packet_steps *steps, const struct tb_packet_wish *wish, char *why, size_t why_bytes)
{
    struct tb_postulates all = {0};
    char number[8];
    int rc = 0;
    for (const char *const *id = wish->ids; *id && !rc; id++)
        rc = add(steps, *id, "named", why, why_bytes);
    if (rc || *wish->ids)
        return rc;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && !rc; i++)
        rc = add(steps, defaults[i].id, defaults[i].why, why, why_bytes);
    if (!rc && wish->full)
        rc = tb_postulates_load(&all);
    for (size_t i = 0; i < all.count && !rc; i++) {
        snprintf(number, sizeof number, "%.4s", strrchr(all.files[i].path, '/') + 1);
        rc = add(steps, number, "rest", why, why_bytes);
    }
    tb_postulates_close(&all);
    return rc;
}

static void estimate(struct tb_packet_steps *steps, const struct tb_packet_wish *wish, const struct tb_filed *record,
                     const struct tb_filed *own)
{
    steps->seconds = wish->smoke ? SMOKE_SECONDS : MATRIX_SECONDS;
    for (size_t i = 0; i < steps->count; i++) {
        struct tb_packet_step *step = &steps->step[i];
        step->seconds = wish->smoke ? SMOKE_SECONDS : seconds_on_record(record, step->postulate->id);
        step->guessed = step->seconds <= 0;
        if (step->guessed)
            step->seconds = seconds_guessed(step->postulate);
        step->done = !wish->again && is_done(own, wish, step);
        steps->seconds += step->done ? 0 : step->seconds;
    }
}

int tb_packet_steps_open(struct tb_packet_steps *out, const struct tb_packet_wish *wish, char *why, size_t why_bytes)
{
    struct tb_filed record = {0}, own = {0};
    memset(out, 0, sizeof *out);
    int rc = choose(out, wish, why, why_bytes);
    if (!rc && (tb_filed_load("logs", &record) || tb_filed_load(wish->root, &own))) {
        snprintf(why, why_bytes, "%s: the ledgers cannot be read (see: locus verify)", wish->root);
        rc = -EINVAL;
    }
    if (!rc)
        estimate(out, wish, &record, &own);
    tb_filed_close(&record);
    tb_filed_close(&own);
    if (rc)
        tb_packet_steps_close(out);
    return rc;
}

void tb_packet_steps_close(struct tb_packet_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        tb_postulate_close(steps->step[i].postulate);
    steps->count = 0;
}
