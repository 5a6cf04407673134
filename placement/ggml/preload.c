// SPDX-License-Identifier: Apache-2.0
//
// preload: liblocus-kv.so, which gives an engine's KV cache a policy of liblocus, and changes nothing else.
//
//     LD_PRELOAD=.../liblocus-kv.so LOCUS_KV_POLICY=interleave llama-server -m MODEL
//
// For an engine that keeps its own CPU backend. llama.cpp makes the buffer of its cache by the same function as all others,
// ggml_backend_alloc_ctx_tensors_from_buft(), with the tensors that shall lie there. We define that function, look at the first
// tensor's name, and give buffers of the cache another type of host memory. Everything else goes on as it was. It works where the
// engine's libraries are shared ones.
//
// With first-touch and memory on demand a cell lies where the thread runs that first wrote it, instead of where the thread ran that
// opened the context.

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "buffer.h"
#include "ggml-alloc.h"

typedef ggml_backend_buffer_t allocate_fn(struct ggml_context *context, ggml_backend_buffer_type_t type);

// Constant after `once`.
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct lg_memory kv_memory;
static struct lg_type kv_type;
static bool ready;

static void set_up(void)
{
    char why[384];
    const char *missing;
    int number;
    if (lg_engine_find(&missing) != 0) {
        lg_log(GGML_LOG_LEVEL_ERROR, "no ggml library in this process has %s: the KV cache is not opened\n", missing);
        return;
    }
    if (lg_layout_find(&number, why, sizeof(why)) != 0 || lg_kv_memory_read(&kv_memory, why, sizeof(why)) != 0) {
        lg_log(GGML_LOG_LEVEL_ERROR, "%s: the KV cache is not opened\n", why);
        return;
    }
    strcpy(kv_memory.name, "LOCUS_KV");
    lg_type_set(&kv_type, number, &lg_host_memory_calls, &kv_memory, lg_engine.dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    ready = true;
}

static bool is_host(ggml_backend_buffer_type_t type)
{
    bool (*ask)(ggml_backend_buffer_type_t) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "ggml_backend_buft_is_host");
    memcpy(&ask, &symbol, sizeof(symbol));
    return ask && ask(type);
}

static bool is_cache(struct ggml_context *context, ggml_backend_buffer_type_t type)
{
    struct ggml_tensor *(*first_of)(const struct ggml_context *) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "ggml_get_first_tensor");
    memcpy(&first_of, &symbol, sizeof(symbol));
    const struct ggml_tensor *first = first_of ? first_of(context) : NULL;
    return first && lg_tensor_is_kv(first) && is_host(type);
}

// A bad setting refuses the cache: a run that asked for a policy must not go on without it.
__attribute__((visibility("default"))) ggml_backend_buffer_t ggml_backend_alloc_ctx_tensors_from_buft(
    struct ggml_context *context, ggml_backend_buffer_type_t type)
{
    allocate_fn *real = NULL;
    void *symbol = dlsym(RTLD_NEXT, "ggml_backend_alloc_ctx_tensors_from_buft");
    memcpy(&real, &symbol, sizeof(symbol));
    if (!real)
        return NULL;
    if (!is_cache(context, type))
        return real(context, type);
    pthread_once(&once, set_up);
    return ready ? real(context, lg_type_handle(&kv_type)) : NULL;
}
