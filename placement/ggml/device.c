// SPDX-License-Identifier: Apache-2.0
//
// device: the file that an engine loads: ggml_backend_init() and what ggml asks of a registry and of its devices.
//
// The devices call themselves GPUs. ggml knows CPUs, GPUs, integrated GPUs and accelerators, and llama.cpp spreads layers and heads
// over GPUs alone.

#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "group.h"
#include "locus/ggml.h"
#include "stream.h"
#include "topo/topo.h"

struct lg_settings lg_settings;
static struct lg_device devices[LG_DEVICES_MAX];

// --- a device ------------------------------------------------------------------------------------------------------------------

static const char *device_name(ggml_backend_dev_t device)
{
    return lg_device_of(device)->name;
}

static const char *device_description(ggml_backend_dev_t device)
{
    return lg_device_of(device)->description;
}

static void device_memory(ggml_backend_dev_t device, size_t *free_bytes, size_t *total_bytes)
{
    const struct lg_place *place = lg_device_of(device)->place;
    struct locus_node_memory memory = {0};
    uint64_t room = 0;
    if (locus_node_memory_read(place->node, &memory) != 0 || locus_node_room_bytes(place->node, &room) != 0)
        room = memory.free_bytes;
    *free_bytes = room / place->sharers;
    *total_bytes = memory.total_bytes / place->sharers;
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t device)
{
    (void)device;
    return GGML_BACKEND_DEVICE_TYPE_GPU;
}

static void device_props(ggml_backend_dev_t device, struct ggml_backend_dev_props *props)
{
    *props = (struct ggml_backend_dev_props){.name = device_name(device),
                                             .description = device_description(device),
                                             .type = device_type(device)};
    device_memory(device, &props->memory_free, &props->memory_total);
}

static ggml_backend_t device_open(ggml_backend_dev_t device, const char *params)
{
    (void)params;
    return lg_stream_open(lg_device_of(device));
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t device)
{
    return lg_type_handle(&lg_device_of(device)->buffers);
}

// What the CPU backend computes. Without one nothing is computed.
static bool device_supports_op(ggml_backend_dev_t device, const struct ggml_tensor *tensor)
{
    (void)device;
    ggml_backend_dev_t cpu = lg_engine.dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    lg_group_look(tensor);
    return cpu && cpu->iface.supports_op(cpu, tensor);
}

// Its own alone: so everything that it reads is copied to its node once, instead of read elsewhere by each thread.
static bool device_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t type)
{
    return type == device_buffer_type(device);
}

static const struct ggml_backend_device_i device_calls = {
    .get_name = device_name,
    .get_description = device_description,
    .get_memory = device_memory,
    .get_type = device_type,
    .get_props = device_props,
    .init_backend = device_open,
    .get_buffer_type = device_buffer_type,
    .supports_op = device_supports_op,
    .supports_buft = device_supports_buft,
};

// --- the registry --------------------------------------------------------------------------------------------------------------

static const char *registry_name(ggml_backend_reg_t registry)
{
    (void)registry;
    return "LOCUS";
}

static size_t device_count(ggml_backend_reg_t registry)
{
    (void)registry;
    return lg_settings.places_count;
}

static ggml_backend_dev_t get_device(ggml_backend_reg_t registry, size_t index)
{
    (void)registry;
    return &devices[index].base;
}

// llama.cpp tells every backend how many threads to use. Ours have those of their node; but the stock CPU backend, which only
// fetches a token's row of the embedding, polls with all of its own for milliseconds, on the CPUs where ours compute.
static void threads_told(ggml_backend_t backend, int threads)
{
    static int said;
    (void)backend;
    if (threads > 1 && !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        lg_log(GGML_LOG_LEVEL_WARN, "the engine's own %d CPU threads will poll beside the nodes' threads; use -t 1\n", threads);
}

static void *get_proc_address(ggml_backend_reg_t registry, const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {
        {"ggml_backend_comm_init", (void (*)(void))lg_group_open},
        {"ggml_backend_comm_allreduce_tensor", (void (*)(void))lg_group_sum},
        {"ggml_backend_comm_free", (void (*)(void))lg_group_close},
        {"ggml_backend_set_abort_callback", (void (*)(void))lg_stream_set_abort},
        {"ggml_backend_set_n_threads", (void (*)(void))threads_told},
        {"locus_ggml_buffers", (void (*)(void))lg_buffers_visit},
        {"locus_ggml_sums", (void (*)(void))lg_group_sums},
    };
    (void)registry;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0) {
            void *address;
            memcpy(&address, &functions[i].function, sizeof(address));
            return address;
        }
    return NULL;
}

static struct ggml_backend_reg registry = {
    // its number is the engine's
    .iface = {.get_name = registry_name,
              .get_device_count = device_count,
              .get_device = get_device,
              .get_proc_address = get_proc_address},
};

// --- loading -------------------------------------------------------------------------------------------------------------------

static void describe(struct lg_device *device)
{
    const struct lg_place *place = device->place;
    struct locus_node_memory memory = {0};
    locus_node_memory_read(place->node, &memory);
    snprintf(device->description, sizeof(device->description), "node %d, %u threads on CPUs %u-%u, %" PRIu64 " MiB", place->node,
             place->cpus_count, place->cpus[0], place->cpus[place->cpus_count - 1], memory.total_bytes >> 20);
}

static void set_up(unsigned index)
{
    struct lg_device *device = &devices[index];
    device->place = &lg_settings.places[index];
    device->memory = (struct lg_memory){.policy = lg_settings.policy,
                                        .node = device->place->node,
                                        .page = lg_settings.page,
                                        .kv = lg_settings.kv};
    snprintf(device->memory.name, sizeof(device->memory.name), "LOCUS%u", index);
    device->name = device->memory.name;
    describe(device);
    lg_type_set(&device->buffers, registry.api_version, &lg_memory_calls, &device->memory, &device->base);
    device->base = (struct ggml_backend_device){.iface = device_calls, .reg = &registry, .context = device};
}

ggml_backend_reg_t ggml_backend_init(void);
__attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init(void)
{
    char why[384];
    const char *missing;
    if (lg_settings.places_count)
        return &registry; // loaded twice
    if (lg_engine_find(&missing) != 0) {
        lg_log(GGML_LOG_LEVEL_ERROR, "no ggml library in this process has %s; this file is a backend for ggml\n", missing);
        return NULL;
    }
    if (lg_layout_find(&registry.api_version, why, sizeof(why)) != 0 || lg_settings_read(&lg_settings, why, sizeof(why)) != 0) {
        lg_log(GGML_LOG_LEVEL_ERROR, "%s\n", why);
        lg_settings.places_count = 0;
        return NULL;
    }
    for (unsigned i = 0; i < lg_settings.places_count; i++)
        set_up(i);
    return &registry;
}
