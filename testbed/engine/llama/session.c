// SPDX-License-Identifier: Apache-2.0
//
// session: see session.h.
//
// The stock arm gets a thread pool as llama-server makes one, else ggml would start and end its threads for each graph.

#include "testbed/engine/llama/session.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ggml-backend.h"
#include "ggml-cpu.h"

#define BATCH_TOKENS 512u       // llama.cpp's own micro-batch

struct tb_llama {
    struct tb_llama_settings settings;
    struct llama_model *model;
    struct llama_context *context;
    struct llama_batch batch;
    ggml_backend_sched_eval_callback told;
    void *told_data;
    struct ggml_threadpool *pool;
    void (*pool_free)(struct ggml_threadpool *pool);
    int32_t vocabulary;
};

// --- opening -------------------------------------------------------------------------------------------------------------------

// The backends lie beside the library that loads them. GGML_BACKEND_PATH is honoured by the same call.
static void load_backends(void)
{
    Dl_info info;
    void *address;
    void (*function)(const char *) = ggml_backend_load_all_from_path;
    memcpy(&address, &function, sizeof(address));
    char *folder = dladdr(address, &info) ? strdup(info.dli_fname) : NULL;
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        *slash = '\0';
    ggml_backend_load_all_from_path(slash ? folder : NULL);
    free(folder);
}

static int find_devices(const struct tb_llama_settings *settings, ggml_backend_dev_t devices[], char *why, size_t why_bytes)
{
    unsigned i = 0;
    for (; settings->devices[i]; i++) {
        devices[i] = ggml_backend_dev_by_name(settings->devices[i]);
        if (!devices[i]) {
            snprintf(why, why_bytes, "the engine has no device %s: is GGML_BACKEND_PATH set to libggml-locus.so?",
                     settings->devices[i]);
            return -1;
        }
    }
    devices[i] = NULL;
    return 0;
}

static int load_model(struct tb_llama *llama, char *why, size_t why_bytes)
{
    const struct tb_llama_settings *settings = &llama->settings;
    ggml_backend_dev_t devices[TB_LLAMA_DEVICES_MAX + 1];
    if (find_devices(settings, devices, why, why_bytes) != 0)
        return -1;
    struct llama_model_params params = llama_model_default_params();
    params.devices = devices;
    params.n_gpu_layers = devices[0] ? -1 : 0;
    params.split_mode = settings->split;
    params.use_extra_bufts = !settings->plain;
    params.tensor_split = settings->shares_text ? settings->shares : NULL;
    params.load_mode = settings->mapped ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
    llama->model = llama_model_load_from_file(settings->model, params);
    if (!llama->model) {
        snprintf(why, why_bytes, "%s: the engine did not load the model", settings->model);
        return -1;
    }
    llama->vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(llama->model));
    return 0;
}

static int open_context(struct tb_llama *llama, char *why, size_t why_bytes)
{
    const struct tb_llama_settings *settings = &llama->settings;
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = settings->context_tokens * settings->batch;
    params.n_batch = params.n_ubatch = BATCH_TOKENS;
    params.n_seq_max = settings->batch;
    params.n_threads = params.n_threads_batch = (int32_t)settings->threads;
    params.flash_attn_type = settings->flash;
    params.type_k = params.type_v = settings->kv_type;
    params.offload_kqv = !settings->host_kv;
    params.no_perf = true;
    params.cb_eval = llama->told;
    params.cb_eval_user_data = llama->told_data;
    llama->context = llama_init_from_model(llama->model, params);
    if (!llama->context) {
        snprintf(why, why_bytes, "the engine did not open a context of %u x %u tokens", settings->batch, settings->context_tokens);
        return -1;
    }
    return 0;
}

// Function pointers travel as void pointers, for which ISO C has no cast.
static void attach_pool(struct tb_llama *llama)
{
    struct ggml_threadpool *(*pool_new)(struct ggml_threadpool_params *) = NULL;
    ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    void *make = ggml_backend_reg_get_proc_address(registry, "ggml_threadpool_new");
    void *end = ggml_backend_reg_get_proc_address(registry, "ggml_threadpool_free");
    if (!make || !end || llama->settings.threads < 2)
        return;
    memcpy(&pool_new, &make, sizeof(make));
    memcpy(&llama->pool_free, &end, sizeof(end));
    struct ggml_threadpool_params params;
    ggml_threadpool_params_init(&params, (int)llama->settings.threads);
    llama->pool = pool_new(&params);
    if (llama->pool)
        llama_attach_threadpool(llama->context, llama->pool, llama->pool);
}

int tb_llama_reopen(struct tb_llama *llama, ggml_backend_sched_eval_callback told, void *data, char *why, size_t why_bytes)
{
    llama_free(llama->context);
    llama->context = NULL;
    llama->told = told;
    llama->told_data = data;
    if (open_context(llama, why, why_bytes) != 0)
        return -1;
    if (llama->pool)
        llama_attach_threadpool(llama->context, llama->pool, llama->pool);
    return 0;
}

int tb_llama_open(struct tb_llama **out, const struct tb_llama_settings *settings, char *why, size_t why_bytes)
{
    struct tb_llama *llama = calloc(1, sizeof(*llama));
    *out = NULL;
    if (!llama) {
        snprintf(why, why_bytes, "no memory");
        return -1;
    }
    llama->settings = *settings;
    load_backends();
    llama_backend_init();
    if (!ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU))
        snprintf(why, why_bytes, "the engine has no CPU backend for this machine");
    else {
        llama_numa_init(settings->numa);
        if (load_model(llama, why, why_bytes) == 0 && open_context(llama, why, why_bytes) == 0) {
            attach_pool(llama);
            llama->batch = llama_batch_init((int32_t)BATCH_TOKENS, 0, 1);
            *out = llama;
            return 0;
        }
    }
    tb_llama_close(llama);
    return -1;
}

void tb_llama_close(struct tb_llama *llama)
{
    if (!llama)
        return;
    if (llama->batch.token)
        llama_batch_free(llama->batch);
    llama_free(llama->context);
    if (llama->pool)
        llama->pool_free(llama->pool);
    llama_model_free(llama->model);
    free(llama);
}

// --- tokens --------------------------------------------------------------------------------------------------------------------

// splitmix64 (S. Vigna): every token follows from its place alone.
static int32_t token_at(const struct tb_llama *llama, uint32_t sequence, uint32_t position)
{
    uint64_t x = llama->settings.seed + UINT64_C(0x9e3779b97f4a7c15) * (((uint64_t)sequence << 32 | position) + 1);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (int32_t)((x ^ x >> 31) % (uint64_t)llama->vocabulary);
}

static void add_token(struct tb_llama *llama, uint32_t sequence, uint32_t position, bool logits)
{
    struct llama_batch *batch = &llama->batch;
    int32_t at = batch->n_tokens++;
    batch->token[at] = token_at(llama, sequence, position);
    batch->pos[at] = (llama_pos)position;
    batch->n_seq_id[at] = 1;
    batch->seq_id[at][0] = (llama_seq_id)sequence;
    batch->logits[at] = logits;
}

int tb_llama_prompt(struct tb_llama *llama)
{
    uint32_t tokens = llama->settings.prompt_tokens;
    for (uint32_t sequence = 0; sequence < llama->settings.batch; sequence++)
        for (uint32_t position = 0; position < tokens;) {
            llama->batch.n_tokens = 0;
            for (uint32_t i = 0; i < BATCH_TOKENS && position < tokens; i++)
                add_token(llama, sequence, position++, false);
            int err = llama_decode(llama->context, llama->batch);
            if (err)
                return err;
        }
    llama_synchronize(llama->context);
    return 0;
}

uint64_t tb_llama_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int tb_llama_step(struct tb_llama *llama, uint32_t step, uint64_t *ns)
{
    llama->batch.n_tokens = 0;
    for (uint32_t sequence = 0; sequence < llama->settings.batch; sequence++)
        add_token(llama, sequence, llama->settings.prompt_tokens + step, true);
    uint64_t begin_ns = tb_llama_now_ns();
    int err = llama_decode(llama->context, llama->batch);
    if (!err)
        llama_synchronize(llama->context);
    *ns = tb_llama_now_ns() - begin_ns;
    return err;
}

bool tb_llama_back(struct tb_llama *llama)
{
    bool done = true;
    for (uint32_t sequence = 0; sequence < llama->settings.batch; sequence++)
        done &= llama_memory_seq_rm(llama_get_memory(llama->context), (llama_seq_id)sequence,
                                    (llama_pos)llama->settings.prompt_tokens, -1);
    return done;
}

const float *tb_llama_logits(struct tb_llama *llama, uint32_t sequence)
{
    return llama_get_logits_ith(llama->context, (int32_t)sequence);
}

uint32_t tb_llama_vocabulary(const struct tb_llama *llama)
{
    return (uint32_t)llama->vocabulary;
}

void tb_llama_clear(struct tb_llama *llama)
{
    llama_memory_clear(llama_get_memory(llama->context), true);
}

void tb_llama_shape(const struct tb_llama *llama, struct tb_llama_shape *out)
{
    *out = (struct tb_llama_shape){.layers = (uint32_t)llama_model_n_layer(llama->model),
                                   .heads = (uint32_t)llama_model_n_head(llama->model),
                                   .kv_heads = (uint32_t)llama_model_n_head_kv(llama->model),
                                   .width = (uint32_t)llama_model_n_embd(llama->model)};
    out->head_values = out->width / out->heads;
}
