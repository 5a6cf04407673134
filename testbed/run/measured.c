// SPDX-License-Identifier: Apache-2.0
//
// measured: see measured.h. A log that nobody keeps is a temporary file that has lost its name before the first sample: it is gone
// however the program ends.
#include "testbed/run/measured.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/base/stamp.h"
#include "testbed/base/terminal.h"
#include "testbed/host/head.h"
#include "testbed/run/run_lines.h"

struct measuring {
    const struct tb_measured_config *config;
    struct tb_log *log;
    struct tb_progress *progress;
    int unnamed;                // the temporary file, for reading; -1: the log is kept
    char path[4096], named[4096]; // as it is opened, and as it is called in a message
    char stamp[TB_STAMP_BYTES], time[TB_STAMP_BYTES], nonce[33];
};

static int names_make(struct measuring *measuring)
{
    const char *folder = getenv("TMPDIR");
    time_t now = time(NULL);
    tb_time_stamp(now, measuring->stamp);
    tb_time_text(now, measuring->time);
    int error = tb_random_digits(measuring->nonce, 32);
    if (error)
        return error;
    const struct tb_measured_config *config = measuring->config;
    int length = config->log ? snprintf(measuring->path, sizeof measuring->path, "%s", config->log)
                             : snprintf(measuring->path, sizeof measuring->path, "%s/locus-%s-%s.jsonl",
                                        folder && *folder ? folder : "/tmp", config->command, measuring->nonce);
    strcpy(measuring->named, measuring->path);
    return length < (int)sizeof measuring->path ? 0 : -ENAMETOOLONG;
}

static json_t *header_make(const struct measuring *measuring)
{
    const struct tb_measured_config *config = measuring->config;
    char run[64];
    snprintf(run, sizeof run, "%s-%s-%.6s", config->command, measuring->stamp, measuring->nonce);
    const struct tb_json_member measured[] = {
        {"head", tb_head_by(config->command, config->doctor)},
        {"about", config->about ? json_string(config->about) : json_null()},
        {"unfit", config->unfit ? json_string(config->unfit) : json_null()},
        {"here", config->here ? json_incref(config->here) : json_null()},
        {"advise", config->advise ? json_incref(config->advise) : json_null()},
    };
    const struct tb_line_head head = {
        .run = run,
        .nonce = measuring->nonce,
        .time = measuring->time,
        .kind = config->command,
        .measured = TB_JSON_OBJECT(measured),
        .doctor = config->doctor,
        .block_rounds = config->rounds->count,
    };
    return tb_line_header(&head, config->rounds);
}

static int add(struct measuring *measuring, json_t *line)
{
    int error = line ? tb_log_add(measuring->log, line) : -ENOMEM;
    json_decref(line);
    return error;
}

static int on_sample(void *context, const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, uint32_t round, uint32_t position)
{
    return add(context, tb_line_sample(rounds, 0, cell, arm, round, position));
}

static int on_round(void *context, const struct tb_rounds *rounds, uint32_t round)
{
    (void)rounds;
    (void)round;
    return tb_log_flush(((struct measuring *)context)->log);
}

static int rounds_run(struct measuring *measuring)
{
    const struct tb_rounds_hooks hooks = {
        .progress = measuring->progress ? tb_progress_step : NULL,
        .progress_context = measuring->progress,
        .sample = on_sample,
        .round = on_round,
        .context = measuring,
    };
    return tb_rounds_run(measuring->config->rounds, 0, measuring->config->rounds->count, &hooks);
}

static int log_create(struct measuring *measuring)
{
    json_t *header = header_make(measuring);
    int error = header ? tb_log_create(&measuring->log, measuring->path, header) : -ENOMEM;
    json_decref(header);
    if (error || measuring->config->log)
        return error;
    measuring->unnamed = open(measuring->path, O_RDONLY | O_CLOEXEC);
    error = measuring->unnamed < 0 ? -errno : 0;
    unlink(measuring->path);
    snprintf(measuring->path, sizeof measuring->path, "/proc/self/fd/%d", measuring->unnamed);
    return error;
}

static int log_write(struct measuring *measuring)
{
    struct tb_hash head;
    size_t lines;
    int error = log_create(measuring);
    if (!error)
        error = rounds_run(measuring);
    if (!error)
        error = add(measuring, tb_line_after());
    if (!measuring->log)
        return error;
    int sealed = tb_log_seal(measuring->log, error ? "stopped" : "complete", error ? strerror(-error) : NULL, &head, &lines);
    return error ? error : sealed;
}

static void arms_name(const struct tb_measured_config *config)
{
    for (uint32_t i = 0; i < config->rounds->arms_count; i++) // A to Z, AA to AZ
        snprintf(config->arms[i].key, sizeof config->arms[i].key, "%s%c", i < 26 ? "" : "A", 'A' + (int)(i % 26));
}

int tb_measured(const struct tb_measured_config *config, struct tb_log_view *out, char *why, size_t why_bytes)
{
    struct measuring measuring = {.config = config, .unnamed = -1};
    why[0] = '\0';
    arms_name(config);
    int error = names_make(&measuring);
    if (!error && !config->quiet)
        error = tb_progress_open(&measuring.progress, stderr);
    if (!error)
        error = log_write(&measuring);
    tb_progress_close(measuring.progress);
    if (!error)
        error = tb_log_load(measuring.path, out, why, why_bytes);
    if (measuring.unnamed >= 0)
        close(measuring.unnamed);
    if (error && !why[0])
        snprintf(why, why_bytes, "%s: %s%s", measuring.named, config->log ? "" : "the samples: ", tb_output_why(error));
    return error;
}
