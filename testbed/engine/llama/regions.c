// SPDX-License-Identifier: Apache-2.0
//
// regions: see regions.h.

#include "testbed/engine/llama/regions.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "locus/ggml.h"
#include "testbed/counters/window.h"

#define LOOKED_UP 4096u         // pages in one call

static const char *const names[] = {"kv", "weights", "scratch"};

const char *tb_llama_class_name(enum tb_llama_class of)
{
    return names[of];
}

// --- the stock engine's buffers ------------------------------------------------------------------------------------------------

// A context of the engine is opened by one thread, before anything reads this.
static struct {
    const char *base;
    size_t bytes;
    enum tb_llama_class of;
} made[TB_LLAMA_REGIONS_MAX];
static unsigned made_count;

static bool is_kv(const struct ggml_tensor *tensor)
{
    return strncmp(tensor->name, "cache_k_", 8) == 0 || strncmp(tensor->name, "cache_v_", 8) == 0;
}

ggml_backend_buffer_t ggml_backend_alloc_ctx_tensors_from_buft(struct ggml_context *context, ggml_backend_buffer_type_t type)
{
    ggml_backend_buffer_t (*real)(struct ggml_context *, ggml_backend_buffer_type_t) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "ggml_backend_alloc_ctx_tensors_from_buft");
    memcpy(&real, &symbol, sizeof(symbol));
    ggml_backend_buffer_t buffer = real(context, type);
    const struct ggml_tensor *first = ggml_get_first_tensor(context);
    if (buffer && first && ggml_backend_buffer_is_host(buffer) && made_count < TB_LLAMA_REGIONS_MAX) {
        made[made_count].base = ggml_backend_buffer_get_base(buffer);
        made[made_count].bytes = ggml_backend_buffer_get_size(buffer);
        made[made_count++].of = is_kv(first) ? TB_LLAMA_KV : TB_LLAMA_WEIGHTS;
    }
    return buffer;
}

// --- the list ------------------------------------------------------------------------------------------------------------------

struct list {
    struct tb_llama_region *regions;
    unsigned count, max;
};

static void add(struct list *list, enum tb_llama_class of, int node, const void *base, size_t bytes)
{
    if (list->count < list->max && bytes)
        list->regions[list->count++] = (struct tb_llama_region){.of = of, .node = node, .base = base, .bytes = bytes};
}

static int add_ours(const struct locus_ggml_buffer *buffer, void *context)
{
    enum tb_llama_class of = buffer->memory_class == LOCUS_CLASS_KV_CACHE  ? TB_LLAMA_KV
                             : buffer->memory_class == LOCUS_CLASS_WEIGHTS ? TB_LLAMA_WEIGHTS
                                                                           : TB_LLAMA_SCRATCH;
    add(context, of, buffer->node, buffer->base, buffer->bytes);
    return 0;
}

void *tb_llama_ours(const char *name)
{
    ggml_backend_reg_t registry = ggml_backend_reg_by_name("LOCUS");
    return registry ? ggml_backend_reg_get_proc_address(registry, name) : NULL;
}

static void add_devices(struct list *list)
{
    locus_ggml_buffers_fn visit = NULL;
    void *symbol = tb_llama_ours("locus_ggml_buffers");
    memcpy(&visit, &symbol, sizeof(symbol));
    if (visit)
        visit(add_ours, list);
}

static void add_mapped(struct list *list, const char *model)
{
    char line[4096], *path = realpath(model, NULL);
    FILE *maps = path ? fopen("/proc/self/maps", "re") : NULL;
    while (maps && fgets(line, sizeof(line), maps)) {
        uintptr_t low, high;
        line[strcspn(line, "\n")] = '\0';
        size_t length = strlen(line), wanted = strlen(path);
        if (length > wanted && strcmp(line + length - wanted, path) == 0 &&
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &low, &high) == 2)
            add(list, TB_LLAMA_WEIGHTS, -1, (const void *)low, high - low);
    }
    if (maps)
        fclose(maps);
    free(path);
}

static void look_up(struct tb_llama_region *region)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)region->base & ~(page - 1);
    uintptr_t end = (uintptr_t)region->base + region->bytes;
    void *pages[LOOKED_UP];
    int on[LOOKED_UP];
    while (at < end && !region->error) {
        unsigned count = 0;
        for (; at < end && count < LOOKED_UP; at += page)
            pages[count++] = (void *)at;
        if (syscall(SYS_move_pages, 0, (unsigned long)count, pages, NULL, on, 0) != 0)
            region->error = errno;
        for (unsigned i = 0; i < count && !region->error; i++)
            if (on[i] >= 0 && on[i] < TB_LLAMA_NODES_MAX) {
                region->on[on[i]]++;
                region->resident++;
            }
        region->pages += count;
    }
}

unsigned tb_llama_regions(struct tb_llama_region regions[], unsigned max, const char *model)
{
    struct list list = {.regions = regions, .max = max};
    for (unsigned i = 0; i < made_count; i++)
        add(&list, made[i].of, -1, made[i].base, made[i].bytes);
    add_devices(&list);
    add_mapped(&list, model);
    for (unsigned i = 0; i < list.count; i++)
        look_up(&regions[i]);
    return list.count;
}

void tb_llama_regions_watch(const struct tb_llama_region regions[], unsigned count, uint32_t first)
{
    for (unsigned i = 0; i < count; i++)
        tb_window_open(first + regions[i].of, regions[i].base, regions[i].bytes);
}
