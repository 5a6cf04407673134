// SPDX-License-Identifier: Apache-2.0
//
// buffer: see buffer.h.
//
// A device's memory does not say that it is the host's, although it is ordinary memory: for a host buffer llama.cpp's loader reads
// files straight to the tensor's address, and with devices in a group that address belongs to no memory at all.

#include "buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "locus/ggml.h"
#include "topo/pin.h"
#include "topo/topo.h"

#define ALIGNMENT 64u           // as ggml's CPU buffers: its kernels want no more
#define UNIT_BYTES 4096u        // of locus_placement's pages

struct buffer {
    struct locus_region *region;
    struct locus_region_config config;
    const struct lg_memory *memory;
    ggml_backend_buffer_t handle;
    bool kv;
    struct buffer *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *buffers;  // oldest first; guarded by `lock`

static struct buffer *of(ggml_backend_buffer_t handle)
{
    return handle->context;
}

bool lg_tensor_is_kv(const struct ggml_tensor *tensor)
{
    bool named = strncmp(tensor->name, "cache_k_", 8) == 0 || strncmp(tensor->name, "cache_v_", 8) == 0;
    return named && tensor->op == GGML_OP_NONE && !tensor->view_src;
}

// --- room ----------------------------------------------------------------------------------------------------------------------

static struct locus_nodes nodes_of(const struct lg_memory *memory)
{
    struct locus_nodes nodes = memory->nodes;
    if (memory->node != LOCUS_NODE_ANY)
        locus_nodes_add(&nodes, memory->node);
    return nodes;
}

// Bytes of the buffers on these nodes that no page stands behind yet. One that shares a node with them counts whole. Under `lock`.
static uint64_t promised_bytes(const struct locus_nodes *nodes)
{
    uint64_t promised = 0;
    struct locus_placement placement;
    for (const struct buffer *buffer = buffers; buffer; buffer = buffer->next) {
        struct locus_nodes others = nodes_of(buffer->memory);
        bool shared = false;
        for (int node = locus_nodes_next(nodes, 0); node >= 0; node = locus_nodes_next(nodes, node + 1))
            shared |= locus_nodes_has(&others, node);
        if (shared && locus_region_verify(buffer->region, &placement) == 0 && !placement.verified.verify_errno)
            promised += (placement.verified.pages - placement.verified.pages_present) * UNIT_BYTES;
    }
    return promised;
}

// Under `lock`, so that two buffers are not promised the same room.
static int ask_for_room(const struct lg_memory *memory, size_t bytes)
{
    uint64_t room = 0, one;
    struct locus_nodes nodes = nodes_of(memory);
    if (!locus_policy_strict(memory->policy))
        return 0;
    for (int node = locus_nodes_next(&nodes, 0); node >= 0; node = locus_nodes_next(&nodes, node + 1)) {
        if (locus_node_room_bytes(node, &one) != 0)
            return 0; // the region's own check has the words for a node that is not there
        room += one;
    }
    uint64_t promised = promised_bytes(&nodes);
    if (room >= promised && bytes <= room - promised)
        return 0;
    lg_log(GGML_LOG_LEVEL_ERROR,
           "%s: node %d has room for %" PRIu64 " MiB, less %" PRIu64 " MiB promised to other buffers; %zu MiB are needed, and the "
           "kernel would kill a process that touches more. Use a shorter context, more nodes, or the policy `preferred`\n",
           memory->name, locus_nodes_next(&nodes, 0), room >> 20, promised >> 20, bytes >> 20);
    return -ENOMEM;
}

// --- open and close ------------------------------------------------------------------------------------------------------------

static int open_region(struct buffer *buffer)
{
    return locus_region_open(&buffer->region, &buffer->config);
}

static void *open_there(void *context)
{
    struct buffer *buffer = context;
    int err = locus_pin_node(buffer->config.node);
    return (void *)(intptr_t)(err ? err : open_region(buffer));
}

// First touch puts pages where the thread runs that touches them, so for a certain node a thread there populates.
static int open_by_first_touch(struct buffer *buffer)
{
    pthread_t thread;
    void *result;
    buffer->config.populate = true;
    int err = pthread_create(&thread, NULL, open_there, buffer);
    if (err)
        return -err;
    pthread_join(thread, &result);
    return (int)(intptr_t)result;
}

static void say_why(const struct buffer *buffer, int err)
{
    char why[400];
    bool forbidden = buffer->config.policy != LOCUS_POLICY_FIRST_TOUCH && locus_policy_probe(buffer->config.policy) == err;
    locus_region_why(&buffer->config, err, why, sizeof(why));
    lg_log(GGML_LOG_LEVEL_ERROR, "%s: %zu MiB by the policy %s: %s%s\n", buffer->memory->name, buffer->config.bytes >> 20,
           locus_policy_name(buffer->config.policy), why, forbidden ? ". The policy first-touch needs no such right" : "");
}

static int open_buffer(struct buffer *buffer, size_t bytes)
{
    const struct lg_memory *memory = buffer->memory;
    buffer->config = (struct locus_region_config){.size = sizeof(buffer->config),
                                                  .bytes = bytes,
                                                  .memory_class = LOCUS_CLASS_SCRATCH,
                                                  .page = memory->page,
                                                  .policy = memory->policy,
                                                  .node = memory->node,
                                                  .nodes = memory->nodes,
                                                  .populate = memory->kv == LG_KV_POPULATED};
    bool there = memory->policy == LOCUS_POLICY_FIRST_TOUCH && memory->node != LOCUS_NODE_ANY;
    int err = there ? open_by_first_touch(buffer) : open_region(buffer);
    if (err)
        say_why(buffer, err);
    return err;
}

static const struct ggml_backend_buffer_i buffer_calls;

static void enlist(struct buffer *buffer)
{
    struct buffer **last = &buffers;
    while (*last)
        last = &(*last)->next;
    *last = buffer;
}

static void delist(struct buffer *buffer)
{
    struct buffer **at = &buffers;
    while (*at != buffer)
        at = &(*at)->next;
    *at = buffer->next;
}

static ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t bytes)
{
    struct buffer *buffer = calloc(1, sizeof(*buffer));
    if (!buffer)
        return NULL;
    buffer->memory = lg_type_memory(type);
    pthread_mutex_lock(&lock);
    int err = ask_for_room(buffer->memory, bytes);
    if (!err)
        err = open_buffer(buffer, bytes);
    if (!err)
        buffer->handle = lg_engine.buffer_init(type, buffer_calls, buffer, bytes);
    if (buffer->handle)
        enlist(buffer);
    pthread_mutex_unlock(&lock);
    if (buffer->handle)
        return buffer->handle;
    locus_region_close(buffer->region);
    free(buffer);
    return NULL;
}

static void free_buffer(ggml_backend_buffer_t handle)
{
    struct buffer *buffer = of(handle);
    pthread_mutex_lock(&lock);
    delist(buffer);
    pthread_mutex_unlock(&lock);
    locus_region_close(buffer->region);
    free(buffer);
}

// --- what ggml does with a buffer ----------------------------------------------------------------------------------------------

static void *get_base(ggml_backend_buffer_t handle)
{
    return locus_region_base(of(handle)->region);
}

static enum ggml_status init_tensor(ggml_backend_buffer_t handle, struct ggml_tensor *tensor)
{
    if (lg_tensor_is_kv(tensor))
        of(handle)->kv = true;
    return GGML_STATUS_SUCCESS;
}

static void memset_tensor(ggml_backend_buffer_t handle, struct ggml_tensor *tensor, uint8_t value, size_t offset, size_t bytes)
{
    (void)handle;
    memset((char *)tensor->data + offset, value, bytes);
}

static void set_tensor(ggml_backend_buffer_t handle, struct ggml_tensor *tensor, const void *data, size_t offset, size_t bytes)
{
    (void)handle;
    memcpy((char *)tensor->data + offset, data, bytes);
}

static void get_tensor(ggml_backend_buffer_t handle, const struct ggml_tensor *tensor, void *data, size_t offset, size_t bytes)
{
    (void)handle;
    memcpy(data, (const char *)tensor->data + offset, bytes);
}

static void set_rows(ggml_backend_buffer_t handle, struct ggml_tensor *tensor, const void *data, size_t offset, size_t bytes,
                     size_t rows, size_t tensor_stride, size_t data_stride)
{
    for (size_t row = 0; row < rows; row++)
        set_tensor(handle, tensor, (const char *)data + row * data_stride, offset + row * tensor_stride, bytes);
}

static void get_rows(ggml_backend_buffer_t handle, const struct ggml_tensor *tensor, void *data, size_t offset, size_t bytes,
                     size_t rows, size_t tensor_stride, size_t data_stride)
{
    for (size_t row = 0; row < rows; row++)
        get_tensor(handle, tensor, (char *)data + row * data_stride, offset + row * tensor_stride, bytes);
}

static bool copy_tensor(ggml_backend_buffer_t handle, const struct ggml_tensor *from, struct ggml_tensor *to)
{
    (void)handle;
    if (!lg_buffer_is_ours(from->buffer) && !lg_engine.is_host(from->buffer->buft))
        return false;
    memcpy(to->data, from->data, lg_engine.nbytes(from));
    return true;
}

static void clear(ggml_backend_buffer_t handle, uint8_t value)
{
    struct buffer *buffer = of(handle);
    void *base = locus_region_base(buffer->region);
    size_t bytes = locus_region_bytes(buffer->region);
    // What was populated by a thread on the node must not come back from a thread elsewhere.
    bool populated = buffer->config.populate;
    // Nor may huge pages of the host's pool go: if another process takes them meanwhile, the next write ends in SIGBUS.
    bool pooled = buffer->config.page == LOCUS_PAGE_2M;
    bool gives_back = buffer->memory->kv == LG_KV_ON_DEMAND && !populated && !pooled;
    if (value || !gives_back || madvise(base, bytes, MADV_DONTNEED) != 0)
        memset(base, value, bytes);
}

static const struct ggml_backend_buffer_i buffer_calls = {
    .free_buffer = free_buffer,
    .get_base = get_base,
    .init_tensor = init_tensor,
    .memset_tensor = memset_tensor,
    .set_tensor = set_tensor,
    .get_tensor = get_tensor,
    .set_tensor_2d = set_rows,
    .get_tensor_2d = get_rows,
    .cpy_tensor = copy_tensor,
    .clear = clear,
};

bool lg_buffer_is_ours(ggml_backend_buffer_t buffer)
{
    return buffer->iface.free_buffer == free_buffer;
}

bool lg_buffer_has_kv(ggml_backend_buffer_t buffer)
{
    return buffer && lg_buffer_is_ours(buffer) && of(buffer)->kv;
}

static const char *get_name(ggml_backend_buffer_type_t type)
{
    return lg_type_memory(type)->name;
}

static bool is_host(ggml_backend_buffer_type_t type)
{
    (void)type;
    return true;
}

static size_t get_alignment(ggml_backend_buffer_type_t type)
{
    (void)type;
    return ALIGNMENT;
}

const struct lg_type_calls lg_memory_calls = {
    .get_name = get_name,
    .alloc_buffer = alloc_buffer,
    .get_alignment = get_alignment,
};

const struct lg_type_calls lg_host_memory_calls = {
    .get_name = get_name,
    .alloc_buffer = alloc_buffer,
    .get_alignment = get_alignment,
    .is_host = is_host,
};

// --- the list ------------------------------------------------------------------------------------------------------------------

static enum locus_memory_class class_of(const struct buffer *buffer)
{
    if (buffer->kv)
        return LOCUS_CLASS_KV_CACHE;
    return buffer->handle->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS ? LOCUS_CLASS_WEIGHTS : LOCUS_CLASS_SCRATCH;
}

int lg_buffers_visit(int (*visit)(const struct locus_ggml_buffer *buffer, void *context), void *context)
{
    int result = 0;
    pthread_mutex_lock(&lock);
    for (const struct buffer *buffer = buffers; buffer && !result; buffer = buffer->next) {
        struct locus_ggml_buffer seen = {.device = buffer->memory->name,
                                         .node = buffer->config.node,
                                         .memory_class = class_of(buffer),
                                         .base = locus_region_base(buffer->region),
                                         .bytes = buffer->config.bytes};
        result = locus_region_verify(buffer->region, &seen.placement);
        seen.placement.requested.memory_class = seen.memory_class;
        if (!result)
            result = visit(&seen, context);
    }
    pthread_mutex_unlock(&lock);
    return result;
}
