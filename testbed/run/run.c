// SPDX-License-Identifier: Apache-2.0
//
// run: see run.h.
//
// Samples are added to the log as their processes end and made durable between rounds, never beside a measured process. The
// verdict is worked out from the log as it lies on the disk: what cannot be read back does not count.

#include "testbed/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "testbed/base/file.h"
#include "testbed/base/stamp.h"
#include "testbed/base/terminal.h"
#include "testbed/host/environment.h"
#include "testbed/run/emulate.h"
#include "testbed/run/needs.h"
#include "testbed/run/room/room.h"
#include "testbed/run/run_lines.h"

struct running {
    const struct tb_run_config *config;
    struct tb_run_result *result;
    struct tb_ledger *ledger;
    struct tb_log *log;
    struct tb_progress *progress;
    uint32_t block;
    char nonce[33];
    char time[24];
    char unmet[TB_WHY_BYTES]; // the need that this host does not meet
};

const char *tb_run_kind_name(enum tb_run_kind kind)
{
    static const char *const names[] = {"official", "trial", "smoke"};
    return names[kind];
}

static int names_make(struct running *running)
{
    const struct tb_postulate *postulate = running->config->plan->postulate;
    struct tb_run_result *result = running->result;
    char stamp[TB_STAMP_BYTES], random[7];
    time_t now = time(NULL);
    if (tb_random_digits(running->nonce, 32) || tb_random_digits(random, 6))
        return -EIO;
    tb_time_text(now, running->time);
    snprintf(result->run, sizeof result->run, "%s-%s-%s", postulate->id, tb_time_stamp(now, stamp), random);
    int length = snprintf(result->log, sizeof result->log, "%s/%s/%s-%s/%s.jsonl", running->config->root, running->config->host,
                          postulate->id, postulate->slug, result->run + strlen(postulate->id) + 1);
    return length < (int)sizeof result->log ? 0 : -ENAMETOOLONG;
}

static int ledger_add(struct running *running, json_t *entry)
{
    int error = entry ? tb_ledger_append(running->ledger, entry) : -ENOMEM;
    json_decref(entry);
    return error;
}

// A trial files its postulate by itself, as it is at this moment; an official run demands that it was filed before. A filing that
// stands right above would be taken for the trial's own (ledger.h), which binds nobody: so the trial's own goes between.
static int ledger_open_run(struct running *running)
{
    const struct tb_postulate *postulate = running->config->plan->postulate;
    const struct tb_run_result *result = running->result;
    const json_t *filed = tb_ledger_find(running->ledger, "postulate", "id", postulate->id);
    const char *sha256 = filed ? json_string_value(json_object_get(filed, "sha256")) : NULL;
    const struct tb_chain *chain = tb_ledger_chain(running->ledger);
    bool here = sha256 && strcmp(sha256, postulate->sha256) == 0 && filed != chain->entries[chain->count - 1].object;
    int error = 0;
    if (running->config->kind != TB_RUN_OFFICIAL && !here)
        error = ledger_add(running, json_pack("{s:s, s:s, s:s, s:s}", "t", "postulate", "id", postulate->id, "path",
                                              postulate->path, "sha256", postulate->sha256));
    const char *below = result->log + strlen(running->config->root) + strlen(running->config->host) + 2;
    return error ? error
                 : ledger_add(running, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "t", "open", "run", result->run, "nonce",
                                                 running->nonce, "log", below, "postulate_id", postulate->id, "postulate_sha256",
                                                 postulate->sha256, "kind", tb_run_kind_name(running->config->kind)));
}

static int log_add(struct running *running, json_t *line)
{
    int error = line ? tb_log_add(running->log, line) : -ENOMEM;
    json_decref(line);
    return error;
}

static int on_sample(void *context, const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, uint32_t round, uint32_t position)
{
    struct running *running = context;
    return log_add(running, tb_line_sample(rounds, running->block, cell, arm, round, position));
}

static int on_round(void *context, const struct tb_rounds *rounds, uint32_t round)
{
    (void)rounds;
    (void)round;
    return tb_log_flush(((struct running *)context)->log);
}

static int block_run(struct running *running, uint32_t first, uint32_t count)
{
    struct tb_plan *plan = running->config->plan;
    const struct tb_rounds_hooks hooks = {
        .progress = running->progress ? tb_progress_step : NULL,
        .progress_context = running->progress,
        .sample = on_sample,
        .round = on_round,
        .context = running,
    };
    int error = tb_emulate(&plan->rounds, first, count);
    if (!error)
        error = tb_rounds_run(&plan->rounds, first, count, &hooks);
    tb_emulate_close(&plan->rounds);
    running->block++;
    return error;
}

static int is_unstable(const struct running *running, bool *unstable)
{
    struct tb_log_view view;
    char why[200];
    int error = tb_log_load(running->result->log, &view, why, sizeof why);
    if (error)
        return error;
    *unstable = tb_verdict_unstable(&view, running->config->plan->postulate);
    tb_log_view_close(&view);
    return 0;
}

// Is anything undecided, as far as the rounds on the disk go? The line "after" is not there yet, so the gates are shown what it
// would be now: without it "throttle == 0" fails, and the run would end at its first look.
static int is_open(const struct running *running, bool *open)
{
    struct tb_log_view view;
    char why[200];
    json_t *summary = NULL;
    int error = tb_log_load(running->result->log, &view, why, sizeof why);
    if (error)
        return error;
    json_t *after = tb_line_after();
    view.after = after;
    error = tb_verdict_summary(&view, running->config->plan->postulate, &summary);
    *open = !error && tb_verdict_open(summary);
    json_decref(summary);
    json_decref(after);
    tb_log_view_close(&view);
    return error;
}

static int looks_run(struct running *running)
{
    struct tb_plan *plan = running->config->plan;
    bool open = true;
    int error = 0;
    for (size_t look = 0; look < plan->looks_count && open && !error; look++) {
        uint32_t first = look ? (uint32_t)plan->looks[look - 1] : 0;
        plan->rounds.count = (uint32_t)plan->looks[look];
        error = block_run(running, first, plan->rounds.count - first);
        if (!error && look + 1 < plan->looks_count)
            error = is_open(running, &open);
    }
    return error;
}

static int blocks_run(struct running *running)
{
    struct tb_plan *plan = running->config->plan;
    uint32_t block = plan->block_rounds;
    bool unstable = false;
    int error = block_run(running, 0, block);
    if (!error && plan->rounds.count > 1)
        error = block_run(running, block, block);
    if (!error && running->config->kind != TB_RUN_SMOKE)
        error = is_unstable(running, &unstable);
    if (!error && unstable) { // the samples of the first two blocks are in the log
        plan->rounds.count += block;
        error = block_run(running, 2 * block, block);
    }
    return error;
}

// The summary is of the log as it lies on the disk, so the file is read: that proves that a reader will come to the same verdict.
static int summary_make(struct running *running)
{
    struct tb_run_result *result = running->result;
    struct tb_log_view view;
    char why[200];
    int error = tb_log_load(result->log, &view, why, sizeof why);
    if (error)
        return error;
    error = tb_verdict_summary(&view, running->config->plan->postulate, &result->summary);
    tb_log_view_close(&view);
    if (!error && running->unmet[0])
        json_object_set_new(result->summary, "why", json_string(running->unmet));
    const char *verdict = error ? NULL : json_string_value(json_object_get(result->summary, "verdict"));
    for (int i = 0; verdict && i < TB_VERDICT_COUNT; i++)
        if (strcmp(verdict, tb_verdict_name((enum tb_verdict)i)) == 0)
            result->verdict = (enum tb_verdict)i;
    return error ? error : tb_log_add(running->log, result->summary);
}

static int needs_check(struct running *running)
{
    const struct tb_plan *plan = running->config->plan;
    const struct tb_needing run = {
        .arms = plan->arms,
        .arms_count = plan->rounds.arms_count,
        .workers = plan->rounds.workers,
        .many_nodes = plan->rounds.many_nodes,
        .cells = plan->postulate->cells,
        .cells_count = plan->postulate->cells_count,
    };
    char found[TB_FOUND_BYTES], why[TB_FOUND_BYTES];
    for (uint32_t i = 0; i < plan->postulate->needs_count; i++) {
        const char *need = plan->postulate->needs[i];
        int met = tb_need_met(need, &run, found, sizeof found);
        if (met < 0)
            return met;
        if (!met && !running->unmet[0])
            snprintf(running->unmet, sizeof running->unmet, "needs %s, and %s", need, found);
    }
    if (!running->unmet[0])
        tb_plan_missing(plan, running->unmet, sizeof running->unmet);
    if (!running->unmet[0] && tb_room(&plan->rounds, why, sizeof why))
        snprintf(running->unmet, sizeof running->unmet, "%s", why);
    return 0;
}

// The file comes before the entry that names it: a crash between them leaves an empty file that no run has, and verify passes over
// that. The other way round it would leave a run without a log, which looks like one that was dropped.
static int log_begin(struct running *running)
{
    const char *path = running->result->log;
    const struct tb_run_config *config = running->config;
    const struct tb_postulate *postulate = config->plan->postulate;
    struct tb_line_head head = {
        .run = running->result->run,
        .nonce = running->nonce,
        .time = running->time,
        .kind = tb_run_kind_name(config->kind),
        .unmet = running->unmet,
        .postulate = tb_line_postulate(postulate, config->commit),
        .experiment = tb_line_experiment(postulate),
        .block_rounds = config->plan->block_rounds,
        .looks = config->plan->looks,
        .looks_count = config->plan->looks_count,
    };
    bool official = config->kind == TB_RUN_OFFICIAL;
    int error = official ? tb_ledger_replicated(tb_ledger_chain(running->ledger), SIZE_MAX, postulate->id, &head.replicates) : 0;
    json_t *header = tb_line_header(&head, &config->plan->rounds);
    if (!error)
        error = header ? tb_log_create(&running->log, path, NULL) : -ENOMEM; // looking at the host takes long, so only then
    int opened = error ? error : ledger_open_run(running);
    if (!error && opened) {
        tb_log_abandon(running->log);
        running->log = NULL;
        if (opened != -EUCLEAN) // then the entry may be there all the same
            unlink(path);
    }
    error = opened;
    if (!error)
        error = tb_log_add(running->log, header);
    if (!error)
        error = tb_log_flush(running->log);
    json_decref(header);
    return error;
}

static int log_write(struct running *running)
{
    int error = log_begin(running);
    if (!error && !running->unmet[0])
        error = running->config->plan->looks_count ? looks_run(running) : blocks_run(running);
    if (!error)
        error = log_add(running, tb_line_after());
    if (!error)
        error = tb_log_flush(running->log);
    if (!error)
        error = summary_make(running);
    return error;
}

// The log gets its seal even when the run went wrong, as "stopped", if it can be written at all.
static int close_run(struct running *running, int error)
{
    struct tb_run_result *result = running->result;
    char head_text[TB_HASH_TEXT];
    struct tb_hash head;
    size_t lines = 0;
    const char *status = error ? "stopped" : "complete";
    if (!running->log)
        return error;
    int sealed = tb_log_seal(running->log, status, error ? strerror(-error) : NULL, &head, &lines);
    running->log = NULL;
    if (sealed)
        return error ? error : sealed;
    tb_hash_text(&head, head_text);
    int closed = ledger_add(running, json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:s?}", "t", "close", "run", result->run, "log_head",
                                               head_text, "log_lines", (json_int_t)lines, "verdict",
                                               error ? "none (stopped)" : tb_verdict_name(result->verdict), "status", status,
                                               "emulated", tb_environment_guest()));
    return error ? error : closed;
}

int tb_run(const struct tb_run_config *config, struct tb_run_result *out, char *why, size_t why_bytes)
{
    struct running running = {.config = config, .result = out};
    *out = (struct tb_run_result){.verdict = TB_VERDICT_INVALID};
    why[0] = '\0';
    int error = names_make(&running);
    if (!error)
        error = tb_ledger_open(&running.ledger, config->root, config->host, true, why, why_bytes);
    if (!error)
        error = needs_check(&running);
    if (!error)
        tb_plan_counters(config->plan);
    if (!error)
        tb_emulate_plan(config->plan);
    if (!error && !config->quiet)
        error = tb_progress_open(&running.progress, stderr);
    if (!error)
        error = log_write(&running);
    tb_progress_close(running.progress);
    error = close_run(&running, error);
    if (running.ledger)
        tb_ledger_checkpoint(running.ledger, &out->checkpoint);
    tb_ledger_close(running.ledger);
    out->rounds = config->plan->rounds.count;
    if (error && why[0] == '\0')
        snprintf(why, why_bytes, "%s: %s", out->log, tb_output_why(error));
    if (error) {
        json_decref(out->summary);
        out->summary = NULL;
    }
    return error;
}
