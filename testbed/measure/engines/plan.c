// SPDX-License-Identifier: Apache-2.0
//
// plan: see plan.h.

#include "testbed/measure/engines/plan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/share.h"
#include "testbed/engine/gguf.h"

#define MODELS "build/engine/models"
#define MODEL_SEED 1u           // a model's values change nothing that is measured
#define PATIENCE_MS 120000u
#define READ_BYTES_PER_MS 200000u // of weights, in a step: a hundredth of what one CPU reads
#define PROMPT_BYTES_PER_MS 2000000u // of weights for each token of a prompt: a twentieth

static int make_folder(char *why, size_t why_bytes)
{
    if (access("build", W_OK) != 0) {
        snprintf(why, why_bytes, "models are made in %s, and this folder has no build/: run it in a clone, after make", MODELS);
        return -ENOENT;
    }
    if ((mkdir("build/engine", 0777) != 0 && errno != EEXIST) || (mkdir(MODELS, 0777) != 0 && errno != EEXIST)) {
        snprintf(why, why_bytes, "%s: %s", MODELS, strerror(errno));
        return -errno;
    }
    return 0;
}

static int make_model(struct tb_engines_plan *plan, char *why, size_t why_bytes)
{
    struct stat there;
    char short_path[128];
    const struct tb_model *model = &plan->model;
    snprintf(short_path, sizeof short_path, MODELS "/%ux%ux%ux%u-%u.gguf", model->layers, model->heads, model->kv_heads,
             model->head_dim, model->ffn);
    int error = make_folder(why, why_bytes);
    if (!error && stat(short_path, &there) != 0) {
        struct tb_gguf made;
        error = tb_gguf_write(short_path, model, MODEL_SEED, NULL, NULL, &made);
        if (error)
            snprintf(why, why_bytes, "%s: %s", short_path, strerror(-error));
        else if (stat(short_path, &there) != 0)
            error = -errno;
    }
    if (!error) {
        plan->model_bytes = (uint64_t)there.st_size;
        error = tb_hash_file(short_path, plan->sha256);
    }
    if (!error && !realpath(short_path, plan->path))
        error = -errno;
    return error;
}

int tb_engines_open(const char *model, const struct tb_engine_settings *settings, struct tb_schedule **out, char *why,
                    size_t why_bytes)
{
    struct tb_engines_plan *plan = calloc(1, sizeof *plan);
    *out = NULL;
    if (!plan)
        return -ENOMEM;
    plan->settings = *settings;
    int error = tb_model_complete(model, &plan->model, why, why_bytes);
    if (!error)
        error = make_model(plan, why, why_bytes);
    if (error) {
        free(plan);
        return error;
    }
    snprintf(plan->schedule.name, sizeof plan->schedule.name, "%s", model);
    plan->schedule.bytes = sizeof *plan;
    *out = &plan->schedule;
    return 0;
}

uint64_t tb_engines_patience_ms(const struct tb_schedule *schedule, uint64_t steps)
{
    const struct tb_engines_plan *plan = tb_engines_plan(schedule);
    uint64_t prompts = (uint64_t)plan->settings.prompt_tokens * plan->settings.batch;
    return PATIENCE_MS + steps * plan->settings.batch * (plan->model_bytes / READ_BYTES_PER_MS + 100) +
           prompts * (plan->model_bytes / PROMPT_BYTES_PER_MS + 1);
}

int tb_engines_here(char *why, size_t why_bytes)
{
    char lap[PATH_MAX], ignored[400], *slash;
    if (tb_share_lap(lap, ignored, sizeof ignored) == 0 && (slash = strrchr(lap, '/'))) {
        snprintf(slash, sizeof lap - (size_t)(slash - lap), "/locus-llama");
        if (access(lap, X_OK) == 0)
            return 1;
    }
    snprintf(why, why_bytes, "llama.cpp is not here: run make engine");
    return 0;
}
